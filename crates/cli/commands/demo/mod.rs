//! `sluice demo`: a store, TPC-H, and the same queries with pushdown off and on.

mod measure;
mod report;

use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use sluicegate_client::{ConnectOptions, Credentials};
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile};
use sluicegate_engine::Engine;
use sluicegate_engine::choice::Decision;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::profile::EndpointProfile;
use sluicegate_server::Server;
use sluicegate_workloads::tpch::{self, Generate, Table};

use self::measure::{Comparison, measure};
use crate::args::DemoArgs;
use crate::args::quantity::{link_words, whole_rate};
use crate::commands::generate::{bucket_store, create};
use crate::failure::{Failure, Result};
use crate::output::progress::{self, say};
use crate::runtime::compute::Compute;
use crate::runtime::interrupt::interruptible;
use crate::runtime::scratch::Scratch;

const BUCKET: &str = "tpch";
/// Objects of each large table as CSV, as data usually comes.
const CSV_OBJECTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);
/// The selective filter: one week's lines of large quantity, about 1 row in 5000.
const FILTER: &str = "\
SELECT l_orderkey, l_linenumber, l_quantity, l_extendedprice, l_shipdate
FROM lineitem
WHERE l_shipdate BETWEEN DATE '1995-09-01' AND DATE '1995-09-07' AND l_quantity > 47";

/// A query of the demo.
#[derive(Debug, Clone, Copy)]
struct Query {
    name: &'static str,
    sql: &'static str,
    /// Whether it runs over Parquet, not CSV.
    parquet: bool,
}

fn queries() -> Result<Vec<Query>> {
    let tpch = |number| {
        tpch::query(number).ok_or_else(|| Failure::new(format!("TPC-H has no query {number}")))
    };
    Ok(vec![
        Query { name: "selective filter, CSV", sql: FILTER, parquet: false },
        Query { name: "TPC-H Q1, CSV", sql: tpch(1)?, parquet: false },
        Query { name: "TPC-H Q6, CSV", sql: tpch(6)?, parquet: false },
        Query { name: "TPC-H Q14, CSV", sql: tpch(14)?, parquet: false },
        Query { name: "TPC-H Q6, Parquet", sql: tpch(6)?, parquet: true },
    ])
}

pub(crate) async fn run(args: DemoArgs, compute: &Compute, scratch: &mut Scratch) -> Result<()> {
    let folder = scratch.make("sluice-demo-")?;
    let keep = args.keep;
    interruptible(compute.run(Box::pin(demonstrate(args, folder)))).await?;
    if keep {
        scratch.keep();
    }
    Ok(())
}

async fn demonstrate(args: DemoArgs, folder: PathBuf) -> Result<()> {
    let queries = queries()?;
    fs::create_dir(folder.join(BUCKET)).map_err(|error| Failure::file(&folder, error))?;
    // What the demo writes can be made again, so it need not survive a power failure.
    let server = Server::builder(&folder).sync_writes(false).start().await?;
    let hardware = hardware(args.link)?;
    let csv = connect(&server, &hardware).await?;
    let parquet = connect(&server, &hardware).await?;

    let as_csv = Generate {
        scale: args.scale,
        objects_per_table: CSV_OBJECTS,
        prefix: Default::default(),
        ..Generate::default()
    };
    let as_parquet = Generate {
        format: tpch::Format::parquet(),
        objects_per_table: NonZeroUsize::MIN,
        tables: vec![Table::Lineitem, Table::Part],
        ..as_csv.clone()
    };
    load(&csv, &as_csv).await?;
    load(&parquet, &as_parquet).await?;
    server.set_link_rate(whole_rate(args.link));

    let mut compared = Vec::new();
    for query in &queries {
        say(&format!("running {}", query.name));
        let engine = if query.parquet { &parquet } else { &csv };
        compared.push(compare(&server, engine, query).await?);
    }
    let explained = queries.iter().find(|query| query.name.contains("Q6")).unwrap_or(&queries[0]);
    set_scan(&csv, Scan::Auto).await?;
    let explanation = Box::pin(csv.explain(explained.sql)).await?;

    let mut out = io::stdout();
    let heading = format!(
        "TPC-H at scale {} in an S3 store of its own, behind a link of {}.",
        args.scale,
        link_words(args.link)
    );
    write!(out, "{heading}\n\n{}", report::table(&compared, &csv.endpoint().prices))?;
    write!(out, "\nEXPLAIN of {}:\n\n{explanation}\n", explained.name)?;
    let wrong: Vec<_> = compared.iter().filter(|it| !it.equal).map(|it| it.name).collect();
    if !wrong.is_empty() {
        return Err(Failure::new(format!(
            "the answers with and without pushdown differ: {}",
            wrong.join("; ")
        ))
        .with_hint("This is a bug: please report it with the output above."));
    }
    drop((csv, parquet));
    server.shutdown().await;
    let kept = args.keep.then_some(folder.as_path());
    write!(out, "{}", report::next_steps(kept, &as_csv))?;
    Ok(out.flush()?)
}

/// The machine and the link that the choice between GET and Select assumes here.
fn hardware(link: BytesPerSecond) -> Result<HardwareProfile> {
    let local = HardwareProfile::by_name("local-1gbit")
        .ok_or_else(|| Failure::new("the hardware profile `local-1gbit` is missing"))?;
    let mut hardware = local.clone();
    if link != BytesPerSecond::gbit(1.0) {
        hardware.name = format!("local-1gbit with a link of {}", link_words(link));
        hardware.link.bytes_per_second = link;
        hardware.link.connection_bytes_per_second = link;
    }
    Ok(hardware)
}

async fn connect(server: &Server, hardware: &HardwareProfile) -> Result<Engine> {
    let options = ConnectOptions {
        endpoint: Some(server.endpoint()),
        region: Some("us-east-1".to_owned()),
        credentials: Some(Credentials::new(server.access_key(), server.secret_key())),
        ..ConnectOptions::default()
    };
    let builder = Engine::builder()
        .connect(options)
        .profile(EndpointProfile::sluice())
        .hardware(hardware.clone());
    Ok(builder.build().await?)
}

/// Generates tables through the store's front door, and defines them.
async fn load(engine: &Engine, request: &Generate) -> Result<()> {
    let store = bucket_store(engine, BUCKET)?;
    let format = request.format.name();
    let message = format!("loading TPC-H at scale {} as {format}", request.scale);
    progress::generate(request, store.as_ref(), &message).await?;
    for table in &request.tables {
        let sql = create(request, &format!("s3://{BUCKET}"), *table);
        Box::pin(Box::pin(engine.query(&sql)).await?.collect()).await?;
    }
    Ok(())
}

async fn set_scan(engine: &Engine, scan: Scan) -> Result<()> {
    let set = Box::pin(engine.query(&format!("SET sluice.scan = '{scan}'"))).await?;
    Box::pin(set.collect()).await?;
    Ok(())
}

async fn compare(server: &Server, engine: &Engine, query: &Query) -> Result<Comparison> {
    let at = |failure: Failure| failure.at(query.name);
    set_scan(engine, Scan::Auto).await?;
    // Also reads the tables' statistics, so that neither run pays for that.
    let explanation = Box::pin(engine.explain(query.sql)).await.map_err(|e| at(e.into()))?;
    let mut picks: Vec<&str> = Vec::new();
    for pick in explanation.decisions.iter().filter_map(Decision::strategy) {
        if !picks.contains(&pick) {
            picks.push(pick);
        }
    }
    set_scan(engine, Scan::Get).await?;
    let off = measure(server, engine, query.sql).await.map_err(at)?;
    set_scan(engine, Scan::Select).await?;
    let on = measure(server, engine, query.sql).await.map_err(at)?;
    Ok(Comparison {
        name: query.name,
        auto: picks.join(", "),
        equal: off.answer == on.answer,
        off,
        on,
    })
}
