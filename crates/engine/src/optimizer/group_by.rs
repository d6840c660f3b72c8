//! Plans an aggregate with GROUP BY, or DISTINCT: locally, over any strategy of the scan, or in the store.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileSource;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};

use super::aggregate::{filtered_locally, names, possible, question_below};
use super::choose::{EndpointChoice, Plan};
use super::join::expected_of_scan;
use super::key_paths::KeyPaths;
use super::scan;
use crate::context::choice::{Decision, Journal, Reason};
use crate::context::config::{GroupBy, Scan, SluiceOptions};
use crate::engine::explain::in_sql;
use crate::estimate::demand::{GroupByDemand, evaluated_locally, of_aggregate};
use crate::operators::partial_state::ScanAggregate;
use crate::operators::s3_aggregate::replace_scan;
use crate::operators::s3_group_by::{GroupPushdown, S3GroupByExec};
use crate::store::chooser::{ForcedStrategy, OperatorChoice, Strategy, StrategyPlan};
use crate::store::endpoint::Endpoint;

/// The strategy that fetches the objects and groups locally.
const SERVER: &str = "server";
/// The strategy that groups the rows sent by the store locally.
const FILTERED: &str = "filtered";
/// The strategy that groups in the store by its own GROUP BY.
const S3: &str = "s3";
/// The strategy that groups in the store by a CASE for each group and aggregate, or a statement for each group.
const CASE: &str = "case";
/// The strategy that groups the largest groups in the store, and the others locally.
const HYBRID: &str = "hybrid";

/// Returns the choice for a partial aggregation with groups above a scan of a bucket, with only projections and
/// filters in between. Its local strategies are those of the scan, so the choice includes that of the scan.
pub(super) fn question(
    node: &Plan,
    _above: Option<&Plan>,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Result<Option<EndpointChoice>> {
    let Some(partial) = node.downcast_ref::<AggregateExec>() else { return Ok(None) };
    if *partial.mode() != AggregateMode::Partial || partial.group_expr().is_true_no_grouping() {
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
    let in_store = |pushed| in_store(&partial, pushed, &of_scan, &endpoint, paths, options);
    let s3 = in_store(GroupPushdown::Clause)?;
    let case = in_store(GroupPushdown::All)?;
    let hybrid = in_store(GroupPushdown::Largest)?;
    // The cost model still chooses how much of the grouping the store does.
    let only_select =
        ours.group_by == GroupBy::Auto && ours.scan == Scan::Select && possible(&of_scan).is_ok();
    // If one of two settings cannot be followed, the other one still is.
    let in_store_only = matches!(ours.group_by, GroupBy::S3 | GroupBy::Case | GroupBy::Hybrid)
        && ours.scan == Scan::Select
        && possible(&of_scan).is_ok();
    let forced = match (ours.group_by, ours.scan) {
        (GroupBy::Auto, _) if only_select => None,
        (GroupBy::Auto, Scan::Auto) => None,
        (GroupBy::Auto, Scan::Get) => of_scan.forced.map(|forced| with(forced, SERVER)),
        (GroupBy::Auto, Scan::Select) => of_scan.forced.map(|forced| with(forced, FILTERED)),
        (GroupBy::Auto, Scan::Index) => of_scan.forced,
        (GroupBy::S3, _) if !endpoint.profile().syntax.group_by => {
            force(ours.group_by).map(|forced| with(forced, CASE))
        }
        (group_by, _) => force(group_by),
    };
    let mut ways = vec![
        Strategy { strategy: S3, offer: s3 },
        Strategy { strategy: CASE, offer: case },
        Strategy { strategy: HYBRID, offer: hybrid },
    ];
    let here = evaluated_locally(node, of_aggregate(&partial), options);
    for way in of_scan.ways {
        let strategy = match way.strategy {
            scan::GET => SERVER,
            scan::SELECT => FILTERED,
            other => other,
        };
        let offer = match way.offer {
            Ok(_) if strategy == SERVER && (only_select || in_store_only) => {
                Err("sluice.scan = 'select'".into())
            }
            Ok(StrategyPlan { steps, statement, build }) => Ok(StrategyPlan {
                steps: steps.evaluating(here),
                statement,
                build: replace_scan(&partial, build)?,
            }),
            Err(why) => Err(why),
        };
        // The first of equal strategies wins. Fetching all rows comes last, other strategies of the scan first.
        let place = if strategy == SERVER { ways.len() } else { 0 };
        ways.insert(place, Strategy { strategy, offer });
    }
    let subject = format!("{} over {}", subject(&partial), of_scan.subject);
    let notes = of_scan.notes;
    let question = OperatorChoice { operator: "group_by", subject, ways, forced, notes };
    Ok(Some(EndpointChoice { endpoint, question }))
}

/// Returns the subject for EXPLAIN, such as `sum(x) by g`, or `g` alone.
fn subject(partial: &AggregateExec) -> String {
    let keys = partial.group_expr().expr().iter().map(|(key, _)| in_sql(key));
    let keys = keys.collect::<Vec<_>>().join(", ");
    match partial.aggr_expr().is_empty() {
        true => keys,
        false => format!("{} by {keys}", names(partial)),
    }
}

/// Records the reason why no store can aggregate groups of this input from a bucket. DISTINCT, which is planned as an
/// aggregate without functions, is not recorded.
fn note_unsupported(node: &Plan, partial: &AggregateExec, options: &ConfigOptions) {
    if partial.aggr_expr().is_empty() || !scan::reads_bucket(node, options) {
        return;
    }
    Journal::note(options, || {
        let why = Reason::from("its input is more than a scan of one table");
        let forced = match SluiceOptions::from_options(options).group_by {
            in_store @ (GroupBy::S3 | GroupBy::Case | GroupBy::Hybrid) => force(in_store),
            GroupBy::Auto | GroupBy::Server | GroupBy::Filtered => None,
        };
        let unmet = forced.map(|forced| forced.unmet(&why));
        Decision { unmet, ..Decision::refused("group_by", S3, subject(partial), why) }
    });
}

fn with(forced: ForcedStrategy, strategy: &'static str) -> ForcedStrategy {
    ForcedStrategy { strategies: vec![strategy], ..forced }
}

fn force(group_by: GroupBy) -> Option<ForcedStrategy> {
    let strategies = match group_by {
        GroupBy::Auto => return None,
        GroupBy::Server => vec![SERVER],
        GroupBy::Filtered => vec![FILTERED],
        GroupBy::Case => vec![CASE],
        GroupBy::S3 => vec![S3, CASE],
        GroupBy::Hybrid => vec![HYBRID],
    };
    Some(ForcedStrategy { setting: format!("sluice.group_by = '{group_by}'"), strategies })
}

/// Returns the aggregation in the store, or the reason why it is not possible.
fn in_store(
    partial: &Arc<AggregateExec>,
    pushed: GroupPushdown,
    of_scan: &OperatorChoice<Plan>,
    endpoint: &Endpoint,
    paths: &KeyPaths,
    options: &ConfigOptions,
) -> Result<Result<StrategyPlan<Plan>, Reason>> {
    let has_groups = || match (pushed, endpoint.profile().syntax.group_by) {
        (GroupPushdown::Clause, false) => {
            let name = &endpoint.profile().name;
            Err(Reason::new(format!(
                "the store has no GROUP BY (profile `{name}`): 's3' groups as 'case' does"
            )))
        }
        _ => Ok(()),
    };
    if let Err(why) = possible(of_scan).and_then(|()| has_groups()) {
        return Ok(Err(why));
    }
    if let Some(why) = filtered_locally(partial, endpoint)? {
        return Ok(Err(why));
    }
    let over = match ScanAggregate::from_partial(partial) {
        Ok(over) => over,
        Err(why) => return Ok(Err(why)),
    };
    let config = over
        .source
        .repartitioned(options.execution.target_partitions, 0, None, over.config)?
        .unwrap_or_else(|| over.config.clone());
    let sample_rows = SluiceOptions::from_options(options).group_by_sample;
    let exec = match S3GroupByExec::try_new(config, Arc::clone(partial), pushed, sample_rows)? {
        Ok(exec) => exec,
        Err(why) => return Ok(Err(why)),
    };
    if let Err(why) = exec.may_be_sent(endpoint) {
        return Ok(Err(why));
    }
    let asking = expected_of_scan(over.scan, over.source, paths, options);
    let demand = GroupByDemand::from_exec(&exec.shape()?, options);
    let demand =
        asking.map_or(demand, |asking| demand.with_keys(asking.share, |it| asking.apply_to(it)));
    let steps = match pushed {
        GroupPushdown::Clause => demand.clause_of_some(),
        GroupPushdown::All => demand.all(),
        GroupPushdown::Largest => demand.largest_groups_steps(&endpoint.hardware),
    };
    let steps = asking.map_or(steps.clone(), |asking| asking.after(steps));
    let statement = Some(exec.sql()?);
    Ok(Ok(StrategyPlan { steps, statement, build: Arc::new(exec) }))
}
