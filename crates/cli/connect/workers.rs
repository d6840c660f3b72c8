//! Builds engines with workers from the arguments.

use std::env;
use std::num::NonZeroU32;
use std::time::Duration;

use sluicegate_distributed::{Cluster, ClusterError, Token};
use sluicegate_engine::Engine;

use super::detect::{self, Server};
use crate::args::{ConnectArgs, WorkersArgs};
use crate::failure::{Failure, Result};
use crate::output::progress::print_line;

/// The environment variable with the secret that coordinators and workers share. It is no argument, because other
/// users of the machine can see arguments.
const TOKEN: &str = "SLUICE_TOKEN";

/// The environment variable with the URLs of workers, an alternative to `--workers`.
const WORKERS: &str = "SLUICE_WORKERS";

/// Returns the token in the environment, if there is one.
pub(crate) fn token() -> Result<Option<Token>> {
    let Some(text) = env::var_os(TOKEN).filter(|text| !text.is_empty()) else { return Ok(None) };
    if text.len() > Token::MOST_BYTES {
        let message = format!("{TOKEN} is longer than {} characters", Token::MOST_BYTES);
        return Err(
            Failure::new(message).with_hint("Take a shorter token: 32 characters are enough.")
        );
    }
    let token = text.to_str().and_then(Token::new);
    token.map(Some).ok_or_else(|| {
        Failure::new(format!("{TOKEN} has characters other than letters, digits and signs"))
            .with_hint("Take a token of ASCII characters without blanks.")
    })
}

/// The pause between two requests to a store that does not answer.
const PAUSE: Duration = Duration::from_secs(1);

impl ConnectArgs {
    /// Waits until the store answers, if its kind depends on its answer: a worker that assumes another kind would
    /// read tables in another way than its coordinator plans.
    pub(crate) async fn wait_for_store(&self) -> Result<()> {
        let named = self.store.named()?;
        if !["auto", "probed"].contains(&self.kind(&named)) {
            return Ok(());
        }
        let options = self.store.options_over(named);
        let Some(endpoint) = detect::endpoint(&options).await? else { return Ok(()) };
        let mut told = false;
        while !Server::probe_kind(&endpoint).await.answers() {
            if !told {
                print_line(&format!(
                    "{endpoint} does not answer; the worker begins when it does, or give its kind by --store"
                ));
                told = true;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Builds the engine of these arguments, with workers if there are any.
    pub(crate) async fn connect_with(&self, workers: &WorkersArgs) -> Result<Engine> {
        let urls = workers.workers.iter().map(|url| url.trim().to_owned());
        let urls: Vec<String> = urls.filter(|url| !url.is_empty()).collect();
        // An empty environment variable means no workers.
        let is_unset = || env::var_os(WORKERS).is_some_and(|text| text.is_empty());
        if urls.is_empty() && !workers.workers.is_empty() && !is_unset() {
            return Err(Failure::Usage(
                "--workers has no URL; write http://host:port, several with commas between"
                    .to_owned(),
            ));
        }
        if urls.is_empty() {
            return self.connect().await;
        }
        let cluster = Cluster::connect(&urls, token()?).await;
        let cluster = cluster.map_err(|error| match error {
            ClusterError::Url(_) | ClusterError::Workers(_) => {
                Failure::Usage(format!("{error}. {}", error.hint()))
            }
            error => Failure::new(error.to_string()).with_hint(error.hint()),
        })?;
        let machines = u32::try_from(cluster.workers()).ok().and_then(NonZeroU32::new);
        let builder = self.builder().await?.machines(machines.unwrap_or(NonZeroU32::MAX));
        let engine = builder.session(move |builder| cluster.add_to(builder));
        Ok(engine.build().await?)
    }
}
