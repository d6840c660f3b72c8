//! Runs a program.

use super::by_value::{CodedColumn, Results};
use super::text_budget::{MAX_TEXT_BYTES, too_much_text};
use super::{
    ColumnRef, NodeId, Op, Program, arithmetic, bloom, cast, choose, compare, function, text, trim,
};
use crate::batch::Columns;
use crate::cancellation::Cancellation;
use crate::output::invalid_text;
use crate::selection::{Frame, Lineage, Selection, SelectionId};
use crate::vector::{Data, Tag, Truth, Vector};
use sluicegate_s3select::dialect::ast::IsTest;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::{TrimSet, Value};

/// The values of a program's nodes for the current batch.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    slots: Vec<Slot>,
    lineage: Lineage,
    /// The column that a fused CAST reads; reused memory.
    scratch: Vector,
    /// The bytes of text in the slots.
    text_bytes: usize,
    /// The cancellation, checked before every operator.
    cancellation: Cancellation,
    /// The results of expressions of dictionary-coded columns.
    by_value: Results,
}

#[derive(Debug, Default)]
struct Slot {
    vector: Vector,
    /// The rows for which `vector` was computed.
    computed: Computed,
}

#[derive(Debug, Clone, Copy, Default)]
enum Computed {
    #[default]
    Nowhere,
    For(SelectionId),
    /// Every row of every batch, for a constant.
    Always,
}

/// The values of nodes that were evaluated for the same rows. While they are borrowed, no other rows can be computed,
/// whose values would overwrite those of shared subexpressions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a>(&'a [Slot]);

impl<'a> Values<'a> {
    /// Returns the values of one of the nodes.
    pub(crate) fn get(self, id: NodeId) -> &'a Vector {
        &self.0[id.index()].vector
    }
}

impl Machine {
    /// Makes evaluations fail once `cancellation` takes effect.
    pub(crate) fn stop_with(&mut self, cancellation: Cancellation) {
        self.cancellation = cancellation;
    }

    /// Returns the cancellation.
    pub(crate) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Begins a batch and returns the selection of all its rows.
    pub(crate) fn start(&mut self, rows: usize) -> Selection {
        for slot in &mut self.slots {
            if !matches!(slot.computed, Computed::Always) {
                slot.computed = Computed::Nowhere;
            }
        }
        self.lineage.start(rows)
    }

    /// Selects some of the rows of another selection.
    pub(crate) fn pick(&mut self, from: &Selection, rows: Vec<u32>) -> Selection {
        self.lineage.list(from, rows)
    }

    /// Returns the rows for which a condition is TRUE.
    pub(crate) fn filter(
        &mut self,
        program: &Program,
        condition: NodeId,
        selection: &Selection,
        batch: &dyn Columns,
    ) -> Result<Selection, SelectError> {
        // Each part of a conjunction is only evaluated where no part before it is FALSE, like AND does, but without
        // scanning all rows again for each part.
        let (mut open, mut parts) = (selection.clone(), vec![condition]);
        let mut unknown = Vec::new();
        while let Some(part) = parts.pop() {
            if let Op::And(left, right) = program.op(part)
                && CodedColumn::for_node(program.node(part), batch).is_none()
            {
                parts.extend([*right, *left]);
                continue;
            }
            if open.is_empty() {
                break;
            }
            self.compute(program, part, &open, batch)?;
            let mut any_unknown = false;
            open = self.narrow(part, &open, batch.block(), |truth| {
                any_unknown |= !matches!(truth, Truth::False | Truth::True);
                truth != Truth::False
            })?;
            if any_unknown {
                unknown.push(part);
            }
        }
        for part in unknown {
            open = self.narrow(part, &open, batch.block(), |truth| truth == Truth::True)?;
        }
        Ok(open)
    }

    /// Returns the values of a node for the given rows.
    pub(crate) fn eval(
        &mut self,
        program: &Program,
        id: NodeId,
        selection: &Selection,
        batch: &dyn Columns,
    ) -> Result<&Vector, SelectError> {
        self.compute(program, id, selection, batch)?;
        Ok(self.vector(id))
    }

    /// Returns the values of some nodes, all for the same rows.
    pub(crate) fn eval_all(
        &mut self,
        program: &Program,
        ids: impl IntoIterator<Item = NodeId>,
        selection: &Selection,
        batch: &dyn Columns,
    ) -> Result<Values<'_>, SelectError> {
        for id in ids {
            self.compute(program, id, selection, batch)?;
        }
        Ok(Values(&self.slots))
    }

    /// Returns the last values computed for a node. They remain while nodes are computed for the same rows or some of
    /// them, but not for any other rows.
    fn vector(&self, id: NodeId) -> &Vector {
        &self.slots[id.index()].vector
    }

    /// Returns the values of two operands.
    fn pair(
        &mut self,
        program: &Program,
        [left, right]: [NodeId; 2],
        selection: &Selection,
        batch: &dyn Columns,
    ) -> Result<(&Vector, &Vector), SelectError> {
        self.compute(program, left, selection, batch)?;
        self.compute(program, right, selection, batch)?;
        Ok((self.vector(left), self.vector(right)))
    }

    /// Splits a selection of several rows in two.
    pub(crate) fn halves(&mut self, of: &Selection) -> [Selection; 2] {
        let mut first = Vec::with_capacity(of.rows().len());
        of.rows().for_each(|row| first.push(row as u32));
        let second = first.split_off(first.len() / 2);
        [self.pick(of, first), self.pick(of, second)]
    }

    /// Drops the text that nodes hold, to make room for others.
    pub(crate) fn release_text(&mut self) {
        for slot in self.slots.iter_mut().filter(|slot| slot.vector.text_bytes() > 0) {
            *slot = Slot::default();
        }
        self.text_bytes = 0;
    }

    /// Drops the text that nodes hold if there is little room for more.
    pub(crate) fn make_room(&mut self) {
        if self.text_bytes > MAX_TEXT_BYTES / 2 {
            self.release_text();
        }
    }

    /// Drops the values of a node.
    pub(super) fn release(&mut self, id: NodeId) {
        let slot = std::mem::take(&mut self.slots[id.index()]);
        self.text_bytes = self.text_bytes.saturating_sub(slot.vector.text_bytes());
    }

    /// Computes a node for the given rows, unless that has been done.
    fn compute(
        &mut self,
        program: &Program,
        id: NodeId,
        selection: &Selection,
        batch: &dyn Columns,
    ) -> Result<(), SelectError> {
        if self.slots.len() < program.nodes.len() {
            self.slots.resize_with(program.nodes.len(), Slot::default);
        }
        match self.slots[id.index()].computed {
            Computed::Always => return Ok(()),
            Computed::For(wide) if self.lineage.covers(wide, selection.id) => return Ok(()),
            _ => {}
        }
        if let Some(value) = program.constant(id) {
            let vector = Vector::constant(value.clone());
            self.slots[id.index()] = Slot { vector, computed: Computed::Always };
            return Ok(());
        }
        self.cancellation.check()?;
        let mut out = std::mem::take(&mut self.slots[id.index()].vector);
        self.text_bytes = self.text_bytes.saturating_sub(out.text_bytes());
        let by_value = CodedColumn::for_node(program.node(id), batch).is_some_and(|column| {
            let (rows, stop) = (selection.rows(), &self.cancellation);
            self.by_value.compute(program, id, column, rows, stop, &mut out)
        });
        let mut result = match by_value {
            true => Ok(()),
            false => self.run(program, id, selection, batch, &mut out),
        };
        self.text_bytes += out.text_bytes();
        if result.is_ok() && self.text_bytes > MAX_TEXT_BYTES {
            self.text_bytes = self.text_bytes.saturating_sub(out.text_bytes());
            out = Vector::default();
            result = Err(too_much_text());
        }
        let computed = match result {
            Ok(()) => Computed::For(selection.id),
            Err(_) => Computed::Nowhere,
        };
        self.slots[id.index()] = Slot { vector: out, computed };
        result
    }

    fn run(
        &mut self,
        program: &Program,
        id: NodeId,
        selection: &Selection,
        batch: &dyn Columns,
        out: &mut Vector,
    ) -> Result<(), SelectError> {
        let node = program.node(id);
        let frame =
            Frame { rows: selection.rows(), batch_rows: batch.rows(), block: batch.block() };
        let Frame { rows, batch_rows: n, block } = frame;
        match &*node.op {
            Op::Constant(_) => Ok(()),
            Op::Column(column) => {
                batch.read_column(column.index, rows, out)?;
                if batch.is_utf8() { Ok(()) } else { check_utf8(out, selection, block, column) }
            }
            Op::CastColumn { column, null_if_empty, to } => {
                batch.read_column(column.index, rows, &mut self.scratch)?;
                let Data::Text(spans, heap) = &self.scratch.data else {
                    return Err(not_text(column));
                };
                cast::cast_text(spans, heap, *null_if_empty, *to, frame, out)
                    .map_err(|error| in_column(&column.name, &error))
            }
            Op::Cast { arg, to } => {
                let arg = self.eval(program, *arg, selection, batch)?;
                cast::cast(arg, *to, frame, out)
            }
            Op::Compare { op, left, right } => {
                let (left, right) = self.pair(program, [*left, *right], selection, batch)?;
                compare::compare(*op, left, right, rows, block, out.bools(n).0)
            }
            Op::And(left, right) => {
                self.connect(program, *left, *right, Truth::False, selection, batch, out)
            }
            Op::Or(left, right) => {
                self.connect(program, *left, *right, Truth::True, selection, batch, out)
            }
            Op::Not(arg) => {
                let arg = self.eval(program, *arg, selection, batch)?;
                let out = out.bools(n).0;
                rows.try_for_each(|row| {
                    out[row] = match truth(arg, row, block)? {
                        Truth::False => Truth::True,
                        Truth::True => Truth::False,
                        Truth::Null | Truth::Missing => Truth::Null,
                    };
                    Ok(())
                })
            }
            Op::Is { arg, test, negated } => {
                let arg = self.eval(program, *arg, selection, batch)?;
                let out = out.bools(n).0;
                rows.for_each(|row| {
                    let holds = matches!(
                        (arg.tag(row), test),
                        (Tag::Missing, _) | (Tag::Null, IsTest::Null)
                    );
                    out[row] = (holds != *negated).into();
                });
                Ok(())
            }
            Op::Arithmetic { op, left, right } => {
                let (left, right) = self.pair(program, [*left, *right], selection, batch)?;
                arithmetic::arithmetic(*op, left, right, node.kind, frame, out)
            }
            Op::Negate(arg) | Op::Plus(arg) => {
                let arg = self.eval(program, *arg, selection, batch)?;
                arithmetic::sign(matches!(*node.op, Op::Negate(_)), arg, frame, out)
            }
            Op::In { arg, members: _, set } => {
                let arg = self.eval(program, *arg, selection, batch)?;
                set.0.test(arg, rows, block, out.bools(n).0)
            }
            Op::Bloom { arg, parts: _, filter } => {
                let arg = self.eval(program, *arg, selection, batch)?;
                bloom::test(&filter.0, arg, rows, block, out.bools(n).0)
            }
            Op::Like { text, pattern: _, escape: _, compiled } => {
                let stop = self.cancellation.clone();
                let text = self.eval(program, *text, selection, batch)?;
                text::like(text, &compiled.0, rows, block, out.bools(n).0, &stop)
            }
            Op::LikeAny { text, pattern, escape } => {
                let ids = [Some(*text), Some(*pattern), *escape].into_iter().flatten();
                let stop = self.cancellation.clone();
                let values = self.eval_all(program, ids, selection, batch)?;
                let escape = escape.map(|escape| values.get(escape));
                let (text, pattern) = (values.get(*text), values.get(*pattern));
                text::like_any(text, pattern, escape, frame, out.bools(n).0, &stop)
            }
            Op::Case { branches, otherwise } => {
                let mut choice = choose::Choice::new(out, node.kind, n);
                let mut rest = selection.clone();
                for (condition, value) in branches {
                    if rest.is_empty() {
                        break;
                    }
                    self.compute(program, *condition, &rest, batch)?;
                    let chosen =
                        self.narrow(*condition, &rest, block, |truth| truth == Truth::True)?;
                    if chosen.is_empty() {
                        continue;
                    }
                    rest = self.narrow(*condition, &rest, block, |truth| truth != Truth::True)?;
                    let value = self.eval(program, *value, &chosen, batch)?;
                    choice.copy(value, chosen.rows(), block)?;
                }
                if !rest.is_empty() {
                    let otherwise = self.eval(program, *otherwise, &rest, batch)?;
                    choice.copy(otherwise, rest.rows(), block)?;
                }
                choice.finish();
                Ok(())
            }
            Op::Coalesce(args) => {
                let mut choice = choose::Choice::new(out, node.kind, n);
                let mut rest = selection.clone();
                for arg in args {
                    self.compute(program, *arg, &rest, batch)?;
                    let vector = &self.slots[arg.index()].vector;
                    let there = self.lineage.narrow(&rest, |row| vector.tag(row) == Tag::Present);
                    rest = self.lineage.narrow(&rest, |row| vector.tag(row) != Tag::Present);
                    if !there.is_empty() {
                        choice.copy(vector, there.rows(), block)?;
                    }
                    if rest.is_empty() {
                        break;
                    }
                }
                choice.absent(Tag::Null, rest.rows());
                choice.finish();
                Ok(())
            }
            Op::NullIf(left, right) => {
                let (left, right) = self.pair(program, [*left, *right], selection, batch)?;
                if let (Data::Text(spans, heap), Data::Constant(Value::String(constant))) =
                    (&left.data, &right.data)
                {
                    let constant = constant.as_bytes();
                    choose::null_if_text(spans, heap, constant, frame, out);
                    return Ok(());
                }
                let out = out.values(n).0;
                rows.try_for_each(|row| {
                    let left = left.value(row, block).ok_or_else(invalid_text)?;
                    let right = right.value(row, block).ok_or_else(invalid_text)?;
                    out[row] = choose::null_if(left, &right);
                    Ok(())
                })
            }
            Op::Substring { text, constant, start, length } => {
                let ids = [Some(*text), Some(*start), *length].into_iter().flatten();
                let values = self.eval_all(program, ids, selection, batch)?;
                let length = length.map(|length| values.get(length));
                let (text, start) = (values.get(*text), values.get(*start));
                text::substring(text, constant.0.as_ref(), start, length, frame, out)
            }
            Op::Trim { side, text, chars, set } => {
                let ids = [Some(*text), *chars].into_iter().flatten();
                let values = self.eval_all(program, ids, selection, batch)?;
                let chars = match (&set.0, chars) {
                    (Some(set), _) => trim::Chars::Constant(set),
                    (None, Some(chars)) => trim::Chars::Column(values.get(*chars)),
                    (None, None) => trim::Chars::Constant(&TrimSet::SPACE),
                };
                trim::trim(*side, values.get(*text), chars, frame, out)
            }
            Op::CharLength(arg) => {
                let arg = self.eval(program, *arg, selection, batch)?;
                text::char_length(arg, frame, out)
            }
            Op::Call { function, args } => {
                let values = self.eval_all(program, args.iter().copied(), selection, batch)?;
                let args: Vec<_> = args.iter().map(|arg| values.get(*arg)).collect();
                function::call(*function, &args, frame, out)
            }
        }
    }

    /// Evaluates AND and OR. The right side is only evaluated where the left one does not decide.
    #[expect(clippy::too_many_arguments, reason = "all of `run`'s, and the operator's")]
    fn connect(
        &mut self,
        program: &Program,
        left: NodeId,
        right: NodeId,
        decisive: Truth,
        selection: &Selection,
        batch: &dyn Columns,
        out: &mut Vector,
    ) -> Result<(), SelectError> {
        let (n, block) = (batch.rows(), batch.block());
        self.compute(program, left, selection, batch)?;
        let open = self.narrow(left, selection, block, |truth| truth != decisive)?;
        if !open.is_empty() {
            self.compute(program, right, &open, batch)?;
        }
        let out = out.bools(n).0;
        selection.rows().for_each(|row| out[row] = decisive);
        let (left, right) = (self.vector(left), self.vector(right));
        open.rows().try_for_each(|row| {
            let (left, right) = (truth(left, row, block)?, truth(right, row, block)?);
            // The left side does not decide here: it is the neutral value or unknown.
            out[row] = match (left, right) {
                (_, right) if right == decisive => decisive,
                (Truth::Null | Truth::Missing, _) | (_, Truth::Null | Truth::Missing) => {
                    Truth::Null
                }
                (left, _) => left,
            };
            Ok(())
        })
    }

    /// Returns the rows for whose truth value `keep` holds.
    fn narrow(
        &mut self,
        condition: NodeId,
        selection: &Selection,
        block: &[u8],
        mut keep: impl FnMut(Truth) -> bool,
    ) -> Result<Selection, SelectError> {
        let vector = &self.slots[condition.index()].vector;
        if let Data::Bool(truths) = &vector.data {
            return Ok(self.lineage.narrow(selection, |row| keep(truths[row])));
        }
        // Anything but a truth value is an error, even in a row that is not read afterwards.
        selection.rows().try_for_each(|row| truth(vector, row, block).map(drop))?;
        Ok(self.lineage.narrow(selection, |row| truth(vector, row, block).is_ok_and(&mut keep)))
    }
}

/// Returns the truth value of a row.
pub(super) fn truth(vector: &Vector, row: usize, block: &[u8]) -> Result<Truth, SelectError> {
    if let Data::Bool(truths) = &vector.data {
        return Ok(truths[row]);
    }
    match vector.value(row, block).ok_or_else(invalid_text)? {
        Value::Bool(truth) => Ok(truth.into()),
        Value::Null => Ok(Truth::Null),
        Value::Missing => Ok(Truth::Missing),
        other => Err(SelectError::new(
            SelectErrorCode::InvalidDataType,
            format!("A condition must be a bool, not a {}.", other.type_name()),
        )),
    }
}

fn check_utf8(
    vector: &Vector,
    selection: &Selection,
    block: &[u8],
    column: &ColumnRef,
) -> Result<(), SelectError> {
    let Data::Text(spans, heap) = &vector.data else { return Ok(()) };
    let heap = heap.bytes(block);
    selection.rows().try_for_each(|row| {
        let text = spans[row].slice(heap);
        if text.is_ascii() || std::str::from_utf8(text).is_ok() {
            return Ok(());
        }
        Err(in_column(&column.name, &invalid_text()))
    })
}

#[cold]
fn in_column(name: &str, error: &SelectError) -> SelectError {
    SelectError::new(error.code, format!("Column {name}: {}", error.message))
}

#[cold]
fn not_text(column: &ColumnRef) -> SelectError {
    let message = format!("Column {} is not text.", column.name);
    SelectError::new(SelectErrorCode::InternalError, message)
}
