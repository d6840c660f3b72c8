//! Finds the effect of a statement without running it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, Statement, WriteOp};
use datafusion::prelude::SessionContext;

/// Returns the part of a statement, or of the statement that it explains, that reads or writes rows. `None` if it
/// only defines a name or sets an option.
///
/// Nothing runs and nothing is defined. `EXECUTE` is replaced by the prepared statement with its parameters;
/// `PREPARE` has no effect yet.
pub(super) async fn work(
    context: &SessionContext,
    statement: LogicalPlan,
) -> Result<Option<LogicalPlan>> {
    let statement = match statement {
        // This only looks up the prepared plan and inserts the parameters.
        LogicalPlan::Statement(Statement::Execute(_)) => {
            context.execute_logical_plan(statement).await?.into_unoptimized_plan()
        }
        // EXPLAIN is replaced by the statement that it explains.
        LogicalPlan::Explain(explain) => Arc::unwrap_or_clone(explain.plan),
        LogicalPlan::Analyze(analyze) => Arc::unwrap_or_clone(analyze.input),
        other => other,
    };
    Ok(match statement {
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table)) => {
            Some(Arc::unwrap_or_clone(table.input))
        }
        LogicalPlan::Ddl(_) | LogicalPlan::Statement(_) => None,
        // A table may execute a DELETE or an UPDATE during planning.
        LogicalPlan::Dml(dml) if !matches!(dml.op, WriteOp::Insert(_)) => {
            Some(Arc::unwrap_or_clone(dml.input))
        }
        query => Some(query),
    })
}

/// What a statement does, apart from its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It reads.
    Reads,
    /// It changes names or settings of its session, such as a view or an option.
    Defines,
    /// It writes rows, objects, files or statistics.
    Writes,
}

/// Returns the effect of a planned statement. Nothing runs and nothing is defined.
pub(crate) async fn effect(context: &SessionContext, statement: LogicalPlan) -> Result<Effect> {
    let statement = match statement {
        // This only looks up the prepared plan and inserts the parameters.
        LogicalPlan::Statement(Statement::Execute(_)) => {
            context.execute_logical_plan(statement).await?.into_unoptimized_plan()
        }
        // A prepared statement may not do more than one that runs at once.
        LogicalPlan::Statement(Statement::Prepare(prepare)) => {
            return Ok(match plain_effect(&prepare.input) {
                Effect::Writes => Effect::Writes,
                Effect::Reads | Effect::Defines => Effect::Defines,
            });
        }
        LogicalPlan::Analyze(analyze) => Arc::unwrap_or_clone(analyze.input),
        other => other,
    };
    Ok(plain_effect(&statement))
}

fn plain_effect(statement: &LogicalPlan) -> Effect {
    match statement {
        LogicalPlan::Dml(_) | LogicalPlan::Copy(_) => Effect::Writes,
        LogicalPlan::Ddl(DdlStatement::CreateIndex(_)) => Effect::Writes,
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(table)) => match table.input.as_ref() {
            LogicalPlan::EmptyRelation(_) => Effect::Defines,
            _ => Effect::Writes,
        },
        LogicalPlan::Ddl(_) | LogicalPlan::Statement(_) => Effect::Defines,
        _ => Effect::Reads,
    }
}

/// Returns whether a statement reads rows and has no other effect. Prepared statements are assumed to do so.
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

/// Returns whether a statement only defines a name, or sets or resets an option. Such a statement is cheap and takes
/// effect as soon as it is planned; there is nothing to explain about it.
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
