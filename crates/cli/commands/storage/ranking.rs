//! Several queries, a line for each.

use serde_json::json;
use sluicegate_costmodel::storage::Quadrant;
use sluicegate_traces::Query;

use super::Assumed;
use super::report::{percent, rounded};
use crate::failure::Result;
use crate::output::listing::{ListFormat, Listing};
use crate::output::progress::say;

const HEADER: [&str; 10] = [
    "query",
    "scan_ratio",
    "sfp_ratio",
    "measured_s",
    "estimated_s",
    "speedup",
    "amdahl",
    "bound",
    "read_mb",
    "quadrant",
];

/// The highest Scan Ratio first (ICPE 2020, Fig. 6).
pub(super) fn print(queries: &[Query], assumed: &Assumed, format: ListFormat) -> Result<()> {
    let mut ranked: Vec<_> = queries.iter().collect();
    ranked.sort_by(|one, other| other.graph.scan_ratio().total_cmp(&one.graph.scan_ratio()));
    let mut listing = Listing::new(&HEADER);
    let mut speedups = Vec::new();
    for query in ranked {
        let (graph, estimate) = (&query.graph, assumed.estimate(&query.graph));
        let quadrant = query.busy(&estimate).map(|busy| Quadrant::of(graph.scan_ratio(), busy));
        speedups.push(estimate.speedup);
        listing.push(vec![
            json!(query.name),
            json!(rounded(graph.scan_ratio())),
            json!(rounded(graph.sfp_ratio())),
            json!(rounded(estimate.before.makespan)),
            json!(rounded(estimate.after.makespan)),
            json!(rounded(estimate.speedup)),
            json!(rounded(estimate.amdahl)),
            json!(rounded(estimate.bound)),
            json!(rounded(graph.read_bytes().as_f64() / 1e6)),
            json!(quadrant.map(Quadrant::name)),
        ]);
    }
    speedups.sort_by(f64::total_cmp);
    let median = speedups.get(speedups.len() / 2).copied().unwrap_or(1.0);
    let gain = speedups.iter().filter(|it| **it > 1.1).count();
    let summary = format!(
        "{} queries with {} ({}): median speed-up {median:.2}, {} of them more than 1.1 (modelled).\n\
         Ratios are shares of the thread time: they rank queries, and bound nothing.\nsource: {}\n",
        queries.len(),
        assumed.device.name,
        assumed.device.date,
        percent(gain as f64 / speedups.len().max(1) as f64),
        assumed.device.source,
    );
    if format != ListFormat::Table {
        say(summary.trim_end());
    }
    listing.print(format, &summary)
}
