//! Values that are compared with a threshold or added up, as whole numbers of a unit such as cents.

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};

use crate::failure::{Failure, Result};
use crate::output::progress::print_line;

/// How values that are compared with a threshold or added up become whole numbers of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainValues {
    /// The threshold in the column's unit; 0 if there is none.
    pub(crate) threshold: u32,
    /// The decimals to send, if they were given.
    pub(crate) decimals: Option<u32>,
    /// True if decimals that do not fit may be rounded up: a sum above a threshold then stays above it.
    pub(crate) rounds_up: bool,
}

/// Values as packets carry them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlainWords {
    pub(super) words: Vec<u32>,
    /// The decimals that are sent.
    pub(super) decimals: u32,
}

impl PlainValues {
    /// Encodes the rows of a column.
    pub(super) fn words(self, column: &ArrayRef, rows: &[usize], name: &str) -> Result<PlainWords> {
        let none = || {
            Failure::new(format!(
                "column `{name}` ({}) has values that are no numbers from 0 to 4294967295",
                column.data_type()
            ))
            .with_hint("They are compared with a threshold or added up. Change them in SQL first.")
        };
        let values = Decimals::of_numbers(column, rows).or_else(|| Decimals::of_text(column, rows));
        let Decimals { numbers, decimals } = values.ok_or_else(none)?.without_zeros();
        let greatest = numbers.iter().copied().max().unwrap_or(0);
        // A counter that saturates must still exceed the threshold of a sum.
        let greatest_threshold = i128::from(u32::MAX) - i128::from(self.rounds_up);
        let fits = |sent: &u32| {
            let threshold = power(*sent).checked_mul(self.threshold.into());
            let value = scaled(greatest, decimals, *sent);
            threshold.is_some_and(|it| it <= greatest_threshold)
                && value.is_some_and(|it| it <= u32::MAX.into())
        };
        let all = self.decimals.or_else(|| (0..=decimals).rev().find(fits));
        let sent = all.ok_or_else(none)?;
        if sent < decimals && !self.rounds_up {
            return Err(Failure::new(format!(
                "column `{name}` has {decimals} decimals, of which packets of 32 bits carry {sent}"
            ))
            .with_hint("Round them in SQL first; only `having` may round sums up."));
        }
        if sent < decimals {
            print_line(&format!(
                "column `{name}` has {decimals} decimals: packets carry {sent}, rounded up, and the answer is over those"
            ));
        }
        let word = |number: i128| u32::try_from(scaled(number, decimals, sent)?).ok();
        let words = numbers.into_iter().map(word).collect::<Option<_>>().ok_or_else(none)?;
        Ok(PlainWords { words, decimals: sent })
    }
}

/// Returns parameters whose threshold is in the unit of values with this many decimals.
pub(super) fn in_unit(
    algorithm: Algorithm,
    given: &Parameters,
    decimals: u32,
) -> Result<Parameters> {
    let threshold = threshold(algorithm, given);
    if decimals == 0 || threshold.is_none() {
        return Ok(*given);
    }
    let scaled =
        |threshold: u32| u32::try_from(power(decimals).checked_mul(threshold.into())?).ok();
    match threshold.and_then(scaled) {
        Some(threshold) => Ok(Parameters { threshold: Some(threshold), ..*given }),
        None => Err(Failure::Usage(format!(
            "the threshold with {decimals} decimals is more than 4294967295; send fewer with --decimals"
        ))),
    }
}

/// Returns the threshold that was given, or the algorithm's default; `None` if it has none.
pub(super) fn threshold(algorithm: Algorithm, given: &Parameters) -> Option<u32> {
    let default = || algorithm.takes("threshold").ok()?.default.parse().ok();
    given.threshold.or_else(default)
}

/// Numbers with the same number of decimals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimals {
    /// The numbers without their decimal point.
    pub(super) numbers: Vec<i128>,
    pub(super) decimals: u32,
}

impl Decimals {
    /// Takes the rows of a column of numbers, dates or times; `None` for other columns, and for doubles.
    pub(super) fn of_numbers(column: &ArrayRef, rows: &[usize]) -> Option<Self> {
        let data_type = column.data_type();
        let (numbers, decimals): (Vec<i128>, u32) = match data_type {
            DataType::Decimal128(_, scale) => {
                let values = column.as_primitive::<Decimal128Type>().values();
                (rows.iter().map(|&row| values[row]).collect(), u32::try_from(*scale).ok()?)
            }
            DataType::UInt64 => {
                let values = column.as_primitive::<UInt64Type>().values();
                (rows.iter().map(|&row| values[row].into()).collect(), 0)
            }
            _ if data_type.is_integer() || data_type.is_temporal() => {
                let array = cast(column, &DataType::Int64).ok()?;
                let values = array.as_primitive::<Int64Type>().values();
                (rows.iter().map(|&row| values[row].into()).collect(), 0)
            }
            _ => return None,
        };
        Some(Self { numbers, decimals })
    }

    /// Reads the rows of a column of text; `None` if one is no decimal number.
    fn of_text(column: &ArrayRef, rows: &[usize]) -> Option<Self> {
        let texts = column.as_string_opt::<i32>()?;
        let read = |&row: &usize| number(texts.value(row));
        let all: Vec<(i128, u32)> = rows.iter().map(read).collect::<Option<_>>()?;
        let decimals = all.iter().map(|(_, decimals)| *decimals).max().unwrap_or(0);
        let raised = |&(number, of): &(i128, u32)| number.checked_mul(power(decimals - of));
        Some(Self { numbers: all.iter().map(raised).collect::<Option<_>>()?, decimals })
    }

    /// Drops decimals that are zero in all numbers.
    fn without_zeros(mut self) -> Self {
        while self.decimals > 0 && self.numbers.iter().all(|number| number % 10 == 0) {
            self.numbers.iter_mut().for_each(|number| *number /= 10);
            self.decimals -= 1;
        }
        self
    }
}

/// Reads a number such as -12.50: without its decimal point, and the number of its decimals, at most 18.
fn number(text: &str) -> Option<(i128, u32)> {
    let text = text.trim();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = part.trim_end_matches('0');
    if digits.len() > 18 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = format!("{whole}{digits}").parse().ok()?;
    Some((number, digits.len() as u32))
}

/// Returns the number with `to` instead of `from` decimals, rounded up; `None` if it is too large.
fn scaled(number: i128, from: u32, to: u32) -> Option<i128> {
    match to.checked_sub(from) {
        Some(more) => number.checked_mul(power(more)),
        None => {
            let unit = power(from - to);
            Some(number.div_euclid(unit) + i128::from(number.rem_euclid(unit) > 0))
        }
    }
}

/// Returns a power of ten; at most 38, for any decimals that a column has.
fn power(exponent: u32) -> i128 {
    10_i128.pow(exponent.min(38))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Decimal128Array, StringArray};

    use super::*;

    const HAVING: PlainValues =
        PlainValues { threshold: 1_000_000, decimals: None, rounds_up: true };

    fn words(texts: &[&str], plain: PlainValues) -> Result<(Vec<u32>, u32)> {
        let column: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let rows: Vec<usize> = (0..texts.len()).collect();
        plain.words(&column, &rows, "v").map(|sent| (sent.words, sent.decimals))
    }

    #[test]
    fn numbers_are_read_exactly() {
        let read = ["8.20", "-0.05", "7", "1.", ".5", "33353.199999999995"].map(number);
        let expected = [
            Some((82, 1)),
            Some((-5, 2)),
            Some((7, 0)),
            Some((1, 0)),
            Some((5, 1)),
            Some((33_353_199_999_999_995, 12)),
        ];
        assert_eq!(read, expected);
        for wrong in ["", ".", "x", "1e3", "1.-5", "1.2.3", "0.0000000000000000001", "NaN"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn as_many_decimals_as_fit_are_sent() {
        assert_eq!(words(&["8.20", "0.05"], HAVING).unwrap(), (vec![820, 5], 2));
        // A million in thousandths fits 32 bits, in ten thousandths it does not.
        assert_eq!(words(&["0.500001", "0.001"], HAVING).unwrap(), (vec![501, 1], 3));
        let cents = PlainValues { decimals: Some(2), ..HAVING };
        assert_eq!(words(&["0.500001", "0.001"], cents).unwrap(), (vec![51, 1], 2));
        assert_eq!(words(&["7", "8"], cents).unwrap(), (vec![700, 800], 2));
        let exact = PlainValues { rounds_up: false, ..HAVING };
        assert!(words(&["0.500001"], exact).is_err());
        assert!(words(&["-0.5"], HAVING).is_err() && words(&["5e9"], HAVING).is_err());
        assert!(words(&["4294967296"], HAVING).is_err());
        // Only sums need a threshold that a counter can exceed.
        let greatest = PlainValues { threshold: u32::MAX, rounds_up: false, ..HAVING };
        assert_eq!(words(&["4294967295"], greatest).unwrap(), (vec![u32::MAX], 0));
    }

    #[test]
    fn a_decimal_column_has_its_own_unit() {
        let column = Decimal128Array::from(vec![500_000, 20_000]).with_precision_and_scale(9, 6);
        let column: ArrayRef = Arc::new(column.unwrap());
        let sent = HAVING.words(&column, &[0, 1], "v").unwrap();
        assert_eq!(sent, PlainWords { words: vec![50, 2], decimals: 2 });
        let given = Parameters { threshold: Some(500), ..Parameters::default() };
        let threshold = |algorithm, given: &Parameters, decimals| {
            in_unit(algorithm, given, decimals).map(|given| given.threshold)
        };
        assert_eq!(threshold(Algorithm::Having, &given, 2).unwrap(), Some(50_000));
        assert_eq!(threshold(Algorithm::Filter, &Parameters::default(), 1).unwrap(), Some(100));
        assert_eq!(threshold(Algorithm::Filter, &Parameters::default(), 0).unwrap(), None);
        assert_eq!(threshold(Algorithm::GroupSum, &Parameters::default(), 2).unwrap(), None);
        assert!(threshold(Algorithm::Having, &given, 8).is_err());
    }
}
