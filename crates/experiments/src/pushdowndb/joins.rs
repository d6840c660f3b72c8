//! The joins of §V: the query, the three strategies at the paper's sizes, and its client.

use std::time::Duration;

use sluicegate_costmodel::{
    Bytes, BytesPerSecond, HardwareProfile, Phase, Requests, Rows, Steps, Terms,
};

use super::bloom::{affordable, hashes};
use super::names;
use super::paper::{OBJECTS, ORDERS, ORDERS_ROWS};

/// The bounds on c_acctbal of Figure 2.
pub(super) const BOUNDS: [f64; 6] = [-950.0, -850.0, -750.0, -650.0, -550.0, -450.0];
/// The dates that bound o_orderdate in Figure 3, and the share of orders before each. Dates are uniform over 2,406
/// days from 1992-01-01.
pub(super) const DATES: [(Option<&str>, f64); 6] = [
    (Some("1992-03-01"), 60.0 / 2_406.0),
    (Some("1992-06-01"), 152.0 / 2_406.0),
    (Some("1993-01-01"), 366.0 / 2_406.0),
    (Some("1994-01-01"), 731.0 / 2_406.0),
    (Some("1995-01-01"), 1_096.0 / 2_406.0),
    (None, 1.0),
];
/// The false-positive rate of Figures 2 and 3.
pub(super) const RATE: f64 = 0.01;

/// The bytes of customer as CSV at scale factor 10.
pub(super) const CUSTOMER: Bytes = Bytes(244_847_642);
const CUSTOMER_ROWS: f64 = 1_500_000.0;
/// The bytes of a part that is fetched by a GET.
const PART: u64 = 8 << 20;
/// Bytes of a customer's key in an answer.
const KEY_BYTES: f64 = 8.0;
/// Seconds per row for a hash function by SUBSTRING, fitted to the join's published 4.13 s.
const PROBE: f64 = 1.9e-6;
/// Bytes per second of 32 cores that run compiled code.
const FAST_CLIENT: f64 = 32.0 * 250e6;
/// Bytes per second of S3 Select's answers that the paper's client reads, from its authors' logs.
const SLOW_CLIENT: f64 = 100e6;

/// The query of the figures.
pub(super) fn query(bound: f64, before: Option<&str>) -> String {
    let date = before.map_or_else(String::new, |it| format!(" and o_orderdate < date '{it}'"));
    format!(
        "select sum(o_totalprice) as total from customer, orders \
         where o_custkey = c_custkey and c_acctbal <= {bound}{date}"
    )
}

/// Returns the customers at scale factor 10 that pass a bound. Balances are uniform from -999.99 to 9,999.99.
pub(super) fn customers(bound: f64) -> f64 {
    CUSTOMER_ROWS * (bound + 999.99) / 10_999.98
}

/// The paper's client, which reads only what has arrived, with the cost of a hash function by SUBSTRING.
pub(super) fn slow_client() -> HardwareProfile {
    client(SLOW_CLIENT)
}

/// The same with a client that is faster than its link, as in the profile `paper-2018-nic`: the link binds.
pub(super) fn fast_client() -> HardwareProfile {
    client(FAST_CLIENT)
}

fn client(rate: f64) -> HardwareProfile {
    let mut hardware = HardwareProfile::paper().clone();
    let core = BytesPerSecond(rate / f64::from(hardware.client.cores.get()));
    hardware.client.csv_bytes_per_second = core;
    hardware.client.overlap = 0.0;
    hardware.select.per_probe = Some(Duration::from_secs_f64(PROBE));
    hardware
}

/// The scan of orders by S3 Select, if this share of orders has one of the customers, and this share is early enough.
/// `rate` is that of a Bloom filter, or 1 without one.
pub(super) fn scan_of_orders(matching: f64, early: f64, rate: f64) -> Phase {
    let rows = ORDERS_ROWS.as_f64() * early * (matching + rate * (1.0 - matching));
    let probes = if rate < 1.0 { hashes(rate) } else { 0.0 };
    let dates = if early < 1.0 { 1.0 } else { 0.0 };
    Phase {
        name: "orders",
        selects: Requests(OBJECTS),
        scanned: ORDERS,
        scanned_rows: ORDERS_ROWS,
        terms: Terms { comparisons: dates, probes: probes * early, ..Terms::NONE },
        returned: Bytes::from_f64(rows * ORDERS.as_f64() / ORDERS_ROWS.as_f64()),
        ..Phase::default()
    }
}

fn scan_of_customers(bound: f64) -> Phase {
    Phase {
        name: "customer",
        selects: Requests(OBJECTS),
        scanned: CUSTOMER,
        scanned_rows: Rows::from_f64(CUSTOMER_ROWS),
        terms: Terms::from(1),
        returned: Bytes::from_f64(customers(bound) * KEY_BYTES),
        ..Phase::default()
    }
}

/// A strategy of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// Fetches both tables.
    Baseline,
    /// Filters both tables in S3 Select, and returns all columns of orders.
    Filtered,
    /// Also filters orders by the keys of customers.
    Bloom,
}

impl Join {
    pub(super) const ALL: [Self; 3] = [Self::Baseline, Self::Filtered, Self::Bloom];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Baseline => names::BASELINE,
            Self::Filtered => names::FILTERED,
            Self::Bloom => names::BLOOM,
        }
    }

    /// Returns the settings with which the engine joins in this way.
    pub(super) const fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Baseline => &[("scan", "get"), ("join", "baseline")],
            Self::Filtered => &[("scan", "select"), ("join", "filtered")],
            Self::Bloom => &[("scan", "select"), ("join", "bloom"), ("bloom_p", "0.01")],
        }
    }

    /// Returns the plan at the paper's sizes, if this share of orders is early enough.
    pub(super) fn steps(self, bound: f64, early: f64) -> Steps {
        let selected = customers(bound);
        let matching = selected / CUSTOMER_ROWS;
        match self {
            Self::Baseline => {
                let got = CUSTOMER + ORDERS;
                let gets = Requests(got.0.div_ceil(PART));
                Phase { name: "tables", gets, got, ..Phase::default() }.into()
            }
            Self::Filtered => Steps::Together(vec![
                scan_of_customers(bound).into(),
                scan_of_orders(matching, early, 1.0).into(),
            ]),
            Self::Bloom => {
                let rate = affordable(selected, RATE);
                Steps::InTurn(vec![
                    scan_of_customers(bound).into(),
                    scan_of_orders(matching, early, rate).into(),
                ])
            }
        }
    }
}
