//! The connections of a server: accepting and serving them, and closing one to make room for another.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::{Instant, sleep};

use crate::front::Front;
use crate::lingering_close::{LingeringSocket, UnreadBody};
use crate::link::{Link, ShapedSocket};
use crate::min_rate::MinRateSocket;

/// The time that running requests get when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// The maximum length of a request's head, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// The bytes of a connection that are read at a time, and the bytes of an answer that may wait for the client.
const BUFFER: usize = 128 * 1024;
/// The time without any bytes after which a connection may be closed to make room for a new one.
const MIN_IDLE: Duration = Duration::from_secs(1);

/// The time at which a connection last moved bytes.
#[derive(Debug)]
pub(crate) struct Activity {
    opened: Instant,
    /// The time since the connection was opened, in milliseconds.
    moved: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self { opened: Instant::now(), moved: AtomicU64::new(0) }
    }

    /// Records that bytes moved now.
    pub(crate) fn moved(&self) {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(now, Ordering::Relaxed);
    }

    fn idle_for(&self) -> Duration {
        let moved = Duration::from_millis(self.moved.load(Ordering::Relaxed));
        self.opened.elapsed().saturating_sub(moved)
    }
}

/// The open connections, whose number is limited.
struct Connections {
    most: usize,
    tasks: JoinSet<()>,
    open: HashMap<Id, (Arc<Activity>, AbortHandle)>,
}

impl Connections {
    fn new(most: usize) -> Self {
        Self { most, tasks: JoinSet::new(), open: HashMap::new() }
    }

    /// Returns true if there is room for another connection, or one that may be closed for it.
    fn has_room(&self) -> bool {
        self.open.len() < self.most || self.longest_idle().is_some()
    }

    /// Returns the connection that is to be closed next.
    fn longest_idle(&self) -> Option<Id> {
        let silent = self.open.iter().map(|(id, (activity, _))| (activity.idle_for(), *id));
        let (silent, id) = silent.max_by_key(|(silent, _)| *silent)?;
        (silent >= MIN_IDLE).then_some(id)
    }

    fn add(
        &mut self,
        activity: Arc<Activity>,
        connection: impl Future<Output = ()> + Send + 'static,
    ) {
        if self.open.len() >= self.most
            && let Some((_, task)) = self.longest_idle().and_then(|id| self.open.remove(&id))
        {
            tracing::debug!("too many connections: a silent one is closed");
            task.abort();
        }
        let task = self.tasks.spawn(connection);
        self.open.insert(task.id(), (activity, task));
    }

    /// Waits until a connection ends, or forever if there is none.
    async fn ended(&mut self) {
        let id = match self.tasks.join_next_with_id().await {
            Some(Ok((id, ()))) => id,
            Some(Err(error)) => error.id(),
            None => return std::future::pending().await,
        };
        self.open.remove(&id);
    }
}

/// Accepts connections until the server stops.
pub(crate) async fn accept(
    listener: TcpListener,
    front: Front,
    link: Arc<Link>,
    mut stopped: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let mut most = front.limits().connections.max(1);
    if let Some(files) = open_files().filter(|files| files / 2 < most) {
        most = (files / 2).max(1);
        tracing::warn!("the process may open {files} files: at most {most} connections at a time");
    }
    let mut connections = Connections::new(most);
    loop {
        let has_room = connections.has_room();
        tokio::select! {
            accepted = listener.accept(), if has_room => match accepted {
                Ok((socket, peer)) => {
                    if let Err(e) = socket.set_nodelay(true) {
                        tracing::debug!("cannot switch off delays: {e}");
                    }
                    let activity = Arc::new(Activity::new());
                    let unread = UnreadBody::default();
                    let socket = LingeringSocket::new(socket, unread.clone(), front.limits());
                    let (front, link) = (front.from(peer, unread), Arc::clone(&link));
                    let served = serve(socket, Arc::clone(&activity), front, link, &graceful);
                    connections.add(activity, served);
                }
                Err(e) => {
                    // The process is probably out of file handles, so other connections must end first.
                    tracing::warn!("cannot accept a connection: {e}");
                    sleep(Duration::from_millis(50)).await;
                }
            },
            () = connections.ended() => {}
            () = sleep(MIN_IDLE), if !has_room => {}
            _ = stopped.changed() => break,
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    connections.tasks.shutdown().await;
}

/// Returns the maximum number of files and sockets that the process may open, where the system reports it. Each
/// request needs a file, which it must not lack because of other connections.
fn open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Serves one connection until it ends.
fn serve(
    socket: LingeringSocket<TcpStream>,
    activity: Arc<Activity>,
    front: Front,
    link: Arc<Link>,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + use<> {
    let open = link.count_connection();
    let socket = MinRateSocket::new(socket, front.limits(), activity);
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(front.limits().client_timeout)
        .max_header_size(MAX_HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(ShapedSocket::new(socket, link)), front);
    let connection = graceful.watch(connection);
    async move {
        if let Err(e) = connection.await {
            tracing::debug!("connection ended: {e}");
        }
        drop(open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent_for(seconds: u64) -> Arc<Activity> {
        let activity = Activity {
            opened: Instant::now().checked_sub(Duration::from_secs(100)).unwrap(),
            moved: AtomicU64::new(0),
        };
        activity.moved.store((100 - seconds) * 1000, Ordering::Relaxed);
        Arc::new(activity)
    }

    #[tokio::test]
    async fn who_is_silent_longest_gives_way() {
        let mut connections = Connections::new(3);
        let ids = [5, 9, 7].map(|seconds| {
            assert!(connections.has_room());
            connections.add(silent_for(seconds), std::future::pending());
            *connections
                .open
                .iter()
                .find(|(_, (a, _))| a.idle_for().as_secs() == seconds)
                .unwrap()
                .0
        });
        for gone in [ids[1], ids[2], ids[0]] {
            assert!(connections.has_room() && connections.open.contains_key(&gone));
            connections.add(silent_for(0), std::future::pending());
            assert!(!connections.open.contains_key(&gone));
            assert_eq!(connections.open.len(), 3);
            connections.ended().await;
            assert_eq!((connections.open.len(), connections.tasks.len()), (3, 3));
        }
        // There is room only when a connection is silent or has ended.
        assert!(!connections.has_room());
        let (_, (active, task)) = connections.open.iter().next().unwrap();
        active.moved.store(0, Ordering::Relaxed);
        task.abort();
        assert!(connections.has_room());
        connections.ended().await;
        assert_eq!(connections.open.len(), 2);
    }
}
