//! An aggregate: computed here, over either scan, or in the store if it has no GROUP BY.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileSource;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use sluicegate_s3select::dialect::ast::{Aggregate, Expr, Literal};
use sluicegate_s3select::profile::{Exactness, Operation, TypeClass};

use super::choose::{Asked, Plan};
use super::scan;
use crate::choice::{Decision, Forced, Journal, Offer, Question, Way, Why};
use crate::config::{self, Scan, SluiceOptions};
use crate::datasource::predicate::Translator;
use crate::datasource::s3_scan::as_select_scan;
use crate::datasource::statement::Statement;
use crate::endpoint::Endpoint;
use crate::physical_plan::s3_aggregate::{S3AggregateExec, StateColumn, replace_scan};
use crate::profile::aggregate_demand;

/// Computing the aggregates in the store.
const STORE: &str = "store";

/// Where a partial aggregation is computed, if it has no groups and stands above a scan of a bucket,
/// with nothing but projections and filters between. Its ways here are those of the scan, so the
/// question subsumes that of the scan.
pub(super) fn question(
    node: &Plan,
    _above: Option<&Plan>,
    options: &ConfigOptions,
) -> Result<Option<Asked>> {
    let Some(partial) = node.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let plain = *partial.mode() == AggregateMode::Partial
        && partial.group_expr().is_true_no_grouping()
        && partial.limit_options().is_none();
    if !plain {
        note_unsupported(node, partial, options);
        return Ok(None);
    }
    let partial = Arc::new(partial.clone());
    let mut above = node;
    let mut below = partial.input();
    while below.is::<ProjectionExec>() || below.is::<FilterExec>() {
        let Some(child) = below.children().into_iter().next() else { return Ok(None) };
        (above, below) = (below, child);
    }
    let Some(Asked { endpoint, question: of_scan }) = scan::question(below, Some(above), options)?
    else {
        note_unsupported(node, &partial, options);
        return Ok(None);
    };
    let ours = SluiceOptions::of(options);
    let store = match ours.aggregate {
        config::Aggregate::Here => Err(Why::from("sluice.aggregate = 'here'")),
        _ => in_store(&partial, below, &of_scan, &endpoint, options)?,
    };
    let mut ways = Vec::new();
    for way in of_scan.ways {
        let strategy = way.strategy;
        let offer = match way.offer {
            Ok(Offer { steps, statement, build }) => {
                Ok(Offer { steps, statement, build: replace_scan(&partial, build)? })
            }
            Err(why) => Err(why),
        };
        ways.push(Way { strategy, offer });
    }
    // Of equals the first wins: the objects are only fetched if that is better.
    ways.insert(1.min(ways.len()), Way { strategy: STORE, offer: store });
    let forced = match ours.aggregate {
        config::Aggregate::Store => Some(force_store()),
        config::Aggregate::Auto if ours.scan == Scan::Select => {
            of_scan.forced.map(|forced| Forced { strategies: vec![STORE, scan::SELECT], ..forced })
        }
        _ => of_scan.forced,
    };
    let subject = format!("{} over {}", names(&partial), of_scan.subject);
    let notes = of_scan.notes;
    let question = Question { operator: "aggregate", subject, ways, forced, notes };
    Ok(Some(Asked { endpoint, question }))
}

fn force_store() -> Forced {
    Forced { setting: "sluice.aggregate = 'store'".to_owned(), strategies: vec![STORE] }
}

fn names(aggregate: &AggregateExec) -> String {
    let names: Vec<_> = aggregate.aggr_expr().iter().map(|it| it.name()).collect();
    names.join(", ")
}

/// Records why an aggregate over a bucket cannot be computed in the store, whatever the store.
/// DISTINCT, which is planned as an aggregate without functions, is not worth a word.
fn note_unsupported(node: &Plan, aggregate: &AggregateExec, options: &ConfigOptions) {
    let grouped = !aggregate.group_expr().is_true_no_grouping();
    let lower = matches!(*aggregate.mode(), AggregateMode::Partial | AggregateMode::Single);
    if !lower || aggregate.aggr_expr().is_empty() || !scan::reads_bucket(node, options) {
        return;
    }
    Journal::note(options, || {
        let why = match grouped {
            true => Why::from("S3 Select has no GROUP BY"),
            false => Why::from("its input is more than a scan of one table"),
        };
        let mut subject = names(aggregate);
        if grouped {
            let keys = aggregate.group_expr().expr().iter().map(|(_, name)| name.as_str());
            subject += &format!(" by {}", keys.collect::<Vec<_>>().join(", "));
        }
        let forced = SluiceOptions::of(options).aggregate == config::Aggregate::Store;
        let unmet = forced.then(|| force_store().unmet(&why));
        Decision { unmet, ..Decision::refused("aggregate", STORE, subject, why) }
    });
}

/// The aggregation in the store, or why the store cannot compute every partial state exactly:
/// COUNT, SUM, AVG, MIN and MAX it can, with or without FILTER.
///
/// MIN and MAX of doubles stay here, because the two sides do not agree on NaN and -0.0.
fn in_store(
    partial: &Arc<AggregateExec>,
    scan: &Plan,
    of_scan: &Question<Plan>,
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<Result<Offer<Plan>, Why>> {
    let Some((config, source)) = as_select_scan(scan.as_ref()) else {
        let select = of_scan.ways.iter().find(|way| way.strategy == scan::SELECT);
        let why = select.and_then(|way| way.offer.as_ref().err()).cloned();
        return Ok(Err(why.unwrap_or_else(|| Why::from("the store cannot run the scan"))));
    };
    if let Some(Way { offer: Err(why), .. }) =
        of_scan.ways.iter().find(|way| way.strategy == scan::SELECT)
    {
        return Ok(Err(why.clone()));
    }
    // From the aggregate's input down to the scan: projections, to be seen through.
    let mut projections = Vec::new();
    let mut below = partial.input();
    while let Some(projection) = below.downcast_ref::<ProjectionExec>() {
        projections.push(ProjectionExprs::new(projection.expr().iter().cloned()));
        below = projection.input();
    }
    let filtered_here = below.is::<FilterExec>()
        || source.filters().iter().any(|f| f.there.exactness != Exactness::Exact);
    if filtered_here {
        return Ok(Err(Why::from("a filter is evaluated here")));
    }
    if config.limit.is_some() {
        return Ok(Err(Why::from("a limit counts the rows before they are aggregated")));
    }
    projections.push(source.output().clone());
    let translator = Translator::new(source.profile(), source.format().style, source.file_schema());
    let mut answer = Answer { translator, items: Vec::new(), fields: Vec::new() };
    let mut states = Vec::new();
    for (aggregate, filter) in partial.aggr_expr().iter().zip(partial.filter_expr()) {
        let down = |expr: Arc<dyn PhysicalExpr>| {
            projections.iter().try_fold(expr, |expr, projection| projection.unproject_expr(&expr))
        };
        let args = aggregate.expressions().into_iter().map(down).collect::<Result<Vec<_>>>()?;
        let filter = filter.clone().map(down).transpose()?;
        match answer.states(aggregate, &args, filter.as_ref()) {
            Some(columns) => {
                states.extend(columns.into_iter().map(|answer| StateColumn { answer }))
            }
            None => {
                let (name, profile) = (aggregate.name(), &source.profile().name);
                let why =
                    format!("{name} is not known to be exact in a store of profile `{profile}`");
                return Ok(Err(Why::new(why)));
            }
        }
    }
    if states.len() != partial.schema().fields().len() {
        return Ok(Err(Why::from("the aggregates keep further state here")));
    }
    let schema = Arc::new(Schema::new(answer.fields));
    let statement = Statement::aggregate(answer.items, source.store_filter(), schema);
    if let Err(why) = endpoint.takes(&statement, source.format()) {
        return Ok(Err(why));
    }
    let config = source
        .repartitioned(options.execution.target_partitions, 0, None, config)?
        .unwrap_or_else(|| config.clone());
    let exec = S3AggregateExec::new(config, statement, states, Arc::clone(partial));
    let demand = aggregate_demand(&exec)?;
    let Some(select) = demand.select() else {
        return Ok(Err(Why::from("the store cannot run the scan")));
    };
    let statement = Some(exec.statement().sql());
    Ok(Ok(Offer { steps: select.steps, statement, build: Arc::new(exec) }))
}

/// The answer's columns so far; equal expressions are asked once.
struct Answer<'a> {
    translator: Translator<'a>,
    items: Vec<Expr>,
    fields: Vec<Field>,
}

impl Answer<'_> {
    /// The columns that make up an aggregate's partial state; `None` if the store cannot.
    fn states(
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
            ("sum", [of]) => Some(vec![self.fold(Aggregate::Sum, arg, filter, of)?]),
            ("min", [of]) => Some(vec![self.fold(Aggregate::Min, arg, filter, of)?]),
            ("max", [of]) => Some(vec![self.fold(Aggregate::Max, arg, filter, of)?]),
            ("avg", [DataType::UInt64, of]) => {
                let count = self.count(arg, filter.clone())?;
                let sum = self.fold(Aggregate::Sum, arg, filter, of)?;
                Some(vec![count, sum])
            }
            _ => None,
        }
    }

    fn count(&mut self, arg: &Arc<dyn PhysicalExpr>, filter: Option<Expr>) -> Option<usize> {
        let constant = matches!(self.translator.exact_value(arg), Some(Expr::Literal(literal)) if literal != Literal::Null);
        let (expr, operation) = match (constant, filter) {
            (true, None) => (Expr::count_star(), Operation::CountRows),
            (true, Some(filter)) => {
                let one = Expr::Literal(Literal::Int(1));
                (aggregate(Aggregate::Count, case(filter, one)), Operation::Count)
            }
            (false, filter) => {
                let value = self.translator.presence(arg)?;
                (aggregate(Aggregate::Count, under(filter, value)), Operation::Count)
            }
        };
        let trusted = self.translator.trust(operation, TypeClass::Int) == Exactness::Exact;
        trusted.then(|| self.column(expr, DataType::Int64, false))
    }

    fn fold(
        &mut self,
        function: Aggregate,
        arg: &Arc<dyn PhysicalExpr>,
        filter: Option<Expr>,
        of: &DataType,
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
        if self.translator.trust(operation, class) != Exactness::Exact {
            return None;
        }
        let value = self.translator.exact_value(arg)?;
        // Of an instant the day in UTC counts, and it is read as a field with that text is.
        let expr = aggregate(function, under(filter, value));
        Some(self.column(expr, of.clone(), true))
    }

    fn column(&mut self, expr: Expr, data_type: DataType, nullable: bool) -> usize {
        let known = self.items.iter().zip(&self.fields);
        let found = known
            .enumerate()
            .find(|(_, (item, field))| **item == expr && *field.data_type() == data_type);
        if let Some((index, _)) = found {
            return index;
        }
        let index = self.items.len();
        self.items.push(expr);
        self.fields.push(Field::new(format!("_{}", index + 1), data_type, nullable));
        index
    }
}

fn aggregate(function: Aggregate, arg: Expr) -> Expr {
    Expr::Aggregate { function, arg: Some(Box::new(arg)) }
}

/// FILTER as the dialect expresses it: rows that do not count contribute NULL.
fn under(filter: Option<Expr>, value: Expr) -> Expr {
    match filter {
        Some(filter) => case(filter, value),
        None => value,
    }
}

fn case(when: Expr, then: Expr) -> Expr {
    Expr::Case { operand: None, branches: vec![(when, then)], otherwise: None }
}
