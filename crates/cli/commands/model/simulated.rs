//! Simulated runs of a way, printed beside its prediction.

use sluicegate_costmodel::simulation::{Conditions, Latency, Runs, simulate_often};
use sluicegate_costmodel::{HardwareProfile, Steps, SwitchDemand};

use crate::args::SimulationArgs;

/// Standard deviation, as a fraction of the mean, of the rows that a switch lets through and of the master's time.
const SWITCH_SCATTER: f64 = 0.1;

/// The maximum number of requests of all runs of a way.
const MOST_REQUESTS: u64 = 20_000_000;

/// The parameters of simulated runs.
#[derive(Clone, Copy)]
pub(super) struct Simulation {
    runs: u32,
    seed: u64,
    conditions: Conditions,
}

/// The simulated runs of a way, or the reason why there are none.
pub(super) type Simulated = Result<Runs, String>;

impl Simulation {
    pub(super) fn from_args(args: &SimulationArgs, seed: u64) -> Option<Self> {
        Some(Self { runs: args.simulate?, seed, conditions: args.conditions() })
    }

    pub(super) fn steps(&self, steps: &Steps, hardware: &HardwareProfile) -> Simulated {
        let requests = steps.work().requests.total().0;
        let all = requests.saturating_mul(self.runs.into());
        if all > MOST_REQUESTS {
            return Err(format!(
                "{requests} requests in each of {} runs are more than the {MOST_REQUESTS} that are simulated",
                self.runs
            ));
        }
        let runs = simulate_often(steps, hardware, &self.conditions, self.seed, self.runs);
        runs.map_err(|error| error.to_string())
    }

    pub(super) fn switch(
        &self,
        demand: &SwitchDemand,
        way: &str,
        hardware: &HardwareProfile,
    ) -> Simulated {
        let time = demand.simulate_often(way, hardware, SWITCH_SCATTER, self.seed, self.runs);
        Ok(Runs { time, refused: 0.0, in_flight: 0 })
    }

    /// Describes the simulation: `200 simulated runs (seed 1): first bytes are log-normal with σ = 0.62, …`
    pub(super) fn in_words(&self) -> String {
        let Conditions { latency, stragglers, throttle } = self.conditions;
        let scatter = match latency {
            Latency::Constant => "first bytes do not scatter".to_owned(),
            Latency::LogNormal(sigma) => format!("first bytes are log-normal with σ = {sigma}"),
        };
        let slow = match stragglers.share {
            0.0 => "no stragglers".to_owned(),
            share => format!(
                "{} % of the requests take {} times as long",
                100.0 * share,
                stragglers.factor
            ),
        };
        let refused = match throttle {
            None => "none is refused".to_owned(),
            Some(throttle) => {
                format!("more than {} requests/s are refused and sent again", throttle.per_second)
            }
        };
        format!("{} simulated runs (seed {}): {scatter}, {slow}, {refused}", self.runs, self.seed)
    }
}
