//! Tests the evaluator against the simple interpreter, with random statements and rows.
//!
//! Statements run in one batch and in several, on one core and on several, over CSV, JSON and Parquet. Values in JSON
//! have no types known in advance, and columns in Parquet may be dictionary-coded. The interpreter evaluates every
//! item separately, so these tests also show that items do not affect one another.

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use parquet::basic::Compression as Codec;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use proptest::prelude::*;

use super::generator::{Generator, object};
use super::interpreter::{Row, interpret};
use super::{Answer, Evaluation, request, write_parquet};
use sluicegate_s3select::dialect;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{InputFormat, JsonType, SelectRequest};
use sluicegate_s3select::value::Timestamp;
use std::sync::Arc;

/// The way in which a statement is run.
#[derive(Debug, Clone, Copy)]
struct RunMode {
    format: Format,
    batch_rows: usize,
    /// The number of threads and the size of a part in bytes, if on several cores.
    parts: Option<(usize, u64)>,
    /// The most groups in memory.
    groups: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Format {
    Csv,
    Json,
    Parquet,
}

fn ways() -> impl Strategy<Value = RunMode> {
    let batch_rows = prop_oneof![1_usize..8, Just(8192)];
    let parts = prop_oneof![3 => Just(None), 1 => (2_usize..4, 1_u64..120).prop_map(Some)];
    let format =
        prop_oneof![2 => Just(Format::Csv), 1 => Just(Format::Json), 1 => Just(Format::Parquet)];
    let groups = prop::sample::select(vec![1_usize, 2, 3, 1 << 16]);
    (format, batch_rows, parts, groups).prop_map(|(format, batch_rows, parts, groups)| RunMode {
        format,
        batch_rows,
        parts,
        groups,
    })
}

fn evaluate(request: &SelectRequest, object: Vec<u8>, way: RunMode) -> Result<Vec<u8>, Code> {
    let (source, now) = (Arc::new(object), Timestamp::EPOCH);
    let mut answer = Answer::default();
    let evaluation = Evaluation::prepare_batches(request, source, now, way.batch_rows)
        .map_err(|error| error.code)?
        .with_max_groups(way.groups);
    let stats = match way.parts {
        None => evaluation.run(&mut answer),
        Some((threads, bytes)) => evaluation.with_part_bytes(bytes).run_on(threads, &mut answer),
    };
    stats.map_err(|error| error.code)?;
    Ok(answer.bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8000))]

    #[test]
    fn statements_mean_what_the_interpreter_says(seed: u64, way in ways(), layout in layouts()) {
        let mut generator = Generator::new(seed);
        let query = generator.query();
        let mut rows = generator.rows();
        let mut request = request(&query.to_string());
        request.extras = Extras::ALL;
        request.input.format = match way.format {
            Format::Csv => request.input.format,
            Format::Json => InputFormat::Json(JsonType::Lines),
            Format::Parquet => InputFormat::Parquet,
        };
        if dialect::check(&query, &request.input).is_err() {
            return Ok(());
        }
        let text = |answer: Vec<u8>| String::from_utf8(answer).unwrap();
        let run = |object| evaluate(&request, object, way).map(text);
        if way.format == Format::Parquet {
            // Repeat the rows, as dictionaries are for repeated values.
            rows = vec![rows; 4].concat();
            let [one, other] = [layout, Layout::default()].map(|layout| run(layout.object(&rows)));
            prop_assert_eq!(one, other, "{} over\n{:?}", request.expression, rows);
            // The interpreter supports no NULL in a row.
            rows.iter_mut().for_each(|row| row.resize(4, String::new()));
        }
        let object = match way.format {
            Format::Parquet => layout.object(&rows),
            format => object(&rows, format == Format::Json).into_bytes(),
        };
        let (actual, expected) = (run(object), interpret(&query, &rows, way.groups).map(text));
        // The interpreter compares values in MIN and MAX after all rows, so it may find another one of two errors
        // first.
        let compares = Err(Code::InvalidDataType);
        if actual.is_err() && expected.is_err() && (actual == compares || expected == compares) {
            return Ok(());
        }
        prop_assert_eq!(actual, expected, "{} over\n{:?}", request.expression, rows);
    }
}

/// The properties of a Parquet object.
#[derive(Debug, Clone, Copy, Default)]
struct Layout {
    coded: bool,
    compressed: bool,
    /// True if the object has a page index.
    indexed: bool,
    newer: bool,
}

fn layouts() -> impl Strategy<Value = Layout> {
    any::<[bool; 4]>().prop_map(|[coded, compressed, indexed, newer]| Layout {
        coded,
        compressed,
        indexed,
        newer,
    })
}

impl Layout {
    /// Writes four columns of texts, with NULL if a row is shorter, in small row groups and pages.
    fn object(self, rows: &[Row]) -> Vec<u8> {
        let columns = (0..4).map(|at| {
            let texts: StringArray = rows.iter().map(|row| row.get(at)).collect();
            (format!("_{}", at + 1), Arc::new(texts) as ArrayRef, true)
        });
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let version = match self.newer {
            true => WriterVersion::PARQUET_2_0,
            false => WriterVersion::PARQUET_1_0,
        };
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(self.coded)
            .set_compression(if self.compressed { Codec::SNAPPY } else { Codec::UNCOMPRESSED })
            .set_offset_index_disabled(!self.indexed)
            .set_statistics_enabled(match self.indexed {
                true => EnabledStatistics::Page,
                false => EnabledStatistics::Chunk,
            })
            .set_writer_version(version)
            .set_max_row_group_row_count(Some(35))
            .set_data_page_row_count_limit(9)
            .set_write_batch_size(1)
            .build();
        write_parquet(&batch, properties)
    }
}
