//! The input of a report from the files of an evaluation.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::{Machine, ReportInput, ReportedExperiment, ReportedResult};
use crate::{Experiment, RunError, Setting, experiments, recorded};

/// The reason why an evaluation cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// `results.json` is missing, or it has no facts on the evaluation.
    #[error("{0}: {1}; `sluice reproduce` writes it at the end of an evaluation")]
    Results(String, io::Error),
    /// A recorded output cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// The facts on an evaluation that its outputs do not have.
#[derive(Serialize, Deserialize)]
struct Facts {
    setting: Setting,
    machine: Machine,
    version: String,
    date: String,
    command: String,
}

#[derive(Deserialize)]
struct ResultsFile {
    evaluation: Facts,
}

impl ReportInput {
    /// Returns the facts on the evaluation for its `results.json`, where they are the member `evaluation`.
    #[must_use]
    pub fn facts(&self) -> Value {
        let Self { setting, machine, version, date, command, .. } = self;
        json!({
            "setting": setting, "machine": machine, "version": version, "date": date, "command": command,
        })
    }

    /// Reads the facts and the recorded outputs in the folder of an evaluation, and evaluates these again, whatever
    /// program wrote them. An experiment without any output counts as not run.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn recorded(folder: &Path) -> Result<Self, RecordedError> {
        let file = folder.join("results.json");
        let broken = |error| RecordedError::Results(file.display().to_string(), error);
        let text = fs::read_to_string(&file).map_err(broken)?;
        let ResultsFile { evaluation } =
            serde_json::from_str(&text).map_err(|error| broken(error.into()))?;
        let Facts { setting, machine, version, date, command } = evaluation;
        let mut all = Vec::new();
        for experiment in experiments() {
            let result = result(folder, experiment, &setting)?;
            all.push(ReportedExperiment { experiment, result });
        }
        Ok(Self { setting, machine, version, date, command, experiments: all })
    }
}

fn result(
    folder: &Path,
    experiment: &Experiment,
    setting: &Setting,
) -> Result<ReportedResult, RecordedError> {
    let results = recorded(folder, experiment, setting)?;
    if !experiment.is_computed() && results.iter().next().is_none() {
        return Ok(ReportedResult::NotRun);
    }
    Ok(match experiment.evaluate(setting, &results) {
        Ok(outcome) => ReportedResult::Outcome(outcome),
        Err(error) => ReportedResult::Failed(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let input = ReportInput {
            setting: Setting { is_quick: true, scale: 0.02 },
            machine: Machine { cores: Some(3), ..Machine::default() },
            version: "1".to_owned(),
            date: "2026-01-01".to_owned(),
            command: "sluice reproduce".to_owned(),
            experiments: Vec::new(),
        };
        let text = json!({ "evaluation": input.facts() }).to_string();
        let file = folder.path().join("results.json");
        fs::write(&file, text).unwrap();
        let read = ReportInput::recorded(folder.path()).unwrap();
        assert_eq!(read.experiments.len(), experiments().count());
        assert!(read.experiments.iter().all(|it| match it.result {
            ReportedResult::Outcome(_) => it.experiment.is_computed(),
            _ => !it.experiment.is_computed(),
        }));
        assert_eq!(ReportInput { experiments: Vec::new(), ..read }, input);
        fs::write(&file, "{}").unwrap();
        let refused = ReportInput::recorded(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("missing field `evaluation`"), "{refused}");
    }
}
