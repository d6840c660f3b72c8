//! Answers in Arrow about Parquet objects: the same as answers as text, and as GET.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int64Array, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use bytes::Bytes;
use sluicegate_engine::config::Scan;
use sluicegate_server::{Fault, Operation, Rule};

use crate::harness::{BUCKET, Store, in_text, rows};
use crate::parquet_types::written;

/// Returns columns of the types that Arrow sends, with NULL and extreme values.
fn columns() -> Vec<(String, ArrayRef)> {
    let zoned =
        TimestampMicrosecondArray::from(vec![Some(-1), Some(253_402_300_799_999_999), None]);
    let decimals = Decimal128Array::from(vec![Some(-1), Some(10_i128.pow(38) - 1), None]);
    let arrays: Vec<(&str, ArrayRef)> = vec![
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("i", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(i8::MAX), None]))),
        ("n", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None]))),
        ("u", Arc::new(UInt64Array::from(vec![Some(0), Some(i64::MAX as u64), None]))),
        ("r", Arc::new(Float32Array::from(vec![Some(-0.0), Some(f32::MIN_POSITIVE), None]))),
        ("f", Arc::new(Float64Array::from(vec![Some(-0.0), Some(f64::NAN), None]))),
        ("d", Arc::new(decimals.with_precision_and_scale(38, 10).unwrap())),
        ("t", Arc::new(Date32Array::from(vec![Some(-719_162), Some(2_932_896), None]))),
        ("ms", Arc::new(TimestampMillisecondArray::from(vec![Some(-1), Some(1), None]))),
        ("ns", Arc::new(TimestampNanosecondArray::from(vec![Some(-1), Some(i64::MAX), None]))),
        ("z", Arc::new(zoned.with_timezone("UTC"))),
        ("s", Arc::new(StringArray::from(vec![Some(""), Some("☃ \",\n"), None]))),
    ];
    arrays.into_iter().map(|(name, array)| (name.to_owned(), array)).collect()
}

/// No column is read with GET, and no value changes.
#[tokio::test(flavor = "multi_thread")]
async fn all_types_arrive_as_they_are() {
    let store = Store::start().await;
    store.put("x.parquet", written(&columns()));
    let (get, select) = (store.engine(Scan::Get).await, store.engine(Scan::Select).await);
    for (name, _) in columns() {
        for sql in [
            format!("SELECT {name} FROM 's3://{BUCKET}/x.parquet'"),
            format!("SELECT {name}, s FROM 's3://{BUCKET}/x.parquet' WHERE i < 100"),
        ] {
            let before = select.counted();
            assert_eq!(rows(&select, &sql).await, rows(&get, &sql).await, "{sql}");
            let counted = select.counted().since(&before);
            assert_eq!((counted.select, counted.fallbacks), (1, 0), "{sql}");
        }
    }
    let signs = format!("SELECT 1 / f < 0, 1 / r < 0, f FROM 's3://{BUCKET}/x.parquet'");
    assert_eq!(rows(&select, &signs).await, rows(&get, &signs).await);
}

/// Text cannot carry some types, so they are read with GET.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_arrow_answers_in_text() {
    let store = Store::start().await;
    store.put("x.parquet", written(&columns()));
    let text = store.builder().scan(Scan::Select).profile(in_text()).build().await.unwrap();
    let arrow = store.engine(Scan::Select).await;
    let sql = format!("SELECT b, i, n, f, d, t, s FROM 's3://{BUCKET}/x.parquet'");
    assert_eq!(rows(&text, &sql).await, rows(&arrow, &sql).await);
    let sql = format!("SELECT ms FROM 's3://{BUCKET}/x.parquet'");
    assert_eq!(text.explain(&sql).await.unwrap().warnings().count(), 1);
    assert_eq!(arrow.explain(&sql).await.unwrap().warnings().count(), 0);
}

/// A broken answer is resumed, and an answer that is no Arrow stream is replaced by GET.
#[tokio::test(flavor = "multi_thread")]
async fn faults_change_no_answer() {
    const ROWS: i64 = 60_000;
    let random = |n: i64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed());
    let numbers = Int64Array::from_iter((0..ROWS).map(|n| (n % 7 > 0).then(|| random(n))));
    let texts = StringArray::from_iter((0..ROWS).map(|n| Some(format!("{:x}", random(n + 1)))));
    let table: [ArrayRef; 2] = [Arc::new(numbers), Arc::new(texts)];
    let table = ["n", "s"].into_iter().map(str::to_owned).zip(table);
    let store = Store::start().await;
    store.put("x.parquet", written(&table.collect::<Vec<_>>()));
    let engine = store.engine(Scan::Select).await;
    let sql = format!("SELECT n, s FROM 's3://{BUCKET}/x.parquet' WHERE n > 0");
    let right = rows(&store.engine(Scan::Get).await, &sql).await;
    let refused = |records| Fault::ErrorFrame { records, code: "CastFailed".to_owned() };
    for (fault, fallbacks) in [
        (Fault::SlowDown, 0),
        (Fault::CutBeforeRecords(0), 0),
        (Fault::CutBeforeRecords(2), 0),
        (Fault::CutInRecords(1), 0),
        (Fault::CutAfterRecords(2), 0),
        (Fault::MissingEnd, 0),
        (Fault::WrongCrc(1), 0),
        (refused(0), 1),
        (refused(2), 1),
        (Fault::Records(Bytes::new()), 1),
        (Fault::Records(Bytes::from_static(b"1,a\n2,b\n")), 1),
        (Fault::Records(Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x40])), 1),
    ] {
        let (struck, before) = (store.faults.struck(), engine.counted());
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault.clone()));
        assert!(rows(&engine, &sql).await == right, "{fault:?}");
        assert_eq!(store.faults.struck(), struck + 1, "{fault:?}");
        assert_eq!(engine.counted().since(&before).fallbacks, fallbacks, "{fault:?}");
        store.faults.clear();
    }
}
