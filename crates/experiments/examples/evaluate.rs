//! Evaluates one experiment with a program `sluice`, and prints its tables and verdicts.
//!
//! `cargo run --example evaluate -- target/release/sluice /tmp/evaluation pushdowndb/fig1 [full]`

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use sluicegate_experiments::{Observer, RunEvent, Runner, Setting, find};

/// Prints what happens.
struct Printer;

impl Observer for Printer {
    fn event(&mut self, event: RunEvent<'_>) {
        let _ = writeln!(io::stderr(), "{event:?}");
    }

    fn is_stopped(&mut self) -> bool {
        false
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [program, folder, id, rest @ ..] = arguments.as_slice() else {
        return Err("give a program, a folder and an experiment".into());
    };
    let experiment = find(id).ok_or("there is no such experiment")?;
    let setting = if rest.is_empty() { Setting::QUICK } else { Setting::FULL };
    let (program, folder) = (Path::new(program).canonicalize()?, Path::new(folder));
    let results = Runner::new(&program, folder, setting, Printer)?.run(experiment)?;
    let mut out = io::stdout();
    let outcome = experiment.evaluate(&setting, &results)?;
    for table in &outcome.tables {
        writeln!(out, "\n{} ({})", table.title, table.provenance)?;
        writeln!(out, "{}", table.columns.join(" | "))?;
        for row in &table.rows {
            writeln!(out, "{}", row.join(" | "))?;
        }
    }
    for verdict in &outcome.verdicts {
        writeln!(out, "\n{verdict:?}")?;
    }
    Ok(())
}
