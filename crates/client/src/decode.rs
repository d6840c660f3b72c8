//! Decoding of Records events into Arrow batches, wherever the store splits the payloads.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::csv;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use bytes::{Buf, Bytes};

use sluicegate_s3select::request::{CsvOutput, OutputSerialization};

use super::arrow_decoder::ArrowDecoder;
use super::fractions::{Fraction, Fractions};
use super::json_decoder::JsonDecoder;
use super::text_values::TextValues;

/// The maximum length of a record, in bytes. The service's own limit is 1 MiB.
const MAX_RECORD_BYTES: usize = 16 << 20;
/// The bytes of text after which a batch is returned early.
const BATCH_BYTES: usize = 8 << 20;
/// The maximum number of values in a batch. The decoder allocates space for all of them before it reads the first,
/// even for an answer of one row with a thousand aggregates.
const BATCH_VALUES: usize = 1 << 18;

/// Converts the payloads of `Records` events, in order, into batches of the declared schema. A payload may end in the
/// middle of a record or of a character.
pub(super) struct RowDecoder {
    format: Format,
    /// The declared schema; the decoder's own schema differs if this one has no columns.
    schema: SchemaRef,
    batch_size: usize,
    terminator: u8,
    /// Bytes decoded since the last batch.
    batch_bytes: usize,
    /// Bytes decoded since the last complete record.
    record_bytes: usize,
}

enum Format {
    Csv(Box<csv::reader::Decoder>, Option<TextValues>),
    Json(Box<JsonDecoder>, Option<Fractions>),
    Arrow(Box<ArrowDecoder>),
}

impl RowDecoder {
    /// Creates a decoder. If `coerce` is true, numbers and booleans in a JSON answer may be read as text. If
    /// `sampled_types` is true, a date in CSV with a time of day is an error.
    pub(super) fn new(
        output: &OutputSerialization,
        schema: SchemaRef,
        batch_size: usize,
        (coerce, sampled_types): (bool, bool),
    ) -> Result<Self, ArrowError> {
        let batch_size = batch_size.min(BATCH_VALUES / schema.fields().len().max(1)).max(1);
        let read_schema = if schema.fields().is_empty() {
            let constant = Field::new("_1", DataType::Utf8, true);
            Arc::new(Schema::new(vec![constant]))
        } else {
            Arc::clone(&schema)
        };
        let (format, terminator) = match output {
            OutputSerialization::Csv(options) => {
                let times = TextValues::for_schema(&read_schema);
                let times = times.map(|times| times.refusing_times_of_day(sampled_types));
                let as_text = times.as_ref().map_or(&read_schema, TextValues::read);
                let (decoder, terminator) = csv_decoder(options, Arc::clone(as_text), batch_size)?;
                (Format::Csv(Box::new(decoder), times), terminator)
            }
            OutputSerialization::Json { record_delimiter } => {
                let terminator = match record_delimiter.as_bytes() {
                    [b'\n'] | [b'\r', b'\n'] => b'\n',
                    _ => return Err(unusable("JSON record delimiter", record_delimiter)),
                };
                let fractions = Fractions::for_schema(&read_schema);
                let decoder = JsonDecoder::new(read_schema, batch_size, coerce)?;
                (Format::Json(Box::new(decoder), fractions), terminator)
            }
            OutputSerialization::Arrow(output) => {
                let decoder = ArrowDecoder::new(output, read_schema, batch_size)?;
                (Format::Arrow(Box::new(decoder)), b'\n')
            }
        };
        Ok(Self { format, schema, batch_size, terminator, batch_bytes: 0, record_bytes: 0 })
    }

    /// Decodes bytes of the payload until a batch is full or the payload is used up.
    pub(super) fn decode(
        &mut self,
        payload: &mut Bytes,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        if let Format::Arrow(decoder) = &mut self.format {
            return decoder.decode(payload);
        }
        while !payload.is_empty() {
            let rows = self.rows();
            // A batch can only be cut between two records. Once it is large enough, records are
            // decoded one by one to find that place.
            let cutting = self.batch_bytes >= BATCH_BYTES;
            let slice = if cutting {
                let end = memchr::memchr(self.terminator, payload).map(|at| at + 1);
                &payload[..end.unwrap_or(payload.len())]
            } else {
                &payload[..payload.len().min(BATCH_BYTES - self.batch_bytes)]
            };
            let whole = slice.len();
            let used = match &mut self.format {
                Format::Csv(decoder, _) => decoder.decode(slice)?,
                Format::Json(decoder, fractions) => {
                    let used = decoder.decode(slice)?;
                    if let Some(fractions) = fractions {
                        fractions.pass(&slice[..used]).map_err(fraction)?;
                    }
                    used
                }
                Format::Arrow(_) => whole,
            };
            let last = used.checked_sub(1).map(|at| slice[at]);
            payload.advance(used);
            self.batch_bytes += used;
            let completed = self.rows() > rows;
            self.record_bytes = if completed { 0 } else { self.record_bytes + used };
            if self.record_bytes > MAX_RECORD_BYTES {
                let limit = format!("a record of more than {MAX_RECORD_BYTES} bytes");
                return Err(ArrowError::ParseError(limit));
            }
            let between = used == whole && last == Some(self.terminator) && !self.is_partial();
            if self.rows() >= self.batch_size || (cutting && completed && between) {
                return self.flush();
            }
        }
        Ok(None)
    }

    /// Returns the remaining rows, once the answer is complete.
    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        match &mut self.format {
            Format::Csv(decoder, _) => {
                decoder.decode(&[])?;
            }
            Format::Json(decoder, fractions) => {
                if decoder.has_partial_record() {
                    let message = "the last record is incomplete".to_owned();
                    return Err(ArrowError::JsonError(message));
                }
                if let Some(fractions) = fractions {
                    fractions.finish().map_err(fraction)?;
                }
            }
            Format::Arrow(decoder) => return decoder.finish().map(|()| None),
        }
        self.flush()
    }

    /// Returns the number of complete records that have not been returned yet.
    fn rows(&self) -> usize {
        match &self.format {
            Format::Csv(decoder, _) => self.batch_size - decoder.capacity(),
            // The decoder counts a record as soon as it begins.
            Format::Json(decoder, _) => decoder.len() - usize::from(decoder.has_partial_record()),
            Format::Arrow(_) => 0,
        }
    }

    fn is_partial(&self) -> bool {
        match &self.format {
            // The terminator that completes a record is the last byte of the slice.
            Format::Csv(..) | Format::Arrow(_) => false,
            Format::Json(decoder, _) => decoder.has_partial_record(),
        }
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        self.batch_bytes = 0;
        let batch = match &mut self.format {
            Format::Csv(decoder, times) => match (decoder.flush()?, times) {
                (Some(batch), Some(times)) => {
                    // A caller that then reads the object itself finds the same value and reports it in more detail.
                    Some(times.parsed(&batch).map_err(|bad| bad.at(bad.row))?)
                }
                (batch, _) => batch,
            },
            Format::Json(decoder, _) => decoder.flush()?,
            Format::Arrow(_) => None,
        };
        match batch {
            Some(batch) if self.schema.fields().is_empty() => {
                let count = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let schema = Arc::clone(&self.schema);
                RecordBatch::try_new_with_options(schema, vec![], &count).map(Some)
            }
            batch => Ok(batch),
        }
    }
}

/// Converts a fraction to Arrow's error. A caller that then reads the object itself reports the value in more detail.
fn fraction(found: Fraction) -> ArrowError {
    ArrowError::JsonError(found.to_string())
}

fn csv_decoder(
    options: &CsvOutput,
    schema: SchemaRef,
    batch_size: usize,
) -> Result<(csv::reader::Decoder, u8), ArrowError> {
    // The decoder compares single bytes, so the delimiters must be ASCII.
    let one_byte = |what, text: &str| match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(unusable(what, text)),
    };
    let terminator = one_byte("record delimiter", &options.record_delimiter)?;
    let quote = one_byte("quote character", options.quote.encode_utf8(&mut [0; 4]))?;
    let escape = one_byte("escape character", options.quote_escape.encode_utf8(&mut [0; 4]))?;
    let mut builder = csv::ReaderBuilder::new(schema)
        .with_batch_size(batch_size)
        .with_delimiter(one_byte("field delimiter", &options.field_delimiter)?)
        .with_terminator(terminator)
        .with_quote(quote);
    if escape != quote {
        builder = builder.with_escape(escape);
    }
    let mut decoder = builder.build_decoder();
    // The decoder skips a byte-order mark at the start, but in an answer it belongs to the first value. An empty line
    // before the answer prevents that.
    decoder.decode(&[terminator])?;
    Ok((decoder, terminator))
}

fn unusable(what: &str, text: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(format!(
        "an answer with the {what} {text:?} cannot be decoded"
    ))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::Int64Type;
    use proptest::prelude::*;

    use super::*;

    fn csv_output() -> OutputSerialization {
        OutputSerialization::Csv(CsvOutput::default())
    }

    fn json_output() -> OutputSerialization {
        OutputSerialization::Json { record_delimiter: "\n".to_owned() }
    }

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
        ]))
    }

    /// Decodes a text that is cut at the given places.
    fn decode(
        output: &OutputSerialization,
        schema: SchemaRef,
        batch_size: usize,
        text: &[u8],
        cuts: &[usize],
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let mut decoder = RowDecoder::new(output, schema, batch_size, (true, false))?;
        let mut batches = Vec::new();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        for piece in cuts.windows(2) {
            let mut payload = Bytes::copy_from_slice(&text[piece[0]..piece[1]]);
            while let Some(batch) = decoder.decode(&mut payload)? {
                batches.push(batch);
            }
            assert!(payload.is_empty());
        }
        batches.extend(decoder.finish()?);
        Ok(batches)
    }

    fn rows(batches: &[RecordBatch]) -> Vec<(Option<i64>, Option<String>)> {
        let mut rows = Vec::new();
        for batch in batches {
            let n = batch.column(0).as_primitive::<Int64Type>();
            let s = batch.column(1).as_string::<i32>();
            for row in 0..batch.num_rows() {
                let n = n.is_valid(row).then(|| n.value(row));
                rows.push((n, s.is_valid(row).then(|| s.value(row).to_owned())));
            }
        }
        rows
    }

    proptest! {
        #[test]
        fn any_cut_of_a_csv_answer_gives_the_same_rows(
            expected in prop::collection::vec(
                (any::<Option<i64>>(), prop::option::of("[a\"\n\ré,☃']{1,6}")), 0..40),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
            batch_size in 1_usize..9,
        ) {
            let mut text = String::new();
            for (n, s) in &expected {
                let n = n.map_or_else(String::new, |n| n.to_string());
                let s = s.as_deref().unwrap_or_default().replace('"', "\"\"");
                text.push_str(&format!("{n},\"{s}\"\n"));
            }
            let batches = decode(&csv_output(), schema(), batch_size, text.as_bytes(), &cuts);
            let batches = batches.unwrap();
            prop_assert!(batches.iter().all(|batch| batch.num_rows() <= batch_size));
            prop_assert_eq!(rows(&batches), expected);
        }

        #[test]
        fn any_cut_of_a_json_answer_gives_the_same_rows(
            expected in prop::collection::vec(
                (any::<Option<i64>>(), prop::option::of("[a\"\n\ré,☃']{0,6}")), 0..40),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
            batch_size in 1_usize..9,
        ) {
            let mut text = String::new();
            for (n, s) in &expected {
                text.push_str(&serde_json::json!({ "n": n, "s": s }).to_string());
                text.push('\n');
            }
            let batches = decode(&json_output(), schema(), batch_size, text.as_bytes(), &cuts);
            prop_assert_eq!(rows(&batches.unwrap()), expected);
        }

        #[test]
        fn no_bytes_make_it_panic(
            text in prop::collection::vec(any::<u8>(), 0..200),
            json in any::<bool>(),
        ) {
            let output = if json { json_output() } else { csv_output() };
            let _ = decode(&output, schema(), 3, &text, &[7, 50]);
        }
    }

    #[test]
    fn a_byte_order_mark_is_a_part_of_the_first_value() {
        let schema = Arc::new(Schema::new(vec![Field::new("s", DataType::Utf8, true)]));
        let text = "\u{feff}x\n\u{feff}x\n";
        for cut in 0..text.len() {
            let batches = decode(&csv_output(), Arc::clone(&schema), 9, text.as_bytes(), &[cut]);
            let batches = batches.unwrap();
            let values = batches[0].column(0).as_string::<i32>();
            assert_eq!(values.iter().collect::<Vec<_>>(), [Some("\u{feff}x"); 2], "{cut}");
        }
    }

    #[test]
    fn a_schema_without_columns_counts_rows() {
        let empty = Arc::new(Schema::empty());
        for (output, text) in [(csv_output(), "1\n1\n1\n"), (json_output(), "{\"_1\":1}\n{}\n{}")] {
            let batches = decode(&output, Arc::clone(&empty), 2, text.as_bytes(), &[]).unwrap();
            let counts: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
            assert_eq!(counts, [2, 1]);
            assert_eq!(batches[0].num_columns(), 0);
        }
    }

    #[test]
    fn long_records_make_short_batches() {
        let record = format!("1,\"{}\n{}\"\n", "x".repeat(600_000), "y".repeat(400_000));
        let text = record.repeat(30);
        let batches = decode(&csv_output(), schema(), 8192, text.as_bytes(), &[]).unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 30);
        assert!(batches.len() >= 3, "{}", batches.len());
    }

    #[test]
    fn wide_records_make_short_batches() {
        let fields = (0..1000).map(|at| Field::new(format!("_{at}"), DataType::Int64, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let record = format!("{}7\n", "7,".repeat(999));
        let text = record.repeat(600);
        let batches = decode(&csv_output(), schema, 8192, text.as_bytes(), &[]).unwrap();
        let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [262, 262, 76]);
    }

    #[test]
    fn an_endless_record_is_refused() {
        let mut decoder = RowDecoder::new(&csv_output(), schema(), 10, (true, false)).unwrap();
        let mut refused = false;
        for _ in 0..40 {
            let mut payload = Bytes::from(vec![b'x'; 1 << 20]);
            refused |= decoder.decode(&mut payload).is_err();
        }
        assert!(refused);
    }

    #[test]
    fn what_does_not_fit_the_columns_is_an_error_that_names_the_line() {
        for text in ["1,a\nx,b\n", "1,a\n2\n", "1,a\n2,b,c\n"] {
            let error = decode(&csv_output(), schema(), 10, text.as_bytes(), &[]).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("line 2") || message.contains("line 1"), "{message}");
        }
        decode(&json_output(), schema(), 10, b"{\"n\":1", &[]).unwrap_err();
    }

    #[test]
    fn delimiters_that_cannot_be_read_back_are_refused() {
        let csv = |change: fn(&mut CsvOutput)| {
            let mut options = CsvOutput::default();
            change(&mut options);
            RowDecoder::new(&OutputSerialization::Csv(options), schema(), 10, (true, false))
                .is_err()
        };
        assert!(csv(|options| options.field_delimiter = "é".to_owned()));
        assert!(csv(|options| options.record_delimiter = "\r\n".to_owned()));
        assert!(csv(|options| options.quote = '☃'));
        let json = OutputSerialization::Json { record_delimiter: ",".to_owned() };
        assert!(RowDecoder::new(&json, schema(), 10, (true, false)).is_err());
    }
}
