//! `+`, `-`, `*` and `/` of decimals whose results may have more digits than any decimal.
//!
//! A result type has enough digits for all results, up to 38 (76 for DECIMAL256). At 38, the type is capped:
//! DataFusion returns the 39th digit, too, and prints the value without its last one.

use arrow::array::{Array, ArrayRef, AsArray, Datum};
use arrow::datatypes::{
    DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
};
use arrow::error::ArrowError;
use arrow::util::display::array_value_to_string;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Alias, Cast};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};
use datafusion::scalar::ScalarValue;

use super::arithmetic::overflow;

/// Upper bounds of a number's digits before and after the point. `before` is negative if zeros follow the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digits {
    before: i16,
    after: i16,
}

impl Digits {
    fn total(self) -> i16 {
        self.before + self.after
    }

    fn from_type(data_type: &DataType) -> Option<Self> {
        let whole = |before| Some(Self { before, after: 0 });
        match data_type {
            DataType::Int8 | DataType::UInt8 => whole(3),
            DataType::Int16 | DataType::UInt16 => whole(5),
            DataType::Int32 | DataType::UInt32 => whole(10),
            DataType::Int64 => whole(19),
            DataType::UInt64 => whole(20),
            DataType::Decimal32(digits, places)
            | DataType::Decimal64(digits, places)
            | DataType::Decimal128(digits, places)
            | DataType::Decimal256(digits, places) => {
                let after = i16::from(*places);
                Some(Self { before: i16::from(*digits) - after, after })
            }
            _ => None,
        }
    }

    fn from_literal(value: &ScalarValue) -> Option<Self> {
        let Self { after, .. } = Self::from_type(&value.data_type())?;
        // The longest text of a number has 76 digits.
        let count = |text: String| text.trim_start_matches(['-', '0']).len() as i16;
        let total = match value {
            ScalarValue::Decimal32(value, ..) => count(value.as_ref()?.to_string()),
            ScalarValue::Decimal64(value, ..) => count(value.as_ref()?.to_string()),
            ScalarValue::Decimal128(value, ..) => count(value.as_ref()?.to_string()),
            ScalarValue::Decimal256(value, ..) => count(value.as_ref()?.to_string()),
            whole => count(whole.to_string()),
        };
        Some(Self { before: total - after, after })
    }

    /// Returns the digits of a decimal or whole number, or `None` for other types.
    fn from_expr(expr: &Expr, schema: &DFSchema) -> Option<Self> {
        match expr {
            Expr::Literal(value, _) if !value.is_null() => Self::from_literal(value),
            Expr::Alias(Alias { expr, .. }) | Expr::Negative(expr) => Self::from_expr(expr, schema),
            Expr::Cast(Cast { expr, field }) => {
                let to = Self::from_type(field.data_type())?;
                // A value that is rounded may get one more digit.
                let from = Self::from_expr(expr, schema)
                    .map_or(to.before, |from| from.before + i16::from(from.after > to.after));
                Some(Self { before: from.min(to.before), after: to.after })
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_checked(*op) => {
                let (left, right) =
                    (Self::from_expr(left, schema)?, Self::from_expr(right, schema)?);
                Self::from_operator(left, *op, right)
            }
            _ => Self::from_type(&expr.get_type(schema).ok()?),
        }
    }

    /// Returns the digits of a result, or `None` for other operators.
    fn from_operator(left: Self, op: Operator, right: Self) -> Option<Self> {
        let (before, after) = match op {
            Operator::Plus | Operator::Minus => {
                (left.before.max(right.before) + 1, left.after.max(right.after))
            }
            Operator::Multiply => (left.before + right.before, left.after + right.after),
            // The smallest divisor is one unit of its last place.
            Operator::Divide => (left.before + right.after, left.after + 4),
            _ => return None,
        };
        Some(Self { before, after })
    }
}

fn is_checked(op: Operator) -> bool {
    matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide)
}

/// Returns true if an operator of decimals may have a result with more digits than a decimal of its kind can have.
pub(super) fn may_exceed(expr: &BinaryExpr, schema: &DFSchema) -> bool {
    let BinaryExpr { left, op, right } = expr;
    // The type of the left side of a long chain takes long to derive. Types are coerced, so the right side's will do.
    let most = || most_digits(&right.get_type(schema).ok()?);
    let digits = || {
        let left = Digits::from_expr(left, schema)?;
        Digits::from_operator(left, *op, Digits::from_expr(right, schema)?)
    };
    is_checked(*op)
        && most().is_some_and(|most| digits().is_some_and(|digits| digits.total() > most))
}

/// Returns the number of digits that a decimal of a kind can have, or `None` for other types.
fn most_digits(data_type: &DataType) -> Option<i16> {
    Some(i16::from(match data_type {
        DataType::Decimal32(..) => Decimal32Type::MAX_PRECISION,
        DataType::Decimal64(..) => Decimal64Type::MAX_PRECISION,
        DataType::Decimal128(..) => Decimal128Type::MAX_PRECISION,
        DataType::Decimal256(..) => Decimal256Type::MAX_PRECISION,
        _ => return None,
    }))
}

/// Returns results, or an error if one of them has more digits than its type. Results of whole numbers are unchanged.
pub(super) fn checked(
    result: Result<ArrayRef, ArrowError>,
    left: &dyn Datum,
    op: char,
    right: &dyn Datum,
) -> Result<ArrayRef> {
    match result {
        Ok(result) => {
            check(result.as_ref(), left, op, right)?;
            Ok(result)
        }
        // Arrow's message has the operands without their points, and those of an intermediate step.
        Err(ArrowError::ArithmeticOverflow(_)) if left.get().0.data_type().is_decimal() => {
            overflow(format!("Overflow happened on: a result of {op} in DECIMAL"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Fails if one of the results has more digits than its type.
fn check(result: &dyn Array, left: &dyn Datum, op: char, right: &dyn Datum) -> Result<()> {
    let row = match result.data_type() {
        DataType::Decimal32(most, _) => first_beyond::<Decimal32Type>(result, *most),
        DataType::Decimal64(most, _) => first_beyond::<Decimal64Type>(result, *most),
        DataType::Decimal128(most, _) => first_beyond::<Decimal128Type>(result, *most),
        DataType::Decimal256(most, _) => first_beyond::<Decimal256Type>(result, *most),
        _ => None,
    };
    let Some(row) = row else { return Ok(()) };
    let text = |operand: &dyn Datum| {
        let (array, is_scalar) = operand.get();
        array_value_to_string(array, if is_scalar { 0 } else { row })
    };
    overflow(format!("Overflow happened on: {} {op} {} in DECIMAL", text(left)?, text(right)?))
}

/// Returns the first row whose value has more digits.
fn first_beyond<T: DecimalType>(result: &dyn Array, most: u8) -> Option<usize> {
    let result = result.as_primitive::<T>();
    let fits = |value: T::Native| T::is_valid_decimal_precision(value, most);
    // Behind NULL is any value, so the rows are walked only if some value does not fit.
    if result.values().iter().all(|value| fits(*value)) {
        return None;
    }
    (0..result.len()).find(|row| result.is_valid(*row) && !fits(result.value(*row)))
}
