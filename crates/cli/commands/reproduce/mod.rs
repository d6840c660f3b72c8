//! `sluice reproduce`: runs and computes the experiments of the papers, and lists the verdicts on their claims.

mod lists;
mod progress;
mod report;
mod verdicts;

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use sluicegate_experiments::{
    Claim, ClaimCounts, ClaimVerdict, Experiment, Outcome, Results, RunError, Runner, Setting,
    Table, claims, experiments as experiments_of_all,
};

use self::progress::EvaluationProgress;
use crate::args::ReproduceArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::{ListFormat, Listing};
use crate::output::progress::print_line;
use crate::runtime::interrupt::stopped;
use crate::runtime::program;

/// An experiment with its outcome, or the reason why it has none.
type Concluded = (&'static Experiment, Result<Outcome, String>);

pub(super) fn run(args: &ReproduceArgs) -> Result<()> {
    let names: Vec<&str> = args.experiments.iter().map(String::as_str).collect();
    let setting = setting(args);
    if args.list {
        return lists::list(&chosen(&names)?, &setting, args.format);
    }
    if args.claims {
        return lists::rules(&names, args.format);
    }
    let concluded = evaluate(&chosen(&names)?, &setting, args)?;
    let verdicts = verdicts_of(&names, &concluded);
    match args.format {
        ListFormat::Json => writeln!(io::stdout(), "{:#}", as_json(&concluded, &verdicts))?,
        format => print(&names, &concluded, &verdicts, format)?,
    }
    match concluded.iter().filter(|(_, outcome)| outcome.is_err()).count() {
        0 => Ok(()),
        failed => Err(Failure::new(format!("{failed} of {} experiments failed", concluded.len()))
            .with_hint("Their reasons are above. The same command runs only these again.")),
    }
}

/// Returns the setting that the arguments ask for.
fn setting(args: &ReproduceArgs) -> Setting {
    let setting = if args.quick { Setting::QUICK } else { Setting::FULL };
    Setting { scale: args.scale.unwrap_or(setting.scale), ..setting }
}

/// Runs the commands of the experiments, and evaluates their outputs.
fn evaluate(
    experiments: &[&'static Experiment],
    setting: &Setting,
    args: &ReproduceArgs,
) -> Result<Vec<Concluded>> {
    let concluded = |experiment: &'static Experiment, results: Result<Results, RunError>| {
        let outcome = results.map_err(|error| error.to_string()).and_then(|results| {
            experiment.evaluate(setting, &results).map_err(|error| error.to_string())
        });
        (experiment, outcome)
    };
    if args.to.is_none() && experiments.iter().all(|experiment| experiment.is_computed()) {
        print_line("no command has to run, so no report is written; with --to FOLDER it is");
        return Ok(experiments.iter().map(|it| concluded(it, Ok(Results::default()))).collect());
    }
    // From here on, signals are noted.
    if let Some(code) = stopped() {
        return Err(Failure::Stopped(code));
    }
    let program = program::path()?;
    let broken = |error: RunError| {
        let hint = match error {
            RunError::Busy(_) => "Wait until the folder is free, or name another one with --to.",
            RunError::Foreign(_) => "Name a new or an empty folder with --to.",
            _ => "Name a folder that can be written to with --to.",
        };
        Failure::new(error.to_string()).with_hint(hint)
    };
    let progress = EvaluationProgress::new();
    let folder = folder(args);
    let mut runner = Runner::new(&program, &folder, *setting, progress).map_err(broken)?;
    let missing = runner.missing(experiments).map_err(broken)?;
    runner.observer().expect(missing);
    let mut all = Vec::new();
    for &experiment in experiments {
        let reused = runner.observer().reused();
        let results = runner.run(experiment);
        if let (Err(RunError::Stopped), Some(code)) = (&results, stopped()) {
            runner.observer().clear();
            print_line("stopped; the same command goes on from here");
            return Err(Failure::Stopped(code));
        }
        let mut outcome = concluded(experiment, results);
        if outcome.1.is_err() && runner.observer().reused() > reused {
            // An output that was there may be unusable.
            runner.forget(experiment).map_err(broken)?;
            outcome = concluded(experiment, runner.run(experiment));
            if let (Err(_), Some(code)) = (&outcome.1, stopped()) {
                runner.observer().clear();
                return Err(Failure::Stopped(code));
            }
        }
        runner.observer().ended(experiment.id, &summary(&outcome.1));
        all.push(outcome);
    }
    runner.observer().clear();
    let (ran, reused) = (runner.observer().ran(), runner.observer().reused());
    print_line(&format!("{ran} commands ran, the output of {reused} was there"));
    // The report also has what ran before.
    let mut known = all.clone();
    for experiment in experiments_of_all() {
        let is_chosen = experiments.iter().any(|it| it.id == experiment.id);
        if !is_chosen && runner.missing(&[experiment]).map_err(broken)? == 0 {
            known.push(concluded(experiment, runner.run(experiment)));
        }
    }
    let results = as_json(&known, &verdicts_of(&[], &known));
    report::write(&known, &results, setting, (args, &folder))?;
    Ok(all)
}

/// Returns the folder of an evaluation. Evaluations of other sizes have other folders, so that none loses its results.
fn folder(args: &ReproduceArgs) -> PathBuf {
    let default = || {
        let quick = if args.quick { "-quick" } else { "" };
        let scale = args.scale.map_or_else(String::new, |scale| format!("-{scale}"));
        PathBuf::from(format!("reproduced{quick}{scale}"))
    };
    args.to.clone().unwrap_or_else(default)
}

/// Returns the verdicts of an outcome as words: `4 of 5 claims hold`.
fn summary(outcome: &Result<Outcome, String>) -> String {
    match outcome {
        Ok(outcome) => {
            let hold = outcome.verdicts.iter().filter(|verdict| verdict.holds).count();
            format!("{hold} of {} claims hold", outcome.verdicts.len())
        }
        Err(reason) => format!("failed: {reason}"),
    }
}

/// Returns the verdicts on the claims of these experiments, or on all claims if none is named.
fn verdicts_of<'a>(names: &[&str], concluded: &'a [Concluded]) -> Vec<ClaimVerdict<'a>> {
    let of_chosen =
        |claim: &&Claim| names.is_empty() || concluded.iter().any(|(it, _)| names_it(claim, it));
    let outcomes = || concluded.iter().filter_map(|(_, outcome)| outcome.as_ref().ok());
    let claims = claims().iter().filter(of_chosen);
    claims.map(|claim| ClaimVerdict::of(claim, outcomes())).collect()
}

/// Returns the tables and the verdicts as JSON.
fn as_json(concluded: &[Concluded], verdicts: &[ClaimVerdict<'_>]) -> Value {
    let tables: Vec<Value> = concluded.iter().map(|(it, outcome)| computed(it, outcome)).collect();
    let claims: Vec<Value> = verdicts.iter().map(verdicts::json).collect();
    json!({ "experiments": tables, "claims": claims })
}

/// Prints the numbers of named experiments, and the verdicts.
fn print(
    names: &[&str],
    concluded: &[Concluded],
    verdicts: &[ClaimVerdict<'_>],
    format: ListFormat,
) -> Result<()> {
    if !names.is_empty() && format == ListFormat::Table {
        for (experiment, outcome) in concluded {
            if let Ok(outcome) = outcome {
                print_tables(experiment, outcome)?;
            }
        }
    }
    let mut listing = Listing::new(&verdicts::HEADER);
    verdicts.iter().for_each(|verdict| listing.push(verdicts::row(verdict)));
    let counts: ClaimCounts = verdicts.iter().collect();
    listing.print(format, &format!("{counts}.\n{}\n", verdicts::NOTE))
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
        if !experiments_of_all().any(|experiment| of(name, experiment)) {
            let ids: Vec<&str> = experiments_of_all().map(|experiment| experiment.id).collect();
            return Err(Failure::Usage(format!(
                "there is no experiment `{name}`; there are {}, and all of pushdowndb, cheetah, icpe or ours",
                ids.join(", ")
            )));
        }
    }
    let is_chosen = |it: &&Experiment| names.is_empty() || names.iter().any(|name| of(name, it));
    Ok(experiments_of_all().filter(is_chosen).collect())
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

/// Returns the tables of an experiment as JSON, or the reason why it has none.
fn computed(experiment: &Experiment, outcome: &Result<Outcome, String>) -> Value {
    let table = |table: &Table| {
        json!({
            "title": table.title,
            "provenance": table.provenance.to_string(),
            "columns": table.columns,
            "rows": table.rows,
        })
    };
    let tables = outcome.iter().flat_map(|outcome| &outcome.tables);
    json!({
        "id": experiment.id,
        "title": experiment.title,
        "place": experiment.place,
        "tables": tables.map(table).collect::<Vec<_>>(),
        "failed": outcome.as_ref().err(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_chosen_by_id_and_by_paper() {
        assert_eq!(chosen(&[]).unwrap().len(), experiments_of_all().count());
        assert_eq!(chosen(&["pushdowndb/fig1"]).unwrap()[0].id, "pushdowndb/fig1");
        let of_icpe = chosen(&["icpe"]).unwrap();
        assert!(of_icpe.iter().all(|it| it.id.starts_with("icpe/")) && of_icpe.len() > 1);
        let refused = chosen(&["pushdown"]).unwrap_err().words().0;
        assert!(refused.starts_with("there is no experiment `pushdown`"), "{refused}");
    }
}
