//! The keys of joins when files are opened: a scan waits for them once and decides about them once.
//!
//! Only filters of joins are waited for. A top-K or an aggregate above the scan waits for the scan itself, so waiting
//! for its filter would deadlock.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, conjunction_opt};
use datafusion::physical_plan::expressions::Literal;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use sluicegate_costmodel::predict;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::decide::{KeyDecision, counting_pays, decide};
use super::enumerated::EnumerableFilter;
use super::extract::{ColumnKeys, Keys};
use super::gone;
use super::key_metrics::KeyMetrics;
use super::ordered::OrderedKeys;
use super::pushdown::{KeyStatement, KeysByColumn};
use super::pushed::PushedKeyFilter;
use super::range_sampler::RangeSampler;
use crate::context::choice::{Decision, Journal, Reason};
use crate::context::config::{Join, SluiceOptions};
use crate::pushdown::dynamic_filters::DYNAMIC_FILTER_TIMEOUT;
use crate::scan::estimator::SessionEstimator;
use crate::scan::opener::FileSelect;
use crate::scan::s3_select::{Filter, KeyFilter, S3SelectSource};
use crate::scan::subject::subject;
use crate::store::chooser::ForcedStrategy;
use crate::store::endpoint::Endpoint;
use crate::store::metrics::NodeMetrics;

/// With at least this many keys, a decision takes some milliseconds.
const MANY_KEYS: usize = 8192;

/// The keys of a scan at run time, shared by all its partitions or used by one.
#[derive(Debug)]
pub struct KeysAtOpen {
    /// The time until which files wait for keys.
    until: OnceLock<Instant>,
    decided: Mutex<Option<Arc<KeyDecision>>>,
    said: Arc<KeyMetrics>,
}

/// A scan that opens a file.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The source of the scan.
    pub source: &'a S3SelectSource,
    /// Sends the statements of the scan.
    pub select: &'a FileSelect,
    /// The files of the scan.
    pub config: &'a Arc<FileScanConfig>,
    /// Counts the requests of the scan.
    pub metrics: &'a NodeMetrics,
    /// The options of the session.
    pub options: &'a Arc<ConfigOptions>,
}

impl KeysAtOpen {
    /// Creates the state for a scan that is about to run, or `None` if no keys of joins will arrive. The decisions
    /// are added to `metrics` for EXPLAIN ANALYZE.
    #[must_use]
    pub fn for_scan(
        source: &S3SelectSource,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Option<Arc<Self>> {
        if source.arriving().iter().all(|arriving| arriving.keys.is_none()) {
            return None;
        }
        let said = KeyMetrics::registered(metrics);
        Some(Arc::new(Self { until: OnceLock::new(), decided: Mutex::new(None), said }))
    }

    /// Returns the key filters of a file that is opened now. The file may be divided into parts with their own
    /// filters; there are none if no row can match a key. `None` if the file is to be fetched.
    ///
    /// # Errors
    ///
    /// If a condition cannot be evaluated locally.
    pub async fn parts(
        &self,
        opening: Opening<'_>,
        file: &PartitionedFile,
    ) -> Result<Option<Vec<(PartitionedFile, Vec<Filter>)>>> {
        let Opening { source, select, config, metrics, options } = opening;
        let endpoint = &select.endpoint;
        let decided = self.decided(source, endpoint, config, options).await?;
        Ok(Some(match decided.as_ref() {
            KeyDecision::Fetch => return Ok(None),
            KeyDecision::NoRow => Vec::new(),
            KeyDecision::Nothing(_) => vec![(file.clone(), Vec::new())],
            KeyDecision::Ask(sent) => vec![(file.clone(), sent.filters.clone())],
            KeyDecision::ByPart(by_part) => {
                let record = SessionEstimator::from_options(options)?.record_bytes(config, source);
                let looking = RangeSampler::new(source, select, metrics, record);
                let asking = KeyStatement::new(source, endpoint);
                let asked = by_part.push_down_range(asking, looking, file, &self.said).await?;
                asked.into_iter().map(|(part, sent)| (part, sent.filters)).collect()
            }
        }))
    }

    async fn decided(
        &self,
        source: &S3SelectSource,
        endpoint: &Arc<Endpoint>,
        config: &Arc<FileScanConfig>,
        options: &Arc<ConfigOptions>,
    ) -> Result<Arc<KeyDecision>> {
        let mut known = self.decided.lock().await;
        if let Some(decided) = known.as_ref() {
            return Ok(Arc::clone(decided));
        }
        let until = match self.until.get() {
            Some(until) => *until,
            None => {
                let until = Instant::now() + wait_limit(source, endpoint, config, options)?;
                *self.until.get_or_init(|| until)
            }
        };
        let mut all_final = true;
        for arriving in source.arriving().iter().filter(|it| it.keys.is_some()) {
            arriving.wait(until).await;
            all_final &= arriving.is_final();
        }
        let (found, filters) = source.keys()?;
        let decided = match found {
            Keys::Any if filters.iter().any(|it| !it.now.is::<Literal>()) => KeyDecision::Nothing(
                "the store cannot be asked about keys of this type or expression",
            ),
            Keys::Any => KeyDecision::Nothing("the join does not say which keys it has"),
            Keys::None => KeyDecision::NoRow,
            Keys::Of(keys) => {
                let until =
                    std::time::Instant::now() + wait_limit(source, endpoint, config, options)?;
                let most = SluiceOptions::from_options(options).join_keys;
                let pays = |column, countable: &EnumerableFilter| {
                    let counted = (countable.about()?, countable.values());
                    counting_pays(source, endpoint, config, options, column, counted)
                };
                let threads = options.execution.target_partitions;
                let keys = all_keys(source, keys, &filters, pays, (threads, most, until)).await?;
                decide_apart(source, endpoint, config, options, keys).await?
            }
        };
        let decided = Arc::new(decided);
        let (said, used) = match decided.as_ref() {
            KeyDecision::NoRow => ("no row has a key".to_owned(), true),
            KeyDecision::Fetch => ("none: GET is predicted to be faster".to_owned(), false),
            KeyDecision::Nothing(_) if !all_final => ("nothing in time".to_owned(), false),
            KeyDecision::Nothing(why) => (format!("nothing: {why}"), false),
            KeyDecision::Ask(sent) => (sent.to_string(), !sent.columns.is_empty()),
            KeyDecision::ByPart(by_part) => (by_part.about(source), false),
        };
        self.said.set_decision(&said, used);
        if let Some(why) = unmet(&decided)
            && SluiceOptions::from_options(options).join == Join::Bloom
        {
            note_unmet(config, options, why);
        }
        if all_final {
            *known = Some(Arc::clone(&decided));
        }
        Ok(decided)
    }
}

/// Decides about keys, on a blocking thread if they are many: a Bloom filter is built for each of some probabilities,
/// which would block the task.
async fn decide_apart(
    source: &S3SelectSource,
    endpoint: &Arc<Endpoint>,
    config: &Arc<FileScanConfig>,
    options: &Arc<ConfigOptions>,
    keys: KeysByColumn,
) -> Result<KeyDecision> {
    let listed = keys.values().filter_map(|keys| keys.values.as_ref());
    if listed.map(|values| values.len()).sum::<usize>() < MANY_KEYS {
        return decide(source, endpoint, config, options, keys);
    }
    let (source, endpoint) = (source.clone(), Arc::clone(endpoint));
    let (config, options) = (Arc::clone(config), Arc::clone(options));
    let decided =
        SpawnedTask::spawn_blocking(move || decide(&source, &endpoint, &config, &options, keys));
    decided.join_unwind().await.map_err(gone)?
}

/// Returns the reason why a decision sends neither a list of keys nor a Bloom filter although there are keys, or
/// `None` if it sends one.
fn unmet(decided: &KeyDecision) -> Option<Reason> {
    match decided {
        KeyDecision::NoRow | KeyDecision::Fetch | KeyDecision::ByPart(_) => None,
        KeyDecision::Nothing(why) => Some(Reason::from(*why)),
        KeyDecision::Ask(sent)
            if sent
                .columns
                .iter()
                .any(|(_, it)| !matches!(it, PushedKeyFilter::Between { .. })) =>
        {
            None
        }
        KeyDecision::Ask(sent) => sent
            .only_bounds
            .iter()
            .map(|(column, why)| Reason::new(format!("only bounds on {column} are sent: {why}")))
            .chain(
                sent.refused.iter().map(|(column, why)| {
                    Reason::new(format!("nothing is sent about {column}: {why}"))
                }),
            )
            .next(),
    }
}

/// Records that the session forces keys to be sent, but they are not.
fn note_unmet(config: &FileScanConfig, options: &ConfigOptions, why: Reason) {
    Journal::note(options, || {
        let setting = format!("sluice.join = '{}'", Join::Bloom);
        let unmet = ForcedStrategy { setting, strategies: vec!["bloom"] }.unmet(&why);
        let refused = Decision::refused("join", "bloom", subject(config), why);
        Decision { unmet: Some(unmet), ..refused }
    });
}

/// Returns the keys that filters contain. Keys that are too many to be listed are counted out if `pays` returns true
/// for their column. Counting uses at most `threads` threads, returns at most `most` keys and ends at `until`.
async fn all_keys(
    source: &S3SelectSource,
    keys: BTreeMap<usize, ColumnKeys>,
    about: &[KeyFilter],
    pays: impl Fn(usize, &EnumerableFilter) -> Result<bool>,
    (threads, most, until): (usize, usize, std::time::Instant),
) -> Result<KeysByColumn> {
    let filters: Vec<_> =
        about.iter().filter(|it| it.one_key).map(|it| Arc::clone(&it.now)).collect();
    let mut all = KeysByColumn::new();
    for (column, keys) in keys {
        let countable = match keys.values {
            Some(_) => None,
            None => EnumerableFilter::try_new(&filters, column, &keys, source.file_schema()),
        };
        let listed = keys.values.is_some();
        let mut keys = OrderedKeys::from(keys);
        if listed {
            keys.filter = about_alone(about, column);
        }
        if let Some(countable) = countable
            && pays(column, &countable)?
        {
            let filter = Arc::clone(countable.filter());
            if let Some(values) = countable.counted(threads, most, until).await? {
                (keys.values, keys.filter) = (Some(values), Some(filter));
            }
        }
        all.insert(column, keys);
    }
    Ok(all)
}

/// Returns a filter that only keys of a column pass, or `None` if a filter on the column also depends on something
/// else.
fn about_alone(about: &[KeyFilter], column: usize) -> Option<Arc<dyn PhysicalExpr>> {
    let mut alone = Vec::new();
    for filter in about {
        let columns = collect_columns(&filter.now);
        if !columns.iter().any(|it| it.index() == column) {
            continue;
        }
        if !filter.one_key || columns.len() > 1 {
            return None;
        }
        alone.push(Arc::clone(&filter.now));
    }
    conjunction_opt(alone)
}

/// Returns the time to wait for keys, and again to count them out. It is at most the predicted time of reading the
/// table without keys, so that the loss is bounded if they do not pay off. If `sluice.join` forces keys, it is
/// [`DYNAMIC_FILTER_TIMEOUT`].
fn wait_limit(
    source: &S3SelectSource,
    endpoint: &Endpoint,
    config: &FileScanConfig,
    options: &ConfigOptions,
) -> Result<Duration> {
    if SluiceOptions::from_options(options).join == Join::Bloom {
        return Ok(DYNAMIC_FILTER_TIMEOUT);
    }
    let demand = SessionEstimator::from_options(options)?.open_demand(config, source, options);
    let without = demand.select().unwrap_or_else(|| demand.get());
    Ok(predict(&without.steps, &endpoint.hardware).total().min(DYNAMIC_FILTER_TIMEOUT))
}
