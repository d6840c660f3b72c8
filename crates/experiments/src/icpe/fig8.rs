//! Figure 8: the Scan Ratio over the use of the CPU, by which the paper selects queries.

use std::collections::BTreeMap;

use sluicegate_costmodel::Provenance;

use super::paper::{QUERIES, SPARK, Spark};
use super::ranking::{Ranked, all_ranked, at_most_all};
use super::tpcds::{REPEATED, all_queries, ranking};
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
    vec![all_queries(setting), ranking(setting)]
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let queries = all_ranked(results)?;
    let mut quadrants: BTreeMap<&str, Vec<&Ranked>> = BTreeMap::new();
    for query in &queries {
        let quadrant = query.quadrant.as_deref().unwrap_or("unknown");
        quadrants.entry(quadrant).or_default().push(query);
    }
    let mut outcome = Outcome::default();
    // Labels of the first series have the free places.
    let ours = quadrants.iter().map(|(quadrant, queries)| PointSeries {
        name: (*quadrant).to_owned(),
        points: queries.iter().filter_map(|it| point(it)).collect(),
        is_published: false,
    });
    let series: Vec<PointSeries> = std::iter::once(published()).chain(ours).collect();
    outcome.charts.push(Chart {
        title: format!(
            "Queries at scale factor {} by their Scan Ratio and their use of the CPU",
            setting.scale
        ),
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
        title: "Queries of each quadrant, with borders at 50 %".to_owned(),
        columns: vec!["quadrant", "queries", "names"],
        rows: quadrants.iter().map(row).collect(),
        provenance: Provenance::Measured,
    });
    outcome.tables.push(beside_spark(&queries));
    outcome.remarks.push(REPEATED.to_owned());
    Ok(outcome)
}

/// Returns the queries of Table 2, here and in Spark.
fn beside_spark(queries: &[Ranked]) -> Table {
    let row = |it: &Spark| {
        let here = queries.iter().find(|query| query.number() == it.query);
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "–".to_owned(), |share| format!("{:.0}", 100.0 * share))
        };
        vec![
            format!("Q{}", it.query),
            percent(here.map(|query| query.scan_ratio)),
            it.scan_ratio.to_string(),
            percent(here.and_then(|query| query.busy)),
            it.cpu[0].to_string(),
        ]
    };
    Table {
        title: "The five queries of Table 2, in percent".to_owned(),
        columns: vec![
            "query",
            "Scan Ratio",
            "Scan Ratio, published",
            "cores busy",
            "cores busy, published",
        ],
        rows: SPARK.iter().map(row).collect(),
        provenance: Provenance::Measured,
    }
}

fn point(query: &Ranked) -> Option<(f64, f64, String)> {
    let is_labelled = QUERIES.contains(&query.number());
    let label = if is_labelled { format!("Q{}", query.number()) } else { String::new() };
    Some((100.0 * query.scan_ratio, at_most_all(query.busy?), label))
}

/// The five queries of Table 2.
fn published() -> PointSeries {
    PointSeries {
        name: "Spark, published".to_owned(),
        points: SPARK
            .iter()
            .map(|it| (it.scan_ratio, it.cpu[0], format!("Q{}", it.query)))
            .collect(),
        is_published: true,
    }
}
