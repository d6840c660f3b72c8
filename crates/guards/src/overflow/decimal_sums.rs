//! SUM of DECIMAL, which fails if the sum has more digits than its type. DataFusion's wraps at 128 bits.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Decimal128Array};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::arithmetic::overflow;
use crate::wide_sums::{WideSum, each_kept, kept};

/// The shape of a DECIMAL of at most 38 digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    precision: u8,
    scale: i8,
}

impl Shape {
    /// Returns the shape of a type, or `None` for types other than DECIMAL of at most 38 digits.
    pub(super) fn from_type(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Decimal128(precision, scale) => {
                Some(Self { precision: *precision, scale: *scale })
            }
            _ => None,
        }
    }

    fn data_type(self) -> DataType {
        DataType::Decimal128(self.precision, self.scale)
    }

    /// Fails if a sum has more digits.
    fn check(self, sum: i128) -> Result<()> {
        let limit = 10_u128.pow(self.precision.into());
        if sum.unsigned_abs() < limit { Ok(()) } else { self.beyond() }
    }

    fn beyond<T>(self) -> Result<T> {
        let Self { precision, scale } = self;
        overflow(format!("Overflow happened on: a sum in DECIMAL({precision}, {scale})"))
    }
}

/// The sum of rows that are not in groups.
#[derive(Debug)]
pub(super) struct DecimalRows {
    pub(super) total: WideSum,
    pub(super) result: Shape,
}

impl DecimalRows {
    fn scalar(&self) -> ScalarValue {
        let WideSum { sum, count } = self.total;
        let Shape { precision, scale } = self.result;
        ScalarValue::Decimal128((count > 0).then_some(sum), precision, scale)
    }
}

impl Accumulator for DecimalRows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.total.add(values).or_else(|_| self.result.beyond())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.total.remove(values).or_else(|_| self.result.beyond())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.result.check(self.total.sum)?;
        Ok(self.scalar())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sums of groups.
#[derive(Debug)]
pub(super) struct DecimalGroups {
    sums: Vec<i128>,
    /// True for groups with a value.
    present: Vec<bool>,
    result: Shape,
}

impl DecimalGroups {
    pub(super) fn new(result: Shape) -> Self {
        Self { sums: Vec::new(), present: Vec::new(), result }
    }

    /// Removes the first groups, and returns their sums.
    fn take(&mut self, emit_to: EmitTo) -> Decimal128Array {
        let sums = emit_to.take_needed(&mut self.sums);
        let nulls = NullBuffer::from(emit_to.take_needed(&mut self.present));
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        Decimal128Array::new(sums.into(), nulls).with_data_type(self.result.data_type())
    }
}

impl GroupsAccumulator for DecimalGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.sums.resize(total, 0);
        self.present.resize(total, false);
        let values = values.as_primitive::<Decimal128Type>();
        let Self { sums, present, .. } = self;
        let mut beyond = false;
        let add = |group: usize, value: i128| {
            let (sum, more) = sums[group].overflowing_add(value);
            sums[group] = sum;
            present[group] = true;
            beyond |= more;
        };
        each_kept(values, groups, filter, add);
        if beyond { self.result.beyond() } else { Ok(()) }
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.update_batch(states, groups, None, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = self.take(emit_to);
        sums.iter().flatten().try_for_each(|sum| self.result.check(sum))?;
        Ok(Arc::new(sums))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(self.take(emit_to))])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return internal_err!("one column is added") };
        Ok(vec![cast(&kept(values, filter)?, &self.result.data_type())?])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.sums.capacity() * (size_of::<i128>() + size_of::<bool>())
    }
}
