//! Rewrites expressions over a table's columns to expressions over the output of a scan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;

/// Returns the expression over the output of a scan, or `None` if it needs a column that the scan does not return.
///
/// Unlike [`ProjectionExprs::project_expr`], it also finds expressions that the scan computes.
pub(crate) fn over_output(
    output: &ProjectionExprs,
    expr: &Arc<dyn PhysicalExpr>,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let mut is_missing = false;
    let over = Arc::clone(expr).transform_down(|expr| {
        let found = output.as_ref().iter().position(|it| it.expr.as_ref() == expr.as_ref());
        Ok(match found {
            Some(at) => {
                let column = Column::new(&output.as_ref()[at].alias, at);
                Transformed::new(Arc::new(column) as _, true, TreeNodeRecursion::Jump)
            }
            None => {
                is_missing |= expr.is::<Column>();
                Transformed::no(expr)
            }
        })
    })?;
    Ok((!is_missing).then_some(over.data))
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{binary, lit};
    use datafusion::physical_expr::projection::ProjectionExpr;

    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    #[test]
    fn computed_columns_are_found() {
        let columns = ["a", "b"].map(|name| Field::new(name, DataType::Int64, true));
        let schema = Schema::new(columns.to_vec());
        let [a, b] = [0, 1].map(|at| -> Arc<dyn PhysicalExpr> {
            Arc::new(Column::new(schema.field(at).name(), at))
        });
        let of = |left: &Arc<dyn PhysicalExpr>, op, right: i64| {
            binary(Arc::clone(left), op, lit(right), &schema).unwrap()
        };
        let triple = of(&a, Operator::Multiply, 3);
        let exprs = [(&triple, "t"), (&b, "b")];
        let exprs = exprs.map(|(expr, alias)| ProjectionExpr::new(Arc::clone(expr), alias));
        let output = ProjectionExprs::new(exprs);
        let found = |expr: Arc<dyn PhysicalExpr>| {
            over_output(&output, &expr).unwrap().map(|it| it.to_string())
        };
        let sum = of(&triple, Operator::Plus, 1);
        assert_eq!(found(of(&sum, Operator::Gt, 4)).unwrap(), "t@0 + 1 > 4");
        assert_eq!(found(of(&b, Operator::Gt, 4)).unwrap(), "b@1 > 4");
        assert_eq!(found(of(&a, Operator::Gt, 4)), None);
    }
}
