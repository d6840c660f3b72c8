//! Statements that our store answers with the indexes of an object: the answer equals that of the evaluator over the
//! whole object byte for byte, for any object, statement and index; and few bytes are read.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use sluicegate_client::{Client, ConnectOptions, Error};
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_evaluator::{Evaluation, Sink, Stats};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_s3select::request::{
    CsvInput, FileHeaderInfo, InputFormat, InputSerialization, OutputSerialization, ScanRange,
    SelectRequest,
};
use tokio::runtime::Runtime;

use crate::harness::{BUCKET, Store, rows, runner};
use crate::index::{create, files};

/// The answer of a statement, or its error's code and message, and the scanned bytes.
type Answered = (Result<Vec<u8>, (String, String)>, u64);

#[derive(Default)]
struct Collected(Vec<u8>);

impl Sink for Collected {
    fn records(&mut self, bytes: Bytes) -> ControlFlow<()> {
        self.0.extend_from_slice(&bytes);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Returns the evaluator's answer over the whole object, without an index.
fn expected(request: &SelectRequest, object: &[u8]) -> Answered {
    let mut rows = Collected::default();
    let ran = Evaluation::prepare(request, Arc::new(object.to_vec()))
        .and_then(|evaluation| evaluation.run(&mut rows));
    match ran {
        Ok(stats) => (Ok(rows.0), stats.bytes_scanned),
        Err(error) => (Err((error.code.as_str().to_owned(), error.message.into_owned())), 0),
    }
}

struct Fixture {
    store: Store,
    client: Client,
    engine: Engine,
}

impl Fixture {
    async fn start() -> Self {
        Self::over(Store::start().await).await
    }

    async fn over(store: Store) -> Self {
        let options = ConnectOptions {
            endpoint: Some(store.server.endpoint()),
            credentials: Some(sluicegate_client::Credentials::new(
                store.server.access_key(),
                store.server.secret_key(),
            )),
            ..ConnectOptions::default()
        };
        let client = Client::connect(&options, StoreCapabilities::sluice()).await.unwrap();
        let engine = store.engine(Scan::Select).await;
        Self { store, client, engine }
    }

    async fn ask(&self, key: &str, request: &SelectRequest) -> Answered {
        let metrics = Arc::default();
        let answer = match self.client.send(BUCKET, key, request, &metrics).await {
            Ok(answer) => Ok(answer.records),
            Err(Error::Refused { code, message }) => Err((code, message)),
            Err(other) => panic!("{other}"),
        };
        (answer, metrics.counts().bytes_scanned.known().unwrap_or_default())
    }

    /// Creates a table of one object, and indexes of some columns where that is possible.
    async fn table(&self, name: &str, text: &[u8], header: bool, indexed: &[&str]) -> String {
        let key = format!("{name}/o.csv");
        self.store.put(&key, text);
        let ddl = format!(
            "CREATE EXTERNAL TABLE {name} (k BIGINT, t VARCHAR, x VARCHAR, pad VARCHAR) STORED AS \
             CSV LOCATION 's3://{BUCKET}/{name}/' OPTIONS ('format.has_header' '{header}')"
        );
        rows(&self.engine, &ddl).await;
        for column in indexed {
            // Hostile text may make an index impossible.
            let _ = create(&self.engine, name, column).await;
        }
        key
    }

    /// Returns the index objects of the bucket.
    fn indexes(&self) -> Vec<PathBuf> {
        files(&self.store.folder.path().join(BUCKET).join(".sluice-index"))
    }
}

fn request(sql: &str, csv: CsvInput) -> SelectRequest {
    SelectRequest {
        expression: sql.to_owned(),
        input: InputSerialization {
            format: InputFormat::Csv(csv),
            compression: sluicegate_s3select::request::Compression::None,
        },
        output: OutputSerialization::Csv(sluicegate_s3select::request::CsvOutput::default()),
        scan_range: None,
        progress: false,
        extras: sluicegate_s3select::dialect::Extras::NONE,
    }
}

fn with_header() -> CsvInput {
    CsvInput { header: FileHeaderInfo::Use, ..CsvInput::default() }
}

/// Returns records of about a hundred bytes with unordered keys.
fn plain() -> Vec<u8> {
    let mut text = String::from("k,t,x,pad\n");
    for n in 0..40_000 {
        let k = n * 7907 % 50_000;
        text += &format!("{k},t{},{},{}\n", k % 100, n % 3, "p".repeat(60 + n % 50));
    }
    text.into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn few_bytes_are_read_where_an_index_leads() {
    let place = Fixture::start().await;
    let text = plain();
    let key = place.table("few", &text, true, &["k", "t"]).await;
    let whole = text.len() as u64;
    for (condition, most) in [
        ("CAST(s.k AS INT) = 4321", whole / 10),
        ("s._1 = '4321'", whole / 10),
        ("CAST(NULLIF(s._1, '') AS INT) BETWEEN 100 AND 120", whole / 7),
        ("s.t IN ('t7', 't777')", whole / 4),
        ("s.t = 't21' AND CAST(s.k AS INT) > 4800", whole / 4),
        ("s.x = '1' AND CAST(s.k AS INT) < 0", whole / 10),
    ] {
        for projection in ["*", "s._2, s.k", "COUNT(*), MAX(s.t)"] {
            let sql = format!("SELECT {projection} FROM S3Object s WHERE {condition}");
            let request = request(&sql, with_header());
            let (answer, scanned) = place.ask(&key, &request).await;
            assert_eq!(answer, expected(&request, &text).0, "{sql}");
            assert!(scanned <= most, "{sql}: {scanned} of {whole}");
        }
    }
    // These conditions select no records by an index, select too many, or could fail before the look-up.
    for condition in [
        "s.x = '1'",
        "CAST(s.k AS INT) > 5",
        "CAST(s.k AS INT) != 5",
        "CAST(s.x AS INT) = 1 AND CAST(s.k AS INT) = 5",
    ] {
        let sql = format!("SELECT COUNT(*) FROM S3Object s WHERE {condition}");
        let request = request(&sql, with_header());
        assert_eq!(place.ask(&key, &request).await, expected(&request, &text), "{sql}");
    }
}

/// A statement fails as without an index, also because of records that are not looked up.
#[tokio::test(flavor = "multi_thread")]
async fn errors_are_those_of_the_whole_object() {
    let place = Fixture::start().await;
    let plain = String::from_utf8(plain()).unwrap();
    let pad = "p".repeat(60);
    let condition = "CAST(s.k AS INT) = 4321 AND s.t = 't21'";
    let bad = "CAST(s.k AS INT) = 4321 AND CAST(s.x AS INT) > 7";
    for (name, last, condition) in [
        // Empty text is no number, whatever the other condition is.
        ("e1", format!(",t0,0,{pad}\n"), condition),
        ("e2", format!(",t21,0,{pad}\n"), condition),
        ("e3", format!("7,t21,0,\"{pad}"), condition),
        ("e4", format!("7,t21,0,\"{pad}\n"), condition),
        ("e5", format!("4321,t21,z,{pad}\n"), bad),
    ] {
        let text = plain.clone() + &last;
        let key = place.table(name, text.as_bytes(), true, &["k", "t"]).await;
        let sql = format!("SELECT s._4 FROM S3Object s WHERE {condition}");
        let request = request(&sql, with_header());
        let (right, _) = expected(&request, text.as_bytes());
        assert!(right.is_err(), "{name}");
        assert_eq!(place.ask(&key, &request).await.0, right, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_may_be_told_to_read_objects_whole() {
    let place = Fixture::over(Store::start_with(|server| server.indexes(false)).await).await;
    let text = plain();
    let key = place.table("w", &text, true, &["k"]).await;
    assert_eq!(place.indexes().len(), 1);
    let request = request("SELECT * FROM S3Object s WHERE CAST(s.k AS INT) = 4321", with_header());
    assert_eq!(place.ask(&key, &request).await, expected(&request, &text));
}

/// Statements of an engine use indexes, too, also for parts of an object.
#[tokio::test(flavor = "multi_thread")]
async fn an_engines_statements_profit() {
    let place = Fixture::start().await;
    let text = plain();
    place.table("e", &text, true, &["k", "t"]).await;
    let sql = "SELECT k, x FROM e WHERE k = 4321 OR k = 17";
    for size in ["10485760", "65536"] {
        let set = format!("SET datafusion.optimizer.repartition_file_min_size = {size}");
        rows(&place.engine, &set).await;
        let before = place.engine.counted();
        let found = rows(&place.engine, sql).await;
        assert_eq!(found.len(), 2, "{found:?}");
        let counted = place.engine.counted().since(&before);
        assert!(counted.select > 0, "{counted:?}");
        assert!(counted.scanned_bytes < text.len() as u64 / 10, "{counted:?}");
    }
}

/// If an index has any defect, the object is read instead.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_cannot_be_relied_on_is_not_used() {
    let place = Fixture::start().await;
    let text = plain();
    let key = place.table("a", &text, true, &["k"]).await;
    place.table("b", &[&text[..], b"7,t7,0,p\n"].concat(), true, &["k"]).await;
    let request = request("SELECT * FROM S3Object s WHERE CAST(s.k AS INT) = 4321", with_header());
    let right = expected(&request, &text).0;
    let (answer, scanned) = place.ask(&key, &request).await;
    assert_eq!(answer, right);
    assert!(scanned < text.len() as u64 / 10, "{scanned}");

    let [path, foreign] = &place.indexes()[..] else { panic!("{:?}", place.indexes()) };
    let sound = std::fs::read(path).unwrap();
    let mut bad = vec![
        Vec::new(),
        sound[..10].to_vec(),
        sound[..sound.len() / 2].to_vec(),
        vec![b'x'; sound.len()],
        std::fs::read(foreign).unwrap(),
        [&sound[..sound.len() - 16], &[0xff; 8], b"SLUICEIX"].concat(),
    ];
    bad.extend((8..sound.len()).step_by(sound.len() / 60).map(|at| {
        let mut wrong = sound.clone();
        wrong[at] ^= 4;
        wrong
    }));
    for bytes in bad {
        std::fs::write(path, &bytes).unwrap();
        assert_eq!(place.ask(&key, &request).await.0, right);
    }
    std::fs::write(path, &sound).unwrap();
    assert!(place.ask(&key, &request).await.1 < text.len() as u64 / 10);

    // The index of another version of the object.
    let newer = text.iter().map(|b| if *b == b'p' { b'q' } else { *b }).collect::<Vec<_>>();
    place.store.put(&key, &newer);
    let (answer, scanned) = place.ask(&key, &request).await;
    assert_eq!(answer, expected(&request, &newer).0);
    assert!(scanned > text.len() as u64 / 2, "{scanned}");
}

/// A hostile index with wrong places and sizes but right checksums may select wrong records, but causes nothing worse
/// than a wrong answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_index_harms_only_its_object() {
    use sluicegate_index::layout::{BlockMessage, MAGIC, TopMessage};

    let place = Fixture::start().await;
    let text = plain();
    let key = place.table("h", &text, true, &["k"]).await;
    let request = request("SELECT * FROM S3Object s WHERE CAST(s.k AS INT) = 4321", with_header());
    let [path] = &place.indexes()[..] else { panic!("{:?}", place.indexes()) };
    let sound = std::fs::read(path).unwrap();
    let top = TopMessage::of_tail(&sound, sound.len() as u64).unwrap();
    let blocks = sound[..sound.len() - top.to_tail().len()].to_vec();
    let with = |block: &[u8], known: BlockMessage, edit: &dyn Fn(&mut TopMessage)| {
        let bytes = block.len() as u32;
        let checksum = crc32fast::hash(block);
        let known = BlockMessage { bytes, checksum, ..known };
        let mut top = TopMessage { blocks: vec![known], ..top.clone() };
        edit(&mut top);
        [&MAGIC[..], block, &top.to_tail()].concat()
    };
    // Key 4321 with a record that ends beyond the object, or beyond all numbers.
    let key_4321 = [3, 0x82, 0x10, 0xe1];
    let far = [&key_4321[..], &[0xff; 9], &[0x01], &[0xff; 9], &[0x01]].concat();
    let beyond = [&key_4321[..], &[0], &[0xff, 0xff, 0xff, 0x7f]].concat();
    let one = BlockMessage { entries: 1, ..BlockMessage::default() };
    let many = BlockMessage { entries: u32::MAX, ..BlockMessage::default() };
    let nothing: &dyn Fn(&mut TopMessage) = &|_| ();
    let refused = [
        with(&far, one.clone(), nothing),
        with(&beyond, one.clone(), nothing),
        with(&far, many.clone(), nothing),
        with(&[], many, nothing),
        with(&blocks[8..], one.clone(), nothing),
        with(&[], one.clone(), &|top| top.blocks = vec![BlockMessage::default(); 3_000_000]),
        with(&[], one.clone(), &|top| {
            top.lines.as_mut().unwrap().first_bytes = u64::MAX;
        }),
        with(&[], one.clone(), &|top| top.lines = None),
        with(&[], one.clone(), &|top| top.position = u64::MAX),
    ];
    for index in refused {
        std::fs::write(path, &index).unwrap();
        let answered = place.ask(&key, &request).await;
        assert_eq!(answered, expected(&request, &text), "{} bytes", index.len());
    }
    // Records that overlap, and places without records.
    let somewhere = [&key_4321[..], &[5, 90], &key_4321[..], &[7, 100], &key_4321[..], &[50, 0]];
    let three = BlockMessage { entries: 3, ..BlockMessage::default() };
    std::fs::write(path, with(&somewhere.concat(), three, nothing)).unwrap();
    let _ = place.ask(&key, &request).await;
    std::fs::write(path, &sound).unwrap();
    assert_eq!(place.ask(&key, &request).await.0, expected(&request, &text).0);
}

/// A statement reads one version of the object, and only that version's index.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_may_be_replaced_at_any_time() {
    let place = Fixture::start().await;
    let text = plain();
    let newer: Vec<u8> = [&text[..10], &text[10..].repeat(2)[..]].concat();
    let key = place.table("r", &text, true, &["k"]).await;
    let request = request("SELECT * FROM S3Object s WHERE CAST(s.k AS INT) = 4321", with_header());
    let right = [&text, &newer].map(|text| expected(&request, text).0);
    let (store, engine) = (&place.store, &place.engine);
    let replace = async {
        for round in 0..12 {
            let next = store.folder.path().join(format!("{BUCKET}/next"));
            std::fs::write(&next, if round % 2 == 0 { &newer } else { &text }).unwrap();
            std::fs::rename(&next, store.folder.path().join(BUCKET).join(&key)).unwrap();
            let _ = create(engine, "r", "k").await;
        }
    };
    let ask = async {
        for _ in 0..60 {
            let answer = place.ask(&key, &request).await.0;
            assert!(right.contains(&answer), "{answer:?}");
        }
    };
    tokio::join!(replace, ask);
}

/// A record of a random object: a number, two texts, the length of a padding, and the line end.
type Record = (Option<i64>, Option<&'static str>, &'static str, usize, &'static str);

/// Texts as they are written in an object.
const TEXTS: [&str; 14] = [
    "a",
    "b",
    "ab",
    "é",
    "\u{10348}",
    " ",
    "#",
    "\"a\"",
    "\"x,y\"",
    "\"say \"\"a\"\"\"",
    "\"a\"b",
    "a\"b",
    "0",
    "-7",
];
/// Texts that readers may parse differently.
const HOSTILE: [&str; 5] = ["\"line\nend\"", "\"cr\rend\"", "\"crlf\r\nend\"", "a\rb", "\"\""];

/// Generates records, with text before and after them.
fn object() -> impl Strategy<Value = (Vec<Record>, &'static str, &'static str)> {
    let clean = (prop::sample::select(vec!["\n", "\r\n"]), prop::bool::weighted(0.3))
        .prop_flat_map(|(end, hostile)| {
            let number = prop_oneof![6 => -3_i64..30, 1 => any::<i64>()];
            let texts = if hostile { [&TEXTS[..], &HOSTILE].concat() } else { TEXTS.to_vec() };
            let ends = match hostile {
                true => vec![end, end, end, end, end, end, "\n", "\r\n", "\r", "\n\n", "\r\n\r\n"],
                false => vec![end],
            };
            let text = prop::sample::select(texts);
            let record = (
                prop::option::weighted(0.96, number),
                prop::option::weighted(0.96, text.clone()),
                text,
                0_usize..6000,
                prop::sample::select(ends),
            );
            prop::collection::vec(record, 0..60)
        });
    let first = prop_oneof![
        36 => Just(""),
        1 => Just("\u{feff}"),
        1 => Just("\n"),
        1 => Just("#,c,d,e\n"),
        1 => Just("1\n"),
    ];
    let last = prop_oneof![
        36 => Just(""),
        1 => Just("1,a,b,\"open"),
        1 => Just("1,a,b,\"open\n"),
        1 => Just("\r"),
        1 => Just("\n"),
    ];
    (clean, first, last)
}

fn written(records: &[Record], first: &str, header: bool, last_end: bool) -> String {
    let mut text = first.to_owned();
    if header {
        text += if records.first().is_some_and(|it| it.4 == "\r\n") {
            "k,t,x,\"pad\"\r\n"
        } else {
            "k,t,x,\"pad\"\n"
        };
    }
    for (number, (k, t, x, pad, end)) in records.iter().enumerate() {
        let k = k.map(|k| k.to_string()).unwrap_or_default();
        let end = if number + 1 < records.len() || last_end { end } else { "" };
        text += &format!("{k},{},{x},{}{end}", t.unwrap_or_default(), "y".repeat(*pad));
    }
    text
}

fn condition() -> impl Strategy<Value = String> {
    let number =
        prop_oneof![9 => (-4_i64..31).prop_map(|n| n.to_string()), 1 => Just("2.0".to_owned())];
    let text = prop::sample::select(vec!["", "a", "ab", "é", "say \"a\"", "x,y", "0", "7", "-7"])
        .prop_map(|text| format!("'{text}'"));
    let k = prop::sample::select(vec![
        "CAST(s._1 AS INT)",
        "CAST(NULLIF(s._1, '') AS INT)",
        "s._1",
        "CAST(CAST(s._1 AS STRING) AS INT)",
    ]);
    let t = prop::sample::select(vec!["s._2", "NULLIF(s._2, '')", "CAST(s._2 AS STRING)"]);
    let op = prop::sample::select(vec!["=", "=", "<", "<=", ">", ">=", "!="]);
    let of = |column: BoxedStrategy<&'static str>, constant: BoxedStrategy<String>| {
        let op = op.clone();
        prop_oneof![
            4 => (column.clone(), op.clone(), constant.clone())
                .prop_map(|(c, op, v)| format!("{c} {op} {v}")),
            1 => (column.clone(), op, constant.clone()).prop_map(|(c, op, v)| format!("{v} {op} {c}")),
            1 => (column.clone(), constant.clone(), constant.clone(), any::<bool>()).prop_map(
                |(c, a, b, not)| format!("{c}{} BETWEEN {a} AND {b}", if not { " NOT" } else { "" })
            ),
            1 => (column, constant.clone(), constant)
                .prop_map(|(c, a, b)| format!("{c} IN ({a}, {b})")),
        ]
    };
    let other = prop::sample::select(vec![
        "s._3 = 'a'",
        "CAST(s._3 AS INT) = 0",
        "s._3 LIKE 'a%'",
        "s._2 IS NULL",
        "s._2 = s._3",
        "CHAR_LENGTH(s._3) > 1",
        "TRUE",
        "s._3",
    ]);
    let atom = prop_oneof![
        6 => of(k.clone().boxed(), number.boxed()),
        1 => of(k.boxed(), text.clone().boxed()),
        4 => of(t.boxed(), text.boxed()),
        3 => other.prop_map(ToOwned::to_owned),
    ];
    let nested = atom.prop_recursive(2, 5, 2, |inner| {
        prop_oneof![
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            1 => inner.prop_map(|a| format!("NOT ({a})")),
        ]
    });
    // Conditions for which an index selects few bytes.
    let few = prop_oneof![
        (-4_i64..31).prop_map(|n| format!("CAST(NULLIF(s._1, '') AS INT) = {n}")),
        (-4_i64..31).prop_map(|n| format!("CAST(s._1 AS INT) BETWEEN {n} AND {}", n + 1)),
        (-4_i64..31).prop_map(|n| format!("s._1 IN ('{n}', '0{n}')")),
        prop::sample::select(vec!["ab", "x,y", "é"]).prop_map(|text| format!("s._2 = '{text}'")),
    ];
    (prop::option::weighted(0.6, few), prop::collection::vec(nested, 1..3))
        .prop_map(|(few, others)| few.into_iter().chain(others).collect::<Vec<_>>().join(" AND "))
}

fn statement() -> impl Strategy<Value = String> {
    let projection = prop::sample::select(vec![
        "*",
        "s._1, s._3",
        "COUNT(*), MIN(s._2)",
        "SUM(CAST(s._1 AS INT))",
        "CAST(s._3 AS INT)",
        "AVG(CAST(s._1 AS FLOAT))",
    ]);
    let limit = prop::option::weighted(0.2, 0_u64..4);
    (projection, condition(), limit).prop_map(|(projection, condition, limit)| {
        let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        format!("SELECT {projection} FROM S3Object s WHERE {condition}{limit}")
    })
}

fn options() -> impl Strategy<Value = (CsvInput, Option<ScanRange>, bool)> {
    let header = prop::sample::select(vec![
        FileHeaderInfo::None,
        FileHeaderInfo::Ignore,
        FileHeaderInfo::Use,
    ]);
    let comments = prop::sample::select(vec![Some('#'), Some('#'), None, None, Some('a')]);
    let csv = (header, comments, prop::bool::weighted(0.3), any::<bool>());
    let csv = csv.prop_map(|(header, comments, quoted, strict_lines)| CsvInput {
        header,
        comments,
        allow_quoted_record_delimiter: quoted,
        strict_lines,
        ..CsvInput::default()
    });
    let range = prop_oneof![
        (0_u64..60_000, 0_u64..60_000).prop_map(|(start, bytes)| ScanRange::Bounded {
            start,
            last: start.saturating_add(bytes).saturating_sub(3)
        }),
        (0_u64..60_000).prop_map(|start| ScanRange::From { start }),
        (0_u64..60_000).prop_map(|length| ScanRange::Suffix { length }),
    ];
    (csv, prop::option::weighted(0.25, range), any::<bool>())
}

/// Random and hostile objects, statements, options and ranges give the same bytes or the same error with and without
/// an index.
#[test]
fn answers_are_those_of_the_whole_object() {
    let runtime = Runtime::new().unwrap();
    let place = runtime.block_on(Fixture::start());
    let (number, asked, fewer) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let columns = prop::sample::subsequence(vec!["k", "t"], 1..=2);
    let statements = prop::collection::vec((statement(), options()), 12);
    let strategy = (object(), any::<bool>(), prop::bool::weighted(0.8), columns, statements);
    let result = runner(64).run(
        &strategy,
        |((records, first, last), header, last_end, columns, statements)| {
            number.set(number.get() + 1);
            let text = written(&records, first, header, last_end) + last;
            runtime.block_on(async {
                let name = format!("p{}", number.get());
                let key = place.table(&name, text.as_bytes(), header, &columns).await;
                for (sql, (csv, scan_range, json)) in statements {
                    let mut request = request(&sql, csv);
                    request.scan_range = scan_range;
                    if json {
                        let record_delimiter = "\n".to_owned();
                        request.output = OutputSerialization::Json { record_delimiter };
                    }
                    let (right, whole) = expected(&request, text.as_bytes());
                    let (answer, scanned) = place.ask(&key, &request).await;
                    prop_assert_eq!(
                        answer,
                        right,
                        "{} of {:?}: {:?}",
                        request.expression,
                        text,
                        request
                    );
                    asked.set(asked.get() + 1);
                    fewer.set(fewer.get() + usize::from(scanned < whole));
                }
                Ok(())
            })
        },
    );
    result.unwrap();
    let (asked, fewer) = (asked.get(), fewer.get());
    assert!(fewer * 20 > asked, "only {fewer} of {asked} statements read less");
}
