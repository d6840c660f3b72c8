//! Writes the report of the experiments that are computed, or of a finished evaluation.
//!
//! `cargo run --example report -- report.html [reproduced]`
//!
//! An evaluation is read from its folder, whatever version of `sluice` made it.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use sluicegate_experiments::{
    Machine, ReportInput, ReportedExperiment, ReportedResult, Results, Setting, experiments, report,
};

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args().nth(1).ok_or("name a file for the report")?;
    let input = match env::args().nth(2) {
        Some(evaluation) => ReportInput::recorded(Path::new(&evaluation))?,
        None => computed(),
    };
    Ok(fs::write(file, report(&input))?)
}

fn computed() -> ReportInput {
    let setting = Setting::QUICK;
    let of = |experiment| -> ReportedExperiment {
        let outcome = sluicegate_experiments::Experiment::evaluate;
        let result = match outcome(experiment, &setting, &Results::default()) {
            Ok(outcome) => ReportedResult::Outcome(outcome),
            Err(_) => ReportedResult::NotRun,
        };
        ReportedExperiment { experiment, result }
    };
    ReportInput {
        setting,
        machine: Machine::this(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        date: "today".to_owned(),
        command: "cargo run --example report".to_owned(),
        experiments: experiments().map(of).collect(),
    }
}
