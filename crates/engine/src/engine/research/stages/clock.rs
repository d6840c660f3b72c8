//! Clocks that measure the time of threads in each operator.
//!
//! DataFusion's metrics do not add up to that time: `elapsed_compute` of a Parquet scan leaves out its decoding,
//! `time_elapsed_scanning_total` includes the time of the operators above, and no metric measures how long a scan
//! waits for the network. Every operator therefore gets our own clock. It measures the time inside its `poll_next`,
//! minus that of the inputs that it polls meanwhile on the same thread.

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayData, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};
use sluicegate_guards::{one_child, without_expressions};

/// The measurements of one operator, over all partitions.
#[derive(Debug)]
pub(super) struct Clock {
    /// The time at which the plan began to run.
    began: Instant,
    own: AtomicU64,
    waited: AtomicU64,
    bytes: AtomicU64,
    rows: AtomicU64,
    polled: AtomicBool,
    started: AtomicU64,
    first: AtomicU64,
    ended: AtomicU64,
}

impl Clock {
    pub(super) fn new(began: Instant) -> Arc<Self> {
        Arc::new(Self {
            began,
            own: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            polled: AtomicBool::new(false),
            started: AtomicU64::new(u64::MAX),
            first: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        })
    }

    /// Returns the seconds that threads spent in the operator itself.
    pub(super) fn own(&self) -> f64 {
        seconds(self.own.load(Ordering::Relaxed))
    }

    /// Returns the seconds from a pending poll to the next poll, over all partitions. For a scan, this is the wait
    /// for the store.
    pub(super) fn waited(&self) -> f64 {
        seconds(self.waited.load(Ordering::Relaxed))
    }

    /// Returns the bytes of the output rows, without reserved capacity.
    pub(super) fn bytes(&self) -> f64 {
        self.bytes.load(Ordering::Relaxed) as f64
    }

    /// Returns the number of output rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Returns the time of the first poll in seconds, or `None` if the operator was never polled.
    pub(super) fn started(&self) -> Option<f64> {
        let polled = self.polled.load(Ordering::Relaxed);
        polled.then(|| seconds(self.started.load(Ordering::Relaxed)))
    }

    /// Returns the time, in seconds, at which the last partition returned its first rows or ended without any.
    pub(super) fn first(&self) -> f64 {
        seconds(self.first.load(Ordering::Relaxed))
    }

    /// Returns the time, in seconds, at which the last partition ended.
    pub(super) fn ended(&self) -> f64 {
        seconds(self.ended.load(Ordering::Relaxed))
    }

    fn since(&self, at: Instant) -> u64 {
        nanos(at.saturating_duration_since(self.began))
    }
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// An operator with a clock. Downcasts return the operator itself.
#[derive(Debug)]
pub(super) struct TimedExec {
    input: Arc<dyn ExecutionPlan>,
    clock: Arc<Clock>,
}

impl TimedExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, clock: Arc<Clock>) -> Self {
        Self { input, clock }
    }
}

impl DisplayAs for TimedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for TimedExec {
    one_child!("Clocked", |node, input| Arc::new(Self::new(input, Arc::clone(&node.clock))));

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.input.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    without_expressions!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let clock = Arc::clone(&self.clock);
        Ok(Box::pin(TimedStream { input, clock, pending: None, given: false, ended: false }))
    }
}

thread_local! {
    /// The nanoseconds that this thread has spent in clocked inputs of its current operator.
    static INPUTS: Cell<u64> = const { Cell::new(0) };
}

struct TimedStream {
    input: SendableRecordBatchStream,
    clock: Arc<Clock>,
    /// The time since which the input has been pending.
    pending: Option<Instant>,
    given: bool,
    ended: bool,
}

impl TimedStream {
    fn end(&mut self, at: Instant) {
        if !std::mem::replace(&mut self.ended, true) {
            self.clock.ended.fetch_max(self.clock.since(at), Ordering::Relaxed);
        }
    }
}

impl Stream for TimedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let start = Instant::now();
        let this = &mut *self;
        let clock = &this.clock;
        if let Some(since) = this.pending.take() {
            clock.waited.fetch_add(nanos(start - since), Ordering::Relaxed);
        }
        if !clock.polled.swap(true, Ordering::Relaxed) {
            clock.started.fetch_min(clock.since(start), Ordering::Relaxed);
        }
        let outside = INPUTS.replace(0);
        let polled = this.input.poll_next_unpin(cx);
        let now = Instant::now();
        let took = nanos(now - start);
        let inputs = INPUTS.replace(outside.saturating_add(took));
        clock.own.fetch_add(took.saturating_sub(inputs), Ordering::Relaxed);
        match &polled {
            Poll::Pending => {
                this.pending = Some(now);
                return polled;
            }
            Poll::Ready(Some(Ok(batch))) => {
                clock.bytes.fetch_add(bytes_of_rows(batch), Ordering::Relaxed);
                clock.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
                // The time of counting belongs to no operator.
                INPUTS.set(outside.saturating_add(nanos(start.elapsed())));
            }
            Poll::Ready(_) => {}
        }
        if !std::mem::replace(&mut this.given, true) {
            clock.first.fetch_max(clock.since(now), Ordering::Relaxed);
        }
        if matches!(polled, Poll::Ready(None)) {
            this.end(now);
        }
        polled
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.input.size_hint()
    }
}

/// Returns the bytes of a batch's rows as they would be sent, that is, only the used parts of the buffers.
fn bytes_of_rows(batch: &RecordBatch) -> u64 {
    let columns = batch.columns().iter().map(|column| column.to_data());
    columns.map(|column| (slice(&column) + long_views(&column)) as u64).sum()
}

/// Returns the used bytes without the long values of views. For types that arrow does not measure, the whole memory
/// is counted.
fn slice(data: &ArrayData) -> usize {
    data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size())
}

/// Returns the bytes of the values that views keep in separate buffers.
fn long_views(data: &ArrayData) -> usize {
    /// The length in bytes of the longest value that a view stores inline.
    const INLINE: u32 = 12;
    if !matches!(data.data_type(), DataType::Utf8View | DataType::BinaryView) {
        return data.child_data().iter().map(long_views).sum();
    }
    let Some(views) = data.buffers().first() else { return 0 };
    let views = views.typed_data::<u128>().iter().skip(data.offset()).take(data.len());
    let lengths = views.map(|view| *view as u32).filter(|length| *length > INLINE);
    lengths.map(|length| length as usize).sum()
}

impl RecordBatchStream for TimedStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// A stream is dropped when no more rows are needed.
impl Drop for TimedStream {
    fn drop(&mut self) {
        self.end(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray, StringViewArray};

    use super::*;

    /// The buffers are larger than the rows if a filter has sliced a batch, or a builder has reserved capacity.
    #[test]
    fn bytes_are_those_of_the_rows_and_not_of_their_buffers() {
        let mut text = arrow::array::StringBuilder::with_capacity(1000, 1 << 18);
        (0..6).for_each(|_| text.append_value("four"));
        let views = (0..100).map(|_| Some("a value that is too long for a view"));
        let batch = |rows: usize| {
            let columns: [(&str, Arc<dyn Array>); 3] = [
                ("number", Arc::new(Int64Array::from_iter_values(0..100).slice(90, rows))),
                ("text", Arc::new(StringArray::from(vec!["four"; 100]).slice(90, rows))),
                ("view", Arc::new(StringViewArray::from_iter(views.clone()).slice(90, rows))),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        let six = bytes_of_rows(&batch(6));
        // A row has 8 bytes of a number, 4 and an offset of 4 of a text, 16 and 35 of a view; one more offset ends
        // the list.
        assert!((6 * 67..=6 * 67 + 16).contains(&six), "{six}");
        assert_eq!(bytes_of_rows(&batch(0)), bytes_of_rows(&batch(0).slice(0, 0)));
        let reserved =
            RecordBatch::try_from_iter([("t", Arc::new(text.finish()) as Arc<dyn Array>)]);
        assert!(bytes_of_rows(&reserved.unwrap()) < 100);
    }
}
