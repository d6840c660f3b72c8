//! Commands that are not SQL, such as lines that start with a backslash.
//!
//! `tables` is `\d`, `list` and `local` are `\ls`, and `script` is `\i`. `other_shells` has hints for commands of
//! other shells.

mod list;
mod local;
mod other_shells;
mod script;
mod tables;

use std::io::{self, Write};

use clap::ValueEnum;

use crate::failure::{Failure, Result};
use crate::output::Format;
use crate::session::Session;

pub(crate) const HELP: &str = "\
Statements end with ; and may span lines. Tab completes; Ctrl-C drops what is typed or stops the
query; Ctrl-D ends. A command is a line of its own, also amid a statement. Those of other shells are
understood, too: .tables, .schema, .mode, .timer, .maxrows, .quit, .help, \\dt, \\l.

  \\d [TABLE]      list tables, or describe a table's columns
  \\ls [URL]       list buckets, or what is at s3://bucket/prefix/ or ./folder/
  \\i FILE         run the statements and commands of a file (also .read FILE)
  \\format [NAME]  how answers are written: table, csv, tsv, json, ndjson
  \\rows [N]       how many rows of a table are shown; 0 shows all
  \\x [on|off]     a line for each column, or a row for each row
  \\stats [on|off] the requests, bytes and cost of each statement
  \\timing [on|off] the rows and the time of each statement
  \\?              this help
  \\q              quit

  SELECT … FROM 's3://bucket/file.csv'               a file, its columns inferred
  CREATE EXTERNAL TABLE …                            a table; see `sluice sql --help`
  SET sluice.scan = 'auto' | 'get' | 'select'        how tables are read
  SET sluice.group_by = 's3' | 'hybrid' | …          where GROUP BY is computed
  SET sluice.join = 'baseline' | 'filtered' | …      how tables are joined
  SET sluice.top_k = 'sampling' | 'late' | …         how ORDER BY … LIMIT is run
  SHOW ALL VERBOSE                                   every option, with what it does
  EXPLAIN SELECT …, EXPLAIN ANALYZE SELECT …         what is sent to the store, what it counted
";

/// The names of the commands, for completion.
pub(crate) const NAMES: [&str; 10] =
    ["\\d", "\\format", "\\i", "\\ls", "\\q", "\\rows", "\\stats", "\\timing", "\\x", "\\?"];

/// A command that is not SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meta<'a> {
    Tables,
    Describe(&'a str),
    List(&'a str),
    Include(&'a str),
    /// Sets the format; `None` only prints it.
    Format(Option<Format>),
    /// Sets the maximum number of rows of a table; `None` only prints the number.
    Rows(Option<usize>),
    /// Turns a switch on or off; `None` toggles it.
    Switch(Switch, Option<bool>),
    Help,
    Quit,
}

/// Settings that are on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    Expanded,
    Stats,
    Timing,
}

impl<'a> Meta<'a> {
    /// Parses a line as a command.
    ///
    /// # Errors
    ///
    /// If there is no such command; the hint names a similar one.
    pub(crate) fn parse(line: &'a str) -> Result<Self> {
        let line = line.trim().trim_end_matches(';').trim_end();
        let (name, argument) = match line.split_once(char::is_whitespace) {
            Some((name, argument)) => (name, argument.trim()),
            None => (line, ""),
        };
        let switch = |switch| match argument {
            "" => Ok(Self::Switch(switch, None)),
            "on" => Ok(Self::Switch(switch, Some(true))),
            "off" => Ok(Self::Switch(switch, Some(false))),
            other => Err(Failure::new(format!("`{name}` is on or off, not `{other}`"))
                .with_hint(format!("{name} alone changes to the other of the two."))),
        };
        match (name, argument) {
            ("\\d" | "\\d+" | "\\dt" | "\\dt+" | "\\dv" | ".tables" | ".schema", "") => {
                Ok(Self::Tables)
            }
            ("\\d" | "\\d+" | "\\dt" | "\\dt+" | "\\dv" | ".tables" | ".schema", table) => {
                Ok(Self::Describe(table))
            }
            ("\\ls" | "\\l" | "\\l+", url) => Ok(Self::List(unquoted(url))),
            ("\\i" | ".read", "") => {
                Err(Failure::new(format!("`{name}` needs a file")).with_hint("\\i tables.sql"))
            }
            ("\\i" | ".read", file) => Ok(Self::Include(unquoted(file))),
            ("\\format" | ".mode", "") => Ok(Self::Format(None)),
            ("\\format" | ".mode", format) => match Format::from_str(format, true) {
                Ok(format) if format != Format::Parquet => Ok(Self::Format(Some(format))),
                _ => Err(Failure::new(format!("answers are not written as `{format}` here"))
                    .with_hint("Take table, csv, tsv, json or ndjson; COPY … TO writes Parquet.")),
            },
            ("\\rows" | ".maxrows", "") => Ok(Self::Rows(None)),
            ("\\rows" | ".maxrows", rows) => match rows.parse() {
                Ok(rows) => Ok(Self::Rows(Some(rows))),
                Err(_) => Err(Failure::new(format!("`{rows}` is no number of rows"))
                    .with_hint("\\rows 100 shows as many; \\rows 0 shows all.")),
            },
            ("\\x", _) => switch(Switch::Expanded),
            ("\\stats", _) => switch(Switch::Stats),
            ("\\timing" | ".timer", _) => switch(Switch::Timing),
            ("\\?" | "\\h" | "\\help" | ".help" | "help" | "?", _) => Ok(Self::Help),
            (
                "\\q" | "\\quit" | ".quit" | ".exit" | "quit" | "exit" | "quit()" | "exit()" | "q"
                | "bye" | ":q",
                _,
            ) => Ok(Self::Quit),
            _ => Err(Failure::new(format!("there is no command `{name}`"))
                .with_hint(other_shells::hint(name))),
        }
    }

    /// Runs the command. Returns false if it is to quit.
    pub(crate) async fn obey(&self, session: &mut Session<'_>) -> Result<bool> {
        match self {
            Self::Quit => return Ok(false),
            Self::Include(file) => return Box::pin(script::include(session, file)).await,
            Self::Tables => tables::list(session).await?,
            Self::Describe(table) => tables::describe(session, table).await?,
            Self::List(url) => list::list(session, url).await?,
            Self::Format(format) => {
                if let Some(format) = format {
                    session.output.set_format(*format);
                }
                let name = session.output.format().to_possible_value();
                let name = name.as_ref().map_or("", |value| value.get_name());
                writeln!(io::stderr(), "format is {name}")?;
            }
            Self::Rows(rows) => {
                if let Some(rows) = rows {
                    session.output.set_max_rows(*rows);
                }
                match session.output.max_rows() {
                    Some(rows) => writeln!(io::stderr(), "{rows} rows are shown at most")?,
                    None => writeln!(io::stderr(), "all rows are shown")?,
                }
            }
            Self::Switch(switch, on) => {
                let (name, value) = match switch {
                    Switch::Expanded => ("expanded display", &mut session.output.expanded),
                    Switch::Stats => ("stats", &mut session.stats),
                    Switch::Timing => ("timing", &mut session.timing),
                };
                *value = on.unwrap_or(!*value);
                writeln!(io::stderr(), "{name} is {}", if *value { "on" } else { "off" })?;
            }
            Self::Help => io::stdout().write_all(HELP.as_bytes())?,
        }
        Ok(true)
    }
}

/// Removes the quotes that SQL would need around an argument.
fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
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
            ("\\timing", Some(Meta::Switch(Switch::Timing, None))),
            ("\\timing on", Some(Meta::Switch(Switch::Timing, Some(true)))),
            ("\\stats", Some(Meta::Switch(Switch::Stats, None))),
            ("\\stats off;", Some(Meta::Switch(Switch::Stats, Some(false)))),
            ("\\stats maybe", None),
            ("\\x", Some(Meta::Switch(Switch::Expanded, None))),
            ("\\format", Some(Meta::Format(None))),
            ("\\format CSV", Some(Meta::Format(Some(Format::Csv)))),
            ("\\format parquet", None),
            (".mode csv", Some(Meta::Format(Some(Format::Csv)))),
            (".tables", Some(Meta::Tables)),
            ("\\dt x", Some(Meta::Describe("x"))),
            ("\\d+ x", Some(Meta::Describe("x"))),
            ("\\dv", Some(Meta::Tables)),
            ("\\l", Some(Meta::List(""))),
            (".timer off", Some(Meta::Switch(Switch::Timing, Some(false)))),
            ("help;", Some(Meta::Help)),
            (".exit", Some(Meta::Quit)),
            ("exit()", Some(Meta::Quit)),
            ("bye;", Some(Meta::Quit)),
            ("?", Some(Meta::Help)),
            ("\\i 'a b.sql'", Some(Meta::Include("a b.sql"))),
            (".read a.sql", Some(Meta::Include("a.sql"))),
            ("\\i", None),
            ("\\ls", Some(Meta::List(""))),
            ("\\ls 's3://b/'", Some(Meta::List("s3://b/"))),
            ("\\?", Some(Meta::Help)),
            ("\\q", Some(Meta::Quit)),
            ("\\y", None),
            (".foo", None),
            ("\\rows", Some(Meta::Rows(None))),
            (".maxrows 7", Some(Meta::Rows(Some(7)))),
            ("\\rows some", None),
        ] {
            assert_eq!(Meta::parse(line).ok(), expected, "{line}");
        }
    }

    #[test]
    fn the_help_and_the_completion_name_the_commands() {
        for name in NAMES {
            assert!(HELP.contains(&format!("  {name} ")), "{name}");
            let line = if name == "\\i" { "\\i x".to_owned() } else { name.to_owned() };
            assert!(Meta::parse(&line).is_ok(), "{name}");
        }
    }
}
