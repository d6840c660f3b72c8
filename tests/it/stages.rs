//! Measured stages of queries. No test depends on a time.

use object_store::local::LocalFileSystem;
use sluicegate_costmodel::storage::OperatorKind;
use sluicegate_engine::config::Scan;
use sluicegate_engine::stages::MeasuredStages;
use sluicegate_workloads::tpch::{Format, Table, generate, query};

use crate::harness::{BUCKET, Store, rows, try_ordered};
use crate::tpch::{data, register};

/// Settings with which the store only gets GETs.
const PLAIN: [&str; 4] = [
    "SET sluice.aggregate = 'here'",
    "SET sluice.group_by = 'server'",
    "SET sluice.join = 'baseline'",
    "SET sluice.top_k = 'server'",
];

/// Checks properties that hold for the stages of any query.
fn sound(measured: &MeasuredStages, about: &str) {
    let (graph, took) = (&measured.graph, measured.took.as_secs_f64());
    let stages = graph.stages();
    let mut ends: Vec<f64> = Vec::new();
    for (place, stage) in stages.iter().enumerate() {
        let before = graph.before(place).iter().map(|it| ends[*it]);
        ends.push(before.fold(0.0, f64::max) + stage.wall_seconds);
        assert!(stage.sfp_seconds() <= stage.thread_seconds, "{about}: {stage:?}");
        assert!(!stage.name.is_empty(), "{about}: {stage:?}");
        assert!(stage.sfp_share() <= 1.0, "{about}: {stage:?}");
    }
    // If the stages run one after the other, they take no longer than the query did.
    let last = ends.iter().copied().fold(0.0, f64::max);
    assert!(last <= took, "{about}: {last} {took}");
    assert!(last > 0.0 && graph.scan_ratio() > 0.0, "{about}");
    let read: f64 = stages.iter().map(|stage| stage.read_bytes).sum();
    assert!((read - measured.read.as_f64()).abs() < 1.0, "{about}: {read} {}", measured.read);
    // Every stage contributes to the answer.
    let mut needed = vec![false; stages.len()];
    for place in (0..stages.len()).rev() {
        needed[place] |= place + 1 == stages.len();
        if needed[place] {
            graph.before(place).iter().for_each(|it| needed[*it] = true);
        }
    }
    assert!(needed.iter().all(|it| *it), "{about}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queries_of_tpch_come_apart_into_stages() {
    let store = Store::start().await;
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    for format in [Format::csv(), Format::parquet()] {
        let data = data(&format, 2, 0.01);
        let engine = store.engine(Scan::Get).await;
        generate(&data, &bucket, &|_| ()).await.unwrap();
        register(&engine, BUCKET, &data).await;
        for option in PLAIN {
            rows(&engine, option).await;
        }
        for number in 1..=22 {
            let about = format!("query {number} over {format:?}");
            let sql = query(number).unwrap();
            let before = engine.counted();
            let measured =
                engine.query_recorded(sql).await.unwrap().measure_stages().await.unwrap();
            let counted = engine.counted().since(&before);
            assert_eq!(counted.select, 0, "{about}");
            let expected = try_ordered(&engine, sql).await.unwrap();
            assert_eq!(measured.rows, expected.len() as u64, "{about}");
            sound(&measured, &about);
            // For each table that a query reads, there is a stage that reads it.
            for table in Table::ALL {
                let folder = format!("{}/", data.folder(table));
                let is_read = measured.graph.stages().iter().any(|it| it.name.contains(&folder));
                assert_eq!(is_read, reads(sql, table.name()), "{about}: {table:?}");
            }
        }
    }
}

/// Returns true if a query names a table.
fn reads(sql: &str, table: &str) -> bool {
    sql.split(|it: char| !(it.is_alphanumeric() || it == '_')).any(|word| word == table)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stages_end_where_all_of_an_input_is_wanted() {
    let store = Store::start().await;
    store.put("a/1.csv", "k,v\n1,10\n2,20\n3,30\n");
    store.put("b/1.csv", "k,w\n1,x\n1,y\n9,z\n");
    let engine = store.engine(Scan::Get).await;
    for (table, columns) in [("a", "k INT, v INT"), ("b", "k INT, w VARCHAR")] {
        let sql = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV LOCATION 's3://{BUCKET}/{table}/' \
             OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &sql).await;
    }
    let stages = async |sql: &str| {
        for option in PLAIN {
            rows(&engine, option).await;
        }
        let query = engine.query_recorded(sql).await.unwrap();
        let measured = query.measure_stages().await.unwrap();
        let stages = measured.graph.stages().iter();
        stages
            .map(|it| (it.name.clone(), it.after.clone(), it.scans(), it.read_bytes))
            .collect::<Vec<_>>()
    };
    // A filter and its scan form one stage.
    let found = stages("SELECT v FROM a WHERE k > 1").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].3, 19.0);
    assert!(found[0].0.contains("Filter ← s3://test/a/1.csv"), "{found:?}");
    // A join waits for its build side, and a sort for all rows.
    let found = stages("SELECT w, v FROM a JOIN b ON a.k = b.k ORDER BY w, v").await;
    let build: Vec<_> = found.iter().filter(|it| it.1.is_empty()).collect();
    let probe: Vec<_> = found.iter().filter(|it| it.2 && !it.1.is_empty()).collect();
    assert_eq!((build.len(), probe.len()), (1, 1), "{found:?}");
    assert!(probe[0].0.contains("Join (Inner)") && !build[0].0.contains("Join"), "{found:?}");
    assert!(probe[0].0.starts_with("Sort"), "{found:?}");
    // Two scans of one object share its bytes.
    let found = stages("SELECT x.v FROM a x JOIN a y ON x.k = y.k WHERE y.v > 10").await;
    let read: Vec<_> = found.iter().filter(|it| it.2).map(|it| it.3).collect();
    assert_eq!(read.iter().sum::<f64>(), 38.0, "{found:?}");
    assert!(read.iter().all(|it| (it - 19.0).abs() <= 1.0), "{found:?}");
    // A scalar subquery is computed before its query begins.
    let found = stages("SELECT count(*) FROM a WHERE v > (SELECT min(k) FROM b)").await;
    let outer = found.iter().find(|it| it.0.contains("s3://test/a/")).unwrap();
    assert!(!outer.1.is_empty(), "{found:?}");
}

/// What a device could do beyond scan, filter and project, and the rows that scans keep.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stages_have_their_operators_and_rows() {
    let store = Store::start().await;
    let facts: String = (0..1000).map(|it| format!("{},{}\n", it % 10, it)).collect();
    store.put("fact/1.csv", format!("k,v\n{facts}"));
    store.put("dim/1.csv", "d,name\n1,a\n2,b\n");
    let engine = store.engine(Scan::Get).await;
    for (table, columns) in [("fact", "k INT, v INT"), ("dim", "d INT, name VARCHAR")] {
        let sql = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV LOCATION 's3://{BUCKET}/{table}/' \
             OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &sql).await;
    }
    for option in PLAIN {
        rows(&engine, option).await;
    }
    let measured = async |sql: &str| {
        let query = engine.query_recorded(sql).await.unwrap();
        query.measure_stages().await.unwrap().graph
    };
    // The aggregate is directly above the filter of a scan.
    let graph = measured("SELECT sum(v) FROM fact WHERE v < 100").await;
    let scan = graph.stages().iter().find(|it| it.scans()).unwrap();
    assert!(scan.aggregate_seconds > 0.0 && scan.aggregate_dropped_bytes > 0.0, "{scan:?}");
    assert!(scan.scanned_bytes > scan.result_bytes, "{scan:?}");
    let [table] = &scan.tables[..] else { panic!("{scan:?}") };
    assert_eq!((table.rows, table.kept), (Some(1000), 100));
    let operators = graph.operators();
    assert_eq!((operators.of(OperatorKind::Scan), operators.of(OperatorKind::Filter)), (1, 1));
    assert!(operators.of(OperatorKind::Aggregate) >= 1, "{operators}");
    // Two of ten keys are in the small table. DataFusion would filter by them.
    rows(&engine, "SET datafusion.optimizer.enable_join_dynamic_filter_pushdown = false").await;
    let graph = measured("SELECT name, v FROM fact JOIN dim ON k = d").await;
    let stage = graph.stages().iter().find(|it| !it.semi_joins.is_empty()).unwrap();
    let [join] = &stage.semi_joins[..] else { panic!("{stage:?}") };
    let dropped = join.dropped_bytes / stage.result_bytes;
    assert!((dropped - 0.8).abs() < 1e-9 && join.seconds > 0.0, "{dropped} {stage:?}");
    assert!(join.build_bytes > 0.0 && join.build_bytes < 1000.0, "{join:?}");
    assert_eq!(stage.aggregate_seconds, 0.0);
    assert_eq!(graph.operators().of(OperatorKind::Join), 1);
    assert_eq!(graph.operators().of(OperatorKind::Scan), 2);
}
