//! What workers ask of the stores, told with the metrics of their part of a plan.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{Count, Metric, MetricValue, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use datafusion_distributed::NetworkBoundaryExt;
use futures::TryStreamExt;
use sluicegate_engine::Told;
use sluicegate_engine::parts;
use sluicegate_engine::query::QueryCounters;

use crate::over;

/// Before the name of an endpoint and of a count, in the name of a metric.
const PREFIX: &str = "asked";

/// A worker's plan that tells what it asked of the stores, and its errors as a user should read them.
pub(crate) fn telling(
    plan: Arc<dyn ExecutionPlan>,
    counters: &Arc<QueryCounters>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut first = Some(Arc::clone(counters));
    wrapped(plan, &mut first)
}

fn wrapped(
    plan: Arc<dyn ExecutionPlan>,
    first: &mut Option<Arc<QueryCounters>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is_network_boundary() {
        return Ok(plan);
    }
    if plan.children().is_empty() || parts::needs_its_scan(plan.as_ref()) {
        return Ok(Arc::new(TellingExec { inner: plan, counters: first.take() }));
    }
    let children = plan.children().into_iter().cloned();
    let children = children.map(|child| wrapped(child, first)).collect::<Result<Vec<_>>>()?;
    over(plan, children)
}

/// The counts among the metrics of workers: endpoint, name, number.
pub(crate) fn told(metrics: &MetricsSet) -> Vec<(String, String, u64)> {
    let counts = metrics.iter().filter_map(|metric| {
        let MetricValue::Count { name, count } = metric.value() else { return None };
        let mut parts = name.strip_prefix(PREFIX)?.strip_prefix(' ')?.rsplitn(2, ' ');
        let (count_of, endpoint) = (parts.next()?, parts.next()?);
        Some((endpoint.to_owned(), count_of.to_owned(), count.value() as u64))
    });
    counts.collect()
}

/// A node in place of another, with its inputs: metrics are told by their place in the plan.
#[derive(Debug)]
struct TellingExec {
    inner: Arc<dyn ExecutionPlan>,
    /// What it tells, if no other node of the plan does.
    counters: Option<Arc<QueryCounters>>,
}

impl DisplayAs for TellingExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_as(t, f)
    }
}

impl ExecutionPlan for TellingExec {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.inner.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inner.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.inner.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let inner = Arc::clone(&self.inner).replace_children(children, options)?;
        Ok(Arc::new(Self { inner, counters: self.counters.clone() }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.inner.execute(partition, context)?;
        let schema = rows.schema();
        // Of another kind of error only the text is sent.
        let rows = rows.map_err(|error| DataFusionError::Execution(Told::of(error).to_text()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.inner.metrics().unwrap_or_default();
        let counted = self.counters.as_ref().map(|counters| counters.by_endpoint());
        for (endpoint, counted) in counted.into_iter().flatten() {
            for (name, n) in counted.named().into_iter().filter(|(_, n)| **n > 0) {
                let count = Count::new();
                count.add(usize::try_from(*n).unwrap_or(usize::MAX));
                let name = format!("{PREFIX} {endpoint} {name}").into();
                let value = MetricValue::Count { name, count };
                metrics.push(Arc::new(Metric::new(value, None)));
            }
        }
        Some(metrics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_among_metrics() {
        let mut metrics = MetricsSet::new();
        for (name, n) in [("asked my store get", 3), ("output_rows", 5), ("asked", 1)] {
            let count = Count::new();
            count.add(n);
            let value = MetricValue::Count { name: name.into(), count };
            metrics.push(Arc::new(Metric::new(value, None)));
        }
        assert_eq!(told(&metrics), [("my store".to_owned(), "get".to_owned(), 3)]);
    }
}
