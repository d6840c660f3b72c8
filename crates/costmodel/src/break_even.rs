//! Break-even points: closed formulas for when a strategy starts to pay, without a plan or a prediction.

use std::time::Duration;

use crate::rate::seconds;
use crate::{Bytes, BytesPerSecond, Dollars, PriceBook, Requests, Rows};

/// The client's ingest rate above which S3 Select cannot be cheaper than GET, however little it returns.
///
/// Select charges a scan fee and saves time of the client's machine. One GiB of scan fee buys `p_scan / p_machine`
/// seconds of the machine. A client that loads a GiB faster than that saves less than it pays.
///
/// Returns `None` if the scan or the machine is free, or if the store does not sell Select. Transfer fees are not
/// included: if data that leaves the region is billed, Select saves that as well.
///
/// ```
/// use sluicegate_costmodel::{PriceBook, break_even};
///
/// // For PushdownDB's r4.8xlarge: 2.54 Gbit/s. A client on a 10 Gbit/s link is above it.
/// let rate = break_even::select_ingest_rate(PriceBook::paper()).unwrap();
/// assert_eq!(format!("{:.2}", rate.as_gbit()), "2.54");
/// ```
#[must_use]
pub fn select_ingest_rate(prices: &PriceBook) -> Option<BytesPerSecond> {
    let saved = select_seconds_per_gib(prices)?;
    Some(Bytes::gib(1) / saved)
}

/// The seconds of the client's machine that S3 Select must save per scanned GiB to be cheaper than GET.
///
/// Returns `None` in the cases of [`select_ingest_rate`].
#[must_use]
pub fn select_seconds_per_gib(prices: &PriceBook) -> Option<Duration> {
    let time = read(prices)? / prices.compute.per_second();
    (time.is_finite() && time > 0.0).then(|| seconds(time))
}

/// The fee per GiB that Select reads from uncompressed objects, without any charge for the store's cores.
fn read(prices: &PriceBook) -> Option<Dollars> {
    prices.select.map(|select| select.scanned + select.processed)
}

/// The number of rows up to which an index with one GET per row costs less in requests than an S3 Select scan of the
/// table costs in scan fees.
///
/// Returns `None` if requests are free or Select is not sold.
#[must_use]
pub fn index_rows(prices: &PriceBook, table: Bytes) -> Option<Rows> {
    let rows = read(prices)? * table.as_gib() / (prices.requests.get / 1000.0);
    rows.is_finite().then_some(Rows(rows as u64))
}

/// The sample size, `√(K·N/α)` rows, at which a sampling top-K returns the fewest bytes.
///
/// Phase 1 returns the order column of the sample, a fraction α of each row's bytes. Phase 2 returns all rows beyond
/// the K-th of the sample, about K·N/S of them. The result is between K and N rows.
#[must_use]
pub fn top_k_sample(k: Rows, rows: Rows, order_fraction: f64) -> Rows {
    let sample = (k.as_f64() * rows.as_f64() / order_fraction).sqrt();
    Rows::from_f64(sample).clamp(k.min(rows), rows)
}

/// The bytes that a top-K returns with a sample of [`top_k_sample`] rows: `2·B·√(α·K·N)` for rows of B bytes.
#[must_use]
pub fn top_k_returned(k: Rows, rows: Rows, order_fraction: f64, bytes_per_row: f64) -> Bytes {
    Bytes::from_f64(2.0 * bytes_per_row * (order_fraction * k.as_f64() * rows.as_f64()).sqrt())
}

/// The number of keys that a Bloom filter of this many bits holds at this false-positive rate: `m·ln²2/|ln p|`.
///
/// The rate must lie strictly between 0 and 1; any other rate returns 0 keys.
#[must_use]
pub fn bloom_keys(bits: u64, false_positives: f64) -> u64 {
    if false_positives > 0.0 && false_positives < 1.0 {
        let ln2 = std::f64::consts::LN_2;
        (bits as f64 * ln2 * ln2 / -false_positives.ln()) as u64
    } else {
        0
    }
}

/// The false-positive rate of a Bloom filter that minimises a join's time or dollars: `p = probe / (ln 2 · (1 −
/// selectivity) · row)`, at most 1. At 1, no filter is best.
///
/// `probe` is the seconds or dollars of one hash function for one scanned row; there are `log₂(1/p)` functions. `row`
/// is the seconds or dollars of one returned row, on the link and in the client. `selectivity` is the fraction of
/// rows that the join keeps.
///
/// The formula holds for a store that evaluates all hash functions for every row. A store that stops at the first
/// unset bit evaluates about two of them whatever p is, so p may be as small as fits ([`bloom_keys`]).
#[must_use]
pub fn bloom_false_positives(probe: f64, row: f64, selectivity: f64) -> f64 {
    let returned = std::f64::consts::LN_2 * (1.0 - selectivity).max(0.0) * row;
    let rate = probe / returned;
    if rate.is_nan() { 1.0 } else { rate.clamp(0.0, 1.0) }
}

/// The largest number of groups for which CASE columns in the store take less time than grouping all rows in the
/// client.
///
/// `here` is the time of grouping in the client, `scan` the store's scan time without any group. `each` is the time
/// that one group adds: rows · aggregates · time of a CASE column, divided among the store's cores.
#[must_use]
pub fn groups_in_time(here: Duration, scan: Duration, each: Duration) -> u64 {
    groups(here.as_secs_f64() - scan.as_secs_f64(), each)
}

/// The largest number of groups for which CASE columns in the store also cost less.
///
/// The store's scan of `scanned` bytes is billed; the client's machine is billed for the time that is not saved.
/// Returns `None` in the cases of [`select_ingest_rate`].
#[must_use]
pub fn groups_in_dollars(
    prices: &PriceBook,
    scanned: Bytes,
    here: Duration,
    scan: Duration,
    each: Duration,
) -> Option<u64> {
    let fee = select_seconds_per_gib(prices)?.as_secs_f64() * scanned.as_gib();
    Some(groups(here.as_secs_f64() - scan.as_secs_f64() - fee, each))
}

fn groups(saved: f64, each: Duration) -> u64 {
    let groups = saved / each.as_secs_f64();
    // If groups take no time, their number is unlimited.
    if groups.is_nan() { u64::MAX } else { groups.max(0.0) as u64 }
}

/// The number of concurrent requests that fill a link: rate × (latency + size/connection) / size.
#[must_use]
pub fn requests_in_flight(
    link: BytesPerSecond,
    latency: Duration,
    connection: BytesPerSecond,
    size: Bytes,
) -> Requests {
    let one = latency.as_secs_f64() + size.as_f64() / connection.0;
    Requests((link.0 * one / size.as_f64()).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn select_pays_below_two_and_a_half_gbit() {
        let prices = PriceBook::paper();
        let rate = select_ingest_rate(prices).unwrap();
        assert_eq!(format!("{:.4}", rate.0 / 1_073_741_824.0), "0.2956");
        let saved = select_seconds_per_gib(prices).unwrap();
        assert_eq!(format!("{:.2}", saved.as_secs_f64()), "3.38");
    }

    /// Checks the formula against the two bills that it compares.
    #[test]
    fn at_the_break_even_both_bills_are_equal() {
        use crate::Work;
        let prices = PriceBook::paper();
        let bytes = Bytes::gib(7);
        let wall = bytes / select_ingest_rate(prices).unwrap();
        let get = prices.cost(&Work { got: bytes, wall, ..Work::default() });
        let select = prices.cost(&Work { scanned: bytes, ..Work::default() });
        assert!((get.total() / select.total() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn where_nothing_is_billed_there_is_no_break_even() {
        let none = [
            "free",
            "s3-express-us-east-1",
            "s3-standard-2026-us-east-1",
            "paper-2020-us-east-1-internet",
        ];
        for name in none {
            let prices = PriceBook::by_name(name).unwrap();
            assert_eq!(select_ingest_rate(prices), None, "{name}");
            let (long, short) = (Duration::from_secs(10), Duration::from_secs(1));
            assert_eq!(groups_in_dollars(prices, Bytes(1), long, short, short), None, "{name}");
        }
        assert_eq!(index_rows(PriceBook::by_name("free").unwrap(), Bytes::gib(1)), None);
    }

    /// For 7.25 GB of lineitem: 33 760 rows, a selectivity of 5.6e-4 among 60 million.
    #[test]
    fn an_index_pays_for_few_rows() {
        let rows = index_rows(PriceBook::paper(), Bytes(7_250_000_000)).unwrap();
        assert!((33_750..33_770).contains(&rows.0), "{rows}");
        assert_eq!(format!("{:.1e}", rows.as_f64() / 6e7), "5.6e-4");
    }

    /// PushdownDB, section VII: K = 100, N = 6e7, α = 0.1 make a sample of 2.4e5 rows.
    #[test]
    fn the_papers_top_k_sample() {
        let (k, n) = (Rows(100), Rows(60_000_000));
        assert_eq!(top_k_sample(k, n, 0.1), Rows(244_949));
        let megabytes = top_k_returned(k, n, 0.1, 120.0).as_f64() / 1e6;
        assert_eq!(format!("{megabytes:.1}"), "5.9");
        assert_eq!(top_k_sample(Rows(100), Rows(10), 0.1), Rows(10));
        assert_eq!(top_k_sample(Rows(5), Rows(5), 1.0), Rows(5));
    }

    /// Fills the 256 KiB that AWS allows for a statement with bits only.
    #[test]
    fn a_statement_holds_so_many_bloom_keys() {
        let bits = 256 * 1024;
        for (rate, thousands) in [(0.01, "27.3"), (0.1, "54.7"), (0.5, "181.7")] {
            assert_eq!(format!("{:.1}", bloom_keys(bits, rate) as f64 / 1e3), thousands, "{rate}");
        }
        for nonsense in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(bloom_keys(bits, nonsense), 0);
        }
    }

    /// PushdownDB's join of customer and orders: 15 million rows of 116 bytes in 96 requests, a SUBSTRING
    /// of 1.9 µs, and a client that takes 100 MB/s, or all of a 10 Gbit/s link.
    #[test]
    fn the_best_bloom_filter_depends_on_the_client() {
        let (rows, probe, kept) = (15e6, 1.9e-6 / 96.0, 68e3 / 15e6);
        for (ingest, expected) in [(100e6, "0.025"), (1.163e9, "0.288")] {
            let row = 116.0 / ingest;
            let best = bloom_false_positives(probe, row, kept);
            assert_eq!(format!("{best:.3}"), expected);
            let seconds = |p: f64| rows * (probe * -p.log2() + (kept + p * (1.0 - kept)) * row);
            for other in [0.5, 0.9, 1.1, 2.0].map(|factor: f64| (best * factor).min(1.0)) {
                assert!(seconds(best) < seconds(other), "{other}");
            }
        }
        // The slower client's published optimum is 0.01, from 0.0001, 0.001, 0.01, 0.1, 0.3 and 0.5.
        assert_eq!(bloom_false_positives(1.0, 1e-9, 0.5), 1.0);
        assert_eq!(bloom_false_positives(1.0, 1.0, 1.0), 1.0);
        assert_eq!(bloom_false_positives(0.0, 0.0, 0.0), 1.0);
        assert_eq!(bloom_false_positives(0.0, 1.0, 0.0), 0.0);
    }

    /// PushdownDB, section VI, with four aggregates over 64 million rows: costs are close up to eight groups. S3
    /// takes as long as a filtered load at twelve groups, and as long as loading everything at 24.
    #[test]
    fn groups_in_the_store_pay_while_they_are_few() {
        let seconds = Duration::from_secs_f64;
        let each = seconds(1.32 * 640_000.0 * 4.0 * 1.136e-6);
        let scan = seconds(2.5 + 2.5 * (0.2 + 107.65 / 130.0));
        let (server, filtered) = (seconds(97.6), seconds(51.4));
        assert_eq!(groups_in_time(filtered, scan, each), 12);
        assert_eq!(groups_in_time(server, scan, each), 24);
        let scanned = Bytes(2 * 10_765_000_000);
        let dollars = groups_in_dollars(PriceBook::paper(), scanned, server, scan, each);
        assert_eq!(dollars, Some(6));
        assert_eq!(groups_in_time(scan, server, each), 0);
        assert_eq!(groups_in_time(server, server, Duration::ZERO), u64::MAX);
    }

    /// A link of 10 Gbit/s with 30 ms to the first byte and 50 MiB/s per connection.
    #[test]
    fn small_requests_need_many_in_flight() {
        for (mib, expected) in [(1, 60), (8, 29), (16, 27), (64, 25)] {
            let requests = requests_in_flight(
                BytesPerSecond::gbit(10.0),
                Duration::from_millis(30),
                BytesPerSecond(50.0 * 1_048_576.0),
                Bytes::mib(mib),
            );
            assert_eq!(requests, Requests(expected), "{mib} MiB");
        }
    }
}
