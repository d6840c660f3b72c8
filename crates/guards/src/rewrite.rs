//! Rewrites DataFusion's trees with closures behind references.
//!
//! The traversals of DataFusion are generic over the closure, and large. Here, each is compiled once for each type of
//! tree.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// A closure that returns a changed node, or the same one.
type Change<'a, T> = &'a mut dyn FnMut(T) -> Result<Transformed<T>>;

/// Rewrites a tree: an expression, or a plan without its subqueries.
pub(crate) trait Rewrite: TreeNode {
    /// Changes each node after its children; see [`TreeNode::transform_up`].
    fn rewrite_up(self, change: Change<'_, Self>) -> Result<Transformed<Self>> {
        self.transform_up(change)
    }

    /// Changes each node before its children; see [`TreeNode::transform_down`].
    fn rewrite_down(self, change: Change<'_, Self>) -> Result<Transformed<Self>> {
        self.transform_down(change)
    }
}

impl<T: TreeNode> Rewrite for T {}

/// Rewrites a plan.
pub(crate) trait RewritePlan: Sized {
    /// Changes each node after its children, also those of subqueries; see
    /// [`LogicalPlan::transform_up_with_subqueries`].
    fn rewrite_all_up(self, change: Change<'_, Self>) -> Result<Transformed<Self>>;

    /// Changes the expressions of the node itself; see [`LogicalPlan::map_expressions`].
    fn rewrite_expressions(self, change: Change<'_, Expr>) -> Result<Transformed<Self>>;
}

impl RewritePlan for LogicalPlan {
    fn rewrite_all_up(self, change: Change<'_, Self>) -> Result<Transformed<Self>> {
        self.transform_up_with_subqueries(change)
    }

    fn rewrite_expressions(self, change: Change<'_, Expr>) -> Result<Transformed<Self>> {
        self.map_expressions(change)
    }
}
