//! Estimates what a store reads of a table if it answers a statement by the indexes of its objects itself.
//!
//! It follows the same rules as the store ([`sluicegate_index::statement`]), but uses the tops of indexes instead of
//! records.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::common::config::ConfigOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use prost::Message as _;
use sluicegate_costmodel::{Bytes, IndexedShare, Rows};
use sluicegate_index::layout::{TRAILER, TopMessage};
use sluicegate_index::span::Spans;
use sluicegate_index::statement::budget::{Budget, LookupCost};
use sluicegate_index::statement::condition::Conditions;
use sluicegate_index::statement::input::{UsableIndex, csv_of};
use sluicegate_s3select::dialect::ast::{PathStep, Query};
use sluicegate_s3select::request::FileHeaderInfo;

use crate::context::config::SluiceOptions;
use crate::estimate::demand::table_rows;
use crate::index::discovery::{FileIndex, FileIndexes};
use crate::index::estimate::{SelectionEstimate, selected};
use crate::scan::s3_select::S3SelectSource;

/// The estimated reads of a store that answers a statement by indexes.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerIndexScan {
    /// The columns whose indexes it uses, by their position in the table.
    columns: BTreeSet<usize>,
    /// The number of records that the indexes lead to.
    records: f64,
    /// All that the store reads, including objects that it reads whole.
    read: IndexedShare,
    /// The number of objects and parts of objects, and of those that the store reads whole.
    parts: (usize, usize),
}

impl ServerIndexScan {
    /// Estimates the reads of a Select scan's store for the files and parts of files of `config`. Returns `None` if
    /// the store is not predicted to use an index.
    #[must_use]
    pub fn estimate(
        config: &FileScanConfig,
        source: &S3SelectSource,
        options: &ConfigOptions,
    ) -> Option<Self> {
        // The store looks for indexes in the bucket only.
        let is_there = SluiceOptions::from_options(options).index_location.is_empty();
        let query = source.statement(None).filter(|_| source.profile().indexes && is_there)?.query;
        let assumed = SluiceOptions::from_options(options).selectivity.get();
        let looked = indexed_columns(config, source, &query, assumed);
        if looked.is_empty() {
            return None;
        }
        let bytes: f64 = files(config).map(|file| file.effective_size() as f64).sum();
        let rows_of_byte = table_rows(config) / bytes.max(1.0);
        let (mut columns, mut records, mut parts) = (BTreeSet::new(), 0.0, (0, 0));
        let mut read = (0.0, 0.0);
        for file in files(config).filter(|file| file.effective_size() > 0) {
            parts.0 += 1;
            if let Some(part) = FileEstimate::estimate(file, source, &looked) {
                columns.extend(part.columns);
                records += part.records;
                read = (read.0 + part.bytes, read.1 + part.records);
            } else {
                parts.1 += 1;
                let bytes = file.effective_size() as f64;
                read = (read.0 + bytes, read.1 + bytes * rows_of_byte);
            }
        }
        let read = IndexedShare { bytes: Bytes::from_f64(read.0), rows: Rows::from_f64(read.1) };
        (!columns.is_empty()).then_some(Self { columns, records, read, parts })
    }

    /// Returns all that the store reads.
    #[must_use]
    pub fn read(&self) -> IndexedShare {
        self.read
    }

    /// Returns the note in EXPLAIN: ``the store answers by its index on `k`: about 12 records``.
    #[must_use]
    pub fn note(&self, source: &S3SelectSource) -> String {
        let name = |column: &usize| format!("`{}`", source.file_schema().field(*column).name());
        let names = self.columns.iter().map(name).collect::<Vec<_>>().join(" and ");
        let indexes = if self.columns.len() > 1 { "indexes" } else { "index" };
        let whole = match self.parts {
            (_, 0) => String::new(),
            (all, whole) => {
                format!("; of {all} objects or parts of objects it reads {whole} whole")
            }
        };
        let records = self.records.round();
        format!("the store answers by its {indexes} on {names}: about {records} records{whole}")
    }
}

/// The look-up in the indexes of a column.
#[derive(Debug)]
struct IndexedColumn<'a> {
    column: usize,
    /// The top of the index of one of the objects.
    top: &'a TopMessage,
    selected: SelectionEstimate,
    /// The number of places per record: adjacent records share a place.
    places: f64,
}

fn files(config: &FileScanConfig) -> impl Iterator<Item = &PartitionedFile> {
    config.file_groups.iter().flat_map(FileGroup::iter)
}

/// Returns the look-ups of a statement, the one with the fewest index bytes first. If a share is assumed for the
/// whole filter, only one index is used.
fn indexed_columns<'a>(
    config: &'a FileScanConfig,
    source: &S3SelectSource,
    query: &Query,
    assumed: Option<f64>,
) -> Vec<IndexedColumn<'a>> {
    let input = source.format().input_at(0, true);
    let (Some(csv), Some(filter)) = (csv_of(&input, false), &query.filter) else {
        return Vec::new();
    };
    // One top of each column stands for all files.
    let mut tops: BTreeMap<usize, &TopMessage> = BTreeMap::new();
    for index in files(config)
        .filter_map(|file| file.extension::<FileIndexes>())
        .flat_map(FileIndexes::fresh)
    {
        if let Some(top) = index.sample.as_deref().filter(|top| top.size > 0) {
            tops.entry(index.column).or_insert(top);
        }
    }
    let usable = |(column, top)| Some(((column, top), UsableIndex::try_new(top, csv)?));
    let (tops, usable): (Vec<_>, Vec<_>) = tops.into_iter().filter_map(usable).unzip();
    // Statements refer to columns by position.
    let position = |path: &[PathStep]| match query.from.within_row(path) {
        [PathStep::Field(name)] => name.position()?.checked_sub(1),
        _ => None,
    };
    let lookups = Conditions::new(&position, usable).lookups(filter);
    let looked = lookups.iter().map(|lookup| {
        let (column, top) = tops[lookup.index];
        let places = ranges_per_record(top, &lookup.spans);
        let selected = match assumed {
            Some(share) => SelectionEstimate::assumed(top, share),
            None => selected(top, &lookup.spans),
        };
        IndexedColumn { column, top, selected, places }
    });
    let mut looked: Vec<_> = looked.collect();
    looked.sort_by_key(|it| it.selected.index_bytes);
    if assumed.is_some() {
        looked.truncate(1);
    }
    looked
}

/// Returns the number of places per record for the records with keys in some spans, at most 1.
fn ranges_per_record(top: &TopMessage, spans: &Spans) -> f64 {
    let (mut entries, mut places) = (0.0, 0.0);
    for block in top.blocks_with(spans).into_iter().map(|number| &top.blocks[number]) {
        entries += f64::from(block.entries);
        places += f64::from(if block.places == 0 { block.entries } else { block.places });
    }
    if entries > 0.0 { (places / entries).min(1.0) } else { 1.0 }
}

/// The reads for a file or a part of one.
struct FileEstimate {
    columns: Vec<usize>,
    records: f64,
    bytes: f64,
}

impl FileEstimate {
    /// Returns the reads by indexes, or `None` if the store reads everything.
    fn estimate(
        file: &PartitionedFile,
        source: &S3SelectSource,
        looked: &[IndexedColumn<'_>],
    ) -> Option<Self> {
        let indexes = file.extension::<FileIndexes>()?;
        let start = file.range.as_ref().map_or(0, |range| range.start.max(0).cast_unsigned());
        let is_part = file.range.is_some();
        let input = source.format().input_at(start, !is_part);
        let csv = csv_of(&input, is_part)?;
        let (size, bytes) = (file.object_meta.size as f64, file.effective_size());
        let looked: Vec<_> =
            looked.iter().filter(|it| indexes.for_column(it.column).is_some()).collect();
        let top = looked.first()?.top;
        let all = (top.records as f64 * size / top.size as f64).max(1.0);
        let of_all = bytes as f64 / size;
        let mut budget = Budget::instead_of((all * of_all) as u64, bytes);
        let tops: f64 = indexes.fresh().iter().filter_map(top_bytes).sum();
        budget.spend(tops as u64)?;

        // A share of the part's records, with `places` places per record.
        let amount = |share: f64, places: f64| {
            let records = share * all * of_all;
            LookupCost {
                records: records.ceil() as u64,
                // Adjacent records are read together.
                places: (records * places.min(1.0 - share)).ceil() as u64,
                bytes: (share * bytes as f64).ceil() as u64,
            }
        };
        let (mut columns, mut found, mut places) = (Vec::new(), 1.0, 0.0_f64);
        for one in looked {
            let SelectionEstimate { records, index_bytes, .. } =
                one.selected.of_share(size / one.top.size as f64);
            let is_worth_it = columns.is_empty()
                || amount(found, places).may_pay((records.ceil() as u64, index_bytes));
            if !is_worth_it || budget.spend(index_bytes).is_none() {
                break;
            }
            let share = (records / all).min(1.0);
            if budget.allows(amount(share, one.places)) {
                columns.push(one.column);
                (found, places) = (found * share, places.max(one.places));
            }
        }
        if columns.is_empty() {
            return None;
        }
        let mut header = top.lines.as_ref().map_or(0, |lines| lines.first_bytes);
        if csv.header == FileHeaderInfo::None {
            header = 0;
        }
        let amount = amount(found, places);
        let amount = LookupCost { bytes: header + amount.bytes, ..amount };
        budget.allows(amount).then_some(())?;
        let records = found * all * of_all;
        let bytes = (budget.index_bytes() + amount.bytes) as f64;
        Some(Self { columns, records, bytes })
    }
}

/// Returns the bytes of the top of an index, estimated from that of another index of the same column.
fn top_bytes(index: &FileIndex) -> Option<f64> {
    let sample = index.sample.as_deref()?;
    let top = (sample.encoded_len() + TRAILER) as f64;
    let blocks: f64 = sample.blocks.iter().map(|block| f64::from(block.bytes)).sum();
    Some(top * index.object.size as f64 / (top + blocks).max(1.0))
}
