//! Queries of an analyst over folders: columns that only some files have, folders of dates and other values, and
//! columns in the order of the file.

use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_ordered, try_rows};
use crate::untidy::SCANS;

/// Returns the statement with local paths replaced by locations in the bucket.
fn of_bucket(sql: &str) -> String {
    sql.replace("FROM '", &format!("FROM 's3://{BUCKET}/"))
        .replace("TO '", &format!("TO 's3://{BUCKET}/"))
        .replace("LOCATION '", &format!("LOCATION 's3://{BUCKET}/"))
}

async fn found(engine: &Engine, sql: &str) -> Vec<String> {
    let rows = try_ordered(engine, &of_bucket(sql)).await;
    rows.unwrap_or_else(|error| panic!("{sql}: {error}")).iter().map(|it| it.join(", ")).collect()
}

async fn check(engine: &Engine, sql: &str, expected: &[&str], scan: Scan) {
    let mut found = found(engine, sql).await;
    found.sort();
    assert_eq!(found, expected, "{scan}: {sql}");
}

async fn check_ordered(engine: &Engine, sql: &str, expected: &[&str], scan: Scan) {
    assert_eq!(found(engine, sql).await, expected, "{scan}: {sql}");
}

/// A column that some Parquet files lack, or that has NULL in one of them, is NULL there.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_null_in_one_file_may_be_null_in_the_next() {
    let store = Store::start().await;
    let writer = store.engine(Scan::Get).await;
    for copy in [
        "COPY (SELECT 1 AS a, named_struct('x', 1) AS s) TO 'l/1.parquet'",
        "COPY (SELECT 2 AS a, named_struct('x', 2, 'y', 5) AS s, 'x' AS late) TO 'l/2.parquet'",
        "COPY (SELECT 1 AS w) TO 'w/1.parquet'",
        "COPY (SELECT nullif(1.5e0, column1) AS w FROM (VALUES (1.5e0), (2.5e0))) TO 'w/2.parquet'",
    ] {
        rows(&writer, &of_bucket(copy)).await;
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (sql, expected) in [
            ("SELECT count(*) FROM 'l/' WHERE late IS NULL", &["1"][..]),
            ("SELECT a FROM 'l/' WHERE late IS NOT NULL", &["2"]),
            ("SELECT a, late FROM 'l/'", &["1, NULL", "2, x"]),
            ("SELECT a, s.y FROM 'l/'", &["1, NULL", "2, 5"]),
            ("SELECT count(*) FROM 'l/' WHERE s.y IS NULL", &["1"]),
            ("SELECT count(late), count(*) FROM 'l/'", &["1, 2"]),
            ("SELECT w FROM 'w/'", &["1.0", "1.5", "NULL"]),
            ("SELECT count(*) FROM 'w/' WHERE w IS NULL", &["1"]),
        ] {
            check(&engine, sql, expected, scan).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_that_differ_in_capitals_among_files_are_refused() {
    let store = Store::start().await;
    store.put("j/1.json", "{\"id\":1}\n");
    store.put("j/2.json", "{\"Id\":2}\n");
    store.put("both/1.json", "{\"id\":1,\"Id\":2}\n");
    store.put("both/2.json", "{\"Id\":3}\n");
    let writer = store.engine(Scan::Get).await;
    rows(&writer, &of_bucket("COPY (SELECT 1 AS id) TO 'p/1.parquet'")).await;
    rows(&writer, &of_bucket("COPY (SELECT 2 AS \"Id\") TO 'p/2.parquet'")).await;
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in ["j", "p"] {
            let refused = try_rows(&engine, &of_bucket(&format!("SELECT * FROM '{place}/'"))).await;
            says(refused, &[&format!("column `id` of `{place}/1."), "is called `Id` in"]);
        }
        check(&engine, "SELECT * FROM 'both/'", &["1, 2", "NULL, 3"], scan).await;
    }
}

/// Partitions of NULL are sorted among others, however the plan combines the rows.
#[tokio::test(flavor = "multi_thread")]
async fn folders_of_null_are_ordered_among_others() {
    let store = Store::start().await;
    for month in ["1", "2", "__HIVE_DEFAULT_PARTITION__"] {
        store.put(&format!("c/y={month}/a.csv"), "id\n1\n2\n");
        store.put(&format!("j/y={month}/a.json"), "{\"id\":1}\n{\"id\":2}\n");
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in ["c", "j"] {
            for (sql, expected) in [
                (
                    "id, y FROM 'c/' ORDER BY id, y LIMIT 4",
                    &["1, 1", "1, 2", "1, NULL", "2, 1"][..],
                ),
                ("y FROM 'c/' ORDER BY y NULLS FIRST, id LIMIT 3", &["NULL", "NULL", "1"]),
                ("y, id + 1 FROM 'c/' ORDER BY id DESC, y DESC LIMIT 2", &["NULL, 3", "2, 3"]),
            ] {
                let sql = format!("SELECT {}", sql.replace("'c/'", &format!("'{place}/'")));
                check_ordered(&engine, &sql, expected, scan).await;
            }
        }
    }
}

/// Partition values that COPY writes into the names of folders keep their types when they are read.
#[tokio::test(flavor = "multi_thread")]
async fn folders_have_the_types_of_their_values() {
    let store = Store::start().await;
    let values = "VALUES (1, DATE '2024-01-05', TIMESTAMP '2024-01-05 10:20:30', 9.5e0, \
                  CAST(9.50 AS DECIMAL(10, 2)), true), \
                  (2, DATE '2024-11-02', TIMESTAMP '2024-01-05 00:00:00.25', 1e20, \
                  CAST(-10.25 AS DECIMAL(10, 2)), false), \
                  (3, DATE '2023-11-02', TIMESTAMP '2023-01-05 00:00:00', 10.0e0, \
                  CAST(10 AS DECIMAL(10, 2)), false), (4, NULL, NULL, NULL, NULL, NULL)";
    let writer = store.engine(Scan::Get).await;
    for kind in ["CSV", "JSON", "PARQUET"] {
        let copy = format!(
            "COPY (SELECT * FROM ({values}) v(id, d, t, f, c, b)) TO '{kind}/' STORED AS {kind} \
             PARTITIONED BY (d, t, f, c, b)"
        );
        rows(&writer, &of_bucket(&copy)).await;
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for kind in ["CSV", "JSON", "PARQUET"] {
            for (sql, expected) in [
                (
                    "max(d), max(t), max(f), max(c), max(b) FROM '_/'",
                    &["2024-11-02, 2024-01-05T10:20:30, 1e20, 10.00, true"][..],
                ),
                ("min(f), min(c) FROM '_/'", &["9.5, -10.25"]),
                ("id FROM '_/' WHERE d >= '2024-1-2'", &["1", "2"]),
                ("id FROM '_/' WHERE d <= DATE '2024-02-01'", &["1", "3"]),
                ("id FROM '_/' WHERE t > TIMESTAMP '2024-01-05 00:00:00.2'", &["1", "2"]),
                ("id FROM '_/' WHERE f <= 10", &["1", "3"]),
                ("id FROM '_/' WHERE f = 1e20", &["2"]),
                ("id FROM '_/' WHERE c < 9.6", &["1", "2"]),
                ("id FROM '_/' WHERE c = 10", &["3"]),
                ("id FROM '_/' WHERE b", &["1"]),
                ("id FROM '_/' WHERE NOT b", &["2", "3"]),
                ("id FROM '_/' WHERE d IS NULL AND t IS NULL AND f IS NULL", &["4"]),
                ("arrow_typeof(d), arrow_typeof(b) FROM '_/' WHERE id = 1", &["Date32, Boolean"]),
            ] {
                let sql = format!("SELECT {}", sql.replace("_/", &format!("{kind}/")));
                check(&engine, &sql, expected, scan).await;
            }
            let sql = format!("SELECT id FROM '{kind}/' ORDER BY f");
            check_ordered(&engine, &sql, &["1", "3", "2", "4"], scan).await;
            let sql = format!("SELECT id FROM '{kind}/' ORDER BY c DESC NULLS LAST LIMIT 3");
            check_ordered(&engine, &sql, &["3", "1", "2"], scan).await;
        }
    }
    let like = of_bucket("SELECT id FROM 'CSV/' WHERE d LIKE '2024%'");
    let error = try_rows(&writer, &like).await.unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("CAST(d AS VARCHAR)")), "{error}");
    // Folders without matching rows are not read.
    let engine = store.engine(Scan::Select).await;
    let before = engine.counted();
    check(&engine, "SELECT id FROM 'CSV/' WHERE d = '2024-01-05' AND id > 0", &["1"], Scan::Select)
        .await;
    assert_eq!(engine.counted().since(&before).select, 1);
}

/// Folders of the location are columns, too, and no other folder is listed.
#[tokio::test(flavor = "multi_thread")]
async fn folders_of_the_location_are_columns() {
    let store = Store::start().await;
    for (year, month) in [(2023, 1), (2023, 2), (2024, 1)] {
        let id = year * 100 + month;
        store.put(&format!("h/year={year}/month={month}/a.csv"), format!("id\n{id}\n"));
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for from in ["'h/year=2023/'", "'h/year=2023/*/*.csv'", "'h/year=2023/**/a.csv'"] {
            for (sql, expected) in [
                ("*", &["202301, 2023, 1", "202302, 2023, 2"][..]),
                ("year, month, id", &["2023, 1, 202301", "2023, 2, 202302"]),
                ("sum(id), max(year)", &["404603, 2023"]),
            ] {
                check(&engine, &format!("SELECT {sql} FROM {from}"), expected, scan).await;
            }
            let sql = format!("SELECT id FROM {from} WHERE year = 2023 AND month = 2");
            check(&engine, &sql, &["202302"], scan).await;
            let sql = format!("SELECT id FROM {from} WHERE year = 2024");
            check(&engine, &sql, &[], scan).await;
        }
        check(&engine, "SELECT * FROM 'h/year=2024/month=1/'", &["202401, 2024, 1"], scan).await;
    }
}

/// Columns of JSON are in the order of the file.
#[tokio::test(flavor = "multi_thread")]
async fn columns_of_json_are_in_the_order_of_the_file() {
    let store = Store::start().await;
    store.put("lines.json", "{\"zip\":1,\"name\":\"a\"}\n{\"zip\":2,\"age\":7,\"name\":\"b\"}\n");
    store.put("array.json", "[{\"zip\":1,\"name\":\"a\"},{\"zip\":2,\"age\":7,\"name\":\"b\"}]");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in ["lines.json", "array.json"] {
            let from = format!("FROM '{place}'");
            check(&engine, &format!("SELECT * {from}"), &["1, a, NULL", "2, b, 7"], scan).await;
            let union = format!("SELECT zip, name {from} UNION ALL SELECT 3, 'c'");
            check(&engine, &union, &["1, a", "2, b", "3, c"], scan).await;
        }
    }
}

/// Quotes that follow backslashes are detected.
#[tokio::test(flavor = "multi_thread")]
async fn quotes_behind_backslashes_are_read() {
    let store = Store::start().await;
    store.put("a.csv", "id,name\n1,\"x\\\"y\"\n2,\"a; b\"\n3,\"z\\\"q; r\"\n");
    store.put("b.csv", "id,path\n1,\"C:\\dir\\\"\n2,x\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        check(&engine, "SELECT * FROM 'a.csv'", &["1, x\"y", "2, a; b", "3, z\"q; r"], scan).await;
        check(&engine, "SELECT id FROM 'a.csv' WHERE name = 'x\"y'", &["1"], scan).await;
        check(&engine, "SELECT * FROM 'b.csv'", &["1, C:\\dir\\", "2, x"], scan).await;
    }
}

/// Subqueries find fields of structs of the outer query. Some statements have no answer.
#[tokio::test(flavor = "multi_thread")]
async fn fields_of_the_query_around_are_found() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    for table in [
        "CREATE TABLE e AS SELECT named_struct('name', 'x', 'at', named_struct('y', 2)) AS u, 1 AS i",
        "CREATE TABLE d AS SELECT * FROM (VALUES ('x', 1), ('y', 2)) v(k, j)",
    ] {
        rows(&engine, table).await;
    }
    for (sql, expected) in [
        ("SELECT i FROM e WHERE EXISTS (SELECT 1 FROM d WHERE d.k = e.u.name)", &["1"][..]),
        ("SELECT i FROM e WHERE EXISTS (SELECT 1 FROM d WHERE d.k = u.name)", &["1"]),
        ("SELECT (SELECT max(k) FROM d WHERE j = e.u.at.y) FROM e", &["y"]),
        ("SELECT i FROM e WHERE u.name IN (SELECT k FROM d WHERE j < e.u.at.y)", &["1"]),
    ] {
        check(&engine, sql, expected, Scan::Get).await;
    }
    says(
        try_rows(&engine, "SELECT CAST(20240105 AS DATE)").await,
        &["20240105, cannot be cast to a date"],
    );
    says(try_rows(&engine, "SELECT j::DATE FROM d").await, &["a number, j"]);
    check(
        &engine,
        "SELECT to_date(CAST(20240105 AS VARCHAR), '%Y%m%d')",
        &["2024-01-05"],
        Scan::Get,
    )
    .await;
    check(&engine, "SELECT DATE '1970-01-01' + 7", &["1970-01-08"], Scan::Get).await;
    let copy = "COPY (SELECT 1 AS a, INTERVAL '1 day' AS i) TO 'i.parquet'";
    says(try_rows(&engine, &of_bucket(copy)).await, &["no INTERVAL into Parquet", "`i`"]);
}
