//! A proxy between an engine and a store that silences or damages answers.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The damage to an answer's body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WireFault {
    /// Nothing is sent after so many bytes; the connection stays open.
    Silence { after: usize },
    /// One bit is flipped, at this fraction of the body.
    Flip { place: f64, bit: u8 },
}

#[derive(Debug)]
struct Rule {
    /// The beginning of the request: `GET /bucket/key`.
    request: String,
    skip: usize,
    harm: WireFault,
    times: usize,
}

/// The proxy, which stops when it is dropped.
pub(crate) struct Wire {
    pub(crate) endpoint: String,
    state: Arc<Mutex<State>>,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<Rule>,
    struck: usize,
}

impl Wire {
    /// Starts a proxy to the store at a URL.
    pub(crate) async fn to(store: &str) -> Self {
        let store = store.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let rules = Arc::clone(&state);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (store, rules) = (store.clone(), Arc::clone(&rules));
                connections.spawn(async move {
                    // Errors are ignored: the client reports a connection that closes early.
                    let _ = pass(client, &store, &rules).await;
                });
            }
        });
        Self { endpoint, state, _tasks: tasks }
    }

    /// Damages answers to requests that begin with `request`, from the `nth` on, counted from 0.
    pub(crate) fn harm(&self, request: &str, nth: usize, times: usize, harm: WireFault) {
        let rule = Rule { request: request.to_owned(), skip: nth, harm, times };
        self.state.lock().unwrap().rules.push(rule);
    }

    /// Removes all rules. Returns the number of answers damaged since the last call.
    pub(crate) fn mend(&self) -> usize {
        let mut state = self.state.lock().unwrap();
        state.rules.clear();
        std::mem::take(&mut state.struck)
    }
}

impl State {
    fn harm(&mut self, request: &[u8]) -> Option<WireFault> {
        let rule = self.rules.iter_mut().find(|it| request.starts_with(it.request.as_bytes()))?;
        if rule.skip > 0 {
            rule.skip -= 1;
            return None;
        }
        rule.times = rule.times.checked_sub(1)?;
        self.struck += 1;
        Some(rule.harm)
    }
}

/// Passes one request to the store, and its answer back.
async fn pass(mut client: TcpStream, store: &str, state: &Mutex<State>) -> std::io::Result<()> {
    let mut request = Vec::new();
    let head = loop {
        if let Some(end) = end_of_head(&request) {
            break end;
        }
        if client.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    };
    let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while request.len() < head + length {
        if client.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let harm = state.lock().unwrap().harm(&request);
    let mut server = TcpStream::connect(store).await?;
    // Each connection has one request.
    server.write_all(&request[..head - 2]).await?;
    server.write_all(b"connection: close\r\n\r\n").await?;
    server.write_all(&request[head..]).await?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await?;
    let body = end_of_head(&answer).unwrap_or(answer.len());
    match harm {
        Some(WireFault::Silence { after }) => {
            let sent = answer.len().min(body + after);
            client.write_all(&answer[..sent]).await?;
            client.flush().await?;
            // Wait until the client closes the connection.
            client.read_buf(&mut request).await?;
            return Ok(());
        }
        Some(WireFault::Flip { place, bit }) if body < answer.len() => {
            let length = answer.len() - body;
            let at = (place * length as f64) as usize;
            answer[body + at.min(length - 1)] ^= 1 << (bit % 8);
        }
        _ => {}
    }
    client.write_all(&answer).await?;
    client.shutdown().await
}

fn end_of_head(message: &[u8]) -> Option<usize> {
    message.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}
