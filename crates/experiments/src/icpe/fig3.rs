//! Figure 3: the Scan Ratio and the use of the CPU of each query.

use sluicegate_costmodel::Provenance;

use super::ranking::{all_ranked, at_most_all};
use super::tpcds::{REPEATED, all_queries, ranking};
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig3",
    title: "Scan Ratio and use of the CPU of each query of TPC-DS",
    place: "ICPE §4.3, Figure 3",
    method: Method::Live { runs, evaluate },
};

/// The least and the greatest Scan Ratio in the paper, and the greatest difference from them.
const PUBLISHED: [f64; 2] = [0.0, 0.93];
const NEAR: f64 = 0.05;

fn runs(setting: &Setting) -> Vec<Run> {
    vec![all_queries(setting), ranking(setting)]
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut queries = all_ranked(results)?;
    queries.sort_by(|one, other| one.scan_ratio.total_cmp(&other.scan_ratio));
    let mut outcome = Outcome::default();
    let (least, most) = match (queries.first(), queries.last()) {
        (Some(first), Some(last)) => (first.scan_ratio, last.scan_ratio),
        _ => (f64::NAN, f64::NAN),
    };
    let count = queries.len();
    let found = format!("{:.0} to {:.0} %, {count} queries", 100.0 * least, 100.0 * most);
    let near = |share: f64, published: f64| (share - published).abs() <= NEAR;
    outcome.decide("I03", found, near(least, PUBLISHED[0]) && near(most, PUBLISHED[1]));
    if let (false, Some(first)) = (near(least, PUBLISHED[0]), queries.first()) {
        let scale = setting.scale;
        outcome.note(format!(
            "query {} has the least. At scale factor {scale}, its joins and sorts have few rows. Most of its time is for \
             scans of dimension tables, whose size is fixed",
            first.number(),
        ));
    }
    let ranks = (1_u32..).map(f64::from);
    let ratios = ranks.clone().zip(queries.iter().map(|it| 100.0 * it.scan_ratio));
    let busy = ranks.zip(&queries).filter_map(|(rank, it)| Some((rank, at_most_all(it.busy?))));
    outcome.charts.push(Chart {
        title: format!("Queries at scale factor {} by their Scan Ratio", setting.scale),
        x: Axis::linear("rank of the query"),
        y: Axis::linear("%"),
        marks: Marks::Lines(vec![Line::new("Scan Ratio", ratios), Line::new("cores busy", busy)]),
        provenance: Provenance::Measured,
    });
    outcome.tables.push(Table {
        title: "Queries by their Scan Ratio, in percent".to_owned(),
        columns: vec!["query", "Scan Ratio", "cores busy"],
        rows: queries
            .iter()
            .map(|it| {
                let busy = it.busy.map(|busy| format!("{:.1}", 100.0 * busy)).unwrap_or_default();
                vec![format!("Q{}", it.number()), format!("{:.1}", 100.0 * it.scan_ratio), busy]
            })
            .collect(),
        provenance: Provenance::Measured,
    });
    outcome.remarks.push(REPEATED.to_owned());
    Ok(outcome)
}
