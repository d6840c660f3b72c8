//! The columns of a table: their names for users and in data files.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use delta_kernel::Snapshot;
use delta_kernel::engine::arrow_conversion::TryIntoArrow;
use delta_kernel::schema::{
    ColumnMetadataKey, DataType as KernelType, MetadataValue, StructField, StructType,
};
use delta_kernel::table_features::ColumnMappingMode;

use crate::error::{Error, Result};

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name for users, its type, and whether it may be NULL.
    pub field: FieldRef,
    /// Its name in data files and in [`crate::DataFile::partition_values`]. With column mapping it differs from the
    /// name for users.
    pub stored_name: String,
    /// Whether its values are in the log, one for each file, rather than in the files.
    pub is_partition: bool,
}

/// Returns the columns of a version, and notes on those that are left out. `stored` are the columns of its data files.
pub(crate) fn of(snapshot: &Snapshot, stored: &StructType) -> Result<(Vec<Column>, Vec<String>)> {
    let mode = snapshot.table_properties().column_mapping_mode.unwrap_or(ColumnMappingMode::None);
    let is_mapped = mode != ColumnMappingMode::None;
    let (mut columns, mut left_out) = (Vec::new(), Vec::new());
    let schema = snapshot.schema();
    for field in schema.fields() {
        let stored_name = stored_name(field, is_mapped).to_owned();
        if is_mapped && has_other_names(field.data_type()) {
            left_out.push(field.name().as_str());
            continue;
        }
        let data_type: DataType = field
            .data_type()
            .try_into_arrow()
            .map_err(|error| Error::Damaged(format!("column `{}`: {error}", field.name())))?;
        let is_partition = stored.field(&stored_name).is_none();
        let shown = Field::new(field.name(), data_type, field.is_nullable());
        columns.push(Column { field: Arc::new(shown), stored_name, is_partition });
    }
    let notes = match left_out.as_slice() {
        [] => Vec::new(),
        names => vec![format!(
            "the fields of a STRUCT have other names in the files of this Delta table, which is not supported within \
             a column, so these columns are left out: {}",
            names.join(", ")
        )],
    };
    Ok((columns, notes))
}

/// Returns columns as a schema.
pub(crate) fn schema<'a>(fields: impl Iterator<Item = &'a FieldRef>) -> SchemaRef {
    Arc::new(Schema::new(fields.map(Arc::clone).collect::<Fields>()))
}

/// Returns the name of a field in data files.
fn stored_name(field: &StructField, is_mapped: bool) -> &str {
    let key = ColumnMetadataKey::ColumnMappingPhysicalName;
    match field.get_config_value(&key) {
        Some(MetadataValue::String(name)) if is_mapped => name,
        _ => field.name(),
    }
}

/// Returns whether a field within a type has another name in data files.
fn has_other_names(data_type: &KernelType) -> bool {
    match data_type {
        KernelType::Struct(fields) => fields.fields().any(|field| {
            stored_name(field, true) != field.name() || has_other_names(field.data_type())
        }),
        KernelType::Array(list) => has_other_names(&list.element_type),
        KernelType::Map(map) => has_other_names(&map.key_type) || has_other_names(&map.value_type),
        _ => false,
    }
}
