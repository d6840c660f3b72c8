use aws_sdk_s3::operation::select_object_content::builders::SelectObjectContentFluentBuilder;
use aws_sdk_s3::types::{
    CompressionType, CsvInput, CsvOutput, ExpressionType, FileHeaderInfo, InputSerialization,
    OutputSerialization, ParquetInput, RequestProgress, ScanRange, SelectObjectContentEventStream,
};

use crate::{Fault, Operation, Rule};

use super::server::raw;
use super::*;

const NAMES: &str = "id,name\n1,ann\n2,bob\n3,cem\n";

fn csv(compression: CompressionType) -> InputSerialization {
    let csv = CsvInput::builder().file_header_info(FileHeaderInfo::Use).build();
    InputSerialization::builder().csv(csv).compression_type(compression).build()
}

pub(super) fn select(fixture: &Fixture, key: &str, sql: &str) -> SelectObjectContentFluentBuilder {
    let output = OutputSerialization::builder().csv(CsvOutput::builder().build()).build();
    fixture
        .client
        .select_object_content()
        .bucket("bucket")
        .key(key)
        .expression(sql)
        .expression_type(ExpressionType::Sql)
        .input_serialization(csv(CompressionType::None))
        .output_serialization(output)
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) rows: String,
    /// The bytes scanned, processed and returned.
    pub(super) stats: Option<(i64, i64, i64)>,
    progress: usize,
    pub(super) end: bool,
    /// The SDK's message for an error in the answer, which contains the store's code.
    pub(super) failed: Option<String>,
}

pub(super) async fn run(request: SelectObjectContentFluentBuilder) -> Result<Answer, String> {
    let mut events = request.send().await.map_err(|e| code(&e))?.payload;
    let mut answer = Answer::default();
    loop {
        match events.recv().await {
            Ok(None) => return Ok(answer),
            Ok(Some(SelectObjectContentEventStream::Records(records))) => {
                let rows = records.payload.unwrap_or_default().into_inner();
                answer.rows.push_str(&String::from_utf8(rows).unwrap());
            }
            Ok(Some(SelectObjectContentEventStream::Stats(stats))) => {
                let d = stats.details.unwrap();
                let all = (d.bytes_scanned, d.bytes_processed, d.bytes_returned);
                answer.stats = Some((all.0.unwrap(), all.1.unwrap(), all.2.unwrap()));
            }
            Ok(Some(SelectObjectContentEventStream::Progress(_))) => answer.progress += 1,
            Ok(Some(SelectObjectContentEventStream::End(_))) => answer.end = true,
            Ok(Some(_)) => {}
            Err(error) => {
                answer.failed = Some(format!("{error:?}"));
                return Ok(answer);
            }
        }
    }
}

#[tokio::test]
async fn rows_stats_end() {
    let fixture = Fixture::new().await;
    fixture.put("n.csv", NAMES).await;
    let sql = "SELECT s.name FROM S3Object s WHERE CAST(s.id AS INT) > 1";
    let progress = RequestProgress::builder().enabled(true).build();
    let answer = run(select(&fixture, "n.csv", sql).request_progress(progress)).await.unwrap();
    assert_eq!(answer.rows, "bob\ncem\n");
    let length = NAMES.len() as i64;
    assert_eq!(answer.stats, Some((length, length, 8)));
    assert!(answer.end && answer.failed.is_none() && answer.progress > 0, "{answer:?}");
    let counted = fixture.server.counters().requests(Operation::SelectObjectContent);
    assert_eq!(counted, 1);
}

#[tokio::test]
async fn a_store_without_select_says_so_and_not_its_name() {
    let fixture = Fixture::with(|builder| builder.select(false)).await;
    fixture.put("n.csv", NAMES).await;
    assert_eq!(fixture.get("n.csv").await, NAMES.as_bytes());
    let refused = run(select(&fixture, "n.csv", "SELECT * FROM S3Object")).await;
    assert_eq!(refused, Err("501 NotImplemented".to_owned()));
    let get = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = raw(fixture.server.address(), get).await.to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1") && !answer.contains("sluicegate"), "{answer}");
}

#[tokio::test]
async fn the_answer_names_the_version_and_either_root_is_taken() {
    for (root, indexes) in [("SelectRequest", true), ("SelectObjectContentRequest", false)] {
        let fixture = Fixture::with(|builder| builder.anonymous().indexes(indexes)).await;
        let etag = fixture.put("n.csv", NAMES).await;
        let body = format!(
            "<{root}><Expression>SELECT * FROM S3Object</Expression>\
             <ExpressionType>SQL</ExpressionType><InputSerialization><CSV/></InputSerialization>\
             <OutputSerialization><CSV/></OutputSerialization></{root}>"
        );
        let head = format!(
            "POST /bucket/n.csv?select&select-type=2 HTTP/1.1\r\nHost: localhost\r\n\
             Content-Length: {}\r\nConnection: close\r\n",
            body.len()
        );
        let answer = raw(fixture.server.address(), &format!("{head}\r\n{body}")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains(&format!("x-sluice-etag: {etag}\r\n")), "{answer}");
        assert!(answer.contains("x-sluice-extensions: "), "{answer}");
        assert_eq!(answer.contains(", indexes,"), indexes, "{answer}");
        assert!(answer.contains("3,cem\n"), "{answer}");
        let ranged = format!("{head}Range: bytes=0-3\r\n\r\n{body}");
        let answer = raw(fixture.server.address(), &ranged).await;
        assert!(answer.contains("UnsupportedRangeHeader"), "{answer}");
    }
}

/// GROUP BY is refused like on AWS, unless a header requests the server's extension.
#[tokio::test]
async fn groups_are_for_those_who_ask_for_them() {
    let object = "id,name\n1,ann\n2,bob\n3,ann\n";
    let sql = "SELECT s.name, COUNT(*) FROM S3Object s GROUP BY s.name";
    for (most, parts) in [(2, "ann,2\nbob,1\n"), (1, "ann,1\nbob,1\nann,1\n")] {
        let fixture = Fixture::with(|builder| builder.max_groups(most)).await;
        fixture.put("n.csv", object).await;
        let refused = run(select(&fixture, "n.csv", sql)).await;
        assert_eq!(refused, Err("400 ParseUnsupportedSyntax".to_owned()));
        let asking = |value: &'static str| {
            select(&fixture, "n.csv", sql).customize().mutate_request(move |request| {
                request.headers_mut().insert("x-sluice-partial-groups", value);
            })
        };
        assert_eq!(code(&asking("no").send().await.unwrap_err()), "400 ParseUnsupportedSyntax");
        let mut events = asking("true").send().await.unwrap().payload;
        let mut rows = String::new();
        while let Some(event) = events.recv().await.unwrap() {
            if let SelectObjectContentEventStream::Records(records) = event {
                let payload = records.payload.unwrap_or_default().into_inner();
                rows.push_str(&String::from_utf8(payload).unwrap());
            }
        }
        assert_eq!(rows, parts);
    }
}

/// BLOOM_CONTAINS is an unknown function like on AWS, unless a header requests the extension.
#[tokio::test]
async fn bloom_filters_are_for_those_who_ask_for_them() {
    let fixture = Fixture::new().await;
    fixture.put("n.csv", "id,name\n1,ann\n2,bob\n3,ann\n").await;
    // The filter contains the value '2' and no other digit.
    let sql = "SELECT s.name FROM S3Object s WHERE BLOOM_CONTAINS('QACB', 3, 2, s.id)";
    let refused = run(select(&fixture, "n.csv", sql)).await;
    assert_eq!(refused, Err("400 UnsupportedFunction".to_owned()));
    let asking = |sql: &str, header: &'static str| {
        select(&fixture, "n.csv", sql).customize().mutate_request(move |request| {
            request.headers_mut().insert(header, "true");
        })
    };
    let other = asking(sql, "x-sluice-partial-groups").send().await.unwrap_err();
    assert_eq!(code(&other), "400 UnsupportedFunction");
    let malformed = sql.replace("QACB", "QAC");
    let malformed = asking(&malformed, "x-sluice-bloom").send().await.unwrap_err();
    assert_eq!(code(&malformed), "400 IllegalSqlFunctionArgument");
    let mut events = asking(sql, "x-sluice-bloom").send().await.unwrap().payload;
    let mut rows = String::new();
    while let Some(event) = events.recv().await.unwrap() {
        if let SelectObjectContentEventStream::Records(records) = event {
            let payload = records.payload.unwrap_or_default().into_inner();
            rows.push_str(&String::from_utf8(payload).unwrap());
        }
    }
    assert_eq!(rows, "bob\n");
}

#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let fixture = Fixture::new().await;
    let text: String = (0..200_000).map(|i| format!("{i},{}\n", i * 7)).collect();
    fixture.put("big.csv", text.as_bytes()).await;
    let input = InputSerialization::builder().csv(CsvInput::builder().build()).build();
    let request = select(&fixture, "big.csv", "SELECT * FROM S3Object").input_serialization(input);
    let answer = run(request.clone()).await.unwrap();
    assert!(answer.rows == text && answer.end);
    let range =
        |start, end| request.clone().scan_range(ScanRange::builder().start(start).end(end).build());
    let (a, b) = (range(0, 999_999), range(1_000_000, 99_999_999));
    let parts = run(a).await.unwrap().rows + &run(b).await.unwrap().rows;
    assert!(parts == text);
}

#[tokio::test]
async fn mistakes_are_told_before_the_answer_begins() {
    let fixture = Fixture::new().await;
    fixture.put("n.csv", NAMES).await;
    let all = "SELECT * FROM S3Object";
    for (request, expected) in [
        (select(&fixture, "none.csv", all), "404 NoSuchKey"),
        (select(&fixture, "n.csv", "SELEC"), "400 Parse"),
        (select(&fixture, "n.csv", "SELECT s.nothing FROM S3Object s"), "400 "),
        (
            select(&fixture, "n.csv", &format!("{all} -- {}", "x".repeat(300_000))),
            "400 ExpressionTooLong",
        ),
        (
            select(&fixture, "n.csv", all).input_serialization(csv(CompressionType::Gzip)),
            "400 InvalidCompressionFormat",
        ),
        (
            select(&fixture, "n.csv", all)
                .input_serialization(InputSerialization::builder().build()),
            "400 MissingRequiredParameter",
        ),
        (
            select(&fixture, "n.csv", all).input_serialization(
                InputSerialization::builder()
                    .csv(CsvInput::builder().build())
                    .parquet(ParquetInput::builder().build())
                    .build(),
            ),
            "400 ObjectSerializationConflict",
        ),
        (select(&fixture, "n.csv", all).bucket("none"), "404 NoSuchBucket"),
    ] {
        let found = run(request).await.unwrap_err();
        assert!(found.starts_with(expected), "{found} is not {expected}");
    }
}

#[tokio::test]
async fn later_mistakes_end_the_answer() {
    let fixture = Fixture::new().await;
    let mut text: String = (0..100_000).map(|i| format!("{i}\n")).collect();
    text.push_str("nonsense\n");
    fixture.put("n.csv", text.as_bytes()).await;
    let sql = "SELECT CAST(s._1 AS INT) FROM S3Object s";
    let input = InputSerialization::builder().csv(CsvInput::builder().build()).build();
    let answer = run(select(&fixture, "n.csv", sql).input_serialization(input)).await.unwrap();
    assert!(answer.failed.is_some() && !answer.end && answer.stats.is_none(), "{:?}", answer.stats);
}

#[tokio::test]
async fn answers_fail_as_told() {
    let fixture = Fixture::new().await;
    fixture.put("n.csv", NAMES).await;
    let error = Fault::ErrorFrame { records: 0, code: "InternalError".to_owned() };
    for fault in [
        Fault::CutBeforeRecords(0),
        Fault::CutInRecords(0),
        Fault::CutAfterRecords(0),
        Fault::WrongCrc(0),
        error,
        Fault::MissingEnd,
    ] {
        fixture.server.faults().inject(Rule::new(Operation::SelectObjectContent, fault.clone()));
        let answer = run(select(&fixture, "n.csv", "SELECT * FROM S3Object")).await.unwrap();
        assert!(!answer.end, "{fault:?} {answer:?}");
        assert_eq!(answer.failed.is_some(), fault != Fault::MissingEnd, "{fault:?} {answer:?}");
    }
    assert!(run(select(&fixture, "n.csv", "SELECT * FROM S3Object")).await.unwrap().end);
}

#[tokio::test]
async fn one_statement_sees_one_version() {
    let fixture = Fixture::new().await;
    let text: String = (0..400_000).map(|i| format!("{i}\n")).collect();
    fixture.put("n.csv", text.as_bytes()).await;
    let input = InputSerialization::builder().csv(CsvInput::builder().build()).build();
    let request = select(&fixture, "n.csv", "SELECT * FROM S3Object").input_serialization(input);
    let mut events = request.send().await.unwrap().payload;
    let mut rows = match events.recv().await.unwrap().unwrap() {
        SelectObjectContentEventStream::Records(r) => r.payload.unwrap().into_inner(),
        other => panic!("{other:?}"),
    };
    fixture.put("n.csv", "another version\n").await;
    while let Some(event) = events.recv().await.unwrap() {
        if let SelectObjectContentEventStream::Records(records) = event {
            rows.extend(records.payload.unwrap().into_inner());
        }
    }
    assert!(rows == text.as_bytes());
}
