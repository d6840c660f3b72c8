//! The statements of an action.

use std::collections::HashSet;
use std::fmt::Write as _;

/// Statements in order. A local that no later statement mentions is left out, because compilers warn about it.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The statements, each with the local that it declares, if any.
    statements: Vec<(Option<&'static str>, String)>,
}

impl Body {
    /// Adds the statement `kind name = value;`.
    pub(super) fn declare(&mut self, kind: &str, name: &'static str, value: &str) {
        self.declare_by(name, [format!("{kind} {name} = {value};")]);
    }

    /// Adds statements that declare a local and assign its value.
    pub(super) fn declare_by(
        &mut self,
        name: &'static str,
        statements: impl IntoIterator<Item = String>,
    ) {
        self.statements.extend(statements.into_iter().map(|s| (Some(name), s)));
    }

    /// Adds a statement that declares no local.
    pub(super) fn push(&mut self, statement: impl Into<String>) {
        self.statements.push((None, statement.into()));
    }

    /// Returns the text, one statement a line.
    pub(super) fn text(&self, indent: &str) -> String {
        let mut mentioned: HashSet<&str> = HashSet::new();
        let mut live = Vec::new();
        for (declares, statement) in self.statements.iter().rev() {
            if declares.is_none_or(|local| mentioned.contains(local)) {
                // The statements of a declaration do not count as uses of its local.
                mentioned.extend(names(statement).filter(|name| Some(*name) != *declares));
                live.push(statement);
            }
        }
        live.iter().rev().fold(String::new(), |mut out, statement| {
            let _ = writeln!(out, "{indent}{statement}");
            out
        })
    }
}

/// Iterates over the names in a statement, except those of members.
fn names(statement: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let paths = statement.split(move |c| !is_word(c) && c != '.');
    paths.filter_map(|path| path.split('.').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locals_that_nothing_reads_are_left_out() {
        let mut body = Body::default();
        body.declare("bit<32>", "old", "mem");
        body.declare("bool", "lo", "old > 3");
        body.declare("bool", "hi", "lo || true");
        body.declare_by("cell", ["bit<8> cell;".into(), "groups.read(cell, 0);".into()]);
        body.push("mem.hi = old;");
        assert_eq!(body.text("  "), "  bit<32> old = mem;\n  mem.hi = old;\n");
    }
}
