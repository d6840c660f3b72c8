//! Tests statements that could take a multiple of the object's size in memory.

use super::{check, check_error, request, run};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{OutputSerialization, SelectRequest};

/// Builds a SELECT of `count` items, whose texts `item` returns for 1, 2, ….
fn select(count: usize, item: impl Fn(usize) -> String, behind: &str) -> SelectRequest {
    let items: Vec<String> = (1..=count).map(item).collect();
    request(&format!("SELECT {} FROM S3Object {behind}", items.join(", ")))
}

fn upper(n: usize) -> String {
    format!("UPPER(SUBSTRING(_1, {n}))")
}

/// Returns a record of 1 MB.
fn long() -> String {
    format!("{}\n", "x".repeat(1_000_000))
}

#[test]
fn a_row_cannot_hold_many_long_texts_that_functions_make() {
    let terms = |count: usize| {
        let terms: Vec<String> = (1..=count).map(|n| format!("{} = 'y'", upper(n))).collect();
        request(&format!("SELECT COUNT(*) FROM S3Object WHERE {}", terms.join(" OR ")))
    };
    check(&terms(20), &long(), "0\n");
    check_error(&terms(100), long(), Code::MaxOperatorsExceeded, "32 MiB");
}

/// All rows of a batch together would take a hundred times their text.
#[test]
fn texts_of_many_rows_are_made_for_fewer_at_a_time() {
    let row = |n| format!("{n},{}\n", "x".repeat(1000));
    let object: String = (1000..2000).map(row).collect();
    let item = |n| format!("UPPER(SUBSTRING(_2, {n}))");
    let terms: Vec<String> = (1..=100).map(|n| format!("{} = 'X'", item(n))).collect();
    let all =
        |terms: &str| format!("SELECT SUM(CAST(_1 AS INT)) FROM S3Object WHERE NOT ({terms})");
    check(&request(&all(&terms.join(" OR "))), &object, "1499500\n");

    let found = |n| format!("MAX({}), COUNT({})", item(n), item(n));
    let (answer, _) = run(&select(60, found, ""), object.clone()).unwrap();
    let expected: Vec<String> = (0..60).map(|n| format!("{},1000", "X".repeat(1000 - n))).collect();
    assert_eq!(String::from_utf8(answer).unwrap(), expected.join(",") + "\n");

    let mut rows = select(100, |n| format!("CHAR_LENGTH({})", item(n)), "WHERE _1 > 1997");
    rows.expression = rows.expression.replace("SELECT", "SELECT _1,");
    let lengths: Vec<String> = (901..=1000).rev().map(|length| length.to_string()).collect();
    let line = |n| format!("{n},{}\n", lengths.join(","));
    check(&rows, &object, &[1998, 1999].map(line).concat());
    rows.expression = rows.expression.replace("WHERE _1 > 1997", "");
    let (answer, _) = run(&rows, object.clone()).unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), (1000..2000).map(line).collect::<String>());

    let mut groups = select(60, |n| format!("MAX(CHAR_LENGTH({}))", item(n)), "GROUP BY _3");
    groups.extras = Extras::ALL;
    let (answer, _) = run(&groups, object).unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), lengths[..60].join(",") + "\n");
}

#[test]
fn a_row_that_fails_is_found_among_rows_of_too_much_text() {
    let literal = "y".repeat(200_000);
    let sql = format!(
        "SELECT CHAR_LENGTH(CASE _1 WHEN 'x' THEN _1 ELSE '{literal}' END) + 5 / _1 FROM S3Object"
    );
    let request = request(&sql.replace("5 / _1", "5 / CAST(_1 AS INT)"));
    let object = format!("{}0\n", "1\n".repeat(300));
    check_error(&request, object, Code::ExternalEvalException, "record 301");
}

#[test]
fn rows_that_are_counted_for_fewer_at_a_time_are_counted_once() {
    let literal = "y".repeat(200_000);
    let sql = format!(
        "SELECT COUNT(*), COUNT(CASE _1 WHEN '7' THEN NULL ELSE '{literal}' END) FROM S3Object"
    );
    let object: String = (0..600).map(|n| format!("{}\n", n % 10)).collect();
    check(&request(&sql), &object, "600,540\n");
}

#[test]
fn aggregates_hold_few_long_texts() {
    let found = |n| format!("MAX(SUBSTRING(_1, {n}))");
    check_error(&select(20, found, ""), long(), Code::OverMaxRecordSize, "8 MiB");
    let lengths = |n| format!("CHAR_LENGTH(MIN(SUBSTRING(_1, {n})))");
    check(&select(3, lengths, ""), &long(), "1000000,999999,999998\n");
    // The same limits hold for groups and for groups of CASEs.
    let mut groups = select(100, found, "GROUP BY _2");
    groups.extras = Extras::ALL;
    check_error(&groups, long(), Code::OverMaxRecordSize, "64 MiB");
    let case = |n| format!("MAX(CASE WHEN _2 = '{}' THEN SUBSTRING(_1, {n}) END)", n % 2);
    let object = format!("{0},0\n{0},1\n", "x".repeat(400_000));
    check_error(&select(40, case, ""), object, Code::OverMaxRecordSize, "8 MiB");
}

#[test]
fn a_key_of_a_group_is_bounded() {
    let keys: Vec<String> = (1..=50).map(|n| format!("SUBSTRING(_1, {n})")).collect();
    let mut groups =
        request(&format!("SELECT COUNT(*) FROM S3Object GROUP BY {}", keys.join(", ")));
    groups.extras = Extras::ALL;
    check_error(&groups, long(), Code::OverMaxRecordSize, "32 MiB");
}

#[test]
fn a_list_cannot_repeat_a_long_text() {
    let item = |_| format!("[{}]", ["_1"; 2000].join(", "));
    let mut lists = select(1, item, "");
    lists.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    check_error(&lists, long(), Code::MaxOperatorsExceeded, "32 MiB");
    let object = "x\n".repeat(3);
    let expected = format!("{{\"_1\":[{}]}}\n", ["\"x\""; 2000].join(","));
    check(&lists, &object, &expected.repeat(3));
}

#[test]
fn a_row_that_repeats_a_long_text_is_refused() {
    for json in [false, true] {
        let mut rows = select(5000, |_| "_1".to_owned(), "");
        if json {
            rows.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
        }
        check_error(&rows, long(), Code::OverMaxRecordSize, "1 MiB");
        rows.expression = rows.expression.replace("_1", "MAX(_1)");
        check_error(&rows, long(), Code::OverMaxRecordSize, "1 MiB");
    }
}
