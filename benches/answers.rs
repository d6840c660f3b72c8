//! Decoding of S3 Select answers to batches: frames, CSV, Arrow.
//!
//! `cargo bench --bench answers`. A server answers each statement once; a socket of the benchmark then repeats the
//! recorded bytes, so that only the client's side is measured, loopback included. Throughput is bytes of the answer's
//! records per second.

#![expect(missing_docs, reason = "criterion's macros make items without docs")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures::TryStreamExt;
use object_store::local::LocalFileSystem;
use sluicegate_client::{Client, ConnectOptions, SelectCall};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, InputSerialization,
    OutputSerialization, SelectRequest,
};
use sluicegate_server::Server;
use sluicegate_workloads::tpch::{Generate, Table, generate};

const BUCKET: &str = "bench";

/// Reads a request with its body.
fn read_request(socket: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 16];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
            if bytes.len() >= end + 4 + length {
                return Some(bytes);
            }
        }
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

/// Sends a request to the server and returns its answer, head and chunks.
fn ask(server: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(server).unwrap();
    socket.write_all(request).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 1 << 16];
    while !answer.ends_with(b"\r\n0\r\n\r\n") {
        let read = socket.read(&mut buffer).unwrap();
        assert!(read > 0, "the server closed the connection");
        answer.extend_from_slice(&buffer[..read]);
    }
    answer
}

/// Starts a socket that records the server's answer to each request and repeats it. Requests are identified by their
/// bodies. Its threads end with the process.
fn repeater(server: SocketAddr) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let known = Arc::new(Mutex::new(HashMap::<Vec<u8>, Arc<Vec<u8>>>::new()));
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, known) = (socket.unwrap(), Arc::clone(&known));
            thread::spawn(move || {
                while let Some(request) = read_request(&mut socket) {
                    let body = request.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
                    let body = request[body..].to_vec();
                    let mut known = known.lock().unwrap();
                    let answer =
                        known.entry(body).or_insert_with(|| Arc::new(ask(server, &request)));
                    let answer = Arc::clone(answer);
                    drop(known);
                    if socket.write_all(&answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

fn request(columns: &[usize]) -> SelectRequest {
    let columns: Vec<_> = columns.iter().map(|at| format!("s._{}", at + 1)).collect();
    SelectRequest {
        expression: format!("SELECT {} FROM S3Object s", columns.join(", ")),
        input: InputSerialization {
            format: InputFormat::Csv(CsvInput {
                header: FileHeaderInfo::Ignore,
                ..CsvInput::default()
            }),
            compression: Compression::None,
        },
        output: OutputSerialization::Csv(CsvOutput::default()),
        scan_range: None,
        progress: false,
        extras: Extras::NONE,
    }
}

/// Returns the schema of an answer with these columns of lineitem.
fn schema(columns: &[usize]) -> SchemaRef {
    let schema = Table::Lineitem.schema().project(columns).unwrap();
    let fields = schema.fields().iter().map(|field| {
        let data_type = match field.data_type() {
            DataType::Utf8View => DataType::Utf8,
            other => other.clone(),
        };
        Field::new(field.name(), data_type, true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn decode(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
    let data = Generate { scale: 0.02, tables: vec![Table::Lineitem], ..Generate::default() };
    let local = LocalFileSystem::new_with_prefix(folder.path().join(BUCKET)).unwrap();
    let written = runtime.block_on(generate(&data, &local, &|_| ())).unwrap();
    let key = written[0].path.to_string();
    let server = Server::builder(folder.path()).sync_writes(false).anonymous();
    let server = runtime.block_on(server.start()).unwrap();
    let address = server.endpoint().trim_start_matches("http://").parse().unwrap();
    let options = ConnectOptions {
        endpoint: Some(repeater(address)),
        region: Some("us-east-1".to_owned()),
        credentials: Some(sluicegate_client::Credentials::new("key", "secret")),
        ..ConnectOptions::default()
    };
    let client = runtime.block_on(Client::connect(&options, StoreCapabilities::sluice())).unwrap();
    let mut group = criterion.benchmark_group("decode");
    group.sample_size(20);
    for (name, columns) in [
        ("two integers", &[0, 1][..]),
        ("key, price, discount", &[0, 5, 6]),
        ("key, date, text", &[0, 10, 13]),
        ("all columns", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
    ] {
        let schema = schema(columns);
        let run = || {
            runtime.block_on(async {
                let call = SelectCall::new(BUCKET, &key, request(columns), Arc::clone(&schema));
                let metrics = Arc::clone(&call.metrics);
                let rows = client.select(call).await.unwrap();
                let rows: usize = rows
                    .try_fold(0, |sum, batch| async move { Ok(sum + batch.num_rows()) })
                    .await
                    .unwrap();
                assert!(rows > 100_000, "{rows}");
                metrics.counts().bytes_returned.bytes
            })
        };
        let bytes = run();
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(name, |bencher| bencher.iter(run));
    }
    group.finish();
    runtime.block_on(server.shutdown());
}

criterion_group!(benches, decode);
criterion_main!(benches);
