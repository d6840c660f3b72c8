//! Section 8.3: five runs of each randomized algorithm, intervals of 95 %, a failure in 10,000 queries.

use sluicegate_pruning::theory::confidence::student_t;
use sluicegate_pruning::theory::top_n::failure;

use super::bigdata::{VISITS, bigdata};
use super::fig10c::{DELTA, N, matrices};
use super::sweep::{Point, Sweep, percent, points, table};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The intervals of Figures 10 and 11 are computed again from single runs.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig10",
    title: "Five seeds, their intervals, and the probability of a failure",
    place: "Cheetah §8.3",
    method: Method::Live { runs, evaluate },
};

const SEEDS: [&str; 5] = ["0", "1", "2", "3", "4"];
const TOGETHER: &str = "five seeds";

fn runs(setting: &Setting) -> Vec<Run> {
    let sweep = |more: &[&str]| Sweep {
        algorithms: "distinct",
        over: vec!["d=4096..4096".to_owned()],
        input: VISITS,
        columns: "useragent",
        more: more.iter().map(|&it| it.to_owned()).collect(),
    };
    let data = bigdata(setting);
    let alone = SEEDS.iter().map(|seed| {
        sweep(&["--seeds", "1", "--first-seed", seed]).run(&format!("seed {seed}"), &data)
    });
    std::iter::once(sweep(&[]).run(TOGETHER, &data)).chain(alone).collect()
}

/// Returns the mean, and half the width of its interval by Student's t.
fn interval(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let degrees = u64::try_from(values.len()).unwrap_or(1).saturating_sub(1);
    (mean, (squares / (count - 1.0) / count).sqrt() * student_t(0.95, degrees))
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let names = SEEDS.map(|seed| format!("seed {seed}"));
    let alone = points(results, &names.each_ref().map(String::as_str))?;
    let together = points(results, &[TOGETHER])?;
    let shares: Vec<f64> = alone.iter().map(|point| point.forwarded).collect();
    let (mean, half) = interval(&shares);
    // The program prints four digits.
    let close = |printed: f64, computed: f64| (printed - computed).abs() <= 2e-3 * mean;
    let is_interval = |point: &Point| {
        close(point.forwarded, mean)
            && point.low.is_some_and(|low| close(low, mean - half))
            && point.high.is_some_and(|high| close(high, mean + half))
    };
    let agrees = together.first().is_some_and(|point| point.runs == 5 && is_interval(point));
    let greatest = matrices().into_iter().map(|it| failure(N, it)).fold(0.0_f64, f64::max);
    let mut outcome = Outcome::default();
    let found = format!("{} runs, 95 %, {:.3} %", shares.len(), 100.0 * (1.0 - greatest));
    outcome.decide("C29", found, agrees && greatest <= DELTA);
    outcome.note(match agrees {
        true => format!(
            "the sweeps run with five seeds, a t of {:.3} and matrices for {} %, so the numbers agree by construction. \
             Five single runs give the same interval as one sweep, {} ± {}",
            student_t(0.95, 4),
            100.0 * (1.0 - DELTA),
            percent(mean),
            percent(half)
        ),
        false => format!(
            "five single runs give {mean:.5} ± {half:.5}, which the sweep does not print"
        ),
    });
    let all: Vec<Point> = together.into_iter().chain(alone).collect();
    outcome.tables.push(table("DISTINCT with five seeds, together and alone", &all));
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the variance of 1 to 5 is 2.5, and Student's t with 4 degrees is 2.776.
    #[test]
    fn the_interval_is_students() {
        let (mean, half) = interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((mean - 3.0).abs() < 1e-12 && (half - 2.776_445 * 0.5_f64.sqrt()).abs() < 1e-4);
    }
}
