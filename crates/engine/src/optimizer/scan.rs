//! Plans a scan of a bucket: fetch the objects, let the store filter and project, or use an index.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::split_conjunction;
use datafusion::physical_plan::filter::FilterExec;
use sluicegate_s3select::capabilities::Exactness;

use super::adaptive::keep_open;
use super::choose::{EndpointChoice, Plan};
use super::index::{INDEX, instead_of_get, instead_of_select};
use super::index_table::INDEX_TABLE;
use super::join::expected_of_scan;
use super::key_paths::KeyPaths;
use super::select_scan::{of_bucket, propose};
use crate::context::choice::{Journal, Reason};
use crate::context::config::{GroupBy, Scan, SluiceOptions, TopK};
use crate::engine::explain::in_sql;
use crate::estimate::demand::{get_demand, inside, scan_demand};
use crate::estimate::statistics::table::origin;
use crate::scan::decoded::DecodedSource;
use crate::scan::keys::KeyEstimate;
use crate::scan::s3_scan::as_select_scan;
use crate::scan::s3_select::S3SelectSource;
use crate::scan::subject::subject;
use crate::store::chooser::{ForcedStrategy, OperatorChoice, Strategy, StrategyPlan};
use crate::store::endpoint::Endpoint;
use crate::store::endpoints::resolve;
use crate::text::located_errors::LocatedSource;

/// The strategy that fetches the objects.
pub(super) const GET: &str = "get";
/// The strategy in which the store filters and projects.
pub(super) const SELECT: &str = "select";

/// Returns the choice for a node, if it is a scan of a bucket.
pub(super) fn question(
    node: &Plan,
    above: Option<&Plan>,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Result<Option<EndpointChoice>> {
    let (config, endpoint, ways, notes) =
        if let Some((config, source)) = as_select_scan(node.as_ref()) {
            let endpoint = resolve(options, source.endpoint_name())?;
            let notes = match Journal::explains(options) {
                true => {
                    let by_index = inside(node, source, options)?.map(|it| it.note(source));
                    let here = filters_locally(source, &endpoint, above)?;
                    here.into_iter().chain(by_index).collect()
                }
                false => Vec::new(),
            };
            let asking = expected_of_scan(node, source, paths, options);
            let mut ways = either(node, config, source, &endpoint, asking, options)?;
            ways.extend(instead_of_select(config, source, above, &endpoint, options)?);
            (config, endpoint, ways, notes)
        } else if let Some((config, endpoint)) = of_bucket(node, options) {
            let mut ways = only_get(node, config, &endpoint, options)?;
            ways.extend(instead_of_get(config, above, &endpoint, options)?);
            (config, endpoint, ways, Vec::new())
        } else {
            return Ok(None);
        };
    let scan = SluiceOptions::from_options(options).scan;
    let forced = match scan {
        Scan::Auto => None,
        Scan::Get => Some(GET),
        Scan::Select => Some(SELECT),
        Scan::Index => Some(INDEX),
        Scan::IndexTable => Some(INDEX_TABLE),
    };
    let forced = forced.map(|strategy| ForcedStrategy {
        setting: format!("sluice.scan = '{scan}'"),
        strategies: vec![strategy],
    });
    let mut notes = notes;
    if Journal::explains(options) {
        notes.push(format!("rows are estimated from {}", origin(config, options)));
    }
    let question =
        OperatorChoice { operator: "scan", subject: subject(config), ways, forced, notes };
    Ok(Some(EndpointChoice { endpoint, question }))
}

/// Returns true if a plan reads a bucket of one of the session's endpoints.
pub(super) fn reads_bucket(plan: &Plan, options: &ConfigOptions) -> bool {
    as_select_scan(plan.as_ref()).is_some()
        || of_bucket(plan, options).is_some()
        || plan.children().into_iter().any(|child| reads_bucket(child, options))
}

/// Returns the strategies of a scan that the store can run. `asking` are the join keys that Select would send.
fn either(
    node: &Plan,
    config: &FileScanConfig,
    source: &S3SelectSource,
    endpoint: &Endpoint,
    asking: Option<KeyEstimate>,
    options: &ConfigOptions,
) -> Result<Vec<Strategy<Plan>>> {
    let fetched = fetched(config, source, options)?;
    let demand = scan_demand(node, &fetched, config, source, options)?;
    let build = keep_open(fetched, source, &demand, endpoint, options)?;
    let get = StrategyPlan { steps: demand.get().steps, statement: None, build };
    let prices = &endpoint.prices;
    // A session that forces Select does not need its price.
    let sold = prices.select.is_some() || SluiceOptions::from_options(options).scan == Scan::Select;
    let select = asking.map_or(demand, |asking| asking.apply_to(demand)).select();
    let select = match (sold, select) {
        (true, Some(select)) => Ok(StrategyPlan {
            steps: asking.map_or(select.steps.clone(), |asking| asking.after(select.steps)),
            statement: source.statement(config.limit).map(|statement| statement.sql()),
            build: Arc::clone(node),
        }),
        _ => {
            Err(Reason::new(format!("the price book `{}` has no price for S3 Select", prices.name)))
        }
    };
    Ok(vec![
        Strategy { strategy: GET, offer: Ok(get) },
        Strategy { strategy: SELECT, offer: select },
    ])
}

/// Returns the scan with GET.
pub(super) fn fetched(
    config: &FileScanConfig,
    source: &S3SelectSource,
    options: &ConfigOptions,
) -> Result<Plan> {
    source.get().plan(config, &source.exact_filters(), source.output(), options)
}

/// Returns the strategy of a scan that the store cannot run, and the reason if it will be shown.
pub(super) fn only_get(
    node: &Plan,
    config: &FileScanConfig,
    endpoint: &Arc<Endpoint>,
    options: &ConfigOptions,
) -> Result<Vec<Strategy<Plan>>> {
    let demand = get_demand(node, config, options)?;
    let get = StrategyPlan { steps: demand.get().steps, statement: None, build: Arc::clone(node) };
    let mut ways = vec![Strategy { strategy: GET, offer: Ok(get) }];
    if Journal::explains(options) || forces_select(&SluiceOptions::from_options(options)) {
        ways.push(Strategy {
            strategy: SELECT,
            offer: Err(reason_against(config, endpoint, options)),
        });
    }
    Ok(ways)
}

/// Returns true if the session forces a strategy that involves the store, so that the reason against it must be
/// shown.
fn forces_select(options: &SluiceOptions) -> bool {
    options.scan == Scan::Select
        || !matches!(options.group_by, GroupBy::Auto | GroupBy::Server)
        || !matches!(options.top_k, TopK::Auto | TopK::Server)
}

/// Returns the reason why the store cannot run a scan.
pub(super) fn reason_against(
    config: &FileScanConfig,
    endpoint: &Arc<Endpoint>,
    options: &ConfigOptions,
) -> Reason {
    let named = config.file_source().downcast_ref::<LocatedSource>();
    if let Some(recoding) = named.and_then(LocatedSource::recoding) {
        return Reason::new(format!(
            "S3 Select cannot read files as their options say ({recoding}), so they are read with GET"
        ));
    }
    if let Some(decoded) = config.file_source().downcast_ref::<DecodedSource>() {
        return Reason::new(format!(
            "S3 Select reads CSV, JSON and Parquet, and no {}, so that the files are read with GET",
            decoded.format().title()
        ));
    }
    // The wrapper that adds object names to errors is not the reason.
    let replaced = LocatedSource::replaced(config);
    let why = propose(replaced.as_ref().unwrap_or(config), endpoint, options).err();
    why.unwrap_or_else(|| Reason::from("its files are read in a way of their own"))
}

/// Returns EXPLAIN's notes on filters that are evaluated locally although the store may run the scan.
pub(super) fn filters_locally(
    source: &S3SelectSource,
    endpoint: &Endpoint,
    above: Option<&Plan>,
) -> Result<Vec<String>> {
    let Some(filter) = above.and_then(|node| node.downcast_ref::<FilterExec>()) else {
        return Ok(Vec::new());
    };
    let mut notes = Vec::new();
    for conjunct in split_conjunction(filter.predicate()) {
        let over_table = source.output().unproject_expr(conjunct)?;
        let conjunct = in_sql(&over_table);
        match source.translate(endpoint, &over_table) {
            Ok(sent) if sent.exactness == Exactness::Exact => {}
            Ok(_) => notes.push(format!(
                "filter {conjunct} is sent in a weaker form, and evaluated here again"
            )),
            Err(why) => notes.push(format!("filter {conjunct} is evaluated here: {why}")),
        }
    }
    Ok(notes)
}
