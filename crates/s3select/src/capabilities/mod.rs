//! Profiles of stores: the supported part of S3 Select, and the exactness of answers.
//!
//! Stores with S3 Select differ in the statements that they parse and, worse, in the meaning of the same statement. A
//! profile is plain data about one kind of store. The planner checks it before it pushes an operation down
//! ([`StoreCapabilities::exactness`]). The client checks each statement ([`StoreCapabilities::allows`]) and each request
//! ([`StoreCapabilities::admits`]) before it sends them.

mod builtin;
mod check;
mod construct;
mod exactness;
mod extension;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::construct::constructs;
pub use self::exactness::{Exactness, ExactnessRule, Operation};
pub use self::extension::Extension;
use crate::dialect::ast::Type;

/// The header of an answer that names the rate of the simulated link to the store, in bytes per second.
pub const LINK_RATE_HEADER: &str = "x-sluice-link-rate";

/// The abilities of one kind of store, and the exactness of its answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoreCapabilities {
    /// `sluice`, `aws`, `minio`, `ceph`, `get-only`, or a user's own name.
    pub name: String,
    /// The formats of objects that Select can query; empty for a store without Select.
    pub formats: BTreeSet<DataFormat>,
    /// True if objects may be compressed as a whole with gzip.
    pub gzip: bool,
    /// True if objects may be compressed as a whole with bzip2.
    pub bzip2: bool,
    /// True if quoted fields may contain record delimiters.
    pub quoted_record_delimiters: bool,
    /// True if a ScanRange selects the records that start in it, as AWS defines. Otherwise no ScanRange is sent.
    pub scan_ranges: bool,
    /// True if answers can be requested as JSON.
    pub json_output: bool,
    /// True if Progress events can be requested.
    pub progress: bool,
    /// True if a row with one empty field is returned as `""` if fields are quoted as needed. Otherwise the row is a
    /// blank line, and the client must request quotes around all fields.
    pub quotes_lone_empty_field: bool,
    /// The comment character to send if no line is a comment. To a store that follows AWS, leaving it out means `#`.
    pub no_comments: String,
    /// The length of the longest statement, in bytes of UTF-8.
    pub max_expression_bytes: usize,
    /// The largest number of members of an IN, including keys of a join, if the store compares each row with every
    /// member. `None` means that only the length of the statement is limited.
    #[serde(default)]
    pub max_in_list: Option<usize>,
    /// The length of the longest request body, in bytes. The statement counts with its XML escapes.
    pub max_request_bytes: usize,
    /// True if the XML of a request may use the entities `&amp;` and `&quot;`.
    pub all_xml_entities: bool,
    /// The largest magnitude of integers that the store handles exactly; `None` means all 64 bits.
    pub max_exact_int: Option<u64>,
    /// The supported constructs of the language.
    pub syntax: Syntax,
    /// The treatment of NULL in comparisons.
    pub null_logic: NullLogic,
    /// The value of an empty field of a CSV object.
    pub empty_field: EmptyField,
    /// The effect of a CAST of a text that does not convert.
    pub failed_cast: FailedCast,
    /// True if comparing, casting or matching NULL fails the statement, so that statements must guard such an operand
    /// by `x IS NOT NULL AND …`.
    pub null_operands_fail: bool,
    /// True if the store reports errors of data and statements as `InternalError`, so that a retry is useless.
    pub internal_error_is_final: bool,
    /// True if a header of each answer names the version of the object.
    pub answers_name_version: bool,
    /// True if each answer has a Stats event that counts no more bytes of records than the answer has. An answer
    /// without the event, or with fewer bytes, has lost a message and counts as interrupted.
    #[serde(default)]
    pub sends_stats: bool,
    /// True if the count of the Stats event is exact, so that an answer with more bytes has repeated a message.
    #[serde(default)]
    pub counts_returned_bytes: bool,
    /// True if the last record of an answer ends with the record delimiter, like all others. An answer without it was
    /// truncated.
    #[serde(default)]
    pub ends_last_record: bool,
    /// True if a GET may request several ranges of an object, as with [`Extension::ManyRanges`].
    #[serde(default)]
    pub many_ranges: bool,
    /// True if the store answers statements by index objects, as with [`Extension::Indexes`]. Only predictions use
    /// this field.
    #[serde(default)]
    pub indexes: bool,
    /// The extensions that each answer must list in its headers. An answer without them is not used.
    #[serde(default)]
    pub relies_on: BTreeSet<Extension>,
    /// The operations that may be pushed down, and their exactness. Operations without a rule are not exact at all.
    pub exactness: Vec<ExactnessRule>,
}

/// The format of a stored object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataFormat {
    /// Delimited text, with or without a header.
    Csv,
    /// JSON with one value per line.
    JsonLines,
    /// JSON whose values may span lines.
    JsonDocument,
    /// Apache Parquet files.
    Parquet,
}

/// Classes of types that a store treats alike. The declared type of a column decides its class: in CSV all values are
/// text, and the statement contains the CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypeClass {
    /// TRUE and FALSE.
    Bool,
    /// Whole numbers of up to 64 bits.
    Int,
    /// IEEE 754 floating-point numbers.
    Float,
    /// Numbers with a fixed number of digits after the point.
    Decimal,
    /// Text of any length.
    String,
    /// Days, written `YYYY-MM-DD`. They are compared as timestamps if CAST can make a TIMESTAMP, otherwise as text.
    Date,
    /// Points in time.
    Timestamp,
}

impl TypeClass {
    /// All classes of the enum.
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

/// The constructs of the language that a store parses and computes correctly.
///
/// The constructs that all stores support are not listed: `= != < <= > >= AND OR NOT BETWEEN IN IS NULL`, literals of
/// text and whole numbers, columns by position, and `COUNT(*)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syntax {
    /// The expression `CASE … END`.
    pub case: bool,
    /// A `CASE` without ELSE.
    pub case_without_else: bool,
    /// `x NOT IN (…)`; without it, `NOT (x IN (…))` is sent.
    pub not_in: bool,
    /// `x NOT LIKE y`; without it, `NOT (x LIKE y)` is sent.
    pub not_like: bool,
    /// `x NOT BETWEEN a AND b`; without it, `NOT (x BETWEEN a AND b)` is sent.
    pub not_between: bool,
    /// The operator `<>`; all stores support `!=`.
    pub angle_not_equal: bool,
    /// The types that CAST can make. `Date` is not a type of the language.
    pub casts: BTreeSet<TypeClass>,
    /// The supported patterns of LIKE.
    pub like: LikePatterns,
    /// The clause `LIKE … ESCAPE …`.
    pub like_escape: bool,
    /// The function `NULLIF`.
    pub null_if: bool,
    /// The function `COALESCE`.
    pub coalesce: bool,
    /// The function `SUBSTRING`.
    pub substring: bool,
    /// The function `TRIM`.
    pub trim: bool,
    /// The functions `LOWER` and `UPPER`.
    pub letter_case: bool,
    /// The function `CHAR_LENGTH`.
    pub char_length: bool,
    /// The functions `DATE_ADD`, `DATE_DIFF`, `EXTRACT`, `TO_STRING`, `TO_TIMESTAMP` and `UTCNOW`.
    pub dates: bool,
    /// The operators `+ - * / %` and unary minus on columns.
    pub arithmetic: bool,
    /// The test `IS MISSING` and the constant `MISSING`.
    pub missing: bool,
    /// Number literals with a point or an exponent.
    pub fractions: bool,
    /// Literals of timestamps in backticks.
    pub ion_timestamps: bool,
    /// A column of type BOOL as a condition.
    pub bare_bool: bool,
    /// Columns by name, in double quotes.
    pub quoted_identifiers: bool,
    /// Paths into JSON values, in FROM and in expressions.
    pub json_paths: bool,
    /// The aggregates `AVG`, `MAX`, `MIN`, `SUM` and `COUNT(x)`.
    pub aggregates: bool,
    /// An aggregate inside a function or a CAST.
    pub nested_aggregates: bool,
    /// Aliases in the SELECT list.
    pub aliases: bool,
    /// A quote inside a text, written as `''`.
    pub doubled_quotes: bool,
    /// The clause `GROUP BY`, as [`Extension::PartialGroups`] defines it.
    #[serde(default)]
    pub group_by: bool,
    /// The function `BLOOM_CONTAINS`, as [`Extension::Bloom`] defines it.
    #[serde(default)]
    pub bloom: bool,
}

/// The patterns of LIKE that a store matches correctly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LikePatterns {
    /// No pattern is matched correctly.
    None,
    /// `abc`, `abc%`, `%abc` and `%abc%`, where `abc` is ASCII without wildcards.
    Affix,
    /// All patterns are matched correctly.
    Full,
}

/// The treatment of NULL in comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NullLogic {
    /// SQL's logic: a comparison with NULL is neither TRUE nor FALSE.
    ThreeValued,
    /// NULL equals NULL and nothing else, so `NULL != 1` and `NOT (NULL = 1)` are TRUE.
    TwoValued,
}

/// The value of an empty field of a CSV object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyField {
    /// The empty text `''`.
    EmptyString,
    /// The value NULL.
    Null,
    /// Unknown, so statements must not depend on it.
    Unknown,
}

/// The effect of a CAST of a text that does not convert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedCast {
    /// The statement fails.
    Error,
    /// The row is left out of the answer.
    SkipsRow,
}

/// The reason for which a statement or a request is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a store of the profile `{profile}` may not be sent {what}")]
pub struct Refusal {
    /// The name of the profile.
    pub profile: String,
    /// The construct or option that the profile does not allow.
    pub what: String,
}

impl StoreCapabilities {
    /// The known profile with this name, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|profile| profile.name.eq_ignore_ascii_case(name))
    }

    /// All known profiles.
    pub fn all() -> Vec<Self> {
        vec![Self::sluice(), Self::aws(), Self::minio(), Self::ceph(), Self::get_only()]
    }

    /// Returns true if the store runs statements at all.
    pub fn has_select(&self) -> bool {
        !self.formats.is_empty()
    }

    /// The exactness of an operation on values of a class in objects of a format.
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
        for profile in StoreCapabilities::all() {
            assert_eq!(
                StoreCapabilities::by_name(&profile.name.to_uppercase()).as_ref(),
                Some(&profile)
            );
            let json = serde_json::to_string(&profile).unwrap();
            assert_eq!(serde_json::from_str::<StoreCapabilities>(&json).unwrap(), profile);
        }
        assert_eq!(StoreCapabilities::by_name("nobody"), None);
    }

    #[test]
    fn our_server_is_exact_and_a_store_without_select_is_nothing() {
        for operation in Operation::ALL {
            for class in TypeClass::ALL {
                for format in [DataFormat::Csv, DataFormat::JsonLines, DataFormat::Parquet] {
                    let of =
                        |profile: StoreCapabilities| profile.exactness(format, operation, class);
                    assert_eq!(of(StoreCapabilities::sluice()), Exactness::Exact);
                    assert_eq!(of(StoreCapabilities::get_only()), Exactness::No);
                    // Other stores have no exact filters; aggregates and projections are exact or not sent.
                    for foreign in ["aws", "minio", "ceph"] {
                        let exactness = of(StoreCapabilities::by_name(foreign).unwrap());
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
            let profile = StoreCapabilities::by_name(name).unwrap();
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
