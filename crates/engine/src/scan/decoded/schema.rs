//! Reads the columns of a file from its first bytes.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::Result;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use super::ipc::Footer;
use super::{DecodedFormat, Fault, avro, ipc};

/// The numbers of bytes that are fetched until the columns are found, one after the other.
const SNIFF_BYTES: [u64; 3] = [64 << 10, 1 << 20, 64 << 20];

impl DecodedFormat {
    /// Returns the columns of an object as a table has them. An object without a byte has none.
    ///
    /// # Errors
    ///
    /// If the object cannot be read, or does not follow the format.
    pub(crate) async fn columns_of(
        self,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Result<SchemaRef> {
        if object.size == 0 {
            return Ok(Arc::new(Schema::empty()));
        }
        let name = object.location.as_ref();
        if self == Self::Arrow
            && let Some(footer) = footer(store, &object.location, object.size).await?
        {
            return Ok(Arc::new(declared(&footer.schema)));
        }
        for most in SNIFF_BYTES {
            let end = object.size.min(most);
            let beginning = store.get_range(&object.location, 0..end).await?;
            let found = self.step(name, || match self {
                Self::Arrow => ipc::schema(&beginning, object.size),
                Self::Avro => avro::schema(&beginning),
            })?;
            if let Some(schema) = found {
                return Ok(Arc::new(declared(&schema)));
            }
            if end == object.size {
                return Err(self.fault(name, Fault("it is cut short".to_owned())));
            }
        }
        Err(self.fault(name, Fault("it has no columns in its first 64 MiB".to_owned())))
    }
}

/// Reads the footer of an Arrow file, or returns `None` for a stream, which has none.
///
/// # Errors
///
/// If the file cannot be read, or its footer is damaged.
pub(super) async fn footer(
    store: &Arc<dyn ObjectStore>,
    location: &Path,
    size: u64,
) -> Result<Option<Footer>> {
    let name = location.as_ref();
    let mut end = store.get_range(location, size.saturating_sub(SNIFF_BYTES[0])..size).await?;
    let length = DecodedFormat::Arrow.step(name, || Footer::length(&end))?;
    let Some(length) = length else { return Ok(None) };
    if length > end.len() {
        let start = size.saturating_sub(length as u64);
        end = store.get_range(location, start..size).await?;
    }
    let footer = DecodedFormat::Arrow.step(name, || match end.len().checked_sub(length) {
        Some(start) => Footer::parse(&end[start..], size),
        None => Err(Fault("its footer has a wrong length".to_owned())),
    });
    footer.map(Some)
}

/// Returns the columns of a table of files with these columns. Dictionaries are read as their values, and texts of all
/// layouts as VARCHAR, so that files of different writers fit together.
fn declared(schema: &Schema) -> Schema {
    Schema::new(schema.fields().iter().map(|field| plain(field)).collect::<Vec<FieldRef>>())
}

fn plain(field: &Field) -> FieldRef {
    // Without metadata, which differs among writers.
    Arc::new(Field::new(field.name(), plain_type(field.data_type()), field.is_nullable()))
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Float16 => DataType::Float32,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|it| plain(it)).collect()),
        DataType::List(item) | DataType::LargeList(item) | DataType::ListView(item) => {
            DataType::List(plain(item))
        }
        DataType::LargeListView(item) => DataType::List(plain(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(plain(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(plain(entries), *sorted),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_all_writers_are_alike() {
        let texts = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8));
        let list = |item: &DataType, large: bool| {
            let item = Arc::new(Field::new("item", item.clone(), true));
            if large { DataType::LargeList(item) } else { DataType::List(item) }
        };
        let written = Schema::new(vec![
            Field::new("a", texts.clone(), true),
            Field::new("b", list(&DataType::Utf8View, true), false),
            Field::new("c", DataType::Struct(vec![Field::new("d", texts, true)].into()), true),
            Field::new("e", DataType::Null, true),
        ]);
        let inner = vec![Field::new("d", DataType::Utf8, true)];
        assert_eq!(
            declared(&written),
            Schema::new(vec![
                Field::new("a", DataType::Utf8, true),
                Field::new("b", list(&DataType::Utf8, false), false),
                Field::new("c", DataType::Struct(inner.into()), true),
                Field::new("e", DataType::Utf8, true),
            ])
        );
    }
}
