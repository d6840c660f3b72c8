//! What a statement's names mean in a Parquet object.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::source::ParquetSource;
use super::{convert, guarded, parquet_error};
use crate::batch::{Column, Schema};
use crate::held::Reader;
use crate::scan_range::ByteRange;
use crate::source::ObjectSource;
use crate::vector::Kind;
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The most uncompressed bytes of a row group; the service's limit.
const MAX_ROW_GROUP_BYTES: i64 = 512 << 20;

/// A Parquet object whose footer was read, and the columns that a statement named.
#[derive(Clone)]
pub(crate) struct ParquetFile {
    pub(super) source: Arc<dyn ObjectSource>,
    pub(super) metadata: ArrowReaderMetadata,
    pub(super) columns: Vec<NamedColumn>,
    /// Where each is among them.
    known: HashMap<NamedColumn, usize>,
    /// Holds its long pages.
    pub(super) reader: Reader,
}

/// A column, or a part of a nested one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct NamedColumn {
    /// The position of the whole column in the schema.
    pub(super) root: usize,
    /// The way to the part.
    pub(super) path: Vec<PathStep>,
}

impl ParquetFile {
    /// Reads and checks the footer.
    pub(crate) fn open(source: &Arc<dyn ObjectSource>) -> Result<Self, SelectError> {
        // Types come from Parquet's schema alone: an Arrow schema inside could ask for others.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let chunks = ParquetSource::footer(source);
        let load = || ArrowReaderMetadata::load(&chunks, options).map_err(parquet_error);
        let metadata = guarded(load)?;
        check_metadata(metadata.metadata(), source.len())?;
        let reader = Reader::new();
        let (columns, known) = (Vec::new(), HashMap::new());
        Ok(Self { source: Arc::clone(source), metadata, columns, known, reader })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// The row groups that start in the range, and where they do.
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
        let fields = self.schema().fields();
        let mut named = fields.iter().enumerate().filter(|(_, field)| name.matches(field.name()));
        if let Some((root, _)) = named.next() {
            if named.next().is_some() {
                return Err(SelectError::new(
                    SelectErrorCode::AmbiguousFieldName,
                    format!("Several columns are called {}.", name.text),
                ));
            }
            return Ok(root);
        }
        match name.position() {
            Some(n) if (1..=fields.len()).contains(&n) => Ok(n - 1),
            _ => Err(SelectError::new(
                SelectErrorCode::InvalidColumnIndex,
                format!("There is no column {}.", name.text),
            )),
        }
    }

    /// Refuses a column of a type that has no values in the dialect.
    pub(super) fn check_type(&self, root: usize) -> Result<(), SelectError> {
        let field = &self.schema().fields()[root];
        let parquet = self.metadata.parquet_schema();
        let has_int96 = (0..parquet.num_columns()).any(|leaf| {
            parquet.get_column_root_idx(leaf) == root
                && parquet.column(leaf).physical_type() == PhysicalType::INT96
        });
        if has_int96 || !convert::is_supported(field.data_type()) {
            let kind = if has_int96 { "INT96".to_owned() } else { field.data_type().to_string() };
            return Err(SelectError::new(
                SelectErrorCode::UnsupportedTypeForQuerying,
                format!("Column {} has the type {kind}, which cannot be queried.", field.name()),
            ));
        }
        Ok(())
    }
}

impl ParquetFile {
    /// The number of a column that the statement names.
    fn name(&mut self, column: NamedColumn) -> usize {
        *self.known.entry(column).or_insert_with_key(|column| {
            self.columns.push(column.clone());
            self.columns.len() - 1
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
}

/// Refuses a path that could mean several fields.
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
            // MISSING in every row.
            _ => return Ok(()),
        };
    }
    Ok(())
}

fn is_nested(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Struct(_) | DataType::List(_) | DataType::Map(..))
}

/// Refuses a footer that points outside of the object, on which the library would panic, and
/// row groups beyond the service's limit.
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
