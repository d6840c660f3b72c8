//! Wraps functions of DataFusion to replace one part of them.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, Field, FieldRef};
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
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Documentation, EmitTo, Expr,
    GroupsAccumulator, Operator, ReturnFieldArgs, ReversedUDAF, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, SetMonotonicity, Signature, StatisticsArgs,
};
use datafusion::scalar::ScalarValue;

/// A change of a scalar function.
pub trait Change: Debug + Copy + Eq + Hash + Send + Sync + 'static {
    /// Returns the field of the result.
    fn return_field(self, inner: &ScalarUDF, args: ReturnFieldArgs) -> Result<FieldRef> {
        inner.return_field_from_args(args)
    }

    /// Computes the result.
    fn invoke(self, inner: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        inner.invoke_with_args(args)
    }

    /// Returns a simpler expression with the same result.
    fn simplify(
        self,
        inner: &ScalarUDF,
        args: Vec<Expr>,
        info: &SimplifyContext,
    ) -> Result<ExprSimplifyResult> {
        inner.simplify(args, info)
    }

    /// Returns the range of the argument that yields a result.
    fn preimage(
        self,
        inner: &ScalarUDF,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        inner.inner().preimage(args, literal, info)
    }

    /// Returns the range of the result.
    fn bounds(self, inner: &ScalarUDF, input: &[&Interval]) -> Result<Interval> {
        inner.evaluate_bounds(input)
    }
}

/// Returns the function with a change.
pub fn changed(function: &Arc<ScalarUDF>, change: impl Change) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Wrapped { inner: Arc::clone(function), change }))
}

/// Returns true if this is a function with such a change.
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

/// A change of an aggregate function.
pub(super) trait AggregateChange: Debug + Copy + Eq + Hash + Send + Sync + 'static {
    /// Returns the types of the arguments.
    fn signature(self, inner: &AggregateUDF) -> &Signature {
        inner.signature()
    }

    /// Returns the type of the result, given that of the original function.
    fn result(self, _inner: &AggregateUDF, data_type: DataType) -> DataType {
        data_type
    }

    /// Returns the fields of the state that accumulators exchange.
    fn state_fields(self, inner: &AggregateUDF, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        inner.state_fields(args)
    }

    /// Returns true if the results of groups are computed together.
    fn groups_supported(self, inner: &AggregateUDF, args: AccumulatorArgs) -> bool {
        inner.groups_accumulator_supported(args)
    }

    /// Returns whether the rows must be sorted.
    fn order_sensitivity(self, inner: &AggregateUDF) -> AggregateOrderSensitivity {
        inner.order_sensitivity()
    }

    /// Returns the accumulator of one result, also for a window of growing frames.
    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        inner.accumulator(args)
    }

    /// Returns the accumulator of sliding frames.
    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        inner.create_sliding_accumulator(args)
    }

    /// Returns the accumulator of groups.
    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        inner.create_groups_accumulator(args)
    }
}

/// Returns the function with a change.
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
        Ok(match ordered.with_beneficial_ordering(beneficial_ordering)? {
            Some(ordered) => {
                let inner = Arc::new(AggregateUDF::new_from_shared_impl(ordered));
                Some(Arc::new(Self { inner, change: self.change }))
            }
            // The aggregate sorts by itself in any case.
            None if self.order_sensitivity().is_beneficial() => Some(self),
            None => None,
        })
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
        Ok(self.change.result(&self.inner, self.inner.return_type(arg_types)?))
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let field = self.inner.return_field(arg_fields)?;
        let result = self.change.result(&self.inner, field.data_type().clone());
        Ok(match result == *field.data_type() {
            true => field,
            false => Arc::new(Field::clone(&field).with_data_type(result)),
        })
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        let value = self.inner.default_value(data_type)?;
        let result = self.change.result(&self.inner, value.data_type());
        if result == value.data_type() { Ok(value) } else { value.cast_to(&result) }
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
        self.change.groups_supported(&self.inner, args)
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
        self.change.order_sensitivity(&self.inner)
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

    fn set_monotonicity(&self, _data_type: &DataType) -> SetMonotonicity {
        // The reason is in `running_extremes`.
        SetMonotonicity::NotMonotonic
    }
}

/// An accumulator whose result is changed.
#[derive(Debug)]
pub(super) struct ChangedResult {
    pub(super) inner: Box<dyn Accumulator>,
    pub(super) change: fn(ScalarValue) -> Result<ScalarValue>,
}

impl Accumulator for ChangedResult {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate().and_then(self.change)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// An accumulator of groups whose results are changed.
pub(super) struct ChangedResults {
    pub(super) inner: Box<dyn GroupsAccumulator>,
    pub(super) change: fn(ArrayRef) -> Result<ArrayRef>,
}

impl GroupsAccumulator for ChangedResults {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.inner.update_batch(values, groups, filter, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.inner.evaluate(emit_to).and_then(self.change)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(values, groups, total)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
