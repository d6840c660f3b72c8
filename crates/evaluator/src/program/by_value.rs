//! Evaluates expressions of a dictionary-coded column once for each value instead of for each row.

use std::collections::HashMap;
use std::sync::Arc;

use super::machine::{Machine, truth};
use super::{Node, NodeId, Op, Program, Reads};
use crate::batch::{Codes, Columns};
use crate::cancellation::Cancellation;
use crate::selection::{Rows, Selection};
use crate::vector::{Data, Kind, Vector};
use sluicegate_s3select::error::SelectError;

/// The most bytes of results that are kept.
const MAX_BYTES: usize = 16 << 20;
/// The number of values evaluated at once.
const VALUES: usize = 4096;

/// The dictionary-coded column that an expression is computed from.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodedColumn<'a> {
    column: usize,
    codes: Codes<'a>,
    is_utf8: bool,
}

impl<'a> CodedColumn<'a> {
    /// Returns `None` if the node is a column itself, does not read exactly one column, or has values of unknown
    /// type, or if the column is not coded.
    pub(super) fn for_node(node: &Node, batch: &'a dyn Columns) -> Option<Self> {
        let Reads::One(column) = node.reads else { return None };
        if node.kind == Kind::Dynamic || matches!(*node.op, Op::Column(_)) {
            return None;
        }
        Some(Self { column, codes: batch.codes(column)?, is_utf8: batch.is_utf8() })
    }
}

impl Program {
    /// Returns rows with all values of a node, one row for each value, if the node is text computed from one coded
    /// column.
    pub(crate) fn distinct(
        &self,
        id: NodeId,
        rows: &Selection,
        batch: &dyn Columns,
    ) -> Option<Vec<u32>> {
        let node = self.node(id);
        let Reads::One(column) = node.reads else { return None };
        let Codes { distinct, codes, .. } =
            batch.codes(column).filter(|_| node.kind == Kind::Text)?;
        let (mut is_seen, mut first) = (vec![false; distinct], Vec::new());
        rows.rows().for_each(|row| {
            if !std::mem::replace(&mut is_seen[codes[row] as usize], true) {
                first.push(row as u32);
            }
        });
        Some(first)
    }
}

/// The results of expressions for the values of coded columns.
#[derive(Debug, Default)]
pub(super) struct Results(HashMap<NodeId, ColumnOperand>);

#[derive(Debug)]
struct ColumnOperand {
    column: usize,
    values: Arc<Vector>,
    result: ByValue,
}

/// The state of an expression's results.
#[derive(Debug)]
enum ByValue {
    /// Not yet evaluated for the values, until evaluating rows has taken as much work. The number is the work left.
    Later(usize),
    /// Not available: the expression fails for some value, which the current rows may not have, or there is no room.
    Unknown,
    /// One result for each value.
    Known(Vector),
}

impl Results {
    /// Computes an expression for rows from the results by value. Returns false if the caller must evaluate it for
    /// the rows.
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
        let is_current = |of: &ColumnOperand| Arc::ptr_eq(&of.values, values);
        if !self.0.get(&id).is_some_and(is_current) {
            // The results of an earlier row group are no longer needed.
            self.0.retain(|_, of| of.column != column || is_current(of));
            let all =
                (0..distinct).fold(0_usize, |all, value| all.saturating_add(work(values, value)));
            let result = ByValue::Later(all);
            self.0.insert(id, ColumnOperand { column, values: Arc::clone(values), result });
        }
        let Some(known) = self.0.get_mut(&id) else { return false };
        if let ByValue::Later(left) = &mut known.result {
            let mut asked = 0_usize;
            rows.for_each(|row| asked = asked.saturating_add(work(values, codes[row] as usize)));
            if asked < *left {
                *left -= asked;
                return false;
            }
            let room = MAX_BYTES.saturating_sub(self.0.values().map(ColumnOperand::bytes).sum());
            let result = match evaluate(program, id, of, room, cancellation) {
                Ok(Some(result)) => ByValue::Known(result),
                Ok(None) | Err(_) => ByValue::Unknown,
            };
            self.0.insert(id, ColumnOperand { column, values: Arc::clone(values), result });
        }
        let Some(ColumnOperand { result: ByValue::Known(result), .. }) = self.0.get(&id) else {
            return false;
        };
        out.gather(result, codes, rows);
        true
    }
}

impl ColumnOperand {
    fn bytes(&self) -> usize {
        if let ByValue::Known(result) = &self.result { result.bytes() } else { 0 }
    }
}

/// Returns the work of processing a value: its number of bytes, if it is text.
fn work(values: &Vector, value: usize) -> usize {
    match &values.data {
        Data::Text(spans, _) => 1 + spans[value].len(),
        _ => 1,
    }
}

/// Returns the results of an expression for all values of its column; `None` if they take more than `room` bytes.
fn evaluate(
    program: &Program,
    id: NodeId,
    of: CodedColumn<'_>,
    room: usize,
    cancellation: &Cancellation,
) -> Result<Option<Vector>, SelectError> {
    let numbers: Vec<u32> = (0..of.codes.distinct as u32).collect();
    let mut machine = Machine::default();
    machine.stop_with(cancellation.clone());
    let is_condition = program.kind(id) == Kind::Bool;
    let mut results = Vector::default();
    for (chunk, codes) in numbers.chunks(VALUES).enumerate() {
        let batch = Values(CodedColumn { codes: Codes { codes, ..of.codes }, ..of });
        let all = machine.start(batch.rows());
        let vector = machine.eval(program, id, &all, &batch)?;
        let before = chunk * VALUES;
        if is_condition {
            let mut truths = Vector::default();
            let space = truths.bools(codes.len()).0;
            for (row, truth_of) in space.iter_mut().enumerate() {
                *truth_of = truth(vector, row, batch.block())?;
            }
            results.append(before, &truths, codes.len());
        } else if !results.append(before, vector, codes.len()) {
            return Ok(None);
        }
        if results.bytes() > room {
            return Ok(None);
        }
    }
    results.share_text();
    Ok(Some(results))
}

/// A batch whose rows are the values of a column, and that has no other column.
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
    use crate::vector::{Heap, Span, Truth};
    use sluicegate_s3select::dialect::ast::{BinaryOp, Function};
    use sluicegate_s3select::value::Value;

    /// Builds a program with `12 / a < 5` as its last node.
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

    /// Returns the results for rows, if they are computed by value.
    fn compute(results: &mut Results, values: &Arc<Vector>, codes: &[u32]) -> Option<Vec<Truth>> {
        let codes = Codes { values, distinct: 3, codes };
        let of = CodedColumn { column: 0, codes, is_utf8: true };
        let rows = Rows::All(codes.codes.len());
        let (mut out, never) = (Vector::default(), Cancellation::new());
        let known = results.compute(&program(), NodeId(4), of, rows, &never, &mut out);
        known.then(|| out.bools(codes.codes.len()).0.to_vec())
    }

    #[test]
    fn a_condition_is_evaluated_by_value_when_as_many_rows_were_asked_for() {
        use Truth::{False, True};
        let (mut results, values) = (Results::default(), ints(&[1, 2, 3]));
        assert_eq!(compute(&mut results, &values, &[0, 1]), None);
        assert_eq!(compute(&mut results, &values, &[2]), Some(vec![True]));
        assert_eq!(
            compute(&mut results, &values, &[0, 2, 1, 2]),
            Some(vec![False, True, False, True])
        );
        // Another row group has other values, and no results of the first one are kept.
        let others = ints(&[4, 1, 1]);
        assert_eq!(compute(&mut results, &others, &[0, 1]), None);
        assert_eq!(Arc::strong_count(&values), 1);
        assert_eq!(compute(&mut results, &others, &[0, 1]), Some(vec![True, False]));
    }

    #[test]
    fn a_condition_that_fails_for_a_value_is_left_to_the_rows() {
        let (mut results, values) = (Results::default(), ints(&[0, 2, 3]));
        for _ in 0..3 {
            assert_eq!(compute(&mut results, &values, &[1, 1, 2]), None);
        }
    }

    /// Builds a program with CHAR_LENGTH, LOWER and CHAR_LENGTH(LOWER) of a column.
    fn of_text() -> Program {
        let column = Op::Column(ColumnRef { index: 0, name: "a".into() });
        let lower = Op::Call { function: Function::Lower, args: vec![NodeId(0)] };
        let nodes = [
            (column, Kind::Text),
            (Op::CharLength(NodeId(0)), Kind::Int),
            (lower, Kind::Text),
            (Op::CharLength(NodeId(2)), Kind::Int),
        ];
        let node = |(op, kind)| Node { op: Arc::new(op), kind, reads: Reads::One(0) };
        Program { nodes: nodes.into_iter().map(node).collect() }
    }

    fn texts(values: &[Option<&str>]) -> Arc<Vector> {
        let (mut vector, mut heap) = (Vector::default(), Vec::new());
        let spans = vector.texts(values.len(), Heap::Block);
        for (span, text) in spans.iter_mut().zip(values) {
            *span = text.map_or(Span::NULL, |text| {
                heap.extend_from_slice(text.as_bytes());
                Span::new((heap.len() - text.len()) as u32, text.len() as u32)
            });
        }
        vector.set_heap(Heap::Owned(heap));
        Arc::new(vector)
    }

    #[test]
    fn functions_are_called_by_value_as_soon_as_that_is_less_work() {
        let (long, never) = ("É".repeat(1000), Cancellation::new());
        let values = texts(&[Some(&long), Some("B"), None]);
        let mut results = Results::default();
        let mut ask = |node: u32, codes: &[u32]| {
            let codes = Codes { values: &values, distinct: 3, codes };
            let of = CodedColumn { column: 0, codes, is_utf8: true };
            let (mut out, rows) = (Vector::default(), Rows::All(codes.codes.len()));
            let known = results.compute(&of_text(), NodeId(node), of, rows, &never, &mut out);
            let value = |row| out.value(row, &[]).unwrap();
            known.then(|| (0..codes.codes.len()).map(value).collect::<Vec<_>>())
        };
        // One long text is as much work as many short ones.
        assert_eq!(ask(1, &[1, 2, 1, 2]), None);
        let lengths = [Value::Int(1), Value::Int(1000), Value::Null];
        assert_eq!(ask(1, &[1, 0, 2]).unwrap(), lengths);
        assert_eq!(ask(3, &[2, 1]), None);
        assert_eq!(ask(3, &[1, 0, 2]).unwrap(), lengths);
        let lower = [Value::String("b".into()), Value::Null, Value::String("é".repeat(1000))];
        assert_eq!(ask(2, &[1]), None);
        assert_eq!(ask(2, &[1, 2, 0]).unwrap(), lower);
    }

    #[test]
    fn results_that_take_much_room_are_not_kept() {
        let long = "A".repeat(MAX_BYTES / 2);
        let values = texts(&[Some(&long), Some(&long), Some(&long)]);
        let codes = Codes { values: &values, distinct: 3, codes: &[0, 1, 2] };
        let of = CodedColumn { column: 0, codes, is_utf8: true };
        let (mut results, never) = (Results::default(), Cancellation::new());
        let mut ask = |node: u32| {
            let rows = Rows::All(3);
            results.compute(&of_text(), NodeId(node), of, rows, &never, &mut Vector::default())
        };
        assert!(!ask(2) && ask(1) && !ask(2));
    }
}
