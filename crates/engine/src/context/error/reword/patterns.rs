//! Patterns of LIKE and regular expressions: those that do not compile, and values that are no text.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;

/// Rewords `regex parse error: (?q)a ^ error: unrecognized flag`, with more text around it.
pub(super) fn pattern(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("regex parse error: ")?;
    let (pattern, reason) = rest.rsplit_once(" error: ")?;
    let reason = reason.trim_end_matches([' ', '~', ')']);
    // The `^` points at the error.
    let pattern = pattern.trim_end_matches([' ', '^']);
    if reason == "unrecognized flag" {
        let flags = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
        let message = match flags {
            Some((flags, _)) => format!("'{flags}' has a flag that regular expressions have not"),
            None => format!("the regular expression '{pattern}' has a flag that there is not"),
        };
        let hint = "Flags are i, any case; m, ^ and $ at each line; s, a point matches line ends; x, spaces are left \
                    out; and in regexp_replace, g, all matches.";
        return Some(description(ErrorKind::Plan, message, hint));
    }
    Some(description(
        ErrorKind::Plan,
        format!("the regular expression '{pattern}' does not compile: {reason}"),
        "A sign that is meant itself has a \\ before it, as in '\\('.",
    ))
}

/// Rewords `There isn't a common type to coerce Utf8 and Int64 in LIKE expression` and `Cannot infer common argument
/// type for regex operation Utf8 ~ Int64`.
pub(super) fn no_text(text: &str) -> Option<Description> {
    let is_text = |kind: &str| kind.contains("Utf8");
    if let Some((_, rest)) = text.split_once("argument type for regex operation ") {
        let mut words = rest.split(' ');
        let (left, operator, right) = (words.next()?, words.next()?, words.next()?);
        let kind = if is_text(left) { right } else { left };
        let message = format!("{operator} compares texts, and the type {kind} is none");
        let hint = format!("Write CAST(x AS VARCHAR) {operator} '^3'.");
        return Some(description(ErrorKind::Plan, message, hint));
    }
    let (_, rest) = text.split_once("common type to coerce ")?;
    let (left, rest) = rest.split_once(" and ")?;
    let (right, rest) = rest.split_once(" in ")?;
    let like = rest.strip_suffix(" expression").filter(|like| like.ends_with("LIKE"))?;
    let (kind, hint) = match is_text(left) {
        true => (right, format!("The pattern is a text: {like} '3%'.")),
        // The text of a timestamp has a T between date and time of day.
        false if left.starts_with("Timestamp") => {
            (left, format!("Convert it: CAST(t AS VARCHAR) {like} '2024-01-31T10%'."))
        }
        false => (left, format!("Convert it: CAST(d AS VARCHAR) {like} '2024%'.")),
    };
    let message = format!("{like} compares texts, and the type {kind} is none");
    Some(description(ErrorKind::Plan, message, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expression_is_named_with_what_is_wrong() {
        let bars = "~~~~~~~~~~";
        for (text, message) in [
            (
                format!(
                    "Regular expression did not compile: Syntax( {bars} regex parse error: (?q)a ^ error: \
                     unrecognized flag {bars} )"
                ),
                "'q' has a flag that regular expressions have not",
            ),
            (
                "regex parse error: ( ^ error: unclosed group".to_owned(),
                "the regular expression '(' does not compile: unclosed group",
            ),
        ] {
            assert_eq!(pattern(&text).unwrap().message, message);
        }
        assert!(pattern("something else").is_none());
    }

    #[test]
    fn values_that_are_no_text_are_named() {
        let before = "There isn't a common type to coerce ";
        for (text, message, hint) in [
            (
                format!("{before}Utf8 and Int64 in LIKE expression"),
                "LIKE compares texts, and the type Int64 is none",
                "LIKE '3%'",
            ),
            (
                format!("{before}Int64 and Utf8 in ILIKE expression"),
                "ILIKE compares texts, and the type Int64 is none",
                "CAST(d AS VARCHAR) ILIKE",
            ),
            (
                format!("{before}Timestamp(ns) and Utf8 in LIKE expression"),
                "LIKE compares texts, and the type Timestamp(ns) is none",
                "T10%",
            ),
            (
                "Cannot infer common argument type for regex operation Utf8 ~ Int64".to_owned(),
                "~ compares texts, and the type Int64 is none",
                "CAST(x AS VARCHAR) ~",
            ),
        ] {
            let described = no_text(&text).unwrap();
            assert_eq!(described.message, message);
            assert!(described.hint.unwrap().contains(hint), "{text}");
        }
    }
}
