//! The options of an answer as an Arrow IPC stream, and the header that carries them.

use std::fmt;
use std::str::FromStr;

use crate::error::{Result, SelectError, SelectErrorCode};

/// The longest header value, in bytes. It limits the number of columns to some three thousand.
const MAX_BYTES: usize = 16 << 10;

/// The part of the header value before the name of the compression.
const COMPRESSION: &str = "compression=";

/// An answer as one Arrow IPC stream.
///
/// The stream consists of a schema, record batches and the end-of-stream marker. Its fields are nullable, and are
/// called `c0`, `c1`, … . NULL and MISSING are null. A value that the type of its column cannot hold exactly fails the
/// statement. All dictionaries of a record batch come immediately before it and apply to no other one. The option is
/// an extension of this project ([`Extension::Arrow`](crate::capabilities::Extension::Arrow)).
///
/// The text form is the value of a header: types separated by `;`, then optionally the compression, at most 16 KiB.
///
/// ```
/// use sluicegate_s3select::request::{ArrowCompression, ArrowOutput, ArrowType};
///
/// let output: ArrowOutput = "int64;decimal128(15,2);compression=zstd".parse()?;
/// assert_eq!(output.columns, [ArrowType::Int64, ArrowType::Decimal128 { precision: 15, scale: 2 }]);
/// assert_eq!(output.compression, Some(ArrowCompression::Zstd));
/// # Ok::<_, sluicegate_s3select::SelectError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrowOutput {
    /// The types of the answer's columns, in order. There is at least one.
    pub columns: Vec<ArrowType>,
    /// The compression of the record batches; `None` leaves them uncompressed.
    pub compression: Option<ArrowCompression>,
}

/// The type of a column in an Arrow IPC stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArrowType {
    /// `boolean`
    Boolean,
    /// `int8`
    Int8,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint8`
    UInt8,
    /// `uint16`
    UInt16,
    /// `uint32`
    UInt32,
    /// `uint64`
    UInt64,
    /// `float32`: an IEEE 754 single
    Float32,
    /// `float64`: an IEEE 754 double
    Float64,
    /// `decimal128(p,s)`
    Decimal128 {
        /// The most digits, 1 to 38.
        precision: u8,
        /// The digits after the point, 0 to `precision`.
        scale: u8,
    },
    /// `date32`: days since 1970-01-01
    Date32,
    /// `timestamp(unit)` or `timestamp(unit,UTC)`: a count of units since 1970-01-01T00:00Z
    Timestamp {
        /// The unit of the count.
        unit: ArrowTimeUnit,
        /// True if the type has the zone UTC. Otherwise it has none.
        utc: bool,
    },
    /// `utf8`: text of up to 1 MiB
    Utf8,
    /// `dictionary(utf8)`: text of up to 1 MiB, as a position of 16 bits in the dictionary of the record batch. A
    /// dictionary has no nulls, and may contain a text several times.
    Dictionary,
}

/// The unit of a timestamp's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArrowTimeUnit {
    /// `s`
    Second,
    /// `ms`
    Millisecond,
    /// `us`
    Microsecond,
    /// `ns`
    Nanosecond,
}

/// The compression of record batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArrowCompression {
    /// `lz4`: frames of LZ4
    Lz4,
    /// `zstd`
    Zstd,
}

impl ArrowTimeUnit {
    const ALL: [Self; 4] = [Self::Second, Self::Millisecond, Self::Microsecond, Self::Nanosecond];

    fn as_str(self) -> &'static str {
        match self {
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::Nanosecond => "ns",
        }
    }

    /// The length of the unit in nanoseconds.
    #[must_use]
    pub fn nanos(self) -> u32 {
        match self {
            Self::Second => 1_000_000_000,
            Self::Millisecond => 1_000_000,
            Self::Microsecond => 1_000,
            Self::Nanosecond => 1,
        }
    }
}

impl fmt::Display for ArrowType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("boolean"),
            Self::Int8 => f.write_str("int8"),
            Self::Int16 => f.write_str("int16"),
            Self::Int32 => f.write_str("int32"),
            Self::Int64 => f.write_str("int64"),
            Self::UInt8 => f.write_str("uint8"),
            Self::UInt16 => f.write_str("uint16"),
            Self::UInt32 => f.write_str("uint32"),
            Self::UInt64 => f.write_str("uint64"),
            Self::Float32 => f.write_str("float32"),
            Self::Float64 => f.write_str("float64"),
            Self::Decimal128 { precision, scale } => write!(f, "decimal128({precision},{scale})"),
            Self::Date32 => f.write_str("date32"),
            Self::Timestamp { unit, utc: false } => write!(f, "timestamp({})", unit.as_str()),
            Self::Timestamp { unit, utc: true } => write!(f, "timestamp({},UTC)", unit.as_str()),
            Self::Utf8 => f.write_str("utf8"),
            Self::Dictionary => f.write_str("dictionary(utf8)"),
        }
    }
}

impl FromStr for ArrowType {
    type Err = SelectError;

    /// Parses a type, without white space and in lower case.
    ///
    /// # Errors
    ///
    /// `InvalidRequestParameter` for any other text, and for a precision or scale out of range.
    fn from_str(text: &str) -> Result<Self> {
        let arguments = |name: &str| {
            text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')').map(|arguments| {
                arguments.split_once(',').map_or((arguments, None), |(a, b)| (a, Some(b)))
            })
        };
        let plain = match text {
            "boolean" => Some(Self::Boolean),
            "int8" => Some(Self::Int8),
            "int16" => Some(Self::Int16),
            "int32" => Some(Self::Int32),
            "int64" => Some(Self::Int64),
            "uint8" => Some(Self::UInt8),
            "uint16" => Some(Self::UInt16),
            "uint32" => Some(Self::UInt32),
            "uint64" => Some(Self::UInt64),
            "float32" => Some(Self::Float32),
            "float64" => Some(Self::Float64),
            "date32" => Some(Self::Date32),
            "utf8" => Some(Self::Utf8),
            "dictionary(utf8)" => Some(Self::Dictionary),
            _ => None,
        };
        let decimal = || {
            let (precision, scale) = arguments("decimal128")?;
            let (precision, scale) = (number(precision)?, number(scale?)?);
            let fits = (1..=38).contains(&precision) && scale <= precision;
            fits.then_some(Self::Decimal128 { precision, scale })
        };
        let timestamp = || {
            let (unit, zone) = arguments("timestamp")?;
            let unit = ArrowTimeUnit::ALL.into_iter().find(|known| known.as_str() == unit)?;
            let known = zone.is_none_or(|zone| zone == "UTC");
            known.then_some(Self::Timestamp { unit, utc: zone.is_some() })
        };
        plain.or_else(decimal).or_else(timestamp).ok_or_else(|| {
            let start: String = text.chars().take(40).collect();
            invalid(&format!("the type `{start}` is unknown"))
        })
    }
}

/// Parses a number of one or two digits.
fn number(text: &str) -> Option<u8> {
    let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for ArrowCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        })
    }
}

impl fmt::Display for ArrowOutput {
    /// Writes the value of the header.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, column) in self.columns.iter().enumerate() {
            let separator = if at == 0 { "" } else { ";" };
            write!(f, "{separator}{column}")?;
        }
        match self.compression {
            Some(compression) => write!(f, ";{COMPRESSION}{compression}"),
            None => Ok(()),
        }
    }
}

impl FromStr for ArrowOutput {
    type Err = SelectError;

    /// Parses the value of the header.
    ///
    /// # Errors
    ///
    /// `InvalidRequestParameter` for an unknown type or compression, no type, or more than 16 KiB.
    fn from_str(text: &str) -> Result<Self> {
        if text.len() > MAX_BYTES {
            return Err(invalid("it is longer than 16 KiB"));
        }
        let last = text.rsplit_once(';').map_or(text, |(_, last)| last);
        let (types, compression) = match last.strip_prefix(COMPRESSION) {
            None => (text, None),
            Some(name) => {
                let types = text[..text.len() - last.len()].strip_suffix(';');
                let compression = match name {
                    "lz4" => ArrowCompression::Lz4,
                    "zstd" => ArrowCompression::Zstd,
                    _ => return Err(invalid("the compression is lz4 or zstd")),
                };
                (types.ok_or_else(|| invalid("it has no type"))?, Some(compression))
            }
        };
        let columns = types.split(';').map(str::parse).collect::<Result<_>>()?;
        Ok(Self { columns, compression })
    }
}

#[cold]
fn invalid(why: &str) -> SelectError {
    SelectError::new(
        SelectErrorCode::InvalidRequestParameter,
        format!("the types of an Arrow answer are invalid: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column() -> impl Strategy<Value = ArrowType> {
        use ArrowType as T;
        let plain = prop::sample::select(vec![
            T::Boolean,
            T::Int8,
            T::Int16,
            T::Int32,
            T::Int64,
            T::UInt8,
            T::UInt16,
            T::UInt32,
            T::UInt64,
            T::Float32,
            T::Float64,
            T::Date32,
            T::Utf8,
            T::Dictionary,
        ]);
        let decimal = (1_u8..=38)
            .prop_flat_map(|precision| (Just(precision), 0..=precision))
            .prop_map(|(precision, scale)| T::Decimal128 { precision, scale });
        let unit = prop::sample::select(ArrowTimeUnit::ALL.to_vec());
        let time = (unit, any::<bool>()).prop_map(|(unit, utc)| T::Timestamp { unit, utc });
        prop_oneof![3 => plain, 1 => decimal, 1 => time]
    }

    proptest! {
        #[test]
        fn a_header_is_read_as_it_is_written(
            columns in prop::collection::vec(column(), 1..20),
            compression in prop::option::of(
                prop_oneof![Just(ArrowCompression::Lz4), Just(ArrowCompression::Zstd)],
            ),
        ) {
            let output = ArrowOutput { columns, compression };
            prop_assert_eq!(output.to_string().parse(), Ok(output));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(int8|utf8|dictionary|decimal128|[;(),=]|[0-9]|compression=|lz4){0,9}") {
            if let Ok(output) = text.parse::<ArrowOutput>() {
                prop_assert_eq!(output.to_string().parse(), Ok(output));
            }
        }
    }

    #[test]
    fn the_example_of_the_contract() {
        let header = "int64;utf8;decimal128(15,2);timestamp(us,UTC);compression=zstd";
        let output: ArrowOutput = header.parse().unwrap();
        assert_eq!(output.columns.len(), 4);
        assert_eq!(output.to_string(), header);
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let long = [&"int8;".repeat(3276)[..], "boolean"].concat();
        for header in [
            "",
            ";",
            "int8;",
            ";int8",
            "int8;;int8",
            "int8, int8",
            " int8",
            "INT8",
            "int128",
            "int64 ",
            "decimal128",
            "decimal128()",
            "decimal128(5)",
            "decimal128(0,0)",
            "decimal128(39,0)",
            "decimal128(5,6)",
            "decimal128(5,-1)",
            "decimal128(+5,1)",
            "decimal128(5,1",
            "decimal128(5,1,1)",
            "decimal128(300,1)",
            "decimal128(5, 1)",
            "timestamp",
            "timestamp()",
            "timestamp(m)",
            "timestamp(us,)",
            "timestamp(us,utc)",
            "timestamp(us,+00:00)",
            "timestamp(us,UTC,UTC)",
            "compression=lz4",
            ";compression=lz4",
            "int8;compression=",
            "int8;compression=gzip",
            "compression=lz4;int8",
            "int8;compression=lz4;compression=lz4",
            "int8;compression=lz4;",
            &";".repeat(16 << 10),
            &";".repeat(17 << 10),
            &long,
            "é",
        ] {
            let error = header.parse::<ArrowOutput>().unwrap_err();
            assert_eq!(error.code, SelectErrorCode::InvalidRequestParameter, "{header:.40}");
        }
        assert_eq!(long[5..].parse::<ArrowOutput>().unwrap().columns.len(), 3276);
    }
}
