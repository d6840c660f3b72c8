//! Limits the nesting of `coalesce` and similar functions. DataFusion expands them to CASE with an argument twice, so
//! that nested ones double with each level.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The functions that are expanded.
const WRITTEN_OUT: [&str; 3] = ["coalesce", "nvl", "nvl2"];

/// The maximum number of parts of an expanded expression.
const MOST: f64 = 20_000.0;

/// Checks that expanded expressions are not too large to plan.
///
/// # Errors
///
/// If one is too large.
pub(crate) fn check(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            let has_any = expr.exists(|expr| Ok(repeats(expr)))?;
            if has_any && size(expr)? > MOST {
                return plan_err!(
                    "coalesce, nvl and nvl2 are nested too deeply: each level doubles the expression; give coalesce all \
                     values at once: coalesce(a, b, c)"
                );
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(())
}

fn repeats(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if WRITTEN_OUT.contains(&call.func.name()))
}

/// Returns the number of parts of an expanded expression.
fn size(expr: &Expr) -> Result<f64> {
    let mut parts = Vec::new();
    expr.apply_children(|child| {
        parts.push(size(child)?);
        Ok(TreeNodeRecursion::Continue)
    })?;
    let all: f64 = parts.iter().sum();
    let last = parts.last().copied().unwrap_or_default();
    Ok(1.0 + if repeats(expr) { 2.0 * all - last } else { all })
}

#[cfg(test)]
mod tests {
    use datafusion::functions::expr_fn::{abs, coalesce};
    use datafusion::logical_expr::{LogicalPlanBuilder, lit};

    use super::*;

    fn nested(levels: usize) -> LogicalPlan {
        let expr = (0..levels).fold(lit(1), |expr, _| coalesce(vec![abs(expr), lit(1)]));
        LogicalPlanBuilder::empty(true).project([expr]).unwrap().build().unwrap()
    }

    #[test]
    fn what_doubles_too_often_is_refused() {
        check(&nested(8)).unwrap();
        assert!(check(&nested(30)).unwrap_err().to_string().contains("coalesce(a, b, c)"));
    }
}
