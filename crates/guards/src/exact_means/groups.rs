//! The means of groups.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Float64Array,
    PrimitiveArray, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::UInt64Type;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use super::mean;
use crate::wide_sums::{Read, SUM_OF_WHOLE, each_kept, kept, overflow};

#[derive(Default)]
pub(super) struct Groups {
    /// Sum and number of values of each group.
    groups: Vec<(i128, u64)>,
    /// True if a sum did not fit in 128 bits.
    beyond: bool,
}

impl Groups {
    fn grow(&mut self, total: usize) {
        self.groups.resize(total, (0, 0));
    }

    /// Adds the values of the rows that pass a filter.
    fn add(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        counts: bool,
    ) -> Result<()> {
        match Read::new(values)? {
            Read::Signed(values) => self.add_each(values, groups, filter, counts),
            Read::Unsigned(values) => self.add_each(values, groups, filter, counts),
            Read::Decimal(values) => self.add_each(values, groups, filter, counts),
        }
        if self.beyond { overflow() } else { Ok(()) }
    }

    fn add_each<T: ArrowPrimitiveType>(
        &mut self,
        values: &PrimitiveArray<T>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        counts: bool,
    ) where
        T::Native: Into<i128>,
    {
        let one = u64::from(counts);
        let mut beyond = self.beyond;
        let add = |group: usize, value: T::Native| {
            let (sum, count) = &mut self.groups[group];
            let (total, more) = sum.overflowing_add(value.into());
            *sum = total;
            *count += one;
            beyond |= more;
        };
        each_kept(values, groups, filter, add);
        self.beyond = beyond;
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.grow(total);
        self.add(values, groups, filter, true)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.grow(total);
        match values {
            [sums] => self.add(sums, groups, None, true),
            [counts, sums] => {
                let counts = counts.as_primitive::<UInt64Type>();
                for (group, count) in groups.iter().zip(counts) {
                    self.groups[*group].1 += count.unwrap_or_default();
                }
                self.add(sums, groups, None, false)
            }
            _ => internal_err!("a state has a sum, and a count before it"),
        }
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        let means = groups.iter().map(|(sum, count)| (*count > 0).then(|| mean(*sum, *count)));
        Ok(Arc::new(means.collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit_to.take_needed(&mut self.groups);
        let counts = UInt64Array::from_iter_values(groups.iter().map(|(_, count)| *count));
        let sums = groups.iter().map(|(sum, count)| (*count > 0).then_some(*sum));
        let sums = sums.collect::<Decimal128Array>().with_data_type(SUM_OF_WHOLE.clone());
        Ok(vec![Arc::new(counts), Arc::new(sums)])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return internal_err!("one column is added") };
        let values = kept(values, filter)?;
        let counts = (0..values.len()).map(|row| u64::from(values.is_valid(row)));
        let counts = Arc::new(UInt64Array::from_iter_values(counts));
        Ok(vec![counts, cast(&values, &SUM_OF_WHOLE)?])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<(i128, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;
    use arrow::datatypes::Float64Type;

    use super::*;

    #[test]
    fn states_of_parts_are_those_of_all_rows() {
        let (large, small) = (9_007_199_254_740_993, -9_007_199_254_740_992);
        let values = Int64Array::from(vec![Some(large), None, Some(small), Some(5), Some(7)]);
        let values: [ArrayRef; 1] = [Arc::new(values)];
        let filter =
            BooleanArray::from(vec![Some(true), Some(true), Some(true), None, Some(false)]);
        let mut whole = Groups::default();
        whole.update_batch(&values, &[0, 1, 0, 0, 1], Some(&filter), 3).unwrap();
        let converted = whole.convert_to_state(&values, Some(&filter)).unwrap();
        let mut merged = Groups::default();
        merged.merge_batch(&converted, &[0, 1, 0, 0, 1], 3).unwrap();
        let states = merged.state(EmitTo::All).unwrap();
        merged.merge_batch(&states, &[0, 1, 2], 3).unwrap();
        let results = whole.evaluate(EmitTo::All).unwrap();
        assert_eq!(&merged.evaluate(EmitTo::All).unwrap(), &results);
        assert_eq!(results.null_count(), 2);
        let mean = results.as_primitive::<Float64Type>().value(0);
        assert!((mean - 0.5).abs() < f64::EPSILON);
    }
}
