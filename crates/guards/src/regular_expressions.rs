//! Protects regular expressions that DataFusion would turn into LIKE and other conditions.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Regular expressions are false for NULL, and lose backslashes",
    upstream: &[],
    ours: "A regular expression is NULL for NULL, whatever it matches, and one with an escaped backslash is not turned \
           into LIKE.",
    cases: &[
        Case {
            setup: &["CREATE TABLE texts AS SELECT * FROM (VALUES ('a'), (NULL)) t(s)"],
            sql: "SELECT s ~ '.*' FROM texts",
            right: CaseOutcome::Rows(&["true", "NULL"]),
            theirs: CaseOutcome::Rows(&["true", "false"]),
        },
        Case {
            setup: &["CREATE TABLE texts AS SELECT * FROM (VALUES ('a\\b'), ('ab')) t(s)"],
            sql: "SELECT s ~ 'a\\\\b', s ~ '^a\\\\b', s ~ 'a\\\\b|c' FROM texts",
            right: CaseOutcome::Rows(&["true, true, true", "false, false, false"]),
            theirs: CaseOutcome::Rows(&["false, false, false", "true, true, true"]),
        },
    ],
};

/// Returns another pattern that matches the same texts and is evaluated correctly.
pub(super) fn replace(expr: &Expr) -> Option<Expr> {
    use Operator as O;
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return None };
    let regex = matches!(op, O::RegexMatch | O::RegexIMatch | O::RegexNotMatch | O::RegexNotIMatch);
    if !regex {
        return None;
    }
    // A cast that the simplifier computes too late gives the pattern the type of the other side.
    let (pattern, metadata) = match right.as_ref() {
        Expr::Literal(pattern, metadata) => (pattern.clone(), metadata),
        Expr::Cast(Cast { expr, field }) => match expr.as_ref() {
            Expr::Literal(pattern, metadata) => {
                (pattern.cast_to(field.data_type()).ok()?, metadata)
            }
            _ => return None,
        },
        _ => return None,
    };
    let other = Some(same(pattern.try_as_str()??)?);
    let other = match &pattern {
        ScalarValue::Utf8(_) => ScalarValue::Utf8(other),
        ScalarValue::LargeUtf8(_) => ScalarValue::LargeUtf8(other),
        ScalarValue::Utf8View(_) => ScalarValue::Utf8View(other),
        _ => return None,
    };
    let right = Box::new(Expr::Literal(other, metadata.clone()));
    Some(Expr::BinaryExpr(BinaryExpr { left: left.clone(), op: *op, right }))
}

/// An alternative that matches nothing.
const NEVER: &str = r"|[^\s\S]";

fn same(pattern: &str) -> Option<String> {
    if pattern == ".*" {
        return Some(String::new());
    }
    // A literal backslash, which LIKE would treat as an escape.
    let escaped = [r"\\", "5c", "5C", "134"].iter().any(|it| pattern.contains(it));
    (escaped && !pattern.ends_with(NEVER)).then(|| format!("(?:{pattern}){NEVER}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_patterns_match_the_same() {
        assert_eq!(same(".*"), Some(String::new()));
        assert_eq!(same("a.*b"), None);
        for pattern in [r"a\\b", r"^a\x5Cb$", r"x|a\\"] {
            let other = same(pattern).unwrap();
            assert_eq!(same(&other), None);
            let (one, other) = (regex::Regex::new(pattern), regex::Regex::new(&other));
            let (one, other) = (one.unwrap(), other.unwrap());
            for text in ["", r"a\b", "ab", "x", r"a\", r"\", "b\na\\b"] {
                assert_eq!(one.is_match(text), other.is_match(text), "{pattern} {text}");
            }
        }
    }
}
