//! The largest gap between two ranges of an object that one request should still read through.

use crate::{Bytes, HardwareProfile, Objective, PriceBook};

/// The largest gap that is ever read, in bytes.
const MOST: u64 = 64 * 1024 * 1024;

/// The gap in bytes at which reading it costs as much as a second request, if `in_flight` requests are sent at once.
///
/// A request costs its share of the latency or of the request rate, whichever is larger, and its price. A byte costs
/// time on the link or in the parser, whichever is slower, and the price of transfer.
///
/// ```
/// use sluicegate_costmodel::{Bytes, HardwareProfile, Objective, PriceBook, gap};
///
/// let hardware = HardwareProfile::by_name("local-1gbit").unwrap();
/// // A sixteenth of a millisecond at 120 MB/s.
/// assert_eq!(gap(hardware, PriceBook::paper(), Objective::Time, 16), Bytes(7500));
/// ```
#[must_use]
pub fn gap(
    hardware: &HardwareProfile,
    prices: &PriceBook,
    objective: Objective,
    in_flight: u32,
) -> Bytes {
    let in_flight = in_flight.clamp(1, hardware.requests.slots.get());
    let waiting = hardware.link.latency.as_secs_f64() / f64::from(in_flight);
    let cores = f64::from(hardware.client.cores.get());
    let asking = hardware.client.per_request.unwrap_or_default().as_secs_f64() / cores;
    let request_seconds = waiting.max(1.0 / hardware.requests.per_second).max(asking);
    let parsed = hardware.client.csv_bytes_per_second.0 * cores;
    let byte_seconds = (1.0 / hardware.link.bytes_per_second.0).max(1.0 / parsed);
    let rent = prices.compute.per_second().0;
    let request_dollars = prices.requests.get.0 / 1000.0 + rent * request_seconds;
    let transfer = (prices.transfer.out + prices.transfer.retrieved).0;
    let byte_dollars = transfer * Bytes(1).as_gib() + rent * byte_seconds;
    let (request, byte) = match objective {
        Objective::Time => (request_seconds, byte_seconds),
        Objective::Dollars => (request_dollars, byte_dollars),
        Objective::Weighted { dollars_per_hour } => {
            let second = dollars_per_hour.0 / 3600.0;
            (request_dollars + second * request_seconds, byte_dollars + second * byte_seconds)
        }
    };
    let bytes = request / byte;
    if bytes.is_nan() { Bytes::ZERO } else { Bytes::from_f64(bytes.min(MOST as f64)) }
}

/// The overhead of one more range in a multi-range request, expressed in bytes: its place in the header, the header
/// of its part of the answer, and the time to find it.
pub const RANGE_BYTES: Bytes = Bytes(160);

/// The largest gap worth reading between ranges that share one request.
///
/// `request` is the cost of a whole request in bytes, as returned by [`gap`]. Each range costs its share of that,
/// plus [`RANGE_BYTES`].
///
/// ```
/// use sluicegate_costmodel::{Bytes, gap_among};
///
/// assert_eq!(gap_among(Bytes(7500), 1), Bytes(7500));
/// assert_eq!(gap_among(Bytes(7500), 100), Bytes(235));
/// ```
#[must_use]
pub fn gap_among(request: Bytes, ranges_per_request: u32) -> Bytes {
    match ranges_per_request {
        0 | 1 => request,
        ranges => Bytes(request.0 / u64::from(ranges) + RANGE_BYTES.0),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{BytesPerSecond, Dollars};

    #[test]
    fn a_gap_is_what_a_request_costs() {
        let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
        let prices = PriceBook::by_name("free").unwrap();
        // 1 ms over 16 requests, at 120 MB/s.
        assert_eq!(gap(&hardware, prices, Objective::Time, 16), Bytes(7500));
        hardware.link.latency = Duration::from_millis(5);
        assert_eq!(gap(&hardware, prices, Objective::Time, 16), Bytes(37_500));
        hardware.link.bytes_per_second = BytesPerSecond(12e6);
        assert_eq!(gap(&hardware, prices, Objective::Time, 16), Bytes(3750));
        // One request at a time.
        assert_eq!(gap(&hardware, prices, Objective::Time, 1), Bytes(60_000));
    }

    #[test]
    fn where_transfer_is_sold_bytes_weigh_more() {
        let hardware = HardwareProfile::by_name("local-1gbit").unwrap();
        let mut prices = PriceBook::paper().clone();
        let free = gap(hardware, &prices, Objective::Dollars, 16);
        prices.transfer.out = Dollars(0.09);
        let sold = gap(hardware, &prices, Objective::Dollars, 16);
        assert!(sold < free, "{sold} {free}");
        prices.requests.get = Dollars(0.0);
        assert!(gap(hardware, &prices, Objective::Dollars, 16) < sold);
        let hurry = Objective::Weighted { dollars_per_hour: Dollars(1e9) };
        let time = gap(hardware, &prices, Objective::Time, 16);
        assert_eq!(gap(hardware, &prices, hurry, 16), time);
    }
}
