//! PostgreSQL's types, and values in the forms in which they are sent.
//!
//! [`PgType`] names a type. [`Value`] is a value of any of them. [`encode`] writes values as text or binary, and
//! [`decode`] reads the parameters of clients. [`calendar`] and [`numeric`] convert dates and decimal numbers.

pub mod calendar;
pub mod decode;
pub mod encode;
pub mod float;
pub mod numeric;

use std::borrow::Cow;

/// The types that are not arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `boolean`
    Bool,
    /// `bytea`
    Bytea,
    /// `"char"`, one byte
    Char,
    /// `name`
    Name,
    /// `bigint`
    Int8,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `text`
    Text,
    /// `oid`
    Oid,
    /// `json`
    Json,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// A literal whose type is not known yet.
    Unknown,
    /// `character(n)`
    Bpchar,
    /// `character varying`
    Varchar,
    /// `date`
    Date,
    /// `time`
    Time,
    /// `timestamp`
    Timestamp,
    /// `timestamp with time zone`
    Timestamptz,
    /// `interval`
    Interval,
    /// `numeric`
    Numeric,
    /// `uuid`
    Uuid,
    /// `jsonb`
    Jsonb,
    /// `regclass`: a table by its number
    Regclass,
}

/// One line of the catalog of types.
#[derive(Debug, Clone, Copy)]
pub struct TypeInfo {
    /// The type.
    pub scalar: Scalar,
    /// Its number.
    pub oid: u32,
    /// The number of its array type; 0 without one.
    pub array: u32,
    /// Its length in bytes; -1 if it varies.
    pub size: i16,
    /// Its short name, as in `pg_type`.
    pub name: &'static str,
    /// Its name in SQL.
    pub sql: &'static str,
    /// Its category, as in `pg_type.typcategory`.
    pub category: char,
}

const fn info(
    scalar: Scalar,
    numbers: (u32, u32),
    size: i16,
    names: (&'static str, &'static str),
    category: char,
) -> TypeInfo {
    TypeInfo {
        scalar,
        oid: numbers.0,
        array: numbers.1,
        size,
        name: names.0,
        sql: names.1,
        category,
    }
}

/// All types, in the order of [`Scalar`].
pub const TYPES: [TypeInfo; 24] = [
    info(Scalar::Bool, (16, 1000), 1, ("bool", "boolean"), 'B'),
    info(Scalar::Bytea, (17, 1001), -1, ("bytea", "bytea"), 'U'),
    info(Scalar::Char, (18, 1002), 1, ("char", "\"char\""), 'Z'),
    info(Scalar::Name, (19, 1003), 64, ("name", "name"), 'S'),
    info(Scalar::Int8, (20, 1016), 8, ("int8", "bigint"), 'N'),
    info(Scalar::Int2, (21, 1005), 2, ("int2", "smallint"), 'N'),
    info(Scalar::Int4, (23, 1007), 4, ("int4", "integer"), 'N'),
    info(Scalar::Text, (25, 1009), -1, ("text", "text"), 'S'),
    info(Scalar::Oid, (26, 1028), 4, ("oid", "oid"), 'N'),
    info(Scalar::Json, (114, 199), -1, ("json", "json"), 'U'),
    info(Scalar::Float4, (700, 1021), 4, ("float4", "real"), 'N'),
    info(Scalar::Float8, (701, 1022), 8, ("float8", "double precision"), 'N'),
    info(Scalar::Unknown, (705, 0), -2, ("unknown", "unknown"), 'X'),
    info(Scalar::Bpchar, (1042, 1014), -1, ("bpchar", "character"), 'S'),
    info(Scalar::Varchar, (1043, 1015), -1, ("varchar", "character varying"), 'S'),
    info(Scalar::Date, (1082, 1182), 4, ("date", "date"), 'D'),
    info(Scalar::Time, (1083, 1183), 8, ("time", "time without time zone"), 'D'),
    info(Scalar::Timestamp, (1114, 1115), 8, ("timestamp", "timestamp without time zone"), 'D'),
    info(Scalar::Timestamptz, (1184, 1185), 8, ("timestamptz", "timestamp with time zone"), 'D'),
    info(Scalar::Interval, (1186, 1187), 16, ("interval", "interval"), 'T'),
    info(Scalar::Numeric, (1700, 1231), -1, ("numeric", "numeric"), 'N'),
    info(Scalar::Uuid, (2950, 2951), 16, ("uuid", "uuid"), 'U'),
    info(Scalar::Jsonb, (3802, 3807), -1, ("jsonb", "jsonb"), 'U'),
    info(Scalar::Regclass, (2205, 2210), 4, ("regclass", "regclass"), 'N'),
];

impl Scalar {
    /// Returns the line of the type in the catalog.
    #[must_use]
    pub const fn info(self) -> &'static TypeInfo {
        &TYPES[self as usize]
    }
}

/// A type: a scalar, or an array of scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PgType {
    /// The type, or that of the elements.
    pub scalar: Scalar,
    /// True for an array.
    pub is_array: bool,
}

impl From<Scalar> for PgType {
    fn from(scalar: Scalar) -> Self {
        Self { scalar, is_array: false }
    }
}

impl PgType {
    /// Returns the type of arrays of a scalar.
    #[must_use]
    pub const fn array(scalar: Scalar) -> Self {
        Self { scalar, is_array: true }
    }

    /// Returns the type with this number.
    #[must_use]
    pub fn from_oid(oid: u32) -> Option<Self> {
        TYPES.iter().filter(|_| oid != 0).find_map(|info| match oid {
            oid if oid == info.oid => Some(Self { scalar: info.scalar, is_array: false }),
            oid if oid == info.array => Some(Self { scalar: info.scalar, is_array: true }),
            _ => None,
        })
    }

    /// Returns the number of the type.
    #[must_use]
    pub const fn oid(self) -> u32 {
        let info = self.scalar.info();
        if self.is_array { info.array } else { info.oid }
    }

    /// Returns the length of its values in bytes; -1 if it varies.
    #[must_use]
    pub const fn size(self) -> i16 {
        if self.is_array { -1 } else { self.scalar.info().size }
    }

    /// Returns the name in SQL, such as `integer` and `text[]`.
    #[must_use]
    pub fn sql(self) -> String {
        let sql = self.scalar.info().sql;
        if self.is_array { format!("{sql}[]") } else { sql.to_owned() }
    }
}

/// The form in which a value is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As text.
    Text,
    /// In the binary form of its type.
    Binary,
}

impl Format {
    /// Returns the format with this code.
    #[must_use]
    pub const fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Text),
            1 => Some(Self::Binary),
            _ => None,
        }
    }

    /// Returns the code of the format.
    #[must_use]
    pub const fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number of `smallint`, `integer`, `bigint` or `oid`.
    Int(i64),
    /// A number of single precision.
    Float4(f32),
    /// A number of double precision.
    Float8(f64),
    /// A decimal number as text: an optional sign, digits and an optional point, or `NaN`.
    Numeric(Cow<'a, str>),
    /// A text, also JSON and a UUID.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// Days since 1970-01-01.
    Date(i64),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01 00:00:00 in no time zone.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    TimestampTz(i64),
    /// Months, days and microseconds.
    Interval {
        /// Months.
        months: i32,
        /// Days.
        days: i32,
        /// Microseconds.
        micros: i64,
    },
    /// The elements of an array.
    Array(Vec<Value<'a>>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_in_the_order_of_their_enum_and_have_numbers_of_their_own() {
        let mut numbers = std::collections::BTreeSet::new();
        for (index, info) in TYPES.iter().enumerate() {
            assert_eq!(info.scalar as usize, index);
            assert!(numbers.insert(info.oid), "{info:?}");
            assert!(info.array == 0 || numbers.insert(info.array), "{info:?}");
            assert_eq!(PgType::from_oid(info.oid), Some(info.scalar.into()));
        }
        assert_eq!(PgType::from_oid(1009), Some(PgType::array(Scalar::Text)));
        assert_eq!(PgType::from_oid(0), None);
    }
}
