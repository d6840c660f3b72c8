//! The limits of a target of the switch model.

use super::resources::{Accounting, Limits};
use crate::switch::Target;

impl Limits {
    /// What `target` has, for the planner; stages are counted by `accounting`.
    ///
    /// # Example
    /// ```
    /// use sluicegate_pruning::switch::Target;
    /// use sluicegate_pruning::theory::{Accounting, Limits};
    /// let limits = Limits::of(&Target::tofino1(), Accounting::Compiled);
    /// assert_eq!(limits, Limits::tofino1());
    /// assert_eq!(Limits::of(&Target::tofino2(), Accounting::Compiled), Limits::tofino2());
    /// ```
    #[must_use]
    pub fn of(target: &Target, accounting: Accounting) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let block_bits = target.sram_block_bits;
        let tcam_entries = target.tcam_blocks.saturating_mul(target.tcam_block_entries);
        Self {
            stages: number(target.stages),
            alus_per_stage: number(target.stateful_alus),
            // Every block of a register array takes a map RAM, too.
            sram_bits_per_stage: target.sram_blocks.min(target.map_rams).saturating_mul(block_bits),
            array_bits: target.register_blocks.saturating_mul(block_bits),
            register_bits: u32::try_from(target.cell_bits).unwrap_or(u32::MAX),
            tcam_entries: tcam_entries.saturating_mul(target.stages as u64),
            accounting,
        }
    }
}
