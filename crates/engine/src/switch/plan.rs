//! What a switch does for one operator of a plan.

use std::fmt;
use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;
use sluicegate_pruning::switch::{HEADER_BYTES, Placement};

use super::algorithm::Algorithm;
use super::optimum::Optimum;
use super::words::Field;

/// Bytes of a frame around the packet: Ethernet, IPv4, UDP, and the check sequence.
const FRAME_BYTES: usize = 14 + 20 + 8 + 4;
/// The shortest frame of Ethernet.
const SHORTEST_FRAME_BYTES: usize = 64;

/// An algorithm, what its packets hold, and what it takes of the switch. Plain data.
#[derive(Debug, Clone)]
pub struct SwitchPlan {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What a packet holds.
    pub fields: Vec<Field>,
    /// What it takes of the target.
    pub resources: Resources,
    /// The probability, at most, of a wrong answer; 0 for deterministic algorithms.
    pub failure: f64,
    /// After forwarding so many rows the switch lets everything pass, because fingerprints would
    /// confuse more keys than δ allows.
    pub trusted_rows: Option<u64>,
    /// How many packets a worker waits for one to be pruned before it sends past the program; 0:
    /// for ever.
    pub patience: u64,
    /// What a switch without limits would compute, if the packets are to be counted that it would
    /// forward.
    pub optimum: Option<Optimum>,
}

/// What a program takes of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The expressions that workers compute.
    pub(crate) fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        let of = |field: &Field| match field {
            Field::Key(key) => key.columns().to_vec(),
            Field::Order(order) => vec![Arc::clone(order.column())],
            Field::Flags(flags) => flags.columns(),
            Field::Amount(amount) => vec![Arc::clone(amount.column())],
        };
        self.fields.iter().flat_map(of).collect()
    }

    /// Bytes of a packet on the wire, one entry each.
    pub(crate) fn packet_bytes(&self) -> usize {
        let values: usize = self.fields.iter().map(Field::words).sum();
        (FRAME_BYTES + HEADER_BYTES + 4 * values).max(SHORTEST_FRAME_BYTES)
    }
}

impl fmt::Display for SwitchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on [", self.algorithm)?;
        for (number, field) in self.fields.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            match field {
                Field::Key(key) => write!(f, "{comma}{key}")?,
                Field::Order(order) => write!(f, "{comma}{order}")?,
                Field::Flags(flags) => write!(f, "{comma}{flags}")?,
                Field::Amount(amount) => write!(f, "{comma}{amount}")?,
            }
        }
        let r = &self.resources;
        write!(
            f,
            "], target={}, stages={}/{}, stateful_alus={}, registers={} KiB, sram_blocks={}, tcam_blocks={}",
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
