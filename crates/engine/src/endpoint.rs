//! A connected store: its Select client and the counters of everything sent to it.

use std::sync::Arc;

use sluicegate_costmodel::{HardwareProfile, PriceBook};
use sluicegate_s3select::client::Client;
use sluicegate_s3select::profile::EndpointProfile;

use crate::counters::Counters;
use crate::datasource::format::TableFormat;
use crate::datasource::statement::Statement;

/// A connected store. Plans name it and hold a handle, never its credentials.
#[derive(Debug)]
pub struct Endpoint {
    /// The name that plans show.
    pub name: String,
    /// Sends Select statements.
    pub client: Client,
    /// Counts what is sent, by whichever way.
    pub counters: Arc<Counters>,
    /// What its work costs.
    pub prices: PriceBook,
    /// The machine and the link that predictions assume.
    pub hardware: HardwareProfile,
}

impl Endpoint {
    /// What may be sent.
    #[must_use]
    pub fn profile(&self) -> &EndpointProfile {
        self.client.profile()
    }

    /// Whether a statement about files of a format may be sent: the profile allows it, and the
    /// store did not refuse its like before.
    #[must_use]
    pub fn takes(&self, statement: &Statement, format: &TableFormat) -> bool {
        let request = statement.request(format, None);
        self.profile().allows(&statement.query).is_ok()
            && self.profile().admits(&request).is_ok()
            && self.client.known_refusal(&request).is_none()
    }
}
