//! Passes the groups that a switch holds to the final stage, once all rows have crossed it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, Statistics, plan_err};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory, MetricsSet,
};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, StatisticsArgs,
};
use futures::{Stream, StreamExt};
use sluicegate_guards::{one_child, without_expressions};

use super::switch_prune::SwitchPruneExec;
use super::switch_run::Execution;
use crate::operators::switch::SwitchPlan;

/// Passes on the partial states of groups that its input computed from the rows that a switch forwarded. At the end
/// it adds the states of the groups that the switch below holds for the rows that it dropped. This is the master's
/// reading of the cells (Cheetah, §6 and §7.2).
///
/// The partition that finishes last adds them, when no row can cross the switch any more. Outside an execution of
/// [`SwitchExec`](super::switch_exec::SwitchExec) the switch holds nothing.
#[derive(Debug, Clone)]
pub struct SwitchDrainExec {
    input: Arc<dyn ExecutionPlan>,
    /// The plan of the switch below.
    plan: Arc<SwitchPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SwitchDrainExec {
    /// Drains the switch that the rows of `input` have crossed.
    ///
    /// # Errors
    ///
    /// If no switch that holds groups is below, or if the states of `input` cannot be made from its sums.
    pub fn try_new(input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let Some((plan, crossed)) = holding(&input) else {
            return plan_err!("no switch that holds groups is below a drain");
        };
        plan.check_states(&crossed, &input.schema())?;
        // The last partition returns any groups in any order.
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Ok(Self { input, plan, properties, metrics })
    }

    /// Returns the plan of the switch below.
    #[must_use]
    pub fn plan(&self) -> &SwitchPlan {
        &self.plan
    }
}

/// Returns the program below that holds groups, and the columns of the rows that cross it.
fn holding(input: &Arc<dyn ExecutionPlan>) -> Option<(Arc<SwitchPlan>, SchemaRef)> {
    let mut node = input;
    loop {
        if let Some(prune) = node.downcast_ref::<SwitchPruneExec>() {
            let holds = prune.plan().algorithm.holds();
            return holds.then(|| (prune.shared_plan(), prune.schema()));
        }
        let [below] = node.children()[..] else { return None };
        node = below;
    }
}

impl DisplayAs for SwitchDrainExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "SwitchDrainExec: {}", self.plan.algorithm)
            }
            DisplayFormatType::TreeRender => writeln!(f, "program={}", self.plan.algorithm),
        }
    }
}

impl ExecutionPlan for SwitchDrainExec {
    one_child!("SwitchDrainExec", |node, input| Arc::new(Self::try_new(input)?));

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    without_expressions!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let count = |name: &'static str| {
            let builder = MetricBuilder::new(&self.metrics).with_category(MetricCategory::Rows);
            builder.counter(name, partition)
        };
        Ok(Box::pin(Draining {
            input,
            plan: Arc::clone(&self.plan),
            partition: (partition, self.properties.partitioning.partition_count()),
            context,
            baseline: BaselineMetrics::new(&self.metrics, partition),
            groups: count("groups_drained"),
            cells: count("cells_read"),
            ended: false,
        }))
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parents: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // The filters are about groups. Rows that they exclude do not cross the switch, so the switch does not hold
        // their groups either.
        FilterDescription::from_children(parents, &self.children())
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
        Ok(Arc::new(Statistics::clone(&input[0]).to_inexact()))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::GreaterEqual
    }
}

/// The states of one partition, followed by the groups of the switch if it finishes last.
struct Draining {
    input: SendableRecordBatchStream,
    plan: Arc<SwitchPlan>,
    /// Index of the partition, and the number of partitions.
    partition: (usize, usize),
    context: Arc<TaskContext>,
    baseline: BaselineMetrics,
    groups: Count,
    cells: Count,
    ended: bool,
}

impl Draining {
    /// Returns the states of the groups that the switch holds, if this partition finishes last and there are any.
    fn drain(&self) -> Option<Result<RecordBatch>> {
        let held = Execution::drained(&self.context, self.partition, self.plan.program)?;
        self.groups.add(held.groups.len());
        self.cells.add(held.cells);
        let rows = (!held.groups.is_empty()).then_some(held.groups)?;
        Some(self.plan.state_rows(&rows, &self.input.schema()))
    }
}

impl Stream for Draining {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let next = match ready!(self.input.poll_next_unpin(cx)) {
            None => {
                self.ended = true;
                let timer = self.baseline.elapsed_compute().clone();
                let _timer = timer.timer();
                self.drain()
            }
            some => some,
        };
        self.baseline.record_poll(Poll::Ready(next))
    }
}

impl RecordBatchStream for Draining {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
