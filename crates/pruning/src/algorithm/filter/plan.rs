//! The planner's sizes for a filter.

use std::fmt;

use super::{Config, Formula};
use crate::ConfigError;
use crate::switch::{Program, Relation};
use crate::theory::{Arrays, Demand, Footprint, Limits, PlanError, Planning, positive};

/// The goal of planning WHERE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The number of comparisons on the switch.
    pub predicates: u32,
}

/// Comparisons and a truth table of their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of comparisons on the switch.
    pub predicates: u32,
}

impl Footprint for Size {
    fn demand(&self, limits: &Limits) -> Demand {
        let arrays = Arrays::side_by_side(self.predicates.into(), 32);
        arrays.demand(limits, 32, arrays.stages(limits) + 1)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filter, {} comparisons", self.predicates)
    }
}

impl Planning for Goal {
    type Size = Size;

    fn check(&self) -> Result<(), PlanError> {
        positive(&[self.predicates.into()])
    }

    fn candidates(&self, _: &Limits) -> Vec<Size> {
        vec![Size { predicates: self.predicates }]
    }

    /// The formula has no effect on the resources, so this one compares every value with 1 000 000.
    fn program(&self, size: &Size) -> Result<Program, ConfigError> {
        let values = u8::try_from(size.predicates).unwrap_or(u8::MAX);
        let compare = |value| Formula::compare(value, Relation::Gt, 1_000_000);
        let all = Formula::And((0..values).map(compare).collect());
        Ok(Config::new(&all, values, None)?.program())
    }
}
