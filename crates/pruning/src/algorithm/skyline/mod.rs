//! `SKYLINE OF x, y, …`: drop a point that another dominates (paper §4.4, appendix D).
//!
//! Greater is better in every dimension; complement a dimension to reverse it. The switch keeps the `points` points
//! with the greatest scores, descending. A new point goes down the list. Where its score is greater it takes the
//! place, and the rest moves down without further comparison; until then it is marked if the stored point dominates
//! it. Marked points that found no place are dropped. The score only chooses which points are kept; the coordinates
//! decide which are dropped. The algorithm is therefore deterministic for any score.
//!
//! # Scores
//!
//! [`Score::Sum`] favours the dimension with the greatest numbers. [`Score::Product`] does not: it is computed as a
//! sum of scaled logarithms (APH, the approximate product heuristic). A table of 2¹⁶ entries holds the logarithms of
//! 16-bit numbers; a TCAM finds the highest set bit of wider ones, so that their 16 leading bits are looked up and
//! the shift is added back. [`Score::First`] is the paper's baseline: the first points stay.
//!
//! # Ties
//!
//! A point equal in every dimension is not dominated: the query returns both. If different values may share a code
//! ([`Ties::Keep`]), an equal code may hide a greater value, so all dimensions must be strictly greater. One-to-one
//! codes ([`Ties::Prune`]) allow ≥ everywhere and > somewhere.
//!
//! # On the switch
//!
//! Each point takes two stages: score, then coordinates. The score's ALU outputs the score that was pushed out plus
//! one, or zero while the packet's own point has found no place. The plus one saturates, which can only misplace a
//! point. The packet itself always carries its own point; the point that is pushed out travels in metadata.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::algorithm::config::in_range;
use crate::switch::RejectedPacket;
use crate::{ConfigError, Entries, Pruner, Selection, Ties};

mod entry;
mod logarithm;
pub mod plan;
mod program;
mod question;

pub(crate) use entry::{BASELINE, PRODUCT, SUM};
pub use logarithm::{Logarithm, scale_for};

/// The order of the stored points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Score {
    /// The sum of the coordinates, saturating.
    Sum,
    /// The approximate product of the coordinates.
    Product,
    /// The order of arrival: the first points stay.
    First,
}

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    dimensions: u32,
    points: u32,
    score: Score,
    ties: Ties,
}

impl Config {
    /// Creates a skyline of points with `dimensions` (1 to 4) coordinates, `points` (1 to 32) of them stored.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(
        dimensions: u32,
        points: u32,
        score: Score,
        ties: Ties,
    ) -> Result<Self, ConfigError> {
        in_range("dimensions", dimensions, 1, 4)?;
        in_range("points", points, 1, 32)?;
        Ok(Self { dimensions, points, score, ties })
    }

    /// Returns the paper's default: 10 points of 2 dimensions, by approximate product.
    #[must_use]
    pub const fn paper() -> Self {
        Self { dimensions: 2, points: 10, score: Score::Product, ties: Ties::Keep }
    }

    /// Returns the number of coordinates of a point.
    #[must_use]
    pub const fn dimensions(&self) -> u32 {
        self.dimensions
    }

    /// Returns the number of stored points.
    #[must_use]
    pub const fn points(&self) -> u32 {
        self.points
    }

    /// Returns the order of the stored points.
    #[must_use]
    pub const fn score(&self) -> Score {
        self.score
    }

    /// Returns the fast path, without stored points.
    #[must_use]
    pub fn pruner(&self) -> Skyline {
        let logarithm =
            (self.score == Score::Product).then(|| Logarithm::new(scale_for(self.dimensions)));
        Skyline {
            config: *self,
            logarithm,
            scores: vec![0; self.points as usize],
            points: vec![[[0; LANES]; 4]; (self.points as usize).div_ceil(LANES)],
        }
    }
}

checked_when_read!(Config { dimensions: u32, points: u32, score: Score, ties: Ties } => Self::new(dimensions, points, score, ties));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let score = match self.score {
            Score::Sum => "sum",
            Score::Product => "product",
            Score::First => "first",
        };
        write!(f, "skyline(points={}, score={score})", self.points)
    }
}

/// The fast path of SKYLINE.
#[derive(Debug, Clone)]
pub struct Skyline {
    config: Config,
    logarithm: Option<Logarithm>,
    scores: Vec<u32>,
    /// The stored points in groups, coordinate by coordinate. Unused places are zero, and dominate no point.
    points: Vec<[[u32; LANES]; 4]>,
}

/// The number of points that are compared side by side.
const LANES: usize = 8;

/// Returns true if one of a group of stored points dominates `point`, of `D` dimensions.
#[inline]
fn dominated<const D: usize>(stored: &[[u32; LANES]; 4], point: &[u32; 4], ties: Ties) -> bool {
    let (mut greater, mut no_less) = ([0_u32; LANES], [1_u32; LANES]);
    let mut all_greater = [1_u32; LANES];
    for dimension in 0..D {
        for lane in 0..LANES {
            let (a, b) = (stored[dimension][lane], point[dimension]);
            greater[lane] |= u32::from(a > b);
            all_greater[lane] &= u32::from(a > b);
            no_less[lane] &= u32::from(a >= b);
        }
    }
    let lanes = match ties {
        Ties::Keep => all_greater,
        Ties::Prune => std::array::from_fn(|lane| greater[lane] & no_less[lane]),
    };
    lanes.iter().fold(0, |any, lane| any | lane) == 1
}

impl Skyline {
    #[inline]
    fn score(&self, point: &[u32; 4]) -> u32 {
        let point = &point[..self.config.dimensions as usize];
        match (self.config.score, &self.logarithm) {
            (Score::First, _) => 1,
            (Score::Product, Some(logarithm)) => {
                point.iter().fold(0, |sum, &x| sum.saturating_add(logarithm.eval(x)))
            }
            _ => point.iter().fold(0, |sum, &x| sum.saturating_add(x)),
        }
    }

    #[inline]
    fn keeps<const D: usize>(&mut self, point: [u32; 4]) -> bool {
        let score = self.score(&point);
        if !self.scores.iter().fold(false, |any, &stored| any | (stored < score)) {
            let ties = self.config.ties;
            return !self.points.iter().any(|group| dominated::<D>(group, &point, ties));
        }
        self.insert(score, point);
        true
    }

    /// Puts a point before the first with a lower score and moves the rest down.
    #[cold]
    fn insert(&mut self, score: u32, point: [u32; 4]) {
        let place =
            self.scores.iter().position(|&stored| stored < score).unwrap_or(self.scores.len());
        let (mut travelling, mut coordinates) = (score, point);
        for at in place..self.scores.len() {
            // The switch passes on the old score plus one, saturated, minus one.
            travelling = std::mem::replace(&mut self.scores[at], travelling).min(u32::MAX - 1);
            let group = &mut self.points[at / LANES];
            for (lanes, travelling) in group.iter_mut().zip(&mut coordinates) {
                std::mem::swap(&mut lanes[at % LANES], travelling);
            }
        }
    }

    fn sweep<const D: usize>(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let columns: [&[u32]; D] = crate::algorithm::pruner::columns(entries)?;
        selection.fill(entries.len(), |i| {
            let mut point = [0; 4];
            for (coordinate, column) in point.iter_mut().zip(columns) {
                *coordinate = column[i];
            }
            self.keeps::<D>(point)
        });
        Ok(())
    }
}

impl Pruner for Skyline {
    fn values(&self) -> usize {
        self.config.dimensions as usize
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        match self.config.dimensions {
            1 => self.sweep::<1>(entries, selection),
            2 => self.sweep::<2>(entries, selection),
            3 => self.sweep::<3>(entries, selection),
            _ => self.sweep::<4>(entries, selection),
        }
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let mut registers = Vec::new();
        for (at, score) in self.scores.iter().enumerate() {
            registers.push(vec![[*score, 0]]);
            let group = &self.points[at / LANES][..self.config.dimensions as usize];
            registers.extend(group.iter().map(|lanes| vec![[lanes[at % LANES], 0]]));
        }
        registers
    }

    fn reset(&mut self) {
        self.scores.fill(0);
        self.points.fill([[0; LANES]; 4]);
    }
}

#[cfg(test)]
mod tests;
