//! The sensitivity of a prediction to its constants: elasticities, a tornado chart, and Sobol's total indices.

use super::Uncertainty;
use crate::random::Random;
use crate::{Scenario, Steps, predict};

/// The relative change of a constant, up and down.
const STEP: f64 = 0.2;

/// The number of machines is excluded: it is chosen, so it is not uncertain, and it cannot change by a fifth.
const MACHINES: &str = "client.machines";

/// The predicted quantity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Output {
    /// The time, in seconds.
    #[default]
    Time,
    /// The bill, in dollars.
    Dollars,
}

impl Output {
    /// Predicts this quantity for these steps.
    #[must_use]
    pub fn evaluate(self, steps: &Steps, scenario: &Scenario) -> f64 {
        let wall = predict(steps, &scenario.hardware).total();
        match self {
            Self::Time => wall.as_secs_f64(),
            Self::Dollars => {
                let mut work = steps.work();
                work.wall = wall;
                work.store = steps.store_time(&scenario.hardware);
                scenario.prices.cost(&work).total().0
            }
        }
    }
}

/// The sensitivity of a prediction to one constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivity {
    /// The constant's key.
    pub key: String,
    /// The constant's value.
    pub value: f64,
    /// The prediction with the value reduced by 20 %, in seconds or dollars.
    pub less: f64,
    /// The prediction with the value increased by 20 %, or up to its limit.
    pub more: f64,
    /// The percentage by which the prediction grows if the constant grows by 1 %, between [`Self::less`] and
    /// [`Self::more`]. It is −1 for the rate that binds, and 1 for a price that makes up the whole bill.
    pub elasticity: f64,
    /// The fraction of the prediction's variance, 0 to 1, that would remain if all other constants were known:
    /// Sobol's total index. It is 0 for exact constants.
    pub total: f64,
    /// The standard error of `total`, from the scatter of the samples.
    pub total_error: f64,
}

impl Sensitivity {
    /// The length of the constant's bar in a tornado chart.
    #[must_use]
    pub fn swing(&self) -> f64 {
        (self.more - self.less).abs()
    }
}

/// The sensitivities of a prediction, the longest [`Sensitivity::swing`] first. Constants without an effect are left
/// out.
///
/// Total indices are estimated by Saltelli's sampling and Jansen's estimator (Saltelli et al., Computer Physics
/// Communications 2010, table 2) from `samples` samples. Each needs one prediction for every constant that matters,
/// and one more. The same seed gives the same numbers.
#[must_use]
pub fn sensitivity(
    steps: &Steps,
    scenario: &Scenario,
    uncertainty: &Uncertainty,
    output: Output,
    samples: u32,
    seed: u64,
) -> Vec<Sensitivity> {
    let here = output.evaluate(steps, scenario);
    let totals = totals(steps, scenario, uncertainty, output, samples, seed);
    let mut all = Vec::new();
    for (key, value) in scenario.constants() {
        // Zero and infinity do not change by 20 %, and machines are whole.
        if !(value > 0.0 && value.is_finite()) || key == MACHINES {
            continue;
        }
        let total = uncertainty.constants.keys().position(|known| *known == key);
        let (total, total_error) = total.map_or((0.0, 0.0), |place| totals[place]);
        let [less, more] = [1.0 - STEP, 1.0 + STEP].map(|factor| {
            let wanted = Scenario::nearest(&key, value * factor);
            (wanted, at(steps, scenario, output, &key, (value, here), wanted))
        });
        let (ratio, of) = ((more.1 / less.1).ln(), (more.0 / less.0).ln());
        let elasticity = if ratio.is_finite() && of > 0.0 { ratio / of } else { 0.0 };
        let (less, more) = (less.1, more.1);
        if less != here || more != here || total > 0.0 {
            all.push(Sensitivity { key, value, less, more, elasticity, total, total_error });
        }
    }
    all.sort_by(|a, b| b.swing().total_cmp(&a.swing()).then(b.total.total_cmp(&a.total)));
    all
}

/// The prediction with another value of one constant.
///
/// A profile cannot hold a fraction of a nanosecond or of a core. For these values, the prediction is interpolated
/// linearly between two values that it can hold.
fn at(
    steps: &Steps,
    scenario: &Scenario,
    output: Output,
    key: &str,
    (value, here): (f64, f64),
    wanted: f64,
) -> f64 {
    let unit = if key.ends_with("_seconds") { 1e-9 } else { 1.0 };
    let mut other = scenario.clone();
    for step in [wanted, value + unit * (wanted - value).signum()] {
        if other.set(key, Scenario::nearest(key, step)).is_err() {
            break;
        }
        let kept = other.get(key).unwrap_or(value);
        if (kept - value).abs() > f64::EPSILON * value {
            let there = output.evaluate(steps, &other);
            return here + (there - here) * (wanted - value) / (kept - value);
        }
    }
    here
}

/// The number of samples after which a constant without any effect so far is skipped.
const MIN_SAMPLES: u32 = 64;

/// Sobol's total indices with their standard errors, in the order of the uncertain constants.
fn totals(
    steps: &Steps,
    scenario: &Scenario,
    uncertainty: &Uncertainty,
    output: Output,
    samples: u32,
    seed: u64,
) -> Vec<(f64, f64)> {
    let mut random = Random::new(seed);
    let constants = uncertainty.constants.len();
    let mut outputs = Vec::new();
    // For each constant, the sum of its squared differences, and the sum of the squares of these.
    let mut differences = vec![(0.0, 0.0); constants];
    let of = |deviations: &[f64]| output.evaluate(steps, &uncertainty.drawn(scenario, deviations));
    for sample in 0..samples.max(2) {
        let mut draw = || (0..constants).map(|_| random.normal()).collect::<Vec<_>>();
        let (mut deviations, others) = (draw(), draw());
        let whole = of(&deviations);
        outputs.push(whole);
        for (place, (sum, squares)) in differences.iter_mut().enumerate() {
            if sample >= MIN_SAMPLES && *sum == 0.0 {
                continue;
            }
            let own = std::mem::replace(&mut deviations[place], others[place]);
            let difference = (whole - of(&deviations)).powi(2);
            *sum += difference;
            *squares += difference.powi(2);
            deviations[place] = own;
        }
    }
    let many = outputs.len() as f64;
    let mean = outputs.iter().sum::<f64>() / many;
    let variance = outputs.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / many;
    let index = |(sum, squares): (f64, f64)| {
        if variance <= 0.0 {
            return (0.0, 0.0);
        }
        let scatter = (squares / many - (sum / many).powi(2)).max(0.0);
        let error = (scatter / many).sqrt() / (2.0 * variance);
        ((sum / (2.0 * many * variance)).min(1.0), error)
    };
    differences.into_iter().map(index).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Bytes, BytesPerSecond, HardwareProfile, Phase, Requests};

    const CLIENT: &str = "client.csv_bytes_per_second";
    const LINK: &str = "link.bytes_per_second";
    const STARTUP: &str = "client.startup_seconds";

    fn get() -> Steps {
        Phase { gets: Requests(960), got: Bytes::gib(7), ..Phase::default() }.into()
    }

    fn find(all: &[Sensitivity], key: &str) -> Sensitivity {
        all.iter().find(|it| it.key == key).unwrap().clone()
    }

    fn tornado(scenario: &Scenario, output: Output) -> Vec<Sensitivity> {
        sensitivity(
            &get(),
            scenario,
            &Uncertainty::from_profile(&scenario.hardware),
            output,
            512,
            1,
        )
    }

    #[test]
    fn the_binding_rate_matters_most() {
        let all = tornado(&Scenario::default(), Output::Time);
        assert_eq!(all[0].key, CLIENT);
        // The client parses for 21.0 of 21.4 s.
        assert!((all[0].elasticity + 0.98).abs() < 0.01, "{}", all[0].elasticity);
        assert!(all[0].less > all[0].more && all[0].total > 0.9);
        // The client's cores have the same effect on parsing, but their number is exact.
        let cores = find(&all, "client.cores");
        assert!(cores.elasticity < -0.9 && cores.total == 0.0);
        // A perfect pipeline hides the link, at any rate within its interval.
        assert!(!all.iter().any(|it| it.key == LINK));
        assert!(!all.iter().any(|it| it.key.starts_with("prices.")));
    }

    #[test]
    fn prices_matter_to_dollars() {
        let all = tornado(&Scenario::default(), Output::Dollars);
        let rent = find(&all, "prices.compute.per_hour");
        let gets = find(&all, "prices.requests.get");
        assert!((rent.elasticity + gets.elasticity - 1.0).abs() < 0.01, "{rent:?}, {gets:?}");
        assert_eq!((rent.total, gets.total), (0.0, 0.0));
        assert!(rent.less < rent.more);
    }

    /// Other seeds give the same indices, to within the error.
    #[test]
    fn total_indices_hardly_depend_on_the_seed() {
        let hardware = HardwareProfile::by_name("aws-in-region").unwrap().clone();
        let scenario = Scenario { hardware, ..Scenario::default() };
        let uncertainty = Uncertainty::from_profile(&scenario.hardware);
        let totals = |seed| {
            sensitivity(&get(), &scenario, &uncertainty, Output::Time, 4096, seed)
                .into_iter()
                .map(|it| (it.key, (it.total, it.total_error)))
                .collect::<std::collections::BTreeMap<_, _>>()
        };
        let first = totals(1);
        assert!(first.values().any(|(total, _)| *total > 0.3), "{first:?}");
        for seed in 2..4 {
            for (key, (total, error)) in totals(seed) {
                let (expected, _) = first.get(&key).copied().unwrap_or_default();
                assert!((total - expected).abs() < 0.05, "{key}: {total}, {expected}");
                assert!(error < 0.03, "{key}: {error}");
            }
        }
    }

    /// For a sum of two independent times, the parts of the variance are the squares of their deviations.
    #[test]
    fn total_indices_of_a_sum_are_known() {
        let mut scenario = Scenario::default();
        scenario.hardware.client.startup = Duration::from_secs(10);
        scenario.hardware.link.latency = Duration::from_secs(10);
        let steps = Steps::from(Phase { gets: Requests(1), ..Phase::default() });
        let constants = [
            (STARTUP.to_owned(), [9.0, 10.0 / 0.9]),
            ("link.latency_seconds".to_owned(), [9.0_f64.powi(2) / 10.0, 10.0 / 0.9 / 0.9]),
            (LINK.to_owned(), [1e9, 2e9]),
        ];
        let uncertainty = Uncertainty { constants: constants.into(), model: 0.0 };
        let all = sensitivity(&steps, &scenario, &uncertainty, Output::Time, 20_000, 1);
        // Twice the deviation is four times the variance.
        let (startup, latency) =
            (find(&all, STARTUP).total, find(&all, "link.latency_seconds").total);
        assert!((startup - 0.2).abs() < 0.015, "{startup}");
        assert!((latency - 0.8).abs() < 0.03, "{latency}");
        assert!(all.iter().all(|it| it.key != LINK));
    }

    /// Times are rounded to nanoseconds, which is more than 20 % of some of them.
    #[test]
    fn times_of_few_nanoseconds_are_changed_by_twenty_percent() {
        let mut scenario = Scenario::default();
        scenario.hardware.client.csv_bytes_per_second = BytesPerSecond::UNLIMITED;
        scenario.hardware.link.bytes_per_second = BytesPerSecond::UNLIMITED;
        scenario.hardware.client.startup = Duration::ZERO;
        scenario.hardware.client.per_value = Some(Duration::from_nanos(1));
        let steps = Steps::from(Phase { values: 1e15, gets: Requests(32), ..Phase::default() });
        let exact = Uncertainty { constants: [].into(), model: 0.0 };
        let all = sensitivity(&steps, &scenario, &exact, Output::Time, 2, 1);
        let value = find(&all, "client.value_seconds");
        assert!((value.less * 32.0 / 1e6 - 0.8).abs() < 1e-3, "{value:?}");
        assert!((value.more * 32.0 / 1e6 - 1.2).abs() < 1e-3, "{value:?}");
        assert!((value.elasticity - 1.0).abs() < 1e-3);
    }
}
