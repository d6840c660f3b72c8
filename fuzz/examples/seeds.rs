//! Writes the seeds of every target: `cargo run --example seeds -- FOLDER`.
//!
//! The statements and objects are those of the conformance table. Inputs that the table lacks (compressed objects,
//! Parquet files, answers of a store, switch programs) are built here.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array,
    Int32Array, ListArray, RecordBatch, StringArray, StructArray, Time64NanosecondArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Int32Type};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use sluicegate_conformance::table::{Case, Input};
use sluicegate_fuzz::{OPTIONS, seed};
use sluicegate_index::layout::{Blocks, MAGIC, RecordLocation, TRAILER, TopMessage, VERSION};
use sluicegate_pruning::algorithm::{distinct, group_by, having, join, top_n};
use sluicegate_pruning::switch::Program;
use sluicegate_s3select::byteranges::MultipartBody;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let folder = Path::new(&folder);
    let mut csv = BTreeSet::new();
    let mut json = BTreeSet::new();
    let mut dialect = BTreeSet::new();
    for case in Case::all() {
        dialect.insert(case.statement().into_bytes());
        let mut options = [0; OPTIONS];
        options[5] = u8::from(case.json_answer);
        let (seeds, first) = match case.input {
            Input::Csv => (&mut csv, 0),
            Input::CsvUse => (&mut csv, 1),
            Input::CsvIgnore => (&mut csv, 2),
            Input::Lines => (&mut json, 0),
            Input::Document => (&mut json, 1),
            // Parquet objects are built below.
            Input::Parquet => continue,
        };
        options[0] = first;
        seeds.insert(seed(options, &case.statement(), case.object.as_bytes()));
    }
    csv.extend(csv_options()?);
    json.extend(compressed(
        [1, 0, 0, 0, 0, 1, 0, 0],
        "SELECT s.a FROM S3Object[*].b s",
        b"{\"b\":{\"a\":1}}",
    )?);
    write(folder, "dialect", dialect)?;
    write(folder, "csv", csv)?;
    write(folder, "json", json)?;
    write(folder, "parquet", parquet_files()?)?;
    write(folder, "event_stream", answers())?;
    write(folder, "switch", programs()?)?;
    write(folder, "index", indexes())?;
    write(folder, "byteranges", byteranges())?;
    Ok(())
}

/// Returns headers, answers, and inputs for ranges.
fn byteranges() -> BTreeSet<Vec<u8>> {
    let headers =
        ["bytes=0-1,5-6", "Bytes= -5 ,, 7-", "bytes=3-2", "bytes=0-99999999999999999999,-0"];
    let mut seeds: BTreeSet<_> =
        headers.iter().map(|header| [&[0], header.as_bytes()].concat()).collect();
    seeds.insert(b"\0multipart/byteranges; boundary=\"a b\"".to_vec());
    let parts = MultipartBody::new("b0undary".to_owned(), "text/csv".to_owned(), 24);
    let mut body = vec![1];
    for (range, bytes) in [(1..3, "12"), (8..24, "89abcdefghijklmn"), (4..5, "4")] {
        body.extend(parts.head(&range).into_bytes());
        body.extend(bytes.as_bytes());
    }
    body.extend(parts.end().into_bytes());
    seeds.insert(body);
    seeds.insert([&[2], [1, 2, 0, 0, 3, 1].repeat(5).as_slice()].concat());
    seeds
}

/// Returns whole index objects, their blocks and tops, and inputs for keys.
fn indexes() -> BTreeSet<Vec<u8>> {
    let mut seeds = BTreeSet::new();
    for (count, length) in [(0_u32, 0), (1, 1), (40, 3), (900, 70)] {
        let mut object = MAGIC.to_vec();
        let mut blocks = Blocks::default();
        for number in 0..count {
            let mut key = number.to_be_bytes().to_vec();
            key.resize(length, b'x');
            let place = RecordLocation { first: u64::from(number) * 300, bytes: 300 };
            if let Some(block) = blocks.push(&key, place) {
                object.extend(block);
            }
        }
        let block = blocks.end().unwrap_or_default();
        object.extend(&block);
        let top = TopMessage {
            version: VERSION,
            data: "t/a.csv".to_owned(),
            records: u64::from(count),
            entries: u64::from(count),
            blocks: blocks.done(),
            ..TopMessage::default()
        };
        let tail = top.to_tail();
        object.extend(&tail);
        seeds.insert([vec![0], object].concat());
        seeds.insert([vec![1], (count as u16).to_le_bytes().to_vec(), block.clone()].concat());
        let bytes = top.blocks.iter().map(|block| block.bytes).sum::<u32>();
        let message = &tail[..tail.len() - TRAILER];
        seeds.insert([&[2], &bytes.to_le_bytes()[..], b"axbx", message].concat());
    }
    seeds.insert(b"\x03\xff\x02ab\x02ac\x00\x03abc\x01a\x02ad\x01b\x01c".to_vec());
    seeds
}

fn write(
    folder: &Path,
    target: &str,
    seeds: impl IntoIterator<Item = Vec<u8>>,
) -> Result<(), Box<dyn Error>> {
    let folder = folder.join(target);
    fs::create_dir_all(&folder)?;
    for (n, seed) in seeds.into_iter().enumerate() {
        fs::write(folder.join(format!("seed-{n:03}")), seed)?;
    }
    Ok(())
}

/// Returns the object uncompressed and in both compressions, which byte 4 selects.
fn compressed(
    options: [u8; OPTIONS],
    statement: &str,
    object: &[u8],
) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(object)?;
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    bzip2.write_all(object)?;
    let of = |compression: u8, object: &[u8]| {
        let mut options = options;
        options[4] = compression;
        seed(options, statement, object)
    };
    Ok(vec![of(0, object), of(1, &gzip.finish()?), of(2, &bzip2.finish()?)])
}

fn csv_options() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let filter = "SELECT * FROM S3Object s WHERE s._1 LIKE '%a' OR CAST(s._2 AS INT) > 1";
    let sums =
        "SELECT SUM(CASE WHEN s._1 = 'a' THEN CAST(s._2 AS INT) END), COUNT(*) FROM S3Object s";
    let groups = "SELECT s._1, COUNT(*), MIN(s._2) FROM S3Object s GROUP BY s._1";
    let mut seeds = Vec::new();
    seeds.push(seed([0; OPTIONS], groups, b"a,1\nb,2\na,3\n,4\n"));
    // Quoted record delimiters; |, two-character delimiters; other quotes and escapes; cuts.
    seeds.push(seed([4, 0, 0, 0, 0, 0, 3, 5], filter, b"\"a\n\"\"b\",1\nc,2\n"));
    seeds.push(seed([0, 0x21, 0, 1, 0, 2, 2, 9], filter, b"a|1|\nb|2|\n\"x|y\"|3|\n"));
    seeds.push(seed([1, 0x12, 0x12, 0, 0, 1, 7, 7], sums, b"k\tv\r\n'a\\'b'\t1\r\na\t2\r\n"));
    seeds.push(seed([0, 4, 3, 3, 0, 0x40, 4, 4], filter, "a\u{e9}1\n\u{e9}2\n".as_bytes()));
    seeds.extend(compressed([0; OPTIONS], sums, b"a,1\nb,2\na,3\n")?);
    Ok(seeds)
}

fn parquet_files() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let list: ListArray = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("é")]));
    let group = StructArray::from(vec![(
        Arc::new(Field::new("a", DataType::Utf8, true)),
        Arc::clone(&text),
    )]);
    let decimal = Decimal128Array::from(vec![Some(-1250), None, Some(7)]);
    let columns: Vec<(&str, ArrayRef, &str)> = vec![
        (
            "i",
            Arc::new(Int32Array::from(vec![Some(7), None, Some(-1)])),
            "SELECT i + 1 FROM S3Object WHERE i > 0",
        ),
        (
            "u",
            Arc::new(UInt64Array::from(vec![u64::MAX, 0, 1])),
            "SELECT MAX(u) FROM S3Object WHERE u < 5",
        ),
        (
            "f",
            Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::NAN)])),
            "SELECT * FROM S3Object WHERE f = 0.5",
        ),
        (
            "b",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            "SELECT b FROM S3Object WHERE b",
        ),
        ("s", text, "SELECT s FROM S3Object WHERE s LIKE '%x' OR s = 'é'"),
        (
            "d",
            Arc::new(Date32Array::from(vec![Some(-1), None, Some(9)])),
            "SELECT * FROM S3Object s WHERE s.d < CAST('1970-01-01' AS TIMESTAMP)",
        ),
        (
            "t",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(1), None, Some(-1)]).with_timezone("UTC"),
            ),
            "SELECT MIN(t), COUNT(t) FROM S3Object",
        ),
        (
            "n",
            Arc::new(decimal.with_precision_and_scale(15, 2)?),
            "SELECT SUM(n) FROM S3Object WHERE n < 1.5",
        ),
        (
            "c",
            Arc::new(Time64NanosecondArray::from(vec![Some(1), None, Some(86_399_999_999_999)])),
            "SELECT MAX(c), MIN(c) FROM S3Object WHERE c > '00:1'",
        ),
        (
            "x",
            Arc::new(FixedSizeBinaryArray::try_from_iter([*b"ab", *b"cd", *b"ab"].into_iter())?),
            "SELECT x, UPPER(x) FROM S3Object WHERE x = 'ab'",
        ),
        ("list", Arc::new(list), "SELECT s.\"list\"[0] FROM S3Object s WHERE s.\"list\"[0] = 1"),
        ("g", Arc::new(group), "SELECT s.g.a FROM S3Object s WHERE s.g.a = 'x'"),
    ];
    let options = [0, 0, 0, 0, 0, 1, 0, 0];
    let mut seeds = Vec::new();
    for (n, (name, column, statement)) in columns.iter().enumerate() {
        let codec = match n % 4 {
            0 => Compression::UNCOMPRESSED,
            1 => Compression::SNAPPY,
            2 => Compression::GZIP(GzipLevel::default()),
            _ => Compression::LZ4_RAW,
        };
        let properties = WriterProperties::builder()
            .set_compression(codec)
            .set_dictionary_enabled(n % 3 != 0)
            .set_created_by(String::new())
            .set_max_row_group_row_count(Some(2))
            .set_writer_version([WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0][n % 2])
            .build();
        let batch = RecordBatch::try_from_iter([(*name, Arc::clone(column))])?;
        let mut object = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut object, batch.schema(), Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        seeds.push(seed(options, statement, &object));
    }
    // Arrow's writer does not write checksums of pages.
    let checksums: [&[u8]; 2] = [
        include_bytes!("../../crates/evaluator/src/parquet/checksums_v1.parquet"),
        include_bytes!("../../crates/evaluator/src/parquet/checksums_v2.parquet"),
    ];
    let statement = "SELECT n, CHAR_LENGTH(s) FROM S3Object WHERE n < 5";
    seeds.extend(checksums.map(|object| seed(options, statement, object)));
    Ok(seeds)
}

/// Returns recipes for answers in the target's form.
fn answers() -> Vec<Vec<u8>> {
    let frame = |kind: u8, payload: &[u8]| {
        let length = u16::try_from(payload.len()).unwrap_or(u16::MAX).to_be_bytes();
        [&[kind], &length[..], payload].concat()
    };
    let stats = b"<Stats><BytesScanned>9</BytesScanned><BytesProcessed>9</BytesProcessed>\
        <BytesReturned>4</BytesReturned></Stats>";
    let progress = b"<Progress><BytesScanned>9</BytesScanned><BytesProcessed>9</BytesProcessed>\
        <BytesReturned>4</BytesReturned></Progress>";
    let header = b"\x0d:message-type\x07\x00\x05event\x0b:event-type\x07\x00\x03End";
    let end = frame(4, b"");
    let document = b"<Error><Code>SlowDown</Code><Message>wait</Message></Error>";
    vec![
        [
            &[0][..],
            &frame(0, b"1,a\n2,\"b\"\"\n"),
            &frame(3, b""),
            &frame(0, b"\"\n"),
            &frame(1, stats),
            &end,
        ]
        .concat(),
        [
            &[2][..],
            &frame(0, b"{\"n\":1,\"s\":\"a\"}\n{}\n{\"n\":"),
            &frame(0, b"\"2\"}"),
            &frame(2, progress),
            &end,
        ]
        .concat(),
        [&[4][..], &frame(0, b"1\n1\n"), &frame(1, stats), &end].concat(),
        [&[32][..], &frame(0, b"1,a\n"), &frame(5, b"InternalError")].concat(),
        [&[0][..], &frame(6, b"what"), &frame(7, b"event"), &frame(8, b"New"), &end].concat(),
        [&[0][..], &frame(9, header), &frame(10, b"\x00\x00\x00\x10\x00\x00\x00\x00")].concat(),
        [&[17][..], document].concat(),
        [&[25][..], document].concat(),
    ]
}

/// Returns programs of the algorithms, each with some packets.
fn programs() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let programs: Vec<Program> = vec![
        distinct::Config::new(4, 2, distinct::Width::Bits32, distinct::Policy::Fifo)?.program(),
        group_by::Config::paper().program(),
        having::sum::Config::paper(100).program(),
        top_n::deterministic::Config::new(4, 3)?.program(),
        join::bloom::Config::paper().program(),
    ];
    let packets: Vec<u8> = (0..16_u32).flat_map(|value| (value % 5).to_le_bytes()).collect();
    programs
        .into_iter()
        .map(|program| Ok([postcard::to_stdvec(&program)?, packets.clone()].concat()))
        .collect()
}
