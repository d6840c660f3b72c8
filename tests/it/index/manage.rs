//! The location of indexes, and tables that cannot be indexed.

use sluicegate_engine::config::Scan;

use super::{FEW, create, files, is_indexed, numbers};
use crate::harness::{BUCKET, Store, rows};

#[tokio::test(flavor = "multi_thread")]
async fn indexes_may_be_in_another_bucket() {
    let store = Store::start().await;
    std::fs::create_dir(store.folder.path().join("other")).unwrap();
    let engine = store.engine(Scan::Index).await;
    rows(&engine, "SET sluice.index_location = 's3://other/some/'").await;
    numbers(&store, &engine, 2, 500).await;
    assert!(!store.folder.path().join(BUCKET).join(".sluice-index").exists());
    assert_eq!(files(&store.folder.path().join("other/some/test/n")).len(), 2);
    assert!(is_indexed(&engine, FEW).await);
    assert_eq!(rows(&engine, FEW).await.len(), rows(&engine, FEW).await.len());
    rows(&engine, "SET sluice.index_location = ''").await;
    assert!(!is_indexed(&engine, FEW).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_indexed_says_why() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    store.put("bad/a.csv", "k,b\n1,true\n2\n");
    store.put("bad/b.csv", "k,b\n1,true\n");
    store.put("j/a.json", "[{\"k\": 1}]\n");
    store.put("f.csv", "k,b\n1,true\nseven,true\n");
    store.put("z/a.csv.gz", [0x1f, 0x8b]);
    let table = |name: &str, at: &str, kind: &str| {
        format!(
            "CREATE EXTERNAL TABLE {name} (k BIGINT, b BOOLEAN) STORED AS {kind} LOCATION 's3://{BUCKET}/{at}'"
        )
    };
    rows(&engine, &table("bad", "bad/", "CSV")).await;
    let array = " OPTIONS ('format.newline_delimited' 'false')";
    rows(&engine, &(table("j", "j/", "JSON") + array)).await;
    rows(&engine, &table("f", "f.csv", "CSV")).await;
    let compressed = " OPTIONS ('format.compression' 'gzip')";
    rows(&engine, &(table("z", "z/", "CSV") + compressed)).await;
    for (name, column, why) in [
        ("bad", "k", "bad/a.csv, which is not indexed"),
        ("bad", "k", "record 3 has 1 fields, and the table 2 columns"),
        ("f", "k", "'seven'"),
        ("f", "b", "column b is of type BOOLEAN; an index can be about whole, decimal and"),
        ("f", "y", "the objects have no column y; they have k, b"),
        ("z", "k", "its objects are compressed"),
        ("j", "k", "each object is one JSON array"),
        ("information_schema.tables", "k", "is not a table of objects in a bucket"),
        ("(SELECT k FROM f UNION ALL SELECT k FROM f)", "k", "is not a table of objects"),
    ] {
        let error = create(&engine, name, column).await.unwrap_err().to_string();
        assert!(error.contains(why), "{name}.{column}: {error}");
    }
    // A failed creation leaves no index.
    let left = store.folder.path().join(BUCKET).join(".sluice-index/bad/a.csv");
    assert!(!left.exists() || files(&left).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_indexes_that_cannot_be_listed_is_named() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 2, 500).await;
    let expected = rows(&engine, FEW).await;
    rows(&engine, "SET sluice.index_location = 's3://nowhere/'").await;
    let query = engine.plan(FEW).await.unwrap();
    let found: usize = query.collect().await.unwrap().iter().map(|it| it.num_rows()).sum();
    assert_eq!(found, expected.len());
    let warning = query.warnings().join("\n");
    let why = "the indexes cannot be listed: there is no bucket `nowhere`";
    assert!(warning.contains(why), "{warning}");
    let explained = engine.explain(FEW).await.unwrap().to_string();
    assert!(explained.contains(why), "{explained}");
}
