//! The report of one query: each stage before and after, and the totals.

use serde_json::{Value, json};
use sluicegate_costmodel::Bytes;
use sluicegate_costmodel::storage::{
    Estimate, Formula, Offloads, Operation, Quadrant, ScannedTable, Slots, StageGraph, roofline_of,
};
use sluicegate_traces::Query;

use super::DriveAssumptions;
use crate::output::escape::visible;
use crate::output::listing::{ListFormat, Listing};
use crate::output::progress::print_line;

/// The columns; a table ends before the seconds of the measured schedule.
const HEADER: [&str; 14] = [
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
    "measured_start_s",
    "measured_end_s",
    "operators",
    "tables",
];
const IN_TABLE: usize = 10;

pub(super) fn text(query: &Query, assumed: &DriveAssumptions, format: ListFormat) -> String {
    let estimate = &assumed.estimate(&query.graph);
    let columns = if format == ListFormat::Table { IN_TABLE } else { HEADER.len() };
    let mut listing = Listing::new(&HEADER[..columns]);
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
        let (began, ended) = estimate.before.times.get(place).copied().unwrap_or_default();
        let after: Vec<_> = stage.after.iter().map(ToString::to_string).collect();
        let mut row = vec![
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
            json!(rounded(began)),
            json!(rounded(ended)),
            json!(stage.operators),
            tables(&stage.tables),
        ];
        row.truncate(columns);
        listing.push(row);
    }
    let summary = summary(query, assumed, estimate);
    if format == ListFormat::Table {
        return format!("{}\n{summary}", listing.text(format));
    }
    print_line(summary.trim_end());
    listing.text(format)
}

/// Returns the tables of scans with the fraction of rows that they keep.
pub(super) fn tables(tables: &[ScannedTable]) -> Value {
    let table = |it: &ScannedTable| {
        let selectivity = it.selectivity();
        json!({"table": it.table, "rows": it.rows, "kept": it.kept, "selectivity": selectivity})
    };
    tables.iter().map(table).collect()
}

/// Returns a line for the operators of a query, and one for each of its scans.
fn plan(graph: &StageGraph) -> String {
    let operators = graph.operators();
    if operators.is_empty() {
        return String::new();
    }
    let mut text = format!("operators (counted): {operators}\n");
    for it in graph.stages().iter().flat_map(|stage| &stage.tables) {
        let table = visible(&it.table);
        text += &match (it.rows, it.selectivity()) {
            (Some(rows), Some(part)) => {
                format!(
                    "scan of {table}: {} of {rows} rows are kept ({})\n",
                    it.kept,
                    percent(part)
                )
            }
            _ => format!("scan of {table}: {} rows are kept\n", it.kept),
        };
    }
    text
}

fn summary(query: &Query, assumed: &DriveAssumptions, estimate: &Estimate) -> String {
    let DriveAssumptions { device, slots, formula, .. } = assumed;
    let (graph, slots) = (&query.graph, *slots);
    let name = if query.name.is_empty() { "the query".into() } else { visible(&query.name) };
    let slot_words = match slots {
        Slots::Unlimited => "no limit to the stages at once".to_owned(),
        Slots::Finite(slots) if slots.get() == 1 => "1 stage at once".to_owned(),
        Slots::Finite(slots) => format!("{slots} stages at once"),
    };
    let mut text = format!(
        "Scan Ratio {}, of scan, filter and project {} (shares of the thread time; they rank queries, and bound\n\
         nothing); {} read\n",
        percent(graph.scan_ratio()),
        percent(graph.sfp_ratio()),
        known(graph.read_bytes()),
    );
    text += &plan(graph);
    text += &beyond(graph, &device.offloads);
    let waited: f64 = graph.stages().iter().map(|stage| stage.wait_seconds).sum();
    if waited > 0.0 {
        text += &format!(
            "threads worked for {}; scans waited for the store for {}: with it, as sfp_percent of the stages\n\
             has it, scan, filter and project are {}\n",
            seconds(graph.thread_seconds()),
            seconds(waited),
            percent(graph.sfp_wait_ratio()),
        );
    }
    if let (Some(cores), Some(busy)) = (query.cores, query.busy(estimate)) {
        let noun = if cores == 1.0 { "core" } else { "cores" };
        text += &format!("{} of {cores} {noun} busy", percent(busy));
        text += &match query.warning(estimate) {
            Some(doubt) => format!("\nwarning: {doubt}\n"),
            None => {
                let quadrant = Quadrant::classify(graph.scan_ratio(), busy).name();
                let half = percent(Quadrant::HALF);
                format!(": {quadrant} (a Scan Ratio and cores of {half} and more are high)\n")
            }
        };
    }
    text += &format!(
        "{name}: {} → {} with {} (modelled; {slot_words}): {}\n",
        seconds(estimate.before.makespan),
        seconds(estimate.after.makespan),
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
    let of = match formula {
        Formula::Intended => "",
        Formula::AsPrinted => " of the intended formula, not of the printed one",
    };
    text += &format!(
        "bounds{of}, for any device and any number of slots: {}; by Amdahl's law on the critical path alone {}\n\
         without {}, {} of the thread time is left (work, which bounds no speed-up)\n\
         critical path: {} before, {} with the device\n",
        times(estimate.bound),
        times(estimate.amdahl),
        device.offloads,
        percent(left(graph, estimate)),
        path(&estimate.before.critical_path),
        path(&estimate.after.critical_path),
    );
    if let Slots::Finite(slots) = slots {
        text += &format!(
            "with the device: critical path {} ≤ schedule {} ≤ Graham's bound {}\n",
            seconds(estimate.after.critical_seconds),
            seconds(estimate.after.makespan),
            seconds(estimate.after.graham_bound(slots)),
        );
    }
    text += &match roofline_of(graph, estimate, query.cores, device.link) {
        Ok(roof) => format!(
            "roofline: over the device's link of {}, with reading and computing overlapped, at most {} \
             (modelled):\nfewer bytes allow {}, less work for the cores {}; without the device, links below {} \
             bind\n",
            device.link,
            times(roof.speedup),
            multiple(roof.byte_ratio),
            multiple(roof.cpu_ratio),
            roof.knee,
        ),
        Err(why) => format!("no roofline: {why}\n"),
    };
    text += &format!(
        "device {} ({}) for {}: {:?} to set up, media {}, decodes {}, filters {}, link {}; {} sent\n\
         source: {}\n",
        device.name,
        device.date,
        device.offloads,
        device.setup,
        device.media,
        device.decode,
        device.filter,
        device.link,
        estimate.sent,
        device.source,
    );
    text
}

/// Returns the fraction of the thread time that the device's operations leave.
fn left(graph: &StageGraph, estimate: &Estimate) -> f64 {
    let taken: f64 = estimate.stages.iter().map(|it| it.thread_taken).sum();
    let left = (graph.thread_seconds() - taken) / graph.thread_seconds();
    if left.is_finite() { left.max(0.0) } else { 1.0 }
}

/// Returns a line about operations beyond scan, filter and project, if the device has any.
fn beyond(graph: &StageGraph, offloads: &Offloads) -> String {
    let stages = graph.stages();
    let all = graph.thread_seconds();
    let part = |seconds: f64| percent(if all > 0.0 { seconds / all } else { 0.0 });
    let mut words = Vec::new();
    if offloads.has(Operation::Aggregate) {
        let seconds = stages.iter().fold(0.0, |sum, it| sum + it.aggregate_seconds);
        words.push(format!("aggregates of scanned rows {}", part(seconds)));
    }
    if offloads.has(Operation::SemiJoin) {
        let joins = stages.iter().flat_map(|it| &it.semi_joins);
        let seconds = joins.fold(0.0, |sum, it| sum + it.seconds);
        words.push(format!("joins for rows without a match {}", part(seconds)));
    }
    if words.is_empty() {
        return String::new();
    }
    format!("of the thread time, {} (0 if not measured)\n", words.join(" and "))
}

pub(super) fn percent(part: f64) -> String {
    match 100.0 * part {
        percent if percent < 1e9 => format!("{percent:.1} %"),
        percent => format!("{percent:.1e} %"),
    }
}

/// Formats bytes. Every query reads something, so zero means that nothing was counted.
fn known(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO { "an unknown number of bytes".to_owned() } else { bytes.to_string() }
}

fn times(ratio: f64) -> String {
    if ratio.is_finite() {
        format!("{} times as fast", digits(ratio))
    } else {
        "without limit".to_owned()
    }
}

/// Formats a number with two decimals, and a small one with three significant digits.
fn digits(number: f64) -> String {
    let places = if number.abs() < 0.1 { decimals(number, 2).min(12) } else { 2 };
    format!("{number:.places$}")
}

/// Formats a ratio as `20.00 ×`.
fn multiple(ratio: f64) -> String {
    if ratio.is_finite() { format!("{} ×", digits(ratio)) } else { "any multiple".to_owned() }
}

/// Formats seconds to the millisecond, and less than 10 ms with three significant digits.
fn seconds(seconds: f64) -> String {
    format!("{seconds:.*} s", decimals(seconds, 2).min(12))
}

/// Rounds to three decimals, and small numbers to four significant digits: the time of a fast stage is not zero.
pub(super) fn rounded(number: f64) -> f64 {
    format!("{number:.*}", decimals(number, 3)).parse().unwrap_or(number)
}

/// Returns the number of decimals: three, or for a number below 0.01 enough for `digits` digits after its first
/// significant one.
fn decimals(number: f64, digits: i32) -> usize {
    match number.abs() {
        small if small > 0.0 && small < 0.01 => {
            usize::try_from(digits - small.log10().floor() as i32).unwrap_or(3)
        }
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_near_nothing_are_not_nothing() {
        assert_eq!(times(0.000_456_7), "0.000457 times as fast");
        assert_eq!(times(1.5), "1.50 times as fast");
        assert_eq!(multiple(0.02), "0.020 ×");
        assert_eq!(times(f64::INFINITY), "without limit");
        assert_eq!(known(Bytes::ZERO), "an unknown number of bytes");
    }

    #[test]
    fn small_numbers_keep_their_digits() {
        for (number, round, words) in [
            (0.0, 0.0, "0.000 s"),
            (12.345_67, 12.346, "12.346 s"),
            (0.011_23, 0.011, "0.011 s"),
            (0.009_876_54, 0.009_877, "0.00988 s"),
            (0.000_123_456, 0.000_123_5, "0.000123 s"),
        ] {
            assert_eq!((rounded(number), seconds(number).as_str()), (round, words));
        }
        assert!(rounded(f64::INFINITY).is_infinite());
    }
}
