//! Handles names in statements, and generates unique ones.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, SetExpr, TableFactor, TableWithJoins, VisitorMut,
};

/// A column of one of the tables: the table's name or alias, and the column's.
pub(super) type Qualified = (String, String);

/// Returns the name under which a column is kept after it is merged with another.
pub(super) fn kept(table: &str, column: &str) -> String {
    format!("{column} of {table}")
}

/// Returns a name as the planner compares it.
pub(super) fn normal(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// Returns the names by which columns of a relation may be qualified.
pub(crate) fn tables(relation: &TableFactor) -> Vec<String> {
    let alias = match relation {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    };
    match (alias, relation) {
        (Some(alias), TableFactor::NestedJoin { table_with_joins, .. })
            if alias.name.value == super::plan::MARK =>
        {
            all_tables(table_with_joins)
        }
        (Some(alias), _) => vec![normal(&alias.name)],
        (None, TableFactor::Table { name, .. } | TableFactor::Function { name, .. }) => {
            let last = name.0.last().and_then(|part| part.as_ident());
            last.map(normal).into_iter().collect()
        }
        (None, TableFactor::NestedJoin { table_with_joins, .. }) => all_tables(table_with_joins),
        _ => Vec::new(),
    }
}

fn all_tables(joined: &TableWithJoins) -> Vec<String> {
    let joins = joined.joins.iter().flat_map(|join| tables(&join.relation));
    tables(&joined.relation).into_iter().chain(joins).collect()
}

/// Returns the qualified column of an expression.
fn qualified(expr: &Expr) -> Option<Qualified> {
    match expr {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, column] if parts.len() <= 3 => Some((normal(table), normal(column))),
            _ => None,
        },
        _ => None,
    }
}

/// Visits the columns of a query's tables that the query and its nested queries reference.
pub(super) struct Columns<F> {
    visit: F,
    /// Tables of nested queries, which hide those of this query.
    hidden: Vec<HashSet<String>>,
    /// Unqualified names in the query.
    pub(super) unqualified: BTreeSet<String>,
    /// Unqualified names in nested queries, which may be columns of this query's tables.
    pub(super) inside: BTreeSet<String>,
}

impl<F: FnMut(&Qualified, &mut Expr)> Columns<F> {
    pub(super) fn new(visit: F) -> Self {
        Self { visit, hidden: Vec::new(), unqualified: BTreeSet::new(), inside: BTreeSet::new() }
    }
}

impl<F: FnMut(&Qualified, &mut Expr)> VisitorMut for Columns<F> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.hidden.push(tables_of_query(&query.body));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.hidden.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(ident) = expr {
            let names = match self.hidden.is_empty() {
                true => &mut self.unqualified,
                false => &mut self.inside,
            };
            names.insert(normal(ident));
        }
        if let Some(column) = qualified(expr)
            && !self.hidden.iter().any(|tables| tables.contains(&column.0))
        {
            (self.visit)(&column, expr);
        }
        ControlFlow::Continue(())
    }
}

fn tables_of_query(body: &SetExpr) -> HashSet<String> {
    match body {
        SetExpr::Select(select) => select.from.iter().flat_map(all_tables).collect(),
        SetExpr::SetOperation { left, right, .. } => {
            tables_of_query(left).into_iter().chain(tables_of_query(right)).collect()
        }
        _ => HashSet::new(),
    }
}

/// Changes an expression to reference the kept column.
pub(super) fn rename(column: &Qualified, expr: &mut Expr) {
    if let Expr::CompoundIdentifier(parts) = expr
        && let Some(last) = parts.last_mut()
    {
        *last = Ident::with_quote('"', kept(&column.0, &column.1));
    }
}
