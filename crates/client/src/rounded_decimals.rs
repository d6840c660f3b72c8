//! Decimals of text with more digits behind the point than their type has. Arrow's readers drop these digits, so
//! values are read with one digit more and rounded half away from zero, as CAST rounds.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType};
use arrow::error::ArrowError;

/// Returns the type to read decimals of a type with; `None` for other types.
pub(crate) fn wider(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal128(precision, scale) if *scale >= 0 => {
            Some(match *precision < DECIMAL128_MAX_PRECISION {
                true => DataType::Decimal128(precision + 1, scale + 1),
                false => DataType::Decimal256(precision + 1, scale + 1),
            })
        }
        DataType::Decimal256(precision, scale)
            if *scale >= 0 && *precision < DECIMAL256_MAX_PRECISION =>
        {
            Some(DataType::Decimal256(precision + 1, scale + 1))
        }
        _ => None,
    }
}

/// A value that has too many digits for its type once it is rounded.
#[derive(Debug)]
pub(crate) struct TooManyDigits {
    /// The value's row, or `None` if it is in a list or an object.
    pub(crate) row: Option<usize>,
    pub(crate) why: String,
}

impl From<TooManyDigits> for ArrowError {
    fn from(bad: TooManyDigits) -> Self {
        Self::ParseError(bad.why)
    }
}

/// Rounds values that were read with the wider type of `to`.
pub(crate) fn rounded(values: &ArrayRef, to: &DataType) -> Result<ArrayRef, TooManyDigits> {
    if let (DataType::Decimal128(..), DataType::Decimal128(precision, _)) = (values.data_type(), to)
    {
        return narrow(values.as_primitive(), *precision, to);
    }
    let cast = |safe| {
        cast_with_options(values, to, &CastOptions { safe, ..CastOptions::default() })
            .map_err(|error| TooManyDigits { row: None, why: error.to_string() })
    };
    if !matches!(to, DataType::Decimal128(..) | DataType::Decimal256(..)) {
        return cast(false);
    }
    let rounded = cast(true)?;
    match (0..values.len()).find(|row| rounded.is_null(*row) && values.is_valid(*row)) {
        Some(row) => Err(beyond(row, to)),
        None => Ok(rounded),
    }
}

fn beyond(row: usize, to: &DataType) -> TooManyDigits {
    let shape = match to {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            format!("DECIMAL({precision}, {scale})")
        }
        other => other.to_string(),
    };
    TooManyDigits { row: Some(row), why: format!("the value has too many digits for {shape}") }
}

fn narrow(
    values: &Decimal128Array,
    precision: u8,
    to: &DataType,
) -> Result<ArrayRef, TooManyDigits> {
    // The precision is below 38, because a type of 38 digits is read with 256 bits.
    let limit = 10_i128.pow(precision.into());
    let mut rounded = Vec::with_capacity(values.len());
    let mut fits = true;
    for value in values.values() {
        let value = without_last_digit(*value);
        fits &= -limit < value && value < limit;
        rounded.push(value);
    }
    if !fits {
        let is_beyond = |row: &usize| values.is_valid(*row) && rounded[*row].abs() >= limit;
        if let Some(row) = (0..values.len()).find(is_beyond) {
            return Err(beyond(row, to));
        }
    }
    let rounded = Decimal128Array::new(rounded.into(), values.nulls().cloned());
    Ok(Arc::new(rounded.with_data_type(to.clone())))
}

/// Returns a tenth of a number, rounded half away from zero.
#[inline]
fn without_last_digit(value: i128) -> i128 {
    // A division of 64 bits takes a fraction of the time of 128 bits.
    match i64::try_from(value) {
        Ok(value) => (value / 10 + (value % 10) / 5).into(),
        Err(_) => value / 10 + (value % 10) / 5,
    }
}

/// Replaces the types in an error of Arrow's readers by the types that were declared.
#[must_use]
pub fn with_declared_types(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("Decimal") {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let end = found.find(')').map_or(found.len(), |end| end + 1);
        match declared(&found[..end]) {
            Some(declared) => out.push_str(&declared),
            None => out.push_str(&found[..end]),
        }
        rest = &found[end..];
    }
    out.push_str(rest);
    out
}

/// Returns the declared type for the one that values were read with.
fn declared(wide: &str) -> Option<String> {
    let (bits, shape) = wide.strip_suffix(')')?.split_once('(')?;
    let (precision, scale) = shape.split_once(',')?;
    let precision = precision.trim().parse::<u8>().ok()?.checked_sub(1)?;
    let scale = scale.trim().parse::<i8>().ok()?.checked_sub(1)?;
    match bits {
        "Decimal128" => Some(format!("Decimal128({precision}, {scale})")),
        "Decimal256" if precision == DECIMAL128_MAX_PRECISION => {
            Some(format!("Decimal128({precision}, {scale})"))
        }
        "Decimal256" => Some(format!("Decimal256({precision}, {scale})")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Decimal256Array;
    use arrow::datatypes::{Decimal128Type, i256};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn types_are_those_that_were_declared() {
        let message = "'x' as type 'Decimal128(11, 3)', Decimal256(39, 1), Decimal, Decimal128(a";
        let expected = "'x' as type 'Decimal128(10, 2)', Decimal128(38, 0), Decimal, Decimal128(a";
        assert_eq!(with_declared_types(message), expected);
    }

    #[test]
    fn what_no_longer_fits_is_found() {
        let values: ArrayRef = Arc::new(
            Decimal128Array::from(vec![Some(9994), None, Some(-9995)])
                .with_precision_and_scale(4, 2)
                .unwrap(),
        );
        let bad = rounded(&values, &DataType::Decimal128(3, 1)).unwrap_err();
        assert_eq!(
            (bad.row, bad.why.as_str()),
            (Some(2), "the value has too many digits for DECIMAL(3, 1)")
        );
    }

    proptest! {
        #[test]
        fn decimals_are_rounded_half_away_from_zero(
            value in prop_oneof![any::<i64>().prop_map(i128::from), any::<i128>().prop_map(|it| it / 100)],
            scale in 0_i8..10,
        ) {
            let half = i256::from_i128(if value < 0 { -5 } else { 5 });
            let expected = (i256::from_i128(value) + half) / i256::from_i128(10);
            let narrow: ArrayRef = Arc::new(
                Decimal128Array::from(vec![value]).with_data_type(DataType::Decimal128(38, scale + 1)),
            );
            let found = rounded(&narrow, &DataType::Decimal128(37, scale)).unwrap();
            prop_assert_eq!(i256::from_i128(found.as_primitive::<Decimal128Type>().value(0)), expected);
            let wide: ArrayRef = Arc::new(
                Decimal256Array::from(vec![i256::from_i128(value)])
                    .with_data_type(DataType::Decimal256(39, scale + 1)),
            );
            let found = rounded(&wide, &DataType::Decimal128(38, scale)).unwrap();
            prop_assert_eq!(i256::from_i128(found.as_primitive::<Decimal128Type>().value(0)), expected);
        }
    }
}
