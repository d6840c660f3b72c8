//! Completes column lists that are shorter than the columns of their query.

use datafusion::sql::sqlparser::ast::{
    Ident, Query, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
};

use super::repeated::shown;
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "`q(a)` for a query of more columns is refused",
    upstream: &[],
    ours: "The columns after those of the list keep their names.",
    cases: &[
        Case {
            setup: &[],
            sql: "WITH q(a) AS (SELECT 1, 2 AS b) SELECT a, b FROM q",
            right: CaseOutcome::Rows(&["1, 2"]),
            theirs: CaseOutcome::Error("columns but only"),
        },
        Case {
            setup: &[],
            sql: "SELECT q.a, q.y FROM (SELECT x, y FROM (VALUES (1, 2)) v(x, y)) q(a)",
            right: CaseOutcome::Rows(&["1, 2"]),
            theirs: CaseOutcome::Error("columns but only"),
        },
    ],
};

/// Completes the lists of a query's WITH.
pub(super) fn complete_with(query: &mut Query) {
    for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
        complete(&mut table.alias, &table.query);
    }
}

/// Completes the list of a query in FROM.
pub(super) fn complete_derived(factor: &mut TableFactor) {
    if let TableFactor::Derived { subquery, alias: Some(alias), .. } = factor {
        complete(alias, subquery);
    }
}

fn complete(alias: &mut TableAlias, query: &Query) {
    if alias.columns.is_empty() {
        return;
    }
    let Some(names) = names(&query.body) else { return };
    for name in names.into_iter().skip(alias.columns.len()) {
        let name = Ident::with_quote('"', name);
        alias.columns.push(TableAliasColumnDef { name, data_type: None });
    }
}

/// Returns the names of a query's columns, if the statement contains them.
fn names(body: &SetExpr) -> Option<Vec<String>> {
    match body {
        SetExpr::Select(select) => select.projection.iter().map(shown).collect(),
        SetExpr::Query(query) => names(&query.body),
        SetExpr::SetOperation { left, .. } => names(left),
        _ => None,
    }
}
