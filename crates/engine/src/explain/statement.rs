//! What a statement does when it runs, found without running it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, Statement, WriteOp};
use datafusion::prelude::SessionContext;

/// The part of a statement that reads or writes rows, or of the one that it explains; `None` if it only defines a name
/// or sets an option.
///
/// Nothing runs and nothing is defined. `EXECUTE` is the prepared statement with its parameters;
/// `PREPARE` does nothing yet.
pub(super) async fn work(
    context: &SessionContext,
    statement: LogicalPlan,
) -> Result<Option<LogicalPlan>> {
    let statement = match statement {
        // Only looks up the prepared plan and puts the parameters in.
        LogicalPlan::Statement(Statement::Execute(_)) => {
            context.execute_logical_plan(statement).await?.into_unoptimized_plan()
        }
        // Of a statement that explains, what it explains is explained.
        LogicalPlan::Explain(explain) => Arc::unwrap_or_clone(explain.plan),
        LogicalPlan::Analyze(analyze) => Arc::unwrap_or_clone(analyze.input),
        other => other,
    };
    Ok(match statement {
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table)) => {
            Some(Arc::unwrap_or_clone(table.input))
        }
        LogicalPlan::Ddl(_) | LogicalPlan::Statement(_) => None,
        // A table may carry out a DELETE or an UPDATE while it is planned.
        LogicalPlan::Dml(dml) if !matches!(dml.op, WriteOp::Insert(_)) => {
            Some(Arc::unwrap_or_clone(dml.input))
        }
        query => Some(query),
    })
}

/// Whether a statement reads rows and does nothing else. What was prepared is taken to do so.
pub(crate) fn only_reads(statement: &LogicalPlan) -> bool {
    match statement {
        LogicalPlan::Statement(statement) => matches!(statement, Statement::Execute(_)),
        LogicalPlan::Ddl(_)
        | LogicalPlan::Dml(_)
        | LogicalPlan::Copy(_)
        | LogicalPlan::Explain(_)
        | LogicalPlan::Analyze(_) => false,
        _ => true,
    }
}

/// Whether a statement only defines a name, sets an option or forgets one. Such a statement is
/// cheap, it takes effect as soon as it is planned, and there is nothing to explain about it.
pub(crate) fn is_definition(statement: &LogicalPlan) -> bool {
    match statement {
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table)) => {
            matches!(table.input.as_ref(), LogicalPlan::EmptyRelation(_))
        }
        LogicalPlan::Ddl(_) => true,
        LogicalPlan::Statement(statement) => !matches!(statement, Statement::Execute(_)),
        _ => false,
    }
}
