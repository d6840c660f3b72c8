//! Errors of starting and stopping a server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The reason why a server could not start or stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another program listens on the address.
    #[error(
        "{address} is in use by another program; listen on another port, or on port 0 for any free one"
    )]
    AddressInUse {
        /// The address that was requested.
        address: SocketAddr,
    },
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address that was requested.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The folder does not exist.
    #[error("the folder {} does not exist; create it first", path.display())]
    FolderMissing {
        /// The path of the folder.
        path: PathBuf,
    },
    /// The path exists but is not a folder.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path that was requested.
        path: PathBuf,
    },
    /// The folder cannot be written to.
    #[error("cannot write to the folder {}", path.display())]
    NotWritable {
        /// The folder, or the part of it that failed.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The objects cannot be listed.
    #[error("cannot read the folder {}", path.display())]
    NotReadable {
        /// The path of the folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file system would store different keys as one file.
    #[error(
        "the folder {} is on a file system that takes different names for one, such as `a` and `A`; \
         objects would overwrite each other, so serve a folder on another file system",
        path.display()
    )]
    NamesMerge {
        /// The path of the folder.
        path: PathBuf,
    },
    /// Another server serves the folder. Two servers would not see each other's locks.
    #[error("another server already serves the folder {}", path.display())]
    FolderInUse {
        /// The path of the folder.
        path: PathBuf,
    },
    /// The operating system returned no random bytes for credentials.
    #[error("the system has no random bytes for credentials; pass a key pair")]
    NoRandomness,
}
