//! Tests the limits on the memory of values, which is a multiple of their text.

use super::ValueBudget;
use super::consistency::open;
use super::parser::{MARK_BYTES, Parser};
use super::path::Filter;
use crate::batch::{BatchReader as _, Columns as _};
use crate::tests::{check, check_error, request};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{
    Compression, InputFormat, InputSerialization, JsonType, OutputSerialization, SelectRequest,
};

fn select(layout: JsonType, expression: &str) -> SelectRequest {
    let format = InputFormat::Json(layout);
    let input = InputSerialization { format, compression: Compression::None };
    SelectRequest { input, ..request(expression) }
}

/// Returns an object with an array of `of` elements.
fn array(of: usize, element: &str) -> String {
    format!("{{\"id\":{of},\"a\":[{}{element}]}}\n", format!("{element},").repeat(of - 1))
}

#[test]
fn a_row_whose_values_take_too_much_is_refused() {
    let all = select(JsonType::Document, "SELECT s.id FROM S3Object s WHERE s.a IS NOT NULL");
    // Each element takes 176 bytes while the array is collected.
    let small = array(10, "[0]");
    let (large, too_large) = (array(500_000, "[0]"), array(800_000, "[0]"));
    check(&all, &format!("{small}{large}{large}{small}"), "10\n500000\n500000\n10\n");
    check_error(&all, format!("{small}{too_large}"), Code::OverMaxRecordSize, "128 MiB");
    let whole = select(JsonType::Document, "SELECT * FROM S3Object");
    check_error(&whole, too_large.clone(), Code::OverMaxRecordSize, "128 MiB");
    // A part of the value takes little.
    let some = select(JsonType::Document, "SELECT s.id, s.a[799999][0] FROM S3Object s");
    check(&some, &too_large, "800000,0\n");
    // The rows of FROM take little too.
    let mut rows = select(JsonType::Document, "SELECT * FROM S3Object[*].a[*] LIMIT 3");
    rows.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    check(&rows, &too_large, &"{\"_1\":[0]}\n".repeat(3));
}

#[test]
fn lines_whose_values_take_much_are_read_one_by_one() {
    let object = [array(2, "[0]"), array(200_000, "[0]"), array(3, "[0]")].concat().repeat(3);
    let rows = "2\n200000\n3\n".repeat(3);
    for sql in [
        "SELECT s.id FROM S3Object s WHERE s.a IS NOT NULL",
        "SELECT s.id FROM S3Object s WHERE NULLIF(s.a, s.a[0]) IS NOT NULL",
        "SELECT s.id FROM S3Object[*] s WHERE s.a[0] IS NOT NULL AND s.a IS NOT NULL",
    ] {
        check(&select(JsonType::Lines, sql), &object, &rows);
    }
}

#[test]
fn a_batch_has_few_rows_where_they_take_much() {
    let object = array(100, "[0]").repeat(50);
    for (by_value, max_rows) in [(false, 3), (true, 11)] {
        let (reader, _) = open(&object, JsonType::Lines, "SELECT s.a FROM S3Object s");
        let room = ValueBudget { batch: 130_000, free: 1 << 20, row: 1 << 20 };
        let mut reader = reader.with_room(room);
        if by_value {
            reader = reader.by_value();
        }
        let mut rows = 0;
        while reader.next_batch().unwrap() {
            assert!(reader.rows() <= max_rows, "{}", reader.rows());
            assert_eq!(reader.values() > 0, by_value && reader.rows() > 0);
            rows += reader.rows();
        }
        assert_eq!(rows, 50);
    }
}

/// The memory of a field's value is bounded by its marks, so it is known before parsing.
#[test]
fn marks_tell_what_values_take_at_most() {
    for text in [
        "[0]",
        "[[],[],[[]]]",
        "{\"\":{\"\":{\"a\":{}}}}",
        "[{\"a\":\"b\"},{\"a\":\"b\",\"c\":\"\"}]",
        "[\"\",\"abc\",null,true,1e5]",
        "{\"a\":[1,2,3,{\"b\":[[[[\"text\"]]]]}],\"c\":{}}",
    ] {
        let marks = text.bytes().filter(|byte| b"[]{},".contains(byte)).count();
        let mut parser = Parser::new(text.as_bytes(), true);
        let value = parser.value(Filter::new(&[], None)).unwrap();
        assert!(
            parser.taken() > 0 && parser.taken() <= marks * MARK_BYTES + text.len(),
            "{value:?}"
        );
        let mut bounded = Parser::new(text.as_bytes(), true).with_room(parser.taken() - 1);
        assert!(bounded.value(Filter::new(&[], None)).is_err(), "{text}");
    }
}
