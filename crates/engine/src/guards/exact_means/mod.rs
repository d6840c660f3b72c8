//! Means of whole numbers, which are added in 128 bits.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef,
    Int64Type, UInt64Type,
};
use datafusion::common::types::{
    NativeType, logical_float64, logical_int8, logical_int16, logical_int32, logical_int64,
    logical_uint8, logical_uint16, logical_uint32, logical_uint64,
};
use datafusion::common::{Result, exec_err, internal_err, not_impl_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, Coercion, GroupsAccumulator, Signature, TypeSignature,
    TypeSignatureClass, Volatility,
};

use super::wrapped::{AggregateChange, changed_aggregate};
use super::{Answer, Case, Guard};

mod groups;
mod rows;

pub(super) const GUARD: Guard = Guard {
    title: "AVG of whole numbers beyond 2^53 loses digits",
    upstream: &[],
    ours: "Whole numbers are added in 128 bits, and their sum is divided by their count.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT avg(x) FROM (VALUES (9223372036854775807), (-9223372036854775807), (3)) t(x)",
            right: Answer::Rows(&["1.0"]),
            theirs: Answer::Rows(&["0.0"]),
        },
        Case {
            setup: &[],
            sql: "SELECT g, avg(x), avg(DISTINCT x) FROM (VALUES (1, 9007199254740993), (1, -9007199254740992), \
                  (1, 2)) t(g, x) GROUP BY g",
            right: Answer::Rows(&["1, 1.0, 1.0"]),
            theirs: Answer::Varies,
        },
        Case {
            setup: &[],
            sql: "SELECT avg(x) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM (VALUES \
                  (1, 9007199254740993), (2, -9007199254740992), (3, 2)) t(i, x) ORDER BY i",
            right: Answer::Rows(&["9007199254740992.0", "0.5", "1.0"]),
            theirs: Answer::Rows(&["9007199254740992.0", "0.0", "0.6666666666666666"]),
        },
    ],
};

/// Changes AVG in a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|function| function.name() == "avg") {
        *function = changed_aggregate(function, ExactMean);
    }
}

/// The mean of whole numbers; of other types, it is DataFusion's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ExactMean;

/// AVG that takes whole numbers as they are.
static MEAN: LazyLock<Signature> = LazyLock::new(|| {
    let exact = |class| TypeSignature::Coercible(vec![Coercion::new_exact(class)]);
    let like = |class, others, native| {
        TypeSignature::Coercible(vec![Coercion::new_implicit(class, others, native)])
    };
    use TypeSignatureClass as C;
    let signed = [logical_int8(), logical_int16(), logical_int32()].map(C::Native);
    let unsigned = [logical_uint8(), logical_uint16(), logical_uint32()].map(C::Native);
    Signature::one_of(
        vec![
            exact(C::Decimal),
            exact(C::Duration),
            like(C::Native(logical_int64()), signed.to_vec(), NativeType::Int64),
            like(C::Native(logical_uint64()), unsigned.to_vec(), NativeType::UInt64),
            like(C::Native(logical_float64()), vec![C::Integer, C::Float], NativeType::Float64),
        ],
        Volatility::Immutable,
    )
});

/// The type of whole numbers that are added here; none if DataFusion adds.
fn whole(input: &[FieldRef]) -> Option<&DataType> {
    let data_type = input.first()?.data_type();
    matches!(data_type, DataType::Int64 | DataType::UInt64).then_some(data_type)
}

impl AggregateChange for ExactMean {
    fn signature(self, _inner: &AggregateUDF) -> &Signature {
        &MEAN
    }

    fn state_fields(self, inner: &AggregateUDF, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let Some(input) = whole(args.input_fields) else { return inner.state_fields(args) };
        if args.is_distinct {
            let item = Field::new_list_field(input.clone(), true);
            let name = format!("{}[avg distinct]", args.name);
            return Ok(vec![Arc::new(Field::new_list(name, item, false))]);
        }
        Ok(vec![
            Arc::new(Field::new(format!("{}[count]", args.name), DataType::UInt64, true)),
            Arc::new(Field::new(format!("{}[sum]", args.name), SUM_OF_WHOLE.clone(), true)),
        ])
    }

    fn groups_supported(self, inner: &AggregateUDF, args: AccumulatorArgs) -> bool {
        match whole(args.expr_fields) {
            Some(_) => !args.is_distinct,
            None => inner.groups_accumulator_supported(args),
        }
    }

    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        let Some(input) = whole(args.expr_fields) else { return inner.accumulator(args) };
        if !args.is_distinct {
            return Ok(Box::new(rows::Rows::default()));
        }
        // SUM collects the distinct values alike.
        let return_field = Arc::new(Field::new(args.name, input.clone(), true));
        let values = sum_udaf().accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(rows::Distinct { values }))
    }

    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match whole(args.expr_fields) {
            Some(_) if args.is_distinct => {
                not_impl_err!("the values of a frame are collected anew")
            }
            Some(_) => Ok(Box::new(rows::Rows::default())),
            None => inner.create_sliding_accumulator(args),
        }
    }

    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match whole(args.expr_fields) {
            Some(_) => Ok(Box::new(groups::Groups::default())),
            None => inner.create_groups_accumulator(args),
        }
    }
}

/// The sum of whole numbers in the state of a mean.
static SUM_OF_WHOLE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// Numbers that are read as 128 bits.
enum Read<'a> {
    Signed(&'a PrimitiveArray<Int64Type>),
    Unsigned(&'a PrimitiveArray<UInt64Type>),
    Decimal(&'a PrimitiveArray<Decimal128Type>),
}

impl<'a> Read<'a> {
    fn new(values: &'a ArrayRef) -> Result<Self> {
        Ok(match values.data_type() {
            DataType::Int64 => Self::Signed(values.as_primitive()),
            DataType::UInt64 => Self::Unsigned(values.as_primitive()),
            DataType::Decimal128(..) => Self::Decimal(values.as_primitive()),
            other => return internal_err!("{other} is not added in 128 bits"),
        })
    }
}

fn overflow<T>() -> Result<T> {
    exec_err!("the sum for an AVG needs more than 128 bits")
}

/// A mean; `f64` has no room for more digits.
fn mean(sum: i128, count: u64) -> f64 {
    sum as f64 / count as f64
}

/// The values of an array, without NULL.
fn counted<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>) -> impl Iterator<Item = T::Native> {
    values.iter().flatten()
}
