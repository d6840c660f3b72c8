//! What the program says about what people mistype: one sentence and the way out, exit code 1 for what failed
//! and 2 for usage.

use std::process::Command;

use crate::cli::{Served, sluice, text};

/// Words that are for programmers, and for another project's.
const FOREIGN: [&str; 8] = [
    "Internal error",
    "bug in DataFusion",
    "datafusion",
    "Ident {",
    "Span(",
    "<Error>",
    "<Code>",
    "(DataType",
];

/// Fails with this code, and says all of these on stderr and nothing on stdout.
#[track_caller]
fn says(command: &mut Command, code: i32, parts: &[&str]) {
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "no {part:?} in {said:?}");
    }
    for part in FOREIGN {
        assert!(!said.contains(part), "{part:?} in {said:?}");
    }
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    if code == 1 {
        let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
        let hints = said.lines().filter(|line| line.starts_with("hint: ")).count();
        assert_eq!((errors, hints), (1, 1), "{said}");
    }
}

#[test]
fn mistakes_in_statements_are_named_with_the_way_out() {
    let served = Served::start();
    let fruit = "'s3://bucket/fruit.csv'";
    for (sql, parts) in [
        ("COPY (SELECT 1) TO 's3://nobucket/x.csv'", &["no bucket `nobucket`"][..]),
        ("SELECT * FROM 'https://example.com/a.csv'", &["https://example.com", "--endpoint"]),
        ("SELECT * FROM 'gs://b/a.csv'", &["gs://b/a.csv", "storage.googleapis.com"]),
        ("SELECT * FROM 's3a://bucket/fruit.csv'", &["Write s3:// instead"]),
        ("SELECT * FROM 's3://'", &["s3://bucket/key"]),
        ("SELECT * FROM 's3://b/t.csv'", &["`b` cannot be the name", "3 to 63"]),
        ("selct 1", &["line 1, column 1", "`selct`", "Did you mean SELECT?"]),
        ("SELECT cast('abc' AS INT)", &["'abc'", "TRY_CAST"]),
        ("CREATE EXTERNAL TABLE o STORED AS ORC LOCATION 's3://bucket/'", &["ORC", "PARQUET"]),
        ("COPY (SELECT 1 AS a) TO 's3://bucket/o.csv' STORED AS ORC", &["ORC", "PARQUET"]),
        ("COPY (SELECT 1 AS a) TO 's3://bucket/../o.csv'", &["`..`"]),
        ("SELECT * FROM 's3://bucket/a\nb.csv'", &["`s3://bucket/a\\nb.csv`", "control character"]),
        (
            "COPY (SELECT 1 AS a) TO 'https://u:pw@h/o.csv'",
            &["no password", "https://h/", "hint: Write it without"],
        ),
    ] {
        says(&mut served.command(&["sql", "-c", sql]), 1, parts);
    }
    for (of, parts) in [
        ("SELECT user.name FROM", &["`.name`", "no fields", "\"user\".name"][..]),
        ("SELECT fruit.name.x FROM", &["no fields"]),
        ("SELECT sum(name) FROM", &["there is no sum(Utf8)", "CAST("]),
        ("SELECT nam FROM", &["No field named nam"]),
    ] {
        let sql = format!("{of} {fruit} AS fruit");
        says(&mut served.command(&["sql", "-c", &sql]), 1, parts);
    }
    // A bucket without a slash is all of it.
    let all = served.command(&["sql", "SELECT count(*) FROM 's3://bucket'"]).output().unwrap();
    assert!(text(&all.stdout).contains('3'), "{}", text(&all.stderr));
}

/// What an option, a setting and a target of COPY may be.
#[test]
fn values_that_are_not_taken_are_named_with_what_may_be() {
    let served = Served::start();
    let says = |sql: &str, parts: &[&str]| {
        let output = served.command(&["sql", "-c", sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in parts {
            assert!(said.contains(part), "no {part:?} in {said:?}");
        }
        for part in ["Error parsing", "External error", "caused by", "Config value", "CsvOptions"] {
            assert!(!said.contains(part), "{part:?} in {said:?}");
        }
    };
    let fruit = "'s3://bucket/fruit.csv'";
    let create = format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION {fruit} OPTIONS");
    let copy = "COPY (SELECT 1 AS a) TO 's3://bucket/o.csv' OPTIONS";
    let character = "but must be one ASCII character";
    let number = "but must be a whole number";
    for (option, value, words) in [
        ("has_header", "maybe", "but must be true or false"),
        ("quote", "", character),
        ("delimiter", ";;", character),
        ("schema_infer_max_rec", "x", number),
        ("compression", "lzma", "but must be gzip, bzip2, xz, zstd or uncompressed"),
    ] {
        let said = format!("option `{option}` is '{value}', {words}");
        for statement in [&create, copy] {
            says(&format!("{statement} ('format.{option}' '{value}')"), &[&said]);
        }
        let typed = option.replace("schema_infer_max_rec", "sample_size");
        let said = format!("option `{typed}` is '{value}', {words}");
        says(&format!("SELECT * FROM read_csv({fruit}, {typed} => '{value}')"), &[&said]);
    }
    says(
        &format!("{create} ('format.header' 'true')"),
        &["CSV has no option `header`", "format.has_header"],
    );
    let level =
        "COPY (SELECT 1 AS a) TO 's3://bucket/o.parquet' OPTIONS ('format.compression' 'zstd(99)')";
    says(level, &["the level of the compression is not in 1 to 22", "zstd(3)"]);
    for (setting, value, words) in [
        ("datafusion.execution.batch_size", "x", number),
        ("datafusion.execution.batch_size", "0", "but must be greater than 0"),
        ("datafusion.execution.parquet.pruning", "maybe", "but must be true or false"),
        ("sluice.scan", "x", "but must be 'auto'"),
    ] {
        let said = format!("{setting} is '{value}', {words}");
        says(&format!("SET {setting} = '{value}'"), &[&said]);
    }
    for setting in ["timezone", "datafusion.execution.time_zone"] {
        let said = "datafusion.execution.time_zone is 'Mars', which is no time zone";
        says(&format!("SET {setting} = 'Mars'"), &[said, "'Europe/Berlin'"]);
    }
    for setting in ["nosuch", "datafusion.nosuch", "no.such"] {
        let said = format!("there is no setting `{setting}`");
        says(&format!("SET {setting} = 1"), &[&said, "SHOW ALL"]);
    }
}

#[test]
fn mistakes_in_calls_of_table_functions_are_named() {
    let served = Served::start();
    for (from, parts) in [
        ("glob(5)", &["glob needs a URL, as text"][..]),
        ("read_csv(5)", &["read_csv needs a URL, as text"]),
        ("nosuch(1)", &["no table function `nosuch`", "read_csv"]),
    ] {
        let sql = format!("SELECT * FROM {from}");
        let output = served.command(&["sql", "-c", &sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in parts {
            assert!(said.contains(part), "no {part:?} in {said:?}");
        }
    }
    let declared = "CREATE EXTERNAL TABLE t (id INT, name INT, price DOUBLE) STORED AS CSV LOCATION \
                    's3://bucket/fruit.csv' OPTIONS ('format.has_header' 'true')";
    says(
        &mut served.command(&["sql", "-c", declared, "-c", "SELECT max(name) FROM t"]),
        1,
        &["value 'apple' as type 'Int32' for column `name` at line 2", "fruit.csv"],
    );
    for (sql, parts) in [
        (
            "SELECT * FROM 's3://bucket//fruit.csv'",
            ["`s3://bucket//fruit.csv` has nothing between two `/`", "Leave one"],
        ),
        (
            "COPY (SELECT 1 AS a) TO 's3://bucket/a//b.csv'",
            ["nothing between two `/`", "Leave one"],
        ),
        (
            "COPY (SELECT 1 AS a, CAST(NULL AS TEXT) AS p) TO 's3://bucket/p/' STORED AS CSV PARTITIONED BY (p)",
            ["no value (NULL) of p", "coalesce(p, 'none') AS p"],
        ),
    ] {
        says(&mut served.command(&["sql", "-c", sql]), 1, &parts);
    }
}

/// The hint is a statement that works.
#[test]
fn copy_to_names_without_a_format_says_how() {
    let served = Served::start();
    let copy = |name: &str, more: &str| {
        let sql = format!("COPY (SELECT 1 AS a) TO 's3://bucket/out/{name}'{more}");
        served.command(&["sql", "-c", &sql])
    };
    says(&mut copy("plain", ""), 1, &["a name without an extension", "STORED AS CSV", ".csv"]);
    for (end, compression) in [("gz", "gzip"), ("bz2", "bzip2"), ("xz", "xz"), ("zst", "zstd")] {
        let name = format!("a.csv.{end}");
        let options = format!("OPTIONS ('format.compression' '{compression}')");
        says(&mut copy(&name, ""), 1, &[&format!("`.{end}`"), "STORED AS CSV", &options]);
        let done = copy(&name, &format!(" STORED AS CSV {options}")).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let read = format!("SELECT a + 41 AS sum FROM 's3://bucket/out/{name}'");
        let read = served.command(&["sql", "-c", &read]).output().unwrap();
        assert!(text(&read.stdout).contains("42"), "{}", text(&read.stderr));
    }
}

#[test]
fn mistakes_in_addresses_and_keys_are_named_with_the_way_out() {
    let served = Served::start();
    let sql = ["sql", "-c", "SELECT * FROM 's3://bucket/*.csv'"];
    let at = |endpoint: &str| {
        let mut command = sluice(&sql);
        let key = [("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "my secret")];
        command.args(["--endpoint", endpoint]).envs(key);
        command
    };
    let mut wrong = served.command(&sql);
    wrong.env("AWS_SECRET_ACCESS_KEY", "wrong");
    says(&mut wrong, 1, &["does not accept the signature", "AWS_SECRET_ACCESS_KEY"]);
    let with_path = format!("{}/path", served.endpoint);
    says(&mut at(&with_path), 1, &["has a path", &format!("without it: {}", served.endpoint)]);
    let tls = served.endpoint.replace("http://", "https://");
    says(&mut at(&tls), 1, &["does not speak TLS", "Try http://"]);
    says(&mut at("http://nohost.invalid:9"), 1, &["no host `nohost.invalid`"]);
}

#[test]
fn mistakes_in_options_are_usage() {
    for (args, part) in [
        (&["sql", "--threads", "0"][..], "`0` is not a number of threads"),
        (&["demo", "--scale", "abc"], "`abc` is not a scale factor such as 0.1"),
        (&["validate", "--scale", "inf"], "`inf` is not a scale factor"),
        (&["sql", "--max-cost", "-1"], "`-1` is not a sum of dollars such as 0.05"),
        (
            &["generate", "tpch", "--to", "data", "--endpoint", "http://127.0.0.1:1"],
            "--endpoint is for a store, and `data` is a folder",
        ),
        (&["sql", "Cargo.toml"], "run it with -f Cargo.toml"),
    ] {
        says(&mut sluice(args), 2, &[part]);
    }
}

/// A statement needs no option; with --verbose an error also has the words of the libraries below.
#[test]
fn a_statement_without_an_option_runs() {
    let output = sluice(&["sql", "SELECT 41 + 1 AS n", "--format", "csv"]).output().unwrap();
    assert_eq!(text(&output.stdout), "n\n42\n");
    let wrong = ["sql", "SELECT sum('a')"];
    says(&mut sluice(&wrong), 1, &["there is no sum(Utf8)"]);
    let verbose = sluice(&wrong).arg("--verbose").output().unwrap();
    let said = text(&verbose.stderr);
    assert!(said.contains("\norigin: ") && said.contains("Candidate functions"), "{said}");
}

#[test]
fn a_disk_without_room_is_said_before_work_starts() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let parts = ["takes about", "are free in", "Choose a smaller scale"];
    says(&mut sluice(&["validate", "--scale", "100000"]), 1, &parts);
    says(&mut sluice(&["demo", "--scale", "100000"]), 1, &parts);
    says(&mut sluice(&["generate", "tpch", "--scale", "100000", "--to", to]), 1, &parts);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
