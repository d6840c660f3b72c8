//! Settings of an engine.

use std::sync::Arc;

use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use sluicegate_client::{Client, ConnectOptions, Credentials};
use sluicegate_costmodel::{HardwareProfile, PriceBook};
use sluicegate_s3select::profile::EndpointProfile;

use crate::config::{Scan, SluiceOptions};
use crate::counters::Counters;
use crate::endpoint::Endpoint;
use crate::store::S3Stores;
use crate::url_tables::UrlTables;
use crate::{Engine, Result, session};

/// Makes an [`Engine`].
///
/// What is not set comes from the usual places of AWS: environment variables, then the profile
/// files, then the machine's role.
#[derive(Debug, Clone)]
pub struct EngineBuilder {
    connect: ConnectOptions,
    profile: Option<EndpointProfile>,
    prices: PriceBook,
    hardware: HardwareProfile,
    scan: Scan,
    memory_limit: Option<usize>,
    threads: Option<usize>,
}

impl Default for EngineBuilder {
    fn default() -> Self {
        Self {
            connect: ConnectOptions::default(),
            profile: None,
            prices: PriceBook::paper().clone(),
            hardware: HardwareProfile::by_name("local-1gbit")
                .unwrap_or_else(HardwareProfile::paper)
                .clone(),
            scan: Scan::default(),
            memory_limit: None,
            threads: None,
        }
    }
}

impl EngineBuilder {
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

    /// The machine and the link that predictions assume.
    #[must_use]
    pub fn hardware(mut self, hardware: HardwareProfile) -> Self {
        self.hardware = hardware;
        self
    }

    /// How tables are read until `SET sluice.scan` says otherwise.
    #[must_use]
    pub fn scan(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// The most memory that joins, sorts and aggregates may use, in bytes; without it there is
    /// no limit.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// How many partitions a query runs in; the default is the number of cores.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Connects. Nothing is sent yet: an endpoint that is not there shows at the first query.
    ///
    /// # Errors
    ///
    /// If the endpoint is not a URL, or the profile files cannot be read.
    pub async fn build(self) -> Result<Engine> {
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
        let counters = Arc::new(Counters::default());
        let endpoint = Arc::new(Endpoint {
            name: client.profile().name.clone(),
            client: client.clone(),
            counters: Arc::clone(&counters),
            prices: self.prices,
            hardware: self.hardware,
        });
        let mut runtime = RuntimeEnvBuilder::new()
            .with_object_store_registry(Arc::new(S3Stores::new(client, counters)));
        if let Some(bytes) = self.memory_limit {
            runtime = runtime.with_memory_limit(bytes, 1.0);
        }
        let mut config = session::config();
        if let Some(threads) = self.threads {
            config = config.with_target_partitions(threads);
        }
        if let Some(options) = config.options_mut().extensions.get_mut::<SluiceOptions>() {
            options.scan = self.scan;
        }
        let state = session::builder(config, runtime.build_arc()?, &endpoint)?.build();
        // FROM 's3://bucket/file.csv' names a table by its URL.
        let context = UrlTables::enable(SessionContext::new_with_state(state));
        Ok(Engine { context, endpoint })
    }
}
