//! Moves a condition on a join's output to its build side, along equal keys.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::joins::HashJoinExec;

/// Rewrites a condition on the output of a join to one on its build side: each of its columns is a key of the probe
/// side, which is replaced by the equal key of the build side. Returns `None` if the condition uses any other column,
/// or if the join returns rows without a partner on the build side or a mark column.
///
/// Rows of the build side that do not meet the condition only join rows that do not meet it either. Without them such
/// a row may lose its partners or be dropped itself, so the caller must drop it anyway.
pub(super) fn on_the_build_side(
    join: &HashJoinExec,
    condition: &Arc<dyn PhysicalExpr>,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    // Index of the first output column that comes from the probe side.
    let first = match join.join_type() {
        JoinType::Inner | JoinType::Right => join.left().schema().fields().len(),
        JoinType::RightSemi | JoinType::RightAnti => 0,
        JoinType::Left
        | JoinType::Full
        | JoinType::LeftSemi
        | JoinType::LeftAnti
        | JoinType::LeftMark
        | JoinType::RightMark => return Ok(None),
    };
    let (left, right) = (join.left().schema(), join.right().schema());
    let equal = |column: &Column| {
        let at = match &join.projection {
            Some(projection) => *projection.get(column.index())?,
            None => column.index(),
        };
        let at = at.checked_sub(first)?;
        join.on().iter().find_map(|(build, probe)| {
            let (build, probe) = (build.downcast_ref::<Column>()?, probe.downcast_ref::<Column>()?);
            let same = left.fields().get(build.index())?.data_type()
                == right.fields().get(probe.index())?.data_type();
            (probe.index() == at && same).then(|| build.clone())
        })
    };
    let mut all_equal = true;
    let moved = Arc::clone(condition).transform(|expr| {
        let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
        let Some(build) = equal(column) else {
            all_equal = false;
            return Ok(Transformed::new(expr, false, TreeNodeRecursion::Stop));
        };
        Ok(Transformed::yes(Arc::new(build) as Arc<dyn PhysicalExpr>))
    })?;
    Ok(all_equal.then_some(moved.data))
}
