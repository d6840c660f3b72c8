//! Samples of the CPU time and the bytes of processes, from `/proc`.

use std::fs;
use std::time::{Duration, Instant};

use crate::UsageSample;

/// Interval between samples.
const INTERVAL: Duration = Duration::from_millis(50);
/// Ticks per second of the CPU times in `/proc`, the same on all machines with Linux.
const TICKS: f64 = 100.0;

/// Samples a command and its store. Without `/proc` there are no samples.
pub(super) struct Sampler {
    client: u32,
    store: Option<u32>,
    started: Instant,
    /// The counters at the start.
    first: UsageSample,
    samples: Vec<UsageSample>,
}

impl Sampler {
    pub(super) fn new(client: u32, store: Option<u32>) -> Self {
        let mut sampler = Self {
            client,
            store,
            started: Instant::now(),
            first: UsageSample::default(),
            samples: Vec::new(),
        };
        sampler.first = sampler.now().unwrap_or_default();
        // The command's own time counts from its start.
        sampler.first.client_cpu = 0.0;
        sampler
    }

    /// Takes a sample if the last one is old enough.
    pub(super) fn sample(&mut self) {
        let last = self.samples.last().map_or(-1.0, |sample| sample.at);
        if self.started.elapsed().as_secs_f64() - last < INTERVAL.as_secs_f64() {
            return;
        }
        if let Some(now) = self.now() {
            self.samples.push(UsageSample {
                at: now.at,
                client_cpu: now.client_cpu,
                store_cpu: (now.store_cpu - self.first.store_cpu).max(0.0),
                link_bytes: now.link_bytes.saturating_sub(self.first.link_bytes),
                store_read: now.store_read.saturating_sub(self.first.store_read),
            });
        }
    }

    pub(super) fn finish(self) -> Vec<UsageSample> {
        self.samples
    }

    /// Returns the counters, with the time since the start.
    fn now(&self) -> Option<UsageSample> {
        let stat = |id: u32| fs::read_to_string(format!("/proc/{id}/stat")).ok();
        let client_cpu = cpu_seconds(&stat(self.client)?)?;
        let store_cpu = self.store.and_then(stat).and_then(|it| cpu_seconds(&it)).unwrap_or(0.0);
        let io = self.store.and_then(|id| fs::read_to_string(format!("/proc/{id}/io")).ok());
        let devices = fs::read_to_string("/proc/net/dev").unwrap_or_default();
        Some(UsageSample {
            at: self.started.elapsed().as_secs_f64(),
            client_cpu,
            store_cpu,
            link_bytes: loopback_bytes(&devices).unwrap_or(0),
            store_read: io.and_then(|it| read_bytes(&it)).unwrap_or(0),
        })
    }
}

/// Returns user and system time of `/proc/ID/stat`.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The program's name, in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

/// Returns the bytes that system calls have read, of `/proc/ID/io`.
fn read_bytes(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("rchar: ")?.trim().parse().ok())
}

/// Returns the bytes that the loopback device has received, of `/proc/net/dev`.
fn loopback_bytes(devices: &str) -> Option<u64> {
    let line = devices.lines().find_map(|line| line.trim().strip_prefix("lo:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_proc() {
        let stat = "42 (a b) c) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 100 0 0";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(read_bytes("rchar: 17\nwchar: 4\n"), Some(17));
        let devices = "Inter-| Receive\n face |bytes\n    lo:  123 4 0 0\n  eth0: 9 9\n";
        assert_eq!(loopback_bytes(devices), Some(123));
        assert_eq!(cpu_seconds("nothing"), None);
    }
}
