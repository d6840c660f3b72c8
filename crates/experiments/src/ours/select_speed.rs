//! The speed of S3 Select in this store.

use sluicegate_costmodel::Provenance;

use super::data::{parquet, tpch};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table, UNLIMITED};

/// The bytes that S3 Select scans in a second.
pub const EXPERIMENT: Experiment = Experiment {
    id: "ours/select-speed",
    title: "Bytes that S3 Select scans in a second in this store",
    place: "Sluicegate",
    method: Method::Live { runs, evaluate },
};

/// Queries that aggregate here what the store returns, so that no answer is printed, and one that the store aggregates.
const QUERIES: [(&str, &str); 5] = [
    ("no row", "select max(l_comment) from lineitem where l_quantity < 0"),
    (
        "one row in fifty",
        "select max(l_comment), max(l_shipdate) from lineitem where l_quantity < 2",
    ),
    (
        "half of the rows",
        "select max(l_comment), max(l_shipdate) from lineitem where l_quantity < 26",
    ),
    ("text", "select max(l_orderkey) from lineitem where l_comment like '%special%requests%'"),
    ("sum", "select sum(l_extendedprice * l_discount) from lineitem where l_quantity < 24"),
];
/// The formats, which name the runs.
const FORMATS: [&str; 2] = ["CSV", "Parquet"];

fn runs(setting: &Setting) -> Vec<Run> {
    let set = |place: &str| format!("SET sluice.aggregate = '{place}'");
    let mut texts = vec![set("here")];
    texts.extend(QUERIES.iter().map(|(_, text)| (*text).to_owned()));
    texts.insert(QUERIES.len(), set("store"));
    let settings = [("scan", "select")];
    let data = [tpch(setting), parquet(setting)];
    let run = |(name, data)| Run::sql(name, &data, UNLIMITED, &settings, &texts, setting.rounds());
    FORMATS.into_iter().zip(data).map(run).collect()
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut rows = Vec::new();
    let mut lengths = vec![Vec::new(); QUERIES.len()];
    for format in FORMATS {
        let queries = results.queries(format)?;
        for (((name, _), lengths), query) in QUERIES.iter().zip(&mut lengths).zip(&queries) {
            let scanned = query.last.bytes.scanned as f64 / 1e6;
            let speed = scanned / query.seconds;
            rows.push(vec![
                (*name).to_owned(),
                format.to_owned(),
                format!("{scanned:.1}"),
                format!("{:.2}", query.last.bytes.returned as f64 / 1e6),
                format!("{:.3}", query.seconds),
                format!("{speed:.0}"),
            ]);
            lengths.push(speed);
        }
    }
    let mut outcome = Outcome::default();
    outcome.tables.push(Table {
        title: "S3 Select over lineitem, client included; no other store or engine is measured"
            .to_owned(),
        columns: vec!["query", "format", "MB scanned", "MB returned", "seconds", "MB/s"],
        rows,
        provenance: Provenance::Measured,
    });
    let names = QUERIES.iter().map(|(name, _)| (*name).to_owned());
    outcome.charts.push(Chart {
        title: "Speed of S3 Select over lineitem".to_owned(),
        x: Axis::linear("MB/s"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: FORMATS.map(str::to_owned).to_vec(),
            bars: names.zip(lengths).map(|(name, lengths)| Bar { name, lengths }).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Measured,
    });
    Ok(outcome)
}
