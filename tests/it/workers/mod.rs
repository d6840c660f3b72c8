//! Queries on several machines: the answers are the same, and the counts include all machines.

mod command;
mod faults;
mod shapes;

use std::num::NonZeroU32;
use std::time::Duration;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use datafusion::common::runtime::SpawnedTask;
use object_store::local::LocalFileSystem;
use sluicegate_distributed::{Cluster, Token, Worker, WorkerError};
use sluicegate_engine::config::Scan;
use sluicegate_engine::{Engine, EngineBuilder, Query};
use sluicegate_server::Operation;
use sluicegate_workloads::DataTable as _;
use sluicegate_workloads::tpch::{Format, Table, generate, query};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::figure_10::check_items;
use crate::harness::{BUCKET, Grid, Store, TestStore, rows, stock, stock_rows, text, values};
use crate::tpch::{compare, data, oracle};

/// A worker in this process, with threads of its own, reached over TCP.
pub(crate) struct TestWorker {
    url: String,
    engine: Engine,
    stop: Option<oneshot::Sender<()>>,
    ended: Option<oneshot::Receiver<Result<(), WorkerError>>>,
    runtime: Option<Runtime>,
}

impl TestWorker {
    pub(crate) async fn start(builder: EngineBuilder, token: Option<&str>) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        let token = token.map(|text| Token::new(text).unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let (end, ended) = oneshot::channel();
        let (told, started) = oneshot::channel();
        runtime.handle().spawn(async move {
            let engine = builder.build().await.unwrap();
            let address = "127.0.0.1:0".parse().unwrap();
            let worker = Worker::listen(address, engine.clone(), token).await.unwrap();
            let _ = told.send((format!("http://{}", worker.address()), engine));
            let ran = worker.run(async {
                let _ = stopped.await;
            });
            let _ = end.send(ran.await);
        });
        let (url, engine) = started.await.unwrap();
        Self { url, engine, stop: Some(stop), ended: Some(ended), runtime: Some(runtime) }
    }

    /// Stops the worker after its running queries.
    fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits until the worker has stopped.
    async fn stopped(&mut self) {
        let ended = self.ended.take().unwrap();
        tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap().unwrap().unwrap();
    }
}

/// Dropping the worker ends it at once, like a power failure.
impl Drop for TestWorker {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Workers, and an engine that is their coordinator.
pub(crate) struct Machines {
    pub(crate) engine: Engine,
    pub(crate) workers: Vec<TestWorker>,
}

impl Machines {
    pub(crate) async fn start(store: &Store, count: usize, scan: Scan) -> Self {
        Self::with(count, || store.builder().scan(scan)).await
    }

    /// Starts workers whose engines come from this builder.
    pub(crate) async fn with(count: usize, builder: impl Fn() -> EngineBuilder) -> Self {
        let mut workers = Vec::new();
        for _ in 0..count {
            workers.push(TestWorker::start(builder(), Some("secret")).await);
        }
        let urls: Vec<String> = workers.iter().map(|worker| worker.url.clone()).collect();
        let cluster = Cluster::connect(&urls, Token::new("secret")).await.unwrap();
        let engine = builder().session(move |session| cluster.add_to(session));
        let machines = Self { engine: engine.build().await.unwrap(), workers };
        // Every scan uses all workers, and its files are split.
        machines.set("distributed.file_scan_config_bytes_per_partition = 1").await;
        machines.set("datafusion.optimizer.repartition_file_min_size = 1024").await;
        machines.set("sluice.range_bytes = 1024").await;
        machines
    }

    pub(crate) async fn set(&self, setting: &str) {
        self.engine.collect(&format!("SET {setting}")).await.unwrap();
    }

    async fn run(&self, sql: &str) -> (Query, Vec<RecordBatch>) {
        let query = self.engine.plan(sql).await.unwrap();
        let batches = query.collect().await;
        (query, batches.unwrap_or_else(|error| panic!("{sql}: {error}")))
    }

    async fn rows(&self, sql: &str) -> Vec<String> {
        text(&self.run(sql).await.1)
    }

    /// Returns the text of EXPLAIN for a statement.
    async fn plan(&self, sql: &str) -> String {
        values(&self.run(&format!("EXPLAIN {sql}")).await.1).concat().join("\n")
    }
}

/// Writes the tables of TPC-H to the store, in several objects each, through the folder that it serves.
async fn tpch(store: &Store, format: &Format, scale: f64) {
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    generate(&data(format, 3, scale), &bucket, &|_| ()).await.unwrap();
}

async fn register(engine: &Engine, format: &Format, scale: f64) {
    let data = data(format, 3, scale);
    for table in Table::ALL {
        let location = format!("s3://{BUCKET}/{}/", data.folder(table));
        engine.collect(&table.create_external_table(format, &location)).await.unwrap();
    }
}

/// Runs all 22 queries: the answers are DataFusion's, and the workers' counts equal those of the store.
async fn tpch_on(machines: usize, scale: f64) {
    let mut grid = Grid::every(5, "each query of TPC-H on machines each way");
    let store = Store::start().await;
    let numbers: Vec<usize> = (1..=22).collect();
    let expected = oracle(scale, &numbers, &[Format::csv()]).await;
    for format in [Format::csv(), Format::parquet()] {
        tpch(&store, &format, scale).await;
        for scan in [Scan::Get, Scan::Select, Scan::Auto] {
            let machines = Machines::start(&store, machines, scan).await;
            register(&machines.engine, &format, scale).await;
            for (number, expected) in numbers.iter().zip(&expected).filter(|_| grid.takes()) {
                let sql = query(*number).unwrap();
                let served = store.server.counters().snapshot();
                let (query, batches) = machines.run(sql).await;
                let way = format!("{scan:?}, {format:?}");
                compare(*number, &values(&batches), expected, &way);
                let served = store.server.counters().snapshot().since(&served);
                let counted = query.counted();
                let requests = served.requests.values().sum::<u64>();
                assert_eq!(requests, counted.requests(), "query {number}, {way}: {counted:?}");
                let selects = served.requests.get(&Operation::SelectObjectContent);
                assert_eq!(selects.copied().unwrap_or(0), counted.select, "query {number}, {way}");
                assert!(machines.plan(sql).await.contains("[Stage "), "query {number}, {way}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_machines_answer_tpch_as_one_does() {
    Box::pin(tpch_on(2, 0.01)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn four_machines_answer_tpch_as_one_does() {
    Box::pin(tpch_on(4, 0.005)).await;
}

const ROWS: usize = 30_000;

/// Creates a table `t` of numbers and texts in five objects of different lengths, and a table `u` of some of its
/// keys.
async fn tables(store: &Store, engine: &Engine) {
    let mut state = 1_u32;
    let mut next = || {
        // The generator of Numerical Recipes gives the same tables each time.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    for object in 0..5 {
        let mut text = String::from("k,g,v,s\n");
        for k in (0..ROWS).filter(|k| (k * k) % 15 % 5 == object) {
            let (g, v) = (next() % 40, next() % 100_000);
            text.push_str(&format!("{k},g{g},{}.{:02},\"a, {v}\"\n", v / 100, v % 100));
        }
        store.put(&format!("t/{object}.csv"), text);
    }
    let mut text = String::from("k,w\n");
    for k in (0..ROWS).step_by(97) {
        text.push_str(&format!("{k},{}\n", next() % 10));
    }
    store.put("u/a.csv", text);
    declare(engine).await;
}

async fn declare(engine: &Engine) {
    for ddl in DDL {
        let ddl = ddl.replace("LOCATION '", &format!("LOCATION 's3://{BUCKET}/"));
        engine.collect(&ddl).await.unwrap();
    }
}

const DDL: [&str; 2] = [
    "CREATE EXTERNAL TABLE t (k BIGINT, g VARCHAR, v DECIMAL(10, 2), s VARCHAR) STORED AS CSV LOCATION 't/' \
     OPTIONS ('format.has_header' 'true')",
    "CREATE EXTERNAL TABLE u (k BIGINT, w BIGINT) STORED AS CSV LOCATION 'u/' \
     OPTIONS ('format.has_header' 'true')",
];

/// Queries of every operator that can be forced.
const QUERIES: [&str; 16] = [
    "SELECT count(*), sum(v), min(s), max(k) FROM t WHERE v > 500",
    "SELECT g, count(*), sum(v), avg(v) FROM t GROUP BY g",
    "SELECT DISTINCT g FROM t WHERE k % 7 = 0",
    "SELECT k, v FROM t ORDER BY v DESC, k LIMIT 20",
    "SELECT t.k, g, w FROM t JOIN u ON t.k = u.k WHERE w > 4",
    "SELECT w, sum(v) FROM t JOIN u ON t.k = u.k GROUP BY w",
    "SELECT count(*) FROM t LEFT JOIN u ON t.k = u.k WHERE u.k IS NULL",
    "SELECT g, sum(v) FROM t GROUP BY g HAVING sum(v) > 375000",
    "SELECT k, g FROM t WHERE k IN (SELECT k FROM u WHERE w = 3) OR v < 1",
    "SELECT sum(v) OVER (PARTITION BY g ORDER BY k) AS running, k FROM t WHERE v > 990",
    "SELECT sum(v) OVER (PARTITION BY g ORDER BY k) AS running, k FROM t WHERE g = 'g7' AND v > 900",
    "SELECT avg(v) OVER (PARTITION BY g, s) AS mean, k FROM t WHERE g = 'g7' AND v > 900",
    "SELECT k, r, max(v) OVER (PARTITION BY s, g) AS most FROM \
     (SELECT *, rank() OVER (PARTITION BY s ORDER BY g, k) AS r FROM t) WHERE g = 'g7'",
    "SELECT sum(c) FROM (SELECT g, count(*) AS c FROM t GROUP BY g) q JOIN (SELECT DISTINCT g FROM t) d ON q.g = d.g",
    "SELECT k FROM t WHERE v > 995 UNION ALL SELECT w FROM u UNION ALL SELECT k FROM t WHERE v < 5",
    "SELECT g, count(*) FROM (SELECT g, k FROM t UNION ALL SELECT 'u', k FROM u) GROUP BY g",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_forced_strategy_answers_as_one_machine_does() {
    let store = Store::start().await;
    let one = store.engine(Scan::Get).await;
    tables(&store, &one).await;
    let machines = Machines::start(&store, 3, Scan::Auto).await;
    tables(&store, &machines.engine).await;
    let stock = stock();
    for ddl in DDL {
        let folder = format!("LOCATION '{}/", store.folder.path().join(BUCKET).display());
        stock_rows(&stock, &ddl.replace("LOCATION '", &folder)).await.unwrap();
    }
    let options = [
        ("sluice.scan", &["get", "select", "index"][..]),
        ("sluice.aggregate", &["store", "here"]),
        ("sluice.group_by", &["s3", "case", "hybrid", "filtered", "server"]),
        ("sluice.join", &["bloom", "filtered", "baseline"]),
        ("sluice.top_k", &["sampling", "late", "filtered", "server"]),
        ("sluice.switch", &["tofino2"]),
    ];
    for (option, values) in options {
        for value in values {
            machines.set(&format!("{option} = '{value}'")).await;
            for sql in QUERIES {
                let served = store.server.counters().snapshot();
                let (query, batches) = machines.run(sql).await;
                let served = store.server.counters().snapshot().since(&served);
                let expected = stock_rows(&stock, sql).await.unwrap();
                assert_eq!(text(&batches), expected, "{option} = {value}: {sql}");
                let requests = served.requests.values().sum::<u64>();
                assert_eq!(requests, query.counted().requests(), "{option} = {value}: {sql}");
            }
        }
        match option {
            "sluice.scan" => {}
            "sluice.switch" => machines.set("sluice.switch = 'off'").await,
            _ => machines.set(&format!("{option} = 'auto'")).await,
        }
    }
}

/// Each of n workers reads about one n-th of the bytes.
#[tokio::test(flavor = "multi_thread")]
async fn each_worker_reads_its_share() {
    let store = Store::start().await;
    for count in [1, 2, 4, 8] {
        let mut engines = Vec::new();
        let mut workers = Vec::new();
        for _ in 0..count {
            let engine = store.builder().scan(Scan::Select).build().await.unwrap();
            let address = "127.0.0.1:0".parse().unwrap();
            let worker = Worker::listen(address, engine.clone(), None).await.unwrap();
            workers
                .push((worker.address(), SpawnedTask::spawn(worker.run(std::future::pending()))));
            engines.push(engine);
        }
        let urls: Vec<String> = workers.iter().map(|(at, _)| format!("http://{at}")).collect();
        let cluster = Cluster::connect(&urls, None).await.unwrap();
        assert_eq!(cluster.workers(), count);
        let builder = store.builder().scan(Scan::Select);
        let engine = builder.session(move |it| cluster.add_to(it)).build().await.unwrap();
        let machines = Machines { engine, workers: Vec::new() };
        tables(&store, &machines.engine).await;
        machines.set("distributed.file_scan_config_bytes_per_partition = 1").await;
        machines.set("sluice.range_bytes = 1024").await;
        machines.rows("SELECT k, s FROM t WHERE v > 10").await;
        let scanned: Vec<u64> = engines.iter().map(|it| it.counted().scanned_bytes).collect();
        let (total, mean) =
            (scanned.iter().sum::<u64>(), scanned.iter().sum::<u64>() as f64 / count as f64);
        // With one worker, the query runs locally, because nothing is gained by sending it.
        if count > 1 {
            assert!(total > 500_000, "{scanned:?}");
        }
        for bytes in &scanned {
            assert!((*bytes as f64 - mean).abs() <= 0.1 * mean, "{scanned:?}");
        }
    }
}

/// Keys of a join reach the scans of its own stage; scans of other stages do not wait for them.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_arrive_are_not_waited_for() {
    let store = Store::start().await;
    let machines = Machines::start(&store, 2, Scan::Select).await;
    tables(&store, &machines.engine).await;
    let sql = "SELECT t.k, w FROM t JOIN u ON t.k = u.k WHERE w = 1";
    // The small side is sent to all workers.
    let plan = machines.plan(sql).await;
    assert!(plan.contains("NetworkBroadcastExec"), "{plan}");
    let (query, _) = machines.run(sql).await;
    let with_keys = query.counted().returned_bytes;
    machines.set("datafusion.optimizer.hash_join_single_partition_threshold = 0").await;
    machines.set("datafusion.optimizer.hash_join_single_partition_threshold_rows = 0").await;
    let plan = machines.plan(sql).await;
    assert!(plan.contains("join_filters_within_other_stages=1"), "{plan}");
    let (query, _) = machines.run(sql).await;
    let counted = query.counted();
    assert!(counted.returned_bytes > 10 * with_keys, "{counted:?}, {with_keys}");
}

/// The switch is between the workers and the coordinator, and prunes as on one machine.
#[tokio::test(flavor = "multi_thread")]
async fn the_switch_stands_between_workers_and_coordinator() {
    let store = Store::start().await;
    let machines = Machines::start(&store, 2, Scan::Get).await;
    tables(&store, &machines.engine).await;
    machines.set("sluice.switch = 'tofino2'").await;
    let plan = machines.plan("SELECT DISTINCT g FROM t").await;
    let lines: Vec<&str> = plan.lines().collect();
    let at = lines.iter().position(|it| it.contains("SwitchPruneExec")).unwrap();
    assert!(lines[at + 1].contains("NetworkCoalesceExec"), "{plan}");
    assert_eq!(machines.rows("SELECT DISTINCT g FROM t").await.len(), 40);
    let analyzed = machines.rows("EXPLAIN ANALYZE SELECT DISTINCT g FROM t").await.concat();
    assert!(analyzed.contains("pruned="), "{analyzed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_analyze_tells_what_workers_counted() {
    let store = Store::start().await;
    let machines = Machines::start(&store, 2, Scan::Select).await;
    tables(&store, &machines.engine).await;
    let served = store.server.counters().snapshot();
    let (query, batches) = machines.run("EXPLAIN ANALYZE SELECT g, sum(v) FROM t GROUP BY g").await;
    let served = store.server.counters().snapshot().since(&served);
    assert_eq!(served.requests.values().sum::<u64>(), query.counted().requests());
    let text = values(&batches).concat().join("\n");
    assert!(text.contains("Stage 1"), "{text}");
    assert!(text.contains("bytes_scanned_by_store"), "{text}");
}

/// A store whose queries run on several machines.
struct TestCluster {
    store: Store,
    cluster: Cluster,
    _workers: Vec<TestWorker>,
}

#[async_trait]
impl TestStore for TestCluster {
    fn bucket(&self) -> &str {
        BUCKET
    }

    async fn put_object(&self, key: &str, bytes: Vec<u8>) {
        self.store.put(key, bytes);
    }

    fn builder(&self) -> EngineBuilder {
        let cluster = self.cluster.clone();
        self.store.builder().session(move |session| cluster.add_to(session))
    }
}

/// A worker sends as many requests at a time as a single machine, whatever the number of its cores.
#[tokio::test(flavor = "multi_thread")]
async fn workers_ask_for_as_much_at_a_time_as_one_machine() {
    let store = Store::start().await;
    let machines = Machines::with(2, || store.builder().scan(Scan::Select).threads(2)).await;
    tables(&store, &machines.engine).await;
    machines.set("sluice.select_partitions = 8").await;
    let sql = "SELECT k, s FROM t WHERE v > 10";
    let plan = machines.plan(sql).await;
    assert!(plan.contains("output_partitions=16, input_tasks=2"), "{plan}");
}

/// Predictions apply to all machines of a query.
#[tokio::test(flavor = "multi_thread")]
async fn predictions_are_about_all_machines() {
    let store = Store::start().await;
    let mut seconds = Vec::new();
    for machines in [1, 4] {
        let builder = store.builder().scan(Scan::Get).machines(machines.try_into().unwrap());
        let engine = builder.build().await.unwrap();
        tables(&store, &engine).await;
        let explained = engine.explain("SELECT k, s FROM t WHERE v > 10").await.unwrap();
        let [scan] = explained.decisions.as_slice() else { panic!("{explained}") };
        let time = &scan.verdict("get").unwrap().outcome.as_ref().unwrap().time;
        let demands = time.phases.iter().flat_map(|it| it.demands.iter());
        let link = demands.filter(|(resource, _)| resource.name() == "link");
        seconds.push(link.map(|(_, time)| time.as_secs_f64()).sum::<f64>());
    }
    assert!((seconds[0] / seconds[1] - 4.0).abs() < 0.01, "{seconds:?}");
}

/// The ten items of the demo return the same rows in each way.
#[tokio::test(flavor = "multi_thread")]
async fn the_items_of_the_demo_are_answered_by_two_workers() {
    let store = Store::start().await;
    let mut workers = Vec::new();
    for _ in 0..2 {
        workers.push(TestWorker::start(store.builder(), None).await);
    }
    let urls: Vec<String> = workers.iter().map(|worker| worker.url.clone()).collect();
    let cluster = Cluster::connect(&urls, None).await.unwrap();
    let place = TestCluster { store, cluster, _workers: workers };
    for (item, statements, fallbacks) in Box::pin(check_items(&place, 0.01)).await {
        assert!(statements > 0 && fallbacks == 0, "{item}: {statements}, {fallbacks}");
    }
    for worker in &place._workers {
        assert!(worker.engine.counted().requests() > 0);
    }
}

/// Small queries and writes run on the coordinator.
#[tokio::test(flavor = "multi_thread")]
async fn small_queries_and_writes_stay_with_the_coordinator() {
    let store = Store::start().await;
    let machines = Machines::start(&store, 2, Scan::Auto).await;
    tables(&store, &machines.engine).await;
    let copy = format!(
        "COPY (SELECT k, v FROM t WHERE v > 500) TO 's3://{BUCKET}/out/' STORED AS PARQUET"
    );
    let (copied, _) = machines.run(&copy).await;
    let listed = format!("SELECT sum(size) FROM glob('s3://{BUCKET}/out/*')");
    let written = format!("\"{}\"", copied.bytes_written());
    assert_eq!(machines.rows(&listed).await, [written]);
    let there = machines.rows(&format!("SELECT count(*), sum(v) FROM 's3://{BUCKET}/out/'")).await;
    assert_eq!(there, machines.rows("SELECT count(*), sum(v) FROM t WHERE v > 500").await);
    machines.engine.collect("CREATE TABLE m AS SELECT k, g FROM t WHERE v < 20").await.unwrap();
    let joined = "SELECT count(*) FROM m JOIN t ON m.k = t.k";
    assert_eq!(machines.rows(joined).await, machines.rows("SELECT count(*) FROM m").await);
    // A table uses one worker for each full number of bytes.
    store.put("one/a.csv", "a\n".to_owned() + &"1\n".repeat(1000));
    for (bytes, staged) in [(1001, true), (1002, false)] {
        machines.set(&format!("distributed.file_scan_config_bytes_per_partition = {bytes}")).await;
        let plan = machines.plan(&format!("SELECT sum(a) FROM 's3://{BUCKET}/one/'")).await;
        assert_eq!(plan.contains("Stage"), staged, "{plan}");
    }
    machines.set("distributed.file_scan_config_bytes_per_partition = 100000000").await;
    let plan = machines.plan("SELECT sum(v) FROM t").await;
    assert!(!plan.contains("Stage"), "{plan}");
    assert_eq!(rows(&machines.engine, "SELECT 1").await, ["\"1\""]);
}

/// A query that runs locally sends the requests of one machine, and is predicted for one.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_stays_here_is_one_machines() {
    let store = Store::start().await;
    let machines = Machines::start(&store, 2, Scan::Auto).await;
    tables(&store, &machines.engine).await;
    let urls: Vec<String> = machines.workers.iter().map(|worker| worker.url.clone()).collect();
    let cluster = Cluster::connect(&urls, Token::new("secret")).await.unwrap();
    let two = || store.builder().scan(Scan::Auto).machines(NonZeroU32::new(2).unwrap());
    let one = store.engine(Scan::Auto).await;
    let here = two().session(move |it| cluster.add_to(it)).build().await.unwrap();
    let predicted_for_two = two().build().await.unwrap();
    for engine in [&one, &here, &predicted_for_two] {
        declare(engine).await;
    }
    for sql in ["SELECT sum(w) FROM u", "SELECT w, count(*) FROM u WHERE k > 500 GROUP BY w"] {
        let predicted = async |engine: &Engine| {
            let estimate = Box::pin(engine.explain(sql)).await.unwrap().estimate();
            (estimate.time, estimate.cost.to_string())
        };
        assert_eq!(predicted(&here).await, predicted(&one).await, "{sql}");
        assert_ne!(predicted(&predicted_for_two).await, predicted(&one).await, "{sql}");
        let counted = async |engine: &Engine| {
            let query = engine.plan(sql).await.unwrap();
            query.collect().await.unwrap();
            query.counted().requests()
        };
        assert_eq!(counted(&here).await, counted(&one).await, "{sql}");
    }
}
