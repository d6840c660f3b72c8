//! Formats expressions as a user would write them.

use std::sync::Arc;

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Case, Cast, Expr, Like, TryCast};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use datafusion::physical_plan::expressions::{
    self as physical, CaseExpr, CastExpr, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
    NotExpr, TryCastExpr,
};
use datafusion::sql::unparser::Unparser;
use sluicegate_guards::overflow::arithmetic::{Operands, operands};

/// Formats an expression of a plan in SQL: `reverse(b) = 'y'`, not `reverse(b@1) = y`.
#[must_use]
pub(crate) fn in_sql(expr: &Arc<dyn PhysicalExpr>) -> String {
    let written = logical(expr).and_then(|expr| {
        Unparser::default().with_pretty(true).expr_to_sql(&expr).ok().map(|sql| sql.to_string())
    });
    written.unwrap_or_else(|| fmt_sql(expr.as_ref()).to_string())
}

/// Formats an aggregate in SQL: `count(*)`, not `count(Int64(1))`.
#[must_use]
pub(crate) fn aggregate_in_sql(
    aggregate: &AggregateFunctionExpr,
    filter: Option<&Arc<dyn PhysicalExpr>>,
) -> String {
    let args = aggregate.expressions();
    let is_constant = |arg: &Arc<dyn PhysicalExpr>| {
        arg.downcast_ref::<Literal>().is_some_and(|it| !it.value().is_null())
    };
    let name = aggregate.fun().name();
    let distinct = if aggregate.is_distinct() { "DISTINCT " } else { "" };
    let args = match args.as_slice() {
        [arg] if name == "count" && distinct.is_empty() && is_constant(arg) => "*".to_owned(),
        args => args.iter().map(in_sql).collect::<Vec<_>>().join(", "),
    };
    let filter = filter.map(|it| format!(" FILTER (WHERE {})", in_sql(it)));
    format!("{name}({distinct}{args}){}", filter.unwrap_or_default())
}

/// Formats a key of ORDER BY in SQL: `price DESC NULLS LAST`.
#[must_use]
pub(crate) fn key_in_sql(key: &PhysicalSortExpr) -> String {
    let order = if key.options.descending { " DESC" } else { "" };
    // The default order of NULLs in SQL is omitted.
    let nulls = match (key.options.descending, key.options.nulls_first) {
        (true, false) => " NULLS LAST",
        (false, true) => " NULLS FIRST",
        _ => "",
    };
    format!("{}{order}{nulls}", in_sql(&key.expr))
}

/// Returns a logical expression with the same meaning; `None` if SQL has no form for it.
fn logical(expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
    let boxed = |expr: &Arc<dyn PhysicalExpr>| logical(expr).map(Box::new);
    let all = |exprs: &[Arc<dyn PhysicalExpr>]| exprs.iter().map(logical).collect::<Option<_>>();
    let any = expr.as_ref();
    Some(if let Some(it) = any.downcast_ref::<physical::Column>() {
        Expr::Column(Column::from_name(it.name()))
    } else if let Some(it) = any.downcast_ref::<Literal>() {
        Expr::Literal(plain(it.value()), None)
    } else if let Some(it) = operands(any) {
        match it {
            Operands::Binary(left, op, right) => {
                Expr::BinaryExpr(BinaryExpr::new(boxed(&left)?, op, boxed(&right)?))
            }
            Operands::Negative(operand) => Expr::Negative(boxed(&operand)?),
        }
    } else if let Some(it) = any.downcast_ref::<CastExpr>() {
        Expr::Cast(Cast::new(boxed(it.expr())?, it.cast_type().clone()))
    } else if let Some(it) = any.downcast_ref::<TryCastExpr>() {
        Expr::TryCast(TryCast::new(boxed(it.expr())?, it.cast_type().clone()))
    } else if let Some(it) = any.downcast_ref::<NotExpr>() {
        Expr::Not(boxed(it.arg())?)
    } else if let Some(it) = any.downcast_ref::<IsNullExpr>() {
        Expr::IsNull(boxed(it.arg())?)
    } else if let Some(it) = any.downcast_ref::<IsNotNullExpr>() {
        Expr::IsNotNull(boxed(it.arg())?)
    } else if let Some(it) = any.downcast_ref::<InListExpr>() {
        Expr::InList(InList::new(boxed(it.expr())?, all(it.list())?, it.negated()))
    } else if let Some(it) = any.downcast_ref::<LikeExpr>() {
        let (expr, pattern) = (boxed(it.expr())?, boxed(it.pattern())?);
        Expr::Like(Like::new(it.negated(), expr, pattern, None, it.case_insensitive()))
    } else if let Some(it) = any.downcast_ref::<CaseExpr>() {
        let branches = it.when_then_expr().iter();
        let branches = branches.map(|(when, then)| Some((boxed(when)?, boxed(then)?)));
        let operand = it.expr().map(|it| boxed(it).ok_or(())).transpose().ok()?;
        let otherwise = it.else_expr().map(|it| boxed(it).ok_or(())).transpose().ok()?;
        Expr::Case(Case::new(operand, branches.collect::<Option<_>>()?, otherwise))
    } else if let Some(it) = any.downcast_ref::<ScalarFunctionExpr>() {
        let function = Arc::new(it.fun().clone());
        Expr::ScalarFunction(ScalarFunction::new_udf(function, all(it.args())?))
    } else {
        return None;
    })
}

/// Returns a value without its dictionary encoding, which only plans have.
fn plain(value: &ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Dictionary(_, value) => plain(value),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, IntervalMonthDayNano};
    use datafusion::logical_expr::Operator;
    use datafusion::physical_plan::expressions::lit;

    use super::*;

    #[test]
    fn expressions_are_written_as_in_queries() {
        let x: Arc<dyn PhysicalExpr> = Arc::new(physical::Column::new("x", 4));
        let of = |op, right| -> Arc<dyn PhysicalExpr> {
            Arc::new(physical::BinaryExpr::new(Arc::clone(&x), op, right))
        };
        assert_eq!(in_sql(&of(Operator::Divide, lit(0_i64))), "x / 0");
        assert_eq!(in_sql(&of(Operator::Eq, lit("y"))), "x = 'y'");
        let cast: Arc<dyn PhysicalExpr> =
            Arc::new(CastExpr::new(Arc::clone(&x), DataType::Int32, None));
        assert_eq!(in_sql(&cast), "CAST(x AS INTEGER)");
        let month = ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(1, 0, 0)));
        let later = in_sql(&of(Operator::Plus, lit(month)));
        assert!(later.starts_with("x + INTERVAL '1 MON"), "{later}");
        let upper: Arc<dyn PhysicalExpr> = Arc::new(physical::Column::new("Total", 0));
        assert_eq!(in_sql(&upper), "\"Total\"");
    }
}
