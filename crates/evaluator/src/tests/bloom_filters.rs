//! Tests Bloom filters of Parquet objects.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use sluicegate_s3select::request::{InputFormat, SelectRequest};

use super::{request, run, write_parquet};

const GROUPS: i32 = 4;

/// Returns an object of row groups with 1000 rows, whose values alternate, so that bounds rule nothing out.
fn object() -> Vec<u8> {
    let rows = || 0..1000 * GROUPS;
    // Row group g has the numbers that leave the remainder g.
    let number = |row: i32| (row % 1000) * GROUPS + row / 1000;
    let texts = rows().map(|row| format!("text {:05}", number(row)));
    let cents = Decimal128Array::from_iter_values(rows().map(|row| i128::from(number(row))));
    let columns: [(&str, ArrayRef); 4] = [
        ("i", Arc::new(Int32Array::from_iter_values(rows().map(number)))),
        ("l", Arc::new(Int64Array::from_iter_values(rows().map(|row| number(row).into())))),
        ("s", Arc::new(StringArray::from_iter_values(texts))),
        ("n", Arc::new(cents.with_precision_and_scale(9, 2).unwrap())),
    ];
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_dictionary_enabled(false)
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_fpp(0.0001);
    write_parquet(&RecordBatch::try_from_iter(columns).unwrap(), properties.build())
}

fn count(condition: &str) -> SelectRequest {
    let mut request = request(&format!("SELECT COUNT(*) FROM S3Object WHERE {condition}"));
    request.input.format = InputFormat::Parquet;
    request
}

#[test]
fn row_groups_without_the_values_are_not_read() {
    let object = object();
    let file = SerializedFileReader::new(Bytes::from(object.clone())).unwrap();
    let groups = file.metadata().row_groups();
    for (condition, expected, column, read) in [
        ("i = 9", 1, 0, &[1][..]),
        ("l = 9", 1, 1, &[1]),
        ("s = 'text 00011'", 1, 2, &[3]),
        ("n = 0.10", 1, 3, &[2]),
        ("n = 0.105", 0, 3, &[0, 1, 2, 3]),
        ("l IN (8, 15, NULL)", 2, 1, &[0, 3]),
        ("s IN ('text 00000', 'text 0000', 'text 00004')", 2, 2, &[0]),
        ("s = 'text 0001'", 0, 2, &[]),
        ("l = 8 OR l = NULL OR l IN (15)", 2, 1, &[0, 3]),
    ] {
        let (answer, stats) = run(&count(condition), object.clone()).unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), format!("{expected}\n"), "{condition}");
        // A value of other digits than the column's is in no filter that could be asked.
        let used = if condition == "n = 0.105" { 0 } else { 1 };
        let filters = groups.iter().map(|it| it.column(column).bloom_filter_length().unwrap());
        let chunks = read.iter().map(|group| groups[*group].column(column).compressed_size());
        let bytes = used * i64::from(filters.sum::<i32>()) + chunks.sum::<i64>();
        assert_eq!(stats.bytes_scanned, bytes as u64, "{condition}");
    }
}

#[test]
fn a_filter_that_cannot_be_read_rules_nothing_out() {
    let object = object();
    let file = SerializedFileReader::new(Bytes::from(object.clone())).unwrap();
    let chunk = file.metadata().row_group(0).column(0);
    let offset = chunk.bloom_filter_offset().unwrap() as usize;
    // No header, one that is read forever, one of a filter without bits, and one that is longer than its bytes.
    let endless = b"\xf9\xf9\xff\xff\xff\xff\x07\xf1\xff\xff\xff\xff\x07";
    for header in [&b"\xff\xff\xff\xff"[..], endless, b"\x15\x00", b"\x15\xfe\xff\xff\xff\x0f"] {
        let mut object = object.clone();
        object[offset..offset + header.len()].copy_from_slice(header);
        let (answer, _) = run(&count("i = 8"), object).unwrap();
        assert_eq!(answer, b"1\n", "{header:?}");
    }
}
