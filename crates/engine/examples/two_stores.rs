//! Queries two stores in one session, and shows the requests of a query to each store, a setting that could not be
//! followed, and the kind of an error.
//!
//! `cargo run -p sluicegate-engine --example two_stores` starts both stores itself.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use sluicegate_engine::config::Scan;
use sluicegate_engine::{Endpoint, Engine, ErrorKind, PriceBook, StoreCapabilities};
use sluicegate_server::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (here, there) = (tempfile::tempdir()?, tempfile::tempdir()?);
    std::fs::create_dir(here.path().join("sales"))?;
    std::fs::write(here.path().join("sales/2024.csv"), "item,count\n1,30\n2,40\n1,5\n")?;
    std::fs::create_dir(there.path().join("items"))?;
    std::fs::write(there.path().join("items/items.csv"), "id,name\n1,apple\n2,pear\n")?;
    let (sales, items) = (Server::builder(here.path()), Server::builder(there.path()));
    let (sales, items) = (sales.start().await?, items.start().await?);

    // The first store serves every bucket that is not registered for another one.
    let engine = Engine::builder()
        .endpoint(sales.endpoint())
        .credentials(sales.access_key(), sales.secret_key())
        .profile(StoreCapabilities::sluice())
        .prices(PriceBook::paper().clone())
        .scan(Scan::Select)
        .build()
        .await?;
    // Without a profile, nothing is pushed down to the second store.
    let second = Endpoint::builder()
        .endpoint(items.endpoint())
        .credentials(items.access_key(), items.secret_key());
    engine.register_endpoint("warehouse", &["items"], second).await?;

    let sql = "SELECT name, sum(count) AS sold FROM 's3://sales/2024.csv'
               JOIN 's3://items/items.csv' ON item = id GROUP BY name ORDER BY name";
    // Requests are counted for this query only, however many run at the same time.
    let query = engine.plan(sql).await?;
    let batches = query.collect().await?;
    println!("{}", arrow::util::pretty::pretty_format_batches(&batches)?);
    for (endpoint, counted) in query.counted_by_endpoint() {
        println!("{endpoint}: {} SELECT, {} GET", counted.select, counted.get);
    }
    // The scan of the second store cannot be pushed down, although the session's setting requires it.
    for warning in query.warnings() {
        println!("warning: {warning}");
    }

    // EXPLAIN does not run the query. It lists each operator that has a choice, with its alternatives.
    let explanation = engine.explain(sql).await?;
    for decision in &explanation.decisions {
        println!("{}: {}", decision.operator, decision.strategy().unwrap_or("left to DataFusion"));
    }
    println!("predicted cost: {}", explanation.estimate().cost);

    let error = engine.collect("SELECT * FROM 's3://sales/2025.csv'").await;
    match error {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("{error}; {}", error.hint().unwrap_or("no hint"));
        }
        other => println!("expected a missing object, got {other:?}"),
    }
    sales.shutdown().await;
    items.shutdown().await;
    Ok(())
}
