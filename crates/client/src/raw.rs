//! Answers as they are received, for probes and other code that examines a store.

use std::sync::Arc;

use aws_sdk_s3::primitives::event_stream::EventReceiver;
use aws_sdk_s3::types::error::SelectObjectContentEventStreamError;
use aws_sdk_s3::types::{ExpressionType, RequestProgress, SelectObjectContentEventStream as Event};
use sluicegate_conformance::RawAnswer;
use sluicegate_s3select::capabilities::Extension;
use sluicegate_s3select::request::{CsvInput, InputFormat, OutputSerialization, SelectRequest};
use tokio::time::timeout;

use super::Client;
use super::encode::{Encoded, encode};
use super::error::{Error, Subject};
use super::metrics::SelectMetrics;
use super::sdk_error::{Failure, sort_stream_error};
use super::stall_timeout::StallTimer;
use super::wire::{AnswerHead, SelectTap};

/// The maximum size of an answer, which is kept in memory.
const MAX_BYTES: usize = 8 << 20;

/// The events of one answer.
pub(super) type Events = EventReceiver<Event, SelectObjectContentEventStreamError>;

impl Client {
    /// Sends a request unchanged, whatever the profile allows, and returns the answer as it was received. An answer
    /// that breaks off is not requested again.
    ///
    /// # Errors
    ///
    /// Like [`Client::select`], and [`Error::BadAnswer`] for an answer of more than 8 MiB.
    pub async fn send(
        &self,
        bucket: &str,
        key: &str,
        request: &SelectRequest,
        metrics: &Arc<SelectMetrics>,
    ) -> Result<RawAnswer, Error> {
        let subject = Subject { bucket: bucket.to_owned(), key: key.to_owned() };
        // With two columns, the quoting of the answer stays as requested.
        let encoded = encode(request, 2, self.profile())?;
        metrics.call();
        let silence = self.idle_timeout();
        let mut patience = StallTimer::new(silence);
        let begun = Box::pin(self.begin(&subject, request, &encoded, metrics));
        let begun = timeout(silence, begun).await;
        let (mut events, head) = begun.map_err(|_| subject.stalled(silence))??;
        let mut answer =
            RawAnswer { e_tag: head.e_tag, extensions: head.extensions, ..RawAnswer::default() };
        loop {
            let event = match timeout(silence, events.recv()).await {
                Err(_) => return Err(subject.stalled(silence)),
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) => {
                    return Err(subject.transient(1, "the answer stopped without its End event"));
                }
                Ok(Err(error)) => {
                    return Err(match sort_stream_error(&error, &subject, self.profile()) {
                        Failure::Final(error) => error,
                        Failure::Again(reason) => subject.transient(1, reason),
                    });
                }
            };
            if matches!(event, Event::Records(_) | Event::Progress(_) | Event::Stats(_)) {
                patience.goes_on();
            }
            match event {
                Event::Records(records) => {
                    let payload = records.payload.map_or_else(Vec::new, |blob| blob.into_inner());
                    if answer.records.len() + payload.len() > MAX_BYTES {
                        return Err(subject.bad_answer(format!("more than {MAX_BYTES} bytes")));
                    }
                    answer.records.extend(payload);
                }
                Event::Progress(_) => answer.progress_events += 1,
                Event::Stats(stats) => {
                    if let Some(stats) = stats.details().filter(|_| !answer.reported) {
                        metrics.answer_reported(
                            stats.bytes_scanned(),
                            stats.bytes_processed(),
                            stats.bytes_returned(),
                        );
                    }
                    answer.reported = true;
                }
                Event::End(_) => return Ok(answer),
                _ => patience.continues().map_err(|_| patience.error(&subject))?,
            }
        }
    }

    /// Returns an option of the request's CSV input if the profile relies on the extension that it needs.
    fn asks_of_csv<T>(
        &self,
        request: &SelectRequest,
        extension: Extension,
        asks: impl FnOnce(&CsvInput) -> Option<T>,
    ) -> Option<T> {
        match &request.input.format {
            InputFormat::Csv(csv) if self.profile().relies_on.contains(&extension) => asks(csv),
            _ => None,
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn begin(
        &self,
        subject: &Subject,
        request: &SelectRequest,
        encoded: &Encoded,
        metrics: &Arc<SelectMetrics>,
    ) -> Result<(Events, AnswerHead), Error> {
        let tap = SelectTap {
            metrics: Arc::clone(metrics),
            sql_bytes: request.expression.len(),
            strict_lines: self
                .asks_of_csv(request, Extension::StrictLines, |csv| csv.strict_lines.then_some(()))
                .is_some(),
            strict_fields: self
                .asks_of_csv(request, Extension::StrictFields, |csv| csv.strict_fields),
            extras: request.extras,
            arrow: match &request.output {
                OutputSerialization::Arrow(arrow) => Some(arrow.clone()),
                OutputSerialization::Csv(_) | OutputSerialization::Json { .. } => None,
            },
            head: Arc::default(),
        };
        let progress = request.progress.then(|| RequestProgress::builder().enabled(true).build());
        let operation = self
            .sdk()
            .select_object_content()
            .bucket(&subject.bucket)
            .key(&subject.key)
            .expression(&request.expression)
            .expression_type(ExpressionType::Sql)
            .input_serialization(encoded.input.clone())
            .output_serialization(encoded.output.clone())
            .set_scan_range(encoded.scan_range.clone())
            .set_request_progress(progress)
            .customize()
            .interceptor(tap.clone());
        let sent = operation.send().await.map_err(|error| {
            let error = self.sort_request_error(error, subject);
            match error {
                // Select needs a signature even for objects that anyone may read.
                Error::AccessDenied { code, .. } if self.is_anonymous() => Error::Refused {
                    code,
                    message: "Select does not accept anonymous requests".to_owned(),
                },
                error => error,
            }
        })?;
        Ok((sent.payload, tap.head()))
    }
}
