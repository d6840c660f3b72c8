//! A client's session of the engine.

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;
use sluicegate_engine::{Effect, Engine, Outline};
use sluicegate_postgres::{
    Answer, ClientInfo, Description, Parameter, PgType, Scalar, Session, SqlError, lex, state,
};

use super::backend::Rules;
use super::catalog::{Catalog, Place};
use super::values::SqlRows;
use super::{errors, literals, types};
use crate::output::stats;
use crate::output::titles::{retitled, titled};
use crate::runtime::compute::Threads;

/// A client's session. The engine's session begins with its first statement.
#[derive(Debug)]
pub(super) struct SqlSession {
    shared: Engine,
    engine: Option<Engine>,
    threads: Threads,
    rules: Rules,
    catalog: Arc<Catalog>,
}

impl SqlSession {
    pub(super) fn new(shared: Engine, threads: Threads, rules: Rules, client: &ClientInfo) -> Self {
        let place = Place {
            database: client.database.clone(),
            user: client.user.clone(),
            session: client.session,
            allows_writes: rules.allows_writes,
        };
        Self { shared, engine: None, threads, rules, catalog: Arc::new(Catalog::new(place)) }
    }

    /// Runs work with the session's engine on the threads of queries.
    async fn with_engine<T: Send + 'static, W>(
        &mut self,
        work: impl FnOnce(Engine, Arc<Catalog>) -> W + Send + 'static,
    ) -> Result<T, SqlError>
    where
        W: Future<Output = Result<T, SqlError>> + Send + 'static,
    {
        let engine = match &self.engine {
            Some(engine) => engine.clone(),
            None => {
                let engine = self.shared.separate_session().await;
                let engine = engine.map_err(|error| errors::of_engine(&error, ""))?;
                self.catalog.register(&engine);
                self.engine.insert(engine).clone()
            }
        };
        let catalog = Arc::clone(&self.catalog);
        let ran = self.threads.run(async move { Ok(Box::pin(work(engine, catalog)).await) });
        ran.await.map_err(|failure| errors::of_failure(&failure))?
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
        let (rules, threads) = (self.rules, self.threads.clone());
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
            check_setting(&sql)?;
            let effect = engine.effect(&sql).await.map_err(failed)?;
            check_effect(effect, &rules, in_transaction)?;
            check_cost(&engine, &sql, effect, &rules).await?;
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
        self.engine = None;
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

/// Refuses settings of the whole server, such as its memory.
fn check_setting(sql: &str) -> Result<(), SqlError> {
    let mut words = lex::words(sql);
    if !words.next().is_some_and(|word| word.is("SET") || word.is("RESET")) {
        return Ok(());
    }
    let name: String = words.take(6).map(|word| word.unquoted()).collect();
    match name.to_lowercase().starts_with("datafusion.runtime.") {
        true => Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            "settings of datafusion.runtime are those of the whole server, and clients cannot change them",
        )
        .with_hint("Give the server's options, such as --memory-limit.")),
        false => Ok(()),
    }
}

fn check_effect(effect: Effect, rules: &Rules, in_transaction: bool) -> Result<(), SqlError> {
    match effect {
        Effect::Reads | Effect::Defines => Ok(()),
        Effect::Writes if !rules.allows_writes => {
            let message = "the statement writes, and the server allows only statements that read";
            Err(SqlError::new(state::READ_ONLY, message)
                .with_hint("Start the server with --allow-writes."))
        }
        Effect::Writes if in_transaction => Err(SqlError::new(
            state::ACTIVE_TRANSACTION,
            "a statement that writes cannot run in a transaction, because it could not be rolled back",
        )
        .with_hint("Run it outside of BEGIN and COMMIT; drivers call that autocommit.")),
        Effect::Writes => Ok(()),
    }
}

async fn check_cost(
    engine: &Engine,
    sql: &str,
    effect: Effect,
    rules: &Rules,
) -> Result<(), SqlError> {
    let Some(limit) = rules.max_cost.filter(|_| effect != Effect::Defines) else { return Ok(()) };
    let explained = Box::pin(engine.explain(sql)).await;
    let cost = explained.map_err(|error| errors::of_engine(&error, sql))?.estimate().cost;
    if cost <= limit {
        return Ok(());
    }
    let prices = stats::book(&engine.endpoint().prices);
    let message = format!(
        "the query is predicted to cost {cost} at the prices {prices}, which is more than {limit}, the server's limit"
    );
    Err(SqlError::new(state::LIMIT_EXCEEDED, message)
        .with_hint("EXPLAIN shows what it would do; filter more, or ask for a higher --max-cost of the server."))
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

/// Returns the number of rows that a statement wrote, from its answer.
fn rows_written(batch: &arrow::array::RecordBatch) -> u64 {
    use arrow::array::AsArray;
    use arrow::datatypes::UInt64Type;
    let counts = batch.columns().first().and_then(|it| it.as_primitive_opt::<UInt64Type>());
    counts.into_iter().flatten().flatten().sum()
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

    #[test]
    fn settings_of_the_server_are_refused() {
        check_setting("SET datafusion.runtime.memory_limit = '1G'").unwrap_err();
        check_setting("reset \"datafusion\".runtime.memory_limit").unwrap_err();
        check_setting("SET sluice.scan = 'get'").unwrap();
        check_setting("SELECT 1").unwrap();
    }

    #[test]
    fn writes_need_leave_and_no_transaction() {
        let rules = Rules { allows_writes: false, max_cost: None };
        check_effect(Effect::Defines, &rules, true).unwrap();
        assert_eq!(check_effect(Effect::Writes, &rules, false).unwrap_err().code, state::READ_ONLY);
        let rules = Rules { allows_writes: true, ..rules };
        check_effect(Effect::Writes, &rules, false).unwrap();
        let code = check_effect(Effect::Writes, &rules, true).unwrap_err().code;
        assert_eq!(code, state::ACTIVE_TRANSACTION);
    }
}
