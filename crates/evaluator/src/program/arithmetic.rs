//! Computes `+ - * / %` and the sign for whole batches.

use std::cell::{Cell, RefCell};

use super::operand::{self, Operand, zip};
use crate::output::invalid_text;
use crate::selection::{Frame, Rows};
use crate::vector::{Data, Kind, Tags, Vector};
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::{Value, arithmetic as scalar};

/// Returns the representation of `left op right`.
pub(super) fn kind(left: Kind, right: Kind) -> Kind {
    use Kind::{Decimal, Float, Int};
    match (left, right) {
        (Int, Int) => Int,
        (Int | Decimal, Int | Decimal) => Decimal,
        (Int | Decimal | Float, Int | Decimal | Float) => Float,
        _ => Kind::Dynamic,
    }
}

/// Computes `left op right` in the representation returned by [`kind`].
pub(super) fn arithmetic(
    op: BinaryOp,
    left: &Vector,
    right: &Vector,
    kind: Kind,
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let Frame { rows, batch_rows, block } = frame;
    // All values of a batch may have one type even if the compiler could not infer it.
    let kind = match kind {
        Kind::Dynamic => self::kind(kind_of(left), kind_of(right)),
        kind => kind,
    };
    match kind {
        Kind::Int => {
            if let (Some(left), Some(right)) = (operand::ints(left), operand::ints(right)) {
                let (out, tags) = out.ints(batch_rows);
                return typed(op, rows, &left, &right, out, tags, scalar::int);
            }
        }
        Kind::Decimal => {
            if let (Some(left), Some(right)) = (operand::decimals(left), operand::decimals(right)) {
                let (out, tags) = out.decimals(batch_rows);
                return typed(op, rows, &left, &right, out, tags, scalar::decimal);
            }
        }
        Kind::Float => {
            if let (Some(left), Some(right)) = (operand::floats(left), operand::floats(right)) {
                let (out, tags) = out.floats(batch_rows);
                return typed(op, rows, &left, &right, out, tags, scalar::float);
            }
        }
        _ => {}
    }
    let (out, _) = out.values(batch_rows);
    rows.try_for_each(|row| {
        let left = left.value(row, block).ok_or_else(invalid_text)?;
        let right = right.value(row, block).ok_or_else(invalid_text)?;
        out[row] = scalar::arithmetic(op, &left, &right)?;
        Ok(())
    })
}

/// Returns the representation of the numbers in a vector.
fn kind_of(vector: &Vector) -> Kind {
    match &vector.data {
        Data::Int(_) | Data::Constant(Value::Int(_)) => Kind::Int,
        Data::Float(_) | Data::Constant(Value::Float(_)) => Kind::Float,
        Data::Decimal(_) | Data::Constant(Value::Decimal(_)) => Kind::Decimal,
        _ => Kind::Dynamic,
    }
}

fn typed<T: Copy>(
    op: BinaryOp,
    rows: Rows<'_>,
    left: &Operand<'_, T>,
    right: &Operand<'_, T>,
    out: &mut [T],
    tags: &mut Tags,
    compute: impl Fn(BinaryOp, T, T) -> Result<T, SelectError>,
) -> Result<(), SelectError> {
    // One loop per operator: `compute` is inlined and loses its `match`.
    macro_rules! run {
        ($op:ident) => {
            fill(rows, left, right, out, tags, |a, b| compute(BinaryOp::$op, a, b))
        };
    }
    match op {
        BinaryOp::Add => run!(Add),
        BinaryOp::Subtract => run!(Subtract),
        BinaryOp::Multiply => run!(Multiply),
        BinaryOp::Divide => run!(Divide),
        BinaryOp::Modulo => run!(Modulo),
        op => fill(rows, left, right, out, tags, |a, b| compute(op, a, b)),
    }
}

#[inline(always)]
fn fill<T: Copy>(
    rows: Rows<'_>,
    left: &Operand<'_, T>,
    right: &Operand<'_, T>,
    out: &mut [T],
    tags: &mut Tags,
    compute: impl Fn(T, T) -> Result<T, SelectError>,
) -> Result<(), SelectError> {
    let batch_rows = out.len();
    let out = Cell::from_mut(out).as_slice_of_cells();
    let tags = RefCell::new(tags);
    zip(
        rows,
        left,
        right,
        |row, a, b| compute(a, b).map(|value| out[row].set(value)),
        |row, tag| tags.borrow_mut().set(row, tag, batch_rows),
    )
}

/// Computes `-x`, or `+x`, which only checks that x is a number.
pub(super) fn sign(
    negate: bool,
    arg: &Vector,
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let Frame { rows, batch_rows, block } = frame;
    if let (Data::Int(ints), true) = (&arg.data, negate) {
        let (out, tags) = out.ints(batch_rows);
        return rows.try_for_each(|row| {
            match arg.tags.get(row) {
                crate::vector::Tag::Present => {
                    out[row] = ints[row].checked_neg().ok_or_else(scalar::overflow)?;
                }
                tag => tags.set(row, tag, batch_rows),
            }
            Ok(())
        });
    }
    let (out, _) = out.values(batch_rows);
    rows.try_for_each(|row| {
        let value = arg.value(row, block).ok_or_else(invalid_text)?;
        let negated = scalar::negate(&value);
        out[row] = match (negate, negated) {
            (true, negated) => negated?,
            // The least integer has no negative, but it is a number.
            (false, Err(error)) if error != scalar::overflow() => return Err(error),
            (false, _) => value,
        };
        Ok(())
    })
}
