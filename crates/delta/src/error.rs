//! Errors of reading a table's log.

use delta_kernel::KernelError;
use url::Url;

/// The result of reading a table's log.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a table's log could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no log at the location.
    #[error("there is no Delta table at {root}")]
    NoTable {
        /// The location.
        root: String,
    },
    /// The log has no such version, or no longer.
    #[error("the Delta table at {root} has no version {version}: {why}")]
    NoVersion {
        /// The location of the table.
        root: String,
        /// The version.
        version: u64,
        /// What the kernel says of it.
        why: String,
    },
    /// The table needs something that this reader lacks.
    #[error("the Delta table at {root} cannot be read here: {why}")]
    Unsupported {
        /// The location of the table.
        root: String,
        /// The feature that is missing.
        why: String,
    },
    /// The store failed.
    #[error("the log of a Delta table cannot be read: {0}")]
    Store(#[source] object_store::Error),
    /// The log is not as the protocol says.
    #[error("the log of the Delta table is damaged: {0}")]
    Damaged(String),
}

impl Error {
    /// Converts an error of the kernel about the table at `root`.
    pub(crate) fn of_kernel(error: KernelError, root: &Url, version: Option<u64>) -> Self {
        let root = root.to_string();
        match error {
            KernelError::Backtraced { source, .. } => match Url::parse(&root) {
                Ok(root) => Self::of_kernel(*source, &root, version),
                Err(_) => Self::Damaged(source.to_string()),
            },
            KernelError::ObjectStore(error) => Self::Store(error),
            KernelError::EmptyLog => Self::NoTable { root },
            KernelError::Unsupported(why) => Self::Unsupported { root, why },
            error => {
                let why = error.to_string();
                // The kernel has no error of its own for a log without a file.
                if why.contains("No files in log segment") {
                    return Self::NoTable { root };
                }
                match version {
                    Some(version)
                        if matches!(error, KernelError::MissingVersion(_))
                            || why.contains("version") =>
                    {
                        Self::NoVersion { root, version, why }
                    }
                    _ => Self::Damaged(why),
                }
            }
        }
    }
}
