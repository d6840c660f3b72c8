//! The interface that receives an answer.

use std::ops::ControlFlow;

use bytes::{Bytes, BytesMut};

/// The most bytes of rows that one [`Sink::records`] call hands over. A `Records` message with its headers then fits
/// the 128 KiB that the Java SDK buffers.
pub const MAX_RECORDS_BYTES: usize = 128 * 1024 - 256;

/// Receives an answer as it is produced. `ControlFlow::Break` means that the client is gone: the evaluation stops at
/// once and reports success.
pub trait Sink {
    /// Receives serialized rows, in order, at most [`MAX_RECORDS_BYTES`]. A row may span several calls.
    fn records(&mut self, bytes: Bytes) -> ControlFlow<()>;

    /// Receives the counts so far, about once per MiB of input.
    fn progress(&mut self, stats: &Stats) -> ControlFlow<()>;
}

/// The numbers of bytes that an evaluation read and returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// The bytes read from the object, before decompression. For Parquet, these are the column chunks read, without
    /// the footer.
    pub bytes_scanned: u64,
    /// The bytes read after decompression.
    pub bytes_processed: u64,
    /// The bytes of serialized rows.
    pub bytes_returned: u64,
}

/// Collects serialized rows into messages of bounded size.
pub(crate) struct Outbox<'a> {
    sink: &'a mut dyn Sink,
    buffer: BytesMut,
    /// The number of bytes handed to the sink so far.
    returned: u64,
}

impl<'a> Outbox<'a> {
    pub(crate) fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink, buffer: BytesMut::with_capacity(2 * MAX_RECORDS_BYTES), returned: 0 }
    }

    /// Appends serialized rows and sends every full message.
    pub(crate) fn append(&mut self, mut rows: &[u8]) -> ControlFlow<()> {
        while self.buffer.len() + rows.len() >= MAX_RECORDS_BYTES {
            let (head, tail) = rows.split_at(MAX_RECORDS_BYTES - self.buffer.len());
            self.buffer.extend_from_slice(head);
            rows = tail;
            self.flush()?;
        }
        self.buffer.extend_from_slice(rows);
        ControlFlow::Continue(())
    }

    /// Sends the buffered rows.
    pub(crate) fn flush(&mut self) -> ControlFlow<()> {
        if self.buffer.is_empty() {
            return ControlFlow::Continue(());
        }
        let message = self.buffer.split().freeze();
        self.returned += message.len() as u64;
        self.sink.records(message)
    }

    /// Reports the counts. Buffered rows are sent first, so that slow rows are not delayed.
    pub(crate) fn progress(&mut self, scanned: u64, processed: u64) -> ControlFlow<()> {
        self.flush()?;
        let stats = self.stats(scanned, processed);
        self.sink.progress(&stats)
    }

    /// Returns the counts so far, given the bytes read.
    pub(crate) fn stats(&self, scanned: u64, processed: u64) -> Stats {
        Stats { bytes_scanned: scanned, bytes_processed: processed, bytes_returned: self.returned }
    }
}
