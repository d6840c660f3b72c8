//! Settings of an endpoint.

use std::sync::Arc;

use sluicegate_client::{Client, ConnectOptions, Credentials};
use sluicegate_costmodel::{HardwareProfile, PriceBook};
use sluicegate_s3select::profile::EndpointProfile;

use crate::counters::Counters;
use crate::endpoint::Endpoint;
use crate::{Result, hardware};

/// Makes an [`Endpoint`].
///
/// What is not set comes from the usual places of AWS: environment variables, then the profile
/// files, then the machine's role.
#[derive(Debug, Clone)]
pub struct EndpointBuilder {
    name: Option<String>,
    connect: ConnectOptions,
    profile: Option<EndpointProfile>,
    prices: PriceBook,
    hardware: Option<HardwareProfile>,
}

impl Default for EndpointBuilder {
    fn default() -> Self {
        Self {
            name: None,
            connect: ConnectOptions::default(),
            profile: None,
            prices: PriceBook::paper().clone(),
            hardware: None,
        }
    }
}

impl EndpointBuilder {
    /// The name that plans show; without one, that of the profile.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The store's URL, such as `http://127.0.0.1:9000`.
    #[must_use]
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.connect.endpoint = Some(url.into());
        self
    }

    /// An access key.
    #[must_use]
    pub fn credentials(mut self, id: impl Into<String>, secret: impl Into<String>) -> Self {
        self.connect.credentials = Some(Credentials::new(id, secret));
        self
    }

    /// Everything about the connection at once.
    #[must_use]
    pub fn connect(mut self, options: ConnectOptions) -> Self {
        self.connect = options;
        self
    }

    /// What the store may be sent, and which of its answers are exact. The default is `aws`,
    /// which is careful, or, with an endpoint, [`EndpointProfile::unknown`]: everything is read
    /// with GET, because no two kinds of stores answer alike.
    #[must_use]
    pub fn profile(mut self, profile: EndpointProfile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// What the store's work costs. The default is PushdownDB's: us-east-1 in 2020.
    #[must_use]
    pub fn prices(mut self, prices: PriceBook) -> Self {
        self.prices = prices;
        self
    }

    /// The machine and the link that predictions assume. The default is `local-1gbit` for a store on
    /// this machine, `aws-in-region` for AWS, and `remote-1gbit` for any other.
    #[must_use]
    pub fn hardware(mut self, hardware: HardwareProfile) -> Self {
        self.hardware = Some(hardware);
        self
    }

    /// Connects. Nothing is sent yet: the first query finds out whether the store can be reached.
    ///
    /// # Errors
    ///
    /// If the URL is invalid, or the AWS profile files cannot be read.
    pub async fn build(self) -> Result<Endpoint> {
        let client = match self.profile {
            Some(profile) => Client::connect(&self.connect, profile).await?,
            None => {
                let client = Client::connect(&self.connect, EndpointProfile::unknown()).await?;
                match client.endpoint() {
                    Some(_) => client,
                    None => Client::connect(&self.connect, EndpointProfile::aws()).await?,
                }
            }
        };
        let profile = Arc::new(client.profile().clone());
        let hardware = self.hardware.unwrap_or_else(|| hardware::assumed(client.endpoint()));
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
