//! An operator that passes rows on and hides what DataFusion derives about them.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, StatisticsArgs,
};

use crate::{one_child, without_expressions};

/// Passes the rows of its input on, without properties that DataFusion would derive wrongly: constant columns and, if
/// requested, the sort order.
#[derive(Debug, Clone)]
pub struct ForgetfulExec {
    input: Arc<dyn ExecutionPlan>,
    keeps_order: bool,
    properties: Arc<PlanProperties>,
}

impl ForgetfulExec {
    /// Creates an operator above `input`. With `keeps_order` it has the sort orders of its input, else none.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>, keeps_order: bool) -> Self {
        let mut known = EquivalenceProperties::new(input.schema());
        if keeps_order {
            known.add_orderings(input.equivalence_properties().oeq_class().iter().cloned());
        }
        let properties = PlanProperties::clone(input.properties()).with_eq_properties(known);
        Self { input, keeps_order, properties: Arc::new(properties) }
    }

    /// Returns true if the sort orders of the input are kept.
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        self.keeps_order
    }
}

impl DisplayAs for ForgetfulExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => f.write_str("ForgetfulExec"),
            DisplayFormatType::TreeRender => Ok(()),
        }
    }
}

impl ExecutionPlan for ForgetfulExec {
    one_child!("ForgetfulExec", |node, input| Arc::new(Self::new(input, node.keeps_order)));

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    /// Returns false, because DataFusion moves sorts below operators that maintain the order, where rows may count as
    /// sorted by a constant.
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
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input_stats: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match input_stats {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("ForgetfulExec has one child"),
        }
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(parent_filters, &self.children())
    }
}
