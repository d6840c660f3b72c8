//! The inputs of the choice between GET and Select while a scan runs.

use std::time::Duration;

use datafusion::common::config::ConfigOptions;
use sluicegate_costmodel::{
    BytesPerSecond, HardwareProfile, Objective, PriceBook, ScanDemand, ScanStrategy, choose,
    predict,
};

use crate::context::config::SluiceOptions;
use crate::store::endpoint::Endpoint;

/// Select must be better than GET of this share of the remaining bytes.
const CLEARLY: f64 = 0.8;

/// The inputs of the choice, apart from the rate of the link.
#[derive(Debug, Clone)]
pub struct AdaptiveInputs {
    demand: ScanDemand,
    hardware: HardwareProfile,
    prices: PriceBook,
    objective: Objective,
}

impl AdaptiveInputs {
    /// Creates the inputs for a scan at an endpoint.
    #[must_use]
    pub fn new(demand: ScanDemand, endpoint: &Endpoint, options: &ConfigOptions) -> Self {
        Self {
            demand,
            hardware: endpoint.hardware.clone(),
            prices: endpoint.prices.clone(),
            objective: SluiceOptions::from_options(options).objective.into(),
        }
    }

    /// Returns the rate of the link by the hardware profile.
    #[must_use]
    pub fn link(&self) -> BytesPerSecond {
        self.hardware.link.bytes_per_second
    }

    /// Returns true if Select is clearly better for this share of the scan's bytes at the given rate of the link.
    #[must_use]
    pub fn prefer_select(&self, link: BytesPerSecond, share: f64) -> bool {
        let mut hardware = self.hardware.clone();
        hardware.link.bytes_per_second = BytesPerSecond(link.0.max(1.0));
        let get = self.demand.part(share * CLEARLY).get();
        let select = self.prices.select.and_then(|_| self.demand.part(share).select());
        let choice = choose(get, select, &hardware, &self.prices, self.objective);
        choice.chosen.strategy == ScanStrategy::Select
    }

    /// Returns the predicted time of reading everything with GET.
    #[must_use]
    pub fn time_of_get(&self) -> Duration {
        predict(&self.demand.get().steps, &self.hardware).total()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use sluicegate_costmodel::{AnswerFormat, Bytes, Format, Requests, Rows, Terms};

    use super::*;

    /// A hundred CSV objects of 10 MB each; the store would return a hundredth of them.
    pub(in super::super) const FILES: u64 = 100;
    pub(in super::super) const FILE: u64 = 10_000_000;

    /// Returns the inputs for a link of 10 Gbit/s.
    pub(in super::super) fn stakes(objective: Objective) -> AdaptiveInputs {
        let mut hardware = HardwareProfile::by_name("aws-in-region").unwrap().clone();
        let link = BytesPerSecond::gbit(10.0);
        hardware.link.bytes_per_second = link;
        hardware.link.connection_bytes_per_second = link;
        // The store scans as fast as such a client parses.
        hardware.select.cores = 2.0;
        let demand = ScanDemand {
            objects: FILES,
            format: Format::Csv,
            answer: AnswerFormat::Csv,
            needed: Bytes(FILES * FILE),
            gaps: Bytes::ZERO,
            rows: Rows(FILES * FILE / 100),
            looked_up: None,
            terms: Terms::from(2),
            passing: 0.01,
            items: Terms::NONE,
            constants: 0,
            selectivity: 0.01,
            columns: 2,
            filter_columns: 0,
            bytes_per_returned_row: 100.0,
            footers: Requests::ZERO,
            get_requests: Requests(FILES),
            gets_at_once: None,
            select_requests: Some(Requests(FILES)),
            selects_at_once: None,
        };
        AdaptiveInputs { demand, hardware, prices: PriceBook::paper().clone(), objective }
    }

    #[test]
    fn a_store_that_scans_slowly_is_not_asked() {
        let mut stakes = stakes(Objective::Time);
        stakes.hardware.select.csv_bytes_per_second = BytesPerSecond(5e6);
        assert!(!stakes.prefer_select(BytesPerSecond(12.5e6), 1.0));
        assert!(stakes.prefer_select(BytesPerSecond(1e6), 1.0));
        // Little is left, so the round trip of a statement does not pay any more.
        assert!(!stakes.prefer_select(BytesPerSecond(1e6), 0.0));
    }

    #[test]
    fn select_is_not_preferred_where_it_is_dearer_or_not_sold() {
        assert!(stakes(Objective::Time).prefer_select(BytesPerSecond(1e6), 1.0));
        assert!(!stakes(Objective::Dollars).prefer_select(BytesPerSecond(1e9), 1.0));
        let mut stakes = stakes(Objective::Time);
        stakes.prices.select = None;
        assert!(!stakes.prefer_select(BytesPerSecond(1e6), 1.0));
    }
}
