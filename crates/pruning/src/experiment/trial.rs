//! What one stream shows of an algorithm: how much is pruned, how much could be, and whether the
//! query's answer is still the same.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use thiserror::Error;

use super::opt;
use crate::algorithm::catalog::Configured;
use crate::algorithm::group_by::Extreme;
use crate::algorithm::join;
use crate::experiment::check::{Mismatch, check};
use crate::switch::{Interpreter, Packet, Program, ProgramError, Relation, WrongValues};
use crate::{Entries, Pruner, Selection, Verdict};

/// Entries of a fast path's batch.
const BATCH: usize = 8192;

/// Consecutive entries of one flow, column by column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The flow.
    pub flow: u16,
    /// The packets' values; all of one length.
    pub columns: Vec<Vec<u32>>,
}

impl Run {
    /// How many entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn row(&self, position: usize) -> Vec<u32> {
        self.columns.iter().map(|column| column[position]).collect()
    }
}

/// What went wrong in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The stream does not have the values that the program parses.
    #[error(transparent)]
    Values(#[from] WrongValues),
    /// The program is none.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The fast path is not the program.
    #[error("the fast path is not the program: {0}")]
    Mismatch(#[from] Mismatch),
}

/// The question that a query asks, over what packets carry.
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
    /// The entries of flow [`join::PROBE_B`] whose key flow [`join::BUILD_A`] has.
    Join,
    /// The keys whose sum exceeds this.
    HavingSum(u64),
    /// The keys with a value of this relation to the constant.
    HavingExtreme(Relation, u32),
    /// The points that no other dominates, greater is better.
    Skyline,
}

impl Question {
    /// What the configured algorithm prunes for. A filter's question is the caller's: its program
    /// holds any formula.
    #[must_use]
    pub const fn of(configured: &Configured, filter: (Relation, u32)) -> Self {
        match configured {
            Configured::Filter(_) => Self::Filter(filter.0, filter.1),
            Configured::Distinct(_) => Self::Distinct,
            Configured::TopNDeterministic(config) => Self::TopN(config.n() as usize),
            Configured::TopNRandomized(_, n) => Self::TopN(*n as usize),
            Configured::GroupBy(_, extreme) => Self::GroupBy(*extreme),
            Configured::JoinBloom(_) | Configured::JoinRegisterBloom(_) => Self::Join,
            Configured::Having(config) => Self::HavingSum(config.threshold() as u64),
            Configured::HavingExtreme(_, relation, threshold) => {
                Self::HavingExtreme(*relation, *threshold)
            }
            Configured::Skyline(_) => Self::Skyline,
        }
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
            Self::Skyline => {
                opt::skyline(rows().map(|(run, at)| (run.columns[0][at], run.columns[1][at])))
            }
        }
    }

    /// The answer over the entries that `keep` names, in some canonical form.
    fn answer(
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

type Answer = BTreeMap<Vec<u64>, u64>;

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

/// How a query's answer over what was forwarded compares with that over everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is the same.
    Unchanged,
    /// It is another.
    Changed {
        /// Rows of the right answer.
        rows: usize,
        /// Rows of it that are missing or wrong.
        lost: usize,
    },
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => f.pad("unchanged"),
            Self::Changed { rows, lost } => f.pad(&format!("WRONG: {lost} of {rows} rows lost")),
        }
    }
}

/// What a stream showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// Entries that came.
    pub entries: usize,
    /// Entries that were forwarded.
    pub forwarded: usize,
    /// Entries that a pruner without limits would forward.
    pub optimum: usize,
    /// What became of the answer.
    pub effect: Effect,
}

impl Trial {
    /// The fraction of entries that was forwarded; 0 of none.
    #[must_use]
    pub fn unpruned(&self) -> f64 {
        fraction(self.forwarded, self.entries)
    }

    /// The fraction of entries that a pruner without limits would forward.
    #[must_use]
    pub fn optimal(&self) -> f64 {
        fraction(self.optimum, self.entries)
    }
}

fn fraction(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Sends a stream through a fast path.
///
/// # Errors
///
/// If the stream does not have the values that it takes.
pub fn through_fast_path(
    pruner: &mut dyn Pruner,
    stream: &[Run],
) -> Result<Vec<Vec<bool>>, TrialError> {
    let mut selection = Selection::new();
    let mut id = 0_u32;
    let mut all = Vec::new();
    for run in stream {
        let mut keep = Vec::with_capacity(run.len());
        let mut start = 0;
        while start < run.len() {
            let end = run.len().min(start + BATCH);
            let slices: Vec<&[u32]> = run.columns.iter().map(|c| &c[start..end]).collect();
            // The slices are of one length by construction.
            if let Ok(entries) = Entries::new(run.flow, id, &slices) {
                pruner.prune(&entries, &mut selection)?;
                keep.extend((0..end - start).map(|at| selection.get(at)));
            }
            id = id.wrapping_add((end - start) as u32);
            start = end;
        }
        all.push(keep);
    }
    Ok(all)
}

/// Sends a stream through a program, packet by packet.
///
/// # Errors
///
/// If the stream does not have the values that it parses, or it is no program.
pub fn through_program(program: Program, stream: &[Run]) -> Result<Vec<Vec<bool>>, TrialError> {
    let mut interpreter = Interpreter::new(program)?;
    let mut id = 0_u32;
    let mut all = Vec::new();
    for run in stream {
        let mut keep = Vec::with_capacity(run.len());
        for at in 0..run.len() {
            let verdict = interpreter.process(run.flow, id, &run.row(at))?;
            keep.push(verdict == Verdict::Forward);
            id = id.wrapping_add(1);
        }
        all.push(keep);
    }
    Ok(all)
}

/// What the verdicts on a stream mean for a question. `keep` comes from [`through_fast_path`] or
/// [`through_program`]; keys are the first `key_columns` values.
#[must_use]
pub fn judge(question: Question, stream: &[Run], keep: &[Vec<bool>], key_columns: usize) -> Trial {
    let expected = question.answer(stream, key_columns, |_, _| true);
    let found = question.answer(stream, key_columns, |run, at| {
        keep.get(run).and_then(|keep| keep.get(at)).copied().unwrap_or(false)
    });
    let lost = expected.iter().filter(|(row, times)| found.get(*row) != Some(times)).count();
    let effect = if expected == found {
        Effect::Unchanged
    } else {
        Effect::Changed { rows: expected.len(), lost }
    };
    Trial {
        entries: stream.iter().map(Run::len).sum(),
        forwarded: keep.iter().flatten().filter(|keep| **keep).count(),
        optimum: question.optimum(stream, key_columns),
        effect,
    }
}

/// Checks on the first `packets` entries that fast path and program are one: see [`check`].
///
/// # Errors
///
/// The first difference.
pub fn check_first(
    configured: &Configured,
    stream: &[Run],
    packets: usize,
) -> Result<usize, TrialError> {
    let entries = stream.iter().flat_map(|run| (0..run.len()).map(move |at| (run, at)));
    let stream: Vec<Packet> = (0..)
        .zip(entries.take(packets))
        .map(|(id, (run, at))| Packet::new(run.flow, id, run.row(at)))
        .collect();
    check(&configured.program(), configured.pruner().as_mut(), &stream)?;
    Ok(stream.len())
}

/// The flows of a stream, ascending.
#[must_use]
pub fn flows(stream: &[Run]) -> BTreeSet<u16> {
    stream.iter().map(|run| run.flow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::catalog::{Algorithm, Parameters};
    use crate::rng::Rng;

    fn streams(algorithm: Algorithm, values: usize) -> Vec<Run> {
        let mut rng = Rng::new(3);
        let mut run = |flow, len: usize| Run {
            flow,
            columns: (0..values)
                .map(|_| (0..len).map(|_| rng.below(5000) as u32).collect())
                .collect(),
        };
        match algorithm {
            Algorithm::JoinBloom | Algorithm::JoinRegisterBloom => {
                vec![run(join::BUILD_A, 500), run(join::PROBE_B, 9000)]
            }
            _ => vec![run(0, 20_000)],
        }
    }

    /// A small instance of every algorithm leaves the answer alone and is not better than OPT.
    #[test]
    fn answers_are_unchanged() {
        for algorithm in Algorithm::ALL {
            let mut given = Parameters::default();
            if algorithm.parameters().contains(&"threshold") {
                given.threshold = Some(4000);
            }
            if matches!(algorithm, Algorithm::JoinBloom | Algorithm::JoinRegisterBloom) {
                given.rows = Some(1 << 14);
            }
            let configured = algorithm.configure(&given).unwrap();
            let values = configured.pruner().values();
            let stream = streams(algorithm, values);
            let keys = if algorithm == Algorithm::Distinct { 2 } else { 1 };
            let question = Question::of(&configured, (Relation::Lt, 4000));
            let keep = through_fast_path(configured.pruner().as_mut(), &stream).unwrap();
            let trial = judge(question, &stream, &keep, keys);
            assert_eq!(trial.effect, Effect::Unchanged, "{algorithm}");
            assert!(trial.optimum <= trial.forwarded, "{algorithm}: {trial:?}");
            assert!(
                trial.forwarded <= trial.entries && trial.optimum > 0,
                "{algorithm}: {trial:?}"
            );
            check_first(&configured, &stream, 300).unwrap();
        }
    }

    /// The released programs lose rows, and the trial says so.
    #[test]
    fn released_programs_change_answers() {
        let lost = |algorithm: Algorithm, rows, values, flows: &[u16], question| {
            let given = Parameters { rows, ..Parameters::default() };
            let program = algorithm.released(&given).unwrap();
            let mut stream = streams(Algorithm::JoinBloom, values);
            stream.iter_mut().zip(flows).for_each(|(run, flow)| run.flow = *flow);
            let keep = through_program(program, &stream).unwrap();
            // The question tells the sides by our own flows.
            stream[0].flow = join::BUILD_A;
            judge(question, &stream, &keep, 1).effect
        };
        let top_n = lost(Algorithm::TopNDeterministic, None, 1, &[0, 0], Question::TopN(250));
        assert!(matches!(top_n, Effect::Changed { .. }), "{top_n}");
        let join = lost(Algorithm::JoinBloom, Some(1 << 14), 2, &[1, 2], Question::Join);
        assert!(matches!(join, Effect::Changed { .. }), "{join}");
        let filter = lost(Algorithm::Filter, None, 1, &[0, 0], Question::Filter(Relation::Lt, 10));
        assert_eq!(filter, Effect::Unchanged);
    }

    #[test]
    fn wrong_columns_are_refused() {
        let configured = Algorithm::GroupBy.configure(&Parameters::default()).unwrap();
        let stream = [Run { flow: 0, columns: vec![vec![1, 2]] }];
        let error = through_fast_path(configured.pruner().as_mut(), &stream).unwrap_err();
        assert_eq!(error.to_string(), "the program parses 2 values, the packet has 1");
    }
}
