//! Why a server does not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server could not start or stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is taken.
    #[error(
        "{address} is in use by another program; listen on another port, or on port 0 for any free one"
    )]
    AddressInUse {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The address cannot be listened on for another reason.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The folder does not exist.
    #[error("the folder {} does not exist; create it first", path.display())]
    FolderMissing {
        /// The folder asked for.
        path: PathBuf,
    },
    /// What is there is not a folder.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path asked for.
        path: PathBuf,
    },
    /// The folder cannot be written to.
    #[error("cannot write to the folder {}", path.display())]
    NotWritable {
        /// The folder, or the part of it that failed.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Objects could not be listed.
    #[error("cannot read the folder {}", path.display())]
    NotReadable {
        /// The folder asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Different keys would be one file.
    #[error(
        "the folder {} is on a file system that takes different names for one, such as `a` and `A`; \
         objects would overwrite each other, so serve a folder on another file system",
        path.display()
    )]
    NamesMerge {
        /// The folder asked for.
        path: PathBuf,
    },
    /// A second server on one folder would not see the first one's locks.
    #[error("another server already serves the folder {}", path.display())]
    FolderInUse {
        /// The folder asked for.
        path: PathBuf,
    },
    /// The system gave no random bytes to make credentials of.
    #[error("the system has no random bytes for credentials; pass a key pair")]
    NoRandomness,
}
