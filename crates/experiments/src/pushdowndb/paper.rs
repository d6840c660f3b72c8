//! The sizes of the paper's tables at scale factor 10, and the predicted time and cost of a plan over them.

use std::time::Duration;

use sluicegate_costmodel::{
    Bytes, Cost, HardwareProfile, PriceBook, Provenance, Rows, Steps, Work, predict,
};

/// The bytes of lineitem as CSV.
pub(super) const LINEITEM: Bytes = Bytes(7_775_727_688);
/// The rows of lineitem.
pub(super) const LINEITEM_ROWS: Rows = Rows(59_986_052);
/// The bytes of orders as CSV.
pub(super) const ORDERS: Bytes = Bytes(1_749_195_031);
/// The rows of orders.
pub(super) const ORDERS_ROWS: Rows = Rows(15_000_000);
/// The objects of each large table.
pub(super) const OBJECTS: u64 = 96;
/// The GETs of all objects of lineitem: parts of 8 MiB.
pub(super) const PARTS: u64 = 960;
/// The bytes of a row of lineitem.
pub(super) const ROW_BYTES: u64 = 130;

/// Returns the predicted time and cost of a plan on the paper's client, at its prices.
pub(super) fn predicted(steps: &Steps, hardware: &HardwareProfile) -> (Duration, Cost) {
    let wall = predict(steps, hardware).total();
    (wall, PriceBook::paper().cost(&Work { wall, ..steps.work() }))
}

/// The provenance of these predictions.
pub(super) fn provenance() -> Provenance {
    HardwareProfile::paper().provenance()
}

/// Formats seconds with two decimals.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64())
}
