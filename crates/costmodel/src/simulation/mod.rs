//! A discrete-event simulation of queues: the second evaluator of [`Steps`].
//!
//! [`predict`](crate::predict) adds up how long each resource is busy. If one resource binds, the sum is accurate. It
//! leaves out waiting: latencies that scatter, requests that are refused and sent again, one slow answer that delays
//! the whole query. [`simulate`] follows each request from its slot through the store and over the link to the
//! client, on the same [`HardwareProfile`]. If nothing scatters and one resource binds, both agree (a test checks
//! this). [`pruning`] simulates rows on their way through a switch to a master.
//!
//! The simulation has no clock and no I/O; the same seed gives the same run.

mod events;
pub mod pruning;
mod request;
mod run;
mod shared;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::run::Run;
use crate::rate::seconds;
use crate::uncertainty::{Interval, percentiles};
use crate::{HardwareProfile, Phase, Steps};

/// The largest number of requests that is simulated.
pub const MOST_REQUESTS: u64 = 1_000_000;

/// The distribution of the time to the first byte. Its median is the latency of the hardware profile.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Latency {
    /// Every request has the median latency.
    #[default]
    Constant,
    /// The logarithm is normally distributed with this standard deviation: 0.62 for GET from S3 Standard, 0.57 from
    /// S3 Express, 0.66 from Azure (fits to published percentiles).
    LogNormal(f64),
}

/// Requests that take longer than others at random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stragglers {
    /// The fraction of all requests that are stragglers, 0 to 1.
    pub share: f64,
    /// The factor by which a straggler's first byte, scan and transfer take longer: 1 or more.
    pub factor: f64,
}

impl Default for Stragglers {
    fn default() -> Self {
        Self { share: 0.0, factor: 1.0 }
    }
}

/// A store that refuses requests beyond a rate with 503, and a client that retries them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttle {
    /// Requests per second that each prefix admits: 5500 GETs for S3.
    pub per_second: f64,
    /// The number of prefixes; requests are spread evenly over them.
    pub prefixes: u32,
    /// Requests that a prefix admits at once after a pause.
    pub burst: f64,
    /// The longest pause before the first retry. Each pause is drawn uniformly between zero and the longest.
    pub pause: Duration,
    /// The limit of the longest pause, which doubles with each retry.
    pub longest_pause: Duration,
}

/// Defaults to S3's published limit for one prefix and the pauses of AWS's SDKs.
impl Default for Throttle {
    fn default() -> Self {
        Self {
            per_second: 5500.0,
            prefixes: 1,
            burst: 5500.0,
            pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(20),
        }
    }
}

/// Conditions that a hardware profile does not describe. By default nothing scatters and nothing is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Conditions {
    /// The scatter of the time to the first byte.
    pub latency: Latency,
    /// The requests that are slower than others.
    pub stragglers: Stragglers,
    /// The store's request limit; `None` if it refuses nothing. The client never sends faster than the profile's rate
    /// of requests.
    pub throttle: Option<Throttle>,
}

/// The start and end of a phase, as times since the start of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The phase's name.
    pub name: &'static str,
    /// The start of the phase.
    pub start: Duration,
    /// The end of the phase.
    pub end: Duration,
}

/// The result of one simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The time from the start of the query to its last row.
    pub time: Duration,
    /// The phases in the order of the steps.
    pub phases: Vec<Span>,
    /// Requests that were refused, each of which was sent again.
    pub refused: u64,
    /// The most requests in flight at any time.
    pub in_flight: u32,
}

/// Reports steps with more requests than a simulation follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{requests} requests are more than the {MOST_REQUESTS} that are simulated")]
pub struct TooManyRequests {
    /// The number of requests in the steps.
    pub requests: u64,
}

/// Simulates each request of these steps. The seed decides everything that is random.
///
/// # Errors
///
/// If there are more requests than [`MOST_REQUESTS`].
///
/// ```
/// use sluicegate_costmodel::simulation::{Conditions, Latency, simulate};
/// use sluicegate_costmodel::{Bytes, HardwareProfile, Phase, Requests, Steps, predict};
///
/// let get = Phase { gets: Requests(960), got: Bytes::gib(7), ..Phase::default() };
/// let (steps, hardware) = (Steps::from(get), HardwareProfile::paper());
/// let predicted = predict(&steps, hardware).total().as_secs_f64();
/// let calm = simulate(&steps, hardware, &Conditions::default(), 1).unwrap();
/// assert!((calm.time.as_secs_f64() / predicted - 1.0).abs() < 0.02);
/// ```
pub fn simulate(
    steps: &Steps,
    hardware: &HardwareProfile,
    conditions: &Conditions,
    seed: u64,
) -> Result<Simulated, TooManyRequests> {
    let count = |phase: &Phase| (phase.work().requests.total()).0;
    let requests = steps.phases().into_iter().map(count).fold(0, u64::saturating_add);
    if requests > MOST_REQUESTS {
        return Err(TooManyRequests { requests });
    }
    Ok(Run::new(steps, hardware, conditions, seed).finish())
}

/// A summary of several runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Runs {
    /// The time from the start of the query to its last row.
    pub time: Interval<Duration>,
    /// The mean number of requests that were refused and sent again.
    pub refused: f64,
    /// The most requests in flight at any time of any run.
    pub in_flight: u32,
}

/// Simulates several runs, with the given seed and the numbers after it.
///
/// # Errors
///
/// If there are more requests than [`MOST_REQUESTS`].
pub fn simulate_often(
    steps: &Steps,
    hardware: &HardwareProfile,
    conditions: &Conditions,
    seed: u64,
    runs: u32,
) -> Result<Runs, TooManyRequests> {
    let one = |run: u32| simulate(steps, hardware, conditions, seed.wrapping_add(run.into()));
    let all = (0..runs.max(1)).map(one).collect::<Result<Vec<_>, _>>()?;
    let refused = all.iter().map(|run| run.refused as f64).sum::<f64>() / all.len() as f64;
    let in_flight = all.iter().map(|run| run.in_flight).max().unwrap_or_default();
    let times = all.iter().map(|run| run.time.as_secs_f64()).collect();
    Ok(Runs { time: percentiles(times).map(seconds), refused, in_flight })
}
