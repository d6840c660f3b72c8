//! The planner's sizes for DISTINCT.

use std::fmt;

use super::{Config, Policy, Width};
use crate::ConfigError;
use crate::switch::Program;
use crate::theory::{
    Arrays, Demand, Footprint, Limits, PlanError, Planning, ROWS, distinct, narrow, positive,
    probability, register,
};

/// The goal of planning DISTINCT.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The number of distinct keys, or a bound on it.
    pub distinct: u64,
    /// The width of the key in bits; keys wider than a register are sent as fingerprints.
    pub key_bits: u32,
    /// The allowed probability of losing a key to its fingerprint; 0 forbids fingerprints.
    pub delta: f64,
}

/// A cache of `rows` d × `columns` w.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of rows d.
    pub rows: u64,
    /// The number of columns w.
    pub columns: u64,
    /// The width of a cell in bits: that of the key, or of its fingerprint.
    pub cell_bits: u32,
    /// True for least recently used replacement; false for first in, first out, in ALUs that share memory in one
    /// stage.
    pub lru: bool,
}

impl Footprint for Size {
    fn demand(&self, limits: &Limits) -> Demand {
        let bits = register(self.cell_bits);
        let cells = self.rows * u64::from(bits);
        if self.lru {
            return Arrays::chained(self.columns, cells).demand(limits, bits, self.columns);
        }
        let arrays = Arrays::side_by_side(self.columns, cells);
        arrays.demand(limits, bits, arrays.stages(limits))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, cell_bits, lru } = self;
        let policy = if *lru { "LRU" } else { "FIFO" };
        write!(f, "distinct {policy}, d = {rows}, w = {columns}, cells of {cell_bits} bits")
    }
}

impl Planning for Goal {
    type Size = Size;

    fn check(&self) -> Result<(), PlanError> {
        positive(&[self.distinct, self.key_bits.into()])?;
        probability(self.delta)
    }

    fn candidates(&self, limits: &Limits) -> Vec<Size> {
        let of = |rows: u64| {
            // A key that fits a register is stored itself, and nothing can go wrong.
            let cell_bits = if self.key_bits <= limits.register_bits || self.delta == 0.0 {
                self.key_bits
            } else {
                distinct::fingerprint_bits(self.distinct, rows, self.delta)
            };
            (1..=limits.columns()).map(move |columns| Size { rows, columns, cell_bits, lru: true })
        };
        ROWS.map(|bits| 1 << bits).flat_map(of).collect()
    }

    fn failure(&self, size: &Size) -> f64 {
        if size.cell_bits == self.key_bits {
            return 0.0;
        }
        distinct::confusion(self.distinct, size.rows, size.cell_bits)
    }

    fn pruned(&self, size: &Size) -> Option<f64> {
        Some(distinct::expected_hit_ratio(self.distinct, size.rows, size.columns))
    }

    fn program(&self, size: &Size) -> Result<Program, ConfigError> {
        let width = match size.cell_bits {
            0..=32 => Width::Bits32,
            33..=64 => Width::Bits64,
            _ => return Err(ConfigError::Conflict("keys have at most 64 bits")),
        };
        let policy = if size.lru { Policy::Lru } else { Policy::Fifo };
        let config = Config::new(narrow(size.rows), narrow(size.columns), width, policy)?;
        // With fingerprints the key is hashed twice: the theorem assumes rows that are independent of them.
        let fingerprints = size.cell_bits < self.key_bits;
        Ok(if fingerprints { config.with_row_value() } else { config }.program())
    }
}
