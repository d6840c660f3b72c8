//! A trial of an algorithm on one stream: the pruned fraction, the optimum, and whether the query's answer is
//! unchanged.

use std::collections::BTreeSet;
use std::fmt;

use thiserror::Error;

pub use super::question::{Answer, Question, Row, Rows};

use crate::algorithm::catalog::Configured;
use crate::algorithm::group_sum::GroupSums;
use crate::experiment::check::{Mismatch, check};
use crate::switch::{Interpreter, Packet, Program, ProgramError, RejectedPacket};
use crate::{Entries, Pruner, Selection, Verdict, first_id};

/// The number of entries in a batch for a fast path.
const BATCH: usize = 8192;

/// Consecutive entries of one flow, column by column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// The flow identifier of all entries.
    pub flow: u16,
    /// The packets' values; all columns have the same length.
    pub columns: Vec<Vec<u32>>,
}

impl Run {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Returns true if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn row(&self, position: usize) -> Vec<u32> {
        self.columns.iter().map(|column| column[position]).collect()
    }
}

/// The reason why a trial failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The stream does not have the values that the program parses.
    #[error(transparent)]
    Values(#[from] RejectedPacket),
    /// The program is invalid.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The fast path differs from the program.
    #[error("the fast path is not the program: {0}")]
    Mismatch(#[from] Mismatch),
}

/// The effect of pruning on the query's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The answer is unchanged.
    Unchanged,
    /// The answer has changed.
    Changed {
        /// The number of rows of the right answer.
        rows: usize,
        /// The number of its rows that are missing or wrong.
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

/// The result of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// The number of entries that were sent.
    pub entries: usize,
    /// The number of entries that were forwarded, including those that the switch returned at the end.
    pub forwarded: usize,
    /// The number of entries that a pruner without limits would forward.
    pub optimum: usize,
    /// The effect on the answer.
    pub effect: Effect,
}

impl Trial {
    /// Returns the fraction of entries that were forwarded, or 0 without entries.
    #[must_use]
    pub fn unpruned(&self) -> f64 {
        fraction(self.forwarded, self.entries)
    }

    /// Returns the fraction of entries that a pruner without limits would forward.
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
            // The slices have the same length by construction.
            let named = first_id(run.flow).wrapping_add(id);
            if let Ok(entries) = Entries::new(run.flow, named, &slices) {
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
/// If the stream does not have the values that it parses, or the program is invalid.
pub fn through_program(program: Program, stream: &[Run]) -> Result<Vec<Vec<bool>>, TrialError> {
    let mut interpreter = Interpreter::new(program)?;
    let mut id = 0_u32;
    let mut all = Vec::new();
    for run in stream {
        let mut keep = Vec::with_capacity(run.len());
        for at in 0..run.len() {
            let named = first_id(run.flow).wrapping_add(id);
            let verdict = interpreter.process(run.flow, named, &run.row(at))?;
            keep.push(verdict == Verdict::Forward);
            id = id.wrapping_add(1);
        }
        all.push(keep);
    }
    Ok(all)
}

/// Evaluates the verdicts on a stream for a question. `keep` comes from [`through_fast_path`] or [`through_program`];
/// keys are the first `key_columns` values.
#[must_use]
pub fn judge(
    question: &dyn Question,
    stream: &[Run],
    keep: &[Vec<bool>],
    key_columns: usize,
) -> Trial {
    judge_with(question, stream, (keep, &[]), key_columns)
}

/// Like [`judge`], but for a switch that returns sums at the end ([`Pruner::group_sums`]). Those count as forwarded, too.
#[must_use]
pub fn judge_with(
    question: &dyn Question,
    stream: &[Run],
    (keep, held): (&[Vec<bool>], &[GroupSums]),
    key_columns: usize,
) -> Trial {
    let rows = Rows::from_stream(stream, key_columns);
    let is_kept = |run: usize, at: usize| {
        keep.get(run).and_then(|keep| keep.get(at)).copied().unwrap_or(false)
    };
    let expected = question.answer(&rows);
    let found = question.answer(&rows.that(&is_kept).beside(held));
    let lost = expected.iter().filter(|(row, times)| found.get(*row) != Some(times)).count();
    let effect = if expected == found {
        Effect::Unchanged
    } else {
        Effect::Changed { rows: expected.len(), lost }
    };
    Trial {
        entries: stream.iter().map(Run::len).sum(),
        forwarded: keep.iter().flatten().filter(|keep| **keep).count() + held.len(),
        optimum: question.optimum(&rows),
        effect,
    }
}

/// Checks on the first `packets` entries that fast path and program agree, and returns the number of packets: see
/// [`check`].
///
/// # Errors
///
/// Returns the first difference.
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

/// Returns the flows of a stream, ascending.
#[must_use]
pub fn flows(stream: &[Run]) -> BTreeSet<u16> {
    stream.iter().map(|run| run.flow).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algorithm::catalog::{Algorithm, PacketContents, Parameters};
    use crate::algorithm::join;
    use crate::experiment::conformance::column;
    use crate::rng::Rng;

    fn streams(algorithm: Algorithm, values: usize) -> Vec<Run> {
        let mut rng = Rng::new(3);
        let mut run = |flow, len: usize| Run {
            flow,
            columns: (0..values)
                .map(|_| (0..len).map(|_| rng.below(5000) as u32).collect())
                .collect(),
        };
        match algorithm.entry().carries {
            PacketContents::KeyOfEither => vec![run(join::BUILD_A, 500), run(join::PROBE_B, 9000)],
            _ => vec![run(0, 20_000)],
        }
    }

    /// Asserts that the answer is unchanged, the optimum is not beaten, and the fast path equals the program.
    fn assert_sound(algorithm: Algorithm, given: &Parameters, stream: &[Run]) {
        let configured = algorithm.configure(given).unwrap();
        let keys = algorithm.entry().carries.key_words(configured.pruner().values());
        let mut pruner = configured.pruner();
        let keep = through_fast_path(pruner.as_mut(), stream).unwrap();
        let held = pruner.group_sums();
        let trial =
            judge_with(configured.question().as_ref(), stream, (keep.as_slice(), &held), keys);
        assert_eq!(trial.effect, Effect::Unchanged, "{algorithm}");
        assert!(trial.optimum <= trial.forwarded, "{algorithm}: {trial:?}");
        // A group is returned even if it had a single entry.
        assert!(trial.forwarded <= trial.entries, "{algorithm}: {trial:?}");
        check_first(&configured, stream, 300).unwrap();
    }

    /// Returns those of the parameters that the algorithm has.
    fn given(algorithm: Algorithm, threshold: u32, cells: u32, n: u32) -> Parameters {
        let entry = algorithm.entry();
        Parameters {
            threshold: entry.takes("threshold").then_some(threshold),
            n: entry.takes("n").then_some(n),
            ..entry.with_cells(cells)
        }
    }

    #[test]
    fn every_algorithm_leaves_the_answer_alone() {
        for &algorithm in Algorithm::ALL {
            let given = given(algorithm, 4000, 1 << 14, 250);
            let values = algorithm.configure(&given).unwrap().pruner().values();
            assert_sound(algorithm, &given, &streams(algorithm, values));
        }
    }

    #[test]
    fn a_skyline_of_any_dimensions_has_its_optimum() {
        for dimensions in 1..=4 {
            for algorithm in [Algorithm::SkylineSum, Algorithm::SkylineProduct] {
                let given = Parameters { dimensions: Some(dimensions), ..Parameters::default() };
                assert_sound(algorithm, &given, &streams(algorithm, dimensions as usize));
            }
        }
        // By hand: of (1, 1, 1) and two that it does not dominate, only (0, 1, 1) is superfluous.
        let columns = vec![vec![1, 0, 0, 2], vec![1, 1, 2, 0], vec![1, 1, 0, 0]];
        let stream = [Run { flow: 0, columns }];
        let given = Parameters { dimensions: Some(3), ..Parameters::default() };
        let question = Algorithm::SkylineSum.configure(&given).unwrap().question();
        assert_eq!(question.optimum(&Rows::from_stream(&stream, 0)), 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_algorithm_leaves_every_answer_alone(
            columns in prop::collection::vec(column(200), 4),
            threshold in 0..5000_u32,
        ) {
            for &algorithm in Algorithm::ALL {
                // TOP N returns fewer rows than a row of the matrix has columns, so it is certainly right.
                let given = given(algorithm, threshold, 64, 3);
                let values = algorithm.configure(&given).unwrap().pruner().values();
                let part = |flow, range: std::ops::Range<usize>| {
                    let part = columns[..values].iter().map(|c| c[range.clone()].to_vec());
                    Run { flow, columns: part.collect() }
                };
                let stream = match algorithm.entry().carries {
                    PacketContents::KeyOfEither => {
                        vec![part(join::BUILD_A, 0..50), part(join::PROBE_B, 50..200)]
                    }
                    _ => vec![part(0, 0..200)],
                };
                assert_sound(algorithm, &given, &stream);
            }
        }
    }

    /// The released programs lose rows, and the trial reports it.
    #[test]
    fn released_programs_change_answers() {
        let lost = |algorithm: Algorithm, rows, values, flows: &[u16]| {
            let given = Parameters { rows, ..Parameters::default() };
            let program = algorithm.released(&given).unwrap();
            let mut stream = streams(Algorithm::JoinBloom, values);
            stream.iter_mut().zip(flows).for_each(|(run, flow)| run.flow = *flow);
            let keep = through_program(program, &stream).unwrap();
            // The question distinguishes the sides by our own flows.
            stream[0].flow = join::BUILD_A;
            let question = algorithm.configure(&Parameters::default()).unwrap().question();
            judge(question.as_ref(), &stream, &keep, 1).effect
        };
        let top_n = lost(Algorithm::TopNDeterministic, None, 1, &[0, 0]);
        assert!(matches!(top_n, Effect::Changed { .. }), "{top_n}");
        let join = lost(Algorithm::JoinBloom, Some(1 << 14), 2, &[1, 2]);
        assert!(matches!(join, Effect::Changed { .. }), "{join}");
        let filter = lost(Algorithm::Filter, None, 1, &[0, 0]);
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
