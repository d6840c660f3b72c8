//! Tests whole statements over whole objects.

mod arrow_output;
mod bloom;
mod bloom_filters;
mod cancellation;
mod compression;
mod conformance;
mod csv_input;
mod expressions;
mod generator;
mod grouping;
mod groups;
mod interpreter;
mod long_parquet;
mod memory;
mod oracle;
mod parallel;
mod parquet_input;
mod parquet_types;
mod probe;
mod properties;
mod ranges;
mod row_groups;
mod wide_parquet;

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::{Evaluation, MAX_RECORDS_BYTES, Sink, Stats};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, InputSerialization, JsonType,
    OutputSerialization, SelectRequest,
};
use sluicegate_s3select::value::Timestamp;

/// A sink that keeps the answer.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    pub(super) messages: usize,
    /// The number of messages after which the sink breaks.
    pub(super) patience: Option<usize>,
}

impl Sink for Answer {
    fn records(&mut self, bytes: bytes::Bytes) -> ControlFlow<()> {
        assert!(!bytes.is_empty() && bytes.len() <= MAX_RECORDS_BYTES);
        self.bytes.extend_from_slice(&bytes);
        self.messages += 1;
        if self.patience == Some(self.messages) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn progress(&mut self, stats: &Stats) -> ControlFlow<()> {
        assert_eq!(stats.bytes_returned, self.bytes.len() as u64);
        ControlFlow::Continue(())
    }
}

/// Writes these rows to a Parquet object.
pub(crate) fn write_parquet(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut object = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut object, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    object
}

/// Builds a request for CSV in and out with the service's defaults.
pub(super) fn request(expression: &str) -> SelectRequest {
    SelectRequest {
        expression: expression.to_owned(),
        input: InputSerialization {
            format: InputFormat::Csv(CsvInput::default()),
            compression: Compression::None,
        },
        output: OutputSerialization::Csv(CsvOutput::default()),
        scan_range: None,
        progress: false,
        extras: Extras::NONE,
    }
}

pub(super) fn request_with_header(expression: &str) -> SelectRequest {
    with_csv(expression, |csv| csv.header = FileHeaderInfo::Use)
}

pub(super) fn with_csv(expression: &str, change: impl FnOnce(&mut CsvInput)) -> SelectRequest {
    let mut csv = CsvInput::default();
    change(&mut csv);
    let mut request = request(expression);
    request.input.format = InputFormat::Csv(csv);
    request
}

/// Returns the answer and the counts.
pub(super) fn run(
    request: &SelectRequest,
    object: impl Into<Vec<u8>>,
) -> Result<(Vec<u8>, Stats), SelectError> {
    let object: Vec<u8> = object.into();
    let now = Timestamp::parse(b"2024-02-29T12:30:00Z").unwrap();
    let evaluation = Evaluation::prepare_at(request, Arc::new(object), now)?;
    let mut answer = Answer::default();
    let stats = evaluation.run(&mut answer)?;
    assert_eq!(stats.bytes_returned, answer.bytes.len() as u64);
    Ok((answer.bytes, stats))
}

#[track_caller]
pub(super) fn check(request: &SelectRequest, object: &str, expected: &str) {
    match run(request, object) {
        Ok((answer, _)) => {
            assert_eq!(String::from_utf8_lossy(&answer), expected, "for {}", request.expression)
        }
        Err(error) => panic!("{}: {error}", request.expression),
    }
}

#[track_caller]
pub(super) fn check_error(
    request: &SelectRequest,
    object: impl Into<Vec<u8>>,
    code: SelectErrorCode,
    message: &str,
) {
    match run(request, object) {
        Ok((answer, _)) => panic!(
            "{} answered {:?} instead of {code:?}",
            request.expression,
            String::from_utf8_lossy(&answer)
        ),
        Err(error) => {
            assert_eq!(error.code, code, "{error}");
            assert!(error.message.contains(message), "{error}");
        }
    }
}

#[test]
fn messages_are_bounded_and_a_gone_client_stops_the_work() {
    let object = "some text that is returned,1\n".repeat(50_000);
    let request = request("SELECT * FROM S3Object");
    let (answer, stats) = run(&request, object.clone()).unwrap();
    assert_eq!(answer, object.as_bytes());
    assert_eq!(stats.bytes_scanned, object.len() as u64);

    let source = Arc::new(object.clone().into_bytes());
    let mut answer = Answer { patience: Some(2), ..Answer::default() };
    let stats = Evaluation::prepare(&request, source).unwrap().run(&mut answer).unwrap();
    assert_eq!(answer.messages, 2);
    assert!(stats.bytes_scanned < object.len() as u64);
}

#[test]
fn a_gone_client_stops_the_work_also_where_there_are_no_rows() {
    let json = |expression: &str, layout| {
        let mut request = request(expression);
        request.input.format = InputFormat::Json(layout);
        request
    };
    let count = "SELECT COUNT(*) FROM S3Object";
    for (request, blank) in [
        (request(count), "\n"),
        (request(count), "#\n"),
        (json(count, JsonType::Lines), "\n"),
        (json(count, JsonType::Document), " "),
    ] {
        let object = blank.repeat(8 << 20);
        let (answer, stats) = run(&request, object.clone()).unwrap();
        assert_eq!((&answer[..], stats.bytes_scanned), (&b"0\n"[..], object.len() as u64));
        let mut gone = LeavingClient(0);
        Evaluation::prepare(&request, Arc::new(object.into_bytes()))
            .unwrap()
            .run(&mut gone)
            .unwrap();
        assert_eq!(gone.0, 1);
    }
}

/// A client that disconnects at the first report; counts the reports.
struct LeavingClient(usize);

impl Sink for LeavingClient {
    fn records(&mut self, _: bytes::Bytes) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Break(())
    }
}

#[test]
fn an_answer_is_streamed_however_much_longer_than_its_input() {
    let literal = "x".repeat(100_000);
    let request = request(&format!("SELECT '{literal}', _1 FROM S3Object"));
    let (answer, _) = run(&request, "1\n".repeat(1000)).unwrap();
    assert_eq!(answer.len(), 1000 * 100_003);
}

#[test]
fn rows_before_a_bad_one_are_answered() {
    for (statement, object, expected) in [
        ("SELECT CAST(_1 AS INT) FROM S3Object", &b"1\n2\nx\n"[..], "1\n2\n"),
        ("SELECT * FROM S3Object", b"1\n2\n\xFF\n", "1\n2\n"),
        ("SELECT _1 FROM S3Object", b"1\n\xFF\n3\n", "1\n"),
    ] {
        let source = Arc::new(object.to_vec());
        let mut answer = Answer::default();
        Evaluation::prepare(&request(statement), source).unwrap().run(&mut answer).unwrap_err();
        assert_eq!(String::from_utf8(answer.bytes).unwrap(), expected);
    }
}
