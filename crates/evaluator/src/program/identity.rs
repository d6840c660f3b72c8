//! Equality of operators: equal ones compute the same from the same nodes.

use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use sluicegate_s3select::value::Value;

/// A part of an operator that follows from its other parts, and so does not distinguish it.
#[derive(Debug)]
pub(super) struct IgnoredInEq<T>(pub(super) T);

impl<T> PartialEq for IgnoredInEq<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for IgnoredInEq<T> {}

impl<T> Hash for IgnoredInEq<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A constant. It equals another one if no operator can distinguish them: 0.0 differs from -0.0 and `1.0` from
/// `1.00`, and a NaN equals itself.
#[derive(Debug)]
pub(super) struct Constant(pub(super) Value);

impl PartialEq for Constant {
    fn eq(&self, other: &Self) -> bool {
        is_same(&self.0, &other.0)
    }
}

impl Eq for Constant {}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(&b[..]).all(|(a, b)| is_same(a, b))
        }
        (Value::Struct(a), Value::Struct(b)) => {
            let fields = a.iter().zip(&b[..]);
            a.len() == b.len() && fields.into_iter().all(|(a, b)| a.0 == b.0 && is_same(&a.1, &b.1))
        }
        _ => a == b,
    }
}

impl Hash for Constant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        discriminant(&self.0).hash(state);
        match &self.0 {
            Value::Missing | Value::Null => {}
            Value::Bool(truth) => truth.hash(state),
            Value::Int(int) => int.hash(state),
            Value::Float(float) => float.to_bits().hash(state),
            Value::Decimal(decimal) => decimal.hash(state),
            Value::String(text) => text.hash(state),
            Value::Timestamp(time) => time.hash(state),
            Value::List(values) => values.len().hash(state),
            Value::Struct(fields) => fields.len().hash(state),
        }
    }
}
