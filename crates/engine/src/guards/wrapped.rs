//! Functions of DataFusion with one part replaced.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::expr::{
    AggregateFunction, AggregateFunctionParams, WindowFunctionParams,
};
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Documentation, Expr,
    GroupsAccumulator, Operator, ReturnFieldArgs, ReversedUDAF, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, SetMonotonicity, Signature, StatisticsArgs,
};
use datafusion::scalar::ScalarValue;

/// What changes in a scalar function.
pub(super) trait Change: Debug + Copy + Eq + Hash + Send + Sync + 'static {
    /// The field of the result.
    fn return_field(self, inner: &ScalarUDF, args: ReturnFieldArgs) -> Result<FieldRef> {
        inner.return_field_from_args(args)
    }

    /// The result.
    fn invoke(self, inner: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        inner.invoke_with_args(args)
    }

    /// A simpler expression that has the result.
    fn simplify(
        self,
        inner: &ScalarUDF,
        args: Vec<Expr>,
        info: &SimplifyContext,
    ) -> Result<ExprSimplifyResult> {
        inner.simplify(args, info)
    }

    /// The range of the argument that a result stands for.
    fn preimage(
        self,
        inner: &ScalarUDF,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        inner.inner().preimage(args, literal, info)
    }

    /// The range of the result.
    fn bounds(self, inner: &ScalarUDF, input: &[&Interval]) -> Result<Interval> {
        inner.evaluate_bounds(input)
    }
}

/// The function with a change.
pub(super) fn changed(function: &Arc<ScalarUDF>, change: impl Change) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Wrapped { inner: Arc::clone(function), change }))
}

/// Whether this is a function with such a change.
pub(super) fn is_changed<C: Change>(function: &ScalarUDF) -> bool {
    function.inner().is::<Wrapped<C>>()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Wrapped<C> {
    inner: Arc<ScalarUDF>,
    change: C,
}

impl<C: Change> ScalarUDFImpl for Wrapped<C> {
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
        self.change.return_field(&self.inner, args)
    }

    fn is_strict(&self) -> bool {
        self.inner.inner().is_strict()
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let inner = Arc::new(self.inner.inner().with_updated_config(config)?);
        Some(ScalarUDF::new_from_impl(Self { inner, change: self.change }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.change.invoke(&self.inner, args)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.change.simplify(&self.inner, args, info)
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        self.change.preimage(&self.inner, args, literal, info)
    }

    fn evaluate_bounds(&self, input: &[&Interval]) -> Result<Interval> {
        self.change.bounds(&self.inner, input)
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

/// What changes in an aggregate function.
pub(super) trait AggregateChange: Debug + Copy + Eq + Hash + Send + Sync + 'static {
    /// The types of the arguments.
    fn signature(self, inner: &AggregateUDF) -> &Signature {
        inner.signature()
    }

    /// The columns of a partial result.
    fn state_fields(self, inner: &AggregateUDF, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        inner.state_fields(args)
    }

    /// Whether there is something that computes the results of groups together.
    fn has_groups(self, inner: &AggregateUDF, args: AccumulatorArgs) -> bool {
        inner.groups_accumulator_supported(args)
    }

    /// What computes one result, in a window of growing frames, too.
    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        inner.accumulator(args)
    }

    /// What computes the results of sliding frames.
    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        inner.create_sliding_accumulator(args)
    }

    /// What computes the results of groups.
    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        inner.create_groups_accumulator(args)
    }
}

/// The function with a change.
pub(super) fn changed_aggregate(
    function: &Arc<AggregateUDF>,
    change: impl AggregateChange,
) -> Arc<AggregateUDF> {
    let inner = Arc::clone(function);
    Arc::new(AggregateUDF::new_from_impl(WrappedAggregate { inner, change }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WrappedAggregate<C> {
    inner: Arc<AggregateUDF>,
    change: C,
}

#[warn(clippy::missing_trait_methods)]
impl<C: AggregateChange> AggregateUDFImpl for WrappedAggregate<C> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.schema_name(params)
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.human_display(params)
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_schema_name(params)
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.display_name(params)
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.window_function_display_name(params)
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        beneficial_ordering: bool,
    ) -> Result<Option<Arc<dyn AggregateUDFImpl>>> {
        let ordered = Arc::clone(self.inner.inner());
        let ordered = ordered.with_beneficial_ordering(beneficial_ordering)?;
        Ok(ordered.map(|ordered| -> Arc<dyn AggregateUDFImpl> {
            let inner = Arc::new(AggregateUDF::new_from_shared_impl(ordered));
            Arc::new(Self { inner, change: self.change })
        }))
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }

    fn signature(&self) -> &Signature {
        self.change.signature(&self.inner)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(arg_fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        self.inner.simplify()
    }

    fn simplify_expr_op_literal(
        &self,
        function: &AggregateFunction,
        argument: &Expr,
        op: Operator,
        literal: &Expr,
        is_left: bool,
    ) -> Result<Option<Expr>> {
        let inner = self.inner.inner();
        inner.simplify_expr_op_literal(function, argument, op, literal, is_left)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.change.accumulator(&self.inner, args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.change.state_fields(&self.inner, args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.change.has_groups(&self.inner, args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.change.groups(&self.inner, args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.change.sliding(&self.inner, args)
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Reversed(function) => {
                ReversedUDAF::Reversed(changed_aggregate(&function, self.change))
            }
            other => other,
        }
    }

    fn value_from_stats(&self, args: &StatisticsArgs) -> Option<ScalarValue> {
        self.inner.value_from_stats(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(data_type)
    }
}
