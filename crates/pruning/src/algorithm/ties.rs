//! What an algorithm does with an entry that equals a stored one.

use serde::{Deserialize, Serialize};

/// Whether equal codes may be pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ties {
    /// An entry whose code equals the stored one is forwarded. Right for any order-preserving
    /// encoding, also one that conflates values.
    Keep,
    /// It is pruned. Right only if equal codes mean equal values and the query may return any of
    /// several equal values.
    Prune,
}
