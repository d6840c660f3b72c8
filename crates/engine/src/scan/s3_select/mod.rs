//! The Select scan: the store filters and projects the files.
//!
//! `filters` holds its filters, `split` divides files among statements, and `file_source` connects it to DataFusion.

mod file_source;
mod filters;
mod split;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::projection::SplitProjection;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use sluicegate_s3select::capabilities::{
    DataFormat, Exactness, Operation, StoreCapabilities, TypeClass,
};
use sluicegate_s3select::request::{InputFormat, JsonType};

use crate::context::choice::Reason;
use crate::pushdown::dynamic_filters::DynamicFilter;
use crate::pushdown::format::TableFormat;
use crate::pushdown::predicate::Translator;
use crate::pushdown::statement::{Statement, is_sendable, is_sent_in_arrow};
use crate::scan::deleted_rows::reads_kept_rows;
use crate::scan::get::GetScan;
use crate::store::endpoint::Endpoint;
use sluicegate_guards::sql_types::sql_type;

pub(crate) use self::filters::{Filter, KeyFilter};
pub(crate) use self::split::Split;

/// Reads files through S3 Select. It sends one statement per file or range, with the columns that the query needs and
/// every filter that the store can apply.
///
/// It replaces DataFusion's own source and keeps it, to describe the files and to read a file with GET when the store
/// refuses or fails.
#[derive(Clone)]
pub struct S3SelectSource {
    /// The endpoint's name, by which the session finds it.
    endpoint: Arc<str>,
    /// The capabilities of that endpoint.
    profile: Arc<StoreCapabilities>,
    format: TableFormat,
    get: GetScan,
    table_schema: TableSchema,
    projection: SplitProjection,
    filters: Vec<Filter>,
    /// Filters whose values are not known before the query runs.
    arriving: Vec<DynamicFilter>,
    /// The maximum number of rows wanted of a file, once that is known.
    limit: Option<usize>,
    split: Split,
    batch_size: usize,
    left_out: usize,
    metrics: ExecutionPlanMetricsSet,
}

/// The properties of a Select scan that its plan decided, apart from the files.
#[derive(Debug, Clone)]
pub struct SelectPushdown {
    /// The output of the scan, over the table's columns.
    pub projection: ProjectionExprs,
    /// The filters that the store applies, over the table's columns.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Filters whose values are not known before the query runs, over the table's columns.
    pub arriving: Vec<DynamicFilter>,
    /// The maximum number of rows wanted of a file.
    pub limit: Option<usize>,
    /// The division of files among statements.
    pub split: Split,
    /// The maximum number of rows in a batch.
    pub batch_size: usize,
    /// The number of files of the table that the scan leaves out because none of their rows passes the filters.
    pub left_out: usize,
}

impl S3SelectSource {
    /// Replaces a scan that DataFusion would run itself by a Select scan.
    ///
    /// # Errors
    ///
    /// The reason why the store cannot run it: the store has no Select, cannot read such files, or may not be sent
    /// the statement.
    pub fn replace(
        config: &FileScanConfig,
        endpoint: &Arc<Endpoint>,
        options: &ConfigOptions,
    ) -> Result<FileScanConfig, Reason> {
        let batch_size = options.execution.batch_size.get();
        let source = Self::over(config, endpoint, Split::from_options(options), batch_size)?;
        source.may_be_sent(endpoint, &[], config.limit)?;
        let source: Arc<dyn FileSource> = Arc::new(source);
        Ok(FileScanConfigBuilder::from(config.clone()).with_source(source).build())
    }

    /// Returns the source with the given properties for the files of `config`, a scan with one of DataFusion's
    /// sources. Earlier refusals of the statement by the store are ignored.
    ///
    /// # Errors
    ///
    /// The reason: the store cannot read such files, or does not accept the filters or the statement.
    pub fn try_with_pushdown(
        config: &FileScanConfig,
        endpoint: &Endpoint,
        asked: SelectPushdown,
    ) -> Result<Self, Reason> {
        let mut source = Self::over(config, endpoint, asked.split, asked.batch_size)?;
        source.projection = SplitProjection::new(source.file_schema(), &asked.projection);
        source.limit = asked.limit;
        source.arriving = asked.arriving;
        source.left_out = asked.left_out;
        for here in asked.filters {
            let there = source.there(&here)?;
            source.filters.push(Filter { here, there });
        }
        let statement = source.statement(source.limit).ok_or_else(|| source.unsendable())?;
        match source.profile.allows(&statement.query) {
            Ok(()) => Ok(source),
            Err(refusal) => Err(Reason::new(refusal.to_string())),
        }
    }

    /// Returns a scan of the files of `config` without a filter, if the store has Select and can read them.
    fn over(
        config: &FileScanConfig,
        endpoint: &Endpoint,
        split: Split,
        batch_size: usize,
    ) -> Result<Self, Reason> {
        if !endpoint.profile().has_select() {
            let name = &endpoint.profile().name;
            return Err(Reason::new(if *name == StoreCapabilities::unknown().name {
                format!(
                    "nothing is known of the store (profile `{name}`): probe it, or name its profile"
                )
            } else {
                format!("the store has no S3 Select (profile `{name}`)")
            }));
        }
        let format = TableFormat::from_scan(config)
            .ok_or("S3 Select reads files of this kind differently")?;
        if reads_kept_rows(config) {
            return Err(
                "S3 Select would also return the rows that the Delta table deletes in these files"
                    .into(),
            );
        }
        let is_document = matches!(format.input.format, InputFormat::Json(JsonType::Document));
        let counted = endpoint.profile().exactness(
            DataFormat::JsonDocument,
            Operation::CountRows,
            TypeClass::String,
        );
        if is_document && counted != Exactness::Exact {
            return Err("whether the store takes each JSON object for a row, where they are on several lines, \
                        is not known"
                .into());
        }
        let get = GetScan::from_scan(config).ok_or("the scan computes more than columns")?;
        let original = config.file_source();
        let table_schema = original.table_schema().clone();
        let projection = match original.projection() {
            Some(projection) => SplitProjection::new(table_schema.file_schema(), projection),
            None => SplitProjection::unprojected(&table_schema),
        };
        Ok(Self {
            endpoint: endpoint.name.as_str().into(),
            profile: Arc::clone(&endpoint.profile),
            format,
            get,
            table_schema,
            projection,
            filters: Vec::new(),
            arriving: Vec::new(),
            limit: config.limit,
            split,
            batch_size,
            left_out: 0,
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Returns the properties of the scan that its plan decided.
    #[must_use]
    pub fn pushdown(&self) -> SelectPushdown {
        SelectPushdown {
            projection: self.projection.source.clone(),
            filters: self.filters.iter().map(|filter| Arc::clone(&filter.here)).collect(),
            arriving: self.arriving.clone(),
            limit: self.limit,
            split: self.split,
            batch_size: self.batch_size,
            left_out: self.left_out,
        }
    }

    /// Returns the statement for a whole file, without filters that arrive later, or `None` if a column cannot be
    /// sent.
    #[must_use]
    pub fn statement(&self, limit: Option<usize>) -> Option<Statement> {
        self.statement_with(&self.filters, limit)
    }

    /// Returns the reason why the scan has no statement.
    fn unsendable(&self) -> Reason {
        let (name, translator) = (&self.profile.name, self.translator());
        let fields = || self.columns().iter().map(|index| self.file_schema().field(*index));
        let style = self.format.style;
        let in_text = |field: &&Field| is_sendable(style, &translator, field.data_type());
        let in_arrow =
            |field: &&Field| is_sent_in_arrow(&self.profile, style, &translator, field.data_type());
        // All columns are sent in one format.
        let unsendable = fields().find(|field| !in_text(field) && !in_arrow(field));
        let Some(field) = unsendable.or_else(|| fields().find(|field| !in_text(field))) else {
            return Reason::new(format!(
                "rows are not known to be counted exactly by a store of profile `{name}`"
            ));
        };
        let helps = match field.data_type() {
            DataType::Float16 | DataType::Float32 => "in files with DOUBLE it can be",
            _ => "queries that do not read it can be sent",
        };
        Reason::new(format!(
            "column {} of type {} cannot be sent by a store of profile `{name}` and read back the \
             same: {helps}",
            field.name(),
            sql_type(field.data_type()),
        ))
    }

    /// Sets the maximum number of rows wanted of a file.
    #[must_use]
    pub fn with_limit(&self, limit: Option<usize>) -> Self {
        Self { limit, ..self.clone() }
    }

    /// Sets the number of files that are left out because they have no matching row.
    #[must_use]
    pub fn without(&self, left_out: usize) -> Self {
        Self { left_out, ..self.clone() }
    }

    /// Replaces the output by other values of the same rows, over the table's columns.
    #[must_use]
    pub fn computing(&self, output: &ProjectionExprs) -> Self {
        let projection = SplitProjection::new(self.table_schema.file_schema(), output);
        Self { projection, ..self.clone() }
    }

    /// Returns the translator of expressions over the table's columns for the store.
    #[must_use]
    pub fn translator(&self) -> Translator<'_> {
        Translator::new(&self.profile, self.format.style, self.file_schema())
    }

    /// Returns a copy of the scan with new metrics.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { metrics: ExecutionPlanMetricsSet::new(), ..self.clone() }
    }

    /// Returns a scan of these columns of the same rows, for a sample: without arriving filters, and with metrics of
    /// its own.
    #[must_use]
    pub fn sampled(&self, projection: &ProjectionExprs, metrics: ExecutionPlanMetricsSet) -> Self {
        let projection = SplitProjection::new(self.file_schema(), projection);
        Self { projection, arriving: Vec::new(), limit: None, metrics, ..self.clone() }
    }

    /// Keeps only those arriving filters all of whose parts have `known` ids. Also returns the number of filters that
    /// were removed.
    #[must_use]
    pub fn only_arriving(&self, known: impl Fn(u64) -> bool) -> (Self, usize) {
        let mut source = self.clone();
        source.arriving.retain(|arriving| arriving.ids().into_iter().all(&known));
        let dropped = self.arriving.len() - source.arriving.len();
        (source, dropped)
    }

    /// Returns true if files can be read in ranges, with one request for each.
    #[must_use]
    pub fn takes_ranges(&self) -> bool {
        self.format.is_splittable() && self.profile.scan_ranges
    }

    /// Limits the number of concurrent files to the session's number of partitions.
    #[must_use]
    pub fn sequential(&self) -> Self {
        Self { split: Split { partitions: 0, ..self.split }, ..self.clone() }
    }

    /// Returns the division of files among statements.
    #[must_use]
    pub fn split(&self) -> Split {
        self.split
    }

    /// Returns the format of the files.
    #[must_use]
    pub fn format(&self) -> &TableFormat {
        &self.format
    }

    /// Returns the name of the endpoint, to be looked up in the session's
    /// [`Endpoints`](crate::store::endpoints::Endpoints).
    #[must_use]
    pub fn endpoint_name(&self) -> &str {
        &self.endpoint
    }

    /// Returns the capabilities of the endpoint.
    #[must_use]
    pub fn profile(&self) -> &StoreCapabilities {
        &self.profile
    }

    /// Returns the scan that fetches and filters the same rows locally.
    #[must_use]
    pub fn get(&self) -> &GetScan {
        &self.get
    }

    /// Returns the file's columns, without partition columns.
    #[must_use]
    pub fn file_schema(&self) -> &SchemaRef {
        self.table_schema.file_schema()
    }

    /// Returns the table's columns, partition columns last. All are nullable, as expressions over partitions require.
    #[must_use]
    pub fn table(&self) -> Schema {
        let fields = self.table_schema.table_schema().fields().iter();
        let nullable = fields.map(|field| field.as_ref().clone().with_nullable(true));
        Schema::new(nullable.collect::<Vec<_>>())
    }

    /// Returns the projection from the file's columns that are sent to the output of the scan.
    pub(crate) fn split_projection(&self) -> &SplitProjection {
        &self.projection
    }

    /// Returns the maximum number of rows in a batch.
    pub(crate) fn batch_size(&self) -> usize {
        self.batch_size
    }

    pub(crate) fn in_batches(&self, batch_size: usize) -> Self {
        Self { batch_size, ..self.clone() }
    }

    /// Returns the output of the scan, over the table's columns.
    #[must_use]
    pub fn output(&self) -> &ProjectionExprs {
        &self.projection.source
    }

    /// Returns the indices of the file's columns that are sent.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.projection.file_indices
    }

    /// Returns the metrics of the scan.
    #[must_use]
    pub fn metrics_set(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }
}

impl fmt::Debug for S3SelectSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3SelectSource")
            .field("endpoint", &self.endpoint)
            .field("format", &self.format)
            .field("filters", &self.filters)
            .field("columns", &self.projection.file_indices)
            .finish_non_exhaustive()
    }
}
