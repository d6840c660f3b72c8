//! The operation `SelectObjectContent`. It parses the request's XML to a [`SelectRequest`], and sends the evaluator's
//! rows as an event stream.
//!
//! The operation has a route of its own instead of `s3s`'s, for three reasons: the root element may also be called
//! `SelectRequest`, its errors have S3 Select's own codes, and faults can be injected between the frames of an
//! answer.
//!
//! A request walks through [`SelectRoute::answer`]: `request.rs` parses it, `admission.rs` limits the statements that run
//! at a time, `indexed` finds records by indexes, and `answer.rs` evaluates and streams. `frames.rs` injects faults.
//! `deadline.rs` and `reader.rs` end statements early.
//!
//! [`SelectRequest`]: sluicegate_s3select::SelectRequest

mod admission;
mod answer;
mod deadline;
mod frames;
mod indexed;
mod reader;
mod request;

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use percent_encoding::percent_decode_str;
use s3s::dto::SelectObjectContentEventStream;
use s3s::path::{S3Path, parse_path_style};
use s3s::{Body, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use sluicegate_evaluator::Evaluation;
use sluicegate_s3select::capabilities::Extension;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{ArrowOutput, InputFormat, OutputSerialization};
use sluicegate_s3select::{SelectError, SelectErrorCode, SelectRequest};

use crate::api::Api;
use crate::counters::Operation;
use crate::documents::{Documents, verify};
use crate::error_messages::is_no_xml;
use crate::store::storage_error;

use admission::Admission;
use answer::{Answer, Snapshot, Source};
use deadline::Deadline;

/// The header with the ETag of the version that an answer was computed from. S3 does not report it.
const ETAG: HeaderName = HeaderName::from_static("x-sluice-etag");
/// The header with the supported extensions of S3 Select: all of them, except indexes if they are switched off.
const EXTENSIONS: HeaderName = HeaderName::from_static(Extension::HEADER);
/// The header that requests [`Extension::StrictLines`].
const STRICT_LINES: HeaderName = HeaderName::from_static(Extension::STRICT_LINES_HEADER);
/// The header that requests [`Extension::StrictFields`].
const STRICT_FIELDS: HeaderName = HeaderName::from_static(Extension::STRICT_FIELDS_HEADER);
/// The header that requests [`Extension::PartialGroups`].
const PARTIAL_GROUPS: HeaderName = HeaderName::from_static(Extension::PARTIAL_GROUPS_HEADER);
/// The header that requests [`Extension::Bloom`].
const BLOOM: HeaderName = HeaderName::from_static(Extension::BLOOM_HEADER);
/// The header that requests [`Extension::Arrow`].
const ARROW: HeaderName = HeaderName::from_static(Extension::ARROW_HEADER);
/// The maximum length of an error message in bytes, so that it fits into a header of an event.
const MAX_MESSAGE: usize = 4096;

/// The settings that hold for all statements.
pub(crate) struct Settings {
    /// The number of statements evaluated at the same time.
    pub(crate) slots: usize,
    /// The maximum number of groups that a statement keeps in memory. `None` leaves it to the evaluator.
    pub(crate) max_groups: Option<usize>,
    /// True if indexes are used.
    pub(crate) indexes: bool,
}

/// The route of `SelectObjectContent`.
pub(crate) struct SelectRoute {
    api: Api,
    documents: Documents,
    admission: Arc<Admission>,
    settings: Settings,
}

impl SelectRoute {
    pub(crate) fn new(api: Api, documents: Documents, settings: Settings) -> Self {
        let admission = Arc::new(Admission::new(settings.slots));
        Self { api, documents, admission, settings }
    }

    /// Returns true if the request is a `SelectObjectContent`.
    pub(crate) fn is_match(method: &Method, uri: &Uri) -> bool {
        let has = |wanted: &[&str]| {
            uri.query().is_some_and(|query| query.split('&').any(|pair| wanted.contains(&pair)))
        };
        method == Method::POST && has(&["select", "select="]) && has(&["select-type=2"])
    }

    /// Answers a request: it is parsed, admitted, prepared over one version of its object, and streamed.
    pub(crate) async fn answer(&self, mut request: S3Request<Body>) -> S3Result<S3Response<Body>> {
        let (bucket, key) = object_of(&request.uri)?;
        let fault = self.api.begin(Operation::SelectObjectContent, &bucket, &key).await?;
        let request = Arc::new(self.parse(&mut request).await?);
        let mut turn = self.admission.take().await?;
        let deadline = Deadline::new(self.api.limits.statement_timeout);
        let (evaluation, source) = self.prepare(bucket, key, &request, &deadline).await?;
        let headers = self.headers(&source);
        turn.take_cores(evaluation.max_threads());
        let answer = Answer::start(evaluation, source, request.progress, turn, deadline);
        let frames = SelectObjectContentEventStream::new(answer).into_byte_stream();
        let frames = frames::with_fault(frames, fault);
        Ok(S3Response::with_headers(Body::from(frames), headers))
    }

    /// Parses the headers and the document of a request.
    async fn parse(&self, request: &mut S3Request<Body>) -> S3Result<SelectRequest> {
        check_headers(&request.headers)?;
        let has = |name| request.headers.get(name).is_some_and(|value| value == "true");
        let strict_lines = has(STRICT_LINES);
        let strict_fields = strict_fields(&request.headers)?;
        let arrow = arrow(&request.headers)?;
        let extras = Extras { groups: has(PARTIAL_GROUPS), bloom: has(BLOOM) };
        let body = self.documents.read(request).await.map_err(too_long)?;
        let trailers = request.trailing_headers.as_ref();
        verify(&body, &request.uri, &request.headers, trailers)?;
        refuse_controls(&body.bytes)?;
        let mut parsed = request::parse(&body.bytes).map_err(select_error)?;
        if let InputFormat::Csv(csv) = &mut parsed.input.format {
            csv.strict_lines = strict_lines;
            csv.strict_fields = strict_fields;
        }
        if let Some(arrow) = arrow {
            parsed.output = OutputSerialization::Arrow(arrow);
        }
        parsed.extras = extras;
        Ok(parsed)
    }

    /// Opens one version of the object and prepares the statement over it, or over the records that an index leads to.
    async fn prepare(
        &self,
        bucket: String,
        key: String,
        request: &Arc<SelectRequest>,
        deadline: &Arc<Deadline>,
    ) -> S3Result<(Evaluation, Source)> {
        let (wanted, watching) = (Arc::clone(request), Arc::clone(deadline));
        let indexes = self.settings.indexes;
        let integrity = Arc::clone(&self.api.integrity);
        // The thread that prepares the statement outlives this future only for a short time.
        let awaited = deadline.awaited();
        let prepared = self
            .api
            .blocking(move |store| {
                let object = store.get(&bucket, &key)?;
                let check = integrity.before_statement(&object).map_err(storage_error)?;
                let snapshot = Arc::new(Snapshot::new(object, watching, check));
                let found = indexes
                    .then(|| indexed::indexed(store, &bucket, &key, &snapshot, &wanted))
                    .flatten();
                // If this fails, the statement over the whole object gives the exact error.
                let found = found.and_then(|found| {
                    let evaluation = Evaluation::prepare(&found.request, found.source).ok()?;
                    Some((evaluation, found.index_bytes))
                });
                if let Some((evaluation, bytes)) = found {
                    return Ok((evaluation, Source::indexed(snapshot, bytes, wanted)));
                }
                let whole = Arc::clone(&snapshot);
                let evaluation = Evaluation::prepare(&wanted, whole)
                    .map_err(|error| snapshot.damage().unwrap_or_else(|| select_error(error)))?;
                Ok((evaluation, Source::whole(snapshot)))
            })
            .await;
        awaited.end();
        let (evaluation, source) = prepared.map_err(|error| deadline.overdue().unwrap_or(error))?;
        let evaluation = match self.settings.max_groups {
            Some(groups) => evaluation.with_max_groups(groups),
            None => evaluation,
        };
        Ok((evaluation, source))
    }

    /// Returns the headers of an answer: the version that it is computed from, and the extensions offered.
    fn headers(&self, source: &Source) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Ok(etag) = HeaderValue::from_str(&format!("\"{}\"", source.etag())) {
            headers.insert(ETAG, etag);
        }
        let offered = Extension::ALL.into_iter();
        let offered =
            offered.filter(|it| self.settings.indexes || *it != Extension::Indexes).collect();
        if let Ok(offered) = HeaderValue::from_str(&Extension::header_value(&offered)) {
            headers.insert(EXTENSIONS, offered);
        }
        headers
    }
}

/// Returns the bucket and key of a request.
fn object_of(uri: &Uri) -> S3Result<(String, String)> {
    let path = percent_decode_str(uri.path()).decode_utf8();
    let path = path.map_err(|_| s3_error!(InvalidURI, "the path is not UTF-8"))?;
    match parse_path_style(&path) {
        Ok(S3Path::Object { bucket, key }) => Ok((bucket.into(), key.into())),
        _ => Err(s3_error!(InvalidURI, "the path names no object")),
    }
}

/// Returns the number of fields that the request requires in each record.
fn strict_fields(headers: &HeaderMap) -> S3Result<Option<usize>> {
    let Some(value) = headers.get(STRICT_FIELDS) else { return Ok(None) };
    match value.to_str().ok().and_then(|value| value.parse().ok()) {
        Some(fields) if fields > 0 => Ok(Some(fields)),
        _ => Err(s3_error!(InvalidArgument, "{STRICT_FIELDS} is a number of fields, from 1 on.")),
    }
}

/// Returns the types of an answer that the request wants as Arrow.
fn arrow(headers: &HeaderMap) -> S3Result<Option<ArrowOutput>> {
    let Some(value) = headers.get(ARROW) else { return Ok(None) };
    let parsed = value.to_str().map_err(|_| s3_error!(InvalidArgument, "{ARROW} is not ASCII."))?;
    let parsed = parsed.parse::<ArrowOutput>();
    parsed.map(Some).map_err(|error| s3_error!(InvalidArgument, "{ARROW}: {}.", error.message))
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

/// Refuses characters that XML cannot represent.
fn refuse_controls(body: &[u8]) -> S3Result<()> {
    let text = std::str::from_utf8(body).unwrap_or_default();
    match text.chars().find(|c| is_no_xml(*c)) {
        None => Ok(()),
        Some(c) => {
            let message = format!("U+{:04X} is a character that XML cannot hold", u32::from(c));
            Err(select_error(SelectError::new(SelectErrorCode::MalformedXML, message)))
        }
    }
}

/// Converts the error of a document that is too long. Only the expression can make it so long.
fn too_long(error: S3Error) -> S3Error {
    if *error.code() != S3ErrorCode::MaxMessageLengthExceeded {
        return error;
    }
    let message = "an expression has at most 256 KiB";
    select_error(SelectError::new(SelectErrorCode::ExpressionTooLong, message))
}

/// Converts a statement's error to S3's form.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_xml_cannot_hold_are_refused() {
        for (body, expected) in [
            ("<Expression>SELECT '\t\r\n é\u{7f}'</Expression>", None),
            ("<Expression>SELECT '\u{1}'</Expression>", Some("MalformedXML")),
            ("<Expression>SELECT '\u{ffff}'</Expression>", Some("MalformedXML")),
            ("<Select\0Request>", Some("MalformedXML")),
        ] {
            let refused = refuse_controls(body.as_bytes()).err();
            assert_eq!(
                refused.map(|it| it.code().as_str().to_owned()).as_deref(),
                expected,
                "{body:?}"
            );
        }
    }
}
