//! Tests of requests that are answered before their body is read.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Limits;

use super::server::raw;
use super::*;

/// More than the sockets of both sides buffer.
const LENGTH: usize = 16 << 20;

fn request(line: &str, length: usize) -> String {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
}

async fn small_uploads(client_timeout: Duration) -> Fixture {
    let limits = Limits { upload_bytes: 1000, client_timeout, ..Limits::default() };
    Fixture::with(|builder| builder.anonymous().limits(limits)).await
}

#[tokio::test]
async fn a_client_that_sends_all_of_a_refused_body_reads_the_answer() {
    let fixture = small_uploads(Duration::from_secs(60)).await;
    for (line, expected) in [
        ("PUT /bucket/k", "EntityTooLarge"),
        ("PUT /nowhere/k", "NoSuchBucket"),
        ("PUT /bucket/k?partNumber=1&uploadId=x", "NoSuchUpload"),
        ("PUT /bucket/k?torrent", "NotImplemented"),
        ("POST /bucket?delete", "MaxMessageLengthExceeded"),
        ("POST /bucket/k?select&select-type=2", "ExpressionTooLong"),
    ] {
        let whole = request(line, LENGTH) + &"x".repeat(LENGTH);
        let answer = raw(fixture.server.address(), &whole).await;
        assert!(answer.contains(expected), "{line}: {answer}");
    }
    assert!(fixture.keys().await.is_empty());
    // A connection whose bodies were read is closed at once.
    let put = request("PUT /bucket/k", 1).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\nx");
    let answer = raw(fixture.server.address(), &put).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_client_that_goes_on_with_a_refused_body_is_left() {
    let fixture = small_uploads(Duration::from_secs(1)).await;
    let mut client = TcpStream::connect(fixture.server.address()).await.unwrap();
    client.write_all(request("PUT /bucket/k", 1 << 40).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains("EntityTooLarge"), "{answer}");
    // The server closed its direction, and closes the other one, too.
    while client.write_all(b"x").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    while fixture.server.counters().open_connections() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
