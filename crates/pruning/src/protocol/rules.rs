//! What distinguishes the paper's protocol from the repaired one, part by part.

use serde::Serialize;

/// What the switch does with a packet that comes before its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Gap {
    /// Drops it and waits for the predecessor, as the paper does.
    Wait,
    /// Processes it; the predecessor will be forwarded unprocessed when it comes.
    Skip,
}

/// What the switch believes about a flow after a reboot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Recovery {
    /// That nothing was processed: the last sequence number is 0, as in registers after a reboot.
    Zero,
    /// That the first packet it sees is in turn.
    Adopt,
    /// Like [`Recovery::Adopt`], but packets carry the number of the boot for which they were first
    /// sent, and those of another boot are forwarded unprocessed.
    Epoch,
}

/// What happens to a pass during which the switch lost its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum OnReboot {
    /// New entries are pruned again, from empty state. Sound if a verdict needs no more than
    /// entries that were forwarded *since* the reboot.
    Continue,
    /// The rest of the query is forwarded unprocessed. Sound unless what was dropped is in the switch.
    Forward,
    /// The query starts again with its first pass. Always sound, and prunes again.
    Restart,
}

/// A variant of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Rules {
    /// The master drops entries that it has already got, by flow and sequence number.
    pub deduplicate: bool,
    /// Packets out of turn.
    pub gap: Gap,
    /// The switch after a reboot.
    pub recovery: Recovery,
    /// Passes that may be replayed (a lookup, an idempotent insertion) process every copy of a
    /// packet, whatever its sequence number.
    pub replay: bool,
    /// Packets carry the number of their query, and what belongs to another one is ignored.
    pub query_numbers: bool,
    /// A worker that crashed has its entries forwarded unprocessed where a verdict may rest on a
    /// single epoch: it no longer knows for which it first sent them.
    pub forget_after_crash: bool,
    /// Overrides what the query says about lost state; only with [`Recovery::Epoch`].
    pub on_reboot: Option<OnReboot>,
}

impl Rules {
    /// The protocol as section 7.2 describes it.
    #[must_use]
    pub const fn paper() -> Self {
        Self {
            deduplicate: false,
            gap: Gap::Wait,
            recovery: Recovery::Zero,
            replay: false,
            query_numbers: false,
            forget_after_crash: false,
            on_reboot: None,
        }
    }

    /// The protocol with everything repaired that the paper leaves open.
    #[must_use]
    pub const fn repaired() -> Self {
        Self {
            deduplicate: true,
            gap: Gap::Skip,
            recovery: Recovery::Epoch,
            replay: true,
            query_numbers: true,
            forget_after_crash: true,
            on_reboot: None,
        }
    }
}
