use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{Error, Operation};

use super::*;

/// Sends an HTTP request as text and returns the whole answer.
pub(super) async fn raw(address: SocketAddr, request: &str) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn signatures_are_wanted() {
    let fixture = Fixture::new().await;
    fixture.put("k", "1").await;
    let get = "GET /bucket/k HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = raw(fixture.server.address(), get).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("AccessDenied"), "{answer}");
    // The id lets users refer to the request when they report an error.
    let (_, id) = answer.split_once("x-amz-request-id: ").unwrap();
    let (id, _) = id.split_once("\r\n").unwrap();
    assert!(answer.contains(&format!("<RequestId>{id}</RequestId>")), "{answer}");
    let select = get.replace("GET /bucket/k", "POST /bucket/k?select&select-type=2");
    let answer = raw(fixture.server.address(), &select).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("AccessDenied"), "{answer}");
    let wrong = client(&fixture.server.endpoint(), fixture.server.access_key(), "wrong");
    let wrong = wrong.get_object().bucket("bucket").key("k").send().await.unwrap_err();
    assert_eq!(code(&wrong), "403 SignatureDoesNotMatch");
}

#[tokio::test]
async fn an_anonymous_server_asks_nobody() {
    let fixture = Fixture::with(Builder::anonymous).await;
    assert_eq!(fixture.server.access_key(), "");
    // The fixture's client signs requests, and sends bodies in chunks that are signed or have trailers.
    fixture.put("k", bytes(200_000)).await;
    assert!(fixture.get("k").await == bytes(200_000));
    let get = "GET /bucket/k HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-3\r\nConnection: close\r\n\r\n";
    let answer = raw(fixture.server.address(), get).await;
    assert!(answer.starts_with("HTTP/1.1 206"), "{answer}");
}

#[tokio::test]
async fn who_waits_to_send_nothing_gets_another_connection() {
    let fixture = Fixture::with(Builder::anonymous).await;
    for (length, closes) in [(0, true), (1, false)] {
        // The last request closes the connection, if it is still open.
        let requests = format!(
            "PUT /bucket/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\
             Expect: 100-continue\r\n\r\n{}GET /bucket/k HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            &"x"[..length]
        );
        let answer = raw(fixture.server.address(), &requests).await;
        assert_eq!(answer.matches("HTTP/1.1 200").count(), 2 - usize::from(closes), "{answer}");
    }
}

#[tokio::test]
async fn presigned_urls() {
    use aws_sdk_s3::presigning::PresigningConfig;
    let fixture = Fixture::new().await;
    fixture.put("a b", "hello").await;
    let config = PresigningConfig::expires_in(Duration::from_secs(60)).unwrap();
    let url = fixture.client.get_object().bucket("bucket").key("a b").presigned(config).await;
    let url = url.unwrap().uri().to_owned();
    let path = url.strip_prefix(&fixture.server.endpoint()).unwrap();
    let host = fixture.server.address();
    let get = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let answer = raw(host, &get).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
}

#[tokio::test]
async fn what_keeps_a_server_from_starting() {
    let fixture = Fixture::new().await;
    let folder = tempfile::tempdir().unwrap();
    let address = fixture.server.address();
    let taken = Server::builder(folder.path()).listen(address).start().await.unwrap_err();
    assert!(matches!(taken, Error::AddressInUse { .. }), "{taken:?}");
    assert!(taken.to_string().contains(&address.to_string()), "{taken}");
    let missing = Server::builder(folder.path().join("none")).start().await.unwrap_err();
    assert!(matches!(missing, Error::FolderMissing { .. }), "{missing:?}");
    std::fs::write(folder.path().join("file"), "").unwrap();
    let file = Server::builder(folder.path().join("file")).start().await.unwrap_err();
    assert!(matches!(file, Error::NotAFolder { .. }), "{file:?}");
    let second = Server::builder(fixture.folder.path()).start().await.unwrap_err();
    assert!(matches!(second, Error::FolderInUse { .. }), "{second:?}");
}

#[tokio::test]
async fn a_stopped_server_lets_go_of_port_and_folder() {
    let fixture = Fixture::new().await;
    let address = fixture.server.address();
    fixture.server.shutdown().await;
    let again = Server::builder(fixture.folder.path()).listen(address).start().await.unwrap();
    drop(again);
    tokio::time::timeout(Duration::from_secs(10), async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn debug_output_tells_no_secret() {
    let builder = Server::builder("folder").credentials("AK", "TOPSECRET");
    assert!(!format!("{builder:?}").contains("TOPSECRET"));
    let fixture = Fixture::with(|b| b.credentials("AK", "TOPSECRET")).await;
    assert!(!format!("{:?}", fixture.server).contains("TOPSECRET"));
    assert_eq!(fixture.server.secret_key(), "TOPSECRET");
}

#[tokio::test]
async fn requests_and_bytes_are_counted_exactly() {
    let fixture = Fixture::with(Builder::anonymous).await;
    fixture.put("k", bytes(100_000)).await;
    let before = fixture.server.counters().snapshot();
    let get = "GET /bucket/k HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut socket = TcpStream::connect(fixture.server.address()).await.unwrap();
    socket.write_all(get.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    let counted = fixture.server.counters().snapshot().since(&before);
    assert_eq!(counted.bytes_in, get.len() as u64);
    assert_eq!(counted.bytes_out, answer.len() as u64);
    assert!(answer.len() > 100_000);
    assert_eq!(counted.requests.into_iter().collect::<Vec<_>>(), [(Operation::GetObject, 1)]);
}

#[tokio::test]
async fn a_shaped_link_and_latency_change_nothing_but_time() {
    let fixture = Fixture::with(|builder| {
        builder.link_rate(Some(50_000_000)).latency(Duration::from_millis(1))
    })
    .await;
    let data = bytes(2_000_000);
    fixture.put("k", data.clone()).await;
    assert!(fixture.get("k").await == data);
    fixture.server.set_link_rate(None);
    assert!(fixture.get("k").await == data);
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let fixture = Fixture::with(Builder::anonymous).await;
    fixture.put("k", "old").await;
    let head = "PUT /bucket/k HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    let mut socket = TcpStream::connect(fixture.server.address()).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(&bytes(500_000)).await.unwrap();
    socket.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    drop(socket);
    assert_eq!(fixture.get("k").await, b"old");
    let temporary = fixture.folder.path().join(".sluice/tmp");
    tokio::time::timeout(Duration::from_secs(10), async {
        while std::fs::read_dir(&temporary).unwrap().count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}
