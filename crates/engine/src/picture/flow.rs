//! What was counted at an operator while it ran.

use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};

/// What an operator did, counted where it ran; its time is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// Rows that it put out.
    pub rows: Option<u64>,
    /// Time that it computed, in all threads together.
    pub computing: Duration,
    /// What a scan asked of its store.
    pub asked: Option<Asked>,
    /// What crossed the switch.
    pub wire: Option<Wire>,
    /// What it says in words: the statements that it sent, the keys, what it decided.
    pub said: Vec<(String, String)>,
}

/// What a scan asked of its store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// Statements, retries included.
    pub selects: u64,
    /// GET requests, as far as they were kept.
    pub gets: u64,
    /// Bytes that the store scanned.
    pub scanned: u64,
    /// Bytes that came over the link.
    pub link: u64,
    /// Objects or ranges that were read here because the store could not answer.
    pub fallbacks: u64,
}

/// What crossed the switch on its way to the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wire {
    /// Packets that came in.
    pub packets_in: u64,
    /// Packets that went on.
    pub packets_out: u64,
    /// Bytes that came in.
    pub bytes_in: u64,
    /// Bytes that went on, with those of columns that were fetched afterwards.
    pub bytes_out: u64,
}

impl Flow {
    /// What the node counted so far.
    pub(super) fn of(plan: &dyn ExecutionPlan) -> Self {
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
        let asked = (received.is_some() || got.is_some()).then(|| Asked {
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
            said: said(&metrics),
        }
    }

    /// With what a node below asked for this one.
    pub(super) fn over(mut self, below: Self) -> Self {
        self.asked = match (self.asked, below.asked) {
            (Some(here), Some(there)) => Some(Asked {
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

fn said(metrics: &MetricsSet) -> Vec<(String, String)> {
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
