//! A simple interpreter that evaluates one row and one value at a time, in the order of the statement, and every item
//! separately.

use std::cmp::Ordering;

use super::{bloom, oracle};
use crate::output::{Item, Key, RowWriter};
use sluicegate_s3select::dialect::ast::{
    Aggregate, BinaryOp, Expr, Function, IsTest, Literal, PathStep, Projection, ProjectionItem,
    Query, UnaryOp,
};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{CsvOutput, OutputSerialization};
use sluicegate_s3select::value::{Decimal, LikePattern, TrimSet, Value, text};

pub(super) type Row = Vec<String>;
type Result<T> = std::result::Result<T, Code>;

fn eval(expr: &Expr, row: &Row) -> Result<Value> {
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
            let Some(PathStep::Field(name)) = path.last() else { unreachable!() };
            let field = row.get(name.position().unwrap() - 1);
            field.map_or(Value::Missing, |field| Value::String(field.clone()))
        }
        Expr::Unary { op: UnaryOp::Not, expr } => match truth(eval(expr, row)?) {
            Some(truth) => Value::Bool(!truth),
            None => Value::Null,
        },
        Expr::Unary { op: UnaryOp::Negate, expr } => oracle::negate(&eval(expr, row)?)?,
        Expr::Unary { op: UnaryOp::Plus, expr } => eval(expr, row)?,
        Expr::Binary { left, op: BinaryOp::And, right } => connect(left, right, false, row)?,
        Expr::Binary { left, op: BinaryOp::Or, right } => connect(left, right, true, row)?,
        Expr::Binary { left, op, right } => {
            let (left, right) = (eval(left, row)?, eval(right, row)?);
            if is_comparison(*op) {
                compare(*op, &left, &right)
            } else {
                oracle::arithmetic(*op, &left, &right)?
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
                    let matches = LikePattern::compile(&pattern, None)
                        .map_err(|e| e.code)?
                        .matches(text.as_bytes());
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
        Expr::Cast { expr, to } => oracle::cast(&eval(expr, row)?, *to)?,
        Expr::Call { function, args } => call(*function, args, row)?,
        Expr::Aggregate { .. } => unreachable!("handled outside"),
    })
}

fn call(function: Function, args: &[Expr], row: &Row) -> Result<Value> {
    if function == Function::Coalesce {
        for arg in args {
            let value = eval(arg, row)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        return Ok(Value::Null);
    }
    let args = args.iter().map(|arg| eval(arg, row)).collect::<Result<Vec<_>>>()?;
    if function == Function::NullIf {
        let is_text = |value: &Value| matches!(value, Value::String(_));
        let same = is_text(&args[0]) == is_text(&args[1])
            && oracle::compare(&args[0], &args[1]) == Some(Ordering::Equal);
        let both_null = args[0].is_null() && args[1].is_null();
        return Ok(if same || both_null { Value::Null } else { args[0].clone() });
    }
    if function == Function::BloomContains {
        return Ok(from_truth((!args[3].is_null()).then(|| bloom::contains(&args))));
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
        Function::Trim(side) => string(TrimSet::SPACE.trim(&bytes(&args[0]), side)),
        Function::Substring => {
            let length = args.get(2).map(int);
            string(text::substring(&bytes(&args[0]), int(&args[1]), length).map_err(|e| e.code)?)
        }
        other => unreachable!("{other:?} is not generated"),
    })
}

fn connect(left: &Expr, right: &Expr, decisive: bool, row: &Row) -> Result<Value> {
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
    from_truth(oracle::compare(left, right).map(|order| match op {
        BinaryOp::Eq => order.is_eq(),
        BinaryOp::NotEq => order.is_ne(),
        BinaryOp::Lt => order.is_lt(),
        BinaryOp::LtEq => order.is_le(),
        BinaryOp::Gt => order.is_gt(),
        _ => order.is_ge(),
    }))
}

/// Computes one aggregate over the values of its argument.
fn aggregate(function: Aggregate, values: &[Value]) -> Result<Value> {
    let values: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
    Ok(match function {
        Aggregate::Count => Value::Int(values.len() as i64),
        Aggregate::Min => least(&values, Ordering::Less)?,
        Aggregate::Max => least(&values, Ordering::Greater)?,
        Aggregate::Sum | Aggregate::Avg if values.is_empty() => Value::Null,
        Aggregate::Sum => oracle::sum(&values, false)?,
        Aggregate::Avg => oracle::sum(&values, true)?,
    })
}

fn least(values: &[&Value], wanted: Ordering) -> Result<Value> {
    let mut values = values.iter();
    let Some(mut best) = values.next() else { return Ok(Value::Null) };
    for value in values {
        if oracle::compare(value, best).ok_or(Code::InvalidDataType)? == wanted {
            best = value;
        }
    }
    Ok((*best).clone())
}

/// Returns the answer as CSV. GROUP BY keeps at most `most` groups at a time.
pub(super) fn interpret(query: &Query, rows: &[Row], most: usize) -> Result<Vec<u8>> {
    if !query.group_by.is_empty() {
        return groups(query, rows, most);
    }
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
            write(&values.collect::<Result<Vec<_>>>()?);
            emitted += 1;
        }
    }
    if is_aggregate && query.limit != Some(0) {
        let results = items.iter().zip(&seen).map(|(item, seen)| match &item.expr {
            Expr::Aggregate { function, .. } => aggregate(*function, seen),
            _ => unreachable!(),
        });
        write(&results.collect::<Result<Vec<_>>>()?);
    }
    Ok(writer.bytes().to_vec())
}

/// The keys of a group, and the argument's values for each item's aggregate.
type Group = (Vec<Value>, Vec<Vec<Value>>);

fn groups(query: &Query, rows: &[Row], most: usize) -> Result<Vec<u8>> {
    let Projection::Items(items) = &query.projection else { unreachable!() };
    let mut groups: Vec<Group> = Vec::new();
    let mut answer = Vec::new();
    for row in rows {
        let keep = query.filter.as_ref().map_or(Ok(Some(true)), |f| eval(f, row).map(truth))?;
        if keep != Some(true) {
            continue;
        }
        let keys = query.group_by.iter().map(|key| eval(key, row)).collect::<Result<Vec<_>>>()?;
        let values = items.iter().map(|item| match &item.expr {
            key if query.group_by.contains(key) => Ok(Value::Null),
            Expr::Aggregate { arg, .. } => {
                arg.as_ref().map_or(Ok(Value::Int(1)), |arg| eval(arg, row))
            }
            _ => unreachable!(),
        });
        let values = values.collect::<Result<Vec<_>>>()?;
        let same = |(known, _): &Group| known.iter().zip(&keys).all(|(a, b)| is_same(a, b));
        let group = match groups.iter().position(same) {
            Some(group) => group,
            None => {
                if groups.len() == most {
                    write_groups(query, items, &groups, &mut answer)?;
                    groups.clear();
                }
                groups.push((keys, vec![Vec::new(); items.len()]));
                groups.len() - 1
            }
        };
        groups[group].1.iter_mut().zip(values).for_each(|(seen, value)| seen.push(value));
    }
    write_groups(query, items, &groups, &mut answer)?;
    Ok(answer)
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

fn write_groups(
    query: &Query,
    items: &[ProjectionItem],
    groups: &[Group],
    answer: &mut Vec<u8>,
) -> Result<()> {
    // Compute the results of all groups first, because they may fail.
    let results = groups.iter().map(|(keys, seen)| {
        let results = items.iter().zip(seen).map(|(item, seen)| {
            match query.group_by.iter().position(|key| *key == item.expr) {
                Some(key) => Ok(keys[key].clone()),
                None => match &item.expr {
                    Expr::Aggregate { function, .. } => aggregate(*function, seen),
                    _ => unreachable!(),
                },
            }
        });
        results.collect::<Result<Vec<_>>>()
    });
    let results = results.collect::<Result<Vec<_>>>()?;
    let mut writer = RowWriter::new(&OutputSerialization::Csv(CsvOutput::default())).unwrap();
    for values in results {
        writer.begin_row();
        values.iter().for_each(|value| writer.put(&Key::default(), Item::Value(value)).unwrap());
        writer.end_row().unwrap();
    }
    answer.extend_from_slice(writer.bytes());
    Ok(())
}
