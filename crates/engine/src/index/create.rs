//! An index object from a data object, in one pass over its bytes.

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
    AbsentMessage, Blocks, LinesMessage, MAGIC, Place, TopMessage, VERSION, beyond,
};
use tokio::io::AsyncWriteExt;

use super::format::{Format, TextReader};
use super::key::Keys;
use super::lines::Lines;
use super::name::e_tag;
use super::sort::{Sorted, Sorter};
use crate::datasource::surrogate_pairs::mended;

/// Rows that are parsed at once.
const BATCH_ROWS: usize = 8192;
/// The bytes of a part of an upload. S3 takes 10 000 parts.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// How many parts are under way at once.
const PARTS: usize = 2;

/// A column of a table, to be indexed.
#[derive(Debug, Clone)]
pub struct Column {
    /// The table's columns, as DataFusion's reader is given them.
    pub schema: SchemaRef,
    /// The place of the column among them.
    pub position: usize,
    /// The column's type, as index objects call it.
    pub type_name: String,
    /// How objects are read.
    pub format: Format,
}

impl Column {
    /// The column's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.schema.field(self.position).name()
    }
}

/// Collects where the records of an object are.
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
    /// Nothing is collected yet. Entries beyond so many bytes of memory go to temporary files.
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

    /// The same of a Parquet object, of which so many bytes are read for a row on average.
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
        mut places: impl Iterator<Item = Place>,
    ) -> Result<()> {
        let keys = Keys::of(values.column(0))?;
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

    /// The entries, sorted.
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

/// Reads a text once, and collects where its records are.
#[derive(Debug)]
pub struct TextCollector {
    collector: Collector,
    reader: TextReader,
    lines: Option<Lines>,
    /// Records that are not parsed yet.
    found: VecDeque<Range<u64>>,
}

impl TextCollector {
    /// Nothing is read yet.
    ///
    /// # Errors
    ///
    /// If the objects are no texts.
    pub fn new(column: &Column, run_bytes: usize) -> Result<Self> {
        let reader = column.format.reader(&column.schema, column.position, BATCH_ROWS)?;
        let Some(reader) = reader else { return exec_err!("its records are no ranges of bytes") };
        let collector = Collector::new(column, run_bytes);
        let lines = Lines::of(&column.format);
        Ok(Self { collector, reader, lines, found: VecDeque::new() })
    }

    /// Reads on.
    ///
    /// # Errors
    ///
    /// If a record cannot be read as the table's, or a temporary file cannot be written.
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

    /// Adds what was parsed, if anything was.
    fn flush(&mut self) -> Result<bool> {
        let Some(values) = self.reader.flush()? else { return Ok(false) };
        let found = &mut self.found;
        let place =
            |record: Range<u64>| Place { first: record.start, bytes: record.end - record.start };
        self.collector.add(&values, std::iter::from_fn(|| found.pop_front().map(place)))?;
        Ok(true)
    }

    /// The object has ended: its entries, sorted.
    ///
    /// # Errors
    ///
    /// As for [`Self::feed`].
    pub fn finish(mut self) -> Result<Collected> {
        let found = &mut self.found;
        self.reader.find_last(|record| found.push_back(record))?;
        self.reader.decode(&[])?;
        self.flush()?;
        if !self.found.is_empty() {
            return exec_err!("the records of the object are read in two different ways");
        }
        let mut collected = self.collector.finish()?;
        collected.lines = self.lines.and_then(|lines| lines.finish(collected.records));
        Ok(collected)
    }
}

/// The entries of an object.
#[derive(Debug)]
pub struct Collected {
    column: Column,
    entries: Sorted,
    /// Records of the object.
    pub records: u64,
    /// Those with a value.
    pub with_value: u64,
    row_bytes: u64,
    greatest: Option<Vec<u8>>,
    lines: Option<LinesMessage>,
}

impl Collected {
    /// The keys beyond the greatest value, but for that of NULL if there are any.
    fn absent(&self) -> Option<AbsentMessage> {
        let low = self.greatest.as_deref().map_or(Some(Vec::new()), beyond)?;
        let high = (self.with_value < self.records).then(|| NULL.to_vec());
        Some(AbsentMessage { low, high })
    }

    /// The index object about a data object.
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
        Ok(IndexPieces { entries: self.entries, blocks: Blocks::default(), next: Next::Magic, top })
    }
}

/// An index object, piece by piece.
#[derive(Debug)]
pub struct IndexPieces {
    entries: Sorted,
    blocks: Blocks,
    next: Next,
    top: TopMessage,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    Magic,
    Block,
    Top,
    Nothing,
}

impl IndexPieces {
    /// The next piece.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<Bytes>> {
        loop {
            match self.next {
                Next::Magic => {
                    self.next = Next::Block;
                    return Ok(Some(Bytes::from_static(&MAGIC)));
                }
                Next::Block => {
                    let block = match self.entries.next_entry()? {
                        Some((key, place)) => self.blocks.push(&key, place),
                        None => {
                            self.next = Next::Top;
                            self.blocks.end()
                        }
                    };
                    if let Some(block) = block {
                        return Ok(Some(block.into()));
                    }
                }
                Next::Top => {
                    self.next = Next::Nothing;
                    self.top.blocks = std::mem::take(&mut self.blocks).done();
                    return Ok(Some(self.top.to_tail().into()));
                }
                Next::Nothing => return Ok(None),
            }
        }
    }
}

/// What came of an index object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Created {
    /// Records of the data object.
    pub records: u64,
    /// Those with a value in the column.
    pub with_value: u64,
    /// Bytes of the index object.
    pub bytes: u64,
}

/// Reads a text from a store, in the version that was listed. `advance` is told of the bytes.
///
/// # Errors
///
/// If the object cannot be read as the table's, or the store fails.
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

/// Uploads the index of a data object to `path` of a store whose writes are staged: whoever calls
/// commits or aborts them.
///
/// # Errors
///
/// If the store fails.
pub async fn upload(
    collected: Collected,
    data: &ObjectMeta,
    to: &Arc<dyn ObjectStore>,
    path: &Path,
) -> Result<Created> {
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
    Ok(Created { records, with_value, bytes })
}
