//! Arrow's values as those of PostgreSQL.

use std::borrow::Cow;
use std::fmt::Display;

use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use serde_json::{Map, Number, Value as Json};
use sluicegate_engine::{Engine, Query};
use sluicegate_postgres::types::encode;
use sluicegate_postgres::{Batch, Rows, Scalar, SqlError, Value, state};

use super::errors;
use super::types::of_arrow;

/// The rows of an answer.
pub(super) struct SqlRows {
    pub(super) answer: SendableRecordBatchStream,
    pub(super) engine: Engine,
    /// The query, whose warnings are complete at the end.
    pub(super) query: Option<Query>,
    pub(super) is_complete: bool,
}

impl std::fmt::Debug for SqlRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SqlRows")
    }
}

impl Rows for SqlRows {
    type Batch = SqlBatch;

    async fn next(&mut self) -> Result<Option<SqlBatch>, SqlError> {
        match self.answer.next().await {
            Some(Ok(batch)) => SqlBatch::new(&batch).map(Some),
            Some(Err(error)) => Err(errors::of_engine(&error.into(), "")),
            None => {
                self.is_complete = true;
                Ok(None)
            }
        }
    }

    fn notices(&mut self) -> Vec<String> {
        let mut notices = self.engine.take_notes();
        if self.is_complete
            && let Some(query) = self.query.take()
        {
            notices.extend(query.warnings());
        }
        notices
    }
}

/// Some rows of an answer.
#[derive(Debug)]
pub(super) struct SqlBatch {
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl SqlBatch {
    fn new(batch: &RecordBatch) -> Result<Self, SqlError> {
        let columns = batch.columns().iter().map(plain).collect::<Result<_, _>>()?;
        Ok(Self { columns, rows: batch.num_rows() })
    }
}

/// Decodes dictionaries and runs.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef, SqlError> {
    let kind = match array.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        DataType::RunEndEncoded(_, values) => values.data_type(),
        DataType::ListView(element) | DataType::LargeListView(element) => {
            &DataType::LargeList(element.clone())
        }
        _ => return Ok(ArrayRef::clone(array)),
    };
    cast(array, kind).map_err(|error| SqlError::new(state::INTERNAL_ERROR, error.to_string()))
}

impl Batch for SqlBatch {
    fn rows(&self) -> usize {
        self.rows
    }

    fn value(&self, row: usize, column: usize) -> Result<Value<'_>, SqlError> {
        value(&self.columns[column], row)
    }
}

pub(super) fn value(array: &ArrayRef, row: usize) -> Result<Value<'_>, SqlError> {
    if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => int::<Int8Type>(array, row),
        DataType::Int16 => int::<Int16Type>(array, row),
        DataType::Int32 => int::<Int32Type>(array, row),
        DataType::Int64 => int::<Int64Type>(array, row),
        DataType::UInt8 => int::<UInt8Type>(array, row),
        DataType::UInt16 => int::<UInt16Type>(array, row),
        DataType::UInt32 => int::<UInt32Type>(array, row),
        DataType::UInt64 => text(array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float16 => Value::Float4(array.as_primitive::<Float16Type>().value(row).to_f32()),
        DataType::Float32 => Value::Float4(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Value::Float8(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal32(..) => text(array.as_primitive::<Decimal32Type>().value_as_string(row)),
        DataType::Decimal64(..) => text(array.as_primitive::<Decimal64Type>().value_as_string(row)),
        DataType::Decimal128(..) => {
            text(array.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Decimal256(..) => {
            text(array.as_primitive::<Decimal256Type>().value_as_string(row))
        }
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).into()),
        DataType::Binary => bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().value(row)),
        DataType::Date32 => Value::Date(native::<Date32Type>(array, row)),
        DataType::Date64 => Value::Date(native::<Date64Type>(array, row).div_euclid(86_400_000)),
        DataType::Time32(TimeUnit::Second) => {
            Value::Time(native::<Time32SecondType>(array, row) * 1_000_000)
        }
        DataType::Time32(_) => Value::Time(native::<Time32MillisecondType>(array, row) * 1_000),
        DataType::Time64(TimeUnit::Nanosecond) => {
            Value::Time(native::<Time64NanosecondType>(array, row) / 1_000)
        }
        DataType::Time64(_) => Value::Time(native::<Time64MicrosecondType>(array, row)),
        DataType::Timestamp(unit, zone) => {
            let micros = micros(*unit, timestamp(*unit, array, row));
            match zone {
                Some(_) => Value::TimestampTz(micros),
                None => Value::Timestamp(micros),
            }
        }
        DataType::Duration(unit) => {
            let micros = micros(*unit, duration(*unit, array, row));
            Value::Interval { months: 0, days: 0, micros }
        }
        DataType::Interval(unit) => interval(*unit, array, row),
        kind => match of_arrow(kind).0.is_array {
            true => elements(array, row)?,
            false => Value::Text(json(array, row)?.to_string().into()),
        },
    })
}

fn native<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef, row: usize) -> i64 {
    array.as_primitive::<T>().value(row).into()
}

fn int<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef, row: usize) -> Value<'static> {
    Value::Int(native::<T>(array, row))
}

fn text(number: impl Display) -> Value<'static> {
    Value::Numeric(number.to_string().into())
}

const fn bytes(bytes: &[u8]) -> Value<'_> {
    Value::Bytes(Cow::Borrowed(bytes))
}

fn timestamp(unit: TimeUnit, array: &ArrayRef, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => native::<TimestampSecondType>(array, row),
        TimeUnit::Millisecond => native::<TimestampMillisecondType>(array, row),
        TimeUnit::Microsecond => native::<TimestampMicrosecondType>(array, row),
        TimeUnit::Nanosecond => native::<TimestampNanosecondType>(array, row),
    }
}

fn duration(unit: TimeUnit, array: &ArrayRef, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => native::<DurationSecondType>(array, row),
        TimeUnit::Millisecond => native::<DurationMillisecondType>(array, row),
        TimeUnit::Microsecond => native::<DurationMicrosecondType>(array, row),
        TimeUnit::Nanosecond => native::<DurationNanosecondType>(array, row),
    }
}

/// PostgreSQL has microseconds; further digits are cut off.
fn micros(unit: TimeUnit, number: i64) -> i64 {
    match unit {
        TimeUnit::Second => number.saturating_mul(1_000_000),
        TimeUnit::Millisecond => number.saturating_mul(1_000),
        TimeUnit::Microsecond => number,
        TimeUnit::Nanosecond => number.div_euclid(1_000),
    }
}

fn interval(unit: IntervalUnit, array: &ArrayRef, row: usize) -> Value<'static> {
    match unit {
        IntervalUnit::YearMonth => {
            let months = array.as_primitive::<IntervalYearMonthType>().value(row);
            Value::Interval { months, days: 0, micros: 0 }
        }
        IntervalUnit::DayTime => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            let micros = i64::from(value.milliseconds) * 1_000;
            Value::Interval { months: 0, days: value.days, micros }
        }
        IntervalUnit::MonthDayNano => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let micros = value.nanoseconds / 1_000;
            Value::Interval { months: value.months, days: value.days, micros }
        }
    }
}

/// Returns the elements of a list.
fn list(array: &ArrayRef, row: usize) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::List(_) => Some(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Some(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => Some(array.as_fixed_size_list().value(row)),
        _ => None,
    }
}

fn elements(array: &ArrayRef, row: usize) -> Result<Value<'static>, SqlError> {
    let elements = list(array, row).map(|list| plain(&list)).transpose()?;
    let Some(elements) = elements else { return Ok(Value::Null) };
    let values = (0..elements.len()).map(|row| Ok(owned(value(&elements, row)?)));
    values.collect::<Result<_, SqlError>>().map(Value::Array)
}

pub(super) fn owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Bool(value) => Value::Bool(value),
        Value::Int(number) => Value::Int(number),
        Value::Float4(number) => Value::Float4(number),
        Value::Float8(number) => Value::Float8(number),
        Value::Numeric(text) => Value::Numeric(text.into_owned().into()),
        Value::Text(text) => Value::Text(text.into_owned().into()),
        Value::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
        Value::Date(days) => Value::Date(days),
        Value::Time(micros) => Value::Time(micros),
        Value::Timestamp(micros) => Value::Timestamp(micros),
        Value::TimestampTz(micros) => Value::TimestampTz(micros),
        Value::Interval { months, days, micros } => Value::Interval { months, days, micros },
        Value::Array(elements) => Value::Array(elements.into_iter().map(owned).collect()),
    }
}

/// Returns a nested value as JSON. Numbers that JSON lacks are NULL; other scalars are texts.
fn json(array: &ArrayRef, row: usize) -> Result<Json, SqlError> {
    if array.is_null(row) {
        return Ok(Json::Null);
    }
    let array = plain(array)?;
    if let Some(elements) = list(&array, row) {
        return (0..elements.len()).map(|row| json(&elements, row)).collect();
    }
    match array.data_type() {
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter();
            let pairs = fields
                .iter()
                .zip(columns)
                .map(|(field, column)| Ok((field.name().clone(), json(column, row)?)));
            pairs.collect::<Result<Map<_, _>, SqlError>>().map(Json::Object)
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (plain(entries.column(0))?, entries.column(1));
            let pairs = (0..entries.len()).map(|row| {
                let key = value(&keys, row)?;
                Ok((encode::text(&key).unwrap_or_default().into_owned(), json(values, row)?))
            });
            pairs.collect::<Result<Map<_, _>, SqlError>>().map(Json::Object)
        }
        DataType::Union(..) => {
            let shown = ArrayFormatter::try_new(array.as_ref(), &FormatOptions::default());
            Ok(shown.map_or(Json::Null, |shown| Json::String(shown.value(row).to_string())))
        }
        kind if of_arrow(kind).0.scalar == Scalar::Json => Ok(Json::Null),
        _ => Ok(match value(&array, row)? {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(value),
            Value::Int(number) => number.into(),
            Value::Float4(number) => {
                Number::from_f64(number.into()).map_or(Json::Null, Json::Number)
            }
            Value::Float8(number) => Number::from_f64(number).map_or(Json::Null, Json::Number),
            other => Json::String(encode::text(&other).unwrap_or_default().into_owned()),
        }),
    }
}
