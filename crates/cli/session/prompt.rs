//! The prompt: statements over several lines, history, and commands that start with a backslash.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use arrow::util::pretty::pretty_format_batches;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::failure::{Failure, Result};
use crate::runtime::interrupt::{abort_writes, control_c, watch_prompt};
use crate::session::Session;
use crate::session::statements::split;

const HELP: &str = "\
Statements end with ; and may span lines. Ctrl-C drops the line or stops the query; Ctrl-D ends.

  \\d             list tables
  \\d TABLE       describe a table's columns
  \\timing        print the time of each statement, or stop
  \\stats on|off  print the requests, bytes and cost of each statement
  \\?             this help
  \\q             quit

  SELECT … FROM 's3://bucket/file.csv'               a file, its columns inferred
  CREATE EXTERNAL TABLE …                            a table; see `sluice sql --help`
  SET sluice.scan = 'auto' | 'get' | 'select'        how tables are read
  SET sluice.group_by = 's3' | 'hybrid' | …          where GROUP BY is computed
  SET sluice.join = 'baseline' | 'filtered' | …      how tables are joined
  SET sluice.top_k = 'sampling' | 'late' | …         how ORDER BY … LIMIT is run
  SHOW ALL VERBOSE                                   every option, with what it does
  EXPLAIN SELECT …, EXPLAIN ANALYZE SELECT …         what is sent to the store, what it counted
";

/// A command that is not SQL.
#[derive(Debug, PartialEq, Eq)]
enum Meta<'a> {
    Tables,
    Describe(&'a str),
    Timing,
    Stats(bool),
    Help,
    Quit,
}

impl<'a> Meta<'a> {
    /// The command that a line is; an error says what it could have been.
    fn parse(line: &'a str) -> Result<Self> {
        let (name, argument) = match line.split_once(char::is_whitespace) {
            Some((name, argument)) => (name, argument.trim().trim_end_matches(';').trim_end()),
            None => (line.trim_end_matches(';'), ""),
        };
        match (name, argument) {
            ("\\d", "") => Ok(Self::Tables),
            ("\\d", table) => Ok(Self::Describe(table)),
            ("\\timing", "") => Ok(Self::Timing),
            ("\\stats", "on") => Ok(Self::Stats(true)),
            ("\\stats", "off") => Ok(Self::Stats(false)),
            ("\\?" | "\\h" | "\\help", _) => Ok(Self::Help),
            ("\\q" | "\\quit", _) => Ok(Self::Quit),
            _ => {
                Err(Failure::new(format!("there is no command `{line}`"))
                    .with_hint("\\? lists them."))
            }
        }
    }
}

/// Reads and runs statements until the user quits.
pub(crate) async fn run(session: &mut Session<'_>) -> Result<()> {
    let mut editor = DefaultEditor::new().map_err(|error| Failure::new(error.to_string()))?;
    let history = history_file();
    if let Some(history) = &history {
        // The first time there is none.
        drop(editor.load_history(history));
    }
    let place = session.engine.endpoint().client.endpoint().unwrap_or("AWS").to_owned();
    let profile = &session.engine.endpoint().profile().name;
    writeln!(io::stdout(), "Connected to {place}, profile {profile}. \\? helps, \\q quits.")?;
    let _watch = watch_prompt(session.engine.clone());
    let mut typed = String::new();
    loop {
        let prompt = if typed.is_empty() { "sluice> " } else { "   ...> " };
        let line = match tokio::task::block_in_place(|| editor.readline(prompt)) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                typed.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(Failure::new(error.to_string())),
        };
        let words = line.trim();
        if typed.is_empty() && (words.starts_with('\\') || matches!(words, "quit" | "exit")) {
            drop(editor.add_history_entry(words));
            let words = if words.starts_with('\\') { words } else { "\\q" };
            match Meta::parse(words) {
                Ok(Meta::Quit) => break,
                Ok(meta) => tell(obey(session, &meta).await)?,
                Err(failure) => tell(Err(failure))?,
            };
            continue;
        }
        typed.push_str(&line);
        typed.push('\n');
        let split = split(&typed);
        if split.complete.is_empty() {
            if split.rest.is_empty() {
                typed.clear();
            }
            continue;
        }
        drop(editor.add_history_entry(typed.trim()));
        for statement in &split.complete {
            let stopped = tokio::select! {
                result = session.run(statement) => Some(tell(result)?),
                () = control_c() => None,
            };
            let stopped = match stopped {
                Some(went_well) => went_well,
                None => {
                    abort_writes(&session.engine).await;
                    session.compute.renew()?;
                    writeln!(io::stderr(), "stopped")?;
                    false
                }
            };
            if !stopped {
                break;
            }
        }
        typed = match split.rest {
            "" => String::new(),
            rest => format!("{rest}\n"),
        };
    }
    if let Some(history) = &history {
        save(&mut editor, history);
    }
    Ok(())
}

/// Reports an error; only a closed output or a signal ends the prompt. Returns whether there was no
/// error.
fn tell(result: Result<()>) -> Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(failure @ (Failure::NobodyReads | Failure::Stopped(_))) => Err(failure),
        Err(failure) => {
            // The exit code is that of the whole session.
            let _ = failure.report();
            Ok(false)
        }
    }
}

async fn obey(session: &mut Session<'_>, meta: &Meta<'_>) -> Result<()> {
    let mut out = io::stdout();
    let sql = match meta {
        Meta::Tables => {
            "SELECT table_schema, table_name, table_type FROM information_schema.tables \
             WHERE table_schema <> 'information_schema' ORDER BY 1, 2"
                .to_owned()
        }
        Meta::Describe(table) => format!("DESCRIBE {table}"),
        Meta::Timing => {
            session.timing = !session.timing;
            writeln!(out, "timing is {}", if session.timing { "on" } else { "off" })?;
            return Ok(());
        }
        Meta::Stats(on) => {
            session.stats = *on;
            return Ok(());
        }
        Meta::Help => {
            out.write_all(HELP.as_bytes())?;
            return Ok(());
        }
        Meta::Quit => return Ok(()),
    };
    let answer = session.ask(&sql).await?;
    if answer.iter().all(|batch| batch.num_rows() == 0) {
        writeln!(out, "There are none yet; CREATE EXTERNAL TABLE makes one.")?;
    } else {
        writeln!(out, "{}", pretty_format_batches(&answer)?)?;
    }
    Ok(())
}

/// Where earlier statements are kept: in the user's data folder, if there is one.
fn history_file() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_DATA_HOME")
        .or_else(|| set("APPDATA"))
        .or_else(|| Some(set("HOME")?.join(".local").join("share")))?;
    Some(folder.join("sluice").join("history"))
}

/// Keeps the history; a read-only home is no reason to fail.
fn save(editor: &mut DefaultEditor, history: &PathBuf) {
    let folder = history.parent().map(fs::create_dir_all);
    let saved = editor.save_history(history);
    if let (Some(Err(error)), _) = (&folder, &saved) {
        tracing::debug!("cannot keep the history: {error}");
    } else if let Err(error) = saved {
        tracing::debug!("cannot keep the history: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_start_with_a_backslash() {
        for (line, expected) in [
            ("\\d", Some(Meta::Tables)),
            ("\\d;", Some(Meta::Tables)),
            ("\\d lineitem", Some(Meta::Describe("lineitem"))),
            ("\\d  a.b ;", Some(Meta::Describe("a.b"))),
            ("\\timing", Some(Meta::Timing)),
            ("\\stats on", Some(Meta::Stats(true))),
            ("\\stats off;", Some(Meta::Stats(false))),
            ("\\stats", None),
            ("\\stats maybe", None),
            ("\\?", Some(Meta::Help)),
            ("\\q", Some(Meta::Quit)),
            ("\\x", None),
        ] {
            assert_eq!(Meta::parse(line).ok(), expected, "{line}");
        }
    }
}
