//! The builder of an engine.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use sluicegate_client::ConnectOptions;
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile, PriceBook};
use sluicegate_s3select::capabilities::StoreCapabilities;
use tokio::runtime::Handle;

use crate::catalog::url_tables::UrlTables;
use crate::context::config::{Scan, SluiceOptions};
use crate::context::notes::Notes;
use crate::engine::session;
use crate::estimate::declared_sizes::DeclaredSizes;
use crate::estimate::statistics::cache::StatisticsCache;
use crate::store::endpoint_builder::EndpointBuilder;
use crate::store::endpoints::Endpoints;
use crate::store::registry::S3Stores;
use crate::store::staging::Uploads;
use crate::text::csv::dialect::headers::KnownHeaders;
use crate::text::json::layout::KnownLayouts;
use crate::{Engine, Result};

/// Builds an [`Engine`]. The defaults of its store are those of [`EndpointBuilder`].
#[derive(Debug, Clone, Default)]
pub struct EngineBuilder {
    store: EndpointBuilder,
    scan: Scan,
    memory_limit: Option<usize>,
    threads: Option<usize>,
    machines: Option<NonZeroU32>,
    write_runtime: Option<Handle>,
    statistics: Option<PathBuf>,
    further: Option<SessionExtensions>,
}

/// The caller's additions to a session builder.
#[derive(Clone)]
struct SessionExtensions(Arc<dyn Fn(SessionStateBuilder) -> SessionStateBuilder + Send + Sync>);

impl fmt::Debug for SessionExtensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Further")
    }
}

impl EngineBuilder {
    /// Sets the store's URL; see [`EndpointBuilder::endpoint`].
    #[must_use]
    pub fn endpoint(self, url: impl Into<String>) -> Self {
        Self { store: self.store.endpoint(url), ..self }
    }

    /// Sets an access key; see [`EndpointBuilder::credentials`].
    #[must_use]
    pub fn credentials(self, id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { store: self.store.credentials(id, secret), ..self }
    }

    /// Sets all options of the connection; see [`EndpointBuilder::connect`].
    #[must_use]
    pub fn connect(self, options: ConnectOptions) -> Self {
        Self { store: self.store.connect(options), ..self }
    }

    /// Sets the capabilities of the store; see [`EndpointBuilder::profile`].
    #[must_use]
    pub fn profile(self, profile: StoreCapabilities) -> Self {
        Self { store: self.store.profile(profile), ..self }
    }

    /// Sets the price book; see [`EndpointBuilder::prices`].
    #[must_use]
    pub fn prices(self, prices: PriceBook) -> Self {
        Self { store: self.store.prices(prices), ..self }
    }

    /// Limits the assumed link; see [`EndpointBuilder::link_rate`].
    #[must_use]
    pub fn link_rate(self, rate: BytesPerSecond) -> Self {
        Self { store: self.store.link_rate(rate), ..self }
    }

    /// Sets the hardware that predictions assume; see [`EndpointBuilder::hardware`].
    #[must_use]
    pub fn hardware(self, hardware: HardwareProfile) -> Self {
        Self { store: self.store.hardware(hardware), ..self }
    }

    /// Sets the initial strategy for reading tables, which `SET sluice.scan` changes.
    #[must_use]
    pub fn scan(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// Limits the memory of joins, sorts and aggregates, in bytes; unlimited by default.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Sets the number of partitions of a query; by default the number of cores.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Sets the number of machines like this one that run queries, each paid by the hour, for predictions of its
    /// store. The default is that of the hardware profile.
    #[must_use]
    pub fn machines(mut self, machines: NonZeroU32) -> Self {
        self.machines = Some(machines);
        self
    }

    /// Sets the runtime on which objects are written and uploads aborted; by default, that of the query. With a
    /// separate runtime, uploads can be aborted while operators keep every other thread busy.
    #[must_use]
    pub fn write_runtime(mut self, runtime: Handle) -> Self {
        self.write_runtime = Some(runtime);
        self
    }

    /// Sets a folder that keeps statistics of objects for later engines. By default they are lost with the engine.
    /// The folder is created when it is needed.
    #[must_use]
    pub fn statistics_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.statistics = Some(folder.into());
        self
    }

    /// Adds to the engine's session after its own additions, for example a planner around the engine's, or functions.
    #[must_use]
    pub fn session(
        mut self,
        further: impl Fn(SessionStateBuilder) -> SessionStateBuilder + Send + Sync + 'static,
    ) -> Self {
        self.further = Some(SessionExtensions(Arc::new(further)));
        self
    }

    /// Builds the engine. No request is sent yet, so that an unreachable endpoint fails only the first query.
    ///
    /// # Errors
    ///
    /// If the endpoint is not a URL, or the AWS profile files cannot be read.
    pub async fn build(self) -> Result<Engine> {
        let mut endpoint = Box::pin(self.store.build()).await?;
        if let Some(machines) = self.machines {
            endpoint.run_on(machines);
        }
        let endpoint = Arc::new(endpoint);
        let endpoints = Endpoints::new(Arc::clone(&endpoint));
        let notes = Arc::new(Notes::default());
        let stores = S3Stores::new(endpoints.clone())
            .with_notes(Arc::clone(&notes))
            .with_write_runtime(self.write_runtime.clone());
        let stores = Arc::new(stores);
        let mut runtime =
            RuntimeEnvBuilder::new().with_object_store_registry(Arc::clone(&stores) as _);
        if let Some(bytes) = self.memory_limit {
            runtime = runtime.with_memory_limit(bytes, 1.0);
        }
        let uploads = Arc::new(Uploads::new(self.write_runtime));
        let mut config = session::config()
            .with_extension(Arc::clone(&notes))
            .with_extension(Arc::<KnownHeaders>::default())
            .with_extension(Arc::<KnownLayouts>::default())
            .with_extension(Arc::clone(&uploads));
        if let Some(threads) = self.threads {
            config = config.with_target_partitions(threads);
        }
        if let Some(options) = config.options_mut().extensions.get_mut::<SluiceOptions>() {
            options.scan = self.scan;
        }
        if let Some(folder) = self.statistics {
            config.options_mut().extensions.insert(StatisticsCache::in_folder(folder));
        }
        let mut builder = session::builder(config, runtime.build_arc()?, &endpoints)?;
        if let Some(SessionExtensions(further)) = self.further {
            builder = further(builder);
        }
        let state = builder.build();
        let catalogs = Arc::clone(state.catalog_list());
        // FROM 's3://bucket/file.csv' names a table by its URL.
        let builder = SessionStateBuilder::new_from_existing(state);
        let context = UrlTables::enable(builder, &catalogs);
        let analyzing = Arc::default();
        let sizes = DeclaredSizes::default();
        Ok(Engine {
            context,
            endpoint,
            endpoints,
            notes,
            uploads,
            stores,
            catalogs,
            analyzing,
            sizes,
        })
    }
}
