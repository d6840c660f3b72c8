//! Keys of joins above a GROUP BY that the store runs.

use sluicegate_engine::config::Scan;

use super::answers::Format;
use super::compared::compare;
use crate::harness::{BUCKET, Store, rows};

/// Groups on either side of each type of join, by one key and several, by an expression, by a value that two columns
/// share, below another GROUP BY, and with aggregates of all kinds.
const STATEMENTS: &[&str] = &[
    "SELECT c.v, x.n, x.s FROM c JOIN (SELECT k, count(*) AS n, sum(v) AS s FROM b GROUP BY k) x \
     ON c.k = x.k",
    "SELECT c.v, x.m FROM c LEFT JOIN (SELECT k, min(s) AS m FROM b GROUP BY k) x ON c.k = x.k",
    "SELECT c.v, x.m FROM c RIGHT JOIN (SELECT k, max(v) AS m FROM b GROUP BY k) x ON c.k = x.k",
    "SELECT c.v, x.a FROM c FULL JOIN (SELECT k, avg(v) AS a FROM b GROUP BY k) x ON c.k = x.k",
    "SELECT c.v, x.n FROM c JOIN (SELECT k, i, count(v) AS n FROM b GROUP BY k, i) x \
     ON c.k = x.k AND c.i = x.i",
    "SELECT c.v, x.n FROM c JOIN (SELECT i, k, count(v) AS n FROM b GROUP BY i, k) x ON c.k = x.k",
    "SELECT c.v, x.n FROM c JOIN (SELECT s, count(v) AS n FROM b GROUP BY s) x ON c.s = x.s",
    "SELECT c.v, x.n FROM c JOIN (SELECT k / 2 AS j, count(v) AS n FROM b GROUP BY k / 2) x \
     ON c.k = x.j",
    "SELECT c.v, x.k FROM c JOIN (SELECT DISTINCT k FROM b) x ON c.k = x.k",
    "SELECT c.v FROM c WHERE c.v < (SELECT avg(b.v) FROM b WHERE b.k = c.k)",
    "SELECT c.v, a.v FROM c JOIN a ON c.k = a.k WHERE a.v < (SELECT avg(b.v) FROM b WHERE b.k = c.k)",
    "SELECT c.v FROM c WHERE c.k IN (SELECT k FROM b GROUP BY k HAVING count(*) > 1)",
    "SELECT c.v FROM c WHERE c.k NOT IN (SELECT k FROM b WHERE k IS NOT NULL GROUP BY k)",
    "SELECT c.v, x.n FROM c JOIN (SELECT k, count(*) FILTER (WHERE v > 9) AS n FROM b WHERE v < 40 \
     GROUP BY k) x ON c.k IS NOT DISTINCT FROM x.k",
    "SELECT c.v, x.n FROM c JOIN (SELECT k, n FROM (SELECT k, count(*) AS n FROM b GROUP BY k) y \
     ORDER BY n, k LIMIT 4) x ON c.k = x.k",
    "SELECT c.i, sum(x.n) FROM c JOIN (SELECT k, count(*) AS n FROM b GROUP BY k) x ON c.k = x.k \
     JOIN (SELECT k, max(v) AS m FROM a GROUP BY k) y ON y.k = x.k GROUP BY c.i",
    "SELECT c.v, x.n FROM c JOIN (SELECT k, v, sum(v) AS n FROM b GROUP BY GROUPING SETS ((k), (v))) \
     x ON c.k = x.k",
];

fn check(format: Format) {
    let settings = ["SET sluice.group_by = 's3'"];
    let ways = ["SET sluice.join = 'filtered'", "SET sluice.join = 'bloom'"];
    compare(format, STATEMENTS, &settings, ways);
}

#[test]
fn keys_below_groups_of_csv_agree_with_datafusion() {
    check(Format::Csv);
}

#[test]
fn keys_below_groups_of_json_agree_with_datafusion() {
    check(Format::Json);
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_no_key_is_of_stay_in_the_store() {
    let store = Store::start().await;
    let text: String = (0..2000).map(|row| format!("{},{}\n", row % 500, row)).collect();
    store.put("t/0.csv", format!("k,v\n{text}"));
    store.put("d/0.csv", "k,w\n7,1\n70,2\n700,3\n");
    let engine = store.builder().scan(Scan::Select).build().await.unwrap();
    for (name, columns) in [("t", "k BIGINT, v BIGINT"), ("d", "k BIGINT, w BIGINT")] {
        let ddl = format!(
            "CREATE EXTERNAL TABLE {name} ({columns}) STORED AS CSV LOCATION 's3://{BUCKET}/{name}/'
             OPTIONS ('format.has_header' 'true', 'format.newlines_in_values' 'false')"
        );
        rows(&engine, &ddl).await;
    }
    for setting in ["SET sluice.group_by = 's3'", "SET sluice.join = 'bloom'"] {
        rows(&engine, setting).await;
    }
    let sql =
        "SELECT d.w, x.s FROM d JOIN (SELECT k, sum(v) AS s FROM t GROUP BY k) x ON d.k = x.k";
    let explained = rows(&engine, &format!("EXPLAIN {sql}")).await.join("\n");
    assert!(explained.contains("pushed=GROUP BY"), "{explained}");
    assert!(explained.contains("join=bloom on k"), "{explained}");
    let analyzed = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    assert!(analyzed.contains("groups_pushed=2,"), "{analyzed}");
    assert!(analyzed.contains("keys=list on k (3 keys)"), "{analyzed}");
    assert_eq!(rows(&engine, sql).await, ["\"1\" | \"3028\"", "\"2\" | \"3280\""]);
}
