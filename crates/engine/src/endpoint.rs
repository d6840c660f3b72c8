//! A connected store: its Select client and the counters of everything sent to it.

use std::sync::Arc;

use sluicegate_costmodel::{HardwareProfile, PriceBook};
use sluicegate_s3select::client::Client;
use sluicegate_s3select::profile::EndpointProfile;

use crate::counters::Counters;

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
}
