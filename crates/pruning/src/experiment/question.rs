//! The question behind an algorithm, its answer over any of the entries, and the optimum.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::opt;
use super::trial::Run;
use crate::algorithm::catalog::Configured;
use crate::algorithm::group_by::Extreme;
use crate::algorithm::join;
use crate::protocol::Query;
use crate::switch::Relation;

/// The question that a query asks about the entries it sends. Pruning must not change its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Values with this relation to the constant.
    Filter(Relation, u32),
    /// The keys.
    Distinct,
    /// The greatest values, so many.
    TopN(usize),
    /// The best value of each key; keys are all columns but the last.
    GroupBy(Extreme),
    /// The entries of flow [`join::PROBE_B`] whose key also occurs in flow [`join::BUILD_A`].
    Join,
    /// The keys whose sum exceeds this.
    HavingSum(u64),
    /// The keys with a value of this relation to the constant.
    HavingExtreme(Relation, u32),
    /// The points that no other dominates, greater is better.
    Skyline,
}

impl Question {
    /// The question that the configured algorithm prunes for. A filter's question is the caller's:
    /// its program holds any formula.
    #[must_use]
    pub const fn of(configured: &Configured, filter: (Relation, u32)) -> Self {
        match configured {
            Configured::Filter(_) => Self::Filter(filter.0, filter.1),
            Configured::Distinct(_) => Self::Distinct,
            Configured::TopNDeterministic(config) => Self::TopN(config.n() as usize),
            Configured::TopNRandomized(_, n) => Self::TopN(*n as usize),
            Configured::GroupBy(config) => Self::GroupBy(config.extreme()),
            Configured::JoinBloom(_) | Configured::JoinRegisterBloom(_) => Self::Join,
            Configured::Having(config) => Self::HavingSum(config.threshold() as u64),
            Configured::HavingExtreme(config) => {
                Self::HavingExtreme(config.relation(), config.threshold())
            }
            Configured::Skyline(_) => Self::Skyline,
        }
    }

    /// The same question in the protocol, over rows of a key and a value; `None` of MIN, of filters that
    /// are not `>=`, and of HAVING that is neither SUM nor MAX `>`.
    #[must_use]
    pub const fn in_protocol(self) -> Option<Query> {
        Some(match self {
            Self::Filter(Relation::Ge, constant) => Query::Filter { at_least: constant as u64 },
            Self::Distinct => Query::Distinct,
            Self::TopN(n) => Query::TopN { n },
            Self::GroupBy(Extreme::Max) => Query::GroupByMax,
            Self::Join => Query::Join,
            Self::HavingSum(above) => Query::HavingSum { above },
            Self::HavingExtreme(Relation::Gt, above) => Query::HavingMax { above: above as u64 },
            Self::Skyline => Query::Skyline,
            Self::Filter(..) | Self::GroupBy(Extreme::Min) | Self::HavingExtreme(..) => {
                return None;
            }
        })
    }

    /// How many entries a pruner without limits would forward: see [`opt`].
    #[must_use]
    pub fn optimum(self, stream: &[Run], key_columns: usize) -> usize {
        let rows = || stream.iter().flat_map(|run| (0..run.len()).map(move |at| (run, at)));
        let key = |(run, at): (&Run, usize)| key_of(run, at, key_columns);
        let value = |(run, at): (&Run, usize)| run.columns[run.columns.len() - 1][at];
        match self {
            Self::Filter(relation, constant) => {
                rows().filter(|row| relation.holds(value(*row).into(), constant.into())).count()
            }
            Self::Distinct => opt::distinct(rows().map(key)),
            Self::TopN(n) => opt::top_n(rows().map(value), n),
            Self::GroupBy(Extreme::Max) => opt::group_by_max(rows().map(|r| (key(r), value(r)))),
            Self::GroupBy(Extreme::Min) => {
                opt::group_by_max(rows().map(|r| (key(r), u32::MAX - value(r))))
            }
            Self::Join => {
                let built: HashSet<u64> =
                    rows().filter(|(run, _)| run.flow == join::BUILD_A).map(key).collect();
                let first = rows().filter(|(run, _)| run.flow == join::BUILD_A).count();
                let probes = rows().filter(|(run, _)| run.flow != join::BUILD_A).map(key);
                first + opt::join(probes, &built)
            }
            Self::HavingSum(threshold) => {
                opt::having_sum(rows().map(|r| (key(r), u64::from(value(r)))), threshold)
            }
            Self::HavingExtreme(relation, threshold) => opt::distinct(
                rows().filter(|r| relation.holds(value(*r).into(), threshold.into())).map(key),
            ),
            Self::Skyline if stream.iter().all(|run| run.columns.len() == 2) => {
                opt::skyline(rows().map(|(run, at)| (run.columns[0][at], run.columns[1][at])))
            }
            Self::Skyline => opt::skyline_of(rows().map(|(run, at)| run.row(at))),
        }
    }

    /// The answer over the entries that `keep` names, in some canonical form.
    pub(super) fn answer(
        self,
        stream: &[Run],
        key_columns: usize,
        keep: impl Fn(usize, usize) -> bool,
    ) -> Answer {
        let keep = &keep;
        let kept = || {
            stream.iter().enumerate().flat_map(move |(number, run)| {
                (0..run.len()).filter(move |&at| keep(number, at)).map(move |at| (run, at))
            })
        };
        let key = |(run, at): (&Run, usize)| key_of(run, at, key_columns);
        let value = |(run, at): (&Run, usize)| run.columns[run.columns.len() - 1][at];
        let mut answer = Answer::new();
        let mut count = |row: Vec<u64>, times: u64| *answer.entry(row).or_default() += times;
        match self {
            Self::Filter(relation, constant) => kept()
                .map(value)
                .filter(|v| relation.holds((*v).into(), constant.into()))
                .for_each(|v| count(vec![v.into()], 1)),
            Self::Distinct => {
                kept().map(key).collect::<HashSet<_>>().into_iter().for_each(|k| count(vec![k], 1));
            }
            Self::TopN(n) => {
                let mut values: Vec<u32> = kept().map(value).collect();
                values.sort_unstable_by(|a, b| b.cmp(a));
                values.into_iter().take(n).for_each(|v| count(vec![v.into()], 1));
            }
            Self::GroupBy(extreme) => {
                let mut best: HashMap<u64, u32> = HashMap::new();
                for row in kept() {
                    let (new, old) = (value(row), best.entry(key(row)).or_insert(value(row)));
                    *old = if extreme == Extreme::Max { new.max(*old) } else { new.min(*old) };
                }
                best.into_iter().for_each(|(k, v)| count(vec![k, v.into()], 1));
            }
            Self::Join => {
                let built = kept().filter(|(run, _)| run.flow == join::BUILD_A).map(key);
                let mut matches: HashMap<u64, u64> = HashMap::new();
                built.for_each(|k| *matches.entry(k).or_default() += 1);
                for k in kept().filter(|(run, _)| run.flow != join::BUILD_A).map(key) {
                    if let Some(&times) = matches.get(&k) {
                        count(vec![k], times);
                    }
                }
            }
            // The second pass sums all entries of the keys that came through.
            Self::HavingSum(threshold) => {
                let keys: HashSet<u64> = kept().map(key).collect();
                let mut sums: HashMap<u64, u64> = HashMap::new();
                let rows = stream.iter().flat_map(|run| (0..run.len()).map(move |at| (run, at)));
                for row in rows.filter(|row| keys.contains(&key(*row))) {
                    let sum = sums.entry(key(row)).or_default();
                    *sum = sum.saturating_add(value(row).into());
                }
                let above = sums.into_iter().filter(|(_, sum)| *sum > threshold);
                above.for_each(|(k, sum)| count(vec![k, sum], 1));
            }
            Self::HavingExtreme(relation, threshold) => kept()
                .filter(|row| relation.holds(value(*row).into(), threshold.into()))
                .map(key)
                .collect::<HashSet<_>>()
                .into_iter()
                .for_each(|k| count(vec![k], 1)),
            Self::Skyline => {
                for point in skyline(kept().map(|(run, at)| run.row(at))) {
                    count(point, 1);
                }
            }
        }
        answer
    }
}

/// Rows and how often each occurs.
pub(super) type Answer = BTreeMap<Vec<u64>, u64>;

fn key_of(run: &Run, at: usize, key_columns: usize) -> u64 {
    let high = run.columns[0][at];
    match run.columns.get(1) {
        Some(low) if key_columns == 2 => u64::from(high) << 32 | u64::from(low[at]),
        _ => high.into(),
    }
}

/// The distinct points that no other dominates, with how often each occurs.
fn skyline(points: impl Iterator<Item = Vec<u32>>) -> Vec<Vec<u64>> {
    let dominates = |a: &[u32], b: &[u32]| a != b && a.iter().zip(b).all(|(a, b)| a >= b);
    let mut best: Vec<(Vec<u32>, u64)> = Vec::new();
    for point in points {
        if let Some((_, times)) = best.iter_mut().find(|(other, _)| *other == point) {
            *times += 1;
        } else if !best.iter().any(|(other, _)| dominates(other, &point)) {
            best.retain(|(other, _)| !dominates(&point, other));
            best.push((point, 1));
        }
    }
    let row =
        |(point, times): (Vec<u32>, u64)| point.into_iter().map(u64::from).chain([times]).collect();
    best.into_iter().map(row).collect()
}
