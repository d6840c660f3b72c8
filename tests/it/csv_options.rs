//! Every option of a CSV table over awkward text: engine over Select = DataFusion over the same bytes. Statements
//! that a store would answer differently are not sent, or the difference is detected and GET is used.

use std::cell::Cell;

use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use crate::harness::{BUCKET, Store, rows, runner, stock, stock_rows, try_rows};

/// The options of a table, each as a byte.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    header: bool,
    delimiter: u8,
    pub(crate) quote: u8,
    escape: Option<u8>,
    comment: Option<u8>,
    terminator: Option<u8>,
    newlines_in_values: bool,
    null_regex: Option<&'static str>,
}

impl Options {
    pub(crate) fn any() -> impl Strategy<Value = Self> {
        let byte = |bytes: &'static [u8]| prop::sample::select(bytes);
        let maybe = |weight, bytes| prop::option::weighted(weight, byte(bytes));
        (
            any::<bool>(),
            prop_oneof![4 => Just(b','), 2 => byte(b";|\t a"), 1 => byte(b"\"\n\r#\x01")],
            prop_oneof![4 => Just(b'"'), 1 => byte(b"'a,\n")],
            maybe(0.2, b"\\\"'a"),
            maybe(0.2, b"#a\",;"),
            maybe(0.3, b"\n\r;|a\x01"),
            any::<bool>(),
            prop::option::weighted(0.2, prop::sample::select(&["a", "^$", "^[a1]+$", "."][..])),
        )
            .prop_map(
                |(header, delimiter, quote, escape, comment, terminator, newlines, null_regex)| {
                    let newlines_in_values = newlines;
                    Self {
                        header,
                        delimiter,
                        quote,
                        escape,
                        comment,
                        terminator,
                        newlines_in_values,
                        null_regex,
                    }
                },
            )
    }

    /// Returns the statements that define the same table in stock DataFusion, whose reader ignores `null_regex`.
    pub(crate) fn of_stock(&self, columns: usize, location: &str) -> Vec<String> {
        let Some(regex) = self.null_regex else { return vec![self.ddl(columns, location)] };
        let text = Self { null_regex: None, ..self.clone() }.ddl(columns, location);
        let value = |n| format!("CASE WHEN c{n} ~ '{regex}' THEN NULL ELSE c{n} END AS c{n}");
        let values: Vec<String> = (1..=columns).map(value).collect();
        let text = text.replace("EXTERNAL TABLE x ", "EXTERNAL TABLE of_text ");
        vec![text, format!("CREATE VIEW x AS SELECT {} FROM of_text", values.join(", "))]
    }

    pub(crate) fn ddl(&self, columns: usize, location: &str) -> String {
        let names: Vec<String> = (1..=columns).map(|n| format!("c{n} VARCHAR")).collect();
        let mut options = format!(
            "'format.has_header' '{}', 'format.newlines_in_values' '{}', \
             'format.delimiter' '{}', 'format.quote' '{}'",
            self.header, self.newlines_in_values, self.delimiter, self.quote
        );
        let optional =
            [("escape", self.escape), ("comment", self.comment), ("terminator", self.terminator)];
        for (name, byte) in optional {
            if let Some(byte) = byte {
                options.push_str(&format!(", 'format.{name}' '{byte}'"));
            }
        }
        if let Some(regex) = self.null_regex {
            options.push_str(&format!(", 'format.null_regex' '{regex}'"));
        }
        format!(
            "CREATE EXTERNAL TABLE x ({}) STORED AS CSV LOCATION '{location}' OPTIONS ({options})",
            names.join(", ")
        )
    }
}

/// Pieces of text, some of which stand for the byte of an option.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Piece {
    Text(&'static str),
    Delimiter,
    Quote,
    Escape,
    Comment,
    Terminator,
}

impl Piece {
    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            8 => prop::sample::select(vec!["a", "b", "ab", "", "é", " ", "1"]).prop_map(Self::Text),
            2 => prop::sample::select(vec!["\r", "\n", "\r\n", "\r\r\n", "\"", "\\", "#", ";"])
                .prop_map(Self::Text),
            1 => prop::sample::select(vec![
                Self::Delimiter, Self::Quote, Self::Escape, Self::Comment, Self::Terminator
            ]),
        ]
    }

    fn write(self, options: &Options, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => out.extend(text.as_bytes()),
            Self::Delimiter => out.push(options.delimiter),
            Self::Quote => out.push(options.quote),
            Self::Escape => out.extend(options.escape),
            Self::Comment => out.extend(options.comment),
            Self::Terminator => out.push(options.terminator.unwrap_or(b'\n')),
        }
    }
}

/// A field: quoted or not, with its quotes escaped or not, and its pieces.
pub(crate) type Field = (u8, Vec<Piece>);

pub(crate) fn record(columns: usize) -> impl Strategy<Value = (Vec<Field>, &'static str)> {
    let style = prop_oneof![6 => Just(0_u8), 2 => Just(1_u8), 1 => Just(2_u8)];
    let piece = prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "ab", "", "é", "1"])
            .prop_map(|text| vec![Piece::Text(text)]),
        1 => prop::collection::vec(Piece::any(), 0..4),
    ];
    let end = prop_oneof![12 => Just(""), 1 => Just("\r"), 1 => Just("\r\r"), 1 => Just("\n")];
    (prop::collection::vec((style, piece), columns), end)
}

pub(crate) fn object(
    options: &Options,
    records: &[(Vec<Field>, &'static str)],
    crlf: bool,
) -> Vec<u8> {
    let mut object = Vec::new();
    for (fields, end) in records {
        for (i, (style, pieces)) in fields.iter().enumerate() {
            if i > 0 {
                object.push(options.delimiter);
            }
            let mut text = Vec::new();
            pieces.iter().for_each(|piece| piece.write(options, &mut text));
            if *style == 0 {
                object.extend(text);
                continue;
            }
            object.push(options.quote);
            for byte in text {
                if byte == options.quote {
                    object.push(match (style, options.escape) {
                        (2, Some(escape)) => escape,
                        _ => options.quote,
                    });
                }
                object.push(byte);
            }
            object.push(options.quote);
        }
        object.extend(end.as_bytes());
        match options.terminator {
            None if crlf => object.extend(b"\r\n"),
            terminator => object.push(terminator.unwrap_or(b'\n')),
        }
    }
    object
}

const STATEMENTS: [&str; 6] = [
    "SELECT * FROM x",
    "SELECT c1 FROM x WHERE c1 = 'a' OR c1 IS NULL",
    "SELECT c1 FROM x WHERE c1 <> 'b'",
    "SELECT count(*) FROM x",
    "SELECT 1 FROM x",
    "SELECT min(c1), max(c1), count(c1) FROM x",
];

#[test]
fn every_option_reads_alike() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let mut runner = runner(96);
    let inputs = (1_usize..4).prop_flat_map(|columns| {
        let records = prop::collection::vec(record(columns), 0..8);
        (Just(columns), Options::any(), records, any::<bool>(), any::<bool>())
    });
    let [number, compared, pushed, open] = [const { Cell::new(0) }; 4];
    let result = runner.run(&inputs, |(columns, options, records, crlf, ranges)| {
        number.set(number.get() + 1);
        let bytes = object(&options, &records, crlf);
        let key = format!("{}/a.csv", number.get());
        store.put(&key, &bytes);
        let file = local.path().join(format!("{}.csv", number.get()));
        std::fs::write(&file, &bytes).unwrap();
        // DataFusion splits a file at line ends, so a file with quoted line ends must not be split.
        let divided = ranges && !bytes.contains(&options.quote);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        runtime.block_on(async {
            let stock = stock();
            for sql in options.of_stock(columns, &file.display().to_string()) {
                if stock_rows(&stock, &sql).await.is_err() {
                    return Ok(());
                }
            }
            let engine = store.engine(Scan::Select).await;
            if divided {
                rows(&engine, "SET sluice.range_bytes = 7").await;
            }
            let location = format!("s3://{BUCKET}/{}/", number.get());
            rows(&engine, &options.ddl(columns, &location)).await;
            for sql in STATEMENTS {
                // DataFusion refuses a record with too many fields, and Select accepts it.
                let Ok(expected) = stock_rows(&stock, sql).await else { continue };
                let before = engine.counted();
                let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                // DataFusion reads the rest of the file as one value.
                let is_open = |error: &String| error.contains("a quote is never closed");
                if actual.as_ref().is_err_and(is_open) && bytes.contains(&options.quote) {
                    open.set(open.get() + 1);
                    continue;
                }
                compared.set(compared.get() + 1);
                let counted = engine.counted().since(&before);
                if counted.select > 0 && counted.fallbacks == 0 {
                    pushed.set(pushed.get() + 1);
                }
                prop_assert_eq!(
                    actual,
                    Ok(expected),
                    "{} over {:?} as {:?}, divided: {}",
                    sql,
                    shown,
                    options,
                    divided
                );
            }
            Ok(())
        })
    });
    result.unwrap();
    let (compared, pushed) = (compared.get(), pushed.get());
    assert!(open.get() * 2 < compared, "{} of {compared} statements fail", open.get());
    assert!(pushed * 10 > compared, "only {pushed} of {compared} statements were answered there");
}

/// Reads one object by Select and by GET, and checks whether Select answered.
async fn check(options: &str, object: &str, pushed: bool) {
    let store = Store::start().await;
    store.put("t/a.csv", object);
    let local = tempfile::tempdir().unwrap();
    std::fs::write(local.path().join("a.csv"), object).unwrap();
    let ddl = |location: &str| {
        let options = if options.is_empty() { String::new() } else { format!(", {options}") };
        format!(
            "CREATE EXTERNAL TABLE x (c1 VARCHAR, c2 VARCHAR) STORED AS CSV \
             LOCATION '{location}' OPTIONS ('format.has_header' 'false'{options})"
        )
    };
    let stock = stock();
    stock_rows(&stock, &ddl(&format!("{}/", local.path().display()))).await.unwrap();
    let engine = store.engine(Scan::Select).await;
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    for sql in ["SELECT * FROM x WHERE c1 <> 'z'", "SELECT count(*), max(c2) FROM x"] {
        let expected = stock_rows(&stock, sql).await.unwrap();
        let before = engine.counted();
        assert_eq!(rows(&engine, sql).await, expected, "{sql} over {object:?}");
        let counted = engine.counted().since(&before);
        assert_eq!(counted.select > 0 && counted.fallbacks == 0, pushed, "{object:?} {counted:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn line_ends_are_those_of_the_table() {
    check("", "1,a\n2,b\n", true).await;
    check("", "1,a\r\n2,b\r\n", true).await;
    check("", "1,a\r\n2,b\r", true).await;
    check("", "1,a\r2,b\r", false).await;
    check("", "1,a\r\r\n2,b\r\n", false).await;
    check("", "1,a\n2,\"b\rc\"\n", false).await;
    check("'format.terminator' '10'", "1,a\r\n2,b\n", false).await;
    check("'format.terminator' '59'", "1,a\r;2,b;", true).await;
    check("'format.terminator' '13'", "1,a\r2,b\r", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escapes_and_comments_are_those_of_the_table() {
    check("'format.escape' '\\'", "1,\"a\"\"b\"\n2,\"a\\\"b\"\n", false).await;
    check("'format.escape' '\"'", "1,\"a\"\"b\"\n", true).await;
    check("'format.comment' '#'", "#x\n1,a\n", true).await;
    check("'format.comment' '#', 'format.terminator' '59'", "1,a;2,b;", false).await;
}

/// DataFusion applies `null_regex` when it infers columns, and not when it reads them; so a store need not support it
/// either.
#[tokio::test(flavor = "multi_thread")]
async fn what_reads_as_null_is_null() {
    let object = "c1,c2,c3\nNA,x,1\n1,NA,2\n2,,3\n";
    let store = Store::start().await;
    store.put("t/a.csv", object);
    let engine = store.engine(Scan::Select).await;
    let ddl = format!(
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION 's3://{BUCKET}/t/' \
         OPTIONS ('format.has_header' 'true', 'format.null_regex' '^NA$')"
    );
    rows(&engine, &ddl).await;
    for (sql, expected) in [
        ("SELECT c2 FROM x WHERE c2 <> 'y'", &[r#""x""#][..]),
        ("SELECT count(c2), max(c3) FROM x", &[r#""1" | "3""#]),
        ("SELECT c1 FROM x WHERE c3 < 3", &[r#""1""#, r#""NULL""#]),
        ("SELECT sum(c1) FROM x", &[r#""3""#]),
    ] {
        assert_eq!(rows(&engine, sql).await, expected, "{sql}");
    }
}

/// A carriage return follows the first blocks of an object: the rows before it, already returned, stay.
#[tokio::test(flavor = "multi_thread")]
async fn a_lone_carriage_return_far_into_an_object_is_found() {
    let mut object: String = (0..60_000).map(|n| format!("{n},value-{n}\n")).collect();
    object.push_str("60000,a\r60001,b\n");
    check("", &object, false).await;
}
