//! The sums or the means of groups.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Float64Array,
    Int64Array, PrimitiveArray, UInt64Array,
};
use arrow::compute::{cast, kernels::boolean, nullif};
use arrow::datatypes::{DataType, Decimal128Type, DecimalType, UInt64Type};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use super::{Amounts, InFull, Read, SUM_OF_WHOLE, mean};

pub(super) struct Groups {
    amounts: Amounts,
    /// The sum of each group, and how many values it has.
    groups: Vec<(i128, u64)>,
    /// Whether a sum did not fit in 128 bits.
    beyond: bool,
}

impl Groups {
    pub(super) fn new(amounts: Amounts) -> Self {
        Self { amounts, groups: Vec::new(), beyond: false }
    }

    fn grow(&mut self, total: usize) {
        self.groups.resize(total, (0, 0));
    }

    /// Adds the values of rows that a filter keeps.
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
        if self.beyond { self.amounts.overflow() } else { Ok(()) }
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
        let mut add = |group: usize, value: T::Native| {
            let (sum, count) = &mut self.groups[group];
            let (total, more) = sum.overflowing_add(value.into());
            *sum = total;
            *count += one;
            beyond |= more;
        };
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
        self.beyond = beyond;
    }

    /// The sums of groups; NULL of those without a value.
    fn results(&self, groups: &[(i128, u64)], is_state: bool) -> Result<ArrayRef> {
        let each = || groups.iter().map(|(sum, count)| (*count > 0).then_some(*sum));
        let fits = |fits: bool| if fits { Ok(()) } else { self.amounts.overflow() };
        let to = if is_state { self.amounts.state_type() } else { &self.amounts.result };
        Ok(match to {
            DataType::Int64 => {
                fits(each().flatten().all(|sum| i64::try_from(sum).is_ok()))?;
                let each = each().map(|sum| i64::try_from(sum?).ok());
                Arc::new(each.collect::<Int64Array>())
            }
            DataType::UInt64 => {
                fits(each().flatten().all(|sum| u64::try_from(sum).is_ok()))?;
                let each = each().map(|sum| u64::try_from(sum?).ok());
                Arc::new(each.collect::<UInt64Array>())
            }
            DataType::Decimal128(precision, scale) => {
                let has_room = |sum| Decimal128Type::is_valid_decimal_precision(sum, *precision);
                fits(each().flatten().all(has_room))?;
                let array: Decimal128Array = each().collect();
                Arc::new(array.with_precision_and_scale(*precision, *scale)?)
            }
            DataType::Float64 => {
                let each = groups.iter();
                let each = each.map(|(sum, count)| (*count > 0).then(|| mean(*sum, *count)));
                Arc::new(each.collect::<Float64Array>())
            }
            other => return internal_err!("no sum is {other}"),
        })
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
        self.results(&groups, false)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit_to.take_needed(&mut self.groups);
        let sums = self.results(&groups, true)?;
        Ok(match self.amounts.function {
            InFull::Sum => vec![sums],
            InFull::Mean => {
                let counts = groups.iter().map(|(_, count)| *count);
                vec![Arc::new(UInt64Array::from_iter_values(counts)), sums]
            }
        })
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return internal_err!("one column is added") };
        let values = match filter {
            // NULL where the filter does not keep a row.
            Some(filter) => {
                let kept = match filter.nulls() {
                    Some(_) => arrow::compute::prep_null_mask_filter(filter),
                    None => filter.clone(),
                };
                nullif(values, &boolean::not(&kept)?)?
            }
            None => Arc::clone(values),
        };
        match self.amounts.function {
            InFull::Sum => Ok(vec![cast(&values, &self.amounts.result)?]),
            InFull::Mean => {
                let counts = (0..values.len()).map(|row| u64::from(values.is_valid(row)));
                let counts = Arc::new(UInt64Array::from_iter_values(counts));
                Ok(vec![counts, cast(&values, &SUM_OF_WHOLE)?])
            }
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.groups.capacity() * size_of::<(i128, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DECIMAL128_MAX_PRECISION, Float64Type, Int64Type};

    use super::*;

    fn groups(function: InFull, input: DataType) -> Groups {
        let result = match function {
            InFull::Sum => input.clone(),
            InFull::Mean => DataType::Float64,
        };
        Groups::new(Amounts { function, input, result })
    }

    fn column(values: &[Option<i64>]) -> Vec<ArrayRef> {
        vec![Arc::new(Int64Array::from(values.to_vec()))]
    }

    #[test]
    fn states_of_parts_are_those_of_all_rows() {
        let (large, small) = (9_007_199_254_740_993, -9_007_199_254_740_992);
        let values = column(&[Some(large), None, Some(small), Some(5), Some(7)]);
        let filter =
            BooleanArray::from(vec![Some(true), Some(true), Some(true), None, Some(false)]);
        for function in [InFull::Sum, InFull::Mean] {
            let mut whole = groups(function, DataType::Int64);
            whole.update_batch(&values, &[0, 1, 0, 0, 1], Some(&filter), 3).unwrap();
            let converted = whole.convert_to_state(&values, Some(&filter)).unwrap();
            let mut merged = groups(function, DataType::Int64);
            merged.merge_batch(&converted, &[0, 1, 0, 0, 1], 3).unwrap();
            let states = merged.state(EmitTo::All).unwrap();
            merged.merge_batch(&states, &[0, 1, 2], 3).unwrap();
            let results = whole.evaluate(EmitTo::All).unwrap();
            assert_eq!(&merged.evaluate(EmitTo::All).unwrap(), &results);
            assert_eq!(results.null_count(), 2);
            match function {
                InFull::Sum => assert_eq!(results.as_primitive::<Int64Type>().value(0), 1),
                InFull::Mean => {
                    let mean = results.as_primitive::<Float64Type>().value(0);
                    assert!((mean - 0.5).abs() < f64::EPSILON);
                }
            }
        }
    }

    #[test]
    fn sums_without_room_are_errors() {
        let mut sums = groups(InFull::Sum, DataType::Int64);
        sums.update_batch(&column(&[Some(i64::MAX), Some(1)]), &[0, 0], None, 1).unwrap();
        assert!(sums.evaluate(EmitTo::All).is_err());
        let of_decimals = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);
        let mut sums = groups(InFull::Sum, of_decimals.clone());
        let largest = 10_i128.pow(38) - 1;
        let values = Decimal128Array::from(vec![largest, 1]).with_data_type(of_decimals);
        let values: Vec<ArrayRef> = vec![Arc::new(values)];
        assert!(sums.update_batch(&values, &[0, 1], None, 2).is_ok());
        sums.update_batch(&values, &[1, 0], None, 2).unwrap();
        assert!(sums.evaluate(EmitTo::All).is_err());
        let mut sums = groups(InFull::Sum, DataType::Decimal128(38, 0));
        sums.update_batch(&values[..1], &[0, 1], None, 2).unwrap();
        assert!(sums.update_batch(&values[..1], &[0, 1], None, 2).is_err());
    }
}
