//! Plans an aggregate without GROUP BY: locally, over any strategy of the scan, or in the store.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileSource;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;

use super::choose::{EndpointChoice, Plan};
use super::key_paths::KeyPaths;
use super::scan;
use crate::context::choice::{Decision, Journal, Reason};
use crate::context::config;
use crate::context::config::{Scan, SluiceOptions};
use crate::engine::explain::aggregate_in_sql;
use crate::estimate::demand::{aggregate_demand, evaluated_locally, of_aggregate};
use crate::operators::partial_state::{PartialStates, ScanAggregate};
use crate::operators::s3_aggregate::{S3AggregateExec, StateColumn, replace_scan};
use crate::pushdown::statement::Statement;
use crate::scan::s3_scan::as_select_scan;
use crate::store::chooser::{ForcedStrategy, OperatorChoice, Strategy, StrategyPlan};
use crate::store::endpoint::Endpoint;

/// The strategy that computes the aggregates in the store.
const STORE: &str = "store";

/// Returns the choice for a partial aggregation without groups above a scan of a bucket, with only projections and
/// filters in between. Its local strategies are those of the scan, so the choice includes that of the scan.
pub(super) fn question(
    node: &Plan,
    _above: Option<&Plan>,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Result<Option<EndpointChoice>> {
    let Some(partial) = node.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let plain = *partial.mode() == AggregateMode::Partial
        && partial.group_expr().is_true_no_grouping()
        && partial.limit_options().is_none();
    if !plain {
        note_unsupported(node, partial, options);
        return Ok(None);
    }
    let partial = Arc::new(partial.clone());
    let Some(EndpointChoice { endpoint, question: of_scan }) =
        question_below(node, paths, options)?
    else {
        note_unsupported(node, &partial, options);
        return Ok(None);
    };
    let ours = SluiceOptions::from_options(options);
    let store = match ours.aggregate {
        config::Aggregate::Here => Err(Reason::from("sluice.aggregate = 'here'")),
        _ => in_store(&partial, &of_scan, &endpoint, options)?,
    };
    let mut ways = Vec::new();
    let here = evaluated_locally(node, of_aggregate(&partial), options);
    for way in of_scan.ways {
        let strategy = way.strategy;
        let offer = match way.offer {
            Ok(StrategyPlan { steps, statement, build }) => Ok(StrategyPlan {
                steps: steps.evaluating(here),
                statement,
                build: replace_scan(&partial, build)?,
            }),
            Err(why) => Err(why),
        };
        ways.push(Strategy { strategy, offer });
    }
    // The first of equal strategies wins. Aggregating in the store comes after the scan's first strategy.
    ways.insert(1.min(ways.len()), Strategy { strategy: STORE, offer: store });
    let forced = match ours.aggregate {
        config::Aggregate::Store => Some(force_store()),
        config::Aggregate::Auto if ours.scan == Scan::Select => of_scan
            .forced
            .map(|forced| ForcedStrategy { strategies: vec![STORE, scan::SELECT], ..forced }),
        _ => of_scan.forced,
    };
    let subject = format!("{} over {}", names(&partial), of_scan.subject);
    let notes = of_scan.notes;
    let question = OperatorChoice { operator: "aggregate", subject, ways, forced, notes };
    Ok(Some(EndpointChoice { endpoint, question }))
}

fn force_store() -> ForcedStrategy {
    ForcedStrategy { setting: "sluice.aggregate = 'store'".to_owned(), strategies: vec![STORE] }
}

/// Returns the aggregates as SQL, separated by commas.
pub(super) fn names(aggregate: &AggregateExec) -> String {
    let each = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
    let names = each.map(|(it, filter)| aggregate_in_sql(it, filter.as_ref()));
    names.collect::<Vec<_>>().join(", ")
}

/// Records the reason why no store can compute an aggregate over a bucket.
fn note_unsupported(node: &Plan, aggregate: &AggregateExec, options: &ConfigOptions) {
    let grouped = !aggregate.group_expr().is_true_no_grouping();
    let lower = matches!(*aggregate.mode(), AggregateMode::Partial | AggregateMode::Single);
    if grouped || !lower || !scan::reads_bucket(node, options) {
        return;
    }
    Journal::note(options, || {
        let why = Reason::from("its input is more than a scan of one table");
        let forced = SluiceOptions::from_options(options).aggregate == config::Aggregate::Store;
        let unmet = forced.then(|| force_store().unmet(&why));
        Decision { unmet, ..Decision::refused("aggregate", STORE, names(aggregate), why) }
    });
}

/// Returns the choice of the scan below a node, with only projections and filters in between.
pub(super) fn question_below(
    node: &Plan,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Result<Option<EndpointChoice>> {
    let mut above = node;
    loop {
        let Some(below) = above.children().into_iter().next() else { return Ok(None) };
        if !below.is::<ProjectionExec>() && !below.is::<FilterExec>() {
            return scan::question(below, Some(above), paths, options);
        }
        above = below;
    }
}

/// Checks that the store can run a scan. The error is the reason why it cannot.
pub(super) fn possible(of_scan: &OperatorChoice<Plan>) -> Result<(), Reason> {
    match of_scan.ways.iter().find(|way| way.strategy == scan::SELECT) {
        Some(Strategy { offer: Err(why), .. }) => Err(why.clone()),
        Some(Strategy { offer: Ok(_), .. }) => Ok(()),
        None => Err("the store cannot run the scan".into()),
    }
}

/// Returns the reason why a filter between an aggregation and its scan is evaluated locally, if there is one.
pub(super) fn filtered_locally(
    partial: &AggregateExec,
    endpoint: &Endpoint,
) -> Result<Option<Reason>> {
    let mut below = partial.input();
    while let Some(projection) = below.downcast_ref::<ProjectionExec>() {
        below = projection.input();
    }
    let Some(filter) = below.downcast_ref::<FilterExec>() else { return Ok(None) };
    let Some((_, source)) = as_select_scan(filter.input().as_ref()) else { return Ok(None) };
    let reasons = scan::filters_locally(source, endpoint, Some(below))?;
    Ok(reasons.into_iter().next().map(Reason::new))
}

/// Returns the aggregation in the store, or the reason why the store cannot compute every partial state exactly.
/// COUNT, SUM, AVG, MIN and MAX are supported, with or without FILTER.
///
/// MIN and MAX of doubles are computed locally, because stores differ on NaN and -0.0.
fn in_store(
    partial: &Arc<AggregateExec>,
    of_scan: &OperatorChoice<Plan>,
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<Result<StrategyPlan<Plan>, Reason>> {
    if let Err(why) = possible(of_scan) {
        return Ok(Err(why));
    }
    if let Some(why) = filtered_locally(partial, endpoint)? {
        return Ok(Err(why));
    }
    let over = match ScanAggregate::from_partial(partial) {
        Ok(over) => over,
        Err(why) => return Ok(Err(why)),
    };
    let (config, source) = (over.config, over.source);
    let states = match PartialStates::try_new(partial, &over)? {
        Ok(states) => states,
        Err(why) => return Ok(Err(why)),
    };
    let items = states.columns.iter().map(|column| column.over(None)).collect();
    let fields = states.columns.iter().enumerate().map(|(number, column)| column.field(number));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let states = states.states.into_iter().map(|answer| StateColumn { answer }).collect();
    let statement = Statement::aggregate(items, source.store_filter(), schema);
    if let Err(why) = endpoint.takes(&statement, source.format()) {
        return Ok(Err(why));
    }
    let config = source
        .repartitioned(options.execution.target_partitions, 0, None, config)?
        .unwrap_or_else(|| config.clone());
    let exec = S3AggregateExec::new(config, statement, states, Arc::clone(partial));
    let demand = aggregate_demand(exec.shape()?, options);
    let Some(select) = demand.select() else {
        return Ok(Err(Reason::from("the store cannot run the scan")));
    };
    let statement = Some(exec.statement().sql());
    Ok(Ok(StrategyPlan { steps: select.steps, statement, build: Arc::new(exec) }))
}
