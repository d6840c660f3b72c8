//! Joins whose probing side may lose rows without a match.
//!
//! ```text
//! HashJoinExec           HashJoinExec
//!   A               ─►     SwitchPruneExec: build join_bloom | join_register_bloom
//!   B                        A
//!                          SwitchPruneExec: probe …
//!                            B
//! ```
//!
//! A hash join reads A, which the optimizer believes to be the smaller side, before B: that is the
//! paper's asymmetric join, small table first. A side whose unmatched rows the query keeps is not
//! pruned.

use std::sync::Arc;

use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::HashJoinExec;
use sluicegate_pruning::algorithm::join::{Kind, Passes, Shape, bloom, register_bloom};
use sluicegate_pruning::theory::{Configuration, Goal, JoinFilter, bloom as theory};

use super::{Knowledge, Refusable, rewrite_workers};
use crate::physical_plan::switch_prune::SwitchPruneExec;
use crate::switch::planner::{Placed, Planner, narrow, reason};
use crate::switch::{Algorithm, Field, Key, Optimum, SwitchPlan};

/// The fraction of probing rows with a match, where nothing is known: it ranks configurations.
const ASSUMED_MATCHING: f64 = 0.1;

/// Serves `node` if it is such a join.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(join) = node.downcast_ref::<HashJoinExec>() else { return Ok(None) };
    let [build, probe] = match plan(join, planner)? {
        Ok(plans) => plans,
        Err(why) => {
            planner.refuse("JOIN", why);
            return Ok(None);
        }
    };
    let left = rewrite_workers(Arc::clone(join.left()), planner)?;
    let right = rewrite_workers(Arc::clone(join.right()), planner)?;
    let sides = SwitchPruneExec::join((left, build), (right, probe));
    let sides = sides.map(|side| Arc::new(side) as Arc<dyn ExecutionPlan>);
    Ok(Some(replace_children_if_necessary(Arc::clone(node), sides.to_vec())?))
}

fn plan(join: &HashJoinExec, planner: &mut Planner) -> Result<Refusable<[SwitchPlan; 2]>> {
    if join.null_aware {
        return Ok(Err("NOT IN depends on NULLs of the probing side".to_owned()));
    }
    let kind = match join.join_type() {
        JoinType::Inner => Kind::Inner,
        JoinType::Left => Kind::LeftOuter,
        JoinType::LeftSemi | JoinType::LeftMark => Kind::LeftSemi,
        JoinType::LeftAnti => Kind::LeftAnti,
        JoinType::RightSemi => Kind::RightSemi,
        kept => return Ok(Err(format!("{kept} keeps rows of the probing side without a match"))),
    };
    let (left, right): (Vec<_>, Vec<_>) = join.on().iter().cloned().unzip();
    let (left_schema, right_schema) = (join.left().schema(), join.right().schema());
    if let Some(data_type) = Key::without_code(&left, &left_schema)? {
        return Ok(Err(format!("keys of type {data_type} have no code")));
    }
    let types = |columns: &[Arc<dyn PhysicalExpr>], schema| {
        columns.iter().map(|column| column.data_type(schema)).collect::<Result<Vec<_>>>()
    };
    if types(&left, &left_schema)? != types(&right, &right_schema)? {
        return Ok(Err("the two sides' keys differ in type".to_owned()));
    }
    let sides = [(left.as_slice(), left_schema.as_ref()), (&right, &right_schema)];
    let keys = Key::conflating(&sides, planner.seed())?;
    let Ok([build, probe]) = <[Key; 2]>::try_from(keys) else {
        return Ok(Err("the join has no keys".to_owned()));
    };
    let shape = Shape::new(kind, Passes::SmallFirst, build.is_wide());
    let placed = place(shape, Knowledge::of(join.left())?.rows, planner);
    Ok(placed.map(|placed| {
        [build, probe].map(|key| SwitchPlan {
            algorithm: placed.algorithm.clone(),
            optimum: planner.counted(Optimum::Join),
            fields: vec![Field::Key(key)],
            resources: placed.resources.clone(),
            failure: 0.0,
            trusted_rows: None,
            patience: planner.patience(),
        })
    }))
}

fn place(shape: Shape, keys: u64, planner: &mut Planner) -> Refusable<Placed> {
    let array_bits = planner.array_bits();
    // The planner would cut such an array into several, which the models do not.
    let whole = |bits: u64| match bits <= array_bits {
        true => Ok(()),
        false => Err(format!("an array of {bits} bits, where {array_bits} fit")),
    };
    planner.place(&Goal::Join { keys, matching: ASSUMED_MATCHING }, |plan| {
        let Configuration::Join { filter, bits, hashes } = plan.configuration else {
            return Err("no configuration of JOIN".to_owned());
        };
        match filter {
            JoinFilter::Bloom => {
                let cells = narrow(bits / u64::from(hashes.max(1)));
                whole(cells.into())?;
                let config = bloom::Config::new(shape, cells, hashes).map_err(reason)?;
                Ok(Algorithm::Bloom(config))
            }
            JoinFilter::RegisterBloom => {
                // Two arrays, each of half words.
                whole(bits / 2)?;
                let words = narrow(bits / u64::from(theory::REGISTER_BITS));
                let mask_bits = theory::masks(hashes).log2().ceil().clamp(4.0, 16.0) as u8;
                let config = register_bloom::Config::new(shape, words, hashes, mask_bits);
                Ok(Algorithm::RegisterBloom(config.map_err(reason)?))
            }
        }
    })
}
