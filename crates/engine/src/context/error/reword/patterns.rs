//! Regular expressions that do not compile.

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
}
