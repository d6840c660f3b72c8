//! The statements of a group-by: finding groups, and computing the states of some of them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options, concat, concat_batches};
use arrow::datatypes::{Field, Int64Type, Schema, SchemaRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use sluicegate_s3select::capabilities::{Exactness, Operation, TypeClass};
use sluicegate_s3select::dialect::ast::{Expr, Name, PathStep};

use super::groups::{Group, Key, inside, is_group, outside};
use crate::context::choice::Reason;
use crate::engine::explain::in_sql;
use crate::operators::partial_state::{PartialStates, ScanAggregate, StateExpr};
use crate::pushdown::predicate::Pushed;
use crate::pushdown::statement::Statement;
use crate::scan::output_exprs::over_output;
use crate::scan::s3_select::S3SelectSource;
use crate::store::endpoint::Endpoint;

/// The maximum number of columns of an answer, which has one for each state of each group.
const MOST_COLUMNS: usize = 500;

/// The form of statements about groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupFilterForm {
    /// Many groups in one statement, with a CASE for each group and aggregate. The store separates the groups
    /// exactly.
    Case,
    /// One statement per group, selected by its WHERE. A store may match extra rows; then the counts of all groups
    /// and of the rows outside of them prove the result.
    Where,
}

/// The rows of a scan that are in some groups, or in none of them.
#[derive(Debug, Clone)]
pub(super) struct GroupScan {
    /// The scan that requests the rows.
    pub(super) source: S3SelectSource,
    /// A condition over the scan's output that selects the rows, if the store may send others.
    pub(super) check: Option<Arc<dyn PhysicalExpr>>,
}

/// A group-by as statements to the store.
#[derive(Debug, Clone)]
pub(super) struct GroupQuery {
    form: GroupFilterForm,
    /// True if all conditions on groups are exact, as far as that is known before groups are found.
    exact: bool,
    /// The grouping keys.
    pub(super) keys: Vec<Key>,
    /// Expressions computed for each group: its number of rows, and its states.
    columns: Vec<StateExpr>,
    /// For each state of the partial aggregation's schema, without the keys, its index among `columns`.
    states: Vec<usize>,
    /// Schema of the partial aggregation.
    schema: SchemaRef,
}

/// A statement about some of the requested groups.
#[derive(Debug)]
pub(super) struct GroupBatch {
    /// Indexes of the groups; empty for the statement that counts all rows.
    pub(super) groups: Range<usize>,
    pub(super) statement: Statement,
    /// True if the store matches no extra rows for the groups.
    pub(super) exact: bool,
}

/// The contents of a statement's answer.
#[derive(Debug)]
pub(super) struct GroupAnswer {
    /// One row of the partial aggregation's schema per group that has rows.
    pub(super) states: RecordBatch,
    /// Number of rows in these groups.
    pub(super) inside: u64,
    /// Number of all rows, if the statement counts them.
    pub(super) rows: Option<u64>,
}

/// The states of some groups, with the counts that show whether there are others.
#[derive(Debug)]
pub(super) struct GroupStates {
    /// One row of the partial aggregation's schema per group that has rows.
    pub(super) states: RecordBatch,
    /// Number of rows in these groups.
    pub(super) inside: u64,
    /// Number of all rows.
    pub(super) rows: u64,
    /// True if `inside` is exact. If not, it is an upper bound. It is proven exact if there are `rows - inside` rows
    /// outside of the groups.
    pub(super) exact: bool,
}

impl GroupQuery {
    /// Returns the group-by of a partial aggregation, or the reason why the store cannot separate its groups or
    /// compute their states.
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
        let mut keys = Vec::new();
        for (expr, name) in partial.group_expr().expr() {
            let expr = over.down(Arc::clone(expr))?;
            let nullable = expr.nullable(over.source.file_schema()).unwrap_or(true);
            keys.push(Key { expr, name: name.clone(), nullable });
        }
        let states = match PartialStates::try_new(partial, &over)? {
            Ok(states) => states,
            Err(why) => return Ok(Err(why)),
        };
        let PartialStates { columns: asked, states } = states;
        // Without aggregates the groups are the answer, so their rows are not counted.
        let mut columns = if asked.is_empty() { Vec::new() } else { vec![StateExpr::rows()] };
        let mut places = Vec::new();
        for column in asked {
            places.push(columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            }));
        }
        let states = states.into_iter().map(|state| places[state]).collect();
        let schema = partial.schema();
        let query =
            Self { form: GroupFilterForm::Case, exact: true, keys, columns, states, schema };
        let sayable = || over.source.profile().allows(&query.example(over.source).query).is_ok();
        if query.apart(over.source).is_ok_and(|exact| exact)
            && query.check(over.source).is_ok()
            && sayable()
        {
            return Ok(Ok(query));
        }
        let query = Self { form: GroupFilterForm::Where, ..query };
        Ok(match (query.apart(over.source), query.check(over.source)) {
            (Ok(exact), Ok(())) => Ok(Self { exact, ..query }),
            (Err(why), _) | (_, Err(why)) => Err(why),
        })
    }

    /// Returns true if the store separates all groups exactly, and false if it loses no rows but may match extra
    /// ones. The error is the reason why it does neither.
    fn apart(&self, source: &S3SelectSource) -> Result<bool, Reason> {
        let profile = source.profile();
        let mut exact = true;
        for key in &self.keys {
            let mut apart = || -> Option<()> {
                let data_type = key.expr.data_type(source.file_schema()).ok()?;
                let mut some = vec![ScalarValue::new_default(&data_type).ok()?];
                if key.nullable {
                    some.push(ScalarValue::try_from(&data_type).ok()?);
                }
                let alone = std::slice::from_ref(key);
                for value in some {
                    let group = Group { values: vec![value], seen: 0 };
                    let schema = source.file_schema();
                    let not_in = profile.syntax.not_in;
                    let others =
                        outside(alone, std::slice::from_ref(&group), schema, not_in).ok()?;
                    for condition in [is_group(alone, &group.values).ok()?, others] {
                        let pushed = self.there(source, &condition)?;
                        exact &= pushed.exactness == Exactness::Exact;
                    }
                }
                Some(())
            };
            if apart().is_none() {
                let name = in_sql(&key.expr);
                return Err(Reason::new(format!(
                    "the values of {name} are not known to be told apart by a store of profile `{}`",
                    profile.name
                )));
            }
        }
        Ok(exact)
    }

    /// Checks that the store counts the rows of a group exactly. The error is the reason why it does not.
    fn check(&self, source: &S3SelectSource) -> Result<(), Reason> {
        let translator = source.translator();
        let trusted =
            |operation| translator.exactness(operation, TypeClass::Int) == Exactness::Exact;
        let counts = match self.form {
            GroupFilterForm::Case => trusted(Operation::CountRows) && trusted(Operation::Count),
            GroupFilterForm::Where => self.is_distinct() || trusted(Operation::CountRows),
        };
        match counts {
            true => Ok(()),
            false => Err(Reason::new(format!(
                "the rows of a group are not known to be counted exactly by a store of profile `{}`",
                source.profile().name
            ))),
        }
    }

    /// Checks that the endpoint accepts statements of this kind.
    ///
    /// # Errors
    ///
    /// The reason why it does not.
    pub(super) fn may_be_sent(
        &self,
        source: &S3SelectSource,
        endpoint: &Endpoint,
    ) -> Result<(), Reason> {
        let keys = self.keys_of(source);
        let sample = keys.statement(None).ok_or("the groups cannot be sent as text")?;
        endpoint.takes(&sample, source.format())?;
        let values = self.keys.iter().map(|key| {
            let data_type = key.expr.data_type(source.file_schema())?;
            ScalarValue::new_default(&data_type)
        });
        let values: Vec<_> =
            values.collect::<Result<_>>().map_err(|e| Reason::new(e.to_string()))?;
        let some = [Group { values, seen: 0 }];
        self.outside(source, endpoint, &some)?;
        match self.is_distinct() {
            true => Ok(()),
            false => self.statements(source, endpoint, &some).map(|_| ()),
        }
    }

    /// Returns the form of the statements.
    #[must_use]
    pub(super) fn form(&self) -> GroupFilterForm {
        self.form
    }

    /// Returns true if all conditions on groups are exact.
    #[must_use]
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Returns true if there are no aggregates, as for DISTINCT.
    #[must_use]
    pub(super) fn is_distinct(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the number of columns that an answer has per group.
    #[must_use]
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Returns a scan of the keys alone.
    #[must_use]
    pub(super) fn keys_of(&self, source: &S3SelectSource) -> S3SelectSource {
        let keys = self.keys.iter();
        let keys = keys.map(|key| ProjectionExpr::new(Arc::clone(&key.expr), key.name.clone()));
        source.computing(&ProjectionExprs::new(keys))
    }

    /// Returns the condition that is TRUE for a group's rows, translated for the store; `None` if that is impossible.
    #[must_use]
    pub(super) fn condition(&self, source: &S3SelectSource, group: &Group) -> Option<Pushed> {
        self.there(source, &is_group(&self.keys, &group.values).ok()?)
    }

    fn there(&self, source: &S3SelectSource, here: &Arc<dyn PhysicalExpr>) -> Option<Pushed> {
        match self.form {
            GroupFilterForm::Case => {
                let there = source.translator().condition(here)?;
                (there.exactness == Exactness::Exact).then_some(there)
            }
            GroupFilterForm::Where => source.translator().filter(here),
        }
    }

    /// Returns the rows of a scan that are in none of some groups.
    ///
    /// # Errors
    ///
    /// The reason why the store cannot exclude the others.
    pub(super) fn outside(
        &self,
        source: &S3SelectSource,
        endpoint: &Endpoint,
        groups: &[Group],
    ) -> Result<GroupScan, Reason> {
        let not_in = source.profile().syntax.not_in;
        let filter = outside(&self.keys, groups, source.file_schema(), not_in);
        self.group_scan(source, endpoint, filter)
    }

    /// Returns the rows of a scan that are in one of some groups.
    ///
    /// # Errors
    ///
    /// The reason why the store cannot exclude the others.
    pub(super) fn inside(
        &self,
        source: &S3SelectSource,
        endpoint: &Endpoint,
        groups: &[Group],
    ) -> Result<GroupScan, Reason> {
        self.group_scan(source, endpoint, inside(&self.keys, groups, source.file_schema()))
    }

    fn group_scan(
        &self,
        source: &S3SelectSource,
        endpoint: &Endpoint,
        filter: Result<Arc<dyn PhysicalExpr>>,
    ) -> Result<GroupScan, Reason> {
        let filter = filter.map_err(|error| Reason::new(error.to_string()))?;
        let rough = self.form == GroupFilterForm::Where
            && source.translate(endpoint, &filter)?.exactness != Exactness::Exact;
        if !rough {
            return Ok(GroupScan {
                source: source.with_exact_filter(endpoint, filter)?,
                check: None,
            });
        }
        let check = over_output(source.output(), &filter);
        let check = check.map_err(|error| Reason::new(error.to_string()))?;
        let check = check
            .ok_or_else(|| Reason::new("the keys cannot be told from what the scan returns"))?;
        Ok(GroupScan { source: source.with_arriving_filter(filter), check: Some(check) })
    }

    /// Returns the statement for the states of some groups, with a CASE for each, and the number of all rows.
    #[must_use]
    fn statement(&self, source: &S3SelectSource, groups: &[Expr]) -> Statement {
        let of_groups = groups.iter().flat_map(|group| self.of_group(group));
        let items = of_groups.chain([Expr::count_star()]).collect::<Vec<_>>();
        let rows = StateExpr::rows();
        let columns = groups.iter().flat_map(|_| &self.columns).chain([&rows]);
        let fields = columns.enumerate().map(|(number, column)| column.field(number));
        let answer = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        Statement::aggregate(items, source.store_filter(), answer)
    }

    fn of_group<'a>(&'a self, group: &'a Expr) -> impl Iterator<Item = Expr> + 'a {
        self.columns.iter().map(move |column| column.over(Some(group)))
    }

    /// Returns the statement for the states of one group, whose rows satisfy `group`.
    fn of_one(&self, source: &S3SelectSource, group: Expr) -> Statement {
        let items = self.columns.iter().map(|column| column.over(None)).collect();
        let filter = source.store_filter().into_iter().chain([group]).reduce(Expr::and);
        let fields = self.columns.iter().enumerate();
        let fields = fields.map(|(number, column)| column.field(number));
        let answer = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        Statement::aggregate(items, filter, answer)
    }

    /// Returns the statement for a group that is not known yet, for display.
    #[must_use]
    pub(super) fn example(&self, source: &S3SelectSource) -> Statement {
        let name = Name { text: "in_group".to_owned(), quoted: false };
        let group = Expr::Path(vec![PathStep::Field(name)]);
        match self.form {
            GroupFilterForm::Case => self.statement(source, &[group]),
            GroupFilterForm::Where => self.of_one(source, group),
        }
    }

    /// Returns the statement that counts all rows, if the other statements do not.
    #[must_use]
    pub(super) fn total(&self, source: &S3SelectSource) -> Option<Statement> {
        (self.form == GroupFilterForm::Where).then(|| self.statement(source, &[]))
    }

    /// Distributes groups over as few statements as possible that the endpoint accepts.
    ///
    /// # Errors
    ///
    /// The reason why some group cannot be requested.
    pub(super) fn statements(
        &self,
        source: &S3SelectSource,
        endpoint: &Endpoint,
        groups: &[Group],
    ) -> Result<Vec<GroupBatch>, Reason> {
        let mut conditions = Vec::with_capacity(groups.len());
        for group in groups {
            let condition = self.condition(source, group);
            conditions.push(condition.ok_or("a group cannot be told from others")?);
        }
        if let Some(total) = self.total(source) {
            let none = conditions.len()..conditions.len();
            let of_groups =
                conditions.into_iter().enumerate().map(|(index, condition)| GroupBatch {
                    groups: index..index + 1,
                    statement: self.of_one(source, condition.expr),
                    exact: condition.exactness == Exactness::Exact,
                });
            let total = GroupBatch { groups: none, statement: total, exact: true };
            let statements: Vec<_> = [total].into_iter().chain(of_groups).collect();
            for GroupBatch { statement, .. } in &statements {
                endpoint.takes(statement, source.format())?;
            }
            return Ok(statements);
        }
        let conditions: Vec<_> = conditions.into_iter().map(|condition| condition.expr).collect();
        let limit = source.profile().max_expression_bytes;
        let fixed = self.statement(source, &[]).sql().len();
        let mut shares: Vec<Range<usize>> = Vec::new();
        let (mut start, mut bytes, mut columns) = (0, fixed, 0);
        for (index, condition) in conditions.iter().enumerate() {
            let more: usize = self.of_group(condition).map(|it| it.to_string().len() + 2).sum();
            let full = bytes + more > limit || columns + self.columns.len() > MOST_COLUMNS;
            if full && index > start {
                shares.push(start..index);
                (start, bytes, columns) = (index, fixed, 0);
            }
            bytes += more;
            columns += self.columns.len();
        }
        shares.push(start..conditions.len());
        let statements = shares.into_iter().map(|share| {
            let statement = self.statement(source, &conditions[share.clone()]);
            endpoint.takes(&statement, source.format())?;
            Ok(GroupBatch { groups: share, statement, exact: true })
        });
        statements.collect()
    }

    /// Converts an answer about some groups.
    ///
    /// # Errors
    ///
    /// If the answer is malformed; the text describes the error.
    pub(super) fn read(
        &self,
        groups: &[Group],
        statement: &Statement,
        batches: &[RecordBatch],
    ) -> Result<GroupAnswer, String> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if rows != 1 {
            return Err(format!("an answer of {rows} rows, where aggregates are one"));
        }
        let answer = concat_batches(&statement.answer, batches).map_err(|e| e.to_string())?;
        for (field, column) in answer.schema_ref().fields().iter().zip(answer.columns()) {
            // Columns that are not nullable hold counts.
            if !field.is_nullable()
                && (column.is_null(0) || column.as_primitive::<Int64Type>().value(0) < 0)
            {
                return Err(format!("an impossible count in column {}", field.name()));
            }
        }
        let count = |column: &ArrayRef| column.as_primitive::<Int64Type>().value(0).unsigned_abs();
        let counts_all = self.form == GroupFilterForm::Case || groups.is_empty();
        let all = answer.columns().last().filter(|_| counts_all).map(count);
        let (mut present, mut inside) = (Vec::new(), 0_u64);
        for (number, group) in groups.iter().enumerate() {
            let first = number * self.columns.len();
            let rows = count(answer.column(first));
            inside = inside.saturating_add(rows);
            if rows > 0 {
                present.push((group, first));
            }
        }
        let states = self.rows_of(&answer, &present).map_err(|e| e.to_string())?;
        Ok(GroupAnswer { states, inside, rows: all })
    }

    fn rows_of(&self, answer: &RecordBatch, present: &[(&Group, usize)]) -> Result<RecordBatch> {
        if present.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let groups: Vec<&Group> = present.iter().map(|(group, _)| *group).collect();
        let mut columns = self.key_columns(&groups)?;
        let exact = CastOptions { safe: false, ..CastOptions::default() };
        let fields = self.schema.fields().iter().skip(self.keys.len());
        for (state, field) in self.states.iter().zip(fields) {
            let values: Vec<&dyn Array> =
                present.iter().map(|(_, first)| answer.column(first + state).as_ref()).collect();
            let mut values = concat(&values)?;
            if field.is_nullable() && !self.columns[*state].is_nullable() {
                // DataFusion divides by a count of 0 unless it is NULL, as in its own states of AVG.
                let counts = values.as_primitive::<Int64Type>().iter();
                let counts = counts.map(|count| count.filter(|count| *count != 0));
                values = Arc::new(counts.collect::<Int64Array>());
            }
            columns.push(cast_with_options(&values, field.data_type(), &exact)?);
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    /// Returns groups without states as rows.
    ///
    /// # Errors
    ///
    /// If a value does not have its key's type.
    pub(super) fn rows_without_states(&self, groups: &[Group]) -> Result<RecordBatch> {
        if groups.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let columns = self.key_columns(&groups.iter().collect::<Vec<_>>())?;
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    fn key_columns(&self, groups: &[&Group]) -> Result<Vec<ArrayRef>> {
        let column = |key: usize| {
            ScalarValue::iter_to_array(groups.iter().map(|group| group.values[key].clone()))
        };
        (0..self.keys.len()).map(column).collect()
    }
}
