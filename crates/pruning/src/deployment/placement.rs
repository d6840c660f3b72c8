//! Places plans: the planner's candidates, checked against the switch model.

use std::fmt;

use thiserror::Error;

use crate::ConfigError;
use crate::switch::{Misfit, Placement, Target, fit};
use crate::theory::{Limits, Plan, PlanError, Planning, plans};

/// The reason why no plan could be placed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// No configuration satisfies even the formulas of table 2.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The best configuration has no program.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The best configuration's program does not fit, and neither does another; this is the first reason.
    #[error(transparent)]
    Fit(#[from] Misfit),
}

/// Returns the best configuration for `goal` whose program fits `target`, and its placement.
///
/// The candidates are those of [`plans`], whose stages by table 2 are a lower bound. Each candidate's program is then
/// checked by the switch model.
///
/// # Errors
///
/// Returns the reason why the best candidate cannot be placed, if none can.
///
/// # Example
/// ```
/// use sluicegate_pruning::switch::Target;
/// use sluicegate_pruning::deployment::plan_on;
/// use sluicegate_pruning::algorithm::top_n;
/// let goal =
///     top_n::plan::Probable { n: 1000, entries: 100_000_000, value_bits: 32, delta: 1e-4 };
/// let (plan, placement) = plan_on(&goal, &Target::tofino1())?;
/// assert!(plan.failure <= 1e-4 && placement.stages.len() <= 12);
/// # Ok::<(), sluicegate_pruning::deployment::PlacementError>(())
/// ```
pub fn plan_on<G: Planning>(
    goal: &G,
    target: &Target,
) -> Result<(Plan<G::Size>, Placement), PlacementError> {
    let mut first = None;
    for plan in plans(goal, &Limits::from_target(target))? {
        let misfit = match goal.program(&plan.size) {
            Ok(program) => match fit(&program, target) {
                Ok(placement) => return Ok((plan, placement)),
                Err(misfits) => misfits.into_iter().next().map(PlacementError::from),
            },
            Err(error) => Some(error.into()),
        };
        first = first.or(misfit);
    }
    Err(first.unwrap_or(PlanError::Invalid("no configuration to choose from").into()))
}

/// A planning goal of any algorithm.
pub trait Goal: fmt::Debug {
    /// Returns the best configuration that fits: see [`plan_on`].
    ///
    /// # Errors
    ///
    /// Returns the reason why there is none.
    fn placed(&self, target: &Target) -> Result<PlacedPlan, PlacementError>;
}

/// A configuration that was placed.
#[derive(Debug, Clone)]
pub struct PlacedPlan {
    /// The algorithm and its parameters, as text.
    pub size: String,
    /// An upper bound on the probability of a wrong answer: see [`Plan::failure`].
    pub failure: f64,
    /// The fraction that is expected to be pruned: see [`Plan::pruned`].
    pub pruned: Option<f64>,
    /// The stages of its program.
    pub placement: Placement,
}

impl<G: Planning> Goal for G {
    fn placed(&self, target: &Target) -> Result<PlacedPlan, PlacementError> {
        let (Plan { size, failure, pruned, .. }, placement) = plan_on(self, target)?;
        Ok(PlacedPlan { size: size.to_string(), failure, pruned, placement })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::catalog::{Algorithm, QuerySize};
    use crate::algorithm::{distinct, filter, group_by, skyline};

    #[test]
    fn every_goal_is_placed() {
        for target in [Target::tofino1(), Target::tofino2()] {
            for (key_bits, delta) in [(32, 1e-4), (64, 0.0), (512, 1e-4)] {
                let wanted = QuerySize { key_bits, delta, ..QuerySize::default() };
                for algorithm in Algorithm::ALL {
                    let goal = (algorithm.entry().goal)(&wanted);
                    match goal.placed(&target) {
                        Ok(placed) => {
                            assert!(placed.placement.stages.len() <= target.stages, "{placed:?}");
                        }
                        // A group's key and value share a pair of registers; keys of sums have 32 bits.
                        Err(reason) => assert!(
                            key_bits > 32 && algorithm.entry().query.starts_with("group"),
                            "{goal:?} on {}: {reason}",
                            target.name
                        ),
                    }
                }
            }
        }
    }

    /// The row of a fingerprint comes from another hash: see [`distinct`](crate::algorithm::distinct).
    #[test]
    fn fingerprints_have_rows_of_their_own() {
        let values = |key_bits| {
            let goal = distinct::plan::Goal { distinct: 1_000_000, key_bits, delta: 1e-4 };
            let (plan, _) = plan_on(&goal, &Target::tofino1()).unwrap();
            goal.program(&plan.size).unwrap().values
        };
        assert_eq!((values(32), values(64), values(512)), (1, 2, 3));
    }

    #[test]
    fn the_reason_is_that_of_the_best() {
        let goal = filter::plan::Goal { predicates: 15 };
        let wide = plan_on(&goal, &Target::paper());
        assert!(matches!(wide, Err(PlacementError::Config(_))), "{wide:?}");
        let goal = group_by::plan::Goal { entries: 1000, keys: 10, pair_bits: 96 };
        assert!(matches!(plan_on(&goal, &Target::tofino1()), Err(PlacementError::Plan(_))));
        let short = Target { stages: 2, ..Target::tofino1() };
        let goal = skyline::plan::Goal { dimensions: 2, value_bits: 32 };
        assert!(plan_on(&goal, &short).is_err());
    }

    /// Table 2 leaves stages out, and never counts one that is not there.
    #[test]
    fn table_2_counts_no_more_stages_than_a_program_takes() {
        let target = Target { stages: 64, ..Target::tofino1() };
        for algorithm in Algorithm::ALL {
            let placed = (algorithm.entry().goal)(&QuerySize::default()).placed(&target).unwrap();
            assert!(!placed.size.is_empty() && !placed.placement.stages.is_empty());
        }
        let goal = group_by::plan::Goal { entries: 1 << 20, keys: 2000, pair_bits: 64 };
        let mut compared = 0;
        for plan in plans(&goal, &Limits::from_target(&target)).unwrap().iter().step_by(20) {
            let Ok(program) = goal.program(&plan.size) else { continue };
            if let Ok(placement) = fit(&program, &target) {
                assert!(plan.demand.stages <= placement.stages.len() as u64, "{plan:?}");
                compared += 1;
            }
        }
        assert!(compared > 3, "{compared}");
    }
}
