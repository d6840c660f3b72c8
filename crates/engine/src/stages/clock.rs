//! How long threads are in an operator.
//!
//! DataFusion's metrics do not add up to that: `elapsed_compute` of a Parquet scan leaves out its
//! decoding, `time_elapsed_scanning_total` includes the time of the operators above, and no metric says
//! how long a scan waits for the network. So every operator gets a clock of ours: the time inside its
//! `poll_next`, less that of the inputs that it polls meanwhile on the same thread.

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::physical_plan::without_expressions;
use arrow::array::{Array, ArrayData, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};

/// What a clock has measured, over all partitions.
#[derive(Debug)]
pub(super) struct Clock {
    /// When the plan began to run.
    began: Instant,
    own: AtomicU64,
    waited: AtomicU64,
    bytes: AtomicU64,
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
            polled: AtomicBool::new(false),
            started: AtomicU64::new(u64::MAX),
            first: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        })
    }

    /// Seconds that threads were in the operator itself.
    pub(super) fn own(&self) -> f64 {
        seconds(self.own.load(Ordering::Relaxed))
    }

    /// Seconds from finding nothing to being asked again, of all partitions: of a scan, what it waits for
    /// the store.
    pub(super) fn waited(&self) -> f64 {
        seconds(self.waited.load(Ordering::Relaxed))
    }

    /// Bytes of its rows, without what is reserved beside them.
    pub(super) fn bytes(&self) -> f64 {
        self.bytes.load(Ordering::Relaxed) as f64
    }

    /// When it was first asked for rows; none if it never was.
    pub(super) fn started(&self) -> Option<f64> {
        let polled = self.polled.load(Ordering::Relaxed);
        polled.then(|| seconds(self.started.load(Ordering::Relaxed)))
    }

    /// When its last partition gave its first rows, or ended without any.
    pub(super) fn first(&self) -> f64 {
        seconds(self.first.load(Ordering::Relaxed))
    }

    /// When its last partition ended.
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

/// An operator with a clock. To whoever asks what it is, it is the operator.
#[derive(Debug)]
pub(super) struct Clocked {
    input: Arc<dyn ExecutionPlan>,
    clock: Arc<Clock>,
}

impl Clocked {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, clock: Arc<Clock>) -> Self {
        Self { input, clock }
    }
}

impl DisplayAs for Clocked {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for Clocked {
    fn name(&self) -> &'static str {
        "Clocked"
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.input.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    without_expressions!();

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(input, Arc::clone(&self.clock)))),
            _ => internal_err!("a clock has one child"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let clock = Arc::clone(&self.clock);
        Ok(Box::pin(ClockedStream { input, clock, pending: None, given: false, ended: false }))
    }
}

thread_local! {
    /// Nanoseconds in the clocked inputs of the operator that this thread is in.
    static INPUTS: Cell<u64> = const { Cell::new(0) };
}

struct ClockedStream {
    input: SendableRecordBatchStream,
    clock: Arc<Clock>,
    /// Since when it has had nothing to give.
    pending: Option<Instant>,
    given: bool,
    ended: bool,
}

impl ClockedStream {
    fn end(&mut self, at: Instant) {
        if !std::mem::replace(&mut self.ended, true) {
            self.clock.ended.fetch_max(self.clock.since(at), Ordering::Relaxed);
        }
    }
}

impl Stream for ClockedStream {
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
                // Counting is nobody's work.
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

/// The bytes of a batch's rows as they would be sent: of its buffers only what the rows have there.
fn bytes_of_rows(batch: &RecordBatch) -> u64 {
    let columns = batch.columns().iter().map(|column| column.to_data());
    columns.map(|column| (slice(&column) + long_views(&column)) as u64).sum()
}

/// All but the long values of views; of types that arrow cannot tell it of, all that is in memory.
fn slice(data: &ArrayData) -> usize {
    data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size())
}

/// The bytes of the values that views have in buffers beside themselves.
fn long_views(data: &ArrayData) -> usize {
    /// The longest value that a view has in itself.
    const INLINE: u32 = 12;
    if !matches!(data.data_type(), DataType::Utf8View | DataType::BinaryView) {
        return data.child_data().iter().map(long_views).sum();
    }
    let Some(views) = data.buffers().first() else { return 0 };
    let views = views.typed_data::<u128>().iter().skip(data.offset()).take(data.len());
    let lengths = views.map(|view| *view as u32).filter(|length| *length > INLINE);
    lengths.map(|length| length as usize).sum()
}

impl RecordBatchStream for ClockedStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

/// Whoever needs no more rows drops the stream.
impl Drop for ClockedStream {
    fn drop(&mut self) {
        self.end(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray, StringViewArray};

    use super::*;

    /// Rows that a filter leaves of a batch, or that a builder has reserved more room for.
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
        // 8 of a number, 4 and an offset of 4 of a text, 16 and 35 of a view; and one more offset.
        assert!((6 * 67..=6 * 67 + 16).contains(&six), "{six}");
        assert_eq!(bytes_of_rows(&batch(0)), bytes_of_rows(&batch(0).slice(0, 0)));
        let reserved =
            RecordBatch::try_from_iter([("t", Arc::new(text.finish()) as Arc<dyn Array>)]);
        assert!(bytes_of_rows(&reserved.unwrap()) < 100);
    }
}
