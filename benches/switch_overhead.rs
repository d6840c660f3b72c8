//! The overhead of the switch for a query from which it prunes nothing: the same plan with and without its
//! `SwitchPruneExec`, over the same local CSV files, in one run.
//!
//! `cargo bench --bench switch_overhead`; `ROWS=4000000 ROUNDS=9` change the size and the repetitions. Prints the
//! median time of each query, their ratio, and the packets that were pruned.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at the first surprise"
)]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};
use sluicegate_engine::Engine;
use sluicegate_engine::physical_plan::switch_prune::SwitchPruneExec;

/// Queries that need all of their rows: keys are unique, values ascend, everything matches.
const QUERIES: [(&str, &str); 7] = [
    ("DISTINCT integer", "SELECT DISTINCT id FROM t"),
    ("DISTINCT text", "SELECT DISTINCT name FROM t"),
    ("TOP N", "SELECT * FROM t ORDER BY id DESC LIMIT 100"),
    ("GROUP BY MAX", "SELECT id, max(value) FROM t GROUP BY id"),
    ("JOIN", "SELECT count(*) FROM few JOIN t ON few.k = t.k"),
    ("HAVING", "SELECT k FROM t GROUP BY k HAVING sum(value) > 1"),
    ("WHERE", "SELECT count(*) FROM t WHERE value >= 0"),
];

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the plan without its switch.
fn without(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let strip = |node: Arc<dyn ExecutionPlan>| {
        Ok(match node.is::<SwitchPruneExec>() {
            true => Transformed::yes(Arc::clone(node.children()[0])),
            false => Transformed::no(node),
        })
    };
    Arc::clone(plan).transform_up(strip).data().unwrap()
}

/// Runs a plan once. Returns the seconds and the plan that ran.
async fn run(engine: &Engine, plan: &Arc<dyn ExecutionPlan>) -> (f64, Arc<dyn ExecutionPlan>) {
    let fresh = reset_plan_states(Arc::clone(plan)).unwrap();
    let start = Instant::now();
    collect(Arc::clone(&fresh), engine.context().task_ctx()).await.unwrap();
    (start.elapsed().as_secs_f64(), fresh)
}

/// Returns the packets that entered the switches of a plan, and those that were pruned.
fn packets(plan: &Arc<dyn ExecutionPlan>) -> (usize, usize) {
    let count = |name: &str| {
        let metrics = plan.metrics().filter(|_| plan.is::<SwitchPruneExec>());
        metrics.and_then(|m| m.sum_by_name(name)).map_or(0, |value| value.as_usize())
    };
    let own = (count("packets_in"), count("packets_in") - count("packets_out"));
    plan.children().into_iter().map(packets).fold(own, |a, b| (a.0 + b.0, a.1 + b.1))
}

#[tokio::main]
async fn main() {
    let (rows, rounds) = (setting("ROWS", 1_000_000), setting("ROUNDS", 9));
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder()
        .endpoint("http://127.0.0.1:9")
        .credentials("nobody", "secret")
        .threads(2)
        .build()
        .await
        .unwrap();
    for (table, rows) in [("t", rows), ("few", 100)] {
        let mut csv = String::from("id,k,name,value,note\n");
        for id in 0..rows {
            let k = id % 100;
            writeln!(csv, "{id},{k},visitor number {id},{},{}", id % 1000, "x".repeat(40)).unwrap();
        }
        let path = folder.path().join(format!("{table}.csv"));
        std::fs::write(&path, csv).unwrap();
        let ddl = format!(
            "CREATE EXTERNAL TABLE {table} (id BIGINT NOT NULL, k INT NOT NULL, name VARCHAR NOT NULL,
             value INT NOT NULL, note VARCHAR NOT NULL)
             STORED AS CSV LOCATION '{}' OPTIONS ('format.has_header' 'true')",
            path.display()
        );
        engine.query(&ddl).await.unwrap().collect().await.unwrap();
    }
    engine.query("SET sluice.switch = 'tofino1'").await.unwrap().collect().await.unwrap();
    println!("{rows} rows, median of {rounds}, seconds (measured)");
    println!("query              without    with   ratio   pruned");
    for (name, sql) in QUERIES {
        let plan = engine.query(sql).await.unwrap().create_physical_plan().await.unwrap();
        let stripped = without(&plan);
        let (mut bare, mut pruned, mut counted) = (Vec::new(), Vec::new(), (0, 0));
        for round in 0..rounds {
            // The second of the two finds warm caches, so they take turns.
            for with in [round % 2 == 0, round % 2 != 0] {
                if with {
                    let (seconds, ran) = run(&engine, &plan).await;
                    pruned.push(seconds);
                    counted = packets(&ran);
                } else {
                    bare.push(run(&engine, &stripped).await.0);
                }
            }
        }
        let (bare, with) = (median(bare), median(pruned));
        let (sent, dropped) = counted;
        let share = 100.0 * dropped as f64 / sent.max(1) as f64;
        println!("{name:<17}  {bare:>7.4} {with:>7.4}  {:>6.3}  {share:>6.2} %", with / bare);
    }
}
