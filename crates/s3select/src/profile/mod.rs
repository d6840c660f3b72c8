//! What each kind of store supports, and how far its answers can be trusted.
//!
//! Stores that speak S3 Select differ in what they parse and, worse, in what the same statement
//! means. A profile is plain data about one kind of store. The planner asks it before it pushes
//! anything ([`EndpointProfile::exactness`]), a statement is checked against it before it is sent
//! ([`EndpointProfile::allows`]), and so is the rest of a request ([`EndpointProfile::admits`]).

mod check;
mod construct;
mod exactness;
mod extension;
mod known;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::construct::constructs;
pub use self::exactness::{Exactness, ExactnessRule, Operation};
pub use self::extension::Extension;
use crate::dialect::ast::Type;

/// What one kind of store supports, and how far its answers can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndpointProfile {
    /// `sluice`, `aws`, `minio`, `ceph`, `get-only`, or a name of one's own.
    pub name: String,
    /// The formats of objects that may be queried at all; empty for a store without Select.
    pub formats: BTreeSet<DataFormat>,
    /// Whether objects may be compressed as a whole with gzip.
    pub gzip: bool,
    /// Whether objects may be compressed as a whole with bzip2.
    pub bzip2: bool,
    /// Whether quoted fields may hold record delimiters.
    pub quoted_record_delimiters: bool,
    /// Whether a ScanRange takes the records that start in it, as AWS defines. Without this, no
    /// ScanRange is sent.
    pub scan_ranges: bool,
    /// Whether answers may be asked for as JSON.
    pub json_output: bool,
    /// Whether Progress events may be asked for.
    pub progress: bool,
    /// Whether a row of one empty field is sent as `""` where quotes are only used as needed. If
    /// not it is a blank line, and such answers must be quoted throughout.
    pub quotes_lone_empty_field: bool,
    /// What is sent as the comment character when no line is a comment. Leaving it out means
    /// `#` to a store that follows AWS.
    pub no_comments: String,
    /// The longest statement, in bytes of UTF-8.
    pub max_expression_bytes: usize,
    /// The most members of an IN that is sent, keys of a join among them, where a store compares each row
    /// with each of them; `None` is no limit but the length of the statement.
    #[serde(default)]
    pub max_in_list: Option<usize>,
    /// The longest request body, in bytes; the statement counts as it is escaped in XML.
    pub max_request_bytes: usize,
    /// Whether the XML of a request may use the entities `&amp;` and `&quot;`.
    pub all_xml_entities: bool,
    /// Whole numbers of a greater magnitude are not understood exactly; `None` is no limit
    /// within 64 bits.
    pub max_exact_int: Option<u64>,
    /// The language.
    pub syntax: Syntax,
    /// How comparisons treat NULL.
    pub null_logic: NullLogic,
    /// What an empty field of a CSV object is.
    pub empty_field: EmptyField,
    /// What a CAST of a text that is not of its type does.
    pub failed_cast: FailedCast,
    /// Whether comparing, casting or matching NULL fails the statement, so that such an operand
    /// must be guarded by `x IS NOT NULL AND …`.
    pub null_operands_fail: bool,
    /// Whether `InternalError` is how the store reports errors of data and statements, so that
    /// asking again is of no use.
    pub internal_error_is_final: bool,
    /// Whether the head of an answer names the version of the object that it is about.
    pub answers_name_version: bool,
    /// Whether each answer has a Stats event, which counts no more bytes of records than the answer has. An answer
    /// without it, or with fewer bytes, has lost a message, as if it had broken off.
    #[serde(default)]
    pub sends_stats: bool,
    /// Whether this count is exact, so that an answer with more bytes has repeated a message.
    #[serde(default)]
    pub counts_returned_bytes: bool,
    /// Whether the last record of an answer ends with the record delimiter, as the others do. An answer that does
    /// not was cut.
    #[serde(default)]
    pub ends_last_record: bool,
    /// Whether a GET may ask for several ranges of an object, as [`Extension::ManyRanges`] has it.
    #[serde(default)]
    pub many_ranges: bool,
    /// Whether statements are answered by index objects, as [`Extension::Indexes`] has it. Nothing but
    /// predictions rests on it.
    #[serde(default)]
    pub indexes: bool,
    /// What the head of each answer must name, or the answer is not used: the profile counts on it.
    #[serde(default)]
    pub relies_on: BTreeSet<Extension>,
    /// What may be pushed, and how exact it is. What is not listed is not exact at all.
    pub exactness: Vec<ExactnessRule>,
}

/// The format of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataFormat {
    /// Delimited text.
    Csv,
    /// One JSON value per line.
    JsonLines,
    /// JSON values that may span lines.
    JsonDocument,
    /// Apache Parquet.
    Parquet,
}

/// Types as far as stores treat them alike. A class is that of the column's declared type: in
/// CSV all are text, and the statement carries the CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypeClass {
    /// TRUE or FALSE.
    Bool,
    /// Whole numbers of up to 64 bits.
    Int,
    /// IEEE 754 numbers.
    Float,
    /// Numbers with a fixed number of digits behind the point.
    Decimal,
    /// Text.
    String,
    /// Days, written `YYYY-MM-DD`: compared as timestamps where CAST makes TIMESTAMP, else as
    /// text.
    Date,
    /// Moments.
    Timestamp,
}

impl TypeClass {
    /// All classes.
    pub const ALL: [Self; 7] = [
        Self::Bool,
        Self::Int,
        Self::Float,
        Self::Decimal,
        Self::String,
        Self::Date,
        Self::Timestamp,
    ];
}

impl From<Type> for TypeClass {
    fn from(ty: Type) -> Self {
        match ty {
            Type::Bool => Self::Bool,
            Type::Int => Self::Int,
            Type::Float => Self::Float,
            Type::Decimal(_) => Self::Decimal,
            Type::String => Self::String,
            Type::Timestamp => Self::Timestamp,
        }
    }
}

/// Which constructs of the language a store understands and computes rightly. The basic ones,
/// which all stores share, are not listed: `= != < <= > >= AND OR NOT BETWEEN IN IS NULL`, literals
/// of text and whole numbers, columns by position, `COUNT(*)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syntax {
    /// `CASE … END`
    pub case: bool,
    /// `CASE` without ELSE.
    pub case_without_else: bool,
    /// `x NOT IN (…)`; else `NOT (x IN (…))` says it.
    pub not_in: bool,
    /// `x NOT LIKE y`; else `NOT (x LIKE y)` says it.
    pub not_like: bool,
    /// `x NOT BETWEEN a AND b`; else `NOT (x BETWEEN a AND b)` says it.
    pub not_between: bool,
    /// `<>`; `!=` is understood everywhere.
    pub angle_not_equal: bool,
    /// What CAST may make. `Date` is none of the language's types.
    pub casts: BTreeSet<TypeClass>,
    /// The patterns of LIKE.
    pub like: LikePatterns,
    /// `LIKE … ESCAPE …`
    pub like_escape: bool,
    /// `NULLIF`
    pub null_if: bool,
    /// `COALESCE`
    pub coalesce: bool,
    /// `SUBSTRING`
    pub substring: bool,
    /// `TRIM`
    pub trim: bool,
    /// `LOWER` and `UPPER`
    pub letter_case: bool,
    /// `CHAR_LENGTH`
    pub char_length: bool,
    /// `DATE_ADD`, `DATE_DIFF`, `EXTRACT`, `TO_STRING`, `TO_TIMESTAMP`, `UTCNOW`
    pub dates: bool,
    /// `+ - * / %` and unary minus on columns.
    pub arithmetic: bool,
    /// `IS MISSING` and `MISSING`
    pub missing: bool,
    /// Numbers with a point or an exponent.
    pub fractions: bool,
    /// Timestamps in backticks.
    pub ion_timestamps: bool,
    /// A column of type BOOL as a condition of its own.
    pub bare_bool: bool,
    /// Columns by name, in double quotes.
    pub quoted_identifiers: bool,
    /// Paths into JSON values, in FROM and in expressions.
    pub json_paths: bool,
    /// `AVG`, `MAX`, `MIN`, `SUM` and `COUNT(x)`
    pub aggregates: bool,
    /// An aggregate inside a function or a CAST.
    pub nested_aggregates: bool,
    /// Aliases in the SELECT list.
    pub aliases: bool,
    /// A quote inside a text, said as `''`.
    pub doubled_quotes: bool,
    /// `GROUP BY`, as [`Extension::PartialGroups`] has it.
    #[serde(default)]
    pub group_by: bool,
    /// `BLOOM_CONTAINS`, as [`Extension::Bloom`] has it.
    #[serde(default)]
    pub bloom: bool,
}

/// The patterns of LIKE that a store matches rightly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LikePatterns {
    /// None.
    None,
    /// `abc`, `abc%`, `%abc` and `%abc%`, where `abc` is ASCII without wildcards.
    Affix,
    /// All.
    Full,
}

/// How comparisons treat NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NullLogic {
    /// As SQL says: a comparison with NULL is neither TRUE nor FALSE.
    ThreeValued,
    /// NULL equals NULL and nothing else, so `NULL != 1` and `NOT (NULL = 1)` are TRUE.
    TwoValued,
}

/// What an empty field of a CSV object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyField {
    /// The text `''`.
    EmptyString,
    /// NULL.
    Null,
    /// Not known: a statement must not depend on it.
    Unknown,
}

/// What a CAST of a text that is not of its type does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedCast {
    /// It fails the statement.
    Error,
    /// The row is left out.
    SkipsRow,
}

/// Why a statement or a request was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a store of the profile `{profile}` may not be sent {what}")]
pub struct Refusal {
    /// The profile's name.
    pub profile: String,
    /// What it does not allow.
    pub what: String,
}

impl EndpointProfile {
    /// The known profile of a name, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|profile| profile.name.eq_ignore_ascii_case(name))
    }

    /// The known profiles.
    pub fn all() -> Vec<Self> {
        vec![Self::sluice(), Self::aws(), Self::minio(), Self::ceph(), Self::get_only()]
    }

    /// Whether the store runs statements at all.
    pub fn has_select(&self) -> bool {
        !self.formats.is_empty()
    }

    /// How exact an operation is on values of a class in objects of a format.
    pub fn exactness(
        &self,
        format: DataFormat,
        operation: Operation,
        class: TypeClass,
    ) -> Exactness {
        if !self.formats.contains(&format) {
            return Exactness::No;
        }
        let rule = self.exactness.iter().find(|rule| rule.covers(format, operation, class));
        rule.map_or(Exactness::No, |rule| rule.exactness)
    }

    fn refuse(&self, what: impl Into<String>) -> Refusal {
        Refusal { profile: self.name.clone(), what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_name_and_survive_json() {
        for profile in EndpointProfile::all() {
            assert_eq!(
                EndpointProfile::by_name(&profile.name.to_uppercase()).as_ref(),
                Some(&profile)
            );
            let json = serde_json::to_string(&profile).unwrap();
            assert_eq!(serde_json::from_str::<EndpointProfile>(&json).unwrap(), profile);
        }
        assert_eq!(EndpointProfile::by_name("nobody"), None);
    }

    #[test]
    fn our_server_is_exact_and_a_store_without_select_is_nothing() {
        for operation in Operation::ALL {
            for class in TypeClass::ALL {
                for format in [DataFormat::Csv, DataFormat::JsonLines, DataFormat::Parquet] {
                    let of = |profile: EndpointProfile| profile.exactness(format, operation, class);
                    assert_eq!(of(EndpointProfile::sluice()), Exactness::Exact);
                    assert_eq!(of(EndpointProfile::get_only()), Exactness::No);
                    // Nothing foreign is an exact filter, and nothing of many rows a superset.
                    for foreign in ["aws", "minio", "ceph"] {
                        let exactness = of(EndpointProfile::by_name(foreign).unwrap());
                        let of_rows = operation >= Operation::CountRows;
                        let as_is = of_rows || operation == Operation::Project;
                        let never = if as_is { Exactness::Superset } else { Exactness::Exact };
                        assert_ne!(exactness, never, "{foreign} {operation:?} {class:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_seen_to_go_wrong_is_not_exact() {
        #[track_caller]
        fn check(name: &str, operation: Operation, class: TypeClass, expected: Exactness) {
            let profile = EndpointProfile::by_name(name).unwrap();
            assert_eq!(profile.exactness(DataFormat::Csv, operation, class), expected);
        }
        use Exactness::{Exact, No, Superset};
        use Operation::{Avg, CountRows, Equal, Like, MinMax, NotEqual, Order, Project, Sum};
        use TypeClass::{Date, Decimal, Float, Int, String, Timestamp};
        for name in ["aws", "minio", "ceph"] {
            check(name, Equal, Float, No);
            check(name, Equal, Decimal, No);
            check(name, Order, Timestamp, No);
            check(name, Sum, Float, No);
            check(name, Avg, Int, No);
            check(name, MinMax, String, No);
            check(name, Equal, String, Superset);
            check(name, Order, Date, Superset);
            check(name, Like, String, Superset);
        }
        check("aws", Sum, Int, Exact);
        check("minio", Sum, Int, No);
        check("aws", Project, Decimal, Exact);
        check("ceph", Project, String, No);
        check("minio", CountRows, String, Exact);
        check("ceph", CountRows, String, No);
        check("minio", NotEqual, Int, Superset);
        // A row whose CAST fails would be skipped.
        check("ceph", Equal, Int, No);
    }
}
