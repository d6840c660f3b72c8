//! Simulates rows on their way from workers through a switch to a master.
//!
//! Cheetah (SIGMOD 2020, section 8.3) finds that the master becomes the bottleneck as soon as more rows arrive than
//! it handles. The work that is then left grows faster than the unpruned fraction.

use crate::random::Random;
use crate::simulation::events::Events;

/// A stream of rows through a switch that drops a part of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pruning {
    /// Rows that the workers send, all together.
    pub rows: f64,
    /// Rows per second that they send, all together: λ.
    pub sent_per_second: f64,
    /// Rows per second that the switch forwards or drops.
    pub switched_per_second: f64,
    /// The fraction of the rows that the switch lets through, 0 to 1: u.
    pub unpruned: f64,
    /// Rows per second that the master handles: μ.
    pub handled_per_second: f64,
}

/// The time of a run and the master's backlog.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pruned {
    /// Seconds until the master has handled the last row.
    pub seconds: f64,
    /// Seconds from the arrival of the last row to the end.
    pub late: f64,
    /// The largest number of rows that waited for the master.
    pub backlog: f64,
}

/// The number of batches of rows in a simulation.
const BATCHES: u32 = 2000;

#[derive(Debug, Clone, Copy)]
enum Event {
    Sent,
    Arrived(f64),
    Handled(f64),
}

impl Pruning {
    /// Predicts the run without scatter, as a fluid. Nothing waits while u·λ ≤ μ; beyond that the master is busy from
    /// the first row on, for u·N/μ.
    #[must_use]
    pub fn predict(&self) -> Pruned {
        let arriving = self.sent_per_second.min(self.switched_per_second);
        let left = self.rows * self.unpruned;
        let (sending, handling) = (self.rows / arriving, left / self.handled_per_second);
        let late = (handling - sending).max(0.0);
        Pruned { seconds: sending.max(handling), late, backlog: late * self.handled_per_second }
    }

    /// Simulates the rows in batches.
    ///
    /// The rows that the switch lets through of a batch and the master's time for it vary by `scatter`, a fraction of
    /// their means (0: not at all). The same seed gives the same run.
    ///
    /// ```
    /// use sluicegate_costmodel::simulation::pruning::Pruning;
    ///
    /// // Cheetah's workers send 10 million rows a second; a master that handles a tenth of that.
    /// let pruning = |unpruned| Pruning {
    ///     rows: 1e8,
    ///     sent_per_second: 10e6,
    ///     switched_per_second: 9.67e9,
    ///     unpruned,
    ///     handled_per_second: 1e6,
    /// };
    /// assert!(pruning(0.05).simulate(0.1, 1).late < 0.01);
    /// assert!(pruning(0.2).simulate(0.1, 1).late > 9.0);
    /// ```
    #[must_use]
    pub fn simulate(&self, scatter: f64, seed: u64) -> Pruned {
        let mut random = Random::new(seed);
        let mut scattered = |mean: f64| {
            if scatter > 0.0 { mean * (1.0 + scatter * random.normal()).max(0.0) } else { mean }
        };
        let batch = self.rows / f64::from(BATCHES);
        let mut events = Events::new();
        events.after(batch / self.sent_per_second, Event::Sent);
        let (mut sent, mut switch_free) = (0, 0.0_f64);
        // Batches that wait, including the one that the master is handling.
        let mut waiting = std::collections::VecDeque::new();
        let (mut backlog, mut last_arrival, mut run) = (0.0_f64, 0.0, Pruned::default());
        while let Some(event) = events.next() {
            let now = events.now();
            match event {
                Event::Sent => {
                    sent += 1;
                    if sent < BATCHES {
                        events.after(batch / self.sent_per_second, Event::Sent);
                    }
                    switch_free = switch_free.max(now) + batch / self.switched_per_second;
                    let left = scattered(batch * self.unpruned).min(batch);
                    events.after(switch_free - now, Event::Arrived(left));
                }
                Event::Arrived(rows) => {
                    last_arrival = now;
                    backlog += rows;
                    run.backlog = run.backlog.max(backlog);
                    waiting.push_back(rows);
                    if waiting.len() == 1 {
                        let takes = scattered(rows / self.handled_per_second);
                        events.after(takes, Event::Handled(rows));
                    }
                }
                Event::Handled(rows) => {
                    backlog -= rows;
                    waiting.pop_front();
                    if let Some(next) = waiting.front().copied() {
                        let takes = scattered(next / self.handled_per_second);
                        events.after(takes, Event::Handled(next));
                    }
                }
            }
        }
        run.seconds = events.now();
        run.late = run.seconds - last_arrival;
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheetah(unpruned: f64) -> Pruning {
        Pruning {
            rows: 1e8,
            sent_per_second: 10e6,
            switched_per_second: 9.67e9,
            unpruned,
            handled_per_second: 1e6,
        }
    }

    #[test]
    fn a_run_without_scatter_is_as_predicted() {
        let slow_switch = Pruning { switched_per_second: 5e6, ..cheetah(0.01) };
        for pruning in [0.0, 0.01, 0.09, 0.2, 1.0].map(cheetah).into_iter().chain([slow_switch]) {
            let (run, predicted) = (pruning.simulate(0.0, 1), pruning.predict());
            assert!((run.seconds / predicted.seconds - 1.0).abs() < 0.002, "{pruning:?}: {run:?}");
            assert!((run.late - predicted.late).abs() < 0.02 + 0.002 * predicted.late);
            // The master handles a batch while the next one arrives.
            assert!((run.backlog - predicted.backlog).abs() < 1.1e5, "{run:?} {predicted:?}");
        }
    }

    /// Up to μ/λ = 0.1 the master keeps up. Beyond it, twice as many rows take more than twice as long after the last
    /// arrival: the backlog is super-linear in the unpruned fraction.
    #[test]
    fn the_backlog_is_super_linear_once_the_master_cannot_keep_up() {
        for scatter in [0.0, 0.1] {
            let late = |unpruned| cheetah(unpruned).simulate(scatter, 1).late;
            assert!(late(0.05) < 0.02 && late(0.09) < 0.05);
            assert!(late(0.12) > 1.5, "{}", late(0.12));
            for unpruned in [0.11, 0.15, 0.2, 0.4] {
                assert!(late(2.0 * unpruned) > 2.2 * late(unpruned), "{unpruned}");
            }
        }
    }

    #[test]
    fn scatter_makes_a_backlog_where_there_was_none() {
        let near = cheetah(0.0999);
        assert!(near.simulate(0.5, 1).backlog > 5.0 * near.simulate(0.0, 1).backlog);
        assert_eq!(near.simulate(0.5, 1), near.simulate(0.5, 1));
        assert_ne!(near.simulate(0.5, 1), near.simulate(0.5, 2));
    }
}
