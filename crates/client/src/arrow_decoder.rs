//! Decoding of answers that are Arrow IPC streams.
//!
//! The store is not trusted: every size is checked before memory is allocated for it, and the columns must have the
//! requested types. Messages are put together here, because the reader of `arrow-ipc` panics at some invalid ones.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::compute::{TakeOptions, cast, take};
use arrow::datatypes::{DataType, Decimal128Type, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow_ipc as ipc;
use arrow_ipc::reader::RecordBatchDecoder;
use bytes::{Buf, Bytes};

use super::arrow_types::data_type;
use sluicegate_s3select::request::{ArrowCompression, ArrowOutput};

/// The maximum length of a message's metadata, in bytes.
const MAX_METADATA: usize = 4 << 20;
/// The maximum length of a message's body, compressed and decompressed, in bytes. Our server sends at most 2 MiB.
const MAX_BODY: usize = 16 << 20;
/// The maximum number of rows in a record batch.
const MAX_ROWS: usize = 1 << 20;
/// The maximum number of messages without rows in sequence. An answer has one dictionary a column and record batch.
const MAX_WITHOUT_ROWS: usize = 1 << 12;
/// The maximum number of bytes between two buffers of a message. Writers align buffers to 64 bytes at most.
const MAX_PADDING: usize = 64;
/// The maximum length of a text in a dictionary, in bytes.
const MAX_TEXT: usize = 1 << 20;
/// Memory that is allocated before the first byte of a message has arrived, in bytes.
const FIRST_ALLOCATION: usize = 1 << 20;

/// Converts the payloads of `Records` events, in order, into batches of the declared schema. A payload may end
/// anywhere in the stream.
pub(super) struct ArrowDecoder {
    /// The schema of the batches that are returned.
    declared: SchemaRef,
    /// The types of the stream's columns.
    requested: Vec<DataType>,
    /// The schema of its record batches, with the positions of texts instead of dictionaries.
    sent: SchemaRef,
    /// The schema of a dictionary's batch.
    texts: SchemaRef,
    compression: Option<ArrowCompression>,
    batch_size: usize,
    state: State,
    /// The number of each column's dictionary, once the schema has arrived and has the requested types.
    numbers: Option<Vec<Option<i64>>>,
    /// The last dictionaries and their bytes, by their numbers.
    dictionaries: HashMap<i64, (ArrayRef, usize)>,
    /// The bytes of the current part of a message so far.
    part: Vec<u8>,
    /// Rows that are decoded and not yet returned.
    rest: Option<RecordBatch>,
    /// The number of messages since the last with rows.
    without_rows: usize,
}

/// The part of a message that comes next.
enum State {
    /// The continuation marker and the length of the metadata.
    Length,
    Metadata(usize),
    Body(Buffer, usize),
    /// The end-of-stream marker has arrived.
    Finished,
}

/// Decodes the whole payload of an answer in Arrow, as [`Client::send`](crate::Client::send) returns it, and counts its
/// rows. It is for measurements: the payload is decoded in pieces like those that arrive from a store.
///
/// # Errors
///
/// If the payload is no complete Arrow IPC stream with the columns of `output`.
pub fn decoded_rows(
    output: &ArrowOutput,
    schema: SchemaRef,
    mut payload: Bytes,
) -> Result<usize, ArrowError> {
    /// The usual length of the payload of a `Records` event of our server, in bytes.
    const PIECE: usize = 128 << 10;
    /// DataFusion's rows in a batch.
    const BATCH_ROWS: usize = 8192;
    let mut decoder = ArrowDecoder::new(output, schema, BATCH_ROWS)?;
    let mut rows = 0;
    while !payload.is_empty() {
        let mut piece = payload.split_to(PIECE.min(payload.len()));
        while let Some(batch) = decoder.decode(&mut piece)? {
            rows += batch.num_rows();
        }
    }
    decoder.finish()?;
    Ok(rows)
}

impl ArrowDecoder {
    pub(super) fn new(
        output: &ArrowOutput,
        declared: SchemaRef,
        batch_size: usize,
    ) -> Result<Self, ArrowError> {
        let requested: Vec<_> = output.columns.iter().map(|column| data_type(*column)).collect();
        let types = requested.iter().map(|of| match of {
            DataType::Dictionary(positions, _) => DataType::clone(positions),
            of => of.clone(),
        });
        let fields = types.enumerate().map(|(at, of)| Field::new(format!("c{at}"), of, true));
        let sent = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let texts = Arc::new(Schema::new(vec![Field::new("text", DataType::Utf8, false)]));
        let refused = |why: &str| Err(ArrowError::InvalidArgumentError(why.to_owned()));
        if sent.fields().len() != declared.fields().len() {
            return refused("the requested types and the columns differ in number");
        }
        // A short answer could stand for any number of copies of long texts.
        let mut columns = requested.iter().zip(declared.fields());
        if columns.any(|(of, field)| {
            matches!(of, DataType::Dictionary(..)) && *field.data_type() != DataType::Utf8View
        }) {
            return refused("texts with a dictionary are requested for another type than Utf8View");
        }
        Ok(Self {
            declared,
            requested,
            sent,
            texts,
            compression: output.compression,
            batch_size,
            state: State::Length,
            numbers: None,
            dictionaries: HashMap::new(),
            part: Vec::new(),
            rest: None,
            without_rows: 0,
        })
    }

    /// Decodes bytes of the payload until there is a batch or the payload is used up.
    pub(super) fn decode(
        &mut self,
        payload: &mut Bytes,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(batch) = self.next_rows() {
                return Ok(Some(batch));
            }
            let needed = match &self.state {
                State::Length => 8,
                State::Metadata(length) | State::Body(_, length) => *length,
                State::Finished if payload.is_empty() => return Ok(None),
                State::Finished => return Err(invalid("bytes follow its end")),
            };
            let Some(part) = self.take(payload, needed) else { return Ok(None) };
            self.state = match std::mem::replace(&mut self.state, State::Length) {
                State::Length => after_length(&part)?,
                State::Metadata(_) => {
                    let message = message(&part)?;
                    let body = size(message.bodyLength(), MAX_BODY)?;
                    State::Body(part, body)
                }
                State::Body(metadata, _) => {
                    self.message(&metadata, &part)?;
                    State::Length
                }
                State::Finished => State::Finished,
            };
        }
    }

    /// Checks that the stream is complete.
    pub(super) fn finish(&mut self) -> Result<(), ArrowError> {
        match self.state {
            State::Finished => Ok(()),
            _ => Err(invalid("its end is missing")),
        }
    }

    /// Returns the next decoded rows, at most a batch.
    fn next_rows(&mut self) -> Option<RecordBatch> {
        let rest = self.rest.take()?;
        if rest.num_rows() <= self.batch_size {
            return Some(rest);
        }
        self.rest = Some(rest.slice(self.batch_size, rest.num_rows() - self.batch_size));
        Some(rest.slice(0, self.batch_size))
    }

    /// Takes this many bytes of the payload, with those that came before. Returns `None` until all have arrived.
    fn take(&mut self, payload: &mut Bytes, needed: usize) -> Option<Buffer> {
        if self.part.is_empty() && payload.len() >= needed {
            return Some(Buffer::from(payload.split_to(needed)));
        }
        if self.part.is_empty() {
            self.part.reserve(needed.min(FIRST_ALLOCATION));
        }
        let more = payload.len().min(needed - self.part.len());
        self.part.extend_from_slice(&payload[..more]);
        payload.advance(more);
        (self.part.len() == needed).then(|| Buffer::from_vec(std::mem::take(&mut self.part)))
    }

    /// Handles a whole message.
    fn message(&mut self, metadata: &Buffer, body: &Buffer) -> Result<(), ArrowError> {
        let message = message(metadata)?;
        if let Some(schema) = message.header_as_schema() {
            if self.numbers.is_some() {
                return Err(invalid("it has two schemas"));
            }
            self.numbers = Some(self.check_schema(&schema)?);
            return Ok(());
        }
        self.without_rows += 1;
        if self.without_rows > MAX_WITHOUT_ROWS {
            return Err(invalid("too many of its messages have no rows"));
        }
        let Some(numbers) = self.numbers.take() else {
            return Err(invalid("it does not begin with its schema"));
        };
        if let Some(dictionary) = message.header_as_dictionary_batch() {
            if dictionary.isDelta() || !numbers.contains(&Some(dictionary.id())) {
                return Err(invalid("it has a dictionary of no column"));
            }
            let batch = dictionary.data().ok_or_else(|| invalid("a dictionary is missing"))?;
            self.dictionaries.remove(&dictionary.id());
            let most = MAX_BODY - self.dictionaries.values().map(|(_, bytes)| bytes).sum::<usize>();
            // The texts keep the whole message.
            let whole = size(body.len() as i64, most)?;
            let (texts, bytes) = self.batch(&self.texts, &batch, body, most, message.version())?;
            let texts = texts.column(0);
            let mut ends = texts.as_string::<i32>().offsets().windows(2);
            if ends.any(|ends| (ends[1] - ends[0]) as usize > MAX_TEXT) {
                return Err(invalid("a text is longer than 1 MiB"));
            }
            let texts = cast(texts, &DataType::Utf8View)?;
            self.dictionaries.insert(dictionary.id(), (texts, bytes.max(whole)));
        } else if let Some(batch) = message.header_as_record_batch() {
            let (batch, _) = self.batch(&self.sent, &batch, body, MAX_BODY, message.version())?;
            let columns = batch.columns().iter().zip(self.declared.fields()).zip(&numbers);
            let columns = columns.map(|((column, field), number)| {
                check_decimals(column)?;
                match number {
                    None => cast(column, field.data_type()),
                    Some(number) => self.texts(*number, column),
                }
                .map(compact)
            });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let batch = RecordBatch::try_new(Arc::clone(&self.declared), columns)?;
            if batch.num_rows() > 0 {
                self.without_rows = 0;
                self.rest = Some(batch);
            }
        } else {
            let kind = message.header_type();
            return Err(invalid(&format!("it has a message of the type {kind:?}")));
        }
        self.numbers = Some(numbers);
        Ok(())
    }

    /// Returns the texts at these positions of a dictionary.
    fn texts(&self, number: i64, positions: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let (dictionary, _) =
            self.dictionaries.get(&number).ok_or_else(|| invalid("a dictionary is missing"))?;
        take(dictionary, positions, Some(TakeOptions { check_bounds: true }))
    }

    /// Decodes a batch with columns of these types and at most so many bytes. Returns it and its bytes.
    fn batch(
        &self,
        schema: &SchemaRef,
        batch: &ipc::RecordBatch<'_>,
        body: &Buffer,
        most: usize,
        version: ipc::MetadataVersion,
    ) -> Result<(RecordBatch, usize), ArrowError> {
        let bytes = self.check_batch(schema, batch, body, most)?;
        let (schema, none) = (Arc::clone(schema), HashMap::new());
        let batch = RecordBatchDecoder::try_new(body, *batch, schema, &none, &version)?;
        Ok((batch.read_record_batch()?, bytes))
    }

    /// Checks that the schema of a stream has the requested types, and returns the numbers of its dictionaries.
    fn check_schema(&self, schema: &ipc::Schema<'_>) -> Result<Vec<Option<i64>>, ArrowError> {
        let other = || invalid("its columns have other types");
        let fields: Vec<_> = schema.fields().into_iter().flatten().collect();
        if fields.len() != self.requested.len() || schema.endianness() != ipc::Endianness::Little {
            return Err(other());
        }
        let numbers = fields.iter().zip(&self.requested).map(|(field, of)| {
            has_type(field, of).then(|| field.dictionary().map(|it| it.id())).ok_or_else(other)
        });
        numbers.collect()
    }

    /// Checks the sizes of a batch with columns of these types, and returns the bytes of its buffers.
    fn check_batch(
        &self,
        schema: &Schema,
        batch: &ipc::RecordBatch<'_>,
        body: &[u8],
        most: usize,
    ) -> Result<usize, ArrowError> {
        let rows = size(batch.length(), MAX_ROWS)?;
        let codec = batch.compression().map(|it| it.codec());
        let expected = self.compression.map(|it| match it {
            ArrowCompression::Lz4 => ipc::CompressionType::LZ4_FRAME,
            ArrowCompression::Zstd => ipc::CompressionType::ZSTD,
        });
        if codec != expected {
            return Err(invalid("its compression is not the requested one"));
        }
        let nodes: Vec<_> = batch.nodes().into_iter().flatten().collect();
        let columns = schema.fields();
        if nodes.len() != columns.len()
            || batch.variadicBufferCounts().is_some_and(|it| !it.is_empty())
        {
            return Err(invalid("a batch has other columns than the schema"));
        }
        let lengths = self.buffer_lengths(batch, body, most)?;
        let bytes = lengths.iter().sum();
        let mut sent = lengths.into_iter();
        let mut next = |least: usize| match sent.next() {
            Some(length) if length >= least => Ok(length),
            _ => Err(invalid("a buffer is missing or shorter than its rows")),
        };
        for (node, field) in nodes.into_iter().zip(columns) {
            if size(node.length(), rows)? != rows {
                return Err(invalid("its columns differ in length"));
            }
            let has_nulls = size(node.null_count(), rows)? > 0;
            next(if has_nulls { rows.div_ceil(8) } else { 0 })?;
            match field.data_type() {
                DataType::Boolean => next(rows.div_ceil(8))?,
                DataType::Utf8 => {
                    let offsets = next(if rows > 0 { (rows + 1) * size_of::<i32>() } else { 0 })?;
                    // `arrow-data` panics on a part of an offset.
                    if !offsets.is_multiple_of(size_of::<i32>()) {
                        return Err(invalid("a buffer of offsets has a part of one"));
                    }
                    next(0)?
                }
                of => next(rows * of.primitive_width().unwrap_or(0))?,
            };
        }
        match sent.next() {
            None => Ok(bytes),
            Some(_) => Err(invalid("a batch has more buffers than its columns")),
        }
    }

    /// Returns the lengths of a batch's buffers, after decompression, which are at most so many bytes together.
    fn buffer_lengths(
        &self,
        batch: &ipc::RecordBatch<'_>,
        body: &[u8],
        most: usize,
    ) -> Result<Vec<usize>, ArrowError> {
        let mut lengths = Vec::new();
        let (mut left, mut used) = (most, MAX_PADDING);
        for buffer in batch.buffers().into_iter().flatten() {
            let start = size(buffer.offset(), body.len())?;
            let length = size(buffer.length(), body.len() - start)?;
            used += length + MAX_PADDING;
            let expanded = match body[start..start + length].first_chunk::<8>() {
                _ if self.compression.is_none() || length == 0 => length,
                None => return Err(invalid("a compressed buffer has no length")),
                Some(prefix) => match i64::from_le_bytes(*prefix) {
                    // The buffer is not compressed.
                    -1 => length - prefix.len(),
                    expanded => size(expanded, left)?,
                },
            };
            left = left.checked_sub(expanded).ok_or_else(|| invalid("a batch is too large"))?;
            lengths.push(expanded);
        }
        // The columns keep the whole body.
        if body.len() > used {
            return Err(invalid("a message is longer than its buffers"));
        }
        Ok(lengths)
    }
}

/// Checks that decimals have no more digits than their type, which `arrow-ipc` does not.
fn check_decimals(column: &ArrayRef) -> Result<(), ArrowError> {
    match column.data_type() {
        DataType::Decimal128(precision, _) => {
            column.as_primitive::<Decimal128Type>().validate_decimal_precision(*precision)
        }
        _ => Ok(()),
    }
}

/// Copies the texts of a column if it keeps many more bytes than it uses.
fn compact(column: ArrayRef) -> ArrayRef {
    /// Bytes that are kept in any case.
    const SPARE: usize = 64 << 10;
    let Some(texts) = column.as_string_view_opt() else { return column };
    let kept: usize = texts.data_buffers().iter().map(Buffer::len).sum();
    let is_compact = kept <= SPARE || 2 * texts.total_buffer_bytes_used() >= kept;
    if is_compact { column } else { Arc::new(texts.gc()) }
}

/// Interprets the first eight bytes of a message.
fn after_length(bytes: &[u8]) -> Result<State, ArrowError> {
    let (marker, length) = bytes.split_at(4);
    let (true, Ok(length)) = (marker == [0xff; 4], <[u8; 4]>::try_from(length)) else {
        return Err(invalid("a message does not begin with its marker"));
    };
    match i32::from_le_bytes(length) {
        0 => Ok(State::Finished),
        length => Ok(State::Metadata(size(length.into(), MAX_METADATA)?)),
    }
}

fn message(metadata: &[u8]) -> Result<ipc::Message<'_>, ArrowError> {
    ipc::root_as_message(metadata).map_err(|error| invalid(&error.to_string()))
}

/// Converts a size that the store named.
fn size(named: i64, most: usize) -> Result<usize, ArrowError> {
    let size = usize::try_from(named).ok().filter(|size| *size <= most);
    size.ok_or_else(|| {
        invalid(&format!("it has a size of {named}, which is not within 0 to {most}"))
    })
}

fn invalid(what: &str) -> ArrowError {
    ArrowError::IpcError(format!("the answer is not the requested Arrow stream: {what}"))
}

/// Returns true if a field of a stream has this type.
fn has_type(field: &ipc::Field<'_>, of: &DataType) -> bool {
    let is_int = |bits, signed| {
        let int = field.type_as_int();
        int.is_some_and(|it| (it.bitWidth(), it.is_signed()) == (bits, signed))
    };
    let is_float =
        |precision| field.type_as_floating_point().is_some_and(|it| it.precision() == precision);
    let (positions, of) = match of {
        DataType::Dictionary(positions, texts) => (Some(&**positions), &**texts),
        of => (None, of),
    };
    let has_positions = match (field.dictionary(), positions) {
        (None, None) => true,
        (Some(dictionary), Some(DataType::UInt16)) => {
            dictionary.indexType().is_some_and(|it| (it.bitWidth(), it.is_signed()) == (16, false))
        }
        _ => false,
    };
    has_positions
        && match of {
            DataType::Boolean => field.type_as_bool().is_some(),
            DataType::Int8 => is_int(8, true),
            DataType::Int16 => is_int(16, true),
            DataType::Int32 => is_int(32, true),
            DataType::Int64 => is_int(64, true),
            DataType::UInt8 => is_int(8, false),
            DataType::UInt16 => is_int(16, false),
            DataType::UInt32 => is_int(32, false),
            DataType::UInt64 => is_int(64, false),
            DataType::Float32 => is_float(ipc::Precision::SINGLE),
            DataType::Float64 => is_float(ipc::Precision::DOUBLE),
            DataType::Decimal128(precision, scale) => field.type_as_decimal().is_some_and(|it| {
                let expected = (i32::from(*precision), i32::from(*scale), 128);
                (it.precision(), it.scale(), it.bitWidth()) == expected
            }),
            DataType::Date32 => {
                field.type_as_date().is_some_and(|it| it.unit() == ipc::DateUnit::DAY)
            }
            DataType::Timestamp(unit, zone) => field.type_as_timestamp().is_some_and(|it| {
                let expected = match unit {
                    TimeUnit::Second => ipc::TimeUnit::SECOND,
                    TimeUnit::Millisecond => ipc::TimeUnit::MILLISECOND,
                    TimeUnit::Microsecond => ipc::TimeUnit::MICROSECOND,
                    TimeUnit::Nanosecond => ipc::TimeUnit::NANOSECOND,
                };
                it.unit() == expected && it.timezone() == zone.as_deref()
            }),
            DataType::Utf8 => field.type_as_utf_8().is_some(),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        BooleanArray, Decimal128Array, DictionaryArray, Int64Array, StringArray, UInt16Array,
    };
    use arrow::datatypes::UInt16Type;
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions, StreamWriter};
    use proptest::prelude::*;

    use super::*;

    const HEADER: &str = "int64;utf8;boolean;decimal128(15,2);dictionary(utf8)";

    fn declared() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("s", DataType::Utf8View, true),
            Field::new("b", DataType::Boolean, true),
            Field::new("d", DataType::Decimal128(15, 2), true),
            Field::new("t", DataType::Utf8View, true),
        ]))
    }

    /// Returns a batch as the store sends it.
    fn batch(rows: &[(Option<i64>, Option<String>)]) -> RecordBatch {
        let numbers: Vec<Option<i64>> = rows.iter().map(|(n, _)| *n).collect();
        let texts: StringArray = rows.iter().map(|(_, s)| s.as_deref()).collect();
        let flags: BooleanArray = numbers.iter().map(|n| n.map(|n| n > 0)).collect();
        let decimals: Decimal128Array =
            numbers.iter().map(|n| n.map(|n| i128::from(n % 1_000_000))).collect();
        let decimals = decimals.with_precision_and_scale(15, 2).unwrap();
        let coded: DictionaryArray<UInt16Type> = rows.iter().map(|(_, s)| s.as_deref()).collect();
        let columns: [ArrayRef; 5] = [
            Arc::new(Int64Array::from(numbers)),
            Arc::new(texts),
            Arc::new(flags),
            Arc::new(decimals),
            Arc::new(coded),
        ];
        let names = ["c0", "c1", "c2", "c3", "c4"].into_iter().zip(columns);
        RecordBatch::try_from_iter_with_nullable(names.map(|(name, column)| (name, column, true)))
            .unwrap()
    }

    fn stream(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let schema = batch(&[]).schema();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        writer.into_inner().unwrap()
    }

    /// Decodes a stream that is cut at the given places.
    fn decode(
        header: &str,
        bytes: &[u8],
        cuts: &[usize],
        batch_size: usize,
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let mut decoder = ArrowDecoder::new(&header.parse().unwrap(), declared(), batch_size)?;
        let mut batches = Vec::new();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        for piece in cuts.windows(2) {
            let mut payload = Bytes::copy_from_slice(&bytes[piece[0]..piece[1]]);
            while let Some(batch) = decoder.decode(&mut payload)? {
                batches.push(batch);
            }
            assert!(payload.is_empty());
        }
        decoder.finish()?;
        Ok(batches)
    }

    fn expected(batches: &[RecordBatch]) -> RecordBatch {
        let declared = declared();
        let decoded = batches.iter().map(|batch| {
            let columns = batch.columns().iter().zip(declared.fields());
            let columns = columns.map(|(it, field)| cast(it, field.data_type()).unwrap());
            RecordBatch::try_new(Arc::clone(&declared), columns.collect()).unwrap()
        });
        let decoded: Vec<_> = decoded.collect();
        arrow::compute::concat_batches(&declared, &decoded).unwrap()
    }

    fn rows() -> impl Strategy<Value = Vec<(Option<i64>, Option<String>)>> {
        prop::collection::vec((any::<Option<i64>>(), prop::option::of("[a-zé☃]{0,20}")), 0..30)
    }

    proptest! {
        #[test]
        fn any_cut_of_a_stream_gives_the_same_rows(
            parts in prop::collection::vec(rows(), 0..5),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
            batch_size in 1_usize..20,
            zstd in any::<bool>(),
        ) {
            let parts: Vec<_> = parts.iter().map(|rows| batch(rows)).collect();
            let header = if zstd { format!("{HEADER};compression=zstd") } else { HEADER.to_owned() };
            let bytes = stream(&parts, zstd.then_some(CompressionType::ZSTD));
            let batches = decode(&header, &bytes, &cuts, batch_size).unwrap();
            prop_assert!(batches.iter().all(|it| (1..=batch_size).contains(&it.num_rows())));
            let all = arrow::compute::concat_batches(&declared(), &batches).unwrap();
            prop_assert_eq!(all, expected(&parts));
        }

        /// A store that lies gets an error, never a panic and no large allocation.
        #[test]
        fn no_bytes_make_it_panic(
            parts in prop::collection::vec(rows(), 0..3),
            flips in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6),
            end in any::<usize>(),
            zstd in any::<bool>(),
        ) {
            let parts: Vec<_> = parts.iter().map(|rows| batch(rows)).collect();
            let header = if zstd { format!("{HEADER};compression=zstd") } else { HEADER.to_owned() };
            let mut bytes = stream(&parts, zstd.then_some(CompressionType::ZSTD));
            for (at, byte) in flips {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = decode(&header, &bytes, &[7, 50], 8);
            bytes.truncate(end % bytes.len());
            prop_assert!(decode(&header, &bytes, &[], 8).is_err());
        }

        /// A store that names wrong sizes gets an error, or other rows, never a panic.
        #[test]
        fn no_size_makes_it_panic(
            rows in rows(),
            changes in prop::collection::vec((any::<usize>(), any::<usize>(), -9_i64..9), 1..4),
            zstd in any::<bool>(),
        ) {
            let header = if zstd { format!("{HEADER};compression=zstd") } else { HEADER.to_owned() };
            let bytes = stream(&[batch(&rows)], zstd.then_some(CompressionType::ZSTD));
            let mut messages = messages(&bytes);
            let length = messages.len();
            for (message, at, change) in changes {
                let (head, message) = &mut messages[message % length];
                // A table, or the sizes before compressed buffers.
                let numbers = if at % 4 == 0 { &mut message[*head..] } else { &mut message[8..*head] };
                let small: Vec<_> = (0..numbers.len().saturating_sub(7))
                    .step_by(4)
                    .filter_map(|at| {
                        let number = i64::from_le_bytes(numbers[at..at + 8].try_into().unwrap());
                        (0..1 << 16).contains(&number).then_some((at, number))
                    })
                    .collect();
                if !small.is_empty() {
                    let (at, number) = small[at / 4 % small.len()];
                    numbers[at..at + 8].copy_from_slice(&(number + change).to_le_bytes());
                }
            }
            let bytes: Vec<u8> = messages.into_iter().flat_map(|(_, bytes)| bytes).collect();
            let _ = decode(&header, &bytes, &[], 8);
        }

        #[test]
        fn no_text_is_a_stream(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(decode(HEADER, &bytes, &[], 8).is_err());
        }
    }

    #[track_caller]
    fn check_refused(header: &str, bytes: &[u8], why: &str) {
        let error = decode(header, bytes, &[], 8).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    /// Returns the messages of a stream, and the length of the metadata of each with its prefix.
    fn messages(mut stream: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let mut messages = Vec::new();
        while !stream.is_empty() {
            let length = u32::from_le_bytes(<[u8; 4]>::try_from(&stream[4..8]).unwrap()) as usize;
            let head = 8 + length;
            let body = if length > 0 { message(&stream[8..head]).unwrap().bodyLength() } else { 0 };
            let (first, rest) = stream.split_at(head + body as usize);
            messages.push((head, first.to_vec()));
            stream = rest;
        }
        messages
    }

    /// Writes other numbers into the description of the record batch and decodes the stream.
    #[track_caller]
    fn check_forged(forge: impl Fn(&mut [u8]), why: &str) {
        let rows: Vec<_> = (0..100).map(|n| (Some(n), None)).collect();
        let mut messages = messages(&stream(&[batch(&rows)], None));
        // A schema, a dictionary, a record batch, the end.
        let [_, _, (head, batch), _] = &mut messages[..] else { panic!("{}", messages.len()) };
        forge(&mut batch[8..*head]);
        let bytes: Vec<u8> = messages.into_iter().flat_map(|(_, bytes)| bytes).collect();
        check_refused(HEADER, &bytes, why);
    }

    /// Replaces a number of 64 bits wherever it is aligned.
    fn replace(bytes: &mut [u8], from: i64, to: i64) {
        for at in (0..bytes.len() - 7).step_by(4) {
            if bytes[at..at + 8] == from.to_le_bytes() {
                bytes[at..at + 8].copy_from_slice(&to.to_le_bytes());
            }
        }
    }

    #[test]
    fn forged_sizes_are_refused() {
        let short = "a buffer is missing or shorter than its rows";
        // The values of the first column, and the NULLs of the second.
        check_forged(|bytes| replace(bytes, 800, 792), short);
        check_forged(|bytes| replace(bytes, 13, 0), short);
        check_forged(|bytes| replace(bytes, 100, 101), short);
        check_forged(|bytes| replace(bytes, 404, 405), "a buffer of offsets has a part of one");
        check_forged(|bytes| replace(bytes, 100, -1), "it has a size of -1");
        check_forged(|bytes| replace(bytes, 100, i64::MAX), "it has a size of");
        check_forged(|bytes| replace(bytes, 800, i64::MAX), "it has a size of");
    }

    /// Returns the messages of a stream of columns with dictionaries.
    fn coded(batches: &[&[&[&str]]], handling: DictionaryHandling) -> Vec<Vec<u8>> {
        let batches = batches.iter().map(|columns| {
            let columns = columns.iter().enumerate().map(|(at, texts)| {
                let coded: DictionaryArray<UInt16Type> = texts.iter().copied().collect();
                (format!("c{at}"), Arc::new(coded) as ArrayRef, true)
            });
            RecordBatch::try_from_iter_with_nullable(columns).unwrap()
        });
        messages_of(&batches.collect::<Vec<_>>(), handling)
    }

    fn messages_of(batches: &[RecordBatch], handling: DictionaryHandling) -> Vec<Vec<u8>> {
        let options = IpcWriteOptions::default().with_dictionary_handling(handling);
        let schema = batches[0].schema();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        let stream = writer.into_inner().unwrap();
        messages(&stream).into_iter().map(|(_, bytes)| bytes).collect()
    }

    fn decode_coded(columns: usize, messages: &[&Vec<u8>]) -> Result<Vec<RecordBatch>, ArrowError> {
        let fields: Vec<_> =
            (0..columns).map(|at| Field::new(format!("t{at}"), DataType::Utf8View, true)).collect();
        let output = vec!["dictionary(utf8)"; columns].join(";").parse().unwrap();
        let mut decoder = ArrowDecoder::new(&output, Arc::new(Schema::new(fields)), 8192)?;
        let mut payload: Bytes = messages.iter().flat_map(|bytes| (**bytes).clone()).collect();
        let mut batches = Vec::new();
        while let Some(batch) = decoder.decode(&mut payload)? {
            batches.push(batch);
        }
        decoder.finish().map(|()| batches)
    }

    #[test]
    fn dictionaries_hold_until_they_are_replaced() {
        let messages = coded(
            &[&[&["a", "b", "a"]], &[&["a", "b"]], &[&["c", "c"]]],
            DictionaryHandling::Resend,
        );
        // The second batch has the dictionary of the first.
        assert_eq!(messages.len(), 1 + 2 + 1 + 2 + 1);
        let batches = decode_coded(1, &messages.iter().collect::<Vec<_>>()).unwrap();
        let texts = batches.iter().flat_map(|batch| batch.column(0).as_string_view().iter());
        let texts: Vec<_> = texts.flatten().collect();
        assert_eq!(texts, ["a", "b", "a", "a", "b", "c", "c"]);
    }

    #[test]
    fn false_dictionaries_are_refused() {
        let refused = |columns, messages: &[&Vec<u8>], why: &str| {
            let error = decode_coded(columns, messages).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        let [one, three] = [&["a", "a", "a"], &["a", "b", "c"]]
            .map(|texts| coded(&[&[&texts[..]]], DictionaryHandling::Resend));
        let [schema, dictionary, _, end] = &one[..] else { panic!("{}", one.len()) };
        let batch = &three[2];
        assert!(decode_coded(1, &[schema, &three[1], batch, end]).is_ok());
        refused(1, &[schema, dictionary, batch, end], "out of bounds");
        refused(1, &[schema, batch, end], "a dictionary is missing");
        refused(1, &[dictionary, batch, end], "does not begin with its schema");
        let two = coded(&[&[&["a"], &["b"]]], DictionaryHandling::Resend);
        refused(1, &[schema, &two[2], end], "a dictionary of no column");
        refused(2, &[schema, dictionary, end], "its columns have other types");
        let grown = coded(&[&[&["a"]], &[&["a", "b"]]], DictionaryHandling::Delta);
        refused(1, &grown.iter().collect::<Vec<_>>(), "a dictionary of no column");
        let long = "x".repeat(6 << 20);
        let long =
            coded(&[&[&[&long[..]], &[&long[..]], &[&long[..]]]], DictionaryHandling::Resend);
        refused(3, &long.iter().collect::<Vec<_>>(), "a text is longer than 1 MiB");
        // A body is kept as long as its texts, and counts as a whole.
        let some = "x".repeat(1 << 20);
        let one = [&some[..]];
        let some = coded(&[&vec![&one[..]; 17]], DictionaryHandling::Resend);
        refused(17, &some.iter().collect::<Vec<_>>(), "it has a size of");
    }

    #[test]
    fn rows_do_not_keep_the_other_texts_of_a_dictionary() {
        let texts = ["x".repeat(1 << 20), "a text of more than twelve bytes".to_owned()];
        let texts = StringArray::from(texts.to_vec());
        for (positions, most) in [(vec![1], 1 << 16), (vec![0, 1], 2 << 20)] {
            let rows = positions.len();
            let coded = DictionaryArray::new(UInt16Array::from(positions), Arc::new(texts.clone()));
            let column: ArrayRef = Arc::new(coded);
            let batch = RecordBatch::try_from_iter_with_nullable([("c0", column, true)]).unwrap();
            let messages = messages_of(&[batch], DictionaryHandling::Resend);
            let batches = decode_coded(1, &messages.iter().collect::<Vec<_>>()).unwrap();
            assert_eq!(batches[0].column(0).as_string_view().value(rows - 1), texts.value(1));
            assert!(batches[0].get_array_memory_size() < most);
        }
    }

    #[test]
    fn decimals_beyond_their_digits_are_refused() {
        let wide = Decimal128Array::from(vec![10_i128.pow(20)]);
        let wide = wide.with_precision_and_scale(38, 2).unwrap();
        let column: ArrayRef = Arc::new(wide.with_data_type(DataType::Decimal128(15, 2)));
        assert!(check_decimals(&column).is_err());
    }

    /// A text that is sent once takes the room of one, however many rows have it.
    #[test]
    fn texts_of_a_dictionary_are_shared() {
        let text = "x".repeat(1 << 20);
        let messages = coded(&[&[&vec![&text[..]; 8192]]], DictionaryHandling::Resend);
        let batches = decode_coded(1, &messages.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((batches.len(), batches[0].num_rows()), (1, 8192));
        assert!(batches[0].get_array_memory_size() < 4 << 20);
        let declared = Arc::new(Schema::new(vec![Field::new("t", DataType::Utf8, true)]));
        let output = "dictionary(utf8)".parse().unwrap();
        assert!(ArrowDecoder::new(&output, declared, 8192).is_err());
    }

    #[test]
    fn what_was_not_requested_is_refused() {
        let one = [batch(&[(Some(1), Some("a".to_owned()))])];
        let plain = stream(&one, None);
        for (of, other) in [
            ("int64", "int32"),
            ("int64", "uint64"),
            ("int64", "float64"),
            ("int64", "timestamp(us)"),
            ("int64", "utf8"),
            ("utf8;", "dictionary(utf8);"),
            ("dictionary(utf8)", "utf8"),
        ] {
            let header = HEADER.replacen(of, other, 1);
            check_refused(&header, &plain, "its columns have other types");
        }
        check_refused(&HEADER.replace("15,2", "15,3"), &plain, "its columns have other types");
        let zstd = format!("{HEADER};compression=zstd");
        check_refused(&zstd, &plain, "its compression is not the requested one");
        let lz4 = stream(&one, Some(CompressionType::LZ4_FRAME));
        check_refused(HEADER, &lz4, "its compression is not the requested one");
        check_refused(HEADER, &plain[..plain.len() - 8], "its end is missing");
        let [(_, schema), rest @ ..] = &messages(&plain)[..] else { panic!() };
        let rest: Vec<u8> = rest.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        check_refused(HEADER, &[schema, schema, &rest].map(|it| &it[..]).concat(), "two schemas");
        let empty = vec![batch(&[]); 5_000];
        check_refused(HEADER, &stream(&empty, None), "too many of its messages have no rows");
        check_refused(HEADER, &[&plain[..], b"1"].concat(), "bytes follow its end");
        let schema = 8 + u32::from_le_bytes(<[u8; 4]>::try_from(&plain[4..8]).unwrap()) as usize;
        check_refused(HEADER, &plain[schema..], "it does not begin with its schema");
        check_refused(HEADER, b"1,a,true,1.00\n", "does not begin with its marker");
        check_refused(HEADER, b"\xff\xff\xff\xff\xff\xff\xff\x7f", "it has a size of 2147483647");
    }
}
