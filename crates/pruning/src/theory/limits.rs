//! The switch resources that the planner considers.

use serde::Serialize;

use crate::switch::Target;

/// Resources of one pipe of a switch, as plain numbers. The models of real targets convert into this.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limits {
    /// The number of pipeline stages.
    pub stages: u32,
    /// Stateful ALUs per stage; every register array takes one.
    pub alus_per_stage: u32,
    /// Register memory per stage, bits.
    pub sram_bits_per_stage: u64,
    /// The largest single register array, bits.
    pub array_bits: u64,
    /// The widest register that one stateful ALU updates, bits; a pair of halves counts as one.
    pub register_bits: u32,
    /// Ternary entries in all.
    pub tcam_entries: u64,
}

impl Limits {
    /// Returns the widest switch that the paper mentions: 60 stages, ten comparisons per stage, 100 MB, 300 000 TCAM
    /// entries.
    pub const fn paper() -> Self {
        Self {
            stages: 60,
            alus_per_stage: 10,
            sram_bits_per_stage: 100_000_000 * 8 / 60,
            array_bits: 100_000_000 * 8 / 60,
            register_bits: 64,
            tcam_entries: 300_000,
        }
    }

    /// Returns one pipe of a Tofino 1: 12 stages of 4 stateful ALUs and 80 memory blocks of 16 KiB, 48 of them for
    /// registers. A register array has at most 32 blocks (2^17 registers of 32 bits).
    pub const fn tofino1() -> Self {
        const BLOCK_BITS: u64 = 1024 * 128;
        Self {
            stages: 12,
            alus_per_stage: 4,
            // Registers need map RAMs, of which there are 48 per stage.
            sram_bits_per_stage: 48 * BLOCK_BITS,
            array_bits: 32 * BLOCK_BITS,
            register_bits: 64,
            tcam_entries: 12 * 12_288,
        }
    }

    /// Returns one pipe of a Tofino 2: like Tofino 1, but with 20 stages.
    pub const fn tofino2() -> Self {
        Self { stages: 20, tcam_entries: 20 * 12_288, ..Self::tofino1() }
    }
}

impl Limits {
    /// Returns the resources of `target`, for the planner.
    ///
    /// # Example
    /// ```
    /// use sluicegate_pruning::switch::Target;
    /// use sluicegate_pruning::theory::Limits;
    /// let limits = Limits::from_target(&Target::tofino1());
    /// assert_eq!(limits, Limits::tofino1());
    /// assert_eq!(Limits::from_target(&Target::tofino2()), Limits::tofino2());
    /// ```
    #[must_use]
    pub fn from_target(target: &Target) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let block_bits = target.sram_block_bits;
        let tcam_entries = target.tcam_blocks.saturating_mul(target.tcam_block_entries);
        Self {
            stages: number(target.stages),
            alus_per_stage: number(target.stateful_alus),
            // Every block of a register array also takes a map RAM.
            sram_bits_per_stage: target.sram_blocks.min(target.map_rams).saturating_mul(block_bits),
            array_bits: target.register_blocks.saturating_mul(block_bits),
            register_bits: u32::try_from(target.cell_bits).unwrap_or(u32::MAX),
            tcam_entries: tcam_entries.saturating_mul(target.stages as u64),
        }
    }

    /// Returns the greatest number of columns to try, one to a stage.
    pub(crate) fn columns(&self) -> u64 {
        self.stages.min(MOST_COLUMNS).into()
    }
}

/// The greatest number of columns to try on any switch.
const MOST_COLUMNS: u32 = 256;
