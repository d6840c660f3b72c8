//! The kinds of errors.

use serde::{Deserialize, Serialize};

/// The kind of failure, for callers that handle kinds differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not SQL.
    Syntax,
    /// The statement names something that does not exist, or its types do not match.
    Plan,
    /// An option, the endpoint or the region is wrong.
    Setting,
    /// The statement is right but not supported.
    Unsupported,
    /// A bucket or an object is missing.
    NotFound,
    /// The store refuses access.
    Access,
    /// The store cannot be reached, or keeps failing.
    Unavailable,
    /// An object was replaced while it was read; the query can be run again.
    Changed,
    /// A value or an object is unusable: it does not parse, overflows, divides by zero, or is damaged.
    Data,
    /// Memory or disk space ran out.
    Resources,
    /// A bug in the engine or in DataFusion.
    Internal,
    /// Any other failure.
    Other,
}
