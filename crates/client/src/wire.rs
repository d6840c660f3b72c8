//! Attempts, heads and bytes of answers, which the SDK does not expose. Interceptors count them and limit how much
//! memory a store can make the client use.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextMut,
    BeforeTransmitInterceptorContextRef,
};
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body::{Body, Frame};

use super::metrics::SelectMetrics;
use sluicegate_s3select::capabilities::Extension;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::ArrowOutput;

/// The maximum length of a frame, in bytes. Stores send frames of about 128 KiB; AWS's own clients accept up to 24
/// MiB.
const MAX_FRAME_BYTES: u32 = 24 << 20;
/// The maximum length of an error document, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 1 << 20;
/// The maximum length of a list of buckets, in bytes. A list of 10,000 names takes 2 MiB.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// Observes all attempts of one `SelectObjectContent` operation.
#[derive(Debug, Clone)]
pub(super) struct SelectTap {
    pub(super) metrics: Arc<SelectMetrics>,
    pub(super) sql_bytes: usize,
    /// True if [`Extension::StrictLines`] is requested.
    pub(super) strict_lines: bool,
    /// The number of fields in a record, if [`Extension::StrictFields`] is requested.
    pub(super) strict_fields: Option<usize>,
    /// The requested extensions to the language.
    pub(super) extras: Extras,
    /// The types of the answer, if [`Extension::Arrow`] is requested.
    pub(super) arrow: Option<ArrowOutput>,
    pub(super) head: Arc<Mutex<AnswerHead>>,
}

/// The headers of an answer that the client uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AnswerHead {
    /// The version of the object that the answer comes from.
    pub(super) e_tag: Option<String>,
    /// The extensions to S3 Select that the store offers.
    pub(super) extensions: BTreeSet<Extension>,
}

impl SelectTap {
    pub(super) fn head(&self) -> AnswerHead {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Intercept for SelectTap {
    fn name(&self) -> &'static str {
        "SelectTap"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let headers = context.request_mut().headers_mut();
        if self.strict_lines {
            headers.insert(Extension::STRICT_LINES_HEADER, "true");
        }
        if let Some(fields) = self.strict_fields {
            headers.insert(Extension::STRICT_FIELDS_HEADER, fields.to_string());
        }
        if self.extras.groups {
            headers.insert(Extension::PARTIAL_GROUPS_HEADER, "true");
        }
        if self.extras.bloom {
            headers.insert(Extension::BLOOM_HEADER, "true");
        }
        if let Some(arrow) = &self.arrow {
            headers.insert(Extension::ARROW_HEADER, arrow.to_string());
        }
        Ok(())
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.metrics.request(self.sql_bytes);
        Ok(())
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response_mut();
        let headers = response.headers();
        let e_tag = headers.get("x-sluice-etag").or_else(|| headers.get("etag"));
        let extensions = headers.get(Extension::HEADER).map(Extension::parse_header);
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = AnswerHead {
            e_tag: e_tag.map(str::to_owned),
            extensions: extensions.unwrap_or_default(),
        };
        let limit = if response.status().is_success() {
            self.metrics.answer_began();
            Limit::Frames(Framing::default())
        } else {
            Limit::document(MAX_DOCUMENT_BYTES)
        };
        let body = std::mem::replace(response.body_mut(), SdkBody::taken());
        let metrics = Arc::clone(&self.metrics);
        *response.body_mut() = SdkBody::from_body_1_x(TappedBody { body, metrics, limit });
        Ok(())
    }
}

/// Counts the attempts of one `HeadObject` operation.
#[derive(Debug, Clone)]
pub(super) struct HeadTap {
    pub(super) metrics: Arc<SelectMetrics>,
}

impl Intercept for HeadTap {
    fn name(&self) -> &'static str {
        "HeadTap"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.metrics.head_request();
        Ok(())
    }
}

/// Limits the size of the answer to one `ListBuckets` operation.
#[derive(Debug, Clone)]
pub(super) struct ListTap;

impl Intercept for ListTap {
    fn name(&self) -> &'static str {
        "ListTap"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response_mut();
        let most = if response.status().is_success() { MAX_LIST_BYTES } else { MAX_DOCUMENT_BYTES };
        let body = std::mem::replace(response.body_mut(), SdkBody::taken());
        let limit = Limit::document(most);
        *response.body_mut() =
            SdkBody::from_body_1_x(TappedBody { body, metrics: Arc::default(), limit });
        Ok(())
    }
}

/// The body of an answer, with counters and limits.
struct TappedBody {
    body: SdkBody,
    metrics: Arc<SelectMetrics>,
    limit: Limit,
}

enum Limit {
    Frames(Framing),
    Document { left: u64, most: u64 },
}

impl Body for TappedBody {
    type Data = Bytes;
    type Error = aws_smithy_types::body::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            this.metrics.received(data.len());
            if let Err(reason) = this.limit.accept(data) {
                return Poll::Ready(Some(Err(reason.into())));
            }
        }
        polled
    }
}

impl Limit {
    fn document(most: u64) -> Self {
        Self::Document { left: most, most }
    }

    fn accept(&mut self, data: &[u8]) -> Result<(), String> {
        match self {
            Self::Frames(framing) => framing.accept(data),
            Self::Document { left, most } => match left.checked_sub(data.len() as u64) {
                Some(now) => {
                    *left = now;
                    Ok(())
                }
                None => Err(format!("a document of more than {most} bytes")),
            },
        }
    }
}

/// Tracks the frame lengths of an event stream, to refuse a frame before it is buffered. Everything else about frames
/// is checked by the SDK's decoder.
#[derive(Debug, Default)]
struct Framing {
    /// The bytes of the current frame's length field received so far.
    length: [u8; 4],
    have: usize,
    /// The remaining bytes of the current frame, once its length is known.
    left: usize,
}

impl Framing {
    fn accept(&mut self, mut data: &[u8]) -> Result<(), String> {
        while !data.is_empty() {
            if self.left > 0 {
                let taken = self.left.min(data.len());
                self.left -= taken;
                data = &data[taken..];
                continue;
            }
            self.length[self.have] = data[0];
            self.have += 1;
            data = &data[1..];
            if self.have == self.length.len() {
                let length = u32::from_be_bytes(self.length);
                if length > MAX_FRAME_BYTES {
                    return Err(format!("a frame of {length} bytes"));
                }
                // The decoder refuses a frame that is shorter than its own length field.
                self.left = (length as usize).saturating_sub(self.length.len());
                self.have = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_followed_however_they_are_cut() {
        let mut stream = Vec::new();
        for length in [16_u32, 100, 17] {
            stream.extend(length.to_be_bytes());
            stream.extend(vec![0xff; length as usize - 4]);
        }
        for size in 1..stream.len() {
            let mut framing = Framing::default();
            for chunk in stream.chunks(size) {
                framing.accept(chunk).unwrap();
            }
            assert_eq!((framing.have, framing.left), (0, 0));
        }
    }

    #[test]
    fn an_absurd_frame_is_refused_at_its_length() {
        let mut framing = Framing::default();
        framing.accept(&[0x7f, 0xff, 0xff]).unwrap();
        assert_eq!(framing.accept(&[0xff]).unwrap_err(), "a frame of 2147483647 bytes");
        let mut document = Limit::document(MAX_DOCUMENT_BYTES);
        document.accept(&[0; 1 << 20]).unwrap();
        document.accept(&[0]).unwrap_err();
    }
}
