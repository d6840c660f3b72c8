//! A Select request and the expected shape of its answer.

use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::SchemaRef;

use super::metrics::SelectMetrics;
use sluicegate_s3select::request::SelectRequest;

/// One `SelectObjectContent` call, and the shape of its answer.
#[derive(Debug, Clone)]
pub struct SelectCall {
    /// The name of the bucket.
    pub bucket: String,
    /// The key of the object in that bucket.
    pub key: String,
    /// The statement and the formats of its input and output.
    pub request: SelectRequest,
    /// The version of the object that the answer must come from, with or without the quotes of the
    /// header. Without it, an answer that breaks off after some rows were returned can only be
    /// resumed if the store itself names the version.
    pub e_tag: Option<String>,
    /// The columns of the answer, in the order of the SELECT list (CSV) or by name (JSON). With a
    /// schema without columns, rows are only counted: the statement selects one constant, and the
    /// batches have a row count and no columns.
    pub schema: SchemaRef,
    /// The maximum number of rows in a batch; at least 1.
    pub batch_size: usize,
    /// True if the columns' types were inferred from a sample of a CSV object. A date with a time of day is then an
    /// error. Otherwise its time of day is dropped.
    pub sampled_types: bool,
    /// The time after which a silent store is given up.
    /// [`ConnectOptions::idle_timeout`](super::ConnectOptions::idle_timeout) applies if this is `None`.
    pub idle_timeout: Option<Duration>,
    /// The policy for retrying an answer that breaks off.
    pub retry: RetryPolicy,
    /// The counters to add to; several calls may share them.
    pub metrics: Arc<SelectMetrics>,
}

impl SelectCall {
    /// Creates a call with batches of 8192 rows, the default retry policy and its own counters, for the current
    /// version of the object.
    pub fn new(
        bucket: impl Into<String>,
        key: impl Into<String>,
        request: SelectRequest,
        schema: SchemaRef,
    ) -> Self {
        Self {
            bucket: bucket.into(),
            key: key.into(),
            request,
            e_tag: None,
            schema,
            batch_size: 8192,
            sampled_types: false,
            idle_timeout: None,
            retry: RetryPolicy::default(),
            metrics: Arc::default(),
        }
    }
}

/// The number and the delays of the retries after an answer broke off. Requests whose answer never began are counted
/// separately ([`ConnectOptions::request_attempts`](super::ConnectOptions::request_attempts)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of answers that are begun, including the first; at least 1.
    pub stream_attempts: u32,
    /// The pause before the second answer; it doubles before each further one.
    pub initial_backoff: Duration,
    /// The upper limit of the pauses.
    pub max_backoff: Duration,
    /// The seed of the jitter, which reduces a pause by up to half.
    pub seed: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            stream_attempts: 4,
            initial_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            seed: 0,
        }
    }
}

impl RetryPolicy {
    /// Returns the pause after `failures` failed attempts (from 1).
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let pause = self.initial_backoff.saturating_mul(1 << doublings).min(self.max_backoff);
        // SplitMix64, stateless: the n-th pause of a seed is always the same.
        let mut z = self.seed.wrapping_add(u64::from(failures).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        #[expect(clippy::cast_precision_loss, reason = "a jitter needs no 53rd bit")]
        let unit = (z >> 11) as f64 / (1_u64 << 53) as f64;
        pause.mul_f64(0.5 + 0.5 * unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_jittered_by_the_seed() {
        let policy = |seed| RetryPolicy { seed, ..RetryPolicy::default() };
        for failures in 1..=40 {
            let full = Duration::from_millis(100)
                .saturating_mul(1 << (failures - 1).min(20))
                .min(Duration::from_secs(5));
            let pause = policy(7).backoff(failures);
            assert!(pause >= full / 2 && pause <= full, "{failures}: {pause:?}");
            assert_eq!(pause, policy(7).backoff(failures));
        }
        assert_ne!(policy(7).backoff(1), policy(8).backoff(1));
    }
}
