//! Figure 12: reading a result out of the switch.

use sluicegate_costmodel::completion::Testbed;

use super::completion::provenance;
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// The microbenchmark of appendix F, modelled: its numbers are not in the text, and the rate is assumed.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig12",
    title: "Time to read a result out of the switch, and to send it while it is pruned",
    place: "Cheetah appendix F, Figure 12",
    method: Method::Computed(compute),
};

fn compute() -> Outcome {
    let testbed = Testbed::cheetah();
    let link = testbed.packets_per_second(testbed.setup().link);
    let point = |power: i32| {
        let entries = 10_f64.powi(power);
        [entries, entries / testbed.drained.value, entries / link]
    };
    let points: Vec<[f64; 3]> = (2..=7).map(point).collect();
    let mut outcome = Outcome::default();
    outcome.tables.push(Table {
        title: format!(
            "Seconds at {} entries per second out of the switch ({})",
            testbed.drained.value, testbed.drained.source
        ),
        columns: vec!["entries of the result", "read out of the switch", "sent over the link"],
        rows: points
            .iter()
            .map(|[entries, drained, sent]| {
                vec![entries.to_string(), format!("{drained:.4}"), format!("{sent:.6}")]
            })
            .collect(),
        provenance: provenance(),
    });
    let line = |name: &str, part: usize| Line::new(name, points.iter().map(|it| (it[0], it[part])));
    outcome.charts.push(Chart {
        title: EXPERIMENT.title.to_owned(),
        x: Axis::logarithmic("entries of the result"),
        y: Axis::logarithmic("seconds"),
        marks: Marks::Lines(vec![line("NetAccel, read out", 1), line("Cheetah, sent", 2)]),
        provenance: provenance(),
    });
    outcome
}
