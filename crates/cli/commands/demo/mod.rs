//! `sluice demo`: starts a store, generates tables, and runs the items of PushdownDB's Figure 10 with pushdown off
//! and on.

mod chart;
mod comparison;
mod report;

use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use sluicegate_costmodel::HardwareProfile;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_server::Server;
use sluicegate_workloads::pushdowndb::{self, ITEMS, Item, TPCH_TABLES};
use sluicegate_workloads::{Generate, tpch};

use self::comparison::Comparison;
use crate::args::DemoArgs;
use crate::args::quantity::{link_words, whole_rate};
use crate::commands::embedded_store::measure::{followed, measure};
use crate::commands::embedded_store::{connect, load, set};
use crate::commands::generate::ddl;
use crate::failure::{Failure, Result};
use crate::output::file::PartialFile;
use crate::output::progress::print_line;
use crate::runtime::compute::Compute;
use crate::runtime::disk_space;
use crate::runtime::interrupt::interruptible;
use crate::runtime::scratch::Scratch;
use crate::runtime::terminal;

const BUCKET: &str = "tpch";
/// Objects of each table; real tables usually have several.
const OBJECTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);
/// The item whose plan is printed.
const EXPLAINED: &str = "Q6";

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
    // Fail before the demo runs if the picture cannot be written.
    let picture = args.svg.as_deref().map(PartialFile::begin).transpose()?;
    fs::create_dir(folder.join(BUCKET)).map_err(|error| Failure::file(&folder, error))?;
    // The demo's data can be generated again, so writes need not survive a power failure.
    let server = Server::builder(&folder).sync_writes(false).start().await?;
    let engine = connect(&server, &HardwareProfile::on_this_machine().behind(args.link)).await?;
    let tables = tpch::Generate {
        scale: args.scale,
        tables: TPCH_TABLES.to_vec(),
        format: args.format.into(),
        objects_per_table: OBJECTS,
        prefix: Default::default(),
        ..Generate::default()
    };
    let skewed = pushdowndb::Generate {
        scale: args.scale,
        tables: vec![pushdowndb::Table::Skewed],
        format: args.format.into(),
        objects_per_table: OBJECTS,
        prefix: Default::default(),
        ..Generate::default()
    };
    disk_space::check(
        &folder,
        tables.about_bytes() + skewed.about_bytes(),
        "the data of this scale",
    )?;
    load(&engine, BUCKET, &tables, "TPC-H").await?;
    load(&engine, BUCKET, &skewed, "a skewed table").await?;
    server.set_link_rate(whole_rate(args.link));

    let mut compared = Vec::new();
    for item in ITEMS {
        print_line(&format!("running {}", item.name));
        compared.push(compare(&server, &engine, item).await?);
    }
    let explained = ITEMS.iter().find(|item| item.name == EXPLAINED).unwrap_or(&ITEMS[0]);
    let explanation = Box::pin(engine.explain(explained.sql)).await?;

    let heading = format!(
        "PushdownDB's Figure 10: TPC-H and a skewed table at scale {}, as {} in an S3 store of its own,\n\
         behind a link of {}.",
        args.scale,
        args.format.title(),
        link_words(args.link)
    );
    let table = report::table(&compared, &engine.endpoint().prices, terminal::width());
    let shown = format!("{heading}\n\n{table}");
    if let Some(mut picture) = picture {
        picture.file().write_all(chart::svg(&compared, &args).as_bytes())?;
        picture.finish()?;
    }
    let mut out = io::stdout();
    out.write_all(shown.as_bytes())?;
    write!(out, "\nEXPLAIN of {}:\n\n{explanation}\n", explained.name)?;
    let wrong: Vec<_> = compared.iter().filter(|it| !it.equal).map(|it| it.name).collect();
    if !wrong.is_empty() {
        return Err(Failure::new(format!(
            "the answers with and without pushdown differ: {}",
            wrong.join("; ")
        ))
        .with_hint("This is a bug: please report it with the output above."));
    }
    drop(engine);
    server.shutdown().await;
    let kept = args.keep.then_some(folder.as_path());
    let root = format!("s3://{BUCKET}");
    let tables = ddl(&tables, &root) + &ddl(&skewed, &root);
    write!(out, "{}", report::next_steps(kept, &tables))?;
    Ok(out.flush()?)
}

/// Runs an item with everything fetched, and with every choice left to the cost model.
async fn compare(server: &Server, engine: &Engine, item: Item) -> Result<Comparison> {
    let at = |failure: Failure| failure.at(item.name);
    // Also reads the tables' statistics, so that neither run includes that time.
    let explanation = Box::pin(engine.explain(item.sql)).await.map_err(|e| at(e.into()))?;
    set(engine, "scan", Scan::Get).await?;
    let off = measure(server, engine, item.sql).await.map_err(at)?;
    set(engine, "scan", Scan::Auto).await?;
    let on = measure(server, engine, item.sql).await.map_err(at)?;
    let mut strategies: Vec<&str> = Vec::new();
    for decision in &explanation.decisions {
        let Some(followed) = followed(decision, !on.keys.is_empty()) else { continue };
        if !strategies.contains(&followed) {
            strategies.push(followed);
        }
    }
    Ok(Comparison {
        name: item.name,
        strategy: strategies.join(", "),
        equal: off.answer == on.answer,
        off,
        on,
    })
}
