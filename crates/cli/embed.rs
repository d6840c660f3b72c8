//! Engines and stores for programs that embed the command, such as the Python package.
//!
//! They take the options of `sluice sql` and `sluice serve` by name, with the same defaults, environment variables,
//! named connections and checks. Messages that the command would print are returned. The interface follows the needs
//! of the Python package and may change with every release.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use serde_json::{Value, json};
use sluicegate_engine::{CounterSnapshot, Credentials, Engine, Explanation};
pub use sluicegate_server::Server;

use crate::args::{ConnectArgs, ServeArgs, WorkersArgs};
use crate::commands::{explain, serve};
use crate::failure::Failure;
use crate::output::progress::collecting;
use crate::output::stats_json;
use crate::session::statements;

/// Options by the names that they have on the command line, without the leading `--`. A flag has the value `true` or
/// `false`.
pub type Options = BTreeMap<String, String>;

/// An error of a setting, in the words of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedError {
    /// One sentence that describes the error.
    pub message: String,
    /// Advice to the user, if there is any.
    pub hint: Option<String>,
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EmbedError {}

impl From<Failure> for EmbedError {
    fn from(failure: Failure) -> Self {
        let (message, hint) = failure.words();
        Self { message, hint }
    }
}

#[derive(Debug, Parser)]
struct EngineArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(flatten)]
    workers: WorkersArgs,
}

#[derive(Debug, Parser)]
struct StoreArgs {
    #[command(flatten)]
    serve: ServeArgs,
}

/// Builds an engine with the options of `sluice sql` that select a store, workers, limits and prices. Also returns the
/// messages for the user. Objects are written on the runtime that polls this function, as by
/// [`EngineBuilder::write_runtime`](sluicegate_engine::EngineBuilder::write_runtime).
///
/// # Errors
///
/// If an option is unknown or its value is invalid. An unreachable store fails the first query.
pub async fn connect(
    options: &Options,
    credentials: Option<Credentials>,
) -> Result<(Engine, Vec<String>), EmbedError> {
    let EngineArgs { mut connect, workers } = parsed(options)?;
    connect.store.credentials = credentials;
    let (engine, messages) = collecting(Box::pin(connect.connect_with(&workers))).await;
    Ok((engine?, messages))
}

/// Starts a store with the options of `sluice serve` on the current runtime. `key_pair` is the access key that clients
/// need; by default it is a new one. The environment's keys are not used.
///
/// # Errors
///
/// If an option is unknown or its value is invalid, or the store cannot start.
pub async fn serve(
    options: &Options,
    key_pair: Option<(String, String)>,
) -> Result<Server, EmbedError> {
    let StoreArgs { serve: args } = parsed(options)?;
    let mut builder = serve::builder(&args);
    if args.anonymous {
        builder = builder.anonymous();
    } else if let Some((id, secret)) = key_pair {
        builder = builder.credentials(id, secret);
    }
    builder.start().await.map_err(|error| Failure::from(error).into())
}

/// Splits a text into its statements.
#[must_use]
pub fn statements(text: &str) -> Vec<&str> {
    statements::all(text)
}

/// Explains a query like `sluice explain`. A statement that only defines a name or sets an option takes effect, and
/// `None` is returned.
///
/// # Errors
///
/// If the statement cannot be parsed or planned.
pub async fn explain(
    engine: &Engine,
    statement: &str,
) -> sluicegate_engine::Result<Option<Explanation>> {
    if engine.is_query(statement) || !Box::pin(engine.is_definition(statement)).await? {
        return Ok(Some(Box::pin(engine.explain(statement)).await?));
    }
    Box::pin(engine.collect(statement)).await?;
    Ok(None)
}

/// Returns the text that `sluice explain` prints.
#[must_use]
pub fn explanation_text(engine: &Engine, explanation: &Explanation) -> String {
    explain::text(engine, explanation)
}

/// Returns the prediction and the strategies of a query as JSON, in the form of `sluice sql --stats-json`.
#[must_use]
pub fn explanation_json(engine: &Engine, explanation: &Explanation) -> String {
    let estimate = explanation.estimate();
    json!({
        "seconds": estimate.time.as_secs_f64(),
        "dollars": estimate.cost.0,
        "requests": estimate.work.requests.total().0,
        "scanned": estimate.work.scanned.0,
        "link": estimate.work.link.0,
        "prices": engine.endpoint().prices.name,
        "strategies": stats_json::strategies(&explanation.decisions),
    })
    .to_string()
}

/// Returns counted requests and bytes with their cost at the engine's prices as JSON, in the form of `sluice sql
/// --stats-json`. `wall` is the elapsed time.
#[must_use]
pub fn counted_json(engine: &Engine, counted: &CounterSnapshot, wall: Duration) -> String {
    let prices = &engine.endpoint().prices;
    let mut numbers = stats_json::numbers(&counted.work(wall), prices);
    if let Value::Object(fields) = &mut numbers {
        fields.insert("seconds".to_owned(), wall.as_secs_f64().into());
        fields.insert("retries".to_owned(), counted.retries.into());
        fields.insert("fallbacks".to_owned(), counted.fallbacks.into());
        fields.insert("prices".to_owned(), prices.name.as_str().into());
    }
    numbers.to_string()
}

/// Parses options as if they came from the command line.
fn parsed<T: Parser>(options: &Options) -> Result<T, EmbedError> {
    let mut typed = vec!["sluice".to_owned()];
    for (name, value) in options {
        match value.as_str() {
            "true" => typed.push(format!("--{name}")),
            "false" => {}
            _ => typed.push(format!("--{name}={value}")),
        }
    }
    T::try_parse_from(typed).map_err(|error| invalid(&error))
}

/// Describes an invalid option. The names are those of the caller's arguments, with `_`.
fn invalid(error: &clap::Error) -> EmbedError {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let argument = text(ContextKind::InvalidArg);
    let name = argument.split([' ', '=']).next().unwrap_or_default();
    let name = name.trim_start_matches('-').replace('-', "_");
    let value = text(ContextKind::InvalidValue);
    let valid = text(ContextKind::ValidValue);
    let message = match error.source() {
        Some(why) => format!("{name}: {why}"),
        None if !valid.is_empty() => format!("{name}: `{value}` is none of {valid}"),
        None => {
            let said = error.to_string();
            let line = said.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        }
    };
    EmbedError { message, hint: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> Options {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn refused(given: &[(&str, &str)]) -> String {
        parsed::<EngineArgs>(&options(given)).unwrap_err().message
    }

    #[test]
    fn options_are_those_of_the_command() {
        let given = [("endpoint", "http://127.0.0.1:9"), ("anonymous", "true"), ("threads", "3")];
        let args: EngineArgs = parsed(&options(&given)).unwrap();
        assert_eq!(args.connect.store.endpoint.as_deref(), Some("http://127.0.0.1:9"));
        assert!(args.connect.store.anonymous);
        assert_eq!(args.connect.threads.map(std::num::NonZeroUsize::get), Some(3));
        let args: EngineArgs = parsed(&options(&[("anonymous", "false")])).unwrap();
        assert!(!args.connect.store.anonymous);
    }

    #[test]
    fn an_invalid_option_is_named_as_the_caller_names_it() {
        let message = refused(&[("memory-limit", "much")]);
        assert!(
            message.starts_with("memory_limit: `much` is not a number of bytes such as"),
            "{message}"
        );
        let message = refused(&[("scan", "best")]);
        assert!(message.starts_with("scan: `best` is none of auto, get, select"), "{message}");
        let message = refused(&[("colour", "red")]);
        assert!(message.contains("--colour"), "{message}");
    }

    #[tokio::test]
    async fn a_store_starts_and_its_engine_connects() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().to_str().unwrap();
        let given = options(&[("dir", dir), ("listen", "127.0.0.1:0"), ("no-fsync", "true")]);
        let server = serve(&given, Some(("me".to_owned(), "a-secret".to_owned()))).await.unwrap();
        let given = options(&[("endpoint", &server.endpoint())]);
        let credentials = Credentials::new(server.access_key(), server.secret_key());
        let (engine, messages) = connect(&given, Some(credentials)).await.unwrap();
        assert_eq!(messages, [""; 0]);
        assert_eq!(engine.endpoint().profile().name, "sluice");
        server.shutdown().await;
    }

    #[tokio::test]
    async fn messages_are_returned() {
        // Nothing answers there, and the path is noted.
        let given = options(&[("endpoint", "http://127.0.0.1:1/bucket"), ("store", "get-only")]);
        let (_, messages) = connect(&given, None).await.unwrap();
        assert!(messages.iter().any(|line| line.contains("has a path")), "{messages:?}");
    }
}
