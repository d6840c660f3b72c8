//! An experiment: what it computes, and its verdicts.

use sluicegate_costmodel::Provenance;

/// A table or figure of a paper that is computed again.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// The paper and the table or figure: `pushdowndb/fig1`.
    pub id: &'static str,
    /// What the experiment shows.
    pub title: &'static str,
    /// The section, table or figure of the paper.
    pub place: &'static str,
    pub(crate) compute: fn() -> Outcome,
}

impl Experiment {
    /// Computes the tables and the verdicts, which takes less than a second.
    #[must_use]
    pub fn run(&self) -> Outcome {
        (self.compute)()
    }
}

/// The results of an experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The computed numbers, beside the published ones.
    pub tables: Vec<Table>,
    /// A verdict for each claim that names the experiment, in the order of the claims.
    pub verdicts: Vec<Verdict>,
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

    /// Adds a note to the last verdict.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        if let Some(last) = self.verdicts.last_mut() {
            last.note = Some(note.into());
        }
    }
}
