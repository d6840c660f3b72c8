//! Parsing of dates, times and decimals in CSV. Arrow's reader silently drops the time of day of a value in a column
//! of dates, and digits that a decimal has no place for, and refuses times without seconds. Dates and times are
//! therefore read as text and parsed here, and decimals are read with more digits and rounded.

use std::fmt;
use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{
    ArrayRef, AsArray, Date32Array, RecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow::compute::kernels::cast_utils::{Parser, string_to_datetime};
use arrow::datatypes::{DataType, Date32Type, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

use crate::rounded_decimals::{rounded, wider};

/// The columns of a schema that hold dates, timestamps without a time zone, or decimals.
#[derive(Debug, Clone)]
pub struct TextValues {
    schema: SchemaRef,
    /// The schema with text in these columns.
    read: SchemaRef,
    columns: Vec<usize>,
    refuses_times_of_day: bool,
}

/// A value that is not valid in its column.
#[derive(Debug)]
pub struct BadValue {
    /// The value's row in the batch.
    pub row: usize,
    /// The name of the column.
    pub column: String,
    why: String,
}

/// The wording of errors about a date with a time of day, which would be lost.
pub const TIME_OF_DAY: &str = "has a time of day";

impl BadValue {
    /// Returns the error for record number `record`, counted from 0.
    #[must_use]
    pub fn at(&self, record: usize) -> ArrowError {
        let Self { column, why, .. } = self;
        ArrowError::ParseError(format!("{why} for column `{column}` at line {record}"))
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for column `{}`", self.why, self.column)
    }
}

impl std::error::Error for BadValue {}

impl TextValues {
    /// Finds the columns in a schema; `None` if there are none.
    #[must_use]
    pub fn for_schema(schema: &SchemaRef) -> Option<Self> {
        let read_as = |data_type: &DataType| match data_type {
            DataType::Date32 | DataType::Timestamp(_, None) => Some(DataType::Utf8),
            other => wider(other),
        };
        let fields = schema.fields().iter().enumerate();
        let is_parsed = |field: &FieldRef| read_as(field.data_type()).is_some();
        let columns: Vec<usize> =
            fields.filter(|(_, field)| is_parsed(field)).map(|(index, _)| index).collect();
        if columns.is_empty() {
            return None;
        }
        let read = schema.fields().iter().map(|field| match read_as(field.data_type()) {
            Some(read) => Arc::new(field.as_ref().clone().with_data_type(read)),
            None => Arc::clone(field),
        });
        let read = Schema::new_with_metadata(read.collect::<Vec<_>>(), schema.metadata().clone());
        let (schema, read) = (Arc::clone(schema), Arc::new(read));
        Some(Self { schema, read, columns, refuses_times_of_day: false })
    }

    /// Sets whether a date with a time of day is an error, as it is for types that were inferred from a sample.
    /// Otherwise the time of day is dropped.
    #[must_use]
    pub fn refusing_times_of_day(self, refuses_times_of_day: bool) -> Self {
        Self { refuses_times_of_day, ..self }
    }

    /// Returns the schema to read with.
    #[must_use]
    pub fn read(&self) -> &SchemaRef {
        &self.read
    }

    /// Converts a batch that was read with [`Self::read()`] to the original schema.
    ///
    /// # Errors
    ///
    /// Returns the first invalid value.
    pub fn parsed(&self, batch: &RecordBatch) -> Result<RecordBatch, BadValue> {
        let mut columns = batch.columns().to_vec();
        for index in &self.columns {
            let field = self.schema.field(*index);
            let bad = |(row, why)| BadValue { row, column: field.name().clone(), why };
            let (to, refuses) = (field.data_type(), self.refuses_times_of_day);
            columns[*index] = parse(to, &columns[*index], refuses).map_err(bad)?;
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|error| BadValue {
            row: 0,
            column: String::new(),
            why: error.to_string(),
        })
    }
}

fn parse(
    to: &DataType,
    texts: &ArrayRef,
    refuses_times_of_day: bool,
) -> Result<ArrayRef, (usize, String)> {
    if matches!(to, DataType::Decimal128(..) | DataType::Decimal256(..)) {
        return rounded(texts, to).map_err(|bad| (bad.row.unwrap_or(0), bad.why));
    }
    let utc: Tz = "+00:00".parse().map_err(|error: ArrowError| (0, error.to_string()))?;
    let texts = texts.as_string::<i32>();
    let times = |of: fn(Time) -> Option<i64>| {
        let time = |text: &str| {
            Time::parse_lenient(&utc, text).and_then(of).ok_or_else(|| bad(text, "TIMESTAMP"))
        };
        let value = |(row, text): (usize, Option<&str>)| {
            text.map(time).transpose().map_err(|why| (row, why))
        };
        texts.iter().enumerate().map(value).collect::<Result<Vec<_>, _>>()
    };
    Ok(match to {
        DataType::Timestamp(TimeUnit::Second, _) => {
            Arc::new(TimestampSecondArray::from(times(|time| Some(time.seconds))?))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Arc::new(TimestampMillisecondArray::from(times(|time| time.in_parts(1000))?))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Arc::new(TimestampMicrosecondArray::from(times(|time| time.in_parts(1_000_000))?))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Arc::new(TimestampNanosecondArray::from(times(|time| time.in_parts(NANOS))?))
        }
        _ => {
            let value = |(row, text): (usize, Option<&str>)| {
                let day = text.map(|text| days(&utc, text, refuses_times_of_day));
                day.transpose().map_err(|why| (row, why))
            };
            Arc::new(texts.iter().enumerate().map(value).collect::<Result<Date32Array, _>>()?)
        }
    })
}

const NANOS: i64 = 1_000_000_000;

/// A time as seconds since 1970 and nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Time {
    seconds: i64,
    nanos: u32,
}

impl Time {
    /// Parses a text like Arrow does, and also accepts times without seconds.
    fn parse_lenient(utc: &Tz, text: &str) -> Option<Self> {
        let time = string_to_datetime(utc, text).ok();
        let time = time.or_else(|| string_to_datetime(utc, &with_seconds(text)?).ok())?;
        Some(Self { seconds: time.timestamp(), nanos: time.timestamp_subsec_nanos() })
    }

    /// Converts the time to units of 1/`parts` s; `None` if it does not fit into 64 bits.
    fn in_parts(self, parts: i64) -> Option<i64> {
        let below = i64::from(self.nanos) / (NANOS / parts);
        let all = i128::from(self.seconds) * i128::from(parts) + i128::from(below);
        i64::try_from(all).ok()
    }
}

/// Returns the day of a date, counted from 1970.
fn days(utc: &Tz, text: &str, refuses_times_of_day: bool) -> Result<i32, String> {
    let is_date = text.len() <= 10 || text.starts_with(['+', '-']);
    if !is_date && let Some(time) = Time::parse_lenient(utc, text) {
        if refuses_times_of_day && (time.nanos > 0 || time.seconds % SECONDS_OF_DAY != 0) {
            return Err(format!("the value '{text}' {TIME_OF_DAY} that no DATE holds,"));
        }
        return i32::try_from(time.seconds.div_euclid(SECONDS_OF_DAY))
            .map_err(|_| bad(text, "DATE"));
    }
    Date32Type::parse(text).ok_or_else(|| bad(text, "DATE"))
}

const SECONDS_OF_DAY: i64 = 24 * 60 * 60;

fn bad(text: &str, as_type: &str) -> String {
    format!("Error while parsing value '{text}' as type '{as_type}'")
}

/// Adds seconds to a text such as `2026-01-01 10:00`, with or without a zone; `None` for any other text.
#[must_use]
pub fn with_seconds(text: &str) -> Option<String> {
    const SHAPE: &[u8] = b"0000-00-00 00:00";
    let is_like = |(shape, byte): (&u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T' | b't'),
        other => byte == other,
    };
    let (time, rest) = text.split_at_checked(SHAPE.len())?;
    let is_short = SHAPE.iter().zip(time.as_bytes()).all(is_like) && !rest.starts_with(':');
    is_short.then(|| format!("{time}:00{rest}"))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, StringArray};
    use arrow::datatypes::Field;
    use arrow::util::display::array_value_to_string;

    use super::*;

    #[test]
    fn only_times_without_seconds_are_completed() {
        for (text, expected) in [
            ("2026-01-01 10:00", Some("2026-01-01 10:00:00")),
            ("2026-01-01T10:00", Some("2026-01-01T10:00:00")),
            ("2026-01-01T10:00Z", Some("2026-01-01T10:00:00Z")),
            ("2026-01-01 10:00+02:00", Some("2026-01-01 10:00:00+02:00")),
            ("2026-01-01 10:00 Europe/Berlin", Some("2026-01-01 10:00:00 Europe/Berlin")),
            ("2026-01-01 10:00:30", None),
            ("2026-01-01", None),
            ("2026-01-01 10", None),
            ("2026-01-01_10:00", None),
            ("yesterday at 10:00", None),
            ("é026-01-01 10:00", None),
        ] {
            assert_eq!(with_seconds(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn no_time_of_day_is_lost() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        for (to, text, expected) in [
            (DataType::Date32, "2024-01-02", Ok("2024-01-02")),
            (DataType::Date32, "2024-1-2", Ok("2024-01-02")),
            (DataType::Date32, "1969-12-31 00:00:00", Ok("1969-12-31")),
            (DataType::Date32, "2024-01-02T00:00", Ok("2024-01-02")),
            (
                DataType::Date32,
                "2024-01-02 10:00:00",
                Err("'2024-01-02 10:00:00' has a time of day"),
            ),
            (DataType::Date32, "2024-01-02 00:00:00.1", Err("has a time of day")),
            (DataType::Date32, "2024-01-02 10:00", Err("has a time of day")),
            (DataType::Date32, "2024-13-02", Err("'2024-13-02' as type 'DATE'")),
            (DataType::Date32, "yesterday, late", Err("as type 'DATE'")),
            (micros.clone(), "2024-01-02 10:00", Ok("2024-01-02T10:00:00")),
            (micros.clone(), "2024-01-02T10:00Z", Ok("2024-01-02T10:00:00")),
            (micros.clone(), "2024-01-02 10:00:00.5", Ok("2024-01-02T10:00:00.500")),
            (micros.clone(), "2024-01-02", Ok("2024-01-02T00:00:00")),
            (micros, "10:00", Err("as type 'TIMESTAMP'")),
        ] {
            let schema = Arc::new(Schema::new(vec![Field::new("t", to.clone(), true)]));
            let dropping = TextValues::for_schema(&schema).unwrap();
            let times = dropping.clone().refusing_times_of_day(true);
            let column: ArrayRef = Arc::new(StringArray::from(vec![None, Some(text)]));
            let batch = RecordBatch::try_new(Arc::clone(times.read()), vec![column]).unwrap();
            match (times.parsed(&batch), expected) {
                (Ok(parsed), Ok(expected)) => {
                    assert!(parsed.column(0).is_null(0));
                    assert_eq!(array_value_to_string(parsed.column(0), 1).unwrap(), expected);
                }
                (Err(error), Err(expected)) => {
                    let is_dropped = dropping.parsed(&batch).is_ok();
                    assert_eq!(is_dropped, expected.contains(TIME_OF_DAY), "{text}");
                    assert_eq!(error.row, 1);
                    assert!(error.to_string().contains(expected), "{error}");
                }
                (parsed, expected) => panic!("{text} as {to}: {parsed:?}, not {expected:?}"),
            }
        }
    }
}
