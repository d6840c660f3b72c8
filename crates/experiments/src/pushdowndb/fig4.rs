//! Figure 4: the false-positive rate of the Bloom join.

use std::time::Duration;

use sluicegate_costmodel::{
    Bytes, BytesPerSecond, HardwareProfile, Phase, Requests, Steps, Terms, predict,
};

use super::paper::{OBJECTS, ORDERS, ORDERS_ROWS, predicted, provenance, seconds};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Table};

/// The figure, predicted for the paper's client and for one that reads as fast as its link.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig4",
    title: "Time of the Bloom join by false-positive rate, with a slow and a fast client",
    place: "PushdownDB §V-B3, Figure 4",
    method: Method::Computed(compute),
};

const RATES: [f64; 6] = [0.0001, 0.001, 0.01, 0.1, 0.3, 0.5];
/// Orders of the selected customers: 6,816 customers of 1.5 million.
const MATCHING: f64 = 68_000.0;
/// Seconds per row for a hash function by SUBSTRING, fitted to the join's published 4.13 s.
const PROBE: f64 = 1.9e-6;
/// Bytes per second of S3 Select's answers that the paper's client reads, from its authors' logs.
const SLOW_CLIENT: f64 = 100e6;

/// Returns the scan of orders with a Bloom filter, and the bytes that it returns.
fn scan(rate: f64) -> (Phase, f64) {
    let hashes = (1.0 / rate).log2().ceil();
    let rows = MATCHING + rate * (ORDERS_ROWS.as_f64() - MATCHING);
    let returned = rows * ORDERS.as_f64() / ORDERS_ROWS.as_f64();
    let phase = Phase {
        name: "orders",
        selects: Requests(OBJECTS),
        scanned: ORDERS,
        scanned_rows: ORDERS_ROWS,
        terms: Terms { probes: hashes, ..Terms::NONE },
        returned: Bytes::from_f64(returned),
        ..Phase::default()
    };
    (phase, returned)
}

/// Returns the paper's profile with a client of this rate, which reads only what has arrived.
fn client(rate: f64) -> HardwareProfile {
    let mut hardware = HardwareProfile::paper().clone();
    hardware.client.csv_bytes_per_second =
        BytesPerSecond(rate / f64::from(hardware.client.cores.get()));
    hardware.client.overlap = 0.0;
    hardware.select.per_probe = Some(Duration::from_secs_f64(PROBE));
    hardware
}

fn compute() -> Outcome {
    let slow = client(SLOW_CLIENT);
    let fast = client(slow.link.bytes_per_second.0);
    let mut rows = Vec::new();
    let mut points = Vec::new();
    for rate in RATES {
        let (phase, returned) = scan(rate);
        let store = predict(&Phase { returned: Bytes::ZERO, ..phase.clone() }.into(), &slow);
        let steps = Steps::from(phase);
        let (time, cost) = predicted(&steps, &slow);
        let quick = predict(&steps, &fast).total();
        rows.push(vec![
            rate.to_string(),
            seconds(time),
            seconds(quick),
            seconds(store.total()),
            format!("{:.0}", returned / 1e6),
            format!("{:.2}", cost.total().cents()),
        ]);
        points.push((rate, time, quick, store.total(), returned));
    }
    let mut outcome = Outcome::default();
    let best = |time: fn(&(f64, Duration, Duration, Duration, f64)) -> Duration| {
        points.iter().min_by_key(|point| time(point)).map_or(0.0, |point| point.0)
    };
    let (best_slow, best_fast) = (best(|it| it.1), best(|it| it.2));
    outcome.decide("P38", best_slow.to_string(), best_slow == 0.01);
    outcome.note(format!("with a client that reads as fast as its link, {best_fast} is the best"));
    let computes = points.windows(2).all(|pair| pair[0].3 > pair[1].3);
    let returns = points.windows(2).all(|pair| pair[0].4 < pair[1].4);
    let found = match computes && returns {
        true => "both",
        false => "not both",
    };
    outcome.decide("P39", found, computes && returns);
    outcome.tables.push(Table {
        title: "The Bloom join's scan of orders at scale factor 10".to_owned(),
        columns: vec!["p", "seconds", "fast client", "store alone", "MB returned", "cents"],
        rows,
        provenance: provenance(),
    });
    outcome
}
