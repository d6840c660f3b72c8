//! Parameters of prepared statements, which are written into the statement as literals.
//!
//! The engine plans statements with the values of their parameters, so that files are pruned by them.

use std::panic::AssertUnwindSafe;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNanoType, IntervalUnit};
use arrow::error::ArrowError;
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};
use sluicegate_postgres::lex::{self, TokenKind};
use sluicegate_postgres::{Scalar, SqlError, state};
use tonic::Status;

use super::bounded::HELD_BYTES;
use super::errors;
use crate::commands::serve_sql::{literals, types, values};

/// The parameters of a statement as literals, one list for each row.
pub(super) type Rows = Vec<Vec<String>>;

/// Numbers the parameters that are question marks, as drivers write them: `a = ?` becomes `a = $1`. A statement with
/// `$1` stays.
pub(super) fn numbered(sql: &str) -> String {
    if lex::highest_parameter(sql) > 0 {
        return sql.to_owned();
    }
    let mut text = String::with_capacity(sql.len() + 8);
    let mut number = 0;
    for token in lex::tokens(sql) {
        match (token.kind, token.text) {
            (TokenKind::Symbol, "?") => {
                number += 1;
                text += &format!("${number}");
            }
            (_, other) => text += other,
        }
    }
    text
}

/// Writes the literals of one row into a statement.
///
/// # Errors
///
/// If the statement has another number of parameters.
pub(super) fn bound(sql: &str, row: &[String]) -> Result<String, SqlError> {
    let wanted = lex::highest_parameter(sql);
    if wanted != row.len() {
        let message = format!("the statement has {wanted} parameters, and {} values", row.len());
        return Err(SqlError::new(state::UNDEFINED_PARAMETER, message)
            .with_hint("Bind one value to each parameter."));
    }
    Ok(lex::with_parameters(sql, |number| row.get(usize::from(number) - 1).cloned()))
}

/// Reads the rows of parameters that a client sends.
pub(super) async fn read(
    stream: impl Stream<Item = Result<FlightData, Status>> + Send + 'static,
) -> Result<Rows, Status> {
    let stream = stream.map(|data| {
        let data = data.map_err(|status| FlightError::Tonic(Box::new(status)))?;
        check_compression(&data)?;
        Ok(data)
    });
    // A message without an Arrow schema carries the descriptor only.
    let stream = stream.try_filter(|data| std::future::ready(!data.data_header.is_empty()));
    let mut batches = FlightRecordBatchStream::new_from_flight_data(stream);
    let (mut rows, mut bytes) = (Rows::new(), 0);
    loop {
        // Arrow's reader checks what it reads; a panic would be a bug in it, and must not end more than this call.
        let next = AssertUnwindSafe(batches.next()).catch_unwind().await;
        let next = next.map_err(|_| Status::invalid_argument("the parameters cannot be read"))?;
        let Some(batch) = next else { return Ok(rows) };
        let batch = batch.map_err(errors::of_received)?;
        for row in self::rows(&batch).map_err(|error| errors::status(&error))? {
            bytes += row.iter().map(|literal| literal.len() + size_of::<String>()).sum::<usize>();
            if bytes > HELD_BYTES {
                return Err(Status::resource_exhausted(format!(
                    "the parameters have more than {} MiB",
                    HELD_BYTES >> 20
                )));
            }
            rows.push(row);
        }
    }
}

/// Refuses compressed data, which could be of any size once it is decompressed.
fn check_compression(data: &FlightData) -> Result<(), FlightError> {
    if data.data_header.is_empty() {
        return Ok(());
    }
    let message = arrow::ipc::root_as_message(&data.data_header)
        .map_err(|error| FlightError::DecodeError(error.to_string()))?;
    let batch = message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|it| it.data()));
    match batch.and_then(|it| it.compression()) {
        Some(_) => {
            let message = "compressed parameters are not supported".to_owned();
            Err(FlightError::DecodeError(message))
        }
        None => Ok(()),
    }
}

fn rows(batch: &RecordBatch) -> Result<Rows, SqlError> {
    let columns = batch.columns().iter().map(values::plain).collect::<Result<Vec<_>, _>>()?;
    let row = |row| columns.iter().map(|column| literal(column, row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// Returns the literal of a value.
fn literal(column: &ArrayRef, row: usize) -> Result<String, SqlError> {
    let kind = column.data_type();
    let (sql_type, _) = types::of_arrow(kind);
    if sql_type.scalar == Scalar::Json {
        let message = format!("parameters of the type {kind} are not supported");
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
            .with_hint("Bind numbers, texts, times, bytes, or lists of them."));
    }
    let typed = |literal: String| match kind {
        // A literal has this type by itself, or is a list of literals.
        DataType::Null
        | DataType::Boolean
        | DataType::Int64
        | DataType::Float64
        | DataType::Utf8
        | DataType::Binary
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..) => literal,
        kind => format!("arrow_cast({literal}, '{}')", kind.to_string().replace('\'', "''")),
    };
    if column.is_null(row) || matches!(kind, DataType::Null) {
        return literals::literal(&sluicegate_postgres::Value::Null, sql_type).map(typed);
    }
    match kind {
        // Numbers, because texts of times have neither all years nor all digits.
        DataType::Timestamp(..)
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Duration(_) => number(column, row, &DataType::Int64).map(typed),
        DataType::Date32 | DataType::Time32(_) => number(column, row, &DataType::Int32).map(typed),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let (months, days, nanos) = (value.months, value.days, value.nanoseconds);
            Ok(typed(format!("'{months} months {days} days {nanos} nanoseconds'")))
        }
        _ => literals::literal(&values::value(column, row)?, sql_type).map(typed),
    }
}

/// Returns the number that a time is stored as, with its type.
fn number(column: &ArrayRef, row: usize, stored: &DataType) -> Result<String, SqlError> {
    let numbers = cast(&column.slice(row, 1), stored).and_then(|it| cast(&it, &DataType::Int64));
    let numbers = numbers.map_err(failed)?;
    let number = numbers.as_primitive::<Int64Type>().value(0);
    Ok(format!("arrow_cast({number}, '{stored}')"))
}

fn failed(error: ArrowError) -> SqlError {
    SqlError::new(state::DATA_EXCEPTION, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BinaryArray, DurationSecondArray, Int32Array, ListArray, StringArray, StructArray,
        TimestampNanosecondArray,
    };
    use arrow::datatypes::{Field, Int32Type};

    use super::*;

    #[test]
    fn question_marks_are_numbered() {
        assert_eq!(numbered("SELECT ?, '?' -- ?\n, \"?\", ?"), "SELECT $1, '?' -- ?\n, \"?\", $2");
        assert_eq!(numbered("SELECT $1 ? 2"), "SELECT $1 ? 2");
    }

    #[test]
    fn every_parameter_needs_a_value() {
        let row = ["1".to_owned(), "'$1'".to_owned()];
        assert_eq!(bound("$2 = $1", &row).unwrap(), "'$1' = 1");
        bound("$1", &row).unwrap_err();
        bound("$3", &row).unwrap_err();
        assert_eq!(bound("SELECT 1", &[]).unwrap(), "SELECT 1");
    }

    #[test]
    fn values_become_literals() {
        let cases: [(ArrayRef, &str); 7] = [
            (Arc::new(Int32Array::from(vec![-7])), "arrow_cast((-7), 'Int32')"),
            (Arc::new(Int32Array::from(vec![None])), "arrow_cast(CAST(NULL AS INT), 'Int32')"),
            (Arc::new(StringArray::from(vec!["it's"])), "'it''s'"),
            (Arc::new(BinaryArray::from(vec![&b"\0\xff"[..]])), "X'00ff'"),
            (
                Arc::new(TimestampNanosecondArray::from(vec![1_000_000_001])),
                "arrow_cast(arrow_cast(1000000001, 'Int64'), 'Timestamp(ns)')",
            ),
            (
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([
                    Some(1),
                    None,
                ])])),
                "make_array(1, CAST(NULL AS INT))",
            ),
            (
                Arc::new(DurationSecondArray::from(vec![5])),
                "arrow_cast(arrow_cast(5, 'Int64'), 'Duration(s)')",
            ),
        ];
        for (array, expected) in cases {
            assert_eq!(literal(&array, 0).unwrap(), expected);
        }
        let field = Arc::new(Field::new("a", DataType::Int32, true));
        let array: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        let array: ArrayRef = Arc::new(StructArray::from(vec![(field, array)]));
        assert_eq!(literal(&array, 0).unwrap_err().code, state::FEATURE_NOT_SUPPORTED);
    }
}
