//! Refuses aggregates in GROUP BY, written there, or referenced by their position or alias in the SELECT list.

use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, Result, SchemaError};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SelectItem, Value, Visitor,
};

use crate::context::error::{ErrorKind, UserError};
use crate::engine::sql::unsupported_clauses::visit;
use sluicegate_guards::walk::Walk;

/// Checks the GROUP BY clauses of a statement.
///
/// # Errors
///
/// If one contains an aggregate.
pub(crate) fn check(state: &SessionState, statement: &Statement) -> Result<()> {
    misplaced_aggregate(Groups { state, by_alias: false }, statement)
        .map_or(Ok(()), |told| Err(told.into()))
}

/// Replaces an error about a duplicate column if GROUP BY names an aggregate by its alias; other errors are
/// unchanged.
pub(crate) fn explained(
    state: &SessionState,
    statement: &Statement,
    error: DataFusionError,
) -> DataFusionError {
    let is_twice = matches!(error.find_root(), DataFusionError::SchemaError(cause, _)
        if matches!(cause.as_ref(), SchemaError::DuplicateUnqualifiedField { .. }));
    match is_twice
        .then(|| misplaced_aggregate(Groups { state, by_alias: true }, statement))
        .flatten()
    {
        Some(told) => told.into(),
        None => error,
    }
}

fn misplaced_aggregate(mut groups: Groups<'_>, statement: &Statement) -> Option<UserError> {
    match visit(statement, &mut groups) {
        ControlFlow::Break(told) => Some(told),
        ControlFlow::Continue(()) => None,
    }
}

struct Groups<'a> {
    state: &'a SessionState,
    /// True if names are looked up among the aliases of SELECT. Columns of tables take precedence over aliases.
    by_alias: bool,
}

impl Visitor for Groups<'_> {
    type Break = UserError;

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<UserError> {
        let GroupByExpr::Expressions(keys, _) = &select.group_by else {
            return ControlFlow::Continue(());
        };
        for key in keys {
            let meant = resolve_item(key, &select.projection, self.by_alias).unwrap_or(key);
            if has_aggregate(self.state, meant) {
                let by = match meant == key {
                    true => String::new(),
                    false => format!(", and {key} is {meant}"),
                };
                return ControlFlow::Break(UserError {
                    kind: ErrorKind::Plan,
                    message: format!("an aggregate cannot stand in GROUP BY{by}"),
                    hint: Some(
                        "Group by the columns that the aggregate is for: SELECT name, count(*) FROM t GROUP BY name; \
                         to filter groups by it, write HAVING."
                            .to_owned(),
                    ),
                });
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the expression in the SELECT list that a key of GROUP BY references by position, or by alias.
fn resolve_item<'a>(key: &Expr, columns: &'a [SelectItem], by_alias: bool) -> Option<&'a Expr> {
    let of = |item: &'a SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    };
    match key {
        Expr::Value(value) => {
            let Value::Number(digits, _) = &value.value else { return None };
            let place = digits.parse::<usize>().ok()?.checked_sub(1)?;
            // A star stands for an unknown number of columns.
            columns.get(..=place)?.iter().map(of).collect::<Option<Vec<_>>>()?.pop()
        }
        Expr::Identifier(name) if by_alias => {
            let named = columns.iter().find(|item| {
                matches!(item, SelectItem::ExprWithAlias { alias, .. }
                    if alias.value.eq_ignore_ascii_case(&name.value))
            });
            named.and_then(of)
        }
        _ => None,
    }
}

/// Returns whether an expression has an aggregate, outside of windows and subqueries.
fn has_aggregate(state: &SessionState, expr: &Expr) -> bool {
    struct Aggregates<'a> {
        state: &'a SessionState,
        /// The number of enclosing subqueries.
        depth: usize,
    }

    impl Visitor for Aggregates<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(call)
                    if self.depth == 0
                        && call.over.is_none()
                        && self.state.udaf(&call.name.to_string().to_lowercase()).is_ok() =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    expr.walk(&mut Aggregates { state, depth: 0 }).is_break()
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn aggregates_are_found_where_they_cannot_stand() {
        let state = SessionContext::new().state();
        for (sql, refused) in [
            ("SELECT count(*) FROM t GROUP BY 1", true),
            ("SELECT name, 1 + sum(a) AS s FROM t GROUP BY name, 2", true),
            ("SELECT a FROM t GROUP BY count(*)", true),
            ("SELECT * FROM (SELECT max(a) FROM t GROUP BY 1) u", true),
            ("SELECT name, count(*) FROM t GROUP BY 1", false),
            ("SELECT *, count(*) FROM t GROUP BY 2", false),
            ("SELECT (SELECT max(a) FROM t) AS m, count(*) FROM t GROUP BY 1", false),
            ("SELECT upper(a), sum(a) OVER () FROM t GROUP BY 1", false),
            ("SELECT count(*) FROM t GROUP BY 9", false),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            assert_eq!(check(&state, &statement).is_err(), refused, "{sql}");
        }
    }
}
