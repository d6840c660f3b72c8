//! Section 9: several entries in a packet.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use super::completion::{Seconds, provenance, seconds_of};
use super::sweep::percent;
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The times are modelled, what is forwarded is counted.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/multi-entry",
    title: "Completion times and pruning with several entries in a packet",
    place: "Cheetah §9",
    method: Method::Live { runs, evaluate },
};

/// The numbers of entries in a packet.
const COUNTS: [&str; 4] = ["1", "2", "4", "8"];
/// The number of entries whose stages are shown.
const PLACED: &str = "4";
/// The ways to choose an entry's lane: the option, and the name of what chooses.
const LANES: [(&str, &str); 2] = [("position", "position"), ("hash", "key")];
/// The algorithms, with their size: all lanes together have as many cells as one program.
const ALGORITHMS: [(&str, &[&str]); 2] = [
    ("distinct", &["--key-bits", "32", "-d", "512", "-w", "2"]),
    ("group-by", &["--key-bits", "32", "-d", "512", "-w", "4"]),
];
const ENTRIES: &str = "generated:zipf:entries=40000:keys=2000";

fn times(count: &str) -> String {
    format!("times with {count}")
}

fn counted(algorithm: &str, lanes: &str, count: &str) -> String {
    format!("{algorithm} by {lanes} with {count}")
}

fn placed(algorithm: &str, lanes: &str) -> String {
    format!("{algorithm} by {lanes}, placed")
}

fn runs(_: &Setting) -> Vec<Run> {
    let json = |name: String, arguments: &[&[&str]]| {
        Run::command(name, &[&arguments.concat()[..], &["--format", "json"]].concat())
    };
    let mut runs = Vec::new();
    for count in COUNTS {
        runs.push(json(times(count), &[&["switch", "time", "5", "--per-packet", count]]));
    }
    for (algorithm, size) in ALGORITHMS {
        for (lanes, _) in LANES {
            let route = |count| ["--per-packet", count, "--lanes", lanes];
            for count in COUNTS {
                let run = ["switch", "run", "--algorithm", algorithm, "--input", ENTRIES];
                runs.push(json(counted(algorithm, lanes, count), &[&run, size, &route(count)]));
            }
            let fit = ["switch", "fit", "--algorithm", algorithm];
            runs.push(json(placed(algorithm, lanes), &[&fit, size, &route(PLACED)]));
        }
    }
    runs
}

/// What a run forwards.
#[derive(Debug, Deserialize)]
struct Forwarded {
    #[serde(rename = "forwarded_share")]
    share: f64,
    answer: String,
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut all: Vec<Vec<Seconds>> = Vec::new();
    for count in COUNTS {
        all.push(seconds_of(results, &times(count))?);
    }
    let queries: Vec<(&str, Vec<f64>)> = all
        .first()
        .into_iter()
        .flatten()
        .map(|one| {
            let of = |times: &Vec<Seconds>| {
                let same = times.iter().find(|it| it.query == one.query);
                same.map_or(f64::NAN, |it| it.seconds)
            };
            (one.query.as_str(), all.iter().map(of).collect())
        })
        .collect();
    let mut outcome = Outcome::default();
    let ratios: Vec<f64> = queries.iter().map(|(_, times)| times[0] / times[2]).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let shorter = !ratios.is_empty() && ratios.iter().all(|ratio| *ratio > 1.0);
    outcome.decide("C43", format!("{least:.2} to {most:.2} times as fast with 4"), shorter);
    outcome.note(
        "packets with four entries are as long on the link as with one, which holds up to 64 bytes; a packet is \
         forwarded if one of its entries is. A lane for each entry prunes less: the second table",
    );
    let row = |(query, times): &(&str, Vec<f64>)| {
        let times = times.iter().map(|it| format!("{it:.3}"));
        std::iter::once((*query).to_owned()).chain(times).collect()
    };
    outcome.tables.push(Table {
        title: "Seconds by the entries in a packet".to_owned(),
        columns: vec!["query", "1", "2", "4", "8"],
        rows: queries.iter().map(row).collect(),
        provenance: provenance(),
    });
    outcome.tables.push(forwarded(results)?);
    // Lines of nine queries would be one band.
    let bar = |(query, times): &(&str, Vec<f64>)| Bar {
        name: (*query).to_owned(),
        lengths: times.clone(),
    };
    let part = |count: &str| format!("{count} {}", if count == "1" { "entry" } else { "entries" });
    outcome.charts.push(Chart {
        title: "Completion times by the entries in a packet".to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: COUNTS.map(part).to_vec(),
            bars: queries.iter().map(bar).collect(),
            is_stacked: false,
        },
        provenance: provenance(),
    });
    Ok(outcome)
}

/// Returns a row for each way to choose an entry's lane: the shares that are forwarded.
fn forwarded(results: &Results) -> Result<Table, ResultsError> {
    let mut rows = Vec::new();
    for (algorithm, _) in ALGORITHMS {
        for (lanes, name) in LANES {
            let mut row = vec![algorithm.to_owned(), name.to_owned()];
            let mut answers = Vec::new();
            for count in COUNTS {
                let run = counted(algorithm, lanes, count);
                for forwarded in results.output::<Vec<Forwarded>>(&run)? {
                    row.push(percent(forwarded.share));
                    answers.push(forwarded.answer);
                }
            }
            answers.dedup();
            // The command lists one stage a row.
            let stages: Vec<serde_json::Value> = results.output(&placed(algorithm, lanes))?;
            row.extend([answers.join(", "), stages.len().to_string()]);
            rows.push(row);
        }
    }
    Ok(Table {
        title: "Entries forwarded by the entries in a packet, and stages on a Tofino 1".to_owned(),
        columns: vec!["algorithm", "lanes by", "1", "2", "4", "8", "answers", "stages with 4"],
        rows,
        provenance: Provenance::Counted,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    #[test]
    fn four_entries_must_be_faster_than_one() {
        let outcome = |four: f64| {
            let mut results = Results::default();
            let mut insert = |name: String, output| {
                results.insert(name, Record { output, ..Record::default() });
            };
            for run in runs(&Setting::QUICK) {
                let seconds = if run.name == times("4") { four } else { 2.0 };
                let output = match run.arguments[1].as_str() {
                    "time" => json!([{"query": "Distinct", "seconds": seconds}]),
                    "run" => json!([{"forwarded_share": 0.25, "answer": "unchanged"}]),
                    _ => json!([{"stage": 0}, {"stage": 1}]),
                };
                insert(run.name, output);
            }
            evaluate(&Setting::QUICK, &results).unwrap()
        };
        let faster = outcome(1.0);
        assert_eq!(faster.verdicts[0].found, "2.00 to 2.00 times as fast with 4");
        assert!(faster.verdicts[0].holds && !outcome(2.0).verdicts[0].holds);
        let row =
            ["distinct", "position", "25.0 %", "25.0 %", "25.0 %", "25.0 %", "unchanged", "2"];
        assert_eq!(faster.tables[1].rows[0], row);
        let Marks::Bars { parts, bars, .. } = &faster.charts[0].marks else { panic!("no bars") };
        assert_eq!(parts, &["1 entry", "2 entries", "4 entries", "8 entries"]);
        assert_eq!((bars.len(), bars[0].lengths.as_slice()), (1, &[2.0, 2.0, 1.0, 2.0][..]));
    }
}
