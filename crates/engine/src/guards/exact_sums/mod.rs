//! Sums and means of whole numbers, and sums of decimals, in 128 bits.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, DecimalType, Field,
    FieldRef, Int64Type, UInt64Type,
};
use arrow::error::ArrowError;
use datafusion::common::types::{
    NativeType, logical_float64, logical_int8, logical_int16, logical_int32, logical_int64,
    logical_uint8, logical_uint16, logical_uint32, logical_uint64,
};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err, not_impl_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, Coercion, GroupsAccumulator, Signature, TypeSignature,
    TypeSignatureClass, Volatility,
};

use super::wrapped::{AggregateChange, changed_aggregate};
use super::{Answer, Case, Guard};
use crate::sql_types::sql_type;

mod groups;
mod rows;

pub(super) const SUMS: Guard = Guard {
    title: "SUM beyond the digits of its type is another number",
    upstream: &[],
    ours: "A SUM of whole numbers is added in 128 bits and is an error if it does not fit in BIGINT, and a SUM of \
           decimals is an error if it needs more than 38 digits. A part of a table has a sum of its own, and this must \
           fit, too. `sum(CAST(x AS DECIMAL(38, 0)))` has room for larger sums of whole numbers.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT sum(x) FROM (VALUES (9223372036854775807), (1)) t(x)",
            right: Answer::Error("out of the range of BIGINT"),
            theirs: Answer::Rows(&["-9223372036854775808"]),
        },
        Case {
            setup: &[],
            sql: "SELECT g, sum(x) FROM (VALUES (1, 9223372036854775807), (1, 1), (2, 1)) t(g, x) GROUP BY g",
            right: Answer::Error("out of the range of BIGINT"),
            theirs: Answer::Rows(&["1, -9223372036854775808", "2, 1"]),
        },
        Case {
            setup: &[],
            sql: "SELECT sum(x) FROM (VALUES (CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0))), \
                  (CAST('1' AS DECIMAL(38,0)))) t(x)",
            right: Answer::Error("out of the range of DECIMAL(38,0)"),
            theirs: Answer::Rows(&["10000000000000000000000000000000000000"]),
        },
    ],
};

pub(super) const MEANS: Guard = Guard {
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

/// Changes the aggregate functions of a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    for function in functions.iter_mut() {
        match function.name() {
            "sum" => *function = changed_aggregate(function, InFull::Sum),
            "avg" => *function = changed_aggregate(function, InFull::Mean),
            _ => {}
        }
    }
}

/// Which of the functions: of the types that it does not concern, they are DataFusion's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum InFull {
    Sum,
    Mean,
}

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

impl InFull {
    /// The amounts that are added here; none if DataFusion adds them.
    fn amounts(self, input: &[FieldRef], result: &DataType) -> Option<Amounts> {
        let input = input.first()?.data_type().clone();
        let ours = match self {
            Self::Sum => {
                matches!(input, DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..))
            }
            Self::Mean => matches!(input, DataType::Int64 | DataType::UInt64),
        };
        ours.then(|| Amounts { function: self, input, result: result.clone() })
    }
}

impl AggregateChange for InFull {
    fn signature(self, inner: &AggregateUDF) -> &Signature {
        match self {
            Self::Sum => inner.signature(),
            Self::Mean => &MEAN,
        }
    }

    fn state_fields(self, inner: &AggregateUDF, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let amounts = self.amounts(args.input_fields, args.return_type());
        let Some(amounts) = amounts.filter(|_| self == Self::Mean) else {
            return inner.state_fields(args);
        };
        if args.is_distinct {
            let item = Field::new_list_field(amounts.input, true);
            let name = format!("{}[avg distinct]", args.name);
            return Ok(vec![Arc::new(Field::new_list(name, item, false))]);
        }
        Ok(vec![
            Arc::new(Field::new(format!("{}[count]", args.name), DataType::UInt64, true)),
            Arc::new(Field::new(format!("{}[sum]", args.name), SUM_OF_WHOLE.clone(), true)),
        ])
    }

    fn groups_supported(self, inner: &AggregateUDF, args: AccumulatorArgs) -> bool {
        match self.amounts(args.expr_fields, args.return_type()) {
            Some(_) => !args.is_distinct,
            None => inner.groups_accumulator_supported(args),
        }
    }

    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        let Some(amounts) = self.amounts(args.expr_fields, args.return_type()) else {
            return inner.accumulator(args);
        };
        if !args.is_distinct {
            return Ok(Box::new(rows::Rows::new(amounts)));
        }
        // What collects the distinct values is the same for both functions.
        let return_field = match self {
            Self::Sum => Arc::clone(&args.return_field),
            Self::Mean => Arc::new(Field::new(args.name, amounts.input.clone(), true)),
        };
        let values = sum_udaf().accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(rows::Distinct { values, amounts }))
    }

    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.amounts(args.expr_fields, args.return_type()) {
            Some(_) if args.is_distinct => {
                not_impl_err!("the values of a frame are collected anew")
            }
            Some(amounts) => Ok(Box::new(rows::Rows::new(amounts))),
            None => inner.create_sliding_accumulator(args),
        }
    }

    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match self.amounts(args.expr_fields, args.return_type()) {
            Some(amounts) => Ok(Box::new(groups::Groups::new(amounts))),
            None => inner.create_groups_accumulator(args),
        }
    }
}

/// The sum of whole numbers in the state of a mean.
static SUM_OF_WHOLE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// What is added, and what comes of it.
#[derive(Debug, Clone)]
struct Amounts {
    function: InFull,
    input: DataType,
    result: DataType,
}

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

impl Amounts {
    /// The type of the sums in a state.
    fn state_type(&self) -> &DataType {
        match self.function {
            InFull::Sum => &self.result,
            InFull::Mean => &SUM_OF_WHOLE,
        }
    }

    /// A sum as a value of its type; an error if it has no room there.
    fn sum(&self, sum: i128) -> Result<ScalarValue> {
        match &self.result {
            DataType::Int64 if i64::try_from(sum).is_ok() => {
                Ok(ScalarValue::Int64(i64::try_from(sum).ok()))
            }
            DataType::UInt64 if u64::try_from(sum).is_ok() => {
                Ok(ScalarValue::UInt64(u64::try_from(sum).ok()))
            }
            DataType::Decimal128(precision, scale)
                if Decimal128Type::is_valid_decimal_precision(sum, *precision) =>
            {
                Ok(ScalarValue::Decimal128(Some(sum), *precision, *scale))
            }
            _ => self.overflow(),
        }
    }

    fn overflow<T>(&self) -> Result<T> {
        let name = match self.function {
            InFull::Sum => "SUM",
            InFull::Mean => "the sum for an AVG",
        };
        Err(out_of_range(name, self.state_type()))
    }
}

/// A number has no room in its type.
pub(crate) fn out_of_range(what: &str, data_type: &DataType) -> DataFusionError {
    let message = format!("{what} is out of the range of {}", sql_type(data_type));
    ArrowError::ArithmeticOverflow(message).into()
}

/// A mean; `f64` has no room for more digits.
fn mean(sum: i128, count: u64) -> f64 {
    sum as f64 / count as f64
}

/// The values of an array, without NULL.
fn counted<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>) -> impl Iterator<Item = T::Native> {
    values.iter().flatten()
}
