//! Serves WHERE if the workers send their rows unfiltered.
//!
//! ```text
//! FilterExec            FilterExec
//!   X             ─►      SwitchPruneExec: filter
//!                           X
//! ```
//!
//! The filter above decides. The switch drops rows that fail whatever the values of the predicates that it cannot
//! compute. Only the first filter above a scan is served, and none below another program, because rows that cross the
//! switch for DISTINCT must already be filtered.

use std::sync::Arc;

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::filter::plan::Goal;
use sluicegate_pruning::algorithm::filter::{Config, Formula, Leaf};
use sluicegate_pruning::switch::Relation;

use super::{NotSwitched, PlanStatistics, SwitchResult, pruned};
use crate::context::choice::Reason;
use crate::operators::switch::planner::{Planner, reason};
use crate::operators::switch::{Field, Flags, Order, SwitchPlan};

/// Serves `node` if it is a filter over the rows of a scan.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<Arc<dyn ExecutionPlan>> {
    let filter = node.downcast_ref::<FilterExec>().ok_or(NotSwitched::Other)?;
    if !is_scanned(filter.input()) {
        return Err(NotSwitched::Other);
    }
    let plan = plan(filter, planner)?;
    Ok(pruned(node, Arc::clone(filter.input()), plan)?)
}

/// Returns true if rows come from a scan without being joined, aggregated or sorted.
pub(super) fn is_scanned(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let children = plan.children();
    let passes = plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>();
    children.is_empty() || passes && children.into_iter().all(is_scanned)
}

fn plan(filter: &FilterExec, planner: &mut Planner) -> SwitchResult<SwitchPlan> {
    let known = PlanStatistics::from_plan(filter.input())?;
    let mut packet = Packet {
        input: filter.input(),
        known,
        workers: planner.workers(),
        values: Vec::new(),
        flags: Flags::default(),
    };
    // A conjunct that would need too much is left to the filter above.
    let mut parts = Vec::new();
    let mut config = None;
    for conjunct in split_conjunction(filter.predicate()) {
        let before = (packet.values.clone(), packet.flags.clone());
        parts.push(packet.formula(conjunct)?);
        match packet.config(&parts) {
            Ok(compiled) => config = Some(compiled),
            Err(_) => {
                parts.pop();
                (packet.values, packet.flags) = before;
            }
        }
    }
    let useful = |config: &Config| config.truth_table().contains(&false);
    let Some(config) = config.filter(useful) else {
        return Err(NotSwitched::from(
            "the switch can compute none of the comparisons that decide",
        ));
    };
    let predicates = packet.values.len().max(1) as u32;
    let goal = Goal { predicates };
    Ok(planner
        .place_programs(&goal, packet.fields(), |_| Ok(Configured::Filter(config.clone())))?)
}

/// Limit on the bits of a truth table's row plus twice the undecided leaves. Building the table takes time
/// exponential in them.
const MOST_BITS: usize = 20;

/// Counts comparisons, and leaves that the switch cannot decide.
fn count(formula: &Formula, bits: &mut usize, open: &mut usize) {
    match formula {
        Formula::Leaf(Leaf::Compare { exact, .. }) => {
            *bits += 1;
            *open += usize::from(!exact);
        }
        Formula::Leaf(Leaf::Worker { .. }) => {}
        Formula::Leaf(Leaf::Opaque) => *open += 1,
        Formula::Not(inner) => count(inner, bits, open),
        Formula::And(parts) | Formula::Or(parts) => {
            parts.iter().for_each(|part| count(part, bits, open));
        }
    }
}

/// The fields of a filter's packets, collected while its formula is built.
struct Packet<'a> {
    input: &'a Arc<dyn ExecutionPlan>,
    known: PlanStatistics,
    /// True if workers evaluate predicates that the switch cannot.
    workers: bool,
    values: Vec<Order>,
    flags: Flags,
}

impl Packet<'_> {
    fn config(&self, parts: &[Formula]) -> Result<Config, Reason> {
        let (mut bits, mut open) = (self.flags.columns().len(), 0);
        parts.iter().for_each(|part| count(part, &mut bits, &mut open));
        if bits + 2 * open > MOST_BITS {
            return Err("there are too many comparisons".into());
        }
        let flags = (!self.flags.is_empty()).then_some(self.values.len() as u8);
        let values = self.values.len() as u8 + u8::from(flags.is_some());
        Config::new(&Formula::And(parts.to_vec()), values, flags).map_err(reason)
    }

    fn fields(self) -> Vec<Field> {
        let mut fields: Vec<Field> = self.values.into_iter().map(Field::Order).collect();
        if !self.flags.is_empty() {
            fields.push(Field::Flags(self.flags));
        }
        fields
    }

    fn formula(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Formula> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let (left, right) = (binary.left(), binary.right());
            match binary.op() {
                Operator::And => {
                    return Ok(Formula::And(vec![self.formula(left)?, self.formula(right)?]));
                }
                Operator::Or => {
                    return Ok(Formula::Or(vec![self.formula(left)?, self.formula(right)?]));
                }
                op => {
                    if let Some(relation) = relation(*op) {
                        let mirrored = mirrored(relation);
                        for (value, constant, relation) in
                            [(left, right, relation), (right, left, mirrored)]
                        {
                            if let Some(constant) = constant.downcast_ref::<Literal>()
                                && let Some(leaf) =
                                    self.compare(value, relation, constant.value())?
                            {
                                return Ok(leaf);
                            }
                        }
                    }
                }
            }
        } else if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Ok(Formula::Not(Box::new(self.formula(not.arg())?)));
        } else if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            let bit = self.flags.null(is_null.arg());
            return Ok(Formula::Leaf(Leaf::Worker { bit, null: None }));
        } else if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            let bit = self.flags.null(is_not_null.arg());
            let null = Formula::Leaf(Leaf::Worker { bit, null: None });
            return Ok(Formula::Not(Box::new(null)));
        } else if let Some(list) = expr.downcast_ref::<InListExpr>()
            && let Some(any) = self.one_of(list)?
        {
            let negated = list.negated();
            return Ok(if negated { Formula::Not(Box::new(any)) } else { any });
        } else if let Some(leaf) =
            self.compare(expr, Relation::Eq, &ScalarValue::Boolean(Some(true)))?
        {
            return Ok(leaf);
        }
        self.by_worker(expr)
    }

    /// Returns the formula `value relation constant`, if both have a code.
    fn compare(
        &mut self,
        value: &Arc<dyn PhysicalExpr>,
        relation: Relation,
        constant: &ScalarValue,
    ) -> Result<Option<Formula>> {
        let schema = self.input.schema();
        // The worker computes anything other than a column as a whole.
        let Some(statistics) = self.known.of_column(value) else { return Ok(None) };
        if constant.is_null()
            || is_nan(constant)
            || constant.data_type() != value.data_type(&schema)?
        {
            return Ok(None);
        }
        let Ok(order) = Order::new(value, &schema, Some(statistics))? else { return Ok(None) };
        let order = order.let_nan_pass();
        let (exact, constant) = (order.is_exact(), order.word_of(constant)?);
        let same = |known: &Order| known.column() == value;
        let at = self.values.iter().position(same).unwrap_or(self.values.len());
        if at == self.values.len() {
            self.values.push(order);
        }
        let null = value.nullable(&schema)?.then(|| self.flags.null(value));
        let leaf = Leaf::Compare { value: at as u8, relation, constant, exact, null };
        Ok(Some(Formula::Leaf(leaf)))
    }

    fn one_of(&mut self, list: &InListExpr) -> Result<Option<Formula>> {
        let mut any = Vec::new();
        for constant in list.list() {
            let Some(constant) = constant.downcast_ref::<Literal>() else { return Ok(None) };
            match self.compare(list.expr(), Relation::Eq, constant.value())? {
                Some(leaf) => any.push(leaf),
                None => return Ok(None),
            }
        }
        Ok(Some(Formula::Or(any)))
    }

    /// Returns a predicate that the worker evaluates, or that is left to the filter above.
    fn by_worker(&mut self, expr: &Arc<dyn PhysicalExpr>) -> Result<Formula> {
        let leaf = if self.workers {
            let null = expr.nullable(&self.input.schema())?.then(|| self.flags.null(expr));
            Leaf::Worker { bit: self.flags.is_true(expr), null }
        } else {
            Leaf::Opaque
        };
        Ok(Formula::Leaf(leaf))
    }
}

fn is_nan(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float32(Some(value)) => value.is_nan(),
        ScalarValue::Float64(Some(value)) => value.is_nan(),
        _ => false,
    }
}

fn relation(op: Operator) -> Option<Relation> {
    Some(match op {
        Operator::Eq => Relation::Eq,
        Operator::NotEq => Relation::Ne,
        Operator::Lt => Relation::Lt,
        Operator::LtEq => Relation::Le,
        Operator::Gt => Relation::Gt,
        Operator::GtEq => Relation::Ge,
        _ => return None,
    })
}

/// Returns the relation with its operands swapped.
fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Lt => Relation::Gt,
        Relation::Le => Relation::Ge,
        Relation::Gt => Relation::Lt,
        Relation::Ge => Relation::Le,
        same => same,
    }
}
