//! Plans ORDER BY … LIMIT: over all rows of any strategy of the scan, or over those within the bound of a sample,
//! with or without late materialization.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, FileSource};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use sluicegate_costmodel::{Requests, Terms, TopKDemand};

use super::choose::{EndpointChoice, Plan};
use super::key_paths::KeyPaths;
use super::scan;
use crate::context::choice::{Decision, Journal, Reason};
use crate::context::config::{Scan, SluiceOptions, TopK};
use crate::engine::explain::{in_sql, key_in_sql};
use crate::estimate::demand::{best_rows_demand, evaluated_locally, top_k_demand};
use crate::operators::sampling::Sampling;
use crate::operators::sampling::bound::example;
use crate::operators::top_k_sample::TopKSampleExec;
use crate::scan::s3_scan::{S3Scan, as_select_scan};
use crate::scan::s3_select::S3SelectSource;
use crate::store::chooser::{ForcedStrategy, OperatorChoice, Strategy, StrategyPlan};
use crate::store::endpoint::Endpoint;
use sluicegate_guards::sql_types::sql_type;

/// The strategy that sorts fetched rows locally.
const SERVER: &str = "server";
/// The strategy that sorts the rows sent by the store locally.
const FILTERED: &str = "filtered";
/// The strategy that excludes rows by a sample.
const SAMPLING: &str = "sampling";
/// The strategy that excludes rows by a sample, and then by the sort columns of the remaining rows.
const LATE: &str = "late";

/// Returns the choice for a sort with a limit above a scan of a bucket, with only projections and filters in between.
/// The strategies without a sample are those of the scan, so the choice includes that of the scan.
pub(super) fn question(
    node: &Plan,
    _above: Option<&Plan>,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Result<Option<EndpointChoice>> {
    let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(k) = sort.fetch() else { return Ok(None) };
    let ours = SluiceOptions::from_options(options);
    let mut above = node;
    let mut below = sort.input();
    while below.is::<ProjectionExec>() || below.is::<FilterExec>() {
        let Some(child) = below.children().into_iter().next() else { return Ok(None) };
        (above, below) = (below, child);
    }
    let Some(EndpointChoice { endpoint, question: of_scan }) =
        scan::question(below, Some(above), paths, options)?
    else {
        note_unsupported(node, sort, k, options);
        return Ok(None);
    };
    let sampled = sampled(sort, k, below, &of_scan, &endpoint, options)?;
    // A session that forces Select gets the best of its strategies.
    let only_select = ours.top_k == TopK::Auto
        && ours.scan == Scan::Select
        && sampled.iter().any(|way| way.offer.is_ok());
    let forced = match (ours.top_k, ours.scan) {
        (TopK::Auto, _) if only_select => None,
        (TopK::Auto, Scan::Auto) => None,
        (TopK::Auto, Scan::Get) => of_scan.forced.map(|forced| with(forced, SERVER)),
        (TopK::Auto, Scan::Select) => of_scan.forced.map(|forced| with(forced, FILTERED)),
        (TopK::Auto, Scan::Index) => of_scan.forced,
        (top_k, _) => force(top_k),
    };
    // If one of two settings cannot be followed, the other one still is.
    let select_is_possible =
        of_scan.ways.iter().any(|it| it.strategy == scan::SELECT && it.offer.is_ok());
    let sampled_only = matches!(ours.top_k, TopK::Sampling | TopK::Late)
        && ours.scan == Scan::Select
        && select_is_possible;
    let in_turn = sequential_plan(below)?;
    let bounded = match as_select_scan(in_turn.as_ref()) {
        Some(scan) if sampled.iter().any(|way| way.offer.is_ok()) => {
            best_rows_demand(&in_turn, scan, k, options)?.select()
        }
        _ => None,
    };
    // Each row is compared with the worst of the best rows so far.
    let compared = Terms::from(sort.expr().len() as u32);
    let here = evaluated_locally(node, compared, options);
    let of_scan_ways = of_scan.ways.into_iter().map(|way| match way.strategy {
        scan::GET if only_select || sampled_only => {
            Strategy { strategy: SERVER, offer: Err("sluice.scan = 'select'".into()) }
        }
        scan::GET => {
            let offer = way.offer.map(|it| StrategyPlan { steps: it.steps.evaluating(here), ..it });
            Strategy { strategy: SERVER, offer }
        }
        scan::SELECT => {
            let offer = way.offer.map(|offer| StrategyPlan {
                steps: bounded
                    .as_ref()
                    .map_or(offer.steps, |bounded| bounded.steps.clone())
                    .evaluating(here),
                build: Arc::clone(&in_turn),
                ..offer
            });
            Strategy { strategy: FILTERED, offer }
        }
        _ => way,
    });
    let ways = of_scan_ways.chain(sampled).map(|Strategy { strategy, offer }| {
        let offer = match offer {
            Ok(StrategyPlan { steps, statement, build }) => {
                Ok(StrategyPlan { steps, statement, build: over(node, &build)? })
            }
            Err(why) => Err(why),
        };
        Ok(Strategy { strategy, offer })
    });
    let ways = ways.collect::<Result<_>>()?;
    let subject = format!("{} over {}", words(sort, k), of_scan.subject);
    let notes = of_scan.notes;
    let question = OperatorChoice { operator: "top_k", subject, ways, forced, notes };
    Ok(Some(EndpointChoice { endpoint, question }))
}

/// Returns the plan with files that are read in turn, unless the session has more partitions. The best rows of the
/// first files then limit the requests for the others.
fn sequential_plan(plan: &Plan) -> Result<Plan> {
    let in_turn = |node: Plan| {
        let Some((config, source)) = as_select_scan(node.as_ref()) else {
            return Ok(Transformed::no(node));
        };
        let source: Arc<dyn FileSource> = Arc::new(source.sequential());
        let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
        Ok(Transformed::yes(S3Scan::node(config) as Plan))
    };
    Arc::clone(plan).transform_down(in_turn).data()
}

fn with(forced: ForcedStrategy, strategy: &'static str) -> ForcedStrategy {
    ForcedStrategy { strategies: vec![strategy], ..forced }
}

fn force(top_k: TopK) -> Option<ForcedStrategy> {
    let strategy = match top_k {
        TopK::Auto => return None,
        TopK::Server => SERVER,
        TopK::Filtered => FILTERED,
        TopK::Sampling => SAMPLING,
        TopK::Late => LATE,
    };
    Some(ForcedStrategy {
        setting: format!("sluice.top_k = '{top_k}'"),
        strategies: vec![strategy],
    })
}

/// Describes the order, such as `ORDER BY price DESC LIMIT 10`.
fn words(sort: &SortExec, k: usize) -> String {
    let keys = sort.expr().iter().map(key_in_sql).collect::<Vec<_>>().join(", ");
    format!("ORDER BY {keys} LIMIT {k}")
}

/// Records the reason why no sample is taken of input from a bucket that is computed locally before the sort.
fn note_unsupported(node: &Plan, sort: &SortExec, k: usize, options: &ConfigOptions) {
    if !scan::reads_bucket(node, options) {
        return;
    }
    Journal::note(options, || {
        let why = Reason::from("its input is more than a scan of one table");
        let forced = match SluiceOptions::from_options(options).top_k {
            sampled @ (TopK::Sampling | TopK::Late) => force(sampled),
            TopK::Auto | TopK::Server | TopK::Filtered => None,
        };
        let unmet = forced.map(|forced| forced.unmet(&why));
        Decision { unmet, ..Decision::refused("top_k", SAMPLING, words(sort, k), why) }
    });
}

/// Returns the scan with a sample before it, in two strategies, or the reason why a sample cannot exclude rows.
fn sampled(
    sort: &SortExec,
    k: usize,
    scan: &Plan,
    of_scan: &OperatorChoice<Plan>,
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<[Strategy<Plan>; 2]> {
    let refused = |why: Reason| {
        [SAMPLING, LATE].map(|strategy| Strategy { strategy, offer: Err(why.clone()) })
    };
    let select = of_scan.ways.iter().find(|way| way.strategy == scan::SELECT);
    if let Some(Strategy { offer: Err(why), .. }) = select {
        return Ok(refused(why.clone()));
    }
    let Some((config, source)) = as_select_scan(scan.as_ref()) else {
        return Ok(refused("the store cannot run the scan".into()));
    };
    if config.limit.is_some() {
        return Ok(refused("a limit counts the rows before they are sorted".into()));
    }
    if sort.input().equivalence_properties().ordering_satisfy(sort.expr().iter().cloned())? {
        return Ok(refused("the rows are read in this order".into()));
    }
    let SortPath { keys, filters } = SortPath::table(sort, source)?;
    if keys.iter().map(|key| &key.expr).chain(&filters).any(is_volatile) {
        return Ok(refused("the order or a filter depends on chance".into()));
    }
    if let Err(why) = compares(&keys, source, endpoint)? {
        return Ok(refused(why));
    }
    let late = Sampling { keys, k, filters, rows: 0, of: 0, late: true, seed: Sampling::SEED };
    let sampling = Sampling { late: false, ..late.clone() };
    let columns = late.columns();
    let late = match source.columns().iter().all(|column| columns.contains(column)) {
        true => Err(Reason::from("every column that is read is one of the order")),
        false => offer(scan, late, endpoint, options)?,
    };
    let sampling = offer(scan, sampling, endpoint, options)?;
    Ok([Strategy { strategy: SAMPLING, offer: sampling }, Strategy { strategy: LATE, offer: late }])
}

/// Returns the scan with a sample before it. The size of the sample is computed here.
fn offer(
    scan: &Plan,
    sampling: Sampling,
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<Result<StrategyPlan<Plan>, Reason>> {
    let Some((config, source)) = as_select_scan(scan.as_ref()) else {
        return Ok(Err(Reason::from("the store cannot run the scan")));
    };
    let (k, filtered, columns) = (sampling.k, !sampling.filters.is_empty(), sampling.columns());
    let demand = top_k_demand(scan, (config, source), (k, filtered), &columns, options)?;
    let (rows, of) = match sampling.late {
        true => (demand.late_sample(), demand.passing()),
        false => (demand.sample(), demand.passing()),
    };
    let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
    let sampling = Sampling { rows: count(rows.0), of: count(of.0), ..sampling };
    let late = sampling.late;
    let bounds = TopKSampleExec::new(Arc::clone(scan), sampling);
    let Some(sample) = bounds.sample(ExecutionPlanMetricsSet::new()) else {
        return Ok(Err(Reason::from("the store cannot run the scan")));
    };
    let Some(statement) = sample.statement() else {
        return Ok(Err(Reason::from("a column of the order cannot be sent")));
    };
    if let Err(why) = endpoint.takes(&statement, source.format()) {
        return Ok(Err(why));
    }
    let sample_requests = Requests(sample.requests() as u64);
    let demand = TopKDemand { sample_requests, ..demand };
    let steps = if late { demand.late_steps() } else { demand.sampling() };
    let Some(steps) = steps else {
        return Ok(Err(Reason::new(format!("a sample for {k} rows would be all {of} rows"))));
    };
    let (sample, rows) = (statement.sql(), source.statement(None).map(|rows| rows.sql()));
    let statement = rows.map(|rows| match late {
        true => format!("{sample}, then within its bound; of the rows of the answer {rows}"),
        false => format!("{sample}; within its bound {rows}"),
    });
    Ok(Ok(StrategyPlan { steps, statement, build: Arc::new(bounds) }))
}

/// Checks that the store can select the rows that come no later than a given one. The error is the reason why it
/// cannot.
fn compares(
    keys: &LexOrdering,
    source: &S3SelectSource,
    endpoint: &Endpoint,
) -> Result<Result<(), Reason>> {
    let table = source.table_schema().table_schema();
    let Some(first) = keys.iter().next() else {
        return Ok(Err(Reason::from("there is no order")));
    };
    let Some(bound) = example(first, table)? else {
        let data_type = first.expr.data_type(table)?;
        let (key, of) = (in_sql(&first.expr), sql_type(&data_type));
        let why = format!("a store does not compare {key}, of type {of}");
        return Ok(Err(Reason::new(why)));
    };
    Ok(match source.translate(endpoint, &bound) {
        Ok(_) => Ok(()),
        Err(why) => {
            let key = in_sql(&first.expr);
            Err(Reason::new(format!("a comparison of {key} with a bound cannot be sent: {why}")))
        }
    })
}

/// The sort keys, and the filters between a sort and its scan, over the table's columns.
struct SortPath {
    keys: LexOrdering,
    filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl SortPath {
    fn table(sort: &SortExec, source: &S3SelectSource) -> Result<Self> {
        let mut keys: Vec<PhysicalSortExpr> = sort.expr().iter().cloned().collect();
        let mut filters: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
        let mut down = |projection: &ProjectionExprs, passed: Option<&Arc<dyn PhysicalExpr>>| {
            for expr in keys.iter_mut().map(|key| &mut key.expr).chain(&mut filters) {
                *expr = projection.unproject_expr(expr)?;
            }
            filters.extend(passed.cloned());
            Result::<()>::Ok(())
        };
        let mut below = sort.input();
        loop {
            if let Some(projection) = below.downcast_ref::<ProjectionExec>() {
                let exprs = ProjectionExprs::new(projection.expr().iter().cloned());
                down(&exprs, None)?;
                below = projection.input();
            } else if let Some(filter) = below.downcast_ref::<FilterExec>() {
                let schema = filter.input().schema();
                let all: Vec<usize> = (0..schema.fields().len()).collect();
                let kept = filter.projection().as_deref().unwrap_or(&all);
                down(&ProjectionExprs::from_indices(kept, &schema), Some(filter.predicate()))?;
                below = filter.input();
            } else {
                break;
            }
        }
        down(source.output(), None)?;
        // Two keys may become one column; the later one is redundant.
        match LexOrdering::new(keys) {
            Some(keys) => Ok(Self { keys, filters }),
            None => datafusion::common::internal_err!("a sort without an order"),
        }
    }
}

/// Returns the sort over another scan. The operators in between are kept.
fn over(sort: &Plan, scan: &Plan) -> Result<Plan> {
    let replaced = |node: Plan| {
        Ok(match node.children().is_empty() {
            true => Transformed::yes(Arc::clone(scan)),
            false => Transformed::no(node),
        })
    };
    Arc::clone(sort).transform_up(replaced).data()
}
