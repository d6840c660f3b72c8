//! Unquoted names that match no column in lower case, but one that differs in case.
//!
//! SQL converts `SELECT Betrag` to a column `betrag`. If there is none, and only one column has the same name
//! ignoring case, that column is used, as in Spark and DuckDB.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, Result, SchemaError};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Expr, Ident, VisitorMut};

use crate::catalog::declared_names::ambiguous;
use sluicegate_guards::column_names::is_same;
use sluicegate_guards::walk::WalkMut;

/// Quotes the name in an error about an unknown column, with the letter case of the matching column. Returns whether
/// there was such a name.
///
/// # Errors
///
/// If two columns match.
pub(crate) fn quote(statement: &mut Statement, error: &DataFusionError) -> Result<bool> {
    let DataFusionError::SchemaError(error, _) = error.find_root() else { return Ok(false) };
    let SchemaError::FieldNotFound { field, valid_fields } = error.as_ref() else {
        return Ok(false);
    };
    let of = field.relation.as_ref().map(|table| table.table().to_owned());
    let is_there = |column: &&datafusion::common::Column| match (&of, &column.relation) {
        (Some(of), Some(table)) => table.table() == of,
        _ => true,
    };
    let names: BTreeSet<&String> = valid_fields
        .iter()
        .filter(is_there)
        .map(|column| &column.name)
        .filter(|name| is_same(name, &field.name) && **name != field.name)
        .collect();
    let mut names = names.into_iter();
    let Some(name) = names.next() else { return Ok(false) };
    if of.is_none() && sluicegate_guards::merge_other_capitals(statement, &field.name)? {
        return Ok(true);
    }
    let mut quotes = Quotes { typed: &field.name, of: of.as_deref(), name, found: false };
    quotes.put(statement);
    match names.next() {
        Some(other) if quotes.found => Err(ambiguous(&field.name, name, other)),
        _ => Ok(quotes.found),
    }
}

struct Quotes<'a> {
    /// The name in lower case.
    typed: &'a str,
    /// The table that qualifies the name, if any.
    of: Option<&'a str>,
    /// The name of the matching column.
    name: &'a str,
    found: bool,
}

impl Quotes<'_> {
    fn put(&mut self, statement: &mut Statement) {
        let _ = match statement {
            Statement::Statement(statement) => statement.walk_mut(self),
            Statement::CopyTo(copy) => match &mut copy.source {
                CopyToSource::Query(query) => query.walk_mut(self),
                CopyToSource::Relation(_) => ControlFlow::Continue(()),
            },
            Statement::Explain(explain) => {
                self.put(&mut explain.statement);
                ControlFlow::Continue(())
            }
            Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
        };
    }

    fn is_it(&self, name: &Ident) -> bool {
        name.quote_style.is_none() && name.value.to_ascii_lowercase() == self.typed
    }

    fn quoted(&mut self, name: &mut Ident) {
        self.found = true;
        *name = Ident { value: self.name.to_owned(), quote_style: Some('"'), span: name.span };
    }
}

impl VisitorMut for Quotes<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) if self.is_it(name) && self.of.is_none() => self.quoted(name),
            Expr::CompoundIdentifier(parts) => {
                let is_of = match (self.of, parts.as_slice()) {
                    (Some(of), [.., table, _]) => match table.quote_style {
                        Some(_) => table.value == of,
                        None => table.value.to_ascii_lowercase() == of,
                    },
                    _ => false,
                };
                if let Some(name) = parts.last_mut()
                    && is_of
                    && self.is_it(name)
                {
                    self.quoted(name);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
