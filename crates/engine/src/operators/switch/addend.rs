//! Addends of a sum, as whole numbers of a unit.
//!
//! Addends of a sum that is compared with a threshold are rounded up, so that a sum above the threshold stays above
//! it. Addends of a sum that the switch holds are exact.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, Schema, UInt64Type};
use datafusion::common::{ColumnStatistics, Result, ScalarValue, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::CastExpr;
use serde::{Deserialize, Serialize};

use super::float_bits;
use super::words::Words;
use crate::context::choice::Reason;

/// The unit is chosen such that the threshold is about this many units.
const UNITS: i128 = 1 << 31;
/// Relative error allowed for a sum of doubles, because the switch adds them in another order.
const REAL_ERROR: f64 = 1e-6;
/// Addends below this might overflow a sum of 64 bits, so their group is a candidate for pass 2.
const LEAST: i128 = -(1 << 32);

/// An addend of a sum: an expression and the unit that counts it.
#[derive(Debug, Clone)]
pub struct Amount {
    expr: Arc<dyn PhysicalExpr>,
    unit: Unit,
}

/// The part that a sum plays in the state of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It begins the state of the next aggregate.
    Adds,
    /// It is subtracted from the state of the aggregate before.
    Subtracts,
}

/// The unit that counts an addend.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Unit {
    /// 1 for a value, 0 for NULL.
    Present,
    /// This many whole numbers, or last digits of a decimal, rounded up.
    Whole(i128),
    /// This amount of a float, rounded up.
    Real(#[serde(with = "float_bits")] f64),
    /// 1, for this part of a whole number or of a decimal's last digits. Rows without a value, or with a value beyond
    /// 32 bits, bypass the switch.
    Exact(AddendSign),
}

/// A part of a whole number, at least zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AddendSign {
    /// The number itself, if it is not negative; other rows bypass the switch.
    All,
    /// The number if it is positive, else zero.
    Above,
    /// The absolute value if the number is negative, else zero.
    Below,
}

impl AddendSign {
    /// Returns the word of a value, or `None` if the part does not fit 32 bits.
    fn word(self, value: i128) -> Option<u32> {
        let part = match self {
            Self::All => value,
            Self::Above => value.max(0),
            Self::Below => value.min(0).checked_neg()?,
        };
        u32::try_from(part).ok()
    }
}

impl Amount {
    /// Returns an addend of 1 for every value that is not NULL, and the threshold in units of a count that must
    /// exceed `threshold`, or reach it if `reached`.
    pub(crate) fn count(
        expr: &Arc<dyn PhysicalExpr>,
        threshold: &ScalarValue,
        reached: bool,
    ) -> Option<(Self, u32)> {
        let ScalarValue::Int64(Some(threshold)) = threshold else { return None };
        let threshold = u32::try_from(threshold.checked_sub(i64::from(reached))?).ok()?;
        Some((Self { expr: Arc::clone(expr), unit: Unit::Present }, threshold))
    }

    /// Returns an addend of 1 for every value that is not NULL.
    pub(crate) fn present(expr: &Arc<dyn PhysicalExpr>) -> Self {
        Self { expr: Arc::clone(expr), unit: Unit::Present }
    }

    /// Returns exact addends for whole numbers or decimals: one, or two if values may be negative. The result is then
    /// the sum of the first minus the sum of the second. `known` returns the statistics of an expression.
    pub(crate) fn exact<'a>(
        expr: &Arc<dyn PhysicalExpr>,
        schema: &Schema,
        known: impl Fn(&Arc<dyn PhysicalExpr>) -> Option<&'a ColumnStatistics>,
    ) -> Result<Result<Vec<Self>, Reason>> {
        let data_type = expr.data_type(schema)?;
        if !is_whole(&data_type) {
            return Ok(Err(format!(
                "{expr} is {data_type}, and a switch adds up whole numbers and decimals only"
            )
            .into()));
        }
        let expr = narrower(expr, schema)?;
        let least = known(expr).and_then(|known| known.min_value.get_value());
        let zero = least.and_then(|least| ScalarValue::new_zero(&least.data_type()).ok());
        let positive = expr.data_type(schema)?.is_unsigned_integer()
            || least.zip(zero).is_some_and(|(least, zero)| *least >= zero);
        let parts: &[AddendSign] =
            if positive { &[AddendSign::All] } else { &[AddendSign::Above, AddendSign::Below] };
        let amount = |part: &AddendSign| Self { expr: Arc::clone(expr), unit: Unit::Exact(*part) };
        Ok(Ok(parts.iter().map(amount).collect()))
    }

    /// Returns the part that this sum plays in the state of an aggregate, or `None` if the switch does not add
    /// exactly.
    pub(super) fn role(&self) -> Option<Role> {
        match self.unit {
            Unit::Present | Unit::Exact(AddendSign::All | AddendSign::Above) => Some(Role::Adds),
            Unit::Exact(AddendSign::Below) => Some(Role::Subtracts),
            Unit::Whole(_) | Unit::Real(_) => None,
        }
    }

    /// Returns the addend `expr` of a sum that is compared with `threshold`, and the threshold that the switch
    /// compares with; `None` if the two cannot be counted in units.
    ///
    /// With `reached`, the sum need only reach the threshold, not exceed it. Negative addends count as zero, so the
    /// switch may count too much, but never too little.
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

    /// Returns the addend with this unit, or an error if the expression does not support it.
    pub(super) fn try_new(
        unit: Unit,
        expr: Arc<dyn PhysicalExpr>,
        schema: &Schema,
    ) -> Result<Self> {
        let data_type = expr.data_type(schema)?;
        let has = match unit {
            Unit::Present => true,
            Unit::Exact(_) => is_whole(&data_type),
            Unit::Whole(unit) => unit > 0 && is_whole(&data_type),
            // A threshold near zero yields a unit of zero.
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

    /// Returns true if values can be decoded from the words; an expression of two parts needs both.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.unit, Unit::Exact(_))
    }

    pub(crate) fn column(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// Writes the word of each row.
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
            Unit::Exact(part) => {
                let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
                let mut past = Vec::new();
                let mut word = |row: usize, value: i128| {
                    let of = part.word(value);
                    if of.is_none() || nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                        past.push(row);
                    }
                    words.push(of.unwrap_or(0));
                };
                each_whole(&array, &mut word)?;
                past.into_iter().for_each(|row| out.pass(row));
            }
            Unit::Real(unit) => {
                let reals = cast(&array, &DataType::Float64)?;
                let values = reals.as_primitive::<Float64Type>();
                for (row, value) in values.iter().enumerate() {
                    let value = value.unwrap_or(0.0);
                    if !value.is_finite() {
                        out.pass(row);
                    }
                    // The conversion saturates.
                    words.push((value.max(0.0) / unit).ceil() as u32);
                }
            }
        }
        out.columns[at] = words;
        Ok(())
    }
}

/// Returns true for types whose values are whole numbers of a unit: integers and `Decimal128`.
fn is_whole(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Decimal128(..))
}

/// Returns the expression below a cast to a wider integer type; aggregates cast their arguments to it.
fn narrower<'a>(
    expr: &'a Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Result<&'a Arc<dyn PhysicalExpr>> {
    let Some(cast) = expr.downcast_ref::<CastExpr>() else { return Ok(expr) };
    let (from, to) = (cast.expr().data_type(schema)?, expr.data_type(schema)?);
    let widens = from.is_integer()
        && to.is_integer()
        && from.is_signed_integer() == to.is_signed_integer()
        && from.primitive_width() <= to.primitive_width();
    Ok(if widens { cast.expr() } else { expr })
}

/// Returns the unit for a threshold and the threshold in units, or `None` if the threshold is negative.
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
            Unit::Whole(1) | Unit::Exact(AddendSign::All) => self.expr.fmt(f),
            Unit::Exact(AddendSign::Above) => write!(f, "{} above 0", self.expr),
            Unit::Exact(AddendSign::Below) => write!(f, "{} below 0", self.expr),
            Unit::Whole(unit) => write!(f, "{} / {unit}", self.expr),
            Unit::Real(unit) => write!(f, "{} / {unit:e}", self.expr),
        }
    }
}
