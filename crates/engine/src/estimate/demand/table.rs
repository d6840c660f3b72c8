//! A table in numbers, from its files and its statistics.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, conjunction_opt};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::expressions::Column;
use sluicegate_costmodel::{AnswerFormat, Bytes, Format, Requests, Rows, ScanDemand, Terms};
use sluicegate_s3select::capabilities::{Extension, TypeClass};

use super::arrow_width::ColumnShape;
use super::group_by::ASSUMED_LARGEST;
use super::{AGGREGATE_BYTES, at_once, default_selectivity, partitions, table_rows};
use crate::context::config::SluiceOptions;
use crate::estimate::statistics::column_layouts::{FetchEstimate, ScanLayouts};
use crate::estimate::statistics::table::TableStatistics;
use crate::pushdown::predicate::ColumnStyle;
use crate::pushdown::statement::class;
use crate::scan::s3_select::S3SelectSource;
use crate::store::endpoints::Endpoints;

/// The sizes of a table, and what its statistics add.
pub(super) struct Table<'a> {
    schema: &'a Schema,
    style: ColumnStyle,
    pub(super) files: f64,
    requests: u64,
    partitions: usize,
    pub(super) bytes: f64,
    pub(super) rows: f64,
    known: Option<TableStatistics>,
    /// Places of the columns in Parquet objects, from their footers.
    stored: Option<ScanLayouts>,
    /// Bytes around the value of a row that has only one value, such as quotes.
    around_lone: f64,
    /// True if the store answers in Arrow.
    in_arrow: bool,
    /// True if answers in Arrow are compressed.
    compressed: bool,
    /// Indexes of the columns that filters use.
    filtered: BTreeSet<usize>,
}

impl<'a> Table<'a> {
    /// Returns the numbers of a scanned table. With `options`, the session's statistics are used, too.
    pub(super) fn from_scan(
        config: &FileScanConfig,
        source: &'a S3SelectSource,
        options: Option<&ConfigOptions>,
    ) -> Self {
        let filter = conjunction_opt(source.filters().iter().map(|it| Arc::clone(&it.here)));
        let table = Self::new(config, source.file_schema(), source.format().style, filter, options);
        let filters = source.filters().iter().flat_map(|filter| collect_columns(&filter.here));
        // If the store does not quote lone empty values, all values are quoted, because readers skip blank lines.
        let is_quoted = !source.profile().quotes_lone_empty_field;
        let around_lone = if is_quoted { 2.0 } else { 0.0 };
        let endpoints = options.and_then(Endpoints::from_options);
        let endpoint = endpoints.and_then(|it| it.serving(&config.object_store_url));
        Self {
            filtered: filters.map(|column| column.index()).collect(),
            around_lone,
            in_arrow: source.profile().relies_on.contains(&Extension::Arrow),
            compressed: endpoint.is_some_and(|endpoint| endpoint.compresses()),
            ..table
        }
    }

    pub(super) fn new(
        config: &FileScanConfig,
        schema: &'a Schema,
        style: ColumnStyle,
        filter: Option<Arc<dyn PhysicalExpr>>,
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
        let known = known.and_then(|options| TableStatistics::for_scan(config, options));
        let stored = options.filter(|_| style == ColumnStyle::Named);
        let stored = stored.and_then(|options| ScanLayouts::for_scan(config, filter, options));
        let partitions = partitions(config, options);
        Self {
            schema,
            style,
            files: requests as f64,
            requests,
            partitions,
            bytes,
            rows,
            known,
            stored,
            around_lone: 0.0,
            in_arrow: false,
            compressed: false,
            filtered: BTreeSet::new(),
        }
    }

    /// Returns the share of the rows that pass the filters of a scan.
    pub(super) fn selectivity(&self, source: &S3SelectSource, options: &ConfigOptions) -> f64 {
        if source.filters().is_empty() {
            return 1.0;
        }
        if let Some(assumed) = SluiceOptions::from_options(options).selectivity.get() {
            return assumed;
        }
        let otherwise = default_selectivity(options);
        let filters = source.filters().iter().map(|filter| &filter.here);
        let known = self.known.as_ref().and_then(|known| known.selectivity(filters, otherwise));
        known.unwrap_or(otherwise)
    }

    /// Returns the share of a column's values that pass the scan's filters on that column alone, and the share of the
    /// rows that pass these filters with a NULL.
    pub(super) fn kept_of_column(
        &self,
        source: &S3SelectSource,
        column: usize,
        options: &ConfigOptions,
    ) -> (f64, f64) {
        let Some(known) = &self.known else { return (1.0, 0.0) };
        let is_about = |filter: &Arc<dyn PhysicalExpr>| {
            let columns = collect_columns(filter);
            columns.len() == 1 && columns.iter().all(|it| it.index() == column)
        };
        let filters: Vec<_> =
            source.filters().iter().map(|filter| &filter.here).filter(|it| is_about(it)).collect();
        if filters.is_empty() {
            return (1.0, known.nulls(column).unwrap_or(0.0));
        }
        if SluiceOptions::from_options(options).selectivity.get().is_some() {
            return (1.0, 0.0);
        }
        // A comparison rejects NULL.
        let values = 1.0 - known.nulls(column).unwrap_or(0.0);
        let passing = known.selectivity(filters, 1.0).unwrap_or(1.0);
        ((passing / values.max(f64::MIN_POSITIVE)).clamp(f64::MIN_POSITIVE, 1.0), 0.0)
    }

    /// Returns the number of groups, or `None` if statistics of some key are missing.
    pub(super) fn groups(&self, partial: &AggregateExec) -> Option<f64> {
        let known = self.known.as_ref()?;
        let mut groups = 1.0;
        for position in self.keys(partial)? {
            // NULL is a group.
            groups *= known.distinct(position)?.max(1.0) + known.nulls(position)?.ceil();
        }
        Some(groups.min(self.rows.max(1.0)))
    }

    /// Returns true if the number of groups is known for all rows at least as well as from a sample of a file.
    pub(super) fn groups_are_typical(&self, partial: &AggregateExec) -> bool {
        let Some((known, keys)) = self.known.as_ref().zip(self.keys(partial)) else { return false };
        keys.into_iter().all(|position| known.is_typical(position))
    }

    /// Returns the number of largest groups, and the share of the rows that is in none of them.
    /// `pushed` is the number of largest groups, if it is given.
    pub(super) fn largest(&self, partial: &AggregateExec, pushed: Option<u64>) -> (u64, f64) {
        let (assumed, left) = ASSUMED_LARGEST;
        let most = pushed.unwrap_or(assumed);
        let left = left.powf(most as f64 / assumed as f64);
        let known = || match self.keys(partial)?.as_slice() {
            [key] => self.known.as_ref()?.heaviest(*key, most as usize).map(|share| 1.0 - share),
            _ => None,
        };
        match self.groups(partial) {
            Some(groups) if groups <= most as f64 => (groups.ceil() as u64, 0.0),
            _ => (most, known().unwrap_or(left)),
        }
    }

    /// Returns the bytes of a group's keys in an answer, with delimiters.
    pub(super) fn group_bytes(&self, partial: &AggregateExec) -> f64 {
        let keys = partial.group_expr().expr().iter();
        keys.map(|(key, _)| self.value_bytes(key)).sum()
    }

    /// Returns the bytes of a value in an answer with its delimiter: the width of the column that it is computed
    /// from, if that is known.
    fn value_bytes(&self, value: &Arc<dyn PhysicalExpr>) -> f64 {
        let columns: Vec<_> = collect_columns(value).into_iter().collect();
        let known = match columns.as_slice() {
            [column] => self.schema.index_of(column.name()).ok().filter(|index| {
                self.known.as_ref().and_then(|known| known.width(*index)).is_some()
            }),
            _ => None,
        };
        known.map_or(AGGREGATE_BYTES, |index| self.width(index))
    }

    /// Returns the bytes of the states of a group of one row, with delimiters, and the number of sums and counts
    /// among them.
    pub(super) fn states(&self, partial: &AggregateExec) -> (f64, f64) {
        let (mut bytes, mut sums) = (0.0, 0.0);
        for aggregate in partial.aggr_expr() {
            let arguments = aggregate.expressions();
            let value = match arguments.as_slice() {
                [argument] => self.value_bytes(argument),
                _ => AGGREGATE_BYTES,
            };
            // A count takes one digit and a delimiter.
            const COUNT: f64 = 2.0;
            let (of_group, growing) = match aggregate.fun().name() {
                "count" => (COUNT, 1.0),
                "sum" => (value, 1.0),
                "avg" => (value + COUNT, 2.0),
                "min" | "max" => (value, 0.0),
                _ => (AGGREGATE_BYTES, 0.0),
            };
            bytes += of_group;
            sums += growing;
        }
        (bytes, sums)
    }

    /// Returns the indexes of the grouping columns, or `None` if some key is not a column.
    pub(super) fn keys(&self, partial: &AggregateExec) -> Option<Vec<usize>> {
        let keys = partial.group_expr().expr().iter();
        let position = |key: &Arc<dyn PhysicalExpr>| {
            let column = key.downcast_ref::<Column>()?;
            self.schema.index_of(column.name()).ok()
        };
        keys.map(|(key, _)| position(key)).collect()
    }

    pub(super) fn demand(
        &self,
        columns: &[usize],
        selectivity: f64,
        row_bytes: f64,
        terms: Terms,
    ) -> ScanDemand {
        // Rows that pass are all in the row groups that are read.
        let in_read_groups = self.stored.as_ref().map_or(1.0, ScanLayouts::rows);
        let selectivity = (selectivity / in_read_groups.max(f64::MIN_POSITIVE)).min(1.0);
        let passing = selectivity;
        let read: BTreeSet<usize> = columns.iter().chain(&self.filtered).copied().collect();
        let (format, needed) = match self.style {
            ColumnStyle::Positional => (Format::Csv, self.bytes),
            ColumnStyle::Member => (Format::Json, self.bytes),
            ColumnStyle::Named => (Format::Parquet, self.bytes * self.read(&read)),
        };
        // A reader requests the column chunks of each row group separately.
        let fetched = self.stored.as_ref().map(|stored| stored.fetched(&read));
        let fetched =
            fetched.unwrap_or(FetchEstimate { share: needed / self.bytes.max(1.0), requests: 0 });
        ScanDemand {
            objects: self.requests,
            format,
            answer: self.answer(columns),
            needed: Bytes::from_f64(needed),
            gaps: Bytes::from_f64((self.bytes * fetched.share - needed).max(0.0)),
            rows: Rows::from_f64(self.rows * in_read_groups),
            looked_up: None,
            terms,
            passing,
            items: Terms::NONE,
            constants: 0,
            selectivity,
            columns: columns.len() as u32,
            filter_columns: (read.len() - columns.iter().collect::<BTreeSet<_>>().len()) as u32,
            bytes_per_returned_row: row_bytes,
            footers: Requests(if self.stored.is_some() { 0 } else { self.requests }),
            get_requests: Requests(self.requests.max(fetched.requests)),
            gets_at_once: Some(Requests(self.partitions as u64)),
            select_requests: Some(Requests(self.requests)),
            selects_at_once: Some(at_once(self.partitions)),
        }
    }

    /// Returns true if a column of the table is text.
    fn is_text(&self, index: &usize) -> bool {
        self.schema
            .fields()
            .get(*index)
            .is_some_and(|field| class(field.data_type()) == TypeClass::String)
    }

    /// Returns the format in which a statement's answer with these columns is sent; see [`Statement::scan`].
    pub(super) fn answer(&self, columns: &[usize]) -> AnswerFormat {
        match self.style {
            ColumnStyle::Named if self.in_arrow && self.compressed => AnswerFormat::CompressedArrow,
            ColumnStyle::Named if self.in_arrow => AnswerFormat::Arrow,
            _ => self.text_answer(columns),
        }
    }

    /// Returns the format in which the values of these columns are sent as text.
    pub(super) fn text_answer(&self, columns: &[usize]) -> AnswerFormat {
        match self.style {
            ColumnStyle::Positional => AnswerFormat::Csv,
            ColumnStyle::Member => AnswerFormat::Json,
            ColumnStyle::Named if columns.iter().any(|index| self.is_text(index)) => {
                AnswerFormat::Json
            }
            ColumnStyle::Named => AnswerFormat::Csv,
        }
    }

    /// Returns the bytes of a returned row in the format of the answer.
    pub(super) fn row_bytes(&self, columns: &[usize]) -> f64 {
        let values = match self.style {
            ColumnStyle::Positional | ColumnStyle::Member => {
                (self.bytes / self.rows.max(1.0)) * self.share(columns)
            }
            ColumnStyle::Named if self.in_arrow => {
                columns.iter().map(|index| self.arrow_bytes(*index)).sum()
            }
            ColumnStyle::Named => {
                let as_json = self.answer(columns) == AnswerFormat::Json;
                let value = |index: &usize| {
                    let name =
                        self.schema.fields().get(*index).map_or(0, |field| field.name().len());
                    let quotes = if self.is_text(index) { 2.0 } else { 0.0 };
                    // `"name":` and the value, which a comma or a brace follows.
                    let around = if as_json { name as f64 + 3.0 + quotes } else { 0.0 };
                    self.width(*index) + around
                };
                columns.iter().map(value).sum::<f64>() + if as_json { 2.0 } else { 0.0 }
            }
        };
        let is_lone = columns.len() == 1 && self.answer(columns) == AnswerFormat::Csv;
        values + if is_lone { self.around_lone } else { 0.0 }
    }

    /// Returns the bytes of a column's value in Arrow.
    fn arrow_bytes(&self, index: usize) -> f64 {
        let width = self.width(index);
        let Some(field) = self.schema.fields().get(index) else { return width };
        let distinct = self.known.as_ref().and_then(|known| known.distinct(index));
        let shape = ColumnShape { data_type: field.data_type(), width, distinct };
        if self.compressed { shape.compressed() } else { shape.plain() }
    }

    /// Returns the share of the bytes of Parquet objects that some columns take.
    fn read(&self, columns: &BTreeSet<usize>) -> f64 {
        let share = match &self.stored {
            Some(stored) => stored.share(columns),
            None => self.share(&columns.iter().copied().collect::<Vec<_>>()),
        };
        share.clamp(0.0, 1.0)
    }

    /// Returns the share of a row's bytes that some columns take.
    pub(super) fn share(&self, columns: &[usize]) -> f64 {
        let all: f64 = (0..self.schema.fields().len()).map(|index| self.width(index)).sum();
        let some: f64 = columns.iter().map(|index| self.width(*index)).sum();
        if all > 0.0 { some / all } else { 1.0 }
    }

    /// Returns the bytes of a column's value as text, including the delimiter and, in JSON, the name: the mean if it
    /// is known, else a typical width.
    pub(super) fn width(&self, index: usize) -> f64 {
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
