//! Plans a scan as PushdownDB does with its index: S3 Select over an index table returns places, and each row is
//! fetched by a GET of its own (section IV-A). Only a session that forces it gets it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::{ConfigOptions, CsvOptions};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    CsvSource, FileGroup, FileScanConfig, FileScanConfigBuilder,
};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use object_store::ObjectMeta;
use sluicegate_costmodel::{Bytes, Phase, Requests, Rows, Steps, answered};
use sluicegate_index::key::NULL;

use super::choose::Plan;
use super::index::fresh_indexes;
use crate::context::choice::Reason;
use crate::context::config::SluiceOptions;
use crate::estimate::declared_sizes::actual_object;
use crate::estimate::demand::{constants, items, statements_at_once, table_rows, terms};
use crate::estimate::statistics::table::TableStatistics;
use crate::index::discovery::FileIndexes;
use crate::index::filter::spans_of;
use crate::index::location::IndexRoot;
use crate::index::read_plan::ReadPlan;
use crate::index::scan::{ColumnLookup, IndexLookup};
use crate::index::table;
use crate::pushdown::statement::Statement;
use crate::scan::s3_select::{S3SelectSource, SelectPushdown, Split};
use crate::store::chooser::{Strategy, StrategyPlan};
use crate::store::endpoints::Endpoints;
use crate::text::format::Format;

/// The strategy in which S3 Select over an index table leads to the rows.
pub(super) const INDEX_TABLE: &str = "index_table";

/// Returns the strategy: an offer, or the reason why there is none.
pub(super) fn strategy(
    config: &FileScanConfig,
    filters: &[Arc<dyn PhysicalExpr>],
    options: &ConfigOptions,
    build: impl FnOnce(IndexLookup) -> Result<Result<Plan, Reason>>,
) -> Result<Strategy<Plan>> {
    let offer = match looked_up(config, filters) {
        Ok(asked) => match Lookup::plan(config, asked, options)? {
            Ok(Lookup { asked, steps, statement }) => {
                build(asked)?.map(|build| StrategyPlan { steps, statement: Some(statement), build })
            }
            Err(why) => Err(why),
        },
        Err(why) => Err(why),
    };
    Ok(Strategy { strategy: INDEX_TABLE, offer })
}

/// Returns the column to look up: the first one with an index table that the filters restrict.
fn looked_up(
    config: &FileScanConfig,
    filters: &[Arc<dyn PhysicalExpr>],
) -> Result<ColumnLookup, Reason> {
    if matches!(Format::from_scan(config)?, Format::Parquet) {
        return Err("an index table leads to ranges of bytes, which rows of Parquet are not".into());
    }
    if let Some(why) = fresh_indexes(config).find_map(|(_, indexes)| indexes?.unlisted()) {
        return Err(Reason::new(format!("the indexes cannot be listed: {why}")));
    }
    let schema = config.file_source().table_schema().file_schema();
    let columns = |has: fn(&FileIndexes, usize) -> bool| -> Vec<usize> {
        let any = |column: &usize| {
            fresh_indexes(config).any(|(_, it)| it.is_some_and(|it| has(it, *column)))
        };
        (0..schema.fields().len()).filter(any).collect()
    };
    let names = |columns: &[usize]| {
        let names: Vec<_> = columns.iter().map(|it| schema.field(*it).name().as_str()).collect();
        names.join(", ")
    };
    let fresh = columns(|indexes, column| indexes.table_for(column).is_some());
    let stale = columns(FileIndexes::is_table_stale);
    if fresh.is_empty() {
        return Err(Reason::new(match stale.is_empty() {
            true => {
                "the table has no index table; `sluice index create TABLE COLUMN --csv` makes one"
                    .to_owned()
            }
            false => format!(
                "the objects have been replaced, or are read otherwise, since the index table of {} was \
                 created; `sluice index create TABLE COLUMN --csv` makes a new one",
                names(&stale)
            ),
        }));
    }
    for column in fresh.iter().copied() {
        let of_type = schema.field(column).data_type();
        // Rows without a value are not in the table, and it has no values of other columns.
        let restricts = |filter: &&Arc<dyn PhysicalExpr>| {
            let is_alone = collect_columns(filter).iter().all(|it| it.index() == column);
            is_alone
                && spans_of(filter, column, of_type).is_some_and(|spans| !spans.contains(&NULL))
        };
        let filters: Vec<_> = filters.iter().filter(restricts).cloned().collect();
        if !filters.is_empty() {
            return Ok(ColumnLookup { column, filter: conjunction(filters) });
        }
    }
    Err(Reason::new(format!(
        "the filter compares no column that has an index table ({}) with constants",
        names(&fresh)
    )))
}

/// A look-up in index tables, with its predicted work.
struct Lookup {
    asked: IndexLookup,
    steps: Steps,
    statement: String,
}

impl Lookup {
    fn plan(
        config: &FileScanConfig,
        column: ColumnLookup,
        options: &ConfigOptions,
    ) -> Result<Result<Self, Reason>> {
        let ours = SluiceOptions::from_options(options);
        let place = IndexRoot::for_bucket(&config.object_store_url, &ours.index_location)?;
        let schema = config.file_source().table_schema().file_schema();
        let field = schema.field(column.column);
        let filter = over_value(&column.filter)?;
        let table = match select_places(config, (&place, column.column), filter, options) {
            Ok(table) => table,
            Err(why) => return Ok(Err(why)),
        };
        let source = table.file_source().downcast_ref::<S3SelectSource>();
        let Some(statement) = source.and_then(|source| source.statement(None)) else {
            return Ok(Err("the store has no statement for the index table".into()));
        };
        let work = Work::estimate(config, &column, options);
        let without = match work.without {
            0 => String::new(),
            some => {
                format!("; {some} of {} objects have no index table", work.without + work.tables)
            }
        };
        let text = format!(
            "{} over the index table of {}, and one GET per row{without}",
            statement.sql(),
            field.name()
        );
        // Each record is a request of its own, whatever lies between two of them.
        let reading = ReadPlan { request: 0, ranges_per_request: 1, gap: 0 };
        let table = Some(Arc::new(table));
        let asked = IndexLookup { columns: vec![column], reading, store: place.store, table };
        let at_once = statements_at_once(config, options);
        Ok(Ok(Self { asked, steps: work.steps(&statement, at_once), statement: text }))
    }
}

/// Returns a filter on a column of the table as a filter on the values of its index table.
fn over_value(filter: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let value: Arc<dyn PhysicalExpr> = Arc::new(Column::new(table::VALUE, 0));
    Arc::clone(filter)
        .transform(|expr| {
            Ok(match expr.downcast_ref::<Column>() {
                Some(_) => Transformed::yes(Arc::clone(&value)),
                None => Transformed::no(expr),
            })
        })
        .data()
}

/// Returns the scan of the index tables of a column that returns the places of rows.
fn select_places(
    config: &FileScanConfig,
    (place, column): (&IndexRoot, usize),
    filter: Arc<dyn PhysicalExpr>,
    options: &ConfigOptions,
) -> Result<FileScanConfig, Reason> {
    let endpoint = Endpoints::from_options(options).and_then(|all| all.serving(&place.store));
    let endpoint = endpoint.ok_or("no store of the session serves the bucket of the indexes")?;
    let field = config.file_source().table_schema().file_schema().field(column).clone();
    let schema = table::schema(field.data_type());
    let csv = CsvOptions { has_header: Some(false), ..CsvOptions::default() };
    let csv = CsvSource::new(Arc::clone(&schema)).with_csv_options(csv);
    let objects = fresh_indexes(config).filter_map(|(_, indexes)| {
        let object = &indexes?.table_for(column)?.object;
        Some(PartitionedFile::from(ObjectMeta {
            location: object.path.clone(),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            size: object.size,
            e_tag: object.e_tag.clone(),
            version: None,
        }))
    });
    let scan = FileScanConfigBuilder::new(place.store.clone(), Arc::new(csv))
        .with_file_groups(vec![FileGroup::new(objects.collect())])
        .build();
    let asked = SelectPushdown {
        projection: ProjectionExprs::from_indices(&[1, 2], &schema),
        filters: vec![filter],
        arriving: Vec::new(),
        limit: None,
        split: Split::from_options(options),
        batch_size: options.execution.batch_size.get(),
        left_out: 0,
    };
    let source = S3SelectSource::try_with_pushdown(&scan, &endpoint, asked)?;
    Ok(FileScanConfigBuilder::from(scan).with_source(Arc::new(source)).build())
}

/// The sizes that decide the work of a look-up.
struct Work {
    /// The number of objects with an index table, and the bytes of these tables.
    tables: u64,
    table_bytes: f64,
    /// The number of objects without one, and their bytes. They are fetched whole.
    without: u64,
    whole_bytes: f64,
    /// The rows of the objects with an index table, and their bytes.
    rows: f64,
    row_bytes: f64,
    /// The bytes of two places in an answer.
    place_bytes: f64,
    /// The share of the rows that passes.
    share: f64,
}

impl Work {
    fn estimate(config: &FileScanConfig, column: &ColumnLookup, options: &ConfigOptions) -> Self {
        let mut work = Self {
            tables: 0,
            table_bytes: 0.0,
            without: 0,
            whole_bytes: 0.0,
            rows: 0.0,
            row_bytes: 0.0,
            place_bytes: 0.0,
            share: share(config, column, options),
        };
        let mut bytes = 0.0;
        for (file, indexes) in fresh_indexes(config) {
            let size = file.object_meta.size as f64;
            match indexes.and_then(|indexes| indexes.table_for(column.column)) {
                Some(index) => {
                    // A table grows with its object.
                    let actual = actual_object(file).size.max(1) as f64;
                    work.tables += 1;
                    work.table_bytes += index.object.size as f64 * size / actual;
                    bytes += size;
                    work.place_bytes =
                        work.place_bytes.max(2.0 * (size.max(10.0).log10().ceil() + 1.0));
                }
                None if size > 0.0 => {
                    work.without += 1;
                    work.whole_bytes += size;
                }
                None => {}
            }
        }
        let all = (bytes + work.whole_bytes).max(1.0);
        work.row_bytes = all / table_rows(config).max(1.0);
        work.rows = table_rows(config) * bytes / all;
        work
    }

    fn steps(&self, Statement { query, .. }: &Statement, at_once: Requests) -> Steps {
        let passing = self.rows * self.share;
        let places = Phase {
            name: "index table",
            selects: Requests(self.tables),
            selects_at_once: Some(at_once),
            scanned: Bytes::from_f64(self.table_bytes),
            scanned_rows: Rows::from_f64(self.rows),
            terms: terms(query, Some(self.share)),
            passing_rows: Rows::from_f64(passing),
            items: items(query),
            constants: constants(query).saturating_mul(self.tables),
            answered: answered(passing, 2.0),
            returned: Bytes::from_f64(passing * self.place_bytes),
            values: passing * 2.0,
            ..Phase::default()
        };
        let rows = Phase {
            name: "rows",
            gets: Requests((passing.ceil() as u64).saturating_add(self.without)),
            got: Bytes::from_f64(passing * self.row_bytes + self.whole_bytes),
            ..Phase::default()
        };
        Steps::InTurn(vec![places.into(), rows.into()])
    }
}

/// Returns the estimated share of the rows that passes the filter of a look-up.
fn share(config: &FileScanConfig, column: &ColumnLookup, options: &ConfigOptions) -> f64 {
    if let Some(assumed) = SluiceOptions::from_options(options).selectivity.get() {
        return assumed;
    }
    let otherwise = f64::from(options.optimizer.default_filter_selectivity) / 100.0;
    let known = options.execution.collect_statistics;
    let known = known.then(|| TableStatistics::for_scan(config, options)).flatten();
    let share = known.and_then(|known| known.selectivity([&column.filter], otherwise));
    share.unwrap_or(otherwise)
}
