//! The profiles that come with the crate.
//!
//! * `sluice` is this project's own server.
//! * `minio` was measured on MinIO's last version.
//! * `ceph` follows Ceph's source.
//! * `aws` follows AWS's documentation and reports by other query engines; nothing of it was measured.
//!
//! Constructs that are not known to work are not allowed.

use super::{
    DataFormat, EmptyField, Exactness, ExactnessRule, Extension, FailedCast, LikePatterns,
    NullLogic, Operation, StoreCapabilities, Syntax, TypeClass,
};

/// AWS's limit of "256 KB".
const EXPRESSION_BYTES: usize = 256 * 1024;
/// The size of a request with the longest statement, every character of it escaped.
const REQUEST_BYTES: usize = 2 << 20;
/// The most members of an IN for stores that compare each row with every member. On MinIO, a scan with this many
/// takes four times as long as one without, and a scan with 15,000 takes minutes (measured).
const COMPARED_MEMBERS: usize = 64;
/// DEL, a character that XML allows and that no line of text begins with.
const DEL: &str = "\u{7f}";

impl StoreCapabilities {
    /// A store of unknown kind: no statements are sent, and everything is read with GET.
    pub fn unknown() -> Self {
        Self {
            name: "unknown".to_owned(),
            max_in_list: Some(COMPARED_MEMBERS),
            internal_error_is_final: true,
            ..Self::get_only()
        }
    }

    /// This project's own server, which supports the whole dialect with the semantics of this crate.
    pub fn sluice() -> Self {
        Self {
            name: "sluice".to_owned(),
            formats: [
                DataFormat::Csv,
                DataFormat::JsonLines,
                DataFormat::JsonDocument,
                DataFormat::Parquet,
            ]
            .into(),
            gzip: true,
            bzip2: true,
            quoted_record_delimiters: true,
            scan_ranges: true,
            json_output: true,
            progress: true,
            quotes_lone_empty_field: true,
            no_comments: String::new(),
            max_expression_bytes: EXPRESSION_BYTES,
            max_in_list: None,
            max_request_bytes: REQUEST_BYTES,
            all_xml_entities: true,
            max_exact_int: None,
            syntax: Syntax::full(),
            null_logic: NullLogic::ThreeValued,
            empty_field: EmptyField::EmptyString,
            failed_cast: FailedCast::Error,
            null_operands_fail: false,
            internal_error_is_final: false,
            answers_name_version: true,
            sends_stats: true,
            counts_returned_bytes: true,
            ends_last_record: true,
            many_ranges: true,
            indexes: true,
            // Without `Snapshot`: if an answer does not name the object's version, the client requests it.
            relies_on: [
                Extension::DecimalPrecision,
                Extension::MinMaxAny,
                Extension::ExactSum,
                Extension::StrictLines,
                Extension::StrictFields,
                Extension::PartialGroups,
                Extension::Bloom,
                Extension::Arrow,
            ]
            .into(),
            exactness: vec![ExactnessRule::new(&[], &[], Exactness::Exact)],
        }
    }

    /// Amazon S3, for the accounts that still have Select.
    ///
    /// * The grammar is the documented one.
    /// * Filters are trusted not to lose rows, and the client checks the rows again.
    /// * Decimals are left out, because engines have seen wrong comparisons. Floats are left out, because their
    ///   equality is not guaranteed. Timestamps are left out, because no engine is known to have relied on them.
    /// * It is not documented how `IS NULL` treats an empty CSV field.
    /// * MIN and MAX are documented for whole numbers and decimals only.
    /// * A CAST that fails ends the statement.
    /// * The Stats event counts "the total number of bytes of records payload data returned".
    /// * PushdownDB (ICDE 2020) sent its Bloom filters to AWS: remainders of whole numbers, and the character of a
    ///   text at that place.
    pub fn aws() -> Self {
        use Operation::{
            Arithmetic, Avg, CountRows, Equal, Function, In, IsNull, Like, MinMax, NotEqual, Order,
            Project, Sum,
        };
        use TypeClass::{Bool, Date, Decimal, Int, String, Timestamp};
        let text = [DataFormat::Csv, DataFormat::JsonLines];
        Self {
            name: "aws".to_owned(),
            formats: [
                DataFormat::Csv,
                DataFormat::JsonLines,
                DataFormat::JsonDocument,
                DataFormat::Parquet,
            ]
            .into(),
            quotes_lone_empty_field: false,
            no_comments: DEL.to_owned(),
            empty_field: EmptyField::Unknown,
            answers_name_version: false,
            // The count is documented as the bytes of all records, but was not measured.
            counts_returned_bytes: false,
            many_ranges: false,
            indexes: false,
            relies_on: [].into(),
            syntax: Syntax {
                angle_not_equal: false,
                not_between: false,
                like_escape: false,
                dates: false,
                ion_timestamps: false,
                missing: false,
                group_by: false,
                bloom: false,
                casts: [Bool, Int, String, Decimal].into(),
                ..Syntax::full()
            },
            exactness: vec![
                // It is not documented whether IS NULL is TRUE for a missing JSON field.
                ExactnessRule::new(&[IsNull], &[], Exactness::No).only(&[DataFormat::JsonLines]),
                // The text of a CSV field is returned unchanged, whatever its type. JSON strings are returned
                // unchanged as well, and dates are strings there.
                ExactnessRule::new(&[Project], &[], Exactness::Exact).only(&[DataFormat::Csv]),
                ExactnessRule::new(&[Project], &[Date, Timestamp], Exactness::Exact)
                    .only(&[DataFormat::JsonLines]),
                ExactnessRule::new(&[Project], &[Bool, Int, String], Exactness::Exact),
                ExactnessRule::new(
                    &[Equal, NotEqual, Order, In, IsNull],
                    &[Int, String],
                    Exactness::Superset,
                ),
                // Dates are compared as text, which they are in text formats only.
                ExactnessRule::new(
                    &[Equal, NotEqual, Order, In, IsNull],
                    &[Date],
                    Exactness::Superset,
                )
                .only(&text),
                ExactnessRule::new(&[Equal, NotEqual, IsNull], &[Bool], Exactness::Superset),
                ExactnessRule::new(&[IsNull], &[], Exactness::Superset).only(&text),
                ExactnessRule::new(&[Like], &[String], Exactness::Superset),
                ExactnessRule::new(&[Arithmetic], &[Int], Exactness::Superset),
                ExactnessRule::new(&[Function], &[String], Exactness::Superset),
                // It is not documented whether each value of a document is a row of `FROM S3Object`.
                ExactnessRule::new(&[CountRows], &[], Exactness::No)
                    .only(&[DataFormat::JsonDocument]),
                ExactnessRule::new(&[CountRows], &[], Exactness::Exact),
                ExactnessRule::new(&[Sum, MinMax], &[Int], Exactness::Exact),
                ExactnessRule::new(&[Avg], &[], Exactness::No),
            ],
            ..Self::sluice()
        }
    }

    /// MinIO, measured on its last version (February 2026; the repository is closed).
    ///
    /// * It has no CASE, no NOT IN and no CAST to DECIMAL; `<>` parses and fails; ESCAPE is parsed and ignored;
    ///   NULLIF always returns its first operand, and COALESCE does not skip MISSING.
    /// * NULL is two-valued, and `<`, LIKE or CAST on NULL fail the statement.
    /// * Integer literals, IN and sums go through floats, so nothing beyond 2^53 is exact. Float equality has a
    ///   tolerance of 1e-6. Integers wrap around silently.
    /// * LIKE is wrong for a wildcard inside the pattern and for text beyond ASCII.
    /// * A function of an aggregate is silently 0; the sum of no rows is 0.
    /// * A truncated gzip object counts as complete. ScanRange is a raw slice of bytes. Quoted line breaks are split
    ///   at block boundaries. Progress events are malformed.
    /// * In Parquet, decimals are raw bytes, dates are `2020T`, and a scan is slower than a GET.
    /// * IN compares a row with every member, and a long list takes seconds to parse.
    /// * Nearly all errors of data are `InternalError`.
    /// * The Stats event counts the bytes of records as they are written (`message.go`), and each record ends with
    ///   its delimiter.
    pub fn minio() -> Self {
        use Operation::{CountRows, Equal, In, IsNull, Like, NotEqual, Order, Project};
        use TypeClass::{Bool, Date, Int, String};
        Self {
            name: "minio".to_owned(),
            formats: [DataFormat::Csv].into(),
            gzip: false,
            quoted_record_delimiters: false,
            scan_ranges: false,
            progress: false,
            quotes_lone_empty_field: false,
            no_comments: DEL.to_owned(),
            max_in_list: Some(COMPARED_MEMBERS),
            // From 2^53 on, MinIO treats a different number as equal.
            max_exact_int: Some((1 << 53) - 1),
            syntax: Syntax {
                letter_case: true,
                casts: [Bool, Int, String].into(),
                like: LikePatterns::Affix,
                quoted_identifiers: true,
                aliases: true,
                doubled_quotes: true,
                ..Syntax::least()
            },
            null_logic: NullLogic::TwoValued,
            empty_field: EmptyField::EmptyString,
            null_operands_fail: true,
            internal_error_is_final: true,
            answers_name_version: false,
            many_ranges: false,
            indexes: false,
            relies_on: [].into(),
            exactness: vec![
                ExactnessRule::new(&[Project], &[], Exactness::Exact),
                ExactnessRule::new(
                    &[Equal, NotEqual, Order, In],
                    &[Int, String, Date],
                    Exactness::Superset,
                ),
                ExactnessRule::new(&[IsNull], &[], Exactness::Superset),
                ExactnessRule::new(&[Like], &[String], Exactness::Superset),
                ExactnessRule::new(&[CountRows], &[], Exactness::Exact),
            ],
            ..Self::sluice()
        }
    }

    /// Ceph's RADOS gateway, according to its source.
    ///
    /// * A request body of more than 4096 bytes is cut off. The XML entities `&amp;` and `&quot;`, compression, JSON
    ///   lines and comments are not supported.
    /// * Both kinds of quotes make text literals, and a quote cannot be escaped, so a quoted column is a constant.
    ///   NOT applies to everything after it, so only parenthesised statements are safe. CASE needs ELSE; there is no
    ///   NOT IN and no NOT LIKE.
    /// * Literals of more than 32 bits become floats.
    /// * A row whose CAST fails is skipped silently.
    /// * An empty CSV field is NULL and is returned as the text `null`, which is indistinguishable from that text, so
    ///   no column can be returned exactly. Rows of aggregates lack their delimiter.
    pub fn ceph() -> Self {
        use Operation::{Equal, In, IsNull, Like, Order};
        use TypeClass::{Date, String};
        Self {
            name: "ceph".to_owned(),
            formats: [DataFormat::Csv].into(),
            gzip: false,
            bzip2: false,
            quoted_record_delimiters: false,
            scan_ranges: false,
            json_output: false,
            progress: false,
            quotes_lone_empty_field: false,
            no_comments: DEL.to_owned(),
            max_request_bytes: 4096,
            all_xml_entities: false,
            max_exact_int: Some((1 << 31) - 1),
            syntax: Syntax {
                case: true,
                casts: [TypeClass::Int, String].into(),
                like: LikePatterns::Affix,
                ..Syntax::least()
            },
            empty_field: EmptyField::Null,
            failed_cast: FailedCast::SkipsRow,
            answers_name_version: false,
            sends_stats: false,
            counts_returned_bytes: false,
            // Rows of aggregates have no delimiter at the end.
            ends_last_record: false,
            many_ranges: false,
            indexes: false,
            relies_on: [].into(),
            exactness: vec![
                ExactnessRule::new(
                    &[Equal, Order, In, IsNull],
                    &[String, Date],
                    Exactness::Superset,
                ),
                ExactnessRule::new(&[Like], &[String], Exactness::Superset),
            ],
            ..Self::sluice()
        }
    }

    /// A store without Select, where everything is read with GET.
    pub fn get_only() -> Self {
        Self {
            name: "get-only".to_owned(),
            formats: [].into(),
            gzip: false,
            bzip2: false,
            quoted_record_delimiters: false,
            scan_ranges: false,
            json_output: false,
            progress: false,
            max_expression_bytes: 0,
            max_request_bytes: 0,
            max_exact_int: Some(0),
            syntax: Syntax::least(),
            empty_field: EmptyField::Unknown,
            answers_name_version: false,
            sends_stats: false,
            counts_returned_bytes: false,
            ends_last_record: false,
            many_ranges: false,
            indexes: false,
            relies_on: [].into(),
            exactness: vec![],
            ..Self::sluice()
        }
    }
}

impl Syntax {
    /// All constructs of the language.
    pub fn full() -> Self {
        Self {
            case: true,
            case_without_else: true,
            not_in: true,
            not_like: true,
            not_between: true,
            angle_not_equal: true,
            casts: TypeClass::ALL.into_iter().filter(|class| *class != TypeClass::Date).collect(),
            like: LikePatterns::Full,
            like_escape: true,
            null_if: true,
            coalesce: true,
            substring: true,
            trim: true,
            letter_case: true,
            char_length: true,
            dates: true,
            arithmetic: true,
            missing: true,
            fractions: true,
            ion_timestamps: true,
            bare_bool: true,
            quoted_identifiers: true,
            json_paths: true,
            aggregates: true,
            nested_aggregates: true,
            aliases: true,
            doubled_quotes: true,
            group_by: true,
            bloom: true,
        }
    }

    /// The constructs that all stores support.
    pub fn least() -> Self {
        Self {
            case: false,
            case_without_else: false,
            not_in: false,
            not_like: false,
            not_between: false,
            angle_not_equal: false,
            casts: [].into(),
            like: LikePatterns::None,
            like_escape: false,
            null_if: false,
            coalesce: false,
            substring: false,
            trim: false,
            letter_case: false,
            char_length: false,
            dates: false,
            arithmetic: false,
            missing: false,
            fractions: false,
            ion_timestamps: false,
            bare_bool: false,
            quoted_identifiers: false,
            json_paths: false,
            aggregates: false,
            nested_aggregates: false,
            aliases: false,
            doubled_quotes: false,
            group_by: false,
            bloom: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Operation;

    #[test]
    fn no_profile_allows_more_syntax_than_ours() {
        let flags = |syntax: &Syntax| {
            let serde_json::Value::Object(fields) = serde_json::to_value(syntax).unwrap() else {
                panic!("a syntax is an object");
            };
            fields.into_iter().filter_map(|(name, flag)| Some((name, flag.as_bool()?)))
        };
        assert!(flags(&Syntax::full()).all(|(_, allowed)| allowed));
        assert!(flags(&Syntax::least()).all(|(_, allowed)| !allowed));
        assert!(flags(&Syntax::full()).count() > 20);
        for profile in StoreCapabilities::all() {
            let full = Syntax::full();
            assert!(profile.syntax.casts.is_subset(&full.casts), "{}", profile.name);
            assert!(profile.syntax.like <= full.like, "{}", profile.name);
        }
    }

    #[test]
    fn what_is_not_known_is_not_sent() {
        let unknown = StoreCapabilities::unknown();
        assert!(!unknown.has_select() && unknown.exactness.is_empty());
        assert!(StoreCapabilities::all().iter().all(|profile| profile.name != unknown.name));
        for profile in StoreCapabilities::all() {
            for operation in Operation::ALL {
                for class in TypeClass::ALL {
                    if !profile.formats.contains(&DataFormat::Parquet) {
                        let exactness = profile.exactness(DataFormat::Parquet, operation, class);
                        assert_eq!(exactness, Exactness::No, "{}", profile.name);
                    }
                }
            }
        }
    }

    #[test]
    fn only_our_server_is_relied_upon_for_extensions() {
        for profile in StoreCapabilities::all() {
            assert_eq!(!profile.relies_on.is_empty(), profile.name == "sluice");
            let limit = profile.max_expression_bytes.max(1);
            assert!(profile.max_request_bytes <= REQUEST_BYTES && limit <= EXPRESSION_BYTES);
        }
    }
}
