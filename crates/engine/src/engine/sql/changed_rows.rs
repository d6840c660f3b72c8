//! DELETE, UPDATE and TRUNCATE of a table in memory.
//!
//! DataFusion executes these statements during planning, so that EXPLAIN changes the table. It also takes the
//! condition from the optimized plan, which has lost conditions that are never true, or contain a subquery; all rows
//! then change. Here such a statement rewrites the table: a query marks the rows for which the condition is TRUE, and
//! a sink removes them or stores their new values.

use std::fmt;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::{filter_record_batch, not};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result, exec_datafusion_err, exec_err};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::datasource::{DefaultTableSource, MemTable, TableType, provider_as_source};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{
    DmlStatement, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Projection, WriteOp, lit, when,
};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::TryStreamExt;

use crate::context::error::{ErrorKind, UserError};

/// The column that marks the rows to change.
const CHANGED: &str = "__changed";

/// Rewrites changes of tables in memory as writes to a sink.
///
/// # Errors
///
/// If another table decides about the rows, other than in a subquery.
pub(crate) fn by_sink(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up(|node| match node {
        LogicalPlan::Dml(dml) => changed(dml),
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn changed(dml: DmlStatement) -> Result<Transformed<LogicalPlan>> {
    let table = match dml.target.downcast_ref::<DefaultTableSource>() {
        Some(source) if source.table_provider.is::<MemTable>() => {
            Arc::clone(&source.table_provider)
        }
        _ => return Ok(Transformed::no(LogicalPlan::Dml(dml))),
    };
    let (keeps, values, input) = match (&dml.op, dml.input.as_ref().clone()) {
        (WriteOp::Update, LogicalPlan::Projection(Projection { expr, input, .. })) => {
            (true, Some(expr), Arc::unwrap_or_clone(input))
        }
        (WriteOp::Delete, input) => (false, None, input),
        (WriteOp::Truncate, _) => {
            let target = Arc::clone(&dml.target);
            let scan = LogicalPlanBuilder::scan(dml.table_name.clone(), target, None)?;
            (false, None, scan.build()?)
        }
        _ => return Ok(Transformed::no(LogicalPlan::Dml(dml))),
    };
    let (condition, rows) = match input {
        LogicalPlan::Filter(Filter { predicate, input, .. }) => {
            (predicate, Arc::unwrap_or_clone(input))
        }
        input => (lit(true), input),
    };
    if !is_table(&rows) {
        return Err(UserError {
            kind: ErrorKind::Unsupported,
            message: format!("{} of rows that another table decides is not supported", dml.name()),
            hint: Some("Name the other table in a subquery: WHERE id IN (SELECT …).".to_owned()),
        }
        .into());
    }
    let columns: Vec<Expr> = rows.schema().columns().into_iter().map(Expr::Column).collect();
    let marked = columns.iter().cloned().chain([condition.is_true().alias(CHANGED)]);
    let marked = LogicalPlanBuilder::from(rows).project(marked)?;
    let mark = || Expr::Column(Column::new_unqualified(CHANGED));
    let names = table.schema();
    let values = columns.into_iter().enumerate().map(|(at, column)| {
        let value = match values.as_ref().and_then(|values| values.get(at)) {
            Some(value) => match value.clone().unalias() {
                value if value == column => column,
                value => when(mark(), value).otherwise(column)?,
            },
            None => column,
        };
        Ok(value.alias(names.field(at).name()))
    });
    let values = values.chain([Ok(mark())]).collect::<Result<Vec<_>>>()?;
    let input = Arc::new(marked.project(values)?.build()?);
    let target =
        provider_as_source(Arc::new(Rewritten::new(table, dml.table_name.to_string(), keeps)));
    let op = WriteOp::Insert(InsertOp::Overwrite);
    let dml = DmlStatement::new(dml.table_name, target, op, input);
    Ok(Transformed::yes(LogicalPlan::Dml(dml)))
}

/// Returns whether a plan returns all rows of one table, possibly under an alias.
fn is_table(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::SubqueryAlias(alias) => is_table(&alias.input),
        _ => false,
    }
}

/// A table that is rewritten from its rows, with a mark on those that change.
#[derive(Debug)]
struct Rewritten {
    table: Arc<dyn TableProvider>,
    name: String,
    /// True if marked rows are kept, as in UPDATE.
    keeps: bool,
    /// The table's columns and the mark.
    schema: SchemaRef,
}

impl Rewritten {
    fn new(table: Arc<dyn TableProvider>, name: String, keeps: bool) -> Self {
        // A NULL for a NOT NULL column is detected when the rows are written.
        let nullable = |field: &Arc<Field>| Arc::new(field.as_ref().clone().with_nullable(true));
        let mut fields: Vec<_> = table.schema().fields().iter().map(nullable).collect();
        fields.push(Arc::new(Field::new(CHANGED, DataType::Boolean, true)));
        Self { table, name, keeps, schema: Arc::new(Schema::new(fields)) }
    }
}

#[async_trait]
impl TableProvider for Rewritten {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        exec_err!("{} is only written here", self.name)
    }

    async fn insert_into(
        &self,
        _state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(table) = self.table.downcast_ref::<MemTable>() else {
            return exec_err!("{} is no table in memory", self.name);
        };
        let mut before = Vec::with_capacity(table.batches.len());
        for partition in &table.batches {
            before.push(partition.read().await.clone());
        }
        let sink = Rows {
            table: Arc::clone(&self.table),
            name: self.name.clone(),
            keeps: self.keeps,
            schema: Arc::clone(&self.schema),
            before,
        };
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}

/// The sink for the new rows of the table.
#[derive(Debug)]
struct Rows {
    table: Arc<dyn TableProvider>,
    name: String,
    keeps: bool,
    schema: SchemaRef,
    /// The content of the table when the statement was planned.
    before: Vec<Vec<RecordBatch>>,
}

impl DisplayAs for Rows {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.keeps { "update" } else { "delete" };
        write!(f, "{what} rows of {}", self.name)
    }
}

impl Rows {
    /// Returns the remaining rows of a batch, without the mark, and the number of rows that change.
    fn kept(&self, batch: &RecordBatch) -> Result<(RecordBatch, usize)> {
        let last = batch.num_columns().saturating_sub(1);
        let mark: &BooleanArray = batch.column(last).as_boolean();
        let changed = mark.true_count();
        let columns = batch.columns().iter().take(last).cloned().collect();
        let rows = RecordBatch::try_new(self.table.schema(), columns)?;
        let kept = match self.keeps {
            true => rows,
            false => filter_record_batch(&rows, &not(mark)?)?,
        };
        Ok((kept, changed))
    }
}

#[async_trait]
impl DataSink for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(
        &self,
        mut data: SendableRecordBatchStream,
        _context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let (mut kept, mut changed) = (Vec::new(), 0);
        while let Some(batch) = data.try_next().await? {
            let (rows, count) = self.kept(&batch)?;
            changed += count as u64;
            if rows.num_rows() > 0 {
                kept.push(rows);
            }
        }
        let table = self.table.downcast_ref::<MemTable>();
        let table = table.ok_or_else(|| exec_datafusion_err!("{} is gone", self.name))?;
        let mut partitions = Vec::with_capacity(table.batches.len());
        for partition in &table.batches {
            partitions.push(partition.write().await);
        }
        let is_same = partitions.len() == self.before.len()
            && partitions.iter().zip(&self.before).all(|(now, before)| same(now, before));
        if !is_same {
            return exec_err!(
                "another statement changed {} meanwhile, and nothing was changed by this one; run it again",
                self.name
            );
        }
        if changed == 0 {
            return Ok(0);
        }
        table.sort_order.lock().clear();
        for partition in &mut partitions {
            partition.clear();
        }
        if let Some(first) = partitions.first_mut() {
            **first = kept;
        }
        Ok(changed)
    }
}

/// Returns whether two lists have the same batches, by pointer.
fn same(now: &[RecordBatch], before: &[RecordBatch]) -> bool {
    now.len() == before.len()
        && now.iter().zip(before).all(|(now, before)| {
            now.columns().iter().zip(before.columns()).all(|(now, before)| Arc::ptr_eq(now, before))
        })
}
