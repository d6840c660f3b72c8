//! Runs SQL over S3 stores and moves work to where the data is.
//!
//! [`Engine`] is a DataFusion session whose tables are in an S3 store. If the store supports S3 Select, scans push
//! their filters, columns and aggregates down to it. If the store does not, or if a GET is cheaper, the same query
//! reads the objects. The answer is the same either way.
//!
//! ```no_run
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sluicegate_engine::{EndpointProfile, Engine};
//!
//! // The profile lists what may be pushed down; without one, everything is read with GET.
//! let builder = Engine::builder().endpoint("http://127.0.0.1:9000");
//! let engine = builder.profile(EndpointProfile::sluice()).build().await?;
//! let batches = engine.collect("SELECT count(*) FROM 's3://bucket/file.csv'").await?;
//! println!("{}", arrow::util::pretty::pretty_format_batches(&batches)?);
//! println!("{} requests", engine.counted().requests());
//! # Ok(())
//! # }
//! ```
//!
//! Entry points:
//!
//! - [`Engine::plan`] returns a [`Query`], which counts its own requests and bytes and lists the
//!   settings that it could not follow; [`Engine::query`], [`Engine::collect`] and [`Engine::stream`]
//!   return only its rows.
//! - [`Engine::explain`] lists, for every scan, aggregate and ORDER BY … LIMIT, the possible ways to run it with
//!   their
//!   predicted numbers, and why the others are not possible ([`choice`]).
//! - `ANALYZE TABLE t` reads a table and stores statistics about its values for the planner
//!   ([`statistics`]).
//! - [`Engine::register_endpoint`] adds a further store for buckets of its own.
//! - [`with_pushdown`] adds the rules to a DataFusion session that you already have.
//! - [`config`] has the options that SQL sets with `SET sluice.…`.
//! - [`guards`] lists where DataFusion's answers are wrong and ours differ.
//! - [`Error`] has a kind, a sentence and usually a hint, also if a query fails while it runs.
//!
//! Chains of up to 2,000 operators are planned and run recursively. The threads that poll the futures and streams of
//! an engine or a worker therefore need stacks of [`STACK_BYTES`]; Tokio's default is 2 MiB:
//!
//! ```
//! let threads = tokio::runtime::Builder::new_multi_thread()
//!     .enable_all()
//!     .thread_stack_size(sluicegate_engine::STACK_BYTES)
//!     .build()?;
//! // `block_on` polls on the calling thread, whose stack is smaller: spawn the work.
//! threads.block_on(threads.spawn(async { /* … */ }))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Modules that are not documented here are public for the project's own tests and may change.

mod alias_in_where;
mod beginnings;
mod bounded_texts;
pub mod browse;
mod calls;
mod carried;
#[doc(hidden)]
pub mod catalog;
mod changed_rows;
mod checked;
mod checksum;
pub mod choice;
pub mod codec;
mod conditional_writes;
pub mod config;
mod contents;
mod copied;
mod copied_columns;
mod copy_options;
pub mod counters;
mod csv_dialect;
mod csv_options;
#[doc(hidden)]
pub mod datasource;
mod declared_headers;
mod declared_names;
mod declared_twice;
mod decompressed;
mod direct;
mod dropped_clauses;
mod endpoint;
mod endpoint_builder;
pub mod endpoints;
mod error;
pub mod explain;
pub mod external_tables;
mod files_table;
mod foreign_statements;
mod from_first;
mod function_synonyms;
mod grouped_aggregates;
pub mod guards;
mod hardware;
mod idle_timeout;
pub mod index;
mod interval_units;
mod json_columns;
mod json_layout;
mod json_order;
mod late_keys;
mod layered;
mod listed;
mod local;
mod locations;
mod merged_columns;
#[doc(hidden)]
pub mod metrics;
mod misanswer;
mod mismatched_types;
mod missing;
mod mistyped_queries;
pub mod model_tables;
mod named_columns;
mod nesting;
mod not_null;
pub mod notes;
mod number_literals;
mod object_names;
mod one_version;
#[doc(hidden)]
pub mod optimizer;
mod option_values;
mod other_forms;
mod outer_fields;
mod panics;
mod partitions;
pub mod parts;
#[doc(hidden)]
pub mod physical_plan;
pub mod picture;
#[doc(hidden)]
pub mod profile;
pub mod query;
mod quoted_folders;
mod readable_copy;
mod sampled_schema;
#[doc(hidden)]
pub mod sampling;
pub mod session;
mod settings_meant;
mod short_times;
mod show_columns;
mod show_tables;
mod silence;
#[doc(hidden)]
pub mod skyline;
mod spellings;
mod sql;
pub mod sql_types;
pub mod stages;
pub mod staging;
pub mod statistics;
pub mod store;
mod struct_fields;
mod summarize;
#[doc(hidden)]
pub mod switch;
mod table_columns;
pub mod table_functions;
pub mod timeline;
mod type_of;
mod united;
mod unquoted_names;
#[doc(hidden)]
pub mod url_tables;
mod uuid_text;
mod why_refused;
mod written_files;
mod written_out;
mod wrong_drop;

mod builder;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::catalog::CatalogProviderList;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::cache::cache_manager::{CacheManager, CacheManagerConfig};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, LogicalPlanBuilder, Statement};
use datafusion::prelude::SessionContext;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

pub use self::builder::EngineBuilder;
use self::choice::Journal;
pub use self::counters::Counted;
use self::csv_dialect::headers::KnownHeaders;
pub use self::endpoint::Endpoint;
pub use self::endpoint_builder::EndpointBuilder;
pub use self::endpoints::Endpoints;
pub use self::error::{Error, ErrorKind, Result, Told};
pub use self::explain::{Estimate, Explanation};
use self::json_layout::KnownLayouts;
use self::listed::PatternCaches;
use self::notes::Notes;
pub use self::one_version::Versions;
use self::query::QueryCounters;
pub use self::query::{Profile, Query};
pub use self::session::with_pushdown;
use self::staging::Uploads;
use self::statistics::analyze::{Analysis, Analyze};
use self::store::S3Stores;
use self::url_tables::UrlTables;
// Callers need these types to set an engine up and to read its answers. The re-exports save them a dependency on the
// crates below.
pub use sluicegate_client::{ConnectOptions, Credentials};
pub use sluicegate_costmodel::{HardwareProfile, Objective, PriceBook};
pub use sluicegate_s3select::profile::EndpointProfile;

/// The stack size of a thread that plans or runs queries, in bytes. It is large enough for every statement that is
/// accepted. At the limit, 2,000 consecutive operators take some 9 MiB if crates are optimised, as do 500 branches of
/// UNION, and several times as much if they are not. Unused pages take no memory.
pub const STACK_BYTES: usize = 64 << 20;

/// Runs SQL over S3 stores: a main one, and those that are registered for certain buckets.
#[derive(Clone)]
pub struct Engine {
    context: SessionContext,
    endpoint: Arc<Endpoint>,
    endpoints: Endpoints,
    notes: Arc<Notes>,
    uploads: Arc<Uploads>,
    stores: Arc<S3Stores>,
    /// The catalogs, without the tables that are named by their URL.
    catalogs: Arc<dyn CatalogProviderList>,
    /// The number of bytes that the last ANALYZE TABLE has to read.
    analyzing: Arc<AtomicU64>,
}

impl Engine {
    /// Returns a builder with the default settings.
    #[must_use]
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Plans one statement, from text through the logical to the physical plan. The returned DataFrame has not run,
    /// except that DDL, SET and ANALYZE TABLE take effect.
    ///
    /// # Errors
    ///
    /// If the statement cannot be parsed or planned, or a table cannot be listed.
    pub async fn query(&self, sql: &str) -> Result<DataFrame> {
        Ok(self.plan(sql).await?.into_frame())
    }

    /// Plans one statement like [`Engine::query`], and keeps the counters of its requests and its warnings.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`].
    pub async fn plan(&self, sql: &str) -> Result<Query> {
        self.planned(sql, QueryCounters::default(), Journal::of_warnings()).await
    }

    /// Plans one statement like [`Engine::plan`], and records its decisions and the time of each request for
    /// [`Query::profile`]. Start the query with [`Query::start`].
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`].
    pub async fn profile(&self, sql: &str) -> Result<Query> {
        self.planned(sql, QueryCounters::with_timeline(), Journal::default()).await
    }

    async fn planned(&self, sql: &str, counters: QueryCounters, journal: Journal) -> Result<Query> {
        let counters = Arc::new(counters);
        let planned = Box::pin(self.frame(sql, &counters, &journal));
        match panics::caught("planning the query", planned).await {
            Ok(frame) => Ok(Query::new(frame, counters, journal)),
            Err(error) => Err(late_keys::told(&self.context, sql, error.into()).await),
        }
    }

    async fn frame(
        &self,
        sql: &str,
        counters: &Arc<QueryCounters>,
        journal: &Journal,
    ) -> datafusion::common::Result<DataFrame> {
        let session = self.session_of(counters, journal)?;
        if let Some(analyze) = Analyze::parse(sql)? {
            let analysis = Box::pin(Analysis::prepare(&analyze, session.clone())).await?;
            self.analyzing.store(analysis.work().1, Ordering::Relaxed);
            return session.read_batch(Box::pin(analysis.run()).await?);
        }
        let (mut plan, existing) = Box::pin(sql::plan_of(&session.state(), sql)).await?;
        if let LogicalPlan::Copy(copy) = &mut plan {
            copied_columns::check(copy, session.state().config_options())?;
            readable_copy::quote_text(copy);
            let replaced = existing.at(copy, &session.state()).await?;
            if existing == staging::replaced::Existing::Kept {
                staging::appended::as_there(copy, &session).await?;
            }
            let state = session.state_ref();
            state.write().config_mut().options_mut().extensions.insert(replaced);
        }
        match plan {
            LogicalPlan::Statement(Statement::ResetVariable(reset))
                if config::SluiceOptions::has(&reset.variable) =>
            {
                // DataFusion resets only its own options.
                let state = self.context.state_ref();
                let mut state = state.write();
                let extensions = &mut state.config_mut().options_mut().extensions;
                if let Some(options) = extensions.get_mut::<config::SluiceOptions>() {
                    options.reset(&reset.variable)?;
                }
                Ok(DataFrame::new(session.state(), LogicalPlanBuilder::empty(false).build()?))
            }
            LogicalPlan::Statement(Statement::SetVariable(set)) => {
                let (name, value) = (set.variable.clone(), set.value.clone());
                option_values::check_setting(&name, &value)?;
                let plan = LogicalPlan::Statement(Statement::SetVariable(set));
                let done = self.context.execute_logical_plan(plan).await;
                let done = done.map_err(|error| option_values::of_setting(&name, &value, error));
                Ok(DataFrame::new(session.state(), done?.into_parts().1))
            }
            // These statements change the engine's session. EXECUTE must find this query there.
            LogicalPlan::Statement(_)
            | LogicalPlan::Ddl(DdlStatement::CreateFunction(_) | DdlStatement::DropFunction(_)) => {
                let (_, plan) = self.context.execute_logical_plan(plan).await?.into_parts();
                Ok(DataFrame::new(session.state(), plan))
            }
            _ => session.execute_logical_plan(plan).await,
        }
    }

    /// Returns the session of one query. It shares catalogs, settings, memory and caches with the engine. Requests
    /// through its object stores and warnings of its plan belong to the query, and it lists objects anew.
    fn session_of(
        &self,
        counters: &Arc<QueryCounters>,
        journal: &Journal,
    ) -> datafusion::common::Result<SessionContext> {
        let options = config::SluiceOptions::of(self.context.state().config_options());
        let idle_timeout = options.idle_timeout.get();
        let runtime = self.runtime_of(counters, Arc::default(), idle_timeout)?;
        let mut builder = SessionStateBuilder::new_from_existing(self.context.state())
            .with_session_id(self.context.session_id())
            .with_runtime_env(Arc::new(runtime));
        let mut config = builder.config().take().unwrap_or_default();
        journal.keep(config.options_mut());
        let builder = builder.with_config(config.with_extension(Arc::clone(counters)));
        Ok(UrlTables::enable(builder, &self.catalogs))
    }

    /// Returns a session for a part of a plan that was made elsewhere. It is DataFusion's own with this engine's
    /// stores, functions, memory and caches. `counters` counts its requests to the stores. It reads the versions of
    /// objects in `versions`, into which the caller puts those of the plan before it runs.
    ///
    /// # Errors
    ///
    /// If DataFusion lacks the rule next to which ours are inserted.
    pub fn session_of_part(
        &self,
        builder: SessionStateBuilder,
        counters: &Arc<QueryCounters>,
        versions: Arc<Versions>,
    ) -> datafusion::common::Result<SessionStateBuilder> {
        let mut builder = with_pushdown(builder, &self.endpoints)?;
        let config = builder.config().take().unwrap_or_default();
        let idle_timeout = config::SluiceOptions::of(config.options()).idle_timeout.get();
        let config = config
            .with_extension(Arc::clone(counters))
            .with_extension(Arc::clone(&self.notes))
            .with_extension(Arc::<KnownHeaders>::default())
            .with_extension(Arc::<KnownLayouts>::default())
            .with_extension(Arc::<PatternCaches>::default());
        let runtime = self.runtime_of(counters, versions, idle_timeout)?;
        Ok(builder.with_config(config).with_runtime_env(Arc::new(runtime)))
    }

    /// Returns the engine's runtime with stores that count requests for one query.
    fn runtime_of(
        &self,
        counters: &Arc<QueryCounters>,
        versions: Arc<Versions>,
        idle_timeout: Option<Duration>,
    ) -> datafusion::common::Result<RuntimeEnv> {
        let shared = self.context.runtime_env();
        let stores = self.stores.counted_by(Arc::clone(counters), versions, idle_timeout);
        Ok(RuntimeEnv {
            object_store_registry: Arc::new(stores),
            cache_manager: listing_anew(&shared)?,
            ..RuntimeEnv::clone(&shared)
        })
    }

    /// Runs a statement to its end and returns all of its rows.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`], and those of the run.
    pub async fn collect(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        self.plan(sql).await?.collect().await
    }

    /// Runs a statement and returns its rows as they arrive. Dropping the stream cancels the query.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`]; an error of the run is an item of the stream.
    pub async fn stream(&self, sql: &str) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let rows = self.plan(sql).await?.start().await?;
        Ok(rows.map_err(Error::from).boxed())
    }

    /// Explains what a statement would send to the stores, with predicted numbers. Nothing runs and nothing is
    /// defined. For `CREATE TABLE … AS SELECT`, INSERT, COPY and EXECUTE, their query is explained.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`].
    pub async fn explain(&self, sql: &str) -> Result<Explanation> {
        match explain::explain(self, sql).await {
            Ok(explanation) => Ok(explanation),
            Err(error) => Err(late_keys::told(&self.context, sql, error).await),
        }
    }

    /// Returns whether a statement only defines a name or sets an option, like `CREATE EXTERNAL TABLE`, `CREATE
    /// VIEW`, `PREPARE`, `DROP` and `SET`. Such a statement costs next to nothing, and later statements may need it
    /// before they can be explained.
    ///
    /// # Errors
    ///
    /// If the statement cannot be parsed, or names something that does not exist.
    pub async fn is_definition(&self, sql: &str) -> Result<bool> {
        if Analyze::parse(sql)?.is_some() {
            return Ok(false);
        }
        let statement = Box::pin(sql::logical_plan(&self.context.state(), sql)).await?;
        Ok(explain::is_definition(&statement))
    }

    /// Returns whether a statement reads rows and has no other effect, so that it can be repeated. INSERT, COPY,
    /// CREATE TABLE AS and ANALYZE TABLE also write, and EXPLAIN does not return the rows of its query.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::is_definition`].
    pub async fn only_reads(&self, sql: &str) -> Result<bool> {
        if Analyze::parse(sql)?.is_some() {
            return Ok(false);
        }
        let statement = Box::pin(sql::logical_plan(&self.context.state(), sql)).await?;
        Ok(explain::only_reads(&statement))
    }

    /// Returns the requests and bytes of all queries so far, over all endpoints; [`Query::counted`] is for one query.
    #[must_use]
    pub fn counted(&self) -> Counted {
        self.endpoints.all().iter().map(|endpoint| endpoint.counters.read()).sum()
    }

    /// Returns the number of bytes that the last ANALYZE TABLE has to read in total; [`Engine::counted`] includes
    /// those that it did read.
    #[must_use]
    pub fn analyzing(&self) -> u64 {
        self.analyzing.load(Ordering::Relaxed)
    }

    /// Returns notes for the user about the statements so far, such as objects that a table does not read. Each note
    /// is returned once.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Aborts the writes of running statements and waits until they are aborted; the statements fail. Call this
    /// before the process ends. Statements that have written everything and are about to make it visible complete;
    /// their number is returned.
    pub async fn abort_writes(&self) -> usize {
        self.uploads.abort_all().await
    }

    /// Returns the DataFusion session.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Returns the store that serves every bucket that is not registered for another one.
    #[must_use]
    pub fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Returns all stores of the engine.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Connects a further store, under its own name, for some buckets. From now on `s3://` URLs of these buckets are
    /// sent to that store, and never to the engine's main one.
    ///
    /// To add a store of another kind, register it with DataFusion by its URL:
    /// `engine.context().register_object_store(…)`. It is read with GET.
    ///
    /// # Errors
    ///
    /// If the settings are unusable, there is an endpoint of this name, or one of the buckets is already registered.
    pub async fn register_endpoint(
        &self,
        name: impl Into<String>,
        buckets: &[&str],
        endpoint: EndpointBuilder,
    ) -> Result<Arc<Endpoint>> {
        let endpoint = Arc::new(endpoint.name(name).build().await?);
        let buckets: Vec<String> = buckets.iter().map(|bucket| (*bucket).to_owned()).collect();
        self.endpoints.register(Arc::clone(&endpoint), &buckets)?;
        Ok(endpoint)
    }

    /// Replaces the main endpoint by that of another engine, for example after a store did not answer. Tables and
    /// settings stay; later queries send their requests to the new endpoint.
    pub fn adopt_endpoint(&mut self, other: &Self) {
        self.endpoints.replace(&self.endpoint.name, Arc::clone(&other.endpoint));
        self.endpoint = Arc::clone(&other.endpoint);
    }

    /// Returns the memory pool, the disk manager and the object stores.
    #[must_use]
    pub fn runtime_env(&self) -> Arc<RuntimeEnv> {
        self.context.runtime_env()
    }
}

/// Returns the caches of a session with an empty one for listings. If `datafusion.runtime.list_files_cache_ttl`
/// limits the age of a listing, the shared cache is used. Otherwise DataFusion would never list a table again, and so
/// never notice that its objects have changed.
fn listing_anew(runtime: &RuntimeEnv) -> datafusion::common::Result<Arc<CacheManager>> {
    let caches = &runtime.cache_manager;
    match caches.get_list_files_cache_ttl() {
        Some(_) => Ok(Arc::clone(caches)),
        None => with_own_listings(caches),
    }
}

/// Returns the same caches with an unshared, empty one for listings.
fn with_own_listings(caches: &CacheManager) -> datafusion::common::Result<Arc<CacheManager>> {
    CacheManager::try_new(&CacheManagerConfig {
        file_statistics_cache: caches.get_file_statistic_cache(),
        file_statistics_cache_limit: caches.get_file_statistic_cache_limit(),
        list_files_cache: None,
        list_files_cache_limit: caches.get_list_files_cache_limit(),
        list_files_cache_ttl: None,
        file_metadata_cache: Some(caches.get_file_metadata_cache()),
        metadata_cache_limit: caches.get_metadata_cache_limit(),
    })
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}
