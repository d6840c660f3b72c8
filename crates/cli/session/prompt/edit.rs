//! Editing of a line at the prompt: highlighting and completion.

use std::borrow::Cow;

use rustyline::completion::{Completer, Pair};
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use sluicegate_engine::Engine;

use super::complete::{Completion, is_keyword};
use crate::session::statements::{Kind, Token, is_command, is_dotted, pieces};

const BOLD: &str = "\x1b[1m";
const KEYWORD: &str = "\x1b[1;34m";
const TEXT: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[36m";
const FAINT: &str = "\x1b[2m";
const COMMAND: &str = "\x1b[35m";
const OPEN: &str = "\x1b[31m";
const END: &str = "\x1b[0m";

/// Callbacks of the line editor.
pub(crate) struct Editing {
    completion: Completion,
    /// Earlier lines of an incomplete statement.
    pending: String,
    /// Number of their bytes that cannot affect the colours of the next line.
    known: usize,
}

impl Editing {
    pub(super) fn new(engine: Engine) -> Self {
        Self { completion: Completion::new(engine), pending: String::new(), known: 0 }
    }

    /// Sets the lines that the next line continues.
    pub(super) fn go_on(&mut self, pending: &str, known: usize) {
        pending.clone_into(&mut self.pending);
        self.known = known;
    }
}

impl Helper for Editing {}

impl Validator for Editing {}

impl Hinter for Editing {
    type Hint = String;
}

impl Highlighter for Editing {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(coloured(&self.pending[self.known..], line))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("{BOLD}{prompt}{END}"))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

/// Highlights a line that follows `pending`.
fn coloured(pending: &str, line: &str) -> String {
    if is_command(line) || pending.is_empty() && is_dotted(line) {
        return format!("{COMMAND}{line}{END}");
    }
    let all = format!("{pending}{line}");
    let of_line = |piece: Token<'_>| {
        let before = pending.len().saturating_sub(piece.start).min(piece.text.len());
        match (&piece.text[before..], colour(&piece)) {
            ("", _) => String::new(),
            (text, Some(colour)) => format!("{colour}{text}{END}"),
            (text, None) => text.to_owned(),
        }
    };
    pieces(&all).map(of_line).collect()
}

fn colour(piece: &Token<'_>) -> Option<&'static str> {
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
        let before = self.pending.len();
        let all = format!("{}{line}", self.pending);
        let (start, found) = self.completion.at(&all, before + position);
        Ok((start.saturating_sub(before), found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_no_letter() {
        let text = "SELECT 'a', 1.5 FROM t -- x\n WHERE \"b\" = 'open";
        let coloured = coloured("", text);
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

    #[test]
    fn a_line_is_coloured_as_it_goes_on() {
        assert_eq!(coloured("select 'a\n", "b' as c"), format!("{TEXT}b'{END} {KEYWORD}as{END} c"));
        assert_eq!(coloured("select 1\n", ".5"), format!(".{NUMBER}5{END}"));
    }
}
