use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn each_request_has_a_line_and_no_signature() {
    let log = Shared::default();
    let kept = log.clone();
    let fixture = Fixture::with(move |builder| builder.access_log(kept)).await;
    fixture.put("a b.csv", *b"a,b\n").await;
    fixture.get("a b.csv").await;
    let presigned = fixture
        .client
        .get_object()
        .bucket("bucket")
        .key("none")
        .presigned(
            aws_sdk_s3::presigning::PresigningConfig::expires_in(std::time::Duration::from_secs(
                60,
            ))
            .unwrap(),
        )
        .await
        .unwrap();
    let (_, path) = presigned.uri().split_once("://").unwrap().1.split_once('/').unwrap();
    let host = fixture.server.address();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    server::raw(host, &request).await;
    // Some users confuse the ID with the secret.
    let secret = fixture.server.secret_key();
    let wrong = client(&fixture.server.endpoint(), secret, secret);
    wrong.list_buckets().send().await.unwrap_err();
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    let user = format!("127.0.0.1 - {} [", fixture.server.access_key());
    assert!(lines[..4].iter().all(|line| line.starts_with(&user)), "{text}");
    assert!(lines[4].starts_with("127.0.0.1 - - [") && lines[4].contains("\" 403 "), "{text}");
    assert!(!text.contains(secret), "{text}");
    assert!(lines[0].contains("\"PUT /bucket"), "{text}");
    assert!(
        lines[2].contains("\"GET /bucket/a%20b.csv") && lines[2].contains("\" 200 4 \"-\""),
        "{text}"
    );
    assert!(lines[3].contains("\"GET /bucket/none") && lines[3].contains("\" 404 "), "{text}");
    assert!(!text.contains("Signature") && !text.contains("Credential"), "{text}");
}
