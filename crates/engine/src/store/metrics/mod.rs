//! Metrics of scans with S3 Select, and of aggregates in the store.
//!
//! [`CostMetric`] counts dollars, and [`TextMetric`] shows a text. `statements` shows a sample of the statements, and
//! `scans` models the time of the store's cores.

mod cost;
mod scans;
mod statements;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use datafusion::datasource::listing::PartitionedFile;
use datafusion::physical_plan::metrics::{
    Count, CustomMetricValue, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory, MetricValue,
};
use sluicegate_client::{SelectCounts, SelectMetrics};
use sluicegate_costmodel::{Bytes, RequestCounts, Requests, Work};

pub(crate) use self::cost::CostMetric;
pub(crate) use crate::context::text_metric::TextMetric;

use self::scans::Scans;
use self::statements::StatementsMetric;
use crate::context::counters::{Counters, RequestKind};
use crate::context::timeline::OpenRequest;
use crate::pushdown::format::TableFormat;
use crate::pushdown::statement::Statement;
use crate::store::endpoint::Endpoint;

/// The metrics of one partition of a node for EXPLAIN ANALYZE: its requests and bytes.
#[derive(Debug, Clone)]
pub struct NodeMetrics {
    endpoint: Arc<Endpoint>,
    counters: Arc<Counters>,
    requests: Count,
    retries: Count,
    heads: Count,
    fallbacks: Count,
    sql: Count,
    scanned: Count,
    processed: Count,
    returned: Count,
    received: Count,
    got: Count,
    cost: Arc<CostMetric>,
    statements: Arc<StatementsMetric>,
    /// True if the store stopped a statement for exceeding its time limit.
    overdue: Arc<AtomicBool>,
}

impl NodeMetrics {
    /// Registers the metrics of a partition with the node's others. Their counts are added to `counters`, those of
    /// the node's query.
    #[must_use]
    pub fn new(
        endpoint: &Arc<Endpoint>,
        counters: Arc<Counters>,
        set: &ExecutionPlanMetricsSet,
        partition: usize,
    ) -> Self {
        let rows = |name: &'static str| {
            MetricBuilder::new(set).with_category(MetricCategory::Rows).counter(name, partition)
        };
        let bytes = |name: &'static str| {
            MetricBuilder::new(set).with_category(MetricCategory::Bytes).counter(name, partition)
        };
        let cost = Arc::new(CostMetric::default());
        MetricBuilder::new(set).with_partition(partition).build(MetricValue::Custom {
            name: "cost".into(),
            value: Arc::clone(&cost) as Arc<dyn CustomMetricValue>,
        });
        let statements = Arc::new(StatementsMetric::first());
        MetricBuilder::new(set).with_partition(partition).build(MetricValue::Custom {
            name: "sent".into(),
            value: Arc::clone(&statements) as Arc<dyn CustomMetricValue>,
        });
        Self {
            endpoint: Arc::clone(endpoint),
            counters,
            requests: rows("select_requests"),
            retries: rows("select_retries"),
            heads: rows("head_requests"),
            fallbacks: rows("fallbacks"),
            sql: bytes("sql_bytes"),
            scanned: bytes("bytes_scanned_by_store"),
            processed: bytes("bytes_processed_by_store"),
            returned: bytes("bytes_returned"),
            received: bytes("bytes_received"),
            got: bytes("bytes_got"),
            cost,
            statements,
            overdue: Arc::default(),
        }
    }

    /// Starts counting a call about a file in a bucket. Its counts are added when the tally is dropped, also after an
    /// error.
    #[must_use]
    pub fn tally(&self, bucket: &str, file: &PartitionedFile) -> Tally {
        let object = || format!("s3://{bucket}/{}", file.object_meta.location);
        let open = self.counters.open(RequestKind::Select, object);
        Tally { node: self.clone(), call: Arc::default(), scans: OnceLock::new(), open }
    }

    /// Counts a file or range that is read with GET because the store could not answer.
    pub fn fallback(&self) {
        self.fallbacks.add(1);
        self.counters.fallback();
    }

    /// Counts GET requests of this node, or bytes of their answers, and their cost.
    pub fn fetched(&self, get: Requests, bytes: u64) {
        self.got.add(usize::try_from(bytes).unwrap_or(usize::MAX));
        let requests = RequestCounts { get, ..RequestCounts::default() };
        let work = Work { requests, got: Bytes(bytes), ..Work::default() };
        self.cost.add(self.endpoint.prices.cost(&work).total());
    }

    /// Returns the counter of bytes received through GET requests of this node.
    #[must_use]
    pub fn got(&self) -> &Count {
        &self.got
    }

    fn add(&self, counts: &SelectCounts, scans: Option<&Scans>) {
        let scanned = Bytes(counts.bytes_scanned.bytes);
        let store = scans.map_or(Duration::ZERO, |it| it.store_time(&self.endpoint, scanned));
        let add = |count: &Count, n: u64| count.add(usize::try_from(n).unwrap_or(usize::MAX));
        add(&self.requests, counts.requests);
        add(&self.retries, counts.retries);
        add(&self.heads, counts.head_requests);
        add(&self.sql, counts.sql_bytes);
        add(&self.scanned, counts.bytes_scanned.bytes);
        add(&self.processed, counts.bytes_processed.bytes);
        add(&self.returned, counts.bytes_returned.bytes);
        add(&self.received, counts.bytes_received);
        let work = Work {
            requests: RequestCounts {
                select: Requests(counts.requests),
                head: Requests(counts.head_requests),
                ..RequestCounts::default()
            },
            scanned,
            processed: Bytes(counts.bytes_processed.bytes),
            returned: Bytes(counts.bytes_returned.bytes),
            store,
            ..Work::default()
        };
        self.cost.add(self.endpoint.prices.cost(&work).total());
        if counts.overdue > 0 {
            self.overdue.store(true, Ordering::Relaxed);
        }
        self.counters.select(counts);
        self.counters.store_time(store);
    }
}

/// The counts of one Select call.
#[derive(Debug)]
pub struct Tally {
    node: NodeMetrics,
    /// The client's own counters for the call.
    pub call: Arc<SelectMetrics>,
    /// The work of the call's statement.
    scans: OnceLock<Scans>,
    /// The call in the timeline, if there is one.
    open: Option<OpenRequest>,
}

impl Tally {
    /// Returns whether the store stopped an earlier statement of the node for exceeding its time limit, and is likely
    /// to stop others.
    #[must_use]
    pub fn is_overdue(&self) -> bool {
        self.node.overdue.load(Ordering::Relaxed)
    }

    /// Records the statement of the call for EXPLAIN ANALYZE, and its work in the store.
    pub fn sends(&self, statement: &Statement, format: &TableFormat, file: &PartitionedFile) {
        self.node.statements.add(statement);
        let _ = self.scans.set(Scans::new(statement, format, file));
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let counts = self.call.counts();
        self.node.add(&counts, self.scans.get());
        if let Some(open) = &mut self.open {
            open.counts(counts.requests, counts.bytes_received);
            drop(open.beside(RequestKind::Head, counts.head_requests));
        }
    }
}
