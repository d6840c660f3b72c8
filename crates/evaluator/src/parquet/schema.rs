//! Resolves the names in a statement to columns of a Parquet object.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::int96::Unit;
use super::layout::Layout;
use super::source::ParquetSource;
use super::{convert, guarded, parquet_error};
use crate::batch::{Column, Schema};
use crate::memory_budget::{MemoryConsumer, Reservation};
use crate::scan_range::ByteRange;
use crate::source::ObjectSource;
use crate::vector::Kind;
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The most uncompressed bytes of a row group, which is the limit of the S3 service.
const MAX_ROW_GROUP_BYTES: i64 = 512 << 20;

/// A Parquet object whose footer was read, with the columns that a statement named.
#[derive(Clone)]
pub(crate) struct ParquetFile {
    pub(super) source: Arc<dyn ObjectSource>,
    pub(super) metadata: ArrowReaderMetadata,
    layout: Arc<Layout>,
    pub(super) columns: Arc<Vec<NamedColumn>>,
    /// The position of each column in `columns`.
    known: Arc<HashMap<NamedColumn, usize>>,
    /// The reserved memory of the footer, which all clones share.
    _footer: Option<Arc<Reservation>>,
    /// The reserved memory of the page index, if it was read.
    pub(super) page_index: Option<Arc<Reservation>>,
    /// Reserves the memory of long pages.
    pub(super) reader: MemoryConsumer,
}

/// A column, or a part of a nested one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct NamedColumn {
    /// The position of the whole column in the schema.
    pub(super) root: usize,
    /// The path to the part; empty for the whole column.
    pub(super) path: Vec<PathStep>,
}

impl ParquetFile {
    /// Reads and checks the footer.
    pub(crate) fn open(source: &Arc<dyn ObjectSource>) -> Result<Self, SelectError> {
        // Use the types of the Parquet schema only; an embedded Arrow schema could require others.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let reader = MemoryConsumer::new();
        let chunks = ParquetSource::footer(source).bounded(u64::MAX, &reader);
        let load = || ArrowReaderMetadata::load(&chunks, options).map_err(parquet_error);
        let metadata = guarded(load)?;
        check_metadata(metadata.metadata(), source.len())?;
        let layout = Layout::new(metadata.schema(), metadata.parquet_schema());
        let (source, layout) = (Arc::clone(source), Arc::new(layout));
        let (columns, known) = (Arc::default(), Arc::default());
        let footer = chunks.into_reservation().map(Arc::new);
        let page_index = None;
        Ok(Self { source, metadata, layout, columns, known, _footer: footer, page_index, reader })
    }

    /// Returns the leaves of a column, given its position in the schema.
    pub(super) fn leaves(&self, root: usize) -> Range<usize> {
        self.layout.leaves(root)
    }

    /// Returns the columns with the types to read them as, if these differ from the derived Arrow types.
    pub(super) fn fields_read(&self, unit: Unit) -> Option<&Fields> {
        self.layout.fields(unit)
    }

    /// Returns a column with the type to read it as.
    pub(super) fn field(&self, root: usize) -> &Field {
        &self.fields_read(Unit::Micros).unwrap_or(self.schema().fields())[root]
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// Returns the row groups that start in the range, with their starts.
    pub(crate) fn groups_in(&self, range: ByteRange) -> Vec<(usize, u64)> {
        let groups = self.metadata.metadata().row_groups().iter().enumerate();
        let start = |(group, metadata): (usize, &RowGroupMetaData)| {
            let start = metadata.columns().iter().map(|chunk| chunk.byte_range().0).min()?;
            (range.start..range.end).contains(&start).then_some((group, start))
        };
        groups.filter_map(start).collect()
    }

    fn root(&self, step: &PathStep) -> Result<usize, SelectError> {
        let PathStep::Field(name) = step else {
            return Err(SelectError::new(
                SelectErrorCode::InvalidKeyPath,
                "A path into a row begins with the name of a column.",
            ));
        };
        match self.layout.named(name, self.schema())[..] {
            [root] => return Ok(root),
            [] => {}
            _ => {
                return Err(SelectError::new(
                    SelectErrorCode::AmbiguousFieldName,
                    format!("Several columns are called {}.", name.text),
                ));
            }
        }
        match name.position() {
            Some(n) if (1..=self.schema().fields().len()).contains(&n) => Ok(n - 1),
            _ => Err(SelectError::new(
                SelectErrorCode::InvalidColumnIndex,
                format!("There is no column {}.", name.text),
            )),
        }
    }

    /// Rejects a column of a type that has no values in the dialect.
    pub(super) fn check_type(&self, root: usize) -> Result<(), SelectError> {
        let field = &self.schema().fields()[root];
        if !convert::is_supported(field.data_type()) {
            let kind = field.data_type();
            return Err(SelectError::new(
                SelectErrorCode::UnsupportedTypeForQuerying,
                format!("Column {} has the type {kind}, which cannot be queried.", field.name()),
            ));
        }
        Ok(())
    }
}

impl ParquetFile {
    /// Returns the number of a column that the statement names.
    fn name(&mut self, column: NamedColumn) -> usize {
        let columns = Arc::make_mut(&mut self.columns);
        *Arc::make_mut(&mut self.known).entry(column).or_insert_with_key(|column| {
            columns.push(column.clone());
            columns.len() - 1
        })
    }
}

impl Schema for ParquetFile {
    fn resolve(&mut self, path: &[PathStep]) -> Result<Column, SelectError> {
        let Some((first, path)) = path.split_first() else {
            return Err(SelectError::new(
                SelectErrorCode::InvalidColumnIndex,
                "A row has no value of its own; name one of its columns.",
            ));
        };
        let root = self.root(first)?;
        self.check_type(root)?;
        let field = &self.schema().fields()[root];
        let kind = if path.is_empty() { convert::kind(field.data_type()) } else { Kind::Dynamic };
        if !path.is_empty() && !is_nested(field) {
            return Err(SelectError::new(
                SelectErrorCode::InvalidKeyPath,
                format!("Column {} has no parts.", field.name()),
            ));
        }
        check_path(field.data_type(), path)?;
        let name = field.name().clone();
        Ok(Column { index: self.name(NamedColumn { root, path: path.to_vec() }), kind, name })
    }

    fn all(&mut self) -> Result<Option<Vec<Column>>, SelectError> {
        let fields = self.schema().fields().clone();
        let columns = fields.iter().enumerate().map(|(root, field)| {
            self.check_type(root)?;
            let index = self.name(NamedColumn { root, path: Vec::new() });
            let kind = convert::kind(field.data_type());
            Ok(Column { index, kind, name: field.name().clone() })
        });
        columns.collect::<Result<_, _>>().map(Some)
    }

    fn decimal_type(&self, column: usize) -> Option<(u8, i8)> {
        let NamedColumn { root, path } = self.columns.get(column)?;
        match self.schema().fields()[*root].data_type() {
            DataType::Decimal128(precision, scale) if path.is_empty() => Some((*precision, *scale)),
            _ => None,
        }
    }
}

/// Rejects a path that matches several fields.
fn check_path(mut data_type: &DataType, path: &[PathStep]) -> Result<(), SelectError> {
    for step in path {
        data_type = match (step, data_type) {
            (PathStep::Field(name), DataType::Struct(fields)) => {
                let mut named = fields.iter().filter(|field| name.matches(field.name()));
                let Some(field) = named.next() else { return Ok(()) };
                if named.next().is_some() {
                    return Err(SelectError::new(
                        SelectErrorCode::AmbiguousFieldName,
                        format!("Several fields of a group are called {}.", name.text),
                    ));
                }
                field.data_type()
            }
            (PathStep::Index(_), DataType::List(item) | DataType::Map(item, _)) => item.data_type(),
            // The value is MISSING in every row.
            _ => return Ok(()),
        };
    }
    Ok(())
}

fn is_nested(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Struct(_) | DataType::List(_) | DataType::Map(..))
}

/// Rejects a footer that points outside of the object, on which the library would panic, and row groups beyond the
/// service's limit.
fn check_metadata(metadata: &ParquetMetaData, len: u64) -> Result<(), SelectError> {
    let inside = |offset: i64, size: i64| {
        let end = u64::try_from(offset).ok().zip(u64::try_from(size).ok());
        end.and_then(|(offset, size)| offset.checked_add(size)).is_some_and(|end| end <= len)
    };
    for group in metadata.row_groups() {
        let chunks_inside = group.columns().iter().all(|chunk| {
            inside(chunk.data_page_offset(), 0)
                && inside(
                    chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()),
                    chunk.compressed_size(),
                )
                && chunk.uncompressed_size() >= 0
        });
        if !chunks_inside || group.num_rows() < 0 {
            return Err(parquet_error("a column chunk lies outside of the object"));
        }
        let bytes = group
            .columns()
            .iter()
            .try_fold(0_i64, |sum, chunk| sum.checked_add(chunk.uncompressed_size()));
        if bytes.is_none_or(|bytes| bytes > MAX_ROW_GROUP_BYTES) {
            return Err(SelectError::new(
                SelectErrorCode::OverMaxParquetBlockSize,
                "A row group has more than 512 MiB of uncompressed data.",
            ));
        }
    }
    Ok(())
}
