//! Dynamic filters: filters whose values other operators supply while the query runs.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    Column, DynamicFilterPhysicalExpr, DynamicFilterTracking, Literal,
};
use tokio::time::{Instant, timeout_at};

/// A filter whose values are not known before the query runs.
#[derive(Debug, Clone)]
pub struct DynamicFilter {
    /// The expression over the table's columns. It accepts every row until its values arrive.
    pub filter: Arc<dyn PhysicalExpr>,
    /// Set if the filter holds the keys of a join.
    pub keys: Option<DynamicKeys>,
}

/// Facts about the keys of a join that are known before the keys arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DynamicKeys {
    /// The estimated number of keys if the build side had no filter, or `None` if there is no estimate.
    pub domain: Option<f64>,
}

impl DynamicFilter {
    /// Creates a filter without known keys.
    #[must_use]
    pub fn new(filter: Arc<dyn PhysicalExpr>) -> Self {
        Self { filter, keys: None }
    }

    /// Returns the expression ids of the dynamic filters inside.
    #[must_use]
    pub fn ids(&self) -> Vec<u64> {
        self.parts().iter().filter_map(|part| part.expression_id()).collect()
    }

    /// Returns true if the columns of every dynamic filter are the right ones: it has a single operand, or all its
    /// operands are plain columns or constants. DataFusion moves a filter below a projection operand by operand, the
    /// inner ones first: of `k` and `k + id`, which share `k`, the second keeps an `id` of the projection.
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

    /// Returns true if each dynamic filter has a single operand that is not a constant, so that one value decides
    /// whether a row passes.
    #[must_use]
    pub fn has_one_key(&self) -> bool {
        let has_one = |part: &Arc<dyn PhysicalExpr>| match part.children().as_slice() {
            [key] => !key.is::<Literal>(),
            _ => false,
        };
        self.parts().iter().all(has_one)
    }

    /// Returns true if the filter will not change any more.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(DynamicFilterTracking::classify(&self.filter), DynamicFilterTracking::Watching(_))
    }

    /// Waits until the filter is final, at most until `until`. Only call it for keys of a join: a top-K or an
    /// aggregate waits for the scan, so waiting for its filter would deadlock.
    pub async fn wait(&self, until: Instant) {
        for part in self.parts() {
            if let Some(part) = part.downcast_ref::<DynamicFilterPhysicalExpr>() {
                // The scan runs without keys that arrive too late.
                let _ = timeout_at(until, part.wait_complete()).await;
            }
        }
    }
}

/// Returns true if the filter contains a dynamic filter.
#[must_use]
pub(crate) fn arrives(filter: &Arc<dyn PhysicalExpr>) -> bool {
    DynamicFilterTracking::classify(filter).contains_dynamic_filter()
}

/// The longest time that a scan waits for keys.
pub(crate) const DYNAMIC_FILTER_TIMEOUT: Duration = Duration::from_secs(1);
