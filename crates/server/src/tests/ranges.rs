//! Tests of a GET of several ranges.

use std::ops::Range;

use aws_sdk_s3::presigning::PresigningConfig;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_s3select::byteranges::{self, MAX_RANGES, boundary_of};

use crate::{Fault, Operation, Rule};

use super::server::raw;
use super::*;

const OBJECT: &str = "0123456789abcdefghij";

/// Starts an anonymous server with an object.
async fn open() -> (Fixture, String) {
    let fixture = Fixture::with(Builder::anonymous).await;
    let put = fixture.client.put_object().bucket("bucket").key("k").content_type("text/csv");
    let put = put.body(OBJECT.as_bytes().to_vec().into()).send().await.unwrap();
    (fixture, put.e_tag.unwrap())
}

/// Sends a GET with some headers. Returns the status, head and body of the answer.
async fn get(fixture: &Fixture, target: &str, headers: &str) -> (u16, String, String) {
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n");
    let answer = raw(fixture.server.address(), &request).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = format!("content-length: {}", body.len());
    assert!(status == 304 || head.lines().any(|line| line == length), "{answer}");
    (status, head.to_owned(), body.to_owned())
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// Returns the parts of an answer, and checks their heads.
fn parts(head: &str, body: &str, ranges: &[Range<u64>]) -> Vec<String> {
    let boundary = boundary_of(header(head, "content-type").unwrap()).unwrap();
    let size = OBJECT.len() as u64;
    let found = byteranges::found(body.as_bytes(), &boundary, ranges, size).unwrap();
    found.into_iter().map(|part| body[part].to_owned()).collect()
}

#[tokio::test]
async fn several_ranges_come_in_parts() {
    let (fixture, e_tag) = open().await;
    for (asked, ranges) in [
        ("bytes=0-1,5-6", vec![0..2, 5..7]),
        ("bytes=5-6,0-1", vec![5..7, 0..2]),
        ("BYTES= 5-6 ,\t0-1,,", vec![5..7, 0..2]),
        ("bytes=-2,0-0,100-200", vec![18..20, 0..1]),
        ("bytes=0-3,2-5,6-6,10-", vec![0..7, 10..20]),
    ] {
        let (status, head, body) = get(&fixture, "/bucket/k", &format!("Range: {asked}\r\n")).await;
        assert_eq!(status, 206, "{head}");
        let text = |range: &Range<u64>| OBJECT[range.start as usize..range.end as usize].to_owned();
        assert_eq!(parts(&head, &body, &ranges), ranges.iter().map(text).collect::<Vec<_>>());
        assert_eq!(header(&head, "etag"), Some(e_tag.as_str()));
        assert_eq!(header(&head, "accept-ranges"), Some("bytes"));
        assert_eq!(header(&head, "content-range"), None);
        assert_eq!(body.matches("Content-Type: text/csv\r\n").count(), ranges.len());
    }
    let counted = fixture.server.counters().requests(Operation::GetObject);
    assert_eq!(counted, 5);
}

#[tokio::test]
async fn one_range_is_left_to_be_none_or_all() {
    let (fixture, _) = open().await;
    let ranged = async |value: &str| {
        let (status, head, body) = get(&fixture, "/bucket/k", &format!("Range: {value}\r\n")).await;
        (status, header(&head, "content-range").map(ToOwned::to_owned), body)
    };
    let one = |range: &str, body: &str| (206, Some(format!("bytes {range}/20")), body.to_owned());
    assert_eq!(ranged("bytes=3-4,30-40").await, one("3-4", "34"));
    assert_eq!(ranged("bytes=3-4,5-6").await, one("3-6", "3456"));
    assert_eq!(ranged("bytes=-0,-1").await, one("19-19", "j"));
    // Only this server's own parser accepts this header, which `s3s` refuses.
    assert_eq!(ranged("Bytes=3-4").await, one("3-4", "34"));
    for none in ["bytes=20-30,40-", "bytes=20-,-0"] {
        let (status, _, body) = ranged(none).await;
        assert!(status == 416 && body.contains("InvalidRange"), "{none}: {body}");
    }
    let all = (200, None, OBJECT.to_owned());
    let too_many = format!("bytes=0-0{}", ",0-0".repeat(MAX_RANGES));
    for ignored in ["bytes=4-3", "bytes=0-1,x", "lines=1-2,4-5", "bytes=", "0-1", &too_many] {
        assert_eq!(ranged(ignored).await, all, "{ignored}");
    }
    let most = format!("bytes=0-0{}", ",0-0".repeat(MAX_RANGES - 1));
    assert_eq!(ranged(&most).await, one("0-0", "0"));
    let (status, _, body) =
        get(&fixture, "/bucket/k", "Range: bytes=0-1\r\nRange: bytes=3-4\r\n").await;
    assert_eq!((status, body.as_str()), (200, OBJECT));
    fixture.put("empty", "").await;
    let (status, ..) = get(&fixture, "/bucket/empty", "Range: bytes=0-1,3-4\r\n").await;
    assert_eq!(status, 416);
}

#[tokio::test]
async fn conditions_versions_and_faults_are_those_of_every_get() {
    let (fixture, e_tag) = open().await;
    let ranges = "Range: bytes=0-1,5-6\r\n";
    let status = async |target: &str, more: &str| {
        let (status, head, _) = get(&fixture, target, &format!("{ranges}{more}")).await;
        (status, header(&head, "content-type").is_some_and(|it| it.starts_with("multipart")))
    };
    let k = "/bucket/k";
    assert_eq!(status(k, &format!("If-Match: {e_tag}\r\n")).await, (206, true));
    assert_eq!(status(k, "If-Match: \"other\"\r\n").await, (412, false));
    assert_eq!(status(k, &format!("If-None-Match: {e_tag}\r\n")).await, (304, false));
    assert_eq!(status(k, &format!("If-Range: {e_tag}\r\n")).await, (206, true));
    assert_eq!(status(k, "If-Range: \"other\"\r\n").await, (200, false));
    assert_eq!(status("/bucket/none", "").await, (404, false));
    assert_eq!(status("/bucket/k?versionId=null", "").await, (206, true));
    assert_eq!(status("/bucket/k?versionId=7", "").await, (404, false));
    assert_eq!(status("/bucket/k?partNumber=1", "").await, (400, false));
    let one = get(&fixture, k, "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n").await;
    assert_eq!((one.0, one.2.as_str()), (200, OBJECT));
    // The requested type is that of the parts.
    let (_, head, body) = get(&fixture, "/bucket/k?response-content-type=a%2Fb", ranges).await;
    assert_eq!(parts(&head, &body, &[0..2, 5..7]), ["01", "56"]);
    assert_eq!(body.matches("Content-Type: a/b\r\n").count(), 2);
    let faults = fixture.server.faults();
    faults.inject(Rule::new(Operation::GetObject, Fault::SlowDown));
    assert_eq!(status(k, "").await, (503, false));
    faults.inject(Rule::new(Operation::GetObject, Fault::CutBody { after: 150 }));
    let request = format!("GET {k} HTTP/1.1\r\nHost: localhost\r\n{ranges}\r\n");
    let answer = raw(fixture.server.address(), &request).await;
    assert_eq!(answer.split_once("\r\n\r\n").unwrap().1.len(), 150, "{answer}");
    faults.inject(Rule::new(Operation::GetObject, Fault::Cut));
    assert_eq!(raw(fixture.server.address(), &request).await, "");
    // Other operations ignore the header.
    let (status, _, body) = get(&fixture, "/bucket?list-type=2", ranges).await;
    assert!(status == 200 && body.contains("<Key>k</Key>"), "{body}");
}

#[tokio::test]
async fn only_whoever_may_read_the_object_gets_ranges_of_it() {
    let fixture = Fixture::new().await;
    fixture.put("k", OBJECT).await;
    let ranges = "Range: bytes=0-1,5-6\r\n";
    let (status, _, body) = get(&fixture, "/bucket/k", ranges).await;
    assert!(status == 403 && body.contains("AccessDenied"), "{body}");
    let get_object =
        |client: &Client| client.get_object().bucket("bucket").key("k").range("bytes=0-1,5-6");
    let wrong = client(&fixture.server.endpoint(), fixture.server.access_key(), "wrong");
    let refused = get_object(&wrong).send().await.unwrap_err();
    assert_eq!(code(&refused), "403 SignatureDoesNotMatch");
    let got = get_object(&fixture.client).send().await.unwrap();
    assert!(got.content_type.unwrap().starts_with("multipart/byteranges; boundary="));
    // The signature of a presigned URL does not cover the header.
    let presigned = PresigningConfig::expires_in(std::time::Duration::from_secs(60)).unwrap();
    let url = fixture.client.get_object().bucket("bucket").key("k").presigned(presigned).await;
    let url = url.unwrap().uri().to_owned();
    let target = url.strip_prefix(&fixture.server.endpoint()).unwrap();
    let host = fixture.server.address();
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{ranges}Connection: close\r\n\r\n");
    let answer = raw(host, &request).await;
    assert!(answer.starts_with("HTTP/1.1 206") && answer.contains("\r\n\r\n56\r\n"), "{answer}");
    let other = request.replace("/bucket/k", "/bucket/l");
    let answer = raw(host, &other).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

/// Without S3 Select, the server is like most others and sends the whole object.
#[tokio::test]
async fn a_server_without_extensions_ignores_ranges() {
    let fixture = Fixture::with(|builder| builder.anonymous().select(false)).await;
    fixture.put("k", OBJECT).await;
    let (status, _, body) = get(&fixture, "/bucket/k", "Range: bytes=0-1,5-6\r\n").await;
    assert_eq!((status, body.as_str()), (200, OBJECT));
}

#[test]
fn parts_are_slices_of_the_object() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(Fixture::new());
    let objects: Vec<_> = [1, 300, 2_000_000].map(bytes).into();
    runtime.block_on(async {
        for (number, object) in objects.iter().enumerate() {
            fixture.put(&number.to_string(), object.clone()).await;
        }
    });
    let ends = prop::collection::vec((any::<u64>(), any::<u64>()), 1..40);
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&(0_usize..3, ends), |(number, ends)| {
        let object = &objects[number];
        let size = object.len() as u64;
        let ranges: Vec<_> = ends
            .iter()
            .map(|(a, b)| (a % size, b % size))
            .map(|(a, b)| a.min(b)..a.max(b) + 1)
            .collect();
        let value = byteranges::header(&ranges);
        let ranges = byteranges::RangeHeader::parse(&value).unwrap().resolve(size);
        let (content_type, content_range, body) = runtime.block_on(async {
            let get = fixture.client.get_object().bucket("bucket").key(number.to_string());
            let got = get.range(value).send().await.unwrap();
            let length = got.content_length.unwrap();
            let body = got.body.collect().await.unwrap().to_vec();
            assert_eq!(body.len() as i64, length);
            (got.content_type.unwrap(), got.content_range, body)
        });
        let slice = |range: &Range<u64>| &object[range.start as usize..range.end as usize];
        if let [range] = ranges.as_slice() {
            let named = format!("bytes {}-{}/{size}", range.start, range.end - 1);
            prop_assert_eq!(content_range, Some(named));
            prop_assert!(body == slice(range));
            return Ok(());
        }
        let boundary = boundary_of(&content_type).unwrap();
        let found = byteranges::found(&body, &boundary, &ranges, size).unwrap();
        for (part, range) in found.into_iter().zip(&ranges) {
            prop_assert!(&body[part] == slice(range));
        }
        Ok(())
    });
    result.unwrap();
}
