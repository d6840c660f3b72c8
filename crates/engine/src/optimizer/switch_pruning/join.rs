//! Serves joins whose probing side may lose rows without a match.
//!
//! ```text
//! HashJoinExec           HashJoinExec
//!   A               ─►     SwitchPruneExec: build join_bloom | join_register_bloom
//!   B                        A
//!                          SwitchPruneExec: probe …
//!                            B
//! ```
//!
//! A hash join reads A, which the optimizer estimates to be the smaller side, before B. This is the paper's
//! asymmetric join, small table first. A side whose unmatched rows the query keeps is not pruned.

use std::sync::Arc;

use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::HashJoinExec;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::join::plan::{Filter, Goal};
use sluicegate_pruning::algorithm::join::{Kind, Passes, Shape, bloom, register_bloom};
use sluicegate_pruning::theory::bloom as theory;

use super::{NotSwitched, PlanStatistics, SwitchResult, rewrite_workers};
use crate::context::choice::Reason;
use crate::operators::switch::planner::{Planner, narrow, reason};
use crate::operators::switch::{Field, Key, SwitchPlan};
use crate::operators::switch_prune::SwitchPruneExec;

/// Assumed share of probing rows with a match, for ranking configurations.
const ASSUMED_MATCHING: f64 = 0.1;

/// Serves `node` if it is such a join.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<Arc<dyn ExecutionPlan>> {
    let join = node.downcast_ref::<HashJoinExec>().ok_or(NotSwitched::Other)?;
    let plans = plan(join, planner)?;
    let left = rewrite_workers(Arc::clone(join.left()), planner)?;
    let right = rewrite_workers(Arc::clone(join.right()), planner)?;
    let sides = SwitchPruneExec::join([left, right], plans);
    let sides = sides.map(|side| Arc::new(side) as Arc<dyn ExecutionPlan>);
    Ok(replace_children_if_necessary(Arc::clone(node), sides.to_vec())?)
}

fn plan(join: &HashJoinExec, planner: &mut Planner) -> SwitchResult<[SwitchPlan; 2]> {
    if join.null_aware {
        return Err("NOT IN depends on NULLs of the probing side".into());
    }
    let kind = match join.join_type() {
        JoinType::Inner => Kind::Inner,
        JoinType::Left => Kind::LeftOuter,
        JoinType::LeftSemi | JoinType::LeftMark => Kind::LeftSemi,
        JoinType::LeftAnti => Kind::LeftAnti,
        JoinType::RightSemi => Kind::RightSemi,
        kept => {
            let why = format!("{kept} keeps rows of the probing side without a match");
            return Err(Reason::new(why).into());
        }
    };
    let (left, right): (Vec<_>, Vec<_>) = join.on().iter().cloned().unzip();
    let (left_schema, right_schema) = (join.left().schema(), join.right().schema());
    Key::with_code(&left, &left_schema)??;
    let types = |columns: &[Arc<dyn PhysicalExpr>], schema| {
        columns.iter().map(|column| column.data_type(schema)).collect::<Result<Vec<_>>>()
    };
    if types(&left, &left_schema)? != types(&right, &right_schema)? {
        return Err("the two sides' keys differ in type".into());
    }
    let sides = [(left.as_slice(), left_schema.as_ref()), (&right, &right_schema)];
    let [build, probe] = Key::conflating(sides, planner.seed())?;
    let shape = Shape::new(kind, Passes::SmallFirst, build.is_wide());
    let goal =
        Goal { keys: PlanStatistics::from_plan(join.left())?.rows, matching: ASSUMED_MATCHING };
    let (array_bits, hashing) = (planner.array_bits(), planner.hashing());
    // The planner would split such an array into several, which the models do not.
    let whole = |bits: u64| match bits <= array_bits {
        true => Ok(()),
        false => Err(Reason::new(format!("an array has {bits} bits, where {array_bits} fit"))),
    };
    let build = planner.place_programs(&goal, vec![Field::Key(build)], |size| {
        match size.filter {
            Filter::Bloom => {
                let cells = narrow(size.bits / u64::from(size.hashes.max(1)));
                whole(cells.into())?;
                let config = bloom::Config::new(shape, cells, size.hashes).map_err(reason)?;
                Ok(Configured::JoinBloom(config.with_hashing(hashing)))
            }
            Filter::RegisterBloom => {
                // There are two arrays of half words each.
                whole(size.bits / 2)?;
                let words = narrow(size.bits / u64::from(theory::REGISTER_BITS));
                let mask_bits = size.mask_bits();
                let config = register_bloom::Config::new(shape, words, size.hashes, mask_bits);
                let config = config.map_err(reason)?.with_hashing(hashing);
                Ok(Configured::JoinRegisterBloom(config))
            }
        }
    })?;
    let probe = SwitchPlan { fields: vec![Field::Key(probe)], ..build.clone() };
    Ok([build, probe])
}
