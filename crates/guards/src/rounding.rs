//! Corrects the types of CEIL and FLOOR of decimals.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
};

use super::columnar_values::mapped;
use super::wrapped_functions::{Change, changed};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "CEIL and FLOOR of a decimal have no room for one more digit",
    upstream: &[],
    ours: "They return a DECIMAL without places and with one more digit before the point, as round() does.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT ceil(x), floor(-x) FROM (VALUES (CAST('999.8' AS DECIMAL(4,1)))) t(x)",
            right: CaseOutcome::Rows(&["1000, -1000"]),
            theirs: CaseOutcome::Error("overflow"),
        },
        Case {
            setup: &[],
            sql: "SELECT ceil(x), floor(x) FROM (VALUES (CAST('0.00000000000000001' AS DECIMAL(17,17)))) t(x)",
            right: CaseOutcome::Rows(&["1, 0"]),
            theirs: CaseOutcome::Error("overflow"),
        },
    ],
};

/// Returns the guarded functions.
pub(super) fn guarded(functions: &[Arc<ScalarUDF>]) -> Vec<Arc<ScalarUDF>> {
    let both = functions.iter().filter(|it| matches!(it.name(), "ceil" | "floor"));
    both.map(|function| changed(function, Rounding { up: function.name() == "ceil" })).collect()
}

/// The type change of a function, with enough digits for its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Rounding {
    up: bool,
}

/// Returns the type of the result, or `None` if the result has the argument's type.
fn rounded(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal32(digits, places)
        | DataType::Decimal64(digits, places)
        | DataType::Decimal128(digits, places) => {
            let places = u8::try_from(*places).ok().filter(|places| *places > 0)?;
            Some(DataType::Decimal128(digits.checked_sub(places)? + 1, 0))
        }
        _ => None,
    }
}

impl Change for Rounding {
    fn return_field(self, inner: &ScalarUDF, args: ReturnFieldArgs) -> Result<FieldRef> {
        let other = args.arg_fields.first().and_then(|field| rounded(field.data_type()));
        let field = inner.return_field_from_args(args)?;
        Ok(match other {
            Some(data_type) => Arc::new(Field::new(field.name(), data_type, field.is_nullable())),
            None => field,
        })
    }

    fn invoke(self, inner: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else {
            return exec_err!("{} takes a number", inner.name());
        };
        let (
            Some(to),
            DataType::Decimal32(digits, places)
            | DataType::Decimal64(digits, places)
            | DataType::Decimal128(digits, places),
        ) = (rounded(&value.data_type()), value.data_type())
        else {
            return inner.invoke_with_args(args);
        };
        let one = 10_i128.pow(u32::from(places.unsigned_abs()));
        mapped(value, |array| {
            let array = cast(array, &DataType::Decimal128(digits, places))?;
            let whole = array.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(|it| {
                it.div_euclid(one) + i128::from(self.up && it.rem_euclid(one) != 0)
            });
            Ok(Arc::new(whole.with_data_type(to)))
        })
    }

    fn preimage(
        self,
        inner: &ScalarUDF,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        // DataFusion assumes that the argument has the type of the result.
        let other = |it: &Expr| {
            !info.get_data_type(it).is_ok_and(|data_type| rounded(&data_type).is_none())
        };
        if args.iter().any(other) {
            return Ok(PreimageResult::None);
        }
        inner.inner().preimage(args, literal, info)
    }

    fn bounds(self, inner: &ScalarUDF, input: &[&Interval]) -> Result<Interval> {
        match input.first().and_then(|it| rounded(&it.data_type())) {
            Some(data_type) => Interval::make_unbounded(&data_type),
            None => inner.evaluate_bounds(input),
        }
    }
}
