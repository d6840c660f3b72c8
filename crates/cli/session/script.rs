//! Scripts: statements with their source files, which errors name.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::runtime::input::text_of;
use crate::session::statements::{self, Kind, Step, pieces};

/// The text of statements and commands from files and arguments.
#[derive(Debug, Default)]
pub(crate) struct Script {
    text: String,
    /// Offset of each part, and the name of its file or `stdin`; `None` for a part that was typed as an argument.
    read: Vec<(usize, Option<String>)>,
}

impl Script {
    /// Reads a script from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is no text.
    pub(crate) fn of_file(path: &Path) -> Result<Self> {
        let mut script = Self::default();
        script.push(Some(path.display().to_string()), &text_of(path)?);
        Ok(script)
    }

    /// Appends a text with its name, or one that was typed as an argument. A statement before it ends.
    pub(crate) fn push(&mut self, name: Option<String>, text: &str) {
        if !self.text.is_empty() {
            // The line break ends a line comment of the text before.
            self.text += "\n;\n";
        }
        self.read.push((self.text.len(), name));
        self.text += text;
    }

    /// Returns the whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if all parts were typed as arguments.
    pub(crate) fn is_typed(&self) -> bool {
        self.read.iter().all(|(_, name)| name.is_none())
    }

    /// Returns the statements and commands.
    pub(crate) fn steps(&self) -> Vec<Step<'_>> {
        statements::steps(&self.text)
    }

    /// Returns the statements.
    pub(crate) fn statements(&self) -> Vec<&str> {
        statements::all(&self.text)
    }

    /// Adds the place to a failure: the file and line where the statement begins, or the number of a typed statement.
    /// The position of a syntax error becomes one in the file.
    pub(crate) fn failed(
        &self,
        (index, count): (usize, usize),
        statement: &str,
        failure: Failure,
    ) -> Failure {
        match self.begins(statement) {
            Some((name, before, line)) => {
                let place = format!("{name}:{line}");
                // A file that includes itself is named once.
                let is_named =
                    failure.words().0.strip_prefix(&place).is_some_and(|it| it.starts_with(": "));
                if is_named { failure } else { failure.lower(before).at(&place) }
            }
            None if count == 1 => failure,
            None => failure.at(&place(index, statement)),
        }
    }

    /// Returns the name of the text that contains a statement, the number of lines before the statement, and the line
    /// of its first word.
    fn begins(&self, statement: &str) -> Option<(&str, usize, usize)> {
        let at = statement.as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        let (start, name) = self.read.iter().rfind(|(start, _)| *start <= at)?;
        let before = self.text.get(*start..at)?.matches('\n').count();
        let mut words =
            pieces(statement).filter(|it| !matches!(it.kind, Kind::Comment | Kind::Space));
        let word = words.next().map_or(0, |word| word.start);
        let line = before + statement.get(..word)?.matches('\n').count() + 1;
        Some((name.as_deref()?, before, line))
    }
}

/// Describes one of several statements: its number and its beginning.
pub(crate) fn place(index: usize, statement: &str) -> String {
    const SHOWN: usize = 60;
    let words = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let start: String = words.chars().take(SHOWN).collect();
    let dots = if start.len() < words.len() { "…" } else { "" };
    format!("statement {} (`{start}{dots}`)", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_one_short_line() {
        assert_eq!(place(0, "select\n  1"), "statement 1 (`select 1`)");
        let long = place(1, &"é".repeat(100));
        assert!(long.starts_with("statement 2 (`é") && long.ends_with("é…`)"), "{long}");
    }

    #[test]
    fn statements_begin_in_a_line_of_their_file() {
        let mut script = Script::default();
        script.push(Some("a.sql".to_owned()), "one;\n\n-- c\n/* d\n*/ two\n  three; four -- e");
        script.push(None, "five;\nsix");
        script.push(Some("b.sql".to_owned()), "\nseven;\n\\d");
        let steps = script.steps();
        let places: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(index, Step::Statement(text) | Step::Command(text))| {
                let error = Failure::new("syntax error at line 2, column 9: no");
                script.failed((index, steps.len()), text, error).words().0
            })
            .collect();
        assert_eq!(
            places,
            [
                "a.sql:1: syntax error at line 2, column 9: no",
                "a.sql:5: syntax error at line 4, column 9: no",
                "a.sql:6: syntax error at line 7, column 9: no",
                "statement 4 (`five`): syntax error at line 2, column 9: no",
                "statement 5 (`six`): syntax error at line 2, column 9: no",
                "b.sql:2: syntax error at line 3, column 9: no",
                "b.sql:3: syntax error at line 4, column 9: no",
            ]
        );
        let mut one = Script::default();
        one.push(None, "one");
        let failure = one.failed((0, 1), one.statements()[0], Failure::new("no"));
        assert_eq!(failure.words().0, "no");
    }
}
