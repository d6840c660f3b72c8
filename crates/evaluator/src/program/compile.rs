//! Compiles expressions to programs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::fold::NoColumns;
use super::text::{ConstantText, is_comparison};
use super::{
    Aggregates, ColumnRef, Constant, IgnoredInEq, Machine, Node, NodeId, Op, Program, Reads, Set,
    arithmetic, call, cast, choose, function,
};
use crate::batch::{Column, Schema};
use crate::vector::Kind;
use sluicegate_s3select::dialect::ast::{BinaryOp, Expr, From, Function, Literal, Type, UnaryOp};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::{BloomFilter, Decimal, LikePattern, Timestamp, TrimSet, Value};

/// Compiles the expressions of one statement into one program.
pub(crate) struct Compiler<'a> {
    program: Program,
    /// Nodes by their operators, so that nothing is computed twice.
    known: HashMap<Arc<Op>, NodeId>,
    /// Evaluates constant expressions.
    machine: Machine,
    schema: &'a mut dyn Schema,
    from: &'a From,
    now: Timestamp,
    /// The aggregate functions and the keys of GROUP BY, whose results are this program's columns, in this order.
    given: Option<(&'a Aggregates, &'a [Expr])>,
}

impl<'a> Compiler<'a> {
    /// Creates a compiler. `from` is the statement's FROM, and `now` the value of UTCNOW().
    pub(crate) fn new(schema: &'a mut dyn Schema, from: &'a From, now: Timestamp) -> Self {
        Self {
            program: Program::default(),
            known: HashMap::new(),
            machine: Machine::default(),
            schema,
            from,
            now,
            given: None,
        }
    }

    /// Compiles expressions over the results of aggregate functions and keys of GROUP BY.
    pub(crate) fn over(self, aggregates: &'a Aggregates, keys: &'a [Expr]) -> Self {
        Self { given: Some((aggregates, keys)), ..self }
    }

    /// Returns the column of this program that holds the results of an expression.
    fn given(&self, expr: &Expr) -> Option<usize> {
        let (aggregates, keys) = self.given?;
        let key = || Some(aggregates.calls().len() + keys.iter().position(|key| key == expr)?);
        aggregates.place(expr).or_else(key)
    }

    /// Returns the program compiled so far.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the compiled program.
    pub(crate) fn finish(self) -> Program {
        self.program
    }

    /// Returns all columns with their names, if `*` stands for them.
    pub(crate) fn all(&mut self) -> Result<Option<Vec<(String, NodeId)>>, SelectError> {
        let columns = self.schema.all()?;
        Ok(columns.map(|columns| {
            let columns = columns.into_iter();
            columns.map(|column| (column.name.clone(), self.column(column))).collect()
        }))
    }

    fn column(&mut self, column: Column) -> NodeId {
        let name = column.name.into();
        self.add(Op::Column(ColumnRef { index: column.index, name }), column.kind)
    }

    /// Compiles a scalar expression.
    pub(crate) fn compile(&mut self, expr: &Expr) -> Result<NodeId, SelectError> {
        if let Some(index) = self.given(expr) {
            let name = "a result".into();
            return Ok(self.add(Op::Column(ColumnRef { index, name }), Kind::Dynamic));
        }
        Ok(match expr {
            Expr::Literal(literal) => {
                let value = constant(literal)?;
                self.constant(value)
            }
            Expr::Path(path) => {
                let column = self.schema.resolve(self.from.within_row(path))?;
                self.column(column)
            }
            Expr::Unary { op, expr } => {
                let arg = self.compile(expr)?;
                let kind = self.program.kind(arg);
                match op {
                    UnaryOp::Not => self.add(Op::Not(arg), Kind::Bool),
                    UnaryOp::Plus if matches!(kind, Kind::Int | Kind::Float | Kind::Decimal) => arg,
                    UnaryOp::Plus => self.add(Op::Plus(arg), Kind::Dynamic),
                    UnaryOp::Negate if kind == Kind::Int => self.add(Op::Negate(arg), Kind::Int),
                    UnaryOp::Negate => self.add(Op::Negate(arg), Kind::Dynamic),
                }
            }
            Expr::Binary { left, op, right } => {
                let left = self.compile(left)?;
                let right = self.compile(right)?;
                match op {
                    BinaryOp::And => self.add(Op::And(left, right), Kind::Bool),
                    BinaryOp::Or => self.add(Op::Or(left, right), Kind::Bool),
                    op if is_comparison(*op) => self.compare(*op, left, right),
                    op => {
                        let kind =
                            arithmetic::kind(self.program.kind(left), self.program.kind(right));
                        self.add(Op::Arithmetic { op: *op, left, right }, kind)
                    }
                }
            }
            Expr::Between { expr, low, high, negated } => {
                let expr = self.compile(expr)?;
                let (low, high) = (self.compile(low)?, self.compile(high)?);
                let above = self.compare(BinaryOp::GtEq, expr, low);
                let below = self.compare(BinaryOp::LtEq, expr, high);
                let both = self.add(Op::And(above, below), Kind::Bool);
                self.negate_if(*negated, both)
            }
            Expr::Like { expr, pattern, escape, negated } => {
                let like = self.like(expr, pattern, escape.as_deref())?;
                self.negate_if(*negated, like)
            }
            Expr::In { expr, list, negated } => {
                let within = self.within(expr, list)?;
                self.negate_if(*negated, within)
            }
            Expr::Is { expr, test, negated } => {
                let arg = self.compile(expr)?;
                self.add(Op::Is { arg, test: *test, negated: *negated }, Kind::Bool)
            }
            Expr::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())?
            }
            Expr::Cast { expr, to } => {
                let arg = self.compile(expr)?;
                self.cast(arg, *to)
            }
            Expr::Call { function, args } => self.call(*function, args)?,
            Expr::Aggregate { .. } => {
                return Err(SelectError::new(
                    SelectErrorCode::UnsupportedSqlStructure,
                    "An aggregate function can only stand in the SELECT list, and not inside of \
                     another.",
                ));
            }
        })
    }

    fn constant(&mut self, value: Value) -> NodeId {
        let kind = kind_of(&value);
        self.add(Op::Constant(Constant(value)), kind)
    }

    /// Returns the value of a node, if it is constant.
    fn constant_of(&self, id: NodeId) -> Option<&Value> {
        self.program.constant(id)
    }

    fn add(&mut self, op: Op, kind: Kind) -> NodeId {
        if let Some(id) = self.known.get(&op) {
            return *id;
        }
        let op = Arc::new(op);
        let id = NodeId(self.program.nodes.len() as u32);
        let is_constant = matches!(*op, Op::Constant(_));
        let foldable = !is_constant
            && operands(&op)
                .is_some_and(|operands| operands.iter().all(|id| self.constant_of(*id).is_some()));
        let reads = self.reads(&op);
        self.program.nodes.push(Node { op: Arc::clone(&op), kind, reads });
        if foldable && let Some(value) = self.fold(id) {
            // The constant may have another kind, for example if it is NULL.
            self.program.nodes.pop();
            let constant = self.constant(value);
            self.known.insert(op, constant);
            return constant;
        }
        self.known.insert(op, id);
        id
    }

    fn reads(&self, op: &Op) -> Reads {
        if let Op::Column(column) | Op::CastColumn { column, .. } = op {
            return Reads::One(column.index);
        }
        let operands = operands(op).unwrap_or_default();
        let reads = operands.iter().map(|id| self.program.node(*id).reads);
        reads.fold(Reads::Nothing, Reads::and)
    }

    /// Evaluates a node with constant operands. A node that fails remains, as it is only an error if a row is
    /// evaluated there.
    fn fold(&mut self, id: NodeId) -> Option<Value> {
        let row = self.machine.start(1);
        let vector = self.machine.eval(&self.program, id, &row, &NoColumns);
        let value = vector.ok().and_then(|vector| vector.value(0, &[]));
        // The next node takes the place of this one.
        self.machine.release(id);
        value
    }

    fn negate_if(&mut self, negated: bool, id: NodeId) -> NodeId {
        if negated { self.add(Op::Not(id), Kind::Bool) } else { id }
    }

    fn compare(&mut self, op: BinaryOp, left: NodeId, right: NodeId) -> NodeId {
        // Move a constant to the right, where the loops expect it.
        let (op, left, right) =
            if self.constant_of(left).is_some() && self.constant_of(right).is_none() {
                (mirrored(op), right, left)
            } else {
                (op, left, right)
            };
        // Text compares with a number by the number's text, which is computed once for a constant.
        let right = match self.constant_of(right) {
            Some(number @ (Value::Int(_) | Value::Float(_) | Value::Decimal(_)))
                if self.program.kind(left) == Kind::Text =>
            {
                let mut text = Vec::new();
                number.write(&mut text);
                self.constant(Value::String(String::from_utf8_lossy(&text).into_owned()))
            }
            _ => right,
        };
        self.add(Op::Compare { op, left, right }, Kind::Bool)
    }

    fn cast(&mut self, arg: NodeId, to: Type) -> NodeId {
        let arg_kind = self.program.kind(arg);
        let kind = cast::kind(to);
        // A CAST to the type that a value has, without a shape to cut it to, changes nothing.
        if arg_kind == kind && !matches!(to, Type::Decimal(Some(_))) {
            return arg;
        }
        // All values of a Parquet column may have the shape already.
        if let (Kind::Decimal, Type::Decimal(Some((precision, scale))), Op::Column(column)) =
            (arg_kind, to, self.program.op(arg))
            && let Some((stored, places)) = self.schema.decimal_type(column.index)
            && stored <= precision
            && places == scale
        {
            return arg;
        }
        let fused = match self.program.op(arg) {
            Op::Column(column) if arg_kind == Kind::Text => Some((column, false)),
            Op::NullIf(inner, empty) => match (self.program.op(*inner), self.constant_of(*empty)) {
                (Op::Column(column), Some(Value::String(text)))
                    if text.is_empty() && self.program.kind(*inner) == Kind::Text =>
                {
                    Some((column, true))
                }
                _ => None,
            },
            _ => None,
        };
        match fused {
            Some((column, null_if_empty)) => {
                let column = column.clone();
                self.add(Op::CastColumn { column, null_if_empty, to }, kind)
            }
            None => self.add(Op::Cast { arg, to }, kind),
        }
    }

    fn like(
        &mut self,
        expr: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
    ) -> Result<NodeId, SelectError> {
        let text = self.compile(expr)?;
        let pattern = self.compile(pattern)?;
        let escape = escape.map(|escape| self.compile(escape)).transpose()?;
        let escape_text = match escape {
            None => Some(None),
            Some(escape) => match self.constant_of(escape) {
                Some(Value::String(text)) => Some(Some(text.as_str())),
                _ => None,
            },
        };
        if let (Some(Value::String(constant)), Some(escape_text)) =
            (self.constant_of(pattern), escape_text)
        {
            let compiled = IgnoredInEq(LikePattern::compile(constant, escape_text)?);
            return Ok(self.add(Op::Like { text, pattern, escape, compiled }, Kind::Bool));
        }
        Ok(self.add(Op::LikeAny { text, pattern, escape }, Kind::Bool))
    }

    fn within(&mut self, expr: &Expr, list: &[Expr]) -> Result<NodeId, SelectError> {
        let arg = self.compile(expr)?;
        let mut tests = Vec::new();
        let mut constants = Vec::new();
        let mut seen = HashSet::new();
        for member in list {
            let member = match member {
                // There may be very many literals, so they do not become nodes.
                Expr::Literal(literal) => Ok(constant(literal)?),
                _ => {
                    let id = self.compile(member)?;
                    self.constant_of(id).cloned().ok_or(id)
                }
            };
            match member {
                Ok(value) => constants.push(value),
                Err(id) if seen.insert(id) => {
                    // A row that equals a constant is not compared with the expressions after it.
                    if !constants.is_empty() {
                        tests.push(self.among(arg, std::mem::take(&mut constants)));
                    }
                    tests.push(self.compare(BinaryOp::Eq, arg, id));
                }
                Err(_) => {}
            }
        }
        if !constants.is_empty() {
            tests.push(self.among(arg, constants));
        }
        Ok(self.any(&tests))
    }

    /// Adds `arg IN (constants)`.
    fn among(&mut self, arg: NodeId, constants: Vec<Value>) -> NodeId {
        let set = IgnoredInEq(Set::new(&constants));
        let members = constants.into_iter().map(Constant).collect();
        self.add(Op::In { arg, members, set }, Kind::Bool)
    }

    /// Adds `a OR b OR …` as a balanced tree, however many tests there are.
    fn any(&mut self, tests: &[NodeId]) -> NodeId {
        match tests {
            [] => self.constant(Value::Bool(false)),
            [test] => *test,
            _ => {
                let (left, right) = tests.split_at(tests.len() / 2);
                let left = self.any(left);
                let right = self.any(right);
                self.add(Op::Or(left, right), Kind::Bool)
            }
        }
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
    ) -> Result<NodeId, SelectError> {
        let operand = operand.map(|operand| self.compile(operand)).transpose()?;
        let mut compiled = Vec::with_capacity(branches.len());
        for (when, then) in branches {
            let when = self.compile(when)?;
            let condition = match operand {
                Some(operand) => self.compare(BinaryOp::Eq, operand, when),
                None => when,
            };
            compiled.push((condition, self.compile(then)?));
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.compile(otherwise)?,
            None => self.constant(Value::Null),
        };
        let values = compiled.iter().map(|(_, value)| *value).chain([otherwise]);
        let kind = choose::common_kind(values.map(|id| self.kind_for_choice(id)));
        Ok(self.add(Op::Case { branches: compiled, otherwise }, kind))
    }

    /// Returns the representation that a node requires of a vector with values of several nodes; `None` if any will
    /// do.
    fn kind_for_choice(&self, id: NodeId) -> Option<Kind> {
        let without_value = self.constant_of(id).is_some_and(Value::is_null);
        (!without_value).then(|| self.program.kind(id))
    }

    fn call(&mut self, function: Function, args: &[Expr]) -> Result<NodeId, SelectError> {
        if function == Function::UtcNow {
            return Ok(self.constant(Value::Timestamp(self.now)));
        }
        let filter = match function {
            Function::BloomContains => Some(BloomFilter::of_call(args)?),
            _ => None,
        };
        let args = args.iter().map(|arg| self.compile(arg)).collect::<Result<Vec<_>, _>>()?;
        if let (Some(filter), &[bits, hashes, seed, arg]) = (filter, &args[..]) {
            let parts = [bits, hashes, seed];
            return Ok(self.add(Op::Bloom { arg, parts, filter: IgnoredInEq(filter) }, Kind::Bool));
        }
        Ok(match (function, &args[..]) {
            (Function::Coalesce, _) => {
                let kinds = args.iter().map(|id| self.kind_for_choice(*id));
                let kind = choose::common_kind(kinds);
                self.add(Op::Coalesce(args), kind)
            }
            (Function::NullIf, &[left, right]) => {
                let text = self.program.kind(left) == Kind::Text
                    && matches!(self.constant_of(right), Some(Value::String(_)));
                let kind = if text { Kind::Text } else { Kind::Dynamic };
                self.add(Op::NullIf(left, right), kind)
            }
            (Function::CharLength, &[arg]) => self.add(Op::CharLength(arg), Kind::Int),
            (Function::Substring, &[text, start, ref length @ ..]) if length.len() <= 1 => {
                let constant = match self.constant_of(text) {
                    Some(Value::String(text)) => Some(ConstantText::new(text)),
                    _ => None,
                };
                let (constant, length) = (IgnoredInEq(constant), length.first().copied());
                self.add(Op::Substring { text, constant, start, length }, Kind::Text)
            }
            (Function::Trim(side), &[text, ref chars @ ..]) if chars.len() <= 1 => {
                let chars = chars.first().copied();
                let set = match chars.map(|chars| self.constant_of(chars)) {
                    None => Some(TrimSet::SPACE),
                    Some(Some(Value::String(chars))) => Some(TrimSet::new(chars)),
                    Some(_) => None,
                };
                self.add(Op::Trim { side, text, chars, set: IgnoredInEq(set) }, Kind::Text)
            }
            (
                Function::NullIf | Function::CharLength | Function::Substring | Function::Trim(_),
                _,
            ) => {
                return Err(SelectError::new(
                    SelectErrorCode::EvaluatorInvalidArguments,
                    format!("{} got a wrong number of arguments.", call::name(function)),
                ));
            }
            _ => self.add(Op::Call { function, args }, function::kind(function)),
        })
    }
}

fn constant(literal: &Literal) -> Result<Value, SelectError> {
    Ok(match literal {
        Literal::Null => Value::Null,
        Literal::Missing => Value::Missing,
        Literal::Bool(truth) => Value::Bool(*truth),
        Literal::Int(int) => Value::Int(*int),
        Literal::Float(float) => Value::Float(*float),
        Literal::String(text) => Value::String(text.clone()),
        Literal::Decimal { unscaled, scale } => {
            Value::Decimal(Decimal::new(*unscaled, *scale).ok_or_else(|| {
                SelectError::new(
                    SelectErrorCode::LexerInvalidLiteral,
                    "A number has more than 38 digits.",
                )
            })?)
        }
        Literal::Timestamp(text) => {
            Value::Timestamp(Timestamp::parse_literal(text.as_bytes()).ok_or_else(|| {
                SelectError::new(
                    SelectErrorCode::LexerInvalidIONLiteral,
                    "A literal in backticks is not a timestamp.",
                )
            })?)
        }
    })
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Bool(_) => Kind::Bool,
        Value::Int(_) => Kind::Int,
        Value::Float(_) => Kind::Float,
        Value::Decimal(_) => Kind::Decimal,
        Value::String(_) => Kind::Text,
        Value::Timestamp(_) => Kind::Timestamp,
        _ => Kind::Dynamic,
    }
}

/// Returns the operator for swapped sides.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::LtEq => BinaryOp::GtEq,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::GtEq => BinaryOp::LtEq,
        op => op,
    }
}

/// Returns the operands of an operator that depends only on them; `None` for a column.
pub(super) fn operands(op: &Op) -> Option<Vec<NodeId>> {
    Some(match op {
        Op::Constant(_) => Vec::new(),
        Op::Column(_) | Op::CastColumn { .. } => return None,
        Op::Cast { arg, .. }
        | Op::Is { arg, .. }
        | Op::In { arg, .. }
        | Op::Not(arg)
        | Op::Negate(arg)
        | Op::Plus(arg)
        | Op::CharLength(arg) => vec![*arg],
        Op::Bloom { arg, parts, .. } => [&[*arg], &parts[..]].concat(),
        Op::Compare { left, right, .. }
        | Op::Arithmetic { left, right, .. }
        | Op::And(left, right)
        | Op::Or(left, right)
        | Op::NullIf(left, right) => vec![*left, *right],
        Op::Like { text, pattern, escape, .. } | Op::LikeAny { text, pattern, escape } => {
            [Some(*text), Some(*pattern), *escape].into_iter().flatten().collect()
        }
        Op::Substring { text, start, length, .. } => {
            [Some(*text), Some(*start), *length].into_iter().flatten().collect()
        }
        Op::Trim { text, chars, .. } => [Some(*text), *chars].into_iter().flatten().collect(),
        Op::Case { branches, otherwise } => {
            branches.iter().flat_map(|(when, then)| [*when, *then]).chain([*otherwise]).collect()
        }
        Op::Coalesce(args) | Op::Call { args, .. } => args.clone(),
    })
}
