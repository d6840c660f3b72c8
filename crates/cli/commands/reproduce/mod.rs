//! `sluice reproduce`: computes the experiments of the papers and lists the verdicts on their claims.

mod verdicts;

use std::io::{self, Write};

use serde_json::{Value, json};
use sluicegate_experiments::{Claim, EXPERIMENTS, Experiment, Outcome, Paper, Table, claims};

use self::verdicts::{Counts, verdict_of};
use crate::args::ReproduceArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::{ListFormat, Listing};

pub(super) fn run(args: &ReproduceArgs) -> Result<()> {
    let names: Vec<&str> = args.experiments.iter().map(String::as_str).collect();
    if args.list {
        return list(&chosen(&names)?, args.format);
    }
    if args.claims {
        return rules(&named_claims(&names)?, args.format);
    }
    let experiments = chosen(&names)?;
    let outcomes: Vec<(&Experiment, Outcome)> =
        experiments.into_iter().map(|experiment| (experiment, experiment.run())).collect();
    // With names, the claims of these experiments; without, all claims.
    let claims: Vec<&Claim> = match names.is_empty() {
        true => claims().iter().collect(),
        false => {
            claims().iter().filter(|it| outcomes.iter().any(|(e, _)| names_it(it, e))).collect()
        }
    };
    if args.format == ListFormat::Json {
        let results = json!({
            "experiments": outcomes.iter().map(|(e, it)| computed(e, it)).collect::<Vec<_>>(),
            "claims": claims.iter().map(|claim| verdict_of(claim, &outcomes).json()).collect::<Vec<_>>(),
        });
        return Ok(writeln!(io::stdout(), "{results:#}")?);
    }
    if !names.is_empty() && args.format == ListFormat::Table {
        for (experiment, outcome) in &outcomes {
            print_tables(experiment, outcome)?;
        }
    }
    let mut listing = Listing::new(&verdicts::HEADER);
    let mut counts = Counts::default();
    for claim in claims {
        let verdict = verdict_of(claim, &outcomes);
        counts.add(&verdict);
        listing.push(verdict.row());
    }
    listing.print(args.format, &counts.to_string())
}

/// Returns true if the claim names the experiment.
fn names_it(claim: &Claim, experiment: &Experiment) -> bool {
    claim.experiment.as_deref() == Some(experiment.id)
}

/// Returns the experiments with these ids, or of these papers; all of them for no names.
fn chosen(names: &[&str]) -> Result<Vec<&'static Experiment>> {
    let of = |name: &str, experiment: &Experiment| {
        experiment.id == name
            || experiment.id.split_once('/').is_some_and(|(paper, _)| paper == name)
    };
    for name in names {
        if !EXPERIMENTS.iter().any(|experiment| of(name, experiment)) {
            let ids: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
            return Err(Failure::Usage(format!(
                "there is no experiment `{name}`; there are {}, and all of pushdowndb, cheetah or icpe",
                ids.join(", ")
            )));
        }
    }
    let is_chosen = |it: &&Experiment| names.is_empty() || names.iter().any(|name| of(name, it));
    Ok(EXPERIMENTS.iter().filter(is_chosen).collect())
}

/// Returns the claims of these papers, or those that name these experiments; all of them for no names.
fn named_claims(names: &[&str]) -> Result<Vec<&'static Claim>> {
    let of = |name: &str, claim: &Claim| match name {
        "pushdowndb" => claim.paper() == Paper::PushdownDb,
        "cheetah" => claim.paper() == Paper::Cheetah,
        "icpe" => claim.paper() == Paper::Icpe,
        id => claim.experiment.as_deref() == Some(id),
    };
    if let Some(name) = names.iter().find(|name| !claims().iter().any(|claim| of(name, claim))) {
        return Err(Failure::Usage(format!(
            "no claim is of `{name}`; name an experiment, or pushdowndb, cheetah or icpe"
        )));
    }
    let is_chosen = |it: &&Claim| names.is_empty() || names.iter().any(|name| of(name, it));
    Ok(claims().iter().filter(is_chosen).collect())
}

fn list(experiments: &[&Experiment], format: ListFormat) -> Result<()> {
    let mut listing = Listing::new(&["experiment", "shows", "place"]);
    for experiment in experiments {
        listing.push(vec![experiment.id.into(), experiment.title.into(), experiment.place.into()]);
    }
    listing.print(format, "")
}

fn rules(claims: &[&Claim], format: ListFormat) -> Result<()> {
    let mut listing =
        Listing::new(&["claim", "place", "text", "published", "class", "experiment", "holds if"]);
    let some = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    for claim in claims {
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

fn print_tables(experiment: &Experiment, outcome: &Outcome) -> Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{} ({})\n", experiment.title, experiment.place)?;
    for table in &outcome.tables {
        let mut listing = Listing::new(&table.columns);
        for row in &table.rows {
            listing.push(row.iter().map(|cell| cell.as_str().into()).collect());
        }
        writeln!(
            out,
            "{}; {}\n{}",
            table.title,
            table.provenance,
            listing.text(ListFormat::Table)
        )?;
    }
    Ok(())
}

/// Returns the tables of an experiment as JSON.
fn computed(experiment: &Experiment, outcome: &Outcome) -> Value {
    let table = |table: &Table| {
        json!({
            "title": table.title,
            "provenance": table.provenance.to_string(),
            "columns": table.columns,
            "rows": table.rows,
        })
    };
    json!({
        "id": experiment.id,
        "title": experiment.title,
        "place": experiment.place,
        "tables": outcome.tables.iter().map(table).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_chosen_by_id_and_by_paper() {
        assert_eq!(chosen(&[]).unwrap().len(), EXPERIMENTS.len());
        assert_eq!(chosen(&["pushdowndb/fig1"]).unwrap()[0].id, "pushdowndb/fig1");
        let of_icpe = chosen(&["icpe"]).unwrap();
        assert!(of_icpe.iter().all(|it| it.id.starts_with("icpe/")) && of_icpe.len() > 1);
        let refused = chosen(&["pushdown"]).unwrap_err().words().0;
        assert!(refused.starts_with("there is no experiment `pushdown`"), "{refused}");
    }

    #[test]
    fn claims_are_chosen_by_paper_and_by_experiment() {
        assert_eq!(named_claims(&[]).unwrap().len(), 148);
        assert_eq!(named_claims(&["cheetah"]).unwrap().len(), 51);
        assert_eq!(named_claims(&["pushdowndb/fig1"]).unwrap().len(), 6);
        assert!(named_claims(&["fig1"]).is_err());
    }
}
