//! The size of the samples where the user gives none. Samples should be as large as the data of queries, so that they
//! do not fit in a processor's cache, but a slow link must not take minutes to carry them.

use std::time::Instant;

use sluicegate_costmodel::{Bytes, RequestCounts, Requests, Work};

use super::data::Object;
use crate::commands::samples::Samples;
use crate::failure::Result;

/// The size over a link that carries it in a second.
pub(super) const LARGEST: Bytes = Bytes::mib(32);
/// The size over a slow link.
const LEAST: Bytes = Bytes::mib(2);
/// Bytes that are written and read to measure the link.
const PROBE: Bytes = Bytes::mib(1);
const NAME: &str = "size/0.csv";
/// Bytes of a request whose time is only latency.
const TINY: Bytes = Bytes(1);

/// Returns the bytes that the slower direction of the link carries in a second, between [`LEAST`] and [`LARGEST`].
pub(super) async fn transferred_per_second(
    samples: &mut Samples<'_>,
    part: &Object,
) -> Result<Bytes> {
    let mut bytes = part.contents.clone();
    bytes.truncate(PROBE.0 as usize);
    let started = Instant::now();
    samples.write([(NAME.to_owned(), bytes)]).await?;
    let written = started.elapsed().as_secs_f64();
    let [mut tiny, mut read] = [0.0; 2];
    // The first requests may open a connection, so the second ones count.
    for _ in 0..2 {
        tiny = seconds(samples, TINY).await?;
        read = seconds(samples, PROBE).await?;
    }
    let size = within_a_second(read.max(written) - tiny);
    tracing::debug!(written, read, tiny, %size, "measured the link");
    Ok(size)
}

async fn seconds(samples: &Samples<'_>, bytes: Bytes) -> Result<f64> {
    let started = Instant::now();
    samples.read(NAME, bytes).await?;
    Ok(started.elapsed().as_secs_f64())
}

/// Returns the size of samples over a link that carries the probe in so many seconds.
fn within_a_second(probe_seconds: f64) -> Bytes {
    // On a fast link, the difference of two measured times may be negative.
    let size = PROBE.as_f64() / probe_seconds.max(f64::MIN_POSITIVE);
    Bytes::from_f64(size.clamp(LEAST.as_f64(), LARGEST.as_f64()))
}

/// Returns the work of this measurement.
pub(super) fn work() -> Work {
    Work {
        // The probe is put and deleted.
        requests: RequestCounts { get: Requests(4), put: Requests(2), ..RequestCounts::default() },
        sent: PROBE,
        got: PROBE * 2_u64 + TINY * 2_u64,
        link: PROBE * 2_u64 + TINY * 2_u64,
        ..Work::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_as_large_as_a_second_of_the_link_within_bounds() {
        assert_eq!(within_a_second(0.125), Bytes::mib(8));
        for (seconds, size) in [(3.0, LEAST), (0.001, LARGEST), (0.0, LARGEST), (-0.1, LARGEST)] {
            assert_eq!(within_a_second(seconds), size);
        }
    }
}
