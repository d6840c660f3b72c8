//! Addends of a sum, as whole numbers of a unit. They are rounded up, so that a sum above a threshold
//! stays above it; those of a sum that the switch holds are exact.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, Schema, UInt64Type};
use datafusion::common::{ColumnStatistics, Result, ScalarValue, plan_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::CastExpr;
use serde::{Deserialize, Serialize};

use super::real_bits;
use super::words::Words;
use crate::choice::Why;

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

/// What a sum is to the aggregate that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It begins the state of the next one.
    Adds,
    /// It is subtracted from the state of the one before.
    Subtracts,
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
    /// One, of a whole number or of a decimal's last digit: this part of it. Rows without a value, or with
    /// one beyond 32 bits, bypass the switch.
    Exact(Part),
}

/// A part of a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Part {
    /// The number, where it is not below zero; other rows bypass the switch.
    All,
    /// The number, where it is above zero.
    Above,
    /// What it lacks to zero, where it is below.
    Below,
}

impl Part {
    /// The word of a value, if it has one.
    fn of(self, value: i128) -> Option<u32> {
        let part = match self {
            Self::All => value,
            Self::Above => value.max(0),
            Self::Below => value.min(0).checked_neg()?,
        };
        u32::try_from(part).ok()
    }
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

    /// One for every value that is not NULL.
    pub(crate) fn present(expr: &Arc<dyn PhysicalExpr>) -> Self {
        Self { expr: Arc::clone(expr), unit: Unit::Present }
    }

    /// Exact addends of the whole numbers or decimals `expr`: one, or two where they may be below zero. The sum
    /// is the first's without the second's. `known` tells what is known of an expression.
    pub(crate) fn exact<'a>(
        expr: &Arc<dyn PhysicalExpr>,
        schema: &Schema,
        known: impl Fn(&Arc<dyn PhysicalExpr>) -> Option<&'a ColumnStatistics>,
    ) -> Result<Result<Vec<Self>, Why>> {
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
        let parts: &[Part] = if positive { &[Part::All] } else { &[Part::Above, Part::Below] };
        let amount = |part: &Part| Self { expr: Arc::clone(expr), unit: Unit::Exact(*part) };
        Ok(Ok(parts.iter().map(amount).collect()))
    }

    /// What the switch adds up of it becomes of the state of an aggregate, if the switch adds exactly.
    pub(super) fn role(&self) -> Option<Role> {
        match self.unit {
            Unit::Present | Unit::Exact(Part::All | Part::Above) => Some(Role::Adds),
            Unit::Exact(Part::Below) => Some(Role::Subtracts),
            Unit::Whole(_) | Unit::Real(_) => None,
        }
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
            Unit::Exact(_) => is_whole(&data_type),
            Unit::Whole(unit) => unit > 0 && is_whole(&data_type),
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

    /// Whether values can be decoded from the words, of an expression with both parts from both.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.unit, Unit::Exact(_))
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
            Unit::Exact(part) => {
                let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
                let mut past = Vec::new();
                let mut word = |row: usize, value: i128| {
                    let of = part.of(value);
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
                    // Saturates.
                    words.push((value.max(0.0) / unit).ceil() as u32);
                }
            }
        }
        out.columns[at] = words;
        Ok(())
    }
}

/// Whether a type's values are whole numbers of a unit.
fn is_whole(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Decimal128(..))
}

/// The expression below casts to wider integers, which aggregates add in.
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
            Unit::Whole(1) | Unit::Exact(Part::All) => self.expr.fmt(f),
            Unit::Exact(Part::Above) => write!(f, "{} above 0", self.expr),
            Unit::Exact(Part::Below) => write!(f, "{} below 0", self.expr),
            Unit::Whole(unit) => write!(f, "{} / {unit}", self.expr),
            Unit::Real(unit) => write!(f, "{} / {unit:e}", self.expr),
        }
    }
}
