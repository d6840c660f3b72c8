//! Placing plans: the planner's candidates, checked against the switch model.

use thiserror::Error;

use crate::algorithm::filter::{self, Formula};
use crate::algorithm::join::{self, Kind, Passes, Shape};
use crate::algorithm::{distinct, group_by, having, skyline, top_n};
use crate::switch::{Misfit, Placement, Program, Relation, Target, fit};
use crate::theory::{
    Accounting, Configuration, Goal, JoinFilter, Limits, Plan, PlanError, Projection, bloom, plans,
};
use crate::{ConfigError, Ties};

/// Why nothing could be placed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// The formulas of table 2 alone leave no configuration.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The best configuration has no program.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The best configuration's program does not fit, and no other does; the first reason.
    #[error(transparent)]
    Fit(#[from] Misfit),
}

impl Configuration {
    /// The program of this configuration: for an inner join the small table comes first; HAVING
    /// compares with `threshold`, and TOP N deterministic returns `n` entries.
    ///
    /// # Errors
    ///
    /// If the switch model has no such program: values of more than 32 bits, keys of more than 64,
    /// sizes that are no powers of two, and filters, whose program depends on the formula.
    pub fn program(&self, n: u32, threshold: u32) -> Result<Program, ConfigError> {
        const VALUES: ConfigError = ConfigError::Conflict("values have at most 32 bits");
        let narrow = |bits: u32| if bits <= 32 { Ok(()) } else { Err(VALUES) };
        let number = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
        let shape = Shape::new(Kind::Inner, Passes::SmallFirst, false);
        match *self {
            Self::Filter { .. } => {
                Err(ConfigError::Conflict("the program of a filter depends on its formula"))
            }
            Self::Distinct { rows, columns, cell_bits, lru } => {
                Ok(distinct_config(rows, columns, cell_bits, lru)?.program())
            }
            Self::TopNDeterministic { thresholds, value_bits } => {
                narrow(value_bits)?;
                Ok(top_n::deterministic::Config::new(n, thresholds)?.program())
            }
            Self::TopNRandomized { rows, columns, value_bits } => {
                narrow(value_bits)?;
                let (rows, columns) = (number(rows), number(columns));
                Ok(top_n::randomized::Config::new(rows, columns, Ties::Keep, 0)?.program())
            }
            Self::GroupBy { rows, tables, pair_bits } => {
                if pair_bits > 64 {
                    return Err(ConfigError::Conflict("key and value have at most 64 bits"));
                }
                let (rows, tables) = (number(rows), number(tables));
                let extreme = group_by::Extreme::Max;
                Ok(group_by::Config::new(rows, tables, extreme, Ties::Keep, false)?.program())
            }
            Self::Join { filter: JoinFilter::Bloom, bits, hashes } => {
                let cells = number(bits / u64::from(hashes.max(1)));
                Ok(join::bloom::Config::new(shape, cells, hashes)?.program())
            }
            Self::Join { filter: JoinFilter::RegisterBloom, bits, hashes } => {
                let words = number(bits / u64::from(bloom::REGISTER_BITS));
                let mask_bits = bloom::masks(hashes).log2().ceil().clamp(4.0, 16.0) as u8;
                Ok(join::register_bloom::Config::new(shape, words, hashes, mask_bits)?.program())
            }
            Self::Having { counters, rows, counter_bits } => {
                narrow(counter_bits)?;
                let (rows, counters) = (number(rows), number(counters));
                let sum = having::sum::Aggregate::Sum;
                Ok(having::sum::Config::new(rows, counters, threshold, sum, false)?.program())
            }
            Self::Skyline { dimensions, points, projection, value_bits } => {
                narrow(value_bits)?;
                let score = match projection {
                    Projection::Sum => skyline::Score::Sum,
                    Projection::ApproximateProduct => skyline::Score::Product,
                };
                Ok(skyline::Config::new(dimensions, points, score, Ties::Keep)?.program())
            }
        }
    }
}

impl Plan {
    /// The program of this plan for the goal that it was made for. What the goal leaves open without
    /// effect on the resources is filled in: HAVING compares with 1 000 000, and a filter keeps
    /// entries whose values all exceed 1 000 000.
    ///
    /// # Errors
    ///
    /// As [`Configuration::program`], and for filters of more than 14 comparisons.
    pub fn program(&self, goal: &Goal) -> Result<Program, ConfigError> {
        match (*goal, self.configuration) {
            (_, Configuration::Filter { predicates }) => {
                let values = u8::try_from(predicates).unwrap_or(u8::MAX);
                let compare = |value| Formula::compare(value, Relation::Gt, THRESHOLD);
                let all = Formula::And((0..values).map(compare).collect());
                Ok(filter::Config::new(&all, values, None)?.program())
            }
            // Fingerprints hash the same key twice: the theorem counts on rows of their own.
            (
                Goal::Distinct { key_bits, .. },
                Configuration::Distinct { rows, columns, cell_bits, lru },
            ) if cell_bits < key_bits => {
                Ok(distinct_config(rows, columns, cell_bits, lru)?.with_row_value().program())
            }
            (goal, configuration) => {
                let n = match goal {
                    Goal::TopN { n, .. } => u32::try_from(n).unwrap_or(u32::MAX),
                    _ => 1,
                };
                configuration.program(n, THRESHOLD)
            }
        }
    }
}

/// The matrix for whole keys of these sizes.
fn distinct_config(
    rows: u64,
    columns: u64,
    cell_bits: u32,
    lru: bool,
) -> Result<distinct::Config, ConfigError> {
    let width = match cell_bits {
        0..=32 => distinct::Width::Bits32,
        33..=64 => distinct::Width::Bits64,
        _ => return Err(ConfigError::Conflict("keys have at most 64 bits")),
    };
    let policy = if lru { distinct::Policy::Lru } else { distinct::Policy::Fifo };
    let number = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
    distinct::Config::new(number(rows), number(columns), width, policy)
}

/// The best configuration for `goal` whose program fits `target`, and its placement.
///
/// The candidates are those of [`plans`] with the stages of table 2, which are too few rather than
/// too many; the switch model has the last word.
///
/// # Errors
///
/// Why the best candidate cannot be placed, if none can.
///
/// # Example
/// ```
/// use sluicegate_pruning::switch::Target;
/// use sluicegate_pruning::deployment::plan_on;
/// use sluicegate_pruning::theory::Goal;
/// let goal = Goal::TopN { n: 1000, entries: 100_000_000, value_bits: 32, delta: 1e-4 };
/// let (plan, placement) = plan_on(&goal, &Target::tofino1())?;
/// assert!(plan.failure <= 1e-4 && placement.stages.len() <= 12);
/// # Ok::<(), sluicegate_pruning::deployment::PlacementError>(())
/// ```
pub fn plan_on(goal: &Goal, target: &Target) -> Result<(Plan, Placement), PlacementError> {
    let mut first = None;
    for plan in plans(goal, &Limits::of(target, Accounting::Table2))? {
        let misfit = match plan.program(goal) {
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

/// A threshold for HAVING; all need the same resources.
const THRESHOLD: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_as_compiled_are_those_of_the_model() {
        let target = Target { stages: 64, ..Target::tofino1() };
        let limits = Limits::of(&target, Accounting::Compiled);
        // The model computes hashes in the first stage that needs them, the compiler before it.
        let check = |configuration: Configuration| {
            let program = configuration.program(250, THRESHOLD).unwrap();
            let model = fit(&program, &target).unwrap().stages.len() as u64;
            let formula = configuration.demand(&limits).stages;
            assert!(model.abs_diff(formula) <= 1, "{configuration:?}: {model} {formula}");
        };
        for columns in [2, 4, 8] {
            let lru =
                |cell_bits| Configuration::Distinct { rows: 4096, columns, cell_bits, lru: true };
            check(lru(32));
            check(lru(64));
            check(Configuration::TopNRandomized { rows: 4096, columns, value_bits: 32 });
            check(Configuration::GroupBy { rows: 4096, tables: columns, pair_bits: 64 });
        }
        for thresholds in [1, 4, 8] {
            check(Configuration::TopNDeterministic { thresholds, value_bits: 32 });
        }
        check(Configuration::Join { filter: JoinFilter::Bloom, bits: 3 << 20, hashes: 3 });
        check(Configuration::Join { filter: JoinFilter::RegisterBloom, bits: 1 << 20, hashes: 3 });
        check(Configuration::Having { counters: 1024, rows: 3, counter_bits: 32 });
        for projection in [Projection::Sum, Projection::ApproximateProduct] {
            for points in [1, 2, 4] {
                check(Configuration::Skyline { dimensions: 2, points, projection, value_bits: 32 });
            }
        }
    }

    #[test]
    fn every_goal_is_placed() {
        let goals = [
            Goal::Filter { predicates: 3 },
            Goal::Distinct { distinct: 10_000, key_bits: 32, delta: 0.0 },
            Goal::Distinct { distinct: 1_000_000, key_bits: 512, delta: 1e-4 },
            Goal::TopN { n: 250, entries: 10_000_000, value_bits: 32, delta: 1e-4 },
            Goal::TopN { n: 250, entries: 10_000_000, value_bits: 32, delta: 0.0 },
            Goal::GroupBy { entries: 10_000_000, keys: 2000, pair_bits: 64 },
            Goal::Join { keys: 1_000_000, matching: 0.1 },
            Goal::Having { keys: 25, counter_bits: 32 },
            Goal::Skyline { dimensions: 2, value_bits: 32 },
        ];
        for target in [Target::tofino1(), Target::tofino2()] {
            for goal in goals {
                let (plan, placement) = plan_on(&goal, &target)
                    .unwrap_or_else(|reason| panic!("{goal:?} on {}: {reason}", target.name));
                assert!(placement.stages.len() <= target.stages, "{plan:?}");
            }
        }
    }

    /// A fingerprint's row comes from a hash of its own: see [`distinct`](crate::algorithm::distinct).
    #[test]
    fn fingerprints_have_rows_of_their_own() {
        let values = |key_bits| {
            let goal = Goal::Distinct { distinct: 1_000_000, key_bits, delta: 1e-4 };
            let (plan, _) = plan_on(&goal, &Target::tofino1()).unwrap();
            plan.program(&goal).unwrap().values
        };
        assert_eq!((values(32), values(64), values(512)), (1, 2, 3));
    }

    #[test]
    fn the_reason_is_that_of_the_best() {
        let goal = Goal::Filter { predicates: 15 };
        let wide = plan_on(&goal, &Target::paper());
        assert!(matches!(wide, Err(PlacementError::Config(_))), "{wide:?}");
        let goal = Goal::GroupBy { entries: 1000, keys: 10, pair_bits: 96 };
        assert!(matches!(plan_on(&goal, &Target::tofino1()), Err(PlacementError::Plan(_))));
        let short = Target { stages: 2, ..Target::tofino1() };
        let goal = Goal::Skyline { dimensions: 2, value_bits: 32 };
        assert!(plan_on(&goal, &short).is_err());
    }
}
