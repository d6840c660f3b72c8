//! Tests that fields found in place equal those of the parsed values.

use std::sync::Arc;

use proptest::prelude::*;

use super::{JsonReader, ValueBudget};
use crate::batch::{BatchReader as _, Columns as _, Schema};
use crate::scan_range::ByteRange;
use crate::selection::Rows;
use crate::source::ObjectSource;
use crate::vector::Vector;
use sluicegate_s3select::dialect::ast::{Expr, Projection};
use sluicegate_s3select::dialect::parse;
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{Compression, JsonType};
use sluicegate_s3select::value::Value;

/// The rows before the first error, with their positions and columns; the error; and the number of rows that were
/// parsed to values.
type Read = (Vec<(String, Vec<Value>)>, Option<Code>, usize);

fn read(object: &str, layout: JsonType, statement: &str, by_value: bool, max_bytes: usize) -> Read {
    read_in(None, object, layout, statement, by_value, max_bytes)
}

/// Opens a reader for a statement that selects paths. Returns it with the number of paths.
pub(super) fn open(object: &str, layout: JsonType, statement: &str) -> (JsonReader, usize) {
    let query = parse(statement).unwrap();
    let Projection::Items(items) = &query.projection else { unreachable!() };
    let source: Arc<dyn ObjectSource> = Arc::new(object.as_bytes().to_vec());
    let (reader, mut schema) =
        JsonReader::open(&source, layout, Compression::None, ByteRange::ALL, &query.from);
    for item in items {
        let Expr::Path(path) = &item.expr else { unreachable!() };
        schema.resolve(query.from.within_row(path)).unwrap();
    }
    (reader.read_only(schema, false), items.len())
}

fn read_in(
    room: Option<ValueBudget>,
    object: &str,
    layout: JsonType,
    statement: &str,
    by_value: bool,
    max_bytes: usize,
) -> Read {
    let (reader, items) = open(object, layout, statement);
    let mut reader = reader.with_max_rows(8192).with_max_document_bytes(max_bytes);
    if by_value {
        reader = reader.by_value();
    }
    if let Some(room) = room {
        reader = reader.with_room(room);
    }
    let (mut rows, mut values) = (Vec::new(), 0);
    loop {
        match reader.next_batch() {
            Ok(true) => {}
            Ok(false) => return (rows, None, values),
            Err(error) => return (rows, Some(error.code), values),
        }
        values += reader.values();
        let n = reader.rows();
        let mut columns = Vec::new();
        for column in 0..items {
            let mut whole = Vector::default();
            let read = reader.read_column(column, Rows::All(n), &mut whole).is_ok();
            let mut single = Vector::default();
            let mut column_values = Vec::new();
            for row in 0..n {
                let list = [row as u32];
                if let Err(error) = reader.read_column(column, Rows::List(&list), &mut single) {
                    return (rows, Some(error.code), values);
                }
                let value = single.value(row, reader.block()).unwrap();
                // The value of a row does not depend on the other rows read with it.
                assert!(!read || whole.value(row, reader.block()).unwrap() == value);
                column_values.push(value);
            }
            columns.push(column_values);
        }
        for row in 0..n {
            let values = columns.iter().map(|column| column[row].clone()).collect();
            rows.push((reader.locate(row), values));
        }
    }
}

fn member() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "\"a\"",
        "\"a\"",
        "\"b\"",
        "\"b\"",
        "\"A\"",
        "\"d\"",
        "\"é\"",
        "\"\\u0061\"",
        "\"x\\\"y\"",
    ]);
    let value = prop::sample::select(vec![
        "1",
        "2",
        "-5",
        "-0",
        "12.50",
        "-0.0",
        "1e3",
        "12345678901234567890",
        "99999999999999999.9900000000000000000000000000",
        "100000000000000000000000000000000000000.00",
        "0.00000000000000000000000000000000000000000000000012",
        "2.50000000000000000000000000000000000000000000000e-3",
        "null",
        "true",
        "false",
        "\"\"",
        "\"t\"",
        "\"u\"",
        "\"é\"",
        "\"q\\\"uo,te\"",
        "\"\\\\\"",
        "\"{[,\"",
        "\"\\u00e9\\n\"",
        "\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
        "[1,{\"c\":2}]",
        "{\"c\":\"x,}\",\"e\":[[],{}]}",
        "{}",
        "[ ]",
    ]);
    (name, value, prop::sample::select(vec!["", "", "", " ", "\t "]))
        .prop_map(|(name, value, space)| format!("{space}{name}{space}:{space}{value}{space}"))
}

fn row() -> impl Strategy<Value = String> {
    let object = |members: Vec<String>| format!("{{{}}}", members.join(","));
    let regular = |(a, b): (i32, String)| format!("{{\"a\":{a},\"b\":\"{b}\",\"d\":[{a}]}}");
    prop_oneof![
        4 => prop::collection::vec(member(), 0..5).prop_map(object),
        4 => (any::<i32>(), "[a-z]{0,9}").prop_map(regular),
        1 => prop::sample::select(vec!["{ }", "5", "\"x\"", "[1,[2]]", "null"])
            .prop_map(str::to_owned),
    ]
}

const STATEMENTS: [&str; 5] = [
    "SELECT s.a, s.\"A\", s.b, s.d[0], s.d[1].c, s.d.c FROM FROM s",
    "SELECT s.b FROM FROM s",
    "SELECT s[0], s.nothing FROM FROM s",
    "SELECT s[0], s[1][0] FROM FROM s",
    "SELECT s.a.c, s.\"é\" FROM FROM s",
];

/// Returns limits that fit nothing, or only some rows.
fn little_room() -> impl Strategy<Value = ValueBudget> {
    let bytes = || prop::sample::select(vec![0, 100, 1000]);
    (bytes(), bytes()).prop_map(|(batch, free)| ValueBudget {
        batch: batch + 1,
        free,
        row: 1 << 20,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn fields_are_those_of_values(
        rows in prop::collection::vec(row(), 0..12),
        statement in prop::sample::select(STATEMENTS.to_vec()),
        layout in prop::sample::select(vec![JsonType::Lines, JsonType::Document]),
        between in prop::sample::select(vec!["\n", "\r\n", " \n\n"]),
        room in little_room(),
    ) {
        let statement = statement.replace("FROM FROM", "FROM S3Object");
        let object = rows.join(between);
        let expected = read(&object, layout, &statement, true, usize::MAX);
        for (room, by_value) in [(None, false), (Some(room), false), (Some(room), true)] {
            let (rows, error, _) = read_in(room, &object, layout, &statement, by_value, usize::MAX);
            prop_assert_eq!(error, expected.1);
            // Smaller batches may end before a row whose column is wrong.
            prop_assert!(rows == expected.0 || error.is_some() && rows.starts_with(&expected.0));
        }
    }

    /// Rows in the arrays that FROM passes through are the same, whether the document is in memory or not.
    #[test]
    fn rows_of_a_document_are_those_of_its_value(
        rows in prop::collection::vec(row(), 0..12),
        statement in prop::sample::select(STATEMENTS.to_vec()),
        twice: bool,
        max_bytes in prop::sample::select(vec![0, usize::MAX]),
        room in prop::option::of(little_room()),
    ) {
        let array = format!("[{}]", rows.join(" ,"));
        let again = if twice { ",\"r\":[{}]" } else { "" };
        for (from, object) in [
            ("FROM S3Object[*][*]", array.clone()),
            ("FROM S3Object[*].r[*]", format!("{{\"q\":{array},\"r\":{array}{again}}}")),
            ("FROM S3Object[*].r.q[*]", format!("{{\"r\":{{\"q\":{array}}}{again}}} {{\"r\":1}}")),
        ] {
            let statement = statement.replace("FROM FROM", from);
            let values_of = |(rows, error, _): Read| {
                (rows.into_iter().map(|(_, values)| values).collect::<Vec<_>>(), error)
            };
            let whole = values_of(read(&object, JsonType::Document, &statement, true, usize::MAX));
            let layout = JsonType::Document;
            let parts = read_in(room, &object, layout, &statement, false, max_bytes);
            let parts = values_of(parts);
            // If a name is repeated, a long or large value is rejected.
            if (max_bytes > 0 && room.is_none()) || !twice {
                // Rows before a bad one are only returned if rows are read one by one.
                prop_assert_eq!(parts.1, whole.1);
                prop_assert!(whole.0 == parts.0 || whole.1.is_some());
            }
        }
    }

    /// Damage in a line is found if it shows without parsing single values. If the parser accepts the damaged lines,
    /// reading only fields gives the same answer.
    #[test]
    fn damage_changes_no_row_that_can_be_read(
        rows in prop::collection::vec(row(), 1..6),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"\"\\{}[],:\n x1".to_vec()),
        statement in prop::sample::select(STATEMENTS.to_vec()),
    ) {
        let statement = statement.replace("FROM FROM", "FROM S3Object");
        let mut object = rows.join("\n").into_bytes();
        let at = at.index(object.len());
        object[at] = byte;
        if let Ok(object) = String::from_utf8(object) {
            let (values, error, _) = read(&object, JsonType::Lines, &statement, true, usize::MAX);
            let (fields, lax, _) = read(&object, JsonType::Lines, &statement, false, usize::MAX);
            if error.is_none() {
                prop_assert_eq!((fields, lax), (values, error));
            }
        }
    }
}

#[test]
fn lines_of_the_same_fields_are_not_made_into_values() {
    let line = |i: i32| format!("{{\"a\": {i}, \"b\": \"text {i}\", \"d\": [{i}]}}\n");
    let object: String = (0..5000).map(line).collect();
    for layout in [JsonType::Lines, JsonType::Document] {
        let (rows, error, values) =
            read(&object, layout, "SELECT s.b, s.d[0] FROM S3Object s", false, usize::MAX);
        assert_eq!((rows.len(), error, values), (5000, None, 0));
        assert_eq!(rows[4999].1, [Value::String("text 4999".to_owned()), Value::Int(4999)]);
    }
    let array = format!("[{}{{}}]", object.replace('\n', ","));
    let (rows, error, values) =
        read(&array, JsonType::Document, "SELECT s.a FROM S3Object[*][*] s", false, usize::MAX);
    assert_eq!((rows.len(), error, values), (5001, None, 0));
}

/// Values that a statement does not read are checked only in part.
#[test]
fn what_is_passed_over_is_checked_in_part() {
    let code = |line: &str, statement: &str| {
        let object = format!("{{\"a\":1}}\n{line}\n{{\"a\":3}}\n");
        read(&object, JsonType::Lines, statement, false, usize::MAX).1
    };
    let json = Some(Code::JSONParsingError);
    for (line, of_a) in [
        // Brackets and quotes must match, and names must be followed by values.
        ("{\"a\":2,\"x\":[1}", json),
        ("{\"a\":2,\"x\":[1]", json),
        ("{\"a\":2,\"x\":\"open}", json),
        ("{\"a\":2} {\"a\":3}", json),
        ("{\"a\":2,\"x\"}", json),
        ("{\"a\":2,x:1}", json),
        ("{\"a\":2,}", json),
        ("{\"a\":2,\"x\":}", json),
        ("{\"a\":2,\"x\":\\\"1}", json),
        // Single values are not checked.
        ("{\"a\":2,\"x\":01}", None),
        ("{\"a\":2,\"x\":nothing}", None),
        ("{\"a\":2,\"x\":\"\\q\"}", None),
        ("{\"a\":2,\"x\":[1,,2]}", None),
    ] {
        assert_eq!(code(line, "SELECT s.a FROM S3Object s"), of_a, "{line}");
        assert_eq!(code(line, "SELECT s.x FROM S3Object s"), json, "{line}");
    }
}
