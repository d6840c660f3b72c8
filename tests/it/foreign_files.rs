//! CSV and JSON as other tools write them: lines before the header, texts for NULL, decimal commas, columns that differ
//! among files, and nulls in lists. `data/foreign/write.py` wrote most of the files; the others are given byte for byte
//! as their tools write them.

use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use crate::bad_input::says;
use crate::decoded_files::{bytes, foreign};
use crate::harness::{BUCKET, Store, rows, runner, try_rows};
use crate::typed::gzip;
use crate::untidy::SCANS;

/// The World Bank's downloads begin with a byte order mark and four lines before the header, of which two are empty.
const WORLD_BANK: &str = "\u{feff}\"Data Source\",\"World Development Indicators\",\r\n\r\n\"Last Updated Date\",\"2024-06-28\",\r\n\r\n\"Country Name\",\"Country Code\",\"2022\",\"2023\",\r\n\"Aruba\",\"ABW\",\"106.5\",\"\",\r\n\"Austria\",\"AUT\",\"1.25\",\"2.5\",\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn lines_before_the_header_are_skipped() {
    let store = Store::start().await;
    store.put("wb.csv", WORLD_BANK);
    store.put("wb.csv.gz", gzip(WORLD_BANK.as_bytes()));
    let local = tempfile::tempdir().unwrap();
    let path = local.path().join("wb.csv");
    std::fs::write(&path, WORLD_BANK).unwrap();
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in [
            format!("s3://{BUCKET}/wb.csv"),
            format!("s3://{BUCKET}/wb.csv.gz"),
            path.display().to_string(),
        ] {
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t STORED AS CSV LOCATION '{place}' OPTIONS (skip 4)"
            );
            rows(&engine, &create).await;
            for from in ["t", &format!("read_csv('{place}', skip => 4)")] {
                let sql = format!(
                    "SELECT \"Country Name\", \"2022\", \"2023\" FROM {from} WHERE \"Country Code\" <> 'DEU'"
                );
                let expected = [r#""Aruba" | "106.5" | "NULL""#, r#""Austria" | "1.25" | "2.5""#];
                assert_eq!(rows(&engine, &sql).await, expected, "{from}, {scan}");
                if place.starts_with("s3") && scan != Scan::Get {
                    let plan = rows(&engine, &format!("EXPLAIN {sql}")).await.join("\n");
                    assert!(plan.contains("as their options say (skip=4)"), "{plan}");
                }
            }
        }
    }
}

/// Excel's first line `sep=;` is also found in declared tables.
#[tokio::test(flavor = "multi_thread")]
async fn declared_tables_find_the_separator_of_excel() {
    let store = Store::start().await;
    let text = "\u{feff}sep=;\r\na;b\r\n1;x,y\r\n2;z\r\n";
    store.put("f/a.csv", text);
    store.put("f/b.csv", text);
    store.put("g.csv.gz", gzip(text.as_bytes()));
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (place, count) in [("f/", 4), ("f/a.csv", 2), ("g.csv.gz", 2)] {
            for (columns, options) in [
                ("", ""),
                ("(a BIGINT, b VARCHAR)", ""),
                ("(a BIGINT, b VARCHAR)", "OPTIONS (delimiter ';')"),
            ] {
                let create = format!(
                    "CREATE OR REPLACE EXTERNAL TABLE t {columns} STORED AS CSV LOCATION 's3://{BUCKET}/{place}' {options}"
                );
                rows(&engine, &create).await;
                let notes = engine.take_notes();
                assert!(notes.iter().any(|note| note.contains("`sep=;`")), "{notes:?}");
                let sum = "SELECT count(*), max(a), min(b) FROM t";
                let expected = format!(r#""{count}" | "2" | "x,y""#);
                assert_eq!(rows(&engine, sum).await, [expected], "{create}, {scan}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_for_null_are_null() {
    let store = Store::start().await;
    let expected =
        [r#""1" | "1.5" | "a;b""#, r#""2" | "NULL" | "NULL""#, r#""3" | "-1234.25" | "x,y""#];
    for (name, null, pattern) in [
        ("pandas-null.csv", "NULL", "^NULL$"),
        ("pandas-n.csv", "\\N", "^\\\\N$"),
        ("polars-null.csv", "n/a", "^n/a$"),
        ("duckdb-null.csv", "nil", "^(nil|none)$"),
    ] {
        store.put(name, bytes(name));
        let delimiter = match name {
            "pandas-null.csv" => ",",
            "polars-null.csv" => "\\t",
            _ => "|",
        };
        for scan in SCANS {
            let engine = store.engine(scan).await;
            let url = format!("s3://{BUCKET}/{name}");
            for (option, value) in
                [("nullstr", null), ("null_values", null), ("null_regex", pattern)]
            {
                let create = format!(
                    "CREATE EXTERNAL TABLE {option} (id BIGINT, price DOUBLE, note VARCHAR) STORED AS CSV \
                     LOCATION '{url}' OPTIONS (delimiter '{delimiter}', {option} '{value}')"
                );
                rows(&engine, &create).await;
                for from in [option.to_owned(), format!("read_csv('{url}', {option} => '{value}')")]
                {
                    let all = rows(&engine, &format!("SELECT * FROM {from}")).await;
                    assert_eq!(all, expected, "{from}, {option}, {scan}");
                    for (sql, expected) in [
                        ("SELECT id FROM T WHERE price IS NULL", r#""2""#),
                        ("SELECT id FROM T WHERE price < 0", r#""3""#),
                        (
                            "SELECT count(price), count(note), sum(price) FROM T",
                            r#""2" | "2" | "-1232.75""#,
                        ),
                        ("SELECT id FROM T WHERE note = 'x,y'", r#""3""#),
                    ] {
                        let sql = sql.replace(" T", &format!(" {from}"));
                        assert_eq!(
                            rows(&engine, &sql).await,
                            [expected],
                            "{sql}, {option}, {scan}"
                        );
                    }
                }
            }
            let several = format!("read_csv('{url}', null_values => ['-', '{null}'])");
            let sum = rows(&engine, &format!("SELECT sum(price) FROM {several}")).await;
            assert_eq!(sum, [r#""-1232.75""#], "{name}, {scan}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decimal_commas_are_read() {
    let store = Store::start().await;
    store.put("p.csv", bytes("pandas-decimal.csv"));
    // As LibreOffice writes numbers with the format `#.##0,00`.
    store.put("l.csv", "id;price;n\n1;1.234.567,50;12.345\n2;-0,25;7\n3;\"1.000,00\";-1.000\n");
    store.put("us.csv", "id,price\n1,\"1,234.5\"\n2,7\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let url = format!("s3://{BUCKET}/p.csv");
        rows(
            &engine,
            &format!(
                "CREATE EXTERNAL TABLE p STORED AS CSV LOCATION '{url}' OPTIONS (decimal ',')"
            ),
        )
        .await;
        for from in [
            "p".to_owned(),
            format!("read_csv('{url}', decimal => ',')"),
            format!(
                "read_csv('{}', decimal_separator => ',')",
                foreign("pandas-decimal.csv").display()
            ),
        ] {
            let all = rows(&engine, &format!("SELECT id, price, note FROM {from}")).await;
            let expected = [
                r#""1" | "1.5" | "a;b""#,
                r#""2" | "NULL" | "NULL""#,
                r#""3" | "-1234.25" | "x,y""#,
            ];
            assert_eq!(all, expected, "{from}, {scan}");
            let some = format!("SELECT id, sum(price) FROM {from} WHERE price < 1.5 GROUP BY id");
            assert_eq!(rows(&engine, &some).await, [r#""3" | "-1234.25""#], "{from}, {scan}");
        }
        let url = format!("s3://{BUCKET}/l.csv");
        rows(
            &engine,
            &format!(
                "CREATE EXTERNAL TABLE l (id INT, price DECIMAL(12, 2), n BIGINT) STORED AS CSV LOCATION '{url}' \
                 OPTIONS (decimal ',', thousands '.')"
            ),
        )
        .await;
        for from in ["l".to_owned(), format!("read_csv('{url}', decimal => ',', thousands => '.')")]
        {
            let sum = format!(
                "SELECT sum(n), max(price) > 1234567, min(price) FROM {from} WHERE n <> 7 OR price < 0"
            );
            let found = rows(&engine, &sum).await;
            assert!(
                found[0].starts_with(r#""11352" | "true" | "-0.25"#),
                "{found:?}, {from}, {scan}"
            );
        }
        let us =
            format!("SELECT sum(price) FROM read_csv('s3://{BUCKET}/us.csv', thousands => ',')");
        assert_eq!(rows(&engine, &us).await, [r#""1241.5""#], "{scan}");
    }
    let engine = store.engine(Scan::Auto).await;
    for (arguments, parts) in [
        (
            "decimal => ',', delim => ','",
            &["`,` cannot separate both fields and decimals", "delim => ';'"][..],
        ),
        ("thousands => '.'", &["`.` cannot separate both decimals and thousands"]),
        ("decimal => ',', thousands => ','", &["`,` cannot separate both decimals and thousands"]),
        ("thousands => '1'", &["option `thousands` is '1'", "one character"]),
    ] {
        let sql = format!("SELECT * FROM read_csv('s3://{BUCKET}/p.csv', {arguments})");
        says(try_rows(&engine, &sql).await, parts);
    }
    let create = format!(
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION 's3://{BUCKET}/p.csv' OPTIONS (decimal ',', delimiter ',')"
    );
    says(try_rows(&engine, &create).await, &["cannot separate both fields and decimals"]);
    // A group of other than three digits is no number.
    store.put("bad.csv", "n\n1.23.456\n");
    let bad = format!(
        "SELECT n FROM read_csv('s3://{BUCKET}/bad.csv', decimal => ',', thousands => '.', types => {{'n': 'DOUBLE'}})"
    );
    says(try_rows(&engine, &bad).await, &["1.23.456"]);
}

/// Files whose columns and their order differ, in each format.
#[tokio::test(flavor = "multi_thread")]
async fn columns_are_united_by_their_names() {
    let store = Store::start().await;
    let formats = ["csv", "ndjson", "parquet", "arrow", "avro"];
    for format in formats {
        for number in 1..=3 {
            let name = format!("union/{number}.{format}");
            store.put(&format!("{format}/{number}.{format}"), bytes(&name));
        }
    }
    let expected = [
        r#""1" | "pear" | "1.5" | "NULL""#,
        r#""2" | "fig" | "2.0" | "NULL""#,
        r#""3" | "NULL" | "3.0" | "NULL""#,
        r#""4" | "NULL" | "4.0" | "NULL""#,
        r#""5" | "plum" | "NULL" | "new""#,
    ];
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for format in formats {
            let function = if format == "ndjson" { "json" } else { format };
            let folder = format!("s3://{BUCKET}/{format}/");
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t STORED AS {format} LOCATION '{folder}' OPTIONS (union_by_name true)"
            );
            rows(&engine, &create).await;
            let local = foreign("union").join(format!("*.{format}"));
            for from in [
                "t".to_owned(),
                format!("read_{function}('{folder}', union_by_name => true)"),
                format!("read_{function}('{}', union_by_name => true)", local.display()),
            ] {
                let all = rows(&engine, &format!("SELECT id, name, price, kind FROM {from}")).await;
                assert_eq!(all, expected, "{from}, {format}, {scan}");
                for (sql, expected) in [
                    ("SELECT count(*), sum(price), max(name) FROM T", r#""5" | "10.5" | "plum""#),
                    ("SELECT id FROM T WHERE kind = 'new'", r#""5""#),
                    ("SELECT max(id) FROM T WHERE price IS NOT NULL AND name IS NULL", r#""4""#),
                ] {
                    let sql = sql.replace(" T", &format!(" {from}"));
                    assert_eq!(rows(&engine, &sql).await, [expected], "{sql}, {format}, {scan}");
                }
            }
        }
    }
    // EXPLAIN says why CSV is read with GET.
    let engine = store.engine(Scan::Select).await;
    let from = format!("read_csv('s3://{BUCKET}/csv/', union_by_name => true)");
    let plan =
        rows(&engine, &format!("EXPLAIN SELECT id FROM {from} WHERE price > 1")).await.join("\n");
    assert!(plan.contains("as their options say (union_by_name)"), "{plan}");
    // Without the option, files with other headers are refused, and the error names it.
    let plain = format!("SELECT * FROM 's3://{BUCKET}/csv/'");
    says(try_rows(&engine, &plain).await, &["has other columns", "union_by_name => true"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn united_files_may_be_odd_in_other_ways() {
    let store = Store::start().await;
    store.put("t/g=a/1.csv", "title\nid;v\n1;1,5\n2;NA\n");
    store.put("t/g=a/2.csv.gz", gzip("title\nv;w;id\n2,5;\"x;\ny\"\"\";3\n".as_bytes()));
    store.put("t/g=b/3.csv", "title\nw;g;id\nz;hidden;4\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let from = format!(
            "read_csv('s3://{BUCKET}/t/', union_by_name => true, skip => 1, decimal => ',', nullstr => 'NA', delim => ';')"
        );
        let all = rows(&engine, &format!("SELECT id, v, w, g FROM {from}")).await;
        assert_eq!(
            all,
            [
                r#""1" | "1.5" | "NULL" | "a""#,
                r#""2" | "NULL" | "NULL" | "a""#,
                r#""3" | "2.5" | "x;\ny\"" | "a""#,
                r#""4" | "NULL" | "z" | "b""#,
            ],
            "{scan}"
        );
    }
    let engine = store.engine(Scan::Auto).await;
    // Declared columns are found by name, in any order.
    store.put("d/1.csv", "a,b\n1,x\n");
    store.put("d/2.csv", "b,c,A\ny,0,2\n");
    let create = format!(
        "CREATE EXTERNAL TABLE d (b VARCHAR, a BIGINT, e INT) STORED AS CSV LOCATION 's3://{BUCKET}/d/' \
         OPTIONS (union_by_name true)"
    );
    rows(&engine, &create).await;
    let all = rows(&engine, "SELECT a, b, e FROM d").await;
    assert_eq!(all, [r#""1" | "x" | "NULL""#, r#""2" | "y" | "NULL""#]);
    // A file that appears later is read by its own header.
    store.put("d/3.csv", "a\n3\n");
    assert_eq!(rows(&engine, "SELECT sum(a), count(b) FROM d").await, [r#""6" | "2""#]);
    store.put("d/4.csv", "q,r\n3,4\n");
    says(
        try_rows(&engine, "SELECT sum(a) FROM d").await,
        &["d/4.csv", "none of the columns", "q, r"],
    );
    says(try_rows(&engine, "INSERT INTO d VALUES ('x', 1, 2)").await, &["only for reading"]);
    store.put("r/1.csv", "a,b\n1,x\n");
    store.put("r/2.csv", "b,a\n1\n");
    let ragged = format!("SELECT a FROM read_csv('s3://{BUCKET}/r/', union_by_name => true)");
    says(
        try_rows(&engine, &ragged).await,
        &["r/2.csv", "different numbers of fields", "truncated_rows"],
    );
    store.put("c/1.csv", "a\n1\n");
    store.put("c/2.csv", "a\nx\n");
    let types = format!("SELECT a FROM read_csv('s3://{BUCKET}/c/', union_by_name => true)");
    says(try_rows(&engine, &types).await, &["column `a` is BIGINT", "c/2.csv"]);
    let none = format!(
        "SELECT * FROM read_csv('s3://{BUCKET}/c/', union_by_name => true, header => false)"
    );
    says(try_rows(&engine, &none).await, &["union_by_name", "without headers"]);
    let never = format!("SELECT * FROM read_json('s3://{BUCKET}/c/', union_by_name => false)");
    says(try_rows(&engine, &never).await, &["always read by name"]);
}

/// Random tables in files that leave out columns and reorder them equal the table in one file.
#[test]
fn united_files_have_the_rows_of_one_file() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let engine = runtime.block_on(store.engine(Scan::Auto));
    let names = ["a", "b", "c", "d"];
    let value = prop::sample::select(vec!["", "x", "a,b", "\"", "x\ny", "é", " ", "\r\n"]);
    let record = prop::collection::vec(value, 4);
    let file = (
        prop::collection::vec(record, 0..5),
        Just(vec![0_usize, 1, 2, 3]).prop_shuffle(),
        1..=4_usize,
    );
    let runs = std::cell::Cell::new(0);
    let result = runner(40).run(&prop::collection::vec(file, 1..5), |files| {
        runs.set(runs.get() + 1);
        let number = runs.get();
        let mut expected = Vec::new();
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        for (place, (records, order, width)) in files.iter().enumerate() {
            let order = &order[..*width];
            let line = |texts: Vec<String>| format!("{}\n", texts.join(","));
            let mut text = line(order.iter().map(|column| names[*column].to_owned()).collect());
            for record in records {
                text += &line(order.iter().map(|column| quoted(record[*column])).collect());
                let shown = (0..4).map(|column| match record[column] {
                    "" => "NULL",
                    _ if !order.contains(&column) => "NULL",
                    text => text,
                });
                expected.push(shown.map(|text| format!("{text:?}")).collect::<Vec<_>>().join(" | "));
            }
            store.put(&format!("{number}/{place}.csv"), text);
        }
        expected.sort();
        let columns = names.map(|name| format!("{name} VARCHAR")).join(", ");
        runtime.block_on(async {
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t ({columns}) STORED AS CSV LOCATION 's3://{BUCKET}/{number}/' \
                 OPTIONS (union_by_name true, 'format.newlines_in_values' 'true')"
            );
            rows(&engine, &create).await;
            let found = rows(&engine, "SELECT a, b, c, d FROM t").await;
            prop_assert_eq!(found, expected);
            Ok(())
        })
    });
    result.unwrap();
}

/// DuckDB writes `[null]` for a list of structs whose only item is NULL.
#[tokio::test(flavor = "multi_thread")]
async fn nulls_in_lists_have_the_type_of_the_others() {
    let store = Store::start().await;
    store.put("l.json", bytes("duckdb-lists.json"));
    store.put("a.json", bytes("duckdb-lists-array.json"));
    // The null comes first, alone in its file, or within another list.
    store.put("first/1.json", "{\"id\":1,\"l\":[null]}\n");
    store.put("first/2.json", "{\"id\":2,\"l\":[{\"a\":7}]}\n");
    store.put("deep.json", "{\"d\":{\"l\":[[null],[{\"a\":1}]]}}\n{\"d\":{\"l\":[[null,{\"a\":2}],null]}}\n{\"d\":null}\n");
    store.put("only.json", "{\"id\":1,\"l\":[null]}\n{\"id\":2,\"l\":[]}\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for name in ["l.json", "a.json"] {
            let sql = format!(
                "SELECT id, array_length(l), l[1]['a'], l[2]['a'], l[1]['b'] FROM 's3://{BUCKET}/{name}'"
            );
            let found = rows(&engine, &sql).await;
            assert_eq!(found[0], r#""1" | "1" | "1" | "NULL" | "[x]""#, "{name}, {scan}");
            assert_eq!(found[1], r#""2" | "1" | "NULL" | "NULL" | "NULL""#, "{name}, {scan}");
            assert_eq!(found[2], r#""3" | "2" | "NULL" | "2" | "NULL""#, "{name}, {scan}");
            assert!(found[3].starts_with(r#""4" | "#), "{found:?}, {scan}");
        }
        let first = format!("SELECT id, l[1]['a'] FROM 's3://{BUCKET}/first/'");
        assert_eq!(rows(&engine, &first).await, [r#""1" | "NULL""#, r#""2" | "7""#], "{scan}");
        let deep = format!(
            "SELECT d['l'][1][1]['a'], d['l'][2][1]['a'], d['l'][1][2]['a'] FROM 's3://{BUCKET}/deep.json'"
        );
        assert_eq!(
            rows(&engine, &deep).await,
            [r#""NULL" | "1" | "NULL""#, r#""NULL" | "NULL" | "2""#, r#""NULL" | "NULL" | "NULL""#],
            "{scan}"
        );
        let only = format!("SELECT id, l FROM 's3://{BUCKET}/only.json'");
        assert_eq!(rows(&engine, &only).await, [r#""1" | "[NULL]""#, r#""2" | "[]""#], "{scan}");
    }
}
