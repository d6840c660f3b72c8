//! The evaluator against a plain interpreter: one row at a time, one value at a time, in the order
//! in which the statement says it.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::{request, run};
use crate::output::{Item, Key, RowWriter};
use sluicegate_s3select::dialect;
use sluicegate_s3select::dialect::ast::{
    Aggregate, BinaryOp, Expr, From, Function, IsTest, Literal, Projection, ProjectionItem, Query,
    TrimSide, Type, UnaryOp,
};
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::request::{CsvOutput, OutputSerialization};
use sluicegate_s3select::value::{self, Decimal, LikePattern, Value, arithmetic, text};

type Row = Vec<String>;

fn eval(expr: &Expr, row: &Row) -> Result<Value, SelectError> {
    Ok(match expr {
        Expr::Literal(literal) => match literal {
            Literal::Null => Value::Null,
            Literal::Missing => Value::Missing,
            Literal::Bool(truth) => Value::Bool(*truth),
            Literal::Int(int) => Value::Int(*int),
            Literal::Decimal { unscaled, scale } => {
                Value::Decimal(Decimal::new(*unscaled, *scale).unwrap())
            }
            Literal::Float(float) => Value::Float(*float),
            Literal::String(text) => Value::String(text.clone()),
            Literal::Timestamp(_) => unreachable!("not generated"),
        },
        Expr::Path(path) => {
            let Some(dialect::ast::PathStep::Field(name)) = path.last() else { unreachable!() };
            let field = row.get(name.position().unwrap() - 1);
            field.map_or(Value::Missing, |field| Value::String(field.clone()))
        }
        Expr::Unary { op: UnaryOp::Not, expr } => match truth(eval(expr, row)?) {
            Some(truth) => Value::Bool(!truth),
            None => Value::Null,
        },
        Expr::Unary { op: UnaryOp::Negate, expr } => arithmetic::negate(&eval(expr, row)?)?,
        Expr::Unary { op: UnaryOp::Plus, expr } => eval(expr, row)?,
        Expr::Binary { left, op: BinaryOp::And, right } => connect(left, right, false, row)?,
        Expr::Binary { left, op: BinaryOp::Or, right } => connect(left, right, true, row)?,
        Expr::Binary { left, op, right } => {
            let (left, right) = (eval(left, row)?, eval(right, row)?);
            if is_comparison(*op) {
                compare(*op, &left, &right)
            } else {
                arithmetic::arithmetic(*op, &left, &right)?
            }
        }
        Expr::Between { expr, low, high, negated } => {
            let value = eval(expr, row)?;
            let above = truth(compare(BinaryOp::GtEq, &value, &eval(low, row)?));
            let within = match above {
                Some(false) => Some(false),
                above => match (above, truth(compare(BinaryOp::LtEq, &value, &eval(high, row)?))) {
                    (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                },
            };
            from_truth(within.map(|within| within != *negated))
        }
        Expr::Like { expr, pattern, escape: _, negated } => {
            let (text, pattern) = (eval(expr, row)?, eval(pattern, row)?);
            match (text, pattern) {
                (Value::String(text), Value::String(pattern)) => {
                    let matches = LikePattern::compile(&pattern, None)?.matches(text.as_bytes());
                    Value::Bool(matches != *negated)
                }
                _ => Value::Null,
            }
        }
        Expr::In { expr, list, negated } => {
            let value = eval(expr, row)?;
            let mut found = Some(false);
            for member in list {
                match truth(compare(BinaryOp::Eq, &value, &eval(member, row)?)) {
                    Some(true) => {
                        found = Some(true);
                        break;
                    }
                    Some(false) => {}
                    None => found = None,
                }
            }
            from_truth(found.map(|found| found != *negated))
        }
        Expr::Is { expr, test, negated } => {
            let holds = matches!(
                (eval(expr, row)?, test),
                (Value::Missing, _) | (Value::Null, IsTest::Null)
            );
            Value::Bool(holds != *negated)
        }
        Expr::Case { operand, branches, otherwise } => {
            for (when, then) in branches {
                let chosen = match operand {
                    Some(operand) => {
                        let operand = eval(operand, row)?;
                        truth(compare(BinaryOp::Eq, &operand, &eval(when, row)?))
                    }
                    None => truth(eval(when, row)?),
                };
                if chosen == Some(true) {
                    return eval(then, row);
                }
            }
            otherwise.as_ref().map_or(Ok(Value::Null), |otherwise| eval(otherwise, row))?
        }
        Expr::Cast { expr, to } => value::cast(&eval(expr, row)?, *to)?,
        Expr::Call { function, args } => call(*function, args, row)?,
        Expr::Aggregate { .. } => unreachable!("handled outside"),
    })
}

fn call(function: Function, args: &[Expr], row: &Row) -> Result<Value, SelectError> {
    if function == Function::Coalesce {
        for arg in args {
            let value = eval(arg, row)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        return Ok(Value::Null);
    }
    let args = args.iter().map(|arg| eval(arg, row)).collect::<Result<Vec<_>, _>>()?;
    if function == Function::NullIf {
        let equal = value::compare(&args[0], &args[1]) == Some(Ordering::Equal);
        let both_null = args[0].is_null() && args[1].is_null();
        return Ok(if equal || both_null { Value::Null } else { args[0].clone() });
    }
    if args.contains(&Value::Missing) {
        return Ok(Value::Missing);
    }
    if args.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    let string = |bytes: &[u8]| Value::String(String::from_utf8(bytes.to_vec()).unwrap());
    let bytes = |value: &Value| match value {
        Value::String(text) => text.clone().into_bytes(),
        other => panic!("{other:?} is no text"),
    };
    let int = |value: &Value| match value {
        Value::Int(int) => *int,
        other => panic!("{other:?} is no int"),
    };
    Ok(match function {
        Function::CharLength => Value::Int(text::char_length(&bytes(&args[0]))),
        Function::Lower => string(&text::lower(&bytes(&args[0]))),
        Function::Upper => string(&text::upper(&bytes(&args[0]))),
        Function::Trim(side) => string(text::trim(&bytes(&args[0]), side, None)),
        Function::Substring => {
            let length = args.get(2).map(int);
            string(text::substring(&bytes(&args[0]), int(&args[1]), length)?)
        }
        other => unreachable!("{other:?} is not generated"),
    })
}

fn connect(left: &Expr, right: &Expr, decisive: bool, row: &Row) -> Result<Value, SelectError> {
    let left = truth(eval(left, row)?);
    if left == Some(decisive) {
        return Ok(Value::Bool(decisive));
    }
    Ok(match truth(eval(right, row)?) {
        Some(right) if right == decisive => Value::Bool(decisive),
        Some(right) if left.is_some() => Value::Bool(right),
        _ => Value::Null,
    })
}

fn truth(value: Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(truth),
        Value::Null | Value::Missing => None,
        other => panic!("{other:?} is no truth value"),
    }
}

fn from_truth(truth: Option<bool>) -> Value {
    truth.map_or(Value::Null, Value::Bool)
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn compare(op: BinaryOp, left: &Value, right: &Value) -> Value {
    from_truth(value::compare(left, right).map(|order| match op {
        BinaryOp::Eq => order.is_eq(),
        BinaryOp::NotEq => order.is_ne(),
        BinaryOp::Lt => order.is_lt(),
        BinaryOp::LtEq => order.is_le(),
        BinaryOp::Gt => order.is_gt(),
        _ => order.is_ge(),
    }))
}

/// One aggregate over the values of its argument.
fn aggregate(function: Aggregate, values: &[Value]) -> Result<Value, SelectError> {
    let values: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
    Ok(match function {
        Aggregate::Count => Value::Int(values.len() as i64),
        Aggregate::Min => least(&values, Ordering::Less),
        Aggregate::Max => least(&values, Ordering::Greater),
        Aggregate::Sum => {
            let total: i128 = values
                .iter()
                .map(|value| match value {
                    Value::Int(int) => i128::from(*int),
                    other => panic!("{other:?} is not generated"),
                })
                .sum();
            if values.is_empty() {
                Value::Null
            } else {
                Value::Int(i64::try_from(total).map_err(|_| arithmetic::overflow())?)
            }
        }
        Aggregate::Avg => unreachable!("not generated"),
    })
}

fn least(values: &[&Value], wanted: Ordering) -> Value {
    let mut values = values.iter();
    let Some(mut best) = values.next() else { return Value::Null };
    for value in values {
        if value::compare(value, best) == Some(wanted) {
            best = value;
        }
    }
    (*best).clone()
}

fn interpret(query: &Query, rows: &[Row]) -> Result<Vec<u8>, SelectError> {
    let mut writer = RowWriter::new(&OutputSerialization::Csv(CsvOutput::default())).unwrap();
    let Projection::Items(items) = &query.projection else { unreachable!() };
    let mut write = |values: &[Value]| {
        writer.begin_row();
        values.iter().for_each(|value| writer.put(&Key::default(), Item::Value(value)).unwrap());
        writer.end_row().unwrap();
    };
    let is_aggregate = items.iter().any(|item| matches!(item.expr, Expr::Aggregate { .. }));
    let mut seen = vec![Vec::new(); items.len()];
    let mut emitted = 0;
    for row in rows {
        if query.limit == Some(emitted) {
            break;
        }
        let keep = query.filter.as_ref().map_or(Ok(Some(true)), |f| eval(f, row).map(truth))?;
        if keep != Some(true) {
            continue;
        }
        if is_aggregate {
            for (item, seen) in items.iter().zip(&mut seen) {
                let Expr::Aggregate { arg, .. } = &item.expr else { unreachable!() };
                seen.push(arg.as_ref().map_or(Ok(Value::Int(1)), |arg| eval(arg, row))?);
            }
        } else {
            let values = items.iter().map(|item| eval(&item.expr, row));
            write(&values.collect::<Result<Vec<_>, _>>()?);
            emitted += 1;
        }
    }
    if is_aggregate && query.limit != Some(0) {
        let results = items.iter().zip(&seen).map(|(item, seen)| match &item.expr {
            Expr::Aggregate { function, .. } => aggregate(*function, seen),
            _ => unreachable!(),
        });
        write(&results.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(writer.bytes().to_vec())
}

/// Makes expressions of a wanted type; the same seed makes the same ones.
struct Generator(u64);

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bool,
    Int,
    Float,
    Decimal,
    Text,
    Timestamp,
}

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }

    fn field(&mut self) -> String {
        self.pick(&[
            "",
            "0",
            "1",
            "1",
            "2",
            "-7",
            "x",
            "9223372036854775807",
            "1.5",
            " 3 ",
            "2020-02-29",
            "é",
            "true",
            "a%b",
            "abc",
            "1e3",
            "0.10",
            "2020-01-01",
        ])
        .to_owned()
    }

    fn kind(&mut self) -> Kind {
        self.pick(&[Kind::Bool, Kind::Int, Kind::Float, Kind::Decimal, Kind::Text, Kind::Timestamp])
    }

    fn boxed(&mut self, kind: Kind, depth: u32) -> Box<Expr> {
        Box::new(self.expr(kind, depth))
    }

    /// A column, most often guarded against values that do not convert.
    fn column_as(&mut self, kind: Kind) -> Expr {
        let column = Expr::column(1 + self.below(4) as usize);
        let cast = |expr: Expr, to| Expr::Cast { expr: Box::new(expr), to };
        let to = match kind {
            Kind::Text => return column,
            Kind::Bool => Type::Bool,
            Kind::Int => Type::Int,
            Kind::Float => Type::Float,
            Kind::Decimal => self.pick(&[Type::Decimal(None), Type::Decimal(Some((12, 2)))]),
            Kind::Timestamp => Type::Timestamp,
        };
        let fits: &[&str] = match kind {
            Kind::Bool => &["true"],
            Kind::Int => &["0", "1", "2", "-7", " 3 ", "9223372036854775807"],
            Kind::Timestamp => &["2020-02-29", "2020-01-01"],
            _ => &["0", "1", "2", "-7", "1.5", "1e3", "0.10"],
        };
        if self.below(6) == 0 {
            return cast(column, to);
        }
        let list = fits.iter().map(|text| Expr::string(*text)).collect();
        let guard = Expr::In { expr: Box::new(column.clone()), list, negated: false };
        let value = if self.below(2) == 0 {
            cast(column, to)
        } else {
            let args = vec![column, Expr::string("")];
            cast(Expr::Call { function: Function::NullIf, args }, to)
        };
        Expr::Case { operand: None, branches: vec![(guard, value)], otherwise: None }
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        if self.below(12) == 0 {
            return Expr::Literal(self.pick(&[Literal::Null, Literal::Missing]));
        }
        Expr::Literal(match kind {
            Kind::Bool => Literal::Bool(self.below(2) == 0),
            Kind::Int => Literal::Int(self.pick(&[0, 1, 2, -3, i64::MAX])),
            Kind::Float => Literal::Float(self.pick(&[0.5, 1e3, 1e-7])),
            Kind::Decimal => {
                let (unscaled, scale) = self.pick(&[(15, 1), (100, 2), (7, 3)]);
                Literal::Decimal { unscaled, scale }
            }
            Kind::Text => Literal::String(self.field()),
            Kind::Timestamp => {
                let expr = Box::new(Expr::string("2020-01-01"));
                return Expr::Cast { expr, to: Type::Timestamp };
            }
        })
    }

    fn expr(&mut self, kind: Kind, depth: u32) -> Expr {
        if depth == 0 {
            return if self.below(3) == 0 { self.literal(kind) } else { self.column_as(kind) };
        }
        let d = depth - 1;
        match self.below(8) {
            0 => {
                let branches =
                    (0..1 + self.below(3)).map(|_| (self.expr(Kind::Bool, d), self.expr(kind, d)));
                let branches = branches.collect();
                let otherwise = (self.below(2) == 0).then(|| self.boxed(kind, d));
                Expr::Case { operand: None, branches, otherwise }
            }
            1 => {
                let operand = self.kind();
                let branches = (0..1 + self.below(2))
                    .map(|_| (self.expr(operand, d), self.expr(kind, d)))
                    .collect();
                let operand = Some(self.boxed(operand, d));
                Expr::Case { operand, branches, otherwise: None }
            }
            2 => {
                let args = (0..2).map(|_| self.expr(kind, d)).collect();
                let function = self.pick(&[Function::Coalesce, Function::NullIf]);
                Expr::Call { function, args }
            }
            _ => self.own(kind, d),
        }
    }

    /// An operator of the type's own.
    fn own(&mut self, kind: Kind, d: u32) -> Expr {
        use BinaryOp::{
            Add, And, Divide, Eq, Gt, GtEq, Lt, LtEq, Modulo, Multiply, NotEq, Or, Subtract,
        };
        match kind {
            Kind::Bool => {
                let negated = self.below(2) == 0;
                match self.below(8) {
                    0 => Expr::Unary { op: UnaryOp::Not, expr: self.boxed(Kind::Bool, d) },
                    1 | 2 => Expr::Binary {
                        left: self.boxed(Kind::Bool, d),
                        op: self.pick(&[And, Or]),
                        right: self.boxed(Kind::Bool, d),
                    },
                    3 => {
                        let kind = self.kind();
                        let [expr, low, high] = [0; 3].map(|_| self.boxed(kind, d));
                        Expr::Between { expr, low, high, negated }
                    }
                    4 => {
                        let pattern = self.pick(&["%", "_", "a%", "%b%", "1", "%.%_", ""]);
                        let pattern = Box::new(Expr::string(pattern));
                        Expr::Like {
                            expr: self.boxed(Kind::Text, d),
                            pattern,
                            escape: None,
                            negated,
                        }
                    }
                    5 => {
                        let kind = self.kind();
                        let members = if self.below(2) == 0 { 0 } else { d.min(1) };
                        let list = (0..1 + self.below(4)).map(|_| self.expr(kind, members));
                        let list = list.collect();
                        Expr::In { expr: self.boxed(kind, d), list, negated }
                    }
                    6 => {
                        let kind = self.kind();
                        let test = self.pick(&[IsTest::Null, IsTest::Missing]);
                        Expr::Is { expr: self.boxed(kind, d), test, negated }
                    }
                    _ => {
                        let numbers = [Kind::Int, Kind::Float, Kind::Decimal];
                        let left = self.kind();
                        let right =
                            if numbers.contains(&left) { self.pick(&numbers) } else { left };
                        Expr::Binary {
                            left: self.boxed(left, d),
                            op: self.pick(&[Eq, NotEq, Lt, LtEq, Gt, GtEq]),
                            right: self.boxed(right, d),
                        }
                    }
                }
            }
            Kind::Int if self.below(6) == 0 => {
                let args = vec![self.expr(Kind::Text, d)];
                Expr::Call { function: Function::CharLength, args }
            }
            Kind::Int | Kind::Decimal | Kind::Float => {
                let other = match kind {
                    Kind::Int => Kind::Int,
                    Kind::Decimal => self.pick(&[Kind::Int, Kind::Decimal]),
                    _ => self.pick(&[Kind::Int, Kind::Decimal, Kind::Float]),
                };
                if self.below(6) == 0 {
                    return Expr::Unary { op: UnaryOp::Negate, expr: self.boxed(kind, d) };
                }
                Expr::Binary {
                    left: self.boxed(kind, d),
                    op: self.pick(&[Add, Subtract, Multiply, Multiply, Divide, Modulo]),
                    right: self.boxed(other, d),
                }
            }
            Kind::Text => match self.below(4) {
                0 => Expr::Cast {
                    expr: {
                        let kind = self.kind();
                        self.boxed(kind, d)
                    },
                    to: Type::String,
                },
                1 => {
                    let mut args = vec![self.expr(Kind::Text, d), self.expr(Kind::Int, 0)];
                    if self.below(2) == 0 {
                        args.push(Expr::int(self.below(4) as i64));
                    }
                    Expr::Call { function: Function::Substring, args }
                }
                _ => {
                    let function = self.pick(&[
                        Function::Lower,
                        Function::Upper,
                        Function::Trim(TrimSide::Both),
                    ]);
                    Expr::Call { function, args: vec![self.expr(Kind::Text, d)] }
                }
            },
            Kind::Timestamp => self.column_as(kind),
        }
    }

    fn query(&mut self) -> Query {
        let is_aggregate = self.below(3) == 0;
        let items = (0..1 + self.below(4)).map(|_| {
            let expr = if is_aggregate {
                match self.below(4) {
                    0 => Expr::Aggregate { function: Aggregate::Count, arg: None },
                    1 => {
                        let arg = Some(self.boxed(Kind::Int, 2));
                        Expr::Aggregate { function: Aggregate::Sum, arg }
                    }
                    2 => {
                        // One of a family of groups.
                        let group = Expr::string(self.field());
                        let when = Expr::Binary {
                            left: Box::new(Expr::column(1)),
                            op: BinaryOp::Eq,
                            right: Box::new(group),
                        };
                        let branches = vec![(when, self.expr(Kind::Int, 1))];
                        let otherwise = (self.below(2) == 0).then(|| Box::new(Expr::int(0)));
                        let arg = Expr::Case { operand: None, branches, otherwise };
                        Expr::Aggregate { function: Aggregate::Sum, arg: Some(Box::new(arg)) }
                    }
                    _ => {
                        let kind = self.kind();
                        let arg = Some(self.boxed(kind, 2));
                        let function =
                            self.pick(&[Aggregate::Count, Aggregate::Min, Aggregate::Max]);
                        Expr::Aggregate { function, arg }
                    }
                }
            } else {
                let kind = self.kind();
                self.expr(kind, 3)
            };
            ProjectionItem { expr, alias: None }
        });
        let projection = Projection::Items(items.collect());
        let filter = (self.below(3) > 0).then(|| self.expr(Kind::Bool, 3));
        let limit = (self.below(4) == 0).then(|| self.below(6));
        let from = From { path: Vec::new(), alias: Some("s".to_owned()) };
        Query { projection, from, filter, limit }
    }

    fn rows(&mut self) -> Vec<Row> {
        (0..self.below(12))
            .map(|_| {
                let mut row: Row = (0..1 + self.below(4)).map(|_| self.field()).collect();
                // A record of one empty field is a blank line, which is no record.
                if row.len() == 1 && row[0].is_empty() {
                    row.push(String::new());
                }
                row
            })
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn statements_mean_what_the_interpreter_says(seed: u64) {
        let mut generator = Generator(seed);
        let query = generator.query();
        let rows = generator.rows();
        let request = request(&query.to_string());
        if dialect::check(&query, &request.input).is_ok() {
            let object: String = rows.iter().map(|row| row.join(",") + "\n").collect();
            let expected = interpret(&query, &rows);
            let actual = run(&request, object.clone()).map(|(answer, _)| answer);
            match (&expected, &actual) {
                (Ok(expected), Ok(actual)) => prop_assert_eq!(
                    String::from_utf8_lossy(expected), String::from_utf8_lossy(actual),
                    "{} over\n{}", request.expression, object
                ),
                (Err(expected), Err(actual)) => prop_assert_eq!(
                    expected.code, actual.code, "{} over\n{}", request.expression, object
                ),
                _ => prop_assert!(
                    false, "{:?} but {:?} for {} over\n{}",
                    expected, actual, request.expression, object
                ),
            }
        }
    }
}
