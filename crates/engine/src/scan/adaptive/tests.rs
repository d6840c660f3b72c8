//! Tests that an adaptive scan returns the same rows whenever it changes.

use arrow::array::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::Server;
use tokio::runtime::Runtime;

use super::*;
use crate::Engine;
use crate::context::config::Scan;
use crate::scan::s3_scan::{S3Scan, as_adaptive_scan, as_select_scan};

/// Returns the plan in which every Select scan begins with GET and changes when this many files are opened.
fn turning(
    engine: &Engine,
    plan: Arc<dyn ExecutionPlan>,
    after: u64,
    options: &ConfigOptions,
) -> Arc<dyn ExecutionPlan> {
    let turning = |node: Arc<dyn ExecutionPlan>, asked: &SelectPushdown| {
        let config = crate::scan::s3_scan::as_scan(node.as_ref());
        let Some(config) = config else { return Ok(Transformed::no(node)) };
        let instead = SelectAlternative {
            filters: asked.filters.clone(),
            split: asked.split,
            batch_size: asked.batch_size,
        };
        let config = AdaptiveSource::replace(config, engine.endpoint(), instead).unwrap();
        let source = config.file_source().downcast_ref::<AdaptiveSource>().unwrap().after(after);
        let config = FileScanConfigBuilder::from(config).with_source(Arc::new(source)).build();
        Ok(Transformed::yes(S3Scan::node(config) as Arc<dyn ExecutionPlan>))
    };
    plan.transform_up(|node| {
        let Some((config, source)) = as_select_scan(node.as_ref()) else {
            return Ok(Transformed::no(node));
        };
        let get = source.get();
        let fetched = get.plan(config, &source.exact_filters(), source.output(), options)?;
        let asked = source.pushdown();
        fetched.transform_up(|node| turning(node, &asked)).data().map(Transformed::yes)
    })
    .data()
    .unwrap()
}

fn text(batches: &[RecordBatch]) -> Vec<String> {
    let table = pretty_format_batches(batches).unwrap().to_string();
    table.lines().filter(|line| line.starts_with("| ")).map(ToOwned::to_owned).collect()
}

/// Returns the number of files that each way opened, and the number of GET and of Select requests.
fn counted(plan: &Arc<dyn ExecutionPlan>) -> [usize; 4] {
    let mut found = [0; 4];
    plan.apply(|node| {
        if as_adaptive_scan(node.as_ref()).is_some() {
            let metrics = node.metrics().unwrap();
            let count = |name| metrics.sum_by_name(name).map_or(0, |sum| sum.as_usize());
            let names = ["opened_by_get", "opened_by_select", "get_requests", "select_requests"];
            found = names.map(count);
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    found
}

const TABLE: &str = "(k BIGINT, v VARCHAR, d DOUBLE)";

const STATEMENTS: [&str; 7] = [
    "SELECT * FROM t",
    "SELECT v FROM t WHERE k < 50",
    "SELECT d, k FROM t WHERE v >= 'c' AND k IS NOT NULL",
    "SELECT k FROM t WHERE k % 3 = 1 OR v IS NULL",
    "SELECT v, k + 1 FROM t WHERE d > 0.5",
    "SELECT count(*) FROM t WHERE k > 20",
    "SELECT v, sum(k) FROM t WHERE k < 90 GROUP BY v ORDER BY v",
];

type Row = (Option<i64>, Option<String>, f64);

fn csv(rows: &[Row]) -> String {
    let mut text = "k,v,d\n".to_owned();
    for (k, v, d) in rows {
        let k = k.map_or_else(String::new, |k| k.to_string());
        let v = v.as_ref().map_or_else(String::new, |v| format!("\"{}\"", v.replace('"', "\"\"")));
        text += &format!("{k},{v},{d}\n");
    }
    text
}

fn json(rows: &[Row]) -> String {
    let line = |(k, v, d): &Row| {
        let k = k.map_or_else(|| "null".to_owned(), |k| k.to_string());
        let v = v.as_ref().map_or_else(|| "null".to_owned(), |v| format!("{v:?}"));
        format!("{{\"k\":{k},\"v\":{v},\"d\":{d}}}\n")
    };
    rows.iter().map(line).collect()
}

/// The rows, and with one partition their order, equal those that DataFusion reads from local files.
#[test]
fn rows_do_not_depend_on_when_a_scan_turns() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bucket = folder.path().join("bucket");
    std::fs::create_dir(&bucket).unwrap();
    let server = Server::builder(folder.path()).sync_writes(false).start();
    let server = runtime.block_on(server).unwrap();
    let row = (
        prop::option::weighted(0.8, 0..100_i64),
        prop::option::weighted(0.8, "[a-f \",é]{1,5}"),
        (0..8_u8).prop_map(|eighths| f64::from(eighths) / 8.0),
    );
    let files = prop::collection::vec(prop::collection::vec(row, 0..30), 1..6);
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let number = std::cell::Cell::new(0);
    let strategy = (files, any::<bool>(), 0..8_u64, 1..3_usize, 0..STATEMENTS.len());
    let result = TestRunner::new(config).run(&strategy, |(files, is_csv, after, threads, sql)| {
        number.set(number.get() + 1);
        let name = format!("{}", number.get());
        std::fs::create_dir(bucket.join(&name)).unwrap();
        let (stored, extension) = if is_csv { ("CSV", "csv") } else { ("JSON", "json") };
        for (at, rows) in files.iter().enumerate() {
            let text = if is_csv { csv(rows) } else { json(rows) };
            std::fs::write(bucket.join(format!("{name}/{at}.{extension}")), text).unwrap();
        }
        let options = if is_csv { "OPTIONS ('format.has_header' 'true')" } else { "" };
        let table = |location: String| {
            format!(
                "CREATE EXTERNAL TABLE t {TABLE} STORED AS {stored} LOCATION '{location}' {options}"
            )
        };
        let sql = STATEMENTS[sql];
        runtime.block_on(async {
            let config = SessionConfig::new().with_target_partitions(threads);
            let stock = SessionContext::new_with_config(config);
            stock.sql(&table(format!("{}/{name}/", bucket.display()))).await.unwrap();
            let mut expected = text(&stock.sql(sql).await.unwrap().collect().await.unwrap());
            let engine = Engine::builder()
                .endpoint(server.endpoint())
                .credentials(server.access_key(), server.secret_key())
                .profile(StoreCapabilities::sluice())
                .scan(Scan::Select)
                .threads(threads)
                .build()
                .await
                .unwrap();
            for set in [
                &table(format!("s3://bucket/{name}/")),
                // Small limits, so that files are read in ranges.
                "SET datafusion.optimizer.repartition_file_min_size = 100",
                "SET sluice.range_bytes = 100",
                "SET sluice.select_partitions = 1",
                "SET sluice.aggregate = 'here'",
                "SET sluice.group_by = 'filtered'",
            ] {
                engine.query(set).await.unwrap().collect().await.unwrap();
            }
            let query = engine.query(sql).await.unwrap();
            let context = Arc::new(query.task_ctx());
            let plan = query.create_physical_plan().await.unwrap();
            let options = context.session_config().options();
            let plan = turning(&engine, plan, after, options);
            let mut found = text(&collect(Arc::clone(&plan), context).await.unwrap());
            if threads > 1 {
                expected.sort();
                found.sort();
            }
            assert_eq!(found, expected, "{sql}");
            let [got, selected, gets, selects] = counted(&plan);
            assert_eq!(got, (got + selected).min(after as usize), "{sql}");
            // An empty object gets no statement, and finding the end of a range may take more requests.
            assert!(selects <= selected && gets >= got, "{sql}: {gets}, {selects}");
        });
        Ok(())
    });
    result.unwrap();
}
