//! Whether the server is there, for load balancers and containers, which do not sign.
//!
//! Answers are empty: 200, or 503 if the folder cannot be reached. Requests for a bucket or an object of these names
//! are signed, or have a query. On a server that takes unsigned requests a bucket of the name comes first.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, header};
use s3s::Body;
use tokio::task::spawn_blocking;

use crate::store::Store;

/// A question about the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Whether it answers.
    Live { bucket: &'static str },
    /// Whether it can serve its folder.
    Ready { bucket: &'static str },
}

impl Probe {
    /// The question that a request is, if it is one.
    pub(crate) fn of<B>(request: &Request<B>) -> Option<Self> {
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

    /// The answer; `None` if buckets come first and there is one of this name.
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
            Probe::of(&request.body(()).unwrap())
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
