//! Measures the rate of a scan's link and decides when the scan changes to Select.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use datafusion::datasource::listing::PartitionedFile;
use datafusion::physical_plan::metrics::{
    CustomMetricValue, ExecutionPlanMetricsSet, MetricBuilder, MetricValue,
};
use sluicegate_costmodel::Bytes;

use super::AdaptiveInputs;
use crate::store::metrics::TextMetric;

/// The least time of waiting for bytes before a measurement counts.
const LEAST_WAITED: Duration = Duration::from_millis(200);
/// The least share of the predicted time of GET that must also have passed in waiting, so that a short stall at the
/// beginning of a long scan does not count.
const SHARE_WAITED: f64 = 0.05;
/// The fewest bytes before a measurement counts.
const LEAST_ARRIVED: Bytes = Bytes::kib(128);
/// A link counts as slower than predicted if its rate is below this share of the profile's.
const SLOWER: f64 = 0.5;

/// The way in which a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMethod {
    /// The file is read with GET.
    Get,
    /// The file is read with a statement.
    Select,
}

/// The measured rate of a scan's link, for all partitions together, and whether the scan has changed to Select.
///
/// Only the time counts in which a reader waits for the bytes of an answer that has begun. The time to the first byte
/// does not count, because it is the same over any link. The time in which all readers process bytes that have
/// arrived does not count either. Thus a slow client or a distant store is not taken for a slow link.
#[derive(Debug)]
pub struct Throughput {
    stakes: AdaptiveInputs,
    /// The least time of waiting before a measurement counts.
    least_waited: Duration,
    /// The bytes of all files and ranges.
    bytes: u64,
    files: u64,
    said: Arc<TextMetric>,
    state: Mutex<State>,
    #[cfg(test)]
    after: Option<u64>,
}

#[derive(Debug)]
struct State {
    /// The number of readers that wait for bytes now.
    waiting: u64,
    /// The time since which at least one reader waits.
    since: Option<Instant>,
    waited: Duration,
    arrived: u64,
    bytes_left: u64,
    files_left: u64,
    turned: bool,
}

impl State {
    fn waited(&self, now: Instant) -> Duration {
        let still = self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.waited + still
    }
}

impl Throughput {
    /// Creates the measurement for a scan that has not opened a file yet.
    #[must_use]
    pub fn new<'a>(
        stakes: AdaptiveInputs,
        files: impl Iterator<Item = &'a PartitionedFile>,
    ) -> Self {
        let (mut bytes, mut count) = (0_u64, 0_u64);
        for file in files {
            bytes = bytes.saturating_add(file.effective_size());
            count += 1;
        }
        let state = State {
            waiting: 0,
            since: None,
            waited: Duration::ZERO,
            arrived: 0,
            bytes_left: bytes,
            files_left: count,
            turned: false,
        };
        Self {
            least_waited: stakes.time_of_get().mul_f64(SHARE_WAITED).max(LEAST_WAITED),
            stakes,
            bytes,
            files: count,
            said: Arc::default(),
            state: Mutex::new(state),
            #[cfg(test)]
            after: None,
        }
    }

    /// Adds the result of the measurement to `metrics` for EXPLAIN ANALYZE.
    #[must_use]
    pub fn with_metrics(self, metrics: &ExecutionPlanMetricsSet) -> Self {
        MetricBuilder::new(metrics).build(MetricValue::Custom {
            name: "link".into(),
            value: Arc::clone(&self.said) as Arc<dyn CustomMetricValue>,
        });
        self
    }

    /// Makes the scan change when so many files are opened.
    #[cfg(test)]
    pub(super) fn switch_after(self, after: Option<u64>) -> Self {
        Self { after, ..self }
    }

    /// Records that a reader begins to wait for bytes.
    pub fn waits(&self, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting += 1;
        state.since.get_or_insert(now);
    }

    /// Records that a reader stops waiting.
    pub fn waited(&self, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting = state.waiting.saturating_sub(1);
        if state.waiting == 0 {
            state.waited = state.waited(now);
            state.since = None;
        }
    }

    /// Records that bytes have arrived.
    pub fn arrived(&self, bytes: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrived = state.arrived.saturating_add(bytes as u64);
    }

    /// Returns the number of readers that wait.
    #[cfg(test)]
    pub(super) fn readers(&self) -> u64 {
        self.state.lock().unwrap().waiting
    }

    /// Decides how a file, or a range of one, is read that is opened now. Once Select was chosen, all further files
    /// are read with it if the store accepts statements about them.
    pub fn opens(&self, file: &PartitionedFile, is_askable: bool, now: Instant) -> AccessMethod {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if is_askable && !state.turned {
            state.turned = self.should_use_select(&state, now);
        }
        state.bytes_left = state.bytes_left.saturating_sub(file.effective_size());
        state.files_left = state.files_left.saturating_sub(1);
        if state.turned && is_askable { AccessMethod::Select } else { AccessMethod::Get }
    }

    fn should_use_select(&self, state: &State, now: Instant) -> bool {
        #[cfg(test)]
        if let Some(after) = self.after {
            return self.files - state.files_left >= after;
        }
        let (waited, arrived) = (state.waited(now), Bytes(state.arrived));
        if waited < self.least_waited || arrived < LEAST_ARRIVED {
            return false;
        }
        let (gives, thought) = (arrived / waited, self.stakes.link());
        let share = state.bytes_left as f64 / self.bytes.max(1) as f64;
        let turns = gives.0 < SLOWER * thought.0 && self.stakes.prefer_select(gives, share);
        let State { files_left, .. } = state;
        self.said.set(match turns {
            true => format!(
                "{arrived} at {gives}, not {thought}: select for the last {files_left} of {} files \
                 or ranges",
                self.files
            ),
            false => format!("{arrived} at {gives}, of {thought}: get to the end"),
        });
        turns
    }
}

#[cfg(test)]
pub(super) mod tests {
    use sluicegate_costmodel::Objective;

    use super::super::inputs::tests::{FILE, FILES, stakes};
    use super::*;

    fn file() -> PartitionedFile {
        PartitionedFile::new("a.csv", FILE)
    }

    /// Returns a measurement over a fast link.
    pub(in super::super) fn fast_link() -> Throughput {
        pace(stakes(Objective::Time))
    }

    fn pace(stakes: AdaptiveInputs) -> Throughput {
        let files = vec![file(); FILES as usize];
        Throughput::new(stakes, files.iter())
    }

    /// Opens a file, which arrives at a rate while a reader waits.
    fn read(pace: &Throughput, now: &mut Instant, rate: f64) -> AccessMethod {
        let reads = pace.opens(&file(), true, *now);
        if reads == AccessMethod::Get {
            pace.waits(*now);
            *now += Duration::from_secs_f64(FILE as f64 / rate);
            pace.arrived(FILE as usize);
            pace.waited(*now);
        }
        reads
    }

    fn explain_switch(pace: &Throughput) -> String {
        pace.said.to_string()
    }

    #[test]
    fn it_turns_once_if_the_link_is_slower_than_thought() {
        let (pace, mut now) = (fast_link(), Instant::now());
        assert_eq!(read(&pace, &mut now, 12.5e6), AccessMethod::Get);
        assert_eq!(read(&pace, &mut now, 12.5e6), AccessMethod::Select);
        let expected = "9.54 MiB at 11.9 MiB/s, not 1.16 GiB/s: select for the last 99 of 100 files \
                        or ranges";
        assert_eq!(explain_switch(&pace), expected);
        // It does not change back, whatever arrives late.
        pace.arrived(1 << 40);
        for _ in 2..FILES {
            assert_eq!(read(&pace, &mut now, 12.5e6), AccessMethod::Select);
        }
        assert_eq!(explain_switch(&pace), expected);
    }

    #[test]
    fn it_stays_with_get_on_the_link_that_was_thought_of() {
        for rate in [1.25e9, 0.7e9] {
            let (pace, mut now) = (fast_link(), Instant::now());
            for _ in 0..FILES {
                assert_eq!(read(&pace, &mut now, rate), AccessMethod::Get);
            }
            assert!(
                explain_switch(&pace).ends_with("of 1.16 GiB/s: get to the end"),
                "{}",
                explain_switch(&pace)
            );
        }
    }

    #[test]
    fn who_minds_only_dollars_stays_with_get() {
        let stakes = stakes(Objective::Dollars);
        let (pace, mut now) = (pace(stakes), Instant::now());
        for _ in 0..FILES {
            assert_eq!(read(&pace, &mut now, 700e6), AccessMethod::Get);
        }
    }

    #[test]
    fn too_little_says_nothing() {
        // A stall at the beginning, and a few bytes that take long.
        for (bytes, seconds) in [(10_000_000, 0.1), (1000, 60.0)] {
            let (pace, mut now) = (fast_link(), Instant::now());
            pace.opens(&file(), true, now);
            pace.waits(now);
            now += Duration::from_secs_f64(seconds);
            pace.arrived(bytes);
            assert_eq!(pace.opens(&file(), true, now), AccessMethod::Get);
            assert_eq!(explain_switch(&pace), "");
        }
    }

    /// Two partitions share one link: each gets half of its rate.
    #[test]
    fn partitions_share_a_link() {
        let (pace, mut now) = (fast_link(), Instant::now());
        for _ in 0..FILES / 2 {
            for _ in 0..2 {
                assert_eq!(pace.opens(&file(), true, now), AccessMethod::Get);
                pace.waits(now);
            }
            now += Duration::from_secs_f64(2.0 * FILE as f64 / 1.25e9);
            pace.arrived(2 * FILE as usize);
            pace.waited(now);
            pace.waited(now);
        }
        assert!(
            explain_switch(&pace).contains(" at 1.16 GiB/s, of 1.16 GiB/s"),
            "{}",
            explain_switch(&pace)
        );
    }

    /// A client that is slow to process bytes does not wait for the link.
    #[test]
    fn a_slow_client_is_not_a_slow_link() {
        let (pace, mut now) = (fast_link(), Instant::now());
        for _ in 0..FILES {
            assert_eq!(read(&pace, &mut now, 1.25e9), AccessMethod::Get);
            now += Duration::from_secs(5);
        }
    }

    #[test]
    fn what_cannot_be_asked_about_is_fetched() {
        let (pace, mut now) = (fast_link(), Instant::now());
        read(&pace, &mut now, 12.5e6);
        assert_eq!(pace.opens(&file(), false, now), AccessMethod::Get);
        assert_eq!(read(&pace, &mut now, 12.5e6), AccessMethod::Select);
        assert_eq!(pace.opens(&file(), false, now), AccessMethod::Get);
    }
}
