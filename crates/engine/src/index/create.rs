//! Creates an index object from a data object, in one pass over its bytes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::common::{Result, exec_err};
use futures::StreamExt;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore};
use sluicegate_index::key::NULL;
use sluicegate_index::layout::{
    AbsentMessage, Blocks, LinesMessage, MAGIC, RecordLocation, TopMessage, VERSION, beyond,
};
use tokio::io::AsyncWriteExt;

use super::key::Keys;
use super::location::e_tag;
use super::sort::{Sorted, Sorter};
use crate::text::csv::lines::Lines;
use crate::text::format::{Format, TextReader};
use crate::text::json::surrogate_pairs::mended;

/// The number of rows that are parsed at a time.
const BATCH_ROWS: usize = 8192;
/// The bytes of a part of an upload. S3 accepts 10,000 parts.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// The number of parts that are uploaded concurrently.
const PARTS: usize = 2;

/// A column of a table, to be indexed.
#[derive(Debug, Clone)]
pub struct Column {
    /// The table's columns, as DataFusion's reader is given them.
    pub schema: SchemaRef,
    /// The column's position among them.
    pub position: usize,
    /// The column's type, by its name in index objects.
    pub type_name: String,
    /// The format of the objects.
    pub format: Format,
}

impl Column {
    /// Returns the name of the column.
    #[must_use]
    pub fn name(&self) -> &str {
        self.schema.field(self.position).name()
    }
}

/// Takes the records of a text in their order.
pub trait RecordSink {
    /// Adds records: their values, and the place of each.
    ///
    /// # Errors
    ///
    /// If there are fewer places, or a temporary file cannot be written.
    fn add(
        &mut self,
        values: &RecordBatch,
        places: impl Iterator<Item = RecordLocation>,
    ) -> Result<()>;
}

/// Collects the keys and places of the records of an object.
#[derive(Debug)]
pub struct Collector {
    column: Column,
    sorter: Sorter,
    all: u64,
    with_value: u64,
    row_bytes: u64,
    key: Vec<u8>,
    /// The greatest key of a value.
    greatest: Option<Vec<u8>>,
}

impl Collector {
    /// Creates an empty collector. Entries beyond `run_bytes` bytes of memory go to temporary files.
    #[must_use]
    pub fn new(column: &Column, run_bytes: usize) -> Self {
        Self {
            column: column.clone(),
            sorter: Sorter::new(run_bytes),
            all: 0,
            with_value: 0,
            row_bytes: 0,
            key: Vec::new(),
            greatest: None,
        }
    }

    /// Sets the average number of bytes that are read for a row of a Parquet object.
    #[must_use]
    pub fn with_row_bytes(self, row_bytes: u64) -> Self {
        Self { row_bytes, ..self }
    }

    /// Adds records: their values, and the place of each.
    ///
    /// # Errors
    ///
    /// If there are fewer places, or a temporary file cannot be written.
    pub fn add(
        &mut self,
        values: &RecordBatch,
        mut places: impl Iterator<Item = RecordLocation>,
    ) -> Result<()> {
        let keys = Keys::from_array(values.column(0))?;
        for row in 0..values.num_rows() {
            let Some(place) = places.next() else {
                return exec_err!("the records of the object are read in two different ways");
            };
            self.all += 1;
            self.key.clear();
            if keys.write(row, &mut self.key) {
                self.with_value += 1;
                if self.greatest.as_ref().is_none_or(|greatest| *greatest < self.key) {
                    self.greatest = Some(self.key.clone());
                }
            }
            self.sorter.push(&self.key, place)?;
        }
        Ok(())
    }

    /// Returns the entries, sorted.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    pub fn finish(self) -> Result<Collected> {
        Ok(Collected {
            entries: self.sorter.sorted()?,
            records: self.all,
            with_value: self.with_value,
            row_bytes: self.row_bytes,
            greatest: self.greatest,
            lines: None,
            column: self.column,
        })
    }
}

impl RecordSink for Collector {
    fn add(
        &mut self,
        values: &RecordBatch,
        places: impl Iterator<Item = RecordLocation>,
    ) -> Result<()> {
        Self::add(self, values, places)
    }
}

/// Reads a text once and collects the keys and places of its records.
#[derive(Debug)]
pub struct TextCollector<S = Collector> {
    collector: S,
    reader: TextReader,
    lines: Option<Lines>,
    /// Records that are not parsed yet.
    found: VecDeque<Range<u64>>,
}

impl TextCollector {
    /// Creates a collector that has not read anything.
    ///
    /// # Errors
    ///
    /// If the objects are not text.
    pub fn new(column: &Column, run_bytes: usize) -> Result<Self> {
        let lines = Lines::for_format(&column.format);
        Ok(Self { lines, ..Self::into_sink(column, Collector::new(column, run_bytes))? })
    }

    /// Ends the object and returns its entries, sorted.
    ///
    /// # Errors
    ///
    /// Those of [`Self::feed`].
    pub fn finish(mut self) -> Result<Collected> {
        let lines = self.lines.take();
        let mut collected = self.end()?.finish()?;
        collected.lines = lines.and_then(|lines| lines.finish(collected.records));
        Ok(collected)
    }
}

impl<S: RecordSink> TextCollector<S> {
    /// Creates a collector that gives the records to a sink.
    pub(crate) fn into_sink(column: &Column, sink: S) -> Result<Self> {
        let reader = column.format.reader(&column.schema, column.position, BATCH_ROWS)?;
        let Some(reader) = reader else { return exec_err!("its records are no ranges of bytes") };
        Ok(Self { collector: sink, reader, lines: None, found: VecDeque::new() })
    }

    /// Returns the sink.
    pub(crate) fn sink(&mut self) -> &mut S {
        &mut self.collector
    }

    /// Reads the next bytes.
    ///
    /// # Errors
    ///
    /// If a record does not fit the table, or a temporary file cannot be written.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<()> {
        if let Some(lines) = &mut self.lines {
            lines.feed(bytes);
        }
        let found = &mut self.found;
        self.reader.find(bytes, |record| found.push_back(record))?;
        while !bytes.is_empty() {
            let (read, is_full) = self.reader.decode(bytes)?;
            bytes = &bytes[read..];
            let flushed = is_full && self.flush()?;
            if read == 0 && !flushed {
                return exec_err!("the records of the object cannot be read");
            }
        }
        Ok(())
    }

    /// Adds the parsed rows. Returns true if there were any.
    fn flush(&mut self) -> Result<bool> {
        let Some(values) = self.reader.flush()? else { return Ok(false) };
        let found = &mut self.found;
        let place = |record: Range<u64>| RecordLocation {
            first: record.start,
            bytes: record.end - record.start,
        };
        self.collector.add(&values, std::iter::from_fn(|| found.pop_front().map(place)))?;
        Ok(true)
    }

    /// Ends the object and returns the sink, which has all records.
    pub(crate) fn end(mut self) -> Result<S> {
        let found = &mut self.found;
        self.reader.find_last(|record| found.push_back(record))?;
        self.reader.decode(&[])?;
        self.flush()?;
        if !self.found.is_empty() {
            return exec_err!("the records of the object are read in two different ways");
        }
        Ok(self.collector)
    }
}

/// The entries of an object.
#[derive(Debug)]
pub struct Collected {
    column: Column,
    entries: Sorted,
    /// The number of records of the object.
    pub records: u64,
    /// The number of records with a value.
    pub with_value: u64,
    row_bytes: u64,
    greatest: Option<Vec<u8>>,
    lines: Option<LinesMessage>,
}

impl Collected {
    /// Returns the keys beyond the greatest value, without that of NULL if there are NULLs.
    fn absent(&self) -> Option<AbsentMessage> {
        let low = self.greatest.as_deref().map_or(Some(Vec::new()), beyond)?;
        let high = (self.with_value < self.records).then(|| NULL.to_vec());
        Some(AbsentMessage { low, high })
    }

    /// Returns the index object of a data object.
    ///
    /// # Errors
    ///
    /// If the data object has no entity tag.
    pub fn object(self, data: &ObjectMeta) -> Result<IndexPieces> {
        let Some(e_tag) = e_tag(data) else { return exec_err!("the object has no entity tag") };
        let absent = self.absent();
        let top = TopMessage {
            version: VERSION,
            data: data.location.to_string(),
            e_tag: e_tag.to_owned(),
            size: data.size,
            column: self.column.name().to_owned(),
            position: self.column.format.position(self.column.position),
            column_type: self.column.type_name.clone(),
            format: Some(self.column.format.message()),
            records: self.records,
            entries: self.records,
            blocks: Vec::new(),
            row_bytes: self.row_bytes,
            absent,
            lines: self.lines,
        };
        Ok(IndexPieces {
            entries: self.entries,
            blocks: Blocks::default(),
            next: NextRecord::Magic,
            top,
        })
    }
}

/// An index object, piece by piece.
#[derive(Debug)]
pub struct IndexPieces {
    entries: Sorted,
    blocks: Blocks,
    next: NextRecord,
    top: TopMessage,
}

#[derive(Debug, Clone, Copy)]
enum NextRecord {
    Magic,
    Block,
    Top,
    Nothing,
}

impl IndexPieces {
    /// Returns the next piece, or `None` after the last.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<Bytes>> {
        loop {
            match self.next {
                NextRecord::Magic => {
                    self.next = NextRecord::Block;
                    return Ok(Some(Bytes::from_static(&MAGIC)));
                }
                NextRecord::Block => {
                    let block = match self.entries.next_entry()? {
                        Some((key, place)) => self.blocks.push(&key, place),
                        None => {
                            self.next = NextRecord::Top;
                            self.blocks.end()
                        }
                    };
                    if let Some(block) = block {
                        return Ok(Some(block.into()));
                    }
                }
                NextRecord::Top => {
                    self.next = NextRecord::Nothing;
                    self.top.blocks = std::mem::take(&mut self.blocks).done();
                    return Ok(Some(self.top.to_tail().into()));
                }
                NextRecord::Nothing => return Ok(None),
            }
        }
    }
}

/// The totals of an index object that was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateOutcome {
    /// The number of records of the data object.
    pub records: u64,
    /// The number of records with a value in the column.
    pub with_value: u64,
    /// The bytes of the index object.
    pub bytes: u64,
}

/// Reads a text from a store, in the version that was listed. `advance` is called with the number of bytes of each
/// piece.
///
/// # Errors
///
/// If the object does not fit the table, or the store fails.
pub async fn collect_text(
    column: &Column,
    data: &ObjectMeta,
    from: &Arc<dyn ObjectStore>,
    run_bytes: usize,
    advance: &(dyn Fn(u64) + Send + Sync),
) -> Result<Collected> {
    let options = GetOptions { if_match: data.e_tag.clone(), ..GetOptions::default() };
    let mut from = Arc::clone(from);
    if matches!(column.format, Format::JsonLines) {
        from = mended(from);
    }
    let mut bytes = from.get_opts(&data.location, options).await?.into_stream();
    let mut collector = TextCollector::new(column, run_bytes)?;
    while let Some(piece) = bytes.next().await {
        let piece = piece?;
        collector.feed(&piece)?;
        advance(piece.len() as u64);
        tokio::task::yield_now().await;
    }
    collector.finish()
}

/// Uploads the index of a data object to `path` of a store whose writes are staged. The caller commits or aborts
/// them.
///
/// # Errors
///
/// If the store fails.
pub async fn upload(
    collected: Collected,
    data: &ObjectMeta,
    to: &Arc<dyn ObjectStore>,
    path: &Path,
) -> Result<CreateOutcome> {
    let (records, with_value) = (collected.records, collected.with_value);
    let mut pieces = collected.object(data)?;
    let mut upload = BufWriter::with_capacity(Arc::clone(to), path.clone(), PART_BYTES)
        .with_max_concurrency(PARTS);
    let mut bytes = 0;
    while let Some(piece) = pieces.next_piece()? {
        bytes += piece.len() as u64;
        upload.put(piece).await?;
    }
    upload.shutdown().await?;
    Ok(CreateOutcome { records, with_value, bytes })
}
