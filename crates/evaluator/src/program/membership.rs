//! IN with constants.

use std::collections::HashSet;

use super::compare::compare_values;
use crate::output::invalid_text;
use crate::selection::Rows;
use crate::vector::{Data, Kind, Tag, Truth, Vector};
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::Value;

/// The right side of IN.
#[derive(Debug)]
pub(crate) struct Set {
    members: Members,
    /// Whether NULL or MISSING is among them: then no value is known not to be in the set.
    has_null: bool,
}

#[derive(Debug)]
enum Members {
    Ints(HashSet<i64>),
    Texts(HashSet<Box<[u8]>>),
    Any(Vec<Value>),
}

impl Set {
    /// The set of these constants, for values of the given representation.
    pub(super) fn new(values: Vec<Value>, kind: Kind) -> Self {
        let count = values.len();
        let members: Vec<_> = values.into_iter().filter(|value| !value.is_null()).collect();
        let has_null = members.len() < count;
        let all = |test: fn(&Value) -> bool| members.iter().all(test);
        let members = match kind {
            Kind::Int if all(|value| matches!(value, Value::Int(_))) => Members::Ints(
                members
                    .iter()
                    .filter_map(|value| if let Value::Int(int) = value { Some(*int) } else { None })
                    .collect(),
            ),
            Kind::Text if all(|value| matches!(value, Value::String(_))) => Members::Texts(
                members
                    .into_iter()
                    .filter_map(|value| match value {
                        Value::String(text) => Some(text.into_bytes().into()),
                        _ => None,
                    })
                    .collect(),
            ),
            _ => Members::Any(members),
        };
        Self { members, has_null }
    }

    fn outside(&self) -> Truth {
        if self.has_null { Truth::Null } else { Truth::False }
    }

    /// Whether each row's value is in the set.
    pub(super) fn test(
        &self,
        arg: &Vector,
        rows: Rows<'_>,
        block: &[u8],
        out: &mut [Truth],
    ) -> Result<(), SelectError> {
        let outside = self.outside();
        let found = |found: bool| if found { Truth::True } else { outside };
        match (&self.members, &arg.data) {
            (Members::Ints(members), Data::Int(ints)) => rows.for_each(|row| {
                out[row] = match arg.tags.get(row) {
                    Tag::Present => found(members.contains(&ints[row])),
                    _ => Truth::Null,
                };
            }),
            (Members::Texts(members), Data::Text(spans, heap)) => {
                let heap = heap.bytes(block);
                rows.for_each(|row| {
                    let span = spans[row];
                    out[row] = if span.is_absent() {
                        Truth::Null
                    } else {
                        found(members.contains(span.of(heap)))
                    };
                });
            }
            _ => {
                return rows.try_for_each(|row| {
                    let value = arg.value(row, block).ok_or_else(invalid_text)?;
                    out[row] = self.test_value(&value);
                    Ok(())
                });
            }
        }
        Ok(())
    }

    fn test_value(&self, value: &Value) -> Truth {
        if value.is_null() {
            return Truth::Null;
        }
        let mut result = self.outside();
        let mut test = |member: &Value| {
            match compare_values(BinaryOp::Eq, value, member) {
                Truth::True => return true,
                Truth::Null => result = Truth::Null,
                _ => {}
            }
            false
        };
        let found = match &self.members {
            Members::Any(members) => members.iter().any(test),
            Members::Ints(members) => members.iter().any(|int| test(&Value::Int(*int))),
            Members::Texts(members) => members
                .iter()
                .any(|text| test(&Value::String(String::from_utf8_lossy(text).into_owned()))),
        };
        if found { Truth::True } else { result }
    }
}
