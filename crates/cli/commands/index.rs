//! `sluice index`: indexes of tables.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use sluicegate_costmodel::Bytes;
use sluicegate_engine::Engine;
use sluicegate_engine::index::manage::{Advance, Index, Indexes, State};
use sluicegate_s3select::profile::EndpointProfile;
use tokio::runtime::Handle;

use crate::args::{CreateArgs, DropArgs, IndexCommand, IndexStore, ListArgs, VerifyArgs};
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;
use crate::output::progress::{Amount, say};
use crate::runtime::compute::Compute;
use crate::runtime::interrupt::{interruptible, interruptible_writes};
use crate::session::statements;

pub(crate) async fn run(command: IndexCommand, compute: &mut Compute) -> Result<()> {
    match command {
        IndexCommand::Create(args) => {
            let engine = interruptible(Box::pin(args.store.connect())).await?;
            let work = compute.run(Box::pin(create(*args, engine.clone())));
            interruptible_writes(&engine, work).await
        }
        IndexCommand::List(args) => interruptible(compute.run(Box::pin(list(*args)))).await,
        IndexCommand::Verify(args) => interruptible(compute.run(Box::pin(verify(*args)))).await,
        IndexCommand::Drop(args) => interruptible(compute.run(Box::pin(drop(*args)))).await,
    }
}

impl IndexStore {
    /// An engine that knows the table.
    async fn connect(&self) -> Result<Engine> {
        let engine = Engine::builder()
            .connect(self.store.options())
            .profile(EndpointProfile::unknown())
            .write_runtime(Handle::current())
            .build()
            .await?;
        if let Some(location) = &self.location {
            let location = location.replace('\'', "''");
            define(&engine, &format!("SET sluice.index_location = '{location}'")).await?;
        }
        for path in &self.file {
            let script = fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
            for statement in statements::all(&script) {
                define(&engine, statement).await?;
            }
        }
        Ok(engine)
    }
}

async fn define(engine: &Engine, statement: &str) -> Result<()> {
    let definition = Box::pin(engine.query(statement)).await?;
    Box::pin(definition.collect()).await?;
    Ok(())
}

async fn create(args: CreateArgs, engine: Engine) -> Result<()> {
    let indexes = Box::pin(Indexes::of(&engine, &args.table.table)).await?;
    let column = indexes.column(&args.column)?;
    let objects = indexes.missing(&column).await?;
    if objects.is_empty() {
        say(&format!("every object has a fresh index of {}", args.column));
        return Ok(());
    }
    let bytes = objects.iter().map(|object| object.size).sum();
    let message = format!("indexing {} of {} objects", args.column, objects.len());
    let bar = Arc::new(Amount::new(bytes, &message));
    let advance: Advance = {
        let bar = Arc::clone(&bar);
        Arc::new(move |bytes| bar.advance(bytes))
    };
    let created = Box::pin(indexes.create(&column, objects, &advance)).await;
    bar.done();
    let created = created?;
    let records: u64 = created.iter().map(|(_, created)| created.records).sum();
    let without: u64 =
        created.iter().map(|(_, created)| created.records - created.with_value).sum();
    let written = Bytes(created.iter().map(|(_, created)| created.bytes).sum());
    let nulls = if without > 0 { format!(", {without} without a value") } else { String::new() };
    say(&format!(
        "indexed {} of {} objects: {records} records{nulls}, {written} of index for {} of data",
        args.column,
        created.len(),
        Bytes(bytes),
    ));
    Ok(())
}

const HEADER: [&str; 5] = ["object", "column", "state", "bytes", "index"];

fn cells(indexes: &Indexes, index: &Index, state: Value) -> Vec<Value> {
    vec![
        json!(indexes.url(&index.data)),
        json!(index.name.column()),
        state,
        json!(index.object.size),
        json!(indexes.index_url(&index.object.location)),
    ]
}

async fn list(args: ListArgs) -> Result<()> {
    let engine = args.store.connect().await?;
    let indexes = Box::pin(Indexes::of(&engine, &args.table.table)).await?;
    let mut listing = Listing::new(&HEADER);
    for index in indexes.list().await? {
        listing.push(cells(&indexes, &index, json!(index.state.in_words())));
    }
    listing.print(args.format, "")
}

async fn verify(args: VerifyArgs) -> Result<()> {
    let engine = args.store.connect().await?;
    let indexes = Box::pin(Indexes::of(&engine, &args.table.table)).await?;
    let all = indexes.list().await?;
    let about = |index: &&Index| args.column.as_ref().is_none_or(|it| index.name.is_about(it));
    let mut listing = Listing::new(&HEADER);
    let (mut looked, mut wrong) = (0, 0);
    for index in all.iter().filter(about) {
        looked += 1;
        let state = match (indexes.verify(index).await, index.state) {
            (Ok(_), State::Fresh) => json!("sound"),
            (Ok(_), state) => {
                wrong += 1;
                json!(state.in_words())
            }
            (Err(error), state) => {
                wrong += 1;
                json!(format!("{}: {}", state.in_words(), error))
            }
        };
        listing.push(cells(&indexes, index, state));
    }
    listing.print(args.format, "")?;
    if wrong == 0 {
        return Ok(());
    }
    Err(Failure::new(format!("{wrong} of {looked} indexes cannot be used"))
        .with_hint("`sluice index create` makes new ones; `sluice index drop` removes them."))
}

async fn drop(args: DropArgs) -> Result<()> {
    let engine = args.store.connect().await?;
    let indexes = Box::pin(Indexes::of(&engine, &args.table.table)).await?;
    let mut all = indexes.list().await?;
    all.retain(|index| index.name.is_about(&args.column));
    indexes.drop(&all).await?;
    say(&format!("removed {} index objects of {}", all.len(), args.column));
    Ok(())
}
