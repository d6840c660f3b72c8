//! Paths into JSON values.

use std::sync::Arc;

use sluicegate_s3select::dialect::ast::{Name, PathStep};
use sluicegate_s3select::error::{Result, SelectError, SelectErrorCode};
use sluicegate_s3select::value::Value;

/// The parts of a value that the statement reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter<'a> {
    /// The steps of FROM before the row is reached; empty within a row.
    from: &'a [PathStep],
    /// The parts of the row to read; `None` for all of it.
    wanted: Option<PathTree<'a>>,
}

/// The paths that continue from a place in a row.
#[derive(Debug, Clone, Copy)]
struct PathTree<'a> {
    /// The paths of the statement, none of them empty.
    paths: &'a [Vec<PathStep>],
    /// The paths that lead to this place, as a set of bits, and the number of their steps up to it.
    live: u64,
    depth: usize,
}

impl<'a> Filter<'a> {
    const ALL: Self = Self { from: &[], wanted: None };

    /// Creates a filter from the paths to read in a row; `None` reads the whole row.
    pub(super) fn new(from: &'a [PathStep], paths: Option<&'a [Vec<PathStep>]>) -> Self {
        let wanted = paths.filter(|paths| paths.len() <= 64 && !paths.iter().any(Vec::is_empty));
        let all = |paths: &[Vec<PathStep>]| u64::MAX.checked_shr(64 - paths.len() as u32);
        let wanted =
            wanted.map(|paths| PathTree { paths, live: all(paths).unwrap_or(0), depth: 0 });
        Self { from, wanted }
    }

    /// Returns the filter for the row that FROM leads to.
    pub(super) fn row(self) -> Self {
        Self { from: &[], ..self }
    }

    /// Returns the filter for the value of a field; `None` if the field is not read.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        match self.from {
            [] => self.within(|step| matches!(step, PathStep::Field(n) if n.matches(name))),
            [PathStep::Field(step), from @ ..] => {
                step.matches(name).then_some(Self { from, ..self })
            }
            [..] => self.unnamed_field(),
        }
    }

    /// Returns the filter for the value of a field whose name no statement can contain; `None` if the field is not
    /// read.
    pub(super) fn unnamed_field(self) -> Option<Self> {
        match self.from {
            [PathStep::AnyField, from @ ..] => Some(Self { from, ..self }),
            _ => None,
        }
    }

    /// Returns whether everything is read, including names.
    pub(super) fn wants_all(self) -> bool {
        self.from.is_empty() && self.wanted.is_none()
    }

    /// Returns the filter for an element of an array; `None` if the element is not read.
    pub(super) fn element(self, index: usize) -> Option<Self> {
        match self.from {
            [] => self.within(|step| matches!(step, PathStep::Index(n) if *n == index as u64)),
            [PathStep::Index(step), from @ ..] => {
                (*step == index as u64).then_some(Self { from, ..self })
            }
            [PathStep::AnyIndex, from @ ..] => Some(Self { from, ..self }),
            [PathStep::Field(_) | PathStep::AnyField, ..] => None,
        }
    }

    /// Returns the filter for a part of a row; `leads_there` returns whether a step of a path leads to that part.
    fn within(self, leads_there: impl Fn(&PathStep) -> bool) -> Option<Self> {
        let Some(wanted) = self.wanted else { return Some(Self::ALL) };
        let mut live = 0;
        let mut rest = wanted.live;
        while rest != 0 {
            let path = rest.trailing_zeros();
            rest &= rest - 1;
            let steps = &wanted.paths[path as usize];
            if leads_there(&steps[wanted.depth]) {
                if steps.len() == wanted.depth + 1 {
                    return Some(Self::ALL);
                }
                live |= 1 << path;
            }
        }
        let wanted = Some(PathTree { live, depth: wanted.depth + 1, ..wanted });
        (live != 0).then_some(Self { wanted, ..self })
    }
}

/// Appends the values that the path leads to, in order, or one MISSING if it leads nowhere.
pub(super) fn expand(value: &Value, path: &[PathStep], rows: &mut Vec<Value>) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        rows.push(value.clone());
        return Ok(());
    };
    let before = rows.len();
    match (step, value) {
        (PathStep::AnyIndex, Value::List(values)) => {
            values.iter().try_for_each(|value| expand(value, rest, rows))?;
        }
        (PathStep::AnyField, Value::Struct(fields)) => {
            fields.iter().try_for_each(|(_, value)| expand(value, rest, rows))?;
        }
        _ => {
            if let Some(value) = one(value, step, find)? {
                expand(value, rest, rows)?;
            }
        }
    }
    if rows.len() == before {
        rows.push(Value::Missing);
    }
    Ok(())
}

/// Returns the value that a path without wildcards leads to.
pub(super) fn lookup<'a>(value: &'a Value, path: &[PathStep]) -> Result<&'a Value> {
    lookup_by(value, path, find)
}

/// Returns the value that a path without wildcards leads to, using `find` to find fields.
pub(super) fn lookup_by<'a>(
    value: &'a Value,
    path: &[PathStep],
    find: impl Fn(&Arc<[(String, Value)]>, &Name) -> Result<Option<usize>>,
) -> Result<&'a Value> {
    let mut value = value;
    for step in path {
        value = one(value, step, &find)?.unwrap_or(&Value::Missing);
    }
    Ok(value)
}

/// Returns the value that a step leads to; `None` for a wildcard.
fn one<'a>(
    value: &'a Value,
    step: &PathStep,
    find: impl Fn(&Arc<[(String, Value)]>, &Name) -> Result<Option<usize>>,
) -> Result<Option<&'a Value>> {
    Ok(match (step, value) {
        (PathStep::Field(name), Value::Struct(fields)) => {
            find(fields, name)?.and_then(|index| fields.get(index)).map(|(_, value)| value)
        }
        (PathStep::Index(index), Value::List(values)) => {
            usize::try_from(*index).ok().and_then(|index| values.get(index))
        }
        _ => None,
    })
}

/// Returns the position of the field with that name, and of the last one if it is repeated.
pub(super) fn find(fields: &Arc<[(String, Value)]>, name: &Name) -> Result<Option<usize>> {
    last(fields, 0..fields.len(), name)
}

/// Searches for a field with that name only at the given positions, which must ascend.
pub(super) fn last(
    fields: &[(String, Value)],
    among: impl IntoIterator<Item = usize>,
    name: &Name,
) -> Result<Option<usize>> {
    let mut found = None;
    for index in among.into_iter().filter(|index| name.matches(&fields[*index].0)) {
        if found.is_some_and(|before: usize| fields[before].0 != fields[index].0) {
            return Err(SelectError::new(
                SelectErrorCode::AmbiguousFieldName,
                format!("Several fields are called {}.", name.text.escape_debug()),
            ));
        }
        found = Some(index);
    }
    Ok(found)
}
