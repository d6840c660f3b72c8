//! The planner's sizes for TOP N.

use std::fmt;

use super::{deterministic, randomized};
use crate::switch::Program;
use crate::theory::{
    Arrays, Demand, Footprint, Limits, PlanError, Planning, ROWS, narrow, narrow_values, positive,
    probability, register, top_n,
};
use crate::{ConfigError, Ties};

/// The greatest number of rows of TOP N; beyond it, the exact tail takes long to sum.
const MOST_WANTED: u64 = 1 << 32;

/// The goal of planning ORDER BY … LIMIT `n` that is never wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certain {
    /// The number of rows that the query returns.
    pub n: u64,
    /// The width of the sort key in bits.
    pub value_bits: u32,
}

/// The goal of planning ORDER BY … LIMIT `n` that is right with probability 1 − δ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probable {
    /// The number of rows that the query returns.
    pub n: u64,
    /// The number of rows in all, or an estimate. It changes the expected pruning, not the safety.
    pub entries: u64,
    /// The width of the sort key in bits.
    pub value_bits: u32,
    /// The allowed probability of a wrong answer.
    pub delta: f64,
}

/// Cutoffs that double, `thresholds` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutoffs {
    /// The number of cutoffs w, without the first, t0.
    pub thresholds: u32,
    /// The width of a value in bits.
    pub value_bits: u32,
}

/// A matrix that keeps the largest values of random rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// The number of rows d.
    pub rows: u64,
    /// The number of columns w.
    pub columns: u64,
    /// The width of a value in bits.
    pub value_bits: u32,
}

fn wanted(n: u64) -> Result<(), PlanError> {
    if n > MOST_WANTED {
        return Err(PlanError::Invalid("TOP N is planned for at most 2^32 rows"));
    }
    Ok(())
}

impl Footprint for Cutoffs {
    fn demand(&self, limits: &Limits) -> Demand {
        let (bits, count) = (register(self.value_bits), u64::from(self.thresholds) + 1);
        Arrays::chained(count, bits.into()).demand(limits, bits, count)
    }
}

impl fmt::Display for Cutoffs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "top-n-deterministic, w = {}", self.thresholds)
    }
}

impl Planning for Certain {
    type Size = Cutoffs;

    fn check(&self) -> Result<(), PlanError> {
        wanted(self.n)?;
        positive(&[self.n, self.value_bits.into()])
    }

    /// The candidates come with the most thresholds first.
    fn candidates(&self, limits: &Limits) -> Vec<Cutoffs> {
        let value_bits = self.value_bits;
        // Beyond value_bits - 1 doublings every threshold is past the largest value.
        let most = limits
            .stages
            .saturating_mul(limits.alus_per_stage)
            .clamp(1, value_bits.clamp(2, 64) - 1);
        (0..=most).rev().map(|thresholds| Cutoffs { thresholds, value_bits }).collect()
    }

    fn program(&self, size: &Cutoffs) -> Result<Program, ConfigError> {
        narrow_values(size.value_bits)?;
        Ok(deterministic::Config::new(narrow(self.n), size.thresholds)?.program())
    }
}

impl Footprint for Matrix {
    fn demand(&self, limits: &Limits) -> Demand {
        let bits = register(self.value_bits);
        let arrays = Arrays::chained(self.columns, self.rows * u64::from(bits));
        arrays.demand(limits, bits, self.columns)
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "top-n-randomized, d = {}, w = {}", self.rows, self.columns)
    }
}

impl Planning for Probable {
    type Size = Matrix;

    fn check(&self) -> Result<(), PlanError> {
        wanted(self.n)?;
        positive(&[self.n, self.entries, self.value_bits.into()])?;
        probability(self.delta)
    }

    fn candidates(&self, _: &Limits) -> Vec<Matrix> {
        let of = |rows| {
            let columns = top_n::exact_width(self.n, rows, self.delta).max(1);
            Matrix { rows, columns, value_bits: self.value_bits }
        };
        ROWS.map(|bits| of(1 << bits)).collect()
    }

    fn failure(&self, size: &Matrix) -> f64 {
        top_n::failure(self.n, top_n::Shape { rows: size.rows, columns: size.columns })
    }

    fn pruned(&self, size: &Matrix) -> Option<f64> {
        let shape = top_n::Shape { rows: size.rows, columns: size.columns };
        Some(top_n::expected_pruned(self.entries, shape))
    }

    fn program(&self, size: &Matrix) -> Result<Program, ConfigError> {
        narrow_values(size.value_bits)?;
        let (rows, columns) = (narrow(size.rows), narrow(size.columns));
        Ok(randomized::Config::new(rows, columns, Ties::Keep, 0)?.program())
    }
}
