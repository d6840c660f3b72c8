//! What clients may do, by every protocol.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use sluicegate_costmodel::Dollars;
use sluicegate_engine::{Effect, Engine};
use sluicegate_postgres::{SqlError, lex, state};

use super::errors;
use crate::output::stats;

/// Settings with values for which memory is allocated before it is counted, or which bound the stack.
const EXHAUSTING: [&str; 2] = ["datafusion.execution.", "datafusion.sql_parser.recursion_limit"];
/// Settings among them that change answers only.
const OWN_SETTINGS: [&str; 1] = ["datafusion.execution.time_zone"];

/// What clients may do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether they may write.
    pub(super) allows_writes: bool,
    /// The predicted cost above which statements do not run.
    pub(super) max_cost: Option<Dollars>,
    /// The most bytes of memory that the joins, sorts and aggregates of a session use.
    pub(super) session_memory: Option<usize>,
}

impl Rules {
    /// Returns what a statement does.
    ///
    /// # Errors
    ///
    /// If the statement cannot be planned, or the rules do not allow it.
    pub(super) async fn check(
        &self,
        engine: &Engine,
        sql: &str,
        in_transaction: bool,
    ) -> Result<Effect, SqlError> {
        check_setting(sql)?;
        let effect = engine.effect(sql).await.map_err(|error| errors::of_engine(&error, sql))?;
        check_effect(effect, self, in_transaction)?;
        check_cost(engine, sql, effect, self).await?;
        Ok(effect)
    }
}

/// Returns true for an EXPLAIN that does not run its statement. ANALYZE may be the last of many options, so that the word
/// counts anywhere.
fn only_explains(sql: &str) -> bool {
    let mut words = lex::words(sql);
    words.next().is_some_and(|word| word.is("EXPLAIN"))
        && !words.any(|word| word.is("ANALYZE") || word.is("ANALYSE"))
}

/// Refuses settings of the whole server, such as its memory.
fn check_setting(sql: &str) -> Result<(), SqlError> {
    let mut words = lex::words(sql);
    if !words.next().is_some_and(|word| word.is("SET") || word.is("RESET")) {
        return Ok(());
    }
    let name: String = words.take(6).map(|word| word.unquoted()).collect();
    let name = name.to_lowercase();
    if name.starts_with("datafusion.runtime.") {
        let message = "settings of datafusion.runtime are those of the whole server, and clients cannot change them";
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
            .with_hint("Give the server's options, such as --memory-limit."));
    }
    let is_own = OWN_SETTINGS.iter().any(|own| name.starts_with(own));
    if is_own || !EXHAUSTING.iter().any(|prefix| name.starts_with(prefix)) {
        return Ok(());
    }
    let message =
        "clients cannot change this setting: some of its values exhaust the memory of the server";
    Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
        .with_hint("Set it for all clients, in a file for the server's option -f."))
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
    let is_free = effect == Effect::Defines || only_explains(sql);
    let Some(limit) = rules.max_cost.filter(|_| !is_free) else { return Ok(()) };
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

/// Returns the number of rows that a statement wrote, from its answer.
pub(super) fn rows_written(batch: &RecordBatch) -> u64 {
    let counts = batch.columns().first().and_then(|it| it.as_primitive_opt::<UInt64Type>());
    counts.into_iter().flatten().flatten().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_server_are_refused() {
        check_setting("SET datafusion.runtime.memory_limit = '1G'").unwrap_err();
        check_setting("reset \"datafusion\".runtime.memory_limit").unwrap_err();
        check_setting("SET datafusion.execution.batch_size = 1000000000000").unwrap_err();
        check_setting("SET datafusion.sql_parser.recursion_limit = 100000").unwrap_err();
        check_setting("SET datafusion.execution.time_zone = 'UTC'").unwrap();
        check_setting("SET sluice.scan = 'get'").unwrap();
        check_setting("SELECT 1").unwrap();
    }

    #[test]
    fn an_explanation_is_free_unless_it_runs() {
        assert!(
            only_explains("explain SELECT 1") && only_explains("/* a */ EXPLAIN VERBOSE SELECT 1")
        );
        assert!(!only_explains("EXPLAIN ANALYZE SELECT 1") && !only_explains("SELECT 'EXPLAIN'"));
        assert!(!only_explains("EXPLAIN VERBOSE ANALYZE SELECT 1"));
        assert!(!only_explains(
            "EXPLAIN (VERBOSE true, COSTS false, FORMAT tree, ANALYZE) SELECT 1"
        ));
    }

    #[test]
    fn writes_need_leave_and_no_transaction() {
        let rules = Rules { allows_writes: false, max_cost: None, session_memory: None };
        check_effect(Effect::Defines, &rules, true).unwrap();
        assert_eq!(check_effect(Effect::Writes, &rules, false).unwrap_err().code, state::READ_ONLY);
        let rules = Rules { allows_writes: true, ..rules };
        check_effect(Effect::Writes, &rules, false).unwrap();
        let code = check_effect(Effect::Writes, &rules, true).unwrap_err().code;
        assert_eq!(code, state::ACTIVE_TRANSACTION);
    }
}
