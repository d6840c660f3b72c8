//! Figure 8: the Scan Ratio over the use of the CPU, by which the paper selects queries.

use std::collections::BTreeMap;

use sluicegate_costmodel::Provenance;

use super::paper::{QUERIES, SPARK};
use super::ranking::{Ranked, ranked};
use super::tpcds::all_queries;
use crate::chart::{Axis, Marks, PointSeries};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig8",
    title: "Scan Ratio against the use of the CPU, and the four quadrants",
    place: "ICPE §6.1, Figure 8",
    method: Method::Live { runs, evaluate },
};

fn runs(setting: &Setting) -> Vec<Run> {
    vec![all_queries(setting)]
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let queries = ranked(results, "all queries")?;
    let mut quadrants: BTreeMap<&str, Vec<&Ranked>> = BTreeMap::new();
    for query in &queries {
        let quadrant = query.quadrant.as_deref().unwrap_or("unknown");
        quadrants.entry(quadrant).or_default().push(query);
    }
    let mut outcome = Outcome::default();
    let mut series: Vec<PointSeries> = quadrants
        .iter()
        .map(|(quadrant, queries)| PointSeries {
            name: (*quadrant).to_owned(),
            points: queries.iter().filter_map(|it| point(it)).collect(),
            is_published: false,
        })
        .collect();
    series.push(published());
    outcome.charts.push(Chart {
        title: "Queries by their Scan Ratio and their use of the CPU".to_owned(),
        x: Axis::linear("Scan Ratio, %"),
        y: Axis::linear("cores busy, %"),
        marks: Marks::Points(series),
        provenance: Provenance::Measured,
    });
    let row = |(quadrant, queries): (&&str, &Vec<&Ranked>)| {
        let names: Vec<String> = queries.iter().map(|it| format!("Q{}", it.number())).collect();
        vec![(*quadrant).to_owned(), queries.len().to_string(), names.join(" ")]
    };
    outcome.tables.push(Table {
        title: "Queries of each quadrant, which halves end at 50 %".to_owned(),
        columns: vec!["quadrant", "queries", "names"],
        rows: quadrants.iter().map(row).collect(),
        provenance: Provenance::Measured,
    });
    Ok(outcome)
}

fn point(query: &Ranked) -> Option<(f64, f64, String)> {
    let is_labelled = QUERIES.contains(&query.number());
    let label = if is_labelled { format!("Q{}", query.number()) } else { String::new() };
    Some((100.0 * query.scan_ratio, 100.0 * query.busy?, label))
}

/// The five queries of Table 2.
fn published() -> PointSeries {
    PointSeries {
        name: "published, Spark".to_owned(),
        points: SPARK
            .iter()
            .map(|it| (it.scan_ratio, it.cpu[0], format!("Q{}", it.query)))
            .collect(),
        is_published: true,
    }
}
