//! `SelectObjectContent`: the request's XML to a [`SelectRequest`], the evaluator's rows to an
//! event stream.
//!
//! The operation has a route of its own instead of `s3s`'s, for three reasons: the body may also be
//! called `SelectRequest`, its errors have S3 Select's own codes, and faults can be injected between
//! the frames of an answer.
//!
//! [`SelectRequest`]: sluicegate_s3select::SelectRequest

mod answer;
mod frames;
mod indexed;
mod request;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use percent_encoding::percent_decode_str;
use s3s::dto::SelectObjectContentEventStream;
use s3s::path::{S3Path, parse_path_style};
use s3s::{Body, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use sluicegate_evaluator::Evaluation;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::profile::Extension;
use sluicegate_s3select::request::InputFormat;
use sluicegate_s3select::{SelectError, SelectErrorCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::{Api, body_error};
use crate::counters::Operation;

use answer::{Answer, Snapshot, Source};

/// The ETag of the version that an answer was computed from, which S3 does not report.
const ETAG: HeaderName = HeaderName::from_static("x-sluice-etag");
/// The extensions of S3 Select that the server supports: all of them, but that of indexes if it uses none.
const EXTENSIONS: HeaderName = HeaderName::from_static(Extension::HEADER);
/// Asks for [`Extension::StrictLines`].
const STRICT_LINES: HeaderName = HeaderName::from_static(Extension::STRICT_LINES_HEADER);
/// Asks for [`Extension::PartialGroups`].
const PARTIAL_GROUPS: HeaderName = HeaderName::from_static(Extension::PARTIAL_GROUPS_HEADER);
/// Asks for [`Extension::Bloom`].
const BLOOM: HeaderName = HeaderName::from_static(Extension::BLOOM_HEADER);
/// The longest body that is read: the longest expression fits, with every character escaped.
const MAX_BODY: usize = 8 * 1024 * 1024;
/// Statements that may wait for each one that runs.
const QUEUE: usize = 4;
/// The longest message of an error: it has to fit into a header of an event.
const MAX_MESSAGE: usize = 4096;

/// The route of `SelectObjectContent`.
pub(crate) struct SelectRoute {
    api: Api,
    slots: Slots,
    /// The most groups that a statement keeps in memory, if there is such a limit.
    max_groups: Option<usize>,
    /// Whether indexes are used.
    indexes: bool,
    /// The machine's cores that no statement uses.
    cores: Arc<Semaphore>,
}

impl SelectRoute {
    pub(crate) fn new(api: Api, slots: usize, max_groups: Option<usize>, indexes: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let cores = Arc::new(Semaphore::new(cores));
        Self { api, slots: Slots::new(slots), max_groups, indexes, cores }
    }

    /// The cores that a statement gets: all that are free, if it can use several.
    fn take_cores(&self, evaluation: &Evaluation) -> Option<OwnedSemaphorePermit> {
        let free = self.cores.available_permits();
        let wanted = free.min(evaluation.max_threads());
        // If others took all cores in between, it still runs, without one of its own.
        Arc::clone(&self.cores).try_acquire_many_owned(u32::try_from(wanted).ok()?).ok()
    }

    /// Whether a request is one.
    pub(crate) fn is_match(method: &Method, uri: &Uri) -> bool {
        let has = |wanted: &[&str]| {
            uri.query().is_some_and(|query| query.split('&').any(|pair| wanted.contains(&pair)))
        };
        method == Method::POST && has(&["select", "select="]) && has(&["select-type=2"])
    }

    pub(crate) async fn answer(&self, request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        let (bucket, key) = object_of(&request.uri)?;
        let fault = self.api.begin(Operation::SelectObjectContent, &bucket, &key).await?;
        check_headers(&request.headers)?;
        let asks_for = |name| request.headers.get(name).is_some_and(|value| value == "true");
        let strict_lines = asks_for(STRICT_LINES);
        let extras = Extras { groups: asks_for(PARTIAL_GROUPS), bloom: asks_for(BLOOM) };
        let mut body = request.input;
        let body = body.store_all_limited(MAX_BODY).await.map_err(|error| {
            if error.to_string().contains("limit") {
                let message = "an expression has at most 256 KiB";
                select_error(SelectError::new(SelectErrorCode::ExpressionTooLong, message))
            } else {
                body_error(error)
            }
        })?;
        let mut parsed = request::parse(&body).map_err(select_error)?;
        if let InputFormat::Csv(csv) = &mut parsed.input.format {
            csv.strict_lines = strict_lines;
        }
        parsed.extras = extras;
        let request = Arc::new(parsed);

        let slot = self.slots.take().await?;
        let wanted = Arc::clone(&request);
        let indexes = self.indexes;
        let (evaluation, source) = self
            .api
            .blocking(move |store| {
                let snapshot = Arc::new(Snapshot::new(store.get(&bucket, &key)?));
                let found = indexes
                    .then(|| indexed::indexed(store, &bucket, &key, &snapshot, &wanted))
                    .flatten();
                // If that cannot be evaluated, the whole object says why.
                let found = found.and_then(|found| {
                    let evaluation = Evaluation::prepare(&found.request, found.source).ok()?;
                    Some((evaluation, found.index_bytes))
                });
                if let Some((evaluation, bytes)) = found {
                    return Ok((evaluation, Source::indexed(snapshot, bytes, wanted)));
                }
                let whole = Arc::clone(&snapshot);
                let evaluation = Evaluation::prepare(&wanted, whole).map_err(select_error)?;
                Ok((evaluation, Source::whole(snapshot)))
            })
            .await?;
        let mut headers = HeaderMap::new();
        if let Ok(etag) = HeaderValue::from_str(&format!("\"{}\"", source.etag())) {
            headers.insert(ETAG, etag);
        }
        let offered = Extension::ALL.into_iter();
        let offered = offered.filter(|it| self.indexes || *it != Extension::Indexes).collect();
        if let Ok(offered) = HeaderValue::from_str(&Extension::header_value(&offered)) {
            headers.insert(EXTENSIONS, offered);
        }
        let evaluation = match self.max_groups {
            Some(groups) => evaluation.with_max_groups(groups),
            None => evaluation,
        };
        let cores = self.take_cores(&evaluation);
        let answer = Answer::start(evaluation, source, request.progress, slot, cores);
        let frames = SelectObjectContentEventStream::new(answer).into_byte_stream();
        let frames = frames::with_fault(frames, fault);
        Ok(S3Response::with_headers(Body::from(frames), headers))
    }
}

/// The bucket and key that a request is for.
fn object_of(uri: &Uri) -> S3Result<(String, String)> {
    let path = percent_decode_str(uri.path()).decode_utf8();
    let path = path.map_err(|_| s3_error!(InvalidURI, "the path is not UTF-8"))?;
    match parse_path_style(&path) {
        Ok(S3Path::Object { bucket, key }) => Ok((bucket.into(), key.into())),
        _ => Err(s3_error!(InvalidURI, "the path names no object")),
    }
}

fn check_headers(headers: &HeaderMap) -> S3Result<()> {
    if headers.contains_key(header::RANGE) {
        let message = "a statement takes a ScanRange, not a Range header";
        let error = SelectError::new(SelectErrorCode::UnsupportedRangeHeader, message);
        return Err(select_error(error));
    }
    if headers.contains_key("x-amz-server-side-encryption-customer-algorithm") {
        return Err(s3_error!(NotImplemented, "encryption with customer keys is not supported"));
    }
    Ok(())
}

/// A statement's error as S3 says it.
fn select_error(error: SelectError) -> S3Error {
    let status = http::StatusCode::from_u16(error.code.http_status());
    let code = S3ErrorCode::from_bytes(error.code.as_str().as_bytes())
        .unwrap_or_else(|| S3ErrorCode::Custom(error.code.as_str().into()));
    let mut message = error.message.into_owned();
    message.truncate(message.floor_char_boundary(MAX_MESSAGE));
    let mut answer = S3Error::with_message(code, message);
    answer.set_status_code(status.unwrap_or(http::StatusCode::BAD_REQUEST));
    answer
}

/// Bounds the statements that run and those that wait.
struct Slots {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    max_waiting: usize,
}

impl Slots {
    fn new(slots: usize) -> Self {
        Self {
            running: Arc::new(Semaphore::new(slots)),
            waiting: AtomicUsize::new(0),
            max_waiting: slots.saturating_mul(QUEUE),
        }
    }

    async fn take(&self) -> S3Result<OwnedSemaphorePermit> {
        if let Ok(slot) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(slot);
        }
        let _place = Place::take(self).ok_or_else(|| {
            let message = "too many statements are waiting; retry later";
            select_error(SelectError::new(SelectErrorCode::Busy, message))
        })?;
        Arc::clone(&self.running).acquire_owned().await.map_err(S3Error::internal_error)
    }
}

/// A place in the queue, given up when dropped: clients may go away while they wait.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(slots: &'a Slots) -> Option<Self> {
        let before = slots.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Self(&slots.waiting);
        (before < slots.max_waiting).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_so_many_statements_wait() {
        let slots = Arc::new(Slots::new(1));
        let running = slots.take().await.unwrap();
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..QUEUE {
            let slots = Arc::clone(&slots);
            waiting.spawn(async move { slots.take().await.map(drop) });
        }
        while slots.waiting.load(Ordering::Relaxed) < QUEUE {
            tokio::task::yield_now().await;
        }
        let refused = slots.take().await.unwrap_err();
        assert_eq!(refused.code().as_str(), "Busy");
        assert_eq!(refused.status_code().unwrap().as_u16(), 503);
        drop(running);
        while let Some(waited) = waiting.join_next().await {
            waited.unwrap().unwrap();
        }
        drop(slots.take().await.unwrap());
        assert_eq!(slots.waiting.load(Ordering::Relaxed), 0);
    }
}
