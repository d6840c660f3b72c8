//! From the arguments to workers.

use std::env;

use sluicegate_distributed::{Cluster, Token};
use sluicegate_engine::Engine;

use crate::args::{ConnectArgs, WorkersArgs};
use crate::failure::{Failure, Result};

/// The variable with the secret that coordinators and workers share. Arguments are for all to see.
const TOKEN: &str = "SLUICE_TOKEN";

/// The token of the environment, if there is one.
pub(crate) fn token() -> Result<Option<Token>> {
    let Some(text) = env::var_os(TOKEN).filter(|text| !text.is_empty()) else { return Ok(None) };
    let token = text.to_str().and_then(Token::new);
    token.map(Some).ok_or_else(|| {
        Failure::new(format!("{TOKEN} has characters other than letters, digits and signs"))
            .with_hint("Take a token of ASCII characters without blanks.")
    })
}

impl ConnectArgs {
    /// The engine that these arguments mean, with workers if there are any.
    pub(crate) async fn connect_with(&self, workers: &WorkersArgs) -> Result<Engine> {
        if workers.workers.is_empty() {
            return self.connect().await;
        }
        let cluster = Cluster::connect(&workers.workers, token()?).await;
        let cluster =
            cluster.map_err(|error| Failure::new(error.to_string()).with_hint(error.hint()))?;
        let engine = self.builder().await?.session(move |builder| cluster.add_to(builder));
        Ok(engine.build().await?)
    }
}
