//! The resources that a configuration needs by the formulas of table 2 of the paper.
//!
//! The formulas leave out the stages that hash, that compare a register's output and that drop. They are a lower
//! bound, quick enough to try thousands of configurations. Only [`fit`](crate::switch::fit()) determines the
//! resources of a program.

use std::fmt;

use serde::Serialize;

use super::limits::Limits;
use super::plan::PlanError;

/// The size of an algorithm, whose resources table 2 counts.
pub trait Footprint: fmt::Debug + fmt::Display + Copy + PartialEq + Send + Sync + 'static {
    /// Returns the resources by table 2. `limits` determine how many arrays share a stage.
    ///
    /// # Example
    /// The defaults of table 2: 64 KiB for DISTINCT, 128 KiB for TOP N, 256 KiB for GROUP BY.
    /// ```
    /// use sluicegate_pruning::algorithm::{distinct, group_by, top_n};
    /// use sluicegate_pruning::theory::{Demand, Footprint, Limits};
    /// let need = |demand: Demand| (demand.stages, demand.alus, demand.sram_bits / 8 / 1024);
    /// let paper = Limits::paper();
    /// let lru = distinct::plan::Size { rows: 4096, columns: 2, cell_bits: 64, lru: true };
    /// assert_eq!(need(lru.demand(&paper)), (2, 2, 64));
    /// assert_eq!(need(distinct::plan::Size { lru: false, ..lru }.demand(&paper)), (1, 2, 64));
    /// let top_n = top_n::plan::Matrix { rows: 4096, columns: 4, value_bits: 64 };
    /// assert_eq!(need(top_n.demand(&paper)), (4, 4, 128));
    /// let group_by = group_by::plan::Size { rows: 4096, tables: 8, pair_bits: 64 };
    /// assert_eq!(need(group_by.demand(&paper)), (8, 8, 256));
    /// ```
    fn demand(&self, limits: &Limits) -> Demand;
}

/// Resources that a configuration needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// The number of pipeline stages.
    pub stages: u64,
    /// Stateful ALUs in all.
    pub alus: u64,
    /// Memory for registers and lookup tables, bits.
    pub sram_bits: u64,
    /// The number of ternary entries.
    pub tcam_entries: u64,
    /// ALUs in the fullest stage.
    pub stage_alus: u64,
    /// Register memory in the fullest stage, bits.
    pub stage_sram_bits: u64,
    /// The largest register array, bits.
    pub array_bits: u64,
    /// The widest register, bits.
    pub register_bits: u32,
}

/// Register arrays of equal size, in a chain (each in a later stage) or side by side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrays {
    count: u64,
    bits: u64,
    chained: bool,
}

impl Arrays {
    /// Creates `count` arrays of `bits` bits, each in a later stage than the one before.
    pub(crate) const fn chained(count: u64, bits: u64) -> Self {
        Self { count, bits, chained: true }
    }

    /// Creates `count` arrays of `bits` bits, as many in a stage as it holds.
    pub(crate) const fn side_by_side(count: u64, bits: u64) -> Self {
        Self { count, bits, chained: false }
    }

    /// Returns the number of arrays that fit side by side in one stage. It is at least one, so that a misfit shows as
    /// too much memory.
    fn per_stage(self, limits: &Limits) -> u64 {
        let by_memory = limits.sram_bits_per_stage / self.bits.max(1);
        by_memory.min(limits.alus_per_stage.into()).max(1)
    }

    /// Returns the number of stages that they fill, side by side.
    pub(crate) fn stages(self, limits: &Limits) -> u64 {
        self.count.div_ceil(self.per_stage(limits))
    }

    /// Cuts arrays that exceed the largest one into equal parts.
    pub(crate) fn split(self, limits: &Limits) -> Self {
        let parts = self.bits.div_ceil(limits.array_bits.min(limits.sram_bits_per_stage).max(1));
        Self { count: self.count * parts, bits: self.bits.div_ceil(parts.max(1)), ..self }
    }

    /// Returns the resources that they need, with registers of `register_bits` bits, in `stages` stages.
    pub(crate) fn demand(self, limits: &Limits, register_bits: u32, stages: u64) -> Demand {
        let in_a_stage = if self.chained { 1 } else { self.per_stage(limits).min(self.count) };
        Demand {
            stages,
            alus: self.count,
            sram_bits: self.count * self.bits,
            tcam_entries: 0,
            stage_alus: in_a_stage,
            stage_sram_bits: in_a_stage * self.bits,
            array_bits: self.bits,
            register_bits,
        }
    }
}

/// Returns the width of the register that holds `bits`: 8, 16, 32 or 64. Greater widths are returned unchanged and
/// will not fit.
pub(crate) fn register(bits: u32) -> u32 {
    [8, 16, 32, 64].into_iter().find(|&width| bits <= width).unwrap_or(bits)
}

impl Demand {
    /// Checks that the demand is within `limits`; the error names the first resource that is short.
    pub fn fits(&self, limits: &Limits) -> Result<(), PlanError> {
        let check = |what, needed: u64, available: u64| {
            if needed <= available {
                Ok(())
            } else {
                Err(PlanError::Exceeds { what, needed, available })
            }
        };
        check("bits in a register", self.register_bits.into(), limits.register_bits.into())?;
        check("bits in a register array", self.array_bits, limits.array_bits)?;
        check("stateful ALUs in a stage", self.stage_alus, limits.alus_per_stage.into())?;
        check(
            "bits of register memory in a stage",
            self.stage_sram_bits,
            limits.sram_bits_per_stage,
        )?;
        check("stages", self.stages, limits.stages.into())?;
        check("ternary entries", self.tcam_entries, limits.tcam_entries)?;
        check(
            "bits of memory",
            self.sram_bits,
            limits.sram_bits_per_stage * u64::from(limits.stages),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{group_by, having, join, skyline, top_n};

    const JOIN_BITS: u64 = 4 << 23;

    fn check(
        size: impl Footprint,
        limits: Limits,
        stages: u64,
        alus: u64,
        sram_bits: u64,
        tcam: u64,
    ) {
        let demand = size.demand(&limits);
        let found = (demand.stages, demand.alus, demand.sram_bits, demand.tcam_entries);
        assert_eq!(found, (stages, alus, sram_bits, tcam), "{size:?}");
    }

    #[test]
    fn table_2_at_its_defaults() {
        let paper = Limits::paper();
        let skyline =
            |score| skyline::plan::Size { dimensions: 2, points: 10, score, value_bits: 64 };
        check(skyline(skyline::Score::Sum), paper, 21, 31, 30 * 64, 0);
        check(skyline(skyline::Score::Product), paper, 23, 31, 30 * 64 + (32 << 16), 128);
        let cutoffs = top_n::plan::Cutoffs { thresholds: 4, value_bits: 64 };
        check(cutoffs, paper, 5, 5, 5 * 64, 0);
        let join = |filter| join::plan::Size { filter, bits: JOIN_BITS, hashes: 3 };
        let roomy = Limits { array_bits: JOIN_BITS, sram_bits_per_stage: JOIN_BITS, ..paper };
        check(join(join::plan::Filter::Bloom), roomy, 2, 3, JOIN_BITS.div_ceil(3) * 3, 0);
        let register = join(join::plan::Filter::RegisterBloom);
        check(register, roomy, 1, 1, JOIN_BITS + 41_664 * 64, 0);
        let having = having::plan::Size { counters: 1024, rows: 3, counter_bits: 64 };
        check(having, paper, 1, 3, 3 * 1024 * 64, 0);
    }

    #[test]
    fn misfits_are_named() {
        let misfit = |size: &dyn Fn(&Limits) -> Demand| {
            let tofino = Limits::tofino1();
            size(&tofino).fits(&tofino)
        };
        let wide = group_by::plan::Size { rows: 4096, tables: 1, pair_bits: 96 };
        assert_eq!(
            misfit(&|limits| wide.demand(limits)),
            Err(PlanError::Exceeds { what: "bits in a register", needed: 96, available: 64 })
        );
        let matrix = |rows, columns| top_n::plan::Matrix { rows, columns, value_bits: 32 };
        assert_eq!(
            misfit(&|limits| matrix(4096, 13).demand(limits)),
            Err(PlanError::Exceeds { what: "stages", needed: 13, available: 12 })
        );
        assert_eq!(misfit(&|limits| matrix(131_072, 1).demand(limits)), Ok(()));
        assert!(misfit(&|limits| matrix(147_456, 1).demand(limits)).is_err());
    }
}
