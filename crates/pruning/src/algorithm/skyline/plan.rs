//! The planner's sizes and scores for SKYLINE.

use std::fmt;

use super::{Config, Score};
use crate::switch::Program;
use crate::theory::{
    Arrays, Demand, Footprint, Limits, PlanError, Planning, narrow_values, positive, register,
};
use crate::{ConfigError, Ties};

/// The goal of planning SKYLINE OF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The number of dimensions.
    pub dimensions: u32,
    /// The width of a coordinate in bits.
    pub value_bits: u32,
}

/// `points` w of `dimensions` D.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of dimensions D.
    pub dimensions: u32,
    /// The number of stored points w.
    pub points: u32,
    /// The score that orders the points.
    pub score: Score,
    /// The width of a coordinate and of the score in bits.
    pub value_bits: u32,
}

impl Footprint for Size {
    fn demand(&self, limits: &Limits) -> Demand {
        let bits = register(self.value_bits);
        let (d, w) = (u64::from(self.dimensions), u64::from(self.points));
        let levels = u64::from(self.dimensions.max(1).next_power_of_two().ilog2());
        // The approximate product needs a table of 2^16 logarithms, and TCAM rules for the leading bit.
        let (own, table, tcam_entries) = match self.score {
            Score::Product => (2, (1 << 16) * 32, 64 * d),
            Score::Sum | Score::First => (0, 0, 0),
        };
        let arrays = Arrays::side_by_side(w * (d + 1), bits.into());
        let demand = arrays.demand(limits, bits, levels + 2 * w + own);
        Demand {
            // In table 2's sum, the adders of the score are plain ALUs.
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

    /// At most ten points, the paper's default, the most first. More points are not always better, because a lower
    /// score threshold replaces more.
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
