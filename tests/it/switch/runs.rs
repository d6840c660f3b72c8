//! Executions of one plan do not share a switch, whether they run one after another or at the same time.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};
use futures::{StreamExt, TryStreamExt};
use sluicegate_engine::Engine;
use sluicegate_engine::physical_plan::switch_prune::SwitchPruneExec;

use super::{counting, switch_lines};
use crate::harness::{rows, text};

/// A query of every shape, and true if DataFusion's own operators for it may run twice: a TopK keeps its threshold
/// until it is reset.
const QUERIES: [(&str, bool); 8] = [
    ("SELECT DISTINCT k FROM x", true),
    ("SELECT DISTINCT s, k FROM x", true),
    ("SELECT s, max(i) FROM x GROUP BY s", true),
    ("SELECT i FROM x ORDER BY i DESC LIMIT 5", false),
    ("SELECT s, count(*) FROM x GROUP BY s HAVING sum(n) > 29000", true),
    ("SELECT k, count(*) FROM x GROUP BY k HAVING min(i) < 9", true),
    ("SELECT id FROM x QUALIFY skyline(i, -n) OVER ()", true),
    ("SELECT b.id FROM (SELECT * FROM x WHERE n < 90) a JOIN x b ON a.k + 100 = b.n", true),
];

/// Builds an engine with tables of three partitions, and plans without DataFusion's exchange, which runs only once.
async fn prepared() -> Engine {
    let engine = counting("tofino1", 900).await;
    for setting in [
        "datafusion.optimizer.repartition_aggregations = false",
        "datafusion.optimizer.repartition_joins = false",
        "datafusion.optimizer.repartition_windows = false",
        "datafusion.optimizer.enable_round_robin_repartition = false",
        "datafusion.optimizer.enable_dynamic_filter_pushdown = false",
    ] {
        rows(&engine, &format!("SET {setting}")).await;
    }
    engine
}

async fn plan(engine: &Engine, sql: &str) -> Arc<dyn ExecutionPlan> {
    assert!(!switch_lines(engine, sql).await.is_empty(), "{sql}");
    engine.query(sql).await.unwrap().create_physical_plan().await.unwrap()
}

/// Runs two plans at once, alternating between their batches.
async fn interleaved(
    plans: [&Arc<dyn ExecutionPlan>; 2],
    context: &Arc<TaskContext>,
) -> [Vec<RecordBatch>; 2] {
    let mut streams = plans.map(|plan| plan.execute(0, Arc::clone(context)).unwrap());
    let mut found = [Vec::new(), Vec::new()];
    let mut open = true;
    while std::mem::take(&mut open) {
        for (stream, found) in streams.iter_mut().zip(&mut found) {
            if let Some(batch) = stream.next().await {
                found.push(batch.unwrap());
                open = true;
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn executions_do_not_share_a_switch() {
    let engine = prepared().await;
    for (sql, again) in QUERIES {
        rows(&engine, "SET sluice.switch = 'off'").await;
        let expected = rows(&engine, sql).await;
        rows(&engine, "SET sluice.switch = 'tofino1'").await;
        let plan = plan(&engine, sql).await;
        let context = engine.context().task_ctx();
        let fresh =
            || if again { Ok(Arc::clone(&plan)) } else { reset_plan_states(Arc::clone(&plan)) };
        for _ in 0..3 {
            let batches = collect(fresh().unwrap(), Arc::clone(&context)).await.unwrap();
            assert_eq!(text(&batches), expected, "one after the other: {sql}");
        }
        for context in [&context, &engine.context().task_ctx()] {
            let (a, b) = (fresh().unwrap(), fresh().unwrap());
            for batches in interleaved([&a, &b], context).await {
                assert_eq!(text(&batches), expected, "interleaved: {sql}");
            }
            let (a, b) = (fresh().unwrap(), reset_plan_states(Arc::clone(&plan)).unwrap());
            for batches in interleaved([&a, &b], context).await {
                assert_eq!(text(&batches), expected, "with one that was reset: {sql}");
            }
        }
        let runs = (0..8).map(|number| {
            let plan = if number % 2 == 0 { fresh() } else { reset_plan_states(Arc::clone(&plan)) };
            let context = match number % 3 {
                0 => engine.context().task_ctx(),
                _ => Arc::clone(&context),
            };
            SpawnedTask::spawn(collect(plan.unwrap(), context))
        });
        for run in runs.collect::<Vec<_>>() {
            assert_eq!(text(&run.join().await.unwrap().unwrap()), expected, "at once: {sql}");
        }
    }
}

/// Two executions A and B of a node whose partitions do not identify their execution: A0, B0, B1, A1. B1 is read
/// first, then A0: a shared switch would lose A's keys.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_two_executions_do_not_share_a_switch() {
    let engine = prepared().await;
    for (sql, key) in [
        ("SELECT DISTINCT k FROM x", "k"),
        ("SELECT s, max(i) FROM x GROUP BY s", "s"),
        ("SELECT s, count(*) FROM x GROUP BY s HAVING count(*) > 1", "s"),
    ] {
        let plan = plan(&engine, sql).await;
        let mut node = None;
        plan.apply(|found| {
            if found.is::<SwitchPruneExec>() {
                node = Some(Arc::clone(found));
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
        let node = node.unwrap();
        let context = engine.context().task_ctx();
        let run = |partition| node.execute(partition, Arc::clone(&context)).unwrap();
        let (a0, b0, b1, a1) = (run(0), run(0), run(1), run(1));
        let mut found = Vec::new();
        for stream in [b1, a0, a1, b0] {
            found.push(stream.try_collect::<Vec<RecordBatch>>().await.unwrap());
        }
        let [b1, a0, a1, b0] = found.try_into().unwrap();
        for execution in [[a0, a1], [b0, b1]] {
            let batches = execution.concat();
            let column =
                |batch: &RecordBatch| batch.project(&[batch.schema().index_of(key).unwrap()]);
            let keys: Vec<RecordBatch> = batches.iter().map(|b| column(b).unwrap()).collect();
            let mut keys = text(&keys);
            keys.dedup();
            assert_eq!(keys.len(), 10, "{sql}");
        }
    }
}

/// Each iteration of a recursive query runs the same nodes in one task context.
#[tokio::test(flavor = "multi_thread")]
async fn iterations_do_not_share_a_switch() {
    let engine = counting("tofino1", 300).await;
    // The negated step decreases from iteration to iteration: with the values of the first one, a shared switch would
    // drop all rows of the others.
    let sql = "WITH RECURSIVE t(step, k) AS (
            SELECT 0::BIGINT, k FROM x WHERE id < 20
            UNION ALL
            SELECT 1 - max(-t.step), x.k FROM t JOIN x ON x.k = t.k WHERE t.step < 4 GROUP BY x.k
        ) SELECT step, count(*) FROM t GROUP BY step";
    assert!(!switch_lines(&engine, sql).await.is_empty());
    let found = rows(&engine, sql).await;
    rows(&engine, "SET sluice.switch = 'off'").await;
    assert_eq!(found, rows(&engine, sql).await);
    assert_eq!(found.len(), 5, "{found:?}");
}
