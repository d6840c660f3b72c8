//! Stores without CASE, or whose answers may mix groups: one statement for each group.

use bytes::Bytes;
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile};
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};

use super::{analyzed, both, ddl, engine, force, sample, skewed};
use crate::harness::{BUCKET, Store, rows, statements, stock, stock_rows};

pub(super) fn without_case() -> StoreCapabilities {
    let mut profile = StoreCapabilities::sluice();
    profile.syntax.case = false;
    profile.syntax.group_by = false;
    profile
}

/// Without CASE, there is one statement for each group, and one that counts all rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_case_is_asked_about_each_group_by_itself() {
    let (store, stock) = both(&[skewed(0, 1000)]).await;
    let engine = engine(&store, without_case()).await;
    force(&engine, "s3").await;
    let sql = "SELECT g, sum(x), count(*) FROM t WHERE h = 1 GROUP BY g";
    let expected = stock_rows(&stock, sql).await.unwrap();
    assert_eq!(
        statements(&engine, sql).await.join("; "),
        "SELECT s._2 FROM S3Object s WHERE CAST(NULLIF(s._3, '') AS INT) = 1 LIMIT 4096; \
         then of each group found (in_group stands for the condition that a row is in it) \
         SELECT COUNT(*), SUM(CAST(NULLIF(s._4, '') AS DECIMAL(10, 2))) \
         FROM S3Object s WHERE (CAST(NULLIF(s._3, '') AS INT) = 1) AND in_group; \
         and SELECT COUNT(*) FROM S3Object s WHERE CAST(NULLIF(s._3, '') AS INT) = 1"
    );
    let before = engine.counted();
    assert_eq!(rows(&engine, sql).await, expected);
    let counted = engine.counted().since(&before);
    // The sample, five groups, and all rows.
    assert_eq!((counted.select, counted.get, counted.fallbacks), (7, 0, 0));
    assert_eq!(analyzed(&engine, sql).await, [5, 0, 0, 0]);
    let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    assert!(text.contains("sent=SELECT s._2 FROM"), "{text}");

    // If a sample misses groups, another one is taken of the rest.
    sample(&engine, 1).await;
    assert_eq!(rows(&engine, sql).await, expected);
    let [pushed, left, rows_left, repairs] = analyzed(&engine, sql).await;
    assert!(pushed + left == 5 && left > 0 && rows_left > 0 && repairs == 1);

    sample(&engine, 4096).await;
    force(&engine, "hybrid").await;
    let before = engine.counted();
    assert_eq!(rows(&engine, sql).await, expected);
    assert_eq!(engine.counted().since(&before).fallbacks, 0);
    let [pushed, left, _, repairs] = analyzed(&engine, sql).await;
    assert!(pushed > 0 && pushed + left == 5 && repairs == 0, "{pushed} {left} {repairs}");

    // FILTER is pushed down by CASE.
    force(&engine, "case").await;
    let sql = "SELECT g, count(*) FILTER (WHERE h = 1) FROM t GROUP BY g";
    let explained = engine.explain(sql).await.unwrap();
    let warnings: Vec<_> = explained.warnings().collect();
    assert!(matches!(&warnings[..], [why] if why.contains("CASE")), "{explained}");
    assert_eq!(rows(&engine, sql).await, stock_rows(&stock, sql).await.unwrap());
}

/// MinIO and AWS may count more rows for a group than belong to it. Therefore the rows outside of the groups are
/// counted, too, and all counts together prove each group.
#[tokio::test(flavor = "multi_thread")]
async fn counts_prove_groups_of_a_store_that_is_not_trusted_to_tell_them_apart() {
    let (store, stock) = both(&[skewed(0, 1000)]).await;
    let minio = engine(&store, StoreCapabilities::minio()).await;
    let aws = engine(&store, StoreCapabilities::aws()).await;
    let count = "SELECT g, count(*) FROM t GROUP BY g";
    let sum = "SELECT h, sum(k), min(k), count(*) FROM t GROUP BY h";
    for (engine, sql, groups) in [(&minio, count, 5), (&aws, count, 5), (&aws, sum, 3)] {
        let expected = stock_rows(&stock, sql).await.unwrap();
        for strategy in ["s3", "case", "hybrid"] {
            force(engine, strategy).await;
            let explained = engine.explain(sql).await.unwrap();
            let taken = if strategy == "hybrid" { "hybrid" } else { "case" };
            let decision = explained.decisions.iter().find(|it| it.operator == "group_by").unwrap();
            assert_eq!(decision.strategy(), Some(taken), "{explained}");
            let before = engine.counted();
            assert_eq!(rows(engine, sql).await, expected, "{sql}: {strategy}");
            let counted = engine.counted().since(&before);
            assert_eq!((counted.get, counted.fallbacks), (0, 0), "{sql}: {strategy}");
            let [pushed, left, rows_left, repairs] = analyzed(engine, sql).await;
            assert_eq!((pushed + left, repairs), (groups, 0), "{sql}: {strategy}");
            if strategy != "hybrid" {
                // The sample, the groups, all rows, and those outside of the groups.
                assert_eq!((counted.select, rows_left), (groups + 3, 0), "{sql}: {strategy}");
            }
        }
        // A wrong count of a group, of all rows, or of those outside is detected.
        force(engine, "case").await;
        let values = if sql == count { "3\n" } else { "3,3,3\n" };
        for nth in 1..=groups + 3 {
            let values = if nth == 1 || nth == groups + 3 { "3\n" } else { values };
            let fault = Fault::Records(Bytes::from(values));
            let rule = Rule::new(Operation::SelectObjectContent, fault).nth(nth);
            store.faults.inject(rule);
            assert_eq!(rows(engine, sql).await, expected, "{sql}: statement {nth}");
            store.faults.clear();
        }
    }
    // Group-bys that cannot be sent, with the reason.
    for (engine, sql, why) in [
        (&minio, "SELECT g, sum(k) FROM t GROUP BY g", "sum(k) is not known to be exact"),
        (&aws, "SELECT g, sum(x) FROM t GROUP BY g", "sum(x) is not known to be exact"),
        (&aws, "SELECT x, count(*) FROM t GROUP BY x", "x are not known to be told apart"),
        (
            &minio,
            "SELECT g, count(*) FROM t WHERE h = 1 GROUP BY g",
            "filter h = 1 is sent in a weaker form",
        ),
        (&minio, "SELECT CAST(h AS BIGINT), sum(k) FROM t GROUP BY 1", "sum(k) is not known"),
    ] {
        force(engine, "case").await;
        let explained = engine.explain(sql).await.unwrap();
        let warnings: Vec<_> = explained.warnings().collect();
        assert!(matches!(&warnings[..], [said] if said.contains(why)), "{sql}: {explained}");
        assert_eq!(rows(engine, sql).await, stock_rows(&stock, sql).await.unwrap(), "{sql}");
    }
}

/// Values that are easily confused: NULL and empty text, quotes, zeros of both signs, NaN, and numbers in several
/// notations.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_every_type_are_told_apart() {
    let csv = "k,s,f,d,t,b\n\
        1,it's,0.0,1.50,2024-02-29,true\n\
        2,\"a \"\"quote\"\"\",-0.0,1.5,2024-02-29,false\n\
        3,\"\",NaN,-0.00,,\n\
        4,,1e0,0,0001-01-01,true\n\
        5,it's,1,,9999-12-31,true\n\
        6,IT'S,NaN,1.5,,false\n\
        7,' OR 1 = 1,,-1.5,2024-03-01,false\n\
        8,NULL,inf,1.5,2024-02-29,\n";
    let json = r#"{"k":1,"s":"it's","f":0.0,"d":1.50,"t":"2024-02-29","b":true}
{"k":2,"s":"","f":-0.0,"d":1.5,"t":"2024-02-29","b":false}
{"k":3,"s":null,"f":1e0,"d":-0.0,"t":null,"b":null}
{"k":4,"s":"a \"quote\"","f":1,"d":0,"t":"0001-01-01","b":true}
{"k":5}
{"k":6,"s":"","f":null,"d":null,"t":"9999-12-31","b":true}
{"k":7,"s":"null","f":2.5,"d":1.5,"t":"2024-03-01","b":true}
"#;
    let csv_of_lines = "CSV LOCATION '{}' OPTIONS ('format.has_header' 'true')";
    for (name, object, stored) in [("csv", csv, csv_of_lines), ("json", json, "JSON LOCATION '{}'")]
    {
        let store = Store::start().await;
        store.put(&format!("keys/0.{name}"), object);
        let ddl = |location: &str| {
            let stored = stored.replace("{}", location);
            format!(
                "CREATE EXTERNAL TABLE keys (k BIGINT NOT NULL, s VARCHAR, f DOUBLE, \
                 d DECIMAL(10, 2), t DATE, b BOOLEAN) STORED AS {stored}"
            )
        };
        let stock = stock();
        let folder = store.folder.path().join(BUCKET).join("keys");
        stock_rows(&stock, &ddl(&format!("{}/", folder.display()))).await.unwrap();
        for profile in [without_case(), StoreCapabilities::minio(), StoreCapabilities::aws()] {
            let engine = store.builder().profile(profile.clone()).build().await.unwrap();
            rows(&engine, &ddl(&format!("s3://{BUCKET}/keys/"))).await;
            let mut pushed = Vec::new();
            for keys in ["k", "s", "f", "d", "t", "b", "s, b", "d, t", "d, s, t, b"] {
                let sql = format!("SELECT {keys}, count(*) FROM keys GROUP BY {keys}");
                let expected = stock_rows(&stock, &sql).await.unwrap();
                for strategy in ["case", "hybrid"] {
                    force(&engine, strategy).await;
                    for count in [1, 3, 4096] {
                        sample(&engine, count).await;
                        let actual = rows(&engine, &sql).await;
                        assert_eq!(actual, expected, "{}: {sql}: {strategy}", profile.name);
                    }
                }
                force(&engine, "case").await;
                let explained = engine.explain(&sql).await.unwrap();
                if explained.decisions.iter().any(|it| it.strategy() == Some("case")) {
                    pushed.push(keys);
                }
            }
            let at_least: &[&str] = match (profile.name.as_str(), name) {
                ("sluice", "csv") => &["k", "s", "d", "t", "b", "s, b", "d, t", "d, s, t, b"],
                ("aws" | "minio", "csv") | ("sluice", _) => &["k", "s"],
                _ => &[],
            };
            for keys in at_least {
                assert!(pushed.contains(keys), "{}: {name}: {pushed:?}", profile.name);
            }
        }
    }
}

/// Builds an engine that assumes a link of this rate, over a store without CASE and GROUP BY.
async fn behind(bytes_per_second: f64, store: &Store) -> Engine {
    let mut hardware = HardwareProfile::by_name("home-100mbit").unwrap().clone();
    hardware.link.bytes_per_second = BytesPerSecond(bytes_per_second);
    hardware.link.connection_bytes_per_second = BytesPerSecond(bytes_per_second);
    let engine = store.builder().profile(without_case()).hardware(hardware);
    let engine = engine.scan(Scan::Select).build().await.unwrap();
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    engine
}

/// A scan for each group is expensive: only few groups are worth it, and only over a slow link.
#[tokio::test(flavor = "multi_thread")]
async fn few_groups_are_worth_a_statement_each() {
    let (store, stock) = both(&[skewed(0, 100_000)]).await;
    let (few, many) = ("SELECT g, sum(x) FROM t GROUP BY g", "SELECT k, sum(x) FROM t GROUP BY k");
    let expected = stock_rows(&stock, few).await.unwrap();
    let engine = behind(1e5, &store).await;
    let [pushed, left, ..] = analyzed(&engine, few).await;
    assert_eq!((pushed, left), (5, 0));
    assert_eq!(rows(&engine, few).await, expected);
    let text = rows(&engine, &format!("EXPLAIN ANALYZE {many}")).await.join("\n");
    assert!(text.contains("groups_pushed=0") || !text.contains("S3GroupByExec"), "{text}");

    let fast = behind(1e10, &store).await;
    let decisions = fast.explain(few).await.unwrap().decisions;
    let group_by = decisions.iter().find(|it| it.operator == "group_by").unwrap();
    assert_eq!(group_by.strategy(), Some("filtered"));

    // The number of statements is limited even if the strategy is forced.
    for strategy in ["case", "hybrid"] {
        force(&engine, strategy).await;
        let before = engine.counted();
        let text = rows(&engine, &format!("EXPLAIN ANALYZE {many}")).await.join("\n");
        let sent = engine.counted().since(&before).select;
        // A sample, the groups, all rows, those outside of the groups, and again all of them if these have too many
        // groups to buffer them until they are counted.
        assert!(sent <= 4 + 32, "{strategy}: {sent} statements");
        if strategy == "case" {
            let why =
                "4096 groups in a file, of which the store is asked about at most 32 one by one";
            assert!(text.contains("groups_pushed=0") && text.contains(why), "{text}");
        }
    }
}
