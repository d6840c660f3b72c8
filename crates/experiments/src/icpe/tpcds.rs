//! TPC-DS behind a store, and the commands that run its queries.

use std::borrow::Cow;

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::tpcds::{self, Parameters};

use super::paper::QUERIES;
use crate::{Data, Run, Setting, UNLIMITED};

/// The name under which the experiments of this paper share runs.
const SHARED: &str = "icpe";
/// The device's set-up for each stage. It is a second in the paper, 0.3 % of the median of its queries; queries here
/// take a thousandth of the paper's time.
pub(super) const SETUP: &str = "1ms";
/// The set-up in sentences.
pub(super) const SETUP_WORDS: &str = "1 ms";

/// The provenance of estimates beside the times that they come from.
pub(super) fn estimated() -> Provenance {
    Provenance::Modelled("icpe-2020; the times without the device are measured".into())
}

/// The paper's device, if it did what §8 and §9 name, too.
pub(super) const WHAT_IF: &str = "icpe-2020-what-if";
/// Settings with which the store only answers GETs.
pub(super) const PLAIN: [(&str, &str); 5] = [
    ("scan", "get"),
    ("aggregate", "here"),
    ("group_by", "server"),
    ("join", "baseline"),
    ("top_k", "server"),
];
/// The scans of query 75, for its model tables: the table, and the rows and columns that its scan gives.
pub(super) const MODEL_75: [(&str, &str); 8] = [
    (
        "item",
        "i_item_sk, i_brand_id, i_class_id, i_category_id, i_category, i_manufact_id FROM item WHERE i_category = 'Books'",
    ),
    ("date_dim", "d_date_sk, d_year FROM date_dim WHERE d_year IN (2001, 2002)"),
    (
        "store_sales",
        "ss_sold_date_sk, ss_item_sk, ss_ticket_number, ss_quantity, ss_ext_sales_price FROM store_sales",
    ),
    (
        "catalog_sales",
        "cs_sold_date_sk, cs_item_sk, cs_order_number, cs_quantity, cs_ext_sales_price FROM catalog_sales",
    ),
    (
        "web_sales",
        "ws_sold_date_sk, ws_item_sk, ws_order_number, ws_quantity, ws_ext_sales_price FROM web_sales",
    ),
    (
        "store_returns",
        "sr_item_sk, sr_ticket_number, sr_return_quantity, sr_return_amt FROM store_returns",
    ),
    (
        "catalog_returns",
        "cr_item_sk, cr_order_number, cr_return_quantity, cr_return_amount FROM catalog_returns",
    ),
    (
        "web_returns",
        "wr_item_sk, wr_order_number, wr_return_quantity, wr_return_amt FROM web_returns",
    ),
];

/// Returns the tables as Parquet, with the model tables of query 75 below `q75/`.
pub(super) fn data(setting: &Setting) -> Data {
    let scale = setting.scale.to_string();
    let data = Data::new("tpcds", &["tpcds", "--scale", &scale, "--format", "parquet"]);
    let definitions = data.definitions();
    MODEL_75.iter().fold(data, |data, (table, scan)| {
        let copy = format!(
            "COPY (SELECT {scan}) TO 's3://tpcds/q75/{table}/{table}.parquet' STORED AS PARQUET"
        );
        data.then(&["sql", "-f", &definitions, "-c", &copy])
    })
}

/// Returns the text of a query. Query 44 is about store 2, as in the paper: store 4 sells nothing at small scales.
pub(super) fn text(number: usize) -> String {
    tpcds::query_with(number, Parameters::Icpe2020).map(Cow::into_owned).unwrap_or_default()
}

/// Returns the numbers of the queries that run: all of them, but at small scales query 90 divides by a count of 0.
pub(super) fn all_numbers(setting: &Setting) -> Vec<usize> {
    (1..=tpcds::QUERIES.len()).filter(|number| setting.scale >= 1.0 || *number != 90).collect()
}

/// The name of the run of all queries.
pub(super) const ALL_QUERIES: &str = "all queries";
/// How often the queries of [`all_queries`] and [`ranking`] run.
pub(super) const REPEATED: &str =
    "Each query runs once. The queries of Tables 2 and 3 run five times, and the median counts.";

/// Runs all queries once.
pub(super) fn all_queries(setting: &Setting) -> Run {
    let numbers: Vec<String> = all_numbers(setting).iter().map(ToString::to_string).collect();
    storage(ALL_QUERIES, setting, &["-f", "-", "--rounds", "1", "--setup", SETUP]).reading(&[
        "generate",
        "queries",
        "tpcds",
        &numbers.join(","),
        "--parameters",
        "icpe-2020",
    ])
}

/// The name of the run that ranks the queries of Tables 2 and 3.
pub(super) const RANKING: &str = "ranking";

/// Runs the queries of Tables 2 and 3 and ranks them.
pub(super) fn ranking(setting: &Setting) -> Run {
    with_queries(RANKING, setting, &QUERIES, &["--rounds", "5", "--setup", SETUP])
}

/// Runs some queries and ranks them by what a device saves that does more, or less, than the paper's.
pub(super) fn offloading(
    name: &str,
    setting: &Setting,
    numbers: &[usize],
    operations: &str,
) -> Run {
    let device = ["--device", WHAT_IF, "--offload", operations];
    // Callers repeat the command; short queries are repeated by it, too.
    let rounds = ["--rounds", setting.either("3", "1"), "--setup", SETUP];
    with_queries(name, setting, numbers, &[device, rounds].concat())
}

/// Runs some queries over model tables, too.
pub(super) fn model_tables(setting: &Setting, numbers: &[usize]) -> Run {
    let rounds = setting.either("1", "3");
    with_queries("model tables", setting, numbers, &["--rounds", rounds, "--model-tables", "tpcds"])
}

/// Runs a query and lists its stages.
pub(super) fn stages(setting: &Setting, number: usize) -> Run {
    let name = format!("stages of Q{number}");
    with_queries(&name, setting, &[number], &["--rounds", "5", "--setup", SETUP])
}

fn with_queries(name: &str, setting: &Setting, numbers: &[usize], arguments: &[&str]) -> Run {
    let texts: Vec<String> =
        numbers.iter().map(|number| format!("-- Q{number}\n{}", text(*number))).collect();
    let commands = texts.iter().flat_map(|text| ["-c", text.as_str()]);
    let all: Vec<&str> = commands.chain(arguments.iter().copied()).collect();
    storage(name, setting, &all)
}

fn storage(name: &str, setting: &Setting, arguments: &[&str]) -> Run {
    let data = data(setting);
    let definitions = data.definitions();
    let start = ["storage", "--format", "json", "-f", &definitions];
    let all: Vec<&str> = start.into_iter().chain(arguments.iter().copied()).collect();
    Run::command(name, &all).with_data(&data).over(UNLIMITED).shared(SHARED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_44_is_about_store_2() {
        assert_eq!(text(44).matches("ss_store_sk = 2").count(), 4);
        assert!(!text(44).contains("ss_store_sk = 4"));
    }

    #[test]
    fn query_90_runs_where_it_can() {
        assert_eq!(all_numbers(&Setting::QUICK).len(), 98);
        assert_eq!(all_numbers(&Setting::FULL).len(), 99);
    }
}
