//! Answers queries about databases, tables, columns and types, which clients send by themselves.
//!
//! [`Catalog::recognise`] finds queries over PostgreSQL's schemas `pg_catalog` and `information_schema`. They run in
//! a DataFusion session of their own, on tables that are made for each query from the tables of the client's session:
//! [`relations`] lists them, and [`rows`] fills them. [`functions`] has PostgreSQL's functions, and [`rewrite`] turns
//! queries into those that DataFusion plans. Nothing here sends a request to a store.

mod functions;
mod relations;
mod rewrite;
mod rows;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::{CatalogProvider, MemTable, MemoryCatalogProvider, MemorySchemaProvider};
use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use sluicegate_engine::{Engine, Error};
use sluicegate_postgres::lex::{self, TokenKind};
use sluicegate_postgres::{SqlError, state};

use self::rows::Snapshot;
use super::errors;

/// What the catalog returns about a session.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The name of the database.
    pub(super) database: String,
    /// The name of the user.
    pub(super) user: String,
    /// The number of the session.
    pub(super) session: i32,
    /// Whether statements may write.
    pub(super) allows_writes: bool,
}

/// The catalog of a session.
#[derive(Debug)]
pub(super) struct Catalog {
    place: Place,
}

/// Words that a query over the catalog has, apart from those that begin with `pg_`.
const WORDS: &[&str] = &[
    "information_schema",
    "current_catalog",
    "current_schema",
    "current_user",
    "current_role",
    "session_user",
    "regclass",
    "regtype",
    "regnamespace",
    "regproc",
    "regrole",
];

/// Functions that such a query calls.
const CALLS: &[&str] = &[
    "current_database",
    "current_schemas",
    "current_setting",
    "set_config",
    "version",
    "format_type",
    "obj_description",
    "col_description",
    "shobj_description",
    "quote_ident",
    "quote_literal",
    "to_regclass",
    "to_regtype",
    "to_regnamespace",
    "inet_server_addr",
    "inet_server_port",
    "inet_client_addr",
    "txid_current",
    "row_security_active",
];

/// Returns true if a statement may be a query over the catalog.
fn is_marked(sql: &str) -> bool {
    let mut tokens = lex::words(sql).peekable();
    while let Some(token) = tokens.next() {
        if token.kind != TokenKind::Word {
            continue;
        }
        let word = token.text.to_ascii_lowercase();
        let is_call = tokens.peek().is_some_and(|next| next.text == "(");
        let is_privilege = word.starts_with("has_") && word.ends_with("_privilege");
        if word.starts_with("pg_")
            || WORDS.contains(&word.as_str())
            || (is_call && (is_privilege || CALLS.contains(&word.as_str())))
        {
            return true;
        }
    }
    false
}

impl Catalog {
    pub(super) const fn new(place: Place) -> Self {
        Self { place }
    }

    /// Adds the functions about the session to an engine's session, for queries over its tables.
    pub(super) fn register(&self, engine: &Engine) {
        for function in functions::of_session(&self.place) {
            engine.context().register_udf(function);
        }
    }

    /// Returns a query over the catalog; `None` for any other statement.
    ///
    /// # Errors
    ///
    /// If a query names both tables of the catalog and others.
    pub(super) fn recognise(
        &self,
        engine: &Engine,
        sql: &str,
    ) -> Result<Option<CatalogQuery>, SqlError> {
        if !is_marked(sql) {
            return Ok(None);
        }
        // What cannot be parsed is left to the engine, whose errors have places.
        let Ok(mut statements) = Parser::parse_sql(&PostgreSqlDialect {}, sql) else {
            return Ok(None);
        };
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            return Ok(None);
        };
        if !matches!(statement, ast::Statement::Query(_)) {
            return Ok(None);
        }
        let named = rewrite::named(&statement);
        if named.others && !named.catalog.is_empty() {
            let message = "a query names tables of the catalog and others at once";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Run a query over each, and join their answers."));
        }
        if named.others {
            return Ok(None);
        }
        Ok(Some(CatalogQuery { engine: engine.clone(), place: self.place.clone(), statement }))
    }
}

/// A query over the catalog.
#[derive(Debug)]
pub(super) struct CatalogQuery {
    engine: Engine,
    place: Place,
    statement: ast::Statement,
}

impl CatalogQuery {
    /// Returns the columns of the answer.
    pub(super) async fn schema(&self) -> Result<SchemaRef, SqlError> {
        let (_, plan) = Box::pin(self.plan()).await.map_err(failed)?;
        Ok(Arc::new(plan.schema().as_arrow().clone()))
    }

    /// Runs the query.
    pub(super) async fn run(&self) -> Result<SendableRecordBatchStream, SqlError> {
        let (context, plan) = Box::pin(self.plan()).await.map_err(failed)?;
        DataFrame::new(context.state(), plan).execute_stream().await.map_err(failed)
    }

    async fn plan(&self) -> Result<(SessionContext, LogicalPlan)> {
        let snapshot = Arc::new(Snapshot::take(&self.engine, &self.place).await?);
        let mut statement = self.statement.clone();
        let context = context(&snapshot, &statement)?;
        if let Some(name) = rewrite::rewrite(&mut statement, &snapshot) {
            return Err(plan_datafusion_err!("table '{name}' not found"));
        }
        let statement = Statement::Statement(Box::new(statement));
        let plan = context.state().statement_to_plan(statement).await?;
        Ok((context, plan))
    }
}

fn failed(error: DataFusionError) -> SqlError {
    errors::of_engine(&Error::from(error), "")
}

/// Returns a session with the tables that a statement names, and all functions.
fn context(snapshot: &Arc<Snapshot>, statement: &ast::Statement) -> Result<SessionContext> {
    let config = SessionConfig::new()
        .with_target_partitions(1)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema("database", "pg_catalog");
    let context = SessionContext::new_with_config(config);
    let catalog = MemoryCatalogProvider::new();
    for schema in ["pg_catalog", "information_schema"] {
        catalog.register_schema(schema, Arc::new(MemorySchemaProvider::new()))?;
    }
    let further = rewrite::columns(statement);
    for (schema, name) in rewrite::named(statement).catalog {
        let key = (schema, name);
        let wanted = further.get(&key).cloned().unwrap_or_default();
        let (schema, name) = key;
        let relation = relations::named(Some(&schema), &name).unwrap_or(relations::UNKNOWN);
        let columns = relation.schema(wanted);
        let rows = snapshot.rows(&relation, &columns)?;
        let table = MemTable::try_new(columns, vec![vec![rows]])?;
        if let Some(tables) = catalog.schema(&schema) {
            tables.register_table(name, Arc::new(table))?;
        }
    }
    context.register_catalog("database", Arc::new(catalog));
    for function in functions::functions(snapshot) {
        context.register_udf(function);
    }
    Ok(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_queries_about_the_catalog_are_marked() {
        for sql in [
            "SELECT * FROM pg_class",
            "select c.relname from information_schema.tables c",
            "SELECT 'x'::regclass",
            "SELECT version()",
            "SELECT current_user",
            "SELECT has_table_privilege('t', 'select')",
        ] {
            assert!(is_marked(sql), "{sql}");
        }
        for sql in
            ["SELECT version FROM t", "SELECT 'pg_class'", "SELECT 1 AS \"pg_x\"", "SELECT 1"]
        {
            assert!(!is_marked(sql), "{sql}");
        }
    }

    async fn answer(sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
        use arrow::util::display::{ArrayFormatter, FormatOptions};
        use futures::TryStreamExt;
        let engine = Engine::builder().endpoint("http://127.0.0.1:1").build().await.unwrap();
        let table = "CREATE TABLE items (id BIGINT NOT NULL, \"Price\" DECIMAL(12, 2), at TIMESTAMP) AS VALUES \
                     (1, 2.5, NULL)";
        engine.collect(table).await.unwrap();
        engine.collect("CREATE VIEW cheap AS SELECT id FROM items").await.unwrap();
        let place = Place {
            database: "shop".to_owned(),
            user: "me".to_owned(),
            session: 7,
            allows_writes: false,
        };
        let query = Catalog::new(place).recognise(&engine, sql)?.expect("a query over the catalog");
        let batches: Vec<_> = query.run().await?.try_collect().await.map_err(failed)?;
        let options = FormatOptions::default().with_null("NULL");
        let mut rows = Vec::new();
        for batch in batches {
            for row in 0..batch.num_rows() {
                let cell = |column: &arrow::array::ArrayRef| {
                    let cell = ArrayFormatter::try_new(column, &options).unwrap();
                    cell.value(row).to_string()
                };
                rows.push(batch.columns().iter().map(cell).collect());
            }
        }
        Ok(rows)
    }

    #[tokio::test]
    async fn tables_columns_and_views_are_listed() {
        let sql = "SELECT c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                   WHERE n.nspname OPERATOR(pg_catalog.~) '^(public)$' COLLATE pg_catalog.default ORDER BY 1";
        assert_eq!(answer(sql).await.unwrap(), [["cheap", "v"], ["items", "r"]]);
        let sql = "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_catalog.pg_attribute \
                   WHERE attrelid = 'items'::regclass ORDER BY attnum";
        let expected = [
            ["id", "bigint", "true"],
            ["Price", "numeric(12,2)", "false"],
            ["at", "timestamp without time zone", "false"],
        ];
        assert_eq!(answer(sql).await.unwrap(), expected);
        let sql = "SELECT column_name, data_type, is_nullable FROM information_schema.columns \
                   WHERE table_name = 'cheap'";
        assert_eq!(answer(sql).await.unwrap(), [["id", "bigint", "NO"]]);
        let sql = "SELECT pg_get_viewdef('cheap'::regclass, true)";
        assert!(answer(sql).await.unwrap()[0][0].contains("SELECT id FROM items"));
    }

    #[tokio::test]
    async fn tables_without_rows_may_be_queried_in_any_way() {
        let sql = "SELECT p.polname, array_to_string(ARRAY(SELECT rolname FROM pg_roles WHERE oid = ANY(p.polroles)), ',') \
                   FROM pg_policy p WHERE p.polrelid = '1' ORDER BY 1";
        assert!(answer(sql).await.unwrap().is_empty());
        assert_eq!(answer("SELECT count(*) FROM pg_index").await.unwrap(), [["0"]]);
        let sql = "SELECT c.relname, (SELECT d.description FROM pg_description d WHERE d.objoid = c.oid), \
                   EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid) FROM pg_class c ORDER BY 1 LIMIT 1";
        assert_eq!(answer(sql).await.unwrap(), [["cheap", "NULL", "false"]]);
        assert!(
            answer("SELECT x.anything FROM pg_catalog.pg_unheard_of x").await.unwrap().is_empty()
        );
    }

    #[tokio::test]
    async fn names_and_numbers_are_converted() {
        let sql = "SELECT 'int4'::regtype, c.oid::regclass::text, (SELECT n.nspname FROM pg_namespace n WHERE n.oid = c.relnamespace) \
                   FROM pg_class c WHERE c.relname LIKE 'it/ems' ESCAPE '/'";
        assert_eq!(answer(sql).await.unwrap(), [["23", "items", "public"]]);
        let sql = "SELECT current_database(), current_user, current_setting('server_version'), pg_backend_pid()";
        assert_eq!(answer(sql).await.unwrap(), [["shop", "me", "15.0", "7"]]);
        assert_eq!(
            answer("SELECT 'nothing'::regclass").await.unwrap_err().code,
            state::UNDEFINED_TABLE
        );
        assert_eq!(answer("SELECT to_regclass('nothing') IS NULL").await.unwrap(), [["true"]]);
        let mixed = answer("SELECT * FROM pg_class, items").await.unwrap_err();
        assert_eq!(mixed.code, state::FEATURE_NOT_SUPPORTED);
    }
}
