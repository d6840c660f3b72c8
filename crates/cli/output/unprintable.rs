//! Dates and timestamps beyond the calendar, which Arrow's writers would print as the text of an error.

use std::ops::RangeInclusive;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{cast, max, min};
use arrow::datatypes::{DataType, Int64Type, TimeUnit};

use crate::failure::{Failure, Result};

/// Refuses batches with a date or timestamp that no calendar date exists for.
///
/// # Errors
///
/// If there is such a value. The message contains the number and the column.
pub(super) fn check(batch: &RecordBatch) -> Result<()> {
    let schema = batch.schema();
    for (column, field) in batch.columns().iter().zip(schema.fields()) {
        if let Some(number) = beyond(column)? {
            let (name, kind) = (field.name(), unit(column.data_type()));
            return Err(Failure::new(format!(
                "the column `{name}` has a value beyond the calendar: {number} {kind} since 1970"
            ))
            .with_hint(format!(
                "Read it as a number, CAST({name} AS BIGINT), or leave such rows out."
            )));
        }
    }
    Ok(())
}

fn unit(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Date32 => "days",
        DataType::Timestamp(TimeUnit::Second, _) => "seconds",
        DataType::Timestamp(TimeUnit::Microsecond, _) => "microseconds",
        _ => "milliseconds",
    }
}

/// Returns a value beyond the calendar, or `None` if there is none.
fn beyond(column: &ArrayRef) -> Result<Option<i64>> {
    const DAY: i64 = 86_400;
    // The calendar of Arrow's writers ends some 262,000 years before and after 1970.
    const PRINTABLE: RangeInclusive<i64> = -96_400_000..=94_900_000;
    let in_day = match column.data_type() {
        DataType::Date32 => 1,
        DataType::Timestamp(TimeUnit::Second, _) => DAY,
        DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => DAY * 1_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => DAY * 1_000_000,
        // 64 bits of nanoseconds end in 2262.
        _ => return Ok(None),
    };
    let numbers = match column.data_type() {
        DataType::Date32 => cast(&cast(column, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(column, &DataType::Int64)?,
    };
    let numbers = numbers.as_primitive::<Int64Type>();
    let is_beyond = |number: &i64| !PRINTABLE.contains(&number.div_euclid(in_day));
    Ok(min(numbers).filter(is_beyond).or_else(|| max(numbers).filter(is_beyond)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Date32Array, TimestampSecondArray};

    use super::*;

    #[test]
    fn values_without_a_date_are_found() {
        let dates = |days: &[i32]| Arc::new(Date32Array::from(days.to_vec())) as ArrayRef;
        assert_eq!(beyond(&dates(&[0, -700_000, 20_240_105])).unwrap(), None);
        assert_eq!(beyond(&dates(&[0, 1_704_067_200])).unwrap(), Some(1_704_067_200));
        let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MIN, 0]));
        assert_eq!(beyond(&seconds).unwrap(), Some(i64::MIN));
        let batch = RecordBatch::try_from_iter([("d", dates(&[1_704_067_200]))]).unwrap();
        let failure = format!("{:?}", check(&batch).unwrap_err());
        let message = "the column `d` has a value beyond the calendar: 1704067200 days since 1970";
        assert!(failure.contains(message), "{failure}");
    }
}
