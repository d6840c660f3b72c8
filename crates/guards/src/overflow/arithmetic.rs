//! `+`, `-`, `*` of whole numbers and `+`, `-`, `*`, `/` of decimals as a function whose results fit the type.
//!
//! A chain of whole numbers such as `a + b - c` is one call, `checked('+-', a, b, c)`, which is computed from left to
//! right. DataFusion derives the names and types of nested calls in quadratic time. Of decimals, the call has the last
//! operators of a chain, which may exceed the digits of their types.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Datum, Scalar};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{
    DFSchema, Result, internal_datafusion_err, internal_err, plan_datafusion_err, plan_err,
};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use datafusion::optimizer::{Analyzer, AnalyzerRule};
use datafusion::physical_expr::expressions::{
    BinaryExpr as PhysicalBinary, Literal, NegativeExpr, lit as physical_lit,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::scalar::ScalarValue;

use super::decimals;
use crate::comparisons::rewritten;
use crate::rewrite::{Rewrite, RewritePlan};

/// Adds the function and the rule to a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) -> Result<()> {
    let analysis = &mut builder.analyzer().get_or_insert_with(Analyzer::new).rules;
    let coercion = analysis.iter().position(|rule| rule.name() == "type_coercion");
    let coercion = coercion.ok_or_else(|| internal_datafusion_err!("there is no type_coercion"))?;
    analysis.insert(coercion + 1, Arc::new(CheckedArithmetic));
    builder.scalar_functions().get_or_insert_default().push(Arc::clone(&FUNCTION));
    Ok(())
}

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Checked { signature }))
});

/// Returns the letter of an operator whose result may exceed the type of its operands.
fn letter(op: Operator) -> Option<char> {
    match op {
        Operator::Plus => Some('+'),
        Operator::Minus => Some('-'),
        Operator::Multiply => Some('*'),
        Operator::Divide => Some('/'),
        _ => None,
    }
}

fn operator(letter: char) -> Option<Operator> {
    [Operator::Plus, Operator::Minus, Operator::Multiply, Operator::Divide]
        .into_iter()
        .find(|op| self::letter(*op) == Some(letter))
}

/// Returns true for operators of whole numbers whose results may wrap around.
fn wraps(op: Operator) -> bool {
    letter(op).is_some() && op != Operator::Divide
}

/// Replaces operators of whole numbers and decimals by calls that check their results.
#[derive(Debug)]
struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.rewrite_all_up(&mut |plan| {
            rewritten(plan, concerns, |expr, schema| {
                expr.rewrite_down(&mut |expr| Ok(checked(expr, schema)))
            })
        })
        .data()
    }
}

fn concerns(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => letter(*op).is_some(),
        Expr::Negative(_) => true,
        _ => false,
    }
}

/// Replaces a chain of operators of whole numbers, or the last ones of a chain of decimals, by one call.
fn checked(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let whole = |it: &Expr| it.get_type(schema).ok().filter(DataType::is_integer);
    match expr {
        Expr::Negative(operand) if whole(&operand).is_some() => {
            Transformed::yes(call("-".to_owned(), vec![*operand]))
        }
        Expr::BinaryExpr(binary) if decimals::may_exceed(&binary, schema) => {
            let (mut first, mut links) = (binary.left.as_ref(), 1);
            while let Expr::BinaryExpr(inner) = first
                && decimals::may_exceed(inner, schema)
            {
                (first, links) = (inner.left.as_ref(), links + 1);
            }
            Transformed::yes(chain(Expr::BinaryExpr(binary), links))
        }
        Expr::BinaryExpr(BinaryExpr { ref right, op, .. }) if wraps(op) => {
            let Some(data_type) = whole(right) else { return Transformed::no(expr) };
            let is_operand = |it: &Expr| it.get_type(schema).is_ok_and(|it| it == data_type);
            let (mut first, mut links) = (&expr, 0);
            while let Expr::BinaryExpr(BinaryExpr { left, op, right }) = first
                && wraps(*op)
                && is_operand(right)
            {
                (first, links) = (left.as_ref(), links + 1);
            }
            match is_operand(first) {
                true => Transformed::yes(chain(expr, links)),
                false => Transformed::no(expr),
            }
        }
        expr => Transformed::no(expr),
    }
}

/// Returns the call for the last operators of a chain.
fn chain(expr: Expr, links: usize) -> Expr {
    let (mut rest, mut ops, mut operands) = (expr, Vec::new(), Vec::new());
    for _ in 0..links {
        rest = match rest {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                ops.extend(letter(op));
                operands.push(*right);
                *left
            }
            other => other,
        };
    }
    operands.push(rest);
    operands.reverse();
    call(ops.into_iter().rev().collect(), operands)
}

fn call(ops: String, operands: Vec<Expr>) -> Expr {
    let args = std::iter::once(lit(ops)).chain(operands).collect();
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), args))
}

/// `checked(operators, operands…)`: the operators are one text, and apply from left to right. `-` of one operand is its
/// negative.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &'static str {
        "checked"
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let bad = || plan_datafusion_err!("`checked` takes operators as a literal, and operands");
        let [Expr::Literal(ops, _), operands @ ..] = args else { return Err(bad()) };
        let ops = ops.try_as_str().flatten().ok_or_else(bad)?;
        let mut name = String::new();
        match operands {
            [operand] => write!(name, "(- {})", operand.schema_name())?,
            [first, rest @ ..] => {
                write!(name, "{}", first.schema_name())?;
                for (op, operand) in ops.chars().zip(rest) {
                    write!(name, " {op} {}", operand.schema_name())?;
                }
            }
            [] => return Err(bad()),
        }
        Ok(name)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [ops, first, rest @ ..]
                if ops.is_string()
                    && ((first.is_integer() && rest.iter().all(|other| other == first))
                        || (first.is_decimal() && rest.iter().all(DataType::is_decimal))) =>
            {
                Ok(arg_types.to_vec())
            }
            _ => plan_err!(
                "`checked` takes operators as a text, and whole numbers of one type or decimals"
            ),
        }
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of `checked` depends on the operators")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let (ops, operands) = match (args.scalar_arguments, args.arg_fields) {
            ([Some(ops), ..], [_, operands @ ..]) => (ops.try_as_str().flatten(), operands),
            _ => (None, args.arg_fields),
        };
        let (Some(ops), [first, rest @ ..]) = (ops, operands) else {
            return plan_err!("`checked` takes operators as a literal, and operands");
        };
        let rest = rest.iter().map(|operand| operand.data_type());
        let data_type = result_type(ops, first.data_type(), rest)?;
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), data_type, nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn evaluate_bounds(&self, input: &[&Interval]) -> Result<Interval> {
        // The default has no type, which no comparison takes.
        let [ops, first, rest @ ..] = input else {
            return Interval::make_unbounded(&DataType::Null);
        };
        let ops = ops.lower().try_as_str().flatten().unwrap_or_default();
        let rest: Vec<DataType> = rest.iter().map(|operand| operand.data_type()).collect();
        Interval::make_unbounded(&result_type(ops, &first.data_type(), &rest)?)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(ops), operands @ ..] = args.args.as_slice() else {
            return plan_err!("`checked` takes operators as a literal");
        };
        let ops = ops.try_as_str().flatten().unwrap_or_default();
        match operands {
            [operand] if ops == "-" => of_datums(&[operand], |operands| {
                let [operand] = operands else { return plan_err!("`-` has one operand") };
                Ok(numeric::neg(operand.get().0)?)
            }),
            [first, rest @ ..] if ops.len() == rest.len() => {
                let mut result = first.clone();
                for (op, operand) in ops.chars().zip(rest) {
                    result = computed(&result, op, operand)?;
                }
                Ok(result)
            }
            _ => plan_err!("`checked` takes one operator less than operands, not {ops:?}"),
        }
    }
}

/// Returns the type of a chain. Whole numbers have one type; a result of decimals has places and digits of its own.
fn result_type<'a>(
    ops: &str,
    first: &DataType,
    rest: impl IntoIterator<Item = &'a DataType>,
) -> Result<DataType> {
    let mut data_type = first.clone();
    if data_type.is_decimal() {
        for (op, operand) in ops.chars().filter_map(operator).zip(rest) {
            data_type = BinaryTypeCoercer::new(&data_type, &op, operand).get_result_type()?;
        }
    }
    Ok(data_type)
}

fn computed(left: &ColumnarValue, op: char, right: &ColumnarValue) -> Result<ColumnarValue> {
    of_datums(&[left, right], |operands| {
        let [left, right] = operands else { return plan_err!("`{op}` has two operands") };
        let (left, right) = (left.as_ref(), right.as_ref());
        let result = match op {
            '+' => numeric::add(left, right),
            '-' => numeric::sub(left, right),
            '*' => numeric::mul(left, right),
            '/' => numeric::div(left, right),
            _ => return plan_err!("`{op}` is no operator of `checked`"),
        };
        decimals::checked(result, left, op, right)
    })
}

/// Computes a result, which is a scalar if all operands are.
fn of_datums(
    values: &[&ColumnarValue],
    compute: impl Fn(&[Box<dyn Datum>]) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let is_scalar = values.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
    let datum = |value: &&ColumnarValue| -> Result<Box<dyn Datum>> {
        Ok(match value {
            ColumnarValue::Array(array) => Box::new(Arc::clone(array)),
            ColumnarValue::Scalar(value) => Box::new(Scalar::new(value.to_array()?)),
        })
    };
    let result = compute(&values.iter().map(datum).collect::<Result<Vec<_>>>()?)?;
    Ok(match is_scalar {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?),
        false => ColumnarValue::Array(result),
    })
}

/// The operands of `+`, `-`, `*`, `/` or another operator, checked or not.
#[derive(Debug, Clone)]
pub enum Operands {
    /// An operator with two operands.
    Binary(Arc<dyn PhysicalExpr>, Operator, Arc<dyn PhysicalExpr>),
    /// The negative of an operand.
    Negative(Arc<dyn PhysicalExpr>),
}

/// Returns the operands of a physical expression that is an operator, or a call that stands for one.
#[must_use]
pub fn operands(expr: &dyn PhysicalExpr) -> Option<Operands> {
    if let Some(binary) = expr.downcast_ref::<PhysicalBinary>() {
        let (left, right) = (Arc::clone(binary.left()), Arc::clone(binary.right()));
        return Some(Operands::Binary(left, *binary.op(), right));
    }
    if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
        return Some(Operands::Negative(Arc::clone(negative.arg())));
    }
    let call = as_checked(expr)?;
    let [ops, operands @ ..] = call.args() else { return None };
    let ops = ops.downcast_ref::<Literal>()?.value().try_as_str().flatten()?;
    match operands {
        [operand] => Some(Operands::Negative(Arc::clone(operand))),
        [first, right] => {
            let op = operator(ops.chars().next()?)?;
            Some(Operands::Binary(Arc::clone(first), op, Arc::clone(right)))
        }
        // The type of a part of a chain of decimals is not known without a schema.
        _ if call.return_type().is_decimal() => None,
        [left @ .., right] => {
            let (before, last) = ops.split_at_checked(ops.len().checked_sub(1)?)?;
            let args = std::iter::once(physical_lit(before)).chain(left.iter().cloned()).collect();
            let left = ScalarFunctionExpr::new(
                call.name(),
                Arc::clone(&FUNCTION),
                args,
                Arc::new(Field::new(call.name(), call.return_type().clone(), call.nullable())),
                Arc::new(call.config_options().clone()),
            );
            let op = operator(last.chars().next()?)?;
            Some(Operands::Binary(Arc::new(left), op, Arc::clone(right)))
        }
        [] => None,
    }
}

/// Returns the call if a physical expression stands for operators.
fn as_checked(expr: &dyn PhysicalExpr) -> Option<&ScalarFunctionExpr> {
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    call.fun().inner().is::<Checked>().then_some(call)
}

/// Returns the number of operators in a physical expression whose results are checked: 0 if it is no such call.
#[must_use]
pub fn checked_operators(expr: &dyn PhysicalExpr) -> usize {
    as_checked(expr).map_or(0, |call| call.args().len().saturating_sub(2).max(1))
}

/// Returns the error of a result that does not fit its type.
pub(super) fn overflow<T>(what: String) -> Result<T> {
    Err(ArrowError::ArithmeticOverflow(what).into())
}
