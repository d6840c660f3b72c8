//! Extracts the conditions of a filter on single columns, for skipping parts of an object by statistics.

use std::collections::BTreeSet;

use super::compile::operands;
use super::{Constant, NodeId, Op, Program};
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::value::Value;

/// The condition `column op value`, which must be TRUE for a row to match.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    /// The column's index in its reader.
    pub(crate) column: usize,
    pub(crate) op: BinaryOp,
    pub(crate) value: Value,
}

impl Program {
    /// Returns the comparisons of columns with constants that every matching row meets. There are none if the filter
    /// can fail, because skipping a row must not hide its error.
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
        match self.op(id) {
            Op::And(left, right) => {
                self.collect(*left, conditions);
                self.collect(*right, conditions);
            }
            Op::Compare { op, left, right } => {
                if let (Op::Column(column), Some(value)) = (self.op(*left), self.constant(*right)) {
                    let (column, value) = (column.index, value.clone());
                    conditions.push(Condition { column, op: *op, value });
                }
            }
            _ => {}
        }
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
