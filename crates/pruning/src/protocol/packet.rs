//! The packets between workers, switch and master.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::algorithm::catalog::PacketContents;

/// A row of the query, with the columns that the switch uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The number of the pass in which it is sent, from 0.
    pub pass: u8,
    /// The joined table that it belongs to, 0 or 1.
    pub table: u8,
    /// The key to make distinct, group by or join on; the first coordinate of a point.
    pub key: u64,
    /// The value to order by or aggregate; the second coordinate of a point.
    pub value: u64,
}

impl Entry {
    /// Creates the entries of a table from the columns of words that its packets carry, keys before values. A key of
    /// two words has its high half first.
    #[must_use]
    pub fn rows(carries: PacketContents, table: u8, columns: &[Vec<u32>]) -> Vec<Self> {
        let length = columns.iter().map(Vec::len).min().unwrap_or(0);
        let keys = match carries {
            PacketContents::Coordinates => 1,
            other => other.key_words(columns.len()),
        };
        let (keys, values) = columns.split_at(keys.min(columns.len()));
        let word = |columns: &[Vec<u32>], at: usize| {
            columns.iter().fold(0, |number, column| number << 32 | u64::from(column[at]))
        };
        let row = |at| Self { pass: 0, table, key: word(keys, at), value: word(values, at) };
        (0..length).map(row).collect()
    }
}

/// The identity of an entry, which packets carry and acknowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The number of the query, as the master issued it.
    pub query: u16,
    /// The flow, which is the number of the worker.
    pub fid: u16,
    /// The number of the pass.
    pub pass: u8,
    /// The identifier in its flow and pass, which is also the sequence number; from 1.
    pub id: u32,
    /// The boot of the switch for which the entry was first sent. A retransmission keeps it.
    pub epoch: u32,
}

/// A packet of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Packet {
    /// An entry on its way to the master.
    Entry {
        /// The identity of the entry.
        name: Name,
        /// The entry's key and value.
        entry: Entry,
        /// The boot of the switch that it went through; 0 before the switch.
        stamp: u32,
    },
    /// All entries of this flow and pass are acknowledged.
    Fin {
        /// The number of the query.
        query: u16,
        /// The flow that is finished.
        fid: u16,
        /// The pass that is finished.
        pass: u8,
        /// The attempt: the boot in which the query (re)started.
        attempt: u32,
    },
    /// An entry has reached the master or was pruned.
    Ack {
        /// The identity of the entry.
        name: Name,
        /// The newest boot of the switch that the sender has seen.
        stamp: u32,
    },
    /// All workers have finished the previous pass.
    Go {
        /// The number of the query.
        query: u16,
        /// The flow of the receiver.
        fid: u16,
        /// The pass to begin, or the number of passes at the end of the query.
        pass: u8,
        /// The boot in which the query (re)started.
        attempt: u32,
        /// The keys of the requested entries, or none for all.
        keys: Option<Arc<BTreeSet<u64>>>,
    },
    /// The query begins again: the switch lost state that it needs.
    Restart {
        /// The number of the query.
        query: u16,
        /// The flow of the receiver.
        fid: u16,
        /// The boot in which the query restarts.
        attempt: u32,
    },
}

impl Packet {
    /// Returns the flow that it belongs to.
    #[must_use]
    pub const fn fid(&self) -> u16 {
        match self {
            Self::Entry { name, .. } | Self::Ack { name, .. } => name.fid,
            Self::Fin { fid, .. } | Self::Go { fid, .. } | Self::Restart { fid, .. } => *fid,
        }
    }

    /// Returns the number of the query that it belongs to.
    #[must_use]
    pub const fn query(&self) -> u16 {
        match self {
            Self::Entry { name, .. } | Self::Ack { name, .. } => name.query,
            Self::Fin { query, .. } | Self::Go { query, .. } | Self::Restart { query, .. } => {
                *query
            }
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { query, fid, pass, id, epoch } = self;
        write!(f, "{fid}.{id} (query {query}, pass {pass}, epoch {epoch})")
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry { name, entry, .. } => {
                write!(f, "entry {name} key {} value {}", entry.key, entry.value)
            }
            Self::Fin { fid, pass, .. } => write!(f, "FIN of flow {fid}, pass {pass}"),
            Self::Ack { name, .. } => write!(f, "ACK of {name}"),
            Self::Go { fid, pass, .. } => write!(f, "GO of flow {fid} to pass {pass}"),
            Self::Restart { fid, attempt, .. } => {
                write!(f, "RESTART of flow {fid} in epoch {attempt}")
            }
        }
    }
}
