//! Supports a WITH inside another WITH of the same name.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, Query, TableAlias, TableFactor, VisitorMut,
};

use super::names::normal;
use super::{Case, CaseOutcome, Guard, visit};
use crate::walk::WalkMut;

pub(super) const GUARD: Guard = Guard {
    title: "A WITH inside another one of the same name is refused",
    upstream: &[],
    ours: "The inner one hides the outer one where it is in effect.",
    cases: &[
        Case {
            setup: &[],
            sql: "WITH a AS (SELECT 1 AS x) SELECT (WITH a AS (SELECT 2 AS x) SELECT x FROM a), x FROM a",
            right: CaseOutcome::Rows(&["2, 1"]),
            theirs: CaseOutcome::Error("specified more than once"),
        },
        Case {
            setup: &[],
            sql: "WITH a AS (SELECT 1 AS x), b AS (WITH a AS (SELECT a.x + 1 AS x FROM a) SELECT a.x * 10 AS x FROM a) \
                  SELECT a.x, b.x FROM a, b",
            right: CaseOutcome::Rows(&["1, 20"]),
            theirs: CaseOutcome::Error("specified more than once"),
        },
        Case {
            setup: &[],
            sql: "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM a WHERE x < 3) SELECT sum(x) FROM a \
                  WHERE x > (WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + x FROM a WHERE x < 3) \
                  SELECT max(x) FROM a WHERE EXISTS (WITH a AS (SELECT 7 AS x) SELECT 1 FROM a WHERE x = 7)) - 2",
            right: CaseOutcome::Rows(&["3"]),
            theirs: CaseOutcome::Error("specified more than once"),
        },
    ],
};

/// Renames each WITH that is inside another one of its name.
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut Shadowed::default());
}

/// Renames from the inside out, so that the remaining uses of a name within a query belong to that query.
#[derive(Default)]
struct Shadowed {
    /// Names in the enclosing queries.
    around: Vec<HashSet<String>>,
    given: usize,
}

impl VisitorMut for Shadowed {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.around.push(tables.map(|table| normal(&table.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let own = self.around.pop().unwrap_or_default();
        let hidden = own.into_iter().filter(|name| self.around.iter().any(|it| it.contains(name)));
        for name in hidden.collect::<Vec<_>>() {
            self.given += 1;
            let given = Ident::with_quote('"', format!("{name}:{}", self.given));
            rename(query, &Rename { name, given });
        }
        ControlFlow::Continue(())
    }
}

/// Renames a table of a query's WITH in its scope: in the tables after it, in the query and, if it may be recursive,
/// in the table itself.
fn rename(query: &mut Query, names: &Rename) {
    // The planner refuses two tables of one name.
    let mut with = query.with.take();
    if let Some(with) = &mut with {
        let mut seen = false;
        for table in &mut with.cte_tables {
            let is_it = !seen && normal(&table.alias.name) == names.name;
            if seen || is_it && with.recursive {
                let _ = table.query.walk_mut(&mut names.clone());
            }
            if is_it {
                table.alias.name = names.given.clone();
            }
            seen |= is_it;
        }
    }
    let _ = query.walk_mut(&mut names.clone());
    query.with = with;
}

#[derive(Clone)]
struct Rename {
    name: String,
    given: Ident,
}

impl VisitorMut for Rename {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, args: None, .. } = factor
            && let [part] = name.0.as_slice()
            && let Some(ident) = part.as_ident()
            && normal(ident) == self.name
        {
            if alias.is_none() {
                *alias = Some(TableAlias {
                    explicit: true,
                    name: ident.clone(),
                    columns: Vec::new(),
                    at: None,
                });
            }
            *name = ObjectName::from(vec![self.given.clone()]);
        }
        ControlFlow::Continue(())
    }
}
