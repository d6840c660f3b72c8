//! An object as the Parquet library reads one.

use std::io::{BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::evaluate::source::{ObjectSource, SourceReader};

/// Bytes read at a time where the library reads headers of unknown length.
const BUFFER_BYTES: usize = 8 * 1024;

pub(super) struct ParquetSource(pub(super) Arc<dyn ObjectSource>);

impl Length for ParquetSource {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for ParquetSource {
    type T = BufReader<SourceReader>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let reader = SourceReader::new(Arc::clone(&self.0), start);
        Ok(BufReader::with_capacity(BUFFER_BYTES, reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Checked before the memory is taken: the length may be a hostile file's.
        if start.checked_add(length as u64).is_none_or(|end| end > self.0.len()) {
            return Err(ParquetError::EOF("bytes behind the end of the object".to_owned()));
        }
        let mut bytes = vec![0; length];
        SourceReader::new(Arc::clone(&self.0), start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
