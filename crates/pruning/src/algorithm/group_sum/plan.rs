//! The planner's sizes for GROUP BY with SUM or COUNT.

use std::fmt;

use super::Config;
use crate::ConfigError;
use crate::switch::Program;
use crate::theory::{
    Arrays, Demand, Footprint, Limits, PlanError, Planning, ROWS, narrow, narrow_values, positive,
};

/// The goal of planning GROUP BY with SUM or COUNT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The number of rows in all.
    pub entries: u64,
    /// The number of groups, or a bound on it.
    pub keys: u64,
    /// The width of the key or of a value, whichever is greater, in bits.
    pub word_bits: u32,
    /// The number of values of an entry that are summed.
    pub sums: u64,
}

/// `tables` w of `rows` d groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of rows d of a table.
    pub rows: u64,
    /// The number of tables w.
    pub tables: u64,
    /// The width of the key or of a value, whichever is greater, in bits.
    pub word_bits: u32,
    /// The number of values of an entry that are summed.
    pub sums: u64,
}

impl Size {
    /// Returns the share of `keys` groups that have a cell, if early and late groups are alike. A table of d cells
    /// that n keys reach has d · (1 − (1 − 1/d)ⁿ) full cells; the other keys go on to the next table.
    #[must_use]
    pub fn held(&self, keys: u64) -> f64 {
        let (cells, mut left) = (self.rows as f64, keys as f64);
        for _ in 0..self.tables {
            let full = cells * -(left * (-1.0 / cells).ln_1p()).exp_m1();
            left = (left - full).max(0.0);
        }
        if keys == 0 { 1.0 } else { 1.0 - left / keys as f64 }
    }
}

impl Footprint for Size {
    /// Table 2 does not have this algorithm. It is counted like GROUP BY, with a register for the key and two for
    /// each sum.
    fn demand(&self, limits: &Limits) -> Demand {
        let arrays = Arrays::side_by_side((1 + 2 * self.sums) * self.tables, self.rows * 32);
        // Arrays without room in their stage go into a later one.
        let stages = arrays.stages(limits).max(self.tables + 2);
        let demand = arrays.demand(limits, self.word_bits.max(32), stages);
        // The fullest stage holds keys of a table, low halves of another and high halves of a third.
        let together = match self.tables {
            1 => self.sums,
            2 => 1 + self.sums,
            _ => 1 + 2 * self.sums,
        };
        let together = together.min(demand.stage_alus);
        Demand { stage_alus: together, stage_sram_bits: together * demand.array_bits, ..demand }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group-sum, d = {}, w = {}", self.rows, self.tables)?;
        if self.sums > 1 { write!(f, ", {} sums", self.sums) } else { Ok(()) }
    }
}

impl Planning for Goal {
    type Size = Size;

    fn check(&self) -> Result<(), PlanError> {
        positive(&[self.entries, self.keys, self.word_bits.into(), self.sums])
    }

    fn candidates(&self, limits: &Limits) -> Vec<Size> {
        let Self { word_bits, sums, .. } = *self;
        let of = |rows| {
            (1..=limits.columns().min(16)).map(move |tables| Size { rows, tables, word_bits, sums })
        };
        ROWS.map(|bits| 1 << bits).flat_map(of).collect()
    }

    /// Returns the share of pruned entries: all entries of groups with a cell, except one for each cell that is read.
    fn pruned(&self, size: &Size) -> Option<f64> {
        let (entries, keys) = (self.entries as f64, self.keys as f64);
        let held = size.held(self.keys);
        Some((held * (1.0 - keys / entries)).max(0.0))
    }

    fn program(&self, size: &Size) -> Result<Program, ConfigError> {
        narrow_values(size.word_bits)?;
        let config = Config::new(narrow(size.rows), narrow(size.tables))?;
        Ok(config.with_sums(narrow(size.sums))?.program())
    }
}
