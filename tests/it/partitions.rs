//! Columns in the names of folders: NULL, values of every kind, and folders without a value.

use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, statements, try_rows};
use crate::untidy::SCANS;

const KINDS: [&str; 3] = ["CSV", "JSON", "PARQUET"];

/// Folders with the name that Hive and Spark write for NULL are read as NULL.
#[tokio::test(flavor = "multi_thread")]
async fn folders_of_null_are_null() {
    let store = Store::start().await;
    let writer = store.engine(Scan::Get).await;
    let source =
        "SELECT * FROM (VALUES (1, 12, 'a'), (2, 9, NULL), (3, NULL, 'b')) AS v(id, month, t)";
    for kind in KINDS {
        let place = format!("s3://{BUCKET}/{kind}/");
        rows(
            &writer,
            &format!("COPY ({source}) TO '{place}' STORED AS {kind} PARTITIONED BY (month, t)"),
        )
        .await;
        let path = store.folder.path().join(BUCKET).join(kind);
        assert!(path.join("month=__HIVE_DEFAULT_PARTITION__").join("t=b").is_dir());
        assert!(path.join("month=9").join("t=__HIVE_DEFAULT_PARTITION__").is_dir());
        for scan in SCANS {
            let engine = store.engine(scan).await;
            let create = |name: &str, columns: &str| {
                format!(
                    "CREATE EXTERNAL TABLE {name} {columns} STORED AS {kind} PARTITIONED BY (month, t) LOCATION '{place}'"
                )
            };
            rows(&engine, &create("typed", "(id INT, month INT, t VARCHAR)")).await;
            rows(&engine, &create("texts", "")).await;
            for (from, is_number) in
                [("typed", true), ("texts", false), (format!("'{place}'").as_str(), true)]
            {
                let number = |sql: &'static str| if is_number { sql } else { "month = '12'" };
                for (condition, expected) in [
                    ("true", &["1", "2", "3"][..]),
                    ("month IS NULL", &["3"]),
                    ("month IS NOT NULL", &["1", "2"]),
                    (number("month > 9"), &["1"]),
                    (number("month = 12"), &["1"]),
                    (number("month <> 9 AND id > 0"), &["1"]),
                    ("t IS NULL", &["2"]),
                    ("t IS NULL OR month IS NULL", &["2", "3"]),
                    ("t = 'b' AND month IS NULL AND id = 3", &["3"]),
                    ("coalesce(t, 'none') = 'none'", &["2"]),
                    ("t = '__HIVE_DEFAULT_PARTITION__'", &[]),
                    ("t IS DISTINCT FROM 'a'", &["2", "3"]),
                ] {
                    let sql = format!("SELECT id FROM {from} WHERE {condition}");
                    let expected: Vec<String> =
                        expected.iter().map(|id| format!("\"{id}\"")).collect();
                    assert_eq!(rows(&engine, &sql).await, expected, "{sql}, {kind}, {scan}");
                    let count = format!("SELECT count(*) FROM {from} WHERE {condition}");
                    let counted = rows(&engine, &count).await;
                    assert_eq!(counted, [format!("\"{}\"", expected.len())], "{count}, {scan}");
                }
                let most = if is_number { "12" } else { "9" };
                let all = rows(
                    &engine,
                    &format!("SELECT max(month), count(month), count(t), count(*) FROM {from}"),
                )
                .await;
                assert_eq!(
                    all,
                    [format!(r#""{most}" | "2" | "2" | "3""#)],
                    "{from}, {kind}, {scan}"
                );
                let groups = format!("SELECT t, count(*) FROM {from} GROUP BY t");
                assert_eq!(
                    rows(&engine, &groups).await,
                    [r#""NULL" | "1""#, r#""a" | "1""#, r#""b" | "1""#],
                    "{from}, {kind}, {scan}"
                );
            }
            let all = rows(&engine, "SELECT id, month, t FROM typed").await;
            let expected =
                [r#""1" | "12" | "a""#, r#""2" | "9" | "NULL""#, r#""3" | "NULL" | "b""#];
            assert_eq!(all, expected, "{kind}, {scan}");
        }
    }
    // Only matching folders are read.
    let engine = store.engine(Scan::Select).await;
    let before = engine.counted();
    let null = format!("SELECT id FROM 's3://{BUCKET}/CSV/' WHERE month IS NULL AND id > 0");
    assert_eq!(rows(&engine, &null).await, [r#""3""#]);
    assert_eq!(engine.counted().since(&before).select, 1);
    // Inserted rows go to the folder in which they are found again.
    let create = format!(
        "CREATE EXTERNAL TABLE t (id INT, month INT) STORED AS CSV PARTITIONED BY (month) LOCATION 's3://{BUCKET}/inserted/'"
    );
    rows(&engine, &create).await;
    assert_eq!(rows(&engine, "SELECT id, month FROM t").await, [""; 0]);
    rows(&engine, "INSERT INTO t VALUES (1, 5), (2, NULL)").await;
    let there = rows(&engine, "SELECT id, month FROM t").await;
    assert_eq!(there, [r#""1" | "5""#, r#""2" | "NULL""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_no_value_is_named() {
    let store = Store::start().await;
    store.put("t/m=1/a.csv", "id\n1\n");
    store.put("t/m=x/a.csv", "id\n2\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let create = format!(
            "CREATE EXTERNAL TABLE t (id INT, m INT) STORED AS CSV PARTITIONED BY (m) LOCATION 's3://{BUCKET}/t/'"
        );
        rows(&engine, &create).await;
        says(try_rows(&engine, "SELECT * FROM t").await, &["t/m=x/a.csv", "m = 'x'", "VARCHAR"]);
        assert_eq!(rows(&engine, "SELECT id FROM t WHERE m = 1").await, [r#""1""#]);
    }
}

/// A value written into the name of a folder is read back unchanged.
#[tokio::test(flavor = "multi_thread")]
async fn values_of_folders_come_back() {
    let store = Store::start().await;
    let writer = store.engine(Scan::Get).await;
    let values = [
        "a=b",
        "a/b",
        "50%",
        "%41",
        "10:30",
        "it's",
        "\"x\"",
        "a b",
        " a ",
        "\u{1}\t\u{7f}",
        "größe",
        "日本",
        "a\\b",
        "{x}[y]^~`|<>",
        "a#b?c*d",
        ".",
        "..",
        "+",
        "",
    ];
    let rows_of: Vec<String> = values
        .iter()
        .zip(1..)
        .map(|(value, id)| format!("({id}, '{}')", value.replace('\'', "''")))
        .collect();
    let source = format!("SELECT * FROM (VALUES {}) AS v(id, p)", rows_of.join(", "));
    for kind in KINDS {
        let place = format!("s3://{BUCKET}/{kind}/");
        rows(&writer, &format!("COPY ({source}) TO '{place}' STORED AS {kind} PARTITIONED BY (p)"))
            .await;
        for scan in SCANS {
            let engine = store.engine(scan).await;
            for (value, id) in values.iter().zip(1..) {
                let condition = format!("p = '{}'", value.replace('\'', "''"));
                let sql = format!("SELECT id FROM '{place}' WHERE {condition}");
                assert_eq!(
                    rows(&engine, &sql).await,
                    [format!("\"{id}\"")],
                    "{sql:?}, {kind}, {scan}"
                );
            }
            let all = rows(&engine, &format!("SELECT id, p FROM '{place}'")).await;
            let mut expected: Vec<String> =
                values.iter().zip(1..).map(|(value, id)| format!("\"{id}\" | {value:?}")).collect();
            expected.sort();
            assert_eq!(all, expected, "{kind}, {scan}");
        }
        let names: Vec<String> = std::fs::read_dir(store.folder.path().join(BUCKET).join(kind))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        for expected in ["p=a%3Db", "p=a%2Fb", "p=50%25", "p=10%3A30", "p=größe", "p=a b"] {
            assert!(names.iter().any(|name| name == expected), "no {expected} in {names:?}");
        }
    }
    // Values of types other than text.
    let typed = "SELECT 1 AS id, DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29T10:30:00' AS ts, true AS b, \
                 CAST(1.5 AS DECIMAL(5,2)) AS n";
    let place = format!("s3://{BUCKET}/typed/");
    rows(
        &writer,
        &format!("COPY ({typed}) TO '{place}' STORED AS CSV PARTITIONED BY (d, ts, b, n)"),
    )
    .await;
    let create = format!(
        "CREATE EXTERNAL TABLE typed (id INT, d DATE, ts TIMESTAMP, b BOOLEAN, n DECIMAL(5,2)) STORED AS CSV \
         PARTITIONED BY (d, ts, b, n) LOCATION '{place}'"
    );
    for scan in SCANS {
        let engine = store.engine(scan).await;
        rows(&engine, &create).await;
        let sql = "SELECT id, d, ts, b, n FROM typed WHERE d > DATE '2024-01-01' AND ts < TIMESTAMP '2025-01-01T00:00:00' AND b AND n > 1";
        let expected = [r#""1" | "2024-02-29" | "2024-02-29T10:30:00" | "true" | "1.50""#];
        assert_eq!(rows(&engine, sql).await, expected, "{scan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_not_all_objects_are_in_are_no_columns() {
    let store = Store::start().await;
    store.put("mix/2024/x.csv", "v\n1\n");
    store.put("mix/dt=2025-01-01/x.csv", "v\n2\n");
    store.put("deep/a=1/x.json", "{\"v\":1}\n");
    store.put("deep/a=2/b=3/x.json", "{\"v\":2}\n");
    for number in 0..12 {
        store.put(&format!("late/a=1/{number}.csv"), "v\n1\n");
    }
    store.put("late/z.csv", "v\n100\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let both = rows(&engine, &format!("SELECT * FROM 's3://{BUCKET}/mix/**/*.csv'")).await;
        assert_eq!(both, [r#""1""#, r#""2""#], "{scan}");
        let notes = engine.take_notes();
        assert!(notes.len() == 1 && notes[0].contains("`dt=…`"), "{notes:?}");
        assert!(notes[0].contains("`mix/2024/x.csv`"), "{notes:?}");
        let one = format!("SELECT dt, v FROM 's3://{BUCKET}/mix/dt=*/*.csv'");
        assert_eq!(rows(&engine, &one).await, [r#""2025-01-01" | "2""#], "{scan}");
        // The folders of the first level form the column.
        let deep = rows(&engine, &format!("SELECT a, v FROM 's3://{BUCKET}/deep/'")).await;
        assert_eq!(deep, [r#""1" | "1""#, r#""2" | "2""#], "{scan}");
        let late = format!("s3://{BUCKET}/late/");
        let sum = rows(&engine, &format!("SELECT sum(v) FROM '{late}'")).await;
        assert_eq!(sum, [r#""112""#], "{scan}");
        rows(&engine, &format!("CREATE EXTERNAL TABLE late STORED AS CSV LOCATION '{late}'")).await;
        assert_eq!(rows(&engine, "SELECT sum(v) FROM late").await, [r#""112""#], "{scan}");
        let declared = format!(
            "CREATE EXTERNAL TABLE declared STORED AS CSV PARTITIONED BY (a) LOCATION '{late}'"
        );
        rows(&engine, &declared).await;
        assert_eq!(rows(&engine, "SELECT sum(v) FROM declared").await, [r#""12""#], "{scan}");
    }
}

/// If the files contain the column, too, the value of the folder is used, as in DuckDB and Spark.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_of_folders_may_be_in_the_files_too() {
    let store = Store::start().await;
    let writer = store.engine(Scan::Get).await;
    store.put("CSV/grp=a/x.csv", "id,grp,v\n1,other,7\n2,a,8\n");
    store.put(
        "JSON/grp=a/x.json",
        "{\"id\":1,\"grp\":\"other\",\"v\":7}\n{\"id\":2,\"grp\":\"a\",\"v\":8}\n",
    );
    let place = format!("s3://{BUCKET}/PARQUET/grp=a/x.parquet");
    let source = "SELECT * FROM (VALUES (1, 'other', 7), (2, 'a', 8)) AS v(id, grp, v)";
    rows(&writer, &format!("COPY ({source}) TO '{place}'")).await;
    for kind in KINDS {
        for scan in SCANS {
            let engine = store.engine(scan).await;
            let place = format!("s3://{BUCKET}/{kind}/");
            for create in ["", "PARTITIONED BY (grp)"] {
                rows(&engine, &format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS {kind} {create} LOCATION '{place}'")).await;
                for from in ["t", &format!("'{place}'")] {
                    for (sql, expected) in [
                        ("SELECT * FROM T WHERE v > 7", &[r#""2" | "8" | "a""#][..]),
                        ("SELECT grp, id FROM T", &[r#""a" | "1""#, r#""a" | "2""#]),
                        ("SELECT count(*) FROM T WHERE grp = 'other'", &[r#""0""#]),
                        ("SELECT grp, sum(v) FROM T GROUP BY grp", &[r#""a" | "15""#]),
                    ] {
                        let sql = sql.replace(" T", &format!(" {from}"));
                        assert_eq!(rows(&engine, &sql).await, expected, "{sql}, {kind}, {scan}");
                    }
                }
            }
        }
    }
    // Statements read the columns at their positions in the file.
    let engine = store.engine(Scan::Select).await;
    let sent =
        statements(&engine, &format!("SELECT v FROM 's3://{BUCKET}/CSV/' WHERE v > 7")).await;
    assert!(sent.iter().any(|sql| sql.contains("_3")), "{sent:?}");
}
