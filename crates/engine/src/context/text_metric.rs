//! Text in EXPLAIN ANALYZE.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::physical_plan::metrics::CustomMetricValue;

/// A text as a metric, such as a condition that becomes known while a query runs.
#[derive(Debug, Default)]
pub(crate) struct TextMetric {
    text: Mutex<String>,
}

impl TextMetric {
    /// Sets the text for EXPLAIN ANALYZE.
    pub(crate) fn set(&self, text: impl Into<String>) {
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
            self.set(other.to_string());
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
