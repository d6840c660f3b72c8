//! The overhead of the engine when it pushes nothing down: the 22 TPC-H queries with `sluice.scan = 'get'` against
//! stock DataFusion, over the same server and bytes, in one run.
//!
//! `cargo bench --bench pushdown_off`; `SCALE=1 ROUNDS=5` change the size and the repetitions. Prints the median time
//! of each query on both, their ratio, and the geometric mean.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at the first surprise"
)]

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::prelude::{SessionConfig, SessionContext};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::Server;
use sluicegate_workloads::DataTable as _;
use sluicegate_workloads::tpch::{Format, Generate, Table, generate, query};

const BUCKET: &str = "bench";

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

async fn run(context: &SessionContext, sql: &str) -> Duration {
    let start = Instant::now();
    context.sql(sql).await.unwrap().collect().await.unwrap();
    start.elapsed()
}

#[tokio::main]
async fn main() {
    let (scale, rounds) = (setting("SCALE", 0.1), setting("ROUNDS", 5));
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
    let server = Server::builder(folder.path()).sync_writes(false).start().await.unwrap();
    let data = Generate {
        scale,
        format: Format::csv(),
        objects_per_table: NonZeroUsize::new(4).unwrap(),
        ..Generate::default()
    };
    let local = LocalFileSystem::new_with_prefix(folder.path().join(BUCKET)).unwrap();
    generate(&data, &local, &|_| ()).await.unwrap();

    let engine = Engine::builder()
        .endpoint(server.endpoint())
        .credentials(server.access_key(), server.secret_key())
        .profile(StoreCapabilities::sluice())
        .scan(Scan::Get)
        .threads(2)
        .build()
        .await
        .unwrap();
    let stock = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    let bucket = AmazonS3Builder::new()
        .with_bucket_name(BUCKET)
        .with_region("us-east-1")
        .with_endpoint(server.endpoint())
        .with_allow_http(true)
        .with_access_key_id(server.access_key())
        .with_secret_access_key(server.secret_key())
        .build()
        .unwrap();
    let url = url::Url::parse(&format!("s3://{BUCKET}")).unwrap();
    stock.register_object_store(&url, Arc::new(bucket));
    for table in Table::ALL {
        let location = format!("s3://{BUCKET}/{}/", data.folder(table));
        let ddl = table.create_external_table(&data.format, &location);
        run(engine.context(), &ddl).await;
        run(&stock, &ddl).await;
    }

    println!("scale {scale}, median of {rounds}, seconds (measured)");
    println!("query   stock  engine   ratio");
    let (mut log_sum, mut stock_sum, mut engine_sum) = (0.0, 0.0, 0.0);
    for number in 1..=22 {
        let sql = query(number).unwrap();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            // The second of the two finds warm caches, so they take turns.
            if round % 2 == 0 {
                theirs.push(run(&stock, sql).await);
                ours.push(run(engine.context(), sql).await);
            } else {
                ours.push(run(engine.context(), sql).await);
                theirs.push(run(&stock, sql).await);
            }
        }
        let (stock, engine) = (median(theirs), median(ours));
        println!("{number:>5}  {stock:>6.3}  {engine:>6.3}  {:>6.3}", engine / stock);
        log_sum += (engine / stock).ln();
        stock_sum += stock;
        engine_sum += engine;
    }
    println!("  sum  {stock_sum:>6.3}  {engine_sum:>6.3}  {:>6.3}", engine_sum / stock_sum);
    println!("geometric mean of the ratios: {:.3}", (log_sum / 22.0_f64).exp());
    server.shutdown().await;
}
