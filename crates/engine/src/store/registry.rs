//! Object stores for S3 buckets, created on first use, with every HTTP request counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_body_util::BodyExt;
use object_store::aws::{AmazonS3Builder, AwsCredential};
use object_store::client::{
    ClientOptions, CredentialProvider, HttpClient, HttpConnector, HttpError, HttpErrorKind,
    HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use sluicegate_client::{Client, Error};
use tokio::runtime::Handle;
use url::Url;

use crate::context::counters::{Counters, RequestKind};
use crate::context::notes::{Notes, some_of};
use crate::context::read_layer::Layered;
use crate::store::checksum;
use crate::store::checksum::Checksum;
use crate::store::checksum_store::{ChecksumStore, VerifiedGet};
use crate::store::conditional_writes::{Completions, Unconditional};
use crate::store::endpoint::Endpoint;
use crate::store::endpoints::Endpoints;
use crate::store::invalid_response::{Listings, document, requested_version, usable};
use crate::store::local::{self, Folders, LocalStore};
use crate::store::multi_range_get::RequestedRanges;
use crate::store::no_redirects::direct;
use crate::store::query_counters::QueryCounters;
use crate::store::refusal_probe::RefusalProbe;
use crate::store::stall_timeout::{Listener, StallError};
use crate::store::unnameable_keys::nameable;
use crate::store::version_pinned_store::{VersionPinnedStore, Versions};

/// The time a store has to accept a connection before it is considered unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that one PUT of a part of an object may take; the store is silent until it has received the part.
const WRITE_TIMEOUT: Duration = Duration::from_secs(600);
/// The maximum number of retries of a failed request. The constant below limits their time, counted from the first
/// attempt, because the rest of a large object may be requested again at any time.
const RETRIES: usize = 4;
const RETRY_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Finds the object store of every URL. Stores for buckets of our endpoints are created on first use; a store that is
/// registered for a bucket takes precedence over them.
#[derive(Debug)]
pub(crate) struct S3Stores {
    shared: Arc<Shared>,
    notes: Arc<Notes>,
    write_runtime: Option<Handle>,
    /// The query that requests are counted for, if any.
    query: Option<Arc<QueryCounters>>,
    /// The object versions that the query reads.
    versions: Arc<Versions>,
    /// The time that stores may be silent, or `None` for the setting of each endpoint.
    idle_timeout: Option<Duration>,
    /// The local folders that the query's statements created.
    folders: Arc<Folders>,
    /// True if statements may not name files of this machine.
    denies_local_files: bool,
    /// The stores, keyed by the names of endpoint and bucket.
    buckets: Mutex<BTreeMap<(String, String), Arc<dyn ObjectStore>>>,
}

#[derive(Debug)]
struct Shared {
    endpoints: Endpoints,
    others: DefaultObjectStoreRegistry,
    /// One pool of connections per endpoint, by the endpoint's name.
    http: Mutex<BTreeMap<String, Connections>>,
}

impl S3Stores {
    /// Creates stores that connect like the Select client of their endpoint: same URL, region and credentials.
    #[must_use]
    pub(crate) fn new(endpoints: Endpoints) -> Self {
        let shared = Shared {
            endpoints,
            others: DefaultObjectStoreRegistry::new(),
            http: Mutex::new(BTreeMap::new()),
        };
        Self {
            shared: Arc::new(shared),
            notes: Arc::default(),
            write_runtime: None,
            query: None,
            versions: Arc::default(),
            idle_timeout: None,
            folders: Arc::default(),
            denies_local_files: false,
            buckets: Mutex::new(BTreeMap::new()),
        }
    }

    /// Returns the same stores, over the same connections, for another session. Their notes are added to `notes`.
    #[must_use]
    pub(crate) fn for_session(&self, notes: Arc<Notes>) -> Self {
        let write_runtime = self.write_runtime.clone();
        let denies_local_files = self.denies_local_files;
        let shared = Arc::clone(&self.shared);
        Self {
            shared,
            notes,
            write_runtime,
            query: None,
            versions: Arc::default(),
            idle_timeout: self.idle_timeout,
            folders: Arc::default(),
            denies_local_files,
            buckets: Mutex::new(BTreeMap::new()),
        }
    }

    /// Returns the same stores, over the same connections, for one query. All requests through them count as that
    /// query's, in whichever task they are sent. They pin one version of each object: the one in `versions`, or the
    /// first that is read. Stores may be silent for `idle_timeout`, or else for the time-out of their endpoint.
    #[must_use]
    pub(crate) fn counted_by(
        &self,
        query: Arc<QueryCounters>,
        versions: Arc<Versions>,
        idle_timeout: Option<Duration>,
    ) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            notes: Arc::clone(&self.notes),
            write_runtime: self.write_runtime.clone(),
            query: Some(query),
            versions,
            idle_timeout,
            folders: Arc::default(),
            denies_local_files: self.denies_local_files,
            buckets: Mutex::new(BTreeMap::new()),
        }
    }

    /// Denies access to files of this machine.
    #[must_use]
    pub(crate) fn without_local_files(self) -> Self {
        Self { denies_local_files: true, ..self }
    }

    /// Returns true if statements may not name files of this machine.
    pub(crate) const fn denies_local_files(&self) -> bool {
        self.denies_local_files
    }

    /// Adds notes about objects that are left out of listings to `notes`.
    #[must_use]
    pub(crate) fn with_notes(mut self, notes: Arc<Notes>) -> Self {
        self.notes = notes;
        self
    }

    /// Sends requests that write or delete from another runtime.
    #[must_use]
    pub(crate) fn with_write_runtime(mut self, runtime: Option<Handle>) -> Self {
        self.write_runtime = runtime;
        self
    }

    /// Returns the store of one bucket of an endpoint.
    fn bucket(&self, endpoint: &Endpoint, name: &str) -> Result<Arc<dyn ObjectStore>> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (endpoint.name.clone(), name.to_owned());
        if let Some(store) = buckets.get(&key) {
            return Ok(Arc::clone(store));
        }
        let counters = match &self.query {
            Some(query) => query.at(endpoint),
            None => Arc::clone(&endpoint.counters),
        };
        let service = CountingService {
            bucket: name.to_owned(),
            path_style: endpoint.client.path_style(),
            http: self.http(endpoint),
            counters,
            notes: Arc::clone(&self.notes),
            listings: Arc::default(),
            completions: Arc::default(),
            idle_timeout: self.idle_timeout.unwrap_or(endpoint.client.idle_timeout()),
        };
        let connected = connect(endpoint, name, &service);
        let store = connected.map_err(|e| DataFusionError::ObjectStore(Box::new(e)))?;
        let store = match &self.query {
            Some(_) => {
                let versions = self.versions.for_bucket(name);
                Arc::new(VersionPinnedStore::new(store, versions).reading_gaps(endpoint.gap()))
            }
            None => store,
        };
        buckets.insert(key, Arc::clone(&store));
        Ok(store)
    }

    /// Returns the connections to an endpoint, which all queries share.
    fn http(&self, endpoint: &Endpoint) -> Connections {
        let mut http = self.shared.http.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = http.get(&endpoint.name) {
            return known.clone();
        }
        let (reads, writes) = direct(CONNECT_TIMEOUT, self.write_runtime.as_ref());
        let connections = Connections { reads, writes };
        http.insert(endpoint.name.clone(), connections.clone());
        connections
    }

    /// Returns the endpoint and the bucket of a URL; `None` if no endpoint of ours serves it.
    fn ours(&self, url: &Url) -> Option<(Arc<Endpoint>, String)> {
        let bucket = url.host_str().filter(|_| url.scheme() == "s3")?;
        Some((self.shared.endpoints.bucket(bucket)?, bucket.to_owned()))
    }
}

/// The connections to an endpoint: those that read, and those that write and delete.
///
/// They follow no redirect, because another host's answer is not the store's, and a session's token is for the store
/// alone.
#[derive(Debug, Clone)]
struct Connections {
    reads: HttpClient,
    writes: HttpClient,
}

impl Connections {
    /// Returns the client for a request.
    fn client_for(&self, request: &HttpRequest) -> &HttpClient {
        match kind(request) {
            RequestKind::Put => &self.writes,
            _ => &self.reads,
        }
    }
}

fn options() -> ClientOptions {
    // Over a slow link a large object may take any time: only silence is an error.
    let options = ClientOptions::new().with_timeout_disabled();
    options.with_connect_timeout(CONNECT_TIMEOUT).with_allow_http(true)
}

fn connect(
    endpoint: &Endpoint,
    bucket: &str,
    service: &CountingService,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let (name, value) = checksum::MODE;
    let mode = [(HeaderName::from_static(name), HeaderValue::from_static(value))];
    let asking = options().with_default_headers(HeaderMap::from_iter(mode));
    let plain = connect_with(endpoint, bucket, service, options())?;
    let asking = connect_with(endpoint, bucket, service, asking)?;
    // AWS itself is reached by TLS.
    let secure = endpoint.client.endpoint().is_none_or(|url| url.starts_with("https://"));
    let checked = Arc::new(Layered::new(plain, ChecksumStore { asking, secure }));
    let explained = Arc::new(Layered::new(checked, RefusalProbe));
    Ok(Arc::new(Layered::new(explained, Unconditional)))
}

fn connect_with(
    endpoint: &Endpoint,
    bucket: &str,
    service: &CountingService,
    options: ClientOptions,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    let client = &endpoint.client;
    let connector = CountingConnector { service: service.clone() };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(client.region())
        .with_client_options(options)
        .with_virtual_hosted_style_request(!client.path_style())
        .with_retry(RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: RETRIES,
            retry_timeout: RETRY_TIMEOUT,
        })
        .with_http_connector(connector);
    if let Some(url) = client.endpoint() {
        builder = builder.with_endpoint(url);
    }
    builder = if client.is_anonymous() {
        builder.with_skip_signature(true)
    } else {
        builder.with_credentials(Arc::new(SharedCredentials { client: client.clone() }))
    };
    Ok(Arc::new(builder.build()?))
}

impl ObjectStoreRegistry for S3Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        // From now on nothing about this bucket may be sent to our endpoints.
        if let Some(bucket) = url.host_str().filter(|_| url.scheme() == "s3") {
            self.shared.endpoints.cede(bucket);
        }
        self.shared.others.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        match self.ours(url) {
            Some((endpoint, bucket)) => self.bucket(&endpoint, &bucket),
            None if url.scheme() == "file" && self.denies_local_files => {
                Err(local::denied().into())
            }
            None if url.scheme() == "file" => {
                let store = self.shared.others.get_store(url)?;
                let store = LocalStore::instead_of(store, &self.folders, &self.notes);
                Ok(match &self.query {
                    Some(_) => Arc::new(VersionPinnedStore::new(
                        store,
                        self.versions.for_bucket("file://"),
                    )),
                    None => store,
                })
            }
            None => self.shared.others.get_store(url),
        }
    }
}

/// Gives the object store the Select client's credentials, so that there is one provider chain.
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

/// Makes HTTP clients that count requests.
#[derive(Debug)]
struct CountingConnector {
    service: CountingService,
}

impl HttpConnector for CountingConnector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.service.clone()))
    }
}

#[derive(Debug, Clone)]
struct CountingService {
    bucket: String,
    /// True if URLs contain the bucket in their path.
    path_style: bool,
    http: Connections,
    counters: Arc<Counters>,
    notes: Arc<Notes>,
    /// The listings in progress.
    listings: Arc<Listings>,
    completions: Arc<Completions>,
    /// The time that the store may be silent.
    idle_timeout: Duration,
}

#[async_trait]
impl HttpService for CountingService {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        set_range_header(&mut request)?;
        let only_new = self.completions.condition(&mut request);
        let version = requested_version(&request);
        let conversation: Arc<VerifiedGet> =
            request.extensions().get().cloned().unwrap_or_default();
        let listener = Listener {
            limit: self.idle_timeout,
            hearing: Arc::clone(&conversation.hearing),
            counters: Arc::clone(&self.counters),
            object: self.object(&request),
            // For an object, the object stores request only the missing rest.
            continues: kind(&request) == RequestKind::Get,
        };
        if listener.hearing.is_over() {
            return Err(listener.stall_error());
        }
        loop {
            match self.answer(request.clone(), listener.clone()).await {
                // A write may have been executed although no answer came, so only other requests are retried.
                Err(error) if StallError::passes(&error) && kind(&request) != RequestKind::Put => {}
                Ok(answer) => {
                    if let Some(only_new) = &only_new
                        && answer.status() == http::StatusCode::NOT_IMPLEMENTED
                        && let Some(condition) =
                            request.headers_mut().remove(http::header::IF_NONE_MATCH)
                    {
                        only_new.is_not_implemented();
                        if request.method() == http::Method::POST {
                            // The object did not exist just now, so the condition can be dropped.
                            continue;
                        }
                        let why = format!("If-None-Match: {condition:?} is not implemented");
                        return Err(HttpError::new(
                            HttpErrorKind::Unknown,
                            std::io::Error::other(why),
                        ));
                    }
                    let answer = usable(version.as_deref(), answer).await?;
                    if answer.status() == http::StatusCode::OK
                        && let Some(checksum) = Checksum::offered(answer.headers())
                    {
                        // Later requests fetch the rest of this first answer.
                        let _ = conversation.checksum.set(checksum);
                    }
                    return Ok(answer);
                }
                failed => return failed,
            }
        }
    }
}

impl CountingService {
    /// Sends a request once and returns the answer.
    async fn answer(
        &self,
        request: HttpRequest,
        listener: Listener,
    ) -> Result<HttpResponse, HttpError> {
        let kind = kind(&request);
        self.counters.request(kind);
        let mut open = self.counters.open(kind, || self.object(&request));
        if kind == RequestKind::Put {
            let bytes = u64::try_from(request.body().content_length()).unwrap_or(u64::MAX);
            self.counters.sent(bytes);
            if let Some(open) = &mut open {
                open.add(bytes);
            }
        }
        let uri = request.uri().clone();
        let client = self.http.client_for(&request);
        // The store is silent while it receives bytes.
        let beginning = (kind == RequestKind::Put).then_some(WRITE_TIMEOUT);
        let response = listener.heard(client.execute(request), beginning).await?;
        if kind == RequestKind::List && response.status().is_success() {
            return self.nameable(&uri, response).await;
        }
        if kind == RequestKind::Put && response.status().is_success() {
            let (head, body) = response.into_parts();
            return Ok(HttpResponse::from_parts(head, document(body).await?.into()));
        }
        if kind != RequestKind::Get {
            return Ok(response);
        }
        let counters = Arc::clone(&self.counters);
        Ok(response.map(|body| {
            HttpResponseBody::new(body.map_frame(move |frame| {
                if let Some(data) = frame.data_ref() {
                    let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
                    counters.got(bytes);
                    if let Some(open) = &mut open {
                        open.add(bytes);
                    }
                }
                frame
            }))
        }))
    }

    /// Returns the URL of the object that a request is about, such as `s3://bucket/t/a.csv`.
    fn object(&self, request: &HttpRequest) -> String {
        let path = request.uri().path();
        let path = Path::from_url_path(path).map_or_else(|_| path.to_owned(), |it| it.to_string());
        let path = path.trim_start_matches('/');
        let key = match path.strip_prefix(&self.bucket).filter(|_| self.path_style) {
            Some(key) => key.trim_start_matches('/'),
            None => path,
        };
        format!("s3://{}/{key}", self.bucket)
    }

    /// Returns a page of a listing without the objects that no path can name.
    async fn nameable(&self, uri: &Uri, page: HttpResponse) -> Result<HttpResponse, HttpError> {
        let (head, body) = page.into_parts();
        let page = document(body).await?;
        self.listings.check(uri, &page)?;
        let (body, skipped) = nameable(page);
        if !skipped.is_empty() {
            self.notes.add(format!(
                "objects in the bucket {} are left out, because no path can name them: {}",
                self.bucket,
                some_of(&skipped)
            ));
        }
        Ok(HttpResponse::from_parts(head, HttpResponseBody::from(body)))
    }
}

/// Adds the ranges of a request's extension as its `Range` header. The signature does not cover that header.
fn set_range_header(request: &mut HttpRequest) -> Result<(), HttpError> {
    let Some(RequestedRanges(ranges)) = request.extensions().get().cloned() else { return Ok(()) };
    let failed = |why| HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(why));
    if request.headers().contains_key("range") {
        // After a broken answer, the rest of its body is requested as if the body were the object.
        return Err(failed("several ranges are not asked for again in part"));
    }
    let value = ranges.parse().map_err(|_| failed("a header of ranges is not valid"))?;
    request.headers_mut().insert("range", value);
    Ok(())
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

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use http::header::IF_NONE_MATCH;
    use object_store::client::HttpRequestBody;

    use super::*;
    use crate::store::staging::create_only::OnlyNew;

    /// A store that implements no conditions, and records which requests had one.
    #[derive(Debug, Clone, Default)]
    struct WithoutConditions(Arc<Mutex<Vec<bool>>>);

    #[async_trait]
    impl HttpService for WithoutConditions {
        async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
            let has_condition = request.headers().contains_key(IF_NONE_MATCH);
            self.0.lock().unwrap().push(has_condition);
            let mut answer = HttpResponse::new(HttpResponseBody::from(Vec::new()));
            if has_condition {
                *answer.status_mut() = StatusCode::NOT_IMPLEMENTED;
            }
            Ok(answer)
        }
    }

    #[tokio::test]
    async fn a_store_without_conditions_is_asked_again_without() {
        let there = WithoutConditions::default();
        let http = HttpClient::new(there.clone());
        let service = CountingService {
            bucket: "b".to_owned(),
            path_style: true,
            http: Connections { reads: http.clone(), writes: http },
            counters: Arc::default(),
            notes: Arc::default(),
            listings: Arc::default(),
            completions: Arc::default(),
            idle_timeout: Duration::from_secs(60),
        };
        let only_new = OnlyNew::at("s3://b/", &Path::from("k"));
        let send = |method: &str, uri: &str, with: bool| {
            let mut request = http::Request::builder().method(method).uri(uri);
            if with {
                request = request.extension(only_new.clone());
            }
            service.call(request.body(HttpRequestBody::empty()).unwrap())
        };
        send("POST", "http://h/b/k?uploads=", true).await.unwrap();
        let completed = send("POST", "http://h/b/k?uploadId=u", false).await.unwrap();
        assert_eq!(completed.status(), StatusCode::OK);
        // For a single PUT, the writer checks beforehand that the object does not exist.
        send("PUT", "http://h/b/k", true).await.unwrap_err();
        assert_eq!(*there.0.lock().unwrap(), [false, true, false, true]);
    }
}
