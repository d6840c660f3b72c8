//! The EXPLAIN ANALYZE metric about the keys of joins.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{
    CustomMetricValue, ExecutionPlanMetricsSet, Metric, MetricBuilder, MetricValue,
};

use super::pushed::{PushedKeyFilter, PushedKeys};

/// The decisions about keys while a node runs, and the keys that parts of files received.
#[derive(Debug, Default)]
pub struct KeyMetrics {
    said: Mutex<KeyMetricsState>,
}

#[derive(Debug, Default, Clone, PartialEq)]
struct KeyMetricsState {
    /// The decisions of partitions, each text once.
    texts: BTreeSet<String>,
    /// True if conditions on keys were sent.
    used: bool,
    parts: RangeCounts,
}

/// Returns the conditions on keys of joins that a plan sent while it ran; empty if there were none.
#[must_use]
pub fn key_texts(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let said = |metric: &Arc<Metric>| match metric.value() {
        MetricValue::Custom { value, .. } => {
            let said = value.as_any().downcast_ref::<KeyMetrics>().filter(|said| said.used());
            said.map(ToString::to_string)
        }
        _ => None,
    };
    let mut all: Vec<String> =
        plan.metrics().iter().flat_map(|it| it.iter()).filter_map(said).collect();
    all.extend(plan.children().into_iter().flat_map(key_texts));
    all
}

/// Totals over the parts of files that got conditions of their own.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct RangeCounts {
    all: usize,
    /// The number of parts with keys of their own.
    own: usize,
    keys: usize,
    bits: u64,
    /// The least and the greatest false-positive rate.
    p: Option<(f64, f64)>,
    /// The requested false-positive rate, if it does not fit everywhere.
    wanted: Option<f64>,
}

impl RangeCounts {
    fn and(self, other: Self) -> Self {
        let p = [self.p, other.p].into_iter().flatten();
        Self {
            all: self.all + other.all,
            own: self.own + other.own,
            keys: self.keys + other.keys,
            bits: self.bits + other.bits,
            p: p.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            wanted: self.wanted.or(other.wanted),
        }
    }
}

/// For example `7 of 8 parts with keys of their own (131000 keys, 1255600 bits, p = 0.01)`.
impl fmt::Display for RangeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} parts with keys of their own", self.own, self.all)?;
        if self.own == 0 {
            return Ok(());
        }
        write!(f, " ({} keys", self.keys)?;
        match self.p {
            None => {}
            Some((least, most)) if least == most => {
                write!(f, ", {} bits, p = {least}", self.bits)?;
            }
            Some((least, most)) => {
                write!(f, ", {} bits, p = {least:.4} to {most:.4}", self.bits)?;
            }
        }
        if let Some(wanted) = self.wanted {
            write!(f, ", {wanted} does not fit")?;
        }
        f.write_str(")")
    }
}

impl KeyMetrics {
    /// Creates the metric and registers it with the node's other metrics.
    #[must_use]
    pub fn registered(set: &ExecutionPlanMetricsSet) -> Arc<Self> {
        let said = Arc::new(Self::default());
        MetricBuilder::new(set).build(MetricValue::Custom {
            name: "keys".into(),
            value: Arc::clone(&said) as Arc<dyn CustomMetricValue>,
        });
        said
    }

    /// Adds a text about the keys that are sent, or about the reason why none are. `used` is true if keys are sent.
    pub fn set_decision(&self, text: &str, used: bool) {
        let mut inner = self.inner();
        inner.texts.insert(text.to_owned());
        inner.used |= used;
    }

    /// Returns true if conditions on keys were sent.
    #[must_use]
    pub fn used(&self) -> bool {
        self.inner().used
    }

    /// Counts a part of a file, with its own conditions if it has any.
    pub fn add_range(&self, own: Option<&PushedKeys>) {
        let mut part =
            RangeCounts { all: 1, own: usize::from(own.is_some()), ..RangeCounts::default() };
        for (_, likely) in own.map(|sent| sent.columns.as_slice()).unwrap_or_default() {
            let hashed = match likely {
                PushedKeyFilter::Between { .. } => RangeCounts::default(),
                PushedKeyFilter::OneOf(keys) => {
                    RangeCounts { keys: *keys, ..RangeCounts::default() }
                }
                PushedKeyFilter::Hashed { keys, bits, sent, wanted, .. } => RangeCounts {
                    keys: *keys,
                    bits: *bits,
                    p: Some((*sent, *sent)),
                    wanted: (wanted != sent).then_some(*wanted),
                    ..RangeCounts::default()
                },
            };
            part = part.and(hashed);
        }
        let mut inner = self.inner();
        inner.parts = inner.parts.and(part);
        inner.used |= own.is_some();
    }

    fn inner(&self) -> MutexGuard<'_, KeyMetricsState> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for KeyMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyMetricsState { texts, parts, .. } = self.inner().clone();
        let parts = (parts.all > 0).then(|| parts.to_string());
        f.write_str(&texts.into_iter().chain(parts).collect::<Vec<_>>().join("; "))
    }
}

impl CustomMetricValue for KeyMetrics {
    fn new_empty(&self) -> Arc<dyn CustomMetricValue> {
        Arc::new(Self::default())
    }

    fn aggregate(&self, other: Arc<dyn CustomMetricValue + 'static>) {
        if let Some(other) = other.as_any().downcast_ref::<Self>() {
            let other = other.inner().clone();
            let mut inner = self.inner();
            inner.texts.extend(other.texts);
            inner.used |= other.used;
            inner.parts = inner.parts.and(other.parts);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_eq(&self, other: &Arc<dyn CustomMetricValue>) -> bool {
        let Some(other) = other.as_any().downcast_ref::<Self>() else { return false };
        // `other` may be `self`, so its lock is released first.
        let other = other.inner().clone();
        other == *self.inner()
    }
}

#[cfg(test)]
mod tests {
    use super::super::hashing::Hashing;
    use super::*;

    fn hashed(keys: usize, sent: f64) -> PushedKeys {
        let (hashing, bits) = (Hashing::Binary, 10 * keys as u64);
        let likely = PushedKeyFilter::Hashed { hashing, keys, bits, wanted: 0.01, sent };
        PushedKeys { columns: vec![("k".to_owned(), likely)], ..PushedKeys::default() }
    }

    #[test]
    fn partitions_are_added_up() {
        let [one, two, all] = [(); 3].map(|()| Arc::new(KeyMetrics::default()));
        for said in [&one, &two] {
            said.set_decision("by part on k (90 keys)", false);
        }
        one.add_range(Some(&hashed(30, 0.01)));
        one.add_range(Some(&hashed(40, 0.01)));
        all.aggregate(one as Arc<dyn CustomMetricValue>);
        let text = "by part on k (90 keys); 2 of 2 parts with keys of their own \
                    (70 keys, 700 bits, p = 0.01)";
        assert_eq!(all.to_string(), text);
        two.add_range(None);
        two.add_range(Some(&hashed(20, 0.02)));
        all.aggregate(two as Arc<dyn CustomMetricValue>);
        let text = "by part on k (90 keys); 3 of 4 parts with keys of their own \
                    (90 keys, 900 bits, p = 0.0100 to 0.0200, 0.01 does not fit)";
        assert_eq!(all.to_string(), text);
    }

    #[test]
    fn parts_without_keys_of_their_own_are_counted() {
        let said = KeyMetrics::default();
        assert_eq!(said.to_string(), "");
        said.add_range(None);
        assert!(!said.used());
        assert_eq!(said.to_string(), "0 of 1 parts with keys of their own");
        let list = vec![("k".to_owned(), PushedKeyFilter::OneOf(3))];
        said.add_range(Some(&PushedKeys { columns: list, ..PushedKeys::default() }));
        assert_eq!(said.to_string(), "1 of 2 parts with keys of their own (3 keys)");
        assert!(said.used());
    }
}
