//! Treats NaN with its sign bit set as NaN.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, FieldRef, Float16Type, Float32Type, Float64Type,
};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::{AggregateFunction, Cast, ScalarFunction, TryCast};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, BinaryExpr, ColumnarValue, Expr, ExprSchemable, GroupsAccumulator,
    LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

use super::comparisons::{is_constant, rewritten};
use super::wrapped_functions::{AggregateChange, ChangedResult, ChangedResults, changed_aggregate};
use super::{Case, CaseOutcome, Guard, insert_before};
use crate::rewrite::Rewrite;

pub(super) const GUARD: Guard = Guard {
    title: "NaN with its sign set is less than all numbers, and differs from NaN",
    upstream: &[],
    ours: "Processors return NaN with its sign set from `inf - inf` and `0.0 / 0.0`. The results of arithmetic between \
           two columns, of functions and of aggregates lose that sign before anything compares them, and are greater \
           than all numbers. Arithmetic with a finite number needs no such step. A file may hold such a NaN; it stays \
           less than all numbers.",
    cases: &[
        Case {
            setup: &["CREATE TABLE infinite AS SELECT CAST('inf' AS DOUBLE) AS x, 1 AS id \
                 UNION ALL SELECT 1.5, 2"],
            sql: "SELECT id FROM infinite WHERE x - x <= 0.5",
            right: CaseOutcome::Rows(&["2"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &["CREATE TABLE infinite AS SELECT -CAST('NaN' AS DOUBLE) AS x, 1 AS id \
                 UNION ALL SELECT CAST('NaN' AS DOUBLE), 2 UNION ALL SELECT 1.5, 3"],
            sql: "SELECT count(DISTINCT x), min(x) FROM infinite",
            right: CaseOutcome::Rows(&["2, 1.5"]),
            theirs: CaseOutcome::Rows(&["3, NaN"]),
        },
        Case {
            setup: &["CREATE TABLE infinite AS SELECT -CAST('NaN' AS DOUBLE) AS x, 1 AS id \
                 UNION ALL SELECT 1.5, 2"],
            sql: "SELECT id, rank() OVER (ORDER BY x) FROM infinite",
            right: CaseOutcome::Rows(&["1, 2", "2, 1"]),
            theirs: CaseOutcome::Rows(&["1, 1", "2, 2"]),
        },
    ],
};

/// Adds the rule, the function and the aggregates to a session that is being built.
///
/// # Errors
///
/// If there is no rule that simplifies.
pub(super) fn install(builder: &mut SessionStateBuilder) -> Result<()> {
    let rules = &mut builder.optimizer().get_or_insert_with(Optimizer::new).rules;
    insert_before(rules, "simplify_expressions", Arc::new(PositiveNan { constants: true }))?;
    rules.push(Arc::new(PositiveNan { constants: false }));
    builder.scalar_functions().get_or_insert_default().push(function());
    let aggregates = builder.aggregate_functions().get_or_insert_default();
    for aggregate in aggregates.iter_mut().filter(|it| sums(it.name())) {
        *aggregate = changed_aggregate(aggregate, Positive);
    }
    Ok(())
}

/// Returns true if an aggregate computes NaN from numbers. Such an aggregate ignores the sign of NaN.
fn sums(name: &str) -> bool {
    let exact = ["sum", "avg", "stddev", "stddev_pop", "var", "var_pop", "corr"];
    exact.contains(&name) || name.starts_with("covar_") || name.starts_with("regr_")
}

/// Removes the sign of NaN where an expression may have set it. Runs last, after all rules that create expressions.
/// Constants are rewritten before DataFusion computes them.
#[derive(Debug)]
struct PositiveNan {
    constants: bool,
}

impl OptimizerRule for PositiveNan {
    fn name(&self) -> &str {
        if self.constants { "positive_nan_constants" } else { "positive_nan" }
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !self.constants {
            return rewritten(plan, concerns, |expr, schema| settled(expr, schema, true));
        }
        rewritten(plan, concerns_constants, |expr, schema| {
            expr.rewrite_down(&mut |expr| {
                if !concerns_constants(&expr) {
                    return Ok(Transformed::no(expr));
                }
                let settled = settled(expr, schema, true)?;
                Ok(Transformed { tnr: TreeNodeRecursion::Jump, ..settled })
            })
        })
    }
}

fn concerns_constants(expr: &Expr) -> bool {
    concerns(expr) && is_constant(expr)
}

fn concerns(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => is_negative_nan(value),
        Expr::ScalarFunction(call) => call.func.name() != NAME,
        Expr::BinaryExpr(BinaryExpr { op, .. }) => is_arithmetic(*op),
        Expr::Negative(_) | Expr::Cast(_) | Expr::TryCast(_) => true,
        _ => false,
    }
}

fn is_arithmetic(op: Operator) -> bool {
    use Operator as O;
    matches!(op, O::Plus | O::Minus | O::Multiply | O::Divide | O::Modulo)
}

fn is_negative_nan(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float16(Some(x)) => x.is_nan() && x.is_sign_negative(),
        ScalarValue::Float32(Some(x)) => x.is_nan() && x.is_sign_negative(),
        ScalarValue::Float64(Some(x)) => x.is_nan() && x.is_sign_negative(),
        _ => false,
    }
}

/// Wraps the function around expressions that may be NaN with its sign set.
///
/// `seen` is true if the context depends on the sign. Arithmetic and sums do not.
fn settled(expr: Expr, schema: &DFSchema, seen: bool) -> Result<Transformed<Expr>> {
    if let Expr::Literal(value, metadata) = &expr {
        return Ok(match positive_scalar(value).filter(|_| is_negative_nan(value)) {
            Some(value) => Transformed::yes(Expr::Literal(value, metadata.clone())),
            None => Transformed::no(expr),
        });
    }
    let inside = match &expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => !is_arithmetic(*op) || keeps(&expr) && seen,
        Expr::Negative(_) => false,
        Expr::ScalarFunction(call) => call.func.name() != NAME,
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            !sums(func.name()) || params.distinct || !params.order_by.is_empty()
        }
        _ => true,
    };
    let all = expr.map_children(|inner| settled(inner, schema, inside))?;
    if !seen || !makes(&all.data, schema) || !all.data.get_type(schema)?.is_floating() {
        return Ok(all);
    }
    let call = ScalarFunction::new_udf(function(), vec![all.data]);
    Ok(Transformed::yes(Expr::ScalarFunction(call)))
}

/// Returns true if an expression of floats may be NaN with its sign set although none of its operands is.
fn makes(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => is_arithmetic(*op) && !keeps(expr),
        Expr::Negative(_) => true,
        // These return one of their arguments, a part of it, or a number close to it.
        Expr::ScalarFunction(call) => !matches!(
            call.func.name(),
            NAME | "abs"
                | "array_element"
                | "ceil"
                | "coalesce"
                | "floor"
                | "get_field"
                | "greatest"
                | "least"
                | "nullif"
                | "nvl"
        ),
        // The text may be `-NaN`.
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => {
            expr.get_type(schema).is_ok_and(|from| from.is_string())
        }
        _ => false,
    }
}

/// Returns true if one operand of arithmetic is a finite number other than zero, or a zero that is added. The result
/// is then NaN only where the other operand is, with the same sign.
fn keeps(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return false };
    let finite = |side: &Expr| match side {
        Expr::Literal(ScalarValue::Float32(Some(x)), _) => {
            x.is_finite() && (*x != 0.0 || matches!(op, Operator::Plus | Operator::Minus))
        }
        Expr::Literal(ScalarValue::Float64(Some(x)), _) => {
            x.is_finite() && (*x != 0.0 || matches!(op, Operator::Plus | Operator::Minus))
        }
        _ => false,
    };
    match op {
        // The remainder of an infinite number is NaN.
        Operator::Modulo => false,
        _ => finite(left) || finite(right),
    }
}

const NAME: &str = "sluice_positive_nan";

/// Returns the function, to be registered with a session.
fn function() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(PositiveNanFunction { signature }))
}

/// The function `sluice_positive_nan(x)`, which returns a float without the sign of NaN.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PositiveNanFunction {
    signature: Signature,
}

impl ScalarUDFImpl for PositiveNanFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type is that of the argument")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [field] => Ok(Arc::new(Field::new(
                field.name(),
                field.data_type().clone(),
                field.is_nullable(),
            ))),
            _ => exec_err!("{NAME} takes a number"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match args.args.into_iter().next() {
            Some(ColumnarValue::Array(array)) => ColumnarValue::Array(positive(array)),
            Some(ColumnarValue::Scalar(value)) => {
                ColumnarValue::Scalar(positive_scalar(&value).unwrap_or(value))
            }
            None => return exec_err!("{NAME} takes a number"),
        })
    }
}

/// Returns a number without the sign of NaN, or `None` if it is not NaN.
fn positive_scalar(value: &ScalarValue) -> Option<ScalarValue> {
    is_negative_nan(value).then(|| value.arithmetic_negate().ok())?
}

fn without_sign(value: ScalarValue) -> Result<ScalarValue> {
    Ok(positive_scalar(&value).unwrap_or(value))
}

/// Returns floats without the sign of NaN. Other arrays stay as they are.
fn positive(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float16 => each::<Float16Type>(array, |x| x.is_nan(), |x| x.is_sign_negative()),
        DataType::Float32 => each::<Float32Type>(array, f32::is_nan, f32::is_sign_negative),
        DataType::Float64 => each::<Float64Type>(array, f64::is_nan, f64::is_sign_negative),
        _ => array,
    }
}

fn each<T: ArrowPrimitiveType>(
    array: ArrayRef,
    is_nan: impl Fn(T::Native) -> bool,
    is_negative: impl Fn(T::Native) -> bool,
) -> ArrayRef
where
    T::Native: std::ops::Neg<Output = T::Native>,
{
    let floats = array.as_primitive::<T>();
    // Counting without a branch per value costs no more than the comparison.
    let signed = floats
        .values()
        .iter()
        .fold(0_usize, |count, x| count + usize::from(is_nan(*x) && is_negative(*x)));
    if signed == 0 {
        return array;
    }
    let all: PrimitiveArray<T> = floats.unary(|x| if is_nan(x) && is_negative(x) { -x } else { x });
    Arc::new(all)
}

/// An aggregate whose NaN has no sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Positive;

impl AggregateChange for Positive {
    fn accumulator(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn Accumulator>> {
        let floats = args.return_field.data_type().is_floating();
        let inner = inner.accumulator(args)?;
        Ok(if floats { Box::new(ChangedResult { inner, change: without_sign }) } else { inner })
    }

    fn sliding(self, inner: &AggregateUDF, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let floats = args.return_field.data_type().is_floating();
        let inner = inner.create_sliding_accumulator(args)?;
        Ok(if floats { Box::new(ChangedResult { inner, change: without_sign }) } else { inner })
    }

    fn groups(
        self,
        inner: &AggregateUDF,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let floats = args.return_field.data_type().is_floating();
        let inner = inner.create_groups_accumulator(args)?;
        Ok(if floats {
            Box::new(ChangedResults { inner, change: |array| Ok(positive(array)) })
        } else {
            inner
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Float64Array;
    use datafusion::logical_expr::{col, lit};

    use super::*;

    #[test]
    fn nan_loses_its_sign_and_nothing_else_does() {
        let numbers = [-1.0, -0.0, f64::NEG_INFINITY, 2.0];
        let plain: ArrayRef = Arc::new(Float64Array::from(numbers.to_vec()));
        assert!(Arc::ptr_eq(&positive(Arc::clone(&plain)), &plain));
        let mixed: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(-f64::NAN), Some(-1.0)]));
        let all = positive(mixed);
        let all = all.as_primitive::<Float64Type>();
        assert!(all.value(0).is_sign_negative() && all.is_null(1));
        assert!(all.value(2).is_nan() && all.value(2).is_sign_positive());
        assert_eq!(all.value(3).to_bits(), (-1.0_f64).to_bits());
    }

    #[test]
    fn only_what_can_set_the_sign_takes_a_step() {
        for (expr, expected) in [
            (col("x") + lit(1.5), "x + Float64(1.5)"),
            (col("x") * lit(0.0), "sluice_positive_nan(x * Float64(0))"),
            (col("x") + lit(0.0), "x + Float64(0)"),
            (col("x") - col("y"), "sluice_positive_nan(x - y)"),
            (lit(1.5) / (col("x") - col("y")), "Float64(1.5) / sluice_positive_nan(x - y)"),
            (
                (col("x") - col("y")).gt(col("x") * lit(2.0)),
                "sluice_positive_nan(x - y) > x * Float64(2)",
            ),
            ((col("x") - col("y")) * col("x"), "sluice_positive_nan((x - y) * x)"),
        ] {
            let fields = ["x", "y"].map(|name| Field::new(name, DataType::Float64, true)).to_vec();
            let schema = arrow::datatypes::Schema::new(fields);
            let schema = DFSchema::try_from(schema).unwrap();
            assert_eq!(settled(expr, &schema, true).unwrap().data.to_string(), expected);
        }
    }
}
