//! SUM of whole numbers, which fails if the sum does not fit 64 bits. Only the final sum must fit, so the order of
//! the rows does not matter.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type,
};
use datafusion::common::{Result, ScalarValue, internal_err, not_impl_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, EmitTo, GroupsAccumulator};

use super::arithmetic::overflow;
use super::decimal_sums::{DecimalGroups, DecimalRows, Shape};
use crate::wide_sums::{Distinct, SUM_OF_WHOLE, WideSum, each_kept, kept, whole};
use crate::wrapped_functions::{AggregateChange, changed_aggregate};

/// Replaces SUM in a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|function| function.name() == "sum") {
        *function = changed_aggregate(function, CheckedSum);
    }
}

/// The sum of whole numbers. For other types, it is DataFusion's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CheckedSum;

impl AggregateChange for CheckedSum {
    fn state_fields(self, inner: &AggregateUDF, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if args.is_distinct || whole(args.input_fields).is_none() {
            return inner.state_fields(args);
        }
        let name = format!("{}[sum]", args.name);
        Ok(vec![Arc::new(Field::new(name, SUM_OF_WHOLE.clone(), true))])
    }

    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        if let Some(result) = decimal(&args) {
            return Ok(Box::new(DecimalRows { total: WideSum::default(), result }));
        }
        let Some(data_type) = whole(args.expr_fields) else { return inner.accumulator(args) };
        let rows: fn() -> Box<dyn Accumulator> = match data_type {
            DataType::Int64 => || Box::new(Rows::<Int64Type>::new()),
            _ => || Box::new(Rows::<UInt64Type>::new()),
        };
        if args.is_distinct {
            return Ok(Box::new(Distinct { values: inner.accumulator(args)?, rows }));
        }
        Ok(rows())
    }

    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match whole(args.expr_fields) {
            Some(_) if args.is_distinct => {
                not_impl_err!("the values of a frame are collected anew")
            }
            None if decimal(&args).is_none() => inner.create_sliding_accumulator(args),
            _ => self.accumulator(inner, args),
        }
    }

    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        if let Some(result) = decimal(&args) {
            return Ok(Box::new(DecimalGroups::new(result)));
        }
        match whole(args.expr_fields) {
            Some(DataType::Int64) => Ok(Box::new(Groups::<Int64Type>::default())),
            Some(_) => Ok(Box::new(Groups::<UInt64Type>::default())),
            None => inner.create_groups_accumulator(args),
        }
    }
}

/// Returns the shape of the sum of DECIMAL of at most 38 digits, unless it is DISTINCT; `None` for others.
fn decimal(args: &AccumulatorArgs) -> Option<Shape> {
    let input = args.expr_fields.first()?.data_type();
    let is_decimal = matches!(input, DataType::Decimal128(..)) && !args.is_distinct;
    Shape::from_type(args.return_field.data_type()).filter(|_| is_decimal)
}

/// Whole numbers of 64 bits.
trait Whole: ArrowPrimitiveType<Native: TryFrom<i128>> + fmt::Debug + Send + Sync {
    /// The name of the type in SQL.
    const NAME: &'static str;

    /// Adds a number to a sum. Returns by how many times 2^64 the true sum exceeds the new one: -1, 0 or 1.
    fn add(sum: &mut Self::Native, value: Self::Native) -> i64;

    /// Returns the number modulo 2^64, and by how many times 2^64 the number exceeds that.
    fn parts(number: i128) -> (Self::Native, i64);

    /// Returns the number with 128 bits.
    fn wide(number: Self::Native) -> i128;
}

/// Returns by how many times 2^64 a number exceeds another.
fn carry(number: i128, low: i128) -> i64 {
    ((number - low) >> u64::BITS) as i64
}

impl Whole for Int64Type {
    const NAME: &'static str = "BIGINT";

    fn add(sum: &mut i64, value: i64) -> i64 {
        let (total, beyond) = sum.overflowing_add(value);
        *sum = total;
        if beyond { value.signum() } else { 0 }
    }

    fn parts(number: i128) -> (i64, i64) {
        let low = number as i64;
        (low, carry(number, low.into()))
    }

    fn wide(sum: i64) -> i128 {
        sum.into()
    }
}

impl Whole for UInt64Type {
    const NAME: &'static str = "BIGINT UNSIGNED";

    fn add(sum: &mut u64, value: u64) -> i64 {
        let (total, beyond) = sum.overflowing_add(value);
        *sum = total;
        i64::from(beyond)
    }

    fn parts(number: i128) -> (u64, i64) {
        let low = number as u64;
        (low, carry(number, low.into()))
    }

    fn wide(sum: u64) -> i128 {
        sum.into()
    }
}

fn beyond<T: Whole, R>() -> Result<R> {
    overflow(format!("Overflow happened on: sum({})", T::NAME))
}

/// The sum of rows that are not in groups.
#[derive(Debug)]
struct Rows<T> {
    total: WideSum,
    result: PhantomData<T>,
}

impl<T> Rows<T> {
    fn new() -> Self {
        Self { total: WideSum::default(), result: PhantomData }
    }
}

impl<T: Whole> Accumulator for Rows<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.total.add(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.total.remove(values)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let WideSum { sum, count } = self.total;
        let sum = match T::Native::try_from(sum) {
            Ok(sum) => (count > 0).then_some(sum),
            Err(_) => return beyond::<T, _>(),
        };
        ScalarValue::new_primitive::<T>(sum, &T::DATA_TYPE)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let WideSum { sum, count } = self.total;
        let sum = (count > 0).then_some(sum);
        Ok(vec![ScalarValue::Decimal128(sum, DECIMAL128_MAX_PRECISION, 0)])
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
struct Groups<T: Whole> {
    /// The sum of each group modulo 2^64.
    sums: Vec<T::Native>,
    /// True for groups with a value.
    present: Vec<bool>,
    /// By how many times 2^64 the sums of some groups exceed those of `sums`. Groups that are not here fit.
    carries: BTreeMap<usize, i64>,
}

impl<T: Whole> Default for Groups<T> {
    fn default() -> Self {
        Self { sums: Vec::new(), present: Vec::new(), carries: BTreeMap::new() }
    }
}

impl<T: Whole> Groups<T> {
    fn grow(&mut self, total: usize) {
        self.sums.resize(total, T::Native::default());
        self.present.resize(total, false);
    }

    /// Adds the values of the rows that pass a filter. `add` adds one to a sum and returns the carry.
    fn add<V: ArrowPrimitiveType>(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        add: impl Fn(&mut T::Native, V::Native) -> i64,
    ) {
        let values = values.as_primitive::<V>();
        let Self { sums, present, carries } = self;
        let add = |group: usize, value: V::Native| {
            let carry = add(&mut sums[group], value);
            present[group] = true;
            if carry != 0 {
                *carries.entry(group).or_default() += carry;
            }
        };
        each_kept(values, groups, filter, add);
    }

    /// Removes the first groups. Returns their sums modulo 2^64, their validity and their carries.
    fn take(&mut self, emit_to: EmitTo) -> EmittedSums<T> {
        let sums = emit_to.take_needed(&mut self.sums);
        let nulls = NullBuffer::from(emit_to.take_needed(&mut self.present));
        let later = self.carries.split_off(&sums.len());
        let later = later.into_iter().map(|(group, carry)| (group - sums.len(), carry)).collect();
        let mut carries = std::mem::replace(&mut self.carries, later);
        carries.retain(|_, carry| *carry != 0);
        EmittedSums { sums, nulls: (nulls.null_count() > 0).then_some(nulls), carries }
    }
}

/// The sums of the groups that are emitted, as [`Groups`] has them.
struct EmittedSums<T: Whole> {
    sums: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    carries: BTreeMap<usize, i64>,
}

impl<T: Whole> GroupsAccumulator for Groups<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let [values] = values else { return internal_err!("one column is added") };
        self.grow(total);
        self.add::<T>(values, groups, filter, T::add);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let [sums] = states else { return internal_err!("a state is a sum") };
        self.grow(total);
        self.add::<Decimal128Type>(sums, groups, None, |sum, value| {
            let (low, carry) = T::parts(value);
            carry + T::add(sum, low)
        });
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let EmittedSums { sums, nulls, carries } = self.take(emit_to);
        if !carries.is_empty() {
            return beyond::<T, _>();
        }
        Ok(Arc::new(PrimitiveArray::<T>::new(sums.into(), nulls)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let EmittedSums { sums, nulls, carries } = self.take(emit_to);
        let mut wide: Vec<i128> = sums.into_iter().map(T::wide).collect();
        for (group, carry) in carries {
            wide[group] += i128::from(carry) << u64::BITS;
        }
        let wide = Decimal128Array::new(wide.into(), nulls).with_data_type(SUM_OF_WHOLE.clone());
        Ok(vec![Arc::new(wide)])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return internal_err!("one column is added") };
        Ok(vec![cast(&kept(values, filter)?, &SUM_OF_WHOLE)?])
    }

    fn size(&self) -> usize {
        let each = size_of::<T::Native>() + size_of::<bool>();
        size_of_val(self) + self.sums.capacity() * each + self.carries.len() * 64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the sums of groups by 128 bits, or `None` if one exceeds BIGINT.
    fn expected(rows: &[(usize, Option<i64>, bool)]) -> Option<Vec<Option<i64>>> {
        let sum = |group| {
            let rows =
                rows.iter().filter(|(of, value, kept)| *of == group && value.is_some() && *kept);
            let values: Vec<i128> =
                rows.filter_map(|(_, value, _)| value.map(i128::from)).collect();
            match i64::try_from(values.iter().sum::<i128>()) {
                Ok(sum) => Some((!values.is_empty()).then_some(sum)),
                Err(_) => None,
            }
        };
        (0..3).map(sum).collect()
    }

    fn value() -> impl Strategy<Value = Option<i64>> {
        prop_oneof![
            4 => any::<i64>().prop_map(Some),
            2 => prop::sample::select(vec![i64::MAX, i64::MIN, 1, -1]).prop_map(Some),
            1 => Just(None),
        ]
    }

    proptest! {
        #[test]
        fn sums_of_groups_are_those_of_128_bits(
            rows in prop::collection::vec((0_usize..3, value(), any::<bool>()), 0..12),
            first in 0_usize..3,
        ) {
            let groups: Vec<usize> = rows.iter().map(|(group, ..)| *group).collect();
            let values: ArrayRef =
                Arc::new(PrimitiveArray::<Int64Type>::from_iter(rows.iter().map(|(_, value, _)| *value)));
            let filter = BooleanArray::from_iter(rows.iter().map(|(.., kept)| Some(*kept)));
            let mut sums = Groups::<Int64Type>::default();
            sums.update_batch(&[Arc::clone(&values)], &groups, Some(&filter), 3).unwrap();
            let found = sums.evaluate(EmitTo::First(first)).and_then(|some| {
                let rest = sums.evaluate(EmitTo::All)?;
                let all = [some.as_primitive::<Int64Type>(), rest.as_primitive()];
                Ok(all.into_iter().flat_map(|it| it.iter().collect::<Vec<_>>()).collect())
            });
            prop_assert_eq!(found.ok(), expected(&rows));
            // The states of single rows are their values.
            let sums = Groups::<Int64Type>::default();
            let states = sums.convert_to_state(&[values], Some(&filter)).unwrap();
            let mut merged = Groups::<Int64Type>::default();
            merged.merge_batch(&states, &groups, 3).unwrap();
            let states = merged.state(EmitTo::All).unwrap();
            merged.merge_batch(&states, &[0, 1, 2], 3).unwrap();
            let merged = merged.evaluate(EmitTo::All).ok();
            let merged = merged.map(|it| it.as_primitive::<Int64Type>().iter().collect::<Vec<_>>());
            prop_assert_eq!(merged, expected(&rows));
        }
    }
}
