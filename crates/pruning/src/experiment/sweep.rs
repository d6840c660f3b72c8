//! An algorithm along an axis, as in the paper's figures 10 (resources) and 11 (prefixes of the stream): the fraction
//! it forwards beside the optimum, over several seeds of its hashes.

use std::ops::Range;

pub use super::axis::{Axis, AxisPoints, OverError, Span};
use super::route::{Route, RouteError, Sent};
use super::tree;
use super::trial::{Effect, Run, judge_with};
use crate::algorithm::catalog::{Algorithm, Parameters};
use crate::rng::mix64;
use crate::theory::confidence::student_t;

/// The confidence of an interval, as in the paper.
pub const CONFIDENCE: f64 = 0.95;

/// An algorithm on a stream, over several seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The number of entries of the stream.
    pub entries: usize,
    /// The number of runs, 1 if no hash is seeded.
    pub runs: usize,
    /// The mean fraction of entries that were forwarded.
    pub unpruned: f64,
    /// Half the width of the interval that contains the mean with [`CONFIDENCE`], by Student's t, or `None` for a
    /// single run.
    pub error: Option<f64>,
    /// The fraction that a pruner without limits would forward.
    pub optimal: f64,
    /// The number of runs with a wrong answer: at most a fraction δ of them for TOP N.
    pub wrong: usize,
}

/// Sends `stream` through the algorithm, once for each seed in `seeds`, or once if its parameters leave
/// no hash to be seeded. Run k hashes by [`hash_seed`]`(k)`.
///
/// # Errors
///
/// If the algorithm does not take the parameters, or the stream.
///
/// # Example
/// ```
/// use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
/// use sluicegate_pruning::experiment::sweep::measure;
/// use sluicegate_pruning::experiment::trial::Run;
///
/// let keys = (0..9000).map(|i| i % 3000 + 1).collect();
/// let stream = [Run { flow: 0, columns: vec![keys] }];
/// let given = Parameters { key_bits: Some(32), rows: Some(1024), ..Parameters::default() };
/// let distinct = measure(Algorithm::Distinct, &given, &stream, 0..5)?;
/// assert_eq!((distinct.runs, distinct.wrong), (5, 0));
/// assert!(distinct.optimal < distinct.unpruned && distinct.error.is_some());
/// # Ok::<(), sluicegate_pruning::experiment::route::RouteError>(())
/// ```
pub fn measure(
    algorithm: Algorithm,
    given: &Parameters,
    stream: &[Run],
    seeds: Range<u64>,
) -> Result<Measured, RouteError> {
    measure_on(&Route::default(), algorithm, given, stream, seeds)
}

/// Like [`measure`], on another route to the master.
///
/// # Errors
///
/// If the algorithm does not take the parameters or the stream, or cannot take the route.
pub fn measure_on(
    route: &Route,
    algorithm: Algorithm,
    given: &Parameters,
    stream: &[Run],
    seeds: Range<u64>,
) -> Result<Measured, RouteError> {
    let send = |given: &Parameters| route.send(algorithm, given, stream);
    measure_by(send, algorithm, given, stream, seeds)
}

/// Like [`measure`], through a tree of `leaves` switches, at least 1, and one before the master.
///
/// # Errors
///
/// If the algorithm does not take the parameters or the stream, or must process every entry in one place.
pub fn measure_in_tree(
    leaves: usize,
    algorithm: Algorithm,
    given: &Parameters,
    stream: &[Run],
    seeds: Range<u64>,
) -> Result<Measured, RouteError> {
    let send = |given: &Parameters| {
        let keep = tree::send(&algorithm.configure(given)?, stream, leaves)?.keep;
        Ok(Sent { keep, held: Vec::new(), packets: 0, forwarded_packets: 0 })
    };
    measure_by(send, algorithm, given, stream, seeds)
}

fn measure_by(
    send: impl Fn(&Parameters) -> Result<Sent, RouteError>,
    algorithm: Algorithm,
    given: &Parameters,
    stream: &[Run],
    seeds: Range<u64>,
) -> Result<Measured, RouteError> {
    let seeded = algorithm.entry().takes("hash_seed")
        && given.hash_seed.is_none()
        && given.linear_hash != Some(true);
    let all: Vec<Option<u64>> = match seeded {
        true => seeds.map(|seed| Some(hash_seed(seed))).collect(),
        false => vec![given.hash_seed],
    };
    let (mut rates, mut wrong, mut optimal, mut entries) = (Vec::new(), 0, 0.0, 0);
    for hash_seed in all {
        let given = Parameters { hash_seed, ..*given };
        let configured = algorithm.configure(&given)?;
        let keys = algorithm.entry().carries.key_words(configured.pruner().values());
        let sent = send(&given)?;
        let question = configured.question();
        let trial = judge_with(question.as_ref(), stream, (&sent.keep, &sent.held), keys);
        rates.push(trial.unpruned());
        wrong += usize::from(trial.effect != Effect::Unchanged);
        (optimal, entries) = (trial.optimal(), trial.entries);
    }
    let (unpruned, error) = mean(&rates);
    Ok(Measured { entries, runs: rates.len(), unpruned, error, optimal, wrong })
}

/// Returns the seed of the hashes of a run: 64 bits, repeatable.
#[must_use]
pub const fn hash_seed(run: u64) -> u64 {
    mix64(run.wrapping_add(1))
}

/// Returns the mean, and half the width of its interval.
fn mean(rates: &[f64]) -> (f64, Option<f64>) {
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count.max(1.0);
    let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    let error = (rates.len() > 1).then(|| {
        let deviation = (squares / (count - 1.0) / count).sqrt();
        deviation * student_t(CONFIDENCE, rates.len() as u64 - 1)
    });
    (mean, error)
}

/// Returns the first `entries` of a stream; for a join, the same fraction of each side.
#[must_use]
pub fn prefix(stream: &[Run], entries: usize) -> Vec<Run> {
    let all: usize = stream.iter().map(Run::len).sum();
    let part = |run: &Run| {
        let share = (run.len() as u128 * entries as u128).div_ceil(all.max(1) as u128);
        let length = run.len().min(share as usize);
        let columns = run.columns.iter().map(|column| column[..length].to_vec()).collect();
        Run { flow: run.flow, columns }
    };
    stream.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::join;
    use crate::rng::Rng;

    fn skewed(len: usize) -> Vec<Run> {
        let mut rng = Rng::new(5);
        let key = |rng: &mut Rng| rng.below(4000).min(rng.below(4000)) as u32 + 1;
        let columns = vec![(0..len).map(|_| key(&mut rng)).collect()];
        vec![Run { flow: 0, columns }]
    }

    fn at(algorithm: Algorithm, given: Parameters, stream: &[Run]) -> Measured {
        measure(algorithm, &given, stream, 0..5).unwrap()
    }

    #[test]
    fn more_columns_let_less_through_and_never_less_than_the_optimum() {
        let stream = skewed(30_000);
        let given = Parameters { rows: Some(256), key_bits: Some(32), ..Parameters::default() };
        let over: AxisPoints = "w=1..8".parse().unwrap();
        let points = over.values.iter().map(|w| over.axis.set(&given, *w));
        let points: Vec<_> = points.map(|given| at(Algorithm::Distinct, given, &stream)).collect();
        for pair in points.windows(2) {
            assert!(pair[1].unpruned < pair[0].unpruned, "{pair:?}");
        }
        for point in &points {
            assert!(point.optimal <= point.unpruned && point.runs == 5, "{point:?}");
            assert_eq!((point.wrong, point.entries), (0, 30_000));
            // Five seeds differ, but little.
            assert!((1e-9..0.05).contains(&point.error.unwrap()), "{point:?}");
        }
    }

    #[test]
    fn what_hashes_nothing_runs_once() {
        let stream = skewed(500);
        let filter = at(Algorithm::Filter, Parameters::default(), &stream);
        assert_eq!((filter.runs, filter.error), (1, None));
        let linear =
            Parameters { key_bits: Some(32), linear_hash: Some(true), ..Parameters::default() };
        assert_eq!(at(Algorithm::Distinct, linear, &stream).runs, 1);
        let seeded = Parameters { key_bits: Some(32), hash_seed: Some(3), ..Parameters::default() };
        assert_eq!(at(Algorithm::Distinct, seeded, &stream).runs, 1);
    }

    /// Computed by hand: 1, 2, 3, 4, 5 have the mean 3, the variance 2.5, and Student's t of 4 degrees is 2.776.
    #[test]
    fn intervals_are_students() {
        let (mean, error) = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(mean, 3.0);
        assert!((error.unwrap() - 2.776_445 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-5, "{error:?}");
    }

    #[test]
    fn a_prefix_of_a_join_has_as_much_of_either_side() {
        let run = |flow, len: u32| Run { flow, columns: vec![(0..len).collect()] };
        let stream = [run(join::BUILD_A, 100), run(join::PROBE_B, 900)];
        let lengths = |entries| prefix(&stream, entries).iter().map(Run::len).collect::<Vec<_>>();
        assert_eq!(lengths(100), [10, 90]);
        assert_eq!(lengths(5000), [100, 900]);
        assert_eq!(prefix(&stream, 1000), stream);
    }

    /// Figure 11: DISTINCT prunes more of a longer stream, a join less.
    #[test]
    fn prefixes_show_what_scales() {
        let distinct = Parameters { key_bits: Some(32), ..Parameters::default() };
        let stream = skewed(40_000);
        let unpruned =
            |algorithm, given, entries| at(algorithm, given, &prefix(&stream, entries)).unpruned;
        let short = unpruned(Algorithm::Distinct, distinct, 2_000);
        assert!(unpruned(Algorithm::Distinct, distinct, 40_000) < 0.5 * short);
        let mut rng = Rng::new(1);
        let mut keys = |count| (0..count).map(|_| rng.next_u64() as u32).collect::<Vec<_>>();
        let sides = [
            Run { flow: join::BUILD_A, columns: vec![keys(8_000)] },
            Run { flow: join::PROBE_B, columns: vec![keys(40_000)] },
        ];
        let join = Parameters { rows: Some(1 << 13), ..Parameters::default() };
        let of = |entries| at(Algorithm::JoinBloom, join, &prefix(&sides, entries)).unpruned;
        assert!(of(48_000) > 1.5 * of(4_800), "{} {}", of(48_000), of(4_800));
    }
}
