//! Settings of an engine.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use sluicegate_client::ConnectOptions;
use sluicegate_costmodel::{HardwareProfile, PriceBook};
use sluicegate_s3select::profile::EndpointProfile;
use tokio::runtime::Handle;

use crate::config::{Scan, SluiceOptions};
use crate::csv_dialect::headers::KnownHeaders;
use crate::endpoint_builder::EndpointBuilder;
use crate::endpoints::Endpoints;
use crate::json_layout::KnownLayouts;
use crate::notes::Notes;
use crate::staging::Uploads;
use crate::statistics::known::KnownStatistics;
use crate::store::S3Stores;
use crate::url_tables::UrlTables;
use crate::{Engine, Result, session};

/// Builds an [`Engine`]. Defaults of its store are those of [`EndpointBuilder`].
#[derive(Debug, Clone, Default)]
pub struct EngineBuilder {
    store: EndpointBuilder,
    scan: Scan,
    memory_limit: Option<usize>,
    threads: Option<usize>,
    machines: Option<NonZeroU32>,
    write_runtime: Option<Handle>,
    statistics: Option<PathBuf>,
    further: Option<Further>,
}

/// What a session is to have beside what is ours.
#[derive(Clone)]
struct Further(Arc<dyn Fn(SessionStateBuilder) -> SessionStateBuilder + Send + Sync>);

impl fmt::Debug for Further {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Further")
    }
}

impl EngineBuilder {
    /// See [`EndpointBuilder::endpoint`].
    #[must_use]
    pub fn endpoint(self, url: impl Into<String>) -> Self {
        Self { store: self.store.endpoint(url), ..self }
    }

    /// See [`EndpointBuilder::credentials`].
    #[must_use]
    pub fn credentials(self, id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { store: self.store.credentials(id, secret), ..self }
    }

    /// See [`EndpointBuilder::connect`].
    #[must_use]
    pub fn connect(self, options: ConnectOptions) -> Self {
        Self { store: self.store.connect(options), ..self }
    }

    /// See [`EndpointBuilder::profile`].
    #[must_use]
    pub fn profile(self, profile: EndpointProfile) -> Self {
        Self { store: self.store.profile(profile), ..self }
    }

    /// See [`EndpointBuilder::prices`].
    #[must_use]
    pub fn prices(self, prices: PriceBook) -> Self {
        Self { store: self.store.prices(prices), ..self }
    }

    /// See [`EndpointBuilder::hardware`].
    #[must_use]
    pub fn hardware(self, hardware: HardwareProfile) -> Self {
        Self { store: self.store.hardware(hardware), ..self }
    }

    /// How tables are read until `SET sluice.scan` says otherwise.
    #[must_use]
    pub fn scan(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// The most memory that joins, sorts and aggregates may use, in bytes; unlimited by default.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// The number of partitions of a query; by default the number of cores.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// The number of machines like this one that queries run on, each paid by the hour, as predictions of its store
    /// assume; by default what the hardware profile says.
    #[must_use]
    pub fn machines(mut self, machines: NonZeroU32) -> Self {
        self.machines = Some(machines);
        self
    }

    /// The runtime on which objects are written and uploads aborted; by default, that of the query.
    /// With one of its own, uploads can be aborted while operators keep every other thread busy.
    #[must_use]
    pub fn write_runtime(mut self, runtime: Handle) -> Self {
        self.write_runtime = Some(runtime);
        self
    }

    /// A folder in which statistics of objects are kept for engines to come; by default they are
    /// forgotten with the engine. It is made when it is needed.
    #[must_use]
    pub fn statistics_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.statistics = Some(folder.into());
        self
    }

    /// Adds to the engine's session, after all that is ours: a planner around the engine's, or functions.
    #[must_use]
    pub fn session(
        mut self,
        further: impl Fn(SessionStateBuilder) -> SessionStateBuilder + Send + Sync + 'static,
    ) -> Self {
        self.further = Some(Further(Arc::new(further)));
        self
    }

    /// Builds the engine. Nothing is sent yet: the first query notices an unreachable endpoint.
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
            config.options_mut().extensions.insert(KnownStatistics::in_folder(folder));
        }
        let mut builder = session::builder(config, runtime.build_arc()?, &endpoints)?;
        if let Some(Further(further)) = self.further {
            builder = further(builder);
        }
        let state = builder.build();
        let catalogs = Arc::clone(state.catalog_list());
        // FROM 's3://bucket/file.csv' names a table by its URL.
        let builder = SessionStateBuilder::new_from_existing(state);
        let context = UrlTables::enable(builder, &catalogs);
        let analyzing = Arc::default();
        Ok(Engine { context, endpoint, endpoints, notes, uploads, stores, catalogs, analyzing })
    }
}
