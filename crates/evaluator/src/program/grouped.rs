//! Recognizes `CASE WHEN g = 'a' THEN x END`: the value of one group.

use super::{NodeId, Op, Program};
use crate::vector::Kind;
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::value::Value;

/// A value that only the rows of one group have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grouped {
    /// The expressions that distinguish groups, with their values in this group: texts or integers.
    pub(crate) key: Vec<(NodeId, Value)>,
    /// The value in the group's rows.
    pub(crate) value: NodeId,
    /// True if the value is 0, and not NULL, in all other rows.
    pub(crate) zero_elsewhere: bool,
}

impl Program {
    /// Returns the group that a node's values belong to, if the node is such a CASE.
    pub(crate) fn grouped(&self, id: NodeId) -> Option<Grouped> {
        let Op::Case { branches, otherwise } = self.op(id) else { return None };
        let [(condition, value)] = branches[..] else { return None };
        let zero_elsewhere = match self.constant(*otherwise)? {
            Value::Null => false,
            Value::Int(0) => true,
            _ => return None,
        };
        let mut key = Vec::new();
        self.key_of(condition, &mut key)?;
        // A second condition is evaluated only where the first holds, so evaluating it for every row must not fail.
        let columns = key.iter().all(|(node, _)| matches!(self.op(*node), Op::Column(_)));
        (key.len() == 1 || columns).then_some(Grouped { key, value, zero_elsewhere })
    }

    fn key_of(&self, condition: NodeId, key: &mut Vec<(NodeId, Value)>) -> Option<()> {
        match self.op(condition) {
            Op::And(left, right) => {
                self.key_of(*left, key)?;
                self.key_of(*right, key)
            }
            Op::Compare { op: BinaryOp::Eq, left, right } => {
                let constant = self.constant(*right)?;
                let fits = matches!(
                    (self.kind(*left), constant),
                    (Kind::Text, Value::String(_)) | (Kind::Int, Value::Int(_))
                );
                fits.then(|| key.push((*left, constant.clone())))
            }
            _ => None,
        }
    }
}
