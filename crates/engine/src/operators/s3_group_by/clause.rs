//! A group-by as a GROUP BY of the store: the statement, and the conversion of its answers.
//!
//! The store separates groups at least as finely as DataFusion does, and the Final aggregate merges groups that are
//! equal for DataFusion. For example, the two may differ on empty fields of text tables or on trailing zeros of a
//! number.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::expressions::Column;
use sluicegate_s3select::capabilities::{Exactness, Operation, TypeClass};
use sluicegate_s3select::dialect::ast::Type;
use sluicegate_s3select::request::OutputSerialization;

use crate::context::choice::Reason;
use crate::engine::explain::in_sql;
use crate::operators::partial_state::{PartialStates, ScanAggregate, StateExpr};
use crate::pushdown::predicate::ColumnStyle;
use crate::pushdown::statement::{
    GroupKey, Statement, arrow_output, class, csv, is_sendable, json,
};
use crate::scan::s3_select::{Filter, S3SelectSource};

/// A group-by as one statement.
#[derive(Debug, Clone)]
pub(super) struct ClauseQuery {
    statement: Statement,
    /// Grouping expressions over the table's columns.
    keys: Vec<ProjectionExpr>,
    /// Columns of the answer that are states, not keys.
    states: std::ops::Range<usize>,
    /// Sources of the columns of the partial states.
    sources: Vec<Source>,
    /// Columns of the table, all of them nullable.
    table: SchemaRef,
    /// Number of columns that are in the files; the others are partition columns.
    file_columns: usize,
    /// Schema of the partial aggregation.
    schema: SchemaRef,
}

/// The source of a column of the partial states.
#[derive(Debug, Clone)]
enum Source {
    /// A column of the answer.
    Answer(usize),
    /// An expression over the partition columns, which the store does not have.
    Partition(Arc<dyn PhysicalExpr>),
}

/// The form of a key that the store has to compute.
enum GroupKeyKind {
    /// A column of the file.
    Column(usize),
    /// Any other expression.
    Computed,
}

impl ClauseQuery {
    /// Returns the group-by of a partial aggregation, or the reason why the store cannot compute its keys or states.
    ///
    /// # Errors
    ///
    /// If an expression does not fit its input.
    pub(super) fn from_partial(partial: &AggregateExec) -> Result<Result<Self, Reason>> {
        let over = match ScanAggregate::from_partial(partial) {
            Ok(over) => over,
            Err(why) => return Ok(Err(why)),
        };
        if partial.limit_options().is_some() {
            return Ok(Err("a limit stops the aggregation early".into()));
        }
        if partial.group_expr().has_grouping_set() {
            return Ok(Err("there are several grouping sets".into()));
        }
        let PartialStates { mut columns, states } = match PartialStates::try_new(partial, &over)? {
            Ok(states) => states,
            Err(why) => return Ok(Err(why)),
        };
        let (source, table) = (over.source, over.source.table());
        let file_columns = source.file_schema().fields().len();
        let mut keys = Vec::new();
        for (expr, name) in partial.group_expr().expr() {
            let expr = over.down(Arc::clone(expr))?;
            let of_partition =
                collect_columns(&expr).iter().all(|column| column.index() >= file_columns);
            let wanted = match expr.downcast_ref::<Column>() {
                _ if of_partition => None,
                Some(column) if column.index() < file_columns => {
                    Some(GroupKeyKind::Column(column.index()))
                }
                _ => Some(GroupKeyKind::Computed),
            };
            keys.push((expr, name, wanted));
        }
        let style = source.format().style;
        if keys.iter().all(|(_, _, wanted)| wanted.is_none()) {
            // Without GROUP BY the store answers even if there are no rows.
            columns.push(StateExpr::rows());
        }
        let mut types = Vec::new();
        for (expr, _, _) in keys.iter().filter(|(_, _, wanted)| wanted.is_some()) {
            types.push(expr.data_type(&table)?);
        }
        types.extend(columns.iter().map(|column| column.data_type().clone()));
        let arrow = arrow_output(source.profile(), style, types.iter());
        let mut text = columns.iter().any(StateExpr::is_text);
        for (expr, _, wanted) in &keys {
            // A CSV field is sent as text in the same form as in a scan.
            let as_is =
                matches!(wanted, Some(GroupKeyKind::Column(_))) && style == ColumnStyle::Positional;
            text |=
                wanted.is_some() && !as_is && class(&expr.data_type(&table)?) == TypeClass::String;
        }
        let output = match arrow {
            Some(arrow) => OutputSerialization::Arrow(arrow),
            None if text || style == ColumnStyle::Member => json(),
            None => csv(),
        };
        let json = matches!(output, OutputSerialization::Json { .. });
        let (mut sent, mut fields, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        let mut table_keys = Vec::new();
        for (expr, name, wanted) in &keys {
            table_keys.push(ProjectionExpr::new(Arc::clone(expr), (*name).clone()));
            let Some(wanted) = wanted else {
                sources.push(Source::Partition(Arc::clone(expr)));
                continue;
            };
            let Some((key, field)) = key(&over, expr, wanted, json)? else {
                let name = in_sql(expr);
                return Ok(Err(Reason::new(format!(
                    "the values of {name} are not known to be told apart by a store of profile `{}`",
                    source.profile().name
                ))));
            };
            sources.push(Source::Answer(sent.len()));
            fields.push(field.with_name(format!("_{}", sent.len() + 1)));
            sent.push(key);
        }
        let first = sent.len();
        sources.extend(states.iter().map(|state| Source::Answer(first + state)));
        fields.extend(columns.iter().zip(first..).map(|(column, number)| column.field(number)));
        let items = columns.iter().map(|column| column.over(None)).collect();
        let answer = Arc::new(Schema::new(fields));
        let statement = Statement::groups(sent, items, source.store_filter(), answer, output);
        Ok(Ok(Self {
            statement,
            keys: table_keys,
            states: first..first + columns.len(),
            sources,
            table: Arc::new(table),
            file_columns,
            schema: partial.schema(),
        }))
    }

    /// Returns the statement that is sent for each file.
    pub(super) fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Returns the statement with other filters.
    pub(super) fn group_statement(&self, filters: &[Filter]) -> Statement {
        let mut statement = self.statement.clone();
        statement.query.filter = Filter::there(filters);
        statement
    }

    /// Returns a scan of the keys alone, or `None` if all keys are partition columns.
    pub(super) fn keys_of(&self, source: &S3SelectSource) -> Option<S3SelectSource> {
        let known = self.sources.iter().any(|source| matches!(source, Source::Answer(_)));
        let keys = ProjectionExprs::new(self.keys.iter().cloned());
        known.then(|| source.computing(&keys))
    }

    /// Rewrites a filter over the partial aggregation's columns to one over the table's. Returns `None` unless all
    /// its columns are keys that are plain columns of the table.
    ///
    /// # Errors
    ///
    /// If it has operands that cannot be replaced.
    pub(super) fn over_table(
        &self,
        filter: Arc<dyn PhysicalExpr>,
    ) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let of_table = |index: usize| {
            let key = self.keys.get(index)?;
            key.expr.is::<Column>().then(|| Arc::clone(&key.expr))
        };
        if !collect_columns(&filter).iter().all(|column| of_table(column.index()).is_some()) {
            return Ok(None);
        }
        let filter = filter.transform_down(|part| {
            let key = part.downcast_ref::<Column>().and_then(|column| of_table(column.index()));
            // A replaced key is skipped, because it contains an index of the other schema.
            Ok(match key {
                Some(key) => Transformed::new(key, true, TreeNodeRecursion::Jump),
                None => Transformed::no(part),
            })
        });
        Ok(Some(filter?.data))
    }

    /// Converts rows of an answer to partial states. `partition` holds the values of the partition columns.
    ///
    /// # Errors
    ///
    /// If the answer is malformed; the text describes the error.
    pub(super) fn read(
        &self,
        batch: &RecordBatch,
        partition: &[ScalarValue],
    ) -> Result<RecordBatch, String> {
        let mut batch = batch.clone();
        for index in self.states.clone() {
            // States that are not nullable hold counts.
            let (field, column) = (self.statement.answer.field(index), batch.column(index));
            let negative = |count: Option<i64>| count.is_none_or(|count| count < 0);
            if !field.is_nullable() && column.as_primitive::<Int64Type>().iter().any(negative) {
                return Err(format!("an impossible count in column {}", field.name()));
            }
        }
        if self.states.start == 0 {
            let rows = batch.columns().last().ok_or("an answer without columns")?;
            let some = rows.as_primitive::<Int64Type>().iter().map(|count| count != Some(0));
            batch = arrow::compute::filter_record_batch(&batch, &some.map(Some).collect())
                .map_err(|error| error.to_string())?;
        }
        let exact = CastOptions { safe: false, ..CastOptions::default() };
        let columns = self.sources.iter().zip(self.schema.fields()).map(|(source, field)| {
            let column = match source {
                Source::Answer(index) => self.answered(&batch, *index, field),
                Source::Partition(expr) => self
                    .of_partition(expr, partition, batch.num_rows())
                    .map_err(|error| error.to_string())?,
            };
            cast_with_options(&column, field.data_type(), &exact).map_err(|e| e.to_string())
        });
        let columns = columns.collect::<Result<Vec<_>, String>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|e| e.to_string())
    }

    fn answered(&self, batch: &RecordBatch, index: usize, field: &Field) -> ArrayRef {
        let column = Arc::clone(batch.column(index));
        let is_count =
            self.states.contains(&index) && !self.statement.answer.field(index).is_nullable();
        if !is_count || !field.is_nullable() {
            return column;
        }
        // DataFusion divides by a count of 0 unless it is NULL, as in its own states of AVG.
        let counts = column.as_primitive::<Int64Type>().iter();
        Arc::new(counts.map(|count| count.filter(|count| *count != 0)).collect::<Int64Array>())
    }

    fn of_partition(
        &self,
        expr: &Arc<dyn PhysicalExpr>,
        partition: &[ScalarValue],
        rows: usize,
    ) -> Result<ArrayRef> {
        let columns = self.table.fields().iter().enumerate().map(|(index, field)| {
            let value = index.checked_sub(self.file_columns).and_then(|it| partition.get(it));
            match value {
                Some(value) => value.cast_to(field.data_type())?.to_array_of_size(1),
                None => Ok(new_null_array(field.data_type(), 1)),
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let one = RecordBatch::try_new(Arc::clone(&self.table), columns)?;
        let value = expr.evaluate(&one)?.into_array(1)?;
        ScalarValue::try_from_array(&value, 0)?.to_array_of_size(rows)
    }
}

/// Returns a key as the store computes and sends it, and the field that reads it; `None` if that is not exact.
fn key(
    over: &ScanAggregate<'_>,
    expr: &Arc<dyn PhysicalExpr>,
    wanted: &GroupKeyKind,
    json: bool,
) -> Result<Option<(GroupKey, Field)>> {
    let (source, translator) = (over.source, over.translator());
    let schema = source.file_schema();
    let style = source.format().style;
    let float = |data_type: &DataType| class(data_type) == TypeClass::Float;
    if let GroupKeyKind::Column(index) = wanted
        && !(json && style == ColumnStyle::Positional)
    {
        let field = schema.field(*index);
        let data_type = field.data_type();
        let Some(column) = translator.stored_column(*index) else { return Ok(None) };
        if data_type.is_nested() || !is_sendable(style, &translator, data_type) {
            return Ok(None);
        }
        // JSON has no NaN or infinity, but their names can be parsed from its strings.
        let as_text = json && style == ColumnStyle::Named && float(data_type);
        let sent = if as_text { column.clone().cast(Type::String) } else { column.clone() };
        return Ok(Some((GroupKey { key: column, sent }, field.clone())));
    }
    // The expression may also contain a partition column, which the store does not have.
    let Ok(data_type) = expr.data_type(schema) else { return Ok(None) };
    let trusted = translator.exactness(Operation::Cast, class(&data_type)) == Exactness::Exact;
    let computed = translator.exact_value(expr).or_else(|| {
        let pushed = translator.condition(expr)?;
        (pushed.exactness == Exactness::Exact).then_some(pushed.expr)
    });
    let Some(key) = computed.filter(|_| trusted) else { return Ok(None) };
    let as_text = json && float(&data_type);
    let sent = if as_text { key.clone().cast(Type::String) } else { key.clone() };
    Ok(Some((GroupKey { key, sent }, Field::new("", data_type, true))))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, StringArray};

    use super::*;

    #[test]
    fn a_count_of_no_values_is_no_state_of_an_average() {
        let answer = Schema::new(vec![
            Field::new("_1", DataType::Utf8, true),
            Field::new("_2", DataType::Int64, false),
        ]);
        let schema = Arc::new(Schema::new(vec![
            Field::new("g", DataType::Utf8, true),
            Field::new("avg[count]", DataType::UInt64, true),
        ]));
        let answer = Arc::new(answer);
        let query = ClauseQuery {
            statement: Statement::groups(Vec::new(), Vec::new(), None, Arc::clone(&answer), csv()),
            keys: Vec::new(),
            states: 1..2,
            sources: vec![Source::Answer(0), Source::Answer(1)],
            table: Arc::new(Schema::empty()),
            file_columns: 0,
            schema,
        };
        let batch = |counts: Vec<i64>| {
            let texts = StringArray::from(vec![Some("a"); counts.len()]);
            let columns: Vec<ArrayRef> = vec![Arc::new(texts), Arc::new(Int64Array::from(counts))];
            RecordBatch::try_new(Arc::clone(&answer), columns).unwrap()
        };
        let states = query.read(&batch(vec![0, 3]), &[]).unwrap();
        assert!(states.column(1).is_null(0) && states.column(1).is_valid(1));
        let said = query.read(&batch(vec![1, -1]), &[]).unwrap_err();
        assert_eq!(said, "an impossible count in column _2");
    }
}
