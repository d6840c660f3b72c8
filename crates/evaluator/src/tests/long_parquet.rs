//! Tests Parquet objects with long values.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{request, run, write_parquet};
use sluicegate_s3select::request::{InputFormat, SelectRequest};

fn parquet(expression: &str) -> SelectRequest {
    let mut request = request(expression);
    request.input.format = InputFormat::Parquet;
    request
}

/// Writes a column of numbers and one of texts, each of which is repeated `times` times.
fn object(texts: usize, times: usize, length: usize, is_coded: bool) -> Vec<u8> {
    let text = |row: usize| format!("{:04}{}", row / times, "x".repeat(length - 4));
    let rows = texts * times;
    let array: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(text)));
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows as i32));
    let batch = RecordBatch::try_from_iter([("n", numbers), ("a", array)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Codec::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(is_coded);
    write_parquet(&batch, properties.build())
}

/// Texts are read correctly however few rows a batch has, and whether or not a batch contains a whole page.
#[test]
fn long_texts_are_read_whatever_their_batches() {
    for (texts, times, is_coded) in [(60, 1, false), (60, 1, true), (3, 20, true), (20, 3, true)] {
        let object = object(texts, times, 400_000, is_coded);
        assert!(object.len() < 100_000);
        let rows =
            |sql: &str| String::from_utf8(run(&parquet(sql), object.clone()).unwrap().0).unwrap();
        let all = rows("SELECT n, SUBSTRING(a, 1, 4), CHAR_LENGTH(UPPER(a)) FROM S3Object");
        let expected = (0..60).map(|row| format!("{row},{:04},400000\n", row / times));
        assert_eq!(all, expected.collect::<String>(), "{texts} {is_coded}");
        // Some rows are selected by another column, so that pages of the text are skipped.
        let some = rows("SELECT SUBSTRING(a, 4, 1) FROM S3Object WHERE n = 17 OR n = 41");
        assert_eq!(some, [17, 41].map(|row| format!("{}\n", row / times % 10)).concat());
        assert_eq!(rows("SELECT COUNT(*) FROM S3Object WHERE a LIKE '%y%'"), "0\n");
        assert_eq!(rows("SELECT COUNT(UPPER(a)), MAX(n) FROM S3Object"), "60,59\n");
    }
}
