//! The data sets of Figures 10 and 11, and of the workers.

use sluicegate_workloads::DataTable;
use sluicegate_workloads::bigdata::Table;

use crate::{Data, Setting};

/// The share of the paper's rows that are generated.
pub(super) fn scale(setting: &Setting) -> f64 {
    setting.either(0.4, 0.2) * setting.scale
}

/// The share of the paper's rows that are joined.
pub(super) fn join_scale(setting: &Setting) -> f64 {
    scale(setting) / 10.0
}

/// Returns the number of rows of a table of [`bigdata`].
pub(super) fn rows(table: Table, setting: &Setting) -> u64 {
    table.rows(scale(setting))
}

/// The visits that `switch sweep` reads.
pub(super) const VISITS: &str = "data/bigdata/visits.parquet";
/// The pages that `switch sweep` reads.
pub(super) const PAGES: &str = "data/bigdata/pages.parquet";

/// Both tables as CSV, one object each, and the columns that switches process as Parquet in the same order.
///
/// `boundedrank` is a rank whose greatest values are close to each other, as those of the paper's pages must be: a
/// rank with a heavy tail leaves no algorithm with 99 % of a skyline pruned.
pub(super) fn bigdata(setting: &Setting) -> Data {
    let visits = "COPY (SELECT useragent, adrevenue, languagecode, CAST(ceil(adrevenue * 100) AS INT) AS cents \
         FROM uservisits) TO 's3://bigdata/visits.parquet' STORED AS PARQUET";
    let pages = "COPY (SELECT pagerank, avgduration, \
         CAST(round(1000 * (1 - 10.0 / pagerank)) AS INT) AS boundedrank \
         FROM rankings) TO 's3://bigdata/pages.parquet' STORED AS PARQUET";
    let set = "SET sluice.scan = 'get'";
    generated("bigdata", scale(setting), &["--format", "csv"])
        .then(&["sql", "--threads", "1", "-f", "bigdata.sql", "-c", set, "-c", visits])
        .then(&["sql", "--threads", "1", "-f", "bigdata.sql", "-c", set, "-c", pages])
}

/// A tenth of the rows, whose texts are the keys of the join.
pub(super) fn joined(setting: &Setting) -> Data {
    generated("bigdata-join", join_scale(setting), &["--format", "parquet"])
}

/// The visits of `share` of the rows as CSV, in a bucket of this name.
pub(super) fn partition(name: &str, share: f64, setting: &Setting) -> Data {
    generated(name, share * scale(setting), &["--format", "csv", "--tables", "uservisits"])
}

fn generated(name: &str, scale: f64, more: &[&str]) -> Data {
    let scale = scale_text(scale);
    let mut arguments = vec!["bigdata", "--objects", "1", "--scale", scale.as_str()];
    arguments.extend(more);
    Data::new(name, &arguments)
}

/// Writes a scale factor as the program does, without the error of a product.
pub(super) fn scale_text(scale: f64) -> String {
    ((scale * 1e6).round() / 1e6).to_string()
}

/// Returns the file of a table of a data set as CSV or Parquet.
pub(super) fn file(data: &str, table: Table, scale: f64, format: &str) -> String {
    format!("data/{data}/sf{}/{format}/{table}/{table}.00.{format}", scale_text(scale))
}
