//! A scan for ORDER BY … LIMIT that reads a sample first.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, apply_expression_roots};
use datafusion::physical_plan::filter_pushdown::{FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::metrics::{
    ExecutionPlanMetricsSet, Metric, MetricValue, MetricsSet,
};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, StatisticsArgs,
};
use sluicegate_guards::one_child;

use super::top_k_run::TopKRun;
use crate::operators::sampling::Sampling;
use crate::operators::sampling::plan::Sample;
use crate::scan::s3_scan::as_select_scan;

/// Returns the rows of a Select scan that may be among the best K of an order, and no others.
///
/// The first partition that runs requests a sample. Its K-th best row is a bound, which every statement of the scan
/// contains from then on. If K rows are within the bound, no other row can be better than all of them. If there are
/// fewer, the partition that ends last also reads the rows beyond the bound. The operators above therefore get the
/// rows that they would choose from all rows, whatever the sample was.
///
/// With late materialization, the sort columns of all rows within the sample's bound are read in between. They yield
/// the K-th best row itself, which then is the bound, and the files or parts of files that have a row of the answer.
/// Only these are then requested.
#[derive(Debug, Clone)]
pub struct TopKSampleExec {
    input: Arc<dyn ExecutionPlan>,
    sampling: Arc<Sampling>,
    properties: Arc<PlanProperties>,
    /// State of a run, created when the node executes.
    run: Arc<TopKRun>,
}

impl TopKSampleExec {
    /// Bounds the rows of `scan`, a Select scan.
    #[must_use]
    pub fn new(scan: Arc<dyn ExecutionPlan>, sampling: Sampling) -> Self {
        Self::over(scan, Arc::new(sampling))
    }

    fn over(input: Arc<dyn ExecutionPlan>, sampling: Arc<Sampling>) -> Self {
        // Rows beyond the bound come last, out of order.
        let mut rows = input.equivalence_properties().clone();
        rows.clear_orderings();
        let properties = PlanProperties::clone(input.properties()).with_eq_properties(rows);
        Self { input, sampling, properties: Arc::new(properties), run: Arc::default() }
    }

    /// Returns the parameters of the sample.
    #[must_use]
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// Returns the sample of the scan; `None` if the input is not the Select scan that was sampled.
    #[must_use]
    pub fn sample(&self, metrics: ExecutionPlanMetricsSet) -> Option<Sample> {
        let (config, source) = as_select_scan(self.input.as_ref())?;
        Sample::try_new(config, source, &self.sampling, metrics).ok()
    }
}

impl DisplayAs for TopKSampleExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let sample = self.sample(ExecutionPlanMetricsSet::new());
        let sql = sample.as_ref().and_then(Sample::statement).map(|statement| statement.sql());
        let (parts, sql) = (sample.map_or(0, |it| it.requests()), sql.unwrap_or_default());
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "TopKSampleExec: {}, parts={parts}, select={sql}", self.sampling)
            }
            DisplayFormatType::TreeRender => writeln!(f, "select={sql}"),
        }
    }
}

impl ExecutionPlan for TopKSampleExec {
    one_child!("TopKSampleExec", |node, input| Arc::new(Self::over(
        input,
        Arc::clone(&node.sampling)
    )));

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        // The scan splits its files itself, and no operator may stand in between.
        vec![false]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let keys = self.sampling.keys.iter().map(|key| &key.expr);
        apply_expression_roots(keys.chain(&self.sampling.filters), f)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::over(Arc::clone(&self.input), Arc::clone(&self.sampling))))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if !self.run.starts(partition) {
            // The plan runs twice, and it is unknown which partitions belong to the same run.
            return self.input.execute(partition, context);
        }
        Ok(self.run.rows(&self.input, &self.sampling, partition, context))
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parents: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // The sort above excludes rows once it has K better ones, which were counted here.
        FilterDescription::from_children(parents, &self.children())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.run.metrics().clone_inner();
        let asked = |metrics: &ExecutionPlanMetricsSet| {
            // Counts the requests of a scan below, not its output rows.
            let all = metrics.clone_inner();
            let asked = all.iter().filter(|metric| {
                matches!(metric.value(), MetricValue::Count { .. } | MetricValue::Custom { .. })
            });
            asked.cloned().collect::<Vec<_>>()
        };
        for metric in asked(self.run.sample_metrics()) {
            metrics.push(metric);
        }
        for metric in asked(self.run.key_metrics()) {
            metrics.push(match metric.value() {
                // These statements have the columns of the sample, but another condition.
                MetricValue::Custom { name, value } if name == "sent" => {
                    let (name, value) = ("sent_for_keys".into(), Arc::clone(value));
                    let value = MetricValue::Custom { name, value };
                    Arc::new(Metric::new(value, metric.partition()))
                }
                _ => metric,
            });
        }
        Some(metrics)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        // The input's statistics are upper bounds, because only the sample shows how many rows are within.
        Ok(Arc::new(Statistics::clone(&input[0]).to_inexact()))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}
