//! The experiments and claims of three papers, computed again and compared with the published numbers.
//!
//! * [`claims()`]: the 148 statements and numbers of the papers, from the folder `claims`, each with its place, its class
//!   and the rule of its verdict.
//! * [`experiments()`]: a table or figure each, in a file of its own below the folder of its paper. An [`Experiment`]
//!   gives [tables](Table) with the numbers, [charts](Chart), and a [`Verdict`] for each claim that names it.
//! * [`ClaimVerdict`]: the state of a claim by the outcomes of the experiments.
//! * [`mod@chart`] draws charts as SVG and for terminals, [`report()`] writes everything into one HTML file, and
//!   [`pages()`] the pages of the site.
//! * [`Runner`]: runs the commands of `sluice` that an experiment evaluates, over data and stores that it starts itself.
//!
//! Numbers are counted, measured, modelled or published, and each table says which. Experiments of models, formulas and
//! texts are computed in a second. The others are lists of [`Run`]s: commands that anyone can type.
//!
//! ```
//! use sluicegate_experiments::{Results, Setting, claims, find};
//!
//! let experiment = find("pushdowndb/table2").unwrap();
//! let outcome = experiment.evaluate(&Setting::QUICK, &Results::default())?;
//! let verdict = outcome.verdicts.iter().find(|verdict| verdict.claim == "P17").unwrap();
//! assert!(verdict.holds, "{verdict:?}");
//! assert_eq!(claims().len(), 148);
//! # Ok::<(), sluicegate_experiments::ResultsError>(())
//! ```

pub mod chart;
pub mod cheetah;
mod claim;
mod experiment;
pub mod icpe;
mod markup;
pub mod ours;
mod peer;
pub mod pushdowndb;
mod report;
mod results;
mod run;
mod runner;
mod setting;
mod tolerance;
mod verdict;
mod wording;

pub use chart::Chart;
pub use claim::{Basis, Cause, Claim, ClaimClass, ClaimSource, Paper, claims};
pub use experiment::{Experiment, Outcome, Table, Verdict};
pub use markup::Markup;
pub use peer::Peer;
pub use report::{
    Machine, RecordedError, ReportInput, ReportedExperiment, ReportedResult, pages, report,
};
pub use results::{
    Record, Repeated, Results, ResultsError, Statement, StatementBytes, StatementDollars,
    StatementPrediction, StatementRequests, StatementStrategy, UsageSample,
};
pub use run::{Data, Run, RunOutput, UNLIMITED, shell};
pub use runner::{Observer, RunError, RunEvent, Runner, commands, recorded};
pub use setting::Setting;
pub use verdict::{ClaimCounts, ClaimState, ClaimVerdict};

/// All experiments, in the order of the papers.
pub fn experiments() -> impl Iterator<Item = &'static Experiment> {
    [pushdowndb::EXPERIMENTS, cheetah::EXPERIMENTS, icpe::EXPERIMENTS, ours::EXPERIMENTS]
        .into_iter()
        .flatten()
}

/// Returns the experiment with this id, such as `pushdowndb/fig1`.
#[must_use]
pub fn find(id: &str) -> Option<&'static Experiment> {
    experiments().find(|experiment| experiment.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn there_are_148_claims_of_three_papers() {
        let ids: BTreeSet<&str> = claims().iter().map(|claim| claim.id.as_str()).collect();
        assert_eq!((claims().len(), ids.len()), (148, 148));
        let of = |paper: Paper| claims().iter().filter(|claim| claim.paper() == paper).count();
        assert_eq!([Paper::PushdownDb, Paper::Cheetah, Paper::Icpe].map(of), [70, 51, 27]);
        for claim in claims() {
            assert!(claim.text.ends_with('.') && !claim.place.is_empty(), "{claim:?}");
            let is_external = claim.class == ClaimClass::External;
            assert_eq!(is_external, claim.experiment.is_none(), "{claim:?}");
            assert_eq!(is_external, claim.rule.is_none(), "{claim:?}");
        }
    }

    #[test]
    fn an_experiment_decides_exactly_the_claims_that_name_it() {
        for experiment in experiments().filter(|it| it.is_computed()) {
            let outcome = experiment.evaluate(&Setting::QUICK, &Results::default()).unwrap();
            let decided: Vec<&str> = outcome.verdicts.iter().map(|verdict| verdict.claim).collect();
            let named: Vec<&str> = claims()
                .iter()
                .filter(|claim| claim.experiment.as_deref() == Some(experiment.id))
                .map(|claim| claim.id.as_str())
                .collect();
            assert_eq!(decided, named, "{}", experiment.id);
            for verdict in &outcome.verdicts {
                assert!(!verdict.found.is_empty(), "{verdict:?}");
                assert!(verdict.holds || verdict.note.is_some(), "{verdict:?}");
            }
            assert!(!outcome.tables.is_empty(), "{}", experiment.id);
            for table in &outcome.tables {
                assert!(!table.rows.is_empty(), "{}", table.title);
                assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
            }
        }
    }

    #[test]
    fn the_runs_of_an_experiment_have_names_of_their_own() {
        for (experiment, setting) in
            experiments().flat_map(|it| [(it, Setting::QUICK), (it, Setting::FULL)])
        {
            let runs = experiment.runs(&setting);
            assert_eq!(runs.is_empty(), experiment.is_computed(), "{}", experiment.id);
            let names: BTreeSet<&str> = runs.iter().map(|run| run.name.as_str()).collect();
            assert_eq!(names.len(), runs.len(), "{}", experiment.id);
            assert!(!commands(experiment, &setting).is_empty() || runs.is_empty());
        }
    }

    /// Data sets of one name are the same in all experiments, so that each is made once.
    #[test]
    fn a_data_set_is_known_by_its_name() {
        for setting in [Setting::QUICK, Setting::FULL] {
            let mut all: BTreeMap<String, Data> = BTreeMap::new();
            for data in experiments().flat_map(|it| it.runs(&setting)).flat_map(|run| run.data) {
                let first = all.entry(data.name.clone()).or_insert_with(|| data.clone());
                assert_eq!(*first, data);
            }
        }
    }

    #[test]
    fn an_experiment_is_found_by_its_id() {
        let ids: BTreeSet<&str> = experiments().map(|experiment| experiment.id).collect();
        assert_eq!(ids.len(), experiments().count());
        assert!(experiments().all(|it| find(it.id).is_some_and(|found| found.id == it.id)));
        assert!(find("pushdowndb/fig99").is_none());
    }

    /// The verdicts of the experiments that are computed.
    fn computed() -> impl Iterator<Item = Verdict> {
        let computed = experiments().filter(|it| it.is_computed());
        computed.flat_map(|it| it.evaluate(&Setting::QUICK, &Results::default()).unwrap().verdicts)
    }

    /// A change of a constant or a formula that changes a verdict must be seen.
    #[test]
    fn the_claims_that_differ_are_these() {
        let differing: Vec<&str> = computed().filter(|it| !it.holds).map(|it| it.claim).collect();
        assert_eq!(
            differing,
            ["P28", "P29", "C04", "C13", "C14", "C45", "C46", "C47", "C26", "I08"]
        );
    }

    /// Claims of live experiments that differ have causes, too; the report counts those without one as other causes.
    #[test]
    fn a_claim_that_differs_has_a_cause() {
        for verdict in computed().filter(|it| !it.holds) {
            let claim = claims().iter().find(|claim| claim.id == verdict.claim).unwrap();
            assert!(claim.cause.is_some(), "{claim:?}");
        }
    }

    /// External claims hold by nothing.
    #[test]
    fn only_claims_with_an_experiment_have_a_basis_or_a_cause() {
        for claim in claims().iter().filter(|it| it.class == ClaimClass::External) {
            assert_eq!((claim.basis, claim.cause), (None, None), "{claim:?}");
        }
    }
}
