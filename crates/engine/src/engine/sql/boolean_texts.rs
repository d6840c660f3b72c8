//! Compares booleans with texts such as `'true'`, as PostgreSQL and DuckDB do. DataFusion has no such comparison.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, lit};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Adds the planner to a session that is being built.
pub(crate) fn planner(builder: &mut SessionStateBuilder) {
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(BooleanTexts));
}

#[derive(Debug)]
struct BooleanTexts;

impl ExprPlanner for BooleanTexts {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as Op;
        if matches!(expr.op, Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq) {
            let is_boolean =
                |it: &Expr| it.get_type(schema).is_ok_and(|kind| kind == DataType::Boolean);
            if let Some(value) = boolean(&expr.right)
                && is_boolean(&expr.left)
            {
                expr.right = lit(value);
            } else if let Some(value) = boolean(&expr.left)
                && is_boolean(&expr.right)
            {
                expr.left = lit(value);
            }
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// Returns the value of a text that CAST would read as a boolean.
fn boolean(expr: &Expr) -> Option<bool> {
    let Expr::Literal(text, _) = expr else { return None };
    text.try_as_str()??;
    match text.cast_to(&DataType::Boolean).ok()? {
        ScalarValue::Boolean(value) => value,
        _ => None,
    }
}
