//! The planner: from a query's sizes and a switch's limits to the best configuration that fits.
//!
//! Rows are powers of two, as the low bits of a hash choose them. Among the configurations that fit and keep the
//! failure probability, the planner finds the greatest expected pruning. Among those within 0.01 % of it, it takes
//! the smallest.

use std::fmt;

use super::limits::Limits;
use super::resources::{Demand, Footprint};
use crate::ConfigError;
use crate::switch::Program;

/// Configurations whose expected pruning differs by less count as equal.
const INDIFFERENCE: f64 = 1e-4;
/// The exponents of the numbers of rows to try: 2^4 to 2^20.
pub(crate) const ROWS: std::ops::RangeInclusive<u32> = 4..=20;

/// A query to plan for, with the sizes that matter. The `plan.rs` of an algorithm's folder implements it.
pub trait Planning: fmt::Debug {
    /// A configuration of the algorithm.
    type Size: Footprint;

    /// Checks that the sizes are in the range of the theorems.
    ///
    /// # Errors
    ///
    /// If they are not.
    fn check(&self) -> Result<(), PlanError>;

    /// Returns the configurations to try. If no pruning is expected of any, the best come first.
    fn candidates(&self, limits: &Limits) -> Vec<Self::Size>;

    /// Returns an upper bound on the probability that the answer is wrong.
    fn failure(&self, size: &Self::Size) -> f64 {
        let _ = size;
        0.0
    }

    /// Returns the fraction that is expected to be pruned, or `None` if only the data determines it.
    fn pruned(&self, size: &Self::Size) -> Option<f64> {
        let _ = size;
        None
    }

    /// Returns the program of a configuration. Parameters that the goal leaves open and that do not affect the
    /// resources are filled in.
    ///
    /// # Errors
    ///
    /// If the switch model has no such program.
    fn program(&self, size: &Self::Size) -> Result<Program, ConfigError>;
}

/// A configuration chosen for a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan<S> {
    /// The parameters of the algorithm.
    pub size: S,
    /// The resources that it needs, by table 2.
    pub demand: Demand,
    /// An upper bound on the probability that the answer is wrong; 0 for deterministic algorithms.
    pub failure: f64,
    /// The fraction that is expected to be pruned: of all rows (TOP N randomized, GROUP BY), of the duplicates
    /// (DISTINCT), of the probing rows (JOIN), of the groups that are not candidates (HAVING). `None` if only the
    /// data determines it.
    pub pruned: Option<f64>,
}

/// The reason why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Even the smallest sufficient configuration needs too much of a resource.
    #[error("needs {needed} {what}, the switch has {available}")]
    Exceeds {
        /// The resource that is short.
        what: &'static str,
        /// The amount that is needed.
        needed: u64,
        /// The amount that the switch has.
        available: u64,
    },
    /// The goal contradicts itself or leaves the range of the theorems.
    #[error("{0}")]
    Invalid(&'static str),
}

/// Returns the best configuration for `goal` within `limits`, by table 2. Its program need not fit; that of
/// [`plan_on`](crate::deployment::plan_on) does.
///
/// # Errors
///
/// The reason why there is none.
///
/// # Example
/// TOP 1000 on one pipe of a Tofino 1, whose stages table 2 fills with one column each; 600 rows would need 16.
/// ```
/// use sluicegate_pruning::algorithm::top_n;
/// use sluicegate_pruning::theory::{Limits, plan};
/// let goal =
///     top_n::plan::Probable { n: 1000, entries: 100_000_000, value_bits: 32, delta: 1e-4 };
/// let plan = plan(&goal, &Limits::tofino1()).unwrap();
/// assert!(plan.size.columns <= 12);
/// assert!(plan.failure <= 1e-4 && plan.pruned.unwrap() > 0.99 && plan.demand.stages <= 12);
/// ```
/// And the reason why not:
/// ```
/// use sluicegate_pruning::algorithm::distinct;
/// use sluicegate_pruning::theory::{Limits, plan};
/// let goal = distinct::plan::Goal { distinct: 1000, key_bits: 256, delta: 0.0 };
/// let reason = plan(&goal, &Limits::tofino1()).unwrap_err().to_string();
/// assert_eq!(reason, "needs 256 bits in a register, the switch has 64");
/// ```
pub fn plan<G: Planning>(goal: &G, limits: &Limits) -> Result<Plan<G::Size>, PlanError> {
    let plans = plans(goal, limits)?;
    plans.first().copied().ok_or(PlanError::Invalid("no configuration to choose from"))
}

/// Returns all candidates for `goal` that are within `limits`, the best first. It serves callers with a stricter
/// test, such as placing the program itself. The list is never empty; otherwise the error names the resource that the
/// candidate with the fewest stages lacks. Expectations are slow to compute, so only candidates that fit are
/// evaluated.
///
/// # Errors
///
/// As [`plan`].
pub fn plans<G: Planning>(goal: &G, limits: &Limits) -> Result<Vec<Plan<G::Size>>, PlanError> {
    goal.check()?;
    let mut fitting: Vec<Plan<G::Size>> = Vec::new();
    let mut nearest: Option<(u64, PlanError)> = None;
    for size in goal.candidates(limits) {
        let demand = size.demand(limits);
        match demand.fits(limits) {
            Ok(()) => {
                let (failure, pruned) = (goal.failure(&size), goal.pruned(&size));
                fitting.push(Plan { size, demand, failure, pruned });
            }
            Err(misfit) if nearest.is_none_or(|(stages, _)| demand.stages < stages) => {
                nearest = Some((demand.stages, misfit));
            }
            Err(_) => {}
        }
    }
    let most = fitting.iter().filter_map(|plan| plan.pruned).fold(0.0, f64::max);
    // Without an expectation the candidates come best first, and the sort is stable.
    fitting.sort_by_key(|plan| {
        let behind = |pruned: f64| ((most - pruned) / INDIFFERENCE) as u64;
        plan.pruned.map(|pruned| (behind(pruned), plan.demand.sram_bits, plan.demand.stages))
    });
    if fitting.is_empty() {
        let nothing = PlanError::Invalid("no configuration to choose from");
        return Err(nearest.map_or(nothing, |(_, misfit)| misfit));
    }
    Ok(fitting)
}

/// Checks that every size is positive.
pub(crate) fn positive(sizes: &[u64]) -> Result<(), PlanError> {
    if sizes.contains(&0) {
        return Err(PlanError::Invalid("every size must be positive"));
    }
    Ok(())
}

const RANGE: PlanError =
    PlanError::Invalid("a failure probability lies in [0, 1), a fraction in [0, 1]");

/// Checks that a failure probability is valid.
pub(crate) fn probability(p: f64) -> Result<(), PlanError> {
    if (0.0..1.0).contains(&p) { Ok(()) } else { Err(RANGE) }
}

/// Checks that a fraction is valid.
pub(crate) fn fraction(p: f64) -> Result<(), PlanError> {
    if (0.0..=1.0).contains(&p) { Ok(()) } else { Err(RANGE) }
}

/// Converts a size of a plan to the type of the models, which refuse sizes that are too large.
pub(crate) fn narrow(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Checks that the models support values of `bits` bits.
pub(crate) fn narrow_values(bits: u32) -> Result<(), ConfigError> {
    if bits <= 32 { Ok(()) } else { Err(ConfigError::Conflict("values have at most 32 bits")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{distinct, filter, group_by, having, join, skyline, top_n};

    const TARGETS: [Limits; 3] = [Limits::paper(), Limits::tofino1(), Limits::tofino2()];
    const TOP_N: top_n::plan::Probable =
        top_n::plan::Probable { n: 250, entries: 10_000_000, value_bits: 32, delta: 1e-4 };
    const VAST: distinct::plan::Goal =
        distinct::plan::Goal { distinct: 500_000_000, key_bits: 512, delta: 1e-4 };

    /// Calls `$check` with every goal, and the failure that it allows.
    macro_rules! with_goals {
        ($check:ident) => {
            $check(&filter::plan::Goal { predicates: 3 }, 0.0);
            $check(&distinct::plan::Goal { distinct: 10_000, key_bits: 32, delta: 0.0 }, 0.0);
            $check(&VAST, VAST.delta);
            $check(&TOP_N, TOP_N.delta);
            $check(&top_n::plan::Certain { n: 250, value_bits: 32 }, 0.0);
            let goal = group_by::plan::Goal { entries: 10_000_000, keys: 2000, pair_bits: 64 };
            $check(&goal, 0.0);
            $check(&join::plan::Goal { keys: 1_000_000, matching: 0.1 }, 0.0);
            $check(&having::plan::Goal { keys: 25, counter_bits: 32 }, 0.0);
            $check(&skyline::plan::Goal { dimensions: 2, value_bits: 32 }, 0.0);
        };
    }

    #[test]
    fn every_plan_fits_and_keeps_its_promise() {
        fn check<G: Planning>(goal: &G, allowed: f64) {
            for limits in TARGETS {
                let plan = plan(goal, &limits)
                    .unwrap_or_else(|reason| panic!("{goal:?} on {limits:?}: {reason}"));
                assert_eq!(plan.demand, plan.size.demand(&limits));
                assert_eq!(plan.demand.fits(&limits), Ok(()));
                assert!(plan.failure <= allowed, "{goal:?}: {}", plan.failure);
                // Half a billion equally frequent values are too many for any cache.
                let least = if format!("{goal:?}") == format!("{VAST:?}") { 1e-4 } else { 0.5 };
                assert!(plan.pruned.is_none_or(|pruned| pruned > least), "{goal:?}: {plan:?}");
            }
        }
        with_goals!(check);
    }

    #[test]
    fn more_resources_never_prune_less() {
        fn check<G: Planning>(goal: &G, _: f64) {
            let small = plan(goal, &Limits::tofino1()).unwrap();
            let large = plan(goal, &Limits::tofino2()).unwrap();
            if let (Some(small), Some(large)) = (small.pruned, large.pruned) {
                assert!(large >= small - INDIFFERENCE, "{goal:?}: {small} {large}");
            }
        }
        with_goals!(check);
    }

    #[test]
    fn plans_come_best_first() {
        fn check<G: Planning>(goal: &G, _: f64) {
            let all = plans(goal, &Limits::tofino2()).unwrap();
            let best = all[0].pruned;
            assert!(all.iter().all(|plan| plan.pruned <= best.map(|best| best + INDIFFERENCE)));
            assert_eq!(plan(goal, &Limits::tofino2()), Ok(all[0]));
        }
        with_goals!(check);
    }

    #[test]
    fn fingerprints_stand_in_for_wide_keys() {
        let plan = plan(&VAST, &Limits::tofino2()).unwrap();
        assert!(plan.size.cell_bits <= 64 && plan.failure > 0.0, "{plan:?}");
    }

    #[test]
    fn too_little_is_refused_with_the_reason() {
        let tiny = Limits { stages: 2, ..Limits::tofino1() };
        let refusal = plan(&top_n::plan::Probable { n: 1000, ..TOP_N }, &tiny).unwrap_err();
        assert!(
            matches!(
                refusal,
                PlanError::Exceeds { what: "stages" | "bits in a register array", .. }
            ),
            "{refusal}"
        );
        let skyline = skyline::plan::Goal { dimensions: 8, value_bits: 32 };
        let refusal = plan(&skyline, &Limits::tofino1()).unwrap_err();
        assert_eq!(
            refusal,
            PlanError::Exceeds { what: "stateful ALUs in a stage", needed: 8, available: 4 }
        );
        let vast = top_n::plan::Probable { n: u64::MAX, entries: u64::MAX, ..TOP_N };
        assert!(matches!(plan(&vast, &tiny), Err(PlanError::Invalid(_))));
        for nonsense in [
            top_n::plan::Probable { n: 0, ..TOP_N },
            top_n::plan::Probable { delta: f64::NAN, ..TOP_N },
            top_n::plan::Probable { delta: 1.0, ..TOP_N },
        ] {
            assert!(matches!(plan(&nonsense, &tiny), Err(PlanError::Invalid(_))), "{nonsense:?}");
        }
        let nonsense = join::plan::Goal { keys: 5, matching: 1.5 };
        assert!(matches!(plan(&nonsense, &tiny), Err(PlanError::Invalid(_))));
    }

    #[test]
    fn a_switch_without_end_is_planned_for() {
        fn check<G: Planning>(goal: &G, _: f64) {
            let endless = Limits { stages: u32::MAX, alus_per_stage: u32::MAX, ..Limits::paper() };
            assert!(plan(goal, &endless).is_ok(), "{goal:?}");
        }
        with_goals!(check);
    }
}
