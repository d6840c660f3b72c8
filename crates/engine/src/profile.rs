//! From plans and statistics to the plain numbers that the cost model takes.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::expressions::Column;
use sluicegate_costmodel::{
    Bytes, Format, Phase, Requests, Rows, ScanDemand, Steps, Terms, TopKDemand,
};
use sluicegate_s3select::dialect::ast::{BinaryOp, Expr, Function, Projection, Query};

use crate::config::{GroupBy, SluiceOptions};
use crate::datasource::predicate::ColumnStyle;
use crate::datasource::s3_scan::as_select_scan;
use crate::datasource::s3_select::S3SelectSource;
use crate::datasource::statement::Statement;
use crate::physical_plan::s3_aggregate::S3AggregateExec;
use crate::physical_plan::s3_group_by::S3GroupByExec;
use crate::statistics::table::TableStatistics;

/// Bytes of a CSV record when nothing is known about it.
pub(crate) const DEFAULT_RECORD_BYTES: f64 = 100.0;
/// Bytes of an aggregate in an answer: a number of some digits and its delimiter.
const AGGREGATE_BYTES: f64 = 16.0;

/// What a Select scan, the node `select`, asks for, and what the plan `get` asks for instead.
///
/// # Errors
///
/// If the scan cannot be split.
pub fn scan_demand(
    select: &Arc<dyn ExecutionPlan>,
    get: &Arc<dyn ExecutionPlan>,
    config: &FileScanConfig,
    source: &S3SelectSource,
    options: &ConfigOptions,
) -> Result<ScanDemand> {
    let table = Table::of(config, source, Some(options));
    let selectivity = table.selectivity(source, options);
    let limited = config.limit.map_or(1.0, |limit| (limit as f64 / table.rows.max(1.0)).min(1.0));
    let columns = source.columns();
    let demand =
        table.demand(columns, selectivity.min(limited), table.row_bytes(columns), Terms::NONE);
    let demand = asking(demand, source);
    Ok(ScanDemand {
        get_requests: opened(get, options)?,
        select_requests: Some(opened(select, options)?),
        ..demand
    })
}

/// The files and parts of files that the scan at the bottom of a plan will open, each by a request of
/// its own.
fn opened(plan: &Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Requests> {
    let groups = split(plan, options)?.map(|config| config.file_groups).unwrap_or_default();
    Ok(Requests(groups.iter().map(|group| group.len() as u64).sum()))
}

/// The scan at the bottom of a plan as it will run: DataFusion splits large files once it places
/// exchanges.
fn split(plan: &Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Option<FileScanConfig>> {
    let mut scan = plan;
    while let Some(child) = scan.children().into_iter().next() {
        scan = child;
    }
    let config = |plan: &Arc<dyn ExecutionPlan>| {
        if let Some((config, _)) = as_select_scan(plan.as_ref()) {
            return Some(config.clone());
        }
        let source = plan.downcast_ref::<DataSourceExec>()?.data_source();
        source.downcast_ref::<FileScanConfig>().cloned()
    };
    let Some(whole) = config(scan) else { return Ok(None) };
    // DataFusion leaves a scan alone that is known to be a single batch.
    let tiny = matches!(whole.statistics().num_rows, Precision::Exact(rows)
        if rows <= options.execution.batch_size.get());
    let split = match options.optimizer.repartition_file_scans && !tiny {
        true => scan.repartitioned(options.execution.target_partitions, options)?,
        false => None,
    };
    Ok(Some(split.as_ref().and_then(config).unwrap_or(whole)))
}

/// What the Select scan `select` asks for if only its `k` best rows are wanted: when its next file is
/// opened, those of the files before are known, and better ones are asked for.
///
/// # Errors
///
/// If the scan cannot be split.
pub fn best_rows_demand(
    select: &Arc<dyn ExecutionPlan>,
    (config, source): (&FileScanConfig, &S3SelectSource),
    k: usize,
    options: &ConfigOptions,
) -> Result<ScanDemand> {
    let scan = scan_demand(select, select, config, source, options)?;
    let groups = split(select, options)?.map(|config| config.file_groups).unwrap_or_default();
    let bytes = |file: &PartitionedFile| file.effective_size() as f64;
    let all: f64 = groups.iter().flat_map(|group| group.files()).map(bytes).sum();
    let first: f64 = groups.iter().filter_map(|group| group.files().first()).map(bytes).sum();
    let first = if all > 0.0 { first / all } else { 1.0 };
    let rows = scan.rows.as_f64() * scan.selectivity * first;
    let share = first + (1.0 - first) * (k as f64 / rows.max(1.0)).min(1.0);
    let (passing, selectivity) = (scan.passing * share, scan.selectivity * share);
    Ok(ScanDemand { passing, selectivity, ..scan })
}

/// What an aggregate in the store asks for: a scan that returns one row per request.
///
/// # Errors
///
/// Never, for a node that our rule made.
pub fn aggregate_demand(exec: &S3AggregateExec, options: &ConfigOptions) -> Result<ScanDemand> {
    let source = exec.source()?;
    let table = Table::of(exec.config(), source, Some(options));
    let statement: &Statement = exec.statement();
    let bytes = AGGREGATE_BYTES * statement.answer.fields().len() as f64;
    let selectivity = table.files / table.rows.max(1.0);
    let query = &statement.query;
    let demand = table.demand(source.columns(), selectivity.min(1.0), bytes, terms(query));
    let passing = table.selectivity(source, options);
    Ok(ScanDemand { passing, items: items(query), constants: constants(query), ..demand })
}

/// What a Select scan asks for when its files are opened.
#[must_use]
pub fn open_demand(
    config: &FileScanConfig,
    source: &S3SelectSource,
    options: &ConfigOptions,
) -> ScanDemand {
    let table = Table::of(config, source, Some(options));
    let selectivity = table.selectivity(source, options);
    let columns = source.columns();
    asking(table.demand(columns, selectivity, table.row_bytes(columns), Terms::NONE), source)
}

/// The same by a source's own statement.
fn asking(demand: ScanDemand, source: &S3SelectSource) -> ScanDemand {
    let Some(Statement { query, .. }) = source.statement(None) else { return demand };
    ScanDemand {
        terms: terms(&query),
        items: items(&query),
        constants: constants(&query),
        ..demand
    }
}

/// What a scan asks for of whose rows only a share has the keys of a join, which the store finds out
/// by so many terms and constants of a list.
#[must_use]
pub fn keys_demand(demand: ScanDemand, share: f64, (terms, constants): (Terms, u64)) -> ScanDemand {
    let (passing, selectivity) = (demand.passing * share, demand.selectivity * share);
    let (terms, constants) = (demand.terms + terms, demand.constants + constants);
    ScanDemand { passing, selectivity, terms, constants, ..demand }
}

/// The same by so many statements, after so many looks at a few records, each of so many bytes.
#[must_use]
pub fn by_part_steps(demand: &ScanDemand, statements: u64, (looks, bytes): (u64, u64)) -> Steps {
    let asked = ScanDemand { select_requests: Some(Requests(statements)), ..*demand };
    if looks == 0 {
        return phase("keys", &asked);
    }
    let rows = (looks * bytes) as f64 / (demand.needed.0.max(1) as f64) * demand.rows.as_f64();
    let look = ScanDemand {
        select_requests: Some(Requests(looks)),
        needed: Bytes(looks * bytes),
        rows: Rows::from_f64(rows),
        terms: Terms::NONE,
        passing: 1.0,
        constants: 0,
        selectivity: 1.0,
        ..*demand
    };
    Steps::InTurn(vec![phase("look", &look), phase("keys", &asked)])
}

/// The share of a scan's rows that is estimated to pass its filters.
#[must_use]
pub fn selectivity(
    config: &FileScanConfig,
    source: &S3SelectSource,
    options: &ConfigOptions,
) -> f64 {
    Table::of(config, source, Some(options)).selectivity(source, options)
}

/// The rows of a scan's files, known or estimated.
#[must_use]
pub fn table_rows(config: &FileScanConfig) -> f64 {
    match config.statistics().num_rows {
        Precision::Exact(rows) | Precision::Inexact(rows) => rows as f64,
        Precision::Absent => {
            let files = config.file_groups.iter().flat_map(|group| group.files());
            files.map(|file| file.effective_size() as f64).sum::<f64>() / DEFAULT_RECORD_BYTES
        }
    }
}

/// The average bytes of a record of a scan's files.
#[must_use]
pub fn record_bytes(config: &FileScanConfig, source: &S3SelectSource) -> f64 {
    let table = Table::of(config, source, None);
    table.bytes / table.rows.max(1.0)
}

/// The terms of some conditions, and the constants of their lists.
pub(crate) fn conditions<'a>(conditions: impl Iterator<Item = &'a Expr>) -> (Terms, u64) {
    conditions.fold((Terms::NONE, 0), |(terms, constants), condition| {
        (terms + weight(condition), constants + in_lists(condition))
    })
}

/// What the best `k` rows of the Select scan `select` ask for, if a sample of some columns is taken
/// first. With `filtered`, rows are filtered again before they are sorted.
///
/// # Errors
///
/// If the scan cannot be split.
pub fn top_k_demand(
    select: &Arc<dyn ExecutionPlan>,
    (config, source): (&FileScanConfig, &S3SelectSource),
    (k, filtered): (usize, bool),
    sampled: &[usize],
    options: &ConfigOptions,
) -> Result<TopKDemand> {
    let scan = scan_demand(select, select, config, source, options)?;
    let table = Table::of(config, source, Some(options));
    let share = table.row_bytes(sampled) / table.row_bytes(source.columns());
    // Of the rows that are sent only some reach the sort, so that more must be sent for each.
    let passing = if filtered { default_selectivity(options).max(0.01) } else { 1.0 };
    Ok(TopKDemand {
        scan,
        k: Rows::from_f64(k as f64 / passing),
        share: if share.is_finite() { share.clamp(0.001, 1.0) } else { 1.0 },
        keys_needed: table.demand(sampled, 1.0, 0.0, Terms::NONE).needed,
        sample_requests: Requests::ZERO,
    })
}

/// How many groups are assumed where nothing is known.
const ASSUMED_GROUPS: u64 = 16;
/// How many of them the largest are, and the share of the rows that is in none of these.
const ASSUMED_LARGEST: (u64, f64) = (6, 0.5);

/// What a group-by in the store asks for.
#[derive(Debug, Clone, Copy)]
pub struct GroupByDemand {
    /// The scan that returns all rows to be grouped here.
    scan: ScanDemand,
    /// Bytes of all files.
    bytes: f64,
    /// Bytes of a sampled row.
    key_bytes: f64,
    /// What the store evaluates for each group to know whether a row passes, ...
    terms: Terms,
    /// ... and for each row that passes.
    items: Terms,
    /// The columns of an answer for each group.
    width: usize,
    /// Rows of a file that are sampled.
    sample_rows: usize,
    /// Whether each group is asked about by a statement of its own, ...
    one_by_one: bool,
    /// ... and whether the rows outside of the groups must be asked for, to prove that these are all.
    exact: bool,
    /// The samples that tell how many groups there are, where all are asked about in one statement.
    looks: u64,
    /// How many groups a file has at most, if that is known.
    groups: Option<f64>,
    /// How many the largest are, and the share of the rows that is in none of these.
    largest: (u64, f64),
}

/// How many times the rows of a sample a file must have to be worth one.
const WORTH_A_SAMPLE: f64 = 8.0;

impl GroupByDemand {
    /// The numbers of a node.
    ///
    /// # Errors
    ///
    /// Never, for a node that our rule made.
    pub fn of(exec: &S3GroupByExec, options: &ConfigOptions) -> Result<Self> {
        let source = exec.source()?;
        let table = Table::of(exec.config(), source, Some(options));
        let asked = exec.demand()?;
        let selectivity = table.selectivity(source, options);
        let columns = source.columns();
        let filter =
            source.statement(None).map_or(Terms::NONE, |statement| terms(&statement.query));
        let scan = table.demand(columns, selectivity, table.row_bytes(columns), filter);
        let key_bytes = table.row_bytes(&asked.sampled);
        let (terms, items) = (terms(&asked.group) - filter, items(&asked.group));
        let width = asked.width;
        let sample_rows = exec.sample_rows();
        let (one_by_one, exact) = (asked.one_by_one, asked.exact);
        let (bytes, looks) = (table.bytes, 0);
        let (groups, largest) = (table.groups(exec), table.largest(exec));
        let all = Self {
            scan,
            bytes,
            key_bytes,
            terms,
            items,
            width,
            sample_rows,
            one_by_one,
            exact,
            looks,
            groups,
            largest,
        };
        // One of the files of a partition stands for all.
        let looks = exec.config().file_groups.iter().filter(|group| {
            group.files().iter().any(|file| all.of_file(file).is_worth_a_sample(options))
        });
        Ok(Self { looks: looks.count() as u64, ..all })
    }

    /// The same if the store is also asked about the keys of a join, which this share of the rows has.
    #[must_use]
    pub fn with_keys(&self, share: f64, asking: impl Fn(ScanDemand) -> ScanDemand) -> Self {
        let groups = self.groups.map(|groups| (groups * share).max(1.0));
        Self { scan: asking(self.scan), groups, ..*self }
    }

    /// Whether a sample of a file is worth its request, to find out how many groups there are.
    #[must_use]
    pub fn is_worth_a_sample(&self, options: &ConfigOptions) -> bool {
        SluiceOptions::of(options).group_by == GroupBy::Auto
            && self.rows() >= WORTH_A_SAMPLE * self.sample_rows as f64
    }

    /// The same for one of the files.
    #[must_use]
    pub fn of_file(&self, file: &PartitionedFile) -> Self {
        let share = file.effective_size() as f64 / self.bytes.max(1.0);
        let scan = ScanDemand {
            objects: 1,
            needed: Bytes::from_f64(self.scan.needed.0 as f64 * share),
            rows: Rows::from_f64(self.scan.rows.as_f64() * share),
            get_requests: Requests(1),
            select_requests: Some(Requests(1)),
            ..self.scan
        };
        Self { scan, bytes: file.effective_size() as f64, ..*self }
    }

    /// The rows that are to be grouped.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.scan.rows.as_f64() * self.scan.selectivity
    }

    /// Bytes of the states of so many groups.
    #[must_use]
    pub fn clause_bytes(&self, groups: f64) -> f64 {
        groups * self.width as f64 * AGGREGATE_BYTES
    }

    /// The states of all groups of each file, by a GROUP BY of the store's own, if nothing is known
    /// of how many there are.
    #[must_use]
    pub fn clause_of_some(&self) -> Steps {
        let rows = self.rows() / self.scan.objects.max(1) as f64;
        let groups = self.groups.unwrap_or(ASSUMED_GROUPS as f64).min(rows.max(1.0));
        let groups = self.clause(groups);
        if self.looks == 0 {
            return groups;
        }
        let rows = (self.looks * self.sample_rows as u64) as f64;
        let share = rows / self.scan.rows.as_f64().max(1.0);
        let look = ScanDemand {
            select_requests: Some(Requests(self.looks)),
            needed: Bytes::from_f64(self.scan.needed.0 as f64 * share),
            rows: Rows::from_f64(rows),
            terms: Terms::NONE,
            passing: 1.0,
            selectivity: 1.0,
            bytes_per_returned_row: self.key_bytes,
            ..self.scan
        };
        Steps::InTurn(vec![phase("sample", &look), groups])
    }

    /// The same of so many groups in each file.
    #[must_use]
    pub fn clause(&self, groups: f64) -> Steps {
        let (files, rows) = (self.scan.objects as f64, self.scan.rows.as_f64().max(1.0));
        phase(
            "groups",
            &ScanDemand {
                items: self.items,
                selectivity: (groups * files / rows).min(self.scan.selectivity),
                bytes_per_returned_row: self.clause_bytes(1.0),
                ..self.scan
            },
        )
    }

    /// Looking for the groups of each file, and then for the states of all.
    #[must_use]
    pub fn all(&self) -> Steps {
        let mut steps = vec![self.sample()];
        if self.width > 0 {
            let groups = self.groups.map_or(ASSUMED_GROUPS, |groups| groups.ceil() as u64);
            steps.push(self.proven(groups));
        } else {
            steps.push(self.rest(0.0));
        }
        Steps::InTurn(steps)
    }

    /// Looking for the largest groups of each file, and then for their states and all other rows.
    #[must_use]
    pub fn largest(&self) -> Steps {
        let (groups, left) = self.largest;
        Steps::InTurn(vec![self.sample(), self.together(groups, left)])
    }

    /// All rows, to be grouped here.
    #[must_use]
    pub fn here(&self) -> Steps {
        self.rest(1.0)
    }

    /// The states of some groups, and at the same time the share of the rows that is in none.
    #[must_use]
    pub fn together(&self, groups: u64, left: f64) -> Steps {
        Steps::Together(vec![self.pushed(groups), self.rest(left)])
    }

    fn sample(&self) -> Steps {
        let rows = (self.scan.rows.as_f64() / self.scan.objects.max(1) as f64).max(1.0);
        // So many rows must be read to find enough that pass the filter.
        let read = (self.sample_rows as f64 / self.scan.selectivity.max(1e-6)).min(rows);
        let share = read / rows;
        phase(
            "sample",
            &ScanDemand {
                needed: Bytes::from_f64(self.scan.needed.0 as f64 * share),
                rows: Rows::from_f64(self.scan.rows.as_f64() * share),
                bytes_per_returned_row: self.key_bytes,
                ..self.scan
            },
        )
    }

    /// The states of all groups, with the proof that these are all.
    #[must_use]
    pub fn proven(&self, groups: u64) -> Steps {
        let pushed = self.pushed(groups);
        match self.exact {
            true => pushed,
            false => Steps::InTurn(vec![pushed, self.rest(0.0)]),
        }
    }

    /// The states of some groups.
    #[must_use]
    pub fn pushed(&self, groups: u64) -> Steps {
        if self.one_by_one {
            // A scan for each of them, and one that counts all rows.
            let scans = groups as f64 + 1.0;
            let rows = (self.scan.rows.as_f64() * scans).max(1.0);
            let requests = self.scan.select_requests.unwrap_or(Requests::ZERO).as_f64() * scans;
            return phase(
                "groups",
                &ScanDemand {
                    needed: self.scan.needed * scans,
                    rows: Rows::from_f64(rows),
                    terms: self.scan.terms + self.terms + Terms::from(1),
                    // Each row is in one group, and once more in the count of all.
                    passing: self.scan.passing * 2.0 / scans,
                    items: self.items,
                    selectivity: (self.scan.objects as f64 * scans / rows).min(1.0),
                    bytes_per_returned_row: self.width as f64 * AGGREGATE_BYTES,
                    select_requests: Some(Requests::from_f64(requests)),
                    ..self.scan
                },
            );
        }
        let columns = groups as f64 * self.width as f64 + 1.0;
        phase(
            "groups",
            &ScanDemand {
                items: self.items.times(groups),
                selectivity: (self.scan.objects as f64 / self.scan.rows.as_f64().max(1.0)).min(1.0),
                bytes_per_returned_row: columns * AGGREGATE_BYTES,
                ..self.scan
            },
        )
    }

    fn rest(&self, share: f64) -> Steps {
        phase(
            "rest",
            &ScanDemand {
                passing: self.scan.passing * share,
                selectivity: self.scan.selectivity * share,
                terms: self.scan.terms + Terms::from(1),
                ..self.scan
            },
        )
    }
}

fn phase(name: &'static str, demand: &ScanDemand) -> Steps {
    match demand.select().map(|select| select.steps) {
        Some(Steps::Phase(phase)) => Phase { name, ..phase }.into(),
        Some(steps) => steps,
        None => Phase { name, ..Phase::default() }.into(),
    }
}

fn default_selectivity(options: &ConfigOptions) -> f64 {
    f64::from(options.optimizer.default_filter_selectivity) / 100.0
}

/// What a scan asks for that can only be a GET.
///
/// # Errors
///
/// If the scan cannot be split.
pub fn get_demand(
    scan: &Arc<dyn ExecutionPlan>,
    config: &FileScanConfig,
    options: &ConfigOptions,
) -> Result<ScanDemand> {
    let source = config.file_source();
    let style = match source.file_type() {
        "parquet" => ColumnStyle::Named,
        "json" => ColumnStyle::Member,
        _ => ColumnStyle::Positional,
    };
    let schema = source.table_schema().file_schema();
    let table = Table::new(config, schema, style, Some(options));
    let columns = match source.projection() {
        Some(projection) => projection.column_indices(),
        None => (0..schema.fields().len()).collect(),
    };
    let demand = table.demand(&columns, 1.0, table.row_bytes(&columns), Terms::NONE);
    Ok(ScanDemand { get_requests: opened(scan, options)?, select_requests: None, ..demand })
}

/// A table in numbers.
struct Table<'a> {
    schema: &'a Schema,
    style: ColumnStyle,
    files: f64,
    requests: u64,
    bytes: f64,
    rows: f64,
    known: Option<TableStatistics>,
}

impl<'a> Table<'a> {
    /// The statistics of the session with these options say more.
    fn of(
        config: &FileScanConfig,
        source: &'a S3SelectSource,
        options: Option<&ConfigOptions>,
    ) -> Self {
        Self::new(config, source.file_schema(), source.format().style, options)
    }

    fn new(
        config: &FileScanConfig,
        schema: &'a Schema,
        style: ColumnStyle,
        options: Option<&ConfigOptions>,
    ) -> Self {
        let files = config.file_groups.iter().flat_map(|group| group.files());
        let (mut requests, mut bytes) = (0_u64, 0.0);
        for file in files {
            requests += 1;
            bytes += file.effective_size() as f64;
        }
        let rows = table_rows(config);
        let known = options.filter(|options| options.execution.collect_statistics);
        let known = known.and_then(|options| TableStatistics::of(config, options));
        Self { schema, style, files: requests as f64, requests, bytes, rows, known }
    }

    /// The share of the rows that pass the filters of a scan.
    fn selectivity(&self, source: &S3SelectSource, options: &ConfigOptions) -> f64 {
        if source.filters().is_empty() {
            return 1.0;
        }
        let otherwise = default_selectivity(options);
        let filters = source.filters().iter().map(|filter| &filter.here);
        let known = self.known.as_ref().and_then(|known| known.selectivity(filters, otherwise));
        known.unwrap_or(otherwise)
    }

    /// How many groups there are, if something is known of the values of all keys.
    fn groups(&self, exec: &S3GroupByExec) -> Option<f64> {
        let known = self.known.as_ref()?;
        let mut groups = 1.0;
        for position in self.keys(exec)? {
            // NULL is a group, too.
            groups *= known.distinct(position)?.max(1.0) + known.nulls(position)?.ceil();
        }
        Some(groups.min(self.rows.max(1.0)))
    }

    /// How many the largest groups are, and the share of the rows that is in none of these.
    fn largest(&self, exec: &S3GroupByExec) -> (u64, f64) {
        let (most, left) = ASSUMED_LARGEST;
        let known = || match self.keys(exec)?.as_slice() {
            [key] => self.known.as_ref()?.heaviest(*key, most as usize).map(|share| 1.0 - share),
            _ => None,
        };
        match self.groups(exec) {
            Some(groups) if groups <= most as f64 => (groups.ceil() as u64, 0.0),
            _ => (most, known().unwrap_or(left)),
        }
    }

    /// The columns that rows are grouped by, if they are columns.
    fn keys(&self, exec: &S3GroupByExec) -> Option<Vec<usize>> {
        let keys = exec.partial().group_expr().expr().iter();
        let position = |key: &Arc<dyn PhysicalExpr>| {
            let column = key.downcast_ref::<Column>()?;
            self.schema.index_of(column.name()).ok()
        };
        keys.map(|(key, _)| position(key)).collect()
    }

    fn demand(
        &self,
        columns: &[usize],
        selectivity: f64,
        row_bytes: f64,
        terms: Terms,
    ) -> ScanDemand {
        let passing = selectivity;
        let (format, needed) = match self.style {
            ColumnStyle::Positional => (Format::Csv, self.bytes),
            ColumnStyle::Member => (Format::Json, self.bytes),
            ColumnStyle::Named => (Format::Parquet, self.bytes * self.share(columns)),
        };
        ScanDemand {
            objects: self.requests,
            format,
            needed: Bytes::from_f64(needed),
            rows: Rows::from_f64(self.rows),
            terms,
            passing,
            items: Terms::NONE,
            constants: 0,
            selectivity,
            bytes_per_returned_row: row_bytes,
            get_requests: Requests(self.requests),
            select_requests: Some(Requests(self.requests)),
        }
    }

    /// Bytes of a returned row, in the format of the answer.
    fn row_bytes(&self, columns: &[usize]) -> f64 {
        match self.style {
            ColumnStyle::Positional | ColumnStyle::Member => {
                (self.bytes / self.rows.max(1.0)) * self.share(columns)
            }
            ColumnStyle::Named => columns.iter().map(|index| self.width(*index)).sum(),
        }
    }

    /// The share of a row's bytes in some columns.
    fn share(&self, columns: &[usize]) -> f64 {
        let all: f64 = (0..self.schema.fields().len()).map(|index| self.width(index)).sum();
        let some: f64 = columns.iter().map(|index| self.width(*index)).sum();
        if all > 0.0 { some / all } else { 1.0 }
    }

    /// Bytes of a column's value as text, delimiter and, in JSON, name included: the mean, if that is
    /// known, or typical.
    fn width(&self, index: usize) -> f64 {
        let field = self.schema.fields().get(index);
        let known = self.known.as_ref().and_then(|known| known.width(index));
        let name = match (self.style, field) {
            (ColumnStyle::Member, Some(field)) => field.name().len() as f64 + 3.0,
            _ => 0.0,
        };
        if let Some(known) = known.filter(|width| width.is_finite()) {
            return name + known.clamp(0.0, 1e6) + 1.0;
        }
        name + match field.map(|field| field.data_type()) {
            Some(DataType::Boolean) => 6.0,
            Some(DataType::Date32) => 11.0,
            Some(DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => 16.0,
            Some(DataType::Timestamp(..)) => 24.0,
            _ => 8.0,
        }
    }
}

/// What a look by `BLOOM_CONTAINS` is taken for, in comparisons: a hash and its seven bits take a little
/// less than one look by `SUBSTRING` does.
pub const BLOOM_CONTAINS: u32 = 6;

/// What a statement has the store evaluate for each row, to know whether it passes: comparisons,
/// conversions, arithmetic, CASE and Bloom filters.
#[must_use]
pub fn terms(query: &Query) -> Terms {
    query.filter.as_ref().map_or(Terms::NONE, weight)
}

/// What it evaluates for each row that passes: what it selects, aggregates and groups by.
#[must_use]
pub fn items(query: &Query) -> Terms {
    let items = match &query.projection {
        Projection::Star => &[],
        Projection::Items(items) => items.as_slice(),
    };
    let items: Terms = items.iter().map(|item| weight(&item.expr)).sum();
    if query.group_by.is_empty() {
        return items;
    }
    let key = Terms { keys: 1, ..Terms::NONE };
    let keys: Terms = query.group_by.iter().map(|by| key + weight(by)).sum();
    // The states to update are each row's own.
    let states = Terms { keys: items.updates, updates: 0, ..items };
    keys + states
}

fn weight(expr: &Expr) -> Terms {
    let all = |exprs: &[&Expr]| -> Terms { exprs.iter().map(|expr| weight(expr)).sum() };
    match expr {
        Expr::Literal(_) | Expr::Path(_) => Terms::NONE,
        Expr::Unary { expr, .. } | Expr::Is { expr, .. } => Terms::from(1) + weight(expr),
        Expr::Binary { op: BinaryOp::Eq, left, .. } if is_slice(left) => {
            Terms { probes: 1, ..Terms::NONE }
        }
        Expr::Binary { left, right, .. } => Terms::from(1) + all(&[left, right]),
        Expr::Between { expr, low, high, .. } => Terms::from(2) + all(&[expr, low, high]),
        Expr::Like { expr, .. } | Expr::In { expr, .. } => Terms::from(2) + weight(expr),
        Expr::Case { operand, branches, otherwise } => {
            let branch = Terms { cases: 1, ..Terms::NONE };
            let arms: Terms = branches.iter().map(|(when, then)| branch + all(&[when, then])).sum();
            let rest = [operand.as_deref(), otherwise.as_deref()];
            arms + rest.into_iter().flatten().map(weight).sum()
        }
        // A conversion comes with its comparison.
        Expr::Cast { expr, .. } => weight(expr),
        Expr::Call { function: Function::BloomContains, args } => {
            Terms::from(BLOOM_CONTAINS) + args.iter().map(weight).sum()
        }
        Expr::Call { args, .. } => args.iter().map(weight).sum(),
        Expr::Aggregate { arg, .. } => {
            let update = Terms { updates: 1, ..Terms::NONE };
            update + arg.as_deref().map_or(Terms::NONE, weight)
        }
    }
}

/// The constants in the lists of a statement's condition, which the store reads before the first row.
#[must_use]
pub fn constants(query: &Query) -> u64 {
    query.filter.as_ref().map_or(0, in_lists)
}

/// The constants in the lists of a condition.
pub(crate) fn in_lists(expr: &Expr) -> u64 {
    match expr {
        Expr::In { list, .. } => list.len() as u64,
        Expr::Unary { expr, .. } => in_lists(expr),
        Expr::Binary { left, right, .. } => in_lists(left) + in_lists(right),
        _ => 0,
    }
}

/// Whether this is a character of a text that the statement holds, as a look into a Bloom filter is.
fn is_slice(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function: Function::Substring, args }
        if matches!(args.first(), Some(Expr::Literal(_))))
}
