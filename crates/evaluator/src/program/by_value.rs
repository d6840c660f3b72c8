//! Evaluates conditions on a column that a batch has by few values once for each value, not for each row.

use std::collections::HashMap;
use std::sync::Arc;

use super::machine::{Machine, truth};
use super::{Node, NodeId, Op, Program, Reads};
use crate::batch::{Codes, Columns};
use crate::cancellation::Cancellation;
use crate::selection::Rows;
use crate::vector::{Kind, Truth, Vector};
use sluicegate_s3select::error::SelectError;

/// The most truth values that are kept, of a byte each.
const MAX_TRUTHS: usize = 16 << 20;
/// How many values are evaluated at once.
const VALUES: usize = 4096;

/// The column that a condition is computed from, of a batch that has it by few values.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodedColumn<'a> {
    column: usize,
    codes: Codes<'a>,
    is_utf8: bool,
}

impl<'a> CodedColumn<'a> {
    /// `None` if a node is no condition, or reads any other column.
    pub(super) fn of(node: &Node, batch: &'a dyn Columns) -> Option<Self> {
        let Reads::One(column) = node.reads else { return None };
        if node.kind != Kind::Bool || matches!(*node.op, Op::Column(_)) {
            return None;
        }
        Some(Self { column, codes: batch.codes(column)?, is_utf8: batch.is_utf8() })
    }
}

/// What is known of conditions on the values of columns.
#[derive(Debug, Default)]
pub(super) struct Verdicts(HashMap<NodeId, Verdict>);

#[derive(Debug)]
struct Verdict {
    column: usize,
    values: Arc<Vector>,
    truths: Truths,
}

/// The truth values of a condition.
#[derive(Debug)]
enum Truths {
    /// Not evaluated for the values before it was asked for as many rows.
    Later { rows: usize },
    /// It fails for a value, which the rows at hand may not have; or there is no room.
    Unknown,
    /// One for each value.
    Known(Vec<Truth>),
}

impl Verdicts {
    /// Computes a condition for rows; says whether it could. If not, it is to be evaluated for them.
    pub(super) fn compute(
        &mut self,
        program: &Program,
        id: NodeId,
        of: CodedColumn<'_>,
        rows: Rows<'_>,
        cancellation: &Cancellation,
        out: &mut Vector,
    ) -> bool {
        let CodedColumn { column, codes: Codes { values, distinct, codes }, .. } = of;
        let is_current = |verdict: &Verdict| Arc::ptr_eq(&verdict.values, values);
        if !self.0.get(&id).is_some_and(is_current) {
            // Those of a row group that was read before are of no use any more.
            self.0.retain(|_, verdict| verdict.column != column || is_current(verdict));
            let truths = Truths::Later { rows: 0 };
            self.0.insert(id, Verdict { column, values: Arc::clone(values), truths });
        }
        let Some(verdict) = self.0.get_mut(&id) else { return false };
        if let Truths::Later { rows: before } = &mut verdict.truths {
            *before += rows.len();
            if *before < distinct {
                return false;
            }
            let taken: usize = self.0.values().map(Verdict::count).sum();
            let truths = if taken.saturating_add(distinct) <= MAX_TRUTHS {
                evaluate(program, id, of, cancellation).map_or(Truths::Unknown, Truths::Known)
            } else {
                Truths::Unknown
            };
            self.0.insert(id, Verdict { column, values: Arc::clone(values), truths });
        }
        let Some(Verdict { truths: Truths::Known(truths), .. }) = self.0.get(&id) else {
            return false;
        };
        let out = out.bools(codes.len()).0;
        rows.for_each(|row| out[row] = truths[codes[row] as usize]);
        true
    }
}

impl Verdict {
    fn count(&self) -> usize {
        if let Truths::Known(truths) = &self.truths { truths.len() } else { 0 }
    }
}

/// The truth values of a condition for all values of its column.
fn evaluate(
    program: &Program,
    id: NodeId,
    of: CodedColumn<'_>,
    cancellation: &Cancellation,
) -> Result<Vec<Truth>, SelectError> {
    let numbers: Vec<u32> = (0..of.codes.distinct as u32).collect();
    let mut machine = Machine::default();
    machine.stop_with(cancellation.clone());
    let mut truths = Vec::with_capacity(numbers.len());
    for codes in numbers.chunks(VALUES) {
        let batch = Values(CodedColumn { codes: Codes { codes, ..of.codes }, ..of });
        let all = machine.start(batch.rows());
        let vector = machine.eval(program, id, &all, &batch)?;
        for row in 0..codes.len() {
            truths.push(truth(vector, row, batch.block())?);
        }
    }
    Ok(truths)
}

/// Values of a column as the rows of a batch, which has no other.
struct Values<'a>(CodedColumn<'a>);

impl Columns for Values<'_> {
    fn rows(&self) -> usize {
        self.0.codes.codes.len()
    }

    fn block(&self) -> &[u8] {
        &[]
    }

    fn is_utf8(&self) -> bool {
        self.0.is_utf8
    }

    fn read_column(&self, _: usize, rows: Rows<'_>, out: &mut Vector) -> Result<(), SelectError> {
        let Codes { values, codes, .. } = self.0.codes;
        out.gather(values, codes, rows);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ColumnRef, Constant};
    use super::*;
    use sluicegate_s3select::dialect::ast::BinaryOp;
    use sluicegate_s3select::value::Value;

    /// `12 / a < 5` as the last node.
    fn program() -> Program {
        let number = |value| (Op::Constant(Constant(Value::Int(value))), Kind::Int, Reads::Nothing);
        let column = Op::Column(ColumnRef { index: 0, name: "a".into() });
        let (left, right) = (NodeId(1), NodeId(0));
        let quotient = Op::Arithmetic { op: BinaryOp::Divide, left, right };
        let (left, right) = (NodeId(2), NodeId(3));
        let condition = Op::Compare { op: BinaryOp::Lt, left, right };
        let nodes = [
            (column, Kind::Int, Reads::One(0)),
            number(12),
            (quotient, Kind::Int, Reads::One(0)),
            number(5),
            (condition, Kind::Bool, Reads::One(0)),
        ];
        let node = |(op, kind, reads)| Node { op: Arc::new(op), kind, reads };
        Program { nodes: nodes.into_iter().map(node).collect() }
    }

    fn ints(values: &[i64]) -> Arc<Vector> {
        let mut vector = Vector::default();
        vector.ints(values.len()).0.copy_from_slice(values);
        Arc::new(vector)
    }

    /// What is computed for rows, if it is.
    fn compute(verdicts: &mut Verdicts, values: &Arc<Vector>, codes: &[u32]) -> Option<Vec<Truth>> {
        let codes = Codes { values, distinct: 3, codes };
        let of = CodedColumn { column: 0, codes, is_utf8: true };
        let rows = Rows::All(codes.codes.len());
        let (mut out, never) = (Vector::default(), Cancellation::new());
        let known = verdicts.compute(&program(), NodeId(4), of, rows, &never, &mut out);
        known.then(|| out.bools(codes.codes.len()).0.to_vec())
    }

    #[test]
    fn a_condition_is_evaluated_by_value_when_as_many_rows_were_asked_for() {
        use Truth::{False, True};
        let (mut verdicts, values) = (Verdicts::default(), ints(&[1, 2, 3]));
        assert_eq!(compute(&mut verdicts, &values, &[0, 1]), None);
        assert_eq!(compute(&mut verdicts, &values, &[2]), Some(vec![True]));
        assert_eq!(
            compute(&mut verdicts, &values, &[0, 2, 1, 2]),
            Some(vec![False, True, False, True])
        );
        // Those of another row group are other values, and nothing is kept of the first ones.
        let others = ints(&[4, 1, 1]);
        assert_eq!(compute(&mut verdicts, &others, &[0, 1]), None);
        assert_eq!(Arc::strong_count(&values), 1);
        assert_eq!(compute(&mut verdicts, &others, &[0, 1]), Some(vec![True, False]));
    }

    #[test]
    fn a_condition_that_fails_for_a_value_is_left_to_the_rows() {
        let (mut verdicts, values) = (Verdicts::default(), ints(&[0, 2, 3]));
        for _ in 0..3 {
            assert_eq!(compute(&mut verdicts, &values, &[1, 1, 2]), None);
        }
    }
}
