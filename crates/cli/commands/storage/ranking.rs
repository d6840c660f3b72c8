//! A table of several queries, one line each.

use serde_json::json;
use sluicegate_costmodel::calibration::median;
use sluicegate_costmodel::storage::{Formula, Quadrant};
use sluicegate_traces::Query;

use super::DriveAssumptions;
use super::report::{percent, rounded, tables};
use crate::output::escape::visible;
use crate::output::listing::{ListFormat, Listing};
use crate::output::progress::print_line;

/// The columns; a table has no lists, so it ends before the operators.
const HEADER: [&str; 14] = [
    "query",
    "scan_ratio",
    "sfp_ratio",
    "thread_time_ratio",
    "measured_s",
    "estimated_s",
    "speedup",
    "bound",
    "amdahl",
    "read_mb",
    "busy",
    "quadrant",
    "operators",
    "tables",
];
const IN_TABLE: usize = 12;

/// Lists the queries, the highest Scan Ratio first (ICPE 2020, Fig. 3).
pub(super) fn text(queries: &[Query], assumed: &DriveAssumptions, format: ListFormat) -> String {
    let mut ranked: Vec<_> = queries.iter().collect();
    ranked.sort_by(|one, other| other.graph.scan_ratio().total_cmp(&one.graph.scan_ratio()));
    let columns = if format == ListFormat::Table { IN_TABLE } else { HEADER.len() };
    let mut listing = Listing::new(&HEADER[..columns]);
    let mut speedups = Vec::new();
    for query in ranked {
        let (graph, estimate) = (&query.graph, assumed.estimate(&query.graph));
        let doubt = query.warning(&estimate);
        if let Some(doubt) = &doubt {
            print_line(&format!("warning: {}: {doubt}", visible(&query.name)));
        }
        let busy = query.busy(&estimate).filter(|_| doubt.is_none());
        let quadrant = busy.map(|busy| Quadrant::classify(graph.scan_ratio(), busy));
        speedups.push(estimate.speedup);
        let scanned: Vec<_> = graph.stages().iter().flat_map(|it| it.tables.clone()).collect();
        let mut row = vec![
            json!(query.name),
            json!(rounded(graph.scan_ratio())),
            json!(rounded(graph.sfp_ratio())),
            json!(rounded(graph.thread_time_ratio())),
            json!(rounded(estimate.before.makespan)),
            json!(rounded(estimate.after.makespan)),
            json!(rounded(estimate.speedup)),
            json!(rounded(estimate.bound)),
            json!(rounded(estimate.amdahl)),
            json!(
                Some(graph.read_bytes().as_f64())
                    .filter(|it| *it > 0.0)
                    .map(|it| rounded(it / 1e6))
            ),
            json!(busy.map(rounded)),
            json!(quadrant.map(Quadrant::name)),
            json!(graph.operators()),
            tables(&scanned),
        ];
        row.truncate(columns);
        listing.push(row);
    }
    let gain = speedups.iter().filter(|it| **it > 1.1).count();
    let part = percent(gain as f64 / speedups.len().max(1) as f64);
    let median = match median(speedups) {
        median if median.is_finite() => format!("{median:.2}"),
        _ => "without limit".to_owned(),
    };
    let of = match assumed.formula {
        Formula::Intended => "",
        Formula::AsPrinted => " (of the intended formula, not of the printed one)",
    };
    let summary = format!(
        "{} queries with {} ({}): median speed-up {median}, {part} of them more than 1.1 (modelled).\n\
         bound and amdahl bound the speed-up{of}: the longest path without {}, and the \
         critical path without them.\n\
         Ratios are of the thread time: they rank queries, and bound nothing. A number left out is without \
         limit.\nsource: {}\n",
        queries.len(),
        assumed.device.name,
        assumed.device.date,
        assumed.device.offloads,
        assumed.device.source,
    );
    if format == ListFormat::Table {
        return format!("{}\n{summary}", listing.text(format));
    }
    print_line(summary.trim_end());
    listing.text(format)
}
