//! DataFusion sessions with our rules, options, formats and stores.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::SessionConfig;

use crate::catalog::external_tables::{ExternalTables, KINDS};
use crate::catalog::formats::S3FormatFactory;
use crate::context::config::SluiceOptions;
use crate::engine::explain::ExplainPlanner;
use crate::engine::sql::boolean_texts;
use crate::engine::sql::bounded_texts::bounded;
use crate::engine::sql::nullable_columns::nullable;
use crate::engine::sql::struct_fields;
use crate::engine::sql::times_without_seconds;
use crate::engine::sql::type_of::type_of;
use crate::engine::sql::uuid_text;
use crate::estimate::demand::ScanEstimates;
use crate::estimate::statistics::cache::StatisticsCache;
use crate::operators::skyline::skyline;
use crate::optimizer;
use crate::scan::estimator::SessionEstimator;
use crate::scan::keys::LISTED_KEYS;
use crate::store::endpoints::Endpoints;
use sluicegate_guards::with_guards;

/// Adds the engine to a session that is being built: the endpoints, the options under `sluice`, the optimizer rules,
/// the formats of files with statistics, and the reasons in EXPLAIN.
///
/// The object stores of the buckets belong to the runtime. Give the builder a [`RuntimeEnv`] with an
/// `S3Stores` registry of the same endpoints. With another registry, every bucket of
/// `endpoints` must be the same store there.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::SessionContext;
/// use sluicegate_engine::{Engine, with_pushdown};
/// use sluicegate_s3select::capabilities::StoreCapabilities;
///
/// let engine = Engine::builder()
///     .endpoint("http://127.0.0.1:9000")
///     .profile(StoreCapabilities::sluice())
///     .build()
///     .await?;
/// let mine = SessionStateBuilder::new()
///     .with_runtime_env(engine.runtime_env())
///     .with_default_features();
/// let context = SessionContext::new_with_state(with_pushdown(mine, engine.endpoints())?.build());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// If the builder's rules lack the one next to which ours are inserted.
pub fn with_pushdown(
    builder: SessionStateBuilder,
    endpoints: &Endpoints,
) -> Result<SessionStateBuilder> {
    let mut builder = with_guards(builder)?;
    struct_fields::planner(&mut builder);
    boolean_texts::planner(&mut builder);
    let rules = match builder.physical_optimizers().take() {
        Some(optimizer) => optimizer::insert(optimizer.rules)?,
        None => optimizer::rules()?,
    };
    let mut config = builder.config().take().unwrap_or_default();
    if config.options().extensions.get::<SluiceOptions>().is_none() {
        config = config.with_option_extension(SluiceOptions::default());
    }
    config.options_mut().extensions.insert(endpoints.clone());
    config.options_mut().extensions.insert(SessionEstimator::new(Arc::new(ScanEstimates)));
    if StatisticsCache::from_options(config.options()).is_none() {
        config.options_mut().extensions.insert(StatisticsCache::default());
    }
    hand_on_more_keys(config.options_mut());
    // If two formats have the same name, the first one is registered.
    let mut formats = S3FormatFactory::all();
    let theirs = builder.file_formats().take();
    formats.extend(theirs.unwrap_or_else(SessionStateDefaults::default_file_formats));
    let planner = Arc::new(ExplainPlanner::new(builder.query_planner().take()));
    let functions = builder.window_functions();
    functions.get_or_insert_with(SessionStateDefaults::default_window_functions).push(skyline());
    let functions = builder.scalar_functions().get_or_insert_default();
    let bounded = bounded(functions);
    functions.extend(bounded);
    functions.extend([type_of(), nullable()]);
    let tables = Arc::new(ExternalTables::default());
    for kind in KINDS {
        builder = builder.with_table_factory(kind.to_owned(), Arc::clone(&tables) as _);
    }
    Ok(builder
        .with_config(config)
        .with_query_planner(planner)
        .with_analyzer_rule(times_without_seconds::rule())
        .with_analyzer_rule(uuid_text::rule())
        .with_physical_optimizer_rules(rules)
        .with_file_formats(formats))
}

/// The maximum bytes of a build side's keys that a join lists for the probe side, and the maximum distinct keys of a
/// partition. DataFusion makes a literal of each key before it is known whether sending the keys pays, and copies the
/// list of literals for each file: three microseconds a key here, and some 300 bytes that no memory pool counts. If
/// there are more keys, whole numbers are collected if that is predicted to pay, in a sixth of the time and at 64
/// bytes each ([`EnumerableFilter`](crate::scan::keys::EnumerableFilter)). Texts are then reduced to their bounds,
/// unless the session raises DataFusion's option.
const KEYS: (usize, usize) = (16 << 20, LISTED_KEYS);

/// Raises DataFusion's limits for the keys of joins, unless the user has changed them.
fn hand_on_more_keys(options: &mut ConfigOptions) {
    let defaults = ConfigOptions::new().optimizer;
    let ours = &mut options.optimizer;
    if ours.hash_join_inlist_pushdown_max_size == defaults.hash_join_inlist_pushdown_max_size {
        ours.hash_join_inlist_pushdown_max_size = KEYS.0;
    }
    if ours.hash_join_inlist_pushdown_max_distinct_values
        == defaults.hash_join_inlist_pushdown_max_distinct_values
    {
        ours.hash_join_inlist_pushdown_max_distinct_values = KEYS.1;
    }
}

/// Returns the configuration of our own sessions.
#[must_use]
pub fn config() -> SessionConfig {
    SessionConfig::new()
        .with_information_schema(true)
        // This is ten more than the levels that a statement may nest.
        .set_usize("datafusion.sql_parser.recursion_limit", 60)
        .with_option_extension(SluiceOptions::default())
}

/// Returns a session builder with DataFusion's features and ours.
///
/// # Errors
///
/// If DataFusion no longer has the rule next to which ours are inserted.
pub fn builder(
    config: SessionConfig,
    runtime: Arc<RuntimeEnv>,
    endpoints: &Endpoints,
) -> Result<SessionStateBuilder> {
    let builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features();
    with_pushdown(builder, endpoints)
}
