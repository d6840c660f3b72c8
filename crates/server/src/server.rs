//! Configuration, start and stop of a server.

use std::fmt;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use s3s::service::S3ServiceBuilder;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::access_log::AccessLog;
use crate::api::Api;
use crate::connections::accept;
use crate::counters::Counters;
use crate::credentials::Credentials;
use crate::documents::Documents;
use crate::error::Error;
use crate::expiry::expire;
use crate::faults::Faults;
use crate::front::{self, Front};
use crate::hosts::Hosts;
use crate::integrity::{self, Integrity};
use crate::limits::Limits;
use crate::link::Link;
use crate::memory::{self, give_back};
use crate::routes::Routes;
use crate::select::{self, SelectRoute};
use crate::store::Store;

/// The default age at which multipart uploads are removed.
const UPLOAD_EXPIRY: Duration = Duration::from_secs(7 * 24 * 3600);
/// The default number of statements evaluated at the same time.
const SELECT_SLOTS: usize = 64;

/// A running S3 store over a folder. Dropping it stops it at once; [`Server::shutdown`] lets requests finish first.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use sluicegate_server::Server;
///
/// let folder = tempfile::tempdir().unwrap();
/// let server = Server::builder(folder.path()).start().await.unwrap();
/// assert!(server.endpoint().starts_with("http://127.0.0.1:"));
/// server.shutdown().await;
/// # });
/// ```
pub struct Server {
    address: SocketAddr,
    credentials: Option<Credentials>,
    counters: Arc<Counters>,
    faults: Arc<Faults>,
    link: Arc<Link>,
    stop: watch::Sender<bool>,
    /// The task that accepts connections and owns them, and the tasks that expire uploads, check objects and return
    /// memory. They are aborted on drop.
    task: JoinSet<()>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("endpoint", &self.endpoint()).finish_non_exhaustive()
    }
}

/// The configuration of a [`Server`].
#[derive(Debug)]
pub struct Builder {
    folder: PathBuf,
    listen: SocketAddr,
    access: Access,
    link_rate: Option<u64>,
    latency: Duration,
    faults: Arc<Faults>,
    select: bool,
    select_slots: usize,
    max_groups: Option<usize>,
    indexes: bool,
    sync: bool,
    upload_expiry: Option<Duration>,
    hosts: Vec<String>,
    signature_v2: bool,
    verify: bool,
    limits: Limits,
    access_log: Option<AccessLog>,
}

#[derive(Debug)]
enum Access {
    Random,
    Given(Credentials),
    Anonymous,
}

impl Builder {
    /// Sets the address to listen on. The default is 127.0.0.1 with any free port.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Sets the key pair that requests must be signed with. The default is a random pair.
    #[must_use]
    pub fn credentials(
        mut self,
        access_key: impl Into<String>,
        secret_key: impl Into<String>,
    ) -> Self {
        self.access = Access::Given(Credentials {
            access_key: access_key.into(),
            secret_key: secret_key.into(),
        });
        self
    }

    /// Lets every client do everything, except pages of other servers in a browser: a request with an `Origin`, or
    /// for a host that is not among those of [`Self::host`], is refused. Signatures are ignored, so every header
    /// counts as signed.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.access = Access::Anonymous;
        self
    }

    /// Adds a name of the server, without a port. Requests for other hosts are refused, because they may have a
    /// bucket in front of the host, which is not supported. The server accepts its addresses, `localhost` and the
    /// names given here. Unless it is [anonymous](Self::anonymous), it also accepts names without a dot and the name
    /// of the machine.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Sets whether signatures of version 2 (HMAC-SHA1) are accepted, for clients without version 4. Off by default.
    #[must_use]
    pub fn signature_v2(mut self, taken: bool) -> Self {
        self.signature_v2 = taken;
        self
    }

    /// Sets whether an object is compared with its stored checksum, once per version, when ranges of it or statements
    /// of S3 Select are answered. Objects up to 8 MiB are read for that before the answer, larger ones meanwhile. On
    /// by default. A GET of a whole object always compares it.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Writes a line for each request when its answer begins. It is in the combined log format with the access key's
    /// ID as the user, followed by the microseconds until the answer began. Signatures of presigned URLs are left
    /// out. Requests wait for `out`, so it should be fast.
    #[must_use]
    pub fn access_log(mut self, out: impl std::io::Write + Send + 'static) -> Self {
        self.access_log = Some(AccessLog::new(out));
        self
    }

    /// Sets the limits of clients; see [`Limits`] for the defaults.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the bytes per second that may pass over all connections together, both directions counted. `None`, the
    /// default, is unlimited.
    #[must_use]
    pub fn link_rate(mut self, bytes_per_second: Option<u64>) -> Self {
        self.link_rate = bytes_per_second;
        self
    }

    /// Sets a delay before each request is processed; none by default.
    #[must_use]
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Sets the faults to inject; none by default.
    #[must_use]
    pub fn faults(mut self, faults: Arc<Faults>) -> Self {
        self.faults = faults;
        self
    }

    /// Sets whether the store supports S3 Select. Without it, the server behaves like most other stores: it answers a
    /// statement with 501 `NotImplemented`, answers a GET of several ranges with the whole object, and does not name
    /// itself. On by default.
    #[must_use]
    pub fn select(mut self, select: bool) -> Self {
        self.select = select;
        self
    }

    /// Sets the number of statements that are evaluated at the same time, at least 1. Four times as many may wait;
    /// more are answered with 503 `Busy`. 64 by default.
    #[must_use]
    pub fn select_slots(mut self, slots: usize) -> Self {
        self.select_slots = slots.max(1);
        self
    }

    /// Limits the groups that a statement with GROUP BY keeps in memory. With more groups, some come in several rows.
    /// The default is 65 536, or fewer if there are many aggregates.
    #[must_use]
    pub fn max_groups(mut self, groups: usize) -> Self {
        self.max_groups = Some(groups);
        self
    }

    /// Sets whether a statement over an object with an index reads only the records that the index leads to, where
    /// that gives the same answer. On by default.
    #[must_use]
    pub fn indexes(mut self, indexes: bool) -> Self {
        self.indexes = indexes;
        self
    }

    /// Sets whether writes are forced to disk before they are confirmed. Objects with their metadata and names,
    /// removals, and multipart uploads then survive a power failure. On by default; off is for data that can be
    /// generated again. Without it a power failure may lose objects, or leave them incomplete; the end of the process
    /// never does.
    #[must_use]
    pub fn sync_writes(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    /// Sets the age at which multipart uploads are removed. `None` keeps them until they are completed or aborted. 7
    /// days by default.
    #[must_use]
    pub fn upload_expiry(mut self, age: Option<Duration>) -> Self {
        self.upload_expiry = age;
        self
    }

    /// Starts the server on the current tokio runtime.
    ///
    /// # Errors
    /// If the address cannot be listened on, or the folder is missing, not writable, or served by
    /// another server already.
    pub async fn start(self) -> Result<Server, Error> {
        let credentials = match self.access {
            Access::Anonymous => None,
            Access::Given(credentials) => Some(credentials),
            Access::Random => Some(Credentials::random()?),
        };
        let store = Arc::new(Store::open(&self.folder, self.sync)?);
        let address = self.listen;
        let listener = TcpListener::bind(address).await.map_err(|source| match source.kind() {
            ErrorKind::AddrInUse => Error::AddressInUse { address },
            _ => Error::Listen { address, source },
        })?;
        let address = listener.local_addr().map_err(|source| Error::Listen { address, source })?;

        let counters = Arc::new(Counters::default());
        let link = Arc::new(Link::new(Arc::clone(&counters), self.link_rate));
        let expiring = Arc::clone(&store);
        let limits = self.limits;
        let uploads = Arc::new(Semaphore::new(limits.uploads.clamp(1, Semaphore::MAX_PERMITS)));
        let (integrity, jobs) = Integrity::new(self.verify);
        let integrity = Arc::new(integrity);
        let api = Api {
            store: Arc::clone(&store),
            counters: Arc::clone(&counters),
            faults: Arc::clone(&self.faults),
            limits: limits.clone(),
            integrity: Arc::clone(&integrity),
            uploads,
        };
        let mut service = S3ServiceBuilder::new(api.clone());
        if let Some(credentials) = credentials.clone() {
            service.set_auth(credentials);
        }
        let anonymous = credentials.is_none();
        let documents = Documents::new(limits.client_timeout);
        let settings = select::Settings {
            slots: self.select_slots,
            max_groups: self.max_groups,
            indexes: self.indexes,
        };
        let select =
            self.select.then(|| SelectRoute::new(api.clone(), documents.clone(), settings));
        service.set_route(Routes::new(api, anonymous, select, documents));
        let settings = front::Settings {
            latency: self.latency,
            anonymous,
            access_key: credentials.as_ref().map(|credentials| credentials.access_key.clone()),
            signature_v2: self.signature_v2,
            hosts: Hosts::new(&self.hosts),
            store,
            named: self.select,
            link: Arc::clone(&link),
            limits,
            access_log: self.access_log,
        };
        let front = Front::new(service.build(), settings);
        let (stop, stopped) = watch::channel(false);
        let mut task = JoinSet::new();
        if let Some(age) = self.upload_expiry {
            task.spawn(expire(expiring, age, stopped.clone()));
        }
        task.spawn(integrity::run(integrity, jobs, stopped.clone()));
        task.spawn(give_back(Arc::clone(&counters), memory::INTERVAL, stopped.clone()));
        task.spawn(accept(listener, front, Arc::clone(&link), stopped));
        tracing::info!(%address, "serving");
        Ok(Server { address, credentials, counters, faults: self.faults, link, stop, task })
    }
}

impl Server {
    /// Returns the default configuration of a server over an existing folder.
    #[must_use]
    pub fn builder(folder: impl Into<PathBuf>) -> Builder {
        Builder {
            folder: folder.into(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            access: Access::Random,
            link_rate: None,
            latency: Duration::ZERO,
            faults: Arc::default(),
            select: true,
            select_slots: SELECT_SLOTS,
            max_groups: None,
            indexes: true,
            sync: true,
            upload_expiry: Some(UPLOAD_EXPIRY),
            hosts: Vec::new(),
            signature_v2: false,
            verify: true,
            limits: Limits::default(),
            access_log: None,
        }
    }

    /// Returns the server's URL for clients, such as `http://127.0.0.1:9000`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the access key; empty if the server is anonymous.
    #[must_use]
    pub fn access_key(&self) -> &str {
        self.credentials.as_ref().map_or("", |c| &c.access_key)
    }

    /// Returns the secret key; empty if the server is anonymous.
    #[must_use]
    pub fn secret_key(&self) -> &str {
        self.credentials.as_ref().map_or("", |c| &c.secret_key)
    }

    /// Returns the counts since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the faults to inject, which can be changed.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Changes the link's rate, in bytes per second; `None` is unlimited.
    pub fn set_link_rate(&self, bytes_per_second: Option<u64>) {
        self.link.set_rate(bytes_per_second);
    }

    /// Stops listening, gives running requests some seconds, then cuts them off.
    pub async fn shutdown(mut self) {
        // If there is no receiver, the task has already ended.
        let _ = self.stop.send(true);
        while self.task.join_next().await.is_some() {}
    }
}
