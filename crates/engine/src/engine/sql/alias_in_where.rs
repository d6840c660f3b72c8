//! Hints for aliases of the SELECT list that a WHERE clause uses.

use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, SchemaError};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Select, SelectItem, Visitor};

use crate::context::error::UserError;
use sluicegate_guards::walk::Walk;

/// Adds a hint to an error about a name that is such an alias; other errors are unchanged.
pub(crate) fn explained(statement: &Statement, error: DataFusionError) -> DataFusionError {
    let DataFusionError::SchemaError(schema, _) = error.find_root() else { return error };
    let SchemaError::FieldNotFound { field, .. } = schema.as_ref() else { return error };
    if field.relation.is_some() || !gives(statement, &field.name) {
        return error;
    }
    let name = field.name.clone();
    UserError {
        hint: Some(format!(
            "The alias `{name}` of SELECT is not known in WHERE and ON: write its expression there, or put the query into \
             another: SELECT * FROM (SELECT …) AS q WHERE {name} …."
        )),
        ..UserError::from_error(error)
    }
    .into()
}

/// Returns whether a query of the statement has a column with this alias.
fn gives(statement: &Statement, name: &str) -> bool {
    struct Aliases<'a>(&'a str);

    impl Visitor for Aliases<'_> {
        type Break = ();

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            let is_it = |item: &SelectItem| match item {
                SelectItem::ExprWithAlias { alias, .. } => match alias.quote_style {
                    Some(_) => alias.value == self.0,
                    None => alias.value.to_ascii_lowercase() == self.0,
                },
                _ => false,
            };
            match select.projection.iter().any(is_it) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }

    let mut aliases = Aliases(name);
    let found = match statement {
        Statement::Statement(statement) => statement.walk(&mut aliases),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.walk(&mut aliases),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return gives(&explain.statement, name),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    found.is_break()
}
