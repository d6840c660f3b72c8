//! Checks that a Parquet object stores the types that its table declares.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetSource;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};

use super::get::GetScan;
use crate::context::panics;

/// The reason why a Parquet object is read locally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The footer cannot be read, or has columns of unknown types.
    Footer(String),
    /// A column is stored as another type than the table declares, or is missing.
    Column {
        /// The name of the column.
        name: String,
        /// The type that the table declares.
        declared: DataType,
        /// The type in the object; `None` if the object does not have the column exactly once.
        stored: Option<DataType>,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Footer(why) => write!(f, "its footer cannot be read: {why}"),
            Self::Column { name, declared, stored: Some(stored) } => {
                write!(f, "column {name} is declared as {declared} and stored as {stored}")
            }
            Self::Column { name, .. } => write!(f, "it does not have one column {name}"),
        }
    }
}

/// Compares the footer of a Parquet object with the declared types of some columns.
///
/// A store interprets a column by its type in the object, DataFusion also by the type that the table declares.
/// Statements are exact only where the two types are the same. Footers come from the session's cache of Parquet
/// metadata, which planning usually filled. A Select answer names the version of its object, so a footer of another
/// version does no harm.
///
/// # Errors
///
/// The first difference.
pub(crate) async fn check(
    scan: &GetScan,
    file: &PartitionedFile,
    declared: &Schema,
    columns: &BTreeSet<usize>,
) -> Result<(), Mismatch> {
    if columns.is_empty() || !scan.source().is::<ParquetSource>() {
        return Ok(());
    }
    let footer = footer(scan, file).await.map_err(Mismatch::Footer)?;
    compare(&footer, declared, columns)
}

/// Returns the footer of a Parquet object.
///
/// # Errors
///
/// If it cannot be read, or if the scan does not read Parquet.
pub(crate) async fn footer(
    scan: &GetScan,
    file: &PartitionedFile,
) -> Result<Arc<ParquetMetaData>, String> {
    let source = scan.source().downcast_ref::<ParquetSource>();
    let source = source.ok_or("it is no Parquet object")?;
    let readers = source.parquet_file_reader_factory().ok_or("it has no reader")?;
    let hint = source.table_parquet_options().global.metadata_size_hint;
    let mut reader = readers
        .create_reader(0, file.clone(), hint, &ExecutionPlanMetricsSet::new())
        .map_err(|error| error.to_string())?;
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Skip);
    let footer = async { Ok(reader.get_metadata(Some(&options)).await?) };
    let footer = panics::caught("reading it", footer).await;
    footer.map_err(|error| error.strip_backtrace())
}

fn compare(
    footer: &ParquetMetaData,
    declared: &Schema,
    columns: &BTreeSet<usize>,
) -> Result<(), Mismatch> {
    let stored = StoredTypes::from_footer(footer)?;
    let declared = columns.iter().filter_map(|index| declared.fields().get(*index));
    declared.into_iter().try_for_each(|field| stored.check(field))
}

/// The column types of a Parquet object: first by the types of Parquet, which is all that a store sees, then as
/// DataFusion reads them, with the Arrow types that the writer recorded.
#[derive(Debug)]
pub(crate) struct StoredTypes([HashMap<String, Option<DataType>>; 2]);

/// Returns the types of columns by name, with `None` for a name that two columns have. It is a map because an object
/// may have 100,000 columns.
fn by_name(schema: &Schema) -> HashMap<String, Option<DataType>> {
    let mut types = HashMap::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let known = types.entry(field.name().clone());
        known.and_modify(|it| *it = None).or_insert_with(|| Some(field.data_type().clone()));
    }
    types
}

impl StoredTypes {
    /// Returns the types in a footer.
    ///
    /// # Errors
    ///
    /// If a column has an unknown type.
    pub(crate) fn from_footer(footer: &ParquetMetaData) -> Result<Self, Mismatch> {
        let parquet = footer.file_metadata();
        let stored = |notes| {
            parquet_to_arrow_schema(parquet.schema_descr(), notes)
                .map(|schema| by_name(&schema))
                .map_err(|error| Mismatch::Footer(error.to_string()))
        };
        Ok(Self([stored(None)?, stored(parquet.key_value_metadata())?]))
    }

    /// Compares a column with its declaration.
    ///
    /// # Errors
    ///
    /// The difference.
    pub(crate) fn check(&self, declared: &Field) -> Result<(), Mismatch> {
        for stored in &self.0 {
            let found = stored.get(declared.name()).and_then(Option::as_ref);
            if !found.is_some_and(|found| is_same(declared.data_type(), found)) {
                return Err(Mismatch::Column {
                    name: declared.name().clone(),
                    declared: declared.data_type().clone(),
                    stored: found.cloned(),
                });
            }
        }
        Ok(())
    }
}

/// Returns true if values of the two types have the same text.
fn is_same(declared: &DataType, stored: &DataType) -> bool {
    match stored {
        DataType::Dictionary(_, values) => is_same(declared, values),
        // Only the writer of Arrow names this type. The other view of the column proves that it is stored as DATE.
        DataType::Date64 => *declared == DataType::Date32,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            matches!(declared, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        }
        stored => declared == stored,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::file::metadata::FileMetaData;

    use super::*;

    #[track_caller]
    fn check(declared: DataType, stored: Vec<(&str, DataType)>, expected: bool) {
        let fields = stored.iter().map(|(name, of)| Field::new(*name, of.clone(), true));
        let stored = Schema::new(fields.collect::<Vec<_>>());
        let descriptor = ArrowSchemaConverter::new().convert(&stored).unwrap();
        let file = FileMetaData::new(2, 0, None, None, Arc::new(descriptor), None);
        let declared = Schema::new(vec![Field::new("x", declared, true)]);
        let compared = compare(&ParquetMetaData::new(file, vec![]), &declared, &[0].into());
        assert_eq!(compared.is_ok(), expected, "{declared:?} {stored:?}: {compared:?}");
    }

    #[test]
    fn only_the_declared_type_is_the_declared_type() {
        use DataType::{Date32, Decimal128, Int32, Int64, UInt32, Utf8, Utf8View};
        check(Int32, vec![("x", Int32)], true);
        check(Int32, vec![("y", Utf8), ("x", Int32)], true);
        check(Utf8View, vec![("x", Utf8)], true);
        check(Decimal128(10, 2), vec![("x", Decimal128(10, 2))], true);
        check(Decimal128(10, 2), vec![("x", Decimal128(10, 3))], false);
        check(Decimal128(10, 2), vec![("x", Decimal128(12, 2))], false);
        check(Int64, vec![("x", Int32)], false);
        check(Int32, vec![("x", UInt32)], false);
        check(Utf8, vec![("x", Date32)], false);
        check(Utf8, vec![("x", DataType::Timestamp(TimeUnit::Microsecond, None))], false);
        check(Utf8, vec![("x", DataType::Binary)], false);
        check(Date32, vec![("x", Utf8)], false);
        check(Int32, vec![("X", Int32)], false);
        check(Int32, vec![], false);
        check(Int32, vec![("x", Int32), ("x", Int32)], false);
    }

    #[test]
    fn a_mismatch_names_the_column() {
        let stored = Some(DataType::Int32);
        let mismatch = Mismatch::Column { name: "x".to_owned(), declared: DataType::Utf8, stored };
        assert_eq!(mismatch.to_string(), "column x is declared as Utf8 and stored as Int32");
    }
}
