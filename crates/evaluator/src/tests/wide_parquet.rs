//! Tests that the memory of Parquet objects with thousands of columns is counted.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{request, write_parquet};
use crate::{Evaluation, memory_budget};
use sluicegate_s3select::request::{InputFormat, OutputSerialization};

const COLUMNS: usize = 8000;
const MIB: u64 = 1 << 20;
/// The memory of a statement that needs not be counted.
const UNCOUNTED: u64 = 8 * MIB;

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// Checks that a statement over all of many columns like this one counts the memory that it takes.
fn check(test: &str, column: &ArrayRef, compression: Compression) {
    let properties = WriterProperties::builder().set_compression(compression).build();
    check_statement("SELECT * FROM S3Object", test, (COLUMNS, column), properties);
}

/// Checks that a statement over an object with many columns like this one counts the memory that it takes. The
/// statement runs in a process of its own, because the memory of other tests, and of writing the object, would count.
fn check_statement(
    sql: &str,
    test: &str,
    (count, column): (usize, &ArrayRef),
    properties: WriterProperties,
) {
    const CHILD: &str = "SLUICEGATE_TEST_WIDE_PARQUET";
    if std::env::var_os(CHILD).is_some() {
        return check_alone(sql);
    }
    let columns = (0..count).map(|number| (format!("c{number}"), Arc::clone(column)));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let object = write_parquet(&batch, properties);
    let test = format!("tests::wide_parquet::{test}");
    let mut alone = Command::new(std::env::current_exe().unwrap());
    alone.args(["--exact", &test, "--nocapture"]).env(CHILD, "1");
    alone.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut alone = alone.spawn().unwrap();
    alone.stdin.take().unwrap().write_all(&object).unwrap();
    let ran = alone.wait_with_output().unwrap();
    let printed = [ran.stdout, ran.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(ran.status.success() && printed.contains("1 passed"), "{printed}");
}

fn check_alone(sql: &str) {
    let mut object = Vec::new();
    std::io::stdin().read_to_end(&mut object).unwrap();
    let mut request = request(sql);
    request.input.format = InputFormat::Parquet;
    request.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    let before = resident();
    // The first batch is read.
    let evaluation = Evaluation::prepare(&request, Arc::new(object)).unwrap();
    let (used, taken) = (resident().saturating_sub(before), memory_budget::taken_by_process());
    println!("{} MiB are used, and {} counted", used / MIB, taken / MIB);
    assert!(used < taken + UNCOUNTED);
    assert!(taken < 4 * used);
    drop(evaluation);
    assert_eq!(memory_budget::taken_by_process(), 0);
}

#[test]
fn columns_of_numbers_are_counted() {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    check("columns_of_numbers_are_counted", &column, Compression::SNAPPY);
}

/// A decompressor takes 100 KiB, and each column would have one.
#[test]
fn no_column_keeps_a_decompressor() {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["one", "two"]));
    let zstd = Compression::ZSTD(ZstdLevel::default());
    check("no_column_keeps_a_decompressor", &column, zstd);
}

#[test]
fn columns_of_lists_are_counted() {
    let lists = [Some([Some(1)]), Some([Some(2)])];
    let column: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
    check("columns_of_lists_are_counted", &column, Compression::UNCOMPRESSED);
}

#[test]
fn a_page_index_is_counted() {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let properties = properties.set_write_batch_size(1).set_data_page_row_count_limit(1).build();
    let sql = "SELECT COUNT(*) FROM S3Object s WHERE s.c0 > 98";
    check_statement(sql, "a_page_index_is_counted", (2500, &column), properties);
}
