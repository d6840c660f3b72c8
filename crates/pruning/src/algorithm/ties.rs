//! The treatment of entries that equal a stored one.

use serde::{Deserialize, Serialize};

/// The verdict on an entry whose code equals a stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ties {
    /// The entry is forwarded. This is right for any order-preserving encoding, including one that maps different
    /// values to one code.
    Keep,
    /// The entry is pruned. This is right only if equal codes mean equal values and the query may return any of
    /// several equal values.
    Prune,
}
