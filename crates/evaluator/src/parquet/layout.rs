//! Describes a Parquet schema beyond the Arrow types that the library derives from it: the leaves of each column,
//! look-up of columns by name, and values that Arrow has no type for.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::schema::types::SchemaDescriptor;

use super::int96::Unit;
use sluicegate_s3select::dialect::ast::Name;

/// The metadata key of a field whose values are UUIDs.
const UUID: &str = "uuid";

/// Returns whether the values of a field are UUIDs.
pub(super) fn is_uuid(field: &Field) -> bool {
    field.metadata().contains_key(UUID)
}

/// An index of the columns of an object.
#[derive(Debug)]
pub(super) struct Layout {
    /// The leaves of each column.
    leaves: Vec<Range<usize>>,
    /// The columns in the order of their names in lower case.
    by_name: Vec<u32>,
    /// The columns with the types to read them as, if these differ from the derived Arrow types. Timestamps of 96
    /// bits are in microseconds in the first list and in nanoseconds in the second.
    fields: Option<[Fields; 2]>,
}

impl Layout {
    pub(super) fn new(schema: &Schema, parquet: &SchemaDescriptor) -> Self {
        let count = schema.fields().len();
        let mut leaves = vec![0..0; count];
        let mut any_special = false;
        for leaf in 0..parquet.num_columns() {
            let column = parquet.column(leaf);
            any_special |= column.physical_type() == PhysicalType::INT96
                || matches!(column.logical_type_ref(), Some(LogicalType::Uuid));
            if let Some(range) = leaves.get_mut(parquet.get_column_root_idx(leaf)) {
                range.start = if range.start == range.end { leaf } else { range.start };
                range.end = leaf + 1;
            }
        }
        let mut by_name: Vec<u32> = (0..count as u32).collect();
        let name = |root: &u32| folded(schema.field(*root as usize).name());
        by_name.sort_by(|a, b| name(a).cmp(name(b)));
        let read = |unit| {
            let mut leaf = 0;
            let fields = schema.fields().iter();
            fields.map(|field| special(field, &mut leaf, parquet, unit)).collect::<Fields>()
        };
        let fields = any_special.then(|| [Unit::Micros, Unit::Nanos].map(read));
        Self { leaves, by_name, fields }
    }

    /// Returns the leaves of a column.
    pub(super) fn leaves(&self, root: usize) -> Range<usize> {
        self.leaves.get(root).cloned().unwrap_or_default()
    }

    /// Returns the first columns with a name, at most two.
    pub(super) fn named(&self, name: &Name, schema: &Schema) -> Vec<usize> {
        let field = |root: u32| schema.field(root as usize).name();
        let wanted = || folded(&name.text);
        let first = self.by_name.partition_point(|root| folded(field(*root)).lt(wanted()));
        let same =
            self.by_name[first..].iter().take_while(|root| folded(field(**root)).eq(wanted()));
        let same = same.filter(|root| name.matches(field(**root)));
        same.take(2).map(|root| *root as usize).collect()
    }

    /// Returns the columns with the types to read them as, if these differ from the derived Arrow types.
    pub(super) fn fields(&self, unit: Unit) -> Option<&Fields> {
        self.fields.as_ref().map(|fields| &fields[unit as usize])
    }
}

/// Returns the bytes of a name in lower case, as unquoted names ignore case.
fn folded(name: &str) -> impl Iterator<Item = u8> + '_ {
    name.bytes().map(|byte| byte.to_ascii_lowercase())
}

/// Returns a field with the type to read it as. `leaf` is the number of its first leaf, and is advanced past its last
/// one.
fn special(field: &FieldRef, leaf: &mut usize, parquet: &SchemaDescriptor, unit: Unit) -> FieldRef {
    let mut of = |field: &FieldRef| special(field, leaf, parquet, unit);
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect()),
        DataType::List(item) => DataType::List(of(item)),
        DataType::Map(entries, is_sorted) => DataType::Map(of(entries), *is_sorted),
        plain => {
            let number = *leaf;
            *leaf += 1;
            if number >= parquet.num_columns() {
                return Arc::clone(field);
            }
            let column = parquet.column(number);
            if matches!(column.logical_type_ref(), Some(LogicalType::Uuid)) {
                let metadata = HashMap::from([(UUID.to_owned(), String::new())]);
                return Arc::new(Field::clone(field).with_metadata(metadata));
            }
            match (column.physical_type(), unit) {
                (PhysicalType::INT96, Unit::Micros) => {
                    DataType::Timestamp(TimeUnit::Microsecond, None)
                }
                _ => plain.clone(),
            }
        }
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}
