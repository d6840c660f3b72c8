//! Figures 11, 14, 16 and 19: the stages of a query, measured and estimated.

use sluicegate_costmodel::Provenance;

use super::paper::SPARK;
use super::ranking::{Ranked, query, ranked};
use super::stages::{Scheduled, Stages};
use super::tpcds::{RANKING, SETUP_WORDS, estimated, ranking, stages};
use crate::chart::{Axis, Marks, Task};
use crate::{Chart, Outcome, Results, ResultsError, Run, Setting, Table};

/// Returns the run that lists the stages of a query, and the run of Table 2.
pub(super) fn runs<const QUERY: usize>(setting: &Setting) -> Vec<Run> {
    vec![stages(setting, QUERY), ranking(setting)]
}

/// The least part of the query's time that a stage takes which is drawn.
const SEEN: f64 = 0.01;

/// Draws the stages of a query.
pub(super) fn evaluate<const QUERY: usize>(
    _: &Setting,
    results: &Results,
) -> Result<Outcome, ResultsError> {
    let stages = Stages::of(results, &format!("stages of Q{QUERY}"))?;
    let of_table = ranked(results, RANKING)?;
    let of_table = query(results, &of_table, QUERY, RANKING)?;
    let mut outcome = Outcome::default();
    outcome.charts.push(chart::<QUERY>(&stages));
    outcome.tables.push(totals::<QUERY>(&stages, of_table));
    let rows = stages.stages.iter().zip(&stages.measured).zip(&stages.estimated);
    outcome.tables.push(Table {
        title: format!("Stages of query {QUERY}, with a device that needs {SETUP_WORDS} to set up"),
        columns: vec![
            "stage",
            "after",
            "seconds",
            "scan, filter and project, %",
            "with the device",
            "starts at",
            "starts at, with it",
        ],
        rows: rows
            .map(|((stage, measured), estimated)| {
                vec![
                    stage.stage.to_string(),
                    stage.after.clone(),
                    format!("{:.4}", stage.measured_s),
                    format!("{:.0}", stage.sfp_percent),
                    format!("{:.4}", stage.estimated_s),
                    format!("{:.4}", measured.0[0]),
                    format!("{:.4}", estimated.0[0]),
                ]
            })
            .collect(),
        provenance: estimated(),
    });
    outcome.remarks.push(
        "The stages and Table 2 come from different commands, each of which takes the median of five runs. Their times \
         differ by chance."
            .to_owned(),
    );
    Ok(outcome)
}

/// Draws the stages that take at least [`SEEN`] of the query's time.
fn chart<const QUERY: usize>(stages: &Stages) -> Chart {
    let total = stages.seconds()[0];
    let (unit, factor) = if total < 1.0 { ("milliseconds", 1000.0) } else { ("seconds", 1.0) };
    let length = |it: &Scheduled| it.0[1] - it.0[0];
    let is_seen = |at: &usize| {
        [&stages.measured, &stages.estimated]
            .into_iter()
            .any(|times| times.get(*at).is_some_and(|it| length(it) >= SEEN * total))
    };
    let seen: Vec<usize> = (0..stages.stages.len()).filter(is_seen).collect();
    let names: Vec<String> =
        seen.iter().map(|&at| format!("stage {}", stages.stages[at].stage)).collect();
    let scaled = |times: &[Scheduled]| -> Vec<Scheduled> {
        let times = seen.iter().filter_map(|&at| times.get(at));
        times.map(|(span, is_critical)| (span.map(|end| factor * end), *is_critical)).collect()
    };
    let hidden = match stages.stages.len() - seen.len() {
        0 => String::new(),
        count => format!("; not drawn: {count} below {:.0} % of its time", 100.0 * SEEN),
    };
    Chart {
        title: format!("Stages of query {QUERY}{hidden}"),
        x: Axis::linear(unit),
        y: Axis::default(),
        marks: Marks::Gantt(tasks(
            &names,
            ("measured", &scaled(&stages.measured)),
            ("estimated", &scaled(&stages.estimated)),
        )),
        provenance: Provenance::Modelled("icpe-2020; bars named measured are measured".into()),
    }
}

/// Returns two tasks for each stage: in the series before, and with the device.
pub(super) fn tasks(
    names: &[String],
    (before, measured): (&str, &[Scheduled]),
    (with_device, estimated): (&str, &[Scheduled]),
) -> Vec<Task> {
    let task = |name: &String, (span, is_critical): Scheduled, series: &str| Task {
        name: name.clone(),
        span,
        series: series.to_owned(),
        is_critical,
    };
    let both = names.iter().zip(measured).zip(estimated);
    both.flat_map(|((name, measured), estimated)| {
        [task(name, *measured, before), task(name, *estimated, with_device)]
    })
    .collect()
}

/// Returns the times of the query: of these stages, in the run of Table 2, and published.
fn totals<const QUERY: usize>(stages: &Stages, of_table: &Ranked) -> Table {
    let [before, after] = stages.seconds();
    let row = |name: &str, before: f64, after: f64, speedup: f64| {
        vec![
            name.to_owned(),
            stages.stages.len().to_string(),
            format!("{before:.4}"),
            format!("{after:.4}"),
            format!("{speedup:.2}"),
        ]
    };
    let mut rows = vec![
        row("here, this figure", before, after, before / after),
        row("here, Table 2", of_table.measured_s, of_table.estimated_s, of_table.speedup()),
    ];
    rows.extend(SPARK.iter().filter(|it| it.query == QUERY).map(|it| {
        vec![
            "published, Spark".to_owned(),
            it.stages.to_string(),
            it.seconds.to_string(),
            it.offloaded.to_string(),
            it.speedup.to_string(),
        ]
    }));
    Table {
        title: format!("Query {QUERY} as a whole"),
        columns: vec!["", "stages", "seconds", "with the device", "speed-up"],
        rows,
        provenance: estimated(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::icpe::stages::ListedStage;

    #[test]
    fn stages_that_cannot_be_seen_are_counted_in_the_title() {
        let listed = |stage| ListedStage { stage, ..ListedStage::default() };
        let stages = Stages {
            stages: vec![listed(0), listed(1), listed(2)],
            measured: vec![([0.0, 0.2], true), ([0.2, 0.2005], true), ([0.2, 0.3], true)],
            estimated: vec![([0.0, 0.1], true), ([0.1, 0.1005], true), ([0.1, 0.2], true)],
        };
        let drawn = chart::<9>(&stages);
        let title = "Stages of query 9; not drawn: 1 below 1 % of its time";
        assert_eq!((drawn.title.as_str(), drawn.x.title.as_str()), (title, "milliseconds"));
        let Marks::Gantt(tasks) = drawn.marks else { panic!("no stages") };
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["stage 0", "stage 0", "stage 2", "stage 2"]);
        assert!((tasks[0].span[1] - 200.0).abs() < 1e-9);
    }
}
