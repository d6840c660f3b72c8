//! The plan of a switch for one operator.

use std::fmt;
use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;
use serde::{Deserialize, Serialize};
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::switch::{HEADER_BYTES, Placement};
use sluicegate_pruning::theory::distinct::confusion;

use super::words::Field;

/// Bytes of a frame around the packet: Ethernet, IPv4, UDP and the check sequence.
const FRAME_BYTES: usize = 14 + 20 + 8 + 4;
/// Bytes of the shortest Ethernet frame.
const SHORTEST_FRAME_BYTES: usize = 64;

/// An algorithm, the fields of its packets, and the resources that it needs. Plain data.
#[derive(Debug, Clone)]
pub struct SwitchPlan {
    /// Number of the program among those that share the query's switch, from 0. The two sides of a join are one
    /// program.
    pub program: usize,
    /// The configured algorithm.
    pub algorithm: Configured,
    /// Fields of a packet, in order.
    pub fields: Vec<Field>,
    /// Resources that the program needs of the target.
    pub resources: Resources,
    /// Upper bound of the probability of a wrong answer; 0 for deterministic algorithms.
    pub failure: f64,
    /// Number of forwarded rows after which the switch lets everything pass, because fingerprints would confuse more
    /// keys than δ allows. `None` means no limit.
    pub trusted_rows: Option<u64>,
    /// Number of packets after which a worker first checks whether pruning is worthwhile, and bypasses the program if
    /// it is not; 0 means never.
    pub patience: u64,
    /// True if packets that a switch without limits would forward are counted.
    pub count_optimum: bool,
}

/// Resources that a program needs of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Name of the target.
    pub target: String,
    /// Stages used, and stages of the target.
    pub stages: [usize; 2],
    /// Number of stateful ALUs.
    pub stateful_alus: usize,
    /// Register memory in bits.
    pub register_bits: u64,
    /// Number of SRAM blocks.
    pub sram_blocks: u64,
    /// Number of TCAM blocks.
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
    /// Returns the plan for keys that are fingerprints of 64 bits. After `most` of them are forwarded, everything
    /// passes. Only keys that share one of `rows` rows can be confused. `keys` is a proven upper bound of the number
    /// of keys; an estimate does not suffice.
    pub(crate) fn with_fingerprints(self, keys: Option<u64>, most: u64, rows: u64) -> Self {
        let failure = confusion(keys.map_or(most, |keys| most.min(keys)), rows, 64);
        Self { trusted_rows: Some(most), failure, ..self }
    }

    /// Returns the number of words of a packet's key; 0 if it has none.
    pub(crate) fn key_words(&self) -> usize {
        let words = |field: &Field| match field {
            Field::Key(key) => key.key_words(),
            Field::Order(_) | Field::Flags(_) | Field::Amount(_) => 0,
        };
        self.fields.first().map_or(0, words)
    }

    /// Returns the expressions that workers compute.
    pub(crate) fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.fields.iter().flat_map(Field::expressions).collect()
    }

    /// Describes the fields of a packet for EXPLAIN.
    pub(crate) fn fields_in_words(&self) -> String {
        let word = |field: &Field| match field {
            Field::Key(key) => key.to_string(),
            Field::Order(order) => order.to_string(),
            Field::Flags(flags) => flags.to_string(),
            Field::Amount(amount) => amount.to_string(),
        };
        self.fields.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// Returns the bytes of a packet on the wire with one entry per packet.
    pub(crate) fn packet_bytes(&self) -> usize {
        (FRAME_BYTES + HEADER_BYTES + 4 * self.words()).max(SHORTEST_FRAME_BYTES)
    }

    /// Returns the number of words in a packet.
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
