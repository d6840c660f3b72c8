//! Evaluates comparison operators for whole batches.

use std::cell::Cell;
use std::cmp::Ordering;
use std::convert::Infallible;

use super::operand::{self, Operand, zip};
use crate::output::invalid_text;
use crate::selection::Rows;
use crate::vector::{Data, Span, Truth, Vector};
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::{self, Value};

/// Compares row by row. The result is UNKNOWN if a side has no value or the types do not compare.
pub(super) fn compare(
    op: BinaryOp,
    left: &Vector,
    right: &Vector,
    rows: Rows<'_>,
    block: &[u8],
    out: &mut [Truth],
) -> Result<(), SelectError> {
    if let (Some(left), Some(right)) = (operand::ints(left), operand::ints(right)) {
        typed(op, rows, &left, &right, out, |a, b| a.cmp(&b));
        return Ok(());
    }
    if let (Some(left), Some(right)) = (operand::timestamps(left), operand::timestamps(right)) {
        typed(op, rows, &left, &right, out, |a, b| a.compare(b));
        return Ok(());
    }
    if operand::is_float(left) || operand::is_float(right) {
        if let (Some(left), Some(right)) = (operand::floats(left), operand::floats(right)) {
            typed(op, rows, &left, &right, out, value::compare_floats);
            return Ok(());
        }
    } else if let (Some(left), Some(right)) = (operand::decimals(left), operand::decimals(right)) {
        typed(op, rows, &left, &right, out, |a, b| a.compare(b));
        return Ok(());
    }
    if let (Data::Text(spans, heap), Data::Constant(Value::String(constant))) =
        (&left.data, &right.data)
    {
        texts_with_constant(op, rows, spans, heap.bytes(block), constant.as_bytes(), out);
        return Ok(());
    }
    if let (Data::Text(left, left_heap), Data::Text(right, right_heap)) = (&left.data, &right.data)
    {
        let (left_heap, right_heap) = (left_heap.bytes(block), right_heap.bytes(block));
        rows.for_each(|row| {
            out[row] = if left[row].is_absent() || right[row].is_absent() {
                Truth::Null
            } else {
                holds(op, left[row].slice(left_heap).cmp(right[row].slice(right_heap))).into()
            };
        });
        return Ok(());
    }
    rows.try_for_each(|row| {
        let left = left.value(row, block).ok_or_else(invalid_text)?;
        let right = right.value(row, block).ok_or_else(invalid_text)?;
        out[row] = compare_values(op, &left, &right);
        Ok(())
    })
}

/// Compares two values with `op`.
pub(super) fn compare_values(op: BinaryOp, left: &Value, right: &Value) -> Truth {
    value::compare(left, right).map_or(Truth::Null, |ordering| holds(op, ordering).into())
}

/// Returns whether `op` holds for operands of this order.
fn holds(op: BinaryOp, ordering: Ordering) -> bool {
    match op {
        BinaryOp::Eq => ordering.is_eq(),
        BinaryOp::NotEq => ordering.is_ne(),
        BinaryOp::Lt => ordering.is_lt(),
        BinaryOp::LtEq => ordering.is_le(),
        BinaryOp::Gt => ordering.is_gt(),
        _ => ordering.is_ge(),
    }
}

fn typed<T: Copy>(
    op: BinaryOp,
    rows: Rows<'_>,
    left: &Operand<'_, T>,
    right: &Operand<'_, T>,
    out: &mut [Truth],
    order: impl Fn(T, T) -> Ordering,
) {
    // One loop per operator, so that none of them checks `op` for each row.
    match op {
        BinaryOp::Eq => fill(rows, left, right, out, |a, b| order(a, b).is_eq()),
        BinaryOp::NotEq => fill(rows, left, right, out, |a, b| order(a, b).is_ne()),
        BinaryOp::Lt => fill(rows, left, right, out, |a, b| order(a, b).is_lt()),
        BinaryOp::LtEq => fill(rows, left, right, out, |a, b| order(a, b).is_le()),
        BinaryOp::Gt => fill(rows, left, right, out, |a, b| order(a, b).is_gt()),
        _ => fill(rows, left, right, out, |a, b| order(a, b).is_ge()),
    }
}

#[inline(always)]
fn fill<T: Copy>(
    rows: Rows<'_>,
    left: &Operand<'_, T>,
    right: &Operand<'_, T>,
    out: &mut [Truth],
    test: impl Fn(T, T) -> bool,
) {
    // A slice known to be as long as the loop is written without a bounds check for each row.
    let out = match rows {
        Rows::All(n) => &mut out[..n],
        Rows::List(_) => out,
    };
    let out = Cell::from_mut(out).as_slice_of_cells();
    let Ok(()) = zip(
        rows,
        left,
        right,
        |row, a, b| {
            out[row].set(test(a, b).into());
            Ok::<_, Infallible>(())
        },
        |row, _| out[row].set(Truth::Null),
    );
}

fn texts_with_constant(
    op: BinaryOp,
    rows: Rows<'_>,
    spans: &[Span],
    heap: &[u8],
    constant: &[u8],
    out: &mut [Truth],
) {
    let equal = |span: Span| span.len() == constant.len() && span.slice(heap) == constant;
    let order = |span: Span| span.slice(heap).cmp(constant);
    let mut fill = |test: &dyn Fn(Span) -> bool| {
        rows.for_each(|row| {
            let span = spans[row];
            out[row] = if span.is_absent() { Truth::Null } else { test(span).into() };
        });
    };
    match op {
        BinaryOp::Eq => fill(&equal),
        BinaryOp::NotEq => fill(&|span| !equal(span)),
        op => fill(&|span| holds(op, order(span))),
    }
}
