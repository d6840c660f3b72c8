//! A store that speaks just enough HTTP/1.1 to answer from a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The head of a good answer from a store like Sluicegate's server.
const OK: &str = "HTTP/1.1 200 OK\r\n\
    x-sluice-extensions: decimal-precision, min-max-any, exact-sum, strict-lines, strict-fields, \
    partial-groups, bloom, arrow\r\n";

/// The answer to one Select request.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    head: String,
    body: Vec<u8>,
    /// The size of HTTP chunks.
    chunk_size: usize,
    finish: Finish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    /// Ends the HTTP message correctly.
    Ended,
    /// Closes the connection before the end of the message.
    Torn,
    /// Leaves the connection open and sends nothing more.
    Silent,
    /// Sends the complete message after a delay.
    Late,
    /// Sends the body again and again.
    Dripping,
}

/// The delay of a late answer.
const LATE: std::time::Duration = std::time::Duration::from_millis(500);
/// The interval between the repetitions of a dripping body.
const DRIP: std::time::Duration = std::time::Duration::from_millis(2);

impl Reply {
    fn new(head: &str, body: &[u8], finish: Finish) -> Self {
        Self { head: head.to_owned(), body: body.to_vec(), chunk_size: 1 << 16, finish }
    }

    /// Creates an event stream of these bytes from a store like Sluicegate's server. It may stop anywhere.
    pub(super) fn ended(body: &[u8]) -> Self {
        Self::new(OK, body, Finish::Ended)
    }

    /// Like [`Self::ended`], but from a store that offers no extensions.
    pub(super) fn plain(body: &[u8]) -> Self {
        Self::new("HTTP/1.1 200 OK\r\n", body, Finish::Ended)
    }

    /// Like [`Self::ended`], but the connection breaks.
    pub(super) fn torn(body: &[u8]) -> Self {
        Self::new(OK, body, Finish::Torn)
    }

    /// Like [`Self::ended`], but nothing follows and the connection stays open.
    pub(super) fn silent(body: &[u8]) -> Self {
        Self::new(OK, body, Finish::Silent)
    }

    /// Like [`Self::ended`], but the body is repeated forever.
    pub(super) fn dripping(body: &[u8]) -> Self {
        Self::new(OK, body, Finish::Dripping)
    }

    /// Creates a reply that never sends anything.
    pub(super) fn mute() -> Self {
        Self::new("", &[], Finish::Silent)
    }

    /// Delays the reply by half a second.
    pub(super) fn late(self) -> Self {
        Self { finish: Finish::Late, ..self }
    }

    /// Creates a reply that closes the connection without an answer.
    pub(super) fn hang_up() -> Self {
        Self::new("", &[], Finish::Torn)
    }

    pub(super) fn error(status: u16, code: &str, message: &str) -> Self {
        Self::page(
            status,
            &format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>"),
        )
    }

    pub(super) fn page(status: u16, text: &str) -> Self {
        Self::new(&format!("HTTP/1.1 {status} Status\r\n"), text.as_bytes(), Finish::Ended)
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(super) fn e_tag(self, e_tag: &str) -> Self {
        self.header("x-sluice-etag", &format!("\"{e_tag}\""))
    }

    pub(super) fn chunked(mut self, chunk_size: usize) -> Self {
        self.chunk_size = chunk_size;
        self
    }

    async fn write(&self, to: &mut TcpStream) -> std::io::Result<()> {
        match (self.head.is_empty(), self.finish) {
            (true, Finish::Silent) => std::future::pending::<()>().await,
            (true, _) => return Ok(()),
            (false, Finish::Late) => tokio::time::sleep(LATE).await,
            _ => {}
        }
        let head = format!("{}connection: close\r\ntransfer-encoding: chunked\r\n\r\n", self.head);
        let mut bytes = head.into_bytes();
        for chunk in self.body.chunks(self.chunk_size) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        if matches!(self.finish, Finish::Ended | Finish::Late) {
            bytes.extend(b"0\r\n\r\n");
        }
        to.write_all(&bytes).await?;
        to.flush().await?;
        if self.finish == Finish::Dripping {
            let length = format!("{:x}\r\n", self.body.len());
            loop {
                tokio::time::sleep(DRIP).await;
                to.write_all(&[length.as_bytes(), &self.body, b"\r\n"].concat()).await?;
            }
        }
        if self.finish == Finish::Silent {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

/// Returns the reply that holds these frames and nothing else.
pub(super) fn stream(frames: &[Vec<u8>]) -> Reply {
    Reply::ended(&frames.concat())
}

/// A store that answers from a script. It stops with its runtime or on drop.
pub(super) struct Store {
    endpoint: String,
    shared: Arc<Mutex<Shared>>,
    _tasks: JoinSet<()>,
}

struct Shared {
    replies: VecDeque<Reply>,
    /// The versions that HEAD returns, in order.
    e_tags: VecDeque<String>,
    requests: Vec<String>,
}

impl Store {
    pub(super) async fn start(replies: Vec<Reply>, e_tags: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(Shared {
            replies: replies.into(),
            e_tags: e_tags.iter().map(|e_tag| (*e_tag).to_owned()).collect(),
            requests: Vec::new(),
        }));
        let answering = Arc::clone(&shared);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.spawn(answer(connection, Arc::clone(&answering)));
            }
        });
        Self { endpoint, shared, _tasks: tasks }
    }

    pub(super) fn endpoint(&self) -> String {
        self.endpoint.clone()
    }

    /// Replaces the script and forgets the requests.
    pub(super) fn play(&self, replies: Vec<Reply>) {
        let mut shared = self.shared.lock().unwrap();
        shared.replies = replies.into();
        shared.requests.clear();
    }

    /// Returns the requests so far, each with head and body.
    pub(super) fn requests(&self) -> Vec<String> {
        self.shared.lock().unwrap().requests.clone()
    }

    /// Returns the number of replies that were not requested.
    pub(super) fn unused(&self) -> usize {
        let shared = self.shared.lock().unwrap();
        shared.replies.len() + shared.e_tags.len()
    }
}

/// Answers one request. The answer closes the connection.
async fn answer(mut connection: TcpStream, shared: Arc<Mutex<Shared>>) -> std::io::Result<()> {
    let mut seen = Vec::new();
    let head_end = loop {
        if let Some(at) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if connection.read_buf(&mut seen).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&seen[..head_end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while seen.len() < head_end + length {
        if connection.read_buf(&mut seen).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&seen).into_owned();
    let is_head = request.starts_with("HEAD ");
    if is_head {
        let e_tag = shared.lock().unwrap().e_tags.pop_front();
        let text = match e_tag {
            Some(e_tag) => format!("200 OK\r\ncontent-length: 7\r\netag: \"{e_tag}\""),
            None => "404 Not Found\r\ncontent-length: 0".to_owned(),
        };
        let text = format!("HTTP/1.1 {text}\r\nconnection: close\r\n\r\n");
        connection.write_all(text.as_bytes()).await?;
        return connection.shutdown().await;
    }
    let reply = {
        let mut shared = shared.lock().unwrap();
        shared.requests.push(request);
        shared.replies.pop_front()
    };
    let reply = reply.unwrap_or_else(|| Reply::error(500, "TheScript", "is at its end"));
    reply.write(&mut connection).await?;
    connection.shutdown().await
}

/// Returns an event-stream message: lengths, headers, payload, and the two checksums.
fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for (name, value) in headers {
        encoded.push(u8::try_from(name.len()).unwrap());
        encoded.extend(name.as_bytes());
        encoded.push(7);
        encoded.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        encoded.extend(value.as_bytes());
    }
    let length = u32::try_from(16 + encoded.len() + payload.len()).unwrap();
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(encoded.len()).unwrap().to_be_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes.extend(encoded);
    bytes.extend(payload);
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

pub(super) fn event(kind: &str, payload: &[u8]) -> Vec<u8> {
    let content_type = if kind == "Records" { "application/octet-stream" } else { "text/xml" };
    let headers =
        [(":message-type", "event"), (":event-type", kind), (":content-type", content_type)];
    message(&headers, payload)
}

pub(super) fn records(payload: &[u8]) -> Vec<u8> {
    event("Records", payload)
}

pub(super) fn stats(scanned: i64, processed: i64, returned: i64) -> Vec<u8> {
    let xml = format!(
        "<Stats><BytesScanned>{scanned}</BytesScanned><BytesProcessed>{processed}</BytesProcessed>\
         <BytesReturned>{returned}</BytesReturned></Stats>"
    );
    event("Stats", xml.as_bytes())
}

pub(super) fn end() -> Vec<u8> {
    event("End", b"")
}

pub(super) fn error_frame(code: &str, message_text: &str) -> Vec<u8> {
    let headers =
        [(":error-code", code), (":error-message", message_text), (":message-type", "error")];
    message(&headers, b"")
}
