//! The objects that belong to a table, and the messages about others.

use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};

#[tokio::test(flavor = "multi_thread")]
async fn typed_partitions_keep_the_columns_of_the_files() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    for format in ["PARQUET", "CSV", "JSON"] {
        let url = format!("s3://{BUCKET}/{format}/");
        rows(
            &engine,
            &format!(
                "COPY (SELECT 1 AS n, 'x' AS t, 2024 AS y, 'de' AS cc UNION ALL
                       SELECT 2, 'y', 2025, 'fr') TO '{url}' STORED AS {format}
                 PARTITIONED BY (y, cc) OPTIONS ('format.has_header' 'true')"
            )
            .replace(
                "OPTIONS ('format.has_header' 'true')",
                if format == "CSV" { "OPTIONS ('format.has_header' 'true')" } else { "" },
            ),
        )
        .await;
        let options = if format == "CSV" { "OPTIONS ('format.has_header' 'true')" } else { "" };
        rows(
            &engine,
            &format!(
                "CREATE EXTERNAL TABLE h_{format} STORED AS {format}
                 PARTITIONED BY (y INT, cc VARCHAR) LOCATION '{url}' {options}"
            ),
        )
        .await;
        let read = format!("SELECT n, t, y + 1, cc FROM h_{format}");
        assert_eq!(
            rows(&engine, &read).await,
            [r#""1" | "x" | "2025" | "de""#, r#""2" | "y" | "2026" | "fr""#],
            "{format}"
        );
    }
    let none = format!(
        "CREATE EXTERNAL TABLE none STORED AS PARQUET PARTITIONED BY (y INT)
         LOCATION 's3://{BUCKET}/none/'"
    );
    says(try_rows(&engine, &none).await, &["none/", "schema"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_several_formats_is_refused() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    store.put("mix/a.csv", "n\n1\n");
    store.put("mix/b.json", "{\"n\":2}\n");
    let url = format!("s3://{BUCKET}/mix/");
    says(try_rows(&engine, &format!("FROM '{url}'")).await, &[&url, ".csv", ".json", "/*."]);
    assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}/mix/*.json'")).await, [r#""2""#]);
    assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}/mix/*.csv'")).await, [r#""1""#]);
    assert!(engine.take_notes().is_empty());
}

/// A key is literal in a URL, as listings show it.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_literal() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    for (number, key) in
        ["p%41.csv", "pA.csv", "q#1.csv", "100%.csv", "a b/x%20y.csv"].into_iter().enumerate()
    {
        store.put(key, format!("n\n{number}\n"));
        let expected = [format!("\"{number}\"")];
        let url = format!("s3://{BUCKET}/{key}");
        assert_eq!(rows(&engine, &format!("FROM '{url}'")).await, expected, "{key}");
        rows(
            &engine,
            &format!(
                "CREATE EXTERNAL TABLE t{number} (n INT) STORED AS CSV LOCATION '{url}' \
                 OPTIONS ('format.has_header' 'true')"
            ),
        )
        .await;
        assert_eq!(rows(&engine, &format!("FROM t{number}")).await, expected, "{key}");
        let copied = format!("s3://{BUCKET}/copied/{key}");
        rows(&engine, &format!("COPY t{number} TO '{copied}'")).await;
        let path = store.folder.path().join(BUCKET).join("copied").join(key);
        assert!(path.exists(), "{}", path.display());
        assert_eq!(rows(&engine, &format!("FROM '{copied}'")).await, expected, "{key}");
    }
    assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}/a b/x%20*'")).await, ["\"4\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_may_differ_in_case() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    store.put("c/A.CSV", "n\n1\n");
    store.put("c/b.csv", "n\n2\n");
    store.put("c/c.Csv", "n\n3\n");
    for url in [format!("s3://{BUCKET}/c/"), format!("s3://{BUCKET}/c/*")] {
        assert_eq!(
            rows(&engine, &format!("SELECT sum(n) FROM '{url}'")).await,
            [r#""6""#],
            "{url}"
        );
    }
    assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}/c/A.CSV'")).await, [r#""1""#]);
    assert!(engine.take_notes().is_empty());
    store.put("c/readme.md", "words");
    let sum = format!("SELECT sum(n) FROM 's3://{BUCKET}/c/'");
    let fresh = store.engine(Scan::Get).await;
    assert_eq!(rows(&fresh, &sum).await, [r#""6""#]);
    let notes = fresh.take_notes();
    assert!(notes.len() == 1 && notes[0].contains("c/readme.md"), "{notes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_beside_the_data_are_noted_unless_they_are_hidden() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    store.put("d/a.csv", "n\n1\n");
    store.put("d/_SUCCESS", "");
    store.put("d/.a.csv.crc", "crc");
    let all = format!("FROM 's3://{BUCKET}/d/'");
    assert_eq!(rows(&engine, &all).await, [r#""1""#]);
    assert!(engine.take_notes().is_empty());
    store.put("d/notes.txt", "words");
    let engine = store.engine(Scan::Get).await;
    assert_eq!(rows(&engine, &all).await, [r#""1""#]);
    let notes = engine.take_notes();
    assert!(notes.len() == 1 && notes[0].contains("`d/notes.txt`"), "{notes:?}");
    assert!(engine.take_notes().is_empty());
}

/// Tables follow DataFusion's rule: subfolders do not belong to a table, unless they are its partitions.
#[tokio::test(flavor = "multi_thread")]
async fn objects_in_subfolders_are_noted() {
    let store = Store::start().await;
    store.put("s/a.csv", "n\n1\n");
    store.put("s/deep/er.csv", "n\n2\n");
    let engine = store.engine(Scan::Get).await;
    let url = format!("FROM 's3://{BUCKET}/s/'");
    let create = format!(
        "CREATE EXTERNAL TABLE s (n BIGINT) STORED AS CSV LOCATION 's3://{BUCKET}/s/'
         OPTIONS ('format.has_header' 'true')"
    );
    for (sql, read) in [(url.as_str(), url.as_str()), (create.as_str(), "FROM s")] {
        rows(&engine, sql).await;
        let notes = engine.take_notes();
        assert!(notes.len() == 1 && notes[0].contains("`s/deep/er.csv`"), "{notes:?}");
        assert_eq!(rows(&engine, read).await, [r#""1""#]);
        drop(engine.take_notes());
    }
    rows(&engine, "SET datafusion.execution.listing_table_ignore_subdirectory = false").await;
    for sql in [url.as_str(), "FROM s"] {
        assert_eq!(rows(&engine, sql).await, [r#""1""#, r#""2""#]);
    }
    assert!(engine.take_notes().is_empty());
}

/// `**` matches any folders and `*` matches within one path segment, as in a shell.
#[tokio::test(flavor = "multi_thread")]
async fn patterns_match_as_in_a_shell() {
    let store = Store::start().await;
    for (n, key) in
        ["t/a.csv", "t/d1/a.csv", "t/d1/b.csv", "t/d1/x/a.csv", "t/d2/a.csv"].iter().enumerate()
    {
        store.put(key, format!("n\n{}\n", 1 << n));
    }
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.engine(scan).await;
        for (pattern, expected) in [
            ("t/*.csv", 1_u32),
            ("t/*", 1),
            ("t/d1/[ab].csv", 2 + 4),
            ("t/d1/[^a].csv", 4),
            ("t/*/*.csv", 2 + 4 + 16),
            ("t/**/*.csv", 31),
            ("t/**/a.csv", 1 + 2 + 8 + 16),
            ("t/d1/**/*.csv", 2 + 4 + 8),
            ("t/d?/a.csv", 2 + 16),
            ("*/d1/*/a.csv", 8),
        ] {
            let sql = format!("SELECT sum(n) FROM 's3://{BUCKET}/{pattern}'");
            assert_eq!(rows(&engine, &sql).await, [format!("\"{expected}\"")], "{pattern}, {scan}");
            let sql = format!("SELECT count(*) FROM glob('s3://{BUCKET}/{pattern}')");
            let objects = expected.count_ones();
            assert_eq!(rows(&engine, &sql).await, [format!("\"{objects}\"")], "{pattern}");
        }
        // Both patterns in one query.
        let sql = format!(
            "SELECT (SELECT sum(n) FROM 's3://{BUCKET}/t/*/*.csv'), (SELECT sum(n) FROM 's3://{BUCKET}/t/**/*.csv'), \
             (SELECT sum(n) FROM 's3://{BUCKET}/t/*.csv')"
        );
        assert_eq!(rows(&engine, &sql).await, [r#""22" | "31" | "1""#]);
        assert_eq!(engine.take_notes(), Vec::<String>::new());
    }
}

/// Columns of CSV are read by position, also from objects that were added after CREATE TABLE.
#[tokio::test(flavor = "multi_thread")]
async fn headers_are_compared_by_every_query() {
    let store = Store::start().await;
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let folder = format!("headers-{scan}");
        let (one, other) = (format!("{folder}/a.csv"), format!("{folder}/b.csv"));
        store.put(&one, "k,v\n0,7\n");
        let engine = store.engine(scan).await;
        for sql in [
            format!("CREATE EXTERNAL TABLE told STORED AS CSV LOCATION 's3://{BUCKET}/{folder}/'"),
            format!(
                "CREATE EXTERNAL TABLE declared (k INT, v INT) STORED AS CSV LOCATION 's3://{BUCKET}/{folder}/'"
            ),
            format!("CREATE VIEW seen AS FROM 's3://{BUCKET}/{folder}/*.csv'"),
        ] {
            rows(&engine, &sql).await;
        }
        let check = async |expected: Result<&str, &str>| {
            for table in ["told", "declared", "seen"] {
                let found = try_rows(&engine, &format!("SELECT sum(v) FROM {table}")).await;
                match (&found, expected) {
                    (Ok(found), Ok(expected)) => assert_eq!(found, &[expected], "{table}, {scan}"),
                    (Err(found), Err(part)) => assert!(found.to_string().contains(part), "{found}"),
                    _ => panic!("{found:?} instead of {expected:?}, {table}, {scan}"),
                }
            }
        };
        check(Ok(r#""7""#)).await;
        store.put(&other, "k,v\n1,8\n");
        check(Ok(r#""15""#)).await;
        store.put(&other, "v,k\n8,1\n");
        check(Err("/b.csv` has ")).await;
        store.put(&other, "k,v\n1,9\n");
        check(Ok(r#""16""#)).await;
        store.put(&one, "v,k\n7,0\n");
        check(Err("(v, k)")).await;
    }
}

/// Every query lists the pattern of a view, and no pattern uses the listing of another one, even if cached listings
/// are allowed.
#[tokio::test(flavor = "multi_thread")]
async fn patterns_are_listed_by_every_query() {
    let store = Store::start().await;
    store.put("p/a/1.csv", "n\n1\n");
    let engine = store.engine(Scan::Get).await;
    let url = |pattern: &str| format!("'s3://{BUCKET}/p/{pattern}'");
    rows(&engine, &format!("CREATE VIEW v AS SELECT * FROM {}", url("*/*.csv"))).await;
    assert_eq!(rows(&engine, "SELECT sum(n) FROM v").await, [r#""1""#]);
    store.put("p/a/2.csv", "n\n2\n");
    assert_eq!(rows(&engine, "SELECT sum(n) FROM v").await, [r#""3""#]);
    rows(&engine, "SET datafusion.runtime.list_files_cache_ttl = '10m'").await;
    for (pattern, expected) in [
        ("a/1*.csv", "1"),
        ("*/1.csv", "1"),
        ("*/*.csv", "3"),
        ("*/2.csv", "2"),
        ("a/*.csv", "3"),
        ("**", "3"),
    ] {
        let sql = format!("SELECT sum(n) FROM {}", url(pattern));
        assert_eq!(rows(&engine, &sql).await, [format!("\"{expected}\"")], "{pattern}");
    }
}

/// Folders `name=value/` with whole numbers form a numeric column.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_whole_numbers_are_numbers() {
    let store = Store::start().await;
    for month in 1..=12 {
        store.put(&format!("h/month={month}/a.csv"), "n\n1\n");
        store.put(&format!("z/month={month:02}/a.csv"), "n\n1\n");
    }
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.engine(scan).await;
        let sql = format!(
            "SELECT max(month), sum(month), sum(n) FILTER (WHERE month > 9) FROM 's3://{BUCKET}/h/'"
        );
        assert_eq!(rows(&engine, &sql).await, [r#""12" | "78" | "3""#], "{scan}");
        let sql = format!("SELECT sum(n) FROM 's3://{BUCKET}/h/*/*.csv' WHERE month = 3");
        assert_eq!(rows(&engine, &sql).await, [r#""1""#], "{scan}");
        // Numbers with leading zeros stay text.
        let sql = format!("SELECT max(month), min(month) FROM 's3://{BUCKET}/z/'");
        assert_eq!(rows(&engine, &sql).await, [r#""12" | "01""#], "{scan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_location_where_nothing_is_gets_said() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let create = |name: &str, place: &str| {
        format!(
            "CREATE EXTERNAL TABLE {name} (n BIGINT) STORED AS CSV LOCATION 's3://{BUCKET}/{place}'
             OPTIONS ('format.has_header' 'true')"
        )
    };
    says(try_rows(&engine, &create("a", "typo.csv")).await, &["typo.csv"]);
    rows(&engine, &create("b", "typo/")).await;
    let notes = engine.take_notes();
    assert!(notes.len() == 1 && notes[0].contains("typo/"), "{notes:?}");
    // An empty location is allowed, because rows can be inserted.
    rows(&engine, "INSERT INTO b VALUES (7)").await;
    assert_eq!(rows(&engine, "SELECT n FROM b").await, [r#""7""#]);
    let nowhere = create("c", "x/").replace(BUCKET, "nowhere");
    says(try_rows(&engine, &nowhere).await, &["nowhere"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn from_alone_selects_all_columns() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Select).await;
    store.put("a.csv", "n,t\n1,x\n2,y\n");
    let all = [r#""1" | "x""#, r#""2" | "y""#];
    assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}/a.csv' LIMIT 2")).await, all);
    assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}/a.csv' LIMIT 1")).await.len(), 1);
    let nested = format!("SELECT t FROM (FROM 's3://{BUCKET}/a.csv') WHERE n = 2");
    assert_eq!(rows(&engine, &nested).await, [r#""y""#]);
    for rest in [
        "WHERE n = 2",
        "ORDER BY n DESC LIMIT 1",
        "QUALIFY row_number() OVER (ORDER BY n DESC) = 1",
        "WHERE n IN (FROM 's3://B/a.csv' SELECT n WHERE n > 1)",
    ] {
        let sql =
            format!("FROM 's3://{BUCKET}/a.csv' {}", rest.replace("//B/", &format!("//{BUCKET}/")));
        assert_eq!(rows(&engine, &sql).await, [r#""2" | "y""#], "{rest}");
    }
    let some = format!("FROM 's3://{BUCKET}/a.csv' WHERE n = 2");
    rows(&engine, &format!("CREATE VIEW v AS {some}")).await;
    rows(&engine, &format!("COPY ({some}) TO 's3://{BUCKET}/b.csv'")).await;
    let both = format!(
        "WITH w AS ({some}) FROM w UNION ALL FROM v UNION ALL FROM 's3://{BUCKET}/b.csv' WHERE n > 1"
    );
    assert_eq!(rows(&engine, &both).await, [r#""2" | "y""#; 3]);
    assert!(!rows(&engine, &format!("EXPLAIN {some}")).await.is_empty());
    let summary = rows(&engine, &format!("SUMMARIZE {some}")).await;
    assert_eq!(summary.len(), 2, "{summary:?}");
    // The error gives the position in the typed text.
    let wrong = format!("FROM 's3://{BUCKET}/a.csv'\n  WHERE n = = 2");
    says(try_rows(&engine, &wrong).await, &["line 2, column 13"]);
}

/// Keys that S3 allows but paths cannot express are skipped.
#[tokio::test(flavor = "multi_thread")]
async fn objects_that_cannot_be_named_do_not_break_others() {
    let store = Store::start().await;
    let sdk = crate::writes::sdk(&store);
    let mut put = 0;
    for key in ["t/.", "t/..", "t//b.csv", "t/x/./c.csv", "//", ".", "t/d.csv/", "other.csv/"] {
        let body = b"n\n100\n".to_vec().into();
        if sdk.put_object().bucket(BUCKET).key(key).body(body).send().await.is_ok() {
            put += 1;
        }
    }
    assert!(put > 0, "the server takes none of them");
    store.put("t/a.csv", "n\n1\n");
    store.put("top.csv", "n\n2\n");
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}/t/a.csv'")).await, [r#""1""#]);
        assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}/t/'")).await, [r#""1""#]);
        assert_eq!(
            rows(&engine, &format!("SELECT sum(n) FROM 's3://{BUCKET}/'")).await,
            [r#""2""#]
        );
        assert_eq!(
            rows(&engine, &format!("SELECT sum(n) FROM 's3://{BUCKET}/*.csv'")).await,
            [r#""2""#]
        );
        rows(
            &engine,
            &format!("CREATE EXTERNAL TABLE t (n BIGINT) STORED AS CSV LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"),
        )
        .await;
        assert_eq!(rows(&engine, "SELECT sum(n) FROM t").await, [r#""1""#]);
        let notes = engine.take_notes();
        assert!(notes.iter().any(|note| note.contains("left out")), "{notes:?}");
    }
}

/// A session may be long, and other clients may write to its buckets meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_listed_by_every_query() {
    let store = Store::start().await;
    for scan in [Scan::Get, Scan::Select] {
        store.put("t/a.csv", "n\n1\n");
        let engine = store.engine(scan).await;
        let ddl = format!(
            "CREATE EXTERNAL TABLE t (n BIGINT) STORED AS CSV LOCATION 's3://{BUCKET}/t/'
             OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &ddl).await;
        let sum = "SELECT sum(n), count(*) FROM t";
        assert_eq!(rows(&engine, sum).await, [r#""1" | "1""#], "{scan}");
        store.put("t/a.csv", "n\n1\n2\n");
        assert_eq!(rows(&engine, sum).await, [r#""3" | "2""#], "{scan}");
        store.put("t/b.csv", "n\n4\n");
        assert_eq!(rows(&engine, sum).await, [r#""7" | "3""#], "{scan}");
        std::fs::remove_file(store.folder.path().join(BUCKET).join("t/b.csv")).unwrap();
        assert_eq!(rows(&engine, sum).await, [r#""3" | "2""#], "{scan}");
    }
}

/// If an object that has a table of its own, or is one of several locations, is deleted, the query fails instead of
/// returning fewer rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_object_that_is_gone_is_missed() {
    for scan in [Scan::Auto, Scan::Get, Scan::Select] {
        let store = Store::start().await;
        let engine = store.engine(scan).await;
        let folder = store.folder.path().join(BUCKET);
        let text = "k,v\n1,a\n2,b\n";
        for object in ["one.csv", "two.csv", "parts/p=1/a.csv"] {
            store.put(object, text);
        }
        let create = |name: &str, locations: &str, rest: &str| {
            format!(
                "CREATE EXTERNAL TABLE {name} (k BIGINT, v VARCHAR{rest}) STORED AS CSV
                 LOCATION {locations} OPTIONS ('format.has_header' 'true')"
            )
        };
        let url = |object: &str| format!("'s3://{BUCKET}/{object}'");
        rows(&engine, &create("one", &url("one.csv"), "")).await;
        let both = format!("({}, {})", url("one.csv"), url("two.csv"));
        rows(&engine, &create("both", &both, "")).await;
        // A folder may be written with or without a slash at its end, and a filter may exclude all of it.
        store.put("folder/a.csv", text);
        rows(&engine, &create("folder", &url("folder"), "")).await;
        let parts = create("parts", &url("parts/"), ", p INT");
        rows(&engine, &parts.replace("LOCATION", "PARTITIONED BY (p) LOCATION")).await;
        let questions = |table: &str| {
            [
                format!("SELECT * FROM {table}"),
                format!("SELECT count(*) FROM {table}"),
                format!("SELECT v, max(k) FROM {table} WHERE k > 1 GROUP BY v"),
                format!("SELECT k, v FROM {table} ORDER BY k LIMIT 1"),
                format!("SELECT * FROM {table} AS a JOIN parts AS b ON a.k = b.k"),
            ]
        };
        for sql in questions("one").iter().chain(&questions("both")) {
            assert!(!rows(&engine, sql).await.is_empty(), "{sql}");
        }
        std::fs::remove_file(folder.join("one.csv")).unwrap();
        for sql in questions("one").iter().chain(&questions("both")) {
            says(try_rows(&engine, sql).await, &["no object at", "one.csv"]);
        }
        assert_eq!(rows(&engine, "SELECT k FROM folder WHERE k = 2").await, [r#""2""#]);
        assert_eq!(rows(&engine, "SELECT k FROM parts WHERE p = 1 AND k = 2").await, [r#""2""#]);
        assert_eq!(rows(&engine, "SELECT k FROM parts WHERE p = 7").await, [""; 0]);
        store.put("one.csv", text);
        assert_eq!(rows(&engine, "SELECT k FROM both WHERE k = 2").await, [r#""2""#; 2]);
    }
}

/// Tests run in a folder that contains `benches` and `crates`.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_here_does_not_take_the_place_of_a_table() {
    let store = Store::start().await;
    store.put("t/a.csv", "a\n7\n");
    let engine = store.engine(Scan::Get).await;
    assert!(std::path::Path::new("benches").is_dir());
    let table = format!("CREATE EXTERNAL TABLE benches STORED AS CSV LOCATION 's3://{BUCKET}/t/'");
    rows(&engine, &table).await;
    assert_eq!(rows(&engine, "SELECT a FROM benches").await, [r#""7""#]);
    let error = try_rows(&engine, "SELECT * FROM crates").await.unwrap_err().to_string();
    assert!(error.contains("crates") && error.contains("not found"), "{error}");
}

/// The extension `.tsv` selects tabs as separators, in a URL and in CREATE EXTERNAL TABLE.
#[tokio::test(flavor = "multi_thread")]
async fn names_say_that_fields_are_separated_by_tabs() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    store.put("t/one.tsv", "a\tb, c\n1\tx;y\n");
    store.put("t/two.TSV", "a\tb, c\n2\tz\n");
    for (place, expected) in
        [("t/one.tsv", &[r#""1" | "x;y""#][..]), ("t/", &[r#""1" | "x;y""#, r#""2" | "z""#])]
    {
        let url = format!("s3://{BUCKET}/{place}");
        assert_eq!(rows(&engine, &format!("FROM '{url}' ORDER BY 1")).await, expected);
        rows(
            &engine,
            &format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS CSV LOCATION '{url}'"),
        )
        .await;
        assert_eq!(rows(&engine, "FROM t ORDER BY 1").await, expected);
    }
    let said = format!(
        "CREATE EXTERNAL TABLE said STORED AS CSV LOCATION 's3://{BUCKET}/t/one.tsv' \
         OPTIONS ('format.delimiter' '|')"
    );
    rows(&engine, &said).await;
    assert_eq!(rows(&engine, "SELECT count(*) FROM said").await, [r#""1""#]);
}
