//! Subqueries of every kind next to a table, in every kind of join: rows that meet in one place on one machine also
//! do so with workers, even if the plan has only one partition.

use sluicegate_engine::config::Scan;

use super::{DDL, Machines, tables};
use crate::harness::{BUCKET, Store, stock, stock_rows, text};

/// Subqueries with a column `x`.
const SIDES: [&str; 12] = [
    "SELECT max(k) AS x FROM u",
    "SELECT count(*) AS x FROM u",
    "SELECT w AS x, count(*) AS n FROM u GROUP BY w",
    "SELECT k AS x FROM u ORDER BY k LIMIT 3",
    "SELECT k AS x FROM u ORDER BY k OFFSET 300",
    "SELECT k AS x FROM (SELECT k, row_number() OVER (ORDER BY k) AS r FROM u) WHERE r < 3",
    "SELECT DISTINCT ON (w) k AS x FROM u ORDER BY w, k",
    "SELECT w AS x FROM u WHERE k < 900 GROUP BY ROLLUP (w, k)",
    "SELECT k AS x FROM u INTERSECT SELECT k FROM t WHERE v > 500",
    "SELECT k AS x FROM t WHERE v > 995 EXCEPT SELECT k FROM u",
    "SELECT DISTINCT w AS x FROM u",
    "SELECT k AS x FROM u WHERE k IN (SELECT max(k) FROM u UNION ALL SELECT min(k) FROM t)",
];

/// Queries around a subquery, `SIDE`.
const AROUND: [&str; 8] = [
    "SELECT t.k, x FROM t, (SIDE) WHERE t.v > 995",
    "SELECT t.k, x FROM t JOIN (SIDE) ON t.k = x",
    "SELECT t.k, x FROM t LEFT JOIN (SIDE) ON t.k = x WHERE t.v > 990",
    "SELECT t.k, x FROM t RIGHT JOIN (SIDE) ON t.k = x AND t.v > 500",
    "SELECT count(*), sum(t.k), sum(x) FROM t FULL JOIN (SIDE) ON t.k = x",
    "SELECT t.k FROM t WHERE t.k IN (SELECT x FROM (SIDE))",
    "SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM (SIDE) WHERE x = t.k)",
    "SELECT g, count(*), (SELECT count(*) FROM (SIDE)) AS n FROM t GROUP BY g ORDER BY g LIMIT 5",
];

/// Queries that do not join a subquery.
const OTHERS: [&str; 33] = [
    "WITH RECURSIVE r AS (SELECT min(k) AS n FROM u UNION ALL SELECT r.n + t.k + 1 FROM r JOIN t ON t.k = r.n + 1 \
     WHERE r.n < 400) SELECT n FROM r",
    "SELECT g, k % 3, count(*) FROM t GROUP BY GROUPING SETS ((g), (k % 3), ())",
    "SELECT k, s FROM t ORDER BY v, k LIMIT 7 OFFSET 33",
    "SELECT g, count(*) FROM t WHERE v > 500 GROUP BY g HAVING min(k) > 20",
    "SELECT a.w, count(*) FROM u a JOIN t b ON a.k = b.k JOIN u c ON b.k = c.k GROUP BY a.w",
    "SELECT k + 1 AS n, count(*) FROM t WHERE v > 900 GROUP BY k + 1",
    "SELECT count(*) FROM (SELECT k FROM t LIMIT 99)",
    "SELECT count(*) FROM (SELECT k, s FROM t WHERE v > 100 LIMIT 99)",
    "SELECT count(*) FROM (SELECT t.k FROM t JOIN u ON t.k % 300 = u.k LIMIT 99)",
    "SELECT count(*), sum(k) FROM (SELECT k FROM (SELECT k FROM t ORDER BY k LIMIT 50) LIMIT 20 OFFSET 40)",
    "SELECT max(n) FROM (SELECT k, row_number() OVER (PARTITION BY g ORDER BY k) AS n FROM t)",
    // Encoded plans do not contain this.
    "SELECT sum(n) FROM (SELECT count(*) FILTER (WHERE k % 3 = 1) OVER (PARTITION BY g) AS n FROM t)",
    "SELECT sum(n) FROM (SELECT sum(k) FILTER (WHERE v > 500) OVER (PARTITION BY g ORDER BY k) AS n FROM t)",
    "SELECT count(n) FROM (SELECT lag(CASE WHEN k % 3 = 1 THEN 1 END) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) AS n \
     FROM t)",
    "SELECT g FROM t WHERE k IN (SELECT first_value(CASE WHEN v > 500 THEN k END) IGNORE NULLS OVER (PARTITION BY g \
     ORDER BY k) FROM t) ORDER BY g",
    "SELECT count(*) FROM t GROUP BY GROUPING SETS (())",
    "SELECT count(*), sum(k) FROM t WHERE k < 0 GROUP BY GROUPING SETS ((), ())",
    "SELECT count(*) FROM t GROUP BY GROUPING SETS ((), (g))",
    "SELECT count(*) FROM generate_series(1, 3), t",
    "SELECT count(*) FROM (SELECT 1 AS x FROM t UNION ALL SELECT 1 FROM generate_series(1, 3))",
    "SELECT value, count(*) FROM generate_series(1, 3) JOIN t ON k % 5 = value GROUP BY value",
    "SELECT k, lag(v) OVER (PARTITION BY g ORDER BY k) AS a, row_number() OVER (PARTITION BY g ORDER BY k DESC) AS b \
     FROM t WHERE k < 3000",
    "SELECT sum(a), sum(b) FROM (SELECT nth_value(k, 2) OVER (PARTITION BY g ORDER BY k) AS a, sum(k) OVER (PARTITION BY g \
     ORDER BY k DESC) AS b FROM t)",
    "SELECT k, arrow_cast([k, 2], 'LargeList(Int64)') AS l FROM t WHERE k < 300",
    "SELECT count(*) FROM t WHERE arrow_metadata(with_metadata(k, 'unit', 'm'), 'unit') = 'm'",
    "SELECT count(*) FROM t WHERE arrow_cast(v, 'Float16') > arrow_cast(1.5, 'Float16')",
    // Scalar subqueries become joins if possible, and run locally otherwise.
    "SELECT count(*) FROM t WHERE v > (SELECT avg(v) FROM t)",
    "SELECT g, count(*) FROM t GROUP BY g HAVING count(*) > (SELECT count(*) / 41 FROM t)",
    "SELECT sum(k + (SELECT min(k) FROM u WHERE k > 5)) FROM t",
    "SELECT k FROM t ORDER BY (SELECT max(k) FROM u) - k, k LIMIT 10",
    "SELECT CASE WHEN v > (SELECT avg(v) FROM t) THEN 'high' ELSE 'low' END AS x, count(*) FROM t GROUP BY 1",
    "SELECT count(*) FILTER (WHERE v > (SELECT avg(v) FROM t)) FROM t",
    "SELECT count(*) FROM t WHERE k = (SELECT k FROM u ORDER BY k LIMIT 1)",
];

async fn check(threads: usize, scan: Scan, switch: &str) {
    let store = Store::start().await;
    let machines = Machines::with(3, || store.builder().scan(scan).threads(threads)).await;
    tables(&store, &machines.engine).await;
    machines.set(&format!("sluice.switch = '{switch}'")).await;
    let stock = stock();
    for ddl in DDL {
        let folder = format!("LOCATION '{}/", store.folder.path().join(BUCKET).display());
        stock_rows(&stock, &ddl.replace("LOCATION '", &folder)).await.unwrap();
    }
    let joined = AROUND.iter().flat_map(|it| SIDES.map(|side| it.replace("SIDE", side)));
    let mut wrong = Vec::new();
    for sql in joined.chain(OTHERS.map(str::to_owned)) {
        let expected = stock_rows(&stock, &sql).await.unwrap();
        match machines.engine.collect(&sql).await {
            Ok(batches) if text(&batches) == expected => {}
            Ok(batches) => {
                let (rows, expected) = (text(&batches).len(), expected.len());
                wrong.push(format!("{sql}: other rows ({rows}, not {expected})"));
            }
            Err(error) => wrong.push(format!("{sql}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_one_partition_by_get() {
    Box::pin(check(1, Scan::Get, "off")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_one_partition_by_select() {
    Box::pin(check(1, Scan::Select, "off")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_one_partition_across_a_switch() {
    Box::pin(check(1, Scan::Get, "tofino2")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_partitions() {
    Box::pin(check(2, Scan::Auto, "off")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_partitions_across_a_switch() {
    Box::pin(check(2, Scan::Select, "tofino2")).await;
}
