//! Escapes control characters, which a terminal would obey.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes control characters except line ends and tabs. Names of objects and profiles may contain any, and a
/// terminal would take some for commands. They are written as in Rust, `\u{1b}`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_command = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_command(c) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}", c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Escapes control characters for a cell of a table, including tabs, whose width depends on the terminal.
pub(crate) fn in_cell(text: &str) -> Cow<'_, str> {
    match visible(text) {
        shown if shown.contains('\t') => Cow::Owned(shown.replace('\t', "\\t")),
        shown => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_no_tabs() {
        assert_eq!(in_cell("a\tb\nc\u{7}"), "a\\tb\nc\\u{7}");
        assert!(matches!(in_cell("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn control_characters_are_escaped() {
        for (text, expected) in [
            ("plain, ü\n\tnext", "plain, ü\n\tnext"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("a\rb\u{7}\u{7f}\u{9b}2J\0", "a\\u{d}b\\u{7}\\u{7f}\\u{9b}2J\\u{0}"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }
}
