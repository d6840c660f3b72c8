//! Tests of clients that are slow, fall silent, or leave.

use std::time::Duration;

use aws_sdk_s3::types::SelectObjectContentEventStream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Limits;

use super::limits::{ask, may_open, plain};
use super::server::raw;
use super::*;

/// A time-out far above the duration of anything that works here.
const FOREVER: Duration = Duration::from_secs(60);

async fn connect(server: &Server, request: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

fn get(key: &str) -> String {
    format!("GET /bucket/{key} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

fn put(key: &str, length: usize) -> String {
    format!("PUT /bucket/{key} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
}

/// Starts an anonymous server with short time-outs.
async fn impatient() -> Fixture {
    let client_timeout = Duration::from_secs(1);
    let limits = Limits { client_timeout, least_rate: 64 << 10, ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.anonymous().limits(limits)).await;
    fixture.put("small", "1").await;
    fixture.put("large", bytes(64 << 20)).await;
    fixture
}

/// Waits until the server has closed all connections.
async fn nobody_is_waited_for(server: &Server) {
    let given_up = async {
        while server.counters().open_connections() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(FOREVER, given_up).await.unwrap();
}

#[tokio::test]
async fn silent_clients_are_given_up() {
    let fixture = impatient().await;
    for request in [
        // These send nothing, or a part of a head.
        String::new(),
        "GET /bucket/small HTTP/1.1\r\nHost: local".to_owned(),
        // These send a part of a body, or a part of an XML document.
        put("k", 1000) + "part",
        put("k", 1000).replace("PUT /bucket/k", "POST /bucket?delete") + "<Delete>",
        // This one does not read its answer.
        get("large"),
    ] {
        let silent = connect(&fixture.server, &request).await;
        nobody_is_waited_for(&fixture.server).await;
        drop(silent);
    }
    assert_eq!(fixture.keys().await, ["large", "small"]);
}

#[tokio::test]
async fn trickling_clients_are_given_up() {
    let fixture = impatient().await;
    let mut slow = connect(&fixture.server, &put("k", 1 << 30)).await;
    let trickle = async {
        // The loop ends when the server closes the connection.
        while slow.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(FOREVER, trickle).await.unwrap();
    let mut answer = String::new();
    let _ = slow.read_to_string(&mut answer).await;
    assert!(answer.is_empty() || answer.contains("RequestTimeout"), "{answer}");

    let mut slow = connect(&fixture.server, &get("large")).await;
    let trickle = async {
        let mut byte = [0; 1];
        for _ in 0..100 {
            if slow.read_exact(&mut byte).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::join!(trickle, nobody_is_waited_for(&fixture.server));
}

#[tokio::test]
async fn a_silent_upload_is_told_so() {
    let limits = Limits { client_timeout: Duration::from_millis(200), ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.anonymous().limits(limits)).await;
    let mut silent = connect(&fixture.server, &put("k", 1000)).await;
    silent.write_all(b"part").await.unwrap();
    let mut answer = String::new();
    timeout(FOREVER, silent.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("RequestTimeout"), "{answer}");
    assert!(fixture.keys().await.is_empty());
}

/// There are more uploads than threads for blocking work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_uploads_keep_nobody_out() {
    const UPLOADS: usize = 600;
    if !may_open(4096) {
        return;
    }
    let limits = Limits { uploads: UPLOADS + 1, ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.anonymous().limits(limits)).await;
    let mut slow = Vec::new();
    for n in 0..UPLOADS {
        slow.push(connect(&fixture.server, &(put(&n.to_string(), 5) + "sl")).await);
    }
    let others = async {
        fixture.put("k", "1,2\n").await;
        assert_eq!(fixture.get("k").await, b"1,2\n");
        assert_eq!(ask(plain(&fixture, "k", "SELECT _2 FROM S3Object")).await.unwrap(), "2\n");
        assert_eq!(fixture.keys().await, ["k"]);
    };
    timeout(FOREVER, others).await.unwrap();
    // In the end they succeed like any other upload.
    for socket in &mut slow {
        socket.write_all(b"ow!").await.unwrap();
        let mut answer = [0; 12];
        timeout(FOREVER, socket.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
    assert_eq!(fixture.get("599").await, b"slow!");
}

#[tokio::test]
async fn uploads_over_the_limit_wait_and_are_told_to_come_back() {
    // With this rate, each byte gains a second.
    let client_timeout = Duration::from_secs(2);
    let limits = Limits { uploads: 1, client_timeout, least_rate: 1, ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.anonymous().limits(limits)).await;
    let mut first = connect(&fixture.server, &(put("first", 1000) + "x")).await;
    let mut sent = 1;
    let drafts = fixture.folder.path().join(".sluice/tmp");
    while std::fs::read_dir(&drafts).unwrap().count() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = put("second", 3).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let mut second = std::pin::pin!(timeout(FOREVER, raw(fixture.server.address(), &second)));
    let answer = loop {
        tokio::select! {
            answer = &mut second => break answer.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(100)) => {
                first.write_all(b"x").await.unwrap();
                sent += 1;
            }
        }
    };
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("SlowDown"), "{answer}");
    first.write_all(&vec![b'x'; 1000 - sent]).await.unwrap();
    let mut answer = [0; 12];
    first.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    fixture.put("second", "two").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_keep_no_statement_out() {
    let fixture = Fixture::with(|builder| builder.select_slots(2)).await;
    fixture.put("long.csv", "a row that is returned\n".repeat(1 << 20)).await;
    let mut unread = Vec::new();
    for _ in 0..4 {
        let mut events =
            plain(&fixture, "long.csv", "SELECT * FROM S3Object").send().await.unwrap().payload;
        assert!(events.recv().await.unwrap().is_some());
        unread.push(events);
    }
    let count = ask(plain(&fixture, "long.csv", "SELECT COUNT(*) FROM S3Object"));
    assert_eq!(timeout(FOREVER, count).await.unwrap().unwrap(), "1048576\n");
    // When they are read at last, they are complete.
    for mut events in unread {
        let mut ended = false;
        while let Some(event) = timeout(FOREVER, events.recv()).await.unwrap().unwrap() {
            ended = matches!(event, SelectObjectContentEventStream::End(_));
        }
        assert!(ended);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_nobody_reads_ends() {
    // The client library's read-ahead is limited.
    let limits = Limits { client_timeout: Duration::from_secs(2), ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.select_slots(1).limits(limits)).await;
    fixture.put("long.csv", "a row that is returned\n".repeat(4 << 20)).await;
    let mut unread = Vec::new();
    // This is the maximum number of begun statements.
    for _ in 0..4 {
        let all = plain(&fixture, "long.csv", "SELECT * FROM S3Object");
        let mut events = all.send().await.unwrap().payload;
        assert!(events.recv().await.unwrap().is_some());
        unread.push(events);
    }
    let count = ask(plain(&fixture, "long.csv", "SELECT COUNT(*) FROM S3Object"));
    assert_eq!(timeout(FOREVER, count).await.unwrap().unwrap(), "4194304\n");
    let mut cut = 0;
    for mut events in unread {
        cut += usize::from(loop {
            match events.recv().await {
                Ok(Some(SelectObjectContentEventStream::End(_))) => break false,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break true,
            }
        });
    }
    assert!(cut > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_slowest_reader_gives_way_to_who_waits_to_begin() {
    // The time-out is so long that no client is disconnected for being slow.
    let limits = Limits { client_timeout: Duration::from_secs(3600), ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.select_slots(1).limits(limits)).await;
    fixture.put("long.csv", "a row that is returned\n".repeat(4 << 20)).await;
    let mut slow = Vec::new();
    // This is the maximum number of begun statements.
    for _ in 0..4 {
        let all = plain(&fixture, "long.csv", "SELECT * FROM S3Object");
        let mut events = all.send().await.unwrap().payload;
        assert!(events.recv().await.unwrap().is_some());
        slow.push(events);
    }
    let count = ask(plain(&fixture, "long.csv", "SELECT COUNT(*) FROM S3Object"));
    assert_eq!(timeout(FOREVER, count).await.unwrap().unwrap(), "4194304\n");
    let mut ended = 0;
    for mut events in slow {
        ended += usize::from(loop {
            match timeout(FOREVER, events.recv()).await.unwrap() {
                Ok(Some(SelectObjectContentEventStream::End(_))) => break false,
                Ok(Some(_)) => {}
                Ok(None) => panic!("an answer without its end"),
                Err(error) => {
                    let why = format!("{error:?}");
                    assert!(why.contains("Busy") && why.contains("read too slowly"), "{why}");
                    break true;
                }
            }
        });
    }
    assert!((1..4).contains(&ended), "{ended}");
}

#[tokio::test]
async fn silent_connections_give_way_to_new_ones() {
    let limits = Limits { connections: 4, ..Limits::default() };
    let fixture = Fixture::with(|builder| builder.anonymous().limits(limits)).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(connect(&fixture.server, "GET /bucket/sm").await);
    }
    let served = async {
        fixture.put("k", "1").await;
        raw(fixture.server.address(), &get("k")).await
    };
    let answer = timeout(FOREVER, served).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(fixture.server.counters().open_connections() <= 4);
}
