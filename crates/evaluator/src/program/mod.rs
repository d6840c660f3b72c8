//! Represents a statement as a program over batches.
//!
//! An expression becomes a graph of [`Node`]s. Equal subexpressions share a node, and constant ones are computed
//! once. The representation of every node's values is known in advance, so that common operators run as loops over
//! plain arrays ([`machine`]). All other operators run row by row on [`Value`]s, with the same result.

mod aggregates;
mod arithmetic;
mod bloom;
mod by_value;
mod call;
mod cast;
mod choose;
mod compare;
mod compile;
mod conditions;
mod digits;
mod fold;
mod function;
mod grouped;
mod identity;
mod machine;
mod membership;
mod operand;
mod text;
mod text_budget;
mod trim;

pub(crate) use aggregates::Aggregates;
pub(crate) use compile::Compiler;
pub(crate) use conditions::Condition;
pub(crate) use machine::{Machine, Values};
pub(super) use membership::Set;
pub(crate) use text_budget::is_too_much_text;

use std::sync::Arc;

use self::identity::{Constant, IgnoredInEq};
use super::vector::Kind;
use sluicegate_s3select::dialect::ast::{BinaryOp, Function, IsTest, TrimSide, Type};
use sluicegate_s3select::value::{BloomFilter, LikePattern, TrimSet, Value};

/// Identifies a node of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The nodes of a graph of operators, each node after its operands.
#[derive(Debug, Default)]
pub(crate) struct Program {
    nodes: Vec<Node>,
}

impl Program {
    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    fn op(&self, id: NodeId) -> &Op {
        &self.node(id).op
    }

    /// Returns the value of a node, if it is constant.
    fn constant(&self, id: NodeId) -> Option<&Value> {
        match self.op(id) {
            Op::Constant(Constant(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the index of the column that a node consists of, if it is a plain column.
    pub(crate) fn column(&self, id: NodeId) -> Option<usize> {
        match self.op(id) {
            Op::Column(column) => Some(column.index),
            _ => None,
        }
    }

    /// Returns the representation of a node's values.
    pub(crate) fn kind(&self, id: NodeId) -> Kind {
        self.node(id).kind
    }
}

#[derive(Debug)]
struct Node {
    op: Arc<Op>,
    kind: Kind,
    reads: Reads,
}

/// The columns that a node is computed from, by their indexes in the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    Nothing,
    One(usize),
    Several,
}

impl Reads {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, reads) | (reads, Self::Nothing) => reads,
            (one, other) if one == other => one,
            _ => Self::Several,
        }
    }
}

/// The operation of a node.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Op {
    Constant(Constant),
    Column(ColumnRef),
    /// CAST of a text column, straight from the object's bytes.
    CastColumn {
        column: ColumnRef,
        /// True for CAST(NULLIF(column, '') AS …).
        null_if_empty: bool,
        to: Type,
    },
    Cast {
        arg: NodeId,
        to: Type,
    },
    Compare {
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
    },
    And(NodeId, NodeId),
    Or(NodeId, NodeId),
    Not(NodeId),
    Is {
        arg: NodeId,
        test: IsTest,
        negated: bool,
    },
    Arithmetic {
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
    },
    Negate(NodeId),
    /// The operator `+x`: x, if it is a number.
    Plus(NodeId),
    /// IN with constants.
    In {
        arg: NodeId,
        members: Vec<Constant>,
        set: IgnoredInEq<Set>,
    },
    /// A call of BLOOM_CONTAINS.
    Bloom {
        arg: NodeId,
        /// The bits, the number of hash functions and the seed, which are constant.
        parts: [NodeId; 3],
        filter: IgnoredInEq<BloomFilter>,
    },
    /// LIKE with a constant pattern.
    Like {
        text: NodeId,
        pattern: NodeId,
        escape: Option<NodeId>,
        compiled: IgnoredInEq<LikePattern>,
    },
    /// LIKE with a pattern that differs from row to row.
    LikeAny {
        text: NodeId,
        pattern: NodeId,
        escape: Option<NodeId>,
    },
    Case {
        branches: Vec<(NodeId, NodeId)>,
        otherwise: NodeId,
    },
    Coalesce(Vec<NodeId>),
    NullIf(NodeId, NodeId),
    Substring {
        text: NodeId,
        /// The text, if it is constant.
        constant: IgnoredInEq<Option<text::ConstantText>>,
        start: NodeId,
        length: Option<NodeId>,
    },
    Trim {
        side: TrimSide,
        text: NodeId,
        chars: Option<NodeId>,
        /// The characters to remove, if they are constant.
        set: IgnoredInEq<Option<TrimSet>>,
    },
    CharLength(NodeId),
    /// A call of any other function.
    Call {
        function: Function,
        args: Vec<NodeId>,
    },
}

/// A column: its index in the reader, and its name for messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ColumnRef {
    index: usize,
    name: Box<str>,
}
