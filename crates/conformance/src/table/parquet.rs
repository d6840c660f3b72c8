//! Cases for Parquet objects.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Int32Type};
use parquet::arrow::ArrowWriter;
use parquet::errors::Result;

use super::Expected::{Error, Rows};
use super::{Case, Expected, Input, Storage, csv_case, json_case};
use sluicegate_s3select::error::SelectErrorCode::{
    AmbiguousFieldName, CastFailed, ExternalEvalException, IntegerOverflow, InvalidColumnIndex,
    InvalidDataType, InvalidRequestParameter, ParquetParsingError,
};
use sluicegate_s3select::request::ScanRange;

const VALUES: &str = "values of Parquet are written as their types are, ours";
const NULLS: &str = "a value that is absent from Parquet is NULL, ours";
const TYPES: &str = "columns of Parquet have types, so that no CAST is needed";
const AGGREGATES: &str = "aggregates pass over NULLs and are exact";
const NESTED: &str = "groups and lists of Parquet are objects and arrays";
const LONG: &str = "INT(64) is int, where the reference says decimal, deviation";
const MIN_MAX: &str = "MIN and MAX of values other than numbers, extension";
const TWINS: &str = "fields that differ only in case are ambiguous without quotes";
const DAMAGED: &str = "an object that is not Parquet is an error";
const RANGES: &str = "a row group belongs to the scan range that its first byte is in";

pub(super) const CASES: &[Case] = &[
    case(VALUES, "SELECT id, small, text FROM S3Object", Rows("1,7,abc\n2,,\"d,é\"\n3,-7,\n")),
    case(VALUES, "SELECT big FROM S3Object", Rows("9223372036854775807\n-5\n9007199254740993\n")),
    case(VALUES, "SELECT price FROM S3Object", Rows("1.50\n-12.50\n0.07\n")),
    case(VALUES, "SELECT flag, ratio FROM S3Object", Rows("true,0.5\nfalse,-2.25\n,\n")),
    case(VALUES, "SELECT born FROM S3Object", Rows("1995-06-17\n1970-01-01\n1969-12-31\n")),
    case(VALUES, "SELECT s._1, s._3 FROM S3Object s LIMIT 1", Rows("1,9223372036854775807\n")),
    json(
        VALUES,
        "SELECT id, text, price, flag, ratio FROM S3Object WHERE id < 3",
        "{\"id\":1,\"text\":\"abc\",\"price\":1.50,\"flag\":true,\"ratio\":0.5}\n{\"id\":2,\"text\":\"d,é\",\"price\":-12.50,\"flag\":false,\"ratio\":-2.25}\n",
    ),
    json(
        NULLS,
        "SELECT small, text FROM S3Object WHERE id > 1",
        "{\"small\":null,\"text\":\"d,é\"}\n{\"small\":-7,\"text\":null}\n",
    ),
    case(NULLS, "SELECT id FROM S3Object WHERE text IS NULL", Rows("3\n")),
    case(NULLS, "SELECT id FROM S3Object WHERE text IS NOT NULL", Rows("1\n2\n")),
    case(NULLS, "SELECT id FROM S3Object WHERE text IS MISSING", Rows("")),
    case(NULLS, "SELECT id FROM S3Object WHERE NOT small > 0", Rows("3\n")),
    case(NULLS, "SELECT id FROM S3Object WHERE small > 0 OR small <= 0", Rows("1\n3\n")),
    case(NULLS, "SELECT COALESCE(text, '-') FROM S3Object WHERE id = 3", Rows("-\n")),
    case(NULLS, "SELECT id FROM S3Object WHERE small + 1 IS NULL", Rows("2\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE id = 2", Rows("2\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE big = 9007199254740993", Rows("3\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE big > 9007199254740993", Rows("1\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE price = 1.5", Rows("1\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE price BETWEEN -13 AND 0.07", Rows("2\n3\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE text = 'abc'", Rows("1\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE text LIKE 'd%'", Rows("2\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE text LIKE '_,_'", Rows("2\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE text IN ('abc', 'x')", Rows("1\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE text NOT IN ('abc', 'x')", Rows("2\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE flag", Rows("1\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE NOT flag", Rows("2\n")),
    case(TYPES, "SELECT id FROM S3Object WHERE ratio < 0.5", Rows("2\n")),
    case(
        TYPES,
        "SELECT id FROM S3Object WHERE born < CAST('1970-01-01T' AS TIMESTAMP)",
        Rows("3\n"),
    ),
    case(
        TYPES,
        "SELECT id FROM S3Object s WHERE s.\"at\" >= CAST('1995-06-17T10:00:00.25Z' AS TIMESTAMP)",
        Rows("1\n"),
    ),
    case(TYPES, "SELECT id + 1, -id, id * price FROM S3Object WHERE id = 2", Rows("3,-2,-25.00\n")),
    case(
        TYPES,
        "SELECT UPPER(text), CHAR_LENGTH(text) FROM S3Object WHERE id = 2",
        Rows("\"D,É\",3\n"),
    ),
    case(TYPES, "SELECT CAST(big AS STRING) FROM S3Object LIMIT 1", Rows("9223372036854775807\n")),
    case(LONG, "SELECT id / 2 FROM S3Object", Rows("0\n1\n1\n")),
    case(LONG, "SELECT big + 1 FROM S3Object", Error(IntegerOverflow)),
    case(TYPES, "SELECT 1 / (id - 1) FROM S3Object", Error(ExternalEvalException)),
    case(TYPES, "SELECT CAST(text AS INT) FROM S3Object", Error(CastFailed)),
    case(
        "a column that is not there is an error",
        "SELECT nope FROM S3Object",
        Error(InvalidColumnIndex),
    ),
    case(AGGREGATES, "SELECT COUNT(*), COUNT(small), COUNT(text) FROM S3Object", Rows("3,2,2\n")),
    case(
        AGGREGATES,
        "SELECT SUM(price), MIN(price), MAX(price) FROM S3Object",
        Rows("-10.93,-12.50,1.50\n"),
    ),
    case(AGGREGATES, "SELECT SUM(small), AVG(small) FROM S3Object", Rows("0,0\n")),
    case(MIN_MAX, "SELECT MIN(text), MAX(text) FROM S3Object", Rows("abc,\"d,é\"\n")),
    case(MIN_MAX, "SELECT MIN(born) FROM S3Object", Rows("1969-12-31\n")),
    case(AGGREGATES, "SELECT SUM(small) FROM S3Object WHERE id > 5", Rows("\"\"\n")),
    case(LONG, "SELECT SUM(big) FROM S3Object WHERE id <> 2", Error(IntegerOverflow)),
    json(
        NESTED,
        "SELECT s.\"list\", s.\"group\" FROM S3Object s WHERE s.id < 3",
        "{\"list\":[1,null],\"group\":{\"a\":\"x\"}}\n{\"list\":null,\"group\":{\"a\":null}}\n",
    ),
    case(NESTED, "SELECT s.\"list\"[0], s.\"group\".a FROM S3Object s LIMIT 1", Rows("1,x\n")),
    case(NESTED, "SELECT s.id FROM S3Object s WHERE s.\"group\".a = 'x'", Rows("1\n")),
    case(
        "documented: nested data is returned only as JSON",
        "SELECT s.\"list\" FROM S3Object s",
        Error(InvalidDataType),
    ),
    case(TWINS, "SELECT s.twins.b FROM S3Object s", Error(AmbiguousFieldName)),
    case(TWINS, "SELECT s.twins.\"B\" FROM S3Object s LIMIT 1", Rows("2\n")),
    Case { storage: Storage::ParquetTruncated, ..case(DAMAGED, COUNT, Error(ParquetParsingError)) },
    Case { storage: Storage::Plain, ..case(DAMAGED, COUNT, Error(ParquetParsingError)) },
    Case {
        storage: Storage::NotGzip,
        ..case("Parquet is not compressed as a whole", COUNT, Error(InvalidRequestParameter))
    },
    ranged(0, 4, Rows("3\n")),
    ranged(4, 4, Rows("3\n")),
    ranged(0, 3, Rows("0\n")),
    ranged(5, 1 << 20, Rows("0\n")),
];

const COUNT: &str = "SELECT COUNT(*) FROM S3Object";

/// Creates a case about [`object`].
const fn case(rule: &'static str, statement: &'static str, expected: Expected) -> Case {
    let case = csv_case(rule, statement, Input::Parquet, "not Parquet", expected);
    Case { storage: Storage::Parquet, ..case }
}

const fn json(rule: &'static str, statement: &'static str, rows: &'static str) -> Case {
    let case = json_case(rule, statement, Input::Parquet, "not Parquet", Rows(rows));
    Case { storage: Storage::Parquet, ..case }
}

const fn ranged(start: u64, last: u64, expected: Expected) -> Case {
    Case { scan_range: Some(ScanRange::Bounded { start, last }), ..case(RANGES, COUNT, expected) }
}

/// Returns three rows in one row group, which begins after the file's four magic bytes.
pub(super) fn object() -> Result<Vec<u8>> {
    let price = Decimal128Array::from(vec![150, -1250, 7]).with_precision_and_scale(15, 2)?;
    // 1995-06-17T10:00:00.25Z, 1970-01-01T00:00:00Z
    let at = TimestampMicrosecondArray::from(vec![Some(803_383_200_250_000), Some(0), None]);
    let list = [Some(vec![Some(1), None]), None, Some(Vec::new())];
    let inner: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("y")]));
    let group = StructArray::from(vec![(Arc::new(Field::new("a", DataType::Utf8, true)), inner)]);
    let twin = |name: &str, value| {
        let column: ArrayRef = Arc::new(Int32Array::from(vec![value; 3]));
        (Arc::new(Field::new(name, DataType::Int32, false)), column)
    };
    let twins = StructArray::from(vec![twin("b", 1), twin("B", 2)]);
    let columns: [(&str, ArrayRef); 12] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("small", Arc::new(Int32Array::from(vec![Some(7), None, Some(-7)]))),
        ("big", Arc::new(Int64Array::from(vec![i64::MAX, -5, 9_007_199_254_740_993]))),
        ("text", Arc::new(StringArray::from(vec![Some("abc"), Some("d,é"), None]))),
        ("price", Arc::new(price)),
        ("born", Arc::new(Date32Array::from(vec![9_298, 0, -1]))),
        ("at", Arc::new(at.with_timezone("UTC"))),
        ("ratio", Arc::new(Float64Array::from(vec![Some(0.5), Some(-2.25), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(list))),
        ("group", Arc::new(group)),
        ("twins", Arc::new(twins)),
    ];
    let rows = RecordBatch::try_from_iter(columns)?;
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None)?;
    writer.write(&rows)?;
    writer.close()?;
    Ok(bytes)
}
