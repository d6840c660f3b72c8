//! Gives counting functions a signed result type.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::function::{
    AccumulatorArgs, ExpressionArgs, PartitionEvaluatorArgs, WindowFunctionSimplification,
    WindowUDFFieldArgs,
};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, ColumnarValue, Documentation, GroupsAccumulator, LimitEffect,
    PartitionEvaluator, ReturnFieldArgs, ReversedUDWF, ScalarFunctionArgs, ScalarUDF, Signature,
    WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

use super::wrapped_functions::{
    AggregateChange, Change, ChangedResult, ChangedResults, changed, changed_aggregate,
};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Differences of row numbers and ranks wrap around, and their quotients have fractions",
    upstream: &[],
    ours: "ROW_NUMBER, RANK, DENSE_RANK, NTILE, APPROX_DISTINCT, REGR_COUNT, ARRAY_LENGTH, CARDINALITY, ARRAY_NDIMS, \
           ARRAY_DIMS and ARRAY_POSITION are BIGINT, as in PostgreSQL and DuckDB. In DataFusion they have no sign.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT r - lag(r) OVER (ORDER BY x DESC), r / 2, -r FROM (SELECT x, row_number() OVER (ORDER BY x) AS r \
                  FROM (VALUES (1), (2), (3)) v(x)) t ORDER BY r",
            right: CaseOutcome::Rows(&["-1, 0, -1", "-1, 1, -2", "NULL, 1, -3"]),
            theirs: CaseOutcome::Error("signed"),
        },
        Case {
            setup: &[],
            sql: "SELECT rank() OVER (ORDER BY x) - dense_rank() OVER (ORDER BY x DESC), \
                  ntile(2) OVER (ORDER BY x) - 2 FROM (VALUES (1), (2), (3)) v(x) ORDER BY x",
            right: CaseOutcome::Rows(&["-2, -1", "0, -1", "2, 0"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[],
            sql: "SELECT array_length(x) - array_length(y), cardinality(x) / 2, array_position(x, 1) - 2 \
                  FROM (VALUES ([1], [2, 3])) t(x, y)",
            right: CaseOutcome::Rows(&["-1, 0, -1"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[],
            sql: "SELECT approx_distinct(x) - regr_count(y, y) - 1 FROM (VALUES (1, CAST(1 AS DOUBLE))) t(x, y)",
            right: CaseOutcome::Rows(&["-1"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

/// Array functions that count.
const OF_ARRAYS: &[&str] = &[
    "array_length",
    "array_ndims",
    "array_dims",
    "array_position",
    "array_positions",
    "cardinality",
];

/// Replaces the functions in a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.scalar_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|it| OF_ARRAYS.contains(&it.name())) {
        *function = changed(function, Signed);
    }
    let aggregates = builder.aggregate_functions().get_or_insert_default();
    let counts = ["approx_distinct", "regr_count"];
    for function in aggregates.iter_mut().filter(|it| counts.contains(&it.name())) {
        *function = changed_aggregate(function, Signed);
    }
    let windows = builder.window_functions().get_or_insert_default();
    let places = ["row_number", "rank", "dense_rank", "ntile"];
    for function in windows.iter_mut().filter(|it| places.contains(&it.name())) {
        let inner = Arc::clone(function);
        *function = Arc::new(WindowUDF::new_from_impl(SignedWindow { inner }));
    }
}

/// Returns the signed type.
fn signed(data_type: &DataType) -> DataType {
    match data_type {
        DataType::UInt64 => DataType::Int64,
        DataType::List(item) if *item.data_type() == DataType::UInt64 => {
            DataType::List(Arc::new(Field::clone(item).with_data_type(DataType::Int64)))
        }
        other => other.clone(),
    }
}

fn signed_array(array: ArrayRef) -> Result<ArrayRef> {
    let to = signed(array.data_type());
    if to == *array.data_type() { Ok(array) } else { Ok(cast(&array, &to)?) }
}

fn signed_scalar(value: ScalarValue) -> Result<ScalarValue> {
    let (from, to) = (value.data_type(), signed(&value.data_type()));
    if from == to { Ok(value) } else { value.cast_to(&to) }
}

fn signed_field(field: FieldRef) -> FieldRef {
    let to = signed(field.data_type());
    if to == *field.data_type() {
        return field;
    }
    Arc::new(Field::clone(&field).with_data_type(to))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Signed;

impl Change for Signed {
    fn return_field(self, inner: &ScalarUDF, args: ReturnFieldArgs) -> Result<FieldRef> {
        inner.return_field_from_args(args).map(signed_field)
    }

    fn invoke(self, inner: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match inner.invoke_with_args(args)? {
            ColumnarValue::Array(array) => ColumnarValue::Array(signed_array(array)?),
            ColumnarValue::Scalar(value) => ColumnarValue::Scalar(signed_scalar(value)?),
        })
    }
}

impl AggregateChange for Signed {
    fn result(self, _inner: &AggregateUDF, data_type: DataType) -> DataType {
        signed(&data_type)
    }

    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        let inner = inner.accumulator(args)?;
        Ok(Box::new(ChangedResult { inner, change: signed_scalar }))
    }

    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let inner = inner.create_sliding_accumulator(args)?;
        Ok(Box::new(ChangedResult { inner, change: signed_scalar }))
    }

    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let inner = inner.create_groups_accumulator(args)?;
        Ok(Box::new(ChangedResults { inner, change: signed_array }))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SignedWindow {
    inner: Arc<WindowUDF>,
}

#[warn(clippy::missing_trait_methods)]
impl WindowUDFImpl for SignedWindow {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn expressions(&self, args: ExpressionArgs<'_>) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions(args)
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs<'_>,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(SignedScale { inner: self.inner.partition_evaluator_factory(args)? }))
    }

    fn simplify(&self) -> Option<WindowFunctionSimplification> {
        self.inner.simplify()
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.field(args).map(signed_field)
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.inner.sort_options()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        // The reverse would be a function without this guard.
        match self.inner.reverse_expr() {
            ReversedUDWF::Identical => ReversedUDWF::Identical,
            _ => ReversedUDWF::NotSupported,
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.inner.inner().limit_effect(args)
    }
}

#[derive(Debug)]
struct SignedScale {
    inner: Box<dyn PartitionEvaluator>,
}

#[warn(clippy::missing_trait_methods)]
impl PartitionEvaluator for SignedScale {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.inner.memoize(state)
    }

    fn get_range(&self, idx: usize, n_rows: usize) -> Result<Range<usize>> {
        self.inner.get_range(idx, n_rows)
    }

    fn is_causal(&self) -> bool {
        self.inner.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], num_rows: usize) -> Result<ArrayRef> {
        self.inner.evaluate_all(values, num_rows).and_then(signed_array)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.inner.evaluate(values, range).and_then(signed_scalar)
    }

    fn evaluate_all_with_rank(
        &self,
        num_rows: usize,
        ranks_in_partition: &[Range<usize>],
    ) -> Result<ArrayRef> {
        self.inner.evaluate_all_with_rank(num_rows, ranks_in_partition).and_then(signed_array)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.inner.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.inner.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.inner.include_rank()
    }
}
