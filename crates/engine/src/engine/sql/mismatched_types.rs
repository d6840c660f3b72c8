//! Refuses types that DataFusion coerces with a surprising result, where other systems fail. A date and a number are
//! compared as days since 1970, and a number is cast to a date in the same way. RANGE subtracts a number from a text.
//! `^` drops fractions, and the length of a list is that of its text.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::{
    Between, Cast, InList, Like, ScalarFunction, TryCast, WindowFunction,
};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, WindowFrameBound, WindowFrameUnits,
};

use crate::context::error::{ErrorKind, UserError};

/// Checks the expressions of a plan before it is optimized.
///
/// # Errors
///
/// If there are such types. The hint contains an alternative.
pub(crate) fn check(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let mut schema = DFSchema::empty();
        for input in node.inputs() {
            schema.merge(input.schema());
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| check_expression(expr, &schema).map(|()| TreeNodeRecursion::Continue))
        })
    })?;
    Ok(())
}

fn check_expression(expr: &Expr, schema: &DFSchema) -> Result<()> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            shortened(left, *op, right)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() => {
            chained(left, *op, right, schema)?;
            compared(left, right, schema)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_of_bits(*op) => {
            of_bits(left, *op, right, schema)
        }
        Expr::Between(Between { expr, low, high, .. }) => {
            compared(expr, low, schema)?;
            compared(expr, high, schema)
        }
        Expr::InList(InList { expr, list, .. }) => {
            list.iter().try_for_each(|member| compared(expr, member, schema))
        }
        Expr::WindowFunction(window) => range(window, schema),
        Expr::ScalarFunction(call) => text_of_list(call, schema),
        Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field }) => {
            number_as_date(expr, field.data_type(), schema)
        }
        _ => Ok(()),
    }
}

/// Refuses a text or a number as an operand of AND or OR: `name LIKE 'a%' OR 'b%'`, `id = 1 OR 2`.
fn shortened(left: &Expr, op: Operator, right: &Expr) -> Result<()> {
    let is_constant = |expr: &Expr| {
        matches!(expr, Expr::Literal(value, _)
            if value.data_type().is_string() || value.data_type().is_numeric())
    };
    let (constant, other) = match (is_constant(left), is_constant(right)) {
        (true, false) => (left, last(right)),
        (false, true) => (right, last(left)),
        _ => return Ok(()),
    };
    let constant = in_words(constant);
    let repeated = match other {
        Expr::Like(Like { expr, case_insensitive, .. }) => {
            let like = if *case_insensitive { "ILIKE" } else { "LIKE" };
            format!("{} {like} {constant}", in_words(expr))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, .. }) if op.supports_propagation() => {
            format!("{} {op} {constant}", in_words(left))
        }
        _ => format!("x = {constant}"),
    };
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!("{op} stands between conditions, and {constant} is none"),
        hint: Some(format!("Repeat what it is compared with: … {op} {repeated}.")),
    }
    .into())
}

/// Returns the last condition of a chain of AND or OR.
fn last(expr: &Expr) -> &Expr {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: Operator::And | Operator::Or, right, .. }) => last(right),
        other => other,
    }
}

/// Refuses `1 < id < 3`, in which a boolean would be compared with 3.
fn chained(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Result<()> {
    let Expr::BinaryExpr(BinaryExpr { left: first, op: before, right: middle }) = left else {
        return Ok(());
    };
    let is_condition = |kind: DataType| matches!(kind, DataType::Boolean | DataType::Null);
    let is_chain = before.supports_propagation()
        && !matches!(before, Operator::And | Operator::Or)
        && right.get_type(schema).is_ok_and(|kind| !is_condition(kind));
    if !is_chain {
        return Ok(());
    }
    let joined =
        |expr: &Expr| matches!(expr, Expr::BinaryExpr(it) if it.op == Operator::StringConcat);
    if joined(middle) {
        return Err(UserError {
            kind: ErrorKind::Plan,
            message: "|| joins texts, and stands between comparisons".to_owned(),
            hint: Some("Write OR.".to_owned()),
        }
        .into());
    }
    let [first, middle, right] = [first.as_ref(), middle.as_ref(), right].map(in_words);
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!(
            "{first} {before} {middle} is true or false, and cannot be compared with {right}"
        ),
        hint: Some(format!("Write {first} {before} {middle} AND {middle} {op} {right}.")),
    }
    .into())
}

/// Formats an expression in SQL, without the tables of its columns.
fn in_words(expr: &Expr) -> String {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_string() => {
            format!("'{}'", value.to_string().replace('\'', "''"))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            format!("{} {op} {}", in_words(left), in_words(right))
        }
        other => short(other),
    }
}

/// Refuses comparisons of a date with a number.
fn compared(left: &Expr, right: &Expr, schema: &DFSchema) -> Result<()> {
    // Expressions without a type are refused elsewhere.
    let (Ok(l), Ok(r)) = (left.get_type(schema), right.get_type(schema)) else { return Ok(()) };
    let is_date = |kind: &DataType| matches!(kind, DataType::Date32 | DataType::Date64);
    let (date, number) = match (is_date(&l), is_date(&r)) {
        (true, false) if r.is_numeric() => (left, right),
        (false, true) if l.is_numeric() => (right, left),
        _ => return Ok(()),
    };
    let (date, number) = (short(date), short(number));
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!("a date, {date}, cannot be compared with a number, {number}"),
        hint: Some(format!(
            "Write a date: DATE '2024-01-31'; or compare a part of it: date_part('day', {date})."
        )),
    }
    .into())
}

/// Refuses text functions over a list, which DataFusion would convert to text first.
fn text_of_list(call: &ScalarFunction, schema: &DFSchema) -> Result<()> {
    let (name, instead) = match call.func.name() {
        "character_length" => ("length", "array_length"),
        name @ ("left" | "right") => (name, "array_slice"),
        _ => return Ok(()),
    };
    let Some(list) = call.args.first() else { return Ok(()) };
    let is_list = |kind: DataType| {
        use DataType as D;
        matches!(kind, D::List(_) | D::LargeList(_) | D::FixedSizeList(..) | D::ListView(_))
    };
    if !list.get_type(schema).is_ok_and(is_list) {
        return Ok(());
    }
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!("{name} is of a text, and {} is a list", short(list)),
        hint: Some(format!("Write {instead} for the list, or array_to_string for its text.")),
    }
    .into())
}

fn is_of_bits(op: Operator) -> bool {
    use Operator as Op;
    matches!(
        op,
        Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::BitwiseShiftLeft
            | Op::BitwiseShiftRight
    )
}

fn symbol(op: Operator) -> &'static str {
    match op {
        Operator::BitwiseAnd => "&",
        Operator::BitwiseOr => "|",
        Operator::BitwiseXor => "^",
        Operator::BitwiseShiftLeft => "<<",
        _ => ">>",
    }
}

/// Refuses bitwise operators on a number with a fraction, which would be dropped.
fn of_bits(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Result<()> {
    let has_fraction = |expr: &&Expr| {
        let kind = expr.get_type(schema);
        kind.is_ok_and(|kind| {
            use DataType as D;
            kind.is_floating() || matches!(kind, D::Decimal128(_, 1..) | D::Decimal256(_, 1..))
        })
    };
    let Some(number) = [left, right].into_iter().find(has_fraction) else { return Ok(()) };
    let hint = match op {
        Operator::BitwiseXor => {
            format!("For a power, write power({}, {}).", short(left), short(right))
        }
        _ => format!("Cast it: CAST({} AS BIGINT).", short(number)),
    };
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!(
            "`{}` is of the bits of whole numbers, and {} has a fraction",
            symbol(op),
            short(number)
        ),
        hint: Some(hint),
    }
    .into())
}

/// Refuses casts of a number to a date.
fn number_as_date(expr: &Expr, into: &DataType, schema: &DFSchema) -> Result<()> {
    let is_date = matches!(into, DataType::Date32 | DataType::Date64);
    let is_number = || expr.get_type(schema).is_ok_and(|it| it.is_numeric());
    if !is_date || !is_number() {
        return Ok(());
    }
    let number = short(expr);
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!("a number, {number}, cannot be cast to a date"),
        hint: Some(format!(
            "Write a date: DATE '2024-01-31'. Digits as in 20240131 are read by to_date(CAST({number} AS VARCHAR), \
             '%Y%m%d'), and days since 1970 are added: DATE '1970-01-01' + {number}."
        )),
    }
    .into())
}

/// Refuses RANGE with an offset if the rows are ordered by a text or a boolean, or with a number if they are ordered by
/// a date or a time, where DataFusion would count months.
fn range(window: &WindowFunction, schema: &DFSchema) -> Result<()> {
    let frame = &window.params.window_frame;
    let distance = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(distance) | WindowFrameBound::Following(distance) => {
            (!distance.is_null()).then(|| distance.to_string())
        }
        WindowFrameBound::CurrentRow => None,
    };
    let bounds = [&frame.start_bound, &frame.end_bound].into_iter().filter_map(distance);
    let distances: Vec<String> = bounds.collect();
    if frame.units != WindowFrameUnits::Range || distances.is_empty() {
        return Ok(());
    }
    let Some(key) = window.params.order_by.first() else { return Ok(()) };
    let Ok(kind) = key.expr.get_type(schema) else { return Ok(()) };
    let number = distances.iter().find(|distance| distance.parse::<f64>().is_ok());
    let name = short(&key.expr);
    let (message, hint) = match (kind, number) {
        (kind, _) if kind.is_string() || kind == DataType::Boolean => (
            format!(
                "RANGE with a distance needs a number or a time in ORDER BY, and {name} is a text"
            ),
            "Count rows instead: ROWS BETWEEN 1 PRECEDING AND CURRENT ROW.".to_owned(),
        ),
        (kind, Some(number)) if kind.is_temporal() => (
            format!("RANGE {number} has no unit, and {name} is a date or a time"),
            format!("Write RANGE INTERVAL '{number}' DAY."),
        ),
        _ => return Ok(()),
    };
    Err(UserError { kind: ErrorKind::Plan, message, hint: Some(hint) }.into())
}

/// Formats an expression: columns without their tables, literals without their types.
fn short(expr: &Expr) -> String {
    match expr {
        Expr::Column(Column { name, .. }) => name.clone(),
        Expr::Literal(value, _) => value.to_string(),
        other => other.human_display().to_string(),
    }
}
