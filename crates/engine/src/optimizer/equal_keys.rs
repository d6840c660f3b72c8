//! What a condition on the output of a join says about its build side, because keys are equal.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::joins::HashJoinExec;

/// A condition on the output of a join, as one on its build side: each column of it is a key of the
/// probe side, and a key of the build side is equal to it. None if it is about anything else, or
/// if the join puts out rows that have no partner on the build side, or a column of its own.
///
/// Rows of the build side that do not meet it are only joined to rows that do not, either. Without
/// them, such a row may lose its partners, but it may lose itself as well: whoever asks for the
/// condition drops it.
pub(super) fn on_the_build_side(
    join: &HashJoinExec,
    condition: &Arc<dyn PhysicalExpr>,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    // The first column of the output that is of the probe side.
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
