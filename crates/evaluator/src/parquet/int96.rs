//! Checks timestamps of 96 bits as written by Spark, Hive and Impala: the nanoseconds in a day, and the Julian day
//! number.
//!
//! The library converts them to 64 bits without detecting overflow. Nanoseconds only fit for the years 1677 to 2262,
//! so columns are read in microseconds until a timestamp has a finer part.

use parquet::basic::Encoding;
use parquet::column::page::Page;

use super::lengths::values;

/// The unit in which the timestamps of a row group are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Micros = 0,
    Nanos = 1,
}

/// The reason that timestamps do not fit a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimestampMisfit {
    /// A timestamp has a fraction of a microsecond.
    TooFine,
    /// A timestamp is beyond the years of the dialect, or beyond those that fit nanoseconds.
    OutOfRange,
}

/// The length of a timestamp in bytes.
const BYTES: usize = 12;
/// The Julian day number of 1970-01-01.
const EPOCH: i64 = 2_440_588;
const NANOS_PER_DAY: i128 = 86_400_000_000_000;
/// The times from 0001-01-01 to before 10000-01-01, in nanoseconds since 1970.
const YEARS: std::ops::Range<i128> = -719_162 * NANOS_PER_DAY..2_932_897 * NANOS_PER_DAY;

/// Checks all timestamps of a page; `levels` are the highest levels of repetition and definition.
pub(super) fn check(page: &Page, levels: [i16; 2], unit: Unit) -> Result<(), TimestampMisfit> {
    let is_dictionary = matches!(page, Page::DictionaryPage { .. });
    if !is_dictionary && page.encoding() != Encoding::PLAIN {
        return Ok(());
    }
    let values = values(page, levels).unwrap_or_default();
    let mut misfit = Ok(());
    for [n1, n2, n3, n4, n5, n6, n7, n8, day @ ..] in values.as_chunks::<BYTES>().0 {
        let nanos = i64::from_le_bytes([*n1, *n2, *n3, *n4, *n5, *n6, *n7, *n8]);
        let day = i64::from(i32::from_le_bytes(*day)) - EPOCH;
        let time = i128::from(day) * NANOS_PER_DAY + i128::from(nanos);
        if !YEARS.contains(&time) || unit == Unit::Nanos && i64::try_from(time).is_err() {
            return Err(TimestampMisfit::OutOfRange);
        }
        if unit == Unit::Micros && nanos % 1000 != 0 {
            misfit = Err(TimestampMisfit::TooFine);
        }
    }
    misfit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(values: &[(i64, i32)]) -> Page {
        let bytes = values
            .iter()
            .flat_map(|(nanos, day)| [&nanos.to_le_bytes()[..], &day.to_le_bytes()].concat());
        let buf: Vec<u8> = bytes.collect();
        let (num_values, encoding) = (values.len() as u32, Encoding::PLAIN);
        Page::DictionaryPage { buf: buf.into(), num_values, encoding, is_sorted: false }
    }

    #[test]
    fn timestamps_fit_their_unit() {
        let of = |value, unit| check(&page(&[(0, EPOCH as i32), value]), [0, 0], unit);
        let (first, last) = (EPOCH as i32 - 719_162, EPOCH as i32 + 2_932_896);
        let end = 86_399_999_999_000;
        for (value, micros, nanos) in [
            ((end, EPOCH as i32), Ok(()), Ok(())),
            ((1, EPOCH as i32), Err(TimestampMisfit::TooFine), Ok(())),
            ((0, first), Ok(()), Err(TimestampMisfit::OutOfRange)),
            ((end, last), Ok(()), Err(TimestampMisfit::OutOfRange)),
            ((-1000, first), Err(TimestampMisfit::OutOfRange), Err(TimestampMisfit::OutOfRange)),
            ((0, last + 1), Err(TimestampMisfit::OutOfRange), Err(TimestampMisfit::OutOfRange)),
            (
                (i64::MAX, i32::MAX),
                Err(TimestampMisfit::OutOfRange),
                Err(TimestampMisfit::OutOfRange),
            ),
        ] {
            assert_eq!(of(value, Unit::Micros), micros, "{value:?}");
            assert_eq!(of(value, Unit::Nanos), nanos, "{value:?}");
        }
    }
}
