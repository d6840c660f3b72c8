//! A served store, and clients that send any bytes.
//!
//! Its clock stands still while any task can run, and jumps when all tasks wait. A client that sends nothing
//! therefore times out at once, and no input takes long.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use sluicegate_server::{Limits, Server};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

use crate::sign::{ACCESS_KEY, SECRET_KEY};

/// The contents of the bucket `bucket` before each input.
pub const OBJECTS: [(&str, &str); 3] = [
    ("guard", "what nobody may change"),
    ("table.csv", "a,b\n1,x\n2,y\n"),
    ("lines.json", "{\"a\":1}\n{\"a\":[2,3]}\n"),
];

/// A server with a folder of its own.
pub struct Store {
    runtime: Runtime,
    server: Server,
    folder: TempDir,
}

/// The first answer on a connection.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Headers; names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, with chunked encoding removed.
    pub body: Vec<u8>,
}

impl Store {
    pub fn anonymous() -> io::Result<Self> {
        Self::start(false)
    }

    /// Starts a store that requires signatures by the key pair of [`sign`](crate::sign).
    pub fn signed() -> io::Result<Self> {
        Self::start(true)
    }

    fn start(signed: bool) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build()?;
        let folder = TempDir::new()?;
        fs::create_dir(folder.path().join("store"))?;
        let limits = Limits { upload_bytes: 1 << 20, ..Limits::default() };
        let builder = Server::builder(folder.path().join("store"))
            .sync_writes(false)
            .upload_expiry(None)
            .limits(limits);
        let builder = match signed {
            true => builder.credentials(ACCESS_KEY, SECRET_KEY),
            false => builder.anonymous(),
        };
        let server = runtime.block_on(builder.start()).map_err(io::Error::other)?;
        let store = Self { runtime, server, folder };
        store.reset()?;
        Ok(store)
    }

    /// Returns the folder around the served one, which no answer may reveal.
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// Restores the store to its [`OBJECTS`].
    pub fn reset(&self) -> io::Result<()> {
        let root = self.folder.path().join("store");
        for entry in fs::read_dir(&root)? {
            let path = entry?.path();
            if !path.ends_with(".sluice") {
                fs::remove_dir_all(path)?;
            }
        }
        for own in ["meta", "names", "uploads", "completed"] {
            match fs::read_dir(root.join(".sluice").join(own)) {
                Ok(entries) => {
                    for entry in entries {
                        let path = entry?.path();
                        if path.is_dir() {
                            fs::remove_dir_all(path)?;
                        } else {
                            fs::remove_file(path)?;
                        }
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        fs::create_dir(root.join("bucket"))?;
        for (key, bytes) in OBJECTS {
            fs::write(root.join("bucket").join(key), bytes)?;
        }
        Ok(())
    }

    /// Returns the bytes of an object in the bucket, if it exists.
    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        fs::read(self.folder.path().join("store/bucket").join(key)).ok()
    }

    /// Sends bytes over a connection, in pieces of this size, and returns everything that the server sends until it
    /// closes the connection.
    pub fn say(&self, bytes: &[u8], piece: usize) -> Vec<u8> {
        self.runtime.block_on(async {
            let mut answer = Vec::new();
            let Ok(mut socket) = TcpStream::connect(self.server.address()).await else {
                return answer;
            };
            let _ = socket.set_nodelay(true);
            let (mut reader, mut writer) = socket.split();
            let write = async {
                for piece in bytes.chunks(piece.max(1)) {
                    if writer.write_all(piece).await.is_err() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            };
            // A connection that is reset ends an answer, too.
            let read = async { while let Ok(1..) = reader.read_buf(&mut answer).await {} };
            let both = async { tokio::join!(write, read) };
            let ended = tokio::time::timeout(Duration::from_secs(3600), both).await;
            assert!(ended.is_ok(), "the server neither answers nor gives up");
            answer
        })
    }

    /// Sends bytes and returns the first answer.
    pub fn ask(&self, bytes: &[u8], piece: usize) -> Option<Answer> {
        Answer::read(&self.say(bytes, piece))
    }
}

impl Answer {
    /// Parses an answer; `None` if there is none, or only a part of one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).expect("heads are text");
        let mut lines = head.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.").expect("answers are HTTP");
        let status = status.get(2..5)?.parse().ok()?;
        if (100..200).contains(&status) {
            // An informational answer precedes the final one.
            return Self::read(&bytes[end + 4..]);
        }
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers: Vec<_> =
            headers.map(|(n, v)| (n.to_ascii_lowercase(), v.trim().to_owned())).collect();
        let body = bytes[end + 4..].to_vec();
        let mut answer = Self { status, headers, body };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = joined(&answer.body);
        } else if let Some(length) = answer.header("content-length") {
            let length = length.parse().unwrap_or(usize::MAX).min(answer.body.len());
            answer.body.truncate(length);
        }
        Some(answer)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Joins the complete chunks of a body.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(end) = chunks.windows(2).position(|w| w == b"\r\n") {
        let size = std::str::from_utf8(&chunks[..end]).unwrap_or_default();
        let Ok(size) = usize::from_str_radix(size, 16) else { break };
        let Some(chunk) = chunks.get(end + 2..end + 2 + size) else { break };
        if size == 0 {
            break;
        }
        bytes.extend_from_slice(chunk);
        chunks = chunks.get(end + 4 + size..).unwrap_or_default();
    }
    bytes
}
