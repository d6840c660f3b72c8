//! A connected store: its Select client and the counters of everything sent to it.

use std::num::NonZeroU32;
use std::sync::Arc;

use object_store::OBJECT_STORE_COALESCE_DEFAULT;
use sluicegate_client::Client;
use sluicegate_costmodel::{HardwareProfile, PriceBook};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::request::{InputFormat, SelectRequest};

use crate::context::choice::Reason;
use crate::context::counters::Counters;
use crate::pushdown::format::TableFormat;
use crate::pushdown::statement::Statement;
use crate::store::endpoint_builder::EndpointBuilder;

/// A connected store. Plans contain only its name, which a session's [`Endpoints`](crate::store::endpoints::Endpoints)
/// resolve.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The name that plans show.
    pub name: String,
    pub(crate) profile: Arc<StoreCapabilities>,
    /// The client for Select statements.
    pub client: Client,
    /// The counters of all requests to the store.
    pub counters: Arc<Counters>,
    /// The prices of the store's work.
    pub prices: PriceBook,
    /// The machine and the link that predictions assume.
    pub hardware: HardwareProfile,
}

impl Endpoint {
    /// Returns a builder with the default settings.
    #[must_use]
    pub fn builder() -> EndpointBuilder {
        EndpointBuilder::default()
    }

    /// Makes predictions for this many machines like the client, each of them paid by the hour.
    pub(crate) fn run_on(&mut self, machines: NonZeroU32) {
        let before = self.hardware.client.machines;
        self.hardware.client.machines = machines;
        let hour = self.prices.compute.per_hour;
        self.prices.compute.per_hour = hour * f64::from(machines.get()) / f64::from(before.get());
    }

    /// Returns the largest gap between two ranges of an object that GET reads instead of sending another request:
    /// where reading it takes as long as the request.
    pub(crate) fn gap(&self) -> u64 {
        /// GETs of ranges that object_store has in flight for one reader.
        const AT_ONCE: f64 = 10.0;
        /// The seconds of one core for a byte that is sent and received on one machine.
        const MOVED: f64 = 1e-9;
        /// Bounds, in bytes.
        const GAPS: (f64, f64) = (16_384.0, OBJECT_STORE_COALESCE_DEFAULT as f64);
        let HardwareProfile { link, requests, client, .. } = &self.hardware;
        let cores = f64::from(client.cores.get());
        let asking = client.per_request.unwrap_or_default().as_secs_f64() / cores;
        let waiting = link.latency.as_secs_f64() / AT_ONCE;
        let request = waiting.max(1.0 / requests.per_second).max(asking);
        let moved = if client.shares_cores { MOVED / cores } else { 0.0 };
        let byte = 1.0 / link.bytes_per_second.0 + moved;
        (request / byte).clamp(GAPS.0, GAPS.1) as u64
    }

    /// Returns the capabilities of the store.
    #[must_use]
    pub fn profile(&self) -> &StoreCapabilities {
        &self.profile
    }

    /// Returns the request for a file of a format, or for the bytes `start .. end` of the file.
    ///
    /// The request for a whole file allows line breaks in quotes, which it may contain even if its table does not
    /// declare them. For a store that cannot read such files, the table's declaration is used
    /// (`'format.newlines_in_values'`), as DataFusion does when it splits a file.
    #[must_use]
    pub fn request(
        &self,
        statement: &Statement,
        format: &TableFormat,
        range: Option<(u64, u64)>,
    ) -> SelectRequest {
        let mut request = statement.request(format, range);
        if let (InputFormat::Csv(asked), InputFormat::Csv(declared)) =
            (&mut request.input.format, &format.input.format)
            && !self.profile().quoted_record_delimiters
        {
            asked.allow_quoted_record_delimiter = declared.allow_quoted_record_delimiter;
        }
        request
    }

    /// Checks that the store accepts a statement about files of a format.
    ///
    /// # Errors
    ///
    /// The reason from the profile, or the store's earlier refusal.
    pub fn takes(&self, statement: &Statement, format: &TableFormat) -> Result<(), Reason> {
        let request = self.request(statement, format, None);
        let allowed = self.profile().allows(&statement.query);
        let refused = allowed.and_then(|()| self.profile().admits(&request)).err();
        if let Some(refusal) = refused {
            return Err(Reason::new(refusal.to_string()));
        }
        match self.client.known_refusal(&request) {
            Some(refusal) => Err(Reason::new(format!("the store refused it before: {refusal}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_machine_is_paid() {
        let mut endpoint =
            Endpoint::builder().endpoint("http://127.0.0.1:1").build().await.unwrap();
        let one = endpoint.prices.compute.per_hour;
        assert!(one.0 > 0.0);
        for machines in [3, 5] {
            endpoint.run_on(NonZeroU32::new(machines).unwrap());
            let all = endpoint.prices.compute.per_hour;
            assert!((all.0 / one.0 - f64::from(machines)).abs() < 1e-9, "{all:?}");
            assert_eq!(endpoint.hardware.client.machines.get(), machines);
        }
    }
}
