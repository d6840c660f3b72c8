//! The experiments and claims of three papers, computed again and compared with the published numbers.
//!
//! * [`claims()`]: the 148 statements and numbers of the papers, from `claims/*.toml`, each with its place, its class
//!   and the rule of its verdict.
//! * [`EXPERIMENTS`]: a table or figure each, in a file of its own below the folder of its paper. An [`Experiment`] gives
//!   [tables](Table) with the numbers, and a [`Verdict`] for each claim that names it.
//!
//! Numbers are counted, measured, modelled or published, and each table says which. The experiments that are here need
//! no store and no data, so they run in a second. Claims whose experiment is not here yet have no verdict.
//!
//! ```
//! use sluicegate_experiments::{claims, find};
//!
//! let experiment = find("pushdowndb/table2").unwrap();
//! let outcome = experiment.run();
//! let verdict = outcome.verdicts.iter().find(|verdict| verdict.claim == "P17").unwrap();
//! assert!(verdict.holds, "{verdict:?}");
//! assert_eq!(claims().len(), 148);
//! ```

pub mod cheetah;
mod claim;
mod experiment;
pub mod icpe;
pub mod pushdowndb;

pub use claim::{Claim, ClaimClass, ClaimSource, Paper, claims};
pub use experiment::{Experiment, Outcome, Table, Verdict};

/// All experiments, in the order of the papers.
pub static EXPERIMENTS: [Experiment; 11] = [
    pushdowndb::table1::EXPERIMENT,
    pushdowndb::table2::EXPERIMENT,
    pushdowndb::fig1::EXPERIMENT,
    pushdowndb::fig4::EXPERIMENT,
    pushdowndb::fig8::EXPERIMENT,
    cheetah::theory::EXPERIMENT,
    cheetah::fig5::EXPERIMENT,
    cheetah::fig7::EXPERIMENT,
    cheetah::fig8::EXPERIMENT,
    icpe::fig4_5::EXPERIMENT,
    icpe::date_dim::EXPERIMENT,
];

/// Returns the experiment with this id, such as `pushdowndb/fig1`.
#[must_use]
pub fn find(id: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
        for experiment in &EXPERIMENTS {
            let outcome = experiment.run();
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
    fn an_experiment_is_found_by_its_id() {
        let ids: BTreeSet<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        assert_eq!(ids.len(), EXPERIMENTS.len());
        assert!(EXPERIMENTS.iter().all(|it| find(it.id).is_some_and(|found| found.id == it.id)));
        assert!(find("pushdowndb/fig99").is_none());
    }

    /// A change of a constant or a formula that changes a verdict must be seen.
    #[test]
    fn the_claims_that_differ_are_these() {
        let verdicts = EXPERIMENTS.iter().flat_map(|it| it.run().verdicts);
        let differing: Vec<&str> = verdicts.filter(|it| !it.holds).map(|it| it.claim).collect();
        assert_eq!(differing, ["P11"]);
    }
}
