//! Figure 6: completion times by the entries of a partition and by the number of workers.

use sluicegate_costmodel::completion::Figure;

use super::completion::{NO_TIMES, cases, lines, table};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome};

/// Figure 6a, without Spark: [`workers`](super::workers) has our own workers in its place.
pub const PARTITIONS: Experiment = Experiment {
    id: "cheetah/fig6a",
    title: "Completion times by the entries of a partition",
    place: "Cheetah §8.2.2, Figure 6a",
    method: Method::Computed(|| outcome(Figure::Partitions, Axis::linear("entries per partition"))),
};

/// Figure 6b, without Spark.
pub const WORKERS: Experiment = Experiment {
    id: "cheetah/fig6b",
    title: "Completion times by the number of workers",
    place: "Cheetah §8.2.2, Figure 6b",
    method: Method::Computed(|| outcome(Figure::Workers, Axis::linear("workers"))),
};

fn outcome(figure: Figure, x: Axis) -> Outcome {
    let cases = cases(figure);
    let title = format!("Completion times by {}", x.title);
    Outcome {
        tables: vec![table(figure, &cases)],
        charts: vec![lines(&title, x, &cases)],
        remarks: vec![NO_TIMES.to_owned()],
        ..Outcome::default()
    }
}
