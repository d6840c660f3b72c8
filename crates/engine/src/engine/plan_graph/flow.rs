//! Counts of an operator's run.

use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};

/// The counts and the measured time of an operator's run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// The number of output rows.
    pub rows: Option<u64>,
    /// The computing time, summed over all threads.
    pub computing: Duration,
    /// The requests and bytes of a scan.
    pub asked: Option<RequestStats>,
    /// The packets that crossed the switch.
    pub wire: Option<Wire>,
    /// Metrics in words, by name: the statements that were sent, the keys, the decisions.
    pub said: Vec<(String, String)>,
}

/// The requests of a scan to its store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestStats {
    /// The number of statements, retries included.
    pub selects: u64,
    /// The number of GET requests, as far as they were recorded.
    pub gets: u64,
    /// The number of bytes that the store scanned.
    pub scanned: u64,
    /// The number of bytes that came over the link.
    pub link: u64,
    /// The number of objects or ranges that were read locally because the store could not answer.
    pub fallbacks: u64,
}

/// The traffic through the switch on its way to the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wire {
    /// The number of packets that entered the switch.
    pub packets_in: u64,
    /// The number of packets that the switch forwarded.
    pub packets_out: u64,
    /// The number of bytes that entered the switch.
    pub bytes_in: u64,
    /// The number of bytes that the switch forwarded, with those of columns that were fetched afterwards.
    pub bytes_out: u64,
}

impl Flow {
    /// Returns the counts of a node so far.
    pub(super) fn from_metrics(plan: &dyn ExecutionPlan) -> Self {
        let Some(metrics) = plan.metrics() else { return Self::default() };
        let computing = metrics.elapsed_compute().unwrap_or(0);
        let count = |name| count(&metrics, name);
        let wire = count("packets_in").map(|packets_in| Wire {
            packets_in,
            packets_out: count("packets_out").unwrap_or(0),
            bytes_in: count("wire_bytes_in").unwrap_or(0),
            bytes_out: count("wire_bytes_out").unwrap_or(0) + count("late_bytes").unwrap_or(0),
        });
        let (received, got) = (count("bytes_received"), count("bytes_got"));
        let asked = (received.is_some() || got.is_some()).then(|| RequestStats {
            selects: count("select_requests").unwrap_or(0),
            gets: count("range_requests").or_else(|| count("get_requests")).unwrap_or(0),
            scanned: count("bytes_scanned_by_store").unwrap_or(0),
            link: received.unwrap_or(0) + got.unwrap_or(0),
            fallbacks: count("fallbacks").unwrap_or(0),
        });
        Self {
            rows: metrics.output_rows().map(|rows| rows as u64),
            computing: Duration::from_nanos(computing as u64),
            asked,
            wire,
            said: metric_texts(&metrics),
        }
    }

    /// Adds the counts of a node below that reads for this one.
    pub(super) fn over(mut self, below: Self) -> Self {
        self.asked = match (self.asked, below.asked) {
            (Some(here), Some(there)) => Some(RequestStats {
                selects: here.selects + there.selects,
                gets: here.gets + there.gets,
                scanned: here.scanned + there.scanned,
                link: here.link + there.link,
                fallbacks: here.fallbacks + there.fallbacks,
            }),
            (here, there) => here.or(there),
        };
        self.rows = self.rows.or(below.rows);
        self.computing += below.computing;
        self.said.extend(below.said);
        self
    }
}

fn count(metrics: &MetricsSet, name: &str) -> Option<u64> {
    metrics.sum_by_name(name).map(|sum| sum.as_usize() as u64)
}

fn metric_texts(metrics: &MetricsSet) -> Vec<(String, String)> {
    let mut said = Vec::new();
    for metric in metrics.aggregate_by_name().iter() {
        let MetricValue::Custom { name, value } = metric.value() else { continue };
        let text = value.to_string();
        if name != "cost" && !text.is_empty() {
            said.push((name.to_string(), text));
        }
    }
    said.sort();
    said
}
