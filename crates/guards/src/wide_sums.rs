//! Sums of whole numbers in 128 bits, for the guards of AVG and SUM.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::compute::{kernels::boolean, nullif, prep_null_mask_filter};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, FieldRef, Int64Type, UInt64Type,
};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::Accumulator;

/// Returns the type of whole numbers that are added in 128 bits, or `None` if DataFusion adds them.
pub(super) fn whole(input: &[FieldRef]) -> Option<&DataType> {
    let data_type = input.first()?.data_type();
    matches!(data_type, DataType::Int64 | DataType::UInt64).then_some(data_type)
}

/// Type of the sum of whole numbers in a state.
pub(super) static SUM_OF_WHOLE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// Numbers that are read as 128 bits.
pub(super) enum Read<'a> {
    Signed(&'a PrimitiveArray<Int64Type>),
    Unsigned(&'a PrimitiveArray<UInt64Type>),
    Decimal(&'a PrimitiveArray<Decimal128Type>),
}

impl<'a> Read<'a> {
    pub(super) fn new(values: &'a ArrayRef) -> Result<Self> {
        Ok(match values.data_type() {
            DataType::Int64 => Self::Signed(values.as_primitive()),
            DataType::UInt64 => Self::Unsigned(values.as_primitive()),
            DataType::Decimal128(..) => Self::Decimal(values.as_primitive()),
            other => return internal_err!("{other} is not added in 128 bits"),
        })
    }
}

/// Returns the error of a sum that exceeds 128 bits.
pub(super) fn overflow<T>() -> Result<T> {
    exec_err!("a sum of whole numbers needs more than 128 bits")
}

/// Returns the values of an array without NULL.
pub(super) fn counted<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
) -> impl Iterator<Item = T::Native> {
    values.iter().flatten()
}

/// Returns the values with NULL in the rows that do not pass a filter.
pub(super) fn kept(values: &ArrayRef, filter: Option<&BooleanArray>) -> Result<ArrayRef> {
    let Some(filter) = filter else { return Ok(Arc::clone(values)) };
    let passing = match filter.nulls() {
        Some(_) => prep_null_mask_filter(filter),
        None => filter.clone(),
    };
    Ok(nullif(values, &boolean::not(&passing)?)?)
}

/// Calls a function with the group and the value of each row that passes a filter and is not NULL.
#[inline]
pub(super) fn each_kept<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    groups: &[usize],
    filter: Option<&BooleanArray>,
    mut add: impl FnMut(usize, T::Native),
) {
    let rows = groups.iter().copied().zip(values.values().iter().copied());
    match (values.nulls(), filter) {
        (None, None) => rows.for_each(|(group, value)| add(group, value)),
        (nulls, filter) => {
            for (row, (group, value)) in rows.enumerate() {
                let is_kept = filter.is_none_or(|it| it.is_valid(row) && it.value(row));
                if is_kept && nulls.is_none_or(|it| it.is_valid(row)) {
                    add(group, value);
                }
            }
        }
    }
}

/// The sum and the number of values that are not NULL.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct WideSum {
    pub(super) sum: i128,
    pub(super) count: u64,
}

impl WideSum {
    /// Adds the values of an array.
    pub(super) fn add(&mut self, values: &ArrayRef) -> Result<()> {
        self.count += rows_with_values(values);
        self.add_sums(values)
    }

    /// Adds sums whose values are counted elsewhere.
    pub(super) fn add_sums(&mut self, values: &ArrayRef) -> Result<()> {
        let Some(sum) = self.sum.checked_add(of_array(values)?) else { return overflow() };
        self.sum = sum;
        Ok(())
    }

    /// Removes values that were added.
    pub(super) fn remove(&mut self, values: &ArrayRef) -> Result<()> {
        self.count -= rows_with_values(values);
        let Some(sum) = self.sum.checked_sub(of_array(values)?) else { return overflow() };
        self.sum = sum;
        Ok(())
    }
}

fn rows_with_values(values: &ArrayRef) -> u64 {
    (values.len() - values.null_count()) as u64
}

/// Returns the sum of an array.
fn of_array(values: &ArrayRef) -> Result<i128> {
    let total = match Read::new(values)? {
        Read::Signed(values) => total(values),
        Read::Unsigned(values) => total(values),
        Read::Decimal(values) => total(values),
    };
    total.map_or_else(overflow, Ok)
}

/// Returns the sum of an array, or `None` if it exceeds 128 bits.
fn total<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>) -> Option<i128>
where
    T::Native: Into<i128>,
{
    let add = |(sum, beyond): (i128, bool), value: T::Native| {
        let (sum, more) = sum.overflowing_add(value.into());
        (sum, beyond | more)
    };
    let (sum, beyond) = match values.null_count() {
        0 => values.values().iter().copied().fold((0, false), add),
        _ => counted(values).fold((0, false), add),
    };
    (!beyond).then_some(sum)
}

/// An aggregate of distinct values.
#[derive(Debug)]
pub(super) struct Distinct {
    /// Accumulator that collects the distinct values.
    pub(super) values: Box<dyn Accumulator>,
    /// Creates the accumulator that the distinct values are added to.
    pub(super) rows: fn() -> Box<dyn Accumulator>,
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut rows = (self.rows)();
        for list in self.values.state()? {
            let ScalarValue::List(list) = list else {
                return internal_err!("distinct values are a list");
            };
            rows.update_batch(&[list.value(0)])?;
        }
        rows.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }
}
