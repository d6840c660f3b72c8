//! The result of a simulation run.

use std::fmt;

use serde::Serialize;

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Outcome {
    /// The answer was that over all rows.
    Correct,
    /// The answer was another one.
    Wrong,
    /// The run did not end: nothing made progress.
    Stuck,
}

/// The counts of a run. Packets are entries, unless stated otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The end of the run.
    pub outcome: Outcome,
    /// Ticks until the master had the answer, or until the run was given up.
    pub ticks: u64,
    /// The number of rows of all workers.
    pub rows: u64,
    /// Packets sent by workers, retransmissions included.
    pub sent: u64,
    /// Retransmissions among the packets sent.
    pub retransmitted: u64,
    /// Packets of any kind lost on links or in a switch that was down.
    pub lost: u64,
    /// Packets of any kind lost because the master's queue was full.
    pub overflowed: u64,
    /// Packets of any kind duplicated on links.
    pub duplicated: u64,
    /// Packets dropped by the switch because it was not their turn.
    pub out_of_turn: u64,
    /// Packets pruned by the switch.
    pub pruned: u64,
    /// Packets forwarded by the switch without processing.
    pub unprocessed: u64,
    /// Packets taken by the master into the query, those of abandoned attempts included.
    pub delivered: u64,
    /// Packets that arrived at the master without effect.
    pub repeated: u64,
    /// The number of reboots of the switch.
    pub reboots: u64,
    /// The number of times that the query began again.
    pub restarts: u64,
}

impl Report {
    /// Returns the entries sent per row, all passes together; 1 is the least for a query of one pass.
    #[must_use]
    pub fn sends_per_row(&self) -> f64 {
        self.sent as f64 / self.rows.max(1) as f64
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Correct => "correct answer",
            Outcome::Wrong => "WRONG ANSWER",
            Outcome::Stuck => "STUCK",
        };
        writeln!(f, "{outcome} after {} ticks", self.ticks)?;
        let lines = [
            ("rows", self.rows),
            ("entries sent", self.sent),
            ("entries retransmitted", self.retransmitted),
            ("entries pruned", self.pruned),
            ("entries forwarded unprocessed", self.unprocessed),
            ("entries dropped out of turn", self.out_of_turn),
            ("entries delivered", self.delivered),
            ("entries delivered in vain", self.repeated),
            ("packets lost", self.lost),
            ("packets that found no room", self.overflowed),
            ("packets duplicated", self.duplicated),
            ("reboots", self.reboots),
            ("restarts", self.restarts),
        ];
        lines.iter().try_for_each(|(name, count)| writeln!(f, "{name:<30} {count:>8}"))
    }
}
