use std::sync::Arc;

use arrow::array::{AsArray, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Date32Type, Float32Type, Float64Type, UInt16Type};
use arrow_ipc::reader::StreamReader;
use proptest::prelude::*;
use sluicegate_s3select::request::OutputSerialization;
use sluicegate_s3select::value::{Decimal, Timestamp, Value};

use super::super::columns::tests::{column, vector};
use super::super::{Fields, Item, Key, RowWriter};
use super::*;
use crate::batch::Codes;
use crate::vector::{Heap, Span, Vector};

fn writer(types: &str) -> RowWriter {
    RowWriter::new(&OutputSerialization::Arrow(types.parse().unwrap())).unwrap()
}

/// Returns the texts of a column with a dictionary, and other columns as they are.
fn decoded(column: ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Dictionary(_, texts) => cast(&column, texts).unwrap(),
        _ => column,
    }
}

/// Ends the stream and returns its rows, with texts instead of dictionaries.
fn rows(writer: RowWriter) -> RecordBatch {
    let batches = batches(writer).into_iter().map(|batch| {
        let (schema, columns, _) = batch.into_parts();
        let names = schema.fields().iter().map(|field| field.name().clone());
        let columns = names.zip(columns).map(|(name, column)| (name, decoded(column), true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    });
    let batches: Vec<_> = batches.collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// Ends the stream and returns its batches, of which the last is empty.
fn batches(mut writer: RowWriter) -> Vec<RecordBatch> {
    let head = writer.head().to_vec();
    writer.flush().unwrap();
    writer.finish().unwrap();
    let stream = [&head[..], writer.bytes()].concat();
    let reader = StreamReader::try_new(&stream[..], None).unwrap();
    let schema = reader.schema();
    let empty = RecordBatch::new_empty(schema);
    reader.map(Result::unwrap).chain([empty]).collect()
}

/// Writes values as rows of one column, in the two ways, and returns the column.
fn convert(of: &str, values: &[Value]) -> Result<ArrayRef, SelectError> {
    let mut one = writer(of);
    for value in values {
        one.begin_row();
        one.put(&Key::default(), Item::Value(value))?;
        one.end_row()?;
    }
    let one = rows(one).column(0).clone();
    let vector = vector(values);
    let mut other = writer(of);
    let all: Vec<u32> = (0..values.len() as u32).collect();
    let put = other.put_columns([Fields::Values(&vector)].into_iter(), &all, &[]);
    assert_eq!(put, Ok(Some(values.len())));
    assert_eq!(rows(other).column(0).to_data(), one.to_data());
    Ok(one)
}

fn dec(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text.as_bytes()).unwrap())
}

fn time(text: &str) -> Value {
    Value::Timestamp(Timestamp::parse(text.as_bytes()).unwrap())
}

#[test]
fn a_type_holds_these_values() {
    let text = || Value::String("a".to_owned());
    for (of, value) in [
        ("boolean", Value::Bool(true)),
        ("int8", Value::Int(-128)),
        ("int8", dec("127.000")),
        ("int64", Value::Int(i64::MIN)),
        ("int64", dec("-9223372036854775808")),
        ("uint8", Value::Int(255)),
        ("uint64", dec("18446744073709551615")),
        ("float64", Value::Int(1 << 53)),
        ("float64", dec("0.5")),
        ("float32", Value::Float(0.1_f32.into())),
        ("float32", Value::Float(f64::INFINITY)),
        ("float32", Value::Int(1 << 24)),
        ("decimal128(38,0)", Value::Int(i64::MAX)),
        ("decimal128(3,2)", dec("9.99")),
        ("decimal128(3,2)", Value::Int(-9)),
        ("decimal128(2,1)", dec("1.500")),
        ("decimal128(1,1)", dec("0")),
        ("date32", time("2020-01-01")),
        ("date32", time("0001-01-01")),
        ("date32", time("9999-12-31")),
        ("date32", time("2020-01-01T00:00:00.000Z")),
        ("date32", time("2020-01-01T02:00+02:00")),
        ("timestamp(s)", time("0001-01-01")),
        ("timestamp(ms)", time("2020-01-01T00:00:00.001Z")),
        ("timestamp(us,UTC)", time("1969-12-31T23:59:59.999999Z")),
        ("timestamp(ns)", time("1677-09-21T00:12:43.145224192Z")),
        ("timestamp(ns)", time("2262-04-11T23:47:16.854775807Z")),
        ("utf8", text()),
    ] {
        let array = convert(of, &[value.clone(), Value::Null, value.clone()]);
        let array = array.unwrap_or_else(|error| panic!("{value:?} as {of}: {error}"));
        assert_eq!((array.len(), array.null_count(), array.is_null(1)), (3, 1, true));
    }
}

#[test]
fn a_type_does_not_hold_these_values() {
    let text = |text: &str| Value::String(text.to_owned());
    let list = || Value::List([].into());
    for (of, value) in [
        ("boolean", Value::Int(1)),
        ("boolean", text("true")),
        ("int8", Value::Int(300)),
        ("int8", Value::Int(-129)),
        ("int16", Value::Int(40_000)),
        ("int32", Value::Int(1 << 31)),
        ("uint8", Value::Int(-1)),
        ("uint16", Value::Int(1 << 16)),
        ("uint32", Value::Int(1 << 32)),
        ("uint64", Value::Int(-1)),
        ("uint64", dec("18446744073709551616")),
        ("int64", dec("9223372036854775808")),
        ("int64", dec("1.5")),
        ("int64", text("1")),
        ("int64", Value::Float(1.0)),
        ("int64", Value::Bool(true)),
        ("int64", time("2020-01-01")),
        ("int64", list()),
        ("float64", Value::Int(i64::MAX)),
        ("float64", Value::Int((1 << 53) + 1)),
        ("float64", dec("0.1")),
        ("float64", text("0.5")),
        ("float32", Value::Float(0.1)),
        ("float32", Value::Float(1e300)),
        ("float32", Value::Float(1e-300)),
        ("float32", Value::Int((1 << 24) + 1)),
        ("decimal128(3,2)", dec("9.999")),
        ("decimal128(3,2)", Value::Int(10)),
        ("decimal128(38,38)", Value::Int(1)),
        ("decimal128(3,2)", Value::Float(0.5)),
        ("decimal128(3,2)", text("0.5")),
        ("date32", time("2020-01-01T00:01Z")),
        ("date32", time("2020-01-01T00:00:00.000000001Z")),
        ("date32", time("2020-01-01T00:00+02:00")),
        ("date32", Value::Int(1)),
        ("date32", text("2020-01-01")),
        ("timestamp(s)", time("2020-01-01T00:00:00.1Z")),
        ("timestamp(ms)", time("2020-01-01T00:00:00.0001Z")),
        ("timestamp(us)", time("2020-01-01T00:00:00.0000001Z")),
        ("timestamp(ns)", time("0001-01-01")),
        ("timestamp(ns)", time("1677-09-21T00:12:43.145224191Z")),
        ("timestamp(ns)", time("2262-04-11T23:47:16.854775808Z")),
        ("utf8", Value::Int(1)),
        ("utf8", time("2020-01-01")),
        ("utf8", Value::Struct([].into())),
        ("utf8", list()),
    ] {
        let error = convert(of, std::slice::from_ref(&value)).unwrap_err();
        assert_eq!(error.code, SelectErrorCode::CastFailed, "{value:?} as {of}");
        let message =
            format!("The type {of} of column c0 cannot hold this {} exactly.", value.type_name());
        assert_eq!(error.message, message);
        // As a whole column, it is left to the other way.
        let (mut writer, vector) = (writer(of), vector(&[value]));
        for fields in [
            Fields::Values(&vector),
            Fields::Codes(Codes {
                values: &Arc::new(Vector::constant(Value::List([].into()))),
                distinct: 1,
                codes: &[0],
            }),
        ] {
            assert_eq!(writer.put_columns([fields].into_iter(), &[0], &[]), Ok(None));
        }
        assert_eq!(rows(writer).num_rows(), 0);
    }
}

#[test]
fn floats_keep_their_bits() {
    let floats = [
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7FF8_0000_0000_0001),
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::NEG_INFINITY,
        f64::MAX,
    ];
    let array = convert("float64", &floats.map(Value::Float)).unwrap();
    let read = array.as_primitive::<Float64Type>().values();
    assert!(read.iter().zip(floats).all(|(read, float)| read.to_bits() == float.to_bits()));
    let floats = [
        0.0_f32,
        -0.0,
        f32::NAN,
        -f32::NAN,
        f32::from_bits(0x7FC0_0001),
        f32::MIN_POSITIVE,
        f32::from_bits(1),
    ];
    let array = convert("float32", &floats.map(|float| Value::Float(float.into()))).unwrap();
    let read = array.as_primitive::<Float32Type>().values();
    assert!(read.iter().zip(floats).all(|(read, float)| read.to_bits() == float.to_bits()));
}

#[test]
fn days_before_1970_are_negative() {
    let array = convert("date32", &[time("1969-12-31"), time("1970-01-02")]).unwrap();
    assert_eq!(array.as_primitive::<Date32Type>().values()[..], [-1, 1]);
}

/// A dictionary may have values that no row of the answer has.
#[test]
fn unused_values_of_a_dictionary_need_not_fit() {
    let values = Arc::new(vector(&[Value::Int(1), Value::Int(300), Value::Int(-2)]));
    let codes = |codes: &'static [u32]| Codes { values: &values, distinct: 3, codes };
    let mut writer = writer("int8");
    for codes in [codes(&[0, 2, 2, 1]), codes(&[2, 0, 0, 1])] {
        let put = writer.put_columns([Fields::Codes(codes)].into_iter(), &[0, 1, 2], &[]);
        assert_eq!(put, Ok(Some(3)));
    }
    let put = writer.put_columns([Fields::Codes(codes(&[1]))].into_iter(), &[0], &[]);
    assert_eq!(put, Ok(None));
    let expected = convert("int8", &[1, -2, -2, -2, 1, 1].map(Value::Int)).unwrap();
    assert_eq!(rows(writer).column(0).to_data(), expected.to_data());
}

/// A dictionary beyond the budget is decoded for each value, with the same result.
#[test]
fn a_dictionary_beyond_the_budget_is_not_kept() {
    let texts = ["", "x", "a text of more than thirty-two bytes, in two pieces", "é"];
    let mut values: Vec<_> = texts.iter().map(|text| Value::String((*text).to_owned())).collect();
    values.push(Value::Null);
    let ints = [Value::Int(1), Value::Null, Value::Int(-2), Value::Int(3), Value::Int(4)];
    for (of, values) in [("utf8", &values[..]), ("dictionary(utf8)", &values), ("int16", &ints)] {
        let of = of.parse().unwrap();
        let values = Arc::new(vector(values));
        let codes = Codes { values: &values, distinct: 5, codes: &[4, 2, 2, 0, 1, 3, 4] };
        let column = |budget| {
            let mut column = new_column(of, budget);
            for rows in [&[0, 1, 2, 3][..], &[4, 5, 6]] {
                column.put_codes(codes, Taken::ascending(rows), usize::MAX).unwrap();
            }
            column.finish()
        };
        assert_eq!(decoded(column(0)).to_data(), decoded(column(usize::MAX)).to_data());
    }
}

#[test]
fn halves_of_characters_are_no_text() {
    let mut halves = Vector::default();
    halves.texts(2, Heap::Owned("é".into())).copy_from_slice(&[Span::new(0, 1), Span::new(1, 1)]);
    let halves = Arc::new(halves);
    let mut writer = writer("utf8");
    for fields in [
        Fields::Values(&halves),
        Fields::Codes(Codes { values: &halves, distinct: 2, codes: &[0, 1] }),
    ] {
        assert_eq!(writer.put_columns([fields].into_iter(), &[0, 1], &[]), Ok(None));
    }
    assert_eq!(rows(writer).num_rows(), 0);
}

#[test]
fn a_batch_has_each_text_of_an_objects_dictionary_once() {
    let values = ["never", "b", "a"].map(|text| Value::String(text.to_owned()));
    let values = Arc::new(vector(&[&values[..], &[Value::Null]].concat()));
    let codes = Codes { values: &values, distinct: 4, codes: &[2, 1, 3, 2, 2, 1] };
    let mut writer = writer("dictionary(utf8)");
    for rows in [[0, 1, 2, 3], [2, 3, 4, 5]] {
        let put = writer.put_columns([Fields::Codes(codes)].into_iter(), &rows, &[]);
        assert_eq!(put, Ok(Some(4)));
    }
    let batches = batches(writer);
    let column = batches[0].column(0).as_dictionary::<UInt16Type>();
    assert_eq!(column.values().as_string::<i32>(), &StringArray::from(vec!["a", "b"]));
    let expected = ["a", "b", "", "a", "", "a", "a", "b"].map(|it| (!it.is_empty()).then_some(it));
    assert_eq!(
        decoded(Arc::clone(batches[0].column(0))).as_string::<i32>(),
        &StringArray::from(expected.to_vec())
    );
}

#[test]
fn a_batch_contains_its_dictionaries() {
    let mut bytes = Vec::new();
    let mut writers = [writer("dictionary(utf8);int64"), writer("dictionary(utf8);int64")];
    for (writer, text) in writers.iter_mut().zip(["a", "b"]) {
        bytes.extend(if bytes.is_empty() { writer.head().to_vec() } else { Vec::new() });
        for row in 0..3 {
            writer.begin_row();
            writer.put(&Key::default(), Item::Value(&Value::String(text.to_owned()))).unwrap();
            writer.put(&Key::default(), Item::Value(&Value::Int(row))).unwrap();
            writer.end_row().unwrap();
            writer.flush().unwrap();
        }
    }
    // The messages of two threads, one after the other and then the other way round.
    let [first, second] = writers.each_ref().map(|writer| writer.bytes().to_vec());
    for [one, other] in [[&first, &second], [&second, &first]] {
        let stream = [&bytes[..], one, other].concat();
        let reader = StreamReader::try_new(&stream[..], None).unwrap();
        let texts: Vec<_> = reader
            .map(|batch| decoded(Arc::clone(batch.unwrap().column(0))))
            .map(|texts| texts.as_string::<i32>().value(0).to_owned())
            .collect();
        let expected = if one == &first { "aaabbb" } else { "bbbaaa" };
        assert_eq!(texts.concat(), expected);
    }
}

#[test]
fn long_texts_make_small_batches() {
    let texts = vec![Value::String("x".repeat(100_000)); 100];
    let vector = vector(&texts);
    let mut writer = writer("utf8");
    let (all, mut rest): (Vec<u32>, _) = ((0..100).collect(), 0);
    while rest < all.len() {
        let put = writer.put_columns([Fields::Values(&vector)].into_iter(), &all[rest..], &[]);
        let put = put.unwrap().unwrap();
        assert!((1..=10).contains(&put), "{put} rows");
        rest += put;
        assert!(writer.bytes().len() < 3 << 20);
        if rest < all.len() {
            writer.clear();
        }
    }
}

proptest! {
    /// Rows that are written as columns are those that are written one by one, up to the first bad one.
    #[test]
    fn columns_make_the_rows_that_fields_make(
        columns in prop::collection::vec(column(), 1..5),
        types in prop::collection::vec(prop::sample::select(vec![
            "int64", "int64", "float64", "decimal128(38,19)", "timestamp(us)", "date32", "utf8", "dictionary(utf8)", "boolean",
            "int8", "float32",
        ]), 5),
        coded in prop::collection::vec(any::<bool>(), 5),
        matching in prop::bool::weighted(0.8),
        every in 1_usize..3,
    ) {
        let count = columns.iter().map(Vec::len).min().unwrap();
        let types: Vec<_> = columns.iter().zip(types).map(|(values, of)| {
            let present = values.iter().find(|value| !value.is_null()).filter(|_| matching);
            match present {
                Some(Value::Int(_)) => "int64",
                Some(Value::String(_)) => "utf8",
                Some(Value::Float(_)) => "float64",
                Some(Value::Bool(_)) => "boolean",
                Some(Value::Decimal(_)) => "decimal128(38,19)",
                Some(Value::Timestamp(_)) => "date32",
                _ => of,
            }
        }).collect();
        let types = types.join(";");
        let vectors: Vec<_> = columns.iter().map(|values| Arc::new(vector(values))).collect();
        let by_row: Vec<u32> = (0..count as u32).collect();
        let fields = || vectors.iter().zip(&columns).zip(&coded).map(|((values, all), coded)| match coded {
            true => Fields::Codes(Codes { values, distinct: all.len(), codes: &by_row }),
            false => Fields::Values(values),
        });
        let chosen: Vec<u32> = (0..count as u32).step_by(every).collect();
        let (mut one, mut other) = (writer(&types), writer(&types));
        let (mut rest, mut bad) = (&chosen[..], false);
        while !rest.is_empty() && !bad {
            match one.put_columns(fields(), rest, &[]).unwrap() {
                Some(written) => rest = &rest[written..],
                None => bad = true,
            }
        }
        let mut written = 0;
        for row in &chosen {
            other.begin_row();
            let put = columns.iter().try_for_each(|values| {
                other.put(&Key::default(), Item::Value(&values[*row as usize]))
            });
            if put.is_err() {
                other.abandon_row();
                break;
            }
            other.end_row().unwrap();
            written += 1;
        }
        prop_assert_eq!(written, chosen.len() - rest.len());
        let (one, other) = (rows(one), rows(other));
        for (one, other) in one.columns().iter().zip(other.columns()) {
            prop_assert_eq!(one.to_data(), other.to_data());
        }
    }
}
