//! The machine on which experiments ran.

use std::fs;
use std::thread;

use serde::{Deserialize, Serialize};

/// The machine, as far as the system tells.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The model of the processor.
    pub processor: Option<String>,
    /// The processors that this program may use.
    pub cores: Option<usize>,
    /// The memory in bytes.
    pub memory: Option<u64>,
    /// The name and the release of the system.
    pub system: Option<String>,
}

impl Machine {
    /// Returns this machine. What is unknown is `None`; without `/proc` this is all but the cores and the system's name.
    #[must_use]
    pub fn this() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let release = read("/proc/sys/kernel/osrelease");
        let system = match release.as_deref().map(str::trim) {
            Some(release) => format!("{} {release}", std::env::consts::OS),
            None => std::env::consts::OS.to_owned(),
        };
        Self {
            processor: read("/proc/cpuinfo").as_deref().and_then(processor),
            cores: thread::available_parallelism().ok().map(Into::into),
            memory: read("/proc/meminfo").as_deref().and_then(memory),
            system: Some(format!("{system}, {}", std::env::consts::ARCH)),
        }
    }
}

fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

fn processor(cpuinfo: &str) -> Option<String> {
    value(cpuinfo, "model name").filter(|it| !it.is_empty()).map(str::to_owned)
}

fn memory(meminfo: &str) -> Option<u64> {
    let kibibytes = value(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse::<u64>().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_read_from_proc() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.10GHz\nprocessor\t: 1\n";
        assert_eq!(processor(cpuinfo).as_deref(), Some("Some CPU @ 2.10GHz"));
        assert_eq!(processor("processor\t: 0\nmodel name\t:\n"), None);
        assert_eq!(memory("MemTotal:        2048 kB\nMemFree: 1 kB\n"), Some(2_097_152));
        assert_eq!(memory("MemTotal: many"), None);
        assert!(Machine::this().system.is_some());
    }
}
