//! DataFusion's own SQL logic tests with their tables in the store and strategies forced in turn: the answers equal
//! those of DataFusion over tables in memory and local files.
//!
//! Opt-in: `SLUICE_TEST_UPSTREAM` names the folder `datafusion/sqllogictest` of a checkout of DataFusion of our
//! version, or the package `datafusion-sqllogictest` (then without the files that only the checkout has).
//! `SLUICE_TEST_UPSTREAM_FILES=joins,topk` picks files. It takes two minutes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use datafusion::common::TableReference;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use parquet::arrow::ArrowWriter;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sqllogictest::{Condition, DefaultColumnType, QueryExpect, Record, SortMode};
use tempfile::TempDir;

use crate::harness::{BUCKET, Store, stock, values};

/// Joins, aggregates, GROUP BY, top-K, limits, orders, unions, subqueries and decimals.
const FILES: [&str; 27] = [
    "aggregate",
    "aggregate_any_value",
    "aggregate_repartition",
    "aggregate_skip_partial",
    "aggregates_simplify",
    "aggregates_topk",
    "count_star_rule",
    "decimal",
    "distinct_on",
    "eliminate_outer_join",
    "group",
    "group_by",
    "grouping",
    "in_list",
    "intersection",
    "join_disable_repartition_joins",
    "join_is_not_distinct_from",
    "join_limit_pushdown",
    "join_only",
    "joins",
    "limit",
    "null_aware_anti_join",
    "order",
    "predicates",
    "subquery",
    "topk",
    "union",
];

/// The settings of a run.
const RUNS: [(Scan, &[&str]); 4] = [
    (Scan::Get, &[]),
    (Scan::Auto, &[]),
    (
        Scan::Select,
        &["sluice.join = 'bloom'", "sluice.top_k = 'sampling'", "sluice.group_by = 's3'"],
    ),
    (
        Scan::Select,
        &["sluice.join = 'filtered'", "sluice.top_k = 'late'", "sluice.group_by = 'hybrid'"],
    ),
];

/// Functions and statements whose answers differ from run to run.
const CHANCE: [&str; 6] =
    ["random()", "now()", "uuid()", "current_", "information_schema", "show "];

/// Functions whose values depend on the order of rows, which is undefined.
const OF_THE_ORDER: [&str; 7] = [
    "any_value",
    "first_value",
    "last_value",
    "nth_value",
    "array_agg",
    "string_agg",
    "distinct on",
];

/// Statements whose answers may differ without being wrong: file, part of the statement, reason.
const KNOWN: [(&str, &str, &str); 6] = [
    (
        "aggregate",
        "fixed_size_binary_views",
        "Parquet's bytes come as views, which have no such CAST",
    ),
    ("join_disable_repartition_joins", "ORDER BY t1.a, t2.b", "the rows that are shown tie"),
    ("join_only", "ORDER BY t1.a, t2.b", "the rows that are shown tie"),
    ("limit", "from data limit 3", "an unbounded table is a local stream"),
    ("topk", "(select * from topk limit 8)", "the inner limit leaves any eight rows"),
    ("topk", "partial_sorted", "a table of an object that is not there yet is an error here"),
];

/// The two sides of a comparison.
struct TestSides {
    upstream: PathBuf,
    scratch: TempDir,
    store: Store,
    stock: SessionContext,
    engine: Engine,
    /// Number of tables in memory that were written to the store.
    tables: usize,
}

/// The counts and the differences of a run.
#[derive(Default)]
struct Report {
    compared: usize,
    failed_alike: usize,
    /// Number of answers of which only the number of rows was compared.
    open: usize,
    selects: u64,
    differ: String,
    /// The recorded differences.
    known: String,
}

impl TestSides {
    async fn new(upstream: &Path, scan: Scan, settings: &[&str]) -> Self {
        let store = Store::start().await;
        let engine = store.engine(scan).await;
        for setting in settings {
            rows(engine.context(), &format!("SET {setting}")).await.unwrap();
        }
        let stock = stock();
        // The setting of upstream's test runner.
        for context in [&stock, engine.context()] {
            context.sql("SET datafusion.execution.target_partitions = 4").await.unwrap();
        }
        let scratch = tempfile::tempdir().unwrap();
        Self { upstream: upstream.to_owned(), scratch, store, stock, engine, tables: 0 }
    }

    /// Returns a statement with the files of each side: theirs, ours. `None` if a file is missing.
    fn placed(&self, sql: &str) -> Option<(String, String)> {
        let (mut theirs, mut ours) = (String::new(), String::new());
        for (n, piece) in sql.split('\'').enumerate() {
            let quote = if n > 0 { "'" } else { "" };
            let is_path = ["../", "test_files/", "data/"].iter().any(|at| piece.starts_with(at));
            let (local, remote) = match n % 2 == 1 && is_path {
                true => self.place(piece)?,
                false => (piece.to_owned(), piece.to_owned()),
            };
            write!(theirs, "{quote}{local}").unwrap();
            write!(ours, "{quote}{remote}").unwrap();
        }
        Some((theirs, ours))
    }

    fn place(&self, path: &str) -> Option<(String, String)> {
        let remote = path.replace("../", "");
        if let Some(scratch) = path.strip_prefix("test_files/scratch/") {
            let local = self.scratch.path().join(scratch);
            std::fs::create_dir_all(local.parent().unwrap()).unwrap();
            return Some((local.display().to_string(), format!("s3://{BUCKET}/{remote}")));
        }
        let local = self.upstream.join(path);
        if !local.exists() {
            return None;
        }
        self.copy(&local, remote.trim_end_matches('/'));
        Some((local.display().to_string(), format!("s3://{BUCKET}/{remote}")))
    }

    /// Copies a file, or the files of a folder, to the store.
    fn copy(&self, from: &Path, key: &str) {
        if from.is_dir() {
            for entry in std::fs::read_dir(from).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                self.copy(&path, &format!("{key}/{name}"));
            }
        } else if let Ok(bytes) = std::fs::read(from) {
            self.store.put(key, bytes);
        }
    }

    /// Runs a statement that is no query on both sides.
    async fn run(&mut self, sql: &str) {
        let Some((theirs, ours)) = self.placed(sql) else { return };
        let words: Vec<String> = sql.split_whitespace().map(str::to_lowercase).collect();
        let view = words.iter().take(4).any(|word| word == "view");
        let of_memory = !view
            && words.first().is_some_and(|word| {
                matches!(word.as_str(), "create" | "insert" | "delete" | "update" | "truncate")
            });
        let before = self.memory_tables().await;
        let done = Box::pin(rows(&self.stock, &theirs)).await;
        if of_memory && done.is_ok() {
            let after = self.memory_tables().await;
            let named = |name: &String| {
                words.iter().any(|word| {
                    let word = word.split('(').next().unwrap_or_default();
                    word.trim_end_matches(';').rsplit('.').next() == Some(name)
                })
            };
            let changed: Vec<&String> =
                after.iter().filter(|name| !before.contains(*name) || named(name)).collect();
            if !changed.is_empty() {
                for name in changed {
                    self.store_table(name).await;
                }
                return;
            }
        }
        // Either side may fail; later queries show any difference.
        let _ = Box::pin(rows(self.engine.context(), &ours)).await;
    }

    async fn memory_tables(&self) -> BTreeSet<String> {
        let schema = self.stock.catalog("datafusion").unwrap().schema("public").unwrap();
        let mut tables = BTreeSet::new();
        for name in schema.table_names() {
            let table = schema.table(&name).await.ok().flatten();
            if table.is_some_and(|table| table.downcast_ref::<MemTable>().is_some()) {
                tables.insert(name);
            }
        }
        tables
    }

    /// Writes a table in memory of the other side to our store, as two objects of Parquet. Tables with types that
    /// Parquet does not support stay in memory.
    async fn store_table(&mut self, name: &str) {
        let table = self.stock.table_provider(TableReference::bare(name)).await.unwrap();
        let frame = self.stock.read_table(std::sync::Arc::clone(&table)).unwrap();
        let batches = frame.collect().await.unwrap();
        let context = self.engine.context();
        // The table may not exist yet.
        let _ = context.deregister_table(TableReference::bare(name));
        self.tables += 1;
        let folder = format!("tables/{}", self.tables);
        let schema = table.schema();
        let all = arrow::compute::concat_batches(&schema, &batches).unwrap();
        let half = all.num_rows() / 2;
        let parts = [all.slice(0, half), all.slice(half, all.num_rows() - half)];
        let plain = table.constraints().is_none_or(|them| them.is_empty());
        let written: Option<Vec<_>> = parts.iter().map(written).collect();
        let (true, Some(objects)) = (plain, written) else {
            context.register_table(TableReference::bare(name), table).unwrap();
            return;
        };
        for (n, object) in objects.into_iter().enumerate() {
            self.store.put(&format!("{folder}/{n}.parquet"), object);
        }
        let ddl = format!(
            "CREATE EXTERNAL TABLE \"{name}\" STORED AS PARQUET LOCATION 's3://{BUCKET}/{folder}/'"
        );
        rows(self.engine.context(), &ddl).await.unwrap();
    }

    async fn compare(&mut self, at: &str, sql: &str, ordered: bool, report: &mut Report) {
        let Some((theirs, ours)) = self.placed(sql) else { return };
        let theirs = Box::pin(rows(&self.stock, &theirs)).await;
        let before = self.engine.counted();
        let ours = Box::pin(rows(self.engine.context(), &ours)).await;
        report.selects += self.engine.counted().since(&before).select;
        match (theirs, ours) {
            (Ok(mut theirs), Ok(mut ours)) => {
                report.compared += 1;
                if !ordered {
                    theirs.sort();
                    ours.sort();
                }
                let lower = sql.to_lowercase();
                let is_open = OF_THE_ORDER.iter().any(|it| lower.contains(it))
                    || lower.contains("limit") && !lower.contains("order by");
                report.open += usize::from(is_open);
                let same = match is_open {
                    true => theirs.len() == ours.len(),
                    false => same(&theirs, &ours),
                };
                if !same {
                    let (theirs, ours) = (short(&theirs), short(&ours));
                    writeln!(report.differ, "{at}: {sql}\n  theirs {theirs}\n  ours   {ours}")
                        .unwrap();
                }
            }
            (Err(_), Err(_)) => report.failed_alike += 1,
            (Ok(_), Err(error)) => {
                writeln!(report.differ, "{at}: {sql}\n  ours fails: {error}").unwrap();
            }
            (Err(error), Ok(_)) => {
                writeln!(report.differ, "{at}: {sql}\n  theirs fails: {error}").unwrap();
            }
        }
    }
}

fn written(batch: &RecordBatch) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).ok()?;
    writer.write(batch).ok()?;
    writer.close().ok()?;
    Some(bytes)
}

/// Returns true if rows are equal, apart from the last digits of sums of floats.
fn same(theirs: &[Vec<String>], ours: &[Vec<String>]) -> bool {
    let cell = |(a, b): (&String, &String)| {
        a == b
            || match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(a), Ok(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9),
                _ => false,
            }
    };
    let row =
        |(a, b): (&Vec<String>, &Vec<String>)| a.len() == b.len() && a.iter().zip(b).all(cell);
    theirs.len() == ours.len() && theirs.iter().zip(ours).all(row)
}

fn short(rows: &[Vec<String>]) -> String {
    let text = format!("{} rows {rows:?}", rows.len());
    text.chars().take(600).collect()
}

async fn rows(context: &SessionContext, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let frame = context.sql(sql).await.map_err(|error| error.to_string())?;
    frame.collect().await.map(|batches| values(&batches)).map_err(|error| error.to_string())
}

fn skipped(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| match condition {
        Condition::OnlyIf { label } => label != "datafusion",
        Condition::SkipIf { label } => label == "datafusion",
    })
}

/// Runs the statements of a file on both sides.
async fn check(upstream: &Path, name: &str, run: (Scan, &[&str])) -> Report {
    let file = upstream.join(format!("test_files/{name}.slt"));
    let records = sqllogictest::parse_file::<DefaultColumnType>(&file).unwrap();
    let mut sides = TestSides::new(upstream, run.0, run.1).await;
    let mut report = Report::default();
    for record in records {
        match record {
            Record::Statement { conditions, sql, .. } if !skipped(&conditions) => {
                Box::pin(sides.run(&sql)).await;
            }
            Record::Query { loc, conditions, sql, expected, .. } if !skipped(&conditions) => {
                let lower = sql.to_lowercase();
                let known = KNOWN
                    .iter()
                    .find(|(file, part, _)| *file == name && lower.contains(&part.to_lowercase()));
                if let Some((_, _, why)) = known {
                    writeln!(report.known, "{name}.slt:{}: not compared: {why}", loc.line())
                        .unwrap();
                    continue;
                }
                if lower.trim_start().starts_with("explain")
                    || CHANCE.iter().any(|it| lower.contains(it))
                {
                    continue;
                }
                let sort = match expected {
                    QueryExpect::Results { sort_mode, .. } => sort_mode,
                    QueryExpect::Error(_) => continue,
                };
                let ordered = lower.contains("order by")
                    && !matches!(sort, Some(SortMode::RowSort | SortMode::ValueSort));
                let at = format!("{name}.slt:{}", loc.line());
                Box::pin(sides.compare(&at, &sql, ordered, &mut report)).await;
            }
            _ => {}
        }
    }
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn datafusions_own_tests_have_the_same_answers() {
    let Some(upstream) = std::env::var_os("SLUICE_TEST_UPSTREAM").map(PathBuf::from) else {
        println!("skipped: set SLUICE_TEST_UPSTREAM to the folder of datafusion-sqllogictest");
        return;
    };
    let picked = std::env::var("SLUICE_TEST_UPSTREAM_FILES").unwrap_or_default();
    let mut all = Report::default();
    for run in RUNS {
        for name in FILES {
            if !picked.is_empty() && !picked.split(',').any(|it| it == name) {
                continue;
            }
            let report = Box::pin(check(&upstream, name, run)).await;
            print!("{}", report.known);
            println!(
                "{name} {run:?}: {} compared ({} by their number of rows), {} fail alike, \
                 {} statements of Select",
                report.compared, report.open, report.failed_alike, report.selects
            );
            all.compared += report.compared;
            all.selects += report.selects;
            if !report.differ.is_empty() {
                println!("{}", report.differ);
                all.differ.push_str(&report.differ);
            }
        }
    }
    assert!(all.compared > 0 && all.selects > 0);
    assert!(all.differ.is_empty(), "answers differ");
}
