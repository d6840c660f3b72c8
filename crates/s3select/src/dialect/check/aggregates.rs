//! Checks the places of aggregates.

use super::error;
use crate::dialect::ast::{Aggregate, Expr, Projection, Query};
use crate::error::{Result, SelectErrorCode as Code};

pub(super) fn check(query: &Query) -> Result<()> {
    if query.filter.as_ref().is_some_and(has_aggregate) {
        return Err(error(Code::UnsupportedSqlOperation, "WHERE takes no aggregates"));
    }
    if !query.group_by.is_empty() {
        return check_groups(query);
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

/// Checks that every value is one of a group if there is a GROUP BY.
fn check_groups(query: &Query) -> Result<()> {
    if query.group_by.iter().any(has_aggregate) {
        return Err(error(Code::UnsupportedSqlOperation, "GROUP BY takes no aggregates"));
    }
    if query.limit.is_some() {
        let message = "a group may come in several rows, so LIMIT cannot count groups";
        return Err(error(Code::UnsupportedSqlStructure, message));
    }
    let Projection::Items(items) = &query.projection else {
        return Err(error(Code::UnsupportedSqlStructure, "GROUP BY does not go with *"));
    };
    items.iter().try_for_each(|item| check_of_group(&item.expr, &query.group_by))
}

fn check_of_group(expr: &Expr, groups: &[Expr]) -> Result<()> {
    if groups.contains(expr) {
        return Ok(());
    }
    match expr {
        Expr::Aggregate { function: Aggregate::Avg, .. } => {
            let message = "a group may come in several rows, whose averages do not make one: ask for SUM and COUNT";
            Err(error(Code::UnsupportedSqlOperation, message))
        }
        Expr::Aggregate { .. } => survey(expr, &mut false, &mut false),
        Expr::Path(_) => {
            let message =
                "a column must be in GROUP BY, just as it is written there, or in an aggregate";
            Err(error(Code::UnsupportedSqlStructure, message))
        }
        _ => expr.children().into_iter().try_for_each(|child| check_of_group(child, groups)),
    }
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
