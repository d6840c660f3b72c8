//! Figure 7: NetAccel, whose switch keeps the result.

use sluicegate_costmodel::completion::{Figure, System};

use super::completion::{NO_TIMES, cases, lines, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig7",
    title: "Completion times by the size of the result, beside a switch that keeps the result",
    place: "Cheetah §8.2.4, Figure 7",
    method: Method::Computed(compute),
};

fn compute() -> Outcome {
    let cases = cases(Figure::Results);
    let of = |system: System| {
        let those = cases.iter().filter(move |it| it.system == system && it.query == "GroupBy");
        those.map(|it| it.completion.total().as_secs_f64())
    };
    let gaps: Vec<f64> =
        of(System::Pruning).zip(of(System::Keeping)).map(|(pruned, kept)| kept - pruned).collect();
    let grows = gaps.windows(2).all(|pair| pair[0] < pair[1]) && gaps.iter().all(|gap| *gap > 0.0);
    let mut outcome = Outcome::default();
    let (first, last) = (gaps.first().unwrap_or(&0.0), gaps.last().unwrap_or(&0.0));
    outcome.decide("C27", format!("{first:.2} s to {last:.2} s slower"), grows);
    outcome.note(
        "the model reads a result out at an assumed rate, so a larger result takes longer by construction",
    );
    outcome.tables.push(table(Figure::Results, &cases));
    outcome.remarks.push(NO_TIMES.to_owned());
    let x = Axis::logarithmic("entries of the result");
    let chart = lines("Completion times by the size of the result", x, &cases);
    outcome.charts.push(Chart { y: Axis::logarithmic("seconds"), ..chart });
    outcome
}
