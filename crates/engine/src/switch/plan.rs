//! What a switch does for one operator of a plan.

use std::fmt;
use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;
use serde::{Deserialize, Serialize};
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::switch::{HEADER_BYTES, Placement};
use sluicegate_pruning::theory::distinct::confusion;

use super::words::Field;

/// Bytes of a frame around the packet: Ethernet, IPv4, UDP, and the check sequence.
const FRAME_BYTES: usize = 14 + 20 + 8 + 4;
/// The shortest frame of Ethernet.
const SHORTEST_FRAME_BYTES: usize = 64;

/// An algorithm, what its packets hold, and what it needs of the switch. Plain data.
#[derive(Debug, Clone)]
pub struct SwitchPlan {
    /// Which of the programs that share the query's switch it is, from 0. The two sides of a join
    /// are one program.
    pub program: usize,
    /// The algorithm.
    pub algorithm: Configured,
    /// What a packet holds.
    pub fields: Vec<Field>,
    /// What it needs of the target.
    pub resources: Resources,
    /// A bound on the probability of a wrong answer; 0 for deterministic algorithms.
    pub failure: f64,
    /// After forwarding this many rows the switch lets everything pass, because fingerprints would
    /// confuse more keys than δ allows. `None`: never.
    pub trusted_rows: Option<u64>,
    /// After how many packets a worker first checks whether pruning is worthwhile, and bypasses the
    /// program if it is not; 0: never.
    pub patience: u64,
    /// Whether to count how many packets a switch without limits would forward.
    pub count_optimum: bool,
}

/// What a program needs of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// The target.
    pub target: String,
    /// Stages, and how many there are.
    pub stages: [usize; 2],
    /// Stateful ALUs.
    pub stateful_alus: usize,
    /// Register memory, bits.
    pub register_bits: u64,
    /// SRAM blocks.
    pub sram_blocks: u64,
    /// TCAM blocks.
    pub tcam_blocks: u64,
}

impl Resources {
    pub(crate) fn new(placement: &Placement, stages: usize) -> Self {
        Self {
            target: placement.target.clone(),
            stages: [placement.stages.len(), stages],
            stateful_alus: placement.stateful_alus(),
            register_bits: placement.register_bits,
            sram_blocks: placement.sram_blocks(),
            tcam_blocks: placement.tcam_blocks(),
        }
    }
}

impl SwitchPlan {
    /// The same for keys that are fingerprints of 64 bits, `most` of which may be forwarded before
    /// everything passes; only keys of the same of `rows` rows can be confused. There are at most
    /// `keys`, if that is known: an estimate bounds nothing.
    pub(crate) fn with_fingerprints(self, keys: Option<u64>, most: u64, rows: u64) -> Self {
        let failure = confusion(keys.map_or(most, |keys| most.min(keys)), rows, 64);
        Self { trusted_rows: Some(most), failure, ..self }
    }

    /// Words of a packet's key; 0 if it has none.
    pub(crate) fn key_words(&self) -> usize {
        let words = |field: &Field| match field {
            Field::Key(key) => key.key_words(),
            Field::Order(_) | Field::Flags(_) | Field::Amount(_) => 0,
        };
        self.fields.first().map_or(0, words)
    }

    /// The expressions that workers compute.
    pub(crate) fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.fields.iter().flat_map(Field::expressions).collect()
    }

    /// What a packet holds, for EXPLAIN.
    pub(crate) fn fields_in_words(&self) -> String {
        let word = |field: &Field| match field {
            Field::Key(key) => key.to_string(),
            Field::Order(order) => order.to_string(),
            Field::Flags(flags) => flags.to_string(),
            Field::Amount(amount) => amount.to_string(),
        };
        self.fields.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// Bytes of a packet on the wire, one entry each.
    pub(crate) fn packet_bytes(&self) -> usize {
        (FRAME_BYTES + HEADER_BYTES + 4 * self.words()).max(SHORTEST_FRAME_BYTES)
    }

    /// Words that a packet holds.
    pub(crate) fn words(&self) -> usize {
        self.fields.iter().map(Field::words).sum()
    }
}

impl fmt::Display for SwitchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = &self.resources;
        write!(
            f,
            "{} on [{}], target={}, stages={}/{}, stateful_alus={}, registers={} KiB, sram_blocks={}, tcam_blocks={}",
            self.algorithm,
            self.fields_in_words(),
            r.target,
            r.stages[0],
            r.stages[1],
            r.stateful_alus,
            r.register_bits.div_ceil(8 * 1024),
            r.sram_blocks,
            r.tcam_blocks,
        )?;
        if self.failure > 0.0 { write!(f, ", failure<={:.1e}", self.failure) } else { Ok(()) }
    }
}
