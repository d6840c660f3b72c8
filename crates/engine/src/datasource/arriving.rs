//! Filters that other operators find out while the query runs.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    Column, DynamicFilterPhysicalExpr, DynamicFilterTracking, Literal,
};
use tokio::time::{Instant, timeout_at};

/// A filter that is not known before the query runs.
#[derive(Debug, Clone)]
pub struct Arriving {
    /// Over the table's columns. It lets everything pass until more is known.
    pub filter: Arc<dyn PhysicalExpr>,
    /// Whether it is the keys of a join, and which.
    pub keys: Option<ArrivingKeys>,
}

/// What is known about the keys of a join before they arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArrivingKeys {
    /// How many there would be without a filter on the build side, if that can be estimated.
    pub domain: Option<f64>,
}

impl Arriving {
    /// A filter of which nothing is known.
    #[must_use]
    pub fn new(filter: Arc<dyn PhysicalExpr>) -> Self {
        Self { filter, keys: None }
    }

    /// The identities of what it consists of.
    #[must_use]
    pub fn ids(&self) -> Vec<u64> {
        self.parts().iter().filter_map(|part| part.expression_id()).collect()
    }

    /// Whether what arrives is about the columns that it seems to be about. DataFusion moves a filter
    /// below a projection operand by operand, the inner ones first: of `k` and `k + id`, which share
    /// `k`, the second is then left with an `id` of the projection. Nothing is said about a constant.
    #[must_use]
    pub fn is_about_its_columns(&self) -> bool {
        self.parts().iter().all(|part| {
            let operands = part.children();
            operands.len() < 2 || operands.iter().all(|it| it.is::<Column>() || it.is::<Literal>())
        })
    }

    fn parts(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        let mut parts = Vec::new();
        let walked = self.filter.apply(|part| {
            if part.is::<DynamicFilterPhysicalExpr>() {
                parts.push(Arc::clone(part));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "nothing here fails");
        parts
    }

    /// Whether it is about a single value of each row, and so says of each whether it passes.
    #[must_use]
    pub fn has_one_key(&self) -> bool {
        let has_one = |part: &Arc<dyn PhysicalExpr>| match part.children().as_slice() {
            [key] => !key.is::<Literal>(),
            _ => false,
        };
        self.parts().iter().all(has_one)
    }

    /// Whether it will not change any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(DynamicFilterTracking::classify(&self.filter), DynamicFilterTracking::Watching(_))
    }

    /// Waits until it will not change any more, but not beyond a moment. Only to be called of keys
    /// of a join: a top-K or an aggregate waits for the scan.
    pub async fn wait(&self, until: Instant) {
        for part in self.parts() {
            if let Some(part) = part.downcast_ref::<DynamicFilterPhysicalExpr>() {
                // Late keys are keys that the scan does without.
                let _ = timeout_at(until, part.wait_complete()).await;
            }
        }
    }
}

/// Whether a filter depends on what other operators find out.
#[must_use]
pub fn arrives(filter: &Arc<dyn PhysicalExpr>) -> bool {
    DynamicFilterTracking::classify(filter).contains_dynamic_filter()
}

/// The longest that a scan waits for keys.
pub const PATIENCE: Duration = Duration::from_secs(1);
