//! The year of a timestamp.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};

use super::{Answer, Case, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "The year of a timestamp is less than 9999 for no row",
    upstream: &["datafusion#25135"],
    ours: "A condition on a year becomes one on the timestamp only if the year begins and ends within the range of the \
           type.",
    cases: &[Case {
        setup: &["CREATE TABLE years AS SELECT TIMESTAMP '1995-05-05 00:00:00' AS ts"],
        sql: "SELECT count(*) FROM years WHERE extract(year FROM ts) < 9999",
        right: Answer::Rows(&["1"]),
        theirs: Answer::Rows(&["0"]),
    }],
};

/// A call of DataFusion's function as one of ours.
pub(super) fn replace(expr: &Expr) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    if call.func.name() != "date_part" || call.func.inner().is::<Years>() {
        return None;
    }
    let function = guarded(&call.func);
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, call.args.clone())))
}

/// The function with this guard.
pub(super) fn guarded(function: &Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Years { inner: Arc::clone(function) }))
}

/// `date_part`, whose conditions DataFusion turns into ranges of timestamps.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Years {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Years {
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
        Some(ScalarUDF::new_from_impl(Self { inner }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.invoke_with_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        let found = self.inner.inner().preimage(args, literal, info)?;
        Ok(match found {
            PreimageResult::Range { interval, .. }
                if interval.lower().is_null() || interval.upper().is_null() =>
            {
                PreimageResult::None
            }
            found => found,
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
