//! The report and the results as files.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use sluicegate_experiments::{
    Experiment, Machine, ReportInput, ReportedExperiment, ReportedResult, Setting, experiments,
    report, shell,
};

use super::Concluded;
use crate::args::ReproduceArgs;
use crate::failure::Result;
use crate::output::file::PartialFile;
use crate::output::progress::print_line;

/// Writes the report and the results into the folder of the evaluation.
pub(super) fn write(
    concluded: &[Concluded],
    results: &Value,
    setting: &Setting,
    (args, folder): (&ReproduceArgs, &Path),
) -> Result<()> {
    let reported = |experiment: &'static Experiment| {
        let of = concluded.iter().find(|(it, _)| it.id == experiment.id);
        let result = match of {
            Some((_, Ok(outcome))) => ReportedResult::Outcome(outcome.clone()),
            Some((_, Err(reason))) => ReportedResult::Failed(reason.clone()),
            None => ReportedResult::NotRun,
        };
        ReportedExperiment { experiment, result }
    };
    let input = ReportInput {
        setting: *setting,
        machine: Machine::this(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        date: chrono::Local::now().format("%Y-%m-%d").to_string(),
        command: typed(args),
        experiments: experiments().map(reported).collect(),
    };
    let mut results = results.clone();
    if let Value::Object(members) = &mut results {
        members.insert("evaluation".to_owned(), input.facts());
    }
    for (name, text) in
        [("report.html", report(&input)), ("results.json", format!("{results:#}\n"))]
    {
        let mut file = PartialFile::begin(&folder.join(name))?;
        file.file().write_all(text.as_bytes())?;
        file.finish()?;
    }
    print_line(&format!("the report is {}", folder.join("report.html").display()));
    Ok(())
}

/// Returns the command that makes the same report.
fn typed(args: &ReproduceArgs) -> String {
    let mut words = vec!["reproduce".to_owned()];
    words.extend(args.experiments.iter().cloned());
    if args.quick {
        words.push("--quick".to_owned());
    }
    words.extend(args.scale.into_iter().flat_map(|it| ["--scale".to_owned(), it.to_string()]));
    let folder = args.to.as_ref().map(|folder| folder.display().to_string());
    words.extend(folder.into_iter().flat_map(|it| ["--to".to_owned(), it]));
    shell(&words)
}
