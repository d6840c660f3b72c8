//! Files in another format than declared: one sentence refuses each and names it.

use datafusion::datasource::file_format::file_compression_type::FileCompressionType;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};
use crate::untidy::{SCANS, member};

/// Parquet objects without a byte, or with too few, are errors. Empty ones are skipped if there are others.
#[tokio::test(flavor = "multi_thread")]
async fn parquet_files_that_are_too_short_are_refused() {
    let store = Store::start().await;
    store.put("alone/a.parquet", "");
    store.put("among/a.parquet", "");
    store.put("few/a.parquet", "PAR1");
    store.put("named", "");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let whole = format!("COPY (SELECT 1 AS n) TO 's3://{BUCKET}/among/b.parquet'");
        if scan == SCANS[0] {
            rows(&engine, &whole).await;
        }
        for (place, object, size) in [
            ("alone/", "alone/a.parquet", 0),
            ("alone/a.parquet", "alone/a.parquet", 0),
            ("few/", "few/a.parquet", 4),
        ] {
            let url = format!("s3://{BUCKET}/{place}");
            let said = format!("`{object}` has {size} bytes");
            for sql in [
                format!("SELECT * FROM '{url}'"),
                format!("SELECT count(*) FROM read_parquet('{url}')"),
                format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{url}'"),
                format!("CREATE EXTERNAL TABLE t (n BIGINT) STORED AS PARQUET LOCATION '{url}'"),
            ] {
                // The reader of footers has a message of its own.
                let words = match (size, sql.starts_with("CREATE EXTERNAL TABLE t S")) {
                    (4, _) => ["few/a.parquet", "few/a.parquet"],
                    _ => [said.as_str(), "at least 12"],
                };
                says(try_rows(&engine, &sql).await, &words);
            }
        }
        let among = format!("SELECT * FROM 's3://{BUCKET}/among/'");
        assert_eq!(rows(&engine, &among).await, [r#""1""#], "{scan}");
        let said = ["files without a byte are left out: `among/a.parquet`"];
        assert_eq!(engine.take_notes(), said, "{scan}");
        let named = format!("SELECT * FROM read_parquet('s3://{BUCKET}/named')");
        says(try_rows(&engine, &named).await, &["no object with data at", "named"]);
        let none = format!(
            "CREATE EXTERNAL TABLE none (n BIGINT) STORED AS PARQUET LOCATION 's3://{BUCKET}/none/'"
        );
        rows(&engine, &none).await;
    }
}

/// A column with values that no type covers, in one file and in two.
#[tokio::test(flavor = "multi_thread")]
async fn types_that_differ_are_named() {
    let store = Store::start().await;
    store.put("o.json", "{\"a\":1,\"b\":2}\n{\"a\":{\"x\":1},\"b\":3}\n");
    store.put("n.json", "{\"a\":{\"b\":[1]}}\n{\"a\":{\"b\":{\"c\":1}}}\n");
    store.put("array.json", "[{\"a\":1},{\"a\":{\"x\":1}}]");
    store.put("late.json", "{\"a\":1}\n{\"a\":[1]}\n");
    store.put("json/a.json", "{\"a\":1}\n");
    store.put("json/b.json", "{\"a\":{\"x\":1}}\n");
    store.put("csv/a.csv", "a,b\n1,x\n");
    store.put("csv/b.csv", "a,b\nfoo,x\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        if scan == SCANS[0] {
            for (name, value) in [("a", "1"), ("b", "'x'")] {
                let url = format!("s3://{BUCKET}/parquet/{name}.parquet");
                rows(&engine, &format!("COPY (SELECT {value} AS a) TO '{url}'")).await;
            }
        }
        let left_out = "Declare the other columns";
        let declared = "t (a VARCHAR, …)";
        for (place, kind, words) in [
            (
                "o.json",
                "JSON",
                [
                    "column `a` of `o.json` is a number in record 1 and an object in record 2",
                    left_out,
                ],
            ),
            (
                "n.json",
                "JSON",
                [
                    "column `a.b` of `n.json` is an array in record 1 and an object in record 2",
                    left_out,
                ],
            ),
            (
                "json/",
                "JSON",
                [
                    "column `a` is BIGINT in `json/a.json` and an object (STRUCT) in `json/b.json`",
                    left_out,
                ],
            ),
            (
                "csv/",
                "CSV",
                ["column `a` is BIGINT in `csv/a.csv` and VARCHAR in `csv/b.csv`", declared],
            ),
            (
                "parquet/",
                "PARQUET",
                [
                    "column `a` is BIGINT in `parquet/a.parquet` and VARCHAR in `parquet/b.parquet`",
                    declared,
                ],
            ),
        ] {
            let url = format!("s3://{BUCKET}/{place}");
            says(try_rows(&engine, &format!("SELECT * FROM '{url}'")).await, &words);
            let create = format!("CREATE EXTERNAL TABLE t STORED AS {kind} LOCATION '{url}'");
            says(try_rows(&engine, &create).await, &words);
        }
        let array = format!(
            "SELECT * FROM read_json('s3://{BUCKET}/array.json', newline_delimited => false)"
        );
        let said = "column `a` of `array.json` is a number in record 1 and an object in record 2";
        says(try_rows(&engine, &array).await, &[said, left_out]);
        let late = format!("SELECT * FROM 's3://{BUCKET}/late.json'");
        let said = "column `a` of `late.json` is a number in record 1 and an array in record 2";
        says(try_rows(&engine, &late).await, &[said, left_out]);
        // The statements in the hints work.
        let others = format!(
            "CREATE EXTERNAL TABLE others (b BIGINT) STORED AS JSON LOCATION 's3://{BUCKET}/o.json'"
        );
        rows(&engine, &others).await;
        assert_eq!(rows(&engine, "SELECT b FROM others").await, ["\"2\"", "\"3\""]);
        for (kind, columns, expected) in [
            ("CSV", "a VARCHAR, b VARCHAR", ["\"1\"", "\"foo\""]),
            ("PARQUET", "a VARCHAR", ["\"1\"", "\"x\""]),
        ] {
            let place = kind.to_ascii_lowercase();
            let create = format!(
                "CREATE EXTERNAL TABLE {place} ({columns}) STORED AS {kind} LOCATION 's3://{BUCKET}/{place}/'"
            );
            rows(&engine, &create).await;
            assert_eq!(rows(&engine, &format!("SELECT a FROM {place} ORDER BY a")).await, expected);
        }
    }
}

/// Objects that are no text, or are not in the format of their name, are refused, as tables by URL and by CREATE.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_is_told() {
    let store = Store::start().await;
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    store.put("utf16/a.csv", utf16("a,b\n1,x\n"));
    store.put("utf16/a.json", utf16("{\"a\":1}\n"));
    store.put("bare.csv", &utf16("a,b\n1,x\n")[2..]);
    store.put("gz/a.csv", member(FileCompressionType::GZIP, "a,b\n1,x\n").await);
    store.put("second/a.csv", "a,b\n1,x\n");
    store.put("second/b.csv", member(FileCompressionType::ZSTD, "a,b\n1,x\n").await);
    store.put("latin.csv", b"a,b\n1,caf\xe9\n");
    store.put("kinds/a.csv", "a,b\n1,x\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        if scan == SCANS[0] {
            let url = format!("s3://{BUCKET}/kinds/b.parquet");
            rows(&engine, &format!("COPY (SELECT 1 AS a) TO '{url}'")).await;
        }
        let utf16 = ["is text in UTF-16", "iconv -f UTF-16"];
        for (place, kind, words) in [
            ("utf16/a.csv", "CSV", utf16),
            ("utf16/a.json", "JSON", utf16),
            ("bare.csv", "CSV", utf16),
            ("gz/", "CSV", ["`gz/a.csv` is compressed by gzip", "compression => 'gzip'"]),
            (
                "second/",
                "CSV",
                ["`second/b.csv` is compressed by zstd", "'format.compression' 'zstd'"],
            ),
            (
                "latin.csv",
                "CSV",
                ["`latin.csv` is not text in UTF-8: see line 2, field 2", "iconv"],
            ),
            ("kinds/", "CSV", ["of several formats (.csv, .parquet)", "kinds/*.csv'"]),
            ("kinds/", "PARQUET", ["of several formats (.csv, .parquet)", "kinds/*.csv'"]),
        ] {
            let url = format!("s3://{BUCKET}/{place}");
            says(try_rows(&engine, &format!("SELECT * FROM '{url}'")).await, &words);
            let create = format!("CREATE EXTERNAL TABLE t STORED AS {kind} LOCATION '{url}'");
            says(try_rows(&engine, &create).await, &words);
            if kind == "CSV" && place != "latin.csv" {
                let declared = create.replace(" STORED", " (a INT, b TEXT) STORED");
                says(try_rows(&engine, &declared).await, &words);
            }
        }
        let parquet = format!("s3://{BUCKET}/kinds/b.parquet");
        let create = format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{parquet}'");
        says(
            try_rows(&engine, &create).await,
            &["`kinds/b.parquet` is a Parquet file", "read_parquet"],
        );
        let one = format!("SELECT a FROM read_csv('s3://{BUCKET}/gz/', compression => 'gzip')");
        assert_eq!(rows(&engine, &one).await, ["\"1\""]);
    }
}
