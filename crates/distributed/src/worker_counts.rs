//! The counts of requests that workers send to stores. They travel with the metrics of a worker's part of the plan.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
use sluicegate_engine::leaf_tasks;
use sluicegate_engine::query::QueryCounters;
use sluicegate_engine::{ErrorKind, UserError};

use crate::over;

/// The prefix of metric names. It is followed by the endpoint and the name of the count.
const PREFIX: &str = "asked";

/// Wraps the leaves of a worker's plan, so that its metrics contain the request counts and its errors are
/// user-facing.
pub(crate) fn reporting_counts(
    plan: Arc<dyn ExecutionPlan>,
    counters: &Arc<QueryCounters>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let told =
        Arc::new(CountReport { counters: Arc::clone(counters), taken: AtomicBool::new(false) });
    wrapped(plan, &told)
}

fn wrapped(
    plan: Arc<dyn ExecutionPlan>,
    telling: &Arc<CountReport>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is_network_boundary() {
        return Ok(plan);
    }
    if plan.children().is_empty() || leaf_tasks::needs_its_scan(plan.as_ref()) {
        return Ok(Arc::new(CountReportExec::new(plan, telling)));
    }
    let children = plan.children().into_iter().cloned();
    let children = children.map(|child| wrapped(child, telling)).collect::<Result<Vec<_>>>()?;
    over(plan, children)
}

/// Extracts the request counts from a worker's metrics, as (endpoint, name, number).
pub(crate) fn worker_counts(metrics: &MetricsSet) -> Vec<(String, String, u64)> {
    let counts = metrics.iter().filter_map(|metric| {
        let MetricValue::Count { name, count } = metric.value() else { return None };
        let mut parts = name.strip_prefix(PREFIX)?.strip_prefix(' ')?.rsplitn(2, ' ');
        let (count_of, endpoint) = (parts.next()?, parts.next()?);
        Some((endpoint.to_owned(), count_of.to_owned(), count.value() as u64))
    });
    counts.collect()
}

/// The address of this worker, as an extension of its sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerAddress(pub(crate) SocketAddr);

/// Encodes an error as text, because errors of other kinds lose all but their text on the way. Errors about a store
/// or memory name the worker.
fn as_text(error: DataFusionError, here: Option<&WorkerAddress>) -> DataFusionError {
    const OF_A_MACHINE: [ErrorKind; 5] = [
        ErrorKind::Unavailable,
        ErrorKind::Access,
        ErrorKind::Resources,
        ErrorKind::NotFound,
        ErrorKind::Changed,
    ];
    let mut told = UserError::from_error(error);
    if let Some(here) = here.filter(|_| OF_A_MACHINE.contains(&told.kind)) {
        told.message = format!("{}, on the worker http://{}", told.message, here.0);
    }
    if told.kind == ErrorKind::Changed {
        let hint =
            "Run the query again. If it is always this worker, its --endpoint is another store.";
        told.hint = Some(hint.to_owned());
    }
    DataFusionError::Execution(told.to_text())
}

/// The counters of a part of a plan, which exactly one of its nodes reports.
#[derive(Debug)]
struct CountReport {
    counters: Arc<QueryCounters>,
    /// True once a node has taken over the reporting.
    taken: AtomicBool,
}

/// A node that replaces another one and keeps its inputs, because metrics are matched by position in the plan. The
/// first node of a part that runs reports the counts of the whole part, because the metrics of nodes that never run
/// are not sent.
#[derive(Debug)]
struct CountReportExec {
    inner: Arc<dyn ExecutionPlan>,
    telling: Arc<CountReport>,
    /// True if this node reports the counts.
    tells: AtomicBool,
}

impl CountReportExec {
    fn new(inner: Arc<dyn ExecutionPlan>, telling: &Arc<CountReport>) -> Self {
        Self { inner, telling: Arc::clone(telling), tells: AtomicBool::new(false) }
    }
}

impl DisplayAs for CountReportExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_as(t, f)
    }
}

impl ExecutionPlan for CountReportExec {
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
        Ok(Arc::new(Self::new(inner, &self.telling)))
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
        if !self.telling.taken.swap(true, Ordering::Relaxed) {
            self.tells.store(true, Ordering::Relaxed);
        }
        let here = context.session_config().get_extension::<WorkerAddress>();
        let rows = self.inner.execute(partition, context)?;
        let schema = rows.schema();
        let rows = rows.map_err(move |error| as_text(error, here.as_deref()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.inner.metrics().unwrap_or_default();
        if !self.tells.load(Ordering::Relaxed) {
            return Some(metrics);
        }
        for (endpoint, counted) in self.telling.counters.by_endpoint() {
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
        assert_eq!(worker_counts(&metrics), [("my store".to_owned(), "get".to_owned(), 3)]);
    }
}
