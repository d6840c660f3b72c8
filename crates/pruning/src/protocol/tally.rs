//! Totals over many runs of the simulation.

use std::ops::Range;

use super::{Config, ConfigError, Outcome, Report, simulate};

/// The totals of several runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of runs.
    pub runs: u64,
    /// The number of runs with the right answer.
    pub correct: u64,
    /// The number of runs with a wrong answer.
    pub wrong: u64,
    /// The number of runs without an answer.
    pub stuck: u64,
    /// Entries sent by workers, retransmissions included.
    pub sent: u64,
    /// Rows of all workers and runs.
    pub rows: u64,
    /// Entries that the switch pruned.
    pub pruned: u64,
    /// Entries that arrived at the master without effect.
    pub repeated: u64,
    /// Reboots of the switch.
    pub reboots: u64,
    /// The least seed of a run with a wrong answer.
    pub first_wrong: Option<u64>,
    /// The least seed of a run that got stuck.
    pub first_stuck: Option<u64>,
}

impl Tally {
    /// Runs `config` with each of these seeds.
    ///
    /// # Errors
    ///
    /// If the configuration contradicts itself.
    pub fn run(config: &Config, seeds: Range<u64>) -> Result<Self, ConfigError> {
        let mut tally = Self::default();
        for seed in seeds {
            tally.add(seed, &simulate(config, seed)?);
        }
        Ok(tally)
    }

    fn add(&mut self, seed: u64, report: &Report) {
        self.runs += 1;
        match report.outcome {
            Outcome::Correct => self.correct += 1,
            Outcome::Wrong => {
                self.wrong += 1;
                self.first_wrong.get_or_insert(seed);
            }
            Outcome::Stuck => {
                self.stuck += 1;
                self.first_stuck.get_or_insert(seed);
            }
        }
        self.sent += report.sent;
        self.rows += report.rows;
        self.pruned += report.pruned;
        self.repeated += report.repeated;
        self.reboots += report.reboots;
    }

    /// Returns the sum of both totals.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Self {
            runs: self.runs + other.runs,
            correct: self.correct + other.correct,
            wrong: self.wrong + other.wrong,
            stuck: self.stuck + other.stuck,
            sent: self.sent + other.sent,
            rows: self.rows + other.rows,
            pruned: self.pruned + other.pruned,
            repeated: self.repeated + other.repeated,
            reboots: self.reboots + other.reboots,
            first_wrong: least(self.first_wrong, other.first_wrong),
            first_stuck: least(self.first_stuck, other.first_stuck),
        }
    }

    /// Returns the entries sent for each row, all passes together, or 0 without rows.
    #[must_use]
    pub fn sends_per_row(&self) -> f64 {
        self.sent as f64 / self.rows.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Query, Reboots, Rules};
    use super::*;

    /// `simulate/tests.rs` has a longer test, behind an environment variable.
    #[test]
    fn the_repaired_protocol_is_never_wrong() {
        let runs = 100;
        for query in Query::ALL {
            let config = Config::new(query, Rules::repaired());
            let tally = Tally::run(&config, 0..runs).unwrap();
            assert_eq!((tally.correct, tally.runs), (runs, runs), "{query:?}: {tally:?}");
        }
    }

    /// The paper's protocol has two faults: it waits forever after a reboot, and counts twice when an acknowledgement
    /// is lost.
    #[test]
    fn the_papers_protocol_deadlocks_and_double_counts() {
        let config = Config::new(Query::HavingSum { above: 500 }, Rules::paper());
        let tally = Tally::run(&config, 0..40).unwrap();
        assert!(tally.stuck > 20, "{tally:?}");
        let calm = Reboots::Random { count: 0, until: 1 };
        let config =
            Config { reboots: calm, ..Config::new(Query::Filter { at_least: 60 }, Rules::paper()) };
        let tally = Tally::run(&config, 0..40).unwrap();
        assert!(tally.wrong > 20 && tally.stuck == 0, "{tally:?}");
    }

    #[test]
    fn halves_add_up() {
        let config = Config::new(Query::Distinct, Rules::paper());
        let tally = |seeds| Tally::run(&config, seeds).unwrap();
        assert_eq!(tally(0..6).and(tally(6..20)), tally(0..20));
    }
}
