//! The options of a session, set in code or by `SET sluice.…`.

use std::fmt;
use std::str::FromStr;

use datafusion::common::DataFusionError;
use datafusion::common::config::{ConfigExtension, ConfigField, ConfigOptions, Visit};
use datafusion::common::extensions_options;

use crate::switch::{Delta, SwitchTarget};

/// How tables in the store are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scan {
    /// Whichever of the other two the cost model predicts to be better.
    #[default]
    Auto,
    /// Whole objects are fetched and filtered here.
    Get,
    /// The store filters, projects and aggregates, wherever it can.
    Select,
}

impl FromStr for Scan {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "get" => Ok(Self::Get),
            "select" => Ok(Self::Select),
            other => Err(DataFusionError::Configuration(format!(
                "sluice.scan is '{other}', but must be 'auto', 'get' or 'select'"
            ))),
        }
    }
}

impl fmt::Display for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Get => "get",
            Self::Select => "select",
        })
    }
}

impl ConfigField for Scan {
    fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
        v.some(key, self, description);
    }

    fn set(&mut self, _key: &str, value: &str) -> datafusion::common::Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

/// What a choice among strategies minimises: the cost model's objective as an option.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Objective(pub sluicegate_costmodel::Objective);

impl From<Objective> for sluicegate_costmodel::Objective {
    fn from(Objective(objective): Objective) -> Self {
        objective
    }
}

impl FromStr for Objective {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse()
            .map(Self)
            .map_err(|error| DataFusionError::Configuration(format!("sluice.objective: {error}")))
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ConfigField for Objective {
    fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
        v.some(key, self, description);
    }

    fn set(&mut self, _key: &str, value: &str) -> datafusion::common::Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

extensions_options! {
    /// Options under the prefix `sluice`.
    pub struct SluiceOptions {
        /// How tables in the store are read: 'auto', 'get' or 'select'
        pub scan: Scan, default = Scan::Auto

        /// What 'auto' minimises: 'time', 'dollars', or the bill plus what an hour of waiting is worth, such as '12 dollars per hour'
        pub objective: Objective, default = Objective::default()

        /// Whether aggregates without GROUP BY are computed in the store
        pub aggregates: bool, default = true

        /// An object is split among parallel Select requests of at least this many bytes each
        pub range_bytes: usize, default = 16 * 1024 * 1024

        /// The switch that prunes rows on their way: 'off', 'tofino1', 'tofino2', 'paper' or a target file
        pub switch: SwitchTarget, default = SwitchTarget::Off

        /// The allowed probability of a wrong answer through randomized pruning; 0 allows deterministic pruning only
        pub switch_delta: Delta, default = Delta::default()

        /// Seed of the switch's random choices: hashes, fingerprints, rows
        pub switch_seed: u64, default = 1

        /// Whether workers evaluate those predicates of WHERE that the switch cannot, and send the outcome
        pub switch_workers: bool, default = false

        /// After so many packets of which fewer than 1 % were pruned, a worker bypasses the program, except with one batch in 64; 0: never
        pub switch_patience: u64, default = 16_384

        /// Whether EXPLAIN ANALYZE also counts what a switch without limits would forward; keeps all keys in memory
        pub switch_opt: bool, default = false
    }
}

impl ConfigExtension for SluiceOptions {
    const PREFIX: &'static str = "sluice";
}

impl SluiceOptions {
    /// The options of a session; the defaults if the session has none.
    #[must_use]
    pub fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }
}
