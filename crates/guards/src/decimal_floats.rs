//! Decimals of many digits that are cast to floating point.

use std::fmt::{Display, Write};
use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
};
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::logical_expr::ColumnarValue;

use super::columnar_values::mapped;
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "A decimal of many digits is rounded twice when it becomes a DOUBLE or REAL",
    upstream: &[],
    ours: "The result is the floating-point number nearest to the decimal. Decimals of at most 15 digits (7 for REAL) \
           were right before.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT x = CAST('0.0000000000000000000000000000000000382' AS DOUBLE) \
                  FROM (VALUES (CAST(CAST('0.0000000000000000000000000000000000382' AS DECIMAL(38,37)) AS DOUBLE))) t(x)",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Rows(&["false"]),
        },
        Case {
            setup: &["CREATE TABLE wide AS SELECT CAST(d AS DECIMAL(20,3)) AS d \
                 FROM (VALUES ('90071992547409.929'), ('-0.007'), (NULL)) t(d)"],
            sql: "SELECT CAST(d AS DOUBLE), d * CAST(2 AS DOUBLE) FROM wide",
            right: CaseOutcome::Rows(&[
                "90071992547409.92, 180143985094819.84",
                "-0.007, -0.014",
                "NULL, NULL",
            ]),
            theirs: CaseOutcome::Rows(&[
                "90071992547409.94, 180143985094819.88",
                "-0.007, -0.014",
                "NULL, NULL",
            ]),
        },
    ],
};

/// Returns whether DataFusion's cast of these decimals to floating point may be wrong, because its quotient rounds:
/// the digits or the power of ten are not exact as a floating-point number.
pub(super) fn concerns(from: &DataType, to: &DataType) -> bool {
    let (DataType::Decimal32(digits, places)
    | DataType::Decimal64(digits, places)
    | DataType::Decimal128(digits, places)
    | DataType::Decimal256(digits, places)) = from
    else {
        return false;
    };
    match to {
        DataType::Float64 => *digits > 15 || *places > 22,
        DataType::Float32 => *digits > 7 || *places > 10,
        _ => false,
    }
}

/// Returns the cast of decimals to floating point, or `None` if it is another.
pub(super) fn casted(value: &ColumnarValue, to: &DataType) -> Result<Option<ColumnarValue>> {
    if !concerns(&value.data_type(), to) {
        return Ok(None);
    }
    mapped(value, |decimals| rounded(decimals, to)).map(Some)
}

fn rounded(decimals: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let decimals = match decimals.data_type() {
        DataType::Decimal32(digits, places) | DataType::Decimal64(digits, places) => {
            cast(decimals, &DataType::Decimal128(*digits, *places))?
        }
        _ => Arc::clone(decimals),
    };
    match (decimals.data_type(), to) {
        (DataType::Decimal128(_, scale), DataType::Float32) => {
            let power = (0..=10).contains(scale).then(|| 10_f32.powi((*scale).into()));
            nearest::<Decimal128Type, Float32Type>(&decimals, *scale, |it| {
                power.filter(|_| it.unsigned_abs() < 1 << 24).map(|power| it as f32 / power)
            })
        }
        (DataType::Decimal128(_, scale), _) => {
            let power = (0..=22).contains(scale).then(|| 10_f64.powi((*scale).into()));
            nearest::<Decimal128Type, Float64Type>(&decimals, *scale, |it| {
                power.filter(|_| it.unsigned_abs() < 1 << 53).map(|power| it as f64 / power)
            })
        }
        (DataType::Decimal256(_, scale), DataType::Float32) => {
            nearest::<Decimal256Type, Float32Type>(&decimals, *scale, |_| None)
        }
        (DataType::Decimal256(_, scale), _) => {
            nearest::<Decimal256Type, Float64Type>(&decimals, *scale, |_| None)
        }
        (other, _) => exec_err!("{other} is no decimal"),
    }
}

/// Returns the numbers nearest to decimals of a scale: `quotient` where it divides two exact numbers, else what the
/// standard library reads in the decimal's text.
fn nearest<D, F>(
    decimals: &ArrayRef,
    scale: i8,
    quotient: impl Fn(D::Native) -> Option<F::Native>,
) -> Result<ArrayRef>
where
    D: ArrowPrimitiveType<Native: Display>,
    F: ArrowPrimitiveType<Native: FromStr>,
{
    let mut text = String::new();
    let mut read = |unscaled: D::Native| -> Result<F::Native> {
        text.clear();
        let written = write!(text, "{unscaled}e{}", -i16::from(scale));
        let number = written.ok().and_then(|()| text.parse().ok());
        number.ok_or_else(|| exec_datafusion_err!("{text} is no number"))
    };
    let numbers = decimals.as_primitive::<D>().iter();
    let numbers =
        numbers.map(|it| it.map(|it| quotient(it).map_or_else(|| read(it), Ok)).transpose());
    Ok(Arc::new(numbers.collect::<Result<PrimitiveArray<F>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_quotients_are_told() {
        use DataType as D;
        for (from, to, expected) in [
            (D::Decimal128(15, 2), D::Float64, false),
            (D::Decimal128(16, 2), D::Float64, true),
            (D::Decimal64(15, 15), D::Float64, false),
            (D::Decimal128(7, 7), D::Float32, false),
            (D::Decimal128(8, 0), D::Float32, true),
            (D::Decimal128(38, 38), D::Int64, false),
            (D::Int64, D::Float64, false),
        ] {
            assert_eq!(concerns(&from, &to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn both_ways_give_the_nearest_number() {
        let of = |digits, places, unscaled: &[i128], to: &DataType| {
            let decimals = PrimitiveArray::<Decimal128Type>::from_iter_values(unscaled.to_vec());
            let decimals = decimals.with_data_type(DataType::Decimal128(digits, places));
            let decimals = Arc::new(decimals) as ArrayRef;
            let wide = cast(&decimals, &DataType::Decimal256(digits, places)).unwrap();
            let [narrow, wide] = [decimals, wide].map(|it| rounded(&it, to).unwrap());
            assert_eq!(&narrow, &wide);
            narrow
        };
        let unscaled = [382, -1, 0, 90_071_992_547_409_931, (1 << 53) - 1, 10_i128.pow(37)];
        for places in 0..=37_i8 {
            let doubles = of(38, places, &unscaled, &DataType::Float64);
            let reals = of(38, places, &unscaled, &DataType::Float32);
            for (row, unscaled) in unscaled.iter().enumerate() {
                let text = format!("{unscaled}e-{places}");
                assert_eq!(
                    doubles.as_primitive::<Float64Type>().value(row),
                    text.parse::<f64>().unwrap()
                );
                assert_eq!(
                    reals.as_primitive::<Float32Type>().value(row),
                    text.parse::<f32>().unwrap()
                );
            }
        }
    }
}
