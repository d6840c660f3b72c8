//! The basis of predictions: hardware and prices.

use std::fmt;

use sluicegate_costmodel::{HardwareProfile, PriceBook};

/// The names of the constants behind the numbers of a decision: `the hardware local-1gbit (2026-11, not calibrated)
/// and the prices paper-2020-us-east-1 (us-east-1, 2020-01)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// The hardware profile: its name, its date, and whether and when it was calibrated on this machine.
    pub hardware: String,
    /// The price book: its name, region and date.
    pub prices: String,
}

impl Basis {
    /// Returns the names of these constants.
    #[must_use]
    pub fn new(hardware: &HardwareProfile, prices: &PriceBook) -> Self {
        Self { hardware: hardware.introduction(), prices: prices.introduction() }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the hardware {} and the prices {}", self.hardware, self.prices)
    }
}
