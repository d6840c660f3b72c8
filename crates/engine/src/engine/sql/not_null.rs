//! INSERT of NULL into a NOT NULL column. DataFusion's errors call the column `column1`, or use its number.

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{Alias, Cast, TryCast};
use datafusion::logical_expr::{Expr, LogicalPlan, WriteOp};

use crate::context::error::{ErrorKind, UserError};

/// Checks for a NULL that an INSERT writes to a NOT NULL column, as a literal or by omission.
///
/// # Errors
///
/// If there is one; the message contains the name of the column.
pub(crate) fn check(plan: &LogicalPlan) -> Result<()> {
    let LogicalPlan::Dml(insert) = plan else { return Ok(()) };
    let (WriteOp::Insert(_), LogicalPlan::Projection(given)) = (&insert.op, &*insert.input) else {
        return Ok(());
    };
    let schema = insert.target.schema();
    let columns = schema.fields().iter().zip(&given.expr);
    for (field, expr) in columns.filter(|(field, _)| !field.is_nullable()) {
        if is_null(expr, &given.input) {
            return Err(UserError {
                kind: ErrorKind::Data,
                message: format!(
                    "the column `{}` of {} is NOT NULL, and a row has NULL there, or nothing",
                    field.name(),
                    insert.table_name
                ),
                hint: Some("Give it a value in each row.".to_owned()),
            }
            .into());
        }
    }
    Ok(())
}

/// Returns whether an expression is NULL, or a column of VALUES with a NULL.
fn is_null(expr: &Expr, input: &LogicalPlan) -> bool {
    match expr {
        Expr::Alias(Alias { expr, .. })
        | Expr::Cast(Cast { expr, .. })
        | Expr::TryCast(TryCast { expr, .. }) => is_null(expr, input),
        Expr::Literal(value, _) => ScalarValue::is_null(value),
        Expr::Column(column) => match input {
            LogicalPlan::Values(values) => {
                let place = values.schema.maybe_index_of_column(column);
                place.is_some_and(|place| {
                    values
                        .values
                        .iter()
                        .any(|row| row.get(place).is_some_and(|it| is_null(it, input)))
                })
            }
            _ => false,
        },
        _ => false,
    }
}
