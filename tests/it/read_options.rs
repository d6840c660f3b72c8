//! `skip`, `encoding`, `decimal_separator`, `dateformat`, `timestampformat`, `nullstr` and `types` of CSV: every way
//! to scan returns the rows that DataFusion reads from the same data in UTF-8, with points and ISO dates.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, stock, stock_rows, try_rows};
use crate::typed::gzip;

const SCANS: [Scan; 4] = [Scan::Get, Scan::Select, Scan::Auto, Scan::Index];

/// A date as year, month and day.
type Day = (u16, u8, u8);

/// A record of the tables in these tests; a missing value is NULL.
#[derive(Debug, Clone)]
struct Record {
    id: i64,
    price: Option<(i32, u8)>,
    day: Option<Day>,
    /// A date, an hour and a minute.
    time: Option<(Day, (u8, u8))>,
    name: Option<String>,
}

impl Record {
    fn any() -> impl Strategy<Value = Self> {
        let names = vec!["a", "café", "ü;b", "say \"x\"", "1,5", "2026-01-01", "x\ny"];
        let name = prop::sample::select(names).prop_map(str::to_owned);
        let day = || (1990..2050_u16, 1..13_u8, 1..29_u8);
        (
            any::<i32>(),
            prop::option::weighted(0.8, (any::<i32>(), 0..100_u8)),
            prop::option::weighted(0.8, day()),
            prop::option::weighted(0.8, (day(), (0..24_u8, 0..60_u8))),
            prop::option::weighted(0.8, name),
        )
            .prop_map(|(id, price, day, time, name)| Self {
                id: i64::from(id),
                price,
                day,
                time,
                name,
            })
    }

    /// Writes the record as a line of CSV.
    fn line(&self, style: &Style) -> String {
        let null = || style.null.to_owned();
        let price = self.price.map(|(whole, part)| format!("{whole}{}{part:02}", style.point));
        let day = self.day.map(style.day);
        let time = self.time.map(|(day, minute)| (style.time)((style.day)(day), minute));
        let quoted = |text: &String| format!("\"{}\"", text.replace('"', "\"\""));
        let name = self.name.as_ref().map(quoted);
        let fields = [price, day, time, name].map(|field| field.unwrap_or_else(null));
        format!(
            "{}{separator}{}\n",
            self.id,
            fields.join(style.separator),
            separator = style.separator
        )
    }
}

/// The notation of values in a file.
struct Style {
    separator: &'static str,
    point: &'static str,
    day: fn((u16, u8, u8)) -> String,
    time: fn(String, (u8, u8)) -> String,
    null: &'static str,
}

const USUAL: Style = Style {
    separator: ",",
    point: ".",
    day: |(year, month, day)| format!("{year}-{month:02}-{day:02}"),
    time: |day, (hour, minute)| format!("{day}T{hour:02}:{minute:02}:00"),
    null: "",
};
const FOREIGN: Style = Style {
    separator: ";",
    point: ",",
    day: |(year, month, day)| format!("{day:02}.{month:02}.{year}"),
    time: |day, (hour, minute)| format!("{day} {hour:02}:{minute:02}"),
    null: "NA",
};

/// Lines before the header.
const TITLES: [&str; 2] = ["Export; é\n", "\n"];

const COLUMNS: &str = "id BIGINT, price DOUBLE, day DATE, at TIMESTAMP, name VARCHAR";

const QUERIES: [&str; 7] = [
    "SELECT * FROM t",
    "SELECT name, id FROM t WHERE price > 1.5",
    "SELECT count(*), max(price), min(day), max(at), count(name) FROM t",
    "SELECT id FROM t WHERE day >= DATE '2000-05-17' AND name IS NOT NULL",
    "SELECT day, count(*) FROM t GROUP BY day",
    "SELECT id, at FROM t WHERE at < TIMESTAMP '2020-01-01 10:00:00' ORDER BY at, id LIMIT 3",
    "SELECT count(*) FROM t WHERE name = 'café' OR price IS NULL",
];

fn text(records: &[Record], style: &Style, before: &str) -> String {
    let header = ["id", "price", "day", "at", "name"].join(style.separator);
    let lines: String = records.iter().map(|record| record.line(style)).collect();
    format!("{before}{header}\n{lines}")
}

fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}

fn utf_16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Foreign files, read by arguments of `read_csv` and by options of a table, equal the usual file in DataFusion.
#[test]
fn foreign_files_have_the_rows_of_usual_ones() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = Config { cases: cases.unwrap_or(4), ..Config::default() };
    let mut runner = TestRunner::new(config);
    let records = prop::collection::vec(Record::any(), 1..12);
    let encoding = prop::sample::select(vec!["utf-8", "latin-1", "utf-16"]);
    let given = (records, 0..3_usize, encoding, any::<bool>());
    let result = runner.run(&given, |(records, skip, encoding, zipped)| {
        runtime.block_on(async {
            let local = tempfile::tempdir().unwrap();
            let usual = local.path().join("usual.csv");
            std::fs::write(&usual, text(&records, &USUAL, "")).unwrap();
            let stock = stock();
            let ddl = format!(
                "CREATE EXTERNAL TABLE t ({COLUMNS}) STORED AS CSV LOCATION '{}' OPTIONS \
                 ('format.has_header' 'true', 'format.newlines_in_values' 'true')",
                usual.display()
            );
            stock_rows(&stock, &ddl).await.unwrap();
            let foreign = text(&records, &FOREIGN, &TITLES[..skip].concat());
            let bytes = match encoding {
                "latin-1" => latin(&foreign),
                "utf-16" => utf_16(&foreign),
                _ => foreign.into_bytes(),
            };
            let (name, bytes) = match zipped {
                true => ("foreign.csv.gz", gzip(&bytes)),
                false => ("foreign.csv", bytes),
            };
            let path = local.path().join(name);
            std::fs::write(&path, &bytes).unwrap();
            store.put(&format!("f/{name}"), &bytes);
            let url = format!("s3://{BUCKET}/f/{name}");
            for place in [url.as_str(), path.to_str().unwrap()] {
                let read = format!(
                    "CREATE VIEW t AS SELECT * FROM read_csv('{place}', delim => ';', header => true, skip => {skip}, \
                     encoding => '{encoding}', decimal_separator => ',', dateformat => '%d.%m.%Y', \
                     timestampformat => '%d.%m.%Y %H:%M', nullstr => ['NA', '-'], newlines_in_values => true, \
                     types => {{'price': 'DOUBLE', 'day': 'DATE', 'at': 'TIMESTAMP', 'name': 'VARCHAR'}})"
                );
                let create = format!(
                    "CREATE EXTERNAL TABLE t ({COLUMNS}) STORED AS CSV LOCATION '{place}' OPTIONS \
                     ('format.has_header' 'true', 'format.delimiter' ';', 'format.skip' '{skip}', \
                     'format.encoding' '{encoding}', 'format.decimal_separator' ',', 'format.dateformat' '%d.%m.%Y', \
                     'format.timestampformat' '%d.%m.%Y %H:%M', 'format.nullstr' 'NA', \
                     'format.newlines_in_values' 'true')"
                );
                for ddl in [&read, &create] {
                    for scan in SCANS {
                        let engine = store.engine(scan).await;
                        rows(&engine, ddl).await;
                        for sql in QUERIES {
                            let expected = stock_rows(&stock, sql).await.unwrap();
                            let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                            prop_assert_eq!(actual, Ok(expected), "{} by {}, {}", sql, scan, ddl);
                        }
                    }
                }
            }
            Ok(())
        })
    });
    result.unwrap();
}

/// Types are inferred from values in the given notation.
#[tokio::test(flavor = "multi_thread")]
async fn types_are_told_by_values_as_they_are_written() {
    let store = Store::start().await;
    store.put("x.csv", "n;d;t;p;k\n1,5;31.12.2025;NA;1.5;007\n2;01.02.2026;x;2.5;08\n");
    let engine = store.engine(Scan::Auto).await;
    let read = |more: &str| {
        format!(
            "read_csv('s3://{BUCKET}/x.csv', decimal_separator => ',', dateformat => '%d.%m.%Y', nullstr => 'NA'{more})"
        )
    };
    let types = |more: &str| {
        let of = ["n", "d", "t", "p", "k"].map(|name| format!("arrow_typeof({name})")).join(", ");
        format!("SELECT {of} FROM {} LIMIT 1", read(more))
    };
    let found = rows(&engine, &types("")).await;
    assert_eq!(found, ["\"Float64\" | \"Date32\" | \"Utf8\" | \"Utf8\" | \"Int64\""]);
    let given = types(", types => {'k': 'VARCHAR', 'n': 'DECIMAL(10, 2)'}");
    let found = rows(&engine, &given).await;
    assert_eq!(found, ["\"Decimal128(10, 2)\" | \"Date32\" | \"Utf8\" | \"Utf8\" | \"Utf8\""]);
    let sql = format!("SELECT n, k FROM {} WHERE k = '007'", read(", types => {'k': 'VARCHAR'}"));
    assert_eq!(rows(&engine, &sql).await, ["\"1.5\" | \"007\""]);
    // A list of types applies to the first columns in their order.
    let sql = format!("SELECT arrow_typeof(n) FROM {} LIMIT 1", read(", types => ['VARCHAR']"));
    assert_eq!(rows(&engine, &sql).await, ["\"Utf8\""]);
    // Partition columns are not read as text.
    store.put("p/year=2024/x.csv", "n\n1\nNA\n");
    let sql =
        format!("SELECT year, n FROM read_csv('s3://{BUCKET}/p/', nullstr => 'NA') WHERE n = 1");
    assert_eq!(rows(&engine, &sql).await, ["\"2024\" | \"1\""]);
    // A point does not replace the comma.
    store.put("y.csv", "n\n\"1.234\"\n");
    let sql = format!(
        "SELECT n FROM read_csv('s3://{BUCKET}/y.csv', decimal_separator => ',', types => {{'n': 'DOUBLE'}})"
    );
    says(try_rows(&engine, &sql).await, &["'1.234' has a point"]);
}

/// Files that Select cannot decode are read with GET, and EXPLAIN gives the reason.
#[tokio::test(flavor = "multi_thread")]
async fn explain_says_why_files_that_are_decoded_are_read_with_get() {
    let store = Store::start().await;
    store.put("x.csv", "a title\nn,m\n1,2\n");
    let engine = store.engine(Scan::Select).await;
    let from = format!("read_csv('s3://{BUCKET}/x.csv', skip => 1, encoding => 'latin-1')");
    let plan = rows(&engine, &format!("EXPLAIN SELECT n FROM {from} WHERE m > 1")).await.join("\n");
    for part in ["skip=1, encoding=latin-1", "S3 Select cannot read files as their options say"] {
        assert!(plan.contains(part), "{plan}");
    }
    let before = engine.counted();
    assert_eq!(rows(&engine, &format!("SELECT n FROM {from} WHERE m > 1")).await, ["\"1\""]);
    assert_eq!(engine.counted().since(&before).select, 0);
    // The text for NULL does not require all columns to be read.
    let from =
        format!("read_csv('s3://{BUCKET}/x.csv', nullstr => 'NA', header => false, names_of => 1)");
    says(
        try_rows(&engine, &format!("SELECT * FROM {from}")).await,
        &["no argument `names_of`", "nullstr"],
    );
    store.put("z.csv", "n,m\n1,NA\n2,3\n");
    let from = format!("read_csv('s3://{BUCKET}/z.csv', nullstr => 'NA')");
    let before = engine.counted();
    assert_eq!(rows(&engine, &format!("SELECT sum(m) FROM {from}")).await, ["\"3\""]);
    let counted = engine.counted().since(&before);
    assert!(counted.select > 0 && counted.fallbacks == 0, "{counted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_options_that_cannot_be_are_named() {
    let store = Store::start().await;
    store.put("x.csv", "n,m\n1,caf\u{e9}\n");
    store.put("odd.csv", "n,m\n1,2");
    let engine = store.engine(Scan::Auto).await;
    for (option, parts) in [
        ("skip => -1", &["option `skip` is '-1'", "whole number of lines"][..]),
        ("encoding => 'ebcdic'", &["option `encoding` is 'ebcdic'", "latin-1"]),
        ("decimal_separator => ';'", &["option `decimal_separator` is ';'", "','"]),
        ("dateformat => '%Q'", &["option `dateformat` is '%Q'", "%d.%m.%Y"]),
        ("types => 'INT'", &["option `types` is 'INT'", "{'id': 'BIGINT'}"]),
        ("types => {'n': 'NUMBR'}", &["'NUMBR', which is no type", "BIGINT"]),
        ("types => {'o': 'INT'}", &["`types` names the column `o`", "n, m"]),
    ] {
        let sql = format!("SELECT * FROM read_csv('s3://{BUCKET}/x.csv', {option})");
        says(try_rows(&engine, &sql).await, parts);
    }
    let ddl = format!(
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 's3://{BUCKET}/x.csv' OPTIONS ('format.skip' 'two')"
    );
    says(try_rows(&engine, &ddl).await, &["option `skip` is 'two'"]);
    let sql = format!("SELECT * FROM read_csv('s3://{BUCKET}/odd.csv', encoding => 'utf-16')");
    says(
        try_rows(&engine, &sql).await,
        &["odd.csv", "is no text in utf-16", "encoding => 'latin-1'"],
    );
    let sql = format!("COPY (SELECT 1 AS a) TO 's3://{BUCKET}/o.csv' OPTIONS ('format.skip' '2')");
    says(try_rows(&engine, &sql).await, &["only for reading", "skip"]);
}
