//! Dollars in EXPLAIN ANALYZE.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::physical_plan::metrics::CustomMetricValue;
use sluicegate_costmodel::Dollars;

/// A metric in dollars: counted work at the prices of the endpoint's price book.
#[derive(Debug, Default)]
pub(crate) struct CostMetric {
    dollars: Mutex<f64>,
}

impl CostMetric {
    pub(super) fn add(&self, dollars: Dollars) {
        *self.dollars.lock().unwrap_or_else(PoisonError::into_inner) += dollars.0;
    }

    /// Returns the sum so far.
    #[must_use]
    pub(crate) fn dollars(&self) -> Dollars {
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
