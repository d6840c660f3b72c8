//! Supports the patterns of SIMILAR TO.

use std::ops::ControlFlow;

use datafusion::common::{Result, plan_datafusion_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value, ValueWithSpan, VisitorMut};

use super::{Case, CaseOutcome, Guard, visit};

pub(super) const GUARD: Guard = Guard {
    title: "SIMILAR TO finds its pattern anywhere in a text, and does not know `%` and `_`",
    upstream: &[],
    ours: "A pattern of SIMILAR TO matches the whole text: `%` is any text and `_` any character, as in LIKE; `|`, `*`, \
           `+`, `?`, `{}`, `()` and `[]` are those of regular expressions. The pattern is a text in the statement, not \
           a column.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT 'abc' SIMILAR TO 'b', 'abc' SIMILAR TO 'a%', 'a.c' SIMILAR TO 'a_c', 'abc' SIMILAR TO 'a.c', \
              'b' NOT SIMILAR TO 'a|b'",
        right: CaseOutcome::Rows(&["false, true, true, false, false"]),
        theirs: CaseOutcome::Rows(&["true, false, false, true, false"]),
    }],
};

/// Rewrites SIMILAR TO as a regular expression that matches the same texts.
///
/// # Errors
///
/// If a pattern is no constant text, or ends with an escape character.
pub(super) fn rewrite(statement: &mut Statement) -> Result<()> {
    match visit(statement, &mut Patterns) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Patterns;

impl VisitorMut for Patterns {
    type Break = datafusion::common::DataFusionError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Expr::SimilarTo { negated, expr: text, pattern, escape_char } = expr else {
            return ControlFlow::Continue(());
        };
        let escape = match escape_char {
            None => Some('\\'),
            Some(escape) => escape.value.clone().into_string().and_then(|it| it.chars().next()),
        };
        let regex = match pattern.as_ref() {
            Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(pattern), .. }) => {
                regex(pattern, escape).ok_or_else(|| {
                    plan_datafusion_err!(
                        "the pattern '{pattern}' of SIMILAR TO ends behind its escape character"
                    )
                })
            }
            other => Err(plan_datafusion_err!(
                "the pattern of SIMILAR TO is a text in the statement, not `{other}`; `~` takes a regular expression \
                 from a column"
            )),
        };
        let regex = match regex {
            Ok(regex) => regex,
            Err(error) => return ControlFlow::Break(error),
        };
        let op =
            if *negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
        let null = || Box::new(Expr::Value(Value::Null.into()));
        let left = std::mem::replace(text, null());
        let right = Box::new(Expr::Value(Value::SingleQuotedString(regex).into()));
        *expr = Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }));
        ControlFlow::Continue(())
    }
}

/// Returns the regular expression for a pattern of standard SQL.
fn regex(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut regex = String::from("^(?s:");
    let mut in_class = false;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            it if Some(it) == escape => {
                regex.push_str(&regex::escape(characters.next()?.encode_utf8(&mut [0; 4])))
            }
            '[' if !in_class => {
                in_class = true;
                regex.push('[');
            }
            ']' if in_class => {
                in_class = false;
                regex.push(']');
            }
            it if in_class => {
                // Two of these in a row would be set operators.
                if matches!(it, '[' | '&' | '~' | '\\') {
                    regex.push('\\');
                }
                regex.push(it);
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' => regex.push(character),
            it => regex.push_str(&regex::escape(it.encode_utf8(&mut [0; 4]))),
        }
    }
    regex.push_str(")$");
    Some(regex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, escape: Option<char>, yes: &[&str], no: &[&str]) {
        let regex = regex::Regex::new(&regex(pattern, escape).unwrap()).unwrap();
        for text in yes {
            assert!(regex.is_match(text), "{pattern} {text}");
        }
        for text in no {
            assert!(!regex.is_match(text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_matches_whole_texts() {
        let backslash = Some('\\');
        check("b", backslash, &["b"], &["abc", "", "b\n"]);
        check("a%", backslash, &["a", "abc", "a\nb"], &["ba"]);
        check("a_c", backslash, &["abc", "a.c", "aüc"], &["ac", "abbc"]);
        check("a.c^$", backslash, &["a.c^$"], &["abc"]);
        check("a|bc", backslash, &["a", "bc"], &["ac", "abc"]);
        check("(a|b)+c{2}d?", backslash, &["abcc", "bccd"], &["cc", "acd"]);
        check("[a-c&&]%", backslash, &["a", "&x", "bc"], &["d", ""]);
        check("[^[]", backslash, &["a", "]"], &["["]);
        check("a\\%\\_", backslash, &["a%_"], &["ab_"]);
        check("a!%\\", Some('!'), &["a%\\"], &["ab\\"]);
        check("a\\%", None, &["a\\", "a\\b"], &["a%"]);
        assert_eq!(regex("a\\", backslash), None);
    }
}
