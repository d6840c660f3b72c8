//! Plans how the tables of a join in a bucket are read, and whether join keys are sent to the store.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};

use super::adaptive::keep_open;
use super::choose::{EndpointChoice, Plan};
use super::index::{INDEX, instead_of_select};
use super::index_table::INDEX_TABLE;
use super::key_paths::{JoinedScan, KeyPaths};
use super::scan::{fetched, filters_locally, only_get, reason_against};
use super::select_scan::of_bucket;
use crate::context::choice::{Decision, Journal, Reason};
use crate::context::config::{Join, Scan, SluiceOptions};
use crate::estimate::demand::scan_demand;
use crate::scan::keys::{KeyEstimate, PAPER_P};
use crate::scan::s3_scan::as_select_scan;
use crate::scan::s3_select::S3SelectSource;
use crate::scan::subject::subject;
use crate::store::chooser::{ForcedStrategy, OperatorChoice, Strategy, StrategyPlan};
use crate::store::endpoints::resolve;

/// The strategy that fetches the table.
const BASELINE: &str = "baseline";
/// The strategy in which the store filters and projects the table by itself.
const FILTERED: &str = "filtered";
/// The strategy in which the store also filters the probe side by the keys of the build side, unless these turn out
/// not to be worth it.
const BLOOM: &str = "bloom";

/// Returns the choice for a table under a join, if keys reach it or the session forces a strategy. `paths` must be
/// those of the plan that contains the node.
pub(super) fn question(
    node: &Plan,
    above: Option<&Plan>,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Result<Option<EndpointChoice>> {
    let Some(joined) = paths.joined(node) else { return Ok(None) };
    let Some((config, source)) = as_select_scan(node.as_ref()) else {
        return only_baseline(node, joined, options);
    };
    let chosen = SluiceOptions::from_options(options);
    if chosen.join == Join::Auto && joined.keys.is_empty() {
        return Ok(None);
    }
    let endpoint = resolve(options, source.endpoint_name())?;
    let fetched = fetched(config, source, options)?;
    let demand = scan_demand(node, &fetched, config, source, options)?;
    let forced = forced(&chosen, joined);
    let prices = &endpoint.prices;
    let sold = prices.select.is_some() || forced.is_some();
    let unsold =
        || Reason::new(format!("the price book `{}` has no price for S3 Select", prices.name));
    let statement = || source.statement(config.limit).map(|statement| statement.sql());
    let filtered = match (sold, demand.select()) {
        (true, Some(select)) => Ok(StrategyPlan {
            steps: select.steps.evaluating(demand.joining()),
            statement: statement(),
            build: Plan::clone(node),
        }),
        _ => Err(unsold()),
    };
    let no_bloom = no_bloom(source, joined);
    let bloom = if joined.keys.is_empty() {
        Err(paths.without_keys(joined))
    } else {
        let asked = expected(source, joined, paths, no_bloom.is_none(), options);
        let with_keys = asked.apply_to(demand);
        match (sold, with_keys.select()) {
            (true, Some(select)) => Ok(StrategyPlan {
                steps: asked.after(select.steps).evaluating(with_keys.joining()),
                statement: statement().map(|sql| format!("{sql} (and the keys of {})", on(joined))),
                build: Plan::clone(node),
            }),
            _ => Err(unsold()),
        }
    };
    let bloom_is_possible = bloom.is_ok();
    let build = keep_open(fetched, source, &demand, &endpoint, options)?;
    let steps = demand.get().steps.evaluating(demand.joining());
    let get = StrategyPlan { steps, statement: None, build };
    let mut ways = vec![
        Strategy { strategy: BASELINE, offer: Ok(get) },
        Strategy { strategy: FILTERED, offer: filtered },
        Strategy { strategy: BLOOM, offer: bloom },
    ];
    ways.extend(instead_of_select(config, source, above, &endpoint, options)?);
    let subject = match joined.keys.as_slice() {
        [] => subject(config),
        _ => format!("{} on {}", subject(config), on(joined)),
    };
    let mut notes = match Journal::explains(options) {
        true => filters_locally(source, &endpoint, above)?,
        false => Vec::new(),
    };
    if chosen.join == Join::Auto && bloom_is_possible {
        notes.push("what is sent of the keys is decided when they arrive".to_owned());
    }
    if let Some(why) = no_bloom.filter(|_| bloom_is_possible) {
        notes.push(format!("keys are sent as a list, or as bounds if they are too many: {why}"));
    }
    let question = OperatorChoice { operator: "join", subject, ways, forced, notes };
    Ok(Some(EndpointChoice { endpoint, question }))
}

/// Returns the keys that a scan is expected to send; `None` if none reach it or the session disables sending them.
pub(super) fn expected_of_scan(
    scan: &Plan,
    source: &S3SelectSource,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Option<KeyEstimate> {
    let joined = paths.joined(scan).filter(|joined| !joined.keys.is_empty())?;
    let wanted = matches!(SluiceOptions::from_options(options).join, Join::Auto | Join::Bloom);
    let bloom = no_bloom(source, joined).is_none();
    wanted.then(|| expected(source, joined, paths, bloom, options))
}

fn expected(
    source: &S3SelectSource,
    joined: &JoinedScan,
    paths: &KeyPaths,
    bloom: bool,
    options: &ConfigOptions,
) -> KeyEstimate {
    let share = paths.share(joined).unwrap_or(DEFAULT_SHARE);
    let p = SluiceOptions::from_options(options).bloom_p.get().unwrap_or(PAPER_P);
    let bloom = bloom.then_some(p);
    KeyEstimate::new(source, share, paths.most_keys(joined), bloom).among(paths.all_keys(joined))
}

/// Returns the reason why none of a scan's keys can be looked up in a Bloom filter, if that is the case.
fn no_bloom(source: &S3SelectSource, joined: &JoinedScan) -> Option<Reason> {
    let schema = source.file_schema();
    let columns = joined.keys.iter().flat_map(|key| &key.columns);
    let mut first = None;
    for name in columns {
        let Ok(index) = schema.index_of(name) else { continue };
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(name, index));
        if source.takes_bloom(&column) {
            return None;
        }
        first = first.or_else(|| Some(source.no_bloom(&column)));
    }
    first
}

/// Records the reason why keys cannot be sent anywhere in a plan with joins although the session forces it.
pub(super) fn note_unfollowed(plan: &Plan, paths: &KeyPaths, options: &ConfigOptions) {
    if SluiceOptions::from_options(options).join != Join::Bloom {
        return;
    }
    // A query that runs warns once, and names the table.
    if !Journal::explains(options) && paths.are_refused_at_run_time() {
        return;
    }
    let without_keys = || {
        let has_one =
            plan.exists(|node| Ok(node.is::<NestedLoopJoinExec>() || node.is::<CrossJoinExec>()));
        let why = Reason::from("its joins have no keys that must be equal");
        has_one.is_ok_and(|it| it && !paths.reach_any()).then_some(why)
    };
    let Some(why) = paths.no_path_reason().or_else(without_keys) else { return };
    Journal::note(options, || {
        let setting = format!("sluice.join = '{}'", Join::Bloom);
        let unmet = ForcedStrategy { setting, strategies: vec![BLOOM] }.unmet(&why);
        let refused = Decision::refused("join", BLOOM, "all tables", why);
        Decision { unmet: Some(unmet), ..refused }
    });
}

/// Returns the choice for a table that the store cannot read; `None` unless the session forces a strategy.
fn only_baseline(
    node: &Plan,
    joined: &JoinedScan,
    options: &ConfigOptions,
) -> Result<Option<EndpointChoice>> {
    let chosen = SluiceOptions::from_options(options);
    // The choice of the scan reports why there is no index.
    let by_index =
        chosen.join == Join::Auto && matches!(chosen.scan, Scan::Index | Scan::IndexTable);
    let forced = forced(&chosen, joined).filter(|_| !by_index);
    let (Some(forced), Some((config, endpoint))) = (forced, of_bucket(node, options)) else {
        return Ok(None);
    };
    let mut ways = only_get(node, config, &endpoint, options)?;
    ways.truncate(1);
    for way in &mut ways {
        way.strategy = BASELINE;
    }
    for strategy in forced.strategies.iter().filter(|strategy| **strategy != BASELINE) {
        ways.push(Strategy { strategy, offer: Err(reason_against(config, &endpoint, options)) });
    }
    let subject = subject(config);
    let forced = Some(forced);
    let question = OperatorChoice { operator: "join", subject, ways, forced, notes: Vec::new() };
    Ok(Some(EndpointChoice { endpoint, question }))
}

/// Assumed share of rows with a matching key if the build side is unknown.
const DEFAULT_SHARE: f64 = 0.2;
fn forced(options: &SluiceOptions, joined: &JoinedScan) -> Option<ForcedStrategy> {
    let strategies = match (options.join, options.scan) {
        (Join::Auto, Scan::Select) if !joined.keys.is_empty() => {
            let setting = "sluice.scan = 'select'".to_owned();
            return Some(ForcedStrategy { setting, strategies: vec![BLOOM, FILTERED] });
        }
        (Join::Auto, Scan::Index | Scan::IndexTable) => {
            let strategy = if options.scan == Scan::Index { INDEX } else { INDEX_TABLE };
            let setting = format!("sluice.scan = '{strategy}'");
            return Some(ForcedStrategy { setting, strategies: vec![strategy] });
        }
        (Join::Auto, _) => return None,
        (Join::Baseline, _) => vec![BASELINE],
        (Join::Filtered, _) => vec![FILTERED],
        // For the build side of a join with keys, the paper's Bloom join equals its filtered join.
        (Join::Bloom, _) if joined.keys.is_empty() => vec![FILTERED],
        (Join::Bloom, _) => vec![BLOOM],
    };
    Some(ForcedStrategy { setting: format!("sluice.join = '{}'", options.join), strategies })
}

/// Returns the names of the columns by which a table is joined.
fn on(joined: &JoinedScan) -> String {
    let mut names: Vec<_> = joined.keys.iter().flat_map(|key| &key.columns).cloned().collect();
    names.sort();
    names.dedup();
    names.join(", ")
}
