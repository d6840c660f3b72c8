//! The common parts of tests: a store, engines over it, and the comparison of answers.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use async_trait::async_trait;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use proptest::test_runner::{Config, TestRunner};
use sluicegate_costmodel::{HardwareProfile, PriceBook};
use sluicegate_engine::config::Scan;
use sluicegate_engine::guards::{rewrite, with_guards};
use sluicegate_engine::{Engine, EngineBuilder};
use sluicegate_s3select::capabilities::{Extension, StoreCapabilities};
use sluicegate_server::{Builder, Faults, Server};
use tempfile::TempDir;

use crate::codec::comes_back;

/// Name of the bucket in every test.
pub(crate) const BUCKET: &str = "test";

/// Returns a runner of so many random cases, or of `PROPTEST_CASES`. The cases depend on `PROPTEST_RNG_SEED`, which
/// `.cargo/config.toml` fixes.
pub(crate) fn runner(cases: u32) -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// Returns true if grids of ways are run in full.
pub(crate) fn whole_grids() -> bool {
    std::env::var_os("SLUICE_TEST_GRIDS").is_some()
}

/// A grid of ways, of which every n-th runs, or all with `SLUICE_TEST_GRIDS`. If n is prime and divides no dimension,
/// each value of each dimension runs.
pub(crate) struct Grid {
    every: usize,
    passed: usize,
}

impl Grid {
    /// Creates a grid of `ways`, and prints a note if some are skipped.
    pub(crate) fn every(n: usize, ways: &str) -> Self {
        let whole = whole_grids();
        if !whole && n > 1 {
            eprintln!("partly skipped: set SLUICE_TEST_GRIDS=1 for {ways}");
        }
        Self { every: if whole { 1 } else { n }, passed: 0 }
    }

    /// Returns true if the next way runs.
    pub(crate) fn takes(&mut self) -> bool {
        self.passed += 1;
        self.passed.is_multiple_of(self.every)
    }
}

/// Returns our server's profile without `BLOOM_CONTAINS`, so that Bloom filters have PushdownDB's form.
pub(crate) fn without_bloom_contains() -> StoreCapabilities {
    let mut profile = StoreCapabilities::sluice();
    profile.syntax.bloom = false;
    profile
}

/// A store with a bucket, ours or another one, for tests that run on any store.
#[async_trait]
pub(crate) trait TestStore: Sync {
    /// Returns the name of the bucket.
    fn bucket(&self) -> &str;

    /// Puts an object into the bucket.
    async fn put_object(&self, key: &str, bytes: Vec<u8>);

    /// Returns a builder of engines over the store, with the profile of its kind.
    fn builder(&self) -> EngineBuilder;
}

/// A running store in a temporary folder.
pub(crate) struct Store {
    /// The server, which stops when it is dropped.
    pub(crate) server: Server,
    /// The faults that tests inject.
    pub(crate) faults: Arc<Faults>,
    /// The folder of the store, which is removed on drop.
    pub(crate) folder: TempDir,
}

impl Store {
    /// Starts a store with one empty bucket.
    pub(crate) async fn start() -> Self {
        Self::start_with(|server| server).await
    }

    /// Starts a store with one empty bucket and other settings of the server.
    pub(crate) async fn start_with(configure: impl FnOnce(Builder) -> Builder) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let faults = Arc::new(Faults::new());
        let server = Server::builder(folder.path()).faults(Arc::clone(&faults)).sync_writes(false);
        let server = configure(server).start().await.unwrap();
        Self { server, faults, folder }
    }

    /// Puts an object into the bucket by writing a file, as a user might.
    pub(crate) fn put(&self, key: &str, bytes: impl AsRef<[u8]>) {
        let path = self.folder.path().join(BUCKET).join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Returns a builder of engines over this store, with our server's profile.
    pub(crate) fn builder(&self) -> EngineBuilder {
        Engine::builder()
            .endpoint(self.server.endpoint())
            .credentials(self.server.access_key(), self.server.secret_key())
            .profile(StoreCapabilities::sluice())
            .prices(PriceBook::paper().clone())
            .hardware(hardware())
            .threads(2)
    }

    /// Builds an engine over this store.
    pub(crate) async fn engine(&self, scan: Scan) -> Engine {
        self.builder().scan(scan).build().await.unwrap()
    }
}

/// Returns our server's profile, but with answers about Parquet as text.
pub(crate) fn in_text() -> StoreCapabilities {
    let mut profile = StoreCapabilities::sluice();
    profile.relies_on.remove(&Extension::Arrow);
    profile
}

/// Returns the hardware profile of tests: a store in the same network that shares the client's cores.
fn hardware() -> HardwareProfile {
    let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
    hardware.client.shares_cores = true;
    hardware
}

#[async_trait]
impl TestStore for Store {
    fn bucket(&self) -> &str {
        BUCKET
    }

    async fn put_object(&self, key: &str, bytes: Vec<u8>) {
        self.put(key, bytes);
    }

    fn builder(&self) -> EngineBuilder {
        self.builder()
    }
}

/// Returns DataFusion over local files, with the guards of our sessions and nothing else of ours. This is the oracle
/// of every way to run a query; `tests/it/guards.rs` and `tests/oracle` test the guards themselves. Filters of a
/// top-K and skipping parts of a Parquet object by bounds are off, too, because they lose NaN.
pub(crate) fn stock() -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(2);
    config.options_mut().optimizer.enable_topk_dynamic_filter_pushdown = false;
    config.options_mut().execution.parquet.pruning = false;
    config.options_mut().execution.parquet.enable_page_index = false;
    config.options_mut().execution.collect_statistics = false;
    let builder = SessionStateBuilder::new().with_config(config).with_default_features();
    SessionContext::new_with_state(with_guards(builder).unwrap().build())
}

/// Runs a statement that must succeed; returns its rows as sorted text.
pub(crate) async fn rows(engine: &Engine, sql: &str) -> Vec<String> {
    match try_rows(engine, sql).await {
        Ok(rows) => rows,
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// Runs a statement; returns its rows as sorted text.
pub(crate) async fn try_rows(engine: &Engine, sql: &str) -> sluicegate_engine::Result<Vec<String>> {
    Ok(text(&batches(engine, sql).await?))
}

/// Runs a statement, after checking that its plan survives encoding.
pub(crate) async fn batches(
    engine: &Engine,
    sql: &str,
) -> sluicegate_engine::Result<Vec<RecordBatch>> {
    let frame = engine.query(sql).await?;
    let context = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await?;
    comes_back(&plan, &context, sql);
    Ok(collect(plan, context).await?)
}

/// Runs a statement; returns its rows as text, in their order.
pub(crate) async fn try_ordered(
    engine: &Engine,
    sql: &str,
) -> sluicegate_engine::Result<Vec<Vec<String>>> {
    Ok(values(&batches(engine, sql).await?))
}

/// Plans a statement on the oracle, with the guards that rewrite its text.
pub(crate) async fn stock_frame(
    stock: &SessionContext,
    sql: &str,
) -> datafusion::common::Result<DataFrame> {
    let state = stock.state();
    let mut statement = state.sql_to_statement(sql, &state.config_options().sql_parser.dialect)?;
    rewrite(&mut statement)?;
    stock.execute_logical_plan(state.statement_to_plan(statement).await?).await
}

/// Runs a statement on the oracle; returns its rows as text, in their order.
pub(crate) async fn stock_ordered(
    stock: &SessionContext,
    sql: &str,
) -> Result<Vec<Vec<String>>, String> {
    let frame = stock_frame(stock, sql).await.map_err(|e| e.to_string())?;
    frame.collect().await.map(|batches| values(&batches)).map_err(|e| e.to_string())
}

/// Runs a statement on the oracle; returns its rows as sorted text.
pub(crate) async fn stock_rows(stock: &SessionContext, sql: &str) -> Result<Vec<String>, String> {
    let frame = stock_frame(stock, sql).await.map_err(|e| e.to_string())?;
    frame.collect().await.map(|batches| text(&batches)).map_err(|e| e.to_string())
}

/// Returns rows as sorted text. NULL and the empty string differ.
pub(crate) fn text(batches: &[RecordBatch]) -> Vec<String> {
    let quoted =
        |row: Vec<String>| row.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>();
    let mut rows: Vec<String> =
        values(batches).into_iter().map(|row| quoted(row).join(" | ")).collect();
    rows.sort();
    rows
}

/// Returns rows as text, in their order.
pub(crate) fn values(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let options = FormatOptions::new().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
            .collect();
        rows.extend((0..batch.num_rows()).map(|row| {
            columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>()
        }));
    }
    rows
}

/// Returns the statements that the nodes of a plan would send, in the order of the plan.
pub(crate) async fn statements(engine: &Engine, sql: &str) -> Vec<String> {
    let plan = engine.explain(sql).await.unwrap().plan;
    let text = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
    text.lines()
        .filter_map(|line| line.split_once("select=").map(|(_, sql)| sql.to_owned()))
        .collect()
}
