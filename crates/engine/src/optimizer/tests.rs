//! Snapshots of what each rule changes in a plan. `INSTA_UPDATE=always` rewrites the files in `snapshots`.

use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use insta::assert_snapshot;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::Server;
use tempfile::TempDir;

use crate::Engine;

/// A store with a table of CSV and one of Parquet, and an engine.
struct Fixture {
    engine: Engine,
    _server: Server,
    _folder: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bucket")).unwrap();
        let rows: String = (0..2000).map(|k| format!("{k},{},{}.5\n", k % 7, k % 100)).collect();
        std::fs::write(folder.path().join("bucket/a.csv"), format!("k,v,d\n{rows}")).unwrap();
        let server = Server::builder(folder.path()).sync_writes(false).start().await.unwrap();
        let engine = Engine::builder()
            .endpoint(server.endpoint())
            .credentials(server.access_key(), server.secret_key())
            .profile(StoreCapabilities::sluice())
            .threads(1)
            .build()
            .await
            .unwrap();
        for sql in [
            "CREATE EXTERNAL TABLE a (k BIGINT, v INT, d DOUBLE) STORED AS CSV LOCATION 's3://bucket/a.csv' \
             OPTIONS ('format.has_header' 'true')",
            "COPY a TO 's3://bucket/p/a.parquet'",
            "COPY (SELECT k + 5000 AS k, v, d FROM a) TO 's3://bucket/p/b.parquet'",
            "CREATE EXTERNAL TABLE p STORED AS PARQUET LOCATION 's3://bucket/p/'",
        ] {
            engine.collect(sql).await.unwrap();
        }
        Self { engine, _server: server, _folder: folder }
    }

    /// Returns the plan of a statement before and after a rule, in outline.
    async fn around(&self, rule: &str, settings: &[&str], sql: &str) -> String {
        for setting in settings {
            self.engine.collect(setting).await.unwrap();
        }
        let state = self.engine.context().state();
        let rules = state.physical_optimizers().to_vec();
        let at = rules.iter().position(|it| it.name() == rule).unwrap();
        let before = SessionStateBuilder::new_from_existing(state.clone())
            .with_physical_optimizer_rules(rules[..at].to_vec())
            .build();
        let logical = before.create_logical_plan(sql).await.unwrap();
        let before = before.create_physical_plan(&logical).await.unwrap();
        let after = rules[at].optimize(before.clone(), state.config_options()).unwrap();
        format!("{}\n=>\n{}", outline(before.as_ref()), outline(after.as_ref()))
    }
}

/// Returns a plan as indented text.
fn outline(plan: &dyn ExecutionPlan) -> String {
    displayable(plan).indent(false).to_string()
}

const GROUPED: &str = "SELECT v, count(*) FROM a GROUP BY v";

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_changes_its_operators() {
    let fixture = Fixture::new().await;
    let s3 = "SET sluice.scan = 'select'";
    for (rule, settings, sql) in [
        ("select_scan", [].as_slice(), "SELECT v FROM a WHERE k < 5"),
        ("prune_files", &[], "SELECT k FROM p WHERE k > 5500"),
        ("choose", &[s3, "SET sluice.group_by = 's3'"], GROUPED),
        ("choose", &["SET sluice.group_by = 'server'"], GROUPED),
        ("switch_pruning", &["SET sluice.switch = 'paper'"], "SELECT DISTINCT v FROM a"),
        (
            "join_keys",
            &["RESET sluice.switch", "SET sluice.join = 'bloom'"],
            "SELECT count(*) FROM a JOIN p ON a.k = p.k WHERE p.v = 3",
        ),
        ("float_bounds", &["SET sluice.scan = 'get'"], "SELECT k FROM p WHERE d > 5"),
        (
            "clear_names",
            &[],
            "SELECT x.k FROM (SELECT k, v FROM a) x JOIN (SELECT k, v FROM p) y ON x.k = y.k WHERE y.v = 3",
        ),
        ("staged_writes", &[], "COPY (SELECT k FROM a) TO 's3://bucket/out.csv'"),
    ] {
        let name = match settings {
            ["SET sluice.group_by = 'server'"] => format!("{rule}_server"),
            _ => rule.to_owned(),
        };
        let changed = fixture.around(rule, settings, sql).await;
        assert_snapshot!(name, format!("{sql}\n\n{changed}"));
    }
}
