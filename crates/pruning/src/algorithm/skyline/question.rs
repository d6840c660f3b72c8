//! The query behind SKYLINE.

use crate::experiment::opt;
use crate::experiment::question::counted;
use crate::experiment::trial::{Answer, Question, Rows};
use crate::protocol::Query;

/// The points that no other dominates; greater is better.
#[derive(Debug)]
pub(super) struct Undominated {
    /// Coordinates of a point.
    pub(super) dimensions: u32,
}

impl Question for Undominated {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        if self.dimensions != 2 {
            return opt::skyline_of(rows.kept().map(|row| row.words().collect::<Vec<u32>>()));
        }
        opt::skyline(rows.kept().map(|row| (row.key() as u32, row.value())))
    }

    /// Returns the distinct points, with the number of times that each occurs.
    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let dominates = |a: &[u32], b: &[u32]| a != b && a.iter().zip(b).all(|(a, b)| a >= b);
        let mut best: Vec<(Vec<u32>, u64)> = Vec::new();
        for point in rows.kept().map(|row| row.words().collect::<Vec<u32>>()) {
            if let Some((_, times)) = best.iter_mut().find(|(other, _)| *other == point) {
                *times += 1;
            } else if !best.iter().any(|(other, _)| dominates(other, &point)) {
                best.retain(|(other, _)| !dominates(&point, other));
                best.push((point, 1));
            }
        }
        let row = |(point, times): (Vec<u32>, u64)| {
            point.into_iter().map(u64::from).chain([times]).collect()
        };
        counted(best.into_iter().map(row))
    }

    fn in_protocol(&self) -> Option<Query> {
        (self.dimensions == 2).then_some(Query::Skyline)
    }
}
