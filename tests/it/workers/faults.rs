//! Workers that are missing, stop, refuse or fail.

use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use sluicegate_distributed::{Cluster, ClusterError, Token, Worker, WorkerError};
use sluicegate_engine::ErrorKind;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};

use super::{Machines, TestWorker, tables};
use crate::harness::{BUCKET, Store};

/// An error at a worker has the message and the hint of the same error on one machine.
#[tokio::test(flavor = "multi_thread")]
async fn errors_of_workers_read_like_those_of_one_machine() {
    let store = Store::start().await;
    let one = store.engine(Scan::Get).await;
    let machines = Machines::start(&store, 2, Scan::Get).await;
    store.put("bad/a.csv", "k\n1\n2\nthree\n".to_owned() + &"4\n".repeat(5000));
    store.put("bad/b.csv", "k\n1\n".to_owned() + &"4\n".repeat(5000));
    let ddl = format!(
        "CREATE EXTERNAL TABLE bad (k BIGINT) STORED AS CSV LOCATION 's3://{BUCKET}/bad/' \
         OPTIONS ('format.has_header' 'true')"
    );
    for engine in [&one, &machines.engine] {
        engine.collect(&ddl).await.unwrap();
    }
    for sql in ["SELECT sum(k) FROM bad", "SELECT k, count(*) FROM bad GROUP BY k"] {
        let expected = one.collect(sql).await.unwrap_err();
        let error = machines.engine.collect(sql).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data);
        // The message may name another line, because a part of a file has its own beginning.
        let (error, expected) =
            ((error.to_string(), error.hint()), (expected.to_string(), expected.hint()));
        assert!(error.0.starts_with(&expected.0), "{} {}", error.0, expected.0);
        assert_eq!(error.1, expected.1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_gone_is_an_error_and_no_partial_answer() {
    let store = Store::start().await;
    let mut machines = Machines::start(&store, 2, Scan::Get).await;
    tables(&store, &machines.engine).await;
    let sql = "SELECT g, count(*) FROM t GROUP BY g";
    assert_eq!(machines.rows(sql).await.len(), 40);
    drop(machines.workers.pop());
    let error = machines.engine.collect(sql).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}: {:?}", error.datafusion());
    assert!(error.to_string().contains("worker"), "{error}");
    assert!(error.hint().unwrap().contains("--workers"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_stops_after_the_queries_that_run() {
    let store = Store::start_with(|server| server.latency(Duration::from_millis(300))).await;
    let mut machines = Machines::start(&store, 2, Scan::Get).await;
    tables(&store, &machines.engine).await;
    let engine = machines.engine.clone();
    let running =
        SpawnedTask::spawn(
            async move { engine.collect("SELECT g, count(*) FROM t GROUP BY g").await },
        );
    while machines.workers.iter().any(|worker| worker.engine.counted().requests() == 0) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for worker in &mut machines.workers {
        worker.stop();
    }
    assert_eq!(
        running.await.unwrap().unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(),
        40
    );
    for worker in &mut machines.workers {
        worker.stopped().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_send_no_plans() {
    let store = Store::start().await;
    let worker = TestWorker::start(store.builder(), Some("secret")).await;
    let urls = [worker.url.clone()];
    for (token, why) in [(None, "wants a token"), (Token::new("guess"), "has another token")] {
        let refused = Cluster::connect(&urls, token).await.unwrap_err();
        assert!(matches!(refused, ClusterError::Refused { .. }), "{refused}");
        assert!(refused.to_string().ends_with(why), "{refused}");
        assert!(refused.hint().contains("SLUICE_TOKEN"));
    }
    Cluster::connect(&urls, Token::new("secret")).await.unwrap();
    // An address that other machines reach needs a token.
    let engine = store.engine(Scan::Get).await;
    let open = Worker::listen("0.0.0.0:0".parse().unwrap(), engine, None).await.unwrap_err();
    assert!(matches!(open, WorkerError::Open(_)), "{open}");
    let nobody = ["http://127.0.0.1:1".to_owned()];
    let silent = Cluster::connect(&nobody, None).await.unwrap_err();
    assert!(matches!(silent, ClusterError::Silent { .. }), "{silent}");
    let of_store = store.server.endpoint();
    let stranger = Cluster::connect(&[of_store], None).await.unwrap_err();
    assert!(matches!(stranger, ClusterError::Stranger(_)), "{stranger}");
    for wrong in ["", "127.0.0.1:9100", "https://h:1", "http://u:p@h:1", "http://h:1/x", "ftp://h"]
    {
        let error = Cluster::connect(&[wrong.to_owned()], None).await.unwrap_err();
        assert!(matches!(error, ClusterError::Url(_)), "{wrong}: {error}");
        assert!(!error.to_string().contains("u:p"), "{error}");
    }
    for (wrong, shown) in [
        ("http://u:sekret@127.0.0.1:99999", "`127.0.0.1:99999`"),
        ("http://u:sekret@127.0.0.1:9", "`http://127.0.0.1:9…`"),
        ("http://127.0.0.1:9/x", "`http://127.0.0.1:9/x`"),
        ("http://127.0.0.1:9/?token=sekret", "`http://127.0.0.1:9…`"),
    ] {
        let error = Cluster::connect(&[wrong.to_owned()], None).await.unwrap_err();
        assert_eq!(error.to_string(), format!("{shown} is not the URL of a worker"), "{wrong}");
    }
    let twice = [worker.url.clone(), worker.url.clone()];
    let twice = Cluster::connect(&twice, Token::new("secret")).await.unwrap_err();
    assert!(matches!(twice, ClusterError::Workers(_)), "{twice}");
    let names = [worker.url.clone(), worker.url.replace("127.0.0.1", "localhost")];
    let twice = Cluster::connect(&names, Token::new("secret")).await.unwrap_err();
    let words = format!("{} and {} are one worker", names[1], names[0]);
    assert_eq!(twice.to_string(), words);
}

/// Options that would make counts wrong are refused.
#[tokio::test(flavor = "multi_thread")]
async fn options_that_lose_counts_are_refused() {
    let store = Store::start().await;
    let machines = Machines::start(&store, 2, Scan::Get).await;
    tables(&store, &machines.engine).await;
    machines.set("distributed.partial_reduce = true").await;
    let error = machines.engine.collect("SELECT g, count(*) FROM t GROUP BY g").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting, "{error}");
    assert!(error.to_string().contains("distributed.partial_reduce"), "{error}");
}

/// A file of the same name and size, in another store or of another time, is another version.
#[tokio::test(flavor = "multi_thread")]
async fn workers_read_the_version_that_was_planned() {
    let (here, elsewhere) = (Store::start().await, Store::start().await);
    for (store, word) in [(&here, "here\n"), (&elsewhere, "else\n")] {
        for object in ["a", "b"] {
            store.put(&format!("v/{object}.csv"), "w\n".to_owned() + &word.repeat(1000));
        }
    }
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let workers = [
            TestWorker::start(here.builder().scan(scan), None).await,
            TestWorker::start(elsewhere.builder().scan(scan), None).await,
        ];
        let urls = workers.each_ref().map(|worker| worker.url.clone());
        let cluster = Cluster::connect(&urls, None).await.unwrap();
        let builder = here.builder().scan(scan).session(move |it| cluster.add_to(it));
        let engine = builder.build().await.unwrap();
        engine.collect("SET distributed.file_scan_config_bytes_per_partition = 1").await.unwrap();
        let sql = format!("SELECT w, count(*) FROM 's3://{BUCKET}/v/' GROUP BY w");
        let error = engine.collect(&sql).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{scan:?}: {error}");
        let whose = format!("on the worker {}", urls[1]);
        assert!(error.to_string().ends_with(&whose), "{scan:?}: {error}");
        assert!(error.hint().unwrap().contains("--endpoint"), "{error}");
    }
}

/// A scalar subquery with several rows fails as on one machine, although a join would return a row for each; and a
/// plan that nests too deeply to be encoded runs locally.
#[tokio::test(flavor = "multi_thread")]
async fn sub_queries_of_several_rows_are_refused_and_deep_queries_run() {
    let store = Store::start().await;
    let machines = Machines::start(&store, 2, Scan::Get).await;
    tables(&store, &machines.engine).await;
    for sql in [
        "SELECT k FROM t WHERE k = (SELECT k FROM u WHERE k < 1000)",
        "SELECT k, (SELECT w FROM u WHERE u.k < 1000) AS x FROM t",
    ] {
        let error = machines.engine.collect(sql).await.unwrap_err().to_string();
        assert!(error.contains("more than one row"), "{sql}: {error}");
    }
    // No statement nests as deeply, but expressions that are merged do.
    let nested = (0..16).fold("x".to_owned(), |it, level| format!("replace({it}, '{level}x', '')"));
    let deep = (1..6).map(|n| format!("a{n} AS (SELECT {nested} AS x FROM a{})", n - 1));
    let deep = deep.collect::<Vec<_>>().join(", ");
    let sql =
        format!("WITH a0 AS (SELECT s AS x FROM t), {deep} SELECT count(*) FROM a5 WHERE x <> ''");
    assert_eq!(machines.rows(&sql).await, machines.rows("SELECT count(*) FROM t").await);
}

/// The error names the worker, and has the hint of one machine.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_too_little_memory_is_named() {
    let store = Store::start().await;
    let mut workers = Vec::new();
    for _ in 0..2 {
        workers.push(TestWorker::start(store.builder().memory_limit(10_000), None).await);
    }
    let urls: Vec<String> = workers.iter().map(|worker| worker.url.clone()).collect();
    let cluster = Cluster::connect(&urls, None).await.unwrap();
    let engine = store
        .builder()
        .scan(Scan::Get)
        .session(move |it| cluster.add_to(it))
        .build()
        .await
        .unwrap();
    tables(&store, &engine).await;
    engine.collect("SET distributed.file_scan_config_bytes_per_partition = 1").await.unwrap();
    let one = store.builder().scan(Scan::Get).memory_limit(10_000).build().await.unwrap();
    tables(&store, &one).await;
    let sql = "SELECT k, count(*), max(v) FROM t GROUP BY k";
    let expected = one.collect(sql).await.unwrap_err();
    let error = engine.collect(sql).await.unwrap_err();
    assert_eq!((error.kind(), error.hint()), (ErrorKind::Resources, expected.hint()), "{error}");
    let said = error.to_string();
    assert!(urls.iter().any(|url| said.ends_with(&format!(", on the worker {url}"))), "{said}");
}

/// A worker whose store is of another kind would get other answers, so it refuses the plan.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_another_store_refuses_the_plan() {
    let store = Store::start().await;
    let other = store.builder().profile(StoreCapabilities::get_only());
    let worker = TestWorker::start(other, None).await;
    let second = TestWorker::start(store.builder(), None).await;
    let urls = [worker.url.clone(), second.url.clone()];
    let cluster = Cluster::connect(&urls, None).await.unwrap();
    let builder = store.builder().scan(Scan::Select);
    let engine = builder.session(move |it| cluster.add_to(it)).build().await.unwrap();
    tables(&store, &engine).await;
    engine.collect("SET distributed.file_scan_config_bytes_per_partition = 1").await.unwrap();
    let error = engine.collect("SELECT k FROM t WHERE v > 1").await.unwrap_err();
    assert!(error.to_string().contains("endpoint"), "{error}");
}

/// Starts a query over five objects, each of which takes a while to read, and waits until it reads.
async fn begun(machines: &Machines) -> SpawnedTask<sluicegate_engine::Result<Vec<RecordBatch>>> {
    let engine = machines.engine.clone();
    let sql = "SELECT g, count(*) FROM t GROUP BY g";
    let running = SpawnedTask::spawn(async move { engine.collect(sql).await });
    while machines.workers.iter().any(|worker| worker.engine.counted().requests() == 0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running
}

async fn slow() -> (Store, Machines) {
    let store = Store::start_with(|server| server.link_rate(Some(300_000))).await;
    let machines = Machines::start(&store, 2, Scan::Get).await;
    tables(&store, &machines.engine).await;
    (store, machines)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_amid_a_query_ends_it_with_an_error() {
    let (_store, mut machines) = slow().await;
    let running = begun(&machines).await;
    let gone = machines.workers.pop().unwrap();
    let url = gone.url.clone();
    drop(gone);
    let error = tokio::time::timeout(Duration::from_secs(60), running).await.unwrap();
    let error = error.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}: {:?}", error.datafusion());
    let said = error.to_string();
    assert!(
        said.ends_with(&format!("{url} cannot be reached, or ended while the query ran")),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_given_up_stops_everywhere() {
    let (store, machines) = slow().await;
    drop(begun(&machines).await);
    // Requests that were sent before may still arrive.
    let mut served = store.server.counters().snapshot();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = store.server.counters().snapshot();
        let since = now.since(&served);
        served = now;
        if since.requests.values().sum::<u64>() == 0 && since.bytes_out == 0 {
            let mut machines = machines;
            for mut worker in machines.workers.drain(..) {
                worker.stop();
                worker.stopped().await;
            }
            return;
        }
    }
    panic!("the workers go on");
}

/// A store that fails causes an error of the query, as on one machine; a slow store does not.
#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_store_are_those_of_the_query() {
    let store = Store::start().await;
    let machines = Machines::start(&store, 2, Scan::Get).await;
    tables(&store, &machines.engine).await;
    let sql = "SELECT g, sum(v) FROM t GROUP BY g";
    let right = machines.rows(sql).await;
    let slow = Fault::Delay(Duration::from_millis(500));
    store.faults.inject(Rule::new(Operation::GetObject, slow).times(3));
    assert_eq!(machines.rows(sql).await, right);
    store.faults.inject(Rule::new(Operation::GetObject, Fault::CutBody { after: 100 }).times(1));
    assert_eq!(machines.rows(sql).await, right);
    store.faults.inject(Rule::new(Operation::GetObject, Fault::InternalError).times(1_000_000));
    let error = machines.engine.collect(sql).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}: {:?}", error.datafusion());
    store.faults.clear();
    assert_eq!(machines.rows(sql).await, right);
}
