//! The endpoints of a session by name, and the buckets that each serves.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock};

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, config_err, exec_datafusion_err, plan_err};
use datafusion::execution::object_store::ObjectStoreUrl;

use crate::context::config_extension::carried;
use crate::store::endpoint::Endpoint;

/// The endpoints of a session. Plans contain the name of an endpoint; rules and operators look it up here, so a plan
/// contains no connection and no credentials.
///
/// It is part of the session's configuration, under a prefix without settings, because rules, sources and task
/// contexts can all read that. Clones share one registry.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    registry: Arc<RwLock<Registry>>,
}

#[derive(Debug, Default)]
struct Registry {
    by_name: BTreeMap<String, Arc<Endpoint>>,
    /// The buckets that are assigned to a store.
    buckets: BTreeMap<String, Owner>,
    /// The name of the endpoint that serves all other buckets.
    default: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Owner {
    /// The endpoint with this name.
    Endpoint(String),
    /// An object store that is registered with DataFusion and is not one of our endpoints.
    Foreign,
}

impl Endpoints {
    /// Makes a registry with one endpoint, which serves every bucket that is not assigned to another store.
    #[must_use]
    pub fn new(default: Arc<Endpoint>) -> Self {
        let name = default.name.clone();
        let registry = Registry {
            by_name: BTreeMap::from([(name.clone(), default)]),
            buckets: BTreeMap::new(),
            default: Some(name),
        };
        Self { registry: Arc::new(RwLock::new(registry)) }
    }

    /// Returns the endpoints of a session, if it has any.
    #[must_use]
    pub fn from_options(options: &ConfigOptions) -> Option<&Self> {
        options.extensions.get::<Self>()
    }

    /// Adds an endpoint that serves some buckets.
    ///
    /// # Errors
    ///
    /// If the name is taken, or one of the buckets is assigned to another store.
    pub fn register(&self, endpoint: Arc<Endpoint>, buckets: &[String]) -> Result<()> {
        let name = endpoint.name.clone();
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        if registry.by_name.contains_key(&name) {
            return config_err!("there is an endpoint `{name}` already; choose another name");
        }
        if let Some(bucket) = buckets.iter().find(|it| registry.buckets.contains_key(*it)) {
            return config_err!("the bucket `{bucket}` belongs to another store already");
        }
        for bucket in buckets {
            registry.buckets.insert(bucket.clone(), Owner::Endpoint(name.clone()));
        }
        registry.by_name.insert(name, endpoint);
        Ok(())
    }

    /// Replaces the endpoint of a name for all of its buckets.
    pub(crate) fn replace(&self, name: &str, endpoint: Arc<Endpoint>) {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        for owner in registry.buckets.values_mut() {
            if *owner == Owner::Endpoint(name.to_owned()) {
                *owner = Owner::Endpoint(endpoint.name.clone());
            }
        }
        if registry.default.as_deref() == Some(name) {
            registry.default = Some(endpoint.name.clone());
        }
        registry.by_name.remove(name);
        registry.by_name.insert(endpoint.name.clone(), endpoint);
    }

    /// Assigns a bucket to an object store that is not one of our endpoints.
    pub(crate) fn cede(&self, bucket: &str) {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        registry.buckets.insert(bucket.to_owned(), Owner::Foreign);
    }

    /// Returns the endpoint of a name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn get(&self, name: &str) -> Result<Arc<Endpoint>> {
        let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
        let found = registry.by_name.get(name).cloned();
        found.ok_or_else(|| {
            exec_datafusion_err!(
                "the session has no endpoint `{name}`: a worker must be started with the --endpoint and --store of its \
                 coordinator, and a program registers it with Engine::register_endpoint"
            )
        })
    }

    /// Returns the endpoint that serves a bucket, if it is one of ours.
    #[must_use]
    pub fn bucket(&self, bucket: &str) -> Option<Arc<Endpoint>> {
        let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
        let name = match registry.buckets.get(bucket) {
            Some(Owner::Endpoint(name)) => Some(name),
            Some(Owner::Foreign) => None,
            None => registry.default.as_ref(),
        };
        registry.by_name.get(name?).cloned()
    }

    /// Returns the endpoint that serves a store URL such as `s3://bucket/`, if it is one of ours.
    #[must_use]
    pub fn serving(&self, url: &ObjectStoreUrl) -> Option<Arc<Endpoint>> {
        self.bucket(bucket_of(url)?)
    }

    /// Returns a copy of the endpoints that predicts for one machine, for queries that run locally although there are
    /// workers.
    #[must_use]
    pub fn on_one_machine(&self) -> Self {
        let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
        let one = |(name, endpoint): (&String, &Arc<Endpoint>)| {
            let mut endpoint = Endpoint::clone(endpoint);
            endpoint.run_on(NonZeroU32::MIN);
            (name.clone(), Arc::new(endpoint))
        };
        let by_name = registry.by_name.iter().map(one).collect();
        let (buckets, default) = (registry.buckets.clone(), registry.default.clone());
        Self { registry: Arc::new(RwLock::new(Registry { by_name, buckets, default })) }
    }

    /// Returns all endpoints, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Endpoint>> {
        let registry = self.registry.read().unwrap_or_else(PoisonError::into_inner);
        registry.by_name.values().cloned().collect()
    }
}

/// Returns the bucket of a store URL, if its scheme is `s3`.
#[must_use]
pub fn bucket_of(url: &ObjectStoreUrl) -> Option<&str> {
    url.as_str().strip_prefix("s3://").map(|rest| rest.trim_end_matches('/'))
}

/// Looks up an endpoint by name in a session's configuration.
///
/// # Errors
///
/// If the session has no endpoints, or none of this name.
pub fn resolve(options: &ConfigOptions, name: &str) -> Result<Arc<Endpoint>> {
    match Endpoints::from_options(options) {
        Some(endpoints) => endpoints.get(name),
        None => plan_err!("the session has no endpoints; add them with `with_pushdown`"),
    }
}

carried!(
    Endpoints,
    "sluice_endpoints",
    "endpoints are registered with the engine and cannot be SET ({})"
);
