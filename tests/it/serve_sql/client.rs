//! A client of PostgreSQL's protocol, one message at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::cli::{Served, sluice, text};

/// A server of SQL over a store.
pub(super) struct SqlServer {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    pub(super) address: String,
    pub(super) greeting: String,
    /// The store, which must outlive the server.
    _store: Option<Served>,
}

impl SqlServer {
    /// Starts a server without a store.
    pub(super) fn start(options: &[&str]) -> Self {
        Self::start_over(None, options, &[])
    }

    /// Starts a server over a store with `s3://bucket/fruit.csv`.
    pub(super) fn with_store(options: &[&str]) -> Self {
        Self::start_over(Some(Served::start()), options, &[])
    }

    pub(super) fn start_over(
        store: Option<Served>,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let endpoint = store.as_ref().map_or("http://127.0.0.1:1", |store| store.endpoint.as_str());
        let mut command = sluice(&["serve-sql", "--listen", "127.0.0.1:0", "--endpoint", endpoint]);
        command.args(["--store", "sluice"]).args(options).envs(environment.iter().copied());
        command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "my secret");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let (_, address) = line.trim().split_once(" at ").unwrap_or_else(|| panic!("{line}"));
        let address = address.to_owned();
        let mut greeting = line.clone();
        while !greeting.contains("Ctrl-C") {
            line.clear();
            out.read_line(&mut line).unwrap();
            greeting += &line;
        }
        Self { child, out, address, greeting, _store: store }
    }

    pub(super) fn connect(&self) -> Client {
        let mut client = Client::new(&self.address);
        client.start(&[("user", "me"), ("database", "shop")]);
        client
    }

    /// Returns the URL of Flight SQL.
    pub(super) fn flight(&self) -> &str {
        let line =
            self.greeting.lines().find_map(|line| line.strip_prefix("serving Flight SQL at "));
        line.unwrap_or_else(|| panic!("{}", self.greeting))
    }

    /// Returns the number of the server's process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Interrupts the server and waits until it ends; returns its exit code.
    pub(super) fn interrupt(&mut self) -> Option<i32> {
        let sent = std::process::Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for SqlServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A message of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) kind: char,
    pub(super) body: Vec<u8>,
}

/// A connection.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    /// The session's number and secret.
    pub(super) key: Option<[u8; 8]>,
}

impl Client {
    pub(super) fn new(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream, key: None }
    }

    /// Sends the first packet and reads up to the first ReadyForQuery, or an error.
    pub(super) fn start(&mut self, settings: &[(&str, &str)]) -> Vec<Reply> {
        self.first_packet(settings);
        let replies = self.until_ready();
        let key = replies.iter().find(|reply| reply.kind == 'K');
        self.key = key.map(|reply| reply.body.clone().try_into().unwrap());
        replies
    }

    pub(super) fn first_packet(&mut self, settings: &[(&str, &str)]) {
        let mut body = (3_i32 << 16).to_be_bytes().to_vec();
        for (name, value) in settings {
            body.extend(format!("{name}\0{value}\0").bytes());
        }
        body.push(0);
        self.packet(&body);
    }

    /// Sends a packet without a kind.
    pub(super) fn packet(&mut self, body: &[u8]) {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        self.stream.write_all(&[&length[..], body].concat()).unwrap();
    }

    /// Sends a message.
    pub(super) fn send(&mut self, kind: char, body: &[u8]) {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        let kind = [u8::try_from(kind).unwrap()];
        self.stream.write_all(&[&kind[..], &length, body].concat()).unwrap();
    }

    /// Reads a message; `None` at the end of the connection.
    pub(super) fn read(&mut self) -> Option<Reply> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some(Reply { kind: head[0].into(), body })
    }

    /// Reads messages up to ReadyForQuery, or to the end of the connection.
    pub(super) fn until_ready(&mut self) -> Vec<Reply> {
        let mut replies = Vec::new();
        while let Some(reply) = self.read() {
            let is_last = reply.kind == 'Z';
            replies.push(reply);
            if is_last {
                break;
            }
        }
        replies
    }

    /// Runs statements by the simple protocol.
    pub(super) fn simple(&mut self, sql: &str) -> Vec<Reply> {
        self.send('Q', format!("{sql}\0").as_bytes());
        self.until_ready()
    }

    /// Runs statements; returns their rows as text, with NULL for none.
    #[track_caller]
    pub(super) fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let replies = self.simple(sql);
        assert!(error(&replies).is_none(), "{sql}: {:?}", error(&replies));
        rows(&replies)
    }

    /// Runs statements that must fail; returns SQLSTATE and message.
    #[track_caller]
    pub(super) fn fails(&mut self, sql: &str) -> (String, String) {
        let replies = self.simple(sql);
        let fields = error(&replies).unwrap_or_else(|| panic!("{sql} did not fail: {replies:?}"));
        (field(&fields, 'C'), field(&fields, 'M'))
    }

    /// Prepares a statement with types of its parameters.
    pub(super) fn prepare(&mut self, name: &str, sql: &str, types: &[u32]) {
        let mut body = format!("{name}\0{sql}\0").into_bytes();
        body.extend(u16::try_from(types.len()).unwrap().to_be_bytes());
        types.iter().for_each(|oid| body.extend(oid.to_be_bytes()));
        self.send('P', &body);
    }

    /// Binds parameters as text, for an answer in one format.
    pub(super) fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        values: &[Option<&str>],
        format: i16,
    ) {
        let mut body = format!("{portal}\0{statement}\0\0\0").into_bytes();
        body.extend(u16::try_from(values.len()).unwrap().to_be_bytes());
        for value in values {
            let length = value.map_or(-1, |value| i32::try_from(value.len()).unwrap());
            body.extend(length.to_be_bytes());
            body.extend(value.unwrap_or_default().bytes());
        }
        body.extend([0, 1]);
        body.extend(format.to_be_bytes());
        self.send('B', &body);
    }

    pub(super) fn describe(&mut self, kind: char, name: &str) {
        self.send('D', format!("{kind}{name}\0").as_bytes());
    }

    pub(super) fn execute(&mut self, portal: &str, most: i32) {
        let mut body = format!("{portal}\0").into_bytes();
        body.extend(most.to_be_bytes());
        self.send('E', &body);
    }

    pub(super) fn sync(&mut self) -> Vec<Reply> {
        self.send('S', b"");
        self.until_ready()
    }
}

/// Returns the values of the rows.
pub(super) fn rows(replies: &[Reply]) -> Vec<Vec<String>> {
    replies
        .iter()
        .filter(|reply| reply.kind == 'D')
        .map(|reply| {
            let mut rest = &reply.body[2..];
            let count = u16::from_be_bytes(reply.body[..2].try_into().unwrap());
            (0..count)
                .map(|_| {
                    let length = i32::from_be_bytes(rest[..4].try_into().unwrap());
                    rest = &rest[4..];
                    let Ok(length) = usize::try_from(length) else { return "NULL".to_owned() };
                    let value = &rest[..length];
                    rest = &rest[length..];
                    text(value)
                })
                .collect()
        })
        .collect()
}

/// Returns the kinds of messages as one text.
pub(super) fn kinds(replies: &[Reply]) -> String {
    replies.iter().map(|reply| reply.kind).collect()
}

/// Returns the fields of the first error.
pub(super) fn error(replies: &[Reply]) -> Option<Vec<(char, String)>> {
    let reply = replies.iter().find(|reply| reply.kind == 'E')?;
    let fields = reply.body.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    Some(fields.map(|field| (field[0].into(), text(&field[1..]))).collect())
}

pub(super) fn field(fields: &[(char, String)], kind: char) -> String {
    fields.iter().find(|field| field.0 == kind).map_or(String::new(), |field| field.1.clone())
}

/// Returns the tags of completed statements.
pub(super) fn tags(replies: &[Reply]) -> Vec<String> {
    let complete = replies.iter().filter(|reply| reply.kind == 'C');
    complete.map(|reply| text(&reply.body).trim_end_matches('\0').to_owned()).collect()
}
