//! `sluice statistics`: shows and drops the statistics of tables that the cache holds.

use std::sync::Arc;

use serde_json::json;
use sluicegate_engine::sql_types::readable;
use sluicegate_engine::statistics::ObjectStatistics;
use sluicegate_engine::statistics::cache::StatisticsCache;
use sluicegate_engine::statistics::summary::Summary;

use crate::args::{StatisticsCommand, StatisticsDropArgs, StatisticsListArgs, StatisticsShowArgs};
use crate::connect::probed_endpoints::{cache_folder, utc};
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;
use crate::output::progress::print_line;

pub(crate) fn run(command: &StatisticsCommand) -> Result<()> {
    let Some(folder) = cache_folder() else {
        return Err(Failure::new("there is no cache folder, so nothing is remembered")
            .with_hint("Set XDG_CACHE_HOME or HOME."));
    };
    let known = StatisticsCache::in_folder(folder.join("statistics"));
    match command {
        StatisticsCommand::List(args) => list(args, &known),
        StatisticsCommand::Show(args) => show(args, &known),
        StatisticsCommand::Drop(args) => drop(args, &known),
    }
}

fn list(args: &StatisticsListArgs, known: &StatisticsCache) -> Result<()> {
    let mut listing = Listing::new(&["object", "store", "from", "taken", "rows", "columns"]);
    for object in of_url(known, args.url.as_deref().unwrap_or_default()) {
        listing.push(vec![
            json!(object.about.url),
            json!(object.about.store),
            json!(object.origin.to_string()),
            json!(utc(object.taken)),
            json!(object.rows),
            json!(object.columns.len()),
        ]);
    }
    listing.print(args.format, "")
}

fn show(args: &StatisticsShowArgs, known: &StatisticsCache) -> Result<()> {
    let objects = of_url(known, &args.url);
    if objects.is_empty() && !args.url.contains("://") {
        return Err(Failure::new(format!(
            "statistics are kept of objects in a store, which URLs name, and `{}` is none",
            args.url
        ))
        .with_hint(format!(
            "`sluice sql -c \"SUMMARIZE '{}'\"` computes those of a file.",
            args.url
        )));
    }
    if objects.is_empty() {
        return Err(Failure::new(format!("nothing is remembered about {}", args.url)).with_hint(
            format!("`sluice sql -c \"ANALYZE TABLE '{}'\"` would change that.", args.url),
        ));
    }
    let mut listing = Listing::new(&[
        "column", "type", "NULLs, %", "distinct", "min", "max", "width", "frequent", "order",
    ]);
    let tenths = |number: f64| json!((number * 10.0).round() / 10.0);
    for column in Summary::of_all(&objects) {
        listing.push(vec![
            json!(column.column),
            json!(readable(&column.data_type)),
            tenths(100.0 * column.nulls),
            json!(column.distinct as u64),
            json!(column.min),
            json!(column.max),
            tenths(column.width),
            json!(column.frequent),
            json!(column.order),
        ]);
    }
    let rows: u64 = objects.iter().map(|object| object.rows).sum();
    let seen: u64 = objects.iter().map(|object| object.seen).sum();
    let notes = format!("{rows} rows in {} objects, of which {seen} were read.\n", objects.len());
    listing.print(args.format, &notes)
}

fn drop(args: &StatisticsDropArgs, known: &StatisticsCache) -> Result<()> {
    let begins = args.url.as_deref().unwrap_or_default();
    let forgotten = known.remove_stale(|about| about.url.starts_with(begins), args.all)?;
    print_line(&format!("forgot the statistics of {forgotten} objects"));
    Ok(())
}

fn of_url(known: &StatisticsCache, begins: &str) -> Vec<Arc<ObjectStatistics>> {
    let mut all = known.all();
    all.retain(|object| object.about.url.starts_with(begins));
    all
}
