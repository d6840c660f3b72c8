//! The planner's sizes for GROUP BY with MAX or MIN.

use std::fmt;

use super::{Config, Extreme};
use crate::switch::Program;
use crate::theory::{
    Arrays, Demand, Footprint, Limits, PlanError, Planning, ROWS, group_by, narrow, positive,
    register,
};
use crate::{ConfigError, Ties};

/// The goal of planning GROUP BY with MAX or MIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The number of rows in all.
    pub entries: u64,
    /// The number of groups, or a bound on it.
    pub keys: u64,
    /// The bits of key and value together.
    pub pair_bits: u32,
}

/// `tables` w of `rows` d pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of rows d of a table.
    pub rows: u64,
    /// The number of tables w.
    pub tables: u64,
    /// The bits of key and value together.
    pub pair_bits: u32,
}

impl Footprint for Size {
    fn demand(&self, limits: &Limits) -> Demand {
        let bits = register(self.pair_bits);
        Arrays::chained(self.tables, self.rows * u64::from(bits)).demand(limits, bits, self.tables)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group-by, d = {}, w = {}", self.rows, self.tables)
    }
}

impl Planning for Goal {
    type Size = Size;

    fn check(&self) -> Result<(), PlanError> {
        positive(&[self.entries, self.keys, self.pair_bits.into()])
    }

    fn candidates(&self, limits: &Limits) -> Vec<Size> {
        let pair_bits = self.pair_bits;
        let of = |rows| (1..=limits.columns()).map(move |tables| Size { rows, tables, pair_bits });
        ROWS.map(|bits| 1 << bits).flat_map(of).collect()
    }

    fn pruned(&self, size: &Size) -> Option<f64> {
        Some(group_by::pruned_bound(self.entries, self.keys, size.rows, size.tables))
    }

    fn program(&self, size: &Size) -> Result<Program, ConfigError> {
        if size.pair_bits > 64 {
            return Err(ConfigError::Conflict("key and value have at most 64 bits"));
        }
        let (rows, tables) = (narrow(size.rows), narrow(size.tables));
        Ok(Config::new(rows, tables, Extreme::Max, Ties::Keep, false)?.program())
    }
}
