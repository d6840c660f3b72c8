//! Resolves the names in a statement for a JSON object, whose rows may have any fields.

use std::collections::HashMap;

use crate::batch::{Column, Schema};
use crate::vector::Kind;
use sluicegate_s3select::dialect::ast::{From, PathStep};
use sluicegate_s3select::error::SelectError;

/// The paths that a statement uses, in the order of their first use.
#[derive(Debug, Clone)]
pub(crate) struct JsonSchema {
    pub(super) paths: Vec<Vec<PathStep>>,
    /// The position of each path in `paths`.
    known: HashMap<Vec<PathStep>, usize>,
    /// True if `_1` also names the row: without an alias, under FROM S3Object[*].
    row_is_1: bool,
}

impl JsonSchema {
    pub(super) fn new(from: &From) -> Self {
        let row_is_1 = from.alias.is_none() && from.path == [PathStep::AnyIndex];
        Self { paths: Vec::new(), known: HashMap::new(), row_is_1 }
    }
}

impl Schema for JsonSchema {
    fn resolve(&mut self, path: &[PathStep]) -> Result<Column, SelectError> {
        let path = match path {
            [PathStep::Field(name), rest @ ..] if self.row_is_1 && name.text == "_1" => rest,
            _ => path,
        };
        let name = match path.last() {
            Some(PathStep::Field(name)) => name.text.clone(),
            _ => "_1".to_owned(),
        };
        let known = self.known.get(path).copied();
        let index = known.unwrap_or_else(|| {
            let index = self.paths.len();
            self.paths.push(path.to_vec());
            self.known.insert(path.to_vec(), index);
            index
        });
        Ok(Column { index, kind: Kind::Dynamic, name })
    }
}
