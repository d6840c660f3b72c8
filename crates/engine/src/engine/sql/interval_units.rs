//! Refuses INTERVAL with an unknown unit or none. The parser takes an unknown unit for the name of a column, and
//! DataFusion takes the number for seconds.

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Expr, Interval, UnaryOperator, Value, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Span, Token, Tokenizer};

use crate::context::error::{ErrorKind, UserError, are_similar};
use sluicegate_guards::walk::Walk;

/// Checks the intervals of a statement.
///
/// # Errors
///
/// If there is such an interval. The hint contains a similar unit.
pub(crate) fn check(sql: &str, statement: &Statement) -> Result<()> {
    let mut units = Units { sql };
    let found = match statement {
        Statement::Statement(statement) => statement.walk(&mut units),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.walk(&mut units),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return check(sql, &explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(told) => Err(told.into()),
    }
}

/// The units, in singular and plural.
const UNITS: [&str; 13] = [
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
    "NANOSECOND",
    "DECADE",
    "CENTURY",
];

/// Words that may follow an interval and are no alias.
const FOLLOWS: [&str; 24] = [
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "DESC",
    "ELSE",
    "END",
    "EXCEPT",
    "FOLLOWING",
    "FROM",
    "GROUP",
    "HAVING",
    "INTERSECT",
    "IS",
    "LIMIT",
    "NOT",
    "OFFSET",
    "OR",
    "ORDER",
    "PRECEDING",
    "THEN",
    "UNION",
    "WHEN",
    "WHERE",
];

struct Units<'a> {
    sql: &'a str,
}

impl Visitor for Units<'_> {
    type Break = UserError;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<UserError> {
        let Expr::Interval(Interval { value, leading_field: None, .. }) = expr else {
            return ControlFlow::Continue(());
        };
        let Some((number, span)) = number(value) else { return ControlFlow::Continue(()) };
        let follows = word_after(self.sql, span);
        let word =
            follows.filter(|word| !FOLLOWS.iter().any(|known| known.eq_ignore_ascii_case(word)));
        let (message, hint) = match word {
            Some(word) => (format!("there is no unit `{word}` of INTERVAL"), closest_unit(&word)),
            None => (format!("INTERVAL {number} has no unit"), None),
        };
        let hint = hint.map_or_else(
            || {
                "Write INTERVAL '1' DAY; units are YEAR, MONTH, WEEK, DAY, HOUR, MINUTE and SECOND."
                    .to_owned()
            },
            |unit| format!("Did you mean {unit}?"),
        );
        ControlFlow::Break(UserError { kind: ErrorKind::Plan, message, hint: Some(hint) })
    }
}

/// Returns the value of an interval if it is a number, as written, and its place.
fn number(value: &Expr) -> Option<(String, Span)> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some((digits.clone(), value.span)),
            Value::SingleQuotedString(text) if text.trim().parse::<f64>().is_ok() => {
                Some((format!("'{text}'"), value.span))
            }
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            number(expr).map(|(number, span)| (format!("-{number}"), span))
        }
        Expr::Nested(inner) => number(inner),
        _ => None,
    }
}

/// Returns the word after a place.
fn word_after(sql: &str, span: Span) -> Option<String> {
    if span.end == Location::empty() {
        return None;
    }
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().ok()?;
    let mut after = tokens
        .into_iter()
        .filter(|it| it.span.start >= span.end)
        .map(|it| it.token)
        .filter(|token| !matches!(token, Token::Whitespace(_) | Token::RParen));
    match after.next()? {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value),
        _ => None,
    }
}

/// Returns the unit that is similar to a word.
fn closest_unit(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_uppercase();
    let short =
        [("H", "HOUR"), ("MIN", "MINUTE"), ("MINS", "MINUTE"), ("SEC", "SECOND"), ("S", "SECOND")];
    let by_short = short.into_iter().find(|(known, _)| *known == word).map(|(_, unit)| unit);
    by_short.or_else(|| {
        UNITS
            .into_iter()
            .find(|unit| are_similar(unit, &word) || are_similar(&format!("{unit}S"), &word))
    })
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn an_interval_has_a_unit() {
        for (sql, expected) in [
            ("SELECT interval 1 hous", Some(("no unit `hous`", "Did you mean HOUR?"))),
            ("SELECT d + interval 2 dayss FROM t", Some(("no unit `dayss`", "Did you mean DAY?"))),
            ("SELECT interval 1 fortnight", Some(("no unit `fortnight`", "units are YEAR"))),
            ("SELECT interval '1' parsec", Some(("no unit `parsec`", "units are YEAR"))),
            ("EXPLAIN SELECT (interval -1) FROM t", Some(("INTERVAL -1 has no unit", "units are"))),
            ("SELECT interval '1.5' AS x", Some(("INTERVAL '1.5' has no unit", "units are"))),
            ("SELECT interval '1 day', interval '2' months, interval 3 hour h", None),
            ("SELECT interval '1-2', \"interval\" FROM t", None),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let error = check(sql, &statement).map_err(crate::Error::from);
            match expected {
                None => assert!(error.is_ok(), "{sql}: {error:?}"),
                Some((message, hint)) => {
                    let error = error.unwrap_err();
                    assert!(error.to_string().contains(message), "{sql}: {error}");
                    assert!(error.hint().unwrap().contains(hint), "{sql}: {:?}", error.hint());
                }
            }
        }
    }
}
