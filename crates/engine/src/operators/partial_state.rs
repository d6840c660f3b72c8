//! The partial states of aggregates that the store computes, over all rows of a scan or over those of one group.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::Result;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use sluicegate_s3select::capabilities::{Exactness, Operation, TypeClass};
use sluicegate_s3select::dialect::ast::{Aggregate, Expr, Literal};

use crate::context::choice::Reason;
use crate::engine::explain::aggregate_in_sql;
use crate::pushdown::predicate::Translator;
use crate::scan::s3_scan::as_select_scan;
use crate::scan::s3_select::S3SelectSource;

/// A partial aggregation of all rows that a Select scan returns. Only projections lie between the two.
#[derive(Debug)]
pub struct ScanAggregate<'a> {
    /// The node of the scan.
    pub scan: &'a Arc<dyn ExecutionPlan>,
    /// The configuration of the scan.
    pub config: &'a FileScanConfig,
    /// The source of the scan.
    pub source: &'a S3SelectSource,
    /// The projections from the aggregation's input down to the table's columns.
    projections: Vec<ProjectionExprs>,
}

impl<'a> ScanAggregate<'a> {
    /// Finds the scan of a partial aggregation.
    ///
    /// # Errors
    ///
    /// The reason why the store does not process exactly the rows that are aggregated.
    pub fn from_partial(partial: &'a AggregateExec) -> Result<Self, Reason> {
        let mut projections = Vec::new();
        let mut below = partial.input();
        while let Some(projection) = below.downcast_ref::<ProjectionExec>() {
            projections.push(ProjectionExprs::new(projection.expr().iter().cloned()));
            below = projection.input();
        }
        let filtered_here = Reason::from("a filter is evaluated here");
        if below.is::<FilterExec>() {
            return Err(filtered_here);
        }
        let Some((config, source)) = as_select_scan(below.as_ref()) else {
            return Err("the store cannot run the scan".into());
        };
        if source.filters().iter().any(|f| f.there.exactness != Exactness::Exact) {
            return Err(filtered_here);
        }
        if config.limit.is_some() {
            return Err("a limit counts the rows before they are aggregated".into());
        }
        projections.push(source.output().clone());
        Ok(Self { scan: below, config, source, projections })
    }

    /// Rewrites an expression over the aggregation's input to one over the table's columns.
    ///
    /// # Errors
    ///
    /// If it names a column that is not there.
    pub fn down(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        self.projections.iter().try_fold(expr, |expr, projection| projection.unproject_expr(&expr))
    }

    /// Returns the translator for expressions over the table's columns.
    #[must_use]
    pub fn translator(&self) -> Translator<'a> {
        self.source.translator()
    }
}

/// A column of partial states.
#[derive(Debug, Clone, PartialEq)]
pub struct StateExpr {
    function: Aggregate,
    /// The FILTER clause: the condition on rows that count.
    filter: Option<Expr>,
    /// The aggregated value, or `None` if rows are counted.
    value: Option<Expr>,
    data_type: DataType,
    nullable: bool,
}

impl StateExpr {
    /// Returns a count of all rows.
    #[must_use]
    pub fn rows() -> Self {
        Self {
            function: Aggregate::Count,
            filter: None,
            value: None,
            data_type: DataType::Int64,
            nullable: false,
        }
    }

    /// Returns the state of all rows, or of the rows for which a condition is TRUE. Other rows contribute NULL.
    #[must_use]
    pub fn over(&self, rows: Option<&Expr>) -> Expr {
        let counted = rows.into_iter().chain(&self.filter).cloned().reduce(Expr::and);
        let arg = match (counted, &self.value) {
            (None, None) => return Expr::count_star(),
            (None, Some(value)) => value.clone(),
            (Some(when), None) => case(when, Expr::Literal(Literal::Int(1))),
            (Some(when), Some(value)) => case(when, value.clone()),
        };
        // For an instant the day in UTC counts; the answer is read like a field with that text.
        Expr::Aggregate { function: self.function, arg: Some(Box::new(arg)) }
    }

    /// Returns true if the state of no rows is NULL. The state of a count is 0.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// Returns true if the state is a text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    }

    /// Returns the type of the state.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Returns the column of an answer with this state. Counts are not nullable.
    #[must_use]
    pub fn field(&self, number: usize) -> Field {
        Field::new(format!("_{}", number + 1), self.data_type.clone(), self.nullable)
    }
}

fn case(when: Expr, then: Expr) -> Expr {
    Expr::Case { operand: None, branches: vec![(when, then)], otherwise: None }
}

/// The states of all aggregates of a partial aggregation. A state that several of them need is requested once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartialStates {
    /// The states to request.
    pub columns: Vec<StateExpr>,
    /// For each state of the aggregation's schema, without the groups, its index in `columns`.
    pub states: Vec<usize>,
}

impl PartialStates {
    /// Returns the states of the aggregates of `partial`; the inner error is the reason if the store cannot compute
    /// each of them exactly. It can compute COUNT, SUM, AVG, MIN and MAX, with or without FILTER.
    ///
    /// MIN and MAX of doubles are computed locally, because the two sides do not agree on NaN and -0.0.
    ///
    /// # Errors
    ///
    /// If an expression does not fit its input.
    pub fn try_new(
        partial: &AggregateExec,
        over: &ScanAggregate<'_>,
    ) -> Result<Result<Self, Reason>> {
        let mut answer = StateColumns { translator: over.translator(), states: Self::default() };
        for (aggregate, filter) in partial.aggr_expr().iter().zip(partial.filter_expr()) {
            let args = aggregate.expressions().into_iter().map(|arg| over.down(arg));
            let args = args.collect::<Result<Vec<_>>>()?;
            let filter = filter.clone().map(|filter| over.down(filter)).transpose()?;
            let Some(columns) = answer.add_aggregate(aggregate, &args, filter.as_ref()) else {
                let name = aggregate_in_sql(aggregate, filter.as_ref());
                let profile = &over.source.profile().name;
                let why =
                    format!("{name} is not known to be exact in a store of profile `{profile}`");
                return Ok(Err(why.into()));
            };
            answer.states.states.extend(columns);
        }
        let groups = partial.group_expr().expr().len();
        if groups + answer.states.states.len() != partial.schema().fields().len() {
            return Ok(Err("the aggregates keep further state here".into()));
        }
        Ok(Ok(answer.states))
    }
}

struct StateColumns<'a> {
    translator: Translator<'a>,
    states: PartialStates,
}

impl StateColumns<'_> {
    /// Returns the columns that make up an aggregate's partial state, or `None` if the store cannot compute it.
    fn add_aggregate(
        &mut self,
        aggregate: &AggregateFunctionExpr,
        args: &[Arc<dyn PhysicalExpr>],
        filter: Option<&Arc<dyn PhysicalExpr>>,
    ) -> Option<Vec<usize>> {
        if aggregate.is_distinct() || aggregate.ignore_nulls() || !aggregate.order_bys().is_empty()
        {
            return None;
        }
        let [arg] = args else { return None };
        let filter = match filter {
            Some(filter) => {
                let pushed = self.translator.condition(filter)?;
                (pushed.exactness == Exactness::Exact).then_some(Some(pushed.expr))?
            }
            None => None,
        };
        let state_types: Vec<DataType> =
            aggregate.state_fields().ok()?.iter().map(|field| field.data_type().clone()).collect();
        match (aggregate.fun().name(), state_types.as_slice()) {
            ("count", [DataType::Int64]) => Some(vec![self.count(arg, filter)?]),
            ("sum", [of]) => {
                // Sums of whole numbers are wider between the parts of an aggregation.
                let field = aggregate.field();
                let added =
                    if *field.data_type() == DataType::Int64 { field.data_type() } else { of };
                Some(vec![self.fold(Aggregate::Sum, arg, filter, added, of)?])
            }
            ("min", [of]) => Some(vec![self.fold(Aggregate::Min, arg, filter, of, of)?]),
            ("max", [of]) => Some(vec![self.fold(Aggregate::Max, arg, filter, of, of)?]),
            ("avg", [DataType::UInt64, of]) => {
                let count = self.count(arg, filter.clone())?;
                let sum = self.fold(Aggregate::Sum, arg, filter, of, of)?;
                Some(vec![count, sum])
            }
            _ => None,
        }
    }

    fn count(&mut self, arg: &Arc<dyn PhysicalExpr>, filter: Option<Expr>) -> Option<usize> {
        let constant = matches!(self.translator.exact_value(arg), Some(Expr::Literal(literal)) if literal != Literal::Null);
        let value = if constant { None } else { Some(self.translator.presence(arg)?) };
        let operation = match (&value, &filter) {
            (None, None) => Operation::CountRows,
            _ => Operation::Count,
        };
        let trusted = self.translator.exactness(operation, TypeClass::Int) == Exactness::Exact;
        trusted.then(|| self.column(StateExpr { filter, value, ..StateExpr::rows() }))
    }

    /// Adds the column of a SUM, MIN or MAX of values of the type `of`, whose state has the type `state`.
    fn fold(
        &mut self,
        function: Aggregate,
        arg: &Arc<dyn PhysicalExpr>,
        filter: Option<Expr>,
        of: &DataType,
        state: &DataType,
    ) -> Option<usize> {
        let operation = if function == Aggregate::Sum { Operation::Sum } else { Operation::MinMax };
        let class = match (function, of) {
            (_, DataType::Int64) => TypeClass::Int,
            (
                Aggregate::Min | Aggregate::Max,
                DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32,
            ) => TypeClass::Int,
            (_, DataType::Decimal128(_, scale)) if *scale >= 0 => TypeClass::Decimal,
            (Aggregate::Sum, DataType::Float64) => TypeClass::Float,
            (
                Aggregate::Min | Aggregate::Max,
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View,
            ) => TypeClass::String,
            (Aggregate::Min | Aggregate::Max, DataType::Date32) => TypeClass::Date,
            _ => return None,
        };
        if self.translator.exactness(operation, class) != Exactness::Exact {
            return None;
        }
        let value = Some(self.translator.exact_value(arg)?);
        let data_type = state.clone();
        Some(self.column(StateExpr { function, filter, value, data_type, nullable: true }))
    }

    fn column(&mut self, column: StateExpr) -> usize {
        let columns = &mut self.states.columns;
        columns.iter().position(|known| *known == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        })
    }
}
