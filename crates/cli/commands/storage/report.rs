//! Each stage before and after, and what that comes to.

use serde_json::json;
use sluicegate_costmodel::Bytes;
use sluicegate_costmodel::storage::{Estimate, Quadrant, Slots};
use sluicegate_traces::Query;

use super::Assumed;
use crate::failure::Result;
use crate::output::listing::{ListFormat, Listing};
use crate::output::progress::say;
use crate::output::visible::visible;

const HEADER: [&str; 10] = [
    "stage",
    "name",
    "after",
    "measured_s",
    "sfp_percent",
    "estimated_s",
    "start_s",
    "end_s",
    "offloaded",
    "critical",
];

pub(super) fn print(
    query: &Query,
    assumed: &Assumed,
    estimate: &Estimate,
    format: ListFormat,
) -> Result<()> {
    let mut listing = Listing::new(&HEADER);
    for (place, (stage, estimated)) in query.graph.stages().iter().zip(&estimate.stages).enumerate()
    {
        let (start, end) = estimate.after.times.get(place).copied().unwrap_or_default();
        let on = |path: &[usize]| path.contains(&place);
        let critical = match (on(&estimate.before.critical_path), on(&estimate.after.critical_path))
        {
            (true, true) => "both",
            (true, false) => "before",
            (false, true) => "with device",
            (false, false) => "",
        };
        let after: Vec<_> = stage.after.iter().map(ToString::to_string).collect();
        listing.push(vec![
            json!(stage.id),
            json!(stage.name),
            json!(after.join(" ")),
            json!(rounded(estimated.measured)),
            json!(rounded(100.0 * stage.sfp_share())),
            json!(rounded(estimated.estimated)),
            json!(rounded(start)),
            json!(rounded(end)),
            json!(estimated.offloaded),
            json!(critical),
        ]);
    }
    let summary = summary(query, assumed, estimate);
    if format != ListFormat::Table {
        say(summary.trim_end());
    }
    listing.print(format, &summary)
}

fn summary(query: &Query, assumed: &Assumed, estimate: &Estimate) -> String {
    let Assumed { device, slots, .. } = assumed;
    let (graph, slots) = (&query.graph, *slots);
    let name = if query.name.is_empty() { "the query".into() } else { visible(&query.name) };
    let slot_words = match slots {
        Slots::Unlimited => "no limit to the stages at once".to_owned(),
        Slots::Finite(slots) => format!("{slots} stages at once"),
    };
    let mut text = format!(
        "Scan Ratio {}, of scan, filter and project {} (shares of the thread time; they rank queries, and bound\n\
         nothing); {} read\n",
        percent(graph.scan_ratio()),
        percent(graph.sfp_ratio()),
        graph.read_bytes(),
    );
    let waited: f64 = graph.stages().iter().map(|stage| stage.wait_seconds).sum();
    if waited > 0.0 {
        text += &format!(
            "threads worked for {:.3} s; scans waited for the store for {waited:.3} s\n",
            graph.thread_seconds()
        );
    }
    if let (Some(cores), Some(busy)) = (query.cores, query.busy(estimate)) {
        let quadrant = Quadrant::of(graph.scan_ratio(), busy);
        text += &format!("{} of {cores} cores busy: {}\n", percent(busy), quadrant.name());
    }
    text += &format!(
        "{name}: {:.3} s → {:.3} s with {} (modelled; {slot_words}): {}\n",
        estimate.before.makespan,
        estimate.after.makespan,
        device.name,
        times(estimate.speedup),
    );
    if slots != Slots::Unlimited {
        text += &format!(
            "without a limit to the stages at once: {}\n",
            times(estimate.unlimited_speedup)
        );
    }
    let path = |path: &[usize]| {
        let ids = path.iter().filter_map(|place| Some(graph.stages().get(*place)?.id.to_string()));
        ids.collect::<Vec<_>>().join(" → ")
    };
    text += &format!(
        "bounds: Amdahl's law on thread time {}, any device and any number of slots {}\n\
         critical path: {} before, {} with the device\n",
        times(estimate.amdahl),
        times(estimate.bound),
        path(&estimate.before.critical_path),
        path(&estimate.after.critical_path),
    );
    if let Slots::Finite(slots) = slots {
        text += &format!(
            "with the device: critical path {:.3} s ≤ schedule {:.3} s ≤ Graham's bound {:.3} s\n",
            estimate.after.critical_seconds,
            estimate.after.makespan,
            estimate.after.graham_bound(slots),
        );
    }
    let results: f64 = graph.stages().iter().map(|stage| stage.result_bytes).sum();
    text += &format!(
        "device {} ({}): {:?} to set up, media {}, filters {}, link {}; {} sent\nsource: {}\n",
        device.name,
        device.date,
        device.setup,
        device.media,
        device.filter,
        device.link,
        Bytes::from_f64(results),
        device.source,
    );
    text
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

fn times(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2} times as fast") } else { "without limit".to_owned() }
}

pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
