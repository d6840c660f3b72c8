//! Comparisons and conditions whose types do not match.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;
use sluicegate_guards::sql_types::readable;

/// Rewords `Cannot infer common argument type for comparison operation Boolean = Int64` and `for logical boolean
/// operation Boolean OR Utf8`.
pub(super) fn comparison(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("Cannot infer common argument type for ")?;
    if let Some(operation) = rest.strip_prefix("comparison operation ") {
        let message = format!("there is no {operation}");
        let hint = match operation.split(' ').any(|word| word == "Boolean") {
            true => "What is true or false needs no comparison: WHERE flag, or WHERE NOT flag.",
            false => "Convert one of the two: CAST(x AS …).",
        };
        return Some(description(ErrorKind::Plan, message, hint));
    }
    let operation = rest.strip_prefix("logical boolean operation ")?;
    let (left, operator, right) = ["AND", "OR"].iter().find_map(|operator| {
        let (left, right) = operation.split_once(&format!(" {operator} "))?;
        Some((left, operator, right))
    })?;
    let kind = if left == "Boolean" { right } else { left };
    Some(description(
        ErrorKind::Plan,
        format!("{operator} stands between conditions, and a {} is none", readable(kind)),
        "Write each comparison out: a = 1 OR a = 2, or a IN (1, 2).",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_do_not_go_together_are_named() {
        let frame = "Cannot infer common argument type for";
        for (operation, message, hint) in [
            ("comparison operation Boolean = Int64", "there is no Boolean = Int64", "NOT flag"),
            ("comparison operation List(Int64) < Utf8", "there is no List(Int64) < Utf8", "CAST"),
            (
                "logical boolean operation Boolean OR Utf8",
                "OR stands between conditions, and a VARCHAR is none",
                "a IN (1, 2)",
            ),
        ] {
            let described = comparison(&format!("{frame} {operation}")).unwrap();
            assert_eq!(described.message, message);
            assert!(described.hint.unwrap().contains(hint), "{operation}");
        }
    }
}
