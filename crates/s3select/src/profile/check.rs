//! Statements and requests against a profile, before anything is sent.

use super::{DataFormat, EndpointProfile, LikePatterns, Refusal, TypeClass};
use crate::dialect::ast::{
    Aggregate, BinaryOp, Expr, Function, Literal, PathStep, Projection, Query, UnaryOp,
};
use crate::request::{
    Compression, InputFormat, InputSerialization, JsonType, OutputSerialization, SelectRequest,
};

/// What the rest of a request takes at most: element names, options, delimiters.
const ENVELOPE_BYTES: usize = 1200;

impl EndpointProfile {
    /// Whether a statement may be sent: its constructs and its literals. Its length is checked
    /// with the whole request ([`EndpointProfile::admits`]).
    ///
    /// This is about what a store parses. What its answers are worth is
    /// [`EndpointProfile::exactness`].
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
        Ok(())
    }

    /// Whether a request may be sent: its formats, its options, its length.
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
        self.allows_node(expr)?;
        let mut result = Ok(());
        for_each_operand(expr, &mut |operand| {
            if result.is_ok() {
                result = self.allows_expr(operand);
            }
        });
        result
    }

    /// One node, without its operands.
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
                let plain = *test == crate::dialect::ast::IsTest::Null;
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
            Literal::Int(value) if value.unsigned_abs() > self.max_exact_int => {
                let limit = self.max_exact_int;
                Err(self.refuse(format!("the number {value} (at most {limit} is exact)")))
            }
            Literal::Decimal { .. } | Literal::Float(_) if !self.syntax.fractions => {
                Err(self.refuse("numbers with a fraction or an exponent"))
            }
            Literal::Timestamp(_) if !self.syntax.ion_timestamps => {
                Err(self.refuse("timestamps in backticks"))
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
        // An alias and a column are two steps.
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

fn for_each_operand(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match expr {
        Expr::Literal(_) | Expr::Path(_) => {}
        Expr::Unary { expr, .. } | Expr::Is { expr, .. } | Expr::Cast { expr, .. } => visit(expr),
        Expr::Binary { left, right, .. } => {
            visit(left);
            visit(right);
        }
        Expr::Between { expr, low, high, .. } => {
            visit(expr);
            visit(low);
            visit(high);
        }
        Expr::Like { expr, pattern, escape, .. } => {
            visit(expr);
            visit(pattern);
            escape.iter().for_each(|escape| visit(escape));
        }
        Expr::In { expr, list, .. } => {
            visit(expr);
            list.iter().for_each(visit);
        }
        Expr::Case { operand, branches, otherwise } => {
            operand.iter().for_each(|operand| visit(operand));
            for (when, then) in branches {
                visit(when);
                visit(then);
            }
            otherwise.iter().for_each(|otherwise| visit(otherwise));
        }
        Expr::Call { args, .. } => args.iter().for_each(visit),
        Expr::Aggregate { arg, .. } => arg.iter().for_each(|arg| visit(arg)),
    }
}

fn is_arithmetic(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};
    matches!(op, Add | Subtract | Multiply | Divide | Modulo)
}

fn is_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate { .. })
}

/// `abc`, `abc%`, `%abc`, `%abc%` in ASCII.
fn is_affix_pattern(pattern: &Expr) -> bool {
    let Expr::Literal(Literal::String(text)) = pattern else { return false };
    let inner = text.strip_prefix('%').unwrap_or(text);
    let inner = inner.strip_suffix('%').unwrap_or(inner);
    !inner.is_empty() && inner.is_ascii() && !inner.contains(['%', '_', '\\'])
}

/// The length of a text as it is escaped in a request.
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
