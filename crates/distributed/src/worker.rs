//! The server that `sluice worker` runs.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use datafusion_distributed::{
    DistributedExt, WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerQueryContext,
};
use futures::{Stream, StreamExt};
use sluicegate_engine::codec::SluiceCodec;
use sluicegate_engine::config::SluiceOptions;
use sluicegate_engine::leaf_tasks::note_versions;
use sluicegate_engine::query::QueryCounters;
use sluicegate_engine::{Engine, Versions};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Request;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tower::layer::layer_fn;

use crate::channels::{Channels, KEEPALIVE, MOST_SENT};
use crate::draining::Draining;
use crate::identity::Identity;
use crate::settings;
use crate::token::Token;
use crate::worker_counts::{WorkerAddress, reporting_counts};

/// The time that connections have to end after the last query.
const GRACE: Duration = Duration::from_secs(2);

/// The time-out for a connection's first byte, and the number of connections that may wait for it at once. Further
/// connections queue.
const FIRST_BYTE: Duration = Duration::from_secs(5);
const MAX_PENDING_CONNECTIONS: usize = 1024;

/// Runs the parts of plans that coordinators send, over an engine's stores.
pub struct Worker {
    listener: TcpListener,
    address: SocketAddr,
    engine: Engine,
    token: Option<Token>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The reason why a worker cannot run.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The worker cannot listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address that was requested.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The address is reachable from other machines and there is no token, so anyone could read with the worker's
    /// credentials.
    #[error("a worker that others can reach at {0} needs a token")]
    Open(SocketAddr),
    /// The gRPC server failed.
    #[error("the worker's server failed: {0}")]
    Server(#[from] tonic::transport::Error),
}

impl Worker {
    /// Listens on an address; port 0 picks a free port. Without a `token`, the address must be a loopback address.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or it is not a loopback address and there is no token.
    pub async fn listen(
        address: SocketAddr,
        engine: Engine,
        token: Option<Token>,
    ) -> Result<Self, WorkerError> {
        if token.is_none() && !address.ip().is_loopback() {
            return Err(WorkerError::Open(address));
        }
        let failed = |source| WorkerError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, engine, token })
    }

    /// Returns the address that the worker listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until `stop` resolves, and then until the running queries have ended. New queries are then
    /// refused. The worker also answers gRPC health checks.
    ///
    /// # Errors
    ///
    /// If the server fails.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), WorkerError> {
        let Self { listener, address, engine, token } = self;
        let channels = Channels::new(token.clone());
        let draining = Draining::default();
        let stopped = {
            let draining = draining.clone();
            async move {
                stop.await;
                draining.drained().await;
            }
        };
        let runtime = engine.runtime_env();
        let session = move |context: WorkerQueryContext| {
            let (engine, channels) = (engine.clone(), channels.clone());
            async move {
                let WorkerQueryContext { mut builder, headers } = context;
                let counters = Arc::<QueryCounters>::default();
                let mut config = builder.config().take().unwrap_or_default();
                config.options_mut().extensions.insert(SluiceOptions::default());
                settings::follow(&headers, config.options_mut())?;
                let versions = Arc::<Versions>::default();
                let (telling_of, noted) = (Arc::clone(&counters), Arc::clone(&versions));
                let config = config
                    .with_extension(Arc::new(WorkerAddress(address)))
                    .with_distributed_user_codec(SluiceCodec)
                    .with_distributed_channel_resolver(channels)
                    .with_distributed_worker_plan_rewrite_handler(
                        move |event: WorkerPlanRewriteEvent<'_>| {
                            note_versions(&noted, &event.plan);
                            let plan = reporting_counts(event.plan, &telling_of)?;
                            Ok(WorkerPlanRewriteEventResponse::new(plan))
                        },
                    );
                let builder = builder.with_config(config);
                Ok(engine.task_session(builder, &counters, versions)?.build())
            }
        };
        let worker = datafusion_distributed::Worker::from_session_builder(session)
            .with_runtime_env(runtime)
            .with_version(Identity::new().to_text());
        let check = move |request: Request<()>| match &token {
            Some(token) => token.check(&request).map(|()| request),
            None => Ok(request),
        };
        let (health, answers) = tonic_health::server::health_reporter();
        health.set_service_status("", tonic_health::ServingStatus::Serving).await;
        let idle = draining.clone();
        let worker = worker.into_worker_server().max_decoding_message_size(MOST_SENT);
        let serving = Server::builder()
            // A coordinator can disappear without closing its connection.
            .http2_keepalive_interval(Some(KEEPALIVE.0))
            .http2_keepalive_timeout(Some(KEEPALIVE.1))
            .layer(layer_fn(move |service| draining.around(service)))
            .add_service(answers)
            .add_service(InterceptedService::new(worker, check))
            .serve_with_incoming_shutdown(incoming(listener), stopped);
        // Other workers may keep connections open after the last query, and answers may remain unread.
        let left = async move {
            idle.was_drained().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            served = serving => served?,
            () = left => {}
        }
        Ok(())
    }
}

/// Returns the connections that have sent a first byte. HTTP/2 sends no keep-alive pings to a peer that never starts.
fn incoming(listener: TcpListener) -> impl Stream<Item = io::Result<TcpStream>> {
    let spoken = |socket: io::Result<TcpStream>| async {
        let Ok(socket) = socket else { return Some(socket) };
        // Messages are small, and each waits for the one before.
        let _ = socket.set_nodelay(true);
        let mut byte = [0];
        let first = tokio::time::timeout(FIRST_BYTE, socket.peek(&mut byte)).await;
        matches!(first, Ok(Ok(1))).then_some(Ok(socket))
    };
    TcpListenerStream::new(listener)
        .map(spoken)
        .buffer_unordered(MAX_PENDING_CONNECTIONS)
        .filter_map(|socket| async { socket })
}

#[cfg(test)]
mod tests {
    use super::*;

    use datafusion::common::runtime::SpawnedTask;
    use http_body_util::Full;
    use tokio::io::AsyncReadExt;
    use tokio::sync::oneshot;
    use tonic::Code;
    use tonic::body::Body;
    use tonic::transport::Endpoint;
    use tower::ServiceExt;

    #[tokio::test]
    async fn who_says_nothing_is_not_kept() {
        let engine = Engine::builder().build().await.unwrap();
        let worker = Worker::listen("127.0.0.1:0".parse().unwrap(), engine, None).await.unwrap();
        let address = worker.address();
        let running = SpawnedTask::spawn(worker.run(std::future::pending()));
        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut byte = [0];
        let closed = tokio::time::timeout(4 * FIRST_BYTE, silent.read(&mut byte)).await;
        assert_eq!(closed.expect("a silent connection is kept").unwrap(), 0);
        drop(running);
    }

    /// A message's length is in its header, so the worker can refuse it before the body arrives.
    #[tokio::test]
    async fn no_larger_message_is_waited_for() {
        let engine = Engine::builder().build().await.unwrap();
        let worker = Worker::listen("127.0.0.1:0".parse().unwrap(), engine, None).await.unwrap();
        let url = format!("http://{}", worker.address());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = SpawnedTask::spawn(worker.run(async {
            let _ = stopped.await;
        }));
        let channel = Endpoint::from_shared(url).unwrap().connect().await.unwrap();
        for (size, refused) in [(16, false), (MOST_SENT, false), (MOST_SENT + 1, true)] {
            let mut frame = vec![0];
            frame.extend(u32::try_from(size).unwrap().to_be_bytes());
            let request = http::Request::post("/worker.WorkerService/ExecuteTask")
                .header("content-type", "application/grpc")
                .body(Body::new(Full::from(frame)));
            let answer = channel.clone().oneshot(request.unwrap()).await.unwrap();
            let status = &answer.headers()["grpc-status"];
            let too_large = (Code::OutOfRange as i32).to_string();
            assert_eq!(status.to_str().unwrap() == too_large, refused, "{size}: {status:?}");
        }
        stop.send(()).unwrap();
        running.await.unwrap().unwrap();
    }
}
