//! `FROM 'folder'`: a local folder that is named without a slash.

use std::ops::ControlFlow;

use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, TableFactor, VisitorMut};
use sluicegate_guards::walk::WalkMut;

/// Adds a slash to the names of folders in `'…'`, unless a table has the name.
pub(crate) fn with_slash(state: &SessionState, statement: &mut Statement) {
    let mut folders = Folders { state };
    let _ = match statement {
        Statement::Statement(statement) => statement.walk_mut(&mut folders),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.walk_mut(&mut folders),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => {
            with_slash(state, &mut explain.statement);
            ControlFlow::Continue(())
        }
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
}

struct Folders<'a> {
    state: &'a SessionState,
}

impl Folders<'_> {
    fn is_folder(&self, name: &Ident) -> bool {
        let is_plain = name.quote_style == Some('\'') && !name.value.contains(['/', '\\']);
        let is_table = || {
            let schema = self.state.schema_for_ref(TableReference::bare(name.value.as_str()));
            schema.is_ok_and(|schema| schema.table_exist(&name.value))
        };
        is_plain && std::path::Path::new(&name.value).is_dir() && !is_table()
    }
}

impl VisitorMut for Folders<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, .. } = factor
            && let [part] = name.0.as_slice()
            && let Some(folder) = part.as_ident().filter(|name| self.is_folder(name))
        {
            let url = format!("{}/", folder.value);
            *name = ObjectName::from(vec![Ident::with_quote('\'', url)]);
        }
        ControlFlow::Continue(())
    }
}
