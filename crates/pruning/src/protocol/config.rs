//! The parameters of a simulation run.

use serde::Serialize;
use thiserror::Error;

use super::query::Query;
use super::rules::Rules;

/// The faults and delays of a link. All four kinds of links (worker to switch, switch to master, and back) are alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Link {
    /// The probability that a packet is lost.
    pub loss: f64,
    /// The probability that a packet is delivered twice.
    pub duplication: f64,
    /// The shortest delay in ticks.
    pub min_delay: u64,
    /// The longest delay in ticks; delays are uniform, so packets overtake each other.
    pub max_delay: u64,
    /// The number of ticks after a loss during which every packet is lost, on all links.
    pub burst: u64,
}

/// The ticks at which the switch reboots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Reboots {
    /// Reboots at the given ticks.
    At(Vec<u64>),
    /// Reboots this many times, at random ticks before `until`.
    Random {
        /// The number of reboots.
        count: u32,
        /// The tick before which they occur.
        until: u64,
    },
}

/// The parameters of a run, except its seed. A tick is the time in which a worker sends one packet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    /// The query that is run.
    pub query: Query,
    /// The number of workers, at least one; each is a flow.
    pub workers: u16,
    /// The number of rows of each worker.
    pub rows: usize,
    /// The identifier before each flow's first; identifiers wrap.
    pub first_id: u32,
    /// The variant of the protocol.
    pub rules: Rules,
    /// The faults and delays of all links.
    pub link: Link,
    /// The number of unacknowledged entries that a worker may have in flight, at least one.
    pub window: usize,
    /// The number of ticks after which an unacknowledged packet is sent again, at least one. A worker that receives
    /// nothing new doubles its wait, up to eight times the timeout, and adds up to half of it at random.
    pub timeout: u64,
    /// The greatest number of packets waiting at the master, which takes one a tick; further packets are lost.
    /// `None`: the master takes packets as they come.
    pub queue: Option<usize>,
    /// The reboots of the switch.
    pub reboots: Reboots,
    /// The number of ticks for which a rebooting switch loses everything.
    pub downtime: u64,
    /// The number of longest waits (12 timeouts) without any progress after which the run counts as stuck.
    pub patience: u64,
}

impl Config {
    /// Creates a run of three workers with 30 rows each, 10 % loss, 5 % duplication, delays of 1 to 20 ticks and one
    /// reboot.
    #[must_use]
    pub const fn new(query: Query, rules: Rules) -> Self {
        Self {
            query,
            workers: 3,
            rows: 30,
            first_id: 0,
            rules,
            link: Link { loss: 0.1, duplication: 0.05, min_delay: 1, max_delay: 20, burst: 0 },
            window: 8,
            timeout: 100,
            queue: None,
            reboots: Reboots::Random { count: 1, until: 400 },
            downtime: 0,
            patience: 200,
        }
    }
}

/// The reason why a configuration cannot be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A size that must be positive is 0.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// There are more rows than a run can store.
    #[error(
        "{0} rows of all workers are more than the {most} that a run holds; take fewer rows or workers",
        most = MOST_ROWS
    )]
    Rows(u64),
    /// A value is not a probability, or means certain loss.
    #[error("{0} must be at least 0 and less than 1")]
    Probability(&'static str),
    /// The shortest delay is longer than the longest.
    #[error("the shortest delay exceeds the longest")]
    Delays,
}

/// The greatest number of rows of all workers in a run, which stores each of them several times. Identifiers, which
/// wrap at 2³², distinguish that many.
pub(super) const MOST_ROWS: u64 = 1 << 22;

/// Checks that a configuration can be run with this number of `workers` and of their `rows`.
pub(super) fn validate(config: &Config, workers: usize, rows: u64) -> Result<(), ConfigError> {
    if rows > MOST_ROWS {
        return Err(ConfigError::Rows(rows));
    }
    let sizes = [
        (workers as u64, "the number of workers"),
        (config.window as u64, "the window"),
        (config.timeout, "the timeout"),
        (config.patience, "the patience"),
        (config.queue.map_or(1, |queue| queue as u64), "the master's queue"),
    ];
    if let Some((_, name)) = sizes.iter().find(|(size, _)| *size == 0) {
        return Err(ConfigError::Zero(name));
    }
    let Link { loss, duplication, min_delay, max_delay, burst: _ } = config.link;
    for (probability, name) in [(loss, "loss"), (duplication, "duplication")] {
        if !(0.0..1.0).contains(&probability) {
            return Err(ConfigError::Probability(name));
        }
    }
    if min_delay > max_delay { Err(ConfigError::Delays) } else { Ok(()) }
}
