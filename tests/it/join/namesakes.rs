//! If both sides of a join have a column of the same name, a filter on one does not apply to the other.

use sluicegate_engine::config::Scan;

use crate::harness::{BUCKET, Store, rows, stock, stock_rows};

/// Filters on a column, and keys of a join, that are pushed down to a node with two columns of that name.
const STATEMENTS: &[&str] = &[
    "SELECT x.v, c.v FROM (SELECT b.k, b.v FROM a RIGHT JOIN b ON a.k = b.k WHERE a.v IS NULL) x \
     JOIN c ON c.k = x.k",
    "SELECT b.v FROM a RIGHT JOIN b ON a.k = b.k WHERE a.v IS NULL",
    "SELECT a.v, b.v FROM a LEFT JOIN b ON a.k = b.k WHERE b.v IS NULL OR b.v > 20",
    "SELECT a.v, b.v, a.k, b.k FROM a FULL JOIN b ON a.k = b.k WHERE a.k IS NULL",
    "SELECT a.v, b.v, a.i, b.i, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.i = b.i",
    "SELECT a.v, b.v, a.i, b.i, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.i = a.i",
    "SELECT * FROM a JOIN b ON a.k = b.k JOIN c ON c.v = b.v",
    "SELECT x.i, x.j, c.v FROM (SELECT a.i, b.i AS j, b.v FROM a JOIN b ON a.k = b.k) x \
     JOIN c ON c.i = x.j",
    "SELECT a.i, b.i FROM a JOIN b ON a.k = b.k ORDER BY b.i, a.i LIMIT 3",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_stays_with_its_column() {
    let store = Store::start().await;
    let local = tempfile::tempdir().unwrap();
    let table = |keys: std::ops::Range<i64>, i: i64, v: i64| {
        keys.map(|k| format!("{k},{},{}\n", (k * i) % 11, k * v)).collect::<String>()
    };
    for (name, rows) in
        [("a", table(0..40, 3, 1)), ("b", table(10..90, 7, 2)), ("c", table(0..4, 1, 26))]
    {
        let text = format!("k,i,v\n{rows}");
        std::fs::write(local.path().join(format!("{name}.csv")), &text).unwrap();
        store.put(&format!("{name}.csv"), text);
    }
    let ddl = |name: &str, location: String| {
        format!(
            "CREATE EXTERNAL TABLE {name} (k BIGINT, i BIGINT, v BIGINT) STORED AS CSV \
             LOCATION '{location}' OPTIONS ('format.has_header' 'true')"
        )
    };
    let stock = stock();
    let engine = store.engine(Scan::Select).await;
    for name in ["a", "b", "c"] {
        let path = local.path().join(format!("{name}.csv"));
        stock_rows(&stock, &ddl(name, path.display().to_string())).await.unwrap();
        rows(&engine, &ddl(name, format!("s3://{BUCKET}/{name}.csv"))).await;
    }
    for partitioned in [false, true] {
        if partitioned {
            let threshold = "datafusion.optimizer.hash_join_single_partition_threshold";
            rows(&engine, &format!("SET {threshold} = 0")).await;
            rows(&engine, &format!("SET {threshold}_rows = 0")).await;
        }
        for sql in STATEMENTS {
            let expected = stock_rows(&stock, sql).await.unwrap();
            for strategy in ["filtered", "bloom"] {
                rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
                assert_eq!(rows(&engine, sql).await, expected, "{sql} with {strategy}");
            }
        }
    }
}
