//! The stream of one worker's rows through the switch.

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
use super::switch_run::{BatchOutcome, Execution, SwitchState};
use crate::operators::switch::{
    BypassPolicy, LateColumns, NoSwitchBaseline, SwitchPlan, Words, encode,
};

/// Bytes of an acknowledgement on the wire. An identifier without values fits the shortest Ethernet frame.
const ACK_BYTES: usize = 64;

/// Counters of the traffic on the wire, with one entry per packet.
#[derive(Debug)]
struct WireMetrics {
    packets: [Count; 2],
    bytes: [Count; 2],
    /// Packets pruned, among those that the program saw.
    pruned: RatioMetrics,
    /// Acknowledgements: from the switch for pruned packets, from the master for all others.
    acks: [Count; 2],
    ack_bytes: Count,
    /// Packets that a switch without limits would have forwarded.
    optimum: Option<Count>,
    /// Bytes that are fetched later, past the switch.
    late: Option<Count>,
    /// Packets that bypassed the program because the worker bypassed it, they have no code, or pruning has stopped.
    past: Count,
    /// Packets of a join's probing side that arrived before all keys of the build side were in the filter.
    early: Option<Count>,
    /// Rows that the worker would ship without a switch.
    alone: Option<Count>,
}

/// Selects the optional metrics that a query shows.
#[derive(Debug, Clone, Copy)]
struct OptionalMetrics {
    optimum: bool,
    late: bool,
    early: bool,
    alone: bool,
}

impl WireMetrics {
    fn new(set: &ExecutionPlanMetricsSet, partition: usize, shown: OptionalMetrics) -> Self {
        let count = |category, name: &'static str| {
            MetricBuilder::new(set).with_category(category).counter(name, partition)
        };
        Self {
            packets: ["packets_in", "packets_out"].map(|name| count(MetricCategory::Rows, name)),
            bytes: ["wire_bytes_in", "wire_bytes_out"]
                .map(|name| count(MetricCategory::Bytes, name)),
            pruned: MetricBuilder::new(set).ratio_metrics("pruned", partition),
            acks: ["acks_of_switch", "acks_of_master"]
                .map(|name| count(MetricCategory::Rows, name)),
            ack_bytes: count(MetricCategory::Bytes, "ack_bytes"),
            optimum: shown.optimum.then(|| count(MetricCategory::Rows, "packets_out_opt")),
            late: shown.late.then(|| count(MetricCategory::Bytes, "late_bytes")),
            past: count(MetricCategory::Rows, "packets_past"),
            early: shown.early.then(|| count(MetricCategory::Rows, "packets_early")),
            alone: shown.alone.then(|| count(MetricCategory::Rows, "rows_without_switch")),
        }
    }

    /// Counts the packets of a batch, those forwarded, and those that the program saw.
    fn add(&self, entries: usize, forwarded: usize, seen: usize, packet_bytes: usize) {
        let pruned = entries - forwarded;
        for (at, packets) in [entries, forwarded].into_iter().enumerate() {
            self.packets[at].add(packets);
            self.bytes[at].add(packets * packet_bytes);
        }
        self.pruned.add_total(seen);
        self.pruned.add_part(pruned);
        self.acks[0].add(pruned);
        self.acks[1].add(forwarded);
        self.ack_bytes.add(entries * ACK_BYTES);
    }
}

/// The stream of one worker's rows through the switch.
pub(super) struct Crossing {
    input: SendableRecordBatchStream,
    plan: Arc<SwitchPlan>,
    late: Arc<LateColumns>,
    patience: BypassPolicy,
    /// The switch; `None` if all rows bypass it.
    state: Option<Arc<SwitchState>>,
    from: (Side, usize),
    next_id: u32,
    words: Words,
    selection: Selection,
    /// Counter of the rows that the worker would ship without a switch, if enabled.
    alone: Option<NoSwitchBaseline>,
    baseline: BaselineMetrics,
    wire: WireMetrics,
    partitions: usize,
    ended: bool,
}

impl Crossing {
    /// Sends the rows of `input`, which is partition `from.1` of `partitions`, through the switch.
    pub(super) fn new(
        input: SendableRecordBatchStream,
        plan: Arc<SwitchPlan>,
        late: Arc<LateColumns>,
        from: (Side, usize),
        partitions: usize,
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Self> {
        let is_build = from.0 == Side::Build;
        let state = Execution::state(context, from, partitions, &plan)?;
        if let Some(state) = state.as_ref().filter(|_| is_build) {
            state.build(partitions);
        }
        // A key missing from the filter would lose rows, so the build side never bypasses the switch.
        let patience = if is_build { 0 } else { plan.patience };
        let is_again = from.0 == Side::Again;
        let alone = (plan.count_optimum && !is_again)
            .then(|| NoSwitchBaseline::new(&plan.algorithm, plan.key_words()))
            .flatten();
        let shown = OptionalMetrics {
            optimum: plan.count_optimum && !is_build && !is_again,
            late: !late.is_empty(),
            early: from.0 == Side::Probe,
            alone: alone.is_some(),
        };
        Ok(Self {
            input,
            patience: BypassPolicy::new(patience),
            state,
            from,
            next_id: 0,
            words: Words::default(),
            selection: Selection::new(),
            alone,
            baseline: BaselineMetrics::new(metrics, from.1),
            wire: WireMetrics::new(metrics, from.1, shown),
            partitions,
            ended: false,
            plan,
            late,
        })
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if let (Some(count), Some(alone)) = (&self.wire.alone, &self.alone) {
            count.add(alone.rows() as usize);
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
        let state = self.state.as_ref().filter(|_| self.patience.should_probe()).cloned();
        let (batch, seen) = match state {
            Some(state) => self.prune_batch(&state, batch)?,
            None => {
                self.wire.past.add(rows);
                (batch, 0)
            }
        };
        self.next_id = self.next_id.wrapping_add(rows as u32);
        self.wire.add(rows, batch.num_rows(), seen, self.plan.packet_bytes());
        if let Some(late) = &self.wire.late {
            late.add(self.late.bytes(&batch));
        }
        Ok(batch)
    }

    /// Returns the rows that the program forwards, and the number of packets that it saw.
    fn prune_batch(
        &mut self,
        state: &SwitchState,
        batch: RecordBatch,
    ) -> Result<(RecordBatch, usize)> {
        let rows = batch.num_rows();
        encode(&self.plan.fields, &batch, &mut self.words)?;
        let crossed = state.cross(self.from, self.next_id, &self.words, &mut self.selection)?;
        if let Some(alone) = &mut self.alone {
            alone.add(&self.words.columns, self.words.unseen());
        }
        let unseen: usize = self.words.unseen().iter().map(|w| w.count_ones() as usize).sum();
        let seen = if crossed == BatchOutcome::Seen { rows - unseen } else { 0 };
        match &self.wire.early {
            Some(early) if crossed == BatchOutcome::Early => early.add(rows),
            _ => self.wire.past.add(rows - seen),
        }
        let mut keep = self.selection.words().to_vec();
        keep.iter_mut().zip(self.words.unseen()).for_each(|(keep, unseen)| *keep |= unseen);
        let keep = BooleanBuffer::new(Buffer::from_vec(keep), 0, rows);
        let forwarded = keep.count_set_bits();
        if crossed != BatchOutcome::Early {
            self.patience.learn(rows, rows - forwarded);
        }
        if forwarded == rows {
            return Ok((batch, seen));
        }
        Ok((filter_record_batch(&batch, &BooleanArray::new(keep, None))?, seen))
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
