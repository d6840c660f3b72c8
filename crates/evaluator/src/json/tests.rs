use proptest::prelude::*;

use crate::tests::{check, check_error, request, run};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{
    Compression, InputFormat, InputSerialization, JsonType, OutputSerialization, ScanRange,
    SelectRequest,
};

fn json(layout: JsonType, expression: &str) -> SelectRequest {
    SelectRequest {
        input: InputSerialization {
            format: InputFormat::Json(layout),
            compression: Compression::None,
        },
        output: OutputSerialization::Json { record_delimiter: "\n".to_owned() },
        ..request(expression)
    }
}

fn lines(expression: &str) -> SelectRequest {
    json(JsonType::Lines, expression)
}

fn document(expression: &str) -> SelectRequest {
    json(JsonType::Document, expression)
}

const PEOPLE: &str = r#"{"name":"Ann","age":30,"address":{"city":"Rome","zip":["0","1"]}}
{"name":"Bob","age":null,"Address":{}}

{"name":"Cid"}
"#;

#[test]
fn paths_lead_into_values() {
    let name = "{\"name\":\"Ann\"}\n{\"name\":\"Bob\"}\n{\"name\":\"Cid\"}\n";
    check(&lines("SELECT s.name FROM S3Object s"), PEOPLE, name);
    check(&lines("SELECT NAME AS name FROM S3Object"), PEOPLE, name);
    check(&lines("SELECT _1.name FROM S3Object[*]"), PEOPLE, name);
    check(&lines("SELECT S3Object.name FROM S3Object[*]"), PEOPLE, name);
    check(
        &lines("SELECT s.address.city, s.address.zip[1] AS z FROM S3Object s"),
        PEOPLE,
        "{\"city\":\"Rome\",\"z\":\"1\"}\n{}\n{}\n",
    );
    check(&lines("SELECT s.\"Address\" FROM S3Object s LIMIT 2"), PEOPLE, "{}\n{\"Address\":{}}\n");
}

#[test]
fn null_is_not_missing() {
    let ask = |filter: &str| lines(&format!("SELECT s.name FROM S3Object s WHERE {filter}"));
    check(&ask("s.age IS NULL"), PEOPLE, "{\"name\":\"Bob\"}\n{\"name\":\"Cid\"}\n");
    check(&ask("s.age IS MISSING"), PEOPLE, "{\"name\":\"Cid\"}\n");
    check(&ask("s.age > 20"), PEOPLE, "{\"name\":\"Ann\"}\n");
    check(&ask("s.age != 31"), PEOPLE, "{\"name\":\"Ann\"}\n");
    let count = lines("SELECT COUNT(*) AS n, COUNT(s.age) AS a FROM S3Object s");
    check(&count, PEOPLE, "{\"n\":3,\"a\":1}\n");
    check(&lines("SELECT s.age FROM S3Object s"), PEOPLE, "{\"age\":30}\n{\"age\":null}\n{}\n");
}

#[test]
fn numbers_keep_what_they_were() {
    let same = |object: &str, expected: &str| {
        check(&lines("SELECT s.a FROM S3Object s"), object, &format!("{expected}\n"));
    };
    same(
        r#"{"a":[1,1.50,1e2,9223372036854775808,0.1,100000000000000000000000000000000000000000]}"#,
        r#"{"a":[1,1.50,100.0,9223372036854775808,0.1,1e41]}"#,
    );
    // Only a float has a zero below zero; only a decimal has so many digits.
    same(r#"{"a":[0,-0,-0.00,-0e5]}"#, r#"{"a":[0,-0.0,-0.0,-0.0]}"#);
    same(
        r#"{"a":[1.2345678901234567891e2,12.5E-1,1e-300]}"#,
        r#"{"a":[123.45678901234567891,1.25,1e-300]}"#,
    );
}

const RULES: &str = r#"{ "Rules": [
    {"id": "1"},
    {"expr": "y > x"},
    {"id": "2", "expr": "z = DEBUG"}
] }
{ "created": "June 27", "modified": "July 6" }"#;

#[test]
fn paths_of_from() {
    check(
        &document("SELECT id FROM S3Object[*].Rules[*].id"),
        RULES,
        "{\"id\":\"1\"}\n{}\n{\"id\":\"2\"}\n{}\n",
    );
    check(
        &document("SELECT id FROM S3Object[*].Rules[*].id WHERE id IS NOT MISSING"),
        RULES,
        "{\"id\":\"1\"}\n{\"id\":\"2\"}\n",
    );
    check(
        &document("SELECT r.expr FROM S3Object[*].rules[*] AS r WHERE r.expr LIKE '%DEBUG'"),
        RULES,
        "{\"expr\":\"z = DEBUG\"}\n",
    );
    check(&document("SELECT _1.id FROM S3Object[*].Rules[*] LIMIT 1"), RULES, "{\"id\":\"1\"}\n");
    check(&document("SELECT r.id FROM S3Object[*].Rules[2] r"), RULES, "{\"id\":\"2\"}\n{}\n");
    check(&document("SELECT COUNT(*) AS n FROM S3Object[*].*"), RULES, "{\"n\":3}\n");
    check(
        &document("SELECT * FROM S3Object[*][*] s"),
        "[{\"a\":1},{\"a\":2}] []",
        "{\"a\":1}\n{\"a\":2}\n{}\n",
    );
    check(
        &document("SELECT * FROM S3Object s"),
        "1 \"x\" [2]",
        "{\"_1\":1}\n{\"_1\":\"x\"}\n{\"_1\":[2]}\n",
    );
}

#[test]
fn whole_rows_come_back() {
    let object = "{\"b\":1,\"a\":{\"x\":[]},\"b\":2,\"é\":\"\\u00e9\\ud83d\\ude00\\/\\n\"}\n";
    let same = "{\"b\":1,\"a\":{\"x\":[]},\"b\":2,\"é\":\"é😀/\\n\"}\n";
    check(&lines("SELECT * FROM S3Object"), object, same);
    check(&lines("SELECT s FROM S3Object s"), "{\"a\":1}", "{\"s\":{\"a\":1}}\n");
    check(&lines("SELECT s.b FROM S3Object s"), object, "{\"b\":2}\n");
}

#[test]
fn csv_answers() {
    let mut ask = lines("SELECT s.name, s.age, s.address FROM S3Object s LIMIT 1");
    ask.output = request("").output;
    let expected = "Ann,30,\"{\"\"city\"\":\"\"Rome\"\",\"\"zip\"\":[\"\"0\"\",\"\"1\"\"]}\"\n";
    check(&ask, PEOPLE, expected);
}

#[test]
fn bad_json_is_refused_where_it_is() {
    for (object, message) in [
        ("{\"a\":1}\n{\"a\":}\n", "value 2, byte 13"),
        ("{\"a\":1} x\n", "follows"),
        ("{\"a\":01}\n", "number"),
        ("{\"a\":1.}\n", "number"),
        ("{\"a\":tru}\n", "value"),
        ("{\"a\":1\n", "too early"),
        ("{'a':1}\n", "string"),
        ("{\"a\":\"\\x\"}\n", "escape"),
        ("{\"a\":\"\\ud800\"}\n", "escape"),
        ("{\"a\":\"\\u+123\"}\n", "escape"),
        ("{\"a\":\"\t\"}\n", "control"),
        ("[1,]\n", "value"),
        ("{\"a\":1e400}\n", "too large"),
        ("{\"a\":12345678901234567890123456789012345678901}\n", "38 digits"),
        ("{\"a\":0.1299999999999999999999999999999999999999999}\n", "38 digits"),
    ] {
        check_error(&lines("SELECT s FROM S3Object s"), object, Code::JSONParsingError, message);
    }
    check_error(
        &lines("SELECT s FROM S3Object s"),
        *b"{\"a\":\"\xff\"}",
        Code::InvalidTextEncoding,
        "UTF-8",
    );
    check_error(
        &document("SELECT s FROM S3Object s"),
        "{\"a\":[1,",
        Code::JSONParsingError,
        "too early",
    );
    let deep = "[".repeat(100_000);
    for ask in [document("SELECT s FROM S3Object s"), document("SELECT s.a FROM S3Object s")] {
        check_error(&ask, deep.clone(), Code::JSONParsingError, "deeply");
    }
    let ambiguous = lines("SELECT s.a FROM S3Object s");
    check_error(&ambiguous, "{\"a\":1,\"A\":2}", Code::AmbiguousFieldName, "a");
}

#[test]
fn rows_before_a_bad_one_are_answered() {
    let ask = lines("SELECT s.a FROM S3Object s LIMIT 1");
    check(&ask, "{\"a\":1}\nnonsense\n", "{\"a\":1}\n");
}

#[test]
fn long_values_are_refused() {
    let long = format!("\"{}\"\n", "x".repeat(1 << 20));
    check_error(&lines("SELECT s FROM S3Object s"), long, Code::OverMaxRecordSize, "1 MiB");
    let long = format!("[{}0]", "0,".repeat(5 << 20));
    let ask = document("SELECT COUNT(*) AS n FROM S3Object[*][*] s");
    check_error(&ask, long, Code::OverMaxRecordSize, "8 MiB");
    let many = format!("[{}0]", "0,".repeat(3 << 20));
    check(&ask, &many, &format!("{{\"n\":{}}}\n", (3 << 20) + 1));
}

#[test]
fn compressed_objects() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(PEOPLE.as_bytes()).unwrap();
    let object = encoder.finish().unwrap();
    let mut ask = lines("SELECT COUNT(*) AS n FROM S3Object");
    ask.input.compression = Compression::Gzip;
    let (answer, stats) = run(&ask, object.clone()).unwrap();
    assert_eq!(answer, b"{\"n\":3}\n");
    assert_eq!(
        (stats.bytes_scanned, stats.bytes_processed),
        (object.len() as u64, PEOPLE.len() as u64)
    );
    check_error(&ask, &object[..object.len() - 12], Code::TruncatedInput, "GZIP");
}

/// Any JSON value, as text that reads back the same.
fn value(depth: u32) -> BoxedStrategy<serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

proptest! {
    #[test]
    fn what_is_read_is_what_is_written(values in proptest::collection::vec(value(4), 0..6)) {
        let object: String = values.iter().map(|value| format!("{value}\n")).collect();
        let expected: String = values.iter().map(|value| format!("{{\"s\":{value}}}\n")).collect();
        for layout in [JsonType::Lines, JsonType::Document] {
            let (answer, stats) = run(&json(layout, "SELECT s FROM S3Object s"), object.clone()).unwrap();
            prop_assert_eq!(String::from_utf8(answer).unwrap(), expected.clone());
            prop_assert_eq!(stats.bytes_processed, object.len() as u64);
        }
    }

    #[test]
    fn every_line_is_in_one_range(lengths in proptest::collection::vec(0usize..30, 1..20), cuts in proptest::collection::btree_set(1u64..400, 0..5)) {
        let object: String = lengths.iter().enumerate()
            .map(|(i, length)| format!("{{\"i\":{i},\"x\":\"{}\"}}\n", "y".repeat(*length)))
            .collect();
        let whole = run(&lines("SELECT s.i FROM S3Object s"), object.clone()).unwrap().0;
        let mut answer = Vec::new();
        let mut bytes = 0;
        let mut start = 0;
        for cut in cuts.into_iter().filter(|cut| *cut < object.len() as u64).chain([object.len() as u64]) {
            let mut ask = lines("SELECT s.i FROM S3Object s");
            ask.scan_range = Some(ScanRange::Bounded { start, last: cut - 1 });
            let (rows, stats) = run(&ask, object.clone()).unwrap();
            answer.extend(rows);
            bytes += stats.bytes_scanned;
            start = cut;
        }
        prop_assert_eq!(answer, whole);
        prop_assert!(bytes <= 2 * object.len() as u64 + 400);
    }

    #[test]
    fn no_bytes_panic(object in proptest::collection::vec(prop::sample::select(b"{}[],:\"\\ua10.e-+ \n\xffntf".to_vec()), 0..60)) {
        for layout in [JsonType::Lines, JsonType::Document] {
            let _ = run(&json(layout, "SELECT s.a, s[0] FROM S3Object s"), object.clone());
            let _ = run(&json(layout, "SELECT * FROM S3Object[*].a[*].*"), object.clone());
        }
    }
}
