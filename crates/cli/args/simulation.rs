//! Arguments for simulated runs.

use std::str::FromStr;

use sluicegate_costmodel::simulation::{Conditions, Latency, Stragglers, Throttle};

/// Number and conditions of simulated runs.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct SimulationArgs {
    /// Simulate each way so often, too: requests wait for slots, first bytes scatter, all share the link
    #[arg(long, value_name = "RUNS", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) simulate: Option<u32>,
    /// How first bytes of simulated requests scatter: the standard deviation of the logarithm, 0 to 3 (S3
    /// Standard: 0.62, S3 Express: 0.57)
    #[arg(
        long,
        value_name = "SIGMA",
        allow_negative_numbers = true,
        default_value = "0.62",
        requires = "simulate"
    )]
    pub(crate) scatter: Scatter,
    /// Simulated requests that take longer for no reason: their share, and how many times as long
    #[arg(
        long,
        value_name = "SHARE:FACTOR",
        allow_hyphen_values = true,
        default_value = "0:1",
        requires = "simulate"
    )]
    pub(crate) stragglers: Slow,
    /// Requests per second that the simulated store admits, beyond which it answers 503 and they are sent
    /// again (S3: 5500 GETs for one prefix) [default: no limit]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, requires = "simulate")]
    pub(crate) throttle: Option<Admitted>,
}

impl SimulationArgs {
    pub(crate) fn conditions(&self) -> Conditions {
        let throttle = |rate: Admitted| Throttle {
            per_second: rate.0,
            burst: rate.0.max(1.0),
            ..Throttle::default()
        };
        Conditions {
            latency: match self.scatter.0 {
                0.0 => Latency::Constant,
                sigma => Latency::LogNormal(sigma),
            },
            stragglers: self.stragglers.0,
            throttle: self.throttle.map(throttle),
        }
    }
}

/// The standard deviation of the logarithm of first-byte times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scatter(pub(crate) f64);

impl FromStr for Scatter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().parse() {
            Ok(sigma) if (0.0..=3.0).contains(&sigma) => Ok(Self(sigma)),
            _ => Err(format!("`{text}` is not a number from 0 to 3")),
        }
    }
}

/// Stragglers as share and factor: `1%:5`, `0.01:5`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slow(Stragglers);

impl FromStr for Slow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || {
            format!(
                "`{text}` is not a share and a factor of 1 to 1000 such as 1%:5, one in a hundred five times as slow"
            )
        };
        let (share, factor) = text.split_once(':').ok_or_else(error)?;
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| error());
        let share = match share.trim().strip_suffix('%') {
            Some(percent) => number(percent)? / 100.0,
            None => number(share)?,
        };
        let factor = number(factor)?;
        match (0.0..=1.0).contains(&share) && (1.0..=1000.0).contains(&factor) {
            true => Ok(Self(Stragglers { share, factor })),
            false => Err(error()),
        }
    }
}

/// A limit in requests per second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted(f64);

impl FromStr for Admitted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().parse() {
            Ok(rate) if (1.0..=1e9).contains(&rate) => Ok(Self(rate)),
            _ => Err(format!("`{text}` is not a number of requests per second, 1 to 1e9")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stragglers_are_a_share_and_a_factor() {
        for (text, share, factor) in [("1%:5", 0.01, 5.0), ("0.5:2", 0.5, 2.0), ("0:1", 0.0, 1.0)] {
            assert_eq!(text.parse::<Slow>().unwrap().0, Stragglers { share, factor });
        }
        for bad in ["1%", "2:5", "1%:0.5", "1%:nan", "-1%:5", ":", "nan:2", "1%:inf", "1%:1e9"] {
            assert!(bad.parse::<Slow>().is_err(), "{bad}");
        }
        for bad in ["-0.1", "nan", "inf", "x", "4"] {
            assert!(bad.parse::<Scatter>().is_err(), "{bad}");
        }
        for bad in ["0", "-5", "nan", "inf", "fast"] {
            assert!(bad.parse::<Admitted>().is_err(), "{bad}");
        }
    }
}
