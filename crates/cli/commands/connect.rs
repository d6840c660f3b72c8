//! `sluice connect`: named connections to stores.

use std::io::{self, Write};

use serde_json::json;

use crate::args::{ConnectAddArgs, ConnectArgs, ConnectCommand, ConnectListArgs, ConnectTestArgs};
use crate::connect::calibrated_hardware::place;
use crate::connect::named_connections::{Connection, Connections};
use crate::connect::reachability::{buckets_words, check_reachable};
use crate::connect::{prices, profile_named};
use crate::failure::{Failure, Result, without_codes};
use crate::output::escape::visible;
use crate::output::listing::Listing;

pub(crate) async fn run(command: ConnectCommand) -> Result<()> {
    match command {
        ConnectCommand::Add(args) => add(&args).await,
        ConnectCommand::List(args) => list(&args),
        ConnectCommand::Test(args) => test(*args).await,
    }
}

async fn add(args: &ConnectAddArgs) -> Result<()> {
    if let Some(option) = args.connect.given_for_one_run() {
        return Err(Failure::Usage(format!(
            "a connection does not keep {option}; give it to the commands that use the connection"
        )));
    }
    let is_known = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = args.name.starts_with(char::is_alphanumeric) && args.name.chars().all(is_known);
    if !is_name {
        return Err(Failure::Usage(format!(
            "`{}` is no name of a connection: letters, digits, `-`, `_` and `.`",
            visible(&args.name)
        )));
    }
    let ConnectArgs { store, kind, hardware, prices: book, .. } = &args.connect;
    let connection = Connection {
        endpoint: store.endpoint.clone(),
        region: store.region.clone(),
        aws_profile: store.aws_profile.clone(),
        anonymous: store.anonymous,
        store: kind.clone(),
        hardware: hardware.clone(),
        prices: book.clone(),
    };
    if connection == Connection::default() {
        return Err(Failure::Usage(
            "a connection says something: --endpoint URL, for example".into(),
        ));
    }
    if connection.endpoint.as_deref().is_some_and(has_more_than_a_place) {
        return Err(Failure::new("the endpoint has more in it than a host, a port and a path")
            .with_hint(
                "Leave it out, as it may be secret: credentials come from an AWS profile or the \
                 environment.",
            ));
    }
    // Check the options and names now, not when the connection is first used.
    store.check(&store.options()?).await?;
    if let Some(name) = hardware.as_deref().filter(|name| *name != "auto") {
        profile_named(name)?;
    }
    if let Some(name) = book {
        prices(name)?;
    }
    let path = Connections::read()?.add(&args.name, &connection)?;
    let (name, path) = (visible(&args.name), path.display());
    Ok(writeln!(io::stdout(), "added to {path}; `sluice sql -C {name}` uses it")?)
}

/// Returns true if a URL contains a user, a query or a fragment, plain or percent-encoded.
fn has_more_than_a_place(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
    url.contains(['@', '?', '#', ';']) || !host.is_ascii() || host.contains('%')
}

fn list(args: &ConnectListArgs) -> Result<()> {
    let mut listing =
        Listing::new(&["name", "endpoint", "region", "credentials", "store", "hardware", "prices"]);
    for (name, connection) in Connections::read()?.all() {
        listing.push(vec![
            json!(name),
            json!(connection.endpoint.as_deref().unwrap_or("AWS")),
            json!(connection.region),
            json!(connection.credentials()),
            json!(connection.store),
            json!(connection.hardware),
            json!(connection.prices),
        ]);
    }
    listing.print(args.format, "")
}

async fn test(args: ConnectTestArgs) -> Result<()> {
    let mut connect = args.connect;
    connect.store.connection = args.name.or(connect.store.connection);
    let engine = Box::pin(connect.connect()).await?;
    let client = &engine.endpoint().client;
    let buckets = check_reachable(client)
        .await
        .map_err(|(what, hint)| Failure::new(without_codes(&what)).with_hint(hint))?;
    let (place, store) = (place(client), &client.profile().name);
    let (place, buckets) = (visible(&place), buckets_words(buckets));
    Ok(writeln!(io::stdout(), "{place} answers: store {store}{buckets}")?)
}
