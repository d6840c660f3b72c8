//! A resource that its jobs share: a link, the store's cores, the client's cores.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The amount of a resource that a job uses at full speed, for each of the resource's limits.
pub(super) type Demand = [f64; 2];

/// Processor sharing: all jobs run at once, and if they demand more than the limits, all slow down by the same
/// factor.
///
/// A job of `s` seconds is done when the resource has done `s` seconds of each of its jobs. The state therefore needs
/// only one number: the seconds of each job done so far.
#[derive(Debug)]
pub(super) struct Shared {
    limits: Demand,
    wanted: Demand,
    jobs: BinaryHeap<Reverse<Job>>,
    /// The seconds of each job done so far.
    done: f64,
    /// The time of the last update of `done`, by the clock of the events.
    at: f64,
    /// The version of the next scheduled end; ends of earlier versions are ignored.
    version: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Job {
    end: f64,
    order: u64,
    demand: Demand,
    of: usize,
}

impl Shared {
    pub(super) fn new(limits: Demand) -> Self {
        let (jobs, wanted) = (BinaryHeap::new(), [0.0; 2]);
        Self { limits, wanted, jobs, done: 0.0, at: 0.0, version: 0 }
    }

    /// Starts a job that takes this many seconds at full speed.
    pub(super) fn start(&mut self, now: f64, seconds: f64, demand: Demand, of: usize) {
        self.advance(now);
        self.version += 1;
        let end = self.done + seconds;
        self.jobs.push(Reverse(Job { end, order: self.version, demand, of }));
        for (wanted, demand) in self.wanted.iter_mut().zip(demand) {
            *wanted += demand;
        }
    }

    /// Ends the next job and returns its owner. Returns `None` if the version is out of date.
    pub(super) fn end(&mut self, now: f64, version: u64) -> Option<usize> {
        if version != self.version {
            return None;
        }
        self.advance(now);
        let Reverse(job) = self.jobs.pop()?;
        // Corrects rounding errors: the job is done now.
        self.done = self.done.max(job.end);
        self.version += 1;
        if self.jobs.is_empty() {
            (self.wanted, self.done) = ([0.0; 2], 0.0);
        } else {
            for (wanted, demand) in self.wanted.iter_mut().zip(job.demand) {
                *wanted -= demand;
            }
        }
        Some(job.of)
    }

    /// The seconds until the next job ends if nothing else happens, and the version of that end.
    pub(super) fn next_end(&self) -> Option<(f64, u64)> {
        let Reverse(job) = self.jobs.peek()?;
        Some(((job.end - self.done).max(0.0) / self.speed(), self.version))
    }

    fn advance(&mut self, now: f64) {
        if !self.jobs.is_empty() {
            self.done += (now - self.at) * self.speed();
        }
        self.at = now;
    }

    /// The current speed, above 0 and at most 1.
    fn speed(&self) -> f64 {
        let limited = |(limit, wanted): (&f64, &f64)| {
            if wanted > limit { limit / wanted } else { 1.0 }
        };
        self.limits.iter().zip(&self.wanted).map(limited).fold(1.0, f64::min)
    }
}

impl Eq for Job {}

impl PartialOrd for Job {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Job {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.end.total_cmp(&other.end).then(self.order.cmp(&other.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of jobs that start at the same time.
    fn ends(limits: Demand, jobs: &[(f64, Demand)]) -> Vec<(usize, f64)> {
        let mut shared = Shared::new(limits);
        for (of, (seconds, demand)) in jobs.iter().enumerate() {
            shared.start(0.0, *seconds, *demand, of);
        }
        let (mut now, mut ends) = (0.0, Vec::new());
        while let Some((seconds, version)) = shared.next_end() {
            now += seconds;
            assert_eq!(shared.end(now, version + 1), None);
            ends.push((shared.end(now, version).unwrap(), now));
        }
        ends
    }

    const ALL: f64 = f64::INFINITY;

    #[test]
    fn jobs_run_at_full_speed_until_there_are_too_many() {
        let one = [1.0, 0.0];
        assert_eq!(ends([2.0, ALL], &[(1.0, one), (2.0, one)]), [(0, 1.0), (1, 2.0)]);
        // Four jobs on two cores take twice as long; after that, two of them are left.
        let four = [(1.0, one), (1.0, one), (2.0, one), (2.0, one)];
        assert_eq!(ends([2.0, ALL], &four), [(0, 2.0), (1, 2.0), (2, 3.0), (3, 3.0)]);
    }

    #[test]
    fn the_tightest_limit_counts() {
        let jobs = [(1.0, [1.0, 100.0]), (1.0, [1.0, 100.0])];
        assert_eq!(ends([2.0, 50.0], &jobs), [(0, 4.0), (1, 4.0)]);
        assert_eq!(ends([ALL, ALL], &jobs), [(0, 1.0), (1, 1.0)]);
    }
}
