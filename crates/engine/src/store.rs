//! Object stores, made when a bucket is first named and counted where requests leave.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use http_body_util::BodyExt;
use object_store::aws::{AmazonS3Builder, AwsCredential};
use object_store::client::{
    ClientOptions, CredentialProvider, HttpClient, HttpConnector, HttpError, HttpRequest,
    HttpResponse, HttpResponseBody, HttpService, ReqwestConnector,
};
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use sluicegate_client::{Client, Error};
use url::Url;

use crate::counters::{Counters, RequestKind};

/// How long a store may take to accept a connection before it counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a failed request is repeated, and for how long at most.
const RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// Knows the stores of every URL: buckets of the connected S3 endpoint appear when first named.
#[derive(Debug)]
pub struct S3Stores {
    client: Client,
    counters: Arc<Counters>,
    buckets: Mutex<BTreeMap<String, Arc<dyn ObjectStore>>>,
    others: DefaultObjectStoreRegistry,
}

impl S3Stores {
    /// Buckets are reached as `client` reaches them: same endpoint, region and credentials.
    #[must_use]
    pub fn new(client: Client, counters: Arc<Counters>) -> Self {
        Self {
            client,
            counters,
            buckets: Mutex::new(BTreeMap::new()),
            others: DefaultObjectStoreRegistry::new(),
        }
    }

    /// The store of one bucket.
    ///
    /// # Errors
    ///
    /// If the bucket's name or the endpoint cannot be used.
    pub fn bucket(&self, name: &str) -> Result<Arc<dyn ObjectStore>> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = buckets.get(name) {
            return Ok(Arc::clone(store));
        }
        let store = self.connect(name).map_err(|e| DataFusionError::ObjectStore(Box::new(e)))?;
        buckets.insert(name.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    fn connect(&self, bucket: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
        let options =
            ClientOptions::new().with_connect_timeout(CONNECT_TIMEOUT).with_allow_http(true);
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(self.client.region())
            .with_client_options(options)
            .with_virtual_hosted_style_request(!self.client.path_style())
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: RETRIES,
                retry_timeout: RETRY_TIMEOUT,
            })
            .with_http_connector(CountingConnector { counters: Arc::clone(&self.counters) });
        if let Some(endpoint) = self.client.endpoint() {
            builder = builder.with_endpoint(endpoint);
        }
        builder = if self.client.is_anonymous() {
            builder.with_skip_signature(true)
        } else {
            builder.with_credentials(Arc::new(SharedCredentials { client: self.client.clone() }))
        };
        Ok(Arc::new(builder.build()?))
    }
}

impl ObjectStoreRegistry for S3Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        match (url.scheme(), url.host_str()) {
            ("s3", Some(bucket)) => self
                .buckets
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(bucket.to_owned(), store),
            _ => self.others.register_store(url, store),
        }
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        match (url.scheme(), url.host_str()) {
            ("s3", Some(bucket)) => self.bucket(bucket),
            _ => self.others.get_store(url),
        }
    }
}

/// The Select client's credentials, for the object store: one chain, one place.
#[derive(Debug)]
struct SharedCredentials {
    client: Client,
}

#[async_trait]
impl CredentialProvider for SharedCredentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let unauthenticated = |source| object_store::Error::Unauthenticated {
            path: String::new(),
            source: Box::new(source),
        };
        let found = self.client.credentials().await.map_err(unauthenticated)?;
        let found = found.ok_or_else(|| unauthenticated(Error::NoCredentials))?;
        Ok(Arc::new(AwsCredential {
            key_id: found.access_key_id,
            secret_key: found.secret_access_key,
            token: found.session_token,
        }))
    }
}

/// Makes HTTP clients that count.
#[derive(Debug)]
struct CountingConnector {
    counters: Arc<Counters>,
}

impl HttpConnector for CountingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(CountingService { inner, counters: Arc::clone(&self.counters) }))
    }
}

#[derive(Debug)]
struct CountingService {
    inner: HttpClient,
    counters: Arc<Counters>,
}

#[async_trait]
impl HttpService for CountingService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let kind = kind(&request);
        self.counters.request(kind);
        if kind == RequestKind::Put {
            self.counters.sent(u64::try_from(request.body().content_length()).unwrap_or(u64::MAX));
        }
        let response = self.inner.execute(request).await?;
        if kind != RequestKind::Get {
            return Ok(response);
        }
        let counters = Arc::clone(&self.counters);
        Ok(response.map(|body| {
            HttpResponseBody::new(body.map_frame(move |frame| {
                if let Some(data) = frame.data_ref() {
                    counters.got(u64::try_from(data.len()).unwrap_or(u64::MAX));
                }
                frame
            }))
        }))
    }
}

fn kind(request: &HttpRequest) -> RequestKind {
    let listing = request.uri().query().is_some_and(|query| query.contains("list-type="));
    match request.method().as_str() {
        "GET" if listing => RequestKind::List,
        "GET" => RequestKind::Get,
        "HEAD" => RequestKind::Head,
        _ => RequestKind::Put,
    }
}
