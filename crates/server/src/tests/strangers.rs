//! Tests of malformed and hostile requests, and of the errors they get.

use aws_sdk_s3::config::{BehaviorVersion, Region};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Limits;
use crate::store::{Algorithm, Hasher};

use super::limits::{ask, bomb, csv, gzip, plain};
use super::select::select;
use super::server::raw;
use super::signatures::signed_with;
use super::*;

use aws_sdk_s3::types::FileHeaderInfo;
use aws_sigv4::http_request::SignableBody;

/// The header that announces a checksum in the trailers.
const TRAILER: (&str, &str) = ("x-amz-trailer", "x-amz-checksum-crc32");

/// Returns the lines after the last chunk of a body.
fn trailer(body: &[u8]) -> String {
    let mut hasher = Hasher::new([Algorithm::Crc32]);
    hasher.update(body);
    let sum = hasher.finish().checksums.crc32.unwrap();
    format!("x-amz-checksum-crc32:{sum}\r\n\r\n")
}

/// Sends the head of a request whose body never arrives. Returns the answer.
async fn promise(server: &Server, request: &str, headers: &str) -> String {
    let host = server.address();
    let head = format!("{request} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n");
    raw(host, &head).await
}

#[tokio::test]
async fn forms_are_refused_before_their_bodies_are_read() {
    for configure in [Builder::anonymous as fn(Builder) -> Builder, |builder| builder] {
        let fixture = Fixture::with(configure).await;
        for kind in ["multipart/form-data; boundary=b", " Multipart/Form-Data;boundary=b"] {
            let headers = format!("Content-Type: {kind}\r\nContent-Length: 1073741824\r\n");
            let answer = promise(&fixture.server, "POST /bucket", &headers).await;
            assert!(answer.starts_with("HTTP/1.1 501"), "{answer}");
            assert!(answer.contains("NotImplemented") && answer.contains("presigned"), "{answer}");
        }
        assert!(fixture.keys().await.is_empty());
    }
}

#[tokio::test]
async fn pages_of_others_reach_no_anonymous_server() {
    let fixture = Fixture::with(|builder| builder.anonymous().host("store.example")).await;
    fixture.put("k", "1").await;
    let server = &fixture.server;
    let say = async |request: &str, headers: &str| {
        let end = "Content-Length: 0\r\nConnection: close\r\n\r\n";
        raw(server.address(), &format!("{request} HTTP/1.1\r\n{headers}{end}")).await
    };
    for headers in [
        "Host: localhost\r\nOrigin: http://evil.example\r\n",
        "Host: localhost\r\nOrigin: null\r\n",
        "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n",
        "Host: localhost\r\nSec-Fetch-Site: same-site\r\n",
        "Host: evil.example:9000\r\n",
        "Host: 127.0.0.1.evil.example\r\n",
    ] {
        for request in [
            "GET /bucket/k",
            "GET /bucket?list-type=2",
            "PUT /bucket/dropped",
            "POST /bucket/dropped?uploads",
            "POST /bucket?delete",
            "POST /bucket/k?select&select-type=2",
            "DELETE /bucket/k",
        ] {
            let answer = say(request, headers).await;
            assert!(answer.starts_with("HTTP/1.1 403"), "{request} {headers}: {answer}");
            assert!(answer.contains("AccessDenied"), "{answer}");
        }
    }
    for host in ["store.example:80", "localhost", "127.0.0.1", "[::1]:1", "10.1.2.3:9000"] {
        let answer = say("GET /bucket/k", &format!("Host: {host}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{host}: {answer}");
    }
    assert_eq!(fixture.keys().await, ["k"]);
    // A signature also permits requests of pages.
    let signed = Fixture::new().await;
    signed.put("k", "1").await;
    let headers = [("origin", "http://evil.example")];
    let none = SignableBody::UnsignedPayload;
    let (target, headers) = signed_with(&signed.server, ("GET", "/bucket/k"), &headers, none);
    let mut request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n", signed.server.address());
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    let answer = raw(signed.server.address(), &(request + "Connection: close\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn clients_that_do_not_sign_are_served() {
    let fixture = Fixture::with(Builder::anonymous).await;
    let config = aws_sdk_s3::Config::builder()
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(fixture.server.endpoint())
        .region(Region::new("us-east-1"))
        .allow_no_auth()
        .force_path_style(true)
        .build();
    let fixture = Fixture { client: Client::from_conf(config), ..fixture };
    fixture.put("k", "a,b\n").await;
    assert_eq!(fixture.get("k").await, b"a,b\n");
    assert_eq!(ask(plain(&fixture, "k", "SELECT _2 FROM S3Object")).await.unwrap(), "b\n");
}

/// Sends a PUT in HTTP chunks, which has no length.
async fn put_without_length(server: &Server, bytes: usize) -> String {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let head = "PUT /bucket/k HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\
                Connection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let (mut answer, mut writer) = socket.split();
    let write = async {
        for _ in 0..bytes / 1000 {
            let chunk = format!("3e8\r\n{}\r\n", "x".repeat(1000));
            if writer.write_all(chunk.as_bytes()).await.is_err() {
                return;
            }
        }
        let _ = writer.write_all(b"0\r\n\r\n").await;
    };
    let mut text = Vec::new();
    let read = async {
        // The answer may be followed by a cut connection.
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = answer.read(&mut buffer).await {
            text.extend_from_slice(&buffer[..n]);
        }
    };
    tokio::join!(write, read);
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn uploads_without_a_length_are_limited() {
    let limits = Limits { upload_bytes: 100_000, ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.anonymous().limits(limits)).await;
    let answer = put_without_length(&fixture.server, 100_000).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = put_without_length(&fixture.server, 101_000).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("EntityTooLarge"), "{answer}");
    assert!(answer.contains("100000"), "{answer}");
    let answer = promise(&fixture.server, "PUT /bucket/k", "Content-Length: 100001\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("EntityTooLarge"), "{answer}");
    assert_eq!(fixture.get("k").await.len(), 100_000);
}

#[tokio::test]
async fn chunks_count_without_what_is_around_them() {
    let object = bytes(100_000);
    let limits = Limits { upload_bytes: object.len() as u64, ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.limits(limits)).await;
    let put = async |object: &[u8], announced: usize| {
        let length = announced.to_string();
        let headers = [("x-amz-decoded-content-length", &*length), TRAILER];
        let mut body = Vec::new();
        for chunk in object.chunks(100) {
            body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("0\r\n{}", trailer(object)).as_bytes());
        let signed = SignableBody::StreamingUnsignedPayloadTrailer;
        say(&fixture.server, ("PUT", "/bucket/k"), &headers, signed, &body).await
    };
    let answer = put(&object, object.len()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // A body that is longer than announced is not read to its end.
    let answer = put(&object, 10).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("IncompleteBody"), "{answer}");
    assert!(fixture.get("k").await == object);
}

/// Sends a signed request with a body. Returns the answer.
async fn say(
    server: &Server,
    operation: (&str, &str),
    headers: &[(&str, &str)],
    signed: SignableBody<'_>,
    body: &[u8],
) -> String {
    let (target, headers) = signed_with(server, operation, headers, signed);
    let host = server.address();
    let mut head = format!("{} {target} HTTP/1.1\r\nHost: {host}\r\n", operation.0);
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let mut socket = TcpStream::connect(host).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    let _ = socket.write_all(body).await;
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_chunk_may_be_as_long_as_the_body_if_it_is_not_signed() {
    let fixture = Fixture::new().await;
    let object = bytes(9_000_000);
    let length = object.len().to_string();
    let headers = [("x-amz-decoded-content-length", &*length), TRAILER];
    let put = async |signed: SignableBody<'_>, line: &str, end: &str| {
        let body = [line.as_bytes(), &object, end.as_bytes()].concat();
        say(&fixture.server, ("PUT", "/bucket/k"), &headers, signed, &body).await
    };
    let line = format!("{:x}\r\n", object.len());
    let unsigned = SignableBody::StreamingUnsignedPayloadTrailer;
    let answer = put(unsigned, &line, &format!("\r\n0\r\n{}", trailer(&object))).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(fixture.get("k").await == object);
    // A signed chunk cannot be used before it is complete.
    let line = format!("ffffffff;chunk-signature={}\r\n", "0".repeat(64));
    let signed = SignableBody::Precomputed("STREAMING-AWS4-HMAC-SHA256-PAYLOAD".to_owned());
    let answer = put(signed, &line, "").await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("InvalidRequest"), "{answer}");
    assert!(answer.contains("a signed chunk has at most"), "{answer}");
}

/// An announced checksum must follow, and must be equal to that in the head and to any others in the trailers.
#[tokio::test]
async fn checksums_behind_a_body_are_checked() {
    check_trailing_checksums(&Fixture::new().await).await;
    check_trailing_checksums(&Fixture::with(Builder::anonymous).await).await;
}

async fn check_trailing_checksums(fixture: &Fixture) {
    let send = async |head: Option<&str>, signed: SignableBody<'_>, body: &str| {
        let mut headers =
            vec![("x-amz-decoded-content-length", "3"), ("x-amz-trailer", "x-amz-checksum-crc32")];
        headers.extend(head.map(|crc| ("x-amz-checksum-crc32", crc)));
        let put = ("PUT", "/bucket/k");
        let answer = say(&fixture.server, put, &headers, signed, body.as_bytes()).await;
        let code = answer.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</"));
        code.map_or_else(|| answer[9..12].to_owned(), |(code, _)| code.to_owned())
    };
    let put = async |head: Option<&str>, trailers: &str| {
        let body = format!("3\r\nabc\r\n0\r\n{trailers}\r\n");
        send(head, SignableBody::StreamingUnsignedPayloadTrailer, &body).await
    };
    let (right, wrong) = ("NSRBwg==", "AAAAAA==");
    let trailer = |crc: &str| format!("x-amz-checksum-crc32:{crc}\r\n");
    assert_eq!(put(None, "").await, "MalformedTrailerError");
    assert_eq!(put(None, &trailer(wrong)).await, "BadDigest");
    assert_eq!(put(Some(wrong), &trailer(right)).await, "BadDigest");
    assert_eq!(put(None, &(trailer(right) + &trailer(wrong))).await, "BadDigest");
    // Trailers that are not announced are refused.
    for other in ["x-amz-checksum-crc32c:AAAAAA==\r\n", "x-amz-meta-a:b\r\n"] {
        assert_eq!(put(None, &(trailer(right) + other)).await, "MalformedTrailerError", "{other}");
    }
    // A body without chunks has no trailers.
    let plain = SignableBody::UnsignedPayload;
    assert_eq!(send(None, plain, "abc").await, "MalformedTrailerError");
    assert!(fixture.keys().await.is_empty());
    assert_eq!(put(None, &trailer(right)).await, "200");
    assert_eq!(put(Some(right), &trailer(right)).await, "200");
    assert_eq!(send(Some(right), SignableBody::UnsignedPayload, "abc").await, "200");
}

/// XML parsers read a bare carriage return as a line feed, which would be another object's key.
#[tokio::test]
async fn keys_with_returns_are_listed_as_they_are() {
    let fixture = Fixture::new().await;
    fixture.put("a\rb", "1\r\n").await;
    let listed = fixture.client.list_objects().bucket("bucket").send().await.unwrap();
    let keys: Vec<_> = listed.contents().iter().filter_map(|object| object.key()).collect();
    assert_eq!(keys, ["a\rb"]);
    // Contents of objects are not escaped.
    let xml = fixture.client.put_object().bucket("bucket").key("x").content_type("application/xml");
    xml.body(b"<a>\r</a>".to_vec().into()).send().await.unwrap();
    assert_eq!(fixture.get("x").await, b"<a>\r</a>");
    let body = b"<Delete><Object><Key>a&#13;b</Key></Object></Delete>";
    let delete = ("POST", "/bucket?delete=");
    let answer = say(&fixture.server, delete, &[], SignableBody::Bytes(body), body).await;
    assert!(answer.contains("<Key>a&#13;b</Key>"), "{answer}");
    assert_eq!(fixture.keys().await, ["x"]);
}

#[tokio::test]
async fn a_document_with_text_that_would_be_lost_deletes_nothing() {
    let fixture = Fixture::new().await;
    fixture.put("obj", "1").await;
    let body = b"<Delete><Object><Key>obj<![CDATA[-extra]]></Key></Object></Delete>";
    let delete = ("POST", "/bucket?delete=");
    let answer = say(&fixture.server, delete, &[], SignableBody::Bytes(body), body).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("CDATA"), "{answer}");
    assert_eq!(fixture.keys().await, ["obj"]);
}

#[tokio::test]
async fn what_is_not_offered_is_not_taken_for_something_else() {
    let fixture = Fixture::new().await;
    fixture.put("k", "1").await;
    for (operation, status) in [
        (("PUT", "/bucket/k?renameObject="), "501"),
        (("PUT", "/bucket/k?encryption="), "501"),
        (("DELETE", "/bucket/k?annotation=&annotationName=a"), "501"),
        (("GET", "/bucket/k?annotation=&annotationName=a"), "501"),
        (("PUT", "/bucket/k?partNumber=1"), "400"),
        (("PUT", "/bucket?acl="), "501"),
        (("DELETE", "/bucket?metadataConfiguration="), "501"),
    ] {
        let answer = say(&fixture.server, operation, &[], SignableBody::Bytes(b""), b"").await;
        assert_eq!(&answer[9..12], status, "{operation:?}: {answer}");
        assert!(answer.contains("<Message>"), "{operation:?}: {answer}");
    }
    assert_eq!(fixture.get("k").await, b"1");
}

#[tokio::test]
async fn a_wrong_hash_of_a_document_is_the_clients_fault() {
    let fixture = Fixture::new().await;
    fixture.put("k", "1").await;
    let body = b"<Delete><Object><Key>k</Key></Object></Delete>";
    let delete = ("POST", "/bucket?delete=");
    let answer =
        say(&fixture.server, delete, &[], SignableBody::Bytes(b"<Delete></Delete>"), body).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("XAmzContentSHA256Mismatch"), "{answer}");
    for header in [
        ("content-md5", "CY9rzUYh03PK3k6DJie09g=="),
        ("x-amz-checksum-crc32", "2H9+DA=="),
        ("x-amz-checksum-sha256", "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="),
    ] {
        let answer = say(&fixture.server, delete, &[header], SignableBody::Bytes(body), body).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("BadDigest"), "{answer}");
    }
    assert_eq!(fixture.keys().await, ["k"]);
    let answer = say(&fixture.server, delete, &[], SignableBody::Bytes(body), body).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(fixture.keys().await.is_empty());
}

#[tokio::test]
async fn every_error_has_a_message() {
    let fixture = Fixture::with(Builder::anonymous).await;
    fixture.put("k", "1").await;
    for (request, headers) in [
        ("GET /none", ""),
        ("GET /bucket/none", ""),
        ("GET /bucket/k", "Range: bytes=7-8\r\n"),
        ("GET /bucket/k", "If-Match: \"x\"\r\n"),
        ("GET /bucket/k?uploadId=x", ""),
        ("GET /bucket?max-keys=x", ""),
        ("GET /bucket?list-type=2&continuation-token=x", ""),
        ("GET /A", ""),
        ("GET /bucket/%ff", ""),
        ("GET /bucket?policy", ""),
        ("GET /bucket?website", ""),
        ("GET /bucket?tagging", ""),
        ("PUT /bucket", ""),
        ("PUT /bucket/k?partNumber=0&uploadId=x", ""),
        ("PUT /bucket/k?tagging", ""),
        ("PUT /bucket/k", "Content-MD5: x\r\n"),
        ("PUT /bucket/k", "x-amz-copy-source: x\r\n"),
        ("PUT /bucket/k", "x-amz-copy-source: /bucket/none\r\n"),
        ("POST /", ""),
        ("POST /bucket", ""),
        ("POST /bucket/k", ""),
        ("POST /bucket?delete", ""),
        ("POST /bucket/k?uploadId=x", ""),
        ("POST /bucket/k?select&select-type=2", ""),
        ("DELETE /none", ""),
        ("DELETE /bucket", ""),
        ("DELETE /bucket/k?uploadId=x", ""),
        ("PATCH /bucket/k", ""),
    ] {
        let headers = format!("{headers}Content-Length: 0\r\n");
        let answer = promise(&fixture.server, request, &headers).await;
        let status: u16 = answer[9..12].parse().unwrap();
        assert!(status >= 400, "{request}: {answer}");
        let message = answer.split_once("<Message>").and_then(|(_, rest)| rest.split_once("</"));
        assert!(message.is_some_and(|(words, _)| words.contains(' ')), "{request}: {answer}");
    }
    // The errors of several keys have messages, too.
    let body = format!("<Delete><Object><Key>{}</Key></Object></Delete>", "k".repeat(2000));
    let headers = format!("Content-Length: {}\r\n", body.len());
    let host = fixture.server.address();
    let request = format!(
        "POST /bucket?delete HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n{body}"
    );
    let answer = raw(host, &request).await;
    assert!(!answer.contains("<Error>") || answer.contains("<Message>"), "{answer}");
}

#[tokio::test]
async fn a_statement_may_take_only_so_long() {
    let limit = Some(std::time::Duration::from_millis(300));
    let limits = Limits { statement_timeout: limit, ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.limits(limits)).await;
    fixture.put("n.csv", "1\n").await;
    fixture.put("lines.gz", bomb(b'\n', 64 << 30)).await;
    let count = "SELECT COUNT(*) FROM S3Object";
    let long =
        select(&fixture, "lines.gz", count).input_serialization(gzip(&csv(FileHeaderInfo::None)));
    let error = ask(long).await.unwrap_err();
    assert!(error.contains("StatementTimeout") && error.contains("0.3 s"), "{error}");
    assert_eq!(ask(plain(&fixture, "n.csv", count)).await.unwrap(), "1\n");
}
