//! Queries that run locally, without pushdown, to measure their stages.

use sluicegate_costmodel::storage::{Offloads, Operation};
use sluicegate_engine::Engine;
use sluicegate_engine::stages::MeasuredStages;
use sluicegate_traces::{Query, name_of};

use super::refuse_unknown;
use crate::args::StorageArgs;
use crate::commands::embedded_store::set;
use crate::commands::sql::script;
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;
use crate::session::is_query;
use crate::session::script::place;

/// Settings with which the store only answers GETs: the work that a drive would take over is then done locally, and
/// can be measured.
const PLAIN: [(&str, &str); 5] = [
    ("scan", "get"),
    ("aggregate", "here"),
    ("group_by", "server"),
    ("join", "baseline"),
    ("top_k", "server"),
];

/// Turns off DataFusion's filters from the keys of joins. They drop rows without a match on the host, as filters of
/// the scan, which would hide what a drive with semi-joins saves.
const WITHOUT_JOIN_FILTERS: &str =
    "SET datafusion.optimizer.enable_join_dynamic_filter_pushdown = false";

/// Runs the definitions and queries of the arguments. Returns the measured queries, and the names and failures of the
/// others.
pub(super) async fn queries(
    args: StorageArgs,
    offloads: Offloads,
) -> Result<(Vec<Query>, Vec<(String, Failure)>)> {
    let Some(script) = script(&args.statements)? else {
        let message = "there is nothing to predict; give a query with -c, or a file with --stages";
        return Err(Failure::Usage(message.to_owned()));
    };
    refuse_unknown(script.text(), args.query.as_deref())?;
    let engine = args.connect.connect().await?;
    if offloads.has(Operation::SemiJoin) {
        Box::pin(Box::pin(engine.query(WITHOUT_JOIN_FILTERS)).await?.collect()).await?;
    }
    let statements = script.statements();
    let (mut queries, mut failures) = (Vec::new(), Vec::new());
    let (wanted, mut seen) = (args.query.as_deref(), 0);
    let mut others = Vec::new();
    for (index, statement) in statements.iter().enumerate() {
        let name = name_of(statement).unwrap_or_else(|| format!("query {}", seen + 1));
        if wanted.is_some_and(|wanted| wanted != name)
            && is_query(&engine, statement).await.unwrap_or(seen > 0)
        {
            seen += 1;
            others.push(name);
            continue;
        }
        let measured = measured(&engine, name.clone(), statement, args.rounds).await;
        for note in engine.take_notes() {
            print_line(&format!("note: {note}"));
        }
        match measured {
            Ok(query) => {
                seen += usize::from(query.is_some());
                queries.extend(query);
            }
            Err(failure) if statements.len() == 1 => return Err(failure),
            Err(failure) => {
                // If a definition fails before the first query, the queries cannot run either.
                let is_planned = seen > 0 || is_query(&engine, statement).await.is_ok();
                match failure.at(&place(index, statement)) {
                    failure @ Failure::Failed { .. } if is_planned => {
                        seen += 1;
                        failures.push((name, failure));
                    }
                    failure => return Err(failure),
                }
            }
        }
    }
    if let (true, Some(wanted)) = (queries.is_empty() && failures.is_empty(), wanted) {
        return Err(Failure::new(format!("there is no query `{wanted}`"))
            .with_hint(format!("There is {}.", others.join(", "))));
    }
    if queries.is_empty() && failures.is_empty() {
        return Err(Failure::new("there is no query to predict")
            .with_hint("Give one with -c, after the definitions of its tables."));
    }
    Ok((queries, failures))
}

/// Measures a query. A definition is executed and returns `None`.
async fn measured(
    engine: &Engine,
    name: String,
    statement: &str,
    rounds: u32,
) -> Result<Option<Query>> {
    if !is_query(engine, statement).await? {
        Box::pin(Box::pin(engine.query(statement)).await?.collect()).await?;
        return Ok(None);
    }
    refuse_effects(engine, statement).await?;
    Ok(Some(measure(engine, name, statement, rounds).await?))
}

/// Fails if a statement does more than read, since it would run several times.
pub(super) async fn refuse_effects(engine: &Engine, statement: &str) -> Result<()> {
    if Box::pin(engine.only_reads(statement)).await? {
        return Ok(());
    }
    Err(Failure::new(
        "the statement is no query that can run several times: it writes, or explains",
    )
    .with_hint("Give the query that it is about."))
}

/// Runs a query several times and returns the run with the median time.
pub(super) async fn measure(
    engine: &Engine,
    name: String,
    sql: &str,
    rounds: u32,
) -> Result<Query> {
    without_pushdown(engine).await?;
    let mut runs: Vec<MeasuredStages> = Vec::new();
    for _ in 0..rounds {
        let query = Box::pin(engine.query_recorded(sql)).await?;
        runs.push(Box::pin(query.measure_stages()).await?);
    }
    runs.sort_by_key(|run| run.took);
    let median = runs.swap_remove(runs.len() / 2);
    let cores = engine.context().copied_config().target_partitions();
    Ok(Query { name, cores: Some(cores as f64), graph: median.graph })
}

/// Turns off all pushdown of the session.
pub(super) async fn without_pushdown(engine: &Engine) -> Result<()> {
    for (option, way) in PLAIN {
        set(engine, option, way).await?;
    }
    Ok(())
}
