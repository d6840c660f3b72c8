//! A discrete-event simulation of what queues: the second evaluator of [`Steps`].
//!
//! [`predict`](crate::predict) adds up how long each resource is busy. That is right where one of them
//! is, and says nothing about what waits for what: latencies that scatter, requests that are refused and
//! sent again, one slow answer that all wait for. [`simulate`] follows each request from its slot through
//! the store and over the link to the client, on the same [`HardwareProfile`]. Where nothing scatters and
//! one resource binds, both agree (which a test checks). [`pruning`] does the same for rows on their
//! way through a switch to a master.
//!
//! There is no clock and no I/O in it; the same seed gives the same run.

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

/// More requests than this are not simulated.
pub const MOST_REQUESTS: u64 = 1_000_000;

/// How the time to the first byte scatters around that of the hardware profile, which is its median.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Latency {
    /// Not at all.
    #[default]
    Constant,
    /// Its logarithm is normally distributed with this standard deviation: 0.62 for GET from S3 Standard,
    /// 0.57 from S3 Express, 0.66 from Azure (fits to published percentiles).
    LogNormal(f64),
}

/// Requests that take longer than others for no reason of their own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stragglers {
    /// The part of all requests, 0 to 1.
    pub share: f64,
    /// How many times as long their first byte, their scan and their transfer take: 1 or more.
    pub factor: f64,
}

impl Default for Stragglers {
    fn default() -> Self {
        Self { share: 0.0, factor: 1.0 }
    }
}

/// A store that refuses requests with 503 beyond a rate, and a client that sends them again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttle {
    /// Requests per second that each prefix admits: 5500 GETs for S3.
    pub per_second: f64,
    /// Prefixes over which the requests are spread evenly.
    pub prefixes: u32,
    /// Requests that a prefix admits at once after a pause.
    pub burst: f64,
    /// The longest pause before the first retry; each is drawn evenly from none to the longest.
    pub pause: Duration,
    /// The longest pause doubles with each retry, up to this.
    pub longest_pause: Duration,
}

/// S3's published limit for one prefix, and the pauses of AWS's SDKs.
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

/// What happens beyond what a hardware profile says. Nothing does by default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Conditions {
    /// How first bytes scatter.
    pub latency: Latency,
    /// Who is slow.
    pub stragglers: Stragglers,
    /// The store's limit; none if it refuses nothing. The client's own rate of requests is the profile's,
    /// by which it sends no faster.
    pub throttle: Option<Throttle>,
}

/// When a phase began and ended, after the start of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The phase's name.
    pub name: &'static str,
    /// Its beginning.
    pub start: Duration,
    /// Its end.
    pub end: Duration,
}

/// One simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// From the start of the query to its last row.
    pub time: Duration,
    /// The phases in the order of the steps.
    pub phases: Vec<Span>,
    /// Requests that were refused, each of which was sent again.
    pub refused: u64,
    /// The most requests in flight at any time.
    pub in_flight: u32,
}

/// More requests than a simulation follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{requests} requests are more than the {MOST_REQUESTS} that are simulated")]
pub struct TooManyRequests {
    /// So many.
    pub requests: u64,
}

/// Follows each request of these steps. The seed decides all that is random.
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

/// What several runs come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Runs {
    /// From the start of the query to its last row.
    pub time: Interval<Duration>,
    /// Requests that were refused and sent again, in the mean of the runs.
    pub refused: f64,
    /// The most requests in flight at any time of any run.
    pub in_flight: u32,
}

/// The same for so many seeds, from the one given on.
///
/// # Errors
///
/// As for [`simulate`].
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
