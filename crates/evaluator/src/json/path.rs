//! Paths into JSON values.

use sluicegate_s3select::dialect::ast::{Name, PathStep};
use sluicegate_s3select::error::{Result, SelectError, SelectErrorCode};
use sluicegate_s3select::value::Value;

/// Which fields of which objects are looked at, as far as the statement tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldFilter<'a> {
    /// What FROM still has to go through before the row is reached; `None` within a row.
    from: Option<&'a [PathStep]>,
    /// The fields of the row that are wanted; `None` for all.
    fields: Option<&'a [Name]>,
}

impl<'a> FieldFilter<'a> {
    pub(super) const ALL: Self = Self { from: None, fields: None };

    pub(super) fn new(from: &'a [PathStep], fields: Option<&'a [Name]>) -> Self {
        Self { from: Some(from), fields }
    }

    /// The filter for the value of a field; `None` if it is not wanted.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        match (self.from, self.fields) {
            (None, _) | (Some([]), None) => Some(Self::ALL),
            (Some([]), Some(fields)) => {
                fields.iter().any(|field| field.matches(name)).then_some(Self::ALL)
            }
            (Some([PathStep::Field(step), rest @ ..]), _) => {
                step.matches(name).then_some(Self { from: Some(rest), ..self })
            }
            (Some([PathStep::AnyField, rest @ ..]), _) => Some(Self { from: Some(rest), ..self }),
            (Some([PathStep::Index(_) | PathStep::AnyIndex, ..]), _) => None,
        }
    }

    /// The filter for an element of an array; `None` if it is not wanted.
    pub(super) fn element(self, index: usize) -> Option<Self> {
        match self.from {
            None | Some([]) => Some(Self::ALL),
            Some([PathStep::Index(step), rest @ ..]) => {
                (*step == index as u64).then_some(Self { from: Some(rest), ..self })
            }
            Some([PathStep::AnyIndex, rest @ ..]) => Some(Self { from: Some(rest), ..self }),
            Some([PathStep::Field(_) | PathStep::AnyField, ..]) => None,
        }
    }
}

/// Appends the values that the path leads to, in order; one MISSING where it leads nowhere.
pub(super) fn expand(value: Value, path: &[PathStep], rows: &mut Vec<Value>) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        rows.push(value);
        return Ok(());
    };
    let many = match (step, value) {
        (PathStep::Field(name), Value::Struct(fields)) => match find(&fields, name)? {
            Some(index) => fields.into_iter().nth(index).map(|(_, value)| value),
            None => None,
        }
        .into_iter()
        .collect(),
        (PathStep::Index(index), Value::List(values)) => {
            let index = usize::try_from(*index).unwrap_or(usize::MAX);
            values.into_iter().nth(index).into_iter().collect()
        }
        (PathStep::AnyIndex, Value::List(values)) => values,
        (PathStep::AnyField, Value::Struct(fields)) => {
            fields.into_iter().map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    };
    if many.is_empty() {
        rows.push(Value::Missing);
        return Ok(());
    }
    many.into_iter().try_for_each(|value| expand(value, rest, rows))
}

/// The value that a path without wildcards leads to.
pub(super) fn lookup<'a>(value: &'a Value, path: &[PathStep]) -> Result<&'a Value> {
    let mut value = value;
    for step in path {
        let next = match (step, value) {
            (PathStep::Field(name), Value::Struct(fields)) => {
                find(fields, name)?.and_then(|index| fields.get(index)).map(|(_, value)| value)
            }
            (PathStep::Index(index), Value::List(values)) => {
                usize::try_from(*index).ok().and_then(|index| values.get(index))
            }
            _ => None,
        };
        value = next.unwrap_or(&Value::Missing);
    }
    Ok(value)
}

/// The field of that name, the last one if it is repeated.
fn find(fields: &[(String, Value)], name: &Name) -> Result<Option<usize>> {
    let mut found = fields.iter().enumerate().filter(|(_, (field, _))| name.matches(field));
    let Some((mut index, (first, _))) = found.next() else { return Ok(None) };
    for (next, (field, _)) in found {
        if field != first {
            return Err(SelectError::new(
                SelectErrorCode::AmbiguousFieldName,
                format!("Several fields are called {}.", name.text.escape_debug()),
            ));
        }
        index = next;
    }
    Ok(Some(index))
}
