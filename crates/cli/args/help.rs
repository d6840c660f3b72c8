//! Help text whose examples are not wrapped, however narrow the terminal is.

use clap::Command;

/// Replaces a space at which clap must not break a line, until the text is shown.
const FIXED: char = '\u{a0}';
/// Indentation of the description below an example.
const INDENT: &str = "      ";
/// The least width in columns to which descriptions are wrapped.
const LEAST: usize = 40;

/// Marks the examples of a command and its subcommands so that clap does not wrap them, since a user pastes an
/// example into a shell as one line. `width` is the terminal's, in columns.
pub(crate) fn with_whole_examples(command: Command, width: usize) -> Command {
    let command = command.mut_subcommands(|below| with_whole_examples(below, width));
    match command.get_after_help().map(|text| fixed(&text.to_string(), width)) {
        Some(text) => command.after_help(text),
        None => command,
    }
}

/// Returns rendered help with its spaces restored.
pub(crate) fn shown(text: &str) -> String {
    text.replace(FIXED, " ")
}

fn fixed(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_prose = false;
    let mut follows_example = false;
    for line in text.lines() {
        let begins_example = line.starts_with("  ") && !line.starts_with(INDENT);
        if !line.starts_with(' ') {
            // Consecutive lines of prose are one paragraph, which clap wraps.
            match lines.last_mut().filter(|_| is_prose && !line.is_empty()) {
                Some(paragraph) => *paragraph = format!("{paragraph} {line}"),
                None => lines.push(line.to_owned()),
            }
            is_prose = !line.is_empty() && !line.ends_with(':');
            follows_example = false;
            continue;
        }
        let is_description = follows_example && line.starts_with(INDENT);
        match is_description {
            true => lines.extend(wrapped(line.trim_start(), width)),
            false => lines.push(line.replace(' ', &FIXED.to_string())),
        }
        follows_example |= begins_example && line.trim_start().starts_with("sluice ");
        is_prose = false;
    }
    lines.join("\n")
}

/// Wraps the description of an example.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let most = width.max(LEAST);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && INDENT.len() + line.chars().count() + 1 + word.chars().count() > most
        {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines.push(line);
    lines
        .into_iter()
        .map(|line| format!("{INDENT}{line}").replace(' ', &FIXED.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Examples:
  sluice sql -c \"SELECT count(*) FROM 's3://bucket/a-long-name-of-a-folder/and-of-a-file.csv' WHERE x > 5\"
      What this does, in words that go on for longer than a line.

Tables:
  CREATE EXTERNAL TABLE t (a BIGINT) STORED AS CSV LOCATION 's3://bucket/folder/' OPTIONS (…);
      -- a comment on it

A sentence that is long enough
to go on in the next line.";

    #[test]
    fn examples_stay_whole_and_sentences_are_wrapped() {
        let command = with_whole_examples(Command::new("sluice").after_help(TEXT), 50);
        let help = shown(&command.term_width(50).render_help().to_string());
        for line in TEXT.lines().filter(|line| line.starts_with("  ") && !line.contains("words")) {
            assert!(help.lines().any(|shown| shown == line), "no {line:?} in {help}");
        }
        assert!(
            help.contains(
                "      What this does, in words that go on for\n      longer than a line.\n"
            ),
            "{help}"
        );
        assert!(help.contains("A sentence that is long enough to go on in the"), "{help}");
    }
}
