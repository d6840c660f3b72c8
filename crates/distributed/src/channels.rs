//! gRPC connections to workers, and the errors that a lost connection becomes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use http::HeaderMap;
use sluicegate_engine::{ErrorKind, UserError};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::ServiceBuilder;
use url::Url;

use crate::token::Token;

/// The time-out for connecting to a worker.
const CONNECT: Duration = Duration::from_secs(5);
/// The keep-alive interval of HTTP/2 and its time-out. A connection that is silent for the first duration gets a
/// ping; without a reply within the second, it is closed.
pub(crate) const KEEPALIVE: (Duration, Duration) =
    (Duration::from_secs(10), Duration::from_secs(10));

/// The largest message that a worker accepts, in bytes. A part of a plan is one message.
pub(crate) const MOST_SENT: usize = 256 << 20;

/// One connection per worker, which all queries share.
#[derive(Debug, Clone)]
pub(crate) struct Channels {
    token: Option<Token>,
    known: Arc<Mutex<BTreeMap<String, Channel>>>,
}

impl Channels {
    pub(crate) fn new(token: Option<Token>) -> Self {
        Self { token, known: Arc::default() }
    }

    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns the connection to a worker. It is opened on first use and reopened if it breaks.
    fn to(&self, url: &Url) -> Result<BoxCloneSyncChannel> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = match known.get(url.as_str()) {
            Some(channel) => channel.clone(),
            None => {
                let endpoint = Endpoint::from_shared(url.to_string()).map_err(|_| no_url(url))?;
                let channel = endpoint
                    .connect_timeout(CONNECT)
                    .http2_keep_alive_interval(KEEPALIVE.0)
                    .keep_alive_timeout(KEEPALIVE.1)
                    .connect_lazy();
                known.insert(url.to_string(), channel.clone());
                channel
            }
        };
        let token = self.token.clone();
        let signed = ServiceBuilder::new()
            .map_request(move |mut request: http::Request<tonic::body::Body>| {
                if let Some(token) = &token {
                    token.sign(&mut request);
                }
                request
            })
            .service(channel);
        Ok(BoxCloneSyncChannel::new(signed))
    }
}

/// Formats a worker's URL without user, password, path and query, which could be secret.
pub(crate) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}

fn no_url(url: &Url) -> DataFusionError {
    let message = format!("{} is not the URL of a worker", shown(url));
    UserError {
        kind: ErrorKind::Setting,
        message,
        hint: Some("Write http://host:port.".to_owned()),
    }
    .into()
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let inner = create_worker_client(self.to(url)?);
        Ok(Box::new(NamedWorker { inner, url: url.clone() }))
    }
}

/// A channel to a worker whose connection errors name the worker.
struct NamedWorker {
    inner: Box<dyn WorkerChannel>,
    url: Url,
}

impl NamedWorker {
    /// Wraps an answer so that an error in it names the worker.
    fn watched<T: 'static>(
        &self,
        answers: BoxStream<'static, Result<T>>,
    ) -> BoxStream<'static, Result<T>> {
        let url = self.url.clone();
        answers.map_err(move |error| lost(&url, error)).boxed()
    }
}

#[async_trait]
impl WorkerChannel for NamedWorker {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let sent = self.inner.coordinator_channel(headers, request, messages, metrics, context);
        let answers = sent.await.map_err(|error| lost(&self.url, error))?;
        Ok(self.watched(answers))
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let sent = self.inner.execute_task(headers, request, metrics, context);
        let answers = sent.await.map_err(|error| lost(&self.url, error))?;
        Ok(answers.into_iter().map(|rows| self.watched(rows)).collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        self.inner.get_worker_info(request).await
    }
}

/// Converts a gRPC error to a user-facing error, encoded as text so that other processes can forward it. An error
/// that the worker itself reported stays unchanged, except that exhausted memory is attributed to the worker.
fn lost(url: &Url, error: DataFusionError) -> DataFusionError {
    let Some(status) = status(&error) else { return of_memory(url, error) };
    tracing::debug!(worker = shown(url), %status, "a worker is lost");
    let told = match (UserError::find(status.message()), status.code()) {
        (Some(told), _) => told,
        (None, Code::OutOfRange) => UserError {
            kind: ErrorKind::Resources,
            message: format!(
                "a part of the plan is larger than the worker {} takes, which is {} MiB",
                shown(url),
                MOST_SENT >> 20
            ),
            hint: Some(
                "Tables in memory are sent with the plan: write them to a bucket with COPY, or run the query \
                 without --workers."
                    .to_owned(),
            ),
        },
        (None, Code::Unauthenticated) => UserError {
            kind: ErrorKind::Access,
            message: format!("the worker {} refuses plans without its token", shown(url)),
            hint: Some("Set SLUICE_TOKEN to the token that the workers have.".to_owned()),
        },
        (None, _) => UserError {
            kind: ErrorKind::Unavailable,
            message: format!("the worker {} {}", shown(url), failure_reason(status)),
            hint: Some(
                "The answer is not complete without it. Run the query again when that worker is back, or without \
                 it in --workers."
                    .to_owned(),
            ),
        },
    };
    DataFusionError::Execution(told.to_text())
}

fn of_memory(url: &Url, error: DataFusionError) -> DataFusionError {
    if !matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) {
        return error;
    }
    let mut told = UserError::from_error(error);
    told.message = format!("{}, on the worker {}", told.message, shown(url));
    DataFusionError::Execution(told.to_text())
}

/// Describes the failure of a worker that reported no error of its own. The sources of a transport error are omitted,
/// because they do not help a user.
fn failure_reason(status: &Status) -> String {
    match std::error::Error::source(status) {
        Some(_) => "cannot be reached, or ended while the query ran".to_owned(),
        None => format!("failed: {}", status.message()),
    }
}

/// Returns the gRPC status in an error's chain of sources, if there is one.
pub(crate) fn status(error: &DataFusionError) -> Option<&Status> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(next) = cause {
        if let Some(status) = next.downcast_ref::<Status>() {
            return Some(status);
        }
        cause = next.source();
    }
    None
}
