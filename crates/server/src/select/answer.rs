//! The evaluation of a statement on a thread of its own, as a stream of events.

use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use s3s::dto::{
    ContinuationEvent, EndEvent, Progress, ProgressEvent, RecordsEvent, SelectObjectContentEvent,
    StatsEvent,
};
use s3s::{S3Error, S3Result, s3_error};
use sluicegate_evaluator::{
    Cancellation, Evaluation, MAX_RECORDS_BYTES, ObjectSource, Sink, Stats,
};
use sluicegate_s3select::request::{OutputSerialization, SelectRequest};
use sluicegate_s3select::{SelectError, SelectErrorCode};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, Sleep, sleep};

use crate::integrity::{Check, awaits};
use crate::store::{Object, storage_error};

use super::admission::AdmissionPermit;
use super::deadline::Deadline;
use super::reader::Reader;
use super::select_error;

/// The time without an event after which a `Cont` is sent, so that no proxy closes the connection as idle.
const IDLE: Duration = Duration::from_secs(1);
/// The shortest interval between `Progress` events.
const PROGRESS: Duration = Duration::from_secs(1);
/// The number of events that may wait for the client, about 1 MiB.
const QUEUE: usize = 8;

/// The version of an object that a statement reads. Reading fails once the answer is no longer wanted.
pub(super) struct Snapshot {
    object: Object,
    watch: Arc<Deadline>,
    /// The check of the object against its stored checksum.
    check: Check,
}

impl Snapshot {
    pub(super) fn new(object: Object, watch: Arc<Deadline>, check: Check) -> Self {
        Self { object, watch, check }
    }

    /// Returns the error of the object, if it has been found to be damaged.
    pub(super) fn damage(&self) -> Option<S3Error> {
        self.check.record_damage().then(|| storage_error(self.object.damaged()))
    }

    pub(super) fn etag(&self) -> &str {
        &self.object.meta.etag
    }

    pub(super) fn watch(&self) -> &Arc<Deadline> {
        &self.watch
    }
}

impl ObjectSource for Snapshot {
    fn len(&self) -> u64 {
        self.object.size
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        if !self.watch.goes_on() {
            return Err(io::Error::other("the answer is no longer wanted"));
        }
        if self.check.record_damage() {
            return Err(self.object.damaged());
        }
        self.object.read_at(offset, buf)
    }
}

/// The data from which an answer is computed.
pub(super) struct Source {
    snapshot: Arc<Snapshot>,
    indexed: Option<IndexedSource>,
}

/// The records of an object to which indexes have led.
struct IndexedSource {
    /// The bytes that were read from the indexes.
    bytes: u64,
    /// The request to evaluate over the whole object.
    request: Arc<SelectRequest>,
}

impl Source {
    /// Returns a source with the whole object.
    pub(super) fn whole(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, indexed: None }
    }

    /// Returns a source for records found by indexes, of which `bytes` were read. `request` has the same answer over
    /// the whole object.
    pub(super) fn indexed(
        snapshot: Arc<Snapshot>,
        bytes: u64,
        request: Arc<SelectRequest>,
    ) -> Self {
        Self { snapshot, indexed: Some(IndexedSource { bytes, request }) }
    }

    pub(super) fn etag(&self) -> &str {
        self.snapshot.etag()
    }

    /// Handles the failure of a statement. A statement over records found by indexes is evaluated again over the
    /// whole object, which gives the exact error. If it does not fail there, the rest of the answer is sent.
    fn again(&self, error: SelectError, sink: &mut EventSink) -> Result<Stats, SelectError> {
        let Some(IndexedSource { request, .. }) = &self.indexed else { return Err(error) };
        let source = Arc::clone(&self.snapshot);
        let whole = Evaluation::prepare(request, source)?.with_cancellation(&sink.cancellation);
        // Which groups are returned before the end depends on the division into batches, and so do the bytes of Arrow.
        let by_batches =
            request.extras.groups || matches!(request.output, OutputSerialization::Arrow(_));
        let is_same = sink.sent == 0 || !by_batches;
        let skip = if is_same { sink.sent } else { u64::MAX };
        let stats = whole.run(&mut SkippingSink { sink, skip })?;
        if is_same { Ok(stats) } else { Err(error) }
    }
}

/// A sink that skips the bytes that were sent before.
struct SkippingSink<'a> {
    sink: &'a mut EventSink,
    skip: u64,
}

impl Sink for SkippingSink<'_> {
    fn records(&mut self, mut bytes: Bytes) -> ControlFlow<()> {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        let rest = bytes.split_off(skipped);
        if rest.is_empty() { ControlFlow::Continue(()) } else { self.sink.records(rest) }
    }

    fn progress(&mut self, stats: &Stats) -> ControlFlow<()> {
        self.sink.progress(stats)
    }
}

/// The queue of events for the client.
type Events = Mutex<Receiver<S3Result<SelectObjectContentEvent>>>;

/// The stream of an answer's events.
pub(super) struct Answer {
    events: Arc<Events>,
    reader: Arc<Reader>,
    idle: Pin<Box<Sleep>>,
    idle_after: Duration,
    /// True after the last event, which is `End` or an error.
    done: bool,
}

impl Answer {
    fn new(events: Arc<Events>, reader: Arc<Reader>, idle_after: Duration) -> Self {
        Self { events, reader, idle: Box::pin(sleep(idle_after)), idle_after, done: false }
    }

    /// Starts the evaluation. Dropping the answer ends it.
    pub(super) fn start(
        evaluation: Evaluation,
        source: Source,
        progress: bool,
        turn: AdmissionPermit,
        watch: Arc<Deadline>,
    ) -> Self {
        let (sender, events) = channel(QUEUE);
        let (events, reader) = (Arc::new(Mutex::new(events)), Arc::clone(turn.reader()));
        let queue = Arc::downgrade(&events);
        let queued = Instant::now();
        spawn_blocking(move || {
            watch.waited(queued.elapsed());
            let index_bytes = source.indexed.as_ref().map_or(0, |indexed| indexed.bytes);
            let progress = progress.then(Instant::now);
            let sink = EventSink::new(sender, queue, turn, watch, progress, index_bytes);
            evaluate(evaluation, &source, sink);
        });
        Self::new(events, reader, IDLE)
    }
}

fn evaluate(evaluation: Evaluation, source: &Source, mut sink: EventSink) {
    let threads = sink.turn.threads();
    let evaluation = evaluation.with_cancellation(&sink.cancellation);
    let ran = evaluation.run_on(threads, &mut sink);
    let snapshot = &source.snapshot;
    let ran = match ran {
        Err(error) if !sink.cancellation.is_cancelled() && snapshot.damage().is_none() => {
            source.again(error, &mut sink)
        }
        ran => ran,
    };
    if let Ok(stats) = &ran
        && awaits(snapshot.len(), stats.bytes_scanned)
    {
        sink.until_checked(&snapshot.check);
    }
    let damage = snapshot.damage();
    let last = match ran {
        _ if sink.cancellation.is_cancelled() => match sink.watch.overdue() {
            Some(error) => Err(error),
            None => return,
        },
        Ok(_) if !snapshot.object.is_unchanged() => {
            Err(s3_error!(InternalError, "the object was changed in place while it was read"))
        }
        Ok(stats) => damage.map_or(Ok(stats), Err),
        // The error is about bytes that differ from those stored, if the object is damaged.
        Err(error) => Err(damage.unwrap_or_else(|| select_error(error))),
    };
    // If one of these fails, the client has left.
    let _ = match last {
        Ok(stats) => sink.end(&stats),
        Err(error) => sink.send(Err(error)),
    };
}

/// Sends events to the client's side, and waits for the client.
struct EventSink {
    sender: Sender<S3Result<SelectObjectContentEvent>>,
    queue: Weak<Events>,
    turn: AdmissionPermit,
    watch: Arc<Deadline>,
    /// Stops the evaluation when the client has left, its reader is too slow, or it took too long.
    cancellation: Cancellation,
    /// The time for the next `Progress`; `None` if none are requested.
    progress: Option<Instant>,
    /// The bytes of indexes that were read before.
    index_bytes: u64,
    /// The bytes of records that were sent.
    sent: u64,
}

impl EventSink {
    fn new(
        sender: Sender<S3Result<SelectObjectContentEvent>>,
        queue: Weak<Events>,
        turn: AdmissionPermit,
        watch: Arc<Deadline>,
        progress: Option<Instant>,
        index_bytes: u64,
    ) -> Self {
        let (client, time) = (sender.clone(), Arc::clone(&watch));
        let reader = Arc::clone(turn.reader());
        let cancellation = Cancellation::when(move || {
            client.is_closed() || reader.is_ended() || time.is_overdue()
        });
        Self { sender, queue, turn, watch, cancellation, progress, index_bytes, sent: 0 }
    }

    fn send(&mut self, event: S3Result<SelectObjectContentEvent>) -> ControlFlow<()> {
        let event = match self.sender.try_send(event) {
            Ok(()) => return ControlFlow::Continue(()),
            Err(TrySendError::Closed(_)) => return ControlFlow::Break(()),
            Err(TrySendError::Full(event)) => event,
        };
        // The client does not read, so other statements may run.
        let since = Instant::now();
        self.turn.pause();
        let bytes = records_of(&event).map_or(0, Bytes::len);
        let reader = Arc::clone(self.turn.reader());
        reader.is_awaited();
        let (sender, turn) = (&self.sender, &mut self.turn);
        let sent = Handle::current().block_on(async {
            let sent = tokio::select! {
                sent = sender.send(event) => sent.is_ok(),
                () = reader.ended() => false,
            };
            reader.took(bytes);
            sent && tokio::select! {
                () = turn.resume() => true,
                () = sender.closed() => false,
            }
        });
        self.watch.waited(since.elapsed());
        if reader.is_ended() {
            self.drop_queue();
            return ControlFlow::Break(());
        }
        if sent { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Drops unread events, because there may be many slow readers one after the other.
    fn drop_queue(&self) {
        let Some(queue) = self.queue.upgrade() else { return };
        let mut events = queue.lock().unwrap_or_else(PoisonError::into_inner);
        while events.try_recv().is_ok() {}
    }

    /// Waits until the object is checked or the client has left. Other statements may run meanwhile.
    fn until_checked(&mut self, check: &Check) {
        if !check.is_pending() {
            return;
        }
        let since = Instant::now();
        self.turn.pause();
        let sender = &self.sender;
        Handle::current().block_on(async {
            tokio::select! {
                () = check.end() => {}
                () = sender.closed() => {}
            }
        });
        self.watch.waited(since.elapsed());
    }

    fn send_progress(&mut self, stats: &Stats) -> ControlFlow<()> {
        let details = Progress {
            bytes_scanned: count(stats.bytes_scanned + self.index_bytes),
            bytes_processed: count(stats.bytes_processed),
            bytes_returned: count(stats.bytes_returned),
        };
        let event = ProgressEvent { details: Some(details) };
        self.send(Ok(SelectObjectContentEvent::Progress(event)))
    }

    fn end(&mut self, stats: &Stats) -> ControlFlow<()> {
        if self.progress.is_some() {
            self.send_progress(stats)?;
        }
        let details = s3s::dto::Stats {
            bytes_scanned: count(stats.bytes_scanned + self.index_bytes),
            bytes_processed: count(stats.bytes_processed),
            bytes_returned: count(stats.bytes_returned),
        };
        self.send(Ok(SelectObjectContentEvent::Stats(StatsEvent { details: Some(details) })))?;
        self.send(Ok(SelectObjectContentEvent::End(EndEvent {})))
    }
}

impl Sink for EventSink {
    fn records(&mut self, bytes: Bytes) -> ControlFlow<()> {
        debug_assert!(bytes.len() <= MAX_RECORDS_BYTES);
        self.sent += bytes.len() as u64;
        self.send(Ok(SelectObjectContentEvent::Records(RecordsEvent { payload: Some(bytes) })))
    }

    fn progress(&mut self, stats: &Stats) -> ControlFlow<()> {
        if self.cancellation.is_cancelled() {
            return ControlFlow::Break(());
        }
        match self.progress {
            Some(due) if Instant::now() >= due => {
                self.progress = Some(Instant::now() + PROGRESS);
                self.send_progress(stats)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns the bytes of records in an event.
fn records_of(event: &S3Result<SelectObjectContentEvent>) -> Option<&Bytes> {
    match event {
        Ok(SelectObjectContentEvent::Records(records)) => records.payload.as_ref(),
        _ => None,
    }
}

fn count(bytes: u64) -> Option<i64> {
    i64::try_from(bytes).ok()
}

impl Stream for Answer {
    type Item = S3Result<SelectObjectContentEvent>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.done {
            return Poll::Ready(None);
        }
        let next = self.events.lock().unwrap_or_else(PoisonError::into_inner).poll_recv(cx);
        let event = match next {
            // The unread events have been dropped.
            _ if self.reader.is_ended() => {
                let message =
                    "the answer is read too slowly while other statements wait; retry later";
                Err(select_error(SelectError::new(SelectErrorCode::Busy, message)))
            }
            Poll::Ready(Some(event)) => event,
            // The evaluation's thread ended without `End`, so the answer must not look complete.
            Poll::Ready(None) => Err(s3_error!(InternalError, "the evaluation stopped early")),
            Poll::Pending => {
                ready!(self.idle.as_mut().poll(cx));
                Ok(SelectObjectContentEvent::Cont(ContinuationEvent {}))
            }
        };
        self.done = matches!(event, Err(_) | Ok(SelectObjectContentEvent::End(_)));
        let next = Instant::now() + self.idle_after;
        self.idle.as_mut().reset(next);
        Poll::Ready(Some(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use futures::StreamExt as _;
    use sluicegate_s3select::request::{
        Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, InputSerialization,
        OutputSerialization,
    };

    use super::super::admission::Admission;

    fn answer() -> (Sender<S3Result<SelectObjectContentEvent>>, Answer) {
        let (sender, events) = channel(QUEUE);
        let reader = Arc::new(Reader::new(Duration::ZERO));
        (sender, Answer::new(Arc::new(Mutex::new(events)), reader, Duration::from_millis(1)))
    }

    async fn sink(
        sender: Sender<S3Result<SelectObjectContentEvent>>,
    ) -> (Arc<Admission>, EventSink) {
        let turns = Arc::new(Admission::new(1));
        let (turn, watch) = (turns.take().await.unwrap(), Deadline::new(None));
        let sink = EventSink::new(sender, Weak::new(), turn, watch, None, 0);
        (turns, sink)
    }

    /// An unread answer ends with an error at once, and its events are dropped.
    #[tokio::test]
    async fn a_statement_that_is_ended_for_others_says_so() {
        let (sender, mut answer) = answer();
        let (_turns, mut sink) = sink(sender).await;
        answer.reader = Arc::clone(sink.turn.reader());
        sink.queue = Arc::downgrade(&answer.events);
        let reader = Arc::clone(&answer.reader);
        let cancellation = sink.cancellation.clone();
        let sent = spawn_blocking(move || {
            let mut rows = (0..=QUEUE).map(|_| Bytes::from_static(b"1\n"));
            rows.all(|row| sink.records(row).is_continue())
        });
        while answer.events.lock().unwrap().len() < QUEUE {
            tokio::task::yield_now().await;
        }
        reader.end();
        assert!(!sent.await.unwrap() && cancellation.is_cancelled());
        assert!(answer.events.lock().unwrap().is_empty());
        let error = answer.next().await.unwrap().unwrap_err();
        assert_eq!(error.code().as_str(), "Busy");
        assert!(answer.next().await.is_none());
    }

    #[tokio::test]
    async fn silence_is_filled_and_a_lost_evaluation_is_an_error() {
        let (sender, mut answer) = answer();
        let records = RecordsEvent { payload: Some(Bytes::from_static(b"1\n")) };
        let event = |event| matches!(event, Some(Ok(SelectObjectContentEvent::Cont(_))));
        assert!(event(answer.next().await));
        assert!(event(answer.next().await));
        sender.send(Ok(SelectObjectContentEvent::Records(records))).await.unwrap();
        let next = answer.next().await;
        assert!(matches!(next, Some(Ok(SelectObjectContentEvent::Records(_)))), "{next:?}");
        drop(sender);
        let error = answer.next().await.unwrap().unwrap_err();
        assert_eq!(error.code().as_str(), "InternalError");
        assert!(answer.next().await.is_none());
    }

    #[tokio::test]
    async fn the_rest_of_an_answer_begins_where_the_first_part_ends() {
        let (sender, mut answer) = answer();
        let (_, mut sink) = sink(sender).await;
        spawn_blocking(move || {
            sink.sent = 5;
            let mut rest = SkippingSink { skip: sink.sent, sink: &mut sink };
            for rows in ["ab", "cdef", "", "gh"] {
                assert!(rest.records(Bytes::from_static(rows.as_bytes())).is_continue());
            }
        })
        .await
        .unwrap();
        let mut sent = Vec::new();
        while let Some(Ok(SelectObjectContentEvent::Records(records))) = answer.next().await {
            sent.extend(records.payload.unwrap());
        }
        assert_eq!(sent, b"fgh");
    }

    #[test]
    fn an_object_is_not_read_for_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k");
        std::fs::write(&path, "1,2\n3,4\n").unwrap();
        let (object, watch) = (Object::of_file(&path), Deadline::new(None));
        let snapshot = Snapshot::new(object, Arc::clone(&watch), Check::Done);
        let snapshot: Arc<dyn ObjectSource> = Arc::new(snapshot);
        assert_eq!(snapshot.read_at(4, &mut [0; 9]).unwrap(), 4);
        drop(watch.awaited());
        assert!(snapshot.read_at(0, &mut [0; 9]).is_err());
        let request = SelectRequest {
            expression: "SELECT * FROM S3Object".to_owned(),
            input: InputSerialization {
                format: InputFormat::Csv(CsvInput {
                    header: FileHeaderInfo::Use,
                    ..CsvInput::default()
                }),
                compression: Compression::None,
            },
            output: OutputSerialization::Csv(CsvOutput::default()),
            scan_range: None,
            progress: false,
            extras: sluicegate_s3select::dialect::Extras::NONE,
        };
        // Preparing the statement reads the beginning of the object.
        assert!(Evaluation::prepare(&request, snapshot).is_err());
    }

    #[tokio::test]
    async fn nothing_follows_an_end() {
        let (sender, mut answer) = answer();
        sender.send(Ok(SelectObjectContentEvent::End(EndEvent {}))).await.unwrap();
        assert!(matches!(answer.next().await, Some(Ok(SelectObjectContentEvent::End(_)))));
        assert!(answer.next().await.is_none());
    }

    #[tokio::test]
    async fn a_client_that_left_stops_the_evaluation() {
        let (sender, answer) = answer();
        let (_, mut sink) = sink(sender).await;
        let cancellation = sink.cancellation.clone();
        assert!(!cancellation.is_cancelled());
        drop(answer);
        assert!(cancellation.is_cancelled());
        assert!(sink.progress(&Stats::default()).is_break());
        let sent = spawn_blocking(move || sink.records(Bytes::from_static(b"1\n"))).await;
        assert!(sent.unwrap().is_break());
    }

    #[tokio::test]
    async fn a_turn_is_given_back_while_nobody_reads() {
        let (sender, mut answer) = answer();
        let (turns, mut sink) = sink(sender).await;
        let sent = spawn_blocking(move || {
            let row = || Bytes::from_static(b"1\n");
            (0..QUEUE + 1).all(|_| sink.records(row()).is_continue())
        });
        // The only turn becomes free when the queue is full, and is needed again when the queue has room.
        let other = turns.take().await.unwrap();
        let mut rows = 0;
        while rows <= QUEUE {
            match answer.next().await.unwrap().unwrap() {
                SelectObjectContentEvent::Records(_) => rows += 1,
                event => assert!(matches!(event, SelectObjectContentEvent::Cont(_)), "{event:?}"),
            }
        }
        drop(other);
        assert!(sent.await.unwrap());
    }

    #[tokio::test]
    async fn who_waits_for_a_turn_in_vain_does_not_wait_for_ever() {
        let (sender, mut answer) = answer();
        let (turns, mut sink) = sink(sender).await;
        let sent = spawn_blocking(move || {
            (0..=QUEUE).all(|_| sink.records(Bytes::from_static(b"1\n")).is_continue())
        });
        let other = turns.take().await.unwrap();
        assert!(answer.next().await.unwrap().is_ok());
        drop(answer);
        assert!(!sent.await.unwrap());
        drop(other);
    }
}
