//! A scan that the store filters and projects.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_datafusion_err, internal_err};
use datafusion::datasource::physical_plan::{
    FileGroupPartitioner, FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::projection::SplitProjection;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_plan::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, apply_expression_roots};
use object_store::ObjectStore;
use sluicegate_s3select::dialect::ast::Expr;
use sluicegate_s3select::profile::{EndpointProfile, Exactness};

use super::arriving::{Arriving, ArrivingKeys, arrives};
use super::format::TableFormat;
use super::get::GetScan;
use super::keys::Keys;
use super::predicate::{Pushed, Translator};
use super::snapshot::ScanSnapshot;
use super::statement::Statement;
use crate::choice::Why;
use crate::config::SluiceOptions;
use crate::endpoint::Endpoint;
use crate::endpoints::resolve;

/// Whether DataFusion may take the two sides of a filter, if it is an equality, for equivalent: if
/// one of them is a column. Of `length(s) = 1` it would make every 1 of a sort key `length(s)`, at
/// one place and not at another, as `FilterExec` knows.
fn is_safe_equivalence(filter: &Arc<dyn PhysicalExpr>) -> bool {
    split_conjunction(filter).into_iter().all(|part| match part.downcast_ref::<BinaryExpr>() {
        Some(it) if *it.op() == Operator::Eq => {
            it.left().is::<Column>() || it.right().is::<Column>()
        }
        _ => true,
    })
}

/// Why a scan has no statement.
const UNSENDABLE: &str = "a column that is read cannot be sent as text and read back the same";

/// Reads files through S3 Select: one statement per file or range, carrying the columns that the
/// query needs and every filter that the store can apply.
///
/// It replaces DataFusion's own source and keeps it: to describe the files, and to read a file with
/// GET when the store refuses or fails.
#[derive(Clone)]
pub struct S3SelectSource {
    /// The endpoint's name, under which the session knows it.
    endpoint: Arc<str>,
    /// What that endpoint may be sent.
    profile: Arc<EndpointProfile>,
    format: TableFormat,
    get: GetScan,
    table_schema: TableSchema,
    projection: SplitProjection,
    filters: Vec<Filter>,
    /// Filters that are not known before the query runs.
    arriving: Vec<Arriving>,
    /// The most rows wanted of a file, once that is known.
    limit: Option<usize>,
    range_bytes: usize,
    batch_size: usize,
    metrics: ExecutionPlanMetricsSet,
}

/// A conjunct of the scan's filter, on both sides.
#[derive(Debug, Clone)]
pub struct Filter {
    /// As DataFusion evaluates it, over the table's columns.
    pub here: Arc<dyn PhysicalExpr>,
    /// As the store evaluates it.
    pub there: Pushed,
}

impl Filter {
    /// The conjunction of some filters, as the store evaluates it.
    fn there(filters: &[Self]) -> Option<Expr> {
        filters.iter().map(|filter| filter.there.expr.clone()).reduce(Expr::and)
    }

    /// Whether the store applies it exactly, so that nobody checks its rows again.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.there.exactness == Exactness::Exact
    }
}

/// What a Select scan asks for, beside the files: what its plan decided.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What the scan puts out, over the table's columns.
    pub projection: ProjectionExprs,
    /// The filters that the store applies, over the table's columns.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Filters that are not known before the query runs, over the table's columns.
    pub arriving: Vec<Arriving>,
    /// The most rows wanted of a file.
    pub limit: Option<usize>,
    /// The least bytes of a range that is asked for by a request of its own.
    pub range_bytes: usize,
    /// The most rows in a batch.
    pub batch_size: usize,
}

impl S3SelectSource {
    /// A Select scan in place of one that DataFusion would run itself, or why the store cannot run
    /// it.
    ///
    /// # Errors
    ///
    /// The reason: the store has no Select, cannot read such files, or may not be sent the
    /// statement.
    pub fn replace(
        config: &FileScanConfig,
        endpoint: &Arc<Endpoint>,
        options: &ConfigOptions,
    ) -> Result<FileScanConfig, Why> {
        let range_bytes = SluiceOptions::of(options).range_bytes;
        let source = Self::over(config, endpoint, range_bytes, options.execution.batch_size.get())?;
        source.may_be_sent(endpoint, &[], config.limit)?;
        let source: Arc<dyn FileSource> = Arc::new(source);
        Ok(FileScanConfigBuilder::from(config.clone()).with_source(source).build())
    }

    /// The source that asks an endpoint for just that about the files of `config`, a scan with one
    /// of DataFusion's sources. Whether the store refused such a statement before does not matter.
    ///
    /// # Errors
    ///
    /// The reason: the store cannot read such files, or does not take the filters or the statement.
    pub fn asking(config: &FileScanConfig, endpoint: &Endpoint, asked: Asked) -> Result<Self, Why> {
        let mut source = Self::over(config, endpoint, asked.range_bytes, asked.batch_size)?;
        source.projection = SplitProjection::new(source.file_schema(), &asked.projection);
        source.limit = asked.limit;
        source.arriving = asked.arriving;
        for here in asked.filters {
            let there = source.there(&here)?;
            source.filters.push(Filter { here, there });
        }
        let statement = source.statement(source.limit).ok_or(UNSENDABLE)?;
        match source.profile.allows(&statement.query) {
            Ok(()) => Ok(source),
            Err(refusal) => Err(Why::new(refusal.to_string())),
        }
    }

    /// A scan of the files of `config` without a filter, if the store has Select and reads them.
    fn over(
        config: &FileScanConfig,
        endpoint: &Endpoint,
        range_bytes: usize,
        batch_size: usize,
    ) -> Result<Self, Why> {
        if !endpoint.profile().has_select() {
            let name = &endpoint.profile().name;
            return Err(Why::new(if *name == EndpointProfile::unknown().name {
                format!(
                    "nothing is known of the store (profile `{name}`): probe it, or name its profile"
                )
            } else {
                format!("the store has no S3 Select (profile `{name}`)")
            }));
        }
        let format =
            TableFormat::of(config).ok_or("S3 Select reads files of this kind differently")?;
        let get = GetScan::of(config).ok_or("the scan computes more than columns")?;
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
            range_bytes,
            batch_size,
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// What the scan asks for.
    #[must_use]
    pub fn asked(&self) -> Asked {
        Asked {
            projection: self.projection.source.clone(),
            filters: self.filters.iter().map(|filter| Arc::clone(&filter.here)).collect(),
            arriving: self.arriving.clone(),
            limit: self.limit,
            range_bytes: self.range_bytes,
            batch_size: self.batch_size,
        }
    }

    /// The statement for a whole file, as far as it is decided; `None` if a column cannot be sent.
    #[must_use]
    pub fn statement(&self, limit: Option<usize>) -> Option<Statement> {
        self.statement_with(&self.filters, limit)
    }

    fn statement_with(&self, filters: &[Filter], limit: Option<usize>) -> Option<Statement> {
        Statement::scan(
            &self.profile,
            &self.format,
            self.table_schema.file_schema(),
            &self.projection.file_indices,
            Filter::there(filters),
            limit,
        )
    }

    /// What is asked when a file is opened at this moment: the filters of the plan, and those of
    /// the filters that arrive while the query runs that the store can apply as they stand now.
    /// Those that are keys of a join are given: [`decide`](super::keys::decide) makes them.
    ///
    /// # Errors
    ///
    /// If the scan has no statement: never, for a scan that [`Self::replace`] made.
    pub fn snapshot(
        &self,
        endpoint: &Endpoint,
        limit: Option<usize>,
        keys: &[Filter],
    ) -> Result<ScanSnapshot> {
        let mut filters = self.filters.clone();
        filters.extend_from_slice(keys);
        for arriving in self.arriving.iter().filter(|arriving| arriving.keys.is_none()) {
            let now = snapshot_physical_expr(Arc::clone(&arriving.filter))?;
            // Nothing has arrived yet.
            if now.downcast_ref::<Literal>().is_some_and(|it| *it.value() == true.into()) {
                continue;
            }
            let Ok(there) = self.there(&now) else { continue };
            filters.push(Filter { here: now, there });
            if self.may_be_sent(endpoint, &filters, limit).is_err() {
                filters.pop();
            }
        }
        let statement = self
            .statement_with(&filters, limit)
            .ok_or_else(|| internal_datafusion_err!("a Select scan without a statement"))?;
        let answer = self.file_schema().project(self.columns())?;
        ScanSnapshot::new(statement, &filters, &answer)
    }

    /// The same scan with a filter whose value other operators find out while the query runs. Its
    /// rows are checked above the scan; to the scan it is what it says when a file is opened.
    #[must_use]
    pub fn with_arriving_filter(&self, filter: Arc<dyn PhysicalExpr>) -> Self {
        let mut with = self.clone();
        with.arriving.push(Arriving::new(filter));
        with
    }

    /// The same scan, told which of its arriving filters are keys of a join: those with these
    /// identities, each with the number of keys there may be at most. None if there is nothing to
    /// tell. Keys that are not wanted are taken away.
    #[must_use]
    pub fn with_keys_of_joins(
        &self,
        domains: &HashMap<u64, Option<f64>>,
        wanted: bool,
    ) -> Option<Self> {
        if self.arriving.is_empty() {
            return None;
        }
        let mut with = self.clone();
        for arriving in &mut with.arriving {
            let domain = arriving.ids().iter().find_map(|id| domains.get(id).copied());
            arriving.keys = domain.map(|domain| ArrivingKeys { domain });
        }
        with.arriving.retain(|arriving| wanted || arriving.keys.is_none());
        Some(with)
    }

    /// The filters that are not known before the query runs.
    #[must_use]
    pub fn arriving(&self) -> &[Arriving] {
        &self.arriving
    }

    /// What the joins above say by now about the columns that are read.
    ///
    /// # Errors
    ///
    /// If a filter cannot be read.
    pub fn keys(&self) -> Result<Keys> {
        let mut keys = Keys::Any;
        for arriving in self.arriving.iter().filter(|arriving| arriving.keys.is_some()) {
            let now = snapshot_physical_expr(Arc::clone(&arriving.filter))?;
            keys = keys.both(Keys::of(&now, self.table_schema.table_schema()));
        }
        Ok(keys.about(|column| self.columns().contains(&column)))
    }

    /// How many keys there are without a filter on the build side of the joins above, if that can
    /// be estimated.
    #[must_use]
    pub fn domain(&self) -> Option<f64> {
        self.arriving.iter().find_map(|arriving| arriving.keys?.domain)
    }

    /// The names of the columns by which keys of joins select rows.
    fn keyed_columns(&self) -> Vec<String> {
        let keys = self.arriving.iter().filter(|arriving| arriving.keys.is_some());
        let mut names: Vec<_> = keys
            .flat_map(|arriving| collect_columns(&arriving.filter))
            .map(|column| column.name().to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Whether an arriving filter is about columns that are read, so that rows can be counted by it.
    fn reads(&self, filter: &Arc<dyn PhysicalExpr>) -> bool {
        collect_columns(filter).iter().all(|column| self.columns().contains(&column.index()))
    }

    /// The same scan, of which at most so many rows of a file are wanted.
    #[must_use]
    pub fn with_limit(&self, limit: Option<usize>) -> Self {
        Self { limit, ..self.clone() }
    }

    /// Fewer rows of the same scan: those that pass a filter over the table's columns as well.
    ///
    /// # Errors
    ///
    /// Why the store cannot tell these rows apart.
    pub fn with_exact_filter(
        &self,
        endpoint: &Endpoint,
        filter: Arc<dyn PhysicalExpr>,
    ) -> Result<Self, Why> {
        let there = self.translate(endpoint, &filter)?;
        if there.exactness != Exactness::Exact {
            return Err("the store can apply the filter only roughly".into());
        }
        let mut fewer = self.clone();
        fewer.filters.push(Filter { here: filter, there });
        Ok(fewer)
    }

    /// The same rows, of which other values are computed, over the table's columns.
    #[must_use]
    pub fn computing(&self, output: &ProjectionExprs) -> Self {
        let projection = SplitProjection::new(self.table_schema.file_schema(), output);
        Self { projection, ..self.clone() }
    }

    /// What translates expressions over the table's columns for the store.
    #[must_use]
    pub fn translator(&self) -> Translator<'_> {
        Translator::new(&self.profile, self.format.style, self.file_schema())
    }

    /// The same scan with counters of its own.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { metrics: ExecutionPlanMetricsSet::new(), ..self.clone() }
    }

    /// A scan of these columns of the same rows, for a sample: without the filters that arrive
    /// while the query runs, and with counters of its own.
    #[must_use]
    pub fn sampled(&self, projection: &ProjectionExprs, metrics: ExecutionPlanMetricsSet) -> Self {
        let projection = SplitProjection::new(self.file_schema(), projection);
        Self { projection, arriving: Vec::new(), limit: None, metrics, ..self.clone() }
    }

    /// Whether files may be read in parts, each by a request of its own.
    #[must_use]
    pub fn takes_ranges(&self) -> bool {
        self.format.is_splittable() && self.profile.scan_ranges
    }

    /// The least bytes of a range that is asked for by a request of its own.
    #[must_use]
    pub fn range_bytes(&self) -> usize {
        self.range_bytes
    }

    /// The filter that the store applies.
    #[must_use]
    pub fn store_filter(&self) -> Option<Expr> {
        Filter::there(&self.filters)
    }

    /// The filters that are not checked again above the scan.
    #[must_use]
    pub fn exact_filters(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.filters
            .iter()
            .filter(|filter| filter.there.exactness == Exactness::Exact)
            .map(|filter| Arc::clone(&filter.here))
            .collect()
    }

    /// Every filter, with its two sides.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// What the files look like.
    #[must_use]
    pub fn format(&self) -> &TableFormat {
        &self.format
    }

    /// The name of the endpoint, to be looked up in the session's
    /// [`Endpoints`](crate::endpoints::Endpoints).
    #[must_use]
    pub fn endpoint_name(&self) -> &str {
        &self.endpoint
    }

    /// What the endpoint may be sent.
    #[must_use]
    pub fn profile(&self) -> &EndpointProfile {
        &self.profile
    }

    /// The same rows, fetched and filtered here.
    #[must_use]
    pub fn get(&self) -> &GetScan {
        &self.get
    }

    /// The file's columns, without partition columns.
    #[must_use]
    pub fn file_schema(&self) -> &SchemaRef {
        self.table_schema.file_schema()
    }

    /// The table's columns, partition columns last; as an expression over partitions sees them, all
    /// may be NULL.
    #[must_use]
    pub fn table(&self) -> Schema {
        let fields = self.table_schema.table_schema().fields().iter();
        let nullable = fields.map(|field| field.as_ref().clone().with_nullable(true));
        Schema::new(nullable.collect::<Vec<_>>())
    }

    /// How the file's columns that are sent become what the scan puts out.
    pub(crate) fn split_projection(&self) -> &SplitProjection {
        &self.projection
    }

    /// The most rows in a batch.
    pub(crate) fn batch_size(&self) -> usize {
        self.batch_size
    }

    pub(crate) fn in_batches(&self, batch_size: usize) -> Self {
        Self { batch_size, ..self.clone() }
    }

    /// What the scan puts out, over the table's columns.
    #[must_use]
    pub fn output(&self) -> &ProjectionExprs {
        &self.projection.source
    }

    /// The indices of the file's columns that are sent.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.projection.file_indices
    }

    /// The indices of the file's columns that a statement with these filters reads.
    #[must_use]
    pub fn columns_of(&self, filters: &[Arc<dyn PhysicalExpr>]) -> BTreeSet<usize> {
        let filtered = filters.iter().flat_map(collect_columns).map(|column| column.index());
        self.columns().iter().copied().chain(filtered).collect()
    }

    /// Where the scan counts.
    #[must_use]
    pub fn metrics_set(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    /// A filter over the table's columns, as the store would apply it.
    ///
    /// # Errors
    ///
    /// Why the store cannot apply it.
    pub fn translate(
        &self,
        endpoint: &Endpoint,
        filter: &Arc<dyn PhysicalExpr>,
    ) -> Result<Pushed, Why> {
        let there = self.there(filter)?;
        let mut filters = self.filters.clone();
        filters.push(Filter { here: Arc::clone(filter), there: there.clone() });
        self.may_be_sent(endpoint, &filters, None)?;
        Ok(there)
    }

    /// A filter over the table's columns in the store's language.
    fn there(&self, filter: &Arc<dyn PhysicalExpr>) -> Result<Pushed, Why> {
        let there = self.translator().filter(filter).ok_or_else(|| {
            let name = &self.profile.name;
            Why::new(format!(
                "S3 Select has no equivalent that profile `{name}` evaluates the same"
            ))
        })?;
        // The rows are checked again by the columns that the store sends.
        let columns = self.file_schema().fields().len();
        if there.exactness != Exactness::Exact
            && collect_columns(filter).iter().any(|column| column.index() >= columns)
        {
            return Err("a part of it is about a partition, which the store does not know".into());
        }
        Ok(there)
    }

    /// Whether the store takes the scan's statement with these filters as well.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn takes_with(&self, endpoint: &Endpoint, filters: &[Filter]) -> Result<(), Why> {
        let all: Vec<_> = self.filters.iter().chain(filters).cloned().collect();
        self.may_be_sent(endpoint, &all, None)
    }

    /// Whether the store takes the scan's statement with these filters.
    fn may_be_sent(
        &self,
        endpoint: &Endpoint,
        filters: &[Filter],
        limit: Option<usize>,
    ) -> Result<(), Why> {
        let statement = self.statement_with(filters, limit).ok_or(UNSENDABLE)?;
        endpoint.takes(&statement, &self.format)
    }
}

impl FileSource for S3SelectSource {
    fn create_file_opener(
        &self,
        _object_store: Arc<dyn ObjectStore>,
        _base_config: &FileScanConfig,
        _partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        internal_err!("a Select scan finds its endpoint in the session; open it as an S3Scan")
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(self.in_batches(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        let exact = self.exact_filters();
        (!exact.is_empty()).then(|| conjunction(exact.into_iter().filter(is_safe_equivalence)))
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "s3_select"
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let sql = self.statement(self.limit).map(|statement| statement.sql()).unwrap_or_default();
        let join = match self.keyed_columns().as_slice() {
            [] => String::new(),
            columns => format!(", join=bloom on {}", columns.join(" and ")),
        };
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(
                    f,
                    ", format={}, endpoint={}{join}, select={sql}",
                    self.format.name(),
                    self.endpoint
                )
            }
            DisplayFormatType::TreeRender => writeln!(f, "select={sql}"),
        }
    }

    fn supports_repartitioning(&self) -> bool {
        self.format.is_splittable()
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        _repartition_file_min_size: usize,
        output_ordering: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        if !self.takes_ranges() {
            return Ok(None);
        }
        // Our own least size: a request costs more than a read.
        let groups = FileGroupPartitioner::new()
            .with_target_partitions(target_partitions)
            .with_repartition_file_min_size(self.range_bytes)
            .with_preserve_order_within_groups(output_ordering.is_some())
            .repartition_file_groups(&config.file_groups);
        Ok(groups.map(|groups| {
            FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).build()
        }))
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let endpoint = resolve(config, &self.endpoint)?;
        let mut source = self.clone();
        let mut verdicts = Vec::with_capacity(filters.len());
        for filter in filters {
            if arrives(&filter) {
                // A limit counts rows that pass the filters of the plan, and only those.
                let new = Arriving::new(filter);
                let known = source.arriving.iter().any(|known| known.ids() == new.ids());
                let sound = new.is_about_its_columns() && self.reads(&new.filter);
                if self.limit.is_none() && !known && sound {
                    source.arriving.push(new);
                }
                verdicts.push(PushedDown::No);
                continue;
            }
            if let Some(known) = source.filters.iter().find(|known| *known.here == *filter) {
                verdicts.push(verdict(known.there.exactness));
                continue;
            }
            let Ok(there) = source.translate(&endpoint, &filter) else {
                verdicts.push(PushedDown::No);
                continue;
            };
            verdicts.push(verdict(there.exactness));
            source.filters.push(Filter { here: filter, there });
        }
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(verdicts);
        Ok(propagation.with_updated_node(Arc::new(source) as Arc<dyn FileSource>))
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.table_schema.file_schema(), &merged);
        let projected = Self { projection, ..self.clone() };
        // Without a column left, rows are counted there, which not every store does exactly.
        let statement = projected.statement(None);
        Ok(statement.map(|_| Arc::new(projected) as Arc<dyn FileSource>))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let filters = self.filters.iter().map(|filter| &filter.here);
        let arriving = self.arriving.iter().map(|arriving| &arriving.filter);
        let columns = self.projection.source.iter().map(|projected| &projected.expr);
        apply_expression_roots(filters.chain(arriving).chain(columns), f)
    }
}

fn verdict(exactness: Exactness) -> PushedDown {
    match exactness {
        Exactness::Exact => PushedDown::Yes,
        Exactness::Superset | Exactness::No => PushedDown::No,
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
