//! Addends of a sum, as whole numbers of a unit. They are rounded up, so that a sum above a threshold
//! stays above it.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, Schema, UInt64Type};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use serde::{Deserialize, Serialize};

use super::real_bits;
use super::words::Words;

/// The unit is chosen so that the threshold is about this many units.
const UNITS: i128 = 1 << 31;
/// The relative error allowed for a sum of doubles, which is added in another order.
const REAL_ERROR: f64 = 1e-6;
/// A lesser addend might overflow a sum of 64 bits, so its group is a candidate for pass 2.
const LEAST: i128 = -(1 << 32);

/// An addend.
#[derive(Debug, Clone)]
pub struct Amount {
    expr: Arc<dyn PhysicalExpr>,
    unit: Unit,
}

/// What an addend is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Unit {
    /// One if there is a value.
    Present,
    /// This many, of an integer or of a decimal's last digit.
    Whole(i128),
    /// This fraction, of a float.
    Real(#[serde(with = "real_bits")] f64),
}

impl Amount {
    /// One for every value that is not NULL, and the threshold of a count that must exceed
    /// `threshold`, or reach it.
    pub(crate) fn count(
        expr: &Arc<dyn PhysicalExpr>,
        threshold: &ScalarValue,
        reached: bool,
    ) -> Option<(Self, u32)> {
        let ScalarValue::Int64(Some(threshold)) = threshold else { return None };
        let threshold = u32::try_from(threshold.checked_sub(i64::from(reached))?).ok()?;
        Some((Self { expr: Arc::clone(expr), unit: Unit::Present }, threshold))
    }

    /// The addend `expr` of a sum that is compared with `threshold`, and the threshold that the
    /// switch compares with; `None` if the two cannot be counted in units.
    ///
    /// `reached`: the sum need only reach it, not exceed it. Negative addends count as zero, so the
    /// switch may count too much, never too little.
    pub(crate) fn sum(
        expr: &Arc<dyn PhysicalExpr>,
        data_type: &DataType,
        threshold: &ScalarValue,
        reached: bool,
    ) -> Option<(Self, u32)> {
        let (unit, threshold) = match (data_type, threshold) {
            (DataType::Float32 | DataType::Float64, ScalarValue::Float64(Some(c))) => {
                if !(c.is_finite() && *c > 0.0) {
                    return None;
                }
                let unit = c / UNITS as f64;
                (Unit::Real(unit), (UNITS as f64 * (1.0 - REAL_ERROR)) as i128)
            }
            (DataType::Decimal128(_, scale), ScalarValue::Decimal128(Some(c), _, other))
                if scale == other =>
            {
                whole(*c, reached)?
            }
            (data_type, ScalarValue::Int64(Some(c))) if data_type.is_signed_integer() => {
                whole((*c).into(), reached)?
            }
            (data_type, ScalarValue::UInt64(Some(c))) if data_type.is_unsigned_integer() => {
                whole((*c).into(), reached)?
            }
            _ => return None,
        };
        let amount = Self { expr: Arc::clone(expr), unit };
        Some((amount, u32::try_from(threshold).ok()?))
    }

    /// The addend of such a unit, if the expression has one.
    pub(super) fn of(unit: Unit, expr: Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Self> {
        let data_type = expr.data_type(schema)?;
        let has = match unit {
            Unit::Present => true,
            Unit::Whole(unit) => {
                unit > 0
                    && (data_type.is_integer() || matches!(data_type, DataType::Decimal128(..)))
            }
            // A threshold near zero has a unit of zero.
            Unit::Real(unit) => {
                unit >= 0.0
                    && unit.is_finite()
                    && matches!(data_type, DataType::Float32 | DataType::Float64)
            }
        };
        if has {
            Ok(Self { expr, unit })
        } else {
            plan_err!("values of type {data_type} cannot be added as {unit:?}")
        }
    }

    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    pub(crate) fn column(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// Writes the word of every row.
    pub(crate) fn encode(&self, batch: &RecordBatch, at: usize, out: &mut Words) -> Result<()> {
        let array = self.expr.evaluate(batch)?.into_array(batch.num_rows())?;
        let mut words = std::mem::take(&mut out.columns[at]);
        words.clear();
        match self.unit {
            Unit::Present => match array.logical_nulls() {
                Some(nulls) => words.extend(nulls.iter().map(u32::from)),
                None => words.resize(array.len(), 1),
            },
            Unit::Whole(unit) => {
                let mut low = Vec::new();
                let mut word = |row: usize, value: i128| {
                    if value < LEAST {
                        low.push(row);
                    }
                    let units = value.max(0).div_euclid(unit) + i128::from(value.max(0) % unit > 0);
                    words.push(u32::try_from(units).unwrap_or(u32::MAX));
                };
                each_whole(&array, &mut word)?;
                low.into_iter().for_each(|row| out.pass(row));
            }
            Unit::Real(unit) => {
                let reals = cast(&array, &DataType::Float64)?;
                let values = reals.as_primitive::<Float64Type>();
                for (row, value) in values.iter().enumerate() {
                    let value = value.unwrap_or(0.0);
                    if !value.is_finite() {
                        out.pass(row);
                    }
                    // Saturates.
                    words.push((value.max(0.0) / unit).ceil() as u32);
                }
            }
        }
        out.columns[at] = words;
        Ok(())
    }
}

/// The unit for a threshold, and the threshold in units.
fn whole(threshold: i128, reached: bool) -> Option<(Unit, i128)> {
    let threshold = threshold - i128::from(reached);
    if threshold < 0 {
        return None;
    }
    let unit = threshold.div_euclid(UNITS) + 1;
    Some((Unit::Whole(unit), threshold / unit))
}

fn each_whole(array: &ArrayRef, word: &mut impl FnMut(usize, i128)) -> Result<()> {
    match array.data_type() {
        DataType::Decimal128(..) => {
            let values = array.as_primitive::<Decimal128Type>().iter().enumerate();
            values.for_each(|(row, value)| word(row, value.unwrap_or(0)));
        }
        data_type if data_type.is_unsigned_integer() => {
            let array = cast(array, &DataType::UInt64)?;
            let values = array.as_primitive::<UInt64Type>().iter().enumerate();
            values.for_each(|(row, value)| word(row, value.unwrap_or(0).into()));
        }
        _ => {
            let array = cast(array, &DataType::Int64)?;
            let values = array.as_primitive::<Int64Type>().iter().enumerate();
            values.for_each(|(row, value)| word(row, value.unwrap_or(0).into()));
        }
    }
    Ok(())
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Present => write!(f, "{} IS NOT NULL", self.expr),
            Unit::Whole(1) => self.expr.fmt(f),
            Unit::Whole(unit) => write!(f, "{} / {unit}", self.expr),
            Unit::Real(unit) => write!(f, "{} / {unit:e}", self.expr),
        }
    }
}
