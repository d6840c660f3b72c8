//! Runs statements over rows like TPC-H's lineitem, on one core, from memory. The CSV object exists without quotes
//! and with every comment quoted, as `sluice generate tpch` writes it. The same rows are also read as JSON lines, as
//! one JSON document, gzipped and as Parquet.
//!
//! Throughput is object bytes per second, in compressed bytes for compressed objects. `SLUICEGATE_BENCH_BYTES` sets
//! the object's size; `SLUICEGATE_BENCH_OBJECT` names a CSV file of lineitem to use as well.
#![expect(missing_docs, reason = "criterion's macros make items without docs")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::hint::black_box;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::csv::ReaderBuilder;
use arrow::datatypes::{DataType, Field, Schema};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::write::GzEncoder;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use sluicegate_evaluator::{Evaluation, Sink, Stats};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, InputSerialization, JsonType,
    OutputSerialization, SelectRequest,
};
use sluicegate_s3select::value::BloomFilter;

/// A multiplicative generator (Lehmer's, 128 bits). A fixed seed makes runs comparable.
struct Random(u128);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0xda94_2042_e4dd_58b5);
        ((self.0 >> 64) as u64) % n
    }
}

/// Generates rows with lineitem's 16 columns, about 125 bytes each; `quote` encloses the comments.
fn lineitem(bytes: usize, quote: &str) -> bytes::Bytes {
    const FLAGS: [&str; 3] = ["N", "R", "A"];
    const INSTRUCTIONS: [&str; 4] =
        ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    const MODES: [&str; 7] = ["TRUCK", "MAIL", "REG AIR", "SHIP", "AIR", "FOB", "RAIL"];
    const WORDS: [&str; 8] =
        ["carefully", "final", "deposits", "sleep", "furiously", "quick", "pending", "requests"];
    let mut random = Random(0x5eed_0000_0000_0001);
    let mut object = Vec::with_capacity(bytes + 200);
    let mut order = 1;
    while object.len() < bytes {
        order += random.below(2);
        let quantity = 1 + random.below(50);
        let price = quantity * (90_000 + random.below(110_000));
        let date = |random: &mut Random| {
            format!(
                "{}-{:02}-{:02}",
                1992 + random.below(7),
                1 + random.below(12),
                1 + random.below(28)
            )
        };
        let comment: Vec<_> =
            (0..2 + random.below(3)).map(|_| WORDS[random.below(8) as usize]).collect();
        let row = format!(
            "{order},{},{},{},{quantity},{}.{:02},0.{:02},0.{:02},{},{},{},{},{},{},{},{quote}{}{quote}\n",
            1 + random.below(200_000),
            1 + random.below(10_000),
            1 + random.below(7),
            price / 100,
            price % 100,
            random.below(11),
            random.below(9),
            FLAGS[random.below(3) as usize],
            if random.below(2) == 0 { "O" } else { "F" },
            date(&mut random),
            date(&mut random),
            date(&mut random),
            INSTRUCTIONS[random.below(4) as usize],
            MODES[random.below(7) as usize],
            comment.join(" "),
        );
        object.extend_from_slice(row.as_bytes());
    }
    object.into()
}

struct Discard;

impl Sink for Discard {
    fn records(&mut self, bytes: bytes::Bytes) -> ControlFlow<()> {
        black_box(bytes);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn csv() -> InputSerialization {
    let csv = CsvInput { header: FileHeaderInfo::Ignore, ..CsvInput::default() };
    InputSerialization { format: InputFormat::Csv(csv), compression: Compression::None }
}

fn run(expression: &str, object: &bytes::Bytes, input: &InputSerialization) -> Stats {
    run_on(1, expression, object, input)
}

fn run_on(
    threads: usize,
    expression: &str,
    object: &bytes::Bytes,
    input: &InputSerialization,
) -> Stats {
    let output = OutputSerialization::Csv(CsvOutput::default());
    run_as(output, threads, expression, object, input)
}

fn run_as(
    output: OutputSerialization,
    threads: usize,
    expression: &str,
    object: &bytes::Bytes,
    input: &InputSerialization,
) -> Stats {
    let request = SelectRequest {
        expression: expression.to_owned(),
        input: input.clone(),
        output,
        scan_range: None,
        progress: false,
        extras: Extras::ALL,
    };
    let evaluation = Evaluation::prepare(&request, Arc::new(object.clone())).unwrap();
    evaluation.run_on(threads, &mut Discard).unwrap()
}

fn statements() -> Vec<(&'static str, String)> {
    let bloom_key =
        "SUBSTRING('BITS', ((69 * CAST(s._1 AS INT) + 92) % 100003) % 100000 + 1, 1) = '1'";
    let bits: String = (0..100_000).map(|i| if i * 7919 % 11 < 5 { '1' } else { '0' }).collect();
    // Use as many keys as 256 KiB can hold at a false-positive rate of 1 %.
    let binary = |hashes: u32, x: &str| {
        let mut filter = BloomFilter::empty(191 * 1024, hashes, 1);
        (0..164_000).for_each(|key| filter.insert(filter.hash_int(37 * key)));
        let (bits, seed) = (filter.bits(), 1);
        format!(
            "SELECT COUNT(*) FROM S3Object s WHERE BLOOM_CONTAINS('{bits}', {hashes}, {seed}, {x})"
        )
    };
    let case = |mode: usize| format!("SUM(CASE WHEN s._2 = '{mode}' THEN CAST(s._5 AS INT) END)");
    let grouped = |key: &str, value: &str| {
        format!("SELECT {key}, COUNT(*), SUM({value}) FROM S3Object s GROUP BY {key}")
    };
    let groups = |n: usize| (0..n).map(case).collect::<Vec<_>>().join(", ");
    vec![
        ("count", "SELECT COUNT(*) FROM S3Object s".to_owned()),
        ("count_int_filter", "SELECT COUNT(*) FROM S3Object s WHERE CAST(s._5 AS INT) < 10".to_owned()),
        (
            "count_nullif_filter",
            "SELECT COUNT(*) FROM S3Object s WHERE CAST(NULLIF(s._5, '') AS INT) < 10".to_owned(),
        ),
        (
            "project_two_by_date",
            "SELECT s._1, s._6 FROM S3Object s WHERE CAST(s._11 AS TIMESTAMP) < CAST('1993-01-01' AS TIMESTAMP)"
                .to_owned(),
        ),
        (
            "q6",
            "SELECT SUM(CAST(s._6 AS DECIMAL(15, 2)) * CAST(s._7 AS DECIMAL(15, 2))) FROM S3Object s \
             WHERE CAST(s._11 AS TIMESTAMP) >= CAST('1994-01-01' AS TIMESTAMP) \
             AND CAST(s._11 AS TIMESTAMP) < CAST('1995-01-01' AS TIMESTAMP) \
             AND CAST(s._7 AS DECIMAL(15, 2)) BETWEEN 0.05 AND 0.07 AND CAST(s._5 AS INT) < 24"
                .to_owned(),
        ),
        ("key_without_bloom", "SELECT COUNT(*) FROM S3Object s WHERE CAST(s._1 AS INT) > 0".to_owned()),
        (
            "key_with_bloom",
            format!("SELECT COUNT(*) FROM S3Object s WHERE {}", bloom_key.replace("BITS", &bits)),
        ),
        ("key_with_bloom_contains", binary(7, "CAST(s._1 AS INT)")),
        ("key_with_bloom_contains_one_hash", binary(1, "CAST(s._1 AS INT)")),
        ("decimal_without_bloom", "SELECT COUNT(*) FROM S3Object s WHERE CAST(s._6 AS DECIMAL(15, 2)) > 0".to_owned()),
        ("decimal_with_bloom_contains", binary(7, "CAST(s._6 AS DECIMAL(15, 2))")),
        ("text_without_bloom", "SELECT COUNT(*) FROM S3Object s WHERE s._14 != 'a'".to_owned()),
        ("text_with_bloom_contains", binary(7, "s._14")),
        ("date_with_bloom_contains", binary(7, "DATE_DIFF(DAY, CAST('0001-01-01' AS TIMESTAMP), CAST(s._11 AS TIMESTAMP))")),
        ("case_1", format!("SELECT {} FROM S3Object s", groups(1))),
        ("case_32", format!("SELECT {} FROM S3Object s", groups(32))),
        ("group_by_7", grouped("s._4", "CAST(s._5 AS INT)")),
        ("group_by_10000", grouped("s._3", "CAST(s._5 AS INT)")),
        // There are more groups than fit in memory, so they come in parts.
        ("group_by_200000", grouped("s._2", "CAST(s._5 AS INT)")),
        (
            "q1",
            "SELECT s._9, s._10, SUM(CAST(s._5 AS DECIMAL(15, 2))), SUM(CAST(s._6 AS DECIMAL(15, 2))), \
             SUM(CAST(s._6 AS DECIMAL(15, 2)) * (1 - CAST(s._7 AS DECIMAL(15, 2)))), COUNT(*) \
             FROM S3Object s WHERE CAST(s._11 AS TIMESTAMP) <= CAST('1998-09-02' AS TIMESTAMP) \
             GROUP BY s._9, s._10"
                .to_owned(),
        ),
        ("star", "SELECT * FROM S3Object s".to_owned()),
    ]
}

fn select(criterion: &mut Criterion) {
    let size = std::env::var("SLUICEGATE_BENCH_BYTES").ok().and_then(|text| text.parse().ok());
    let size = size.unwrap_or(100 << 20);
    let mut objects = vec![("plain", lineitem(size, "")), ("quoted", lineitem(size, "\""))];
    if let Some(path) = std::env::var_os("SLUICEGATE_BENCH_OBJECT") {
        objects.push(("given", std::fs::read(path).unwrap().into()));
    }
    for (name, object) in objects {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(object.len() as u64)).sample_size(10);
        for (name, statement) in statements() {
            group.bench_function(name, |bencher| bencher.iter(|| run(&statement, &object, &csv())));
        }
        group.finish();
    }
}

const COLUMNS: [&str; 16] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
];

/// Converts the rows of the CSV object to JSON, with numbers as numbers.
fn json(csv: &[u8], between: &str) -> Vec<u8> {
    let mut object = Vec::with_capacity(3 * csv.len());
    for line in csv.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let fields = line.split(|byte| *byte == b',').zip(COLUMNS);
        let fields = fields.map(|(field, name)| {
            let field = std::str::from_utf8(field).unwrap();
            let is_number = field.parse::<f64>().is_ok();
            if is_number {
                format!("\"{name}\":{field}")
            } else {
                format!("\"{name}\":\"{field}\"")
            }
        });
        if !object.is_empty() {
            object.extend_from_slice(between.as_bytes());
        }
        object
            .extend_from_slice(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")).as_bytes());
    }
    object
}

fn gzip(object: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(object).unwrap();
    encoder.finish().unwrap()
}

/// Converts the rows of the CSV object to Parquet, with Snappy.
fn parquet(csv: &[u8]) -> Vec<u8> {
    use DataType::{Date32, Decimal128, Int64, Utf8};
    let types = [
        Int64,
        Int64,
        Int64,
        Int64,
        Decimal128(15, 2),
        Decimal128(15, 2),
        Decimal128(15, 2),
        Decimal128(15, 2),
        Utf8,
        Utf8,
        Date32,
        Date32,
        Date32,
        Utf8,
        Utf8,
        Utf8,
    ];
    let fields = COLUMNS.iter().zip(types).map(|(name, of)| Field::new(*name, of, false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let rows = ReaderBuilder::new(Arc::clone(&schema)).with_batch_size(8192).build(csv).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .set_max_row_group_row_count(Some(122_880))
        .build();
    let mut object = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut object, schema, Some(properties)).unwrap();
    rows.for_each(|batch| writer.write(&batch.unwrap()).unwrap());
    writer.close().unwrap();
    object
}

/// Runs the statements of the comparison with other engines, for each format.
fn formats(criterion: &mut Criterion) {
    let size = std::env::var("SLUICEGATE_BENCH_BYTES").ok().and_then(|text| text.parse().ok());
    let rows = lineitem(size.unwrap_or(100 << 20), "");
    let input = |format, compression| InputSerialization { format, compression };
    let lines = input(InputFormat::Json(JsonType::Lines), Compression::None);
    let document = input(InputFormat::Json(JsonType::Document), Compression::None);
    let gzipped = InputSerialization { compression: Compression::Gzip, ..csv() };
    let by_date = "SELECT * FROM S3Object s WHERE s.l_shipdate < CAST('1992-03-01' AS TIMESTAMP)";
    let cases = [
        (
            "json_lines",
            lines,
            json(&rows, "\n"),
            [
                ("count", "SELECT COUNT(*) FROM S3Object s"),
                ("filter", "SELECT COUNT(*) FROM S3Object s WHERE s.l_quantity < 10"),
                ("sum", "SELECT SUM(s.l_extendedprice) FROM S3Object s WHERE s.l_shipmode = 'AIR'"),
            ],
        ),
        (
            "json_document",
            document,
            [b"[".to_vec(), json(&rows, ",\n"), b"]".to_vec()].concat(),
            [
                ("count", "SELECT COUNT(*) FROM S3Object[*][*] s"),
                ("filter", "SELECT COUNT(*) FROM S3Object[*][*] s WHERE s.l_quantity < 10"),
                (
                    "sum",
                    "SELECT SUM(s.l_extendedprice) FROM S3Object[*][*] s WHERE s.l_shipmode = 'AIR'",
                ),
            ],
        ),
        (
            "gzip",
            gzipped,
            gzip(&rows),
            [
                ("count", "SELECT COUNT(*) FROM S3Object s"),
                ("filter", "SELECT COUNT(*) FROM S3Object s WHERE CAST(s._5 AS INT) < 10"),
                ("sum", "SELECT SUM(CAST(s._6 AS DECIMAL)) FROM S3Object s WHERE s._15 = 'AIR'"),
            ],
        ),
        (
            "parquet",
            input(InputFormat::Parquet, Compression::None),
            parquet(&rows),
            [
                ("star", "SELECT * FROM S3Object s"),
                ("star_filtered", by_date),
                ("sum", "SELECT SUM(s.l_extendedprice) FROM S3Object s WHERE s.l_shipmode = 'AIR'"),
            ],
        ),
        (
            "functions",
            csv(),
            rows.to_vec(),
            [
                ("comparison", "SELECT COUNT(*) FROM S3Object s WHERE s._15 <> 'AIR'"),
                ("upper", "SELECT COUNT(*) FROM S3Object s WHERE UPPER(s._15) <> 'AIR'"),
                (
                    "extract",
                    "SELECT COUNT(*) FROM S3Object s WHERE EXTRACT(YEAR FROM CAST(s._11 AS TIMESTAMP)) = 1994",
                ),
            ],
        ),
    ];
    for (name, input, object, statements) in cases {
        let object = bytes::Bytes::from(object);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(object.len() as u64)).sample_size(10);
        for (name, statement) in statements {
            group.bench_function(name, |bencher| bencher.iter(|| run(statement, &object, &input)));
        }
        group.finish();
    }
}

/// Returns whole rows of Parquet as text and as Arrow. The throughput is in bytes of the decoded columns, which are
/// nearly those of the Arrow answer.
fn answers(criterion: &mut Criterion) {
    let size = std::env::var("SLUICEGATE_BENCH_BYTES").ok().and_then(|text| text.parse().ok());
    let object = bytes::Bytes::from(parquet(&lineitem(size.unwrap_or(100 << 20), "")));
    let input = InputSerialization { format: InputFormat::Parquet, compression: Compression::None };
    let columns = COLUMNS.map(|name| format!("s.{name}")).join(", ");
    let types = "int64;int64;int64;int64;decimal128(15,2);decimal128(15,2);decimal128(15,2);decimal128(15,2);\
                 utf8;utf8;date32;date32;date32;utf8;utf8;utf8";
    let arrow = |compression: &str| {
        OutputSerialization::Arrow([types, compression].concat().parse().unwrap())
    };
    let whole = format!("SELECT {columns} FROM S3Object s");
    let decoded = run_as(arrow(""), 1, &whole, &object, &input).bytes_returned;
    let filter = " WHERE s.l_shipdate < CAST('1992-03-01' AS TIMESTAMP)";
    for (rows, filter) in [("rows", ""), ("filtered rows", filter)] {
        let statement = format!("{whole}{filter}");
        let mut group = criterion.benchmark_group(format!("parquet {rows}"));
        group.throughput(Throughput::Bytes(decoded)).sample_size(10);
        for (name, output) in [
            ("text", OutputSerialization::Csv(CsvOutput::default())),
            ("arrow", arrow("")),
            ("arrow with lz4", arrow(";compression=lz4")),
            ("arrow with zstd", arrow(";compression=zstd")),
        ] {
            let run = || run_as(output.clone(), 1, &statement, &object, &input);
            group.bench_function(name, |bencher| bencher.iter(run));
        }
        group.finish();
    }
}

/// Runs statements that return whole rows on one thread, and on two besides the one that sends the rows.
fn threads(criterion: &mut Criterion) {
    let size = std::env::var("SLUICEGATE_BENCH_BYTES").ok().and_then(|text| text.parse().ok());
    let object = lineitem(size.unwrap_or(100 << 20), "\"");
    let mut group = criterion.benchmark_group("threads");
    group.throughput(Throughput::Bytes(object.len() as u64)).sample_size(10);
    for threads in [1, 2] {
        group.bench_function(format!("star on {threads}"), |bencher| {
            bencher.iter(|| run_on(threads, "SELECT * FROM S3Object s", &object, &csv()));
        });
    }
    group.finish();
}

criterion_group!(benches, select, formats, answers, threads);
criterion_main!(benches);
