//! The workers of a coordinator: connecting to them, and adding them to a session.

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion_distributed::{
    ChannelResolver, DistributedConfig, DistributedExt, GetWorkerInfoRequest,
    SessionStateBuilderExt, WorkerResolver,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sluicegate_engine::codec::SluiceCodec;
use thiserror::Error;
use tonic::{Code, ConnectError, Status};
use url::Url;

use crate::VERSION;
use crate::channels::{Channels, shown, status};
use crate::identity::Identity;
use crate::leaves::{Tasks, tasks_of_leaf};
use crate::planner::ClusterPlanner;
use crate::token::Token;

/// The time-out for a worker's first answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The bytes of files per worker: each further MiB adds one.
const BYTES_PER_WORKER: usize = 1 << 20;

/// The workers that a coordinator sends parts of queries to.
#[derive(Debug, Clone)]
pub struct Cluster {
    urls: Vec<Url>,
    channels: Channels,
}

/// The reason why workers cannot be used.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// The text is not the URL of a worker.
    #[error("`{0}` is not the URL of a worker")]
    Url(String),
    /// There are no workers, or one is named twice.
    #[error("{0}")]
    Workers(String),
    /// A worker does not answer.
    #[error("the worker {url} does not answer: {why}")]
    Silent {
        /// The URL of the worker.
        url: String,
        /// The reason why the worker does not answer.
        why: String,
    },
    /// The server at this address speaks another protocol.
    #[error("what answers at {0} is no worker")]
    Stranger(String),
    /// A worker refused the token, or requires one and got none.
    #[error("the worker {url} {why}")]
    Refused {
        /// The URL of the worker.
        url: String,
        /// The reason, as the predicate of a sentence about the worker.
        why: &'static str,
    },
    /// A worker runs another version.
    #[error("the worker {url} is of version {theirs}, and this is version {VERSION}")]
    Version {
        /// The URL of the worker.
        url: String,
        /// The version that the worker runs.
        theirs: String,
    },
}

impl ClusterError {
    /// Returns a sentence on how to fix the error.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Url(_) => {
                "Write http://host:port and nothing more, several with commas between; workers speak no TLS, and \
                 their token is SLUICE_TOKEN."
            }
            Self::Workers(_) => "Name each worker once, as http://host:port.",
            Self::Silent { .. } => {
                "Start it with `sluice worker --listen HOST:PORT`, or leave it out of --workers. A worker whose \
                 store does not answer waits for it before it listens."
            }
            Self::Stranger(_) => {
                "Name the address that `sluice worker` printed, not that of the store, and without TLS."
            }
            Self::Refused { .. } => {
                "Set SLUICE_TOKEN to the token that the worker was started with."
            }
            Self::Version { .. } => {
                "Run the same version everywhere: plans of another may mean something else."
            }
        }
    }
}

impl Cluster {
    /// Connects to the workers at these URLs and checks their versions. `token` is the shared token, if the workers
    /// require one.
    ///
    /// # Errors
    ///
    /// If a URL is invalid, if there are no workers or one is named twice, or if a worker does not answer, refuses
    /// the token, or runs another version.
    pub async fn connect(urls: &[String], token: Option<Token>) -> Result<Self, ClusterError> {
        let urls = urls.iter().map(|text| parse(text)).collect::<Result<Vec<Url>, _>>()?;
        let different: BTreeSet<&str> = urls.iter().map(Url::as_str).collect();
        if urls.is_empty() {
            return Err(ClusterError::Workers("there is no worker".to_owned()));
        }
        if different.len() < urls.len() {
            return Err(ClusterError::Workers("a worker is named twice".to_owned()));
        }
        let cluster = Self { urls, channels: Channels::new(token) };
        let asked = cluster.urls.iter().map(|url| cluster.check(url));
        let who = futures::future::try_join_all(asked).await?;
        let mut known = BTreeMap::new();
        for (who, url) in who.into_iter().zip(&cluster.urls) {
            if let Some(other) = known.insert(who, url) {
                let (one, other) = (shown(url), shown(other));
                return Err(ClusterError::Workers(format!("{one} and {other} are one worker")));
            }
        }
        Ok(cluster)
    }

    /// Returns the number of workers.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.urls.len()
    }

    async fn check(&self, url: &Url) -> Result<Identity, ClusterError> {
        let silent = |why: String| ClusterError::Silent { url: shown(url), why };
        let asked = async {
            let mut client = self.channels.get_worker_client_for_url(url).await?;
            client.get_worker_info(GetWorkerInfoRequest {}).await
        };
        let answer = match tokio::time::timeout(TIMEOUT, asked).await {
            Ok(answer) => answer,
            Err(_) => return Err(silent(format!("nothing within {} s", TIMEOUT.as_secs()))),
        };
        match answer {
            Ok(info) => match Identity::read(&info.version) {
                who if who.version == VERSION => Ok(who),
                who => Err(ClusterError::Version { url: shown(url), theirs: who.version }),
            },
            Err(error) => match status(&error).map(Status::code) {
                Some(Code::Unauthenticated) => {
                    let why = match self.channels.has_token() {
                        true => "has another token",
                        false => "wants a token",
                    };
                    Err(ClusterError::Refused { url: shown(url), why })
                }
                _ if is_answered(&error) => Err(ClusterError::Stranger(shown(url))),
                _ => Err(silent(last_cause(&error))),
            },
        }
    }

    /// Adds the workers to an engine session. Queries that read enough bytes then run in stages, and each worker runs
    /// its share of a stage.
    #[must_use]
    pub fn add_to(&self, builder: SessionStateBuilder) -> SessionStateBuilder {
        let mut builder = builder
            .with_distributed_worker_resolver(Workers { urls: self.urls.clone() })
            .with_distributed_channel_resolver(self.channels.clone());
        // `with_distributed_planner` adds options, handlers and a planner. Our planner replaces that planner below.
        let inner = builder.query_planner().clone();
        builder = builder.with_distributed_planner();
        let mut config = builder.config().take().unwrap_or_default();
        // `with_distributed_planner` plans every scalar sub-query as a join. Our planner does so only for queries
        // that run in stages and have such a join (see `subqueries`), so the default is restored here.
        config.options_mut().optimizer.enable_physical_uncorrelated_scalar_subquery = true;
        if let Some(distributed) = config.options_mut().extensions.get_mut::<DistributedConfig>() {
            distributed.file_scan_config_bytes_per_partition = BYTES_PER_WORKER;
        }
        let config = config
            .with_distributed_user_codec(SluiceCodec)
            .with_distributed_desired_task_count_handler(Tasks)
            .with_distributed_scale_up_leaf_node_handler(tasks_of_leaf);
        builder = builder.with_config(config);
        match inner {
            Some(inner) => {
                builder.with_query_planner(Arc::new(ClusterPlanner::new(inner, self.workers())))
            }
            None => builder,
        }
    }
}

/// Returns true if a connection was made and the error came from the other end.
fn is_answered(error: &DataFusionError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(next) = cause {
        // A failed name lookup is a `ConnectError`, too.
        if next.is::<ConnectError>() {
            return false;
        }
        cause = next.source();
    }
    true
}

/// Returns the innermost cause of an error, which is the most specific one.
fn last_cause(error: &DataFusionError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Parses a worker's URL, which has a scheme, a host and an optional port. Errors omit the parts that may be secret.
fn parse(text: &str) -> Result<Url, ClusterError> {
    let text = text.trim();
    let url = Url::parse(text).map_err(|_| {
        let text = text.rsplit_once('@').map_or(text, |(_, place)| place);
        ClusterError::Url(text.to_owned())
    })?;
    let plain = url.scheme() == "http" && url.host().is_some() && url.path() == "/";
    let named = url.username().is_empty() && url.password().is_none();
    let bare = named && url.query().is_none() && url.fragment().is_none();
    match plain && bare {
        true => Ok(url),
        false => Err(ClusterError::Url(match (named, url.query()) {
            (true, None) => text.to_owned(),
            // The rest of the URL may contain a secret.
            _ => format!("{}…", shown(&url)),
        })),
    }
}

/// The addresses of the workers.
struct Workers {
    urls: Vec<Url>,
}

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.urls.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::runtime::SpawnedTask;
    use tokio::net::TcpListener;
    use tokio_stream::wrappers::TcpListenerStream;
    use tonic::transport::Server;

    #[tokio::test]
    async fn a_worker_of_another_version_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let worker = datafusion_distributed::Worker::default().with_version("0.0.7");
        let server = Server::builder().add_service(worker.into_worker_server());
        let _task =
            SpawnedTask::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        let error = Cluster::connect(std::slice::from_ref(&url), None).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the worker {url} is of version 0.0.7, and this is version {VERSION}")
        );
    }
}
