//! How many points SKYLINE is to keep, and by which score.

use std::fmt;

use super::{Config, Score};
use crate::switch::Program;
use crate::theory::{
    Arrays, Demand, Footprint, Limits, PlanError, Planning, narrow_values, positive, register,
};
use crate::{ConfigError, Ties};

/// SKYLINE OF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// Dimensions.
    pub dimensions: u32,
    /// Bits of a coordinate.
    pub value_bits: u32,
}

/// `points` w of `dimensions` D.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// D.
    pub dimensions: u32,
    /// w.
    pub points: u32,
    /// How a point is mapped to a score.
    pub score: Score,
    /// Bits of a coordinate and of the score.
    pub value_bits: u32,
}

impl Footprint for Size {
    fn demand(&self, limits: &Limits) -> Demand {
        let bits = register(self.value_bits);
        let (d, w) = (u64::from(self.dimensions), u64::from(self.points));
        let levels = u64::from(self.dimensions.max(1).next_power_of_two().ilog2());
        // The approximate product: a table of 2^16 logarithms, and TCAM rules for the leading bit.
        let (own, table, tcam_entries) = match self.score {
            Score::Product => (2, (1 << 16) * 32, 64 * d),
            Score::Sum | Score::First => (0, 0, 0),
        };
        let arrays = Arrays::side_by_side(w * (d + 1), bits.into());
        let demand = arrays.demand(limits, bits, levels + 2 * w + own);
        Demand {
            // The adders of the score are plain ALUs in table 2's sum.
            alus: demand.alus + (2 * levels).saturating_sub(1),
            sram_bits: demand.sram_bits + table,
            tcam_entries,
            stage_alus: d,
            stage_sram_bits: d * u64::from(bits),
            ..demand
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let score = match self.score {
            Score::Sum => "skyline-sum",
            Score::Product => "skyline-aph",
            Score::First => "skyline-baseline",
        };
        write!(f, "{score}, D = {}, w = {}", self.dimensions, self.points)
    }
}

impl Planning for Goal {
    type Size = Size;

    fn check(&self) -> Result<(), PlanError> {
        positive(&[self.dimensions.into(), self.value_bits.into()])
    }

    /// More points are not always better (a lower score threshold replaces more): ten, the paper's
    /// default, at most; the most first.
    fn candidates(&self, _: &Limits) -> Vec<Size> {
        let Self { dimensions, value_bits } = *self;
        let of = |points| {
            [Score::Product, Score::Sum].map(|score| Size { dimensions, points, score, value_bits })
        };
        (1..=10).rev().flat_map(of).collect()
    }

    fn program(&self, size: &Size) -> Result<Program, ConfigError> {
        narrow_values(size.value_bits)?;
        Ok(Config::new(size.dimensions, size.points, size.score, Ties::Keep)?.program())
    }
}
