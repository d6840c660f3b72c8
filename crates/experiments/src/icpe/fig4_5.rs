//! Figures 4 and 5: six stages before and after a device takes their scans.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::storage::{
    Device, Formula, Schedule, Setup, Slots, Stage, StageGraph, estimate,
};

use super::gantt::tasks;
use super::stages::Scheduled;
use crate::chart::{Axis, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Table};

/// The worked example.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig4-5",
    title: "Six stages before and after a device takes their scans",
    place: "ICPE §5.2, Figures 4 and 5",
    method: Method::Computed(compute),
};

/// Stages with their seconds of scan, filter and project, their other seconds, and the stages that they wait for. The
/// paper prints the first and the last; the others are chosen so that the query takes 18 s.
const STAGES: [(f64, f64, &[u64]); 6] = [
    (1.0, 2.0, &[]),
    (5.0, 2.0, &[]),
    (8.0, 2.0, &[]),
    (0.0, 5.0, &[1]),
    (0.0, 4.0, &[2]),
    (0.0, 4.0, &[0, 3, 4]),
];

fn compute() -> Outcome {
    let mut outcome = Outcome::default();
    let stage = |(id, (scan, rest, after)): (u64, &(f64, f64, &[u64]))| Stage {
        id,
        wall_seconds: scan + rest,
        thread_seconds: scan + rest,
        scan_seconds: *scan,
        after: after.to_vec(),
        ..Stage::default()
    };
    let (Ok(graph), Some(device)) =
        (StageGraph::new((0..).zip(&STAGES).map(stage).collect()), Device::by_name("icpe-2020"))
    else {
        return outcome;
    };
    let of = |formula| estimate(&graph, device, Setup::Always, formula, Slots::Unlimited);
    let (intended, printed) = (of(Formula::Intended), of(Formula::AsPrinted));
    let [before, after, literal] =
        [intended.before.makespan, intended.after.makespan, printed.after.makespan];
    outcome.decide("I05", format!("{before}, {after}"), (before, after) == (18.0, 12.0));
    outcome.decide("I08", literal.to_string(), literal == 17.0);
    let path =
        |stages: &[usize]| stages.iter().map(usize::to_string).collect::<Vec<_>>().join(" → ");
    let row = |name: &str, seconds: f64, critical: &[usize]| {
        vec![name.to_owned(), seconds.to_string(), path(critical)]
    };
    let names: Vec<String> = graph.stages().iter().map(|it| format!("stage {}", it.id)).collect();
    outcome.charts.push(Chart {
        title: "Six stages, measured and estimated".to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Gantt(tasks(
            &names,
            &scheduled(&intended.before),
            &scheduled(&intended.after),
        )),
        provenance: Provenance::Modelled(device.name.clone().into()),
    });
    outcome.tables.push(Table {
        title: "The query with and without the device".to_owned(),
        columns: vec!["way", "seconds", "critical path"],
        rows: vec![
            row("without the device", before, &intended.before.critical_path),
            row("with it", after, &intended.after.critical_path),
            row("with it, by the formula as printed", literal, &printed.after.critical_path),
        ],
        provenance: Provenance::Modelled(device.name.clone().into()),
    });
    outcome
}

/// Returns the start and end of each stage, and whether it is on the critical path.
fn scheduled(schedule: &Schedule) -> Vec<Scheduled> {
    let is_critical = |place: usize| schedule.critical_path.contains(&place);
    let times = schedule.times.iter().enumerate();
    times.map(|(place, (start, end))| ([*start, *end], is_critical(place))).collect()
}
