//! Decides which keys a scan sends, once they are known.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::Column;
use sluicegate_costmodel::{ScanDemand, Terms};

use super::by_range::{KeysByRange, RangeEstimate};
use super::estimate::{KeyEstimate, PAPER_P};
use super::pushdown::{KeyFilterForm, KeyStatement, KeysByColumn, Spans, push_down_keys};
use super::pushed::PushedKeys;
use super::range_sampler::sample_bytes;
use crate::context::config::{Join, Scan, SluiceOptions};
use crate::estimate::demand::conditions;
use crate::pushdown::predicate::ColumnStyle;
use crate::scan::estimator::SessionEstimator;
use crate::scan::s3_select::S3SelectSource;
use crate::store::chooser::{Chooser, OperatorChoice, Strategy, StrategyPlan};
use crate::store::endpoint::Endpoint;

/// The false-positive rates among which the predicted cost decides.
const CHOICE_OF_P: [f64; 4] = [0.001, 0.01, 0.1, 0.5];

/// The terms that the store evaluates per row to find on which side of a span a key is.
const SIDES: u32 = 4;

/// The decision of a scan about keys.
#[derive(Debug, Clone)]
pub enum KeyDecision {
    /// No row can match a key, so no statement is sent.
    NoRow,
    /// No condition is sent, for the reason given.
    Nothing(&'static str),
    /// The conditions for every part of a file.
    Ask(PushedKeys),
    /// No statement is sent: GET is predicted to be faster with these keys.
    Fetch,
    /// Each part of a file gets conditions on the keys that it may have.
    ByPart(Arc<KeysByRange>),
}

/// Decides about some keys. If the session forces keys, all that is possible is sent; otherwise the choice with the
/// best prediction, which may be nothing.
///
/// # Errors
///
/// If a condition cannot be evaluated locally.
pub fn decide(
    source: &S3SelectSource,
    endpoint: &Endpoint,
    config: &FileScanConfig,
    options: &ConfigOptions,
    keys: KeysByColumn,
) -> Result<KeyDecision> {
    let keys = Arc::new(keys);
    let asking = KeyStatement::new(source, endpoint);
    let by_part = |form, sent: &PushedKeys| KeysByRange::plan(&asking, &keys, form, sent, config);
    let ours = SluiceOptions::from_options(options);
    if ours.join == Join::Bloom {
        let form = KeyFilterForm::Bloom(ours.bloom_p.get().unwrap_or(PAPER_P));
        let sent = push_down_keys(&asking, &keys, form, &Spans::new())?;
        return Ok(match by_part(form, &sent) {
            Some((by_part, _)) => KeyDecision::ByPart(Arc::new(by_part)),
            None => KeyDecision::Ask(sent),
        });
    }
    let list = asking.lists_pay(&keys).then_some(KeyFilterForm::List);
    let given = ours.bloom_p.get().map(|p| vec![p]);
    let rates = given.unwrap_or_else(|| CHOICE_OF_P.to_vec()).into_iter();
    let forms =
        iter::once(KeyFilterForm::Bounds).chain(list).chain(rates.map(KeyFilterForm::Bloom));
    let mut whole = vec![PushedKeys::default()];
    let mut parts = Vec::new();
    for form in forms {
        // For lack of room, an earlier filter may be coarser than this one already.
        let known = whole.last().filter(|sent| match form {
            KeyFilterForm::Bloom(p) => sent.least_p().is_some_and(|sent| p <= sent),
            KeyFilterForm::Bounds | KeyFilterForm::List => false,
        });
        if let Some(known) = known {
            parts.extend(by_part(form, known));
            continue;
        }
        let sent = push_down_keys(&asking, &keys, form, &Spans::new())?;
        parts.extend(by_part(form, &sent));
        if !sent.filters.is_empty() && whole.iter().all(|known| known.columns != sent.columns) {
            whole.push(sent);
        }
    }
    let estimator = SessionEstimator::from_options(options)?;
    let demand = estimator.open_demand(config, source, options);
    let domains: BTreeMap<&str, f64> = keys
        .keys()
        .filter_map(|column| {
            let name = source.file_schema().field(*column).name().as_str();
            let distinct = estimator.distinct(config, options, *column);
            Some((name, source.domain_of(*column, distinct)?))
        })
        .collect();
    let domain = |column: &str| domains.get(column).copied();
    let whole = whole.into_iter().map(|sent| {
        let conditions = sent.filters.iter().map(|filter| &filter.there.expr);
        let share = sent.share(domain);
        let (terms, constants) = self::conditions(conditions);
        let demand = demand.with_keys(share, terms, constants);
        let steps = demand.select().unwrap_or_else(|| demand.get()).steps;
        let steps = steps.evaluating(demand.joining());
        let (strategy, build) = match sent.filters.is_empty() {
            true => ("filtered", KeyDecision::Nothing("it is not predicted to pay")),
            false => ("bloom", KeyDecision::Ask(sent)),
        };
        Strategy { strategy, offer: Ok(StrategyPlan { steps, statement: None, build }) }
    });
    let look = sample_bytes(estimator.record_bytes(config, source));
    let parts = parts.into_iter().map(|(by_part, RangeEstimate { sent, statements, looks })| {
        let terms =
            sent.columns.iter().map(|(_, likely)| likely.terms() + Terms::from(SIDES)).sum();
        let listed: u64 = sent.columns.iter().map(|(_, likely)| likely.constants()).sum();
        let constants = listed / (statements as u64).max(1);
        let demand = demand.with_keys(sent.share(domain), terms, constants);
        let steps = demand.keys_by_part(statements as u64, (looks as u64, look));
        let steps = steps.evaluating(demand.joining());
        let build = KeyDecision::ByPart(Arc::new(by_part));
        Strategy { strategy: "bloom", offer: Ok(StrategyPlan { steps, statement: None, build }) }
    });
    // The plan expected keys that exclude most rows. If they do not, GET of a Parquet object may be faster.
    let is_auto = ours.scan == Scan::Auto;
    let may_fetch = is_auto && source.format().style == ColumnStyle::Named;
    let fetch = may_fetch.then(|| {
        let steps = demand.get().steps.evaluating(demand.joining());
        let build = KeyDecision::Fetch;
        Strategy { strategy: "baseline", offer: Ok(StrategyPlan { steps, statement: None, build }) }
    });
    let question = OperatorChoice {
        operator: "join",
        subject: String::new(),
        ways: whole.chain(parts).chain(fetch).collect(),
        forced: None,
        notes: Vec::new(),
    };
    let (decided, _) = Chooser::for_endpoint(endpoint, options).choose(question)?;
    Ok(decided)
}

/// Returns true if counting out the keys of a column is predicted to pay, with about `keys` keys among `values`
/// values.
///
/// # Errors
///
/// Only if [`Chooser::choose`] fails, which does not happen because one choice is always possible.
pub(super) fn counting_pays(
    source: &S3SelectSource,
    endpoint: &Endpoint,
    config: &FileScanConfig,
    options: &ConfigOptions,
    column: usize,
    (keys, values): (f64, f64),
) -> Result<bool> {
    let of: Arc<dyn PhysicalExpr> =
        Arc::new(Column::new(source.file_schema().field(column).name(), column));
    let estimator = SessionEstimator::from_options(options)?;
    let domain = source.domain_of(column, estimator.distinct(config, options, column));
    let domain = domain.filter(|_| source.takes_bloom(&of));
    let ours = SluiceOptions::from_options(options);
    let (Some(domain), Join::Auto) = (domain, ours.join) else {
        return Ok(true);
    };
    let demand = estimator.open_demand(config, source, options);
    let share = (keys / domain.max(1.0)).min(1.0);
    let expected =
        KeyEstimate::new(source, share, Some(keys), Some(ours.bloom_p.get().unwrap_or(PAPER_P)));
    let steps = |demand: ScanDemand| {
        let steps = demand.select().unwrap_or_else(|| demand.get()).steps;
        steps.evaluating(demand.joining())
    };
    let way = |strategy, steps, build| Strategy {
        strategy,
        offer: Ok(StrategyPlan { steps, statement: None, build }),
    };
    let question = OperatorChoice {
        operator: "join",
        subject: String::new(),
        ways: vec![
            way("filtered", steps(demand), false),
            way("bloom", expected.counted(keys, values, steps(expected.apply_to(demand))), true),
        ],
        forced: None,
        notes: Vec::new(),
    };
    let (pays, _) = Chooser::for_endpoint(endpoint, options).choose(question)?;
    Ok(pays)
}
