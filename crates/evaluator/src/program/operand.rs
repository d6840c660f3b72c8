//! Typed views of vectors, for loops over two of them.

use std::borrow::Cow;

use crate::selection::Rows;
use crate::vector::{Data, Tag, Tags, Vector};
use sluicegate_s3select::value::{Decimal, Timestamp, Value};

/// One side of a binary operator.
pub(super) enum Operand<'a, T: Clone> {
    Column(Cow<'a, [T]>, &'a Tags),
    Constant(T),
}

impl<T: Copy> Operand<'_, T> {
    #[inline(always)]
    pub(super) fn get(&self, row: usize) -> T {
        match self {
            Self::Column(values, _) => values[row],
            Self::Constant(value) => *value,
        }
    }

    #[inline(always)]
    pub(super) fn tag(&self, row: usize) -> Tag {
        match self {
            Self::Column(_, tags) => tags.get(row),
            Self::Constant(_) => Tag::Present,
        }
    }

    fn all_present(&self) -> bool {
        match self {
            Self::Column(_, tags) => tags.all_present(),
            Self::Constant(_) => true,
        }
    }
}

/// Returns the tag of a result from those of its operands: MISSING takes precedence over NULL.
#[inline]
pub(super) fn combine(left: Tag, right: Tag) -> Tag {
    match (left, right) {
        (Tag::Missing, _) | (_, Tag::Missing) => Tag::Missing,
        (Tag::Null, _) | (_, Tag::Null) => Tag::Null,
        _ => Tag::Present,
    }
}

/// Calls `present` with the values of every row that has both, and `absent` with every other row.
#[inline(always)]
pub(super) fn zip<T: Copy, E>(
    rows: Rows<'_>,
    left: &Operand<'_, T>,
    right: &Operand<'_, T>,
    mut present: impl FnMut(usize, T, T) -> Result<(), E>,
    mut absent: impl FnMut(usize, Tag),
) -> Result<(), E> {
    if !(left.all_present() && right.all_present()) {
        return rows.try_for_each(|row| match combine(left.tag(row), right.tag(row)) {
            Tag::Present => present(row, left.get(row), right.get(row)),
            tag => {
                absent(row, tag);
                Ok(())
            }
        });
    }
    // The shapes are distinguished outside the loop.
    match (left, right, rows) {
        (Operand::Column(left, _), Operand::Constant(right), Rows::All(n)) => {
            left[..n].iter().enumerate().try_for_each(|(row, left)| present(row, *left, *right))
        }
        (Operand::Column(left, _), Operand::Constant(right), rows) => {
            rows.try_for_each(|row| present(row, left[row], *right))
        }
        (Operand::Column(left, _), Operand::Column(right, _), Rows::All(n)) => {
            let mut pairs = left[..n].iter().zip(&right[..n]).enumerate();
            pairs.try_for_each(|(row, (left, right))| present(row, *left, *right))
        }
        (Operand::Column(left, _), Operand::Column(right, _), rows) => {
            rows.try_for_each(|row| present(row, left[row], right[row]))
        }
        _ => rows.try_for_each(|row| present(row, left.get(row), right.get(row))),
    }
}

pub(super) fn ints(vector: &Vector) -> Option<Operand<'_, i64>> {
    match &vector.data {
        Data::Int(values) => Some(Operand::Column(Cow::Borrowed(values), &vector.tags)),
        Data::Constant(Value::Int(value)) => Some(Operand::Constant(*value)),
        _ => None,
    }
}

/// Returns the vector's numbers as decimals, unless they are floats.
pub(super) fn decimals(vector: &Vector) -> Option<Operand<'_, Decimal>> {
    match &vector.data {
        Data::Decimal(values) => Some(Operand::Column(Cow::Borrowed(values), &vector.tags)),
        Data::Int(values) => {
            let values = values.iter().map(|int| Decimal::from(*int)).collect();
            Some(Operand::Column(Cow::Owned(values), &vector.tags))
        }
        Data::Constant(Value::Decimal(value)) => Some(Operand::Constant(*value)),
        Data::Constant(Value::Int(value)) => Some(Operand::Constant(Decimal::from(*value))),
        _ => None,
    }
}

/// Returns the vector's numbers as floats.
pub(super) fn floats(vector: &Vector) -> Option<Operand<'_, f64>> {
    match &vector.data {
        Data::Float(values) => Some(Operand::Column(Cow::Borrowed(values), &vector.tags)),
        Data::Int(values) => {
            let values = values.iter().map(|int| *int as f64).collect();
            Some(Operand::Column(Cow::Owned(values), &vector.tags))
        }
        Data::Decimal(values) => {
            let values = values.iter().map(|decimal| decimal.to_f64()).collect();
            Some(Operand::Column(Cow::Owned(values), &vector.tags))
        }
        Data::Constant(Value::Float(value)) => Some(Operand::Constant(*value)),
        Data::Constant(Value::Int(value)) => Some(Operand::Constant(*value as f64)),
        Data::Constant(Value::Decimal(value)) => Some(Operand::Constant(value.to_f64())),
        _ => None,
    }
}

pub(super) fn timestamps(vector: &Vector) -> Option<Operand<'_, Timestamp>> {
    match &vector.data {
        Data::Timestamp(values) => Some(Operand::Column(Cow::Borrowed(values), &vector.tags)),
        Data::Constant(Value::Timestamp(value)) => Some(Operand::Constant(*value)),
        _ => None,
    }
}

/// Returns whether all values that a vector has are floats.
pub(super) fn is_float(vector: &Vector) -> bool {
    matches!(vector.data, Data::Float(_) | Data::Constant(Value::Float(_)))
}
