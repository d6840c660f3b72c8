//! The planner's sizes for HAVING SUM or COUNT.

use std::fmt;

use super::sum::{Aggregate, Config};
use crate::ConfigError;
use crate::switch::Program;
use crate::theory::{
    Arrays, Demand, Footprint, Limits, PlanError, Planning, ROWS, count_min, narrow, narrow_values,
    positive, register,
};

/// The goal of planning HAVING SUM or COUNT above a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The number of groups, or a bound on it.
    pub keys: u64,
    /// The width in bits of a sum that may reach the threshold.
    pub counter_bits: u32,
}

/// A Count-Min sketch of `rows` d × `counters` w.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of counters w in a row.
    pub counters: u64,
    /// The number of rows d.
    pub rows: u64,
    /// The width of a counter in bits.
    pub counter_bits: u32,
}

impl Footprint for Size {
    fn demand(&self, limits: &Limits) -> Demand {
        let bits = register(self.counter_bits);
        let arrays = Arrays::side_by_side(self.rows, self.counters * u64::from(bits));
        arrays.demand(limits, bits, arrays.stages(limits))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "having, w = {}, d = {}", self.counters, self.rows)
    }
}

impl Planning for Goal {
    type Size = Size;

    fn check(&self) -> Result<(), PlanError> {
        positive(&[self.keys, self.counter_bits.into()])
    }

    fn candidates(&self, _: &Limits) -> Vec<Size> {
        let counter_bits = self.counter_bits;
        let of = |counters| (1..=12).map(move |rows| Size { counters, rows, counter_bits });
        ROWS.map(|bits| 1 << bits).flat_map(of).collect()
    }

    fn pruned(&self, size: &Size) -> Option<f64> {
        Some(1.0 - count_min::collision(self.keys, size.counters, size.rows))
    }

    /// The threshold is 1 000 000; all thresholds need the same resources.
    fn program(&self, size: &Size) -> Result<Program, ConfigError> {
        narrow_values(size.counter_bits)?;
        let (rows, counters) = (narrow(size.rows), narrow(size.counters));
        Ok(Config::new(rows, counters, 1_000_000, Aggregate::Sum, false)?.program())
    }
}
