//! The rows of one call as a stream, which may take several answers.

use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::types::{ProgressEvent, SelectObjectContentEventStream as Event};
use bytes::Bytes;
use futures::Stream;
use futures::stream::{self, BoxStream};
use tokio::time::timeout;

use super::Client;
use super::call::SelectCall;
use super::decode::RowDecoder;
use super::encode::{Encoded, encode};
use super::error::{EXTENSIONS_MISSING, Error, Subject};
use super::metrics::SelectMetrics;
use super::raw::Events;
use super::resume::{Progress, differs};
use super::sdk_error::{Failure, sort_stream_error};
use super::stall_timeout::{StallAction, StallTimer};
use sluicegate_s3select::capabilities::Extension;
use sluicegate_s3select::request::{InputFormat, OutputSerialization};

/// The time-out for the end of the HTTP message after the End event. A connection can only be reused if its message
/// was read to the end. A time-out is no error.
const HANG_UP: Duration = Duration::from_millis(250);

/// The rows of one call. The stream ends after the first error. Dropping it cancels the request.
pub struct SelectStream {
    schema: SchemaRef,
    metrics: Arc<SelectMetrics>,
    batches: BoxStream<'static, Result<RecordBatch, Error>>,
}

impl SelectStream {
    /// Returns the declared schema, which is the schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the counters of the call, which other calls may share.
    pub fn metrics(&self) -> &Arc<SelectMetrics> {
        &self.metrics
    }
}

impl Stream for SelectStream {
    type Item = Result<RecordBatch, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for SelectStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelectStream").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Sends the request and waits for the head of the answer.
pub(super) async fn select(client: Client, call: SelectCall) -> Result<SelectStream, Error> {
    client.profile().admits(&call.request).map_err(Error::from)?;
    if let Some(known) = client.known_refusal(&call.request) {
        return Err(known.into());
    }
    let encoded = encode(&call.request, call.schema.fields().len(), client.profile())?;
    let rows = row_decoder(&call)?;
    call.metrics.call();
    let (schema, metrics) = (Arc::clone(&call.schema), Arc::clone(&call.metrics));
    let patience = StallTimer::new(call.idle_timeout.unwrap_or_else(|| client.idle_timeout()));
    let mut scan = Scan {
        subject: Subject { bucket: call.bucket.clone(), key: call.key.clone() },
        version: call.e_tag.clone(),
        client,
        encoded,
        answer: None,
        reported: false,
        counted: None,
        attested: false,
        all_attested: true,
        rows,
        payload: Bytes::new(),
        progress: Progress::default(),
        rows_out: 0,
        repeated: 0,
        last: None,
        attempts: 1,
        complete: false,
        patience,
        furthest: 0,
        processed: 0,
        call,
    };
    Box::pin(scan.open()).await.inspect_err(|error| scan.failed(error))?;
    let batches = stream::try_unfold(scan, |mut scan| async move {
        Ok(scan.next().await?.map(|batch| (batch, scan)))
    });
    Ok(SelectStream { schema, metrics, batches: Box::pin(batches) })
}

fn row_decoder(call: &SelectCall) -> Result<RowDecoder, Error> {
    // JSON is decoded as strictly as when the object itself is read.
    let coerce = !matches!(call.request.input.format, InputFormat::Json(_));
    let schema = Arc::clone(&call.schema);
    let how = (coerce, call.sampled_types);
    RowDecoder::new(&call.request.output, schema, call.batch_size, how).map_err(|error| {
        Error::Refused { code: "InvalidRequestParameter".to_owned(), message: error.to_string() }
    })
}

struct Scan {
    client: Client,
    call: SelectCall,
    encoded: Encoded,
    subject: Subject,
    answer: Option<Events>,
    /// True if this answer has sent its Stats event.
    reported: bool,
    /// The bytes of records that the Stats event reported.
    counted: Option<i64>,
    /// The version that all answers must come from. `None` until it is known.
    version: Option<String>,
    /// True if this answer's head named that version.
    attested: bool,
    /// True if the heads of all answers that rows were taken from named the version.
    all_attested: bool,
    rows: RowDecoder,
    /// Bytes of records that are not yet decoded.
    payload: Bytes,
    progress: Progress,
    rows_out: u64,
    /// Rows of a repeated answer that were returned before.
    repeated: u64,
    /// The last rows that were returned of an answer in Arrow, for comparison with a repeated answer.
    last: Option<RecordBatch>,
    /// The number of answers that were requested.
    attempts: u32,
    complete: bool,
    /// The time-out for a silent store.
    patience: StallTimer,
    /// The most bytes of records in any answer.
    furthest: u64,
    /// The most bytes of the object that any answer reported as processed.
    processed: i64,
}

impl Scan {
    async fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            let decoded = self.rows.decode(&mut self.payload);
            if let Some(batch) = self.hand_on(decoded)? {
                return Ok(Some(batch));
            }
            if self.complete {
                if self.repeated > 0 {
                    let message = "the store sent fewer rows when the request was repeated";
                    return Err(self.subject.bad_answer(message));
                }
                let rest = self.rows.finish();
                return self.hand_on(rest);
            }
            if let Err(failure) = self.receive().await {
                self.restart(failure).await?;
            }
        }
    }

    fn hand_on(
        &mut self,
        decoded: Result<Option<RecordBatch>, ArrowError>,
    ) -> Result<Option<RecordBatch>, Error> {
        match decoded {
            Ok(Some(batch)) => {
                let rows = batch.num_rows();
                let before = usize::try_from(self.repeated).unwrap_or(usize::MAX).min(rows);
                if !self.repeats(&batch.slice(0, before)) {
                    return Err(differs(&self.subject));
                }
                self.repeated -= before as u64;
                let new = batch.slice(before, rows - before);
                self.rows_out += new.num_rows() as u64;
                if new.num_rows() > 0 && self.is_in_arrow() {
                    self.last = Some(new.clone());
                }
                Ok(Some(new))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                let before = self.rows_out;
                Err(self.subject.bad_answer(format!("{error} (after {before} valid rows)")))
            }
        }
    }

    /// Returns whether the next rows of a repeated answer are those that were returned before, as far as these are
    /// known.
    fn repeats(&self, rows: &RecordBatch) -> bool {
        let Some(last) = &self.last else { return true };
        let (count, repeated) = (rows.num_rows() as u64, self.repeated);
        // Both end with the last row that was returned, after this number of further rows.
        let (behind, known) = (repeated - count, last.num_rows() as u64);
        let both = known.min(repeated).saturating_sub(behind).min(count);
        let [from_rows, from_last] = [count, known - behind.min(known)].map(|end| end - both);
        let [from_rows, from_last, both] = [from_rows, from_last, both].map(|it| it as usize);
        rows.slice(from_rows, both) == last.slice(from_last, both)
    }

    fn is_in_arrow(&self) -> bool {
        matches!(self.call.request.output, OutputSerialization::Arrow(_))
    }

    /// Receives and handles one event.
    async fn receive(&mut self) -> Result<(), Failure> {
        let Some(answer) = &mut self.answer else {
            return Err(Failure::Again("there is no answer".to_owned()));
        };
        let event = match self.patience.wait_for(answer.recv()).await {
            Err(silent) => return Err(self.stall_failure(silent)),
            Ok(Err(error)) => {
                return Err(sort_stream_error(&error, &self.subject, self.client.profile()));
            }
            Ok(Ok(None)) => {
                return Err(Failure::Again("the answer stopped without its End event".to_owned()));
            }
            Ok(Ok(Some(event))) => event,
        };
        match event {
            Event::Records(records) => {
                let payload =
                    records.payload.map_or_else(Bytes::new, |blob| blob.into_inner().into());
                if payload.is_empty() {
                    return self.patience.continues().map_err(|silent| self.stall_failure(silent));
                }
                self.patience.goes_on();
                self.payload = self.progress.take(payload, &self.subject)?;
                if self.progress.received() > self.furthest {
                    self.furthest = self.progress.received();
                    self.patience.reset();
                }
            }
            Event::Stats(stats) if !self.reported => {
                self.reported = true;
                self.patience.goes_on();
                if let Some(stats) = stats.details() {
                    self.counted = stats.bytes_returned();
                    self.call.metrics.answer_reported(
                        stats.bytes_scanned(),
                        stats.bytes_processed(),
                        stats.bytes_returned(),
                    );
                }
            }
            Event::End(_) => {
                let more = timeout(HANG_UP, answer.recv()).await;
                self.answer = None;
                // The bytes that follow may be rows, possibly of another answer, so this End event cannot be trusted.
                if matches!(more, Ok(Ok(Some(_)) | Err(SdkError::ResponseError(_)))) {
                    let error = self.subject.bad_answer("more follows its End event");
                    return Err(Failure::Final(error));
                }
                self.check_count()?;
                self.progress.end(&self.subject)?;
                if !self.all_attested {
                    self.verify_version().await?;
                }
                self.complete = true;
            }
            Event::Progress(done) if self.call.request.progress && self.advances(&done) => {
                self.patience.goes_on();
            }
            // Cont, unknown events and unchanged figures contain nothing new.
            _ => return self.patience.continues().map_err(|silent| self.stall_failure(silent)),
        }
        Ok(())
    }

    /// Returns true if more of the object is processed than in any answer before.
    fn advances(&mut self, done: &ProgressEvent) -> bool {
        let done = done.details().and_then(|it| it.bytes_processed()).unwrap_or(0);
        let advances = done > self.processed;
        self.processed = done.max(self.processed);
        advances
    }

    /// Counts a silence and returns how to react to it.
    fn stall_failure(&self, silent: StallAction) -> Failure {
        self.call.metrics.count_stall();
        match silent {
            StallAction::AskAgain => Failure::Again("the store fell silent".to_owned()),
            StallAction::GiveUp => Failure::Final(self.patience.error(&self.subject)),
        }
    }

    /// Compares the records of a finished answer with its Stats event and with the store's habits. A message may have
    /// been lost or repeated as a whole, with its checksums, and the store may have cut a record.
    fn check_count(&self) -> Result<(), Failure> {
        let profile = self.client.profile();
        let received = self.progress.answered();
        // Stores that do not count exactly may report an unknown figure as a negative number.
        let counted = self.counted.filter(|it| profile.counts_returned_bytes || *it >= 0);
        if profile.sends_stats && !self.reported
            || profile.counts_returned_bytes && counted.is_none()
        {
            return Err(Failure::Again("the answer ended without its Stats event".to_owned()));
        }
        if let Some(counted) = counted
            && match u64::try_from(counted) {
                Ok(bytes) if profile.counts_returned_bytes => bytes != received,
                Ok(bytes) => profile.sends_stats && bytes > received,
                Err(_) => true,
            }
        {
            return Err(Failure::Again(format!(
                "the answer has {received} bytes of records, and its Stats event counts {counted}"
            )));
        }
        let delimiter = self.call.request.output.record_delimiter();
        if profile.ends_last_record && !self.progress.ends_with(delimiter.as_bytes()) {
            let reason = "the answer ended within a record, without the record delimiter";
            return Err(Failure::Again(reason.to_owned()));
        }
        Ok(())
    }

    /// Repeats the request, with pauses, until an answer begins.
    async fn restart(&mut self, failure: Failure) -> Result<(), Error> {
        let mut failure = failure;
        loop {
            let reason = match failure {
                Failure::Again(reason) => reason,
                Failure::Final(error) => {
                    self.failed(&error);
                    return Err(error);
                }
            };
            self.answer = None;
            if self.attempts >= self.call.retry.stream_attempts {
                return Err(self.subject.transient(self.attempts, reason));
            }
            if self.rows_out > 0 && self.version.is_none() {
                let reason = format!(
                    "{reason}; it cannot be resumed, because the object's version is not known"
                );
                return Err(self.subject.transient(self.attempts, reason));
            }
            tracing::debug!(attempt = self.attempts, %reason, "the answer broke off");
            tokio::time::sleep(self.call.retry.backoff(self.attempts)).await;
            self.attempts += 1;
            match self.reopen().await {
                Ok(()) => return Ok(()),
                Err(error) => failure = Failure::from(error),
            }
        }
    }

    async fn reopen(&mut self) -> Result<(), Error> {
        let starts_over = self.rows_out == 0;
        // Batches of Arrow may have other boundaries in a repeated answer, so their rows are counted instead of bytes.
        if starts_over || self.is_in_arrow() {
            self.rows = row_decoder(&self.call)?;
            self.payload = Bytes::new();
            self.progress = Progress::default();
            self.repeated = self.rows_out;
        } else {
            self.progress.repeat();
        }
        if starts_over {
            // The current version of the object is as good.
            self.version.clone_from(&self.call.e_tag);
            self.all_attested = true;
        } else if !self.attested {
            self.verify_version().await?;
        }
        Box::pin(self.open()).await
    }

    /// Sends the request and waits for the head of its answer.
    async fn open(&mut self) -> Result<(), Error> {
        let SelectCall { request, metrics, .. } = &self.call;
        let (answer, head) = loop {
            let begun = self.client.begin(&self.subject, request, &self.encoded, metrics);
            match self.patience.wait_for(Box::pin(begun)).await {
                Ok(begun) => break begun?,
                Err(silent) => {
                    metrics.count_stall();
                    if silent == StallAction::GiveUp {
                        return Err(self.patience.error(&self.subject));
                    }
                }
            }
        };
        self.check_extensions(&head.extensions)?;
        self.answer = Some(answer);
        (self.reported, self.counted) = (false, None);
        self.attest(head.e_tag)
    }

    /// Checks that the answer offers every extension that the profile relies on. The profile may have been set by
    /// hand, and requests may be answered by different servers.
    fn check_extensions(&self, offered: &BTreeSet<Extension>) -> Result<(), Error> {
        let profile = self.client.profile();
        let missing: BTreeSet<_> = profile.relies_on.difference(offered).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::Refused {
            code: EXTENSIONS_MISSING.to_owned(),
            message: format!(
                "the store does not offer what the profile `{}` relies on: {}",
                profile.name,
                Extension::header_value(&missing)
            ),
        })
    }

    /// Counts a statement that took too long, and remembers a refusal that covers similar requests.
    fn failed(&self, error: &Error) {
        if error.is_overdue() {
            self.call.metrics.overdue();
        }
        if self.rows_out == 0 {
            self.client.shared.refusals.record(error, &self.call.request);
        }
    }

    /// Compares the version in the head of an answer with the expected one.
    fn attest(&mut self, e_tag: Option<String>) -> Result<(), Error> {
        self.attested = e_tag.is_some();
        self.all_attested &= self.attested;
        match (&self.version, e_tag) {
            (Some(wanted), Some(found)) if !same_version(wanted, &found) => {
                Err(self.subject.changed())
            }
            (None, found) => {
                self.version = found;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks with a HEAD request that the object still has the expected version.
    async fn verify_version(&mut self) -> Result<(), Error> {
        let (Some(wanted), Subject { bucket, key }) = (&self.version, &self.subject) else {
            return Ok(());
        };
        let head = self.client.head_counted(bucket, key, &self.call.metrics).await?;
        match head.e_tag {
            Some(found) if !same_version(wanted, &found) => Err(self.subject.changed()),
            _ => Ok(()),
        }
    }
}

fn same_version(a: &str, b: &str) -> bool {
    let bare = |e_tag: &str| e_tag.trim_start_matches("W/").trim_matches('"').to_owned();
    bare(a) == bare(b)
}
