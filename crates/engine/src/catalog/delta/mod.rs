//! Delta tables. Their log names the files of a version; our own scan reads these, so pushdown, indexes, statistics
//! and predictions apply to them as to other Parquet objects. Files with deleted rows are a scan of their own, which
//! reads them with GET and skips these rows.

mod versions;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, ScalarValue, Statistics, ToDFSchema};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::helpers::expr_applicable_for_cols;
use datafusion::datasource::listing::{ListingTableUrl, PartitionedFile};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{CreateExternalTable, Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::expressions::Column as ColumnExpr;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use sluicegate_delta::{Column, DataFile, LOG_FOLDER, Version};

pub(crate) use self::versions::DeltaVersions;
use crate::catalog::locations::{as_url, at_home};
use crate::catalog::partitions::{with_merged_statistics, with_value_statistics};
use crate::catalog::url_tables::may_read_files;
use crate::context::notes::Notes;
use crate::context::panics;
use crate::estimate::footer_statistics::cached_footer;
use crate::index::discovery::ExpectedListing;
use crate::scan::deleted_rows::{has_deleted_rows, kept, with_selection};
use crate::{ErrorKind, UserError};

/// The kind of table that STORED AS names.
pub(crate) const KIND: &str = "DELTA";

/// The name of the option, and of the argument of `delta_scan`, for the number of a version.
pub(crate) const VERSION: &str = "version";

/// A Delta table.
#[derive(Debug)]
pub(crate) struct DeltaTable {
    /// The folder of the table.
    location: ListingTableUrl,
    /// The number of the version that is read, or `None` for the latest one of each query.
    version: Option<u64>,
    /// The columns when the table was made.
    schema: SchemaRef,
    format: Arc<dyn FileFormat>,
    indexes: ExpectedListing,
}

/// Returns the table at a URL or path.
///
/// # Errors
///
/// If there is no such table or version, or its log cannot be read.
pub(crate) async fn table(
    state: &SessionState,
    url: &str,
    version: Option<&str>,
) -> Result<Arc<dyn TableProvider>> {
    let version = version.map(number).transpose()?;
    if !url.contains("://") {
        may_read_files(state)?;
    }
    let url = at_home(url)?;
    let folder = if url.ends_with('/') { url.into_owned() } else { format!("{url}/") };
    let location = ListingTableUrl::parse(as_url(&folder)?)?;
    let read = DeltaVersions::read(state, &location, version).await?;
    let format =
        state.get_file_format_factory("parquet").map(|it| it.create(state, &HashMap::new()));
    let format = format.transpose()?.ok_or_else(|| {
        datafusion::common::internal_datafusion_err!("the session reads no Parquet")
    })?;
    let schema = read.schema();
    Ok(Arc::new(DeltaTable {
        location,
        version,
        schema,
        format,
        indexes: ExpectedListing::default(),
    }))
}

/// Returns the table of CREATE EXTERNAL TABLE … STORED AS DELTA.
///
/// # Errors
///
/// If the statement declares columns, has other options, or the table cannot be read.
pub(crate) async fn declared(
    state: &dyn Session,
    command: &CreateExternalTable,
) -> Result<Arc<dyn TableProvider>> {
    let refused = |message: &str, hint: &str| UserError {
        kind: ErrorKind::Plan,
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    };
    if !command.schema.fields().is_empty() || !command.table_partition_cols.is_empty() {
        let message = "the log of a Delta table declares its columns";
        return Err(refused(message, "Leave the columns and PARTITIONED BY out.").into());
    }
    let [location] = command.locations.as_slice() else {
        return Err(refused("a Delta table has one location", "Name its folder.").into());
    };
    let mut version = None;
    for (option, value) in &command.options {
        let name = option.to_ascii_lowercase();
        if name.strip_prefix("format.").unwrap_or(&name) != VERSION {
            let message = format!("DELTA has no option `{option}`");
            return Err(refused(&message, "Its only option is version, a number.").into());
        }
        version = Some(value.as_str());
    }
    let Some(state) = state.as_any().downcast_ref::<SessionState>() else {
        return Err(
            refused("this session has no Delta tables", "Use a session of the engine.").into()
        );
    };
    table(state, location, version).await
}

/// Returns whether the objects below a folder are those of a Delta table.
pub(crate) fn is_table(location: &ListingTableUrl, objects: &[ObjectMeta]) -> bool {
    let log = location.prefix().clone().join(LOG_FOLDER);
    let is_numbered = |name: &str| name.starts_with(|first: char| first.is_ascii_digit());
    location.is_collection()
        && objects.iter().any(|object| {
            // Commits, and checkpoints that have replaced all of them.
            let is_of_log = object.location.filename().is_some_and(is_numbered);
            is_of_log && object.location.prefix_matches(&log)
        })
}

fn number(version: &str) -> Result<u64> {
    version.trim().parse().map_err(|_| {
        UserError {
            kind: ErrorKind::Plan,
            message: format!("`{version}` is no version of a Delta table"),
            hint: Some(
                "Versions are whole numbers from 0; without one, the latest is read.".to_owned(),
            ),
        }
        .into()
    })
}

impl DeltaTable {
    /// Returns the version that a query reads.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or has other columns than the table.
    async fn read(&self, state: &dyn Session) -> Result<Arc<Version>> {
        let read = DeltaVersions::read(state, &self.location, self.version).await?;
        if read.schema() != self.schema {
            return Err(UserError {
                kind: ErrorKind::Changed,
                message: format!(
                    "the columns of the Delta table at {} have changed",
                    self.location
                ),
                hint: Some("DROP TABLE and create it again to see the new ones.".to_owned()),
            }
            .into());
        }
        let notes = state.config().get_extension::<Notes>().unwrap_or_default();
        read.notes.iter().for_each(|note| notes.add(note.clone()));
        Ok(read)
    }

    /// Returns the files whose partition values pass the filters.
    ///
    /// # Errors
    ///
    /// If a partition value is no value of its column, or a filter cannot be evaluated.
    fn pruned<'a>(
        &self,
        state: &dyn Session,
        version: &'a Version,
        filters: &[Expr],
    ) -> Result<Vec<&'a DataFile>> {
        let Some(filter) = conjunction(filters.to_vec()) else {
            return Ok(version.files.iter().collect());
        };
        if version.files.is_empty() {
            return Ok(Vec::new());
        }
        let fields: Fields = partitions(version).map(|column| Arc::clone(&column.field)).collect();
        let columns = fields.iter().enumerate().map(|(place, field)| {
            let values = version.files.iter().map(|file| {
                value_of(file.partition_values[place].as_deref(), field.data_type(), file)
            });
            ScalarValue::iter_to_array(values.collect::<Result<Vec<_>>>()?)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let nullable: Fields =
            fields.iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        let schema = Arc::new(Schema::new(nullable));
        let batch = arrow::record_batch::RecordBatch::try_new(Arc::clone(&schema), columns)?;
        let passes = state.create_physical_expr(filter, &schema.to_dfschema()?)?;
        let passes = passes.evaluate(&batch)?.into_array(version.files.len())?;
        let passes = passes.as_boolean();
        let is_read = |place: usize| passes.is_valid(place) && passes.value(place);
        let files = version.files.iter().enumerate();
        Ok(files.filter(|(place, _)| is_read(*place)).map(|(_, file)| file).collect())
    }

    /// Finds the files in the store, for their entity tags.
    ///
    /// # Errors
    ///
    /// If a file is missing or outside the bucket, or the folder cannot be listed.
    async fn listed(
        &self,
        store: &Arc<dyn ObjectStore>,
        files: &[&DataFile],
    ) -> Result<Vec<ObjectMeta>> {
        let mut there: HashMap<Path, ObjectMeta> = HashMap::new();
        let mut listing = store.list(Some(self.location.prefix()));
        while let Some(object) = listing.try_next().await? {
            there.insert(object.location.clone(), object);
        }
        files.iter().map(|file| self.object(&mut there, file)).collect()
    }

    fn object(&self, there: &mut HashMap<Path, ObjectMeta>, file: &DataFile) -> Result<ObjectMeta> {
        let store = ListingTableUrl::parse(file.url.as_str())?;
        let refused = |kind, message, hint: &str| {
            Err(UserError { kind, message, hint: Some(hint.to_owned()) }.into())
        };
        if store.object_store() != self.location.object_store() {
            let message = format!("{} is a file of the Delta table at {}", file.url, self.location);
            let hint = "Files in another bucket than the log, as of a shallow clone, are not read.";
            return refused(ErrorKind::Unsupported, message, hint);
        }
        let path = Path::from_url_path(file.url.path())?;
        if !path.prefix_matches(self.location.prefix()) {
            let message = format!("{} is a file of the Delta table at {}", file.url, self.location);
            let hint = "Files outside of the table's folder, as of a shallow clone, are not read.";
            return refused(ErrorKind::Unsupported, message, hint);
        }
        match there.remove(&path) {
            Some(object) if object.size == file.size => Ok(object),
            Some(object) => refused(
                ErrorKind::Data,
                format!(
                    "`{path}` has {} bytes, and {} in the log of its Delta table",
                    object.size, file.size
                ),
                "The file was replaced or cut off; restore it.",
            ),
            None => refused(
                ErrorKind::NotFound,
                format!("`{path}` is a file of its Delta table{}, and is missing", self.name()),
                "VACUUM deletes files of old versions: read a later one.",
            ),
        }
    }

    fn name(&self) -> String {
        self.version.map_or_else(String::new, |version| format!(" at version {version}"))
    }

    /// Plans the scan of some files.
    async fn scan_of(
        &self,
        state: &dyn Session,
        version: &Version,
        files: Vec<PartitionedFile>,
        (projection, limit): (&[usize], Option<usize>),
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let of_log = partitions(version).map(|column| {
            let field = column.field.as_ref().clone().with_name(&column.stored_name);
            FieldRef::new(field.with_nullable(true))
        });
        let schema = TableSchema::builder(stored(version))
            .with_table_partition_cols(of_log.collect::<Vec<_>>());
        let source = self.format.file_source(schema.build());
        let all = Arc::clone(source.table_schema().table_schema());
        let groups = FileGroup::new(files).split_files(state.config().target_partitions());
        let collected = state.config().collect_statistics();
        let (groups, statistics) = with_merged_statistics(groups, &all, collected)?;
        let scan = FileScanConfigBuilder::new(self.location.object_store(), source)
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(Some(projection.to_vec()))?
            .with_limit(limit)
            .build();
        self.format.create_physical_plan(state, scan).await
    }

    /// Returns a file with its partition values, statistics and deleted rows.
    async fn file(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        (version, stored): (&Version, &SchemaRef),
        (file, object): (&DataFile, ObjectMeta),
    ) -> Result<PartitionedFile> {
        let values = file
            .partition_values
            .iter()
            .zip(partitions(version))
            .map(|(text, column)| value_of(text.as_deref(), column.field.data_type(), file));
        let values = values.collect::<Result<Vec<_>>>()?;
        let statistics = match state.config().collect_statistics() {
            true => self.format.infer_stats(state, store, Arc::clone(stored), &object).await?,
            false => Statistics::new_unknown(stored),
        };
        if file.deleted.is_empty() {
            let mut statistics = statistics;
            if let (Precision::Absent, Some(rows)) = (&statistics.num_rows, file.rows) {
                // The log is not trusted for COUNT(*).
                statistics.num_rows =
                    Precision::Inexact(usize::try_from(rows).unwrap_or(usize::MAX));
            }
            let scanned = PartitionedFile::new_from_meta(object).with_partition_values(values);
            return Ok(with_value_statistics(scanned.with_statistics(Arc::new(statistics))));
        }
        let footer = panics::footer(&object, cached_footer(state, store, &object)).await?;
        let rows = footer.row_groups().iter().map(|group| group.num_rows().max(0) as u64).sum();
        let kept = kept(&object.location, &file.deleted, rows)?;
        let mut statistics = statistics.to_inexact();
        statistics.num_rows = Precision::Exact(kept.row_count());
        let scanned = PartitionedFile::new_from_meta(object).with_partition_values(values);
        let scanned = with_value_statistics(scanned.with_statistics(Arc::new(statistics)));
        Ok(with_selection(scanned, kept))
    }

    async fn plan(
        &self,
        state: &dyn Session,
        version: &Version,
        files: Vec<&DataFile>,
        (projection, limit): (&[usize], Option<usize>),
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let store = state.runtime_env().object_store(&self.location)?;
        let objects = self.listed(&store, &files).await?;
        let stored = stored(version);
        let files = files.into_iter().zip(objects);
        let files = files.map(|file| self.file(state, &store, (version, &stored), file));
        // Each future is boxed by the stream.
        let files: Vec<_> = files.collect();
        let at_once = state.config_options().execution.meta_fetch_concurrency.get();
        let files: Vec<PartitionedFile> =
            stream::iter(files).buffered(at_once).try_collect().await?;
        let (deleted, whole): (Vec<_>, Vec<_>) = files.into_iter().partition(has_deleted_rows);
        let mut scans = Vec::new();
        if !whole.is_empty() {
            let scan = self.scan_of(state, version, whole, (projection, limit));
            scans.push(self.indexes.attach(state, &self.location.object_store(), scan).await?);
        }
        if !deleted.is_empty() {
            scans.push(self.scan_of(state, version, deleted, (projection, limit)).await?);
        }
        if scans.len() == 2 { UnionExec::try_new(scans) } else { Ok(scans.remove(0)) }
    }
}

/// Returns the partition columns of a version, in the order of the table's columns.
fn partitions(version: &Version) -> impl Iterator<Item = &Column> {
    version.columns.iter().filter(|column| column.is_partition)
}

/// Returns the columns of the data files, by their names there.
fn stored(version: &Version) -> SchemaRef {
    let fields = version.columns.iter().filter(|column| !column.is_partition).map(|column| {
        let field = column.field.as_ref().clone().with_name(&column.stored_name);
        // A file without the column has NULL.
        FieldRef::new(field.with_nullable(true))
    });
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// Returns the value of a partition column.
fn value_of(text: Option<&str>, data_type: &DataType, file: &DataFile) -> Result<ScalarValue> {
    match text {
        None => ScalarValue::try_from(data_type),
        Some(text) => parsed(text, data_type).map_err(|_| {
            UserError {
                kind: ErrorKind::Data,
                message: format!(
                    "`{text}` is a partition value of {}, and no {data_type}",
                    file.url
                ),
                hint: Some("The log of the Delta table is damaged.".to_owned()),
            }
            .into()
        }),
    }
}

/// Parses a partition value. Spark may write a small decimal with an exponent: `0E-10`.
fn parsed(text: &str, data_type: &DataType) -> Result<ScalarValue> {
    let is_decimal = matches!(data_type, DataType::Decimal128(..));
    let plain = if is_decimal { without_exponent(text) } else { None };
    ScalarValue::try_from_string(plain.unwrap_or_else(|| text.to_owned()), data_type)
}

/// Returns a number without its exponent: `-0.000001` for `-1E-6`. Returns `None` if it has none, or one that no decimal
/// needs.
fn without_exponent(text: &str) -> Option<String> {
    let (digits, exponent) = text.split_once(['E', 'e'])?;
    let exponent: i32 = exponent.parse().ok().filter(|it: &i32| it.unsigned_abs() <= 80)?;
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{whole}{fraction}");
    let point = i32::try_from(whole.len()).ok()? + exponent;
    let zeros = |count: i32| "0".repeat(count.max(0) as usize);
    let length = i32::try_from(digits.len()).ok()?;
    Some(if point <= 0 {
        format!("{sign}0.{}{digits}", zeros(-point))
    } else if point >= length {
        format!("{sign}{digits}{}", zeros(point - length))
    } else {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{sign}{whole}.{fraction}")
    })
}

#[async_trait]
impl TableProvider for DeltaTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // Which columns are partition columns is known when the version is read.
        Ok(filters.iter().map(|_| TableProviderFilterPushDown::Inexact).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let version = self.read(state).await?;
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let names: Vec<&str> = partitions(&version).map(|it| it.field.name().as_str()).collect();
        let of_partitions: Vec<Expr> = filters
            .iter()
            .filter(|filter| {
                // Subqueries have no columns here and no value yet.
                !filter.column_refs().is_empty() && expr_applicable_for_cols(&names, filter)
            })
            .cloned()
            .collect();
        let files = self.pruned(state, &version, &of_partitions)?;
        if files.is_empty() {
            return Ok(Arc::new(EmptyExec::new(Arc::new(self.schema.project(projection)?))));
        }
        let places = places(&version);
        let listed: Vec<usize> = projection.iter().map(|place| places[*place]).collect();
        let plan = self.plan(state, &version, files, (&listed, limit)).await?;
        self.as_named(plan, projection)
    }

    async fn insert_into(
        &self,
        _state: &dyn Session,
        _input: Arc<dyn ExecutionPlan>,
        _insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(UserError {
            kind: ErrorKind::Unsupported,
            message: format!("the Delta table at {} is only read", self.location),
            hint: Some(
                "COPY … TO writes Parquet, which other programs can add to the table.".to_owned(),
            ),
        }
        .into())
    }
}

/// Returns the index of each column of the table in its scans, in which partition columns are last.
fn places(version: &Version) -> Vec<usize> {
    let mut next = (0, version.columns.iter().filter(|column| !column.is_partition).count());
    let place = |column: &Column| {
        let counter = if column.is_partition { &mut next.1 } else { &mut next.0 };
        *counter += 1;
        *counter - 1
    };
    version.columns.iter().map(place).collect()
}

impl DeltaTable {
    /// Gives the columns of a scan the names that users see.
    fn as_named(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        projection: &[usize],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let scanned = plan.schema();
        let names: Vec<&str> =
            projection.iter().map(|place| self.schema.field(*place).name().as_str()).collect();
        if scanned.fields().iter().map(|field| field.name()).eq(names.iter()) {
            return Ok(plan);
        }
        let columns = scanned.fields().iter().zip(names).enumerate();
        let columns = columns.map(|(place, (field, name))| {
            let column: Arc<dyn PhysicalExpr> = Arc::new(ColumnExpr::new(field.name(), place));
            (column, name.to_owned())
        });
        Ok(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), plan)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_may_have_exponents() {
        for (text, expected) in [
            ("0E-10", Some("0.0000000000")),
            ("-1E-10", Some("-0.0000000001")),
            ("1.0E-7", Some("0.00000010")),
            ("1E+3", Some("1000")),
            ("-12.5e1", Some("-125")),
            ("12.345E1", Some("123.45")),
            ("1E999999999", None),
            ("12", None),
        ] {
            assert_eq!(without_exponent(text).as_deref(), expected, "{text}");
        }
        let value = parsed("-1E-6", &DataType::Decimal128(9, 8)).unwrap();
        assert_eq!(value, ScalarValue::Decimal128(Some(-100), 9, 8));
        let text = parsed("1E-6", &DataType::Utf8).unwrap();
        assert_eq!(text, ScalarValue::from("1E-6"));
    }
}
