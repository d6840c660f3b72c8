//! An operator that sends rows through a switch, which drops some of them.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, apply_expression_roots};
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    SortOrderPushdownResult, StatisticsArgs,
};
use sluicegate_guards::one_child;

use super::switch_crossing::Crossing;
use crate::operators::switch::{LateColumns, SwitchPlan};

/// Sends the rows of all partitions (the workers) through one switch, which drops rows that the operator above (the
/// master) does not need: `Q(prune(rows)) == Q(rows)`. If the switch holds sums of dropped rows,
/// [`SwitchDrainExec`](super::switch_drain::SwitchDrainExec) reads them at the end.
///
/// Only the row's identifier and the columns that the query computes with cross the switch. The other columns are
/// fetched for the rows that pass ([`LateColumns`]).
///
/// Schema, partitioning and order are those of the input. The node is plain data; the state of the switch belongs to
/// one execution of the [`SwitchExec`](super::switch_exec::SwitchExec) above. Without one, only the rows of a single
/// partition are pruned.
#[derive(Debug, Clone)]
pub struct SwitchPruneExec {
    input: Arc<dyn ExecutionPlan>,
    plan: Arc<SwitchPlan>,
    late: Arc<LateColumns>,
    side: Side,
    metrics: ExecutionPlanMetricsSet,
}

/// The rows of a query that a node sends through the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// All rows of an operator with one input.
    Only,
    /// The side of a join whose keys enter the filter. Its rows pass.
    Build,
    /// The side of a join that is pruned once all keys of the build side are in the filter. Until then its rows pass.
    /// No side waits for the other, so they cannot deadlock.
    Probe,
    /// The rows of a second pass, which are those that the first pass found to be needed. They pass and are counted.
    Again,
}

impl SwitchPruneExec {
    /// Sends the rows of `input` through a switch.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>, plan: SwitchPlan) -> Self {
        Self::on(Side::Only, input, plan)
    }

    /// Sends the rows of the build side, and then those of the probing side, through one switch. It keeps the keys of
    /// the build side and drops rows of the probing side without a match.
    #[must_use]
    pub fn join(inputs: [Arc<dyn ExecutionPlan>; 2], plans: [SwitchPlan; 2]) -> [Self; 2] {
        let ([build, probe], [build_plan, probe_plan]) = (inputs, plans);
        [Self::on(Side::Build, build, build_plan), Self::on(Side::Probe, probe, probe_plan)]
    }

    /// Sends the rows of `input` through a switch, as one side of a query.
    #[must_use]
    pub fn on(side: Side, input: Arc<dyn ExecutionPlan>, plan: SwitchPlan) -> Self {
        let late = Arc::new(LateColumns::new(&plan.fields, &input.schema()));
        Self { input, plan: Arc::new(plan), late, side, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Returns this node over another input, with new counters.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { input, metrics: ExecutionPlanMetricsSet::new(), ..self.clone() })
    }

    /// Returns the side of the query that it sends.
    #[must_use]
    pub fn side(&self) -> Side {
        self.side
    }

    /// Returns the columns that are fetched for the rows that pass.
    pub(crate) fn late_columns(&self) -> &LateColumns {
        &self.late
    }

    /// Returns the switch's plan as a shared pointer.
    pub(super) fn shared_plan(&self) -> Arc<SwitchPlan> {
        Arc::clone(&self.plan)
    }

    /// Returns the switch's plan.
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
                    Side::Again => "second pass of ",
                };
                write!(f, "SwitchPruneExec: {side}{}", self.plan)?;
                if self.late.is_empty() { Ok(()) } else { write!(f, ", late=[{}]", self.late) }
            }
            DisplayFormatType::TreeRender => writeln!(f, "program={}", self.plan.algorithm),
        }
    }
}

impl ExecutionPlan for SwitchPruneExec {
    one_child!("SwitchPruneExec", |node, input| node.over(input));

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
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

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let partitions = self.properties().output_partitioning().partition_count();
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let (plan, late) = (Arc::clone(&self.plan), Arc::clone(&self.late));
        let from = (self.side, partition);
        Ok(Box::pin(Crossing::new(input, plan, late, from, partitions, &context, &self.metrics)?))
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parents: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // Rows that the operator above does not need are not needed below the switch either. Row groups and files
        // that its filters exclude are not even read.
        FilterDescription::from_children(parents, &self.children())
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        self.input.try_pushdown_sort(order)?.try_map(|input| Ok(self.over(input)))
    }

    fn with_preserve_order(&self, preserve_order: bool) -> Option<Arc<dyn ExecutionPlan>> {
        let input = self.input.with_preserve_order(preserve_order)?;
        Some(self.over(input))
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
        // The input's statistics are upper bounds, because the share of pruned rows depends on the data.
        Ok(Arc::new(Statistics::clone(&input[0]).to_inexact()))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}
