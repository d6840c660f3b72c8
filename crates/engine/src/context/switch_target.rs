//! Options that choose a switch.

use std::fmt;
use std::io::Read;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::common::config::{ConfigField, Visit};
use sluicegate_pruning::switch::Target;

/// The switch between the workers and the final stage of a query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SwitchTarget {
    /// There is no switch.
    #[default]
    Off,
    /// There is a switch with these limits.
    On {
        /// Name as given by the user: a built-in target or a file.
        name: String,
        /// Limits of the switch.
        target: Arc<Target>,
    },
}

impl SwitchTarget {
    /// Returns the switch's limits, or `None` if there is no switch.
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
                let toml = text_of(text).map_err(refused)?;
                Target::from_toml(&toml).map_err(|e| refused(shortened(&e.to_string())))?
            }
        };
        Ok(Self::On { name: text.to_owned(), target: Arc::new(target) })
    }
}

/// Longest accepted file in bytes. A target takes a few lines.
const FILE_BYTES: u64 = 64 << 10;
/// Longest error text shown of a damaged file, because errors quote its line.
const SHOWN: usize = 400;

/// Reads a file up to the limit, so that an endless one does not block.
fn text_of(path: &str) -> Result<String, String> {
    let unread = |error: std::io::Error| format!("as a file it cannot be read: {error}");
    let there = std::fs::metadata(path).map_err(unread)?;
    if there.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if !there.is_file() {
        return Err("it is a pipe, a socket or a device".to_owned());
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unread)?;
    file.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(unread)?;
    match text.len() as u64 > FILE_BYTES {
        true => Err(format!("the file has more than {} KiB", FILE_BYTES >> 10)),
        false => Ok(text),
    }
}

/// Returns the beginning of a text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
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
    /// Returns the probability.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for Delta {
    /// Returns the value of the paper, one query in ten thousand.
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
    fn what_may_have_no_end_is_not_read() {
        let error = |path: &str| path.parse::<SwitchTarget>().unwrap_err().to_string();
        #[cfg(unix)]
        assert!(error("/dev/zero").ends_with("it is a pipe, a socket or a device"));
        let folder = tempfile::tempdir().unwrap();
        assert!(error(folder.path().to_str().unwrap()).ends_with("it is a folder"));
        let path = folder.path().join("long.toml");
        let path = path.to_str().unwrap();
        std::fs::write(path, "x".repeat(1 << 20)).unwrap();
        assert!(error(path).ends_with("the file has more than 64 KiB"));
        std::fs::write(path, "x".repeat(60 << 10)).unwrap();
        let quoted = error(path);
        assert!(quoted.len() < 1000 && quoted.ends_with('…'), "{}", quoted.len());
    }

    #[test]
    fn probabilities() {
        assert_eq!("0".parse::<Delta>().unwrap().get(), 0.0);
        for bad in ["1", "-0.1", "NaN", "x"] {
            assert!(bad.parse::<Delta>().is_err(), "{bad}");
        }
    }
}
