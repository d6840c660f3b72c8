//! Predictions with intervals, by the Monte Carlo method.

use std::time::Duration;

use super::Uncertainty;
use crate::choice::sort_best_first;
use crate::random::Random;
use crate::rate::seconds;
use crate::{Choice, Dollars, Scenario, predict};

/// The 10th, 50th and 90th percentile of a quantity.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval<T> {
    /// One case in ten is below this value.
    pub p10: T,
    /// The median.
    pub p50: T,
    /// One case in ten is above this value.
    pub p90: T,
}

impl<T> Interval<T> {
    pub(crate) fn map<R>(self, of: impl Fn(T) -> R) -> Interval<R> {
        Interval { p10: of(self.p10), p50: of(self.p50), p90: of(self.p90) }
    }
}

/// A strategy with intervals of its predictions and the probability that it is the best.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyInterval<S> {
    /// The strategy, in the caller's own type.
    pub strategy: S,
    /// The interval of its time.
    pub time: Interval<Duration>,
    /// The interval of its bill.
    pub dollars: Interval<Dollars>,
    /// The probability, 0 to 1, that this strategy would be chosen if all constants were known.
    pub best: f64,
    /// The mean ratio of its score to the best one's, in the quantity that is minimised: 1 if it is always the best.
    pub regret: f64,
}

/// The alternatives of a choice with intervals, in the order of the choice: the chosen one first.
///
/// All alternatives share the constants of each of the `draws`. The model's own error is drawn for each alone. The
/// same seed gives the same numbers.
#[must_use]
pub fn intervals<S: Clone>(
    choice: &Choice<S>,
    scenario: &Scenario,
    uncertainty: &Uncertainty,
    draws: u32,
    seed: u64,
) -> Vec<StrategyInterval<S>> {
    let mut random = Random::new(seed);
    let draws = draws.max(1);
    let ways: Vec<_> = choice.alternatives().collect();
    let mut drawn = vec![(Vec::new(), Vec::new()); ways.len()];
    let mut best = vec![0u32; ways.len()];
    let mut regret = vec![0.0; ways.len()];
    for _ in 0..draws {
        let deviations: Vec<f64> = uncertainty.constants.iter().map(|_| random.normal()).collect();
        let Scenario { hardware, prices } = uncertainty.drawn(scenario, &deviations);
        let outcomes: Vec<(f64, f64)> = ways
            .iter()
            .map(|way| {
                let unexplained = (uncertainty.model * random.normal()).exp();
                let time = predict(&way.steps, &hardware).total().as_secs_f64() * unexplained;
                let mut work = way.steps.work();
                work.wall = seconds(time);
                work.store = way.steps.store_time(&hardware);
                (time, prices.cost(&work).total().0)
            })
            .collect();
        let scores: Vec<f64> =
            outcomes.iter().map(|it| choice.objective.score(it.0, it.1).0).collect();
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        for (sum, score) in regret.iter_mut().zip(scores) {
            *sum += if score > least { score / least } else { 1.0 };
        }
        let mut order: Vec<usize> = (0..ways.len()).collect();
        sort_best_first(&mut order, choice.objective, |way| outcomes[*way]);
        best[order[0]] += 1;
        for (of, (time, dollars)) in drawn.iter_mut().zip(outcomes) {
            of.0.push(time);
            of.1.push(dollars);
        }
    }
    let part = |sum: f64| sum / f64::from(draws);
    let numbers = drawn.into_iter().zip(best).zip(regret);
    ways.into_iter()
        .zip(numbers)
        .map(|(way, (((time, dollars), best), regret))| StrategyInterval {
            strategy: way.strategy.clone(),
            time: percentiles(time).map(seconds),
            dollars: percentiles(dollars).map(Dollars),
            best: part(f64::from(best)),
            regret: part(regret),
        })
        .collect()
}

/// The percentiles of one or more numbers.
pub(crate) fn percentiles(mut all: Vec<f64>) -> Interval<f64> {
    all.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = part * (all.len() - 1) as f64;
        let (below, above) = (all[place.floor() as usize], all[place.ceil() as usize]);
        below + (above - below) * place.fract()
    };
    Interval { p10: at(0.1), p50: at(0.5), p90: at(0.9) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Candidate, Objective, Phase, Requests, Rows, Steps, choose};

    /// A choice between a GET of this many MiB and a Select that scans 7 GiB.
    fn choice(objective: Objective, mib: u64) -> Choice<&'static str> {
        let get = Phase { gets: Requests(96), got: Bytes::mib(mib), ..Phase::default() };
        let select = Phase {
            selects: Requests(96),
            scanned: Bytes::gib(7),
            scanned_rows: Rows(60_000_000),
            terms: 1.into(),
            returned: Bytes::kib(80),
            ..Phase::default()
        };
        let Scenario { hardware, prices } = Scenario::default();
        let get = Candidate { strategy: "get", steps: get.into() };
        let select = Candidate { strategy: "select", steps: select.into() };
        choose(get, [select], &hardware, &prices, objective)
    }

    fn likely(choice: &Choice<&'static str>, seed: u64) -> Vec<StrategyInterval<&'static str>> {
        let scenario = Scenario::default();
        intervals(choice, &scenario, &Uncertainty::from_profile(&scenario.hardware), 2000, seed)
    }

    #[test]
    fn a_seed_decides_the_intervals() {
        let choice = choice(Objective::Time, 7 * 1024);
        assert_eq!(likely(&choice, 1), likely(&choice, 1));
        assert_ne!(likely(&choice, 1), likely(&choice, 2));
    }

    #[test]
    fn a_clear_choice_is_certain_and_a_close_one_is_not() {
        let clear = likely(&choice(Objective::Time, 7 * 1024), 1);
        assert_eq!((clear[0].strategy, clear[0].best, clear[0].regret), ("select", 1.0, 1.0));
        assert_eq!(clear[1].best, 0.0);
        assert!(clear[1].regret > 5.0, "{}", clear[1].regret);
        assert!(clear[0].time.p90 < clear[1].time.p10);
        // A Python client takes about as long for this many bytes as the store takes for the scan.
        let close = likely(&choice(Objective::Time, 380), 1);
        assert!((0.1..0.9).contains(&close[0].best), "{}", close[0].best);
        assert!((close[0].best + close[1].best - 1.0).abs() < 1e-9);
        assert!(close[0].regret > 1.0 && close[0].regret < 1.5);
    }

    /// An exact model with exact constants has no interval, and its median is the prediction.
    #[test]
    fn exact_constants_and_an_exact_model_leave_no_interval() {
        let choice = choice(Objective::Dollars, 7 * 1024);
        let exact = Uncertainty { constants: [].into(), model: 0.0 };
        for (it, way) in intervals(&choice, &Scenario::default(), &exact, 10, 1)
            .iter()
            .zip(choice.alternatives())
        {
            let time = way.time.total();
            assert_eq!(it.time, Interval { p10: time, p50: time, p90: time });
            assert_eq!(it.dollars.p90, way.cost.total());
        }
        // With the model's error alone, one case in ten is more than 1.28 standard deviations above the median.
        let model = Uncertainty { model: 0.1, ..exact };
        let some = intervals(&choice, &Scenario::default(), &model, 20_000, 1);
        let spread = some[0].time.p90.as_secs_f64() / some[0].time.p50.as_secs_f64();
        assert!((spread.ln() - 0.128).abs() < 0.003, "{spread}");
    }

    /// A time that one rate binds is as uncertain as that rate.
    #[test]
    fn the_interval_of_a_rate_becomes_that_of_the_time() {
        let steps =
            Steps::from(Phase { gets: Requests(96), got: Bytes::gib(100), ..Phase::default() });
        let scenario = Scenario::default();
        let way = Candidate { strategy: (), steps };
        let choice = choose(way, [], &scenario.hardware, &scenario.prices, Objective::Time);
        let key = "client.csv_bytes_per_second".to_owned();
        let rate = scenario.get(&key).unwrap();
        let uncertainty =
            Uncertainty { constants: [(key, [rate / 1.2, rate * 1.2])].into(), model: 0.0 };
        let [only] = &intervals(&choice, &scenario, &uncertainty, 20_000, 1)[..] else { panic!() };
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
        // 1.2 at 1.96 standard deviations is 1.127 at 1.28 of them.
        assert!((ratio(only.time.p90, only.time.p50) - 1.127).abs() < 0.005);
        assert!((ratio(only.time.p50, only.time.p10) - 1.127).abs() < 0.005);
        assert!((ratio(only.time.p50, choice.chosen.time.total()) - 1.0).abs() < 0.005);
    }
}
