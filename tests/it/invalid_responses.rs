//! Stores that redirect, mix versions, or list without an end: their answers are refused.

use std::sync::{Arc, Mutex};

use sluicegate_client::{ConnectOptions, Credentials};
use sluicegate_engine::config::Scan;
use sluicegate_engine::{Engine, ErrorKind};
use sluicegate_s3select::capabilities::StoreCapabilities;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::harness::text;

const TOKEN: &str = "the-token-of-a-session";
const OBJECT: &str = "x,y\n1,1\n2,1\n3,1\n";

/// A store whose answer is a function of the request's head. It stops when it is dropped.
struct Store {
    endpoint: String,
    heads: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Store {
    async fn start(answer: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let (seen, answer) = (Arc::clone(&heads), Arc::new(answer));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                connections.spawn(async move {
                    let _ = serve(connection, &seen, &*answer).await;
                });
            }
        });
        Self { endpoint, heads, _tasks: tasks }
    }

    async fn engine(&self) -> Engine {
        self.engine_with(Some(TOKEN)).await
    }

    /// Builds an engine with or without a session token.
    async fn engine_with(&self, token: Option<&str>) -> Engine {
        let session_token = token.map(str::to_owned);
        let credentials = Credentials { session_token, ..Credentials::new("id", "secret") };
        let options = ConnectOptions {
            credentials: Some(credentials),
            endpoint: Some(self.endpoint.clone()),
            ..ConnectOptions::default()
        };
        let engine = Engine::builder().connect(options).profile(StoreCapabilities::unknown());
        engine.scan(Scan::Get).build().await.unwrap()
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Reads one request and sends its answer.
async fn serve(
    mut connection: TcpStream,
    seen: &Mutex<Vec<String>>,
    answer: &(dyn Fn(&str, usize) -> String + Send + Sync),
) -> std::io::Result<()> {
    let mut head = Vec::new();
    // Read up to the end of the head; a body may follow.
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if connection.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let before = {
        let mut seen = seen.lock().unwrap();
        seen.push(head.clone());
        seen.len() - 1
    };
    connection.write_all(answer(&head, before).as_bytes()).await?;
    connection.shutdown().await
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Returns a page of a listing of one object.
fn page(rest: &str) -> String {
    let size = OBJECT.len();
    let page = format!(
        "<ListBucketResult><Name>b</Name><Prefix></Prefix><KeyCount>1</KeyCount>{rest}<Contents><Key>t/a.csv</Key>\
         <LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"one\"</ETag><Size>{size}</Size>\
         </Contents></ListBucketResult>"
    );
    reply("200 OK", "Content-Type: application/xml\r\n", &page)
}

/// Returns the answer with a version of the object.
fn object(head: &str, version: &str, object: &str) -> String {
    let e_tag = format!("ETag: \"{version}\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n");
    if head.starts_with("HEAD") {
        let length = object.len();
        return format!(
            "HTTP/1.1 200 OK\r\n{e_tag}Connection: close\r\nContent-Length: {length}\r\n\r\n"
        );
    }
    let range = head.to_ascii_lowercase();
    let range = range.lines().find_map(|line| line.strip_prefix("range: bytes="));
    let Some(range) = range else { return reply("200 OK", &e_tag, object) };
    let (first, last) = range.split_once('-').unwrap();
    let end = object.len();
    let first: usize = first.parse().unwrap_or(0);
    let last = last.trim().parse().unwrap_or(end).min(end - 1);
    let headers = format!("{e_tag}Content-Range: bytes {first}-{last}/{end}\r\n");
    reply("206 Partial Content", &headers, &object[first..=last])
}

fn lists(head: &str) -> bool {
    head.starts_with("GET ") && head.contains("list-type=2")
}

async fn fails(store: &Store, sql: &str, kind: ErrorKind, expected: &str) {
    let error = store.engine().await.collect(sql).await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(expected), "{error}");
}

const COUNT: &str = "SELECT count(*) FROM 's3://b/t/'";

/// A redirect is never followed: another host's answer is not the store's.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        for token in [Some(TOKEN), None] {
            let other = Store::start(|head, _| object(head, "one", OBJECT)).await;
            let location = format!("Location: {}/b/t/a.csv\r\n", other.endpoint);
            let store = Store::start(move |_, _| reply(status, &location, "")).await;
            let sql = "SELECT count(*) FROM 's3://b/t/a.csv'";
            let error = store.engine_with(token).await.collect(sql).await.unwrap_err().to_string();
            assert!(error.contains("redirects to another place"), "{status}: {error}");
            let has_token = store.heads().iter().any(|head| head.contains(TOKEN));
            assert_eq!(has_token, token.is_some(), "{status}");
            assert_eq!(other.heads(), Vec::<String>::new(), "{status}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_another_version_is_none() {
    let newer = OBJECT.replace(",1", ",2");
    let sum = "SELECT sum(y) FROM 's3://b/t/a.csv'";
    let whole = Store::start(|head, _| match lists(head) {
        true => page(""),
        false => object(head, "one", OBJECT),
    })
    .await;
    let right = whole.engine().await.collect(sum).await.unwrap();
    assert_eq!(text(&right), ["\"3\""]);
    let gets = whole.heads().iter().filter(|head| head.starts_with("GET /b/t/a.csv")).count();
    // The store ignores conditions of requests. In each round, another answer is the first of the new version.
    for changed in 0..gets {
        let newer = newer.clone();
        let count = Mutex::new(0);
        let mixed = Store::start(move |head, _| {
            if lists(head) {
                return page("");
            }
            let mut count = count.lock().unwrap();
            *count += usize::from(head.starts_with("GET /b/t/a.csv"));
            match *count > changed {
                true => object(head, "two", &newer),
                false => object(head, "one", OBJECT),
            }
        })
        .await;
        fails(&mixed, sum, ErrorKind::Changed, "changed while it was being read").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_listing_is_none() {
    let truncated = "<IsTruncated>true</IsTruncated>";
    let same = format!("{truncated}<NextContinuationToken>a</NextContinuationToken>");
    for (rest, expected) in
        [(truncated, "and not where"), (same.as_str(), "answers each page of its listing")]
    {
        let page = page(rest);
        let store = Store::start(move |head, _| match lists(head) {
            true => page.clone(),
            false => object(head, "one", OBJECT),
        })
        .await;
        fails(&store, COUNT, ErrorKind::Unavailable, expected).await;
        assert!(store.heads().len() < 10, "{:?}", store.heads());
    }
}

/// A listing whose pages form a circle ends with an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_listing_in_a_circle_is_none() {
    let next = |token: &str| {
        let after = match token {
            "a" => "b",
            "b" => "c",
            _ => "a",
        };
        page(&format!(
            "<IsTruncated>true</IsTruncated><NextContinuationToken>{after}</NextContinuationToken>"
        ))
    };
    let store = Store::start(move |head, _| {
        let token = head.split("continuation-token=").nth(1);
        let token = token.and_then(|it| it.split(['&', ' ']).next());
        if lists(head) { next(token.unwrap_or("")) } else { object(head, "one", OBJECT) }
    })
    .await;
    fails(&store, COUNT, ErrorKind::Unavailable, "that it has sent before").await;
    assert!(store.heads().len() < 20, "{:?}", store.heads());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_something_else_is_no_listing() {
    for body in ["<foo/>", "<html>login</html>", "{}"] {
        let store = Store::start(move |head, _| match head.starts_with("GET ") {
            true => reply("200 OK", "", body),
            false => reply("404 Not Found", "", ""),
        })
        .await;
        let table = "CREATE EXTERNAL TABLE t (x INT) STORED AS csv LOCATION 's3://b/t/'";
        for sql in [table, COUNT, "SELECT count(*) FROM glob('s3://b/**')"] {
            let error = store.engine().await.collect(sql).await.unwrap_err().to_string();
            assert!(error.contains("is no S3 listing"), "{sql} {body}: {error}");
        }
    }
}

/// The message of a refusal has a limited length.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_has_an_end() {
    let store = Store::start(|_, _| {
        let length = 1_u64 << 40;
        format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\n\r\n{}", "é".repeat(40_000))
    })
    .await;
    let error = store.engine().await.collect(COUNT).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Access, "{error}");
}

/// A write has one outcome, whatever happens to its answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_is_lost_is_looked_for() {
    const WRITTEN: &str = "a\n1\n";
    const LOST: &str = "";
    let no_e_tag = reply("200 OK", "", "");
    let there = |head: &str| object(head, "one", WRITTEN);
    let other = |head: &str| object(head, "one", "a\n2\n");
    let longer = |head: &str| object(head, "one", "a\n1\n2\n");
    let nothing = |_: &str| reply("404 Not Found", "", "");
    let refused = |_: &str| reply("403 Forbidden", "", "<Error><Code>AccessDenied</Code></Error>");
    type Answer = fn(&str) -> String;
    let cases: [(&str, Answer, Option<bool>); 7] = [
        (LOST, there, Some(true)),
        (&no_e_tag, there, Some(true)),
        (&no_e_tag, other, Some(false)),
        (&no_e_tag, longer, Some(false)),
        (LOST, nothing, Some(false)),
        (&no_e_tag, nothing, Some(false)),
        (&no_e_tag, refused, None),
    ];
    let copies = cases.map(async |(put, get, outcome)| {
        let (put, sent) = (put.to_owned(), Mutex::new(false));
        let store = Store::start(move |head, _| {
            let mut sent = sent.lock().unwrap();
            *sent |= head.starts_with("PUT ");
            match *sent {
                _ if lists(head) => reply("200 OK", "", "<ListBucketResult></ListBucketResult>"),
                true if head.starts_with("PUT ") => put.clone(),
                true => get(head),
                false => reply("404 Not Found", "", ""),
            }
        });
        let store = store.await;
        let engine = store.engine().await;
        let copied = engine.collect("COPY (SELECT 1 AS a) TO 's3://b/t/a.csv'").await;
        match copied {
            Ok(_) => assert_eq!(outcome, Some(true)),
            Err(error) => {
                let unknown = "whether `t/a.csv` was written is not known";
                let is_unknown = error.to_string().contains(unknown);
                assert_eq!(outcome, (!is_unknown).then_some(false), "{error}");
            }
        }
    });
    futures::future::join_all(copies).await;
}
