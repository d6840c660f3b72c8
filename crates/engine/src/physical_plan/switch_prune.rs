//! Rows that a switch drops on their way to the final stage.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions, apply_expression_roots,
};
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory, MetricsSet,
    RatioMetrics,
};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    SortOrderPushdownResult, StatisticsArgs,
};
use futures::{Stream, StreamExt};
use sluicegate_pruning::Selection;

use super::switch_run::{Runs, Side, SwitchState};
use crate::switch::{Late, Patience, SwitchPlan, Words, encode};

/// Sends the rows of all partitions (the workers) through one switch, which drops rows that the
/// operator above (the master) does not need: `Q(prune(rows)) == Q(rows)`.
///
/// Only what the query computes with crosses the switch, and the row's identifier; the other columns
/// are fetched for the rows that it let pass ([`Late`]).
///
/// Schema, partitioning and order are those of the input. Each execution starts with an empty
/// switch.
#[derive(Debug, Clone)]
pub struct SwitchPruneExec {
    input: Arc<dyn ExecutionPlan>,
    plan: Arc<SwitchPlan>,
    late: Arc<Late>,
    side: Side,
    runs: Arc<Runs>,
    metrics: ExecutionPlanMetricsSet,
}

impl SwitchPruneExec {
    /// Sends the rows of `input` through a switch.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>, plan: Arc<SwitchPlan>) -> Self {
        Self::on(Side::Only, input, plan, Arc::default())
    }

    /// Sends the rows of `build`, and then those of `probe`, through one switch, which keeps the
    /// former's keys and drops rows of the latter without a match.
    #[must_use]
    pub fn join(
        (build, build_plan): (Arc<dyn ExecutionPlan>, SwitchPlan),
        (probe, probe_plan): (Arc<dyn ExecutionPlan>, SwitchPlan),
    ) -> [Self; 2] {
        let runs = Arc::<Runs>::default();
        [
            Self::on(Side::Build, build, Arc::new(build_plan), Arc::clone(&runs)),
            Self::on(Side::Probe, probe, Arc::new(probe_plan), runs),
        ]
    }

    fn on(
        side: Side,
        input: Arc<dyn ExecutionPlan>,
        plan: Arc<SwitchPlan>,
        runs: Arc<Runs>,
    ) -> Self {
        let late = Arc::new(Late::new(&plan.fields, &input.schema()));
        Self { input, plan, late, side, runs, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// What the switch does.
    #[must_use]
    pub fn plan(&self) -> &SwitchPlan {
        &self.plan
    }
}

impl DisplayAs for SwitchPruneExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let side = match self.side {
                    Side::Only => "",
                    Side::Build => "build ",
                    Side::Probe => "probe ",
                };
                write!(f, "SwitchPruneExec: {side}{}", self.plan)?;
                if self.late.is_empty() { Ok(()) } else { write!(f, ", late=[{}]", self.late) }
            }
            DisplayFormatType::TreeRender => writeln!(f, "program={}", self.plan.algorithm),
        }
    }
}

impl ExecutionPlan for SwitchPruneExec {
    fn name(&self) -> &str {
        "SwitchPruneExec"
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

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.plan.expressions(), f)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self { input, ..Self::clone(&self) })),
            _ => internal_err!("SwitchPruneExec has one child"),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        // The sides of a join must go on sharing their runs; each execution has a run of its own.
        let runs = if self.side == Side::Only { Arc::default() } else { Arc::clone(&self.runs) };
        let (input, plan) = (Arc::clone(&self.input), Arc::clone(&self.plan));
        Ok(Arc::new(Self::on(self.side, input, plan, runs)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let state = self.runs.join(&context, (self.side, partition), &self.plan);
        let partitions = self.properties().output_partitioning().partition_count();
        if self.side == Side::Build {
            state.build(partitions);
        }
        let optimum = self.plan.optimum.filter(|_| self.side != Side::Build);
        // A key that is missing in the filter would cost rows.
        let patience = if self.side == Side::Build { 0 } else { self.plan.patience };
        Ok(Box::pin(Crossing {
            input: self.input.execute(partition, context)?,
            plan: Arc::clone(&self.plan),
            late: Arc::clone(&self.late),
            patience: Patience::new(patience),
            state,
            from: (self.side, partition),
            next_id: 0,
            words: Words::default(),
            selection: Selection::new(),
            baseline: BaselineMetrics::new(&self.metrics, partition),
            wire: WireMetrics::new(
                &self.metrics,
                partition,
                Shown {
                    optimum: optimum.is_some(),
                    late: !self.late.is_empty(),
                    past: patience > 0,
                },
            ),
            partitions,
            ended: false,
        }))
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parents: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // What the operator above does not need is not needed below the switch either: row groups and
        // files that its filters exclude are not even read.
        FilterDescription::from_children(parents, &self.children())
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        self.input
            .try_pushdown_sort(order)?
            .try_map(|input| Ok(Arc::new(Self { input, ..Self::clone(self) }) as _))
    }

    fn with_preserve_order(&self, preserve_order: bool) -> Option<Arc<dyn ExecutionPlan>> {
        let input = self.input.with_preserve_order(preserve_order)?;
        Some(Arc::new(Self { input, ..Self::clone(self) }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        // At most: how much is pruned, only the data can tell.
        Ok(Arc::new(Statistics::clone(&input[0]).to_inexact()))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}

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
    /// Packets that were sent past the program.
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
struct Crossing {
    input: SendableRecordBatchStream,
    plan: Arc<SwitchPlan>,
    late: Arc<Late>,
    patience: Patience,
    state: Arc<SwitchState>,
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
    fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        if self.from.0 == Side::Build {
            self.state.built();
        } else if let Some(optimum) = self.plan.optimum {
            let forwarded = self.state.end(self.partitions, optimum);
            if let (Some(forwarded), Some(count)) = (forwarded, &self.wire.optimum) {
                count.add(forwarded);
            }
        }
    }

    fn cross(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let batch = if self.patience.asks() {
            self.ask(batch)?
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
    fn ask(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        encode(&self.plan.fields, &batch, &mut self.words)?;
        let ready = self.state.cross(self.from, self.next_id, &self.words, &mut self.selection)?;
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
