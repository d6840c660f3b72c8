//! File formats of tables in a store: DataFusion's and ours, with statistics that can be relied on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::JsonOptions;
use datafusion::common::stats::Precision;
use datafusion::common::{GetExt, Result, Statistics};
use datafusion::datasource::file_format::csv::{CsvFormat, CsvFormatFactory};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::{JsonFormat, JsonFormatFactory};
use datafusion::datasource::file_format::parquet::ParquetFormatFactory;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory, FileMeta};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::table_schema::{TableSchema, TableSchemaBuilder};
use datafusion::physical_expr::{LexOrdering, LexRequirement};
use datafusion::physical_plan::ExecutionPlan;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use object_store::{ObjectMeta, ObjectStore};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::ParquetMetaData;

use crate::catalog::decoded_format::{DecodedFileFormat, DecodedFormatFactory};
use crate::catalog::option_values;
use crate::catalog::partitions::Partitions;
use crate::context::file_names::{ARROW, ARROW_STREAM};
use crate::context::listing::is_hidden;
use crate::context::notes::{Notes, some_of};
use crate::context::panics;
use crate::estimate::footer_statistics::{cached_footer, trusted_statistics};
use crate::estimate::statistics::footers;
use crate::estimate::statistics::footers::Budget;
use crate::estimate::statistics::table;
use crate::scan::decoded::DecodedFormat;
use crate::text::csv::dialect;
use crate::text::csv::options;
use crate::text::csv::options::{CsvOptions, Values};
use crate::text::json::layout;
use crate::text::located_errors::{LocatedSource, TextLayout};
use crate::text::merged_columns::{MergedColumns, two_of};
use crate::text::sampled_schema;
use crate::{ErrorKind, UserError};

/// Creates [`S3Format`]s of one kind, for example for `STORED AS CSV` and `*.csv`.
#[derive(Debug)]
pub(crate) struct S3FormatFactory {
    inner: Arc<dyn FileFormatFactory>,
    extension: &'static str,
}

impl S3FormatFactory {
    /// Returns factories for CSV, JSON, the other names of JSON with an object per line, Parquet, Arrow by all of its
    /// names, and Avro. Their formats take their options from the statement and the session.
    #[must_use]
    pub(crate) fn all() -> Vec<Arc<dyn FileFormatFactory>> {
        let csv: Arc<dyn FileFormatFactory> = Arc::new(CsvFormatFactory::new());
        let json: Arc<dyn FileFormatFactory> = Arc::new(JsonFormatFactory::new());
        let parquet: Arc<dyn FileFormatFactory> = Arc::new(ParquetFormatFactory::new());
        let decoded =
            |format| -> Arc<dyn FileFormatFactory> { Arc::new(DecodedFormatFactory { format }) };
        let (arrow, avro) = (decoded(DecodedFormat::Arrow), decoded(DecodedFormat::Avro));
        let named = |extension, inner: &Arc<dyn FileFormatFactory>| {
            let factory: Arc<dyn FileFormatFactory> =
                Arc::new(Self { inner: Arc::clone(inner), extension });
            factory
        };
        let mut all = vec![
            named("csv", &csv),
            named("json", &json),
            named("ndjson", &json),
            named("jsonl", &json),
            named("parquet", &parquet),
            named("avro", &avro),
        ];
        all.extend(ARROW.map(|extension| named(extension, &arrow)));
        all
    }

    fn wrap(&self, inner: Arc<dyn FileFormat>, csv: CsvOptions) -> Arc<dyn FileFormat> {
        Arc::new(S3Format {
            inner,
            csv,
            extension: self.extension,
            footers: Arc::default(),
            partitions: Partitions::default(),
        })
    }
}

/// Leaves out columns of Parquet's INTERVAL. The reader drops their months.
fn without_intervals(schema: SchemaRef, notes: &Notes) -> SchemaRef {
    let is_interval =
        |field: &FieldRef| matches!(field.data_type(), DataType::Interval(IntervalUnit::DayTime));
    let (lost, kept): (Vec<FieldRef>, Vec<FieldRef>) =
        schema.fields().iter().cloned().partition(is_interval);
    if lost.is_empty() {
        return schema;
    }
    let names: Vec<&String> = lost.iter().map(|field| field.name()).collect();
    notes.add(format!(
        "an INTERVAL of Parquet cannot be read with its months, so it is left out: {}",
        some_of(&names)
    ));
    Arc::new(Schema::new_with_metadata(kept, schema.metadata().clone()))
}

/// Returns the columns of a Parquet object with the types that are stored. The Arrow schema that writers add declares
/// categories as dictionaries and dates as Date64; the store sends neither. With `views`, text is read as views.
fn stored_columns(columns: &Schema, footer: &ParquetMetaData, views: bool) -> Result<SchemaRef> {
    let is_declared =
        |field: &FieldRef| matches!(field.data_type(), DataType::Dictionary(..) | DataType::Date64);
    if !columns.fields().iter().any(is_declared) {
        return Ok(Arc::new(columns.clone()));
    }
    let stored = parquet_to_arrow_schema(footer.file_metadata().schema_descr(), None)?;
    let fields = columns.fields().iter().map(|field| {
        let of = match field.data_type() {
            DataType::Dictionary(_, values) => match values.as_ref() {
                DataType::Utf8 | DataType::LargeUtf8 if views => DataType::Utf8View,
                DataType::Binary | DataType::LargeBinary if views => DataType::BinaryView,
                values => values.clone(),
            },
            // It may also be stored as a number of milliseconds.
            DataType::Date64 => match stored.field_with_name(field.name()) {
                Ok(stored) if *stored.data_type() == DataType::Date32 => DataType::Date32,
                _ => return Arc::clone(field),
            },
            _ => return Arc::clone(field),
        };
        // A new field, as that of a dictionary says whether it is ordered.
        let plain = Field::new(field.name(), of, field.is_nullable());
        Arc::new(plain.with_metadata(field.metadata().clone()))
    });
    let fields: Vec<FieldRef> = fields.collect();
    Ok(Arc::new(Schema::new_with_metadata(fields, columns.metadata().clone())))
}

/// Checks that the columns of a Parquet object have different names: DataFusion would read one of two.
///
/// # Errors
///
/// If two columns have the same name.
fn check_names(object: &ObjectMeta, footer: &ParquetMetaData) -> Result<()> {
    let mut names = HashSet::new();
    let columns = footer.file_metadata().schema_descr().root_schema().get_fields();
    match columns.iter().find(|column| !names.insert(column.name())) {
        None => Ok(()),
        Some(twice) => Err(two_of(twice.name(), object)),
    }
}

/// The minimum size of a Parquet file in bytes: the magic number twice, and the length of the footer.
const LEAST_PARQUET: u64 = 12;

impl FileFormatFactory for S3FormatFactory {
    fn create(
        &self,
        state: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        let is_csv = self.extension == "csv";
        let (options, theirs) = match is_csv {
            true => (CsvOptions::parse(state, format_options)?, &options::others(format_options)),
            false => (CsvOptions::default(), &options::without_by_name(format_options)),
        };
        if !is_csv {
            option_values::check_by_name(self.extension, format_options)?;
        }
        let created = self.inner.create(state, theirs);
        let format = created.map_err(|error| {
            option_values::check_all(self.extension, format_options).err().unwrap_or(error)
        })?;
        dialect::check_options(&format)?;
        Ok(self.wrap(format, options))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        self.wrap(FileFormatFactory::default(self.inner.as_ref()), CsvOptions::default())
    }
}

impl GetExt for S3FormatFactory {
    fn get_ext(&self) -> String {
        self.extension.to_owned()
    }
}

/// DataFusion's CSV, JSON or Parquet format, or one that is decoded locally, with our own statistics. Join order, and so everything that a join can
/// push down, depends on these statistics.
///
/// For text, they are the sizes of the listing, and values that were stored for the objects or seen in samples of a
/// few of them ([`table`]). For Parquet, they come from the footers of at most as many objects as a [`Budget`]
/// allows. The least and the greatest floating-point number are marked inexact, because footers leave NaN out and
/// store -0.0 for 0.0, and DataFusion answers MIN and MAX from exact values.
#[derive(Debug)]
pub(crate) struct S3Format {
    inner: Arc<dyn FileFormat>,
    /// CSV options that DataFusion does not have.
    csv: CsvOptions,
    extension: &'static str,
    footers: Arc<Budget>,
    /// The columns that name the folders of the table; empty if listings return no such columns as text.
    partitions: Partitions,
}

#[async_trait]
impl FileFormat for S3Format {
    fn get_ext(&self) -> String {
        self.extension.to_owned()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        Ok(format!("{}{}", self.extension, compression.get_ext()))
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.inner.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        if !self.is_text() {
            return self.infer_from_footers(state, store, objects).await;
        }
        // Local folders are listed in no particular order.
        let mut objects = objects.to_vec();
        objects.sort_by(|one, other| one.location.cmp(&other.location));
        let objects = objects.as_slice();
        let (inner, store) = self.text_of(store);
        let (inner, store) = (&inner, &store);
        let look = move |sampled: Arc<dyn ObjectStore>| {
            let csv = &self.csv;
            let look = async move {
                dialect::columns(state, inner, (&sampled, store), objects, csv).await
            };
            Box::pin(look) as BoxFuture<'_, Result<SchemaRef>>
        };
        let schema = sampled_schema::infer(store, objects, look).await?;
        self.csv.values.with_types(&schema)
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        if self.is_parquet() && self.footers.allows(object) {
            let declared = Arc::clone(&table_schema);
            let footer = self.inner.infer_stats(state, store, table_schema, object);
            let statistics = panics::footer(object, footer).await?;
            return Ok(trusted_statistics(statistics, state, store, &declared, object).await);
        }
        // Once all objects are listed, `table` and `footers` add more.
        let mut statistics = Statistics::new_unknown(&table_schema);
        let bytes = usize::try_from(object.size).unwrap_or(usize::MAX);
        statistics.total_byte_size = Precision::Inexact(bytes);
        if object.size == 0 {
            statistics.num_rows = Precision::Exact(0);
        }
        Ok(statistics)
    }

    async fn infer_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        let ordering = self.inner.infer_ordering(state, store, table_schema, object);
        panics::footer(object, ordering).await
    }

    async fn infer_stats_and_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<FileMeta> {
        if !self.is_parquet() || !self.footers.allows(object) {
            return Ok(FileMeta::new(self.infer_stats(state, store, table_schema, object).await?));
        }
        // The footer is read once for both.
        let declared = Arc::clone(&table_schema);
        let footer = self.inner.infer_stats_and_ordering(state, store, table_schema, object);
        let mut meta = panics::footer(object, footer).await?;
        meta.statistics =
            trusted_statistics(meta.statistics, state, store, &declared, object).await;
        Ok(meta)
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        conf: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let conf = match self.partitions.is_empty() {
            true => conf,
            false => self.partitions.typed(conf, state.config().collect_statistics())?,
        };
        let conf = match self.inner.downcast_ref::<JsonFormat>() {
            Some(json) if json.is_newline_delimited() => {
                LocatedSource::wrap(&conf, layout::of_scan(state, &conf).await?)
            }
            Some(_) => LocatedSource::wrap(&conf, TextLayout::JsonArray),
            None => conf,
        };
        let scan = self.inner.create_physical_plan(state, conf).await?;
        let scan = LocatedSource::recoded(scan, self.csv.recoding);
        table::attach(state, footers::attach(state, scan)).await
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        mut conf: FileSinkConfig,
        order_requirements: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.csv != CsvOptions::default() {
            return Err(UserError {
                kind: ErrorKind::Unsupported,
                message: "nothing can be written to a table with options that are only for reading"
                    .to_owned(),
                hint: Some(format!(
                    "Leave them out, or write to a table of its own: {}.",
                    options::NAMES.join(", ")
                )),
            }
            .into());
        }
        if self.extension == ARROW_STREAM {
            return Err(UserError {
                kind: ErrorKind::Unsupported,
                message: "streams of Arrow are read, and not written".to_owned(),
                hint: Some("Write a file, which readers of Arrow take, too: '….arrow'.".to_owned()),
            }
            .into());
        }
        // A row without a value is written into its own folder.
        let nullable = conf.output_schema.fields().iter().map(|field| {
            let may_be_null = field.is_nullable() || self.partitions.has(field.name());
            Arc::new(field.as_ref().clone().with_nullable(may_be_null))
        });
        let nullable: Fields = nullable.collect();
        let metadata = conf.output_schema.metadata().clone();
        conf.output_schema = Arc::new(Schema::new_with_metadata(nullable, metadata));
        self.inner.create_writer_physical_plan(input, state, conf, order_requirements).await
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        if self.partitions.is_empty() {
            return self.inner.file_source(table_schema);
        }
        let typed = TableSchemaBuilder::from(table_schema.file_schema())
            .with_table_partition_cols(self.partitions.fields().to_vec());
        self.inner.file_source(typed.build())
    }
}

impl S3Format {
    /// Returns this format for a table whose folders are named by `partitions`, which its listings return as text.
    pub(crate) fn over_listing(&self, partitions: Partitions) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            csv: self.csv.clone(),
            extension: self.extension,
            footers: Arc::clone(&self.footers),
            partitions,
        }
    }

    /// Returns this format with schema inference from a few records, to look at one object, or `None` if that would
    /// fetch the whole of a large object.
    pub(crate) fn looking_at(&self, object: &ObjectMeta) -> Option<Self> {
        const RECORDS: usize = 100;
        const LARGEST_ARRAY: u64 = 16 << 20;
        let mut looking = self.over_listing(Partitions::default());
        if let Some(json) = self.inner.downcast_ref::<JsonFormat>() {
            if !json.is_newline_delimited() && object.size > LARGEST_ARRAY {
                return None;
            }
            let options = json.options().clone();
            let options = JsonOptions { schema_infer_max_rec: Some(RECORDS), ..options };
            looking.inner = Arc::new(JsonFormat::default().with_options(options));
        }
        Some(looking)
    }

    /// Infers the schema of objects that declare it; an error is about the first bad object in the order of names.
    async fn infer_from_footers(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let mut objects = objects.to_vec();
        objects.sort_by(|one, other| one.location.cmp(&other.location));
        let objects = objects.as_slice();
        let notes = state.config().get_extension::<Notes>().unwrap_or_default();
        if let ([object], true) = (objects, self.is_parquet()) {
            let columns = self.columns_of(state, store, object).await?;
            return Ok(without_intervals(columns, &notes));
        }
        // DataFusion's own merge declares a column NOT NULL even if some objects lack it.
        let footers: Vec<_> =
            objects.iter().map(|object| self.columns_of(state, store, object)).collect();
        let at_once = state.config_options().execution.meta_fetch_concurrency.into();
        let mut footers = stream::iter(footers).buffered(at_once);
        let mut columns = MergedColumns::of_typed();
        for object in objects {
            let Some(footer) = footers.next().await else { break };
            columns.add(object, &*footer?)?;
        }
        columns.take_widened().into_iter().for_each(|note| notes.add(note));
        let columns = Arc::new(columns.into_schema());
        Ok(if self.is_parquet() { without_intervals(columns, &notes) } else { columns })
    }

    /// Returns the columns of an object that declares them.
    ///
    /// # Errors
    ///
    /// If its footer or header cannot be read, or if two columns have the same name.
    async fn columns_of(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        object: &ObjectMeta,
    ) -> Result<SchemaRef> {
        if let Some(decoded) = self.inner.downcast_ref::<DecodedFileFormat>() {
            return decoded.format.columns_of(store, object).await;
        }
        let columns = self.inner.infer_schema(state, store, std::slice::from_ref(object));
        let columns = panics::footer(object, columns).await?;
        let footer = panics::footer(object, cached_footer(state, store, object)).await?;
        check_names(object, &footer)?;
        let views = state.config_options().execution.parquet.schema_force_view_types;
        stored_columns(&columns, &footer, views)
    }

    /// Refuses objects at a location that are too short for the format. Empty files beside others are left out, like
    /// empty text files, and the returned note lists them.
    ///
    /// # Errors
    ///
    /// If there is an object that is too short; the message contains its name.
    pub(crate) fn check_sizes<'a>(
        &self,
        location: &ListingTableUrl,
        objects: impl IntoIterator<Item = &'a ObjectMeta>,
    ) -> Result<Option<String>> {
        if !self.is_parquet() {
            return Ok(None);
        }
        let objects: Vec<&ObjectMeta> = objects.into_iter().collect();
        let are_empty = objects.iter().all(|object| object.size == 0);
        // Folder markers are empty objects, too.
        let is_file = |object: &ObjectMeta| {
            let name = object.location.as_ref().to_ascii_lowercase();
            object.size > 0 || !location.is_collection() || are_empty && name.ends_with(".parquet")
        };
        let too_short = |object: &&ObjectMeta| {
            object.size < LEAST_PARQUET && is_file(object) && !is_hidden(&object.location)
        };
        match objects.iter().copied().find(too_short) {
            Some(ObjectMeta { location, size, .. }) => Err(UserError {
                kind: ErrorKind::Data,
                message: format!(
                    "`{location}` has {size} bytes, and a Parquet file has at least {LEAST_PARQUET}"
                ),
                hint: Some("Write it again, or delete it if it has no data.".to_owned()),
            }
            .into()),
            None => {
                let is_left_out = |object: &&&ObjectMeta| {
                    let name = object.location.as_ref();
                    object.size == 0 && name.ends_with(".parquet") && !is_hidden(&object.location)
                };
                let left_out = objects.iter().filter(is_left_out).map(|object| &object.location);
                let left_out: Vec<_> = left_out.collect();
                let note = || format!("files without a byte are left out: {}", some_of(&left_out));
                Ok((!left_out.is_empty()).then(note))
            }
        }
    }

    /// Returns the options that convert text to values.
    pub(crate) fn values(&self) -> &Values {
        &self.csv.values
    }

    /// Returns the format and the store that read the objects as plain UTF-8 text.
    pub(crate) fn text_of(
        &self,
        store: &Arc<dyn ObjectStore>,
    ) -> (Arc<dyn FileFormat>, Arc<dyn ObjectStore>) {
        let recoding = self.csv.recoding;
        let Some(csv) = self.inner.downcast_ref::<CsvFormat>().filter(|_| recoding.is_needed())
        else {
            return (Arc::clone(&self.inner), Arc::clone(store));
        };
        let compression = FileCompressionType::from(csv.options().compression);
        let plain = CsvFormat::default().with_options(csv.options().clone());
        let plain = plain.with_file_compression_type(FileCompressionType::UNCOMPRESSED);
        (Arc::new(plain), recoding.read_from(Arc::clone(store), compression))
    }

    /// Returns DataFusion's format, if it is CSV.
    pub(crate) fn csv(&self) -> Option<&CsvFormat> {
        self.inner.downcast_ref::<CsvFormat>()
    }

    /// Returns whether the columns of CSV files are found by the names in their headers.
    pub(crate) fn reads_by_name(&self) -> bool {
        self.csv.recoding.by_name
    }

    /// Returns whether the format is Parquet.
    fn is_parquet(&self) -> bool {
        !self.is_text() && !self.inner.is::<DecodedFileFormat>()
    }

    /// Returns whether the format is CSV or JSON.
    fn is_text(&self) -> bool {
        self.inner.is::<CsvFormat>() || self.inner.is::<JsonFormat>()
    }
}
