//! Every case of every guard, in our sessions and in stock DataFusion.

use std::panic::AssertUnwindSafe;

use arrow::array::RecordBatch;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::FutureExt;
use sluicegate_engine::Engine;
use sluicegate_engine::guards::{Case, CaseOutcome, GUARDS, with_guards};
use tempfile::TempDir;

use crate::harness::values;

/// The outcome of a statement.
#[derive(Debug)]
enum Outcome {
    Rows(Vec<String>),
    Error(String),
    Panic,
}

impl Outcome {
    fn is(&self, answer: &CaseOutcome, ordered: bool) -> bool {
        match (self, answer) {
            (Self::Rows(rows), CaseOutcome::Rows(expected)) => {
                let mut rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                let mut expected = expected.to_vec();
                if !ordered {
                    rows.sort_unstable();
                    expected.sort_unstable();
                }
                rows == expected
            }
            (Self::Error(error), CaseOutcome::Error(expected)) => error.contains(expected),
            (Self::Panic, CaseOutcome::Panic) | (_, CaseOutcome::Varies) => true,
            _ => false,
        }
    }
}

fn lines(batches: &[RecordBatch]) -> Vec<String> {
    values(batches).iter().map(|row| row.join(", ")).collect()
}

/// Returns the setup statements of a case, with a folder of its own.
fn setup(case: &Case) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let statements = case.setup.iter().map(|it| it.replace("{folder}", path)).collect();
    (folder, statements)
}

async fn in_datafusion(context: SessionContext, case: &Case) -> Outcome {
    let (_folder, setup) = setup(case);
    let run = async {
        for statement in &setup {
            context.sql(statement).await?.collect().await?;
        }
        context.sql(case.sql).await?.collect().await
    };
    match AssertUnwindSafe(run).catch_unwind().await {
        Ok(Ok(batches)) => Outcome::Rows(lines(&batches)),
        Ok(Err(error)) if error.to_string().contains("panicked") => Outcome::Panic,
        Ok(Err(error)) => Outcome::Error(error.to_string()),
        Err(_) => Outcome::Panic,
    }
}

async fn in_ours(case: &Case) -> Outcome {
    let engine = Engine::builder().endpoint("http://127.0.0.1:1").build().await.unwrap();
    let (_folder, setup) = setup(case);
    let run = async {
        for statement in &setup {
            engine.collect(statement).await?;
        }
        engine.collect(case.sql).await
    };
    match run.await {
        Ok(batches) => Outcome::Rows(lines(&batches)),
        Err(error) => Outcome::Error(format!("{error} {}", error.hint().unwrap_or_default())),
    }
}

fn plain() -> SessionStateBuilder {
    // Two partitions, as in our test sessions on any machine.
    SessionStateBuilder::new()
        .with_config(SessionConfig::new().with_target_partitions(2))
        .with_default_features()
}

/// Returns true if the query of a case orders its rows.
fn ordered(case: &Case) -> bool {
    case.sql.rsplit(')').next().is_some_and(|end| end.to_uppercase().contains("ORDER BY"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_sessions_are_right() {
    let mut wrong = Vec::new();
    for guard in GUARDS {
        for case in guard.cases {
            let outcome = in_ours(case).await;
            if !outcome.is(&case.right, ordered(case)) {
                let (sql, right) = (case.sql, &case.right);
                wrong.push(format!("{}: {sql}\nis {outcome:?}, right is {right:?}", guard.title));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// If a case fails here, DataFusion is right now, and the guard can be removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datafusion_is_still_wrong() {
    let mut mended = Vec::new();
    for guard in GUARDS {
        for case in guard.cases {
            let context = SessionContext::new_with_state(plain().build());
            let outcome = in_datafusion(context, case).await;
            if !outcome.is(&case.theirs, ordered(case)) {
                let (sql, was) = (case.sql, &case.theirs);
                mended.push(format!("{}: {sql}\nis {outcome:?}, was {was:?}", guard.title));
            }
        }
    }
    assert!(mended.is_empty(), "has upstream mended these?\n{}", mended.join("\n"));
}

/// The rows that DataFusion skips depend on the order of tasks; the plan shows that it skips by one of two bounds.
#[tokio::test]
async fn datafusion_still_filters_by_some_of_the_bounds() {
    let guard = GUARDS.iter().find(|it| it.title.starts_with("MIN and MAX skip rows")).unwrap();
    let [case] = guard.cases else { panic!("one case is enough") };
    let (_folder, setup) = setup(case);
    let context = SessionContext::new_with_state(plain().build());
    for statement in &setup {
        context.sql(statement).await.unwrap().collect().await.unwrap();
    }
    let plan = context.sql(case.sql).await.unwrap().create_physical_plan().await.unwrap();
    let plan = displayable(plan.as_ref()).indent(false).to_string();
    assert!(plan.contains("DynamicFilter"), "has upstream mended datafusion#24816?\n{plan}");
}

/// The oracle of the other tests is a session with guards only.
#[tokio::test]
async fn guards_alone_make_a_session() {
    let context = SessionContext::new_with_state(with_guards(plain()).unwrap().build());
    let rows = context.sql("SELECT 1").await.unwrap().collect().await.unwrap();
    assert_eq!(lines(&rows), ["1"]);
}
