//! Fields of structs of an outer query in a subquery: `e.u.name`, which DataFusion supports there only as
//! `e.u['name']`.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::{Column, DataFusionError};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, Query, Subscript, TableFactor, Value, VisitorMut,
};

use sluicegate_guards::{normal, visit};

/// DataFusion's error for such a field; the column follows.
const REFUSED: &str = "Nested identifiers are not yet supported for OuterReferenceColumn ";

/// Rewrites the fields of the column in an error as subscripts. Returns whether there was one.
pub(crate) fn index(statement: &mut Statement, error: &DataFusionError) -> bool {
    let root = error.find_root().to_string();
    let Some((_, column)) = root.split_once(REFUSED) else { return false };
    let column = Column::from_qualified_name(column.lines().next().unwrap_or_default().trim());
    let mut tables = Tables::default();
    let _ = visit(statement, &mut tables);
    let mut fields = Fields { column, tables: tables.0, queries: 0, found: false };
    let _ = visit(statement, &mut fields);
    fields.found
}

/// The names of all tables of a statement.
#[derive(Default)]
struct Tables(HashSet<String>);

impl VisitorMut for Tables {
    type Break = ();

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        let (name, alias) = match table {
            TableFactor::Table { name, alias, .. } => {
                (name.0.last().and_then(|part| part.as_ident()), alias)
            }
            TableFactor::Derived { alias, .. } => (None, alias),
            _ => return ControlFlow::Continue(()),
        };
        let names = alias.iter().map(|alias| &alias.name).chain(name);
        self.0.extend(names.map(normal));
        ControlFlow::Continue(())
    }
}

struct Fields {
    column: Column,
    tables: HashSet<String>,
    /// The number of enclosing queries.
    queries: usize,
    found: bool,
}

impl Fields {
    /// Returns the number of parts of a name that are the column: one, or two with its table.
    fn column_parts(&self, parts: &[Ident]) -> Option<usize> {
        let is = |part: &Ident, name: &str| normal(part) == name;
        let table = self.column.relation.as_ref().map(|table| table.table());
        match parts {
            [of, name, _, ..]
                if table.is_some_and(|table| is(of, table)) && is(name, &self.column.name) =>
            {
                Some(2)
            }
            [name, _, ..]
                if is(name, &self.column.name) && !self.tables.contains(&self.column.name) =>
            {
                Some(1)
            }
            _ => None,
        }
    }
}

impl VisitorMut for Fields {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.queries < 2 {
            return ControlFlow::Continue(());
        }
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some(count) = self.column_parts(parts)
        {
            let fields = parts.split_off(count);
            let root = match std::mem::take(parts).as_slice() {
                [name] => Expr::Identifier(name.clone()),
                both => Expr::CompoundIdentifier(both.to_vec()),
            };
            let access = |field: &Ident| {
                let name = Value::SingleQuotedString(normal(field));
                AccessExpr::Subscript(Subscript::Index { index: Expr::value(name) })
            };
            let access_chain = fields.iter().map(access).collect();
            *expr = Expr::CompoundFieldAccess { root: Box::new(root), access_chain };
            self.found = true;
        }
        ControlFlow::Continue(())
    }
}
