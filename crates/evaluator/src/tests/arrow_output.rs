//! Tests answers as Arrow IPC streams against the rows of the object and against answers as text.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{
    DataType, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_ipc::reader::StreamReader;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use super::generator::{Generator, Kind, object};
use super::{Answer, Evaluation, request, write_parquet};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::dialect::ast::Type;
use sluicegate_s3select::error::{SelectError, SelectErrorCode as Code};
use sluicegate_s3select::request::{
    InputFormat, JsonType, OutputSerialization, ScanRange, SelectRequest,
};
use sluicegate_s3select::value::{Decimal, Timestamp, Value};

/// The way in which a statement is run: the rows of a batch, and the threads with the size of a part in bytes.
type Way = (usize, Option<(usize, u64)>);

fn ways() -> impl Strategy<Value = Way> {
    let batch_rows = prop_oneof![1_usize..8, Just(8192)];
    let parts = prop_oneof![2 => Just(None), 1 => (2_usize..4, 1_u64..120).prop_map(Some)];
    (batch_rows, parts)
}

fn arrow_request(expression: &str, types: &str) -> SelectRequest {
    SelectRequest {
        output: OutputSerialization::Arrow(types.parse().unwrap()),
        extras: Extras::ALL,
        ..request(expression)
    }
}

/// Returns the bytes of an answer, and the error that ends it.
fn run(request: &SelectRequest, object: &[u8], way: Way) -> (Vec<u8>, Result<(), SelectError>) {
    let mut answer = Answer::default();
    let source = Arc::new(object.to_vec());
    let evaluation = Evaluation::prepare_batches(request, source, Timestamp::EPOCH, way.0);
    let ran = evaluation.and_then(|evaluation| match way.1 {
        None => evaluation.run(&mut answer),
        Some((threads, bytes)) => evaluation.with_part_bytes(bytes).run_on(threads, &mut answer),
    });
    if let Ok(stats) = &ran {
        assert_eq!(stats.bytes_returned, answer.bytes.len() as u64);
    }
    (answer.bytes, ran.map(drop))
}

/// Returns the rows of a stream; it need not have an end.
fn decode(stream: &[u8]) -> RecordBatch {
    let reader = StreamReader::try_new(stream, None).unwrap();
    let schema = reader.schema();
    let batches: Vec<_> = reader.map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

#[track_caller]
fn rows(expression: &str, types: &str, object: &str) -> RecordBatch {
    let (stream, ran) = run(&arrow_request(expression, types), object.as_bytes(), (8192, None));
    ran.unwrap();
    assert!(stream.ends_with(&END));
    decode(&stream)
}

#[track_caller]
fn check_refused(expression: &str, types: &str, object: &str, code: Code, message: &str) {
    let (_, ran) = run(&arrow_request(expression, types), object.as_bytes(), (8192, None));
    let error = ran.unwrap_err();
    assert_eq!(error.code, code, "{error}");
    assert!(error.message.contains(message), "{error}");
}

#[test]
fn an_answer_has_the_fields_that_were_asked_for() {
    let types = "int64;utf8;decimal128(4,2);timestamp(us,UTC);boolean;float32";
    let object = "7,a,1.5,2020-01-02T03:04:05.25Z,true,0.5\n,,,,,\n";
    let cast = |column: usize, of: &str| format!("CAST(NULLIF(_{column}, '') AS {of})");
    let items = [
        cast(1, "INT"),
        "_2".to_owned(),
        cast(3, "DECIMAL"),
        cast(4, "TIMESTAMP"),
        cast(5, "BOOL"),
        cast(6, "FLOAT"),
    ];
    let batch = rows(&format!("SELECT {} FROM S3Object", items.join(", ")), types, object);
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["c0", "c1", "c2", "c3", "c4", "c5"]);
    assert!(batch.schema().fields().iter().all(|field| field.is_nullable()));
    assert_eq!(*batch.column(2).data_type(), DataType::Decimal128(4, 2));
    let time = TimestampMicrosecondArray::from(vec![Some(1_577_934_245_250_000), None]);
    let expected: [ArrayRef; 6] = [
        Arc::new(Int64Array::from(vec![Some(7), None])),
        // Empty text is not NULL.
        Arc::new(StringArray::from(vec!["a", ""])),
        Arc::new(
            Decimal128Array::from(vec![Some(150), None]).with_data_type(DataType::Decimal128(4, 2)),
        ),
        Arc::new(time.with_timezone("UTC")),
        Arc::new(BooleanArray::from(vec![Some(true), None])),
        Arc::new(Float32Array::from(vec![Some(0.5), None])),
    ];
    assert_eq!(batch.columns(), expected);
}

#[test]
fn null_and_missing_are_null_and_empty_text_is_not() {
    let mut request = arrow_request("SELECT s.a, s.b FROM S3Object s", "utf8;int8");
    request.input.format = InputFormat::Json(JsonType::Lines);
    let object = br#"{"a":"","b":null}
{"a":null,"b":5}
{"b":-128}
"#;
    let (stream, ran) = run(&request, object, (8192, None));
    ran.unwrap();
    let batch = decode(&stream);
    assert_eq!(*batch.column(0).as_string::<i32>(), StringArray::from(vec![Some(""), None, None]));
    let bytes: &Int8Array = batch.column(1).as_primitive();
    assert_eq!(*bytes, Int8Array::from(vec![None, Some(5), Some(-128)]));
}

#[test]
fn an_answer_without_rows_has_a_schema_and_an_end() {
    for statement in ["SELECT _1 FROM S3Object WHERE _1 = 'b'", "SELECT _1 FROM S3Object LIMIT 0"] {
        assert_eq!(rows(statement, "utf8", "a\n").num_rows(), 0);
    }
    assert_eq!(rows("SELECT _1 FROM S3Object", "utf8", "").num_rows(), 0);
}

#[test]
fn aggregates_groups_and_limits() {
    let batch = rows(
        "SELECT COUNT(*), SUM(CAST(_1 AS INT)) FROM S3Object",
        "uint64;decimal128(5,1)",
        "1\n2\n",
    );
    assert_eq!(batch.column(0).as_primitive::<UInt64Type>().value(0), 2);
    assert_eq!(batch.column(1).as_primitive::<Decimal128Type>().value(0), 30);
    let object = "a,1\nb,2\na,3\n".repeat(10);
    let batch = rows("SELECT _1, COUNT(*) FROM S3Object GROUP BY _1", "utf8;int64", &object);
    assert_eq!(batch.column(0).as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a", "b"]);
    let batch = rows("SELECT _2 FROM S3Object LIMIT 7", "utf8", &object);
    assert_eq!(batch.num_rows(), 7);
    // Many groups come in several parts of the answer.
    let request = arrow_request("SELECT _2, COUNT(*) FROM S3Object GROUP BY _2", "utf8;int64");
    let source = Arc::new(object.into_bytes());
    let mut answer = Answer::default();
    let evaluation = Evaluation::prepare(&request, source).unwrap().with_max_groups(1);
    evaluation.run(&mut answer).unwrap();
    assert_eq!(decode(&answer.bytes).num_rows(), 30);
}

#[test]
fn columns_must_be_named_and_counted() {
    let code = Code::InvalidRequestParameter;
    check_refused("SELECT * FROM S3Object", "utf8", "a\n", code, "name the columns");
    check_refused("SELECT _1 FROM S3Object", "utf8;utf8", "a\n", code, "1 columns, but 2 types");
    check_refused("SELECT _1, _2 FROM S3Object", "utf8", "a\n", code, "2 columns, but 1 types");
    check_refused("SELECT COUNT(*) FROM S3Object", "int8;int8", "a\n", code, "1 columns");
}

#[test]
fn rows_before_a_bad_one_are_answered() {
    let object = "1\n2\n300\n4\n";
    let statement = "SELECT CAST(_1 AS INT) FROM S3Object";
    for way in [(8192, None), (1, None), (2, Some((2, 2)))] {
        let (stream, ran) = run(&arrow_request(statement, "int8"), object.as_bytes(), way);
        let error = ran.unwrap_err();
        assert_eq!(error.code, Code::CastFailed);
        let message = "The type int8 of column c0 cannot hold this int exactly. (record 3";
        assert!(error.message.starts_with(message), "{error}");
        assert!(!stream.ends_with(&END));
        let bytes: Int8Array = decode(&stream).column(0).as_primitive().clone();
        assert_eq!(bytes, Int8Array::from(vec![1, 2]));
    }
    // The same for errors of the object and of the statement.
    for object in [&b"1\n2\nx\n"[..], b"1\n2\n\xFF\n"] {
        let (stream, ran) = run(&arrow_request(statement, "int8"), object, (8192, None));
        ran.unwrap_err();
        assert_eq!(decode(&stream).num_rows(), 2);
    }
    let (stream, ran) =
        run(&arrow_request("SELECT _1 FROM S3Object", "utf8"), b"1\n\xC3\n\xA9\n", (8192, None));
    assert_eq!(ran.unwrap_err().code, Code::InvalidTextEncoding);
    assert_eq!(decode(&stream).num_rows(), 1);
}

#[test]
fn a_row_of_more_than_a_mebibyte_is_refused() {
    let field = "x".repeat(600 << 10);
    let object = format!("a\n{field}\nb\n");
    let batch = rows("SELECT _1 FROM S3Object", "utf8", &object);
    assert_eq!(batch.column(0).as_string::<i32>().value(1).len(), field.len());
    let statement = "SELECT _1, _1 FROM S3Object";
    let (stream, ran) =
        run(&arrow_request(statement, "utf8;utf8"), object.as_bytes(), (8192, None));
    assert_eq!(ran.unwrap_err().code, Code::OverMaxRecordSize);
    assert_eq!(decode(&stream).num_rows(), 1);
}

#[test]
fn an_answer_longer_than_memory_is_streamed() {
    let literal = "x".repeat(100_000);
    let request = arrow_request(&format!("SELECT '{literal}', _1 FROM S3Object"), "utf8;utf8");
    let (stream, ran) = run(&request, "1\n".repeat(1000).as_bytes(), (8192, None));
    ran.unwrap();
    let batches = StreamReader::try_new(&stream[..], None).unwrap().map(Result::unwrap);
    let sizes: Vec<_> = batches.map(|batch| batch.get_array_memory_size()).collect();
    assert!(sizes.len() > 50 && sizes.iter().all(|size| *size < 4 << 20), "{sizes:?}");
}

/// Rows of many small batches of the reader share a record batch.
#[test]
fn record_batches_are_gathered() {
    let object = "7,abc\n".repeat(10_000);
    let request = arrow_request("SELECT _1, _2 FROM S3Object", "utf8;utf8");
    let (stream, _) = run(&request, object.as_bytes(), (10, None));
    let batches = StreamReader::try_new(&stream[..], None).unwrap();
    assert_eq!(batches.map(|batch| batch.unwrap().num_rows()).collect::<Vec<_>>(), [8192, 1808]);
}

#[test]
fn compressed_streams_are_read_back() {
    let object = "some text that is returned,1\n".repeat(20_000);
    let statement = "SELECT _1, CAST(_2 AS INT) FROM S3Object";
    let answer = |types: &str| {
        let request = arrow_request(statement, types);
        let one = run(&request, object.as_bytes(), (8192, None));
        let several = run(&request, object.as_bytes(), (8192, Some((3, 1 << 16))));
        one.1.unwrap();
        several.1.unwrap();
        assert_eq!(decode(&one.0), decode(&several.0));
        one.0
    };
    let plain = answer("utf8;int64");
    for name in ["lz4", "zstd"] {
        let compressed = answer(&format!("utf8;int64;compression={name}"));
        assert_eq!(decode(&compressed), decode(&plain));
        assert!(compressed.len() * 5 < plain.len(), "{} bytes", compressed.len());
    }
}

#[test]
fn a_long_schema_is_sent_in_several_messages() {
    let columns = 3000;
    let items = vec!["_1"; columns].join(",");
    let request =
        arrow_request(&format!("SELECT {items} FROM S3Object"), &vec!["utf8"; columns].join(";"));
    for way in [(8192, None), (8192, Some((2, 4)))] {
        let (stream, ran) = run(&request, b"a\nb\nc\n", way);
        ran.unwrap();
        assert_eq!(decode(&stream).num_rows(), 3);
    }
}

/// A client that leaves after the schema.
struct Leaving(usize);

impl crate::Sink for Leaving {
    fn records(&mut self, _: bytes::Bytes) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Break(())
    }

    fn progress(&mut self, _: &crate::Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn a_gone_client_stops_the_work() {
    let object = "some text that is returned,1\n".repeat(300_000);
    let request = arrow_request("SELECT _1 FROM S3Object", "utf8");
    for threads in [1, 2] {
        let source = Arc::new(object.clone().into_bytes());
        let mut gone = Leaving(0);
        Evaluation::prepare(&request, source).unwrap().run_on(threads, &mut gone).unwrap();
        assert_eq!(gone.0, 1);
    }
}

/// Columns of one Parquet object, as the types of the answer.
const TYPES: &str = "int64;int8;uint64;float64;float32;decimal128(38,5);date32;timestamp(us);timestamp(ns,UTC);utf8;boolean;int32";

fn table(rows: usize, distinct: u64, seed: u64, nulls: bool) -> RecordBatch {
    let mut random = Generator::new(seed);
    let mut draw = || -> Vec<Option<u64>> {
        (0..rows)
            .map(|_| {
                let value = random.below(distinct);
                (!nulls || random.below(4) > 0).then_some(value.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            })
            .collect()
    };
    macro_rules! column {
        ($array:ident, $convert:expr) => {
            draw().into_iter().map(|value| value.map($convert)).collect::<$array>()
        };
    }
    let decimals = column!(Decimal128Array, |n| i128::from(n as i64) * 1_000_003);
    let times = column!(TimestampNanosecondArray, |n| n as i64 >> 1);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(column!(Int64Array, |n| n as i64))),
        ("b", Arc::new(column!(Int8Array, |n| n as i8))),
        ("c", Arc::new(column!(UInt64Array, |n| n))),
        // Any bits, such as those of NaN.
        ("d", Arc::new(column!(Float64Array, f64::from_bits))),
        ("e", Arc::new(column!(Float32Array, |n| f32::from_bits(n as u32 | 1 << 22)))),
        ("f", Arc::new(decimals.with_data_type(DataType::Decimal128(38, 5)))),
        ("g", Arc::new(column!(Date32Array, |n| (n % 2_000_000) as i32 - 500_000))),
        ("h", Arc::new(column!(TimestampMicrosecondArray, |n| (n >> 10) as i64))),
        ("i", Arc::new(times.with_timezone("UTC"))),
        ("j", Arc::new(column!(StringArray, |n| "é~x".repeat((n >> 58) as usize)))),
        ("k", Arc::new(column!(BooleanArray, |n| n % 3 == 0))),
        ("l", Arc::new(column!(Int32Array, |n| n as i32))),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parquet_columns_arrive_bit_for_bit(
        seed: u64,
        rows in 0_usize..200,
        distinct in prop_oneof![Just(3_u64), Just(20), Just(1 << 40)],
        nulls: bool,
        coded: bool,
        filtered: bool,
        limit in prop_oneof![2 => Just(None), 1 => (0_usize..60).prop_map(Some)],
        way in ways(),
        compression in prop_oneof![2 => Just(""), 1 => Just(";compression=lz4"), 1 => Just(";compression=zstd")],
    ) {
        let table = table(rows, distinct, seed, nulls);
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(coded)
            .set_max_row_group_row_count(Some(70))
            .set_data_page_row_count_limit(30)
            .set_write_batch_size(1)
            .build();
        let object = write_parquet(&table, properties);
        let names: Vec<_> = table.schema().fields().iter().map(|field| format!("s.{}", field.name())).collect();
        let mut statement = format!("SELECT {} FROM S3Object s", names.join(", "));
        let mut expected = table.clone();
        if filtered {
            statement += " WHERE s.l > 0";
            let numbers: &Int32Array = table.column(11).as_primitive();
            let chosen: BooleanArray = numbers.iter().map(|n| Some(n.is_some_and(|n| n > 0))).collect();
            expected = filter_record_batch(&table, &chosen).unwrap();
        }
        if let Some(limit) = limit {
            statement += &format!(" LIMIT {limit}");
            expected = expected.slice(0, limit.min(expected.num_rows()));
        }
        let mut request = arrow_request(&statement, &[TYPES, compression].concat());
        request.input.format = InputFormat::Parquet;
        let (stream, ran) = run(&request, &object, way);
        prop_assert_eq!(ran, Ok(()));
        prop_assert!(stream.ends_with(&END));
        let answer = decode(&stream);
        prop_assert_eq!(answer.num_rows(), expected.num_rows());
        for (column, (actual, expected)) in answer.columns().iter().zip(expected.columns()).enumerate() {
            let (actual, expected) = (actual.to_data(), expected.to_data());
            prop_assert_eq!(actual, expected, "column {}", column);
        }
    }
}

/// Returns the type in which values of a kind are answered.
fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "boolean",
        Kind::Int => "int64",
        Kind::Float => "float64",
        Kind::Decimal => "decimal128(38,10)",
        Kind::Text => "utf8",
        Kind::Timestamp => "timestamp(us)",
    }
}

/// Returns whether a value of an answer has the text of the same value.
fn is_same(array: &ArrayRef, row: usize, text: Option<&str>) -> bool {
    let Some(text) = text.filter(|_| array.is_valid(row)) else {
        return text.is_none() && array.is_null(row);
    };
    let written = |value: Value| {
        let mut out = Vec::new();
        value.write(&mut out);
        out == text.as_bytes()
    };
    match array.data_type() {
        DataType::Boolean => written(Value::Bool(array.as_boolean().value(row))),
        DataType::Int64 => written(Value::Int(array.as_primitive::<Int64Type>().value(row))),
        DataType::Float64 => written(Value::Float(array.as_primitive::<Float64Type>().value(row))),
        DataType::Decimal128(_, scale) => {
            let unscaled = array.as_primitive::<Decimal128Type>().value(row);
            let number = Decimal::new(unscaled, *scale).unwrap();
            Decimal::parse(text.as_bytes()).unwrap().compare(number).is_eq()
        }
        DataType::Timestamp(..) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            Timestamp::parse(text.as_bytes()).unwrap().nanos() == i128::from(micros) * 1000
        }
        _ => array.as_string::<i32>().value(row) == text,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// The text is that of CAST(… AS STRING), in JSON, which tells NULL from empty text.
    #[test]
    fn answers_have_the_values_of_text(seed: u64, way in ways(), json: bool, start in prop::option::weighted(0.2, 0_u64..40)) {
        let mut random = Generator::new(seed);
        let kinds: Vec<Kind> = (0..1 + random.below(4))
            .map(|_| random.pick(&[Kind::Bool, Kind::Int, Kind::Float, Kind::Decimal, Kind::Text, Kind::Timestamp]))
            .collect();
        let items: Vec<String> = kinds.iter().map(|kind| random.expr(*kind, 2).to_string()).collect();
        let mut tail = " FROM S3Object s".to_owned();
        if random.below(2) == 0 {
            tail += &format!(" WHERE {}", random.expr(Kind::Bool, 2));
        }
        if random.below(4) == 0 {
            tail += &format!(" LIMIT {}", random.below(6));
        }
        let as_text = items.iter().enumerate().map(|(at, item)| format!("CAST({item} AS {}) AS c{at}", Type::String));
        let as_text = as_text.collect::<Vec<_>>().join(", ");
        let object = object(&random.rows(), json).into_bytes();

        let types: Vec<_> = kinds.iter().map(|kind| type_of(*kind)).collect();
        let mut wanted = arrow_request(&format!("SELECT {}{tail}", items.join(", ")), &types.join(";"));
        if json {
            wanted.input.format = InputFormat::Json(JsonType::Lines);
        }
        wanted.scan_range = start.map(|start| ScanRange::From { start });
        let text = SelectRequest {
            expression: format!("SELECT {as_text}{tail}"),
            output: OutputSerialization::Json { record_delimiter: "\n".to_owned() },
            ..wanted.clone()
        };
        let (text, expected) = run(&text, &object, (8192, None));
        let (stream, ran) = run(&wanted, &object, way);
        if stream.is_empty() {
            prop_assert_eq!(ran.unwrap_err().code, expected.unwrap_err().code, "{}", wanted.expression);
            return Ok(());
        }
        let answer = decode(&stream);
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (row, line) in lines.iter().enumerate().take(answer.num_rows()) {
            for (column, array) in answer.columns().iter().enumerate() {
                let text = line.get(format!("c{column}")).and_then(|text| text.as_str());
                prop_assert!(is_same(array, row, text), "{} {line} {array:?}", wanted.expression);
            }
        }
        match ran {
            Err(error) if error.message.starts_with("The type decimal128") => {
                // The decimal has more places than were asked for.
                prop_assert!(answer.num_rows() < lines.len(), "{}", wanted.expression);
            }
            ran => {
                prop_assert_eq!(answer.num_rows(), lines.len(), "{}", wanted.expression);
                let code = |ran: Result<(), SelectError>| ran.map_err(|error| error.code);
                prop_assert_eq!(code(ran), code(expected), "{}", wanted.expression);
            }
        }
    }
}
