//! Whole numbers and decimals that have no room for a result.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Datum};
use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, DecimalType, Field, FieldRef,
};
use arrow::error::ArrowError;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, exec_err, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::datum::apply;

use super::comparisons::{is_constant, rewritten};
use super::{Answer, Case, Guard, insert_before};
use crate::sql_types::sql_type;

pub(super) const GUARD: Guard = Guard {
    title: "Sums, differences and products beyond the range of their type are other numbers",
    upstream: &[],
    ours: "`+`, `-` and `*` of whole numbers are an error if the result does not fit in their type, and so is \
           arithmetic of decimals that needs more than 38 digits. `CAST(x AS BIGINT)` or `CAST(x AS DECIMAL(38, 0))` \
           before it makes room. What is constant is computed so, too.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT a + b FROM (VALUES (CAST(2147483647 AS INT), CAST(1 AS INT))) t(a, b)",
            right: Answer::Error("out of the range of INT"),
            theirs: Answer::Rows(&["-2147483648"]),
        },
        Case {
            setup: &["CREATE TABLE smallest AS SELECT CAST(-9223372036854775808 AS BIGINT) AS a"],
            sql: "SELECT -a FROM smallest",
            right: Answer::Error("out of the range of BIGINT"),
            theirs: Answer::Rows(&["-9223372036854775808"]),
        },
        Case {
            setup: &[],
            sql: "SELECT CAST(32767 AS SMALLINT) * CAST(2 AS SMALLINT)",
            right: Answer::Error("out of the range of SMALLINT"),
            theirs: Answer::Rows(&["-2"]),
        },
        Case {
            setup: &["CREATE TABLE greatest_decimals AS SELECT \
                 CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0)) AS a, CAST('-1' AS DECIMAL(38,0)) AS b"],
            sql: "SELECT a - b FROM greatest_decimals",
            right: Answer::Error("out of the range of DECIMAL(38,0)"),
            theirs: Answer::Rows(&["10000000000000000000000000000000000000"]),
        },
    ],
};

/// Adds the rules and the functions to a session that is being built.
///
/// # Errors
///
/// If there is no rule that simplifies.
pub(super) fn install(builder: &mut SessionStateBuilder) -> Result<()> {
    let rules = &mut builder.optimizer().get_or_insert_with(Optimizer::new).rules;
    insert_before(rules, "simplify_expressions", Arc::new(Checked { constants: true }))?;
    rules.push(Arc::new(Checked { constants: false }));
    let functions = builder.scalar_functions().get_or_insert_default();
    functions.extend([Kind::Plus, Kind::Minus, Kind::Times, Kind::Digits].map(function));
    Ok(())
}

/// Makes arithmetic calls of functions that notice results without room. DataFusion computes constants when it
/// simplifies, so these are rewritten before that; all else is rewritten last, since other rules do not know the
/// functions.
#[derive(Debug)]
struct Checked {
    constants: bool,
}

impl OptimizerRule for Checked {
    fn name(&self) -> &str {
        if self.constants { "checked_constants" } else { "checked_arithmetic" }
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
        if self.constants {
            rewritten(plan, is_constant_arithmetic, |expr, schema| {
                expr.transform_down(|expr| {
                    if !is_constant_arithmetic(&expr) {
                        return Ok(Transformed::no(expr));
                    }
                    let checked = checked(expr, schema)?;
                    Ok(Transformed { tnr: TreeNodeRecursion::Jump, ..checked })
                })
            })
        } else {
            rewritten(plan, is_arithmetic, checked)
        }
    }
}

fn is_arithmetic(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => kind(*op).is_some() || *op == Operator::Divide,
        Expr::Negative(_) => true,
        _ => false,
    }
}

fn is_constant_arithmetic(expr: &Expr) -> bool {
    is_arithmetic(expr) && is_constant(expr)
}

/// The expression with functions for arithmetic that may have no room for its result.
fn checked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| {
        Ok(match &expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_arithmetic(&expr) => {
                // That of a parameter may be open.
                let left_type = type_of(left, schema);
                if left_type.is_integer() {
                    match kind(*op).filter(|_| type_of(right, schema) == left_type) {
                        Some(kind) => call(kind, vec![*left.clone(), *right.clone()]),
                        None => Transformed::no(expr),
                    }
                } else if left_type.is_decimal() && may_need_more_digits(&expr, schema) {
                    call(Kind::Digits, vec![expr])
                } else {
                    Transformed::no(expr)
                }
            }
            // The argument was counted before, and is again.
            Expr::ScalarFunction(outer) if is_counting(outer) => match outer.args.as_slice() {
                [again @ Expr::ScalarFunction(inner)] if is_counting(inner) => {
                    Transformed::yes(again.clone())
                }
                _ => Transformed::no(expr),
            },
            Expr::Negative(inner) => {
                let data_type = type_of(inner, schema);
                if data_type.is_signed_integer() {
                    let zero = lit(ScalarValue::new_zero(&data_type)?);
                    call(Kind::Minus, vec![zero, *inner.clone()])
                } else {
                    Transformed::no(expr)
                }
            }
            _ => Transformed::no(expr),
        })
    })
}

/// The type of an expression; NULL if it is open. DataFusion's own answer takes a time that grows with the cube of the
/// length of a chain of calls.
fn type_of(expr: &Expr, schema: &DFSchema) -> DataType {
    match expr {
        Expr::ScalarFunction(call)
            if call.func.inner().downcast_ref::<CheckedFunction>().is_some()
                && !is_counting(call) =>
        {
            call.args.first().map_or(DataType::Null, |first| type_of(first, schema))
        }
        _ => expr.get_type(schema).unwrap_or(DataType::Null),
    }
}

fn is_counting(call: &ScalarFunction) -> bool {
    let function = call.func.inner().downcast_ref::<CheckedFunction>();
    function.is_some_and(|it| it.kind == Kind::Digits)
}

fn call(kind: Kind, args: Vec<Expr>) -> Transformed<Expr> {
    Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function(kind), args)))
}

/// Whether the result of arithmetic may have more digits than any decimal, by the types and constants in it.
fn may_need_more_digits(expr: &Expr, schema: &DFSchema) -> bool {
    let Ok(DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale)) = expr.get_type(schema) else {
        return false;
    };
    // Logarithms are not exact.
    magnitude(expr, schema) + f64::from(scale) > f64::from(DECIMAL128_MAX_PRECISION) - 0.001
}

/// The logarithm of what an expression is at most, to the base of 10.
fn magnitude(expr: &Expr, schema: &DFSchema) -> f64 {
    let of_type = || match expr.get_type(schema) {
        Ok(DataType::Decimal128(precision, scale)) => f64::from(precision) - f64::from(scale),
        Ok(DataType::Int8 | DataType::UInt8) => 3.0,
        Ok(DataType::Int16 | DataType::UInt16) => 5.0,
        Ok(DataType::Int32 | DataType::UInt32) => 10.0,
        Ok(DataType::Int64 | DataType::UInt64) => 20.0,
        _ => f64::INFINITY,
    };
    match expr {
        Expr::Literal(ScalarValue::Decimal128(Some(unscaled), _, scale), _) => {
            (unscaled.unsigned_abs().max(1) as f64).log10() - f64::from(*scale)
        }
        Expr::Cast(Cast { expr: inner, .. }) => of_type().min(magnitude(inner, schema)),
        Expr::Negative(inner) => magnitude(inner, schema),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, divisor) = (magnitude(left, schema), right);
            let right = || magnitude(divisor, schema);
            match op {
                // Twice the greater of the two.
                Operator::Plus | Operator::Minus => left.max(right()) + std::f64::consts::LOG10_2,
                Operator::Multiply => left + right(),
                Operator::Divide => match divisor.get_type(schema) {
                    Ok(DataType::Decimal128(_, scale)) => left + f64::from(scale),
                    _ => f64::INFINITY,
                },
                _ => of_type(),
            }
        }
        _ => of_type(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Plus,
    Minus,
    Times,
    /// Its argument is arithmetic of decimals.
    Digits,
}

fn kind(op: Operator) -> Option<Kind> {
    match op {
        Operator::Plus => Some(Kind::Plus),
        Operator::Minus => Some(Kind::Minus),
        Operator::Multiply => Some(Kind::Times),
        _ => None,
    }
}

type ExprRef = Arc<dyn PhysicalExpr>;

/// The operator and the sides of arithmetic of whole numbers that was made a call.
pub(crate) fn checked_operation(
    call: &ScalarFunctionExpr,
) -> Option<(Operator, &ExprRef, &ExprRef)> {
    let function = call.fun().inner().downcast_ref::<CheckedFunction>()?;
    let op = match function.kind {
        Kind::Plus => Operator::Plus,
        Kind::Minus => Operator::Minus,
        Kind::Times => Operator::Multiply,
        Kind::Digits => return None,
    };
    match call.args() {
        [left, right] => Some((op, left, right)),
        _ => None,
    }
}

/// Arithmetic of decimals whose digits are counted.
pub(crate) fn counted_digits(call: &ScalarFunctionExpr) -> Option<&Arc<dyn PhysicalExpr>> {
    let function = call.fun().inner().downcast_ref::<CheckedFunction>()?;
    if function.kind == Kind::Digits { call.args().first() } else { None }
}

fn function(kind: Kind) -> Arc<ScalarUDF> {
    let arguments = if kind == Kind::Digits { 1 } else { 2 };
    let signature = Signature::any(arguments, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(CheckedFunction { kind, signature }))
}

/// `sluice_plus(a, b)` and its like, and `sluice_digits(x)`, which fails where a decimal has more than 38 digits.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedFunction {
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for CheckedFunction {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Plus => "sluice_plus",
            Kind::Minus => "sluice_minus",
            Kind::Times => "sluice_times",
            Kind::Digits => "sluice_digits",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type is that of the first argument")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let Some(first) = args.arg_fields.first() else {
            return exec_err!("{} takes numbers", self.name());
        };
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), first.data_type().clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let kernel: fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError> = match self.kind {
            Kind::Plus => add,
            Kind::Minus => sub,
            Kind::Times => mul,
            Kind::Digits => {
                return match args.args.into_iter().next() {
                    Some(value) => digits(value),
                    None => exec_err!("{} takes a number", self.name()),
                };
            }
        };
        let [left, right] = args.args.as_slice() else {
            return exec_err!("{} takes two numbers", self.name());
        };
        apply(left, right, kernel).map_err(|error| beyond(error, args.return_field.data_type()))
    }

    fn evaluate_bounds(&self, input: &[&Interval]) -> Result<Interval> {
        match input.first() {
            Some(first) => Interval::make_unbounded(&first.data_type()),
            None => exec_err!("{} takes numbers", self.name()),
        }
    }
}

/// The error of a result that a type has no room for.
fn beyond(error: DataFusionError, data_type: &DataType) -> DataFusionError {
    let of_arrow = match error.find_root() {
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::ArithmeticOverflow(message) => {
                message.rsplit(": ").next().map(str::to_owned)
            }
            _ => None,
        },
        _ => None,
    };
    match of_arrow {
        Some(operation) => {
            // A sign was made a difference.
            let negated = operation.strip_prefix("0 - ").map(|of| format!("-({of})"));
            out_of_range(&negated.unwrap_or(operation), data_type)
        }
        None => error,
    }
}

/// A number has no room in its type.
pub(crate) fn out_of_range(what: &str, data_type: &DataType) -> DataFusionError {
    let message = format!("{what} is out of the range of {}", sql_type(data_type));
    ArrowError::ArithmeticOverflow(message).into()
}

/// Decimals none of which has more digits than their type.
fn digits(value: ColumnarValue) -> Result<ColumnarValue> {
    let DataType::Decimal128(precision, _) = value.data_type() else { return Ok(value) };
    let fits = |unscaled: i128| Decimal128Type::is_valid_decimal_precision(unscaled, precision);
    let fits = match &value {
        ColumnarValue::Array(array) => {
            let array = array.as_primitive::<Decimal128Type>();
            let all = array.values().iter().all(|it| fits(*it));
            // What stands for NULL may be anything.
            all || array.null_count() > 0 && array.iter().flatten().all(fits)
        }
        ColumnarValue::Scalar(ScalarValue::Decimal128(Some(unscaled), ..)) => fits(*unscaled),
        ColumnarValue::Scalar(_) => true,
    };
    if fits {
        return Ok(value);
    }
    Err(out_of_range("a result", &value.data_type()))
}
