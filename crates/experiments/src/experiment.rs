//! An experiment: what it computes, and its verdicts.

use sluicegate_costmodel::Provenance;

use crate::{Chart, Results, ResultsError, Run, Setting};

/// A table or figure of a paper that is computed or run again.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// The paper and the table or figure: `pushdowndb/fig1`.
    pub id: &'static str,
    /// What the experiment shows.
    pub title: &'static str,
    /// The section, table or figure of the paper.
    pub place: &'static str,
    pub(crate) method: Method,
}

/// How an experiment comes to its outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Method {
    /// From models, formulas and the texts of queries, in less than a second.
    Computed(fn() -> Outcome),
    /// From the outputs of commands.
    Live {
        /// The commands.
        runs: fn(&Setting) -> Vec<Run>,
        /// The evaluation of their outputs.
        evaluate: fn(&Setting, &Results) -> Result<Outcome, ResultsError>,
    },
}

impl Experiment {
    /// Returns the commands whose outputs the experiment evaluates; none if it is computed.
    #[must_use]
    pub fn runs(&self, setting: &Setting) -> Vec<Run> {
        match self.method {
            Method::Computed(_) => Vec::new(),
            Method::Live { runs, .. } => runs(setting),
        }
    }

    /// Returns true if the experiment needs no runs.
    #[must_use]
    pub const fn is_computed(&self) -> bool {
        matches!(self.method, Method::Computed(_))
    }

    /// Returns the tables, the charts and the verdicts. A computed experiment takes less than a second.
    ///
    /// # Errors
    ///
    /// If the output of a run is missing or of another form.
    pub fn evaluate(&self, setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
        match self.method {
            Method::Computed(compute) => Ok(compute()),
            Method::Live { evaluate, .. } => evaluate(setting, results),
        }
    }
}

/// The results of an experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The computed numbers, beside the published ones.
    pub tables: Vec<Table>,
    /// The charts, each with its numbers in a table.
    pub charts: Vec<Chart>,
    /// A verdict for each claim that names the experiment, in the order of the claims.
    pub verdicts: Vec<Verdict>,
    /// Sentences that a reader of the charts and tables needs.
    pub remarks: Vec<String>,
}

/// Numbers with their provenance.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What the table shows.
    pub title: String,
    /// The names of the columns.
    pub columns: Vec<&'static str>,
    /// The cells of each row, as many as there are columns.
    pub rows: Vec<Vec<String>>,
    /// The provenance of all numbers that are not marked as published.
    pub provenance: Provenance,
}

/// The verdict on a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The claim's id.
    pub claim: &'static str,
    /// The number or word that was found.
    pub found: String,
    /// True if the rule of the claim is satisfied.
    pub holds: bool,
    /// The reason why the claim does not hold, or a condition under which it does.
    pub note: Option<String>,
}

impl Outcome {
    /// Adds a verdict.
    pub(crate) fn decide(&mut self, claim: &'static str, found: impl Into<String>, holds: bool) {
        self.verdicts.push(Verdict { claim, found: found.into(), holds, note: None });
    }

    /// Adds a sentence to the note of a verdict.
    pub(crate) fn add_to_note(&mut self, claim: &str, sentence: &str) {
        let verdict = self.verdicts.iter_mut().find(|verdict| verdict.claim == claim);
        if let Some(note) = verdict.map(|it| &mut it.note) {
            *note = Some(match note.take() {
                Some(before) => format!("{}. {sentence}", before.trim_end_matches('.')),
                None => sentence.to_owned(),
            });
        }
    }

    /// Adds a note to the last verdict.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        if let Some(last) = self.verdicts.last_mut() {
            last.note = Some(note.into());
        }
    }
}
