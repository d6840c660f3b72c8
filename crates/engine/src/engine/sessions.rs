//! Sessions of several clients over one engine, and what their statements may do.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProvider, MemoryCatalogProviderList,
    MemorySchemaProvider, SchemaProvider,
};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::{LogicalPlan, Statement};

use crate::catalog::url_tables::UrlTables;
use crate::context::error::Result;
use crate::context::notes::Notes;
use crate::engine::analyze::Analyze;
use crate::engine::explain::Effect;
use crate::engine::query::analyzed_schema;
use crate::engine::session_memory::SessionMemory;
use crate::engine::{Engine, explain, sql};
use crate::store::local;
use crate::store::registry::S3Stores;

/// What is known of a statement before it runs.
#[derive(Debug, Clone)]
pub struct Outline {
    /// What it does.
    pub effect: Effect,
    /// Its columns.
    pub schema: SchemaRef,
    /// The types of its parameters, such as `$1`, as far as they can be inferred.
    pub parameters: HashMap<String, Option<DataType>>,
}

impl Engine {
    /// Returns an engine with a session of its own. What its statements define and set, such as tables, views,
    /// prepared statements and settings, stays in the session, which begins with those of this one. Endpoints,
    /// connections, caches, statistics and the memory limit are shared.
    ///
    /// # Errors
    ///
    /// If a table of this session can no longer be looked up.
    pub async fn separate_session(&self) -> Result<Self> {
        let stores = self.stores.for_session(Arc::default());
        self.session_with(stores, None).await
    }

    /// Returns an engine with a session of its own, as [`Engine::separate_session`] does, whose joins, sorts and
    /// aggregates may use this many bytes of memory at a time. The limit of the whole engine still holds.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::separate_session`].
    pub async fn limited_session(&self, memory: usize) -> Result<Self> {
        let stores = self.stores.for_session(Arc::default());
        self.session_with(stores, Some(memory)).await
    }

    /// Returns an engine whose statements may not name files of this machine, neither to read nor to write them, for
    /// clients that do not own them. Sessions that are separated from it may not, either.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::separate_session`].
    pub async fn without_local_files(&self) -> Result<Self> {
        let stores = self.stores.for_session(Arc::default()).without_local_files();
        self.session_with(stores, None).await
    }

    async fn session_with(&self, stores: S3Stores, memory: Option<usize>) -> Result<Self> {
        let notes = Arc::new(Notes::default());
        let stores = Arc::new(stores.with_notes(Arc::clone(&notes)));
        let mut runtime = RuntimeEnv {
            object_store_registry: Arc::clone(&stores) as _,
            ..RuntimeEnv::clone(&self.context.runtime_env())
        };
        if let Some(limit) = memory {
            let engine = Arc::clone(&runtime.memory_pool);
            runtime.memory_pool = Arc::new(SessionMemory::new(engine, limit));
        }
        let catalogs = copied(self.catalogs.as_ref()).await?;
        let mut builder = SessionStateBuilder::new_from_existing(self.context.state())
            .with_runtime_env(Arc::new(runtime));
        let config = builder.config().take().unwrap_or_default();
        let config = config.with_extension(Arc::clone(&notes));
        let context = UrlTables::enable(builder.with_config(config), &catalogs);
        Ok(Self { context, catalogs, notes, stores, ..self.clone() })
    }

    /// Returns what a statement would do. Nothing runs and nothing is defined. `EXECUTE` has the effect of its
    /// prepared statement, and `EXPLAIN ANALYZE` that of the statement it runs.
    ///
    /// # Errors
    ///
    /// If the statement cannot be planned. A query, such as SELECT, is not planned.
    pub async fn effect(&self, sql: &str) -> Result<Effect> {
        if self.is_query(sql) {
            return Ok(Effect::Reads);
        }
        if Analyze::parse(sql)?.is_some() {
            return Ok(Effect::Writes);
        }
        let plan = Box::pin(sql::logical_plan(&self.context.state(), sql)).await?;
        Ok(Box::pin(explain::effect(&self.context, plan)).await?)
    }

    /// Returns the effect, the columns and the parameters of a statement. Nothing runs and nothing is defined.
    ///
    /// # Errors
    ///
    /// If the statement cannot be planned.
    pub async fn outline(&self, sql: &str) -> Result<Outline> {
        let plan = Box::pin(sql::logical_plan(&self.context.state(), sql)).await?;
        let parameters = plan.get_parameter_types()?;
        let schema = analyzed_schema(&self.context.state(), &plan);
        let effect = match plan {
            // The types of its parameters are not known before they are given.
            LogicalPlan::Statement(Statement::Execute(_)) => Effect::Reads,
            plan => Box::pin(explain::effect(&self.context, plan)).await?,
        };
        Ok(Outline { effect, schema, parameters })
    }

    /// Refuses a setting that would read a file of this machine, if statements may not.
    pub(super) fn check_files_of_setting(
        &self,
        name: &str,
        value: &str,
    ) -> datafusion::common::Result<()> {
        let is_file =
            name.eq_ignore_ascii_case("sluice.switch") && value.contains(['/', '.', '\\']);
        match is_file && self.stores.denies_local_files() {
            true => Err(local::denied().into()),
            false => Ok(()),
        }
    }
}

/// Copies the catalogs and their schemas; tables are shared. Catalogs of other kinds than those in memory are shared
/// as a whole.
async fn copied(
    catalogs: &dyn CatalogProviderList,
) -> datafusion::common::Result<Arc<dyn CatalogProviderList>> {
    let copy = MemoryCatalogProviderList::new();
    for name in catalogs.catalog_names() {
        let Some(catalog) = catalogs.catalog(&name) else { continue };
        let catalog = match catalog.downcast_ref::<MemoryCatalogProvider>() {
            Some(catalog) => copied_catalog(catalog).await?,
            None => catalog,
        };
        copy.register_catalog(name, catalog);
    }
    Ok(Arc::new(copy))
}

async fn copied_catalog(
    catalog: &MemoryCatalogProvider,
) -> datafusion::common::Result<Arc<dyn CatalogProvider>> {
    let copy = MemoryCatalogProvider::new();
    for name in catalog.schema_names() {
        let Some(schema) = catalog.schema(&name) else { continue };
        let schema = match schema.downcast_ref::<MemorySchemaProvider>() {
            Some(_) => {
                let tables = MemorySchemaProvider::new();
                for table in schema.table_names() {
                    if let Some(provider) = schema.table(&table).await? {
                        tables.register_table(table, provider)?;
                    }
                }
                Arc::new(tables) as Arc<dyn SchemaProvider>
            }
            None => schema,
        };
        copy.register_schema(&name, schema)?;
    }
    Ok(Arc::new(copy))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn engine() -> Engine {
        Engine::builder().endpoint("http://127.0.0.1:1").build().await.unwrap()
    }

    async fn count(engine: &Engine, sql: &str) -> Result<usize> {
        Ok(engine.collect(sql).await?.iter().map(|batch| batch.num_rows()).sum())
    }

    #[tokio::test]
    async fn sessions_share_nothing_that_they_define() {
        let first = engine().await;
        first.collect("CREATE VIEW shared AS SELECT 1 AS a").await.unwrap();
        first.collect("SET sluice.scan = 'get'").await.unwrap();
        let (one, other) =
            (first.separate_session().await.unwrap(), first.separate_session().await.unwrap());
        assert_ne!(one.context().session_id(), other.context().session_id());
        one.collect("CREATE VIEW mine AS SELECT 1 AS a UNION ALL SELECT 2").await.unwrap();
        one.collect("SET sluice.scan = 'select'").await.unwrap();
        one.collect("PREPARE p AS SELECT 1").await.unwrap();
        assert_eq!(count(&one, "SELECT * FROM mine, shared").await.unwrap(), 2);
        for session in [&first, &other] {
            assert!(count(session, "SELECT * FROM mine").await.is_err());
            assert!(count(session, "EXECUTE p").await.is_err());
            let scan = session.collect("SHOW sluice.scan").await.unwrap();
            assert!(format!("{scan:?}").contains("get"), "{scan:?}");
        }
        one.collect("DROP VIEW shared").await.unwrap();
        assert_eq!(count(&other, "SELECT * FROM shared").await.unwrap(), 1);
        assert!(Arc::ptr_eq(&one.runtime_env().memory_pool, &other.runtime_env().memory_pool));
    }

    #[tokio::test]
    async fn a_session_has_a_limit_of_memory_of_its_own() {
        let engine = engine().await;
        let small = engine.limited_session(64 << 10).await.unwrap();
        let sql = "SELECT count(*) FROM (SELECT DISTINCT value FROM range(300000))";
        assert_eq!(count(&engine, sql).await.unwrap(), 1);
        let error = count(&small, sql).await.unwrap_err();
        let (kind, text, hint) = (error.kind(), error.to_string(), error.hint());
        assert_eq!(kind, crate::ErrorKind::Resources, "{text}");
        assert!(text.contains("than its session's limit of 64.0 KB leaves"), "{text}");
        assert!(hint.unwrap().contains("--session-memory"), "{hint:?}");
        assert_eq!(count(&small, "SELECT 1").await.unwrap(), 1);
        assert_eq!(small.runtime_env().memory_pool.reserved(), 0);
    }

    #[tokio::test]
    async fn files_of_the_machine_are_out_of_reach() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        std::fs::write(&file, "a\n1\n").unwrap();
        let file = file.display();
        let engine = engine().await;
        assert_eq!(count(&engine, &format!("SELECT * FROM '{file}'")).await.unwrap(), 1);
        let denied = engine.without_local_files().await.unwrap().separate_session().await.unwrap();
        for statement in [
            format!("SELECT * FROM '{file}'"),
            format!("SELECT * FROM 'file://{file}'"),
            format!("SELECT * FROM '{file}.missing.csv'"),
            "SELECT * FROM '~/a.csv'".to_owned(),
            format!("SELECT * FROM read_csv('{file}')"),
            format!("SELECT * FROM glob('{}/*')", folder.path().display()),
            format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{file}'"),
            format!(
                "CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{}/'",
                folder.path().display()
            ),
            format!("SELECT * FROM delta_scan('{}')", folder.path().display()),
            format!(
                "CREATE EXTERNAL TABLE t STORED AS DELTA LOCATION 'file://{}/'",
                folder.path().display()
            ),
            "SELECT * FROM 'nothing.csv'".to_owned(),
            format!("COPY (SELECT 1) TO '{file}.csv'"),
            format!("SET sluice.switch = '{file}'"),
        ] {
            let error = denied.collect(&statement).await.unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Access, "{statement}: {error}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        denied.collect("SET sluice.switch = 'tofino1'").await.unwrap();
    }

    #[tokio::test]
    async fn effects_are_known_before_a_statement_runs() {
        let engine = engine().await;
        engine.collect("CREATE TABLE t AS SELECT 1 AS a").await.unwrap();
        engine.collect("PREPARE reading AS SELECT 1").await.unwrap();
        engine.collect("PREPARE writing AS INSERT INTO t SELECT 2").await.unwrap();
        for (statement, expected) in [
            ("SELECT * FROM missing", Effect::Reads),
            ("FROM t", Effect::Reads),
            ("EXPLAIN INSERT INTO t SELECT 1", Effect::Reads),
            ("SHOW TABLES", Effect::Reads),
            ("EXECUTE reading", Effect::Reads),
            ("EXPLAIN ANALYZE SELECT 1", Effect::Reads),
            ("SET sluice.scan = 'get'", Effect::Defines),
            ("CREATE VIEW v AS SELECT 1", Effect::Defines),
            ("PREPARE other AS SELECT 1", Effect::Defines),
            ("DROP TABLE t", Effect::Defines),
            ("CREATE TABLE u AS SELECT 1", Effect::Writes),
            ("INSERT INTO t SELECT 1", Effect::Writes),
            ("EXPLAIN ANALYZE INSERT INTO t SELECT 1", Effect::Writes),
            ("EXECUTE writing", Effect::Writes),
            ("PREPARE other AS INSERT INTO t SELECT 1", Effect::Writes),
            ("COPY t TO 's3://bucket/t.csv'", Effect::Writes),
            ("ANALYZE TABLE t", Effect::Writes),
        ] {
            assert_eq!(engine.effect(statement).await.unwrap(), expected, "{statement}");
        }
        assert_eq!(count(&engine, "SELECT * FROM t").await.unwrap(), 1);
    }
}
