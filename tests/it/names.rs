//! Keys and columns with the names that users give them.

use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};
use crate::untidy::SCANS;

/// Writes the rows of a query to a Parquet object of the store.
async fn parquet(store: &Store, engine: &Engine, key: &str, query: &str) {
    let place = format!("s3://{BUCKET}/parquet-of-test/{}.parquet", key.replace('/', "-"));
    rows(engine, &format!("COPY ({query}) TO '{place}' OPTIONS (overwrite true)")).await;
    let written = store.folder.path().join(&place["s3://".len()..]);
    store.put(key, std::fs::read(written).unwrap());
}

/// A space at the end of a key belongs to it, in every notation.
#[tokio::test(flavor = "multi_thread")]
async fn spaces_belong_to_keys() {
    let store = Store::start().await;
    let writer = store.engine(Scan::Get).await;
    let keys = ["x.KIND", "x.KIND ", " x.KIND", "a b/ x  .KIND  ", "a b /x.KIND"];
    for kind in ["csv", "json", "parquet"] {
        let keys = keys.map(|key| key.replace("KIND", kind));
        for (number, key) in keys.iter().enumerate() {
            match kind {
                "csv" => store.put(key, format!("n\n{number}\n")),
                "json" => store.put(key, format!("{{\"n\":{number}}}\n")),
                _ => parquet(&store, &writer, key, &format!("SELECT {number} AS n")).await,
            }
        }
        for scan in SCANS {
            let engine = store.engine(scan).await;
            for (number, key) in keys.iter().enumerate() {
                let (url, expected) = (format!("s3://{BUCKET}/{key}"), [format!("\"{number}\"")]);
                let read = format!("SELECT n FROM read_{kind}('{url}') WHERE n >= 0");
                assert_eq!(rows(&engine, &read).await, expected, "{read}, {scan}");
                let create =
                    format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS {kind} LOCATION '{url}'");
                rows(&engine, &create).await;
                let read = rows(&engine, "SELECT n FROM t WHERE n >= 0").await;
                assert_eq!(read, expected, "{key:?}, {scan}");
                let copy = format!("s3://{BUCKET}/copied-{scan}/{key}");
                rows(&engine, &format!("COPY t TO '{copy}' STORED AS {kind}")).await;
                let path = store.folder.path().join(&copy["s3://".len()..]);
                assert!(path.is_file(), "{copy:?}");
            }
        }
    }
    let local = tempfile::tempdir().unwrap();
    let file = local.path().join("y.csv ");
    std::fs::write(&file, "n\n7\n").unwrap();
    for url in [file.display().to_string(), format!("file://{}", file.display())] {
        let read = format!("SELECT n FROM read_csv('{url}')");
        assert_eq!(rows(&writer, &read).await, ["\"7\""], "{url:?}");
    }
    let missing = format!("FROM read_csv('s3://{BUCKET}/y.csv ')");
    store.put("y.csv", "n\n1\n");
    says(try_rows(&writer, &missing).await, &["there is no object at", "y.csv"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_columns_are_found_whatever_their_capitals() {
    let store = Store::start().await;
    let writer = store.engine(Scan::Get).await;
    store.put("json/a.json", "{\"Id\":1,\"Full Name\":\"a\"}\n{\"Id\":2,\"Full Name\":\"b\"}\n");
    store.put("array/a.json", "[{\"Id\":1,\"Full Name\":\"a\"},\n{\"Id\":2,\"Full Name\":\"b\"}]");
    parquet(
        &store,
        &writer,
        "parquet/a.parquet",
        "SELECT column1 AS \"Id\", column2 AS \"Full Name\" FROM (VALUES (1, 'a'), (2, 'b'))",
    )
    .await;
    for (place, more) in [
        ("json/", "JSON"),
        ("json/a.json", "JSON"),
        ("array/", "JSON OPTIONS ('format.newline_delimited' 'false')"),
        ("parquet/", "PARQUET"),
    ] {
        for scan in SCANS {
            let engine = store.engine(scan).await;
            let (kind, options) = more.split_once(' ').unwrap_or((more, ""));
            let create = |columns: &str| {
                format!(
                    "CREATE OR REPLACE EXTERNAL TABLE t ({columns}) STORED AS {kind} LOCATION \
                     's3://{BUCKET}/{place}' {options}"
                )
            };
            rows(&engine, &create("Id INT, \"full name\" VARCHAR, other INT")).await;
            let note =
                "the object has no column `other`, so it is NULL; there are `Full Name`, `Id`";
            assert_eq!(engine.take_notes(), [note], "{place}, {scan}");
            for (sql, expected) in [
                ("SELECT * FROM t WHERE id = 2", r#""2" | "b" | "NULL""#),
                ("SELECT \"full name\" FROM t WHERE \"full name\" <> 'b'", r#""a""#),
                ("SELECT count(*), sum(id), max(\"full name\") FROM t", r#""2" | "3" | "b""#),
                ("SELECT other, id FROM t ORDER BY id LIMIT 1", r#""NULL" | "1""#),
                ("SELECT sum(id) FROM t GROUP BY \"full name\" HAVING sum(id) > 1", r#""2""#),
                ("SELECT u.id FROM t JOIN t AS u ON t.id = u.id WHERE u.id < 2", r#""1""#),
            ] {
                assert_eq!(rows(&engine, sql).await, [expected], "{sql} of {place}, {scan}");
            }
            // A name that matches in upper and lower case has precedence.
            rows(&engine, &create("\"Id\" INT, id INT")).await;
            let both = rows(&engine, "SELECT \"Id\", id FROM t").await;
            assert_eq!(both, [r#""1" | "NULL""#, r#""2" | "NULL""#], "{place}, {scan}");
        }
    }
    // Inserted rows have the names of the existing files.
    let engine = store.engine(Scan::Auto).await;
    let create = format!(
        "CREATE EXTERNAL TABLE t (id INT, \"Full Name\" VARCHAR) STORED AS JSON LOCATION 's3://{BUCKET}/json/'"
    );
    rows(&engine, &create).await;
    rows(&engine, "INSERT INTO t VALUES (3, 'c')").await;
    let there = format!("SELECT \"Id\" FROM 's3://{BUCKET}/json/' WHERE \"Full Name\" = 'c'");
    assert_eq!(rows(&engine, &there).await, [r#""3""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_may_be_two_columns_is_refused() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    store.put("t.json", "{\"ID\":1,\"Id\":2}\n");
    let create = |columns: &str| {
        format!(
            "CREATE EXTERNAL TABLE t ({columns}) STORED AS JSON LOCATION 's3://{BUCKET}/t.json'"
        )
    };
    let both = ["`id`", "\"ID\"", "\"Id\"", "in quotes"];
    says(try_rows(&engine, &create("id INT")).await, &both);
    let url = format!("SELECT id FROM 's3://{BUCKET}/t.json'");
    says(try_rows(&engine, &url).await, &both);
    rows(&engine, &create("\"Id\" INT")).await;
    assert_eq!(rows(&engine, "SELECT id FROM t").await, [r#""2""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_without_quotes_mean_the_only_column_of_that_name() {
    let store = Store::start().await;
    let writer = store.engine(Scan::Get).await;
    store.put("t.csv", "Betrag,Kunde,klein\n10,a,1\n20,b,2\n");
    store.put("t.json", "{\"Betrag\":10,\"Kunde\":\"a\",\"klein\":1}\n{\"Betrag\":20,\"Kunde\":\"b\",\"klein\":2}\n");
    parquet(
        &store,
        &writer,
        "t.parquet",
        "SELECT column1 AS \"Betrag\", column2 AS \"Kunde\", column3 AS klein FROM (VALUES (10, 'a', 1), (20, 'b', 2))",
    )
    .await;
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for kind in ["csv", "json", "parquet"] {
            let from = format!("'s3://{BUCKET}/t.{kind}'");
            for (sql, expected) in [
                ("SELECT Betrag, klein FROM T WHERE betrag > 10", r#""20" | "2""#),
                ("SELECT x.BETRAG FROM T AS x WHERE x.Kunde = 'a'", r#""10""#),
                ("SELECT sum(Betrag) FROM T", r#""30""#),
                (
                    "SELECT kunde, max(Betrag) AS m FROM T GROUP BY kunde ORDER BY m LIMIT 1",
                    r#""a" | "10""#,
                ),
                ("SELECT betrag FROM (SELECT Betrag FROM T WHERE klein = 2) AS s", r#""20""#),
                (
                    "SELECT a.betrag FROM T AS a JOIN T AS b ON a.kunde = b.Kunde AND b.betrag < 20",
                    r#""10""#,
                ),
                // An alias that matches exactly is used unchanged.
                ("SELECT klein AS betrag FROM T ORDER BY betrag LIMIT 1", r#""1""#),
            ] {
                let sql = sql.replace(" T", &format!(" {from}"));
                assert_eq!(rows(&engine, &sql).await, [expected], "{sql}, {scan}");
            }
            says(try_rows(&engine, &format!("SELECT \"betrag\" FROM {from}")).await, &["betrag"]);
            says(try_rows(&engine, &format!("SELECT Betrug FROM {from}")).await, &["betrug"]);
        }
    }
    let url = format!("s3://{BUCKET}/t.csv");
    rows(&writer, &format!("CREATE VIEW v AS SELECT Betrag FROM '{url}'")).await;
    assert_eq!(rows(&writer, "SELECT sum(betrag) FROM v").await, [r#""30""#]);
    rows(&writer, &format!("COPY (SELECT Betrag FROM v) TO 's3://{BUCKET}/out.csv'")).await;
    let explained = rows(&writer, &format!("EXPLAIN SELECT Betrag FROM '{url}'")).await;
    assert!(explained.iter().any(|line| line.contains("Betrag")), "{explained:?}");
}

/// Files of a folder may have numbers of several types; otherwise the hint helps.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_several_types_are_one_column_or_the_hint_helps() {
    let store = Store::start().await;
    let writer = store.engine(Scan::Get).await;
    for (key, value) in [
        ("taxi/a.parquet", "arrow_cast(1, 'Int64')"),
        ("taxi/b.parquet", "arrow_cast(2, 'Int32')"),
        ("other/a.parquet", "arrow_cast(1, 'Int64')"),
        ("other/b.parquet", "'x'"),
    ] {
        parquet(&store, &writer, key, &format!("SELECT {value} AS \"VendorID\"")).await;
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let url = format!("'s3://{BUCKET}/taxi/'");
        let read = rows(&engine, &format!("SELECT VendorID FROM {url} WHERE vendorid > 0")).await;
        assert_eq!(read, [r#""1""#, r#""2""#], "{scan}");
        let notes = engine.take_notes();
        assert!(notes.iter().any(|note| note.contains("is read as BIGINT")), "{notes:?}");
        let other = format!("s3://{BUCKET}/other/");
        let error = try_rows(&engine, &format!("FROM '{other}'")).await.unwrap_err();
        let hint = error.hint().unwrap().to_owned();
        let (_, declared) = hint.split_once("CREATE EXTERNAL TABLE t ").unwrap();
        let (columns, _) = declared.split_once(", …)").unwrap();
        // The columns as printed, and as a user types them.
        for columns in [columns.to_owned(), columns.replace('"', "")] {
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t {columns}) STORED AS PARQUET LOCATION '{other}'"
            );
            rows(&engine, &create).await;
            let read = rows(&engine, "SELECT * FROM t WHERE VendorID <> 'z'").await;
            assert_eq!(read, [r#""1""#, r#""x""#], "{columns}, {scan}");
        }
    }
}
