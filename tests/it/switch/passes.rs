//! HAVING reads its table twice: both passes read the same version of each object and are counted separately.

use std::fs;
use std::sync::{Arc, Once};

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{ColumnarValue, Volatility, create_udf};
use sluicegate_engine::Engine;
use tempfile::TempDir;

use super::engine;
use crate::harness::{rows, try_rows};

const FORMATS: [&str; 3] = ["csv", "json", "parquet"];

/// Creates a table `t` of 1000 rows with ten keys, in a file; and another file, with more rows.
async fn table(format: &str) -> (Engine, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine("tofino1").await;
    for (name, last) in [("t", 1000), ("other", 1500)] {
        let path = folder.path().join(format!("{name}.{format}"));
        let copy = format!(
            "COPY (SELECT value % 10 AS k, value AS v FROM generate_series(1, {last})) TO '{}' STORED AS {format}",
            path.display()
        );
        rows(&engine, &copy).await;
    }
    let create = format!(
        "CREATE EXTERNAL TABLE t (k BIGINT, v BIGINT) STORED AS {format} LOCATION '{}'",
        folder.path().join(format!("t.{format}")).display()
    );
    rows(&engine, &create).await;
    (engine, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_changes_between_the_passes_is_noticed() {
    for format in FORMATS {
        let (engine, folder) = table(format).await;
        let [table, other] =
            ["t", "other"].map(|name| folder.path().join(format!("{name}.{format}")));
        // The first batch of the first pass triggers the replacement of the file.
        let once = Arc::new(Once::new());
        let change = create_udf(
            "change",
            vec![DataType::Int64],
            DataType::Boolean,
            Volatility::Immutable,
            Arc::new(move |_: &[ColumnarValue]| {
                once.call_once(|| fs::rename(&other, &table).unwrap());
                Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))))
            }),
        );
        engine.context().register_udf(change);
        let having = "GROUP BY k HAVING sum(v) > 50200";
        let before = rows(&engine, &format!("SELECT k, sum(v) FROM t {having}")).await;
        assert_eq!(before.len(), 3, "{format}: {before:?}");
        let changing = format!("SELECT k, sum(v) FROM t WHERE change(k) {having}");
        let error = try_rows(&engine, &changing).await.unwrap_err();
        assert!(error.to_string().contains("changed while it was being read"), "{format}: {error}");
        assert_eq!(error.hint(), Some("Run the query again."), "{format}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_passes_are_counted_apart() {
    for format in FORMATS {
        let (engine, _folder) = table(format).await;
        let sql = "EXPLAIN ANALYZE SELECT k FROM t GROUP BY k HAVING sum(v) > 50200";
        let text = rows(&engine, sql).await.join("\n").replace("\\n", "\n");
        let scans: Vec<&str> =
            text.lines().filter(|line| line.contains("DataSourceExec")).collect();
        assert_eq!(scans.len(), 2, "{format}: {text}");
        for scan in scans {
            assert!(scan.contains("output_rows=1.00 K"), "{format}: {scan}");
        }
    }
}
