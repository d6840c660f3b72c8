//! The engine: sessions, SQL text, EXPLAIN and plans as bytes.
//!
//! Reading order:
//!
//! 1. [`Engine`] in this file; [`EngineBuilder`] creates it, and [`session`] adds our rules, formats and stores to a
//!    DataFusion session.
//! 2. `sql`: from SQL text to a logical plan. [`analyze`], [`index_statements`] and [`browse`] are statements and
//!    commands of our own.
//! 3. [`query`]: one query and its counters. [`explain`] predicts a query without running it, and [`plan_graph`]
//!    turns a plan into data for drawing.
//! 4. `sessions`: sessions of several clients, and the effect of a statement.
//! 5. [`codec`] and [`leaf_tasks`]: plans as bytes, and scans divided among several machines.
//! 6. [`stages`] and [`model_tables`]: measurements for research. No SQL query uses them.
//!
//! This is the top folder and may use all others. Code that reads objects or predicts costs belongs in a lower
//! folder.

pub mod analyze;
pub mod browse;
pub(crate) mod builder;
pub mod codec;
pub mod explain;
pub mod index_statements;
pub mod leaf_tasks;
pub mod plan_graph;
pub mod query;
pub(crate) mod research;
pub mod session;
mod session_memory;
pub(crate) mod sessions;
pub(crate) mod sql;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::catalog::CatalogProviderList;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::cache::cache_manager::CacheManager;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, LogicalPlanBuilder, Statement};
use datafusion::prelude::SessionContext;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use crate::catalog::delta::DeltaVersions;
use crate::catalog::listing_filter::{PatternCaches, with_own_listings};
use crate::catalog::option_values;
use crate::catalog::url_tables::UrlTables;
use crate::context::choice::Journal;
use crate::context::config::SluiceOptions;
use crate::context::counters::CounterSnapshot;
use crate::context::error::{Error, Result};
use crate::context::notes::Notes;
use crate::context::panics;
use crate::engine::analyze::{Analysis, Analyze};
use crate::engine::builder::EngineBuilder;
use crate::engine::explain::Explanation;
use crate::engine::query::Query;
use crate::engine::session::with_pushdown;
use crate::engine::sql::{copied_columns, copy_round_trip, undeclared_keys};
use crate::estimate::declared_sizes::{DeclaredSizes, TableSize};
use crate::store::endpoint::Endpoint;
use crate::store::endpoint_builder::EndpointBuilder;
use crate::store::endpoints::Endpoints;
use crate::store::query_counters::QueryCounters;
use crate::store::registry::S3Stores;
use crate::store::staging::Uploads;
use crate::store::staging::append::as_there;
use crate::store::staging::overwrite::OverwriteMode;
use crate::store::version_pinned_store::Versions;
use crate::text::csv::dialect::headers::KnownHeaders;
use crate::text::json::layout::KnownLayouts;

/// Runs SQL over S3 stores: a default store, and stores that are registered for buckets of their own.
#[derive(Clone)]
pub struct Engine {
    pub(crate) context: SessionContext,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) endpoints: Endpoints,
    pub(crate) notes: Arc<Notes>,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) stores: Arc<S3Stores>,
    /// The catalogs, without the tables that are named by their URL.
    pub(crate) catalogs: Arc<dyn CatalogProviderList>,
    /// The bytes that the last ANALYZE TABLE has to read.
    pub(crate) analyzing: Arc<AtomicU64>,
    /// The sizes of tables for EXPLAIN.
    pub(crate) sizes: DeclaredSizes,
}

impl Engine {
    /// Returns the settings of a new engine.
    #[must_use]
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Plans one statement. The query does not run yet, but DDL, SET and ANALYZE TABLE take effect at once.
    ///
    /// # Errors
    ///
    /// If the statement cannot be parsed or planned, or a table cannot be listed.
    pub async fn query(&self, sql: &str) -> Result<DataFrame> {
        Ok(self.plan(sql).await?.into_frame())
    }

    /// Plans one statement like [`Engine::query`], and returns it with the counters of its requests and its warnings.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`].
    pub async fn plan(&self, sql: &str) -> Result<Query> {
        self.planned(sql, QueryCounters::default(), Journal::of_warnings()).await
    }

    /// Plans one statement like [`Engine::plan`], and also records its decisions and the times of its requests for
    /// [`Query::report`]. Start the query with [`Query::start`].
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`].
    pub async fn query_recorded(&self, sql: &str) -> Result<Query> {
        self.planned(sql, QueryCounters::with_timeline(), Journal::default()).await
    }

    async fn planned(&self, sql: &str, counters: QueryCounters, journal: Journal) -> Result<Query> {
        let counters = Arc::new(counters);
        let planned = Box::pin(self.frame(sql, &counters, &journal));
        match panics::caught("planning the query", planned).await {
            Ok(frame) => Ok(Query::new(frame, counters, journal)),
            Err(error) => {
                Err(undeclared_keys::undeclared_key_error(&self.context, sql, error.into()).await)
            }
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
            copy_round_trip::quote_text(copy);
            let replaced = existing.at(copy, &session.state()).await?;
            if existing == OverwriteMode::Kept {
                as_there(copy, &session).await?;
            }
            let state = session.state_ref();
            state.write().config_mut().options_mut().extensions.insert(replaced);
        }
        match plan {
            LogicalPlan::Statement(Statement::ResetVariable(reset))
                if SluiceOptions::has(&reset.variable) =>
            {
                // DataFusion resets no options but its own.
                let state = self.context.state_ref();
                let mut state = state.write();
                let extensions = &mut state.config_mut().options_mut().extensions;
                if let Some(options) = extensions.get_mut::<SluiceOptions>() {
                    options.reset(&reset.variable)?;
                }
                Ok(DataFrame::new(session.state(), LogicalPlanBuilder::empty(false).build()?))
            }
            LogicalPlan::Statement(Statement::SetVariable(set)) => {
                let (name, value) = (set.variable.clone(), set.value.clone());
                option_values::check_setting(&name, &value)?;
                self.check_files_of_setting(&name, &value)?;
                let plan = LogicalPlan::Statement(Statement::SetVariable(set));
                let done = self.context.execute_logical_plan(plan).await;
                let done = done.map_err(|error| option_values::of_setting(&name, &value, error));
                Ok(DataFrame::new(session.state(), done?.into_parts().1))
            }
            // These statements change the engine's own session, where EXECUTE finds the query later.
            LogicalPlan::Statement(_)
            | LogicalPlan::Ddl(DdlStatement::CreateFunction(_) | DdlStatement::DropFunction(_)) => {
                let (_, plan) = self.context.execute_logical_plan(plan).await?.into_parts();
                Ok(DataFrame::new(session.state(), plan))
            }
            _ => session.execute_logical_plan(plan).await,
        }
    }

    /// Returns the session of one query. It shares catalogs, settings, memory and caches with the engine's session.
    /// It has its own counters for requests, its own warnings, and new listings.
    pub(crate) fn session_of(
        &self,
        counters: &Arc<QueryCounters>,
        journal: &Journal,
    ) -> datafusion::common::Result<SessionContext> {
        let options = SluiceOptions::from_options(self.context.state().config_options());
        let idle_timeout = options.idle_timeout.get();
        let runtime = self.runtime_of(counters, Arc::default(), idle_timeout)?;
        let mut builder = SessionStateBuilder::new_from_existing(self.context.state())
            .with_session_id(self.context.session_id())
            .with_runtime_env(Arc::new(runtime));
        let mut config = builder.config().take().unwrap_or_default();
        journal.keep(config.options_mut());
        let config = config
            .with_extension(Arc::clone(counters))
            .with_extension(Arc::<DeltaVersions>::default());
        let builder = builder.with_config(config);
        Ok(UrlTables::enable(builder, &self.catalogs))
    }

    /// Prepares a session for a part of a plan that was made elsewhere. It uses the engine's stores, functions,
    /// memory and caches. Its requests are counted in `counters`. It reads the objects in `versions`, to which
    /// [`note_versions`](crate::engine::leaf_tasks::note_versions) adds those of the plan before it runs.
    ///
    /// # Errors
    ///
    /// If DataFusion lacks the rule next to which ours are inserted.
    pub fn task_session(
        &self,
        builder: SessionStateBuilder,
        counters: &Arc<QueryCounters>,
        versions: Arc<Versions>,
    ) -> datafusion::common::Result<SessionStateBuilder> {
        let mut builder = with_pushdown(builder, &self.endpoints)?;
        let config = builder.config().take().unwrap_or_default();
        let idle_timeout = SluiceOptions::from_options(config.options()).idle_timeout.get();
        let config = config
            .with_extension(Arc::clone(counters))
            .with_extension(Arc::clone(&self.notes))
            .with_extension(Arc::<KnownHeaders>::default())
            .with_extension(Arc::<KnownLayouts>::default())
            .with_extension(Arc::<PatternCaches>::default());
        let runtime = self.runtime_of(counters, versions, idle_timeout)?;
        Ok(builder.with_config(config).with_runtime_env(Arc::new(runtime)))
    }

    /// Returns the engine's runtime with object stores that count their requests for one query.
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
    /// Those of [`Engine::query`], and errors while the query runs.
    pub async fn collect(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        self.plan(sql).await?.collect().await
    }

    /// Runs a statement and returns its rows as they arrive. Dropping the stream ends the query.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`]. An error while the query runs is an item of the stream.
    pub async fn stream(&self, sql: &str) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let rows = self.plan(sql).await?.start().await?;
        Ok(rows.map_err(Error::from).boxed())
    }

    /// Predicts the requests, the time and the cost of a statement. Nothing runs and nothing is defined. For `CREATE
    /// TABLE … AS SELECT`, INSERT, COPY and EXECUTE, it explains the query.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::query`].
    pub async fn explain(&self, sql: &str) -> Result<Explanation> {
        match explain::explain(self, sql).await {
            Ok(explanation) => Ok(explanation),
            Err(error) => {
                Err(undeclared_keys::undeclared_key_error(&self.context, sql, error).await)
            }
        }
    }

    /// Declares sizes of tables. From now on, [`Engine::explain`] predicts queries over tables of these sizes, whatever
    /// their objects hold. Queries that run are not affected.
    #[must_use]
    pub fn with_table_sizes(self, sizes: Vec<TableSize>) -> Self {
        Self { sizes: DeclaredSizes::new(sizes), ..self }
    }

    /// Returns the URLs of declared sizes that belong to no scan that was explained so far.
    #[must_use]
    pub fn unused_table_sizes(&self) -> Vec<&str> {
        self.sizes.unused()
    }

    /// Returns whether a statement only defines a name or sets an option, such as `CREATE EXTERNAL TABLE`, `CREATE
    /// VIEW`, `PREPARE`, `DROP` and `SET`. These statements cost almost nothing, and later statements may need them
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

    /// Returns true if the text of a statement alone says that it is a query of rows, such as SELECT. Nothing is looked
    /// up, unlike by [`Engine::is_definition`].
    #[must_use]
    pub fn is_query(&self, sql: &str) -> bool {
        sql::is_query(&self.context.state(), sql)
    }

    /// Returns whether a statement only reads rows and can be repeated. INSERT, COPY, CREATE TABLE AS and ANALYZE
    /// TABLE also write, and EXPLAIN does not return the rows of its query.
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

    /// Returns the requests and bytes of all endpoints and all queries so far. [`Query::counted`] is for one query.
    #[must_use]
    pub fn counted(&self) -> CounterSnapshot {
        self.endpoints.all().iter().map(|endpoint| endpoint.counters.read()).sum()
    }

    /// Returns the bytes that the running or last ANALYZE TABLE has to read in total. [`Engine::counted`] includes
    /// those that it has read.
    #[must_use]
    pub fn analyzing(&self) -> u64 {
        self.analyzing.load(Ordering::Relaxed)
    }

    /// Takes the notes about the statements so far, such as objects that a table does not read. Each note is returned
    /// once.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Aborts the writes of all running statements, which then fail, and waits until the uploads are aborted. It is
    /// for a process that is about to end. Statements that are already making their objects visible run to their end.
    /// Returns the number of these statements.
    pub async fn abort_writes(&self) -> usize {
        self.uploads.abort_all().await
    }

    /// Returns the DataFusion session.
    #[must_use]
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Returns the store that serves every bucket that is not registered for another store.
    #[must_use]
    pub fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Returns all stores of the engine.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Connects a further store under its own name for some buckets. From now on `s3://` URLs of these buckets refer
    /// to that store. Nothing about them is sent to the engine's first store.
    ///
    /// Register a store of another kind with DataFusion, by its URL: `engine.context().register_object_store(…)`. It
    /// is read with GET.
    ///
    /// # Errors
    ///
    /// If the settings are unusable, if the name is taken, or if one of the buckets is registered already.
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

    /// Replaces the engine's endpoint by that of another engine, for example after the store did not answer. Tables
    /// and settings stay. Later queries use the new endpoint.
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

/// Returns the caches of a session with an empty cache for listings. Otherwise DataFusion would never list a table
/// again and never see changed objects. If the user sets `datafusion.runtime.list_files_cache_ttl`, the cache for
/// listings is kept.
fn listing_anew(runtime: &RuntimeEnv) -> datafusion::common::Result<Arc<CacheManager>> {
    let caches = &runtime.cache_manager;
    match caches.get_list_files_cache_ttl() {
        Some(_) => Ok(Arc::clone(caches)),
        None => with_own_listings(caches),
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}
