//! `sluice reference`: prints pages of the site from the program's own definitions.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::CommandFactory;
use datafusion::common::config::ExtensionOptions;
use sluicegate_engine::config::{SluiceOptions, words};
use sluicegate_engine::guards::{Case, CaseOutcome, GUARDS, Guard};

use crate::args::{Args, ReferenceArgs, ReferenceOf};
use crate::failure::Result;

/// Columns of the help on the page, whatever the terminal's width.
const WIDTH: usize = 100;

pub(crate) fn run(args: &ReferenceArgs) -> Result<()> {
    let page = match args.of {
        ReferenceOf::Settings => settings(),
        ReferenceOf::Commands => commands(),
        ReferenceOf::Differences => differences(),
    };
    Ok(io::stdout().write_all(page.as_bytes())?)
}

fn settings() -> String {
    let mut page = "# Settings\n\n\
        `SET name = value` changes an option for the session, `RESET name` takes it back, `SHOW name` tells it, and \
        `SHOW ALL VERBOSE` lists all of them, those of DataFusion (`datafusion.…`) included.\n"
        .to_owned();
    for option in SluiceOptions::default().entries() {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## `{}`\n\n{}.\n\n", option.key, option.description);
        let values = words(&option.key);
        if !values.is_empty() {
            let values: Vec<String> = values.iter().map(|value| format!("`'{value}'`")).collect();
            let _ = writeln!(page, "Values: {}.  ", values.join(", "));
        }
        let default = match option.value.as_deref() {
            None | Some("") => "empty".to_owned(),
            Some(value) => format!("`{value}`"),
        };
        let _ = writeln!(page, "Default: {default}.");
    }
    page
}

fn commands() -> String {
    let mut all = Args::command().term_width(WIDTH);
    all.build();
    let mut page = "# Commands\n\nWhat `sluice help` prints of each command.\n".to_owned();
    describe(&mut all, "sluice", &mut page);
    page
}

/// Writes the help of a command and its subcommands. Hidden commands and `help` are left out.
fn describe(command: &mut clap::Command, name: &str, page: &mut String) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for below in command.get_subcommands_mut() {
        if !below.is_hide_set() && below.get_name() != "help" {
            let name = format!("{name} {}", below.get_name());
            describe(below, &name, page);
        }
    }
}

fn differences() -> String {
    let mut page = "# Where we differ from DataFusion\n\n\
        Sluicegate plans and runs SQL with DataFusion. DataFusion answers some statements wrong. For each class below, a \
        session of Sluicegate gives the right answer, or refuses the statement with a reason.\n"
        .to_owned();
    for guard in GUARDS {
        difference(guard, &mut page);
    }
    page
}

/// Writes one guard: the defect upstream, its report, what our sessions do, and the first example.
fn difference(guard: &Guard, page: &mut String) {
    let Guard { title, upstream, ours, cases } = guard;
    let _ = write!(page, "\n## {title}\n\n{ours}\n");
    if !upstream.is_empty() {
        let _ = write!(page, "\nUpstream: {}.\n", upstream.join(", "));
    }
    if let Some(Case { setup, sql, right, theirs }) = cases.first() {
        let _ = writeln!(page, "\n```sql");
        for statement in setup.iter().chain([sql]) {
            let _ = writeln!(page, "{statement};");
        }
        let _ = writeln!(page, "```\n\n| | answer |\n|---|---|");
        let _ = writeln!(page, "| Sluicegate | {} |", answer(right));
        let _ = writeln!(page, "| DataFusion | {} |", answer(theirs));
    }
}

fn answer(answer: &CaseOutcome) -> String {
    match answer {
        CaseOutcome::Rows([]) => "no row".to_owned(),
        CaseOutcome::Rows(rows) => {
            let rows: Vec<String> = rows.iter().map(|row| format!("`{row}`")).collect();
            rows.join("<br>")
        }
        CaseOutcome::Error(text) => format!("error: {text}"),
        CaseOutcome::Panic => "panic".to_owned(),
        CaseOutcome::Varies => "differs from run to run".to_owned(),
    }
}
