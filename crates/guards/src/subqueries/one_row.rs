//! Checks that a scalar subquery returns at most one row for each outer row.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

const NAME: &str = "sluice_one_row";

/// Returns `value`, or an error where `rows` is more than one.
pub(super) fn one_row(value: Expr, rows: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(function(), vec![value, rows]))
}

/// Returns the function, to be registered with a session.
pub(super) fn function() -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Volatile);
    Arc::new(ScalarUDF::new_from_impl(OneRow { signature }))
}

/// The function `sluice_one_row(value, rows)`. It is volatile, so that it stays above the join with the outer query.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OneRow {
    signature: Signature,
}

impl ScalarUDFImpl for OneRow {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [value, _] => Ok(value.clone()),
            _ => internal_err!("{NAME} takes a value and a number of rows"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let DataType::Int64 = args.arg_fields[1].data_type() else {
            return internal_err!("{NAME} takes a number of rows");
        };
        Ok(Arc::new(args.arg_fields[0].as_ref().clone().with_name(NAME).with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, rows] = args.args.as_slice() else {
            return internal_err!("{NAME} takes a value and a number of rows");
        };
        let rows = rows.to_array(args.number_rows)?;
        match rows.as_primitive::<Int64Type>().iter().flatten().any(|rows| rows > 1) {
            true => exec_err!(
                "a subquery that stands for a value has more than one row; choose one with LIMIT 1 or an aggregate"
            ),
            false => Ok(value.clone()),
        }
    }
}
