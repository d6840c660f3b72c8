//! SELECT DISTINCT, and GROUP BY with one MIN or MAX.
//!
//! ```text
//! AggregateExec: mode=Final              AggregateExec: mode=Final
//!   AggregateExec: mode=Partial    ─►      AggregateExec: mode=Partial
//!     X                                      SwitchPruneExec: distinct | group_by_max | group_by_min
//!                                              X
//! ```
//!
//! Both halves are the master's, which has as many cores as there are partitions.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use sluicegate_pruning::Ties;
use sluicegate_pruning::algorithm::group_by::Extreme;
use sluicegate_pruning::algorithm::{distinct, group_by};
use sluicegate_pruning::theory::{Configuration, Goal, distinct as theory};

use super::{Knowledge, Refusable, rewrite_workers};
use crate::physical_plan::switch_prune::SwitchPruneExec;
use crate::switch::planner::{Planner, narrow, reason, trusted_keys};
use crate::switch::{Algorithm, Field, Key, Optimum, Order, SwitchPlan};

/// Rows of a group, where nothing is known: it ranks configurations.
const ASSUMED_GROUP_ROWS: u64 = 16;

/// Serves `node` if it is the upper half of such an aggregate.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(partial) = lower_half(node) else { return Ok(None) };
    let input = partial.input();
    let keys = partial.group_expr().input_exprs();
    let (operator, placed) = match partial.aggr_expr() {
        [] => ("DISTINCT", plan_distinct(&keys, input, planner)?),
        [aggregate] => {
            let extreme = match aggregate.fun().name() {
                "max" => Extreme::Max,
                "min" => Extreme::Min,
                _ => return Ok(None),
            };
            let values = aggregate.expressions();
            let [value] = values.as_slice() else { return Ok(None) };
            ("GROUP BY", plan_group_by(&keys, value, extreme, input, planner)?)
        }
        _ => return Ok(None),
    };
    let plan = match placed {
        Ok(plan) => plan,
        Err(why) => {
            planner.refuse(operator, why);
            return Ok(None);
        }
    };
    let below = rewrite_workers(Arc::clone(input), planner)?;
    let pruned = Arc::new(SwitchPruneExec::new(below, Arc::new(plan)));
    Ok(Some(above(node, pruned)?))
}

/// Both halves of an aggregate over another input.
pub(super) fn above(
    upper: &Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let lower = upper.children().first().map_or(upper, |lower| *lower);
    let lower = replace_children_if_necessary(Arc::clone(lower), vec![input])?;
    replace_children_if_necessary(Arc::clone(upper), vec![lower])
}

/// The lower half of an aggregate by groups, if it is plain: no grouping sets or FILTER.
///
/// With a LIMIT it may choose among groups, and so it may among those that the switch let pass: all.
pub(super) fn lower_half(node: &Arc<dyn ExecutionPlan>) -> Option<&AggregateExec> {
    let plain = |aggregate: &AggregateExec| {
        aggregate.group_expr().is_single()
            && !aggregate.group_expr().is_empty()
            && aggregate.filter_expr().iter().all(Option::is_none)
    };
    let upper = node.downcast_ref::<AggregateExec>()?;
    let is_upper = matches!(*upper.mode(), AggregateMode::Final | AggregateMode::FinalPartitioned);
    let lower = upper.input().downcast_ref::<AggregateExec>()?;
    let is_lower = *lower.mode() == AggregateMode::Partial;
    (is_upper && is_lower && plain(upper) && plain(lower)).then_some(lower)
}

fn plan_distinct(
    keys: &[Arc<dyn PhysicalExpr>],
    input: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> Result<Refusable<SwitchPlan>> {
    let key = match exact_or_fingerprint(keys, input, true, planner)? {
        Ok(key) => key,
        Err(why) => return Ok(Err(why)),
    };
    let distinct = Knowledge::of(input)?.rows;
    let (width, key_bits) = match key.is_wide() {
        true => (distinct::Width::Bits64, 64),
        false => (distinct::Width::Bits32, 32),
    };
    let goal = Goal::Distinct { distinct, key_bits, delta: 0.0 };
    let placed = planner.place(&goal, |plan| {
        let Configuration::Distinct { rows, columns, .. } = plan.configuration else {
            return Err("no configuration of DISTINCT".to_owned());
        };
        let (rows, columns) = (narrow(rows), narrow(columns));
        let config = distinct::Config::new(rows, columns, width, distinct::Policy::Lru);
        let config = config.map_err(reason)?;
        // Fingerprints may only be confused within a row if the row is independent of them.
        let config = if key.is_fingerprint() { config.with_row_value() } else { config };
        Ok(Algorithm::Distinct(config))
    });
    Ok(placed.map(|placed| {
        let rows = match &placed.algorithm {
            Algorithm::Distinct(config) => u64::from(config.rows()),
            _ => 1,
        };
        let trusted_rows = key.is_fingerprint().then(|| trusted_keys(planner.delta(), rows));
        let failure =
            trusted_rows.map_or(0.0, |most| theory::confusion(most.min(distinct), rows, 64));
        SwitchPlan {
            algorithm: placed.algorithm,
            optimum: planner.counted(Optimum::Distinct { key: key.key_words() }),
            fields: vec![Field::Key(key)],
            resources: placed.resources,
            failure,
            trusted_rows,
            patience: planner.patience(),
        }
    }))
}

fn plan_group_by(
    keys: &[Arc<dyn PhysicalExpr>],
    value: &Arc<dyn PhysicalExpr>,
    extreme: Extreme,
    input: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> Result<Refusable<SwitchPlan>> {
    let key = match exact_or_fingerprint(keys, input, false, planner)? {
        Ok(key) => key,
        Err(why) => return Ok(Err(why)),
    };
    let schema = input.schema();
    let known = Knowledge::of(input)?;
    let Some(order) = Order::new(value, &schema, known.of_column(value))? else {
        return Ok(Err(format!("values of type {} have no order code", value.data_type(&schema)?)));
    };
    // A NULL decides nothing, but its group must arrive: the worst value does just that.
    let worst = if extreme == Extreme::Max { 0 } else { u32::MAX };
    let order = order.with_null(worst).with_neutral(worst).let_nan_pass();
    let ties = if order.is_exact() { Ties::Prune } else { Ties::Keep };
    let keys = (known.rows / ASSUMED_GROUP_ROWS).clamp(1, 1 << 16);
    let goal = Goal::GroupBy { entries: known.rows, keys, pair_bits: 64 };
    let placed = planner.place(&goal, |plan| {
        let Configuration::GroupBy { rows, tables, .. } = plan.configuration else {
            return Err("no configuration of GROUP BY".to_owned());
        };
        let (rows, tables) = (narrow(rows), narrow(tables));
        let config = group_by::Config::new(rows, tables, extreme, ties, key.is_wide());
        Ok(Algorithm::GroupBy(config.map_err(reason)?, extreme))
    });
    Ok(placed.map(|placed| {
        // Here a cell is chosen by the fingerprint itself: all keys must differ.
        let trusted_rows = key.is_fingerprint().then(|| trusted_keys(planner.delta(), 1));
        let failure =
            trusted_rows.map_or(0.0, |most| theory::confusion(most.min(known.rows), 1, 64));
        SwitchPlan {
            algorithm: placed.algorithm,
            optimum: planner.counted(Optimum::GroupBy { key: key.key_words(), extreme }),
            fields: vec![Field::Key(key), Field::Order(order)],
            resources: placed.resources,
            failure,
            trusted_rows,
            patience: planner.patience(),
        }
    }))
}

/// A key that tells values apart: always, or but for collisions that δ allows.
fn exact_or_fingerprint(
    keys: &[Arc<dyn PhysicalExpr>],
    input: &Arc<dyn ExecutionPlan>,
    row: bool,
    planner: &Planner,
) -> Result<Refusable<Key>> {
    let schema = input.schema();
    if let Some(data_type) = Key::without_code(keys, &schema)? {
        return Ok(Err(format!("keys of type {data_type} have no code")));
    }
    if let Some(key) = Key::exact(keys, &schema)? {
        return Ok(Ok(key));
    }
    if planner.delta() == 0.0 {
        let why =
            "the key has no code of 64 bits, and sluice.switch_delta = 0 forbids fingerprints";
        return Ok(Err(why.to_owned()));
    }
    Ok(Ok(Key::fingerprint(keys, planner.seed(), row)))
}
