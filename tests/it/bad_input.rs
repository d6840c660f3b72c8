//! Bad input gives one clear error that names the place.

use sluicegate_client::ConnectOptions;
use sluicegate_engine::ErrorKind;
use sluicegate_engine::config::Scan;

use crate::harness::{BUCKET, Store, rows, try_rows};

#[track_caller]
pub(crate) fn says(result: sluicegate_engine::Result<Vec<String>>, parts: &[&str]) {
    match result {
        Ok(rows) => panic!("no error but {rows:?}"),
        Err(error) => {
            let text = format!("{error} / {}", error.hint().unwrap_or("no hint"));
            for part in parts {
                assert!(text.contains(part), "no {part:?} in {text:?}");
            }
            assert!(!text.contains('\n'), "{text:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_buckets_objects_and_tables() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Select).await;
    says(try_rows(&engine, "SELECT * FROM 's3://nobody/a.csv'").await, &["nobody"]);
    says(try_rows(&engine, &format!("SELECT * FROM 's3://{BUCKET}/no.csv'")).await, &["no.csv"]);
    for missing in ["no.csv", "no/", "no/*.csv"] {
        let error = try_rows(&engine, &format!("FROM 's3://{BUCKET}/{missing}'")).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
    says(try_rows(&engine, "SELECT * FROM nothing").await, &["nothing", "not found"]);
    says(try_rows(&engine, "SELEC 1").await, &["SELEC"]);
}

/// Two columns of one name need an alias; upper case does not distinguish them.
#[tokio::test(flavor = "multi_thread")]
async fn columns_of_one_name_need_another() {
    let engine = Store::start().await.engine(Scan::Auto).await;
    let sql = "SELECT \"count(*)\", count(*) FROM (VALUES (1)) AS t(\"count(*)\") GROUP BY 1";
    says(try_rows(&engine, sql).await, &["count(*)", "another name: count(*) AS n"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_stores_and_wrong_keys() {
    let store = Store::start().await;
    store.put("a.csv", "a\n1\n");
    let sql = format!("SELECT * FROM 's3://{BUCKET}/a.csv'");
    let wrong = store.builder().credentials("nobody", "wrong-secret").build().await.unwrap();
    let place = format!("the store at {}", store.server.endpoint());
    // The answer to a HEAD has no body, so a GET is sent for the message.
    let error = try_rows(&wrong, &sql).await;
    says(error, &[&place, "does not know the access key", "AWS_ACCESS_KEY_ID"]);
    // The answer to a listing has a message.
    let listed = format!("SELECT * FROM 's3://{BUCKET}/'");
    let unknown = try_rows(&wrong, &listed).await;
    says(unknown, &[&place, "does not know the access key", "AWS_ACCESS_KEY_ID"]);
    let key = store.server.access_key();
    let wrong = store.builder().credentials(key, "wrong-secret").build().await.unwrap();
    let unsigned = try_rows(&wrong, &listed).await.unwrap_err();
    assert!(!unsigned.to_string().contains('<'), "{unsigned}");
    let expected = [&place, "does not accept the signature", "AWS_SECRET_ACCESS_KEY"];
    says(Err(unsigned), &expected);
    let options = ConnectOptions { anonymous: true, ..ConnectOptions::default() };
    let gone = sluicegate_engine::Engine::builder()
        .connect(options)
        .endpoint("http://127.0.0.1:9")
        .build()
        .await
        .unwrap();
    says(try_rows(&gone, &sql).await, &["cannot be reached", "Check the endpoint"]);
    let none = store.builder().endpoint("not a url").build().await;
    assert!(none.unwrap_err().to_string().contains("endpoint"));
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_do_not_fit_are_named_with_object_and_line() {
    let store = Store::start().await;
    store.put("t/bad.csv", "a,b\n1,x\nseven,y\n");
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (a BIGINT, b VARCHAR) STORED AS CSV LOCATION 's3://{BUCKET}/t/'
         OPTIONS ('format.has_header' 'true')"
    );
    for scan in [Scan::Select, Scan::Get] {
        let engine = store.engine(scan).await;
        rows(&engine, &ddl).await;
        for sql in ["SELECT b FROM t WHERE a > 0", "SELECT sum(a) FROM t", "SELECT a FROM t"] {
            says(try_rows(&engine, sql).await, &["seven", "line 3", "t/bad.csv"]);
        }
    }
}

/// GET refuses rows with a wrong number of fields, and so does Select of a store that counts them on request.
#[tokio::test(flavor = "multi_thread")]
async fn rows_with_too_few_or_many_fields() {
    let store = Store::start().await;
    store.put("t/bad.csv", "a,b\n1,x\n2\n3,y,z\n");
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (a BIGINT, b VARCHAR) STORED AS CSV LOCATION 's3://{BUCKET}/t/'
         OPTIONS ('format.has_header' 'true')"
    );
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        rows(&engine, &ddl).await;
        for sql in [
            "SELECT * FROM t",
            "SELECT count(b) FROM t",
            "SELECT a FROM t",
            "SELECT sum(a) FROM t WHERE b IS NOT NULL",
        ] {
            says(try_rows(&engine, sql).await, &["line 3", "t/bad.csv", "fields"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn corrupt_objects() {
    let store = Store::start().await;
    store.put("p/bad.parquet", "PAR1 this is no parquet file at all PAR1");
    store.put("z/bad.csv.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c]);
    for scan in [Scan::Select, Scan::Get] {
        let engine = store.engine(scan).await;
        let parquet = format!("SELECT * FROM 's3://{BUCKET}/p/bad.parquet'");
        says(try_rows(&engine, &parquet).await, &["arquet"]);
        let ddl = format!(
            "CREATE EXTERNAL TABLE z (a VARCHAR) STORED AS CSV LOCATION 's3://{BUCKET}/z/'
             OPTIONS ('format.has_header' 'false', 'format.compression' 'gzip')"
        );
        rows(&engine, &ddl).await;
        let end = if scan == Scan::Select { "ends in the middle" } else { "end of file" };
        says(try_rows(&engine, "SELECT * FROM z").await, &[end]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_settings() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Select).await;
    says(
        try_rows(&engine, "SET sluice.scan = 'sideways'").await,
        &["sideways", "'auto', 'get', 'select', 'index' or 'index_table'"],
    );
    says(
        try_rows(&engine, "SET sluice.nothing = 1").await,
        &["no setting `sluice.nothing`", "SHOW ALL lists the settings"],
    );
    says(
        try_rows(&engine, "SET sluice.switch_seed = '-1'").await,
        &["sluice.switch_seed is '-1'", "whole number"],
    );
    // Settings can be shown under the names by which they are set.
    rows(&engine, "SET sluice.scan = 'get'").await;
    assert_eq!(rows(&engine, "SHOW sluice.scan").await, [r#""sluice.scan" | "get""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn urls_that_name_no_store() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Select).await;
    says(
        try_rows(&engine, "FROM 'https://example.com/a.csv'").await,
        &["no object store", "s3://"],
    );
    says(try_rows(&engine, "FROM 's3://'").await, &["no object store"]);
    says(try_rows(&engine, "FROM 's3://b/a.csv'").await, &["`b` cannot be the name", "3 to 63"]);
    says(try_rows(&engine, "FROM 's3://b/'").await, &["`b` cannot be the name"]);
    // A bucket without a key stands for all of its objects.
    store.put("a.csv", "n\n1\n");
    assert_eq!(rows(&engine, &format!("FROM 's3://{BUCKET}'")).await, [r#""1""#]);
    let ddl = format!("CREATE EXTERNAL TABLE whole STORED AS CSV LOCATION 's3://{BUCKET}'");
    rows(&engine, &ddl).await;
    assert_eq!(rows(&engine, "FROM whole").await, [r#""1""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_location() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let ddl = "CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION ''";
    says(try_rows(&engine, ddl).await, &["LOCATION is empty"]);
}

/// Long chains once overflowed the stack, which no code can catch.
#[tokio::test(flavor = "multi_thread")]
async fn endless_chains_of_operators() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    for (operator, operand) in [("+", "1"), (" OR ", "1 = 2"), (" UNION ALL ", "SELECT 1")] {
        let chain = vec![operand; 50_000].join(operator);
        let sql = if operator.contains("UNION") { chain } else { format!("SELECT {chain}") };
        says(try_rows(&engine, &sql).await, &["operators follow one another", "IN ("]);
    }
}
