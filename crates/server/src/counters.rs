//! Exact counts of the requests, bytes and connections of a server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! operations {
    ($($name:ident)*) => {
        /// The S3 operations that the server answers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Operation {
            $(
                #[doc = concat!("S3's `", stringify!($name), "`.")]
                $name,
            )*
        }

        impl Operation {
            /// All operations, in alphabetical order.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns S3's name of the operation.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

operations! {
    AbortMultipartUpload CompleteMultipartUpload CopyObject CreateBucket CreateMultipartUpload
    DeleteBucket DeleteObject DeleteObjects GetBucketAccelerateConfiguration GetBucketAcl GetBucketCors
    GetBucketEncryption GetBucketLifecycleConfiguration GetBucketLocation GetBucketLogging
    GetBucketNotificationConfiguration GetBucketOwnershipControls GetBucketPolicy GetBucketPolicyStatus
    GetBucketReplication GetBucketRequestPayment GetBucketTagging GetBucketVersioning GetBucketWebsite
    GetObject GetObjectAcl GetObjectAttributes GetObjectLockConfiguration GetObjectTagging
    GetPublicAccessBlock HeadBucket HeadObject ListBuckets ListMultipartUploads ListObjectVersions ListObjects ListObjectsV2 ListParts PutObject SelectObjectContent
    UploadPart UploadPartCopy
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Counts since the server started. Reading them costs nothing. Each count is exact, but two counts that are read one
/// after the other may be of different moments.
#[derive(Debug)]
pub struct Counters {
    requests: Vec<AtomicU64>,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    connections: AtomicU64,
    open_connections: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            requests: Operation::ALL.iter().map(|_| AtomicU64::new(0)).collect(),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            open_connections: AtomicU64::new(0),
        }
    }
}

impl Counters {
    /// Returns the number of requests of one kind that passed the signature check, including failed ones.
    #[must_use]
    pub fn requests(&self, operation: Operation) -> u64 {
        self.requests[operation as usize].load(Ordering::Relaxed)
    }

    /// Returns the bytes received over all sockets: heads, bodies and chunk framing.
    #[must_use]
    pub fn bytes_in(&self) -> u64 {
        self.bytes_in.load(Ordering::Relaxed)
    }

    /// Returns the bytes sent over all sockets: heads, bodies and chunk framing.
    #[must_use]
    pub fn bytes_out(&self) -> u64 {
        self.bytes_out.load(Ordering::Relaxed)
    }

    /// Returns the number of connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Returns the number of connections that are open now.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        self.open_connections.load(Ordering::Relaxed)
    }

    /// Returns all counts as plain data.
    #[must_use]
    pub fn snapshot(&self) -> Counts {
        Counts {
            requests: Operation::ALL
                .iter()
                .map(|op| (*op, self.requests(*op)))
                .filter(|(_, n)| *n > 0)
                .collect(),
            bytes_in: self.bytes_in(),
            bytes_out: self.bytes_out(),
        }
    }

    pub(crate) fn count(&self, operation: Operation) {
        self.requests[operation as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_in(&self, bytes: usize) {
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_out(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn uncount_out(&self, bytes: usize) {
        self.bytes_out.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a connection. It counts as open until the returned value is dropped.
    pub(crate) fn count_connection(self: &Arc<Self>) -> OpenConnection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.open_connections.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(self))
    }
}

/// A guard that counts a connection as open.
#[derive(Debug)]
pub(crate) struct OpenConnection(Arc<Counters>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open_connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A copy of the [`Counters`] at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests by kind, without kinds that have none.
    pub requests: BTreeMap<Operation, u64>,
    /// Bytes received over all sockets.
    pub bytes_in: u64,
    /// Bytes sent over all sockets.
    pub bytes_out: u64,
}

impl Counts {
    /// Returns the differences to an earlier snapshot.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |op| earlier.requests.get(op).copied().unwrap_or(0);
        Self {
            requests: self
                .requests
                .iter()
                .map(|(op, n)| (*op, n.saturating_sub(before(op))))
                .filter(|(_, n)| *n > 0)
                .collect(),
            bytes_in: self.bytes_in.saturating_sub(earlier.bytes_in),
            bytes_out: self.bytes_out.saturating_sub(earlier.bytes_out),
        }
    }
}
