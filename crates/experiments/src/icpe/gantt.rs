//! Figures 11, 14, 16 and 19: the stages of a query, measured and estimated.

use sluicegate_costmodel::Provenance;

use super::paper::SPARK;
use super::stages::{Scheduled, Stages};
use super::tpcds::{SETUP, stages};
use crate::chart::{Axis, Marks, Task};
use crate::{Chart, Outcome, Results, ResultsError, Run, Setting, Table};

/// Returns the run that lists the stages of a query.
pub(super) fn runs<const QUERY: usize>(setting: &Setting) -> Vec<Run> {
    vec![stages(setting, QUERY)]
}

/// Draws the stages of a query.
pub(super) fn evaluate<const QUERY: usize>(
    _: &Setting,
    results: &Results,
) -> Result<Outcome, ResultsError> {
    let stages = Stages::of(results, &format!("stages of Q{QUERY}"))?;
    let names: Vec<String> = stages.stages.iter().map(|it| format!("stage {}", it.stage)).collect();
    let provenance = Provenance::Modelled("icpe-2020".into());
    let mut outcome = Outcome::default();
    outcome.charts.push(Chart {
        title: format!("Stages of query {QUERY}"),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Gantt(tasks(
            &names,
            ("measured", &stages.measured),
            ("estimated", &stages.estimated),
        )),
        provenance: provenance.clone(),
    });
    outcome.tables.push(totals::<QUERY>(&stages));
    let rows = stages.stages.iter().zip(&stages.measured).zip(&stages.estimated);
    outcome.tables.push(Table {
        title: format!("Stages of query {QUERY}, with a device that needs {SETUP} to set up"),
        columns: vec![
            "stage",
            "after",
            "seconds",
            "S/F/P, %",
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
        provenance,
    });
    Ok(outcome)
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

fn totals<const QUERY: usize>(stages: &Stages) -> Table {
    let [before, after] = stages.seconds();
    let mut rows = vec![vec![
        "here".to_owned(),
        stages.stages.len().to_string(),
        format!("{before:.4}"),
        format!("{after:.4}"),
        format!("{:.2}", before / after),
    ]];
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
        provenance: Provenance::Modelled("icpe-2020".into()),
    }
}
