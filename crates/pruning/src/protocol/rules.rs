//! The differences between the paper's protocol and the repaired one, as options.

use serde::Serialize;

/// The switch's treatment of a packet that comes before its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Gap {
    /// The switch drops the packet and waits for the predecessor, as in the paper.
    Wait,
    /// The switch processes the packet, and forwards the predecessor unprocessed when it comes.
    Skip,
}

/// The switch's state of a flow after a reboot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Recovery {
    /// The last sequence number is 0, as in empty registers, as if nothing was processed.
    Zero,
    /// The first packet after the reboot is taken as the next in turn.
    Adopt,
    /// Like [`Recovery::Adopt`], but packets carry the number of the boot for which they were first
    /// sent, and those of another boot are forwarded unprocessed.
    Epoch,
}

/// The treatment of a pass during which the switch lost its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum OnReboot {
    /// New entries are pruned again, from empty state. This is sound if a verdict depends only on entries that were
    /// forwarded *since* the reboot.
    Continue,
    /// The rest of the query is forwarded unprocessed. This is sound unless the switch holds dropped entries as sums.
    Forward,
    /// The query starts again with its first pass. This is always sound, and prunes again.
    Restart,
}

/// A variant of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Rules {
    /// True if the master drops entries that it has already received, by flow and sequence number.
    pub deduplicate: bool,
    /// The treatment of packets out of turn.
    pub gap: Gap,
    /// The state of the switch after a reboot.
    pub recovery: Recovery,
    /// True if passes that may be replayed (a lookup, an idempotent insertion) process every copy of a packet,
    /// whatever its sequence number.
    pub replay: bool,
    /// True if packets carry the number of their query, and packets of another query are ignored.
    pub query_numbers: bool,
    /// True if the entries of a crashed worker are forwarded unprocessed where a verdict may depend on a single
    /// epoch. The worker has lost the epochs for which it first sent them.
    pub forget_after_crash: bool,
    /// Overrides the query's rule about lost state; only with [`Recovery::Epoch`].
    pub on_reboot: Option<OnReboot>,
}

impl Rules {
    /// Returns the protocol as section 7.2 describes it.
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

    /// Returns the protocol with repairs for everything that the paper leaves open.
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
