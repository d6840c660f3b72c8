//! Schedules of stages on a number of slots.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;

use super::StageGraph;

/// The number of stages that may run at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Slots {
    /// No limit, as the paper assumes.
    #[default]
    Unlimited,
    /// At most this many stages. The ready stage with the longest path to the end starts first (list scheduling).
    Finite(NonZeroUsize),
}

/// The times at which each stage runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schedule {
    /// Start and end of each stage in seconds, in the order of [`StageGraph::stages`].
    pub times: Vec<(f64, f64)>,
    /// The indexes of the stages on a longest path through the graph, first to last.
    pub critical_path: Vec<usize>,
    /// Seconds along the critical path; no number of slots makes it shorter.
    pub critical_seconds: f64,
    /// Seconds until the last stage ends.
    pub makespan: f64,
}

impl Schedule {
    /// Graham's bound (1966) on the makespan of any list schedule with this many slots: all work divided by the
    /// slots, plus the part of the critical path during which other slots may be idle.
    #[must_use]
    pub fn graham_bound(&self, slots: NonZeroUsize) -> f64 {
        let work: f64 = self.times.iter().map(|(start, end)| end - start).sum();
        let slots = slots.get() as f64;
        work / slots + (1.0 - 1.0 / slots) * self.critical_seconds
    }
}

/// Schedules stages that take this many seconds each, in the order of [`StageGraph::stages`].
#[must_use]
pub fn schedule(graph: &StageGraph, seconds: &[f64], slots: Slots) -> Schedule {
    let count = graph.stages().len();
    let takes = |place: usize| seconds.get(place).copied().unwrap_or_default().max(0.0);
    // The seconds from the start of each stage to the end of the query, and the next stage on that path.
    let mut to_end = vec![0.0; count];
    let mut next: Vec<Option<usize>> = vec![None; count];
    for place in (0..count).rev() {
        to_end[place] += takes(place);
        for before in graph.before(place) {
            if to_end[place] > to_end[*before] || next[*before].is_none() {
                to_end[*before] = to_end[place];
                next[*before] = Some(place);
            }
        }
    }
    let first = (0..count).max_by(|a, b| to_end[*a].total_cmp(&to_end[*b]).then(b.cmp(a)));
    let critical_path: Vec<_> = std::iter::successors(first, |place| next[*place]).collect();
    let critical_seconds = first.map_or(0.0, |place| to_end[place]);
    let at_once = match slots {
        Slots::Unlimited => usize::MAX,
        Slots::Finite(slots) => slots.get(),
    };
    let times = list_schedule(graph, &takes, &to_end, at_once);
    let makespan = times.iter().map(|(_, end)| *end).fold(0.0, f64::max);
    Schedule { times, critical_path, critical_seconds, makespan }
}

fn list_schedule(
    graph: &StageGraph,
    takes: &impl Fn(usize) -> f64,
    priority: &[f64],
    slots: usize,
) -> Vec<(f64, f64)> {
    let count = priority.len();
    let mut times = vec![(0.0, 0.0); count];
    let mut waits_for = vec![0_usize; count];
    let mut followers = vec![Vec::new(); count];
    for (place, waits) in waits_for.iter_mut().enumerate() {
        *waits = graph.before(place).len();
        for before in graph.before(place) {
            followers[*before].push(place);
        }
    }
    // The bits of floats that are not negative have the order of the numbers.
    let rank = |place: usize| (priority[place].to_bits(), Reverse(place));
    let mut ready: BinaryHeap<_> =
        (0..count).filter(|place| waits_for[*place] == 0).map(rank).collect();
    let mut running = BinaryHeap::new();
    let mut now: f64 = 0.0;
    loop {
        while running.len() < slots
            && let Some((_, Reverse(place))) = ready.pop()
        {
            let end = now + takes(place);
            times[place] = (now, end);
            running.push(Reverse((end.to_bits(), place)));
        }
        let Some(Reverse((end, _))) = running.peek().copied() else { break };
        now = f64::from_bits(end);
        // All stages that end now free their slots before the next one starts.
        while let Some(Reverse((_, over))) = running.peek().copied().filter(|it| it.0.0 == end) {
            running.pop();
            for follower in &followers[over] {
                waits_for[*follower] -= 1;
                if waits_for[*follower] == 0 {
                    ready.push(rank(*follower));
                }
            }
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::storage::Stage;

    /// Searching all stages at the end of each one would take minutes.
    #[test]
    fn a_hundred_thousand_stages_are_no_trouble() {
        let count = 100_000;
        let stages = (0..count).map(|id| Stage { id, ..Stage::default() }).collect();
        let graph = StageGraph::new(stages).unwrap();
        let began = std::time::Instant::now();
        let found = schedule(&graph, &vec![1.0; graph.stages().len()], slots(2));
        assert_eq!(found.makespan, 50_000.0);
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }

    fn slots(number: usize) -> Slots {
        Slots::Finite(NonZeroUsize::new(number).unwrap())
    }

    fn graph(after: &[&[u64]]) -> StageGraph {
        let stage =
            |(id, after): (u64, &&[u64])| Stage { id, after: after.to_vec(), ..Stage::default() };
        StageGraph::new((0..).zip(after).map(stage).collect()).unwrap()
    }

    #[test]
    fn stages_run_when_they_can() {
        let diamond = graph(&[&[], &[0], &[0], &[1, 2]]);
        let seconds = [1.0, 2.0, 5.0, 1.0];
        let free = schedule(&diamond, &seconds, Slots::Unlimited);
        assert_eq!(free.times, [(0.0, 1.0), (1.0, 3.0), (1.0, 6.0), (6.0, 7.0)]);
        assert_eq!((free.critical_path.as_slice(), free.critical_seconds), (&[0, 2, 3][..], 7.0));
        let alone = schedule(&diamond, &seconds, slots(1));
        assert_eq!(alone.times, [(0.0, 1.0), (6.0, 8.0), (1.0, 6.0), (8.0, 9.0)]);
        assert_eq!((alone.makespan, alone.critical_seconds), (9.0, 7.0));
        let nothing = schedule(&graph(&[]), &[], Slots::Unlimited);
        assert_eq!((nothing.makespan, nothing.critical_path.len()), (0.0, 0));
    }

    proptest! {
        /// Each stage waits for some of those before it.
        #[test]
        fn every_schedule_is_within_its_bounds(
            stages in proptest::collection::vec((0.0..10.0f64, proptest::collection::vec(0u64..12, 0..3)), 1..12),
            number in 1usize..6,
        ) {
            let after: Vec<Vec<u64>> = (0u64..)
                .zip(&stages)
                .map(|(id, (_, after))| after.iter().copied().filter(|it| *it < id).collect())
                .collect();
            let after: Vec<&[u64]> = after.iter().map(Vec::as_slice).collect();
            let graph = graph(&after);
            let of = |id: u64| stages[id as usize].0;
            let seconds: Vec<f64> = graph.stages().iter().map(|it| of(it.id)).collect();
            let slack = 1e-9;
            let free = schedule(&graph, &seconds, Slots::Unlimited);
            prop_assert!((free.makespan - free.critical_seconds).abs() < slack);
            let path: f64 = free.critical_path.iter().map(|place| seconds[*place]).sum();
            prop_assert!((path - free.critical_seconds).abs() < slack);
            for (from, to) in free.critical_path.iter().zip(free.critical_path.iter().skip(1)) {
                prop_assert!(graph.before(*to).contains(from));
            }
            let finite = schedule(&graph, &seconds, slots(number));
            let bound = finite.graham_bound(NonZeroUsize::new(number).unwrap());
            prop_assert!(finite.critical_seconds <= finite.makespan + slack);
            prop_assert!(finite.makespan <= bound + slack, "{} {bound}", finite.makespan);
            for (place, (start, end)) in finite.times.iter().enumerate() {
                prop_assert!((end - start - seconds[place]).abs() < slack);
                for before in graph.before(place) {
                    prop_assert!(finite.times[*before].1 <= *start);
                }
                let at_once = finite.times.iter().filter(|(s, e)| s <= start && start < e).count();
                prop_assert!(at_once <= number);
            }
            let alone: f64 = seconds.iter().sum();
            prop_assert!((schedule(&graph, &seconds, slots(1)).makespan - alone).abs() < 1e-6);
        }
    }
}
