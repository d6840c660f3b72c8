use std::sync::Arc;

use proptest::prelude::*;

use super::JsonReader;
use crate::batch::{BatchReader as _, Columns as _};
use crate::output::RowWriter;
use crate::scan_range::ByteRange;
use crate::source::ObjectSource;
use crate::tests::{check, check_error, request, run};
use sluicegate_s3select::dialect::ast::{Name, PathStep};
use sluicegate_s3select::dialect::parse;
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{
    Compression, CsvOutput, InputFormat, InputSerialization, JsonType, OutputSerialization,
    QuoteFields, ScanRange, SelectRequest,
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
fn paths_by_index_lead_into_rows_that_are_arrays() {
    let rows = "[{\"a\":[1,2]},[7,8],5]\n{\"a\":3}\n";
    for json in [lines, document] {
        for from in ["S3Object s", "S3Object[*] s"] {
            let check = |items: &str, expected: &str| {
                check(
                    &json(&format!("SELECT {items}").replace("FROM", &format!("FROM {from}"))),
                    rows,
                    expected,
                );
            };
            check("s[0] FROM", "{\"_1\":{\"a\":[1,2]}}\n{}\n");
            check("s[1][0] AS x, s[0].a[1] AS y FROM", "{\"x\":7,\"y\":2}\n{}\n");
            check("COUNT(s[0]) AS n, SUM(s[2]) AS m FROM", "{\"n\":1,\"m\":5}\n");
            check("s[2] AS x FROM WHERE s[2] = 5", "{\"x\":5}\n");
            check("COUNT(*) AS n FROM WHERE s[0] IS MISSING", "{\"n\":1}\n");
        }
    }
}

#[test]
fn a_statement_may_name_many_fields() {
    let names: Vec<String> = (0..30_000).map(|n| format!("a{n}")).collect();
    let statement = format!("SELECT {} FROM S3Object s", names.join(","));
    let row = "{\"a29999\":1,\"A7\":2,\"b\":[3]}\n";
    check(&lines(&statement), row, "{\"a7\":2,\"a29999\":1}\n");
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
    // Zeros at the end of a fraction do not exceed the room of a decimal.
    let zeros = "0".repeat(60);
    same(
        &format!(r#"{{"a":[99999999999999999.99{zeros},0.5{zeros}e1,0.{zeros},1.5{zeros}]}}"#),
        &format!(
            r#"{{"a":[99999999999999999.99{},5.0,0.{},1.5{}]}}"#,
            &zeros[..19],
            &zeros[..38],
            &zeros[..36]
        ),
    );
    let cast = "SELECT CAST(CAST(s.w AS STRING) AS DECIMAL(38, 2)) AS w FROM S3Object s";
    let row = format!(r#"{{"w":99999999999999999.99{}}}"#, &zeros[..26]);
    check(&lines(cast), &row, "{\"w\":99999999999999999.99}\n");
    // Only a float has a negative zero; only a decimal has so many digits.
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
    // COUNT(*) does not count a record that stands for no match.
    for (object, count) in [
        ("{\"a\":[]}", 0),
        ("{\"a\":[1,null,{}]} {\"a\":[]} {\"b\":1} {\"a\":[2]}", 4),
        ("{\"a\":5} []", 0),
    ] {
        let expected = format!("{{\"n\":{count}}}\n");
        check(&document("SELECT COUNT(*) AS n FROM S3Object[*].a[*]"), object, &expected);
        let lines_of = object.replace("} ", "}\n").replace("5 ", "5\n");
        check(&lines("SELECT COUNT(*) AS n FROM S3Object[*].a[*]"), &lines_of, &expected);
    }
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
    let ask = |expression| SelectRequest { output: request("").output, ..lines(expression) };
    let scalars = ask("SELECT s.name, s.age, s.address.zip[1] FROM S3Object s");
    check(&scalars, PEOPLE, "Ann,30,1\nBob,,\nCid,,\n");
    for nested in ["SELECT s.address FROM S3Object s", "SELECT * FROM S3Object"] {
        check_error(
            &ask(nested),
            PEOPLE,
            Code::InvalidDataType,
            "struct can only be returned as JSON",
        );
    }
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
        ("{\"a\":\"\\ud800\"}\n", "surrogate"),
        ("{\"a\":\"\\ud800\\u00e9\"}\n", "surrogate"),
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
fn a_byte_order_mark_is_no_json() {
    for ask in [lines("SELECT s FROM S3Object s"), document("SELECT s FROM S3Object s")] {
        check_error(&ask, "\u{feff}{\"a\":1}\n", Code::JSONParsingError, "byte order mark");
    }
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
    for ask in ["SELECT s FROM S3Object s", "SELECT COUNT(*) AS n FROM S3Object[*] s"] {
        check_error(&document(ask), long.clone(), Code::OverMaxRecordSize, "8 MiB");
    }
    let long = format!("[[{}0]]", "0,".repeat(5 << 20));
    let ask = document("SELECT s[0] AS v FROM S3Object[*][*] s");
    check_error(&ask, long, Code::OverMaxRecordSize, "8 MiB");
}

#[test]
fn a_path_of_from_leads_into_values_of_any_length() {
    let numbers = "0,".repeat(5 << 20);
    let ask = document("SELECT COUNT(*) AS n FROM S3Object[*][*] s");
    check(&ask, &format!("[{numbers}0]"), &format!("{{\"n\":{}}}\n", (5 << 20) + 1));
    // Text beside the path may be long, and so may the text after the value.
    let object = format!("{{\"junk\":[[{numbers}0]],\"a\":[{{\"b\":1}},{{\"b\":2}}]}} {{\"a\":3}}");
    check(&document("SELECT r.b FROM S3Object[*].a[*] r"), &object, "{\"b\":1}\n{\"b\":2}\n{}\n");
    check(&document("SELECT r.b FROM S3Object[*].a[1] r LIMIT 1"), &object, "{\"b\":2}\n");
    let broken = format!("[{numbers}0}}");
    check_error(&ask, broken, Code::JSONParsingError, "bracket");
    check_error(&ask, format!("[{numbers}0"), Code::JSONParsingError, "too early");
    for (twice, code) in
        [("\"a\":1,\"a\":2", Code::JSONParsingError), ("\"a\":1,\"A\":2", Code::AmbiguousFieldName)]
    {
        let object = format!("{{{twice},\"junk\":[{numbers}0]}}");
        check_error(&document("SELECT r FROM S3Object[*].a r"), object, code, "FROM");
    }
}

#[test]
fn text_that_is_not_unicode_fails_only_what_looks_at_it() {
    let object =
        r#"{"bad":"\ud800","a":{"b":1,"c":"\udc00x","\ud800\ud800":[2]},"l":[3,"\udbff"]}"#;
    for (ask, answer) in [
        ("SELECT s.a.b, s.l[0] AS l FROM S3Object s", "{\"b\":1,\"l\":3}\n"),
        ("SELECT COUNT(*) AS n FROM S3Object", "{\"n\":1}\n"),
        ("SELECT b FROM S3Object[*].a.b", "{\"b\":1}\n"),
        ("SELECT COUNT(*) AS n FROM S3Object[*].a.*", "{\"n\":3}\n"),
        ("SELECT s.nothing FROM S3Object s WHERE s.a.b = 1", "{}\n"),
    ] {
        check(&lines(ask), object, answer);
        check(&document(ask), object, answer);
    }
    for ask in
        ["SELECT s.bad FROM S3Object s", "SELECT * FROM S3Object", "SELECT s.a FROM S3Object s"]
    {
        check_error(&lines(ask), object, Code::JSONParsingError, "surrogate");
    }
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

fn from_path() -> impl Strategy<Value = Vec<PathStep>> {
    let step = prop_oneof![
        "[a-c]".prop_map(|text| PathStep::Field(Name { text, quoted: false })),
        (0u64..3).prop_map(PathStep::Index),
        Just(PathStep::AnyIndex),
        Just(PathStep::AnyField),
    ];
    proptest::collection::vec(step, 1..4)
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

    /// A long value that is read in pieces gives the same rows as the whole.
    #[test]
    fn a_descent_finds_the_rows_of_the_whole(values in proptest::collection::vec(value(5), 0..4), path in from_path()) {
        let object: String = values.iter().map(|value| format!("{value:#}\n")).collect();
        let rows = |max_document_bytes| {
            let from = path.iter().map(|step| match step {
                PathStep::Field(name) => format!(".{}", name.text),
                PathStep::Index(index) => format!("[{index}]"),
                PathStep::AnyIndex => "[*]".to_owned(),
                PathStep::AnyField => ".*".to_owned(),
            });
            let from: String = from.collect();
            let query = parse(&format!("SELECT * FROM S3Object[*]{from} s")).unwrap();
            let source: Arc<dyn ObjectSource> = Arc::new(object.clone().into_bytes());
            let (reader, schema) = JsonReader::open(&source, JsonType::Document, Compression::None, ByteRange::ALL, &query.from);
            let mut reader = reader.with_max_document_bytes(max_document_bytes).read_only(schema, true);
            let mut rows = RowWriter::new(&OutputSerialization::Json { record_delimiter: "\n".to_owned() }).unwrap();
            while reader.next_batch().unwrap() {
                for row in 0..reader.rows() {
                    rows.begin_row();
                    reader.write_row(row, &mut rows).unwrap();
                    rows.end_row().unwrap();
                }
            }
            (String::from_utf8(rows.bytes().to_vec()).unwrap(), reader.bytes_read())
        };
        prop_assert_eq!(rows(0), rows(usize::MAX));
    }

    /// Text that a statement does not read need not be valid Unicode.
    #[test]
    fn broken_text_elsewhere_changes_nothing(
        row in proptest::collection::btree_map("[a-c]", value(2), 0..3),
        junk in proptest::collection::vec(("[x-z]", "(\\\\ud[89ab][0-9a-f]{2}|\\\\ud[c-f][0-9a-f]{2}|[a-z]){1,4}", any::<bool>()), 0..4),
    ) {
        let clean = serde_json::Value::Object(row.clone().into_iter().collect()).to_string();
        let mut members: Vec<_> = row.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        for (at, (name, text, in_name)) in junk.iter().enumerate() {
            let member = if *in_name { format!("\"{name}{text}\":0") } else { format!("\"{name}\":[\"{text}\"]") };
            members.insert(at.min(members.len()), member);
        }
        let broken = format!("{{{}}}", members.join(","));
        for ask in [
            "SELECT s.a, s.b.a AS ba, s.c[0] AS c0 FROM S3Object s",
            "SELECT COUNT(*) AS n, COUNT(s.b) AS b FROM S3Object s WHERE s.a IS NOT NULL",
            "SELECT r FROM S3Object[*].a[*] r",
        ] {
            for layout in [JsonType::Lines, JsonType::Document] {
                let [clean, broken] = [&clean, &broken].map(|object| run(&json(layout, ask), object.as_str()).map(|(answer, _)| answer));
                prop_assert_eq!(clean, broken, "{}", ask);
            }
        }
    }

    /// A CSV answer has the text of scalars and rejects everything else.
    #[test]
    fn nested_values_are_not_returned_as_csv(value in value(2)) {
        use serde_json::Value as Json;
        let mut ask = lines("SELECT s.v, 1 FROM S3Object s");
        ask.output = OutputSerialization::Csv(CsvOutput { quote_fields: QuoteFields::Always, ..CsvOutput::default() });
        let object = format!("{{\"v\":{value}}}\n");
        let expected = match &value {
            Json::Null => String::new(),
            Json::String(text) => text.replace('"', "\"\""),
            scalar => scalar.to_string(),
        };
        match run(&ask, object) {
            Ok((answer, _)) => {
                prop_assert!(!value.is_array() && !value.is_object(), "{}", value);
                prop_assert_eq!(String::from_utf8(answer).unwrap(), format!("\"{expected}\",\"1\"\n"));
            }
            Err(error) => {
                prop_assert!(value.is_array() || value.is_object(), "{}: {}", value, error);
                prop_assert_eq!(error.code, Code::InvalidDataType);
            }
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
