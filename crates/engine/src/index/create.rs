//! An index object from a data object, in one pass over its bytes.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::csv::reader::Decoder;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::common::{DataFusionError, Result, exec_err};
use futures::{Stream, StreamExt};
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore};
use tokio::io::AsyncWriteExt;

use super::format::CsvText;
use super::key::Keys;
use super::layout::{Blocks, MAGIC, Place, TopMessage, VERSION};
use super::name::e_tag;
use super::records::Records;
use super::sort::{Sorted, Sorter};

/// Rows that are parsed at once.
const BATCH_ROWS: usize = 8192;
/// The bytes of a part of an upload. S3 takes 10 000 parts.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// How many parts are under way at once.
const PARTS: usize = 2;

/// A column of a table of CSV objects, to be indexed.
#[derive(Debug, Clone)]
pub struct Column {
    /// The table's columns, as DataFusion's reader is given them.
    pub schema: SchemaRef,
    /// The place of the column among them.
    pub position: usize,
    /// The column's type, as index objects call it.
    pub type_name: String,
    /// How objects are read.
    pub text: CsvText,
}

impl Column {
    /// The column's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.schema.field(self.position).name()
    }
}

/// Reads an object once, and collects where its records with a value are.
#[derive(Debug)]
pub struct Collector {
    column: Column,
    records: Records,
    decoder: Decoder,
    /// Records that are not parsed yet.
    found: VecDeque<Range<u64>>,
    sorter: Sorter,
    all: u64,
    with_value: u64,
    key: Vec<u8>,
}

impl Collector {
    /// Nothing is read yet. Entries beyond so many bytes of memory go to temporary files.
    #[must_use]
    pub fn new(column: &Column, run_bytes: usize) -> Self {
        Self {
            records: Records::new(&column.text),
            decoder: column.text.decoder(&column.schema, column.position, BATCH_ROWS),
            column: column.clone(),
            found: VecDeque::new(),
            sorter: Sorter::new(run_bytes),
            all: 0,
            with_value: 0,
            key: Vec::new(),
        }
    }

    /// Reads on.
    ///
    /// # Errors
    ///
    /// If a record cannot be read as the table's, or a temporary file cannot be written.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<()> {
        let found = &mut self.found;
        self.records.feed(bytes, |record| found.push_back(record))?;
        while !bytes.is_empty() {
            let read = self.decoder.decode(bytes)?;
            bytes = &bytes[read..];
            if self.decoder.capacity() == 0 {
                self.flush()?;
            } else if read == 0 {
                return exec_err!("the records of the object cannot be read");
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let Some(batch) = self.decoder.flush()? else { return Ok(()) };
        let keys = Keys::of(batch.column(0))?;
        for row in 0..batch.num_rows() {
            let Some(record) = self.found.pop_front() else {
                return exec_err!("the records of the object are read in two different ways");
            };
            self.all += 1;
            self.key.clear();
            if keys.write(row, &mut self.key) {
                self.with_value += 1;
                let place = Place { first: record.start, bytes: record.end - record.start };
                self.sorter.push(&self.key, place)?;
            }
        }
        Ok(())
    }

    /// The object has ended: its entries, sorted.
    ///
    /// # Errors
    ///
    /// As for [`Self::feed`].
    pub fn finish(mut self) -> Result<Collected> {
        let found = &mut self.found;
        self.records.finish(|record| found.push_back(record))?;
        self.decoder.decode(&[])?;
        self.flush()?;
        if !self.found.is_empty() {
            return exec_err!("the records of the object are read in two different ways");
        }
        Ok(Collected {
            entries: self.sorter.sorted()?,
            records: self.all,
            with_value: self.with_value,
            column: self.column,
        })
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
}

impl Collected {
    /// The index object about a data object.
    ///
    /// # Errors
    ///
    /// If the data object has no entity tag.
    pub fn object(self, data: &ObjectMeta) -> Result<IndexPieces> {
        let Some(e_tag) = e_tag(data) else { return exec_err!("the object has no entity tag") };
        let top = TopMessage {
            version: VERSION,
            data: data.location.to_string(),
            e_tag: e_tag.to_owned(),
            size: data.size,
            column: self.column.name().to_owned(),
            position: self.column.position as u64,
            column_type: self.column.type_name.clone(),
            format: Some(self.column.text.message()),
            records: self.records,
            entries: self.with_value,
            blocks: Vec::new(),
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

/// Indexes an object: reads it from one store and uploads the index to `path` of another, whose
/// writes are staged: whoever calls commits or aborts them. `advance` is told of the bytes that are
/// read.
///
/// # Errors
///
/// If the object cannot be read as the table's, or a store fails.
pub async fn create(
    column: &Column,
    data: &ObjectMeta,
    from: &Arc<dyn ObjectStore>,
    to: &Arc<dyn ObjectStore>,
    path: &Path,
    run_bytes: usize,
    advance: &(dyn Fn(u64) + Send + Sync),
) -> Result<Created> {
    let options = GetOptions { if_match: data.e_tag.clone(), ..GetOptions::default() };
    let bytes = from.get_opts(&data.location, options).await?.into_stream();
    let bytes = bytes.map(|piece| piece.map_err(DataFusionError::from));
    let collected = collect(column, bytes, run_bytes, advance).await?;
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

async fn collect(
    column: &Column,
    bytes: impl Stream<Item = Result<Bytes>>,
    run_bytes: usize,
    advance: &(dyn Fn(u64) + Send + Sync),
) -> Result<Collected> {
    let mut collector = Collector::new(column, run_bytes);
    let mut bytes = std::pin::pin!(bytes);
    while let Some(piece) = bytes.next().await {
        let piece = piece?;
        collector.feed(&piece)?;
        advance(piece.len() as u64);
        tokio::task::yield_now().await;
    }
    collector.finish()
}
