//! Metrics of Select scans and of aggregates in the store.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::physical_plan::metrics::{
    Count, CustomMetricValue, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory, MetricValue,
};
use sluicegate_client::{SelectCounts, SelectMetrics};
use sluicegate_costmodel::{Bytes, Dollars, RequestCounts, Requests, Work};

use crate::counters::Counters;
use crate::endpoint::Endpoint;

/// What one partition of a node requested from the store, as EXPLAIN ANALYZE shows it.
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
}

impl NodeMetrics {
    /// The counters of a partition, registered with the node's others. What they count is added to
    /// `counters`, those of the node's query.
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
        }
    }

    /// Starts counting a call. Its counts are added when the tally is dropped, however it ended.
    #[must_use]
    pub fn tally(&self) -> Tally {
        Tally { node: self.clone(), call: Arc::default() }
    }

    /// Counts a file or range that is read with GET because the store could not answer.
    pub fn fallback(&self) {
        self.fallbacks.add(1);
        self.counters.fallback();
    }

    /// Bytes received through GET requests of this node.
    #[must_use]
    pub fn got(&self) -> &Count {
        &self.got
    }

    fn add(&self, counts: &SelectCounts) {
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
            scanned: Bytes(counts.bytes_scanned.bytes),
            returned: Bytes(counts.bytes_returned.bytes),
            ..Work::default()
        };
        self.cost.add(self.endpoint.prices.cost(&work).total());
        self.counters.select(counts);
    }
}

/// The counts of one Select call.
#[derive(Debug)]
pub struct Tally {
    node: NodeMetrics,
    /// The client's own counters for the call.
    pub call: Arc<SelectMetrics>,
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.node.add(&self.call.counts());
    }
}

/// Dollars as a metric: counted work at the prices of the endpoint's price book.
#[derive(Debug, Default)]
pub struct CostMetric {
    dollars: Mutex<f64>,
}

impl CostMetric {
    fn add(&self, dollars: Dollars) {
        *self.dollars.lock().unwrap_or_else(PoisonError::into_inner) += dollars.0;
    }

    /// The sum so far.
    #[must_use]
    pub fn dollars(&self) -> Dollars {
        Dollars(*self.dollars.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Display for CostMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dollars())
    }
}

impl CustomMetricValue for CostMetric {
    fn new_empty(&self) -> Arc<dyn CustomMetricValue> {
        Arc::new(Self::default())
    }

    fn aggregate(&self, other: Arc<dyn CustomMetricValue + 'static>) {
        if let Some(other) = other.as_any().downcast_ref::<Self>() {
            self.add(other.dollars());
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_eq(&self, other: &Arc<dyn CustomMetricValue>) -> bool {
        other.as_any().downcast_ref::<Self>().is_some_and(|other| other.dollars() == self.dollars())
    }
}

/// A text as a metric, such as a condition that is known only once a query runs.
#[derive(Debug, Default)]
pub struct TextMetric {
    text: Mutex<String>,
}

impl TextMetric {
    /// What EXPLAIN ANALYZE shows from now on.
    pub fn say(&self, text: impl Into<String>) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
    }
}

impl fmt::Display for TextMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CustomMetricValue for TextMetric {
    fn new_empty(&self) -> Arc<dyn CustomMetricValue> {
        Arc::new(Self::default())
    }

    fn aggregate(&self, other: Arc<dyn CustomMetricValue + 'static>) {
        if let Some(other) = other.as_any().downcast_ref::<Self>() {
            self.say(other.to_string());
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_eq(&self, other: &Arc<dyn CustomMetricValue>) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| other.to_string() == self.to_string())
    }
}
