//! Reads the part of an index object that a filter needs.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::{DataFusionError, Result, exec_err};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use sluicegate_index::Damaged;
use sluicegate_index::layout::{
    self, AbsentMessage, LEAST_BYTES, MAGIC, RecordLocation, TopMessage,
};
use sluicegate_index::span::Spans;

use super::cover::Cover;
use super::location::e_tag;
pub use crate::store::ranges::{PIECE_BYTES, REQUESTS, get};

/// The least bytes that are read of an index object's end, so that mostly one request is enough.
const TAIL_BYTES: u64 = 16 * 1024;
/// An index object is at least about this many times as large as its top, which takes some 30 bytes for a block of 32
/// KiB.
const TOP_SHARE: u64 = 512;

/// Returns the bytes that are read of an index object of some size to get its top.
#[must_use]
pub fn top_bytes(size: u64) -> u64 {
    (size / TOP_SHARE).max(TAIL_BYTES).min(size)
}

/// An index object, from its listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexObject {
    /// The path of the object.
    pub path: Path,
    /// The bytes of the object.
    pub size: u64,
    /// The entity tag of the index object itself.
    pub e_tag: Option<String>,
}

impl From<&ObjectMeta> for IndexObject {
    fn from(object: &ObjectMeta) -> Self {
        Self { path: object.location.clone(), size: object.size, e_tag: object.e_tag.clone() }
    }
}

/// The properties that an index must have to be used.
#[derive(Debug, Clone, Copy)]
pub struct IndexIdentity<'a> {
    /// The data object, in the version that is read.
    pub data: &'a ObjectMeta,
    /// The name of the column.
    pub column: &'a str,
    /// The column's position in the table; 0 for formats whose columns have names.
    pub position: u64,
    /// The column's type, by its name in index objects.
    pub type_name: &'a str,
    /// The format of the data object.
    pub format: &'a layout::FormatMessage,
}

/// An index object that is open.
pub struct OpenIndex {
    store: Arc<dyn ObjectStore>,
    object: IndexObject,
    /// The top of the index.
    pub top: TopMessage,
    /// The number of bytes read.
    pub bytes: u64,
    /// The number of requests sent.
    pub requests: u64,
}

impl fmt::Debug for OpenIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenIndex").field("object", &self.object).finish_non_exhaustive()
    }
}

impl OpenIndex {
    /// Reads the top of an index object, in one request or two.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is damaged.
    pub async fn open(store: Arc<dyn ObjectStore>, object: IndexObject) -> Result<Self> {
        if object.size < LEAST_BYTES {
            return exec_err!("it is cut short");
        }
        let mut open = Self { store, object, top: TopMessage::default(), bytes: 0, requests: 0 };
        let size = open.object.size;
        let guess = top_bytes(size);
        let mut tail = open.read(size - guess..size).await?;
        let needed = TopMessage::tail_bytes(&tail).map_err(wrong)? as u64;
        if needed > size {
            return exec_err!("it is cut short");
        }
        if needed > guess {
            tail = open.read(size - needed..size).await?;
        }
        open.top = TopMessage::of_tail(&tail, size).map_err(wrong)?;
        Ok(open)
    }

    /// Checks that the index has the required properties.
    ///
    /// # Errors
    ///
    /// The property that differs.
    pub fn check(&self, about: IndexIdentity<'_>) -> Result<()> {
        let top = &self.top;
        if top.data != about.data.location.as_ref() {
            return exec_err!("it is about {}", top.data);
        }
        if Some(top.e_tag.as_str()) != e_tag(about.data) || top.size != about.data.size {
            return exec_err!("the object has been replaced since");
        }
        if top.column != about.column || top.position != about.position {
            return exec_err!("it is about column {}, number {}", top.column, top.position + 1);
        }
        if top.column_type != about.type_name {
            return exec_err!("it is about values of type {}", top.column_type);
        }
        if top.format.as_ref() != Some(about.format) {
            return exec_err!("it is about objects that are read with other options");
        }
        Ok(())
    }

    /// Returns the places of the records with a key in some spans, in the order of the data object.
    ///
    /// # Errors
    ///
    /// If a block cannot be read, or is damaged.
    pub async fn find(&mut self, spans: &Spans) -> Result<Vec<RecordLocation>> {
        let numbers = self.top.blocks_with(spans);
        let places = self.top.places();
        let mut found = Vec::new();
        let runs = runs(&numbers, &places);
        let mut blocks = futures::stream::iter(runs)
            .map(|run| {
                let whole = places[run.start].start..places[run.end - 1].end;
                let read = self.get(whole);
                async move { Ok::<_, DataFusionError>((run, read.await?)) }
            })
            .buffered(REQUESTS);
        let (mut requests, mut received) = (0, 0);
        while let Some((run, bytes)) = blocks.try_next().await? {
            requests += 1;
            received += bytes.len() as u64;
            let start = places[run.start].start;
            for number in run {
                let place = &places[number];
                let block = (place.start - start) as usize..(place.end - start) as usize;
                let Some(block) = bytes.get(block) else { return exec_err!("it is cut short") };
                layout::entries(block, &self.top.blocks[number], |key, place| {
                    if spans.contains(key) {
                        found.push(place);
                    }
                })
                .map_err(wrong)?;
            }
        }
        drop(blocks);
        self.requests += requests;
        self.bytes += received;
        found.sort_unstable();
        let in_object = |place: &RecordLocation| {
            place.first.checked_add(place.bytes).is_some_and(|end| end <= self.top.end())
        };
        if !found.iter().all(in_object) {
            return exec_err!("a block of it is damaged");
        }
        Ok(found)
    }

    async fn read(&mut self, range: Range<u64>) -> Result<Bytes> {
        self.requests += 1;
        self.bytes += range.end - range.start;
        self.get(range).await
    }

    async fn get(&self, range: Range<u64>) -> Result<Bytes> {
        let e_tag = self.object.e_tag.as_ref();
        Ok(get(&self.store, &self.object.path, e_tag, range).await?)
    }

    /// Reads every block and checks the whole index.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub async fn verify(&mut self) -> Result<()> {
        let magic = self.read(0..MAGIC.len() as u64).await?;
        if *magic != MAGIC {
            return exec_err!("it is no index");
        }
        let places = self.top.places();
        let mut last: Option<(Vec<u8>, RecordLocation)> = None;
        let absent = self.top.absent.as_ref().map(AbsentMessage::span);
        let (mut entries, mut sorted, mut inside, mut present) = (0, true, true, true);
        let mut cover = Cover::default();
        for run in runs(&(0..places.len()).collect::<Vec<_>>(), &places) {
            let start = places[run.start].start;
            let bytes = self.read(start..places[run.end - 1].end).await?;
            for number in run {
                let place = &places[number];
                let block = (place.start - start) as usize..(place.end - start) as usize;
                let Some(block) = bytes.get(block) else { return exec_err!("it is cut short") };
                layout::entries(block, &self.top.blocks[number], |key, place| {
                    let before = last.as_ref().map(|(key, place)| (key.as_slice(), *place));
                    sorted &= before < Some((key, place));
                    present &= absent.as_ref().is_none_or(|absent| !absent.contains(key));
                    inside &= place
                        .first
                        .checked_add(place.bytes)
                        .is_some_and(|end| end <= self.top.end());
                    cover.add(place);
                    entries += 1;
                    last = Some((key.to_vec(), place));
                })
                .map_err(wrong)?;
            }
        }
        if !sorted {
            return exec_err!("its entries are not in order");
        }
        if !present {
            return exec_err!("it has values of which its top says that there are none");
        }
        if !inside {
            return exec_err!("it has records beyond the end of the object");
        }
        if entries != self.top.entries {
            return exec_err!("it has {entries} entries and not {}", self.top.entries);
        }
        // A record without an entry may be anywhere.
        if entries == self.top.records && !cover.is_seamless() {
            return exec_err!("its records do not follow each other");
        }
        Ok(())
    }
}

fn wrong(how: Damaged) -> DataFusionError {
    DataFusionError::Execution(how.0)
}

/// Groups adjacent blocks into ranges of their numbers, of at most the bytes of one request.
#[must_use]
pub fn runs(numbers: &[usize], places: &[Range<u64>]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(run)
                if run.end == *number
                    && places[*number].end - places[run.start].start <= PIECE_BYTES =>
            {
                run.end += 1;
            }
            _ => runs.push(*number..*number + 1),
        }
    }
    runs
}
