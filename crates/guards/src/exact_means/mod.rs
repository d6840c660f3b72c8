//! Computes means of whole numbers exactly, with sums of 128 bits.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::types::{
    NativeType, logical_float64, logical_int8, logical_int16, logical_int32, logical_int64,
    logical_uint8, logical_uint16, logical_uint32, logical_uint64,
};
use datafusion::common::{Result, not_impl_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, Coercion, GroupsAccumulator, Signature, TypeSignature,
    TypeSignatureClass, Volatility,
};

use super::wide_sums::{Distinct, SUM_OF_WHOLE, whole};
use super::wrapped_functions::{AggregateChange, changed_aggregate};
use super::{Case, CaseOutcome, Guard};

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
            right: CaseOutcome::Rows(&["1.0"]),
            theirs: CaseOutcome::Rows(&["0.0"]),
        },
        Case {
            setup: &[],
            sql: "SELECT g, avg(x), avg(DISTINCT x) FROM (VALUES (1, 9007199254740993), (1, -9007199254740992), \
                  (1, 2)) t(g, x) GROUP BY g",
            right: CaseOutcome::Rows(&["1, 1.0, 1.0"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[],
            sql: "SELECT avg(x) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM (VALUES \
                  (1, 9007199254740993), (2, -9007199254740992), (3, 2)) t(i, x) ORDER BY i",
            right: CaseOutcome::Rows(&["9007199254740992.0", "0.5", "1.0"]),
            theirs: CaseOutcome::Rows(&["9007199254740992.0", "0.0", "0.6666666666666666"]),
        },
    ],
};

/// Replaces AVG in a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|function| function.name() == "avg") {
        *function = changed_aggregate(function, ExactMean);
    }
}

/// The mean of whole numbers. For other types, it is DataFusion's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ExactMean;

/// Signature of AVG that accepts whole numbers without a cast.
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
        // SUM collects distinct values in the same way.
        let return_field = Arc::new(Field::new(args.name, input.clone(), true));
        let values = sum_udaf().accumulator(AccumulatorArgs { return_field, ..args })?;
        Ok(Box::new(Distinct { values, rows: || Box::new(rows::Rows::default()) }))
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

/// Returns the double nearest to a mean. Ties go to the even double. `count` must not be 0.
fn mean(sum: i128, count: u64) -> f64 {
    /// Doubles represent all whole numbers up to here, and their quotient is rounded once.
    const EXACT: u128 = 1 << f64::MANTISSA_DIGITS;
    let (magnitude, divisor) = (sum.unsigned_abs(), u128::from(count));
    if magnitude == 0 || magnitude <= EXACT && divisor <= EXACT {
        return sum as f64 / count as f64;
    }
    // The quotient has more than 60 bits, and its last bit represents the rest.
    let places = magnitude.leading_zeros();
    let scaled = magnitude << places;
    let quotient = (scaled / divisor) | u128::from(scaled % divisor != 0);
    let mean = quotient as f64 / 2_f64.powi(places as i32);
    if sum < 0 { -mean } else { mean }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::i256;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mean_between_two_doubles_is_the_even_one() {
        for (sum, count, expected) in [
            (-3 * 9_007_199_254_740_993, 3, -9_007_199_254_740_992.0),
            (3 * 9_007_199_254_740_995, 3, 9_007_199_254_740_996.0),
            (3 * 9_007_199_254_740_993 + 1, 3, 9_007_199_254_740_994.0),
            (-18_014_398_509_481_975, 3, -6_004_799_503_160_658.0),
            (0, u64::MAX, 0.0),
            (i128::MIN, 1, i128::MIN as f64),
            (1, u64::MAX, 1.0 / 18_446_744_073_709_551_616.0),
        ] {
            assert_eq!(mean(sum, count), expected, "{sum} / {count}");
        }
    }

    proptest! {
        /// Twice the error is at most the distance of two doubles.
        #[test]
        fn no_double_is_nearer(value in any::<i64>(), add in -3_i128..4, count in 1_u64..1_000_000) {
            let sum = i128::from(value) * i128::from(count) + add;
            let mean = mean(sum, count);
            let bits = mean.to_bits();
            let exponent = ((bits >> 52) & 0x7ff) as i32 - 1_075;
            let mantissa = i128::from((bits & ((1 << 52) - 1)) | (1 << 52)) * if mean < 0.0 { -1 } else { 1 };
            prop_assume!(mean != 0.0);
            // The unit is the last bit of the double, or 1 if that is more.
            let unit = |places: i32| i256::from_i128(1) << (places.max(0) as u8);
            let distance = i256::from_i128(mantissa) * unit(exponent) * i256::from_i128(i128::from(count))
                - i256::from_i128(sum) * unit(-exponent);
            let distance = if distance < i256::ZERO { -distance } else { distance };
            prop_assert!(distance * i256::from_i128(2) <= unit(exponent) * i256::from_i128(i128::from(count)));
        }
    }
}
