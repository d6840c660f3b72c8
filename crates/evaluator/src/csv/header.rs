//! Resolves the names in a statement to columns of a CSV object.

use std::sync::Arc;

use super::reader::CsvReader;
use crate::batch::{Column, Schema};
use crate::scan_range::ByteRange;
use crate::source::ObjectSource;
use crate::vector::Kind;
use sluicegate_s3select::dialect::ast::{From, PathStep};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{Compression, CsvInput};

/// The most columns that a header may name.
pub(super) const MAX_COLUMNS: usize = 10_000;

/// The columns of a CSV object, by position, and by name if its header is used.
#[derive(Debug, Default)]
pub(crate) struct CsvSchema {
    header: Option<Vec<String>>,
    /// True if the object has no records, and so not even a header. Every name then resolves to a column without
    /// rows.
    empty: bool,
}

impl CsvSchema {
    pub(super) fn new(header: Option<Vec<String>>) -> Self {
        Self { header, empty: false }
    }

    /// Returns the schema of an object that should have a header but has no records.
    pub(super) fn of_nothing() -> Self {
        Self { header: None, empty: true }
    }

    fn position(&self, path: &[PathStep]) -> Result<(usize, String), SelectError> {
        let name = match path {
            [PathStep::Field(name)] => name,
            [] => {
                return Err(SelectError::new(
                    SelectErrorCode::InvalidColumnIndex,
                    "A CSV row has no value of its own; name one of its columns.",
                ));
            }
            _ => {
                return Err(SelectError::new(
                    SelectErrorCode::InvalidKeyPath,
                    "The columns of a CSV object have no parts.",
                ));
            }
        };
        let header = self.header.as_deref().unwrap_or_default();
        let mut named = header.iter().enumerate().filter(|(_, column)| name.matches(column));
        if let Some((position, column)) = named.next() {
            if named.next().is_some() {
                return Err(SelectError::new(
                    SelectErrorCode::AmbiguousFieldName,
                    format!("Several columns are called {}.", name.text),
                ));
            }
            return Ok((position, column.clone()));
        }
        match name.position() {
            Some(0) => Err(SelectError::new(
                SelectErrorCode::InvalidColumnIndex,
                "Columns are counted from _1.",
            )),
            Some(number) => Ok((number - 1, format!("_{number}"))),
            None if self.empty => Ok((0, name.text.clone())),
            None if self.header.is_some() => Err(SelectError::new(
                SelectErrorCode::MissingHeaders,
                format!("The header has no column {}.", name.text),
            )),
            None => Err(SelectError::new(
                SelectErrorCode::InvalidColumnIndex,
                format!(
                    "There is no column {}: without FileHeaderInfo USE, columns are _1, _2, ….",
                    name.text
                ),
            )),
        }
    }
}

/// Resolves the names in a statement to column positions of a CSV object.
#[derive(Debug)]
pub struct CsvColumns {
    schema: CsvSchema,
    from: From,
}

impl CsvColumns {
    /// Reads the header of an object, if the options use it for names.
    ///
    /// # Errors
    /// Invalid options and headers that cannot be read.
    pub fn open(
        source: &Arc<dyn ObjectSource>,
        options: &CsvInput,
        from: &From,
    ) -> Result<Self, SelectError> {
        let (_, schema) = CsvReader::open(source, options, Compression::None, ByteRange::ALL)?;
        Ok(Self { schema, from: from.clone() })
    }

    /// Returns the position of a column, from 0; `None` if there is no such column.
    #[must_use]
    pub fn position(&self, path: &[PathStep]) -> Option<usize> {
        self.schema.position(self.from.within_row(path)).ok().map(|(position, _)| position)
    }
}

impl Schema for CsvSchema {
    fn resolve(&mut self, path: &[PathStep]) -> Result<Column, SelectError> {
        let (index, name) = self.position(path)?;
        Ok(Column { index, kind: Kind::Text, name })
    }
}
