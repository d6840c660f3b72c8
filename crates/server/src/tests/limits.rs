//! Tests of requests and objects that exceed limits, over HTTP. Each is answered, with a clear error if it must be,
//! and the server continues.

use std::io::Write as _;

use aws_sdk_s3::operation::select_object_content::builders::SelectObjectContentFluentBuilder;
use aws_sdk_s3::types::{
    CompressionType, CsvInput, FileHeaderInfo, InputSerialization, JsonInput, JsonType,
    SelectObjectContentEventStream,
};
use tokio::task::JoinSet;

use super::select::{run, select};
use super::server::raw;
use super::*;

const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

pub(super) fn csv(header: FileHeaderInfo) -> InputSerialization {
    let csv = CsvInput::builder().file_header_info(header).build();
    InputSerialization::builder().csv(csv).build()
}

fn json(layout: JsonType) -> InputSerialization {
    InputSerialization::builder().json(JsonInput::builder().r#type(layout).build()).build()
}

pub(super) fn gzip(input: &InputSerialization) -> InputSerialization {
    let mut input = input.clone();
    input.compression_type = Some(CompressionType::Gzip);
    input
}

/// Creates a statement about a CSV object without a header.
pub(super) fn plain(fixture: &Fixture, key: &str, sql: &str) -> SelectObjectContentFluentBuilder {
    select(fixture, key, sql).input_serialization(csv(FileHeaderInfo::None))
}

/// Returns the rows, or the code of an error before the answer or in it.
pub(super) async fn ask(request: SelectObjectContentFluentBuilder) -> Result<String, String> {
    let answer = run(request).await?;
    match answer.failed {
        None => {
            assert!(answer.end);
            Ok(answer.rows)
        }
        Some(why) => Err(why),
    }
}

pub(super) async fn refuses(request: SelectObjectContentFluentBuilder, code: &str) {
    let error = ask(request).await.unwrap_err();
    assert!(error.contains(code), "{error} is not {code}");
}

/// Returns a gzip object of this many equal bytes, with a member for every 16 MiB.
pub(super) fn bomb(byte: u8, bytes: usize) -> Vec<u8> {
    let member = 16 * MIB;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![byte; member]).unwrap();
    packed.finish().unwrap().repeat(bytes / member)
}

/// Returns the maximum memory that the process has used so far, in bytes, where the system reports it.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? * 1024)
}

/// Runs `work` and checks that it uses at most `bytes` more memory than any work before.
async fn within<T>(bytes: usize, work: impl Future<Output = T>) -> T {
    let before = peak_memory();
    let result = work.await;
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        assert!(after - before < bytes, "{} MiB more", (after - before) / MIB);
    }
    result
}

#[tokio::test]
async fn an_expression_of_256_kib_and_one_byte_is_too_long() {
    let fixture = Fixture::new().await;
    fixture.put("n.csv", "1\n").await;
    let sql = |length: usize| {
        let head = "SELECT COUNT(*) FROM S3Object WHERE _1 != '";
        format!("{head}{}'", "x".repeat(length - head.len() - 1))
    };
    assert_eq!(ask(plain(&fixture, "n.csv", &sql(256 * 1024))).await.unwrap(), "1\n");
    refuses(plain(&fixture, "n.csv", &sql(256 * 1024 + 1)), "400 ExpressionTooLong").await;
    // The statement has the maximum length, and XML writes each character with six.
    let sql = sql(256 * 1024).replace('x', "\"");
    assert_eq!(ask(plain(&fixture, "n.csv", &sql)).await.unwrap(), "1\n");
}

#[tokio::test]
async fn a_record_has_at_most_a_mebibyte() {
    let fixture = Fixture::new().await;
    let counted = "SELECT COUNT(*), MAX(CHAR_LENGTH(s._1)) FROM S3Object s";
    let fits = "x".repeat(MIB);
    fixture.put("fits.csv", format!("a\n{fits}\nb\n")).await;
    fixture.put("over.csv", format!("a\nx{fits}\nb\n")).await;
    fixture.put("open.csv", format!("a\n\"{fits}\n{fits}")).await;
    assert_eq!(ask(plain(&fixture, "fits.csv", counted)).await.unwrap(), format!("3,{MIB}\n"));
    refuses(plain(&fixture, "over.csv", counted), "OverMaxRecordSize").await;
    // An unclosed quote makes the rest of the object one record.
    let quoted = CsvInput::builder().allow_quoted_record_delimiter(true).build();
    let quoted = InputSerialization::builder().csv(quoted).build();
    let open = plain(&fixture, "open.csv", counted).input_serialization(quoted);
    refuses(open, "OverMaxRecordSize").await;

    let line = |length: usize| format!("{{\"a\":\"{}\"}}\n", "x".repeat(length - 8));
    fixture.put("fits.json", line(MIB)).await;
    fixture.put("over.json", line(MIB + 1)).await;
    let lines = |key, sql| select(&fixture, key, sql).input_serialization(json(JsonType::Lines));
    let length = "SELECT CHAR_LENGTH(s.a) FROM S3Object s";
    assert_eq!(ask(lines("fits.json", length)).await.unwrap(), format!("{}\n", MIB - 8));
    refuses(lines("over.json", length), "OverMaxRecordSize").await;

    // Records in the answer have the same limit.
    let twice = "SELECT s._1, s._1 FROM S3Object s";
    refuses(plain(&fixture, "fits.csv", twice), "OverMaxRecordSize").await;
}

#[tokio::test]
async fn ten_thousand_columns_are_the_most() {
    let fixture = Fixture::new().await;
    let row = |columns: usize| {
        let numbers: Vec<String> = (1..=columns).map(|n| format!("c{n}")).collect();
        numbers.join(",") + "\n"
    };
    fixture.put("fits.csv", row(10_000).repeat(2)).await;
    fixture.put("over.csv", row(10_001).repeat(2)).await;
    let last = "SELECT s._10000 FROM S3Object s LIMIT 1";
    let all = "SELECT * FROM S3Object";
    let named = "SELECT c10000 FROM S3Object";
    assert_eq!(ask(plain(&fixture, "fits.csv", last)).await.unwrap(), "c10000\n");
    assert_eq!(ask(plain(&fixture, "fits.csv", all)).await.unwrap(), row(10_000).repeat(2));
    assert_eq!(ask(select(&fixture, "fits.csv", named)).await.unwrap(), "c10000\n");
    let every: Vec<String> = (1..=10_000).map(|n| format!("_{n}")).collect();
    let every = format!("SELECT {} FROM S3Object", every.join(","));
    assert_eq!(ask(plain(&fixture, "fits.csv", &every)).await.unwrap(), row(10_000).repeat(2));
    refuses(plain(&fixture, "over.csv", all), "OverMaxColumn").await;
    refuses(select(&fixture, "over.csv", named), "OverMaxColumn").await;
}

#[tokio::test]
async fn nesting_is_bounded_everywhere() {
    let fixture = Fixture::with(Builder::anonymous).await;
    fixture.put("n.csv", "1\n").await;
    let nested = |open: &str, core: &str, close: &str, depth: usize| {
        format!("SELECT {}{core}{} FROM S3Object s", open.repeat(depth), close.repeat(depth))
    };
    for (open, close) in [
        ("(", ")"),
        ("-", ""),
        ("NOT ", ""),
        ("UPPER(", ")"),
        ("CASE WHEN ", " THEN 1 END"),
        ("CAST(", " AS INT)"),
        ("COALESCE(1, ", ")"),
    ] {
        let sql = nested(open, "1", close, 200_000 / (open.len() + close.len()));
        refuses(plain(&fixture, "n.csv", &sql), "400 MaxOperatorsExceeded").await;
    }
    let sql = nested("(", "s._1", ")", 100);
    assert_eq!(ask(plain(&fixture, "n.csv", &sql)).await.unwrap(), "1\n");
    // This is the maximum depth, and it is evaluated.
    let sql = nested("UPPER(", "s._1", ")", 150);
    assert_eq!(ask(plain(&fixture, "n.csv", &sql)).await.unwrap(), "1\n");
    let path = format!("SELECT s.a{} FROM S3Object s", ".a".repeat(100_000));
    let request = plain(&fixture, "n.csv", &path).input_serialization(json(JsonType::Document));
    let refused = ask(request).await;
    assert!(refused.is_err(), "{refused:?}");

    for (name, text) in [
        ("list", "[".repeat(MIB / 2)),
        ("object", "{\"a\":".repeat(MIB / 8)),
        ("both", "[{\"a\":".repeat(MIB / 8)),
    ] {
        fixture.put(name, text).await;
        for layout in [JsonType::Document, JsonType::Lines] {
            for sql in ["SELECT * FROM S3Object", "SELECT s.b FROM S3Object[*] s"] {
                let request = plain(&fixture, name, sql).input_serialization(json(layout.clone()));
                refuses(request, "JSONParsingError").await;
            }
        }
    }

    let body = "<SelectObjectContentRequest>".repeat(50_000);
    let request = format!(
        "POST /bucket/n.csv?select&select-type=2 HTTP/1.1\r\nHost: localhost\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let answer = raw(fixture.server.address(), &request).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("MalformedXML"), "{answer}");
}

#[tokio::test]
async fn zip_bombs_take_no_memory() {
    let fixture = Fixture::new().await;
    fixture.put("zeros.gz", bomb(0, GIB)).await;
    fixture.put("lines.gz", bomb(b'\n', GIB)).await;
    fixture.put("spaces.gz", bomb(b' ', GIB)).await;
    let count = "SELECT COUNT(*) FROM S3Object";
    let asked = Box::pin(async {
        let of = |key, input: InputSerialization| {
            select(&fixture, key, count).input_serialization(gzip(&input))
        };
        refuses(of("zeros.gz", csv(FileHeaderInfo::None)), "OverMaxRecordSize").await;
        refuses(of("zeros.gz", csv(FileHeaderInfo::Use)), "OverMaxRecordSize").await;
        refuses(of("zeros.gz", json(JsonType::Lines)), "OverMaxRecordSize").await;
        refuses(of("zeros.gz", json(JsonType::Document)), "JSONParsingError").await;
        let answer = run(of("lines.gz", csv(FileHeaderInfo::None))).await.unwrap();
        assert_eq!(answer.rows, "0\n");
        assert_eq!(answer.stats.unwrap().1, GIB as i64);
        assert_eq!(ask(of("spaces.gz", json(JsonType::Document))).await.unwrap(), "0\n");
    });
    within(GIB / 4, asked).await;
}

#[tokio::test]
async fn a_client_that_leaves_a_bomb_frees_its_slot() {
    let fixture = Fixture::with(|builder| builder.select_slots(1)).await;
    fixture.put("n.csv", "1\n").await;
    // The object has 64 GiB of empty lines, which would take too long to read.
    fixture.put("lines.gz", bomb(b'\n', 64 * GIB)).await;
    let count = "SELECT COUNT(*) FROM S3Object";
    let request =
        select(&fixture, "lines.gz", count).input_serialization(gzip(&csv(FileHeaderInfo::None)));
    for _ in 0..3 {
        let mut events = request.clone().send().await.unwrap().payload;
        let event = events.recv().await.unwrap().unwrap();
        assert!(matches!(event, SelectObjectContentEventStream::Cont(_)), "{event:?}");
        drop(events);
        assert_eq!(ask(plain(&fixture, "n.csv", count)).await.unwrap(), "1\n");
    }
}

/// Returns true if the process may have this many files and sockets open. Prints a note if not.
pub(super) fn may_open(files: usize) -> bool {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = limit.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    let enough = soft.is_some_and(|soft| soft >= files);
    if !enough {
        // A test can report this only on the standard error stream.
        let _ = writeln!(std::io::stderr(), "skipped: needs {files} open files, has {soft:?}");
    }
    enough
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_thousand_requests_at_once_some_wait_and_the_rest_is_told_to() {
    const SLOTS: usize = 4;
    const REQUESTS: usize = 1000;
    if !may_open(4096) {
        return;
    }
    let fixture = Fixture::with(|builder| builder.select_slots(SLOTS)).await;
    fixture.put("n.csv", "1\n2\n").await;
    fixture.put("lines.gz", bomb(b'\n', 64 * GIB)).await;
    // Long statements occupy all slots.
    let mut held = Vec::new();
    for _ in 0..SLOTS {
        let count = select(&fixture, "lines.gz", "SELECT COUNT(*) FROM S3Object")
            .input_serialization(gzip(&csv(FileHeaderInfo::None)));
        let mut events = count.send().await.unwrap().payload;
        assert!(events.recv().await.unwrap().is_some());
        held.push(events);
    }
    let sum = "SELECT SUM(CAST(s._1 AS INT)) FROM S3Object s";
    let mut requests = JoinSet::new();
    for _ in 0..REQUESTS {
        let request = plain(&fixture, "n.csv", sum);
        requests.spawn(async move { ask(request).await });
    }
    let waiting = 4 * SLOTS;
    within(GIB / 2, async {
        for _ in 0..REQUESTS - waiting {
            let refused = requests.join_next().await.unwrap().unwrap().unwrap_err();
            assert_eq!(refused, "503 Busy");
        }
        drop(held);
        for _ in 0..waiting {
            assert_eq!(requests.join_next().await.unwrap().unwrap().unwrap(), "3\n");
        }
    })
    .await;
    assert_eq!(ask(plain(&fixture, "n.csv", sum)).await.unwrap(), "3\n");
}
