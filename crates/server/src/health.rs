//! Health checks for load balancers and containers, which do not sign requests.
//!
//! Answers are empty: 200, or 503 if the folder cannot be reached. A signed request or one with a query is not a
//! health check, but is about a bucket or an object of that name. On an anonymous server a bucket of the name takes
//! precedence.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, header};
use s3s::Body;
use tokio::task::spawn_blocking;

use crate::store::Store;

/// A kind of health check. `bucket` is the name of a bucket that the path could also mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Checks that the server answers.
    Live { bucket: &'static str },
    /// Checks that the server can access its folder.
    Ready { bucket: &'static str },
}

impl Probe {
    /// Returns the health check that a request is, if it is one.
    pub(crate) fn from_request<B>(request: &Request<B>) -> Option<Self> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_signed = request.headers().contains_key(header::AUTHORIZATION);
        if !reads || is_signed || request.uri().query().is_some() {
            return None;
        }
        match request.uri().path() {
            "/health" => Some(Self::Ready { bucket: "health" }),
            "/minio/health/live" => Some(Self::Live { bucket: "minio" }),
            "/minio/health/ready" | "/minio/health/cluster" => {
                Some(Self::Ready { bucket: "minio" })
            }
            _ => None,
        }
    }

    /// Answers the check. `None` if buckets take precedence and there is one of this name.
    pub(crate) async fn answer(
        self,
        store: &Arc<Store>,
        buckets_first: bool,
    ) -> Option<Response<Body>> {
        let (Self::Live { bucket } | Self::Ready { bucket }) = self;
        let is_ready = match self {
            Self::Live { .. } if !buckets_first => true,
            _ => {
                let store = Arc::clone(store);
                let look = move || {
                    let is_bucket = buckets_first && store.bucket(bucket).is_ok();
                    (!is_bucket).then(|| store.is_reachable())
                };
                let is_reachable = spawn_blocking(look).await.unwrap_or(Some(false))?;
                is_reachable || matches!(self, Self::Live { .. })
            }
        };
        let mut answer = Response::new(Body::empty());
        if !is_ready {
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unsigned_requests_for_just_these_paths_are_probes() {
        let probe = |method: &str, uri: &str, header: Option<&str>| {
            let mut request = Request::builder().method(method).uri(uri);
            if let Some(value) = header {
                request = request.header(header::AUTHORIZATION, value);
            }
            Probe::from_request(&request.body(()).unwrap())
        };
        let ready = |bucket| Some(Probe::Ready { bucket });
        assert_eq!(probe("GET", "/health", None), ready("health"));
        assert_eq!(probe("HEAD", "/minio/health/ready", None), ready("minio"));
        assert_eq!(probe("GET", "/minio/health/cluster", None), ready("minio"));
        assert_eq!(probe("GET", "/minio/health/live", None), Some(Probe::Live { bucket: "minio" }));
        for (method, uri, header) in [
            ("GET", "/health/", None),
            ("GET", "/health?list-type=2", None),
            ("GET", "/health?", None),
            ("GET", "/health/live", None),
            ("GET", "/minio/health", None),
            ("PUT", "/health", None),
            ("DELETE", "/health", None),
            ("POST", "/minio/health/live", None),
            ("GET", "/health", Some("AWS4-HMAC-SHA256 Credential=a")),
        ] {
            assert_eq!(probe(method, uri, header), None, "{method} {uri}");
        }
    }
}
