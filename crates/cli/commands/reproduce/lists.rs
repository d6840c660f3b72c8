//! Lists of the experiments and of the claims, for which nothing runs.

use serde_json::Value;
use sluicegate_experiments::{Claim, Experiment, Paper, Setting, claims, experiments};

use crate::failure::{Failure, Result};
use crate::output::listing::{ListFormat, Listing};

/// Prints the experiments.
pub(super) fn list(
    experiments: &[&Experiment],
    setting: &Setting,
    format: ListFormat,
) -> Result<()> {
    let mut listing = Listing::new(&["experiment", "shows", "place", "commands"]);
    for experiment in experiments {
        let commands = experiment.runs(setting).len();
        listing.push(vec![
            experiment.id.into(),
            experiment.title.into(),
            experiment.place.into(),
            commands.into(),
        ]);
    }
    listing.print(format, "")
}

/// Prints the claims of these papers or experiments with their rules; all of them for no names.
pub(super) fn rules(names: &[&str], format: ListFormat) -> Result<()> {
    let mut listing =
        Listing::new(&["claim", "place", "text", "published", "class", "experiment", "holds if"]);
    let some = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    for claim in named_claims(names)? {
        listing.push(vec![
            claim.id.as_str().into(),
            claim.place.as_str().into(),
            claim.text.as_str().into(),
            claim.published.as_str().into(),
            claim.class.name().into(),
            some(&claim.experiment),
            some(&claim.rule),
        ]);
    }
    listing.print(format, "")
}

/// Returns the claims of these papers, or those that name these experiments; all of them for no names.
fn named_claims(names: &[&str]) -> Result<Vec<&'static Claim>> {
    let of = |name: &str, claim: &Claim| match name {
        "pushdowndb" => claim.paper() == Paper::PushdownDb,
        "cheetah" => claim.paper() == Paper::Cheetah,
        "icpe" => claim.paper() == Paper::Icpe,
        id => claim.experiment.as_deref() == Some(id),
    };
    // An experiment may decide no claim, and ours do not.
    let is_known = |name: &str| {
        let mut experiments = experiments();
        experiments.any(|it| it.id == name || it.id.split('/').next() == Some(name))
    };
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(Failure::Usage(format!(
            "no claim is of `{name}`; name an experiment, or pushdowndb, cheetah or icpe"
        )));
    }
    let is_chosen = |it: &&Claim| names.is_empty() || names.iter().any(|name| of(name, it));
    Ok(claims().iter().filter(is_chosen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_chosen_by_paper_and_by_experiment() {
        assert_eq!(named_claims(&[]).unwrap().len(), 148);
        assert_eq!(named_claims(&["cheetah"]).unwrap().len(), 51);
        assert_eq!(named_claims(&["pushdowndb/fig1"]).unwrap().len(), 6);
        assert!(named_claims(&["fig1"]).is_err());
    }
}
