//! Extracts the conditions of a filter on single columns, for skipping parts of an object by statistics.

use std::collections::BTreeSet;

use super::compile::operands;
use super::{Constant, NodeId, Op, Program};
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::value::Value;

/// The most conditions that row groups and pages are compared with.
const MOST_CONDITIONS: usize = 64;

/// The most values that a column equals one of, by IN or OR, to be compared with bounds and dictionaries.
const MOST_VALUES: usize = 1_000;

/// The condition `column op value`, which must be TRUE for one of the values if a row is to match.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    /// The column's index in its reader.
    pub(crate) column: usize,
    pub(crate) op: BinaryOp,
    /// One value, or those of IN or OR.
    pub(crate) values: Vec<Value>,
}

impl Program {
    /// Returns the comparisons of columns with constants that every matching row meets; IN and OR stand for `=`. There
    /// are none if the filter can fail, because skipping a row must not hide its error.
    pub(crate) fn conditions(&self, filter: NodeId) -> Vec<Condition> {
        let mut conditions = Vec::new();
        if self.cannot_fail(filter) {
            self.collect(filter, &mut conditions);
        }
        conditions
    }

    /// Returns the columns that a node is computed from.
    pub(crate) fn columns(&self, id: NodeId) -> BTreeSet<usize> {
        let mut columns = BTreeSet::new();
        let mut reached = vec![false; self.nodes.len()];
        reached[id.index()] = true;
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            match self.op(id) {
                Op::Column(column) | Op::CastColumn { column, .. } => {
                    columns.insert(column.index);
                }
                op => {
                    for operand in operands(op).unwrap_or_default() {
                        if !std::mem::replace(&mut reached[operand.index()], true) {
                            open.push(operand);
                        }
                    }
                }
            }
        }
        columns
    }

    fn collect(&self, id: NodeId, conditions: &mut Vec<Condition>) {
        if conditions.len() == MOST_CONDITIONS {
            return;
        }
        match self.op(id) {
            Op::And(left, right) => {
                self.collect(*left, conditions);
                self.collect(*right, conditions);
            }
            Op::Compare { op, left, right } => {
                if let (Op::Column(column), Some(value)) = (self.op(*left), self.constant(*right)) {
                    let (column, values) = (column.index, vec![value.clone()]);
                    add(Condition { column, op: *op, values }, conditions);
                }
            }
            Op::In { .. } | Op::Or(..) => {
                let mut values = Vec::new();
                if let Some(column) = self.one_of(id, &mut values) {
                    add(Condition { column, op: BinaryOp::Eq, values }, conditions);
                }
            }
            _ => {}
        }
    }

    /// Returns the column that equals one of the values if this node is TRUE, and adds these values: of `=`, of IN,
    /// and of OR between them.
    fn one_of(&self, id: NodeId, values: &mut Vec<Value>) -> Option<usize> {
        let column = match self.op(id) {
            Op::Compare { op: BinaryOp::Eq, left, right } => {
                let (Op::Column(column), Some(value)) = (self.op(*left), self.constant(*right))
                else {
                    return None;
                };
                if !value.is_null() {
                    values.push(value.clone());
                }
                column.index
            }
            Op::In { arg, members, .. } if members.len() <= MOST_VALUES => {
                let Op::Column(column) = self.op(*arg) else { return None };
                let known = members.iter().map(|Constant(value)| value);
                values.extend(known.filter(|value| !value.is_null()).cloned());
                column.index
            }
            Op::Or(left, right) => {
                let column = self.one_of(*left, values)?;
                if self.one_of(*right, values)? != column {
                    return None;
                }
                column
            }
            _ => return None,
        };
        (values.len() <= MOST_VALUES).then_some(column)
    }

    fn cannot_fail(&self, id: NodeId) -> bool {
        match self.op(id) {
            Op::Constant(Constant(value)) => value.is_null() || matches!(value, Value::Bool(_)),
            // A column cannot fail as an operand, but as a condition it may not be a truth value.
            Op::Column(_) => self.kind(id) == crate::vector::Kind::Bool,
            Op::Compare { left, right, .. } => {
                [left, right].into_iter().all(|id| self.is_simple(*id))
            }
            Op::Is { arg, .. } | Op::In { arg, .. } => self.is_simple(*arg),
            Op::And(left, right) | Op::Or(left, right) => {
                self.cannot_fail(*left) && self.cannot_fail(*right)
            }
            Op::Not(arg) => self.cannot_fail(*arg),
            Op::Like { text, .. } => {
                self.is_simple(*text) && self.kind(*text) == crate::vector::Kind::Text
            }
            _ => false,
        }
    }

    fn is_simple(&self, id: NodeId) -> bool {
        matches!(self.op(id), Op::Constant(_) | Op::Column(_))
    }
}

/// Adds a condition that is not among them.
fn add(condition: Condition, conditions: &mut Vec<Condition>) {
    if !conditions.contains(&condition) {
        conditions.push(condition);
    }
}
