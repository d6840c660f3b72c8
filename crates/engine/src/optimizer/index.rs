//! Plans a scan of a bucket that an index leads to its records.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_plan::filter::FilterExec;
use sluicegate_costmodel::{Bytes, Phase, Requests, Steps, gap};
use sluicegate_s3select::byteranges::MAX_RANGES;

use super::choose::Plan;
use super::index_table;
use crate::context::choice::Reason;
use crate::context::config::{Scan, SluiceOptions};
use crate::index::discovery::FileIndexes;
use crate::index::estimate::{CombinedLookup, SelectionEstimate, Shape, best_together, selected};
use crate::index::filter::{compares, spans_of};
use crate::index::location::IndexRoot;
use crate::index::lookup::top_bytes;
use crate::index::read_plan::ReadPlan;
use crate::index::scan::{ColumnLookup, IndexLookup, IndexedSource};
use crate::scan::s3_scan::S3Scan;
use crate::scan::s3_select::S3SelectSource;
use crate::store::chooser::{Strategy, StrategyPlan};
use crate::store::endpoint::Endpoint;
use crate::store::ranges::REQUESTS;
use crate::text::format::Format;

/// The strategy in which an index leads to the records.
pub(super) const INDEX: &str = "index";

/// Returns the strategy through an index for a scan that the store could also run. Returns `None` unless an index
/// exists or the session forces one.
pub(super) fn instead_of_select(
    config: &FileScanConfig,
    source: &S3SelectSource,
    above: Option<&Plan>,
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<Option<Strategy<Plan>>> {
    let mut filters: Vec<_> =
        source.filters().iter().map(|filter| Arc::clone(&filter.here)).collect();
    filters.extend(of_node_above(above, |filter| source.output().unproject_expr(filter)));
    let get = source.get();
    let text =
        FileScanConfigBuilder::from(config.clone()).with_source(Arc::clone(get.source())).build();
    strategy(&text, &filters, endpoint, options, |asked| {
        get.indexed_plan(config, asked, &source.exact_filters(), source.output(), S3Scan::node)
    })
}

/// Returns the strategy through an index for a scan with DataFusion's source.
pub(super) fn instead_of_get(
    config: &FileScanConfig,
    above: Option<&Plan>,
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<Option<Strategy<Plan>>> {
    let output = config.file_source().projection().cloned();
    let filters = of_node_above(above, |filter| match &output {
        Some(output) => output.unproject_expr(filter),
        None => Ok(Arc::clone(filter)),
    });
    strategy(config, &filters, endpoint, options, |asked| {
        let unlimited = FileScanConfigBuilder::from(config.clone()).with_limit(None).build();
        Ok(IndexedSource::replace(&unlimited, asked).map(|scan| S3Scan::node(scan) as Plan))
    })
}

/// Returns the conjuncts of a filter above a scan, over the table's columns.
fn of_node_above(
    above: Option<&Plan>,
    over_table: impl Fn(&Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>>,
) -> Vec<Arc<dyn PhysicalExpr>> {
    let filter = above.and_then(|node| node.downcast_ref::<FilterExec>());
    let conjuncts = filter.map(|filter| split_conjunction(filter.predicate()));
    conjuncts.into_iter().flatten().filter_map(|conjunct| over_table(conjunct).ok()).collect()
}

/// Returns the strategy through an index for a scan with DataFusion's source: an offer, or the reason why there is
/// none if that is of interest.
fn strategy(
    config: &FileScanConfig,
    filters: &[Arc<dyn PhysicalExpr>],
    endpoint: &Endpoint,
    options: &ConfigOptions,
    build: impl FnOnce(IndexLookup) -> Result<Result<Plan, Reason>>,
) -> Result<Option<Strategy<Plan>>> {
    if SluiceOptions::from_options(options).scan == Scan::IndexTable {
        return index_table::strategy(config, filters, options, build).map(Some);
    }
    let offer = match best(config, filters, endpoint, options)? {
        Ok(best) => build(best.asked)?.map(|build| StrategyPlan {
            steps: best.steps,
            statement: Some(best.statement),
            build,
        }),
        Err(NoIndexReason::Unasked) => return Ok(None),
        Err(NoIndexReason::Because(why)) => Err(why),
    };
    Ok(Some(Strategy { strategy: INDEX, offer }))
}

/// The best indexes for a filter.
struct Best {
    asked: IndexLookup,
    steps: Steps,
    statement: String,
}

/// The reason why there are none.
enum NoIndexReason {
    /// The table has no index, and the session does not force one.
    Unasked,
    Because(Reason),
}

fn best(
    config: &FileScanConfig,
    filters: &[Arc<dyn PhysicalExpr>],
    endpoint: &Endpoint,
    options: &ConfigOptions,
) -> Result<Result<Best, NoIndexReason>> {
    let ours = SluiceOptions::from_options(options);
    let because = |why: Reason| Ok(Err(NoIndexReason::Because(why)));
    let forced = ours.scan == Scan::Index;
    let fresh: BTreeSet<usize> = fresh_indexes(config)
        .flat_map(|(_, indexes)| indexes.map(FileIndexes::fresh).unwrap_or_default())
        .map(|index| index.column)
        .collect();
    if let Some(why) = fresh_indexes(config).find_map(|(_, indexes)| indexes?.unlisted()) {
        return because(Reason::new(format!("the indexes cannot be listed: {why}")));
    }
    let schema = config.file_source().table_schema().file_schema();
    let name = |column: usize| schema.field(column).name().as_str();
    let unusable = |is_so: fn(&FileIndexes, usize) -> bool| -> Vec<&str> {
        (0..schema.fields().len())
            .filter(|column| {
                fresh_indexes(config).any(|(_, it)| it.is_some_and(|it| is_so(it, *column)))
            })
            .filter(|column| !fresh.contains(column))
            .map(name)
            .collect()
    };
    let (stale, former) = (unusable(FileIndexes::is_stale), unusable(FileIndexes::is_former));
    if fresh.is_empty() {
        return match (Format::from_scan(config), stale.is_empty()) {
            (Err(why), _) if forced => because(why),
            _ if !former.is_empty() => because(Reason::new(format!(
                "another version of this program made the index of {}; `sluice index create` makes \
                 a new one",
                former.join(" and ")
            ))),
            (_, false) => because(Reason::new(format!(
                "the objects have been replaced, or are read otherwise, since the index of {} was \
                 created; `sluice index create` makes a new one",
                stale.join(" and ")
            ))),
            (Ok(_), true) if forced => {
                because(Reason::from("the table has no index; `sluice index create` makes one"))
            }
            _ => Ok(Err(NoIndexReason::Unasked)),
        };
    }
    let request =
        gap(&endpoint.hardware, &endpoint.prices, ours.objective.into(), REQUESTS as u32).0;
    // DataFusion requests the pages of Parquet files separately.
    let of_pages = matches!(Format::from_scan(config), Ok(Format::Parquet));
    let several = endpoint.profile().many_ranges && !of_pages;
    let most = if several { ours.ranges_per_request.min(MAX_RANGES) as u32 } else { 1 };
    let reading = ReadPlan::new(request, most);
    let place = IndexRoot::for_bucket(&config.object_store_url, &ours.index_location)?;
    let assumed = ours.selectivity.get();
    let mut about: Vec<Candidate> = Vec::new();
    for column in fresh.iter().copied() {
        let of_type = schema.field(column).data_type();
        let says = |filter: &&Arc<dyn PhysicalExpr>| spans_of(filter, column, of_type).is_some();
        let filters: Vec<_> = filters.iter().filter(says).cloned().collect();
        if filters.is_empty() {
            continue;
        }
        let filter = conjunction(filters);
        let Some(spans) = spans_of(&filter, column, of_type) else { continue };
        // The top of one index represents all files.
        let top =
            fresh_indexes(config).find_map(|(_, it)| it?.for_column(column)?.sample.as_deref());
        let selected = top.map(|top| match assumed {
            Some(share) => SelectionEstimate::assumed(top, share),
            None => selected(top, &spans),
        });
        about.push(Candidate {
            name: name(column),
            selected,
            asked: ColumnLookup { column, filter },
        });
    }
    if about.is_empty() {
        let compared = |column: &usize| {
            let of_type = schema.field(*column).data_type();
            filters.iter().any(|filter| compares(filter, *column, of_type))
        };
        let (beside, others): (Vec<_>, Vec<_>) = fresh.into_iter().partition(compared);
        let names =
            |columns: Vec<usize>| columns.into_iter().map(name).collect::<Vec<_>>().join(", ");
        return because(Reason::new(match beside.is_empty() {
            true => format!(
                "the filter compares no column that has an index ({}) with constants",
                names(others)
            ),
            false => format!(
                "the filter compares what has an index ({}) only beside something else in an OR, whose \
                 rows may have any value there",
                names(beside)
            ),
        }));
    }
    let some = |numbers: &[usize]| numbers.iter().map(|number| &about[*number]).collect::<Vec<_>>();
    let mut numbers =
        best_together(about.len(), |numbers| priced(config, &some(numbers), &reading).weight);
    if assumed.is_some() {
        // The assumed share applies to all filters, so a second column would not reduce the records.
        numbers.truncate(1);
    }
    let used = some(&numbers);
    let PricedLookup { steps, without, files, .. } = priced(config, &used, &reading);
    let columns: Vec<_> =
        used.iter().map(|one| format!("{} by {}", one.name, one.asked.filter)).collect();
    let of_what = if used.len() > 1 { "of these columns" } else { "of it" };
    let without = match without {
        0 => String::new(),
        some => format!("; {some} of {files} objects have no index {of_what}"),
    };
    let several = match reading.ranges_per_request {
        0 | 1 => String::new(),
        ranges => format!(", up to {ranges} ranges in a request"),
    };
    let gap = Bytes(reading.gap);
    let share = match assumed {
        Some(share) => format!("; a share of {share} of the records is assumed"),
        None => String::new(),
    };
    let columns = columns.join(" and ");
    let statement = format!("{columns} (gaps of up to {gap}{several}{without}{share})");
    let columns = used.iter().map(|one| one.asked.clone()).collect();
    let asked = IndexLookup { columns, reading, store: place.store, table: None };
    Ok(Ok(Best { asked, steps, statement }))
}

/// An indexed column that the filter restricts.
struct Candidate<'a> {
    name: &'a str,
    /// The records selected in the object whose index top is known.
    selected: Option<SelectionEstimate>,
    asked: ColumnLookup,
}

pub(super) fn fresh_indexes(
    config: &FileScanConfig,
) -> impl Iterator<Item = (&PartitionedFile, Option<&FileIndexes>)> {
    let files = config.file_groups.iter().flat_map(FileGroup::iter);
    files.map(|file| (file, file.extension::<FileIndexes>()))
}

/// The cost of a scan through some indexes.
struct PricedLookup {
    steps: Steps,
    /// The cost as a number of bytes.
    weight: f64,
    /// Number of objects, and of those without any of the indexes.
    files: u64,
    without: u64,
}

/// Predicts the cost of a scan through the indexes of some columns together.
fn priced(config: &FileScanConfig, columns: &[&Candidate<'_>], reading: &ReadPlan) -> PricedLookup {
    let (mut without, mut files) = (0, 0);
    let mut lookup = (0.0, 0.0);
    let mut records = (0.0, 0.0);
    let width = IndexedSource::width(config.file_source().as_ref());
    for (file, indexes) in fresh_indexes(config) {
        let size = file.object_meta.size;
        if size == 0 {
            continue;
        }
        files += 1;
        // A file is assumed to be read whole if the top of its index is unknown.
        let known = columns.iter().filter_map(|one| {
            let index = indexes?.for_column(one.asked.column)?;
            let top = index.sample.as_deref().filter(|top| top.size > 0)?;
            Some((index, top, one.selected?))
        });
        let known: Vec<_> = known.collect();
        let Some((_, top, _)) = known.first() else {
            without += 1;
            records = (records.0 + 1.0, records.1 + size as f64);
            continue;
        };
        let shape = Shape::new(size, top, width);
        let each: Vec<SelectionEstimate> = known
            .iter()
            .map(|(_, top, found)| found.of_share(size as f64 / top.size as f64))
            .collect();
        let together = shape.looking_up(&each, reading);
        let tops: u64 = known.iter().map(|(index, ..)| top_bytes(index.object.size)).sum();
        lookup = (lookup.0 + known.len() as f64, lookup.1 + tops as f64);
        // The scan makes the same decision once it has read the tops.
        if shape.is_too_much(together.weight(reading), reading) {
            records = (records.0 + 1.0, records.1 + shape.bytes as f64);
        } else {
            let CombinedLookup { index_requests, index_bytes, ranges, .. } = together;
            lookup = (lookup.0 + index_requests, lookup.1 + index_bytes as f64);
            records = (records.0 + ranges.requests, records.1 + ranges.bytes);
        }
    }
    let phase = |name, rounds, (requests, bytes): (f64, f64)| {
        let (gets, got) = (Requests(requests.ceil() as u64), Bytes::from_f64(bytes));
        Steps::from(Phase { name, rounds, gets, got, ..Phase::default() })
    };
    let steps = Steps::InTurn(vec![phase("index", 2, lookup), phase("records", 1, records)]);
    let weight = reading.weight(lookup.0 + records.0, lookup.1 + records.1);
    PricedLookup { steps, weight, files, without }
}
