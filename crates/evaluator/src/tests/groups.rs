//! Tests GROUP BY, an extension of the dialect.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Answer, check, check_error, request, run};
use crate::Evaluation;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{InputFormat, JsonType, OutputSerialization, SelectRequest};

fn grouped(expression: &str) -> SelectRequest {
    SelectRequest { extras: Extras::ALL, ..request(expression) }
}

fn json(expression: &str) -> SelectRequest {
    let mut request = grouped(expression);
    request.input.format = InputFormat::Json(JsonType::Lines);
    request.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    request
}

/// Returns the answer with at most `most` groups in memory.
fn bounded(request: &SelectRequest, object: &str, most: usize) -> String {
    let source = Arc::new(object.as_bytes().to_vec());
    let mut answer = Answer::default();
    let evaluation = Evaluation::prepare(request, source).unwrap().with_max_groups(most);
    evaluation.run(&mut answer).unwrap();
    String::from_utf8(answer.bytes).unwrap()
}

/// Splits the rows of an answer without quotes into fields.
fn lines_of(answer: &str) -> Vec<Vec<String>> {
    answer.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn a_group_has_its_keys_and_its_aggregates() {
    let sql = "SELECT _1, COUNT(*), SUM(CAST(_2 AS INT)), MIN(_2), MAX(_2), COUNT(_2) \
               FROM S3Object GROUP BY _1";
    check(&grouped(sql), "a,1\nb,2\na,3\n,4\n,5\n", "a,2,4,1,3,2\nb,1,2,2,2,1\n,2,9,4,5,2\n");
    check(&grouped(sql), "", "");
    let sql = "SELECT UPPER(_1), 7, COUNT(*) * 10 FROM S3Object WHERE _2 != '2' GROUP BY UPPER(_1)";
    check(&grouped(sql), "a,1\nb,2\nA,3\n", "A,7,20\n");
    let sql = "SELECT COUNT(*) FROM S3Object GROUP BY _1, _2";
    check(&grouped(sql), "a,1\na,2\na,1\n", "2\n1\n");
    check(&grouped("SELECT _1 FROM S3Object GROUP BY _1"), "a\nb\na\n", "a\nb\n");
    let sql = "SELECT 'x' FROM S3Object GROUP BY 'x'";
    check(&grouped(sql), "a\nb\n", "x\n");
}

#[test]
fn null_and_missing_and_the_empty_text_are_three_groups() {
    let object = "{\"g\":null,\"x\":1}\n{\"x\":2}\n{\"g\":\"\"}\n{\"g\":null,\"x\":4}\n";
    check(
        &json("SELECT s.g AS g, COUNT(*) AS n, SUM(s.x) AS x FROM S3Object s GROUP BY s.g"),
        object,
        "{\"g\":null,\"n\":2,\"x\":5}\n{\"n\":1,\"x\":2}\n{\"g\":\"\",\"n\":1,\"x\":null}\n",
    );
    let sql = "SELECT NULLIF(_1, ''), COUNT(_2) FROM S3Object GROUP BY NULLIF(_1, '')";
    check(&grouped(sql), ",1\na,2\n,3\n", ",2\na,1\n");
}

#[test]
fn groups_are_asked_for_and_made_of_plain_values() {
    let sql = "SELECT _1 FROM S3Object GROUP BY _1";
    check_error(&request(sql), "a\n", Code::ParseUnsupportedSyntax, "only WHERE and LIMIT");
    let object = "{\"g\":1}\n{\"g\":[1]}\n";
    let error = run(&json("SELECT COUNT(*) FROM S3Object s GROUP BY s.g"), object).unwrap_err();
    assert_eq!(error.code, Code::InvalidDataType);
    assert!(error.message.contains("GROUP BY takes no list. (value 2"), "{error}");
    let sql = "SELECT SUM(CAST(_2 AS INT)) FROM S3Object GROUP BY _1";
    let object = "a,9223372036854775807\nb,1\na,1\n";
    assert_eq!(run(&grouped(sql), object).unwrap_err().code, Code::IntegerOverflow);
    // The parts of the sum do not overflow.
    assert_eq!(bounded(&grouped(sql), object, 1), "9223372036854775807\n1\n1\n");
}

/// The rows of a group add up to the same result, however few groups are kept in memory.
#[test]
fn parts_of_groups_make_the_groups() {
    let object: String =
        (0..5000_u64).map(|n| format!("{},{}\n", n * 7919 % 97 % 23, n * n % 1009)).collect();
    let sql = "SELECT _1, COUNT(*), SUM(CAST(_2 AS INT)), MIN(CAST(_2 AS INT)) \
               FROM S3Object GROUP BY _1";
    let merged = |answer: &str| {
        let mut groups: BTreeMap<String, (i64, i64, i64)> = BTreeMap::new();
        for line in lines_of(answer) {
            let [group, numbers @ ..] = line.as_slice() else { panic!("{line:?}") };
            let numbers: Vec<i64> = numbers.iter().map(|n| n.parse().unwrap()).collect();
            let known = groups.entry(group.clone()).or_insert((0, 0, i64::MAX));
            *known = (known.0 + numbers[0], known.1 + numbers[1], known.2.min(numbers[2]));
        }
        groups
    };
    let whole = bounded(&grouped(sql), &object, 1 << 16);
    assert_eq!(whole.lines().count(), 23);
    for most in [0, 1, 2, 3, 22, 23] {
        let parts = bounded(&grouped(sql), &object, most);
        assert_eq!(merged(&parts), merged(&whole), "{most}");
        assert_eq!(parts.lines().count() == 23, most == 23, "{most}");
    }
}

/// Thousands of groups make the table grow.
#[test]
fn many_groups_are_told_apart() {
    let object: String = (0..40_000).map(|n| format!("{},{}\n", n % 20_000, n)).collect();
    let (answer, _) = run(
        &grouped("SELECT _1, COUNT(*), SUM(CAST(_2 AS INT)) FROM S3Object GROUP BY _1"),
        object,
    )
    .unwrap();
    let answer = String::from_utf8(answer).unwrap();
    for (number, line) in answer.lines().enumerate() {
        assert_eq!(line, format!("{number},2,{}", 2 * number + 20_000));
    }
    assert_eq!(answer.lines().count(), 20_000);
}

/// Texts among the least and greatest values are limited too.
#[test]
fn long_texts_make_groups_come_early() {
    let long = "x".repeat(500_000);
    let object: String = (0..160).map(|n| format!("{},{long}{}\n", n % 80, 200 - n)).collect();
    let sql = "SELECT _1, SUBSTRING(MIN(_2), 500001) FROM S3Object GROUP BY _1";
    let (answer, stats) = run(&grouped(sql), object.clone()).unwrap();
    assert_eq!(stats.bytes_scanned, object.len() as u64);
    let rows = String::from_utf8(answer).unwrap().lines().count();
    assert!((81..=160).contains(&rows), "{rows}");
}
