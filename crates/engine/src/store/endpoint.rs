//! A connected store: its Select client and the counters of everything sent to it.

use std::num::NonZeroU32;
use std::sync::Arc;

use object_store::OBJECT_STORE_COALESCE_DEFAULT;
use sluicegate_client::Client;
use sluicegate_costmodel::{HardwareProfile, PriceBook};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::request::{
    ArrowCompression, InputFormat, OutputSerialization, SelectRequest,
};

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
    /// reading it takes as long as the request.
    pub(crate) fn gap(&self) -> u64 {
        largest_gap(&self.hardware)
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
        if let OutputSerialization::Arrow(output) = &mut request.output {
            output.compression = self.compresses().then_some(ArrowCompression::Zstd);
        }
        request
    }

    /// Returns true if an answer in Arrow is compressed: the link is slower than a core that compresses.
    pub(crate) fn compresses(&self) -> bool {
        compresses(&self.hardware)
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

fn compresses(hardware: &HardwareProfile) -> bool {
    /// Bytes per second that a core compresses with Zstandard.
    const COMPRESSED: f64 = 400e6;
    hardware.link.bytes_per_second.0 < COMPRESSED
}

fn largest_gap(hardware: &HardwareProfile) -> u64 {
    /// The GETs of ranges that `object_store` has in flight for one reader.
    const AT_ONCE: f64 = 10.0;
    /// One core's seconds for a byte that is sent and received on one machine.
    const PER_BYTE: f64 = 1e-9;
    /// Bounds, in bytes.
    const GAPS: (f64, f64) = (16_384.0, OBJECT_STORE_COALESCE_DEFAULT as f64);
    let HardwareProfile { link, requests, client, .. } = hardware;
    let cores = f64::from(client.cores.get());
    let working = client.per_request.unwrap_or_default().as_secs_f64() / cores;
    let waiting = link.latency.as_secs_f64() / AT_ONCE;
    let request = waiting.max(1.0 / requests.per_second).max(working);
    let copying = if client.shares_cores { PER_BYTE / cores } else { 0.0 };
    let byte = 1.0 / link.bytes_per_second.0 + copying;
    (request / byte).clamp(GAPS.0, GAPS.1) as u64
}

#[cfg(test)]
mod tests {
    use sluicegate_costmodel::BytesPerSecond;

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

    #[test]
    fn answers_are_compressed_for_slow_links() {
        let gbit = |rate| HardwareProfile::on_this_machine().behind(BytesPerSecond::gbit(rate));
        assert!([0.1, 1.0, 3.0].into_iter().all(|rate| compresses(&gbit(rate))));
        assert!(!compresses(&gbit(10.0)));
        // The number of cores makes a machine's own store no slower.
        let mut local = HardwareProfile::on_this_machine();
        for cores in [1, 2, 64] {
            local.client.cores = NonZeroU32::new(cores).unwrap();
            assert!(!compresses(&local), "{cores}");
        }
    }

    #[test]
    fn a_gap_takes_as_long_as_a_request() {
        let named = |name| HardwareProfile::by_name(name).unwrap().clone();
        // 0.2 ms of one of two cores, at 1 ns a byte: 0.5 ns for the link and 0.5 ns for the copies.
        assert_eq!(largest_gap(&named("local")), 100_000);
        // 2 ms for ten requests at 120 MB/s.
        assert_eq!(largest_gap(&named("remote-1gbit")), 24_000);
        let slow = named("local").behind(BytesPerSecond::gbit(0.1));
        assert_eq!(largest_gap(&slow), 16_384);
        let mut far = named("remote-1gbit");
        far.link.latency = std::time::Duration::from_secs(1);
        assert_eq!(largest_gap(&far), OBJECT_STORE_COALESCE_DEFAULT);
    }
}
