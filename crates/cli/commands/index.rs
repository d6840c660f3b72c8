//! `sluice index`: creates, lists, checks and drops the indexes of tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sluicegate_costmodel::Bytes;
use sluicegate_engine::index::location::{column_of, is_about};
use sluicegate_engine::index_statements::{
    FreshnessCheck, Index, Indexes, Kind, ProgressFn, State, UnindexedObjects,
};
use sluicegate_engine::{Engine, ErrorKind};
use sluicegate_s3select::capabilities::StoreCapabilities;
use tokio::runtime::Handle;

use crate::args::{CreateArgs, DropArgs, IndexCommand, IndexStore, ListArgs, VerifyArgs};
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;
use crate::output::progress::{Amount, print_line};
use crate::runtime::compute::Compute;
use crate::runtime::input::text_of;
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
    /// Builds an engine on which the definitions of the table have run.
    async fn connect(&self) -> Result<Engine> {
        let engine = Engine::builder()
            .connect(self.store.options()?)
            .profile(StoreCapabilities::unknown())
            .write_runtime(Handle::current())
            .build()
            .await?;
        if let Some(location) = &self.location {
            let location = location.replace('\'', "''");
            define(&engine, &format!("SET sluice.index_location = '{location}'")).await?;
        }
        for path in &self.file {
            let script = text_of(path)?;
            for statement in statements::all(&script) {
                define(&engine, statement).await?;
            }
        }
        Ok(engine)
    }

    /// Returns the options that select the table, quoted for a shell.
    fn words(&self) -> impl Iterator<Item = String> {
        let files = self.file.iter().map(|file| format!("-f {}", quoted(&file.to_string_lossy())));
        let location = self.location.iter().map(|it| format!("--location {}", quoted(it)));
        files.chain(location)
    }
}

async fn define(engine: &Engine, statement: &str) -> Result<()> {
    let definition = Box::pin(engine.query(statement)).await?;
    Box::pin(definition.collect()).await?;
    Ok(())
}

/// Returns the indexes of a table; `None` if there is nothing to index.
async fn indexes(engine: &Engine, table: &str) -> Result<Option<Indexes>> {
    Box::pin(Indexes::open(engine, table)).await.map_err(|error| {
        let unknown = error.kind() == ErrorKind::Plan && error.to_string().ends_with("not found");
        let failure = Failure::from(error);
        if !unknown {
            return failure;
        }
        failure.with_hint(
            "Name its objects by their URL, s3://bucket/folder/, or define the table in a file of \
             statements: -f tables.sql.",
        )
    })
}

async fn create(args: CreateArgs, engine: Engine) -> Result<()> {
    let Some(indexes) = indexes(&engine, &args.table.table).await? else {
        print_line(&format!("{} has no records, so there is nothing to index", args.table.table));
        return Ok(());
    };
    let column = indexes.column(&args.column)?;
    let look = if args.repair { FreshnessCheck::Whole } else { FreshnessCheck::Top };
    let kind = if args.csv { Kind::Table } else { Kind::Blocks };
    let UnindexedObjects { objects, damaged } = indexes.missing(&column, kind, look).await?;
    if objects.is_empty() {
        let sound = if args.repair { "a sound" } else { "a fresh" };
        print_line(&format!("every object has {sound} index of {}", args.column));
        return Ok(());
    }
    if damaged > 0 {
        print_line(&format!("damaged, and made again: {damaged} of {}", objects.len()));
    }
    let bytes = objects.iter().map(|object| object.size).sum();
    let message = format!("indexing {} of {} objects", args.column, objects.len());
    let bar = Arc::new(Amount::new(bytes, &message));
    let advance: ProgressFn = {
        let bar = Arc::clone(&bar);
        Arc::new(move |bytes| bar.advance(bytes))
    };
    let created = Box::pin(indexes.create(&column, kind, objects, &advance)).await;
    bar.done();
    let created = created?;
    let records: u64 = created.iter().map(|(_, created)| created.records).sum();
    let without: u64 =
        created.iter().map(|(_, created)| created.records - created.with_value).sum();
    let written = Bytes(created.iter().map(|(_, created)| created.bytes).sum());
    let nulls = if without > 0 { format!(", {without} without a value") } else { String::new() };
    print_line(&format!(
        "indexed {} of {} objects: {records} records{nulls}, {written} of index for {} of data",
        args.column,
        created.len(),
        Bytes(bytes),
    ));
    Ok(())
}

const HEADER: [&str; 6] = ["object", "column", "kind", "state", "bytes", "index"];

fn cells(indexes: &Indexes, index: &Index, state: Value) -> Vec<Value> {
    vec![
        json!(indexes.url(&index.data)),
        json!(column_of(&index.name)),
        json!(if index.is_table() { "index_table" } else { "index" }),
        state,
        json!(index.object.size),
        json!(indexes.index_url(&index.object.location)),
    ]
}

async fn list(args: ListArgs) -> Result<()> {
    let engine = args.store.connect().await?;
    let mut listing = Listing::new(&HEADER);
    if let Some(indexes) = indexes(&engine, &args.table.table).await? {
        for index in indexes.list().await? {
            listing.push(cells(&indexes, &index, json!(index.state.in_words())));
        }
    }
    listing.print(args.format, "")
}

async fn verify(args: VerifyArgs) -> Result<()> {
    let engine = args.store.connect().await?;
    let mut listing = Listing::new(&HEADER);
    let Some(indexes) = indexes(&engine, &args.table.table).await? else {
        return match &args.column {
            Some(column) => Err(none_of(column, &args.table.table, &[])),
            None => listing.print(args.format, ""),
        };
    };
    let all = match &args.column {
        Some(column) => about(column, &args.table.table, indexes.list().await?)?,
        None => indexes.list().await?,
    };
    let mut wrong = Vec::new();
    for index in &all {
        let state = match (indexes.verify(index).await?, index.state) {
            (None, State::Fresh) => json!("sound"),
            (None, state) => json!(state.in_words()),
            (Some(why), State::Fresh | State::Damaged) => json!(format!("damaged: {why}")),
            (Some(why), state) => json!(format!("{}: {why}", state.in_words())),
        };
        if state != json!("sound") {
            wrong.push(index);
        }
        listing.push(cells(&indexes, index, state));
    }
    listing.print(args.format, "")?;
    if wrong.is_empty() {
        return Ok(());
    }
    let message = format!("{} of {} indexes cannot be used", wrong.len(), all.len());
    Err(Failure::new(message).with_hint(what_helps(&args, &wrong)))
}

/// Returns the commands that repair the unusable indexes, or remove those that cannot become usable.
fn what_helps(args: &VerifyArgs, wrong: &[&Index]) -> String {
    let commands = |verb: &str, more: &str, states: &[State], is_table: bool| {
        let about: BTreeSet<String> = wrong
            .iter()
            .filter(|index| states.contains(&index.state) && index.is_table() == is_table)
            .map(|index| column_of(&index.name))
            .collect();
        let command = |column: &String| {
            let words = ["sluice", "index", verb, args.table.table.as_str(), column.as_str()];
            let words = words.iter().map(|word| quoted(word)).chain(args.store.words());
            format!("`{}{more}`", words.collect::<Vec<_>>().join(" "))
        };
        about.iter().map(command).collect::<Vec<_>>().join(" and ")
    };
    let repair = [State::Fresh, State::Damaged, State::Stale, State::FormerVersion];
    let again = commands("create", " --csv", &repair, true);
    let again = (!again.is_empty()).then(|| {
        format!("{} and {again} make index tables again", commands("drop", "", &repair, true))
    });
    let repair = commands("create", " --repair", &repair, false);
    // The table has no such column, reads its objects with other options, or lost them: nothing can be repaired.
    let gone = [State::OtherFormat, State::Orphan];
    let removed = [false, true].map(|is_table| commands("drop", "", &gone, is_table));
    let removed = removed.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" and ");
    let repair = (!repair.is_empty()).then(|| format!("{repair} makes new ones"));
    let removed = (!removed.is_empty()).then(|| {
        format!("{removed} removes those of other formats and of objects that are gone, with all others \
                 of the column")
    });
    let all: Vec<String> = repair.into_iter().chain(again).chain(removed).collect();
    format!("{}.", all.join("; "))
}

/// Quotes a word for a shell, if it needs quotes.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

async fn drop(args: DropArgs) -> Result<()> {
    let engine = args.store.connect().await?;
    let Some(indexes) = indexes(&engine, &args.table.table).await? else {
        return Err(none_of(&args.column, &args.table.table, &[]));
    };
    let all = about(&args.column, &args.table.table, indexes.list().await?)?;
    indexes.drop(&all).await?;
    print_line(&format!("removed {} index objects of {}", all.len(), args.column));
    Ok(())
}

/// Returns the indexes of a column.
///
/// # Errors
///
/// If the column has no index.
fn about(column: &str, table: &str, all: Vec<Index>) -> Result<Vec<Index>> {
    let (about, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|index| is_about(&index.name, column));
    if about.is_empty() {
        return Err(none_of(column, table, &others));
    }
    Ok(about)
}

/// Builds the error for a column without an index, with the columns that have one.
fn none_of(column: &str, table: &str, others: &[Index]) -> Failure {
    let mut names: Vec<String> = others.iter().map(|index| column_of(&index.name)).collect();
    names.sort();
    names.dedup();
    let message = format!("there is no index of {column}");
    match names.is_empty() {
        true => Failure::new(format!("{message}: {table} has none"))
            .with_hint(format!("`sluice index create {table} {column}` makes one.")),
        false => Failure::new(format!("{message}; there are those of {}", names.join(", ")))
            .with_hint("`sluice index list` lists them; columns' names are case-sensitive."),
    }
}
