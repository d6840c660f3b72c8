//! Adds Sluicegate's rules to an existing DataFusion session.
//!
//! `cargo run -p sluicegate-engine --example own_session` starts its own store, so that there is data to query.

use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use sluicegate_engine::{Engine, with_pushdown};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("bucket"))?;
    std::fs::write(folder.path().join("bucket/fruit.csv"), "name,price\napple,3\npear,4\nfig,9\n")?;
    let store = Server::builder(folder.path()).start().await?;

    // The connection: endpoint, credentials, and what may be pushed down.
    let engine = Engine::builder()
        .endpoint(store.endpoint())
        .credentials(store.access_key(), store.secret_key())
        .profile(StoreCapabilities::sluice())
        .build()
        .await?;

    // A session with its own settings. It needs the object stores, and then the rules.
    let mine = SessionStateBuilder::new()
        .with_config(SessionConfig::new().with_target_partitions(4))
        .with_runtime_env(engine.runtime_env())
        .with_default_features();
    let context = SessionContext::new_with_state(with_pushdown(mine, engine.endpoints())?.build());

    context
        .sql("CREATE EXTERNAL TABLE fruit STORED AS CSV LOCATION 's3://bucket/fruit.csv'")
        .await?;
    context.sql("SET sluice.scan = 'select'").await?;
    context.sql("EXPLAIN SELECT sum(price) FROM fruit WHERE price < 5").await?.show().await?;
    context.sql("SELECT sum(price) FROM fruit WHERE price < 5").await?.show().await?;
    store.shutdown().await;
    Ok(())
}
