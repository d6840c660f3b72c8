//! The verdicts on claims, as rows and as JSON, and their counts.

use std::fmt;

use serde_json::{Value, json};
use sluicegate_experiments::{Claim, ClaimClass, ClaimSource};

use super::Concluded;

pub(super) const HEADER: [&str; 8] =
    ["claim", "verdict", "published", "found", "class", "experiment", "text", "note"];

/// A claim with its verdict.
pub(super) struct ClaimVerdict<'a> {
    claim: &'a Claim,
    state: ClaimState,
    found: Option<&'a str>,
    note: Option<&'a str>,
}

/// The state of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimState {
    Holds,
    Differs,
    External,
    Open,
}

impl ClaimState {
    const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::External => "external",
            Self::Open => "no experiment yet",
        }
    }
}

/// Returns the verdict on a claim by these experiments.
pub(super) fn verdict_of<'a>(claim: &'a Claim, concluded: &'a [Concluded]) -> ClaimVerdict<'a> {
    let outcomes = concluded.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
    let verdicts = outcomes.flat_map(|outcome| &outcome.verdicts);
    let decided = verdicts.into_iter().find(|verdict| verdict.claim == claim.id);
    let state = match decided {
        Some(verdict) if verdict.holds => ClaimState::Holds,
        Some(_) => ClaimState::Differs,
        None if claim.class == ClaimClass::External => ClaimState::External,
        None => ClaimState::Open,
    };
    ClaimVerdict {
        claim,
        state,
        found: decided.map(|verdict| verdict.found.as_str()),
        note: decided.and_then(|verdict| verdict.note.as_deref()),
    }
}

impl ClaimVerdict<'_> {
    /// Returns the cells for [`HEADER`].
    pub(super) fn row(&self) -> Vec<Value> {
        let some = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        vec![
            self.claim.id.as_str().into(),
            self.state.name().into(),
            self.published().into(),
            some(self.found),
            self.claim.class.name().into(),
            some(self.claim.experiment.as_deref()),
            self.claim.text.as_str().into(),
            some(self.note),
        ]
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "claim": self.claim.id,
            "place": self.claim.place,
            "text": self.claim.text,
            "class": self.claim.class.name(),
            "published": self.claim.published,
            "restored": self.claim.source == ClaimSource::Restored,
            "found": self.found,
            "verdict": self.state.name(),
            "experiment": self.claim.experiment,
            "rule": self.claim.rule,
            "note": self.note,
        })
    }

    /// Returns the published number, marked if it was restored.
    fn published(&self) -> String {
        match self.claim.source {
            ClaimSource::Paper => self.claim.published.clone(),
            ClaimSource::Restored => format!("{} (restored)", self.claim.published),
        }
    }
}

/// The number of claims with each verdict.
#[derive(Default)]
pub(super) struct Counts {
    holds: usize,
    differs: usize,
    external: usize,
    open: usize,
}

impl Counts {
    pub(super) fn add(&mut self, verdict: &ClaimVerdict<'_>) {
        *match verdict.state {
            ClaimState::Holds => &mut self.holds,
            ClaimState::Differs => &mut self.differs,
            ClaimState::External => &mut self.external,
            ClaimState::Open => &mut self.open,
        } += 1;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { holds, differs, external, open } = self;
        let all = holds + differs + external + open;
        writeln!(
            f,
            "{all} claims: {holds} hold, {differs} differ, {external} are external, {open} have no experiment yet."
        )?;
        writeln!(
            f,
            "restored: the paper's text lost the number, which was derived again from its examples."
        )
    }
}
