//! Sorts more entries than memory holds: runs are sorted in memory, written to unnamed temporary files, and merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use sluicegate_index::layout::{RecordLocation, read_number, write_number};

/// The memory of the entries of a run, in bytes.
pub const RUN_BYTES: usize = 64 * 1024 * 1024;
/// The number of runs that are merged into one: each is an open file.
const MOST_RUNS: usize = 64;
/// The buffer of a run that is read or written, in bytes.
const BUFFER: usize = 64 * 1024;

/// Entries in any order.
#[derive(Debug)]
pub struct Sorter {
    run_bytes: usize,
    keys: Vec<u8>,
    entries: Vec<Entry>,
    runs: Vec<File>,
}

/// An entry, whose key is a range in the buffer of all keys.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    key: (usize, usize),
    place: RecordLocation,
}

impl Sorter {
    /// Creates an empty sorter. The entries of a run take at most `run_bytes` bytes.
    #[must_use]
    pub fn new(run_bytes: usize) -> Self {
        Self { run_bytes, keys: Vec::new(), entries: Vec::new(), runs: Vec::new() }
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// If a run cannot be written.
    pub fn push(&mut self, key: &[u8], place: RecordLocation) -> io::Result<()> {
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        self.entries.push(Entry { key: (start, self.keys.len()), place });
        if self.keys.len() + self.entries.len() * size_of::<Entry>() >= self.run_bytes {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let mut run = RunWriter::new()?;
        self.sort();
        for entry in &self.entries {
            run.write(&self.keys[entry.key.0..entry.key.1], entry.place)?;
        }
        self.runs.push(run.end()?);
        self.keys.clear();
        self.entries.clear();
        if self.runs.len() == MOST_RUNS {
            let mut merged = Merge::open(std::mem::take(&mut self.runs))?;
            let mut run = RunWriter::new()?;
            while let Some((key, place)) = merged.next_entry()? {
                run.write(&key, place)?;
            }
            self.runs.push(run.end()?);
        }
        Ok(())
    }

    fn sort(&mut self) {
        let keys = &self.keys;
        let key = |entry: &Entry| &keys[entry.key.0..entry.key.1];
        self.entries.sort_unstable_by(|a, b| (key(a), a.place).cmp(&(key(b), b.place)));
    }

    /// Returns the entries in order: by key, then by place.
    ///
    /// # Errors
    ///
    /// If a run cannot be written or read.
    pub fn sorted(mut self) -> io::Result<Sorted> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted::Here { keys: self.keys, entries: self.entries.into_iter() });
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        Ok(Sorted::Runs(Merge::open(self.runs)?))
    }
}

/// Entries in order, in memory or in files.
#[derive(Debug)]
pub enum Sorted {
    #[doc(hidden)]
    Here { keys: Vec<u8>, entries: std::vec::IntoIter<Entry> },
    #[doc(hidden)]
    Runs(Merge),
}

impl Sorted {
    /// Returns the next entry, or `None` after the last.
    ///
    /// # Errors
    ///
    /// If a run cannot be read.
    pub fn next_entry(&mut self) -> io::Result<Option<(Vec<u8>, RecordLocation)>> {
        match self {
            Self::Here { keys, entries } => Ok(entries.next().map(|entry| {
                let key = keys[entry.key.0..entry.key.1].to_vec();
                (key, entry.place)
            })),
            Self::Runs(merge) => merge.next_entry(),
        }
    }
}

/// A run that is being written.
struct RunWriter {
    file: BufWriter<File>,
    bytes: Vec<u8>,
}

impl RunWriter {
    fn new() -> io::Result<Self> {
        // The file has no name, so nothing is left behind however the process ends.
        let file = BufWriter::with_capacity(BUFFER, tempfile::tempfile()?);
        Ok(Self { file, bytes: Vec::new() })
    }

    fn write(&mut self, key: &[u8], place: RecordLocation) -> io::Result<()> {
        self.bytes.clear();
        write_number(key.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(key);
        write_number(place.first, &mut self.bytes);
        write_number(place.bytes, &mut self.bytes);
        self.file.write_all(&self.bytes)
    }

    fn end(self) -> io::Result<File> {
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

/// A merge of several runs.
#[derive(Debug)]
pub struct Merge {
    runs: Vec<BufReader<File>>,
    /// The next entry of each run, with the number of the run.
    next: BinaryHeap<Reverse<(Vec<u8>, RecordLocation, usize)>>,
}

impl Merge {
    fn open(files: Vec<File>) -> io::Result<Self> {
        let runs = files.into_iter().map(|file| BufReader::with_capacity(BUFFER, file)).collect();
        let mut merge = Self { runs, next: BinaryHeap::new() };
        for number in 0..merge.runs.len() {
            merge.refill(number)?;
        }
        Ok(merge)
    }

    fn refill(&mut self, number: usize) -> io::Result<()> {
        let run = &mut self.runs[number];
        let Some(length) = number_from(run)? else { return Ok(()) };
        let mut key = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        run.read_exact(&mut key)?;
        let mut field = || number_from(run)?.ok_or_else(ended);
        let (first, bytes) = (field()?, field()?);
        self.next.push(Reverse((key, RecordLocation { first, bytes }, number)));
        Ok(())
    }

    fn next_entry(&mut self) -> io::Result<Option<(Vec<u8>, RecordLocation)>> {
        let Some(Reverse((key, place, number))) = self.next.pop() else { return Ok(None) };
        self.refill(number)?;
        Ok(Some((key, place)))
    }
}

fn ended() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// Returns a number in LEB128, or `None` at the end of the run.
fn number_from(run: &mut BufReader<File>) -> io::Result<Option<u64>> {
    let mut bytes = Vec::with_capacity(10);
    loop {
        let mut byte = [0];
        if run.read(&mut byte)? == 0 {
            return if bytes.is_empty() { Ok(None) } else { Err(ended()) };
        }
        bytes.push(byte[0]);
        if byte[0] & 0x80 == 0 {
            return Ok(read_number(&mut bytes.as_slice()));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_are_sorted_whatever_fits_into_memory(
            keys in prop::collection::vec(prop::collection::vec(0_u8..4, 0..4), 0..300),
            run_bytes in 1_usize..4000,
        ) {
            let mut sorter = Sorter::new(run_bytes);
            let mut expected = Vec::new();
            for (number, key) in keys.iter().enumerate() {
                // The order differs from that of the places.
                let place = RecordLocation { first: (number as u64 * 7919) % 1000, bytes: 1 };
                sorter.push(key, place).unwrap();
                expected.push((key.clone(), place));
            }
            expected.sort();
            let mut sorted = sorter.sorted().unwrap();
            let mut found = Vec::new();
            while let Some(entry) = sorted.next_entry().unwrap() {
                found.push(entry);
            }
            prop_assert_eq!(found, expected);
        }
    }
}
