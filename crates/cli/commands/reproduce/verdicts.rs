//! The verdicts on claims, as rows and as JSON.

use serde_json::{Value, json};
use sluicegate_experiments::{ClaimSource, ClaimVerdict};

pub(super) const HEADER: [&str; 8] =
    ["claim", "verdict", "published", "found", "class", "experiment", "text", "note"];

/// The note below a list of claims.
pub(super) const NOTE: &str =
    "restored: the paper's text lost the number, which was derived again from its examples.";

/// Returns the cells for [`HEADER`].
pub(super) fn row(verdict: &ClaimVerdict<'_>) -> Vec<Value> {
    let ClaimVerdict { claim, state, found, note } = verdict;
    let published = match claim.source {
        ClaimSource::Paper => claim.published.clone(),
        ClaimSource::Restored => format!("{} (restored)", claim.published),
    };
    vec![
        claim.id.as_str().into(),
        state.name().into(),
        published.into(),
        (*found).into(),
        claim.class.name().into(),
        claim.experiment.as_deref().into(),
        claim.text.as_str().into(),
        (*note).into(),
    ]
}

/// Returns a claim with its verdict as JSON.
pub(super) fn json(verdict: &ClaimVerdict<'_>) -> Value {
    let ClaimVerdict { claim, state, found, note } = verdict;
    json!({
        "claim": claim.id,
        "place": claim.place,
        "text": claim.text,
        "class": claim.class.name(),
        "published": claim.published,
        "restored": claim.source == ClaimSource::Restored,
        "found": found,
        "verdict": state.name(),
        "experiment": claim.experiment,
        "rule": claim.rule,
        "note": note,
    })
}
