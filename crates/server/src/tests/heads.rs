//! Tests of request heads that HTTP or S3 refuses, as they are on the wire.

use super::server::raw;
use super::*;

#[tokio::test]
async fn heads_that_may_be_read_in_two_ways_are_refused() {
    let fixture = Fixture::with(Builder::anonymous).await;
    const HOST: &str = "Host: localhost\r\n";
    for (request, headers, status, code) in [
        ("GET /bucket HTTP/1.1", "", "400", "InvalidRequest"),
        ("PUT /bucket/k HTTP/1.1", "Content-Length: 0\r\n", "400", "InvalidRequest"),
        ("GET /bucket HTTP/1.1", "Host: localhost\r\nHost: localhost\r\n", "400", "InvalidRequest"),
        ("GET /bucket HTTP/1.1", "Host: me@localhost\r\n", "400", "InvalidRequest"),
        ("GET /bucket HTTP/1.1", "Host: localhost:port\r\n", "400", "InvalidRequest"),
        ("GET /bucket HTTP/1.0", "", "200", "ListBucketResult"),
        ("GET /bucket HTTP/1.1", HOST, "200", "ListBucketResult"),
        ("PUT /bucket/k HTTP/1.1", HOST, "411", "MissingContentLength"),
        (
            "PUT /bucket/k HTTP/1.1",
            "Host: localhost\r\nTransfer-Encoding: gzip, chunked\r\n",
            "501",
            "NotImplemented",
        ),
    ] {
        let request = format!("{request}\r\n{headers}Connection: close\r\n\r\n");
        let answer = raw(fixture.server.address(), &request).await;
        let said = answer.get(9..12).unwrap_or_default();
        assert!(said == status && answer.contains(code), "{request} {answer}");
    }
    assert!(fixture.keys().await.is_empty());
}

#[tokio::test]
async fn signatures_of_other_kinds_prove_nothing() {
    let fixture = Fixture::new().await;
    for value in ["AWS4-HMAC-SHA1 Credential=me", "Basic bWU6c2VjcmV0", "Bearer me"] {
        let request = format!(
            "GET /bucket HTTP/1.1\r\nHost: localhost\r\nAuthorization: {value}\r\n\
             Connection: close\r\n\r\n"
        );
        let answer = raw(fixture.server.address(), &request).await;
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("InvalidArgument"),
            "{answer}"
        );
    }
}
