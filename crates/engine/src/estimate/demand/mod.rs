//! Translates plans and statistics to the plain numbers that the cost model takes.
//!
//! | part | module |
//! |---|---|
//! | scans, aggregates and ORDER BY … LIMIT | this file |
//! | sizes and selectivities of a table | `table` |
//! | bytes of values in Arrow | `arrow_width` |
//! | GROUP BY in the store | `group_by` |
//! | work of an operator in the engine | `local_evaluation` |
//! | estimates that a scan requests while it runs | `scan_estimates` |
//! | work of a statement in the store | `pushdown/terms.rs` |

mod arrow_width;
mod group_by;
mod local_evaluation;
mod scan_estimates;
mod table;

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_plan::ExecutionPlan;
use sluicegate_costmodel::{AnswerFormat, Requests, Rows, ScanDemand, Terms, TopKDemand};
use sluicegate_s3select::request::OutputSerialization;

pub use self::group_by::{GroupByDemand, GroupByShape};
pub use self::local_evaluation::{evaluated_locally, of_aggregate};
pub use self::scan_estimates::ScanEstimates;
use self::table::Table;
use crate::context::config::SluiceOptions;
use crate::estimate::server_index::ServerIndexScan;
use crate::pushdown::predicate::ColumnStyle;
use crate::pushdown::statement::Statement;
pub(crate) use crate::pushdown::terms::conditions;
pub use crate::pushdown::terms::{BLOOM_CONTAINS, constants, items, terms};
use crate::scan::s3_scan::as_select_scan;
use crate::scan::s3_select::S3SelectSource;
use crate::store::endpoints::Endpoints;
use crate::text::record_limit::DEFAULT_RECORD_BYTES;

/// Bytes of an aggregate in an answer: a number of some digits and its delimiter.
const AGGREGATE_BYTES: f64 = 16.0;

/// Returns the demand of a Select scan, the node `select`, and of the plan `get` that would replace it.
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
    let table = Table::from_scan(config, source, Some(options));
    let selectivity = table.selectivity(source, options);
    let columns = source.columns();
    let demand = table.demand(columns, selectivity, table.row_bytes(columns), Terms::NONE);
    let demand =
        looking_up(select_demand(demand, source), inside(select, source, options)?.as_ref());
    let (select_requests, selecting) = opened(select, options)?;
    let (get_requests, getting) = opened(get, options)?;
    let demand = ScanDemand {
        get_requests: get_requests.max(demand.get_requests),
        gets_at_once: Some(Requests(getting as u64)),
        select_requests: Some(select_requests),
        selects_at_once: Some(at_once(selecting)),
        ..demand
    };
    Ok(limited(demand, config, at_once(getting)))
}

/// Returns the demand of a scan that ends at its limit, if it has one.
fn limited(demand: ScanDemand, config: &FileScanConfig, gets_at_once: Requests) -> ScanDemand {
    match config.limit {
        Some(limit) => demand.ending_after(Rows(limit as u64), gets_at_once),
        None => demand,
    }
}

/// Returns what the store reads for the Select scan `select` if it answers by indexes, else `None`.
///
/// # Errors
///
/// If the scan cannot be split.
pub fn inside(
    select: &Arc<dyn ExecutionPlan>,
    source: &S3SelectSource,
    options: &ConfigOptions,
) -> Result<Option<ServerIndexScan>> {
    Ok(split(select, options)?
        .and_then(|config| ServerIndexScan::estimate(&config, source, options)))
}

fn looking_up(demand: ScanDemand, inside: Option<&ServerIndexScan>) -> ScanDemand {
    inside.map_or(demand, |inside| demand.looking_up(inside.read()))
}

/// Returns the number of files and file parts that the scan at the bottom of a plan opens, each with one request, and
/// the number of partitions that do so.
fn opened(plan: &Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<(Requests, usize)> {
    let Some(config) = split(plan, options)? else { return Ok((Requests(0), 1)) };
    let files = config.file_groups.iter().map(|group| group.len() as u64).sum();
    Ok((Requests(files), partitions(&config, Some(options))))
}

/// Returns the number of partitions that read the files of a scan. As long as each partition has one file only, more
/// files would use more partitions.
fn partitions(config: &FileScanConfig, options: Option<&ConfigOptions>) -> usize {
    let groups = &config.file_groups;
    if let Some(elsewhere) = options.and_then(|it| elsewhere(&config.object_store_url, it)) {
        return elsewhere.min(groups.iter().map(FileGroup::len).sum()).max(1);
    }
    let alone = groups.iter().all(|group| group.len() <= 1);
    let most = options.map_or(1, |options| options.execution.target_partitions);
    if alone { groups.len().max(most) } else { groups.len() }.max(1)
}

/// Returns the number of statements in flight for a scan of these files.
pub(crate) fn statements_at_once(config: &FileScanConfig, options: &ConfigOptions) -> Requests {
    at_once(partitions(config, Some(options)))
}

/// Returns the number of partitions of the machine that the store's profile is about, if it is another one than this.
fn elsewhere(url: &ObjectStoreUrl, options: &ConfigOptions) -> Option<usize> {
    let endpoint = Endpoints::from_options(options)?.serving(url)?;
    usize::try_from(endpoint.hardware.client.partitions?.get()).ok()
}

/// Returns the options with the number of partitions of the machine that predictions are about.
fn of_machine<'a>(url: &ObjectStoreUrl, options: &'a ConfigOptions) -> Cow<'a, ConfigOptions> {
    let Some(partitions) = elsewhere(url, options) else { return Cow::Borrowed(options) };
    let mut options = options.clone();
    options.execution.target_partitions = partitions;
    Cow::Owned(options)
}

/// Returns the number of statements in flight for so many partitions. Each partition sends the next statement while
/// it reads the answer to another. (A GET sends the next one when the one before is read, or nearly.)
fn at_once(partitions: usize) -> Requests {
    Requests(2 * partitions.max(1) as u64)
}

/// Returns the scan at the bottom of a plan as it will run: DataFusion splits large files once it places exchanges.
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
    let options = &*of_machine(&whole.object_store_url, options);
    // DataFusion does not split a scan that is known to be a single batch.
    let tiny = matches!(whole.statistics().num_rows, Precision::Exact(rows)
        if rows <= options.execution.batch_size.get());
    let split = match options.optimizer.repartition_file_scans && !tiny {
        true => scan.repartitioned(options.execution.target_partitions, options)?,
        false => None,
    };
    Ok(Some(split.as_ref().and_then(config).unwrap_or(whole)))
}

/// Returns the demand of the Select scan `select` if only its `k` best rows are wanted. When a partition opens its
/// next file, the rows of its files before are known, and it requests better rows only. Each partition therefore
/// sends one statement after the other.
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
    let selects_at_once = Some(Requests(groups.len().max(1) as u64));
    Ok(ScanDemand { passing, selectivity, selects_at_once, ..scan })
}

/// An aggregate in the store, as far as its demand depends on it.
#[derive(Debug, Clone, Copy)]
pub struct AggregateShape<'a> {
    /// The scan whose rows are aggregated.
    pub config: &'a FileScanConfig,
    /// The source of the scan.
    pub source: &'a S3SelectSource,
    /// The statement that a file or range of one is sent.
    pub statement: &'a Statement,
}

/// Returns the demand of an aggregate in the store: a scan that returns one row per request.
#[must_use]
pub fn aggregate_demand(shape: AggregateShape<'_>, options: &ConfigOptions) -> ScanDemand {
    let AggregateShape { config, source, statement } = shape;
    let table = Table::from_scan(config, source, Some(options));
    let bytes = AGGREGATE_BYTES * statement.answer.fields().len() as f64;
    let query = &statement.query;
    let passing = table.selectivity(source, options);
    let demand = table.demand(source.columns(), passing, bytes, Terms::NONE);
    let demand = ScanDemand { terms: terms(query, Some(demand.passing)), ..demand };
    let selectivity = table.files / demand.rows.as_f64().max(1.0);
    let inside = ServerIndexScan::estimate(config, source, options);
    let as_json = matches!(statement.output, OutputSerialization::Json { .. });
    ScanDemand {
        answer: if as_json { AnswerFormat::Json } else { AnswerFormat::Csv },
        selectivity: selectivity.min(1.0),
        items: items(query),
        constants: constants(query),
        ..looking_up(demand, inside.as_ref())
    }
}

/// Returns the demand with the terms of the source's own statement.
fn select_demand(demand: ScanDemand, source: &S3SelectSource) -> ScanDemand {
    let Some(Statement { query, .. }) = source.statement(None) else { return demand };
    ScanDemand {
        terms: terms(&query, Some(demand.passing)),
        items: items(&query),
        constants: constants(&query),
        ..demand
    }
}

/// Returns the estimated share of a scan's rows that passes its filters.
#[must_use]
pub fn selectivity(
    config: &FileScanConfig,
    source: &S3SelectSource,
    options: &ConfigOptions,
) -> f64 {
    Table::from_scan(config, source, Some(options)).selectivity(source, options)
}

/// Returns the share of a column's values that pass the scan's filters on that column alone, and the share of the
/// rows that pass these filters with a NULL.
#[must_use]
pub fn kept_of_column(
    config: &FileScanConfig,
    source: &S3SelectSource,
    column: usize,
    options: &ConfigOptions,
) -> (f64, f64) {
    Table::from_scan(config, source, Some(options)).kept_of_column(source, column, options)
}

/// Returns the rows of a scan's files, known or estimated.
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

/// Returns the demand of the best `k` rows of the Select scan `select` if a sample of some columns is taken first.
/// With `filtered`, rows are filtered again before they are sorted.
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
    let table = Table::from_scan(config, source, Some(options));
    let share = table.row_bytes(sampled) / table.row_bytes(source.columns());
    // Only some of the sent rows reach the sort, so more must be sent for each.
    let passing = if filtered { default_selectivity(options).max(0.01) } else { 1.0 };
    Ok(TopKDemand {
        scan,
        k: Rows::from_f64(k as f64 / passing),
        share: if share.is_finite() { share.clamp(0.001, 1.0) } else { 1.0 },
        keys_needed: table.demand(sampled, 1.0, 0.0, Terms::NONE).needed,
        sample_requests: Requests::ZERO,
        sample_rows: SluiceOptions::from_options(options).top_k_sample.get().map(Rows),
    })
}

fn default_selectivity(options: &ConfigOptions) -> f64 {
    f64::from(options.optimizer.default_filter_selectivity) / 100.0
}

/// Returns the demand of a scan that can only use GET.
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
    let table = Table::new(config, schema, style, source.filter(), Some(options));
    let columns = match source.projection() {
        Some(projection) => projection.column_indices(),
        None => (0..schema.fields().len()).collect(),
    };
    let demand = table.demand(&columns, 1.0, table.row_bytes(&columns), Terms::NONE);
    let (get_requests, getting) = opened(scan, options)?;
    let gets_at_once = Some(Requests(getting as u64));
    let get_requests = get_requests.max(demand.get_requests);
    let demand = ScanDemand { get_requests, gets_at_once, select_requests: None, ..demand };
    Ok(limited(demand, config, at_once(getting)))
}
