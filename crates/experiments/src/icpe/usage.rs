//! Figures 10, 13, 15, 17 and 18: cores and bytes over time.

use sluicegate_costmodel::Provenance;

use super::paper::SPARK;
use super::tpcds::{PLAIN, data, text};
use crate::chart::{Axis, Line, Marks};
use crate::{Chart, Outcome, Repeated, Results, ResultsError, Run, Setting, Table, UsageSample};

/// A link behind which a query takes seconds, at the scale factors of both settings, with its rate in Mbit/s.
const LINKS: [(&str, u32); 2] = [("50mbit", 50), ("200mbit", 200)];
/// The number of rates over the time of a run.
const WINDOWS: u32 = 40;

/// A counter of a sample.
type Counter = fn(&UsageSample) -> f64;

const MEGABYTE: f64 = 1e6;
/// The lines of the charts: cores of the client and of the store, MB over the link, and MB that the store reads.
const CORES: [(&str, Counter); 2] = [("client", |it| it.client_cpu), ("store", |it| it.store_cpu)];
const LINK: [(&str, Counter); 1] = [("link", |it| it.link_bytes as f64 / MEGABYTE)];
const FILES: [(&str, Counter); 1] = [("files", |it| it.store_read as f64 / MEGABYTE)];

/// Returns the link that this setting has.
fn link(setting: &Setting) -> (&'static str, u32) {
    setting.either(LINKS[0], LINKS[1])
}

/// Returns the sampled run of a query.
pub(super) fn run(setting: &Setting, query: usize) -> Run {
    let link = link(setting).0;
    let name = format!("usage of Q{query}");
    Run::sql(name, &data(setting), link, &PLAIN, &[text(query)], 1).sampled().shared("icpe")
}

/// Returns the sampled run of a query.
pub(super) fn runs<const QUERY: usize>(setting: &Setting) -> Vec<Run> {
    vec![run(setting, QUERY)]
}

/// Draws cores and bytes over the time of a query.
pub(super) fn evaluate<const QUERY: usize>(
    setting: &Setting,
    results: &Results,
) -> Result<Outcome, ResultsError> {
    Ok(outcome(QUERY, setting, &[used(results, "here", &format!("usage of Q{QUERY}"))?]))
}

/// A sampled run of a query.
pub(super) struct Used<'a> {
    name: &'static str,
    samples: &'a [UsageSample],
    query: Repeated,
}

/// Returns the query of a sampled run, with a name for its lines and rows.
pub(super) fn used<'a>(
    results: &'a Results,
    name: &'static str,
    run: &str,
) -> Result<Used<'a>, ResultsError> {
    Ok(Used { name, samples: &results.record(run)?.usage, query: results.query(run)? })
}

/// Returns charts of cores and of bytes, with a line for each record and counter, and tables of their means and peaks.
pub(super) fn outcome(query: usize, setting: &Setting, all: &[Used<'_>]) -> Outcome {
    let megabits = link(setting).1;
    let chart = |title: String, unit: &str, counters: &[(&str, Counter)]| {
        let lines = all.iter().flat_map(|used| {
            let name = if all.len() > 1 { used.name } else { "" };
            counters.iter().map(move |(counter, of)| {
                let series = format!("{counter} {name}").trim_end().to_owned();
                Line::new(series, rates(used.samples, *of))
            })
        });
        Chart {
            title,
            x: Axis::linear("seconds since the start of the command"),
            y: Axis::linear(unit),
            marks: Marks::Lines(lines.collect()),
            provenance: Provenance::Measured,
        }
    };
    Outcome {
        charts: vec![
            chart(format!("Use of the CPU, query {query}"), "cores busy", &CORES),
            chart(
                format!(
                    "Bytes over the link, which is limited to {megabits} Mbit/s, query {query}"
                ),
                "MB/s",
                &LINK,
            ),
            chart(
                format!("Bytes that the store reads from its files, query {query}"),
                "MB/s",
                &FILES,
            ),
        ],
        tables: [summary(query, megabits, all)].into_iter().chain(published(query)).collect(),
        remarks: vec![format!(
            "The link is limited to {megabits} Mbit/s, or {:.2} MB/s, so that the query takes long enough for samples. In \
             Table 2 the link is not limited. The charts begin with the start of the command, which also starts the \
             program and defines the tables. The bytes over the link include headers, and the store reads its files \
             faster than the link sends them.",
            f64::from(megabits) / 8.0
        )],
        ..Outcome::default()
    }
}

/// Returns means and peaks. A command also starts the program and defines the tables.
fn summary(query: usize, megabits: u32, all: &[Used<'_>]) -> Table {
    let row = |Used { name, samples, query }: &Used<'_>| {
        let [cores, peak_cores] = mean_and_peak(samples, CORES[0].1);
        let [_, peak] = mean_and_peak(samples, LINK[0].1);
        let [_, files] = mean_and_peak(samples, FILES[0].1);
        let read = query.last.bytes.link as f64 / MEGABYTE;
        vec![
            (*name).to_owned(),
            format!("{:.2}", query.seconds),
            format!("{:.2}", samples.last().map_or(0.0, |it| it.at)),
            format!("{cores:.2}"),
            format!("{peak_cores:.2}"),
            format!("{read:.1}"),
            format!("{:.1}", read / query.seconds),
            format!("{peak:.1}"),
            format!("{files:.1}"),
        ]
    };
    Table {
        title: format!("Query {query} behind a link of {megabits} Mbit/s"),
        columns: vec![
            "",
            "seconds of the query",
            "seconds of the command",
            "cores busy, mean",
            "cores busy, peak",
            "MB over the link",
            "MB/s of the link, mean",
            "MB/s of the link, peak",
            "MB/s from files, peak",
        ],
        rows: all.iter().map(row).collect(),
        provenance: Provenance::Measured,
    }
}

/// Returns the numbers of Table 2, whose units are others: percent of the CPU, and MB/s of each drive.
fn published(query: usize) -> Option<Table> {
    let spark = SPARK.iter().find(|it| it.query == query)?;
    let row = [
        spark.seconds,
        spark.cpu[0],
        spark.cpu[1],
        spark.read,
        spark.bandwidth[0],
        spark.bandwidth[1],
    ];
    Some(Table {
        title: format!("Query {query} in Spark, over 16 drives of a cluster"),
        columns: vec![
            "seconds",
            "CPU, mean, %",
            "CPU, peak, %",
            "GB read",
            "MB/s of a drive, mean",
            "MB/s of a drive, peak",
        ],
        rows: vec![row.map(|it| it.to_string()).to_vec()],
        provenance: Provenance::Published("ICPE 2020, Table 2".into()),
    })
}

fn mean_and_peak(samples: &[UsageSample], of: Counter) -> [f64; 2] {
    let rates = rates(samples, of);
    let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
    let peak = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    [sum / (rates.len() as f64).max(1.0), peak]
}

/// Returns the rates of a counter in windows of equal length, each at the middle of its window.
fn rates(samples: &[UsageSample], of: Counter) -> Vec<(f64, f64)> {
    let Some(end) = samples.last().map(|it| it.at).filter(|end| *end > 0.0) else {
        return Vec::new();
    };
    let length = end / f64::from(WINDOWS);
    let window = |index: u32| {
        let start = length * f64::from(index);
        let grown = value_at(samples, of, start + length) - value_at(samples, of, start);
        (start + length / 2.0, grown / length)
    };
    (0..WINDOWS).map(window).collect()
}

/// Returns the value of a counter at a time, on the line between two samples.
fn value_at(samples: &[UsageSample], of: Counter, at: f64) -> f64 {
    let next = samples.partition_point(|it| it.at < at);
    let first = UsageSample::default();
    let before = next.checked_sub(1).and_then(|it| samples.get(it)).unwrap_or(&first);
    let Some(after) = samples.get(next) else { return of(before) };
    let part = (at - before.at) / (after.at - before.at).max(f64::MIN_POSITIVE);
    of(before) + part.clamp(0.0, 1.0) * (of(after) - of(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_growth_of_a_counter() {
        let sample = |at, client_cpu| UsageSample { at, client_cpu, ..UsageSample::default() };
        let samples = [sample(0.0, 0.0), sample(1.0, 2.0), sample(4.0, 2.0)];
        let rates = rates(&samples, CORES[0].1);
        assert_eq!(rates.len(), 40);
        assert!((rates[0].1 - 2.0).abs() < 1e-9 && (rates[9].1 - 2.0).abs() < 1e-9, "{rates:?}");
        assert!(rates[10].1.abs() < 1e-9 && rates[39].1.abs() < 1e-9, "{rates:?}");
        let [mean, peak] = mean_and_peak(&samples, CORES[0].1);
        assert!((mean - 0.5).abs() < 1e-9 && (peak - 2.0).abs() < 1e-9);
        assert!(super::rates(&[], CORES[0].1).is_empty());
    }
}
