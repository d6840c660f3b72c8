//! From a query's sizes and a switch's limits to the best configuration that fits.
//!
//! Rows are powers of two, as the low bits of a hash choose them. Among the configurations that fit
//! and keep the failure probability the one that is expected to prune most is taken, and among
//! those within 0.01 % of it the smallest.

use serde::Serialize;

use super::limits::Limits;
use super::resources::{Configuration, Demand, JoinFilter, Projection};
use super::{bloom, count_min, distinct, group_by, top_n};

/// Configurations whose expected pruning differs by less count as equal.
const INDIFFERENCE: f64 = 1e-4;
/// Columns that are tried, and fewer if there are fewer stages.
const MOST_COLUMNS: u32 = 256;
/// The most rows that TOP N may ask for; beyond, the exact tail takes long to sum.
const MOST_WANTED: u64 = 1 << 32;
/// Rows that are tried: 2^4 to 2^20.
const ROW_BITS: std::ops::RangeInclusive<u32> = 4..=20;

/// What is to be pruned, with the sizes that matter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Goal {
    /// WHERE with so many comparisons on the switch.
    Filter {
        /// Comparisons.
        predicates: u32,
    },
    /// DISTINCT.
    Distinct {
        /// Distinct keys, or a bound on them.
        distinct: u64,
        /// Bits of the key; wider keys than a register holds are sent as fingerprints.
        key_bits: u32,
        /// Allowed probability of losing a key to its fingerprint; 0 forbids fingerprints.
        delta: f64,
    },
    /// ORDER BY … LIMIT `n`.
    TopN {
        /// Rows wanted.
        n: u64,
        /// Rows in all, or an estimate: it changes what pruning is expected, not what is safe.
        entries: u64,
        /// Bits of the sort key.
        value_bits: u32,
        /// Allowed probability of a wrong answer; 0 asks for the deterministic algorithm.
        delta: f64,
    },
    /// GROUP BY with MAX or MIN.
    GroupBy {
        /// Rows in all.
        entries: u64,
        /// Groups, or a bound on them.
        keys: u64,
        /// Bits of key and value together.
        pair_bits: u32,
    },
    /// Inner or semi join.
    Join {
        /// Distinct keys inserted into the filters.
        keys: u64,
        /// The fraction of probing rows that has a match.
        matching: f64,
    },
    /// HAVING SUM or COUNT above a threshold.
    Having {
        /// Groups, or a bound on them.
        keys: u64,
        /// Bits of a sum that may reach the threshold.
        counter_bits: u32,
    },
    /// SKYLINE OF.
    Skyline {
        /// Dimensions.
        dimensions: u32,
        /// Bits of a coordinate.
        value_bits: u32,
    },
}

/// The configuration chosen for a goal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Plan {
    /// The algorithm and its parameters.
    pub configuration: Configuration,
    /// What it needs.
    pub demand: Demand,
    /// The probability, at most, that the answer is wrong; 0 for deterministic algorithms.
    pub failure: f64,
    /// What is expected to be pruned: of all rows (TOP N randomized, GROUP BY), of the duplicates
    /// (DISTINCT), of the probing rows (JOIN), of the groups that are not candidates (HAVING).
    /// `None` where only the data can tell.
    pub pruned: Option<f64>,
}

/// Why there is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Even the smallest sufficient configuration asks for too much.
    #[error("needs {needed} {what}, the switch has {available}")]
    Exceeds {
        /// The resource that is short.
        what: &'static str,
        /// How much is needed.
        needed: u64,
        /// How much there is.
        available: u64,
    },
    /// The goal contradicts itself or leaves the range of the theorems.
    #[error("{0}")]
    Invalid(&'static str),
}

/// The best configuration for `goal` within `limits`.
///
/// # Errors
///
/// The reason why there is none.
///
/// # Example
/// TOP 1000 on one pipe of a Tofino 1: with 4096 rows or more six columns keep δ, where 600 rows
/// would need 16 stages.
/// ```
/// use sluicegate_pruning::theory::{Configuration, Goal, Limits, plan};
/// let goal = Goal::TopN { n: 1000, entries: 100_000_000, value_bits: 32, delta: 1e-4 };
/// let plan = plan(&goal, &Limits::tofino1()).unwrap();
/// assert!(matches!(plan.configuration, Configuration::TopNRandomized { columns, .. } if columns <= 10));
/// assert!(plan.failure <= 1e-4 && plan.pruned.unwrap() > 0.99 && plan.demand.stages <= 12);
/// ```
/// And the reason why not:
/// ```
/// use sluicegate_pruning::theory::{Goal, Limits, plan};
/// let goal = Goal::Distinct { distinct: 1000, key_bits: 256, delta: 0.0 };
/// let reason = plan(&goal, &Limits::tofino1()).unwrap_err().to_string();
/// assert_eq!(reason, "needs 256 bits in a register, the switch has 64");
/// ```
pub fn plan(goal: &Goal, limits: &Limits) -> Result<Plan, PlanError> {
    let plans = plans(goal, limits)?;
    plans.first().copied().ok_or(PlanError::Invalid("no configuration to choose from"))
}

/// All configurations for `goal` that were tried and are within `limits`, the best first: for
/// callers with a stricter test of what fits, such as placing the program itself. Never empty.
///
/// # Errors
///
/// As [`plan`].
pub fn plans(goal: &Goal, limits: &Limits) -> Result<Vec<Plan>, PlanError> {
    validate(goal)?;
    rank(candidates(goal, limits), limits, |configuration| expectation(goal, configuration))
}

/// The configurations to try; where nothing is expected of any, the best first.
fn candidates(goal: &Goal, limits: &Limits) -> Vec<Configuration> {
    let most_columns = u64::from(limits.stages.min(MOST_COLUMNS));
    let sizes = || ROW_BITS.map(|bits| 1 << bits);
    match *goal {
        Goal::Filter { predicates } => vec![Configuration::Filter { predicates }],
        Goal::Distinct { distinct, key_bits, delta } => {
            let of = |rows: u64| {
                // A key that fits a register is kept itself: nothing can go wrong then.
                let cell_bits = if key_bits <= limits.register_bits || delta == 0.0 {
                    key_bits
                } else {
                    distinct::fingerprint_bits(distinct, rows, delta)
                };
                (1..=most_columns).map(move |columns| Configuration::Distinct {
                    rows,
                    columns,
                    cell_bits,
                    lru: true,
                })
            };
            sizes().flat_map(of).collect()
        }
        Goal::TopN { value_bits, delta: 0.0, .. } => {
            // Beyond value_bits - 1 doublings every threshold is past the largest value.
            let most = limits
                .stages
                .saturating_mul(limits.alus_per_stage)
                .clamp(1, value_bits.clamp(2, 64) - 1);
            let of = |thresholds| Configuration::TopNDeterministic { thresholds, value_bits };
            (0..=most).rev().map(of).collect()
        }
        Goal::TopN { n, value_bits, delta, .. } => {
            let of = |rows| {
                let columns = top_n::exact_width(n, rows, delta).max(1);
                Configuration::TopNRandomized { rows, columns, value_bits }
            };
            sizes().map(of).collect()
        }
        Goal::GroupBy { pair_bits, .. } => {
            let of = |rows| {
                (1..=most_columns).map(move |tables| Configuration::GroupBy {
                    rows,
                    tables,
                    pair_bits,
                })
            };
            sizes().flat_map(of).collect()
        }
        Goal::Join { .. } => {
            let of = |part_bits: u64| {
                // One array of 2^k bits for each hash.
                let bloom = (1..=8).map(move |hashes| Configuration::Join {
                    filter: JoinFilter::Bloom,
                    bits: part_bits * u64::from(hashes),
                    hashes,
                });
                // Four bits out of 64 already take 40 MB of masks.
                let register_bloom = (1..=3).map(move |hashes| Configuration::Join {
                    filter: JoinFilter::RegisterBloom,
                    bits: part_bits,
                    hashes,
                });
                bloom.chain(register_bloom)
            };
            (10..=34).map(|exponent| 1 << exponent).flat_map(of).collect()
        }
        Goal::Having { counter_bits, .. } => {
            let of = |counters| {
                (1..=12).map(move |rows| Configuration::Having { counters, rows, counter_bits })
            };
            sizes().flat_map(of).collect()
        }
        Goal::Skyline { dimensions, value_bits } => {
            // More points are not always better (a lower score threshold replaces more): ten, the
            // paper's default, at most.
            let of = |points| {
                [Projection::ApproximateProduct, Projection::Sum].map(|projection| {
                    Configuration::Skyline { dimensions, points, projection, value_bits }
                })
            };
            (1..=10).rev().flat_map(of).collect()
        }
    }
}

/// The failure probability of a configuration, and what it is expected to prune.
fn expectation(goal: &Goal, configuration: &Configuration) -> (f64, Option<f64>) {
    match (*goal, *configuration) {
        (
            Goal::Distinct { distinct, key_bits, .. },
            Configuration::Distinct { rows, columns, cell_bits, .. },
        ) => {
            let exact = cell_bits == key_bits;
            let failure = if exact { 0.0 } else { distinct::confusion(distinct, rows, cell_bits) };
            (failure, Some(distinct::expected_hit_ratio(distinct, rows, columns)))
        }
        (Goal::TopN { n, entries, .. }, Configuration::TopNRandomized { rows, columns, .. }) => {
            let shape = top_n::Shape { rows, columns };
            (top_n::failure(n, shape), Some(top_n::expected_pruned(entries, shape)))
        }
        (Goal::GroupBy { entries, keys, .. }, Configuration::GroupBy { rows, tables, .. }) => {
            (0.0, Some(group_by::pruned_bound(entries, keys, rows, tables)))
        }
        (Goal::Join { keys, matching }, Configuration::Join { filter, bits, hashes }) => {
            let rate = match filter {
                JoinFilter::Bloom => bloom::bloom_rate(bits, hashes, keys),
                JoinFilter::RegisterBloom => bloom::register_bloom_rate(bits, hashes, keys),
            };
            (0.0, Some(bloom::pruned(matching, rate)))
        }
        (Goal::Having { keys, .. }, Configuration::Having { counters, rows, .. }) => {
            (0.0, Some(1.0 - count_min::collision(keys, counters, rows)))
        }
        _ => (0.0, None),
    }
}

fn validate(goal: &Goal) -> Result<(), PlanError> {
    let probability = |p: f64| (0.0..1.0).contains(&p);
    if matches!(*goal, Goal::TopN { n, .. } if n > MOST_WANTED) {
        return Err(PlanError::Invalid("TOP N is planned for at most 2^32 rows"));
    }
    let (sizes_are_positive, fractions_are_fractions) = match *goal {
        Goal::Filter { predicates } => (predicates > 0, true),
        Goal::Distinct { distinct, key_bits, delta } => {
            (distinct > 0 && key_bits > 0, probability(delta))
        }
        Goal::TopN { n, entries, value_bits, delta } => {
            (n > 0 && entries > 0 && value_bits > 0, probability(delta))
        }
        Goal::GroupBy { entries, keys, pair_bits } => {
            (entries > 0 && keys > 0 && pair_bits > 0, true)
        }
        Goal::Join { keys, matching } => (keys > 0, (0.0..=1.0).contains(&matching)),
        Goal::Having { keys, counter_bits } => (keys > 0 && counter_bits > 0, true),
        Goal::Skyline { dimensions, value_bits } => (dimensions > 0 && value_bits > 0, true),
    };
    if !sizes_are_positive {
        return Err(PlanError::Invalid("every size must be positive"));
    }
    if !fractions_are_fractions {
        return Err(PlanError::Invalid(
            "a failure probability lies in [0, 1), a fraction in [0, 1]",
        ));
    }
    Ok(())
}

/// Those that fit, best first; otherwise what the one with the fewest stages lacks. Expectations
/// are slow to compute, so only those that fit are judged.
fn rank(
    candidates: Vec<Configuration>,
    limits: &Limits,
    expectation: impl Fn(&Configuration) -> (f64, Option<f64>),
) -> Result<Vec<Plan>, PlanError> {
    let mut fitting: Vec<Plan> = Vec::new();
    let mut nearest: Option<(u64, PlanError)> = None;
    for configuration in candidates {
        let demand = configuration.demand(limits);
        match demand.fits(limits) {
            Ok(()) => {
                let (failure, pruned) = expectation(&configuration);
                fitting.push(Plan { configuration, demand, failure, pruned });
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

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: [Limits; 3] = [Limits::paper(), Limits::tofino1(), Limits::tofino2()];

    fn goals() -> Vec<Goal> {
        vec![
            Goal::Filter { predicates: 3 },
            Goal::Distinct { distinct: 10_000, key_bits: 32, delta: 0.0 },
            Goal::Distinct { distinct: 500_000_000, key_bits: 512, delta: 1e-4 },
            Goal::TopN { n: 250, entries: 10_000_000, value_bits: 32, delta: 1e-4 },
            Goal::TopN { n: 250, entries: 10_000_000, value_bits: 32, delta: 0.0 },
            Goal::GroupBy { entries: 10_000_000, keys: 2000, pair_bits: 64 },
            Goal::Join { keys: 1_000_000, matching: 0.1 },
            Goal::Having { keys: 25, counter_bits: 32 },
            Goal::Skyline { dimensions: 2, value_bits: 32 },
        ]
    }

    #[test]
    fn every_plan_fits_and_keeps_its_promise() {
        for limits in TARGETS {
            for goal in goals() {
                let plan = plan(&goal, &limits)
                    .unwrap_or_else(|reason| panic!("{goal:?} on {limits:?}: {reason}"));
                assert_eq!(plan.demand, plan.configuration.demand(&limits));
                assert_eq!(plan.demand.fits(&limits), Ok(()));
                let allowed = match goal {
                    Goal::Distinct { delta, .. } | Goal::TopN { delta, .. } => delta,
                    _ => 0.0,
                };
                assert!(plan.failure <= allowed, "{goal:?}: {}", plan.failure);
                // Half a billion equally frequent values are too many for any cache.
                let least = if matches!(goal, Goal::Distinct { distinct: 500_000_000, .. }) {
                    1e-4
                } else {
                    0.5
                };
                assert!(plan.pruned.is_none_or(|pruned| pruned > least), "{goal:?}: {plan:?}");
            }
        }
    }

    #[test]
    fn more_resources_never_prune_less() {
        for goal in goals() {
            let small = plan(&goal, &Limits::tofino1()).unwrap();
            let large = plan(&goal, &Limits::tofino2()).unwrap();
            if let (Some(small), Some(large)) = (small.pruned, large.pruned) {
                assert!(large >= small - INDIFFERENCE, "{goal:?}: {small} {large}");
            }
        }
    }

    #[test]
    fn plans_come_best_first() {
        for goal in goals() {
            let all = plans(&goal, &Limits::tofino2()).unwrap();
            let best = all[0].pruned;
            assert!(all.iter().all(|plan| plan.pruned <= best.map(|best| best + INDIFFERENCE)));
            assert_eq!(plan(&goal, &Limits::tofino2()), Ok(all[0]));
        }
    }

    #[test]
    fn fingerprints_stand_in_for_wide_keys() {
        let goal = Goal::Distinct { distinct: 500_000_000, key_bits: 512, delta: 1e-4 };
        let plan = plan(&goal, &Limits::tofino2()).unwrap();
        assert!(
            matches!(plan.configuration, Configuration::Distinct { cell_bits, .. } if cell_bits <= 64)
        );
        assert!(plan.failure > 0.0);
    }

    #[test]
    fn too_little_is_refused_with_the_reason() {
        let tiny = Limits { stages: 2, ..Limits::tofino1() };
        let top_n = Goal::TopN { n: 1000, entries: 1_000_000, value_bits: 32, delta: 1e-4 };
        let refusal = plan(&top_n, &tiny).unwrap_err();
        assert!(
            matches!(
                refusal,
                PlanError::Exceeds { what: "stages" | "bits in a register array", .. }
            ),
            "{refusal}"
        );
        let skyline = Goal::Skyline { dimensions: 8, value_bits: 32 };
        let refusal = plan(&skyline, &Limits::tofino1()).unwrap_err();
        assert_eq!(
            refusal,
            PlanError::Exceeds { what: "stateful ALUs in a stage", needed: 8, available: 4 }
        );
        let vast = Goal::TopN { n: u64::MAX, entries: u64::MAX, value_bits: 32, delta: 1e-4 };
        assert!(matches!(plan(&vast, &tiny), Err(PlanError::Invalid(_))));
        let endless = Limits { stages: u32::MAX, alus_per_stage: u32::MAX, ..Limits::paper() };
        for goal in goals() {
            assert!(plan(&goal, &endless).is_ok(), "{goal:?}");
        }
        let nonsense = Goal::TopN { n: 0, entries: 1, value_bits: 32, delta: 0.1 };
        assert!(matches!(plan(&nonsense, &tiny), Err(PlanError::Invalid(_))));
        let nonsense = Goal::TopN { n: 1, entries: 1, value_bits: 32, delta: f64::NAN };
        assert!(matches!(plan(&nonsense, &tiny), Err(PlanError::Invalid(_))));
    }
}
