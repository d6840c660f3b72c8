//! The options that choose a switch.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::common::config::{ConfigField, Visit};
use sluicegate_pruning::switch::Target;

/// The switch between the workers and the final stage of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SwitchTarget {
    /// None.
    #[default]
    Off,
    /// One with these limits.
    On {
        /// Its name as given: a built-in target or a file.
        name: String,
        /// Its limits.
        target: Arc<Target>,
    },
}

impl SwitchTarget {
    /// The switch's limits, if there is one.
    #[must_use]
    pub fn target(&self) -> Option<&Arc<Target>> {
        match self {
            Self::Off => None,
            Self::On { target, .. } => Some(target),
        }
    }
}

impl FromStr for SwitchTarget {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.to_ascii_lowercase();
        if lower == "off" {
            return Ok(Self::Off);
        }
        let refused = |why: String| {
            DataFusionError::Configuration(format!(
                "sluice.switch is '{text}', but must be 'off', 'tofino1', 'tofino2', 'paper' or a target file: {why}"
            ))
        };
        let target = match Target::named(&lower) {
            Some(target) => target,
            None => {
                let toml = std::fs::read_to_string(text)
                    .map_err(|e| refused(format!("as a file it cannot be read: {e}")))?;
                Target::from_toml(&toml).map_err(|e| refused(e.to_string()))?
            }
        };
        Ok(Self::On { name: text.to_owned(), target: Arc::new(target) })
    }
}

impl fmt::Display for SwitchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::On { name, .. } => f.write_str(name),
        }
    }
}

impl ConfigField for SwitchTarget {
    fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
        v.some(key, self, description);
    }

    fn set(&mut self, _key: &str, value: &str) -> datafusion::common::Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

/// The allowed probability of a wrong answer, at least 0 and below 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delta(f64);

impl Delta {
    /// The probability.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for Delta {
    /// The paper's: one query in ten thousand.
    fn default() -> Self {
        Self(1e-4)
    }
}

impl FromStr for Delta {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().parse() {
            Ok(delta) if (0.0..1.0).contains(&delta) => Ok(Self(delta)),
            _ => Err(DataFusionError::Configuration(format!(
                "sluice.switch_delta is '{text}', but must be a probability of at least 0 and below 1"
            ))),
        }
    }
}

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ConfigField for Delta {
    fn visit<V: Visit>(&self, v: &mut V, key: &str, description: &'static str) {
        v.some(key, self, description);
    }

    fn set(&mut self, _key: &str, value: &str) -> datafusion::common::Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files() {
        assert_eq!("OFF".parse::<SwitchTarget>().unwrap(), SwitchTarget::Off);
        let named: SwitchTarget = "tofino2".parse().unwrap();
        assert_eq!(named.target().unwrap().stages, 20);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("half.toml");
        std::fs::write(&path, "base = 'tofino1'\nname = 'half'\nstages = 6").unwrap();
        let file: SwitchTarget = path.to_str().unwrap().parse().unwrap();
        assert_eq!(file.target().unwrap().stages, 6);
        assert_eq!(file.to_string(), path.to_str().unwrap());
        std::fs::write(&path, "stagez = 6").unwrap();
        for bad in [path.to_str().unwrap(), "tofino3"] {
            let error = bad.parse::<SwitchTarget>().unwrap_err().to_string();
            assert!(error.contains(bad) && error.contains("tofino2"), "{error}");
        }
    }

    #[test]
    fn probabilities() {
        assert_eq!("0".parse::<Delta>().unwrap().get(), 0.0);
        for bad in ["1", "-0.1", "NaN", "x"] {
            assert!(bad.parse::<Delta>().is_err(), "{bad}");
        }
    }
}
