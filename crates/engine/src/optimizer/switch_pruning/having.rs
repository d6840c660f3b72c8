//! Serves GROUP BY … HAVING with SUM or COUNT above a threshold, MAX above or MIN below one.
//!
//! ```text
//! FilterExec: sum(v) > c        FilterExec: sum(v) > c
//!   AggregateExec: Final          AggregateExec: Final
//!     AggregateExec: Partial        AggregateExec: Partial
//!       X                    ─►       HashJoinExec: RightSemi, on the group's keys
//!                                       AggregateExec: Single                  (candidates)
//!                                         SwitchPruneExec: having_sum | …      (pass 1)
//!                                           X
//!                                       X                                      (pass 2)
//! ```
//!
//! Above the join, a second SwitchPruneExec counts the rows of pass 2, which cross the switch unchanged.
//!
//! Pass 1 finds candidates: all groups that qualify and some that do not. Pass 2 reads the candidates' rows again,
//! and the aggregate and the filter above compute exactly. X must therefore return the same rows twice, as scans,
//! filters and projections do. The query fails if an object changes in between.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result, ScalarValue};
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{
    Boundedness, replace_children_if_necessary, reset_plan_states,
};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::distinct;
use sluicegate_pruning::algorithm::having::plan::Goal;
use sluicegate_pruning::algorithm::having::{extreme, sum};
use sluicegate_pruning::switch::Relation;

use super::aggregate::{above, lower_half};
use super::filter::is_scanned;
use super::{NotSwitched, PlanStatistics, SwitchResult, rewrite_workers};
use crate::context::choice::Reason;
use crate::operators::switch::planner::{Planner, narrow, reason};
use crate::operators::switch::{Amount, Field, Key, Order, SwitchPlan};
use crate::operators::switch_prune::{Side, SwitchPruneExec};
use crate::scan::rerun::again;

/// Serves `node` if it is such a filter over an aggregate.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<Arc<dyn ExecutionPlan>> {
    let filter = node.downcast_ref::<FilterExec>().ok_or(NotSwitched::Other)?;
    let upper = filter.input();
    let lower = lower_half(upper).ok_or(NotSwitched::Other)?;
    let mut first = NotSwitched::Other;
    for conjunct in split_conjunction(filter.predicate()) {
        let Some(condition) = Condition::from_conjunct(conjunct, lower) else { continue };
        match plan(&condition, lower, planner) {
            Ok(plan) => {
                let semi = two_passes(lower, plan, planner)?;
                let upper = above(upper, semi)?;
                return Ok(replace_children_if_necessary(Arc::clone(node), vec![upper])?);
            }
            Err(NotSwitched::Failed(error)) => return Err(error.into()),
            Err(why) if matches!(first, NotSwitched::Other) => first = why,
            Err(_) => {}
        }
    }
    Err(first)
}

/// A condition of the form `aggregate op constant`.
struct Condition<'a> {
    aggregate: &'a AggregateFunctionExpr,
    op: Operator,
    constant: &'a ScalarValue,
}

impl<'a> Condition<'a> {
    /// Returns the condition of a HAVING conjunct on an aggregate, if it selects groups with a great value, or with a
    /// small MIN.
    fn from_conjunct(
        conjunct: &'a Arc<dyn PhysicalExpr>,
        lower: &'a AggregateExec,
    ) -> Option<Self> {
        let binary = conjunct.downcast_ref::<BinaryExpr>()?;
        let (column, op, constant) = match binary.left().downcast_ref::<Column>() {
            Some(column) => (column, *binary.op(), binary.right()),
            None => (binary.right().downcast_ref::<Column>()?, binary.op().swap()?, binary.left()),
        };
        let constant = constant.downcast_ref::<Literal>()?.value();
        let number = column.index().checked_sub(lower.group_expr().expr().len())?;
        let aggregate = lower.aggr_expr().get(number)?;
        let served = matches!(
            (aggregate.fun().name(), op),
            ("sum" | "count" | "max", Operator::Gt | Operator::GtEq)
                | ("min", Operator::Lt | Operator::LtEq)
        );
        // A lone MAX or MIN is served as GROUP BY, with one pass.
        let alone = matches!(aggregate.fun().name(), "max" | "min") && lower.aggr_expr().len() == 1;
        (served && !alone && !aggregate.is_distinct() && !constant.is_null()).then_some(Self {
            aggregate,
            op,
            constant,
        })
    }
}

fn plan(
    condition: &Condition<'_>,
    lower: &AggregateExec,
    planner: &mut Planner,
) -> SwitchResult<SwitchPlan> {
    let input = lower.input();
    if !is_repeatable(input)? {
        return Err("the second pass needs rows that can be read twice".into());
    }
    let schema = input.schema();
    let keys = lower.group_expr().input_exprs();
    for key in &keys {
        if key.data_type(&schema)?.is_floating() {
            return Err("groups and joins do not agree on the equality of floats".into());
        }
    }
    Key::with_code(&keys, &schema)??;
    let args = condition.aggregate.expressions();
    let [arg] = args.as_slice() else { return Err("the aggregate has several arguments".into()) };
    if matches!(condition.aggregate.fun().name(), "max" | "min") {
        plan_extreme(condition, &keys, arg, input, planner)
    } else {
        plan_sum(condition, &keys, arg, input, planner)
    }
}

fn plan_sum(
    condition: &Condition<'_>,
    keys: &[Arc<dyn PhysicalExpr>],
    arg: &Arc<dyn PhysicalExpr>,
    input: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<SwitchPlan> {
    let schema = input.schema();
    let reached = condition.op == Operator::GtEq;
    let addend = if condition.aggregate.fun().name() == "sum" {
        Amount::sum(arg, &arg.data_type(&schema)?, condition.constant, reached)
    } else {
        Amount::count(arg, condition.constant, reached)
    };
    let Some((amount, threshold)) = addend else {
        return Err(Reason::new(format!(
            "{} cannot be counted in a register up to {}",
            condition.aggregate.name(),
            condition.constant
        ))
        .into());
    };
    let known = PlanStatistics::from_plan(input)?;
    let [key] = Key::conflating([(keys, schema.as_ref())], planner.seed())?;
    let wide = key.is_wide();
    let goal = Goal { keys: known.rows.min(1 << 20), counter_bits: 32 };
    let hashing = planner.hashing();
    let fields = vec![Field::Key(key), Field::Amount(amount)];
    Ok(planner.place_programs(&goal, fields, |size| {
        let (rows, counters) = (narrow(size.rows), narrow(size.counters));
        let config = sum::Config::new(rows, counters, threshold, sum::Aggregate::Sum, wide);
        Ok(Configured::Having(config.map_err(reason)?.with_hashing(hashing)))
    })?)
}

fn plan_extreme(
    condition: &Condition<'_>,
    keys: &[Arc<dyn PhysicalExpr>],
    arg: &Arc<dyn PhysicalExpr>,
    input: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<SwitchPlan> {
    let schema = input.schema();
    let known = PlanStatistics::from_plan(input)?;
    let Some(key) = Key::exact(keys, &schema)?.filter(|key| !key.is_wide()) else {
        return Err("HAVING MAX or MIN takes keys of 32 bits".into());
    };
    if arg.data_type(&schema)? != condition.constant.data_type() {
        return Err("the value and its bound differ in type".into());
    }
    let order = Order::new(arg, &schema, known.of_column(arg))??;
    let max = condition.aggregate.fun().name() == "max";
    let order = order.with_null(if max { 0 } else { u32::MAX }).let_nan_pass();
    let relation = match (condition.op, order.is_exact()) {
        (Operator::Gt, true) => Relation::Gt,
        (Operator::Gt | Operator::GtEq, _) => Relation::Ge,
        (Operator::Lt, true) => Relation::Lt,
        _ => Relation::Le,
    };
    let threshold = order.word_of(condition.constant)?;
    let goal = distinct::plan::Goal { distinct: known.rows, key_bits: 32, delta: 0.0 };
    let hashing = planner.hashing();
    let fields = vec![Field::Key(key), Field::Order(order)];
    Ok(planner.place_programs(&goal, fields, |size| {
        let (rows, columns) = (narrow(size.rows), narrow(size.columns));
        let config = extreme::Config::new(relation, threshold, rows, columns);
        Ok(Configured::HavingExtreme(config.map_err(reason)?.with_hashing(hashing)))
    })?)
}

/// Returns the rows of the candidates' groups.
fn two_passes(
    lower: &AggregateExec,
    plan: SwitchPlan,
    planner: &mut Planner,
) -> Result<Arc<dyn ExecutionPlan>> {
    planner.reread();
    let again_plan = plan.clone();
    let first = reset_plan_states(again(Arc::clone(lower.input()))?)?;
    let second = rewrite_workers(again(Arc::clone(lower.input()))?, planner)?;
    let candidates = AggregateExec::try_new(
        AggregateMode::Single,
        lower.group_expr().clone(),
        Vec::new(),
        Vec::new(),
        Arc::new(SwitchPruneExec::new(first, plan)),
        lower.input_schema(),
    )?;
    let keys = candidates.output_group_expr();
    let on = keys.into_iter().zip(lower.group_expr().input_exprs()).collect();
    let semi = HashJoinExec::try_new(
        Arc::new(candidates),
        second,
        on,
        None,
        &JoinType::RightSemi,
        None,
        PartitionMode::CollectLeft,
        NullEquality::NullEqualsNull,
        false,
    )?;
    Ok(Arc::new(SwitchPruneExec::on(Side::Again, Arc::new(semi), again_plan)))
}

/// Returns true if a plan returns the same rows when it runs twice.
fn is_repeatable(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut repeatable = is_scanned(plan) && plan.boundedness() == Boundedness::Bounded;
    plan.apply(|node| {
        repeatable &= node.fetch().is_none();
        repeatable &= !node.children().is_empty() || node.is::<DataSourceExec>();
        node.apply_expressions(&mut |expr| {
            repeatable &= !is_volatile(expr);
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(repeatable)
}
