//! Corrects MIN and MAX of floats by group.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, FieldRef, Float16Type, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type,
};
use datafusion::common::{Result, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{AggregateUDF, EmitTo, GroupsAccumulator};

use super::wrapped_functions::{AggregateChange, changed_aggregate};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "MIN and MAX of groups with NaN depend on the order of rows",
    upstream: &[],
    ours: "NaN is the greatest number in MIN and MAX by group, as it is in ORDER BY and in MIN and MAX of all rows, and \
           −0.0 comes before 0.0.",
    cases: &[Case {
        setup: &[
            "CREATE TABLE with_nan AS SELECT * FROM (VALUES (1, CAST(-1 AS DOUBLE)), (1, CAST('NaN' AS DOUBLE)), \
             (1, CAST(2 AS DOUBLE))) t(g, x)",
        ],
        sql: "SELECT g, min(x), max(x) FROM with_nan GROUP BY g",
        right: CaseOutcome::Rows(&["1, -1.0, NaN"]),
        theirs: CaseOutcome::Varies,
    }],
};

/// Replaces `min` and `max` in a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|it| matches!(it.name(), "min" | "max")) {
        *function = changed_aggregate(function, FloatMinMax);
    }
}

/// DataFusion's `min` or `max` by group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FloatMinMax;

impl AggregateChange for FloatMinMax {
    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let data_type = args.return_field.data_type().clone();
        let (bits, convert): (DataType, Convert) = match data_type {
            DataType::Float16 => (DataType::Int16, Convert { to: f16_bits, back: f16_back }),
            DataType::Float32 => (DataType::Int32, Convert { to: f32_bits, back: f32_back }),
            DataType::Float64 => (DataType::Int64, Convert { to: f64_bits, back: f64_back }),
            _ => return inner.create_groups_accumulator(args),
        };
        let name = args.return_field.name().clone();
        let return_field: FieldRef = Arc::new(Field::new(name, bits, true));
        let args = AccumulatorArgs { return_field, ..args };
        let inner = inner.create_groups_accumulator(args)?;
        Ok(Box::new(BitsMinMax { inner, convert }))
    }
}

/// Converts floats to whole numbers in the total order of IEEE 754, and back.
#[derive(Clone, Copy)]
struct Convert {
    to: fn(&ArrayRef) -> ArrayRef,
    back: fn(&ArrayRef) -> ArrayRef,
}

fn each<F, I>(array: &ArrayRef, convert: impl Fn(F::Native) -> I::Native) -> ArrayRef
where
    F: ArrowPrimitiveType,
    I: ArrowPrimitiveType,
{
    let converted: PrimitiveArray<I> = array.as_primitive::<F>().unary(convert);
    Arc::new(converted)
}

/// Reverses the order of negative numbers. Applying it twice restores them.
macro_rules! ordered {
    ($bits:expr, $unsigned:ty, $sign:literal) => {{
        let bits = $bits;
        bits ^ ((((bits >> $sign) as $unsigned) >> 1).cast_signed())
    }};
}

fn f16_bits(array: &ArrayRef) -> ArrayRef {
    each::<Float16Type, Int16Type>(array, |x| ordered!(x.to_bits().cast_signed(), u16, 15))
}

fn f16_back(array: &ArrayRef) -> ArrayRef {
    type F16 = <Float16Type as ArrowPrimitiveType>::Native;
    each::<Int16Type, Float16Type>(array, |x| F16::from_bits(ordered!(x, u16, 15).cast_unsigned()))
}

fn f32_bits(array: &ArrayRef) -> ArrayRef {
    each::<Float32Type, Int32Type>(array, |x| ordered!(x.to_bits().cast_signed(), u32, 31))
}

fn f32_back(array: &ArrayRef) -> ArrayRef {
    each::<Int32Type, Float32Type>(array, |x| f32::from_bits(ordered!(x, u32, 31).cast_unsigned()))
}

fn f64_bits(array: &ArrayRef) -> ArrayRef {
    each::<Float64Type, Int64Type>(array, |x| ordered!(x.to_bits().cast_signed(), u64, 63))
}

fn f64_back(array: &ArrayRef) -> ArrayRef {
    each::<Int64Type, Float64Type>(array, |x| f64::from_bits(ordered!(x, u64, 63).cast_unsigned()))
}

/// Computes MIN or MAX of floats as whole numbers.
struct BitsMinMax {
    inner: Box<dyn GroupsAccumulator>,
    convert: Convert,
}

impl BitsMinMax {
    fn to_bits(&self, values: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let [values] = values else {
            return internal_err!("MIN and MAX have one argument, not {}", values.len());
        };
        Ok(vec![(self.convert.to)(values)])
    }
}

impl GroupsAccumulator for BitsMinMax {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        let values = self.to_bits(values)?;
        self.inner.update_batch(&values, groups, filter, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok((self.convert.back)(&self.inner.evaluate(emit_to)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let states = self.inner.state(emit_to)?;
        Ok(states.iter().map(self.convert.back).collect())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        let values = self.to_bits(values)?;
        self.inner.merge_batch(&values, groups, total)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let states = self.inner.convert_to_state(&self.to_bits(values)?, filter)?;
        Ok(states.iter().map(self.convert.back).collect())
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float32Array, Float64Array};

    use super::*;

    #[test]
    fn the_order_is_total_and_can_be_undone() {
        let numbers =
            [f64::NEG_INFINITY, -1.5, -0.0, 0.0, f64::MIN_POSITIVE, 2.0, f64::INFINITY, f64::NAN];
        let array: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
        let bits = f64_bits(&array);
        assert!(bits.as_primitive::<Int64Type>().values().is_sorted());
        let back = f64_back(&bits);
        let back = back.as_primitive::<Float64Type>().values();
        assert!(back.iter().zip(numbers).all(|(a, b)| a.to_bits() == b.to_bits()));
        let array: ArrayRef = Arc::new(Float32Array::from(vec![-2.0, -0.0, 0.0, 1.0, f32::NAN]));
        assert!(f32_bits(&array).as_primitive::<Int32Type>().values().is_sorted());
        assert_eq!(f32_back(&f32_bits(&array)).len(), 5);
    }
}
