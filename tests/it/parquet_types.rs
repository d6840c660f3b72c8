//! Parquet objects whose columns are not what their table declares: engine over Select =
//! DataFusion over the same file.

use std::cell::Cell;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, Float64Array, Int64Array, IntervalDayTimeArray, RecordBatch,
    StringArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, IntervalDayTime, TimeUnit};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use crate::harness::{BUCKET, Store, in_text, rows, runner, stock, stock_rows, try_rows};

/// Returns the types of columns in files, each with the SQL type that declares it.
fn types() -> Vec<(DataType, &'static str)> {
    vec![
        (DataType::Int8, "TINYINT"),
        (DataType::Int16, "SMALLINT"),
        (DataType::Int32, "INT"),
        (DataType::Int64, "BIGINT"),
        (DataType::UInt8, "TINYINT UNSIGNED"),
        (DataType::UInt32, "INT UNSIGNED"),
        (DataType::Float32, "REAL"),
        (DataType::Float64, "DOUBLE"),
        (DataType::Decimal128(10, 2), "DECIMAL(10,2)"),
        (DataType::Decimal128(10, 3), "DECIMAL(10,3)"),
        (DataType::Decimal128(12, 2), "DECIMAL(12,2)"),
        (DataType::Utf8, "VARCHAR"),
        (DataType::LargeUtf8, "VARCHAR"),
        (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), "VARCHAR"),
        (DataType::Binary, "BYTEA"),
        (DataType::Date32, "DATE"),
        (DataType::Timestamp(TimeUnit::Microsecond, None), "TIMESTAMP"),
        (DataType::Boolean, "BOOLEAN"),
        (DataType::Time64(TimeUnit::Microsecond), "TIME"),
    ]
}

/// Builds values of a type from small numbers.
fn array(of: &DataType, numbers: &[Option<i64>]) -> ArrayRef {
    let ints = Int64Array::from(numbers.to_vec());
    let texts = || StringArray::from_iter(numbers.iter().map(|n| n.map(|n| n.to_string())));
    match of {
        DataType::Decimal128(precision, scale) => {
            let raw = numbers.iter().map(|n| n.map(|n| i128::from(n) * 1237));
            let array = Decimal128Array::from_iter(raw);
            Arc::new(array.with_precision_and_scale(*precision, *scale).unwrap())
        }
        DataType::Date32 => cast(&cast(&ints, &DataType::Int32).unwrap(), of).unwrap(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::Dictionary(..) => {
            cast(&texts(), of).unwrap()
        }
        of => cast(&ints, of).unwrap(),
    }
}

fn file(columns: &[(String, DataType)], numbers: &[Option<i64>]) -> Vec<u8> {
    let arrays = columns.iter().map(|(name, of)| (name.clone(), array(of, numbers)));
    written(&arrays.collect::<Vec<_>>())
}

/// Writes columns to a Parquet file.
pub(crate) fn written(columns: &[(String, ArrayRef)]) -> Vec<u8> {
    let nullable = columns.iter().map(|(name, array)| (name, Arc::clone(array), true));
    let batch = RecordBatch::try_from_iter_with_nullable(nullable).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A constant is compared with the declared type of a column, even if the file has another type.
#[tokio::test(flavor = "multi_thread")]
async fn a_constant_is_compared_with_the_declared_type() {
    let store = Store::start().await;
    let columns = [("a".to_owned(), DataType::Int8), ("b".to_owned(), DataType::Decimal128(10, 3))];
    // The values 1 and 1.237.
    store.put("x/x.parquet", file(&columns, &[Some(1), Some(1)]));
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        let ddl = format!(
            "CREATE EXTERNAL TABLE x (a TINYINT, b TINYINT) STORED AS PARQUET LOCATION 's3://{BUCKET}/x/'"
        );
        rows(&engine, &ddl).await;
        assert_eq!(rows(&engine, "SELECT b FROM x WHERE a = b").await, ["\"1\"", "\"1\""]);
    }
}

/// If a column's text depends on its type in the file, it is not sent, and the reason names it.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_cannot_be_sent_is_named() {
    let store = Store::start().await;
    let columns = [("n".to_owned(), DataType::Int64), ("r".to_owned(), DataType::Float32)];
    store.put("x.parquet", file(&columns, &[Some(1), None]));
    let engine = store.builder().scan(Scan::Select).profile(in_text()).build().await.unwrap();
    let all = format!("SELECT * FROM 's3://{BUCKET}/x.parquet'");
    let explained = engine.explain(&all).await.unwrap();
    let [warning] = &explained.warnings().collect::<Vec<_>>()[..] else { panic!("{explained}") };
    for part in ["column r of type REAL cannot be sent", "in files with DOUBLE it can be"] {
        assert!(warning.contains(part), "{warning}");
    }
}

/// The Arrow schema that pandas and Polars add declares dictionaries and Date64. The file has texts and dates, which
/// can be sent.
#[tokio::test(flavor = "multi_thread")]
async fn categories_and_dates_of_arrow_are_sent() {
    let store = Store::start().await;
    let category = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let columns = [("c".to_owned(), category), ("d".to_owned(), DataType::Date64)];
    let arrays = [array(&columns[0].1, &[Some(1), None, Some(12)]), {
        let days = array(&DataType::Date32, &[Some(1), Some(2), None]);
        cast(&days, &DataType::Date64).unwrap()
    }];
    let named = columns.iter().zip(arrays).map(|((name, _), array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(named).unwrap();
    let mut bytes = Vec::new();
    // Dates are stored as DATE, as by pyarrow.
    let properties = WriterProperties::builder().set_coerce_types(true).build();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    store.put("x/x.parquet", bytes);
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        let from = format!("FROM 's3://{BUCKET}/x/'");
        let types = format!("SELECT arrow_typeof(c), arrow_typeof(d) {from} LIMIT 1");
        assert_eq!(rows(&engine, &types).await, [r#""Utf8View" | "Date32""#]);
        let before = engine.counted();
        let sql = format!("SELECT c, d {from} WHERE c = '12' OR d = DATE '1970-01-03'");
        let expected = [r#""12" | "NULL""#, r#""NULL" | "1970-01-03""#];
        assert_eq!(rows(&engine, &sql).await, expected);
        assert_eq!(engine.counted().since(&before).select, u64::from(scan == Scan::Select));
    }
}

/// DataFusion would read the first of two columns of one name and drop the other.
#[tokio::test(flavor = "multi_thread")]
async fn two_columns_of_one_name_are_refused() {
    let store = Store::start().await;
    let columns = ["n", "n"].map(|name| (name.to_owned(), DataType::Int64));
    store.put("x/x.parquet", file(&columns, &[Some(1)]));
    let engine = store.engine(Scan::Auto).await;
    for url in ["x/", "x/x.parquet"] {
        let sql = format!("SELECT * FROM 's3://{BUCKET}/{url}'");
        let error = try_rows(&engine, &sql).await.unwrap_err().to_string();
        assert!(error.contains("`x/x.parquet` has two columns `n`"), "{error}");
    }
}

const STATEMENTS: [&str; 7] = [
    "SELECT a FROM x",
    "SELECT a, b FROM x WHERE b IS NOT NULL",
    "SELECT a FROM x WHERE CAST(b AS VARCHAR) = '3'",
    "SELECT b FROM x WHERE a = b",
    "SELECT count(a), min(a), max(b) FROM x",
    "SELECT sum(a) FROM x",
    "SELECT count(*) FROM x",
];

#[test]
fn declared_types_are_not_taken_for_stored_ones() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let mut runner = runner(96);
    let column = (prop::sample::select(types()), prop::sample::select(types()), 0..6_u8);
    let inputs = (
        column.clone(),
        column,
        prop::collection::vec(prop::option::weighted(0.8, 0_i64..12), 1..12),
    );
    let (number, compared, pushed) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let result = runner.run(&inputs, |(a, b, numbers)| {
        number.set(number.get() + 1);
        let mut stored = Vec::new();
        let mut declared = Vec::new();
        for (name, ((of, same), (_, other), kind)) in [("a", a), ("b", b)] {
            // Half of the columns have the declared type; a few are missing.
            declared.push(format!("{name} {}", if kind < 3 { same } else { other }));
            if kind != 5 {
                stored.push((name.to_owned(), of));
            }
        }
        stored.push(("c".to_owned(), DataType::Int32));
        let bytes = file(&stored, &numbers);
        store.put(&format!("{}/a.parquet", number.get()), &bytes);
        let path = local.path().join(format!("{}.parquet", number.get()));
        std::fs::write(&path, &bytes).unwrap();
        let ddl = |location: &str| {
            let columns = declared.join(", ");
            format!("CREATE EXTERNAL TABLE x ({columns}) STORED AS PARQUET LOCATION '{location}'")
        };
        runtime.block_on(async {
            let stock = stock();
            stock_rows(&stock, &ddl(&path.display().to_string())).await.unwrap();
            let engine = store.engine(Scan::Select).await;
            rows(&engine, &ddl(&format!("s3://{BUCKET}/{}/", number.get()))).await;
            for sql in STATEMENTS {
                let Ok(expected) = stock_rows(&stock, sql).await else { continue };
                let before = engine.counted();
                let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                let counted = engine.counted().since(&before);
                // DataFusion compares the days since 1970.
                if actual
                    .as_ref()
                    .is_err_and(|said| said.contains("cannot be compared with a number"))
                {
                    continue;
                }
                compared.set(compared.get() + 1);
                if counted.select > 0 && counted.fallbacks == 0 {
                    pushed.set(pushed.get() + 1);
                }
                prop_assert_eq!(
                    actual,
                    Ok(expected),
                    "{} of {:?} over {:?}",
                    sql,
                    declared,
                    stored
                );
            }
            Ok(())
        })
    });
    result.unwrap();
    let (compared, pushed) = (compared.get(), pushed.get());
    assert!(pushed * 10 > compared, "only {pushed} of {compared} statements were answered there");
}

/// Checks the answer over a column that is stored as one type and declared as another, and whether Select gave it.
async fn check(stored: DataType, declared: &str, sql: &str, pushed: bool) {
    let numbers = [Some(1), None, Some(3), Some(10)];
    let bytes = file(&[("a".to_owned(), stored.clone())], &numbers);
    let store = Store::start().await;
    store.put("t/a.parquet", &bytes);
    let local = tempfile::tempdir().unwrap();
    std::fs::write(local.path().join("a.parquet"), &bytes).unwrap();
    let ddl = |location: &str| {
        format!("CREATE EXTERNAL TABLE x (a {declared}) STORED AS PARQUET LOCATION '{location}'")
    };
    let stock = stock();
    stock_rows(&stock, &ddl(&format!("{}/", local.path().display()))).await.unwrap();
    let expected = stock_rows(&stock, sql).await.unwrap();
    let engine = store.engine(Scan::Select).await;
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    for again in [false, true] {
        let before = engine.counted();
        assert_eq!(rows(&engine, sql).await, expected, "{sql} of {declared} over {stored}");
        let counted = engine.counted().since(&before);
        assert_eq!(counted.fallbacks == 0, pushed, "{sql} of {declared} over {stored}");
        // Footers are cached.
        assert!(!again || !pushed || counted.get == 0, "{counted:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_of_another_type_is_read_here() {
    let decimal = DataType::Decimal128;
    Box::pin(check(decimal(10, 2), "DECIMAL(10,2)", "SELECT a FROM x WHERE a > 1", true)).await;
    Box::pin(check(decimal(10, 3), "DECIMAL(10,2)", "SELECT a FROM x", false)).await;
    Box::pin(check(decimal(10, 3), "DECIMAL(10,2)", "SELECT sum(a) FROM x", false)).await;
    Box::pin(check(DataType::Date32, "VARCHAR", "SELECT a FROM x", false)).await;
    Box::pin(check(DataType::Date32, "VARCHAR", "SELECT max(a) FROM x", false)).await;
    let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
    Box::pin(check(timestamp, "VARCHAR", "SELECT a FROM x", false)).await;
    Box::pin(check(DataType::Int64, "INT", "SELECT sum(a), min(a) FROM x", false)).await;
    Box::pin(check(DataType::Utf8, "INT", "SELECT a FROM x WHERE a > 2", false)).await;
    // A statement that reads no column does not depend on the declared type.
    Box::pin(check(DataType::Int64, "INT", "SELECT count(*) FROM x", true)).await;
}

/// Writes row groups of four rows each; the first has no statistics of `b`.
fn half_told() -> Vec<u8> {
    let write = |statistics: EnabledStatistics| {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(match statistics {
            EnabledStatistics::None => 0..4,
            _ => 100..104,
        }));
        let batch = [("a", Arc::clone(&numbers)), ("b", numbers)];
        let batch = RecordBatch::try_from_iter(batch).unwrap();
        let properties = WriterProperties::builder()
            .set_column_statistics_enabled("b".into(), statistics)
            .build();
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    };
    let groups = [write(EnabledStatistics::None), write(EnabledStatistics::Chunk)];
    let mut bytes = Vec::new();
    let schema = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(groups[0].clone())).unwrap();
    let schema = schema.parquet_schema().root_schema_ptr();
    let mut all = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    for group in groups {
        let group = Bytes::from(group);
        let read = SerializedFileReader::new(group.clone()).unwrap();
        let mut copy = all.next_row_group().unwrap();
        for chunk in read.metadata().row_group(0).columns() {
            let close = ColumnCloseResult {
                bytes_written: chunk.compressed_size() as u64,
                rows_written: 4,
                metadata: chunk.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            copy.append_column(&group, close).unwrap();
        }
        copy.close().unwrap();
    }
    all.close().unwrap();
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_footer_does_not_answer_for_row_groups_without_statistics() {
    let store = Store::start().await;
    store.put("h/a.parquet", half_told());
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.engine(scan).await;
        for (sql, expected) in [
            ("min(b), max(b), count(b) FROM t", r#""0" | "103" | "8""#),
            ("min(a), max(a), count(a) FROM t", r#""0" | "103" | "8""#),
            ("count(*) FROM t WHERE b < 50", r#""4""#),
            ("sum(a) FROM t WHERE b IS NOT NULL", r#""412""#),
            ("count(*) FROM t WHERE b IS NULL", r#""0""#),
        ] {
            let sql = format!("SELECT {sql}");
            let sql = sql.replace("FROM t", &format!("FROM 's3://{BUCKET}/h/a.parquet'"));
            assert_eq!(rows(&engine, &sql).await, [expected], "{sql}: {scan}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_footer_does_not_answer_for_floats() {
    let floats = Float64Array::from(vec![0.0, 1.0, f64::NAN, -f64::NAN]);
    let column = |name: &str, of: DataType| (name.to_owned(), cast(&floats, &of).unwrap());
    let columns = [column("a", DataType::Float32), column("b", DataType::Float64)];
    let bytes = written(&columns);
    let store = Store::start().await;
    store.put("f/a.parquet", &bytes);
    store.put("f/b.parquet", written(&[column("a", DataType::Float32)]));
    for (scan, pushdown) in [Scan::Get, Scan::Select, Scan::Auto]
        .into_iter()
        .flat_map(|scan| [(scan, false), (scan, true)])
    {
        let engine = store.engine(scan).await;
        let ddl = format!("CREATE EXTERNAL TABLE x STORED AS PARQUET LOCATION 's3://{BUCKET}/f/'");
        rows(&engine, &ddl).await;
        let set = format!("SET datafusion.execution.parquet.pushdown_filters = {pushdown}");
        rows(&engine, &set).await;
        for location in ["x".to_owned(), format!("'s3://{BUCKET}/f/'")] {
            for (sql, expected) in [
                ("min(b), max(b), count(*) FROM t WHERE b IS NOT NULL", r#""NaN" | "NaN" | "4""#),
                ("min(b), max(b) FROM t", r#""NaN" | "NaN""#),
                ("min(abs(b)), count(*) FROM t WHERE b < 0", r#""NaN" | "1""#),
                ("max(a), count(*) FROM t WHERE a > 1", r#""NaN" | "2""#),
                ("a FROM t ORDER BY a DESC LIMIT 1", r#""NaN""#),
                ("count(a) FROM t WHERE a >= 1 AND b <> 1", r#""1""#),
                ("count(*) FROM t x JOIN t y ON x.a = y.b WHERE y.b > 1", r#""2""#),
            ] {
                let sql = format!("SELECT {}", sql.replace("FROM t", &format!("FROM {location}")));
                let sql = sql.replace("JOIN t", &format!("JOIN {location}"));
                assert_eq!(rows(&engine, &sql).await, [expected], "{sql}: {scan:?}, {pushdown}");
            }
        }
    }
}

/// Returns a file with a row group without rows, as some writers produce it.
fn empty_row_group() -> Vec<u8> {
    let schema = parse_message_type("message t { optional int64 k; }").unwrap();
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::default());
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(column) = group.next_column().unwrap() {
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_without_rows_is_read_with_filters_pushed_down() {
    let store = Store::start().await;
    store.put("none/a.parquet", file(&[("k".to_owned(), DataType::Int64)], &[]));
    store.put("empty/a.parquet", empty_row_group());
    store.put("some/a.parquet", file(&[("k".to_owned(), DataType::Int64)], &[Some(7)]));
    for scan in [Scan::Auto, Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        rows(&engine, "SET datafusion.execution.parquet.pushdown_filters = true").await;
        for (folder, filter) in ["none", "empty"]
            .into_iter()
            .flat_map(|it| ["k > 3", "k IS NULL", "k IN (1, 2)"].map(|filter| (it, filter)))
        {
            let from = format!("FROM 's3://{BUCKET}/{folder}/'");
            for sql in [
                format!("SELECT k {from} WHERE {filter}"),
                format!(
                    "SELECT s.k FROM 's3://{BUCKET}/some/' s JOIN (SELECT * {from}) e ON s.k = e.k"
                ),
                format!("SELECT k {from} WHERE {filter} ORDER BY k LIMIT 3"),
                format!("SELECT k, count(*) {from} WHERE {filter} GROUP BY k"),
            ] {
                let found = try_rows(&engine, &sql).await.map_err(|error| error.to_string());
                assert_eq!(found, Ok(Vec::new()), "{scan}: {sql}");
            }
            let count = format!("SELECT count(*) {from} WHERE {filter}");
            assert_eq!(rows(&engine, &count).await, ["\"0\""], "{scan}: {count}");
        }
    }
}

/// The reader drops the months of Parquet's INTERVAL.
#[tokio::test(flavor = "multi_thread")]
async fn intervals_of_parquet_are_left_out() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let days = IntervalDayTimeArray::from(vec![IntervalDayTime::new(2, 0); 2]);
    let batch = RecordBatch::try_from_iter([("id", ids), ("length", Arc::new(days) as _)]).unwrap();
    let mut bytes = Vec::new();
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true);
    let mut writer =
        ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let store = Store::start().await;
    store.put("intervals.parquet", bytes);
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.engine(scan).await;
        let sql = format!("SELECT * FROM 's3://{BUCKET}/intervals.parquet' WHERE id > 1");
        assert_eq!(rows(&engine, &sql).await, ["\"2\""], "{scan}");
        let note =
            "an INTERVAL of Parquet cannot be read with its months, so it is left out: `length`";
        assert!(engine.take_notes().iter().any(|said| said == note), "{scan}");
    }
}
