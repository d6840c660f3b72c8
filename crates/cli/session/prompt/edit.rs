//! Editing a statement: when it is complete, its colours, what is still open, what Tab offers.

use std::borrow::Cow;

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};
use sluicegate_engine::Engine;

use super::complete::{Completion, is_keyword};
use crate::session::statements::{
    Kind, Piece, ends_in_command, is_command, is_plain_command, open_at_end, pieces, split,
};

const BOLD: &str = "\x1b[1m";
const KEYWORD: &str = "\x1b[1;34m";
const TEXT: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const FAINT: &str = "\x1b[2m";
const COMMAND: &str = "\x1b[35m";
const OPEN: &str = "\x1b[31m";
const END: &str = "\x1b[0m";

/// What the line editor asks about.
pub(crate) struct Editing {
    completion: Completion,
}

impl Editing {
    pub(super) fn new(engine: Engine) -> Self {
        Self { completion: Completion::new(engine) }
    }
}

impl Helper for Editing {}

impl Validator for Editing {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_complete(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

/// Whether what was typed can run: it ends in `;` or in a command.
fn is_complete(text: &str) -> bool {
    let words = text.trim();
    words.is_empty()
        || is_plain_command(words)
        || ends_in_command(text)
        || (open_at_end(text).is_none() && split(text).rest.is_empty())
}

impl Hinter for Editing {
    type Hint = String;

    /// Where a line begins inside of something, what that is.
    fn hint(&self, line: &str, position: usize, _: &Context<'_>) -> Option<String> {
        if position < line.len() || !line.ends_with('\n') {
            return None;
        }
        let open = open_at_end(line)?;
        Some(format!("  ({open} is still open; Ctrl-C drops all of it)"))
    }
}

impl Highlighter for Editing {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(coloured(line))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("{BOLD}{prompt}{END}"))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("{FAINT}{hint}{END}"))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

/// The same text with colours.
fn coloured(line: &str) -> String {
    if is_command(line) {
        return format!("{COMMAND}{line}{END}");
    }
    pieces(line)
        .map(|piece| match colour(&piece) {
            Some(colour) => format!("{colour}{}{END}", piece.text),
            None => piece.text.to_owned(),
        })
        .collect()
}

fn colour(piece: &Piece<'_>) -> Option<&'static str> {
    match piece.kind {
        _ if !piece.closed => Some(OPEN),
        Kind::Word if is_keyword(piece.text) => Some(KEYWORD),
        Kind::Text => Some(TEXT),
        Kind::Number => Some(NUMBER),
        Kind::Comment => Some(FAINT),
        _ => None,
    }
}

impl Completer for Editing {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        Ok(self.completion.at(line, position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_runs_what_is_complete() {
        for (text, expected) in [
            ("", true),
            ("  ", true),
            ("select 1", false),
            ("select 1;", true),
            ("select ';", false),
            ("select ';\n'", false),
            ("select ';\n';", true),
            ("select 1; select", false),
            ("\\d", true),
            ("select 1\n\\d t", true),
            ("select '\n\\d t", false),
            ("/* ;", false),
            ("quit", true),
            ("help;", true),
            (".tables", true),
        ] {
            assert_eq!(is_complete(text), expected, "{text}");
        }
    }

    #[test]
    fn colours_change_no_letter() {
        let text = "SELECT 'a', 1.5 FROM t -- x\n WHERE \"b\" = 'open";
        let coloured = coloured(text);
        let mut plain = coloured.clone();
        for colour in [KEYWORD, TEXT, NUMBER, FAINT, OPEN, END] {
            plain = plain.replace(colour, "");
        }
        assert_eq!(plain, text);
        for part in [
            format!("{KEYWORD}SELECT{END}"),
            format!("{TEXT}'a'{END}"),
            format!("{NUMBER}1.5{END}"),
            format!("{OPEN}'open{END}"),
        ] {
            assert!(coloured.contains(&part), "{coloured}");
        }
    }
}
