//! Answers of S3 Select as an Arrow IPC stream, which a header requests.

use std::ops::ControlFlow;
use std::sync::Arc;

use aws_sdk_s3::error::ProvideErrorMetadata as _;
use aws_sdk_s3::types::SelectObjectContentEventStream as Event;
use sluicegate_evaluator::{Evaluation, Sink, Stats};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{
    Compression, CsvInput, FileHeaderInfo, InputFormat, InputSerialization, OutputSerialization,
    SelectRequest,
};

use super::select::select;
use super::*;

const HEADER: &str = "x-sluice-arrow";
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// A sink that keeps the records.
#[derive(Default)]
struct Records(Vec<u8>);

impl Sink for Records {
    fn records(&mut self, bytes: bytes::Bytes) -> ControlFlow<()> {
        self.0.extend_from_slice(&bytes);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Returns the answer of the evaluator alone, up to an error.
fn expected(object: &str, sql: &str, types: &str) -> Vec<u8> {
    let csv = CsvInput { header: FileHeaderInfo::Use, ..CsvInput::default() };
    let request = SelectRequest {
        expression: sql.to_owned(),
        input: InputSerialization { format: InputFormat::Csv(csv), compression: Compression::None },
        output: OutputSerialization::Arrow(types.parse().unwrap()),
        scan_range: None,
        progress: false,
        extras: Extras::NONE,
    };
    let mut records = Records::default();
    let source = Arc::new(object.as_bytes().to_vec());
    let _ = Evaluation::prepare(&request, source).unwrap().run(&mut records);
    records.0
}

/// What a client receives.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    records: Vec<u8>,
    returned: Option<i64>,
    end: bool,
    failed: Option<String>,
}

async fn run(fixture: &Fixture, sql: &str, types: &str) -> Result<Answer, (String, String)> {
    let types = types.to_owned();
    let request = select(fixture, "n.csv", sql).customize().mutate_request(move |request| {
        request.headers_mut().insert(HEADER, types.clone());
    });
    let sent = request.send().await;
    let sent = sent.map_err(|error| (code(&error), error.message().unwrap_or_default().to_owned()));
    let (mut events, mut answer) = (sent?.payload, Answer::default());
    loop {
        match events.recv().await {
            Ok(Some(Event::Records(records))) => {
                answer.records.extend(records.payload.unwrap_or_default().into_inner());
            }
            Ok(Some(Event::Stats(stats))) => {
                answer.returned = stats.details.unwrap().bytes_returned;
            }
            Ok(Some(Event::End(_))) => answer.end = true,
            Ok(Some(_)) => {}
            Ok(None) => return Ok(answer),
            Err(error) => {
                answer.failed = Some(format!("{error:?}"));
                return Ok(answer);
            }
        }
    }
}

#[tokio::test]
async fn a_header_makes_the_answer_a_stream() {
    let fixture = Fixture::new().await;
    let object = "id,name\n1,ann\n2,bob\n3,cem\n";
    fixture.put("n.csv", object).await;
    let sql = "SELECT CAST(s.id AS INT), s.name FROM S3Object s WHERE s.id > '1'";
    for types in
        ["int64;utf8", "uint8;utf8;compression=lz4", "decimal128(3,1);utf8;compression=zstd"]
    {
        let answer = run(&fixture, sql, types).await.unwrap();
        assert_eq!(answer.records, expected(object, sql, types));
        assert!(answer.records.ends_with(&END));
        assert_eq!(answer.returned, Some(answer.records.len() as i64));
        assert!(answer.end && answer.failed.is_none());
    }
}

#[tokio::test]
async fn a_value_that_does_not_fit_ends_the_stream() {
    let fixture = Fixture::new().await;
    let object = "id,name\n1,ann\n200,bob\n3,cem\n";
    fixture.put("n.csv", object).await;
    let sql = "SELECT CAST(s.id AS INT) FROM S3Object s";
    let answer = run(&fixture, sql, "int8").await.unwrap();
    let failed = answer.failed.unwrap();
    assert!(failed.contains("CastFailed") && failed.contains("int8 of column c0"), "{failed}");
    assert!(!answer.end && !answer.records.ends_with(&END));
    assert_eq!(answer.records, expected(object, sql, "int8"));
}

#[tokio::test]
async fn what_no_stream_can_hold_is_refused() {
    let fixture = Fixture::new().await;
    fixture.put("n.csv", "id,name\n1,ann\n").await;
    let (name, star) = ("SELECT s.name FROM S3Object s", "SELECT * FROM S3Object s");
    for (sql, types, code, message) in [
        (star, "utf8;utf8", "400 InvalidRequestParameter", "name the columns"),
        (name, "utf8;utf8", "400 InvalidRequestParameter", "1 columns, but 2 types"),
        (name, "text", "400 InvalidArgument", HEADER),
        (name, "", "400 InvalidArgument", HEADER),
        (name, "utf8;compression=snappy", "400 InvalidArgument", HEADER),
        (name, "decimal128(39,0)", "400 InvalidArgument", HEADER),
        (name, &";".repeat(16 << 10), "400 InvalidArgument", HEADER),
        (name, &"int8;".repeat(4000), "400 InvalidArgument", "16 KiB"),
    ] {
        let (refused, why) = run(&fixture, sql, types).await.unwrap_err();
        assert_eq!(refused, code, "{types:.40}");
        assert!(why.contains(message), "{why}");
    }
}
