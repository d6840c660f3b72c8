//! The graph of a query's measured stages and their dependencies.

use std::collections::{BTreeMap, BTreeSet};

use super::{OperatorCounts, Stage, StageError};
use crate::Bytes;

/// A fraction of a whole below which the rest is a rounding error and counts as zero.
const RESIDUE: f64 = 1e-9;

/// The ratio of two times: 1 if both are zero, infinite if `after` is zero up to rounding.
pub(super) fn times(before: f64, after: f64) -> f64 {
    match (before > 0.0, after > before * RESIDUE) {
        (true, true) => before / after,
        (true, false) => f64::INFINITY,
        (false, true) => 0.0,
        (false, false) => 1.0,
    }
}

/// Stages in an order in which each follows those that it waits for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StageGraph {
    stages: Vec<Stage>,
    /// For each stage, the indexes of the stages that it waits for.
    before: Vec<Vec<usize>>,
}

impl StageGraph {
    /// Orders stages: those without dependencies first, otherwise as given.
    ///
    /// # Errors
    ///
    /// If a number is negative, beyond 1e18 or NaN, if an id occurs twice, or if a stage waits for one that does not
    /// exist or, directly or indirectly, for itself. The error names the first such stage and field.
    pub fn new(mut stages: Vec<Stage>) -> Result<Self, StageError> {
        let mut ids = BTreeSet::new();
        for stage in &stages {
            stage.check()?;
            if !ids.insert(stage.id) {
                return Err(StageError::new(stage.id, "id", "comes twice"));
            }
        }
        for stage in &mut stages {
            stage.after.sort_unstable();
            stage.after.dedup();
            if let Some(missing) = stage.after.iter().find(|id| !ids.contains(id)) {
                let message = format!("names stage {missing}, which is not there");
                return Err(StageError::new(stage.id, "after", message));
            }
        }
        let sorted = in_order(stages)?;
        let placed: BTreeMap<u64, usize> =
            sorted.iter().enumerate().map(|(place, stage)| (stage.id, place)).collect();
        let before = sorted
            .iter()
            .map(|stage| stage.after.iter().filter_map(|id| placed.get(id)).copied().collect())
            .collect();
        Ok(Self { stages: sorted, before })
    }

    /// The stages, each after those that it waits for.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The indexes in [`Self::stages`] of the stages that a stage waits for.
    #[must_use]
    pub fn before(&self, place: usize) -> &[usize] {
        self.before.get(place).map_or(&[], Vec::as_slice)
    }

    /// The Scan Ratio (ICPE 2020, §4.3): the fraction of the query's thread time, 0 to 1, that scans take.
    ///
    /// It ranks queries and does not bound what a device saves: `1/(1 − ratio)` is below the paper's estimates for Q4
    /// and Q75, and above those for Q9 and Q44.
    #[must_use]
    pub fn scan_ratio(&self) -> f64 {
        self.share(|stage| stage.scan_seconds)
    }

    /// The fraction of the query's thread time, 0 to 1, that scan, filter and project take.
    #[must_use]
    pub fn sfp_ratio(&self) -> f64 {
        self.share(Stage::sfp_seconds)
    }

    /// Like [`Self::sfp_ratio`], but with the time that scans waited for storage on both sides of the fraction. This
    /// is the mean of the shares by which a device shortens stages.
    #[must_use]
    pub fn sfp_wait_ratio(&self) -> f64 {
        let waited: f64 = self.stages.iter().map(|stage| stage.wait_seconds).sum();
        share(self.sum(Stage::sfp_seconds) + waited, self.thread_seconds() + waited)
    }

    /// The query's thread time over its thread time without scan, filter and project: `1 ÷ (1 − S/F/P ratio)`. It is
    /// infinite if nothing else is done.
    ///
    /// The ratio measures work and not elapsed time: it ignores the order of stages, so it bounds no speed-up.
    #[must_use]
    pub fn thread_time_ratio(&self) -> f64 {
        times(1.0, 1.0 - self.sfp_ratio())
    }

    /// Bytes read from storage, over all stages.
    #[must_use]
    pub fn read_bytes(&self) -> Bytes {
        Bytes::from_f64(self.stages.iter().map(|stage| stage.read_bytes).sum())
    }

    /// The operators of all stages; empty if they were not counted.
    #[must_use]
    pub fn operators(&self) -> OperatorCounts {
        self.stages.iter().map(|stage| &stage.operators).sum()
    }

    /// Thread seconds of all operators, over all stages.
    #[must_use]
    pub fn thread_seconds(&self) -> f64 {
        self.sum(|stage| stage.thread_seconds)
    }

    fn share(&self, of: impl Fn(&Stage) -> f64) -> f64 {
        share(self.sum(of), self.thread_seconds())
    }

    fn sum(&self, of: impl Fn(&Stage) -> f64) -> f64 {
        self.stages.iter().map(of).sum()
    }
}

/// A part as a fraction of the whole, 0 to 1: 1 if only rounding errors are missing, and 0 if the whole is zero.
pub(super) fn share(part: f64, all: f64) -> f64 {
    match part / all {
        share if share >= 1.0 - RESIDUE => 1.0,
        share if share > 0.0 => share,
        _ => 0.0,
    }
}

/// Sorts stages by the length of the longest chain of stages before them, otherwise as given (Kahn's algorithm).
fn in_order(stages: Vec<Stage>) -> Result<Vec<Stage>, StageError> {
    let places: BTreeMap<u64, usize> =
        stages.iter().enumerate().map(|(place, stage)| (stage.id, place)).collect();
    let mut waits_for: Vec<usize> = stages.iter().map(|stage| stage.after.len()).collect();
    let mut followers = vec![Vec::new(); stages.len()];
    for (place, stage) in stages.iter().enumerate() {
        for before in stage.after.iter().filter_map(|id| places.get(id)) {
            followers[*before].push(place);
        }
    }
    let mut depths = vec![0_usize; stages.len()];
    let mut ready: Vec<_> = (0..stages.len()).filter(|place| waits_for[*place] == 0).collect();
    while let Some(place) = ready.pop() {
        for follower in &followers[place] {
            depths[*follower] = depths[*follower].max(depths[place] + 1);
            waits_for[*follower] -= 1;
            if waits_for[*follower] == 0 {
                ready.push(*follower);
            }
        }
    }
    if let Some((_, stuck)) = waits_for.iter().zip(&stages).find(|(waits, _)| **waits > 0) {
        return Err(StageError::new(stuck.id, "after", "leads back to a stage that waits for it"));
    }
    let mut sorted: Vec<_> = depths.into_iter().zip(stages).collect();
    sorted.sort_by_key(|(depth, _)| *depth);
    Ok(sorted.into_iter().map(|(_, stage)| stage).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(id: u64, after: &[u64]) -> Stage {
        Stage {
            id,
            wall_seconds: 1.0,
            thread_seconds: 2.0,
            after: after.to_vec(),
            ..Stage::default()
        }
    }

    #[test]
    fn stages_come_behind_those_that_they_wait_for() {
        let graph =
            StageGraph::new(vec![stage(5, &[7, 3]), stage(7, &[3, 3]), stage(3, &[])]).unwrap();
        let order: Vec<_> = graph.stages().iter().map(|it| it.id).collect();
        assert_eq!(order, [3, 7, 5]);
        assert_eq!(
            (graph.before(0), graph.before(1), graph.before(2)),
            (&[][..], &[0][..], &[0, 1][..])
        );
    }

    #[test]
    fn long_chains_in_any_order_are_read() {
        let many = 100_000;
        let chain = |id| stage(id, if id + 1 < many { vec![id + 1] } else { vec![] }.as_slice());
        let graph = StageGraph::new((0..many).map(chain).collect()).unwrap();
        assert_eq!((graph.stages()[0].id, graph.before(99_999)), (many - 1, &[99_998][..]));
    }

    #[test]
    fn what_cannot_be_is_named_by_stage_and_field() {
        #[track_caller]
        fn check(stages: Vec<Stage>, expected: &str) {
            let error = StageGraph::new(stages).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        check(vec![stage(1, &[]), stage(1, &[])], "stage 1, `id` comes twice");
        check(vec![stage(1, &[9])], "stage 1, `after` names stage 9, which is not there");
        check(vec![stage(1, &[1])], "stage 1, `after` leads back");
        check(vec![stage(2, &[]), stage(1, &[3]), stage(3, &[1])], "stage 1, `after` leads back");
        let negative = Stage { wall_seconds: -1.0, ..stage(4, &[]) };
        check(vec![negative], "stage 4, `wall_seconds` is -1, but must be between 0 and 1e18");
        let endless = Stage { thread_seconds: 1e300, ..stage(4, &[]) };
        check(vec![endless], "stage 4, `thread_seconds` is 1e300, but must be");
        let none = Stage { read_bytes: f64::NAN, ..stage(4, &[]) };
        check(vec![none], "stage 4, `read_bytes` is NaN");
        let more = Stage { scan_seconds: 1.5, filter_project_seconds: 1.0, ..stage(4, &[]) };
        check(vec![more], "stage 4, `thread_seconds` is 2, less than the 2.5 of scan");
    }

    #[test]
    fn ratios_are_of_thread_time() {
        let scan = Stage { scan_seconds: 1.0, filter_project_seconds: 0.5, ..stage(1, &[]) };
        let graph = StageGraph::new(vec![scan, stage(2, &[1])]).unwrap();
        assert_eq!((graph.scan_ratio(), graph.sfp_ratio()), (0.25, 0.375));
        // Waiting is not thread time, but it belongs to the scan.
        let waits = Stage { wait_seconds: 2.0, ..graph.stages()[0].clone() };
        assert_eq!((waits.sfp_share(), waits.scans()), (0.875, true));
        let graph = StageGraph::new(vec![waits, stage(2, &[1])]).unwrap();
        assert_eq!((graph.scan_ratio(), graph.sfp_ratio()), (0.25, 0.375));
        assert_eq!((graph.sfp_wait_ratio(), graph.thread_time_ratio()), (3.5 / 6.0, 1.6));
        let nothing = StageGraph::new(Vec::new()).unwrap();
        assert_eq!((nothing.scan_ratio(), nothing.read_bytes()), (0.0, Bytes::ZERO));
    }
    /// The rest of 0.3 − (0.1 + 0.2) in floating point is not work.
    #[test]
    fn what_rounding_leaves_is_nothing() {
        let scan = Stage {
            thread_seconds: 0.3,
            scan_seconds: 0.1,
            filter_project_seconds: 0.2 - 1e-16,
            ..stage(1, &[])
        };
        assert_eq!(scan.sfp_share(), 1.0);
        let graph = StageGraph::new(vec![scan]).unwrap();
        assert_eq!(graph.thread_time_ratio(), f64::INFINITY);
        assert_eq!(
            (times(0.0, 0.0), times(2.0, 1.0), times(1.0, 1e-10)),
            (1.0, 2.0, f64::INFINITY)
        );
        assert_eq!(times(1.0, 1e-8), 1e8);
    }
}
