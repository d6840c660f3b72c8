//! Checks statements and requests against a profile before they are sent.

use super::{DataFormat, LikePatterns, Refusal, StoreCapabilities, TypeClass};
use crate::dialect::ast::{
    Aggregate, BinaryOp, Expr, Function, IsTest, Literal, PathStep, Projection, Query, UnaryOp,
};
use crate::request::{
    Compression, InputFormat, InputSerialization, JsonType, OutputSerialization, SelectRequest,
};

/// An upper bound, in bytes, of the rest of a request: element names, options, delimiters.
const ENVELOPE_BYTES: usize = 1200;

impl StoreCapabilities {
    /// Checks that a statement may be sent: its constructs, its literals and its length.
    ///
    /// This is about the statements that a store parses. [`StoreCapabilities::exactness`] describes how far its answers
    /// can be trusted.
    pub fn allows(&self, query: &Query) -> Result<(), Refusal> {
        if !self.has_select() {
            return Err(self.refuse("a statement"));
        }
        if !query.from.path.is_empty() && !self.syntax.json_paths {
            return Err(self.refuse("a path in FROM"));
        }
        if let Projection::Items(items) = &query.projection {
            for item in items {
                if item.alias.is_some() && !self.syntax.aliases {
                    return Err(self.refuse("an alias in the SELECT list"));
                }
                self.allows_expr(&item.expr)?;
            }
        }
        if let Some(filter) = &query.filter {
            if matches!(filter, Expr::Path(_)) && !self.syntax.bare_bool {
                return Err(self.refuse("a column as a condition of its own"));
            }
            self.allows_expr(filter)?;
        }
        if !query.group_by.is_empty() && !self.syntax.group_by {
            return Err(self.refuse("GROUP BY"));
        }
        query.group_by.iter().try_for_each(|group| self.allows_expr(group))?;
        self.allows_text(&query.to_string())
    }

    /// Checks that a request may be sent: its formats, its options and its length.
    pub fn admits(&self, request: &SelectRequest) -> Result<(), Refusal> {
        let format = DataFormat::from(&request.input);
        if !self.formats.contains(&format) {
            return Err(self.refuse(format!("statements about objects of format {format:?}")));
        }
        let input = &request.input;
        let refusals = [
            (input.compression == Compression::Gzip && !self.gzip, "gzip objects"),
            (input.compression == Compression::Bzip2 && !self.bzip2, "bzip2 objects"),
            (
                matches!(&input.format, InputFormat::Csv(csv) if csv.allow_quoted_record_delimiter)
                    && !self.quoted_record_delimiters,
                "objects with quoted record delimiters",
            ),
            (request.scan_range.is_some() && !self.scan_ranges, "a ScanRange"),
            (request.progress && !self.progress, "a wish for Progress events"),
            (request.extras.groups && !self.syntax.group_by, "GROUP BY"),
            (request.extras.bloom && !self.syntax.bloom, "BLOOM_CONTAINS"),
            (
                matches!(request.output, OutputSerialization::Json { .. }) && !self.json_output,
                "a wish for JSON",
            ),
        ];
        if let Some((_, what)) = refusals.iter().find(|(refused, _)| *refused) {
            return Err(self.refuse(*what));
        }
        self.allows_text(&request.expression)
    }

    fn allows_text(&self, sql: &str) -> Result<(), Refusal> {
        if sql.len() > self.max_expression_bytes {
            let limit = self.max_expression_bytes;
            return Err(
                self.refuse(format!("a statement of {} bytes (at most {limit})", sql.len()))
            );
        }
        if !self.all_xml_entities && sql.contains(['&', '"']) {
            return Err(self.refuse("a statement with & or \""));
        }
        let request_bytes = xml_bytes(sql) + ENVELOPE_BYTES;
        if request_bytes > self.max_request_bytes {
            let limit = self.max_request_bytes;
            return Err(
                self.refuse(format!("a request of {request_bytes} bytes (at most {limit})"))
            );
        }
        Ok(())
    }

    fn allows_expr(&self, expr: &Expr) -> Result<(), Refusal> {
        // No recursion, because a chain of ORs can be thousands deep.
        let mut pending = vec![expr];
        while let Some(expr) = pending.pop() {
            self.allows_node(expr)?;
            pending.extend(expr.children());
        }
        Ok(())
    }

    /// Checks one node, without its operands.
    fn allows_node(&self, expr: &Expr) -> Result<(), Refusal> {
        let syntax = &self.syntax;
        let need = |allowed: bool, what: &str| {
            if allowed { Ok(()) } else { Err(self.refuse(what)) }
        };
        match expr {
            Expr::Literal(literal) => self.allows_literal(literal),
            Expr::Path(steps) => self.allows_path(steps),
            Expr::Unary { op: UnaryOp::Negate | UnaryOp::Plus, expr } => {
                let literal = matches!(**expr, Expr::Literal(_));
                need(literal || syntax.arithmetic, "arithmetic")
            }
            Expr::Unary { op: UnaryOp::Not, .. } => Ok(()),
            Expr::Binary { op, .. } => need(!is_arithmetic(*op) || syntax.arithmetic, "arithmetic"),
            Expr::Between { negated, .. } => need(!negated || syntax.not_between, "NOT BETWEEN"),
            Expr::In { negated, .. } => need(!negated || syntax.not_in, "NOT IN"),
            Expr::Is { test, .. } => {
                let plain = *test == IsTest::Null;
                need(plain || syntax.missing, "IS MISSING")
            }
            Expr::Like { pattern, escape, negated, .. } => {
                need(!negated || syntax.not_like, "NOT LIKE")?;
                need(escape.is_none() || syntax.like_escape, "LIKE with ESCAPE")?;
                let allowed = match syntax.like {
                    LikePatterns::Full => true,
                    LikePatterns::Affix => is_affix_pattern(pattern),
                    LikePatterns::None => false,
                };
                need(allowed, "LIKE with such a pattern")
            }
            Expr::Case { otherwise, .. } => {
                need(syntax.case, "CASE")?;
                need(otherwise.is_some() || syntax.case_without_else, "CASE without ELSE")
            }
            Expr::Cast { expr, to } => {
                need(!is_aggregate(expr) || syntax.nested_aggregates, "CAST of an aggregate")?;
                let class = TypeClass::from(*to);
                need(syntax.casts.contains(&class), &format!("CAST to {class:?}"))
            }
            Expr::Call { function, args } => {
                let nested = args.iter().any(is_aggregate);
                need(!nested || syntax.nested_aggregates, "a function of an aggregate")?;
                let (allowed, what) = match function {
                    Function::Coalesce => (syntax.coalesce, "COALESCE"),
                    Function::NullIf => (syntax.null_if, "NULLIF"),
                    Function::CharLength => (syntax.char_length, "CHAR_LENGTH"),
                    Function::Lower | Function::Upper => (syntax.letter_case, "LOWER or UPPER"),
                    Function::Substring => (syntax.substring, "SUBSTRING"),
                    Function::Trim(_) => (syntax.trim, "TRIM"),
                    Function::DateAdd(_)
                    | Function::DateDiff(_)
                    | Function::Extract(_)
                    | Function::ToString
                    | Function::ToTimestamp
                    | Function::UtcNow => (syntax.dates, "a function of dates"),
                    Function::BloomContains => (syntax.bloom, "BLOOM_CONTAINS"),
                    // A list is not a value of SQL either.
                    Function::List => (syntax.json_paths, "a list in brackets"),
                };
                need(allowed, what)
            }
            Expr::Aggregate { function, arg } => {
                let rows = *function == Aggregate::Count && arg.is_none();
                need(rows || syntax.aggregates, "an aggregate other than COUNT(*)")
            }
        }
    }

    fn allows_literal(&self, literal: &Literal) -> Result<(), Refusal> {
        match literal {
            Literal::Int(value)
                if self.max_exact_int.is_some_and(|limit| value.unsigned_abs() > limit) =>
            {
                Err(self.refuse(format!("the number {value}")))
            }
            Literal::Decimal { .. } | Literal::Float(_) if !self.syntax.fractions => {
                Err(self.refuse("numbers with a fraction or an exponent"))
            }
            Literal::Timestamp(_) if !self.syntax.ion_timestamps => {
                Err(self.refuse("timestamps in backticks"))
            }
            Literal::String(text) if text.contains('\'') && !self.syntax.doubled_quotes => {
                Err(self.refuse("a quote inside a text"))
            }
            Literal::Missing if !self.syntax.missing => Err(self.refuse("MISSING")),
            _ => Ok(()),
        }
    }

    fn allows_path(&self, steps: &[PathStep]) -> Result<(), Refusal> {
        let quoted = |step: &PathStep| matches!(step, PathStep::Field(name) if name.quoted);
        if steps.iter().any(quoted) && !self.syntax.quoted_identifiers {
            return Err(self.refuse("a quoted identifier"));
        }
        // An alias with a column has two steps.
        let plain = steps.len() <= 2 && steps.iter().all(|step| matches!(step, PathStep::Field(_)));
        if !plain && !self.syntax.json_paths {
            return Err(self.refuse("a path into a value"));
        }
        Ok(())
    }
}

impl From<&InputSerialization> for DataFormat {
    fn from(input: &InputSerialization) -> Self {
        match input.format {
            InputFormat::Csv(_) => Self::Csv,
            InputFormat::Json(JsonType::Lines) => Self::JsonLines,
            InputFormat::Json(JsonType::Document) => Self::JsonDocument,
            InputFormat::Parquet => Self::Parquet,
        }
    }
}

fn is_arithmetic(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};
    matches!(op, Add | Subtract | Multiply | Divide | Modulo)
}

fn is_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate { .. })
}

/// Returns true for `abc`, `abc%`, `%abc` and `%abc%` in ASCII.
fn is_affix_pattern(pattern: &Expr) -> bool {
    let Expr::Literal(Literal::String(text)) = pattern else { return false };
    let inner = text.strip_prefix('%').unwrap_or(text);
    let inner = inner.strip_suffix('%').unwrap_or(inner);
    !inner.is_empty() && inner.is_ascii() && !inner.contains(['%', '_', '\\'])
}

/// The length of a text after it is escaped for a request.
fn xml_bytes(text: &str) -> usize {
    let escaped = |c: char| match c {
        '<' | '>' => 4,
        '&' | '\n' | '\r' => 5,
        '\'' | '"' | '\u{85}' => 6,
        '\u{2028}' => 8,
        c => c.len_utf8(),
    };
    text.chars().map(escaped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Extras, parse};
    use crate::request::{CsvInput, CsvOutput, ScanRange};

    /// The profiles that allow a statement, in the order sluice, aws, minio, ceph, get-only.
    #[track_caller]
    fn check(sql: &str, expected: &[&str]) {
        let query = parse(sql).unwrap();
        let profiles = StoreCapabilities::all();
        let allowing = profiles.iter().filter(|profile| profile.allows(&query).is_ok());
        let allowing: Vec<&str> = allowing.map(|profile| profile.name.as_str()).collect();
        assert_eq!(allowing, expected, "{query}");
    }

    #[track_caller]
    fn check_filter(filter: &str, expected: &[&str]) {
        check(&format!("SELECT s._1 FROM S3Object s WHERE {filter}"), expected);
    }

    const FOUR: &[&str] = &["sluice", "aws", "minio", "ceph"];
    const THREE: &[&str] = &["sluice", "aws", "minio"];
    const TWO: &[&str] = &["sluice", "aws"];
    const OWN: &[&str] = &["sluice"];

    #[test]
    fn what_all_stores_parse_may_be_sent_to_all() {
        check("SELECT * FROM S3Object s", FOUR);
        check("SELECT COUNT(*) FROM S3Object s LIMIT 5", FOUR);
        check_filter("s._1 = 'a' AND NOT (s._2 IN ('b', 'c') OR s._3 != 5)", FOUR);
        check_filter("s._2 IS NOT NULL AND s._2 BETWEEN 'a' AND 'b'", FOUR);
        check_filter("CAST(s._1 AS INT) <= -5", FOUR);
        check_filter("s._1 LIKE 'abc%'", FOUR);
    }

    #[test]
    fn deviating_constructs_are_kept_from_those_who_deviate() {
        check_filter("CASE WHEN s._1 = 'a' THEN 1 ELSE 0 END = 1", &["sluice", "aws", "ceph"]);
        check_filter("CASE WHEN s._1 = 'a' THEN 1 END = 1", TWO);
        check_filter("s._1 NOT IN ('a')", TWO);
        check_filter("s._1 NOT LIKE 'a%'", TWO);
        check_filter("s._1 LIKE 'a%b'", TWO);
        check_filter("s._1 LIKE '%é%'", TWO);
        check_filter("s._1 LIKE '50!%' ESCAPE '!'", OWN);
        check_filter("NULLIF(s._1, '') IS NULL", TWO);
        check_filter("COALESCE(s._1, '') = ''", TWO);
        check_filter("CAST(s._1 AS DECIMAL) = 5", TWO);
        check_filter("CAST(s._1 AS TIMESTAMP) < UTCNOW()", OWN);
        check_filter("s._1 = 1.5", TWO);
        check_filter("s._1 IS MISSING", OWN);
        check_filter("s._1", TWO);
        check_filter("s._1 + 1 = 2", TWO);
        check_filter("UPPER(s._1) = 'A'", THREE);
        check_filter("s.\"name\" = 'a'", THREE);
        check_filter("s.a.b[0] = 'a'", TWO);
        check("SELECT s._1 AS a FROM S3Object s", THREE);
        check("SELECT SUM(CAST(s._1 AS INT)) FROM S3Object s", TWO);
        check("SELECT CAST(SUM(CAST(s._1 AS INT)) AS STRING) FROM S3Object s", TWO);
        check("SELECT * FROM S3Object[*].a s", TWO);
    }

    #[test]
    fn literals_beyond_exactness_and_texts_beyond_xml_are_kept_back() {
        check_filter("s._1 = 2147483647", FOUR);
        check_filter("s._1 = 2147483648", THREE);
        check_filter("s._1 = 9007199254740991", THREE);
        check_filter("s._1 = 9007199254740992", TWO);
        check_filter("s._1 = -9223372036854775808", TWO);
        check_filter("s._1 = 'a&b'", THREE);
        check_filter("s._1 = 'a\"b'", THREE);
        check_filter("s._1 = 'it''s'", THREE);
    }

    #[test]
    fn length_counts_as_it_is_sent() {
        let with = |text: String| format!("s._1 = '{text}'");
        check_filter(&with("x".repeat(2_000)), FOUR);
        check_filter(&with("<".repeat(2_000)), THREE);
        let full = |length: usize| {
            let shell = "SELECT s._1 FROM S3Object s WHERE s._1 = ''".len();
            "x".repeat(length - shell)
        };
        check_filter(&with(full(256 * 1024)), THREE);
        let sluice = StoreCapabilities::sluice();
        let text = format!("{} ", parse("SELECT * FROM S3Object s").unwrap());
        assert!(sluice.allows_text(&text.repeat(12_000)).is_err());
    }

    #[test]
    fn our_extensions_are_for_our_server_only() {
        for (sql, what) in [
            ("SELECT s._1, COUNT(*) FROM S3Object s GROUP BY s._1", "GROUP BY"),
            ("SELECT s._1 FROM S3Object s WHERE s._2 = 'a' GROUP BY s._1", "GROUP BY"),
            (
                "SELECT s._1 FROM S3Object s WHERE BLOOM_CONTAINS('AA==', 7, 1, s._2)",
                "BLOOM_CONTAINS",
            ),
        ] {
            let query = crate::dialect::parse_with(sql, Extras::ALL).unwrap();
            for profile in StoreCapabilities::all() {
                let said = profile.allows(&query).map_err(|refusal| refusal.what);
                let own = profile.name == "sluice";
                assert_eq!(said.is_ok(), own, "{}", profile.name);
                let statement = profile.has_select() && !own;
                assert_eq!(said == Err(what.to_owned()), statement, "{}", profile.name);
            }
        }
    }

    #[test]
    fn a_chain_of_thousands_is_walked() {
        let chain = vec!["s._1 = 'a'"; 5_000].join(" OR ");
        check_filter(&chain, THREE);
    }

    #[test]
    fn options_of_requests_are_checked() {
        let plain = || SelectRequest {
            expression: "SELECT * FROM S3Object s".to_owned(),
            input: InputSerialization {
                format: InputFormat::Csv(CsvInput::default()),
                compression: Compression::None,
            },
            output: OutputSerialization::Csv(CsvOutput::default()),
            scan_range: None,
            progress: false,
            extras: Extras::NONE,
        };
        #[track_caller]
        fn check(request: &SelectRequest, expected: &[&str]) {
            let profiles = StoreCapabilities::all();
            let admitting = profiles.iter().filter(|profile| profile.admits(request).is_ok());
            let admitting: Vec<&str> = admitting.map(|profile| profile.name.as_str()).collect();
            assert_eq!(admitting, expected, "{request:?}");
        }
        check(&plain(), FOUR);
        let mut request = plain();
        request.input.compression = Compression::Gzip;
        check(&request, TWO);
        request.input.compression = Compression::Bzip2;
        check(&request, THREE);
        let mut request = plain();
        request.scan_range = Some(ScanRange::From { start: 0 });
        check(&request, TWO);
        let mut request = plain();
        request.progress = true;
        check(&request, TWO);
        for extras in [Extras { groups: true, bloom: false }, Extras { groups: false, bloom: true }]
        {
            check(&SelectRequest { extras, ..plain() }, OWN);
        }
        let mut request = plain();
        request.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
        check(&request, THREE);
        let mut request = plain();
        request.input.format = InputFormat::Csv(CsvInput {
            allow_quoted_record_delimiter: true,
            ..CsvInput::default()
        });
        check(&request, TWO);
        let mut request = plain();
        request.input.format = InputFormat::Parquet;
        check(&request, TWO);
    }

    #[test]
    fn a_refusal_says_who_and_what() {
        let query = parse("SELECT NULLIF(s._1, '') FROM S3Object s").unwrap();
        let refusal = StoreCapabilities::minio().allows(&query).unwrap_err();
        let said = "a store of the profile `minio` may not be sent NULLIF";
        assert_eq!(refusal.to_string(), said);
    }
}
