//! The data of §III.

use sluicegate_costmodel::Provenance;

use super::paper::{LINEITEM, ORDERS};
use super::sweep::LINK;
use super::{data, groupings, joins};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Data, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The sizes of the generated tables, counted.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/setup",
    title: "The sizes of TPC-H and of the table of groups",
    place: "PushdownDB §III",
    method: Method::Live { runs, evaluate },
};

/// The published size of both data sets at scale factor 10.
const PUBLISHED: f64 = 10e9;
/// The largest relative difference.
const TOLERANCE: f64 = 0.1;
/// The objects of a bucket, and their sizes.
const RUNS: [&str; 2] = ["tpch", "groups"];

fn runs(setting: &Setting) -> Vec<Run> {
    let [tpch, groups] = [data::all_of_tpch(), data::groups(setting)];
    let sizes = |name: &str, data: &Data| {
        let query = format!("select url, size from glob('s3://{}/**') order by url", data.name);
        Run::sql(name, data, LINK, &[], &[query], 1)
    };
    vec![sizes(RUNS[0], &tpch), sizes(RUNS[1], &groups)]
}

/// Returns the bytes of each table from lines of URL and size. Its folder is the last but one part of a URL.
pub(super) fn tables(answers: &str) -> Vec<(String, f64)> {
    let mut tables: Vec<(String, f64)> = Vec::new();
    let object = |line: &str| {
        let (url, size) = line.rsplit_once(',')?;
        let table = url.rsplit('/').nth(1)?;
        Some((table.to_owned(), size.trim().parse::<f64>().ok()?))
    };
    for (table, size) in answers.lines().filter_map(object) {
        match tables.iter_mut().find(|it| it.0 == table) {
            Some((_, all)) => *all += size,
            None => tables.push((table, size)),
        }
    }
    tables
}

/// Returns the bytes of a table at scale factor 10 that predictions assume.
fn declared(table: &str) -> Option<f64> {
    match table {
        "lineitem" => Some(LINEITEM.as_f64()),
        "orders" => Some(ORDERS.as_f64()),
        "customer" => Some(joins::CUSTOMER.as_f64()),
        "skewed" | "uniform" => Some(groupings::TABLE.as_f64()),
        _ => None,
    }
}

fn gigabytes(bytes: f64) -> String {
    format!("{:.3}", bytes / 1e9)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let scales = [data::ALL_SCALE, data::group_scale(setting)];
    let mut sizes = Vec::new();
    for (run, scale) in RUNS.into_iter().zip(scales) {
        let found = tables(&results.record(run)?.answers);
        sizes.push(
            found.into_iter().map(|(name, bytes)| (name, bytes * 10.0 / scale)).collect::<Vec<_>>(),
        );
    }
    let tpch: f64 = sizes[0].iter().map(|it| it.1).sum();
    let skewed = sizes[1].iter().find(|it| it.0 == "skewed").map_or(0.0, |it| it.1);
    let mut outcome = Outcome::default();
    let all: Vec<&(String, f64)> = sizes.iter().flatten().collect();
    let is_near = |bytes: f64, other: f64| (bytes / other - 1.0).abs() <= TOLERANCE;
    let published = [tpch, skewed].into_iter().all(|bytes| is_near(bytes, PUBLISHED));
    let assumed =
        all.iter().all(|(name, bytes)| declared(name).is_none_or(|it| is_near(*bytes, it)));
    let found = format!("{:.1} GB and {:.1} GB", tpch / 1e9, skewed / 1e9);
    outcome.decide("P10", found, published && assumed);
    outcome.note(format!(
        "counted at scale factors {} and {}, times {} and {}",
        scales[0],
        scales[1],
        10.0 / scales[0],
        10.0 / scales[1]
    ));
    let bars =
        all.iter().map(|(name, bytes)| Bar { name: name.clone(), lengths: vec![bytes / 1e9] });
    outcome.charts.push(Chart {
        title: "CSV at scale factor 10".to_owned(),
        x: Axis::linear("GB"),
        y: Axis::linear(""),
        marks: Marks::Bars {
            parts: vec!["CSV".to_owned()],
            bars: bars.collect(),
            is_stacked: true,
        },
        provenance: Provenance::Counted,
    });
    outcome.tables.push(Table {
        title: "GB of CSV at scale factor 10".to_owned(),
        columns: vec!["table", "counted", "assumed by the predictions"],
        rows: all
            .iter()
            .map(|(name, bytes)| {
                vec![
                    name.clone(),
                    gigabytes(*bytes),
                    declared(name).map_or_else(String::new, gigabytes),
                ]
            })
            .collect(),
        provenance: Provenance::Counted,
    });
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_a_table_are_added_up() {
        let answers = "url,size\ns3://b/csv/orders/a.csv,10\ns3://b/csv/orders/b.csv,5\ns3://b/csv/part/a.csv,1\n";
        assert_eq!(tables(answers), [("orders".to_owned(), 15.0), ("part".to_owned(), 1.0)]);
    }
}
