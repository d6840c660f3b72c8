//! The queries that `sluice storage` ranks.

use serde::Deserialize;

use super::plans::Plan;
use super::tpcds::{ALL_QUERIES, RANKING};
use crate::{Results, ResultsError};

/// A query, measured once, with the estimate for a device.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Ranked {
    query: String,
    /// The share of scans of the thread time, 0 to 1.
    pub(super) scan_ratio: f64,
    pub(super) measured_s: f64,
    pub(super) estimated_s: f64,
    /// `None` if it is without limit.
    speedup: Option<f64>,
    /// MB read from the store.
    #[serde(default)]
    pub(super) read_mb: Option<f64>,
    /// The share of the cores' time, 0 to 1.
    #[serde(default)]
    pub(super) busy: Option<f64>,
    #[serde(default)]
    pub(super) quadrant: Option<String>,
    #[serde(flatten)]
    pub(super) plan: Plan,
}

impl Ranked {
    /// Returns the number at the end of the query's name.
    pub(super) fn number(&self) -> usize {
        let digits = self.query.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.parse().unwrap_or(0)
    }

    pub(super) fn speedup(&self) -> f64 {
        self.speedup.unwrap_or(f64::INFINITY)
    }
}

/// Returns the queries of a run, in the order of their numbers.
///
/// # Errors
///
/// If there are none.
pub(super) fn ranked(results: &Results, run: &str) -> Result<Vec<Ranked>, ResultsError> {
    let mut queries: Vec<Ranked> = results.output(run)?;
    if queries.is_empty() {
        return Err(missing(results, &format!("queries of {run}")));
    }
    queries.sort_by_key(Ranked::number);
    Ok(queries)
}

/// Returns all queries. Those of Tables 2 and 3 are from the run that repeats them, so that a query has the same numbers
/// in all tables and charts.
///
/// # Errors
///
/// If one of both runs has no queries.
pub(super) fn all_ranked(results: &Results) -> Result<Vec<Ranked>, ResultsError> {
    let mut all = ranked(results, ALL_QUERIES)?;
    for repeated in ranked(results, RANKING)? {
        if let Some(once) = all.iter_mut().find(|it| it.number() == repeated.number()) {
            *once = repeated;
        }
    }
    Ok(all)
}

/// Returns a share in percent, at most 100: clocks of threads can add up to a little more than the time of the cores.
pub(super) fn at_most_all(share: f64) -> f64 {
    100.0 * share.min(1.0)
}

/// Returns the query of a run with this number.
pub(super) fn query<'a>(
    results: &Results,
    queries: &'a [Ranked],
    number: usize,
    run: &str,
) -> Result<&'a Ranked, ResultsError> {
    required(results, queries.iter().find(|it| it.number() == number), number, run)
}

/// Returns what was found of a query in the output of a run.
///
/// # Errors
///
/// If nothing was.
pub(super) fn required<T>(
    results: &Results,
    found: Option<T>,
    number: usize,
    run: &str,
) -> Result<T, ResultsError> {
    match found {
        Some(found) => Ok(found),
        None => Err(missing(results, &format!("Q{number} of {run}"))),
    }
}

/// Returns the error for an output that is not there.
fn missing(results: &Results, what: &str) -> ResultsError {
    match results.record(what) {
        Err(error) => error,
        Ok(_) => missing(results, &format!("{what}?")),
    }
}

/// The numbers of queries with their speed-ups.
pub(super) type Speedups = Vec<(usize, f64)>;

/// Returns the queries with the greatest and the least speed-up; 0 of none.
pub(super) fn extremes(speedups: &Speedups) -> [(usize, f64); 2] {
    let by_speedup = |one: &&(usize, f64), other: &&(usize, f64)| one.1.total_cmp(&other.1);
    let greatest = speedups.iter().max_by(by_speedup).copied().unwrap_or_default();
    let least = speedups.iter().min_by(by_speedup).copied().unwrap_or_default();
    [greatest, least]
}

/// Returns Spearman's rank correlation, or 0 if there are too few pairs.
pub(super) fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    if count < 2.0 {
        return 0.0;
    }
    let (one, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let squares: f64 = ranks(&one).iter().zip(ranks(&other)).map(|(a, b)| (a - b) * (a - b)).sum();
    1.0 - 6.0 * squares / (count * (count * count - 1.0))
}

/// The least rank correlations that 5 % of all orders of 4 to 10 pairs have, by the permutations of Spearman's test on one
/// side.
const SIGNIFICANT: [f64; 7] = [1.0, 0.9, 0.829, 0.714, 0.643, 0.6, 0.564];

/// Returns the least rank correlation of so many pairs that is significant. Fewer than four pairs have none.
pub(super) fn significant(pairs: usize) -> f64 {
    match pairs.checked_sub(4) {
        None => f64::INFINITY,
        Some(at) => SIGNIFICANT[at.min(SIGNIFICANT.len() - 1)],
    }
}

/// Returns the rank of each value, where equal values have the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let less = values.iter().filter(|it| *it < value).count() as f64;
        let equal = values.iter().filter(|it| *it == value).count() as f64;
        less + (equal - 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_correlate_from_minus_one_to_one() {
        assert_eq!(rank_correlation(&[(1.0, 2.0), (3.0, 5.0), (2.0, 4.0)]), 1.0);
        assert_eq!(rank_correlation(&[(1.0, 9.0), (3.0, 5.0), (2.0, 6.0)]), -1.0);
        assert_eq!(rank_correlation(&[(1.0, 9.0)]), 0.0);
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [1.5, 0.0, 1.5]);
    }

    #[test]
    fn five_percent_of_the_orders_of_six_pairs_are_significant() {
        fn orders(of: &mut Vec<u8>, from: usize, all: &mut Vec<Vec<u8>>) {
            if from == of.len() {
                all.push(of.clone());
            }
            for at in from..of.len() {
                of.swap(from, at);
                orders(of, from + 1, all);
                of.swap(from, at);
            }
        }
        for pairs in [4_u8, 5, 6, 7] {
            let mut all = Vec::new();
            orders(&mut (0..pairs).collect(), 0, &mut all);
            let correlation = |order: &Vec<u8>| {
                let pairs = order.iter().enumerate().map(|(a, b)| (a as f64, f64::from(*b)));
                rank_correlation(&pairs.collect::<Vec<_>>())
            };
            let least = significant(usize::from(pairs)) - 5e-4;
            let beyond = all.iter().filter(|it| correlation(it) >= least).count();
            assert!(beyond as f64 <= 0.05 * all.len() as f64, "{pairs}: {beyond}");
        }
        assert_eq!(significant(3), f64::INFINITY);
    }

    fn listed(query: &str, measured_s: f64) -> serde_json::Value {
        serde_json::json!({
            "query": query, "scan_ratio": 0.5, "measured_s": measured_s, "estimated_s": 0.5, "speedup": null,
            "operators": {}, "tables": [],
        })
    }

    #[test]
    fn a_query_that_is_repeated_has_one_time() {
        let mut results = Results::default();
        for (run, queries) in [
            (ALL_QUERIES, [listed("TPC-DS query 9", 3.0), listed("TPC-DS query 10", 4.0)]),
            (RANKING, [listed("Q44", 7.0), listed("Q9", 5.0)]),
        ] {
            let output = serde_json::Value::Array(queries.to_vec());
            results.insert(run, crate::Record { output, ..crate::Record::default() });
        }
        let all = all_ranked(&results).unwrap();
        let times: Vec<(usize, f64)> = all.iter().map(|it| (it.number(), it.measured_s)).collect();
        assert_eq!(times, [(9, 5.0), (10, 4.0)]);
        assert_eq!([0.5, 1.002].map(at_most_all), [50.0, 100.0]);
    }

    #[test]
    fn queries_are_known_by_their_numbers() {
        let line = |query: &str| Ranked::deserialize(listed(query, 1.0)).unwrap();
        assert_eq!((line("TPC-DS query 96").number(), line("Q9").number()), (96, 9));
        assert_eq!(line("Q9").speedup(), f64::INFINITY);
        let queries = [line("Q9")];
        let found = |number| query(&Results::default(), &queries, number, "ranking");
        assert_eq!(found(9), Ok(&queries[0]));
        let refused = found(44).unwrap_err().to_string();
        assert_eq!(refused, "run `Q44 of ranking`: there is no output");
    }

    #[test]
    fn speedups_without_limit_are_the_greatest() {
        let speedups = vec![(9, 8.0), (44, f64::INFINITY), (72, 1.0)];
        assert_eq!(extremes(&speedups), [(44, f64::INFINITY), (72, 1.0)]);
    }
}
