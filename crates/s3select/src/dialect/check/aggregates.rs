//! Where aggregates can stand.

use super::error;
use crate::dialect::ast::{Expr, Projection, Query};
use crate::error::{Result, SelectErrorCode as Code};

pub(super) fn check(query: &Query) -> Result<()> {
    if query.filter.as_ref().is_some_and(has_aggregate) {
        return Err(error(Code::UnsupportedSqlOperation, "WHERE takes no aggregates"));
    }
    let Projection::Items(items) = &query.projection else { return Ok(()) };
    let mut aggregate = false;
    let mut column = false;
    for item in items {
        survey(&item.expr, &mut aggregate, &mut column)?;
    }
    if aggregate && column {
        let message = "the SELECT list has aggregates, so every column must be in one";
        return Err(error(Code::UnsupportedSqlStructure, message));
    }
    Ok(())
}

fn survey(expr: &Expr, aggregate: &mut bool, column: &mut bool) -> Result<()> {
    match expr {
        Expr::Aggregate { arg, .. } => {
            *aggregate = true;
            if arg.as_deref().is_some_and(has_aggregate) {
                let message = "an aggregate cannot stand inside another";
                return Err(error(Code::UnsupportedSqlOperation, message));
            }
            Ok(())
        }
        Expr::Path(_) => {
            *column = true;
            Ok(())
        }
        _ => expr.children().into_iter().try_for_each(|child| survey(child, aggregate, column)),
    }
}

fn has_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Aggregate { .. }) || expr.children().into_iter().any(has_aggregate)
}
