//! Compares predictions with measurements.

use crate::calibration::median;
use crate::{ALIKE, Resource};

/// A strategy that ran, with its predicted and its measured time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement<'a> {
    /// The strategy's name. Runs with the same name are runs of one strategy, whether it was chosen or requested.
    pub strategy: &'a str,
    /// The predicted time, in seconds.
    pub predicted: f64,
    /// The measured time, in seconds.
    pub measured: f64,
    /// The resource that binds according to the prediction.
    pub bound_by: Option<Resource>,
    /// True if this run followed the choice.
    pub taken: bool,
}

impl Measurement<'_> {
    /// The relative error of the prediction: its distance from the measured time, as a fraction of that; 0 is exact.
    #[must_use]
    pub fn error(&self) -> f64 {
        (self.predicted / self.measured - 1.0).abs()
    }
}

/// The quality of a set of predictions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Validation {
    /// The number of strategies that ran.
    pub strategies: usize,
    /// The number of choices among them.
    pub choices: usize,
    /// The mean of [`Measurement::error`].
    pub mean_error: f64,
    /// The median of [`Measurement::error`]. For an even number it is the mean of the two in the middle.
    pub median_error: f64,
    /// The 90th percentile of [`Measurement::error`].
    pub p90_error: f64,
    /// The mean error of the runs that the link binds; `None` if there are none.
    pub link_bound_error: Option<f64>,
    /// Spearman's rank correlation of predicted and measured seconds, −1 to 1. `None` for fewer than two strategies,
    /// or if all take the same time.
    pub rank_correlation: Option<f64>,
    /// The fraction of the choices, 0 to 1, that are [`right`].
    pub right: f64,
    /// The fraction of the choices, 0 to 1, whose [`regret`] is within the limit of [alike](ALIKE) times.
    pub alike: f64,
    /// The mean [`regret`]; 1 if every choice was the fastest.
    pub mean_regret: f64,
    /// The [`regret`] of the worst choice.
    pub worst_regret: f64,
}

/// The time of the chosen strategy over the time of the fastest one: 1 if the choice was the fastest.
///
/// Returns `None` if no run is marked as chosen.
#[must_use]
pub fn regret(choice: &[Measurement<'_>]) -> Option<f64> {
    let taken = choice.iter().find(|it| it.taken)?;
    let fastest = choice.iter().map(|it| it.measured).fold(f64::INFINITY, f64::min);
    Some(taken.measured / fastest)
}

/// Returns true if the chosen strategy was the fastest, or took a time [alike](ALIKE).
///
/// A strategy that ran several times, by choice and by name, counts with its mean time. The time for choosing
/// therefore shows in [`regret`] only.
#[must_use]
pub fn right(choice: &[Measurement<'_>]) -> bool {
    let time = |of: &Measurement<'_>| {
        let same = choice.iter().filter(|it| it.strategy == of.strategy);
        mean(&same.map(|it| it.measured).collect::<Vec<_>>()).unwrap_or(f64::INFINITY)
    };
    let fastest = choice.iter().map(time).fold(f64::INFINITY, f64::min);
    choice.iter().any(|it| it.taken && time(it) <= fastest * (1.0 + ALIKE))
}

/// Summarizes choices, each with the strategies that ran.
#[must_use]
pub fn validate(choices: &[Vec<Measurement<'_>>]) -> Validation {
    let all: Vec<Measurement<'_>> = choices.iter().flatten().copied().collect();
    let mut errors: Vec<f64> = all.iter().map(Measurement::error).collect();
    errors.sort_by(f64::total_cmp);
    let regrets: Vec<f64> = choices.iter().filter_map(|choice| regret(choice)).collect();
    let link = all.iter().filter(|it| it.bound_by == Some(Resource::LINK));
    let link: Vec<f64> = link.map(Measurement::error).collect();
    let made = regrets.len().max(1) as f64;
    Validation {
        strategies: all.len(),
        choices: regrets.len(),
        mean_error: mean(&errors).unwrap_or_default(),
        median_error: if errors.is_empty() { 0.0 } else { median(errors.clone()) },
        p90_error: quantile(&errors, 0.9),
        link_bound_error: mean(&link),
        rank_correlation: rank_correlation(&all),
        right: choices.iter().filter(|choice| right(choice)).count() as f64 / made,
        alike: regrets.iter().filter(|it| **it <= 1.0 + ALIKE).count() as f64 / made,
        mean_regret: mean(&regrets).unwrap_or(1.0),
        worst_regret: regrets.iter().copied().fold(1.0, f64::max),
    }
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// Returns the smallest of the sorted numbers that a fraction `part` of them does not exceed.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

/// Pearson's correlation of the ranks; equal numbers share the mean of their ranks.
fn rank_correlation(all: &[Measurement<'_>]) -> Option<f64> {
    let predicted = ranks(all.iter().map(|it| it.predicted));
    let measured = ranks(all.iter().map(|it| it.measured));
    let (a, b) = (mean(&predicted)?, mean(&measured)?);
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (x, y) in predicted.iter().zip(&measured) {
        both += (x - a) * (y - b);
        first += (x - a).powi(2);
        second += (y - b).powi(2);
    }
    let scale = (first * second).sqrt();
    (scale > 0.0).then(|| both / scale)
}

fn ranks(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let numbers: Vec<f64> = numbers.collect();
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut start = 0;
    for equals in order.chunk_by(|a, b| numbers[*a] == numbers[*b]) {
        let rank = start as f64 + (equals.len() - 1) as f64 / 2.0;
        for place in equals {
            ranks[*place] = rank;
        }
        start += equals.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(predicted: f64, measured: f64, taken: bool) -> Measurement<'static> {
        let strategy = if taken { "taken" } else { "other" };
        Measurement { strategy, predicted, measured, bound_by: None, taken }
    }

    #[track_caller]
    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn errors_are_relative_to_what_was_measured() {
        let link = Some(Resource::LINK);
        let choice = vec![
            Measurement { bound_by: link, ..observed(1.1, 1.0, true) },
            observed(3.0, 4.0, false),
            observed(2.0, 2.0, false),
        ];
        let found = validate(&[choice]);
        close(found.mean_error, 0.35 / 3.0);
        close(found.median_error, 0.1);
        close(found.p90_error, 0.25);
        close(found.link_bound_error.unwrap(), 0.1);
        assert_eq!((found.strategies, found.choices), (3, 1));
    }

    #[test]
    fn the_median_of_an_even_number_of_errors_is_between_two() {
        let errors = [1.0, 1.1, 1.3, 2.0].map(|predicted| observed(predicted, 1.0, false));
        close(validate(&[errors.to_vec()]).median_error, 0.2);
    }

    #[test]
    fn a_choice_is_right_if_nothing_was_clearly_faster() {
        let fastest = vec![observed(1.0, 1.0, true), observed(2.0, 2.0, false)];
        let alike = vec![observed(1.0, 1.04, true), observed(2.0, 1.0, false)];
        let wrong = vec![observed(1.0, 3.0, true), observed(2.0, 2.0, false)];
        let found = validate(&[fastest, alike, wrong]);
        close(found.right, 2.0 / 3.0);
        close(found.alike, 2.0 / 3.0);
        close(found.mean_regret, (1.0 + 1.04 + 1.5) / 3.0);
        close(found.worst_regret, 1.5);
    }

    /// The same plan took 1.2 s by choice and 1.0 s by name, and no other was better.
    #[test]
    fn a_strategy_is_no_better_than_itself() {
        let by_name = Measurement { strategy: "taken", ..observed(1.0, 1.0, false) };
        let slower = observed(2.0, 1.3, false);
        let right = validate(&[vec![observed(1.0, 1.2, true), by_name, slower]]);
        assert_eq!((right.right, right.alike), (1.0, 0.0));
        close(right.mean_regret, 1.2);
        let faster = observed(2.0, 1.04, false);
        assert_eq!(validate(&[vec![observed(1.0, 1.2, true), by_name, faster]]).right, 0.0);
    }

    #[test]
    fn ranks_are_what_is_correlated() {
        let of = |pairs: &[(f64, f64)]| {
            let all = pairs.iter().map(|(p, m)| observed(*p, *m, false)).collect();
            validate(&[all]).rank_correlation
        };
        close(of(&[(1.0, 10.0), (2.0, 1000.0), (3.0, 1001.0)]).unwrap(), 1.0);
        close(of(&[(3.0, 1.0), (2.0, 2.0), (1.0, 3.0)]).unwrap(), -1.0);
        // Kendall & Gibbons: 1 − 6 Σd² / n(n² − 1) with d² = 0, 1, 1, 0.
        close(of(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)]).unwrap(), 0.8);
        // Two equal numbers both have the mean of their ranks.
        close(of(&[(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)]).unwrap(), 0.75_f64.sqrt());
        assert_eq!(of(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn nothing_is_no_error() {
        let found = validate(&[]);
        assert_eq!((found.mean_error, found.right, found.mean_regret), (0.0, 0.0, 1.0));
    }
}
