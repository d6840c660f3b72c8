//! Tests Parquet objects.

use std::sync::{Arc, Mutex};

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow::datatypes::{Int32Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression as Codec, Encoding};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;

use super::{Answer, Evaluation, check_error, request, run, write_parquet};
use crate::ObjectSource;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{
    Compression, InputFormat, OutputSerialization, ScanRange, SelectRequest,
};

fn write(columns: Vec<(&str, ArrayRef)>, rows_per_group: usize) -> Vec<u8> {
    let properties = WriterProperties::builder();
    write_with(columns, properties.set_max_row_group_row_count(Some(rows_per_group)).build())
}

fn write_with(columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    write_parquet(&batch, properties)
}

fn parquet(expression: &str) -> SelectRequest {
    let mut request = request(expression);
    request.input.format = InputFormat::Parquet;
    request
}

#[track_caller]
fn check(object: &[u8], expression: &str, expected: &str) {
    let (answer, _) = run(&parquet(expression), object).unwrap();
    assert_eq!(String::from_utf8(answer).unwrap(), expected, "{expression}");
}

fn types() -> Vec<u8> {
    let list: ListArray =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None]);
    let group = StructArray::from(vec![(
        Arc::new(arrow::datatypes::Field::new("a", arrow::datatypes::DataType::Utf8, true)),
        Arc::new(StringArray::from(vec![Some("x"), None])) as ArrayRef,
    )]);
    write(
        vec![
            ("i", Arc::new(Int32Array::from(vec![Some(7), None]))),
            ("l", Arc::new(Int64Array::from(vec![i64::MAX, -1]))),
            ("u", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
            ("f", Arc::new(Float64Array::from(vec![Some(0.5), None]))),
            ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
            ("s", Arc::new(StringArray::from(vec![Some("é,"), None]))),
            ("d", Arc::new(Date32Array::from(vec![Some(-1), None]))),
            (
                "t",
                Arc::new(
                    TimestampMicrosecondArray::from(vec![Some(1_000_001), None])
                        .with_timezone("UTC"),
                ),
            ),
            (
                "n",
                Arc::new(
                    Decimal128Array::from(vec![Some(-1250), None])
                        .with_precision_and_scale(15, 2)
                        .unwrap(),
                ),
            ),
            ("list", Arc::new(list)),
            ("group", Arc::new(group)),
        ],
        10,
    )
}

#[test]
fn types_keep_their_values() {
    let object = types();
    check(
        &object,
        "SELECT i, l, u, f, b, s, d, t, n FROM S3Object",
        "7,9223372036854775807,18446744073709551615,0.5,true,\"é,\",1969-12-31,\
         1970-01-01T00:00:01.000001Z,-12.50\n,-1,0,,,,,,\n",
    );
    check(
        &object,
        "SELECT COUNT(i), SUM(n), MAX(d), MIN(s) FROM S3Object",
        "1,-12.50,1969-12-31,\"é,\"\n",
    );
    check(&object, "SELECT i + 1, l / 2 FROM S3Object WHERE b", "8,4611686018427387903\n");
    check(&object, "SELECT i FROM S3Object s WHERE s.d < CAST('1970-01-01' AS TIMESTAMP)", "7\n");
    check(&object, "SELECT s.\"list\"[0], s.\"group\".a FROM S3Object s LIMIT 1", "1,x\n");
    check(&object, "SELECT COUNT(*) FROM S3Object", "2\n");
    let mut json = parquet("SELECT s.\"list\", s.\"group\", i FROM S3Object s");
    json.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    let (answer, _) = run(&json, object).unwrap();
    assert_eq!(
        String::from_utf8(answer).unwrap(),
        "{\"list\":[1,null],\"group\":{\"a\":\"x\"},\"i\":7}\n\
         {\"list\":null,\"group\":{\"a\":null},\"i\":null}\n"
    );
}

#[test]
fn errors() {
    let object = types();
    check_error(
        &parquet("SELECT nope FROM S3Object"),
        object.clone(),
        Code::InvalidColumnIndex,
        "nope",
    );
    check_error(&parquet("SELECT * FROM S3Object"), "not parquet", Code::ParquetParsingError, "");
    check_error(&parquet("SELECT * FROM S3Object"), "", Code::ParquetParsingError, "");
    check_error(
        &parquet("SELECT l + 1 FROM S3Object"),
        object.clone(),
        Code::IntegerOverflow,
        "row 1",
    );
    let mut zipped = parquet("SELECT i FROM S3Object");
    zipped.input.compression = Compression::Gzip;
    check_error(&zipped, object, Code::InvalidRequestParameter, "");
}

/// Returns 100 groups of 100 rows; `a` ascends, `b` has a NaN and a -NaN in every group.
fn many_groups() -> Vec<u8> {
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10_000));
    let b: ArrayRef =
        Arc::new(Float64Array::from_iter_values((0..10_000).map(|i| match i % 100 {
            50 => f64::NAN,
            60 => -f64::NAN,
            _ => f64::from(i),
        })));
    let s: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..10_000).map(|i| format!("{i:05}"))));
    write(vec![("a", a), ("b", b), ("s", s)], 100)
}

#[test]
fn only_the_chunks_needed_are_read() {
    let object = many_groups();
    let file = SerializedFileReader::new(bytes::Bytes::from(object.clone())).unwrap();
    let chunk = |group: usize, column: usize| {
        file.metadata().row_group(group).column(column).compressed_size().unsigned_abs()
    };
    let scanned = |expression: &str, expected: &str| {
        let (answer, stats) = run(&parquet(expression), object.clone()).unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), expected, "{expression}");
        stats.bytes_scanned
    };
    assert_eq!(scanned("SELECT COUNT(*) FROM S3Object", "10000\n"), 0);
    let all_of_a: u64 = (0..100).map(|group| chunk(group, 0)).sum();
    assert_eq!(scanned("SELECT SUM(a) FROM S3Object", "49995000\n"), all_of_a);
    assert_eq!(
        scanned("SELECT s FROM S3Object WHERE a = 1234", "01234\n"),
        chunk(12, 0) + chunk(12, 2)
    );
    assert_eq!(
        scanned("SELECT a FROM S3Object WHERE s > '09998'", "9999\n"),
        chunk(99, 0) + chunk(99, 2)
    );
    assert_eq!(
        scanned("SELECT a FROM S3Object WHERE a < 1 AND b < 5", "0\n"),
        chunk(0, 0) + chunk(0, 1)
    );
    // NaN is greater than every number and -NaN less, whatever the statistics contain.
    let all_of_b: u64 = (0..100).map(|group| chunk(group, 1)).sum();
    assert_eq!(scanned("SELECT COUNT(*) FROM S3Object WHERE b > 100000.0", "100\n"), all_of_b);
    assert_eq!(scanned("SELECT COUNT(*) FROM S3Object WHERE b < -1.0", "100\n"), all_of_b);
    assert_eq!(scanned("SELECT COUNT(*) FROM S3Object WHERE b = 1234.0", "1\n"), chunk(12, 1));
    // A filter that can fail must be evaluated for every row.
    let (_, stats) =
        run(&parquet("SELECT a FROM S3Object WHERE a = 1 AND 10 / a = 10"), object.clone())
            .unwrap();
    assert_eq!(stats.bytes_scanned, all_of_a);
}

/// A CAST to the declared shape of a column neither rounds nor fails, so that row groups can be skipped.
#[test]
fn a_cast_to_the_shape_of_a_column_changes_nothing() {
    let decimals = Decimal128Array::from_iter_values(0..10_000);
    let decimals = decimals.with_precision_and_scale(10, 2).unwrap();
    let object = write(vec![("d", Arc::new(decimals))], 100);
    let count = |value: &str, of: &str| {
        let sql = format!("SELECT COUNT(*) FROM S3Object s WHERE {of} = {value}");
        let (answer, stats) = run(&parquet(&sql), object.clone()).unwrap();
        (String::from_utf8(answer).unwrap(), stats.bytes_scanned)
    };
    let plain = count("12.34", "s.d");
    assert_eq!(plain.0, "1\n");
    for same in ["(10, 2)", "(38, 2)"] {
        assert_eq!(count("12.34", &format!("CAST(s.d AS DECIMAL{same})")), plain, "{same}");
    }
    let (rounded, all) = count("12.3", "CAST(s.d AS DECIMAL(10, 1))");
    assert_eq!(rounded, "10\n");
    assert!(all > plain.1);
    let narrow = parquet("SELECT COUNT(*) FROM S3Object s WHERE CAST(s.d AS DECIMAL(3, 2)) = 1.5");
    assert!(run(&narrow, object.clone()).is_err());
}

/// Sets pages of 10 rows in groups of 500.
fn small_pages() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(500))
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(10)
}

/// An object that records which of its bytes were read.
struct Watched {
    object: Vec<u8>,
    read: Mutex<Vec<bool>>,
}

impl ObjectSource for Watched {
    fn len(&self) -> u64 {
        self.object.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.object.read_at(offset, buf)?;
        self.read.lock().unwrap()[offset as usize..][..n].fill(true);
        Ok(n)
    }
}

#[test]
fn pages_that_cannot_hold_a_wanted_row_are_not_read() {
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let text = (0..1000).map(|i| format!("{i}").repeat(30));
    let s: ArrayRef = Arc::new(StringArray::from_iter_values(text));
    let properties = small_pages().set_column_dictionary_enabled("s".into(), false).build();
    let object = write_with(vec![("a", a), ("s", s)], properties);
    let file = SerializedFileReader::new(bytes::Bytes::from(object.clone())).unwrap();
    let chunks = file.metadata().row_groups().iter().flat_map(|group| group.columns());
    let chunks: Vec<_> = chunks.map(|chunk| chunk.byte_range()).collect();
    for (expression, expected, most) in [
        ("SELECT COUNT(s) FROM S3Object WHERE a = 777", "1\n", 20_000),
        ("SELECT COUNT(s) FROM S3Object WHERE a > 495 AND a <= 521", "26\n", 40_000),
        ("SELECT COUNT(s) FROM S3Object WHERE a < 15 OR a = 3", "15\n", 300_000),
        ("SELECT COUNT(s) FROM S3Object WHERE a = 5000", "0\n", 0),
    ] {
        let read = Mutex::new(vec![false; object.len()]);
        let source = Arc::new(Watched { object: object.clone(), read });
        let mut answer = Answer::default();
        let watched = Arc::clone(&source);
        let evaluation = Evaluation::prepare(&parquet(expression), watched).unwrap();
        let stats = evaluation.run(&mut answer).unwrap();
        assert_eq!(String::from_utf8(answer.bytes).unwrap(), expected, "{expression}");
        let read = source.read.lock().unwrap();
        let in_chunks = chunks.iter().map(|(start, length)| {
            let chunk = &read[*start as usize..(start + length) as usize];
            chunk.iter().filter(|read| **read).count() as u64
        });
        assert_eq!(stats.bytes_scanned, in_chunks.sum::<u64>(), "{expression}");
        assert!(stats.bytes_scanned <= most, "{expression}: {}", stats.bytes_scanned);
    }
}

#[test]
fn a_dictionary_without_the_wanted_value_rules_its_row_group_out() {
    let s: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..1000).map(|i| if i < 500 { ["a", "c"][i % 2] } else { ["a", "b"][i % 2] }),
    ));
    let n: ArrayRef = Arc::new(
        Decimal128Array::from_iter_values((0..1000).map(|i| 100 * (i % 3)))
            .with_precision_and_scale(15, 2)
            .unwrap(),
    );
    let object = write_with(vec![("s", s), ("n", n)], small_pages().build());
    let file = SerializedFileReader::new(bytes::Bytes::from(object.clone())).unwrap();
    let chunk = |group: usize, column: usize| file.metadata().row_group(group).column(column);
    let dictionary = |group: usize, column: usize| {
        let chunk = chunk(group, column);
        (chunk.data_page_offset() - chunk.dictionary_page_offset().unwrap()) as u64
    };
    let whole = |group, column| chunk(group, column).compressed_size() as u64;
    for (expression, expected, scanned) in [
        ("SELECT COUNT(*) FROM S3Object WHERE s = 'b'", "250\n", dictionary(0, 0) + whole(1, 0)),
        ("SELECT COUNT(*) FROM S3Object WHERE n = 0.5", "0\n", dictionary(0, 1) + dictionary(1, 1)),
        ("SELECT COUNT(*) FROM S3Object WHERE n = 1", "333\n", whole(0, 1) + whole(1, 1)),
    ] {
        let (answer, stats) = run(&parquet(expression), object.clone()).unwrap();
        assert_eq!(String::from_utf8(answer).unwrap(), expected, "{expression}");
        assert_eq!(stats.bytes_scanned, scanned, "{expression}");
    }
}

#[test]
fn a_row_group_belongs_to_the_range_that_it_starts_in() {
    let object = many_groups();
    let mut sum = 0;
    let step = 7_001;
    for start in (0..object.len() as u64).step_by(step) {
        let mut part = parquet("SELECT COUNT(*) FROM S3Object");
        part.scan_range = Some(ScanRange::Bounded { start, last: start + step as u64 - 1 });
        let (answer, _) = run(&part, object.clone()).unwrap();
        let count: u64 = String::from_utf8(answer).unwrap().trim().parse().unwrap();
        assert_eq!(count % 100, 0);
        sum += count;
    }
    assert_eq!(sum, 10_000);
}

#[test]
fn an_empty_file_has_no_rows() {
    let schema = Arc::new(Schema::new(vec![arrow::datatypes::Field::new(
        "a",
        arrow::datatypes::DataType::Int32,
        true,
    )]));
    let mut object = Vec::new();
    ArrowWriter::try_new(&mut object, schema, None).unwrap().close().unwrap();
    check(&object, "SELECT COUNT(*), SUM(a) FROM S3Object", "0,\n");
    check(&object, "SELECT * FROM S3Object", "");
}

#[test]
fn every_encoding_is_read() {
    let texts = || (0..5000).map(|i| (i % 7 > 0).then(|| format!("{}", i % 977).repeat(i % 5)));
    let s: ArrayRef = Arc::new(StringArray::from_iter(texts()));
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values((0..5000).map(|i| i * i % 991)));
    let plain = write(vec![("s", s.clone()), ("n", n.clone())], 1000);
    let all = |object: &[u8]| {
        let statement = "SELECT s, n FROM S3Object WHERE n > 10";
        String::from_utf8(run(&parquet(statement), object.to_vec()).unwrap().0).unwrap()
    };
    let expected = all(&plain);
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for (text, number) in [
            (Encoding::PLAIN, Encoding::PLAIN),
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BINARY_PACKED),
            (Encoding::DELTA_BYTE_ARRAY, Encoding::BYTE_STREAM_SPLIT),
        ] {
            let properties = small_pages()
                .set_writer_version(version)
                .set_dictionary_enabled(false)
                .set_column_encoding("s".into(), text)
                .set_column_encoding("n".into(), number)
                .build();
            let object = write_with(vec![("s", s.clone()), ("n", n.clone())], properties);
            assert_eq!(all(&object), expected, "{text} {version:?}");
        }
    }
}

/// Most writers make such pages: compressed, and without a page index.
#[test]
fn pages_that_nothing_locates_are_skipped() {
    let rows = 200;
    let k: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let s: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..rows).map(|row| if row % 67 == 66 { "a" } else { "b" }),
    ));
    for (version, compression) in [
        (WriterVersion::PARQUET_1_0, Codec::UNCOMPRESSED),
        (WriterVersion::PARQUET_1_0, Codec::SNAPPY),
        (WriterVersion::PARQUET_2_0, Codec::UNCOMPRESSED),
        (WriterVersion::PARQUET_2_0, Codec::SNAPPY),
    ] {
        let properties = small_pages()
            .set_writer_version(version)
            .set_compression(compression)
            .set_offset_index_disabled(true)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_data_page_row_count_limit(10)
            .set_write_batch_size(10);
        let object = write_with(vec![("k", k.clone()), ("s", s.clone())], properties.build());
        check(&object, "SELECT k FROM S3Object WHERE s = 'a'", "66\n133\n");
    }
}

#[test]
fn a_footer_of_many_columns_is_read_and_a_longer_one_refused_by_name() {
    // The footer is longer than the header of a page may be.
    let names: Vec<String> = (0..6000).map(|n| format!("{n}{}", "x".repeat(1000))).collect();
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let columns = names.iter().map(|name| (name.as_str(), one.clone())).collect();
    let properties = WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None);
    let object = write_with(columns, properties.build());
    let footer = u32::from_le_bytes(object[object.len() - 8..][..4].try_into().unwrap());
    assert!(footer > 16 << 20, "{footer}");
    check(&object, "SELECT COUNT(*) FROM S3Object", "2\n");
    let length = 33 << 20;
    let mut long = vec![0; length];
    long.extend((length as u32).to_le_bytes());
    long.extend(b"PAR1");
    let all = parquet("SELECT * FROM S3Object");
    check_error(
        &all,
        long,
        Code::ParquetParsingError,
        "its footer has 34603008 bytes, and at most",
    );
}

#[test]
fn headers_that_are_read_forever_are_refused() {
    let endless = b"\xf9\xf9\xff\xff\xff\xff\x07\xf1\xff\xff\xff\xff\x07";
    let mut object = types();
    object[4..4 + endless.len()].copy_from_slice(endless);
    let all = parquet("SELECT * FROM S3Object");
    check_error(&all, object, Code::ParquetParsingError, "no known type");
    // The same lists are hidden in a text, where the library expects a struct.
    let hidden = [b"\x68\x0e".as_slice(), endless].concat();
    let mut object = types();
    object[4..4 + hidden.len()].copy_from_slice(&hidden);
    check_error(&all, object, Code::ParquetParsingError, "another type");
    let mut object = types();
    let footer = object.len() - 8 - 1000;
    object[footer..footer + endless.len()].copy_from_slice(endless);
    object.truncate(footer + 1000);
    object.extend(1000_u32.to_le_bytes());
    object.extend(b"PAR1");
    check_error(&all, object, Code::ParquetParsingError, "no known type");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn skipping_changes_no_answer(
        values in prop::collection::vec(
            (prop::option::of(0_i64..12), prop::option::of("[ab]{0,2}"), 0_i32..5), 1..200
        ),
        sorted: bool,
        compressed: bool,
        bloom_filters: bool,
        conditions in prop::collection::vec(
            (
                0_usize..4,
                prop_oneof![Just("="), Just("<"), Just(">="), Just(">"), Just("IN"), Just("OR")],
                0_usize..6,
                prop::collection::vec(0_usize..6, 0..3),
            ),
            1..3,
        ),
    ) {
        let mut values = values;
        if sorted {
            values.sort();
        }
        let i: ArrayRef = Arc::new(Int64Array::from_iter(values.iter().map(|row| row.0)));
        let s: ArrayRef = Arc::new(StringArray::from_iter(values.iter().map(|row| row.1.as_ref())));
        let d: ArrayRef = Arc::new(Date32Array::from_iter_values(values.iter().map(|row| row.2)));
        let n = Decimal128Array::from_iter(values.iter().map(|row| row.0.map(|i| 25 * i128::from(i))));
        let n: ArrayRef = Arc::new(n.with_precision_and_scale(9, 2).unwrap());
        let columns = || {
            vec![("i", i.clone()), ("s", s.clone()), ("d", d.clone()), ("n", n.clone())]
        };
        let conditions: Vec<_> = conditions.iter().map(|(column, op, first, others)| {
            let value = |n: &usize| match column {
                // Text compares with numbers as text.
                0 if n % 3 == 2 => format!("'{}'", 2 * n),
                0 => format!("{}", 2 * n),
                1 => format!("'{}'", ["", "a", "aa", "ab", "b", "c"][*n]),
                2 => format!("CAST('1970-01-0{}' AS TIMESTAMP)", n + 1),
                _ => ["0.5", "0.50", "1", "1.005", "'0.75'", "2.75"][*n].to_owned(),
            };
            let name = ["i", "s", "d", "n"][*column];
            let others = others.iter().map(|n| format!(", {}", value(n))).collect::<String>();
            match *op {
                "IN" => format!("{name} IN ({}{others})", value(first)),
                // Of one column, or of two.
                "OR" if others.is_empty() => format!("({name} = {} OR s = 'ab')", value(first)),
                "OR" => format!("({name} = NULL OR {name} = {0} OR {name} IN ({0}{others}))", value(first)),
                op => format!("{name} {op} {}", value(first)),
            }
        }).collect();
        let statement = format!("SELECT i, s, d, n FROM S3Object WHERE {}", conditions.join(" AND "));
        let codec = if compressed { Codec::SNAPPY } else { Codec::UNCOMPRESSED };
        let pages = || small_pages()
            .set_compression(codec)
            .set_max_row_group_row_count(Some(50))
            .set_data_page_row_count_limit(3)
            .set_write_batch_size(3)
            .set_bloom_filter_enabled(bloom_filters);
        let plain = pages()
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_bloom_filter_enabled(false)
            .set_dictionary_enabled(false);
        let answers = [pages(), plain].map(|properties| {
            let object = write_with(columns(), properties.build());
            String::from_utf8(run(&parquet(&statement), object).unwrap().0).unwrap()
        });
        prop_assert_eq!(&answers[0], &answers[1]);
    }

    #[test]
    fn dictionaries_change_no_answer(
        values in prop::collection::vec(
            (prop::option::of(0_i64..4), prop::option::of("[a,\"]{0,1}"), 0_i32..3, -2_i128..2), 20..200
        ),
        newer: bool,
        page_rows in 1_usize..50,
        statement in prop_oneof![
            Just("SELECT * FROM S3Object"),
            Just("SELECT s FROM S3Object"),
            Just("SELECT d, i + 1, n, UPPER(s), i FROM S3Object"),
            Just("SELECT s, n FROM S3Object LIMIT 7"),
            Just("SELECT * FROM S3Object WHERE i > 0 OR s = 'a'"),
            Just("SELECT i, s, d, n FROM S3Object WHERE i IS NOT NULL AND s >= 'a' AND n < 1"),
            Just("SELECT COUNT(i), SUM(n), MIN(s), MAX(d), AVG(i) FROM S3Object"),
            Just("SELECT 6 / (i - 2), s FROM S3Object"),
            Just("SELECT s, COUNT(*), SUM(n) FROM S3Object GROUP BY s"),
            Just("SELECT i, s, MAX(d), COUNT(n) FROM S3Object WHERE n < 1 GROUP BY s, i"),
            Just("SELECT d, s, n, MIN(i) FROM S3Object GROUP BY d, s, n"),
            Just("SELECT i + 1, d, SUM(n) FROM S3Object GROUP BY i + 1, d"),
        ],
        json: bool,
        most_groups in 1_usize..40,
    ) {
        let i: ArrayRef = Arc::new(Int64Array::from_iter(values.iter().map(|row| row.0)));
        let s: ArrayRef = Arc::new(StringArray::from_iter(values.iter().map(|row| row.1.as_ref())));
        let d: ArrayRef = Arc::new(Date32Array::from_iter_values(values.iter().map(|row| row.2)));
        let n = Decimal128Array::from_iter_values(values.iter().map(|row| row.3));
        let n: ArrayRef = Arc::new(n.with_precision_and_scale(15, 2).unwrap());
        let columns = || vec![("i", i.clone()), ("s", s.clone()), ("d", d.clone()), ("n", n.clone())];
        let mut request = SelectRequest { extras: Extras::ALL, ..parquet(statement) };
        if json {
            request.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
        }
        let version = if newer { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
        let answers = [true, false].map(|dictionaries| {
            let properties = small_pages()
                .set_writer_version(version)
                .set_max_row_group_row_count(Some(90))
                .set_data_page_row_count_limit(page_rows)
                .set_write_batch_size(1)
                .set_dictionary_enabled(dictionaries);
            let object = write_with(columns(), properties.build());
            let mut answer = Answer::default();
            let evaluation = Evaluation::prepare(&request, Arc::new(object)).unwrap();
            let evaluation = evaluation.with_max_groups(most_groups);
            let ran = evaluation.run(&mut answer).map(drop).map_err(|error| error.message);
            (String::from_utf8(answer.bytes).unwrap(), ran)
        });
        prop_assert_eq!(&answers[0], &answers[1]);
    }

    #[test]
    fn damaged_codes_are_errors_not_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        newer: bool,
    ) {
        let n: ArrayRef = Arc::new(Int64Array::from_iter((0..200).map(|i| (i % 7 > 0).then_some(i % 5))));
        let s: ArrayRef = Arc::new(StringArray::from_iter_values((0..200).map(|i| ["a", "bc"][i / 100])));
        let version = if newer { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
        let properties = small_pages().set_writer_version(version).build();
        let mut object = write_with(vec![("n", n), ("s", s)], properties);
        let pages = object.len() / 3;
        for (at, byte) in damage {
            object[at.index(pages)] = byte;
        }
        let _ = run(&parquet("SELECT * FROM S3Object"), object);
    }

    #[test]
    fn damaged_files_are_errors_not_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
        footer: bool,
    ) {
        let mut object = types();
        let from = if footer { object.len() / 2 } else { 0 };
        for (at, byte) in damage {
            let at = from + at.index(object.len() - from);
            object[at] = byte;
        }
        if let Some(cut) = cut {
            object.truncate(cut.index(object.len()));
        }
        let _ = run(&parquet("SELECT * FROM S3Object WHERE i = 7"), object);
    }
}
