//! Writes the site's pages and pictures of a finished evaluation.
//!
//! `cargo run -p sluicegate-experiments --example pages -- reproduced site/src/evidence`
//!
//! The evaluation's `results.json` has the machine and the date, and the recorded outputs have the numbers, whatever
//! version of `sluice` wrote them. Files of an earlier evaluation that are no longer written are removed.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::{env, fs};

use sluicegate_experiments::{ReportInput, ReportedResult, pages};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [evaluation, to] = arguments.as_slice() else {
        return Err("give the folder of an evaluation and the folder of the pages".into());
    };
    let to = Path::new(to);
    let input = ReportInput::recorded(Path::new(evaluation))?;
    for it in &input.experiments {
        if let ReportedResult::Failed(reason) = &it.result {
            writeln!(io::stderr(), "{}: {reason}", it.experiment.id)?;
        }
    }
    let files = pages(&input);
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let path = entry?.path();
        let is_written = files.iter().any(|(name, _)| path.ends_with(name));
        let is_ours = path.extension().is_some_and(|it| it == "md" || it == "svg");
        if is_ours && !is_written {
            fs::remove_file(path)?;
        }
    }
    for (name, text) in files {
        fs::write(to.join(name), text)?;
    }
    Ok(())
}
