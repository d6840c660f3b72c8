//! Answers of a store that sends anything: the client returns rows or an error.
//!
//! The first byte chooses the client's request and the sizes of the answer's pieces. The rest is either the answer's
//! bytes themselves, or a recipe for frames with right checksums, so that the decoder does not reject every mutation:
//! a byte for the kind, two for the payload's length, the payload.
#![no_main]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{DataType, Field, Schema};
use futures::StreamExt;
use libfuzzer_sys::fuzz_target;
use sluicegate_client::{Client, ConnectOptions, Credentials, RetryPolicy, SelectCall};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, InputFormat, InputSerialization, OutputSerialization,
    SelectRequest,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

/// A client, and a store that answers it with the bytes in `answer`.
struct Loop {
    runtime: Runtime,
    tasks: LocalSet,
    client: Client,
    answer: Rc<RefCell<Vec<u8>>>,
}

thread_local! {
    static LOOP: Loop = start();
}

fn start() -> Loop {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let tasks = LocalSet::new();
    let answer = Rc::new(RefCell::new(Vec::new()));
    let answering = Rc::clone(&answer);
    let client = tasks.block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::task::spawn_local(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let answer = Rc::clone(&answering);
                tokio::task::spawn_local(async move {
                    let _ = serve(connection, &answer).await;
                });
            }
        });
        let options = ConnectOptions {
            endpoint: Some(endpoint),
            region: Some("us-east-1".to_owned()),
            credentials: Some(Credentials::new("fuzz", "fuzz")),
            idle_timeout: Duration::from_secs(5),
            request_attempts: 1,
            ..ConnectOptions::default()
        };
        Client::connect(&options, StoreCapabilities::sluice()).await.unwrap()
    });
    Loop { runtime, tasks, client, answer }
}

async fn serve(mut connection: TcpStream, answer: &RefCell<Vec<u8>>) -> std::io::Result<()> {
    let mut seen = Vec::new();
    while !seen.ends_with(b"</SelectObjectContentRequest>") {
        if connection.read_buf(&mut seen).await? == 0 {
            return Ok(());
        }
    }
    let answer = answer.borrow().clone();
    connection.write_all(&answer).await?;
    connection.shutdown().await
}

/// Builds a message: lengths, headers, payload, and the two checksums.
fn message(headers: &[(&str, &[u8])], payload: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for (name, value) in headers {
        encoded.push(name.len() as u8);
        encoded.extend(name.as_bytes());
        encoded.push(7);
        encoded.extend((value.len() as u16).to_be_bytes());
        encoded.extend(*value);
    }
    framed(&encoded, payload)
}

fn framed(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = ((16 + headers.len() + payload.len()) as u32).to_be_bytes().to_vec();
    bytes.extend((headers.len() as u32).to_be_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes.extend(headers);
    bytes.extend(payload);
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

fn cook(mut recipe: &[u8]) -> Vec<u8> {
    const MESSAGE: &str = ":message-type";
    const EVENT: &str = ":event-type";
    const CONTENT: (&str, &[u8]) = (":content-type", b"application/octet-stream");
    let mut frames = Vec::new();
    while let [kind, high, low, rest @ ..] = recipe {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (payload, behind) = rest.split_at(length);
        recipe = behind;
        let event = |name: &str| {
            message(&[(MESSAGE, b"event"), (EVENT, name.as_bytes()), CONTENT], payload)
        };
        frames.extend(match kind {
            0 => event("Records"),
            1 => event("Stats"),
            2 => event("Progress"),
            3 => event("Cont"),
            4 => event("End"),
            5 => message(
                &[(MESSAGE, b"error"), (":error-code", payload), (":error-message", payload)],
                b"",
            ),
            6 => message(&[(MESSAGE, b"exception"), (":exception-type", payload)], payload),
            7 => message(&[(MESSAGE, payload), (EVENT, b"Records"), CONTENT], b"1,2\n"),
            8 => message(&[(EVENT, payload), (MESSAGE, b"event")], b"<Stats></Stats>"),
            9 => framed(payload, b"1,2\n"),
            _ => payload.to_vec(),
        });
    }
    frames
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let body = if choice & 1 == 0 { cook(rest) } else { rest.to_vec() };
    let csv = choice & 2 == 0;
    let empty = choice & 4 != 0;
    let head = match choice >> 3 & 3 {
        0 | 1 => "HTTP/1.1 200 OK\r\nx-sluice-etag: \"1\"\r\n",
        2 => "HTTP/1.1 400 Bad Request\r\n",
        _ => "HTTP/1.1 503 Slow Down\r\n",
    };
    let mut answer = format!("{head}connection: close\r\n").into_bytes();
    if choice & 32 == 0 {
        answer.extend(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        answer.extend(&body);
    } else {
        answer.extend(b"transfer-encoding: chunked\r\n\r\n");
        for chunk in body.chunks(usize::from(choice >> 6) * 7 + 1) {
            answer.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
            answer.extend(chunk);
            answer.extend(b"\r\n");
        }
        answer.extend(b"0\r\n\r\n");
    }
    let fields = [("n", DataType::Int64), ("s", DataType::Utf8)];
    let fields = fields.map(|(name, data_type)| Field::new(name, data_type, true));
    let schema = if empty { Schema::empty() } else { Schema::new(fields.to_vec()) };
    let request = SelectRequest {
        expression: "SELECT s.n, s.s FROM S3Object s".to_owned(),
        input: InputSerialization {
            format: InputFormat::Csv(CsvInput::default()),
            compression: Compression::None,
        },
        output: if csv {
            OutputSerialization::Csv(CsvOutput::default())
        } else {
            OutputSerialization::Json { record_delimiter: "\n".to_owned() }
        },
        scan_range: None,
        progress: false,
        extras: Extras::NONE,
    };
    let mut call = SelectCall::new("bucket", "key", request, Arc::new(schema));
    call.batch_size = 3;
    call.retry = RetryPolicy { stream_attempts: 1, ..RetryPolicy::default() };
    LOOP.with(|fuzzed| {
        *fuzzed.answer.borrow_mut() = answer;
        fuzzed.tasks.block_on(&fuzzed.runtime, async {
            let Ok(mut rows) = fuzzed.client.select(call).await else { return };
            let schema = Arc::clone(rows.schema());
            let mut failed = false;
            while let Some(batch) = rows.next().await {
                assert!(!failed, "something follows an error");
                match batch {
                    Ok(batch) => {
                        assert_eq!(batch.schema(), schema);
                        assert!((1..=3).contains(&batch.num_rows()));
                    }
                    Err(_) => failed = true,
                }
            }
        });
    });
});
