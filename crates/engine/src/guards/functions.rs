//! Functions of DataFusion that are right but for one of their methods.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};

use super::{array_has, years};

/// Puts guarded functions in place of DataFusion's.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.scalar_functions().get_or_insert_default();
    let guarded: Vec<_> = functions.iter().filter_map(guarded).collect();
    functions.extend(guarded);
}

/// A call of one of DataFusion's functions that the planner makes itself as one of the guarded function.
pub(super) fn replace(expr: &Expr) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    // `x = ANY (array)` is planned as this function, and NULL in the array has to count then.
    if call.func.inner().is::<Guarded>() || call.func.name() == "array_has" {
        return None;
    }
    let function = guarded(&call.func)?;
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, call.args.clone())))
}

/// The function with its guard; nothing if it has none.
pub(super) fn guarded(function: &Arc<ScalarUDF>) -> Option<Arc<ScalarUDF>> {
    let change = match function.name() {
        "date_part" => Change::Preimage,
        "date_trunc" => Change::Constants,
        "array_has" => Change::Simplification,
        _ => return None,
    };
    let inner = Arc::clone(function);
    Some(Arc::new(ScalarUDF::new_from_impl(Guarded { inner, change })))
}

/// What is done instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Change {
    /// [`years::preimage`].
    Preimage,
    /// Constants are evaluated as columns are: `date_trunc`.
    Constants,
    /// [`array_has::simplifies`].
    Simplification,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Guarded {
    inner: Arc<ScalarUDF>,
    change: Change,
}

impl ScalarUDFImpl for Guarded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let inner = Arc::new(self.inner.inner().with_updated_config(config)?);
        Some(ScalarUDF::new_from_impl(Self { inner, change: self.change }))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constants = args.args.iter().all(|it| matches!(it, ColumnarValue::Scalar(_)));
        if self.change != Change::Constants || !constants {
            return self.inner.invoke_with_args(args);
        }
        if let Some(last) = args.args.last_mut() {
            *last = ColumnarValue::Array(last.to_array(1)?);
        }
        args.number_rows = 1;
        let value = self.inner.invoke_with_args(args)?.into_array(1)?;
        Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        if self.change == Change::Simplification && !array_has::simplifies(&args, info)? {
            return Ok(ExprSimplifyResult::Original(args));
        }
        self.inner.simplify(args, info)
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        let found = self.inner.inner().preimage(args, literal, info)?;
        Ok(match self.change {
            Change::Preimage => years::preimage(found),
            _ => found,
        })
    }

    fn evaluate_bounds(&self, input: &[&Interval]) -> Result<Interval> {
        self.inner.evaluate_bounds(input)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
