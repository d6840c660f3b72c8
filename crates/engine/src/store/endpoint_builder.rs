//! The builder of an endpoint.

use std::sync::Arc;

use sluicegate_client::{Client, ConnectOptions, Credentials};
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile, PriceBook};
use sluicegate_s3select::capabilities::StoreCapabilities;

use crate::Result;
use crate::context::counters::Counters;
use crate::context::hardware;
use crate::store::endpoint::Endpoint;

/// Builds an [`Endpoint`].
///
/// Settings that are missing come from the usual places of AWS: environment variables, then the profile files, then
/// the machine's role.
#[derive(Debug, Clone)]
pub struct EndpointBuilder {
    name: Option<String>,
    connect: ConnectOptions,
    profile: Option<StoreCapabilities>,
    prices: PriceBook,
    hardware: Option<Box<HardwareProfile>>,
    link_rate: Option<BytesPerSecond>,
}

impl Default for EndpointBuilder {
    fn default() -> Self {
        Self {
            name: None,
            connect: ConnectOptions::default(),
            profile: None,
            prices: PriceBook::paper().clone(),
            hardware: None,
            link_rate: None,
        }
    }
}

impl EndpointBuilder {
    /// Sets the name that plans show; by default, that of the profile.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the store's URL, such as `http://127.0.0.1:9000`.
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.connect.endpoint = Some(url.into());
        self
    }

    /// Sets an access key.
    #[must_use]
    pub fn credentials(mut self, id: impl Into<String>, secret: impl Into<String>) -> Self {
        self.connect.credentials = Some(Credentials::new(id, secret));
        self
    }

    /// Sets all options of the connection at once.
    #[must_use]
    pub fn connect(mut self, options: ConnectOptions) -> Self {
        self.connect = options;
        self
    }

    /// Sets the capabilities of the store, and which of its answers are exact. The default is `aws`, which is
    /// careful. With an endpoint it is [`StoreCapabilities::unknown`], which reads everything with GET, because
    /// different kinds of stores give different answers.
    #[must_use]
    pub fn profile(mut self, profile: StoreCapabilities) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Sets the prices of the store's work. The default is PushdownDB's price book: us-east-1 in 2020.
    #[must_use]
    pub fn prices(mut self, prices: PriceBook) -> Self {
        self.prices = prices;
        self
    }

    /// Sets the machine and the link that predictions assume. The default is
    /// [`HardwareProfile::on_this_machine`] for a store on this machine, `aws-in-region` for AWS, and `remote-1gbit`
    /// for any other store.
    #[must_use]
    pub fn hardware(mut self, hardware: HardwareProfile) -> Self {
        self.hardware = Some(Box::new(hardware));
        self
    }

    /// Limits the link that the default of [`Self::hardware`] assumes.
    #[must_use]
    pub fn link_rate(mut self, rate: BytesPerSecond) -> Self {
        self.link_rate = Some(rate);
        self
    }

    /// Connects. No request is sent yet; the first query fails if the store cannot be reached.
    ///
    /// # Errors
    ///
    /// If the URL is invalid, or the AWS profile files cannot be read.
    pub async fn build(self) -> Result<Endpoint> {
        let client = match self.profile {
            Some(profile) => Client::connect(&self.connect, profile).await?,
            None => {
                let client = Client::connect(&self.connect, StoreCapabilities::unknown()).await?;
                match client.endpoint() {
                    Some(_) => client,
                    None => Client::connect(&self.connect, StoreCapabilities::aws()).await?,
                }
            }
        };
        let profile = Arc::new(client.profile().clone());
        let assumed = || {
            let assumed = hardware::assumed(client.endpoint());
            self.link_rate.into_iter().fold(assumed, HardwareProfile::behind)
        };
        let hardware = self.hardware.map_or_else(assumed, |given| *given);
        Ok(Endpoint {
            name: self.name.unwrap_or_else(|| profile.name.clone()),
            profile,
            client,
            counters: Arc::new(Counters::default()),
            prices: self.prices,
            hardware,
        })
    }
}
