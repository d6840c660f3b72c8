//! A client's session of the engine.

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;
use sluicegate_engine::{Effect, Engine, Outline};
use sluicegate_postgres::{
    Answer, ClientInfo, Description, Parameter, PgType, Scalar, Session, SqlError, lex,
};

use super::catalog::{Catalog, Place};
use super::client::ClientSession;
use super::rules::rows_written;
use super::values::SqlRows;
use super::{errors, literals, types};
use crate::output::titles::{retitled, titled};

/// A client's session.
#[derive(Debug)]
pub(super) struct SqlSession {
    client: ClientSession,
    catalog: Arc<Catalog>,
}

impl SqlSession {
    pub(super) fn new(client: ClientSession, info: &ClientInfo) -> Self {
        let place = Place {
            database: info.database.clone(),
            user: info.user.clone(),
            session: info.session,
            allows_writes: client.rules().allows_writes,
        };
        Self { client, catalog: Arc::new(Catalog::new(place)) }
    }

    /// Runs work with the session's engine on the threads of queries.
    async fn with_engine<T: Send + 'static, W>(
        &mut self,
        work: impl FnOnce(Engine, Arc<Catalog>) -> W + Send + 'static,
    ) -> Result<T, SqlError>
    where
        W: Future<Output = Result<T, SqlError>> + Send + 'static,
    {
        let engine = self.client.engine(|engine| self.catalog.register(engine)).await?;
        let catalog = Arc::clone(&self.catalog);
        self.client.run(Box::pin(work(engine, catalog))).await
    }
}

impl Session for SqlSession {
    type Rows = SqlRows;

    async fn describe(
        &mut self,
        sql: &str,
        kinds: &[Option<PgType>],
    ) -> Result<Description, SqlError> {
        let (sql, kinds) = (sql.to_owned(), kinds.to_vec());
        self.with_engine(move |engine, catalog| async move {
            let typed = literals::typed(&sql, &kinds);
            if let Some(query) = catalog.recognise(&engine, &literals::untyped(&sql))? {
                let schema = query.schema().await?;
                let columns = Some(types::columns(&schema));
                let texts = kinds.iter().map(|kind| kind.unwrap_or_else(|| Scalar::Text.into()));
                return Ok(Description { parameters: texts.collect(), columns });
            }
            let outline = match engine.outline(&typed).await {
                // A type that cannot be inferred is that of a text.
                Err(_) if lex::highest_parameter(&typed) > 0 => {
                    engine.outline(&literals::untyped(&sql)).await
                }
                outline => outline,
            };
            let outline = outline.map_err(|error| errors::of_engine(&error, &sql))?;
            Ok(description(&outline, &sql, &kinds))
        })
        .await
    }

    async fn run(
        &mut self,
        sql: &str,
        parameters: &[Parameter],
        in_transaction: bool,
    ) -> Result<Answer<SqlRows>, SqlError> {
        let sql = literals::bound(sql, parameters)?;
        let (rules, threads) = (self.client.rules(), self.client.threads().clone());
        self.with_engine(move |engine, catalog| async move {
            let failed = |error: sluicegate_engine::Error| errors::of_engine(&error, &sql);
            if let Some(query) = catalog.recognise(&engine, &sql)? {
                let answer = query.run().await?;
                let columns = types::columns(&answer.schema());
                let rows = SqlRows { answer, engine, query: None, is_complete: false };
                let tag = "SELECT".to_owned();
                return Ok(Answer {
                    rows: Some((columns, rows)),
                    tag,
                    written: None,
                    notices: Vec::new(),
                });
            }
            let effect = rules.check(&engine, &sql, in_transaction).await?;
            let query = engine.plan(&sql).await.map_err(failed)?;
            let tag = tag(&sql);
            let plan = query.frame().logical_plan();
            let writes = matches!(plan, LogicalPlan::Copy(_) | LogicalPlan::Dml(_));
            let is_silent = effect == Effect::Defines
                || (effect == Effect::Writes && tag.starts_with("CREATE"));
            let mut answer = titled(threads.start(query.clone()), &sql);
            if !writes && !is_silent {
                let columns = types::columns(&answer.schema());
                let notices = engine.take_notes();
                let rows = SqlRows { answer, engine, query: Some(query), is_complete: false };
                return Ok(Answer { rows: Some((columns, rows)), tag, written: None, notices });
            }
            let mut written = 0;
            while let Some(batch) = answer.next().await {
                let batch = batch.map_err(|error| failed(error.into()))?;
                written += rows_written(&batch);
            }
            let mut notices = engine.take_notes();
            notices.extend(query.warnings());
            Ok(Answer { rows: None, tag, written: writes.then_some(written), notices })
        })
        .await
    }

    fn reset(&mut self) {
        self.client = self.client.renewed();
    }
}

/// Returns what a client is told about a statement before it runs.
fn description(outline: &Outline, sql: &str, kinds: &[Option<PgType>]) -> Description {
    let inferred = |number: usize| {
        let kind = outline.parameters.get(&format!("${number}"))?.as_ref()?;
        Some(types::of_arrow(kind).0)
    };
    let kind = |(index, kind): (usize, &Option<PgType>)| {
        kind.or_else(|| inferred(index + 1)).unwrap_or_else(|| Scalar::Text.into())
    };
    let parameters = kinds.iter().enumerate().map(kind).collect();
    let schema = retitled(&outline.schema, sql).unwrap_or_else(|| Arc::clone(&outline.schema));
    // COPY and INSERT return a count, which is a part of their tag.
    let columns = (outline.effect == Effect::Reads).then(|| types::columns(&schema));
    Description { parameters, columns }
}

/// Returns the tag of an answer, without the number of rows.
fn tag(sql: &str) -> String {
    let words: Vec<String> = lex::words(sql).take(3).map(|it| it.text.to_uppercase()).collect();
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    match word(0) {
        "INSERT" => "INSERT 0".to_owned(),
        first @ ("COPY" | "UPDATE" | "DELETE" | "SET" | "RESET" | "SHOW" | "EXPLAIN"
        | "ANALYZE" | "PREPARE" | "DEALLOCATE") => first.to_owned(),
        "CREATE" if word(1) == "OR" => format!(
            "CREATE {}",
            lex::words(sql).nth(3).map_or(String::new(), |it| it.text.to_uppercase())
        ),
        "CREATE" if word(1) == "EXTERNAL" => "CREATE FOREIGN TABLE".to_owned(),
        first @ ("CREATE" | "DROP" | "ALTER") => format!("{first} {}", word(1)),
        _ => "SELECT".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_postgres() {
        for (sql, expected) in [
            ("insert into t select 1", "INSERT 0"),
            ("/* c */ CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE VIEW"),
            ("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x'", "CREATE FOREIGN TABLE"),
            ("DROP TABLE t", "DROP TABLE"),
            ("FROM t", "SELECT"),
            ("WITH a AS (SELECT 1) SELECT * FROM a", "SELECT"),
        ] {
            assert_eq!(tag(sql), expected);
        }
    }
}
