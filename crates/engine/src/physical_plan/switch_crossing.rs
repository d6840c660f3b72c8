//! One worker's rows on their way through the switch.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory, RatioMetrics,
};
use futures::{Stream, StreamExt};
use sluicegate_pruning::Selection;

use super::switch_prune::Side;
use super::switch_run::{Execution, SwitchState};
use crate::switch::{Late, Patience, SwitchPlan, Words, encode};

/// What crosses the wire, one entry to a packet.
#[derive(Debug)]
struct WireMetrics {
    packets: [Count; 2],
    bytes: [Count; 2],
    pruned: RatioMetrics,
    /// What a switch without limits would have forwarded.
    optimum: Option<Count>,
    /// Bytes that are fetched afterwards, past the switch.
    late: Option<Count>,
    /// Packets that bypassed the program.
    past: Option<Count>,
}

/// Which of the metrics that not every query has this one has.
#[derive(Debug, Clone, Copy)]
struct Shown {
    optimum: bool,
    late: bool,
    past: bool,
}

impl WireMetrics {
    fn new(set: &ExecutionPlanMetricsSet, partition: usize, shown: Shown) -> Self {
        let count = |category, name: &'static str| {
            MetricBuilder::new(set).with_category(category).counter(name, partition)
        };
        Self {
            packets: ["packets_in", "packets_out"].map(|name| count(MetricCategory::Rows, name)),
            bytes: ["wire_bytes_in", "wire_bytes_out"]
                .map(|name| count(MetricCategory::Bytes, name)),
            pruned: MetricBuilder::new(set).ratio_metrics("pruned", partition),
            optimum: shown.optimum.then(|| count(MetricCategory::Rows, "packets_out_opt")),
            late: shown.late.then(|| count(MetricCategory::Bytes, "late_bytes")),
            past: shown.past.then(|| count(MetricCategory::Rows, "packets_past")),
        }
    }

    fn add(&self, entries: usize, forwarded: usize, packet_bytes: usize) {
        for (at, packets) in [entries, forwarded].into_iter().enumerate() {
            self.packets[at].add(packets);
            self.bytes[at].add(packets * packet_bytes);
        }
        self.pruned.add_total(entries);
        self.pruned.add_part(entries - forwarded);
    }
}

/// One worker's rows on their way.
pub(super) struct Crossing {
    input: SendableRecordBatchStream,
    plan: Arc<SwitchPlan>,
    late: Arc<Late>,
    patience: Patience,
    /// The switch; `None` if all rows bypass it.
    state: Option<Arc<SwitchState>>,
    from: (Side, usize),
    next_id: u32,
    words: Words,
    selection: Selection,
    baseline: BaselineMetrics,
    wire: WireMetrics,
    partitions: usize,
    ended: bool,
}

impl Crossing {
    /// The rows of `input`, which is partition `from.1` of `partitions`.
    pub(super) fn new(
        input: SendableRecordBatchStream,
        plan: Arc<SwitchPlan>,
        late: Arc<Late>,
        from: (Side, usize),
        partitions: usize,
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Self {
        let is_build = from.0 == Side::Build;
        let state = Execution::state(context, from, partitions, &plan);
        if let Some(state) = state.as_ref().filter(|_| is_build) {
            state.build(partitions);
        }
        // A key that is missing in the filter would cost rows.
        let patience = if is_build { 0 } else { plan.patience };
        let shown = Shown {
            optimum: plan.count_optimum && !is_build,
            late: !late.is_empty(),
            past: patience > 0,
        };
        Self {
            input,
            patience: Patience::new(patience),
            state,
            from,
            next_id: 0,
            words: Words::default(),
            selection: Selection::new(),
            baseline: BaselineMetrics::new(metrics, from.1),
            wire: WireMetrics::new(metrics, from.1, shown),
            partitions,
            ended: false,
            plan,
            late,
        }
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let Some(state) = &self.state else { return };
        if self.from.0 == Side::Build {
            state.built();
        } else if let Some(count) = &self.wire.optimum
            && let Some(forwarded) = state.end(self.partitions, &self.plan)
        {
            count.add(forwarded);
        }
    }

    fn cross(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let state = self.state.as_ref().filter(|_| self.patience.asks()).cloned();
        let batch = if let Some(state) = state {
            self.ask(&state, batch)?
        } else {
            if let Some(past) = &self.wire.past {
                past.add(rows);
            }
            batch
        };
        self.next_id = self.next_id.wrapping_add(rows as u32);
        self.wire.add(rows, batch.num_rows(), self.plan.packet_bytes());
        if let Some(late) = &self.wire.late {
            late.add(self.late.bytes(&batch));
        }
        Ok(batch)
    }

    /// The rows that the program forwards.
    fn ask(&mut self, state: &SwitchState, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        encode(&self.plan.fields, &batch, &mut self.words)?;
        let ready = state.cross(self.from, self.next_id, &self.words, &mut self.selection)?;
        let mut keep = self.selection.words().to_vec();
        keep.iter_mut().zip(self.words.unseen()).for_each(|(keep, unseen)| *keep |= unseen);
        let keep = BooleanBuffer::new(Buffer::from_vec(keep), 0, rows);
        let forwarded = keep.count_set_bits();
        if ready {
            self.patience.learn(rows, rows - forwarded);
        }
        if forwarded == rows {
            return Ok(batch);
        }
        Ok(filter_record_batch(&batch, &BooleanArray::new(keep, None))?)
    }
}

impl Stream for Crossing {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let next = match ready!(self.input.poll_next_unpin(cx)) {
                None => {
                    self.end();
                    None
                }
                Some(Err(error)) => Some(Err(error)),
                Some(Ok(batch)) if batch.num_rows() == 0 => continue,
                Some(Ok(batch)) => {
                    let timer = self.baseline.elapsed_compute().clone();
                    let _timer = timer.timer();
                    match self.cross(batch) {
                        Ok(batch) if batch.num_rows() == 0 => continue,
                        crossed => Some(crossed),
                    }
                }
            };
            return self.baseline.record_poll(Poll::Ready(next));
        }
    }
}

impl RecordBatchStream for Crossing {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
