//! Messages about files that are read and written.

use super::says;
use crate::cli::{Served, good, sluice, text};

#[test]
fn what_is_not_there_is_said_with_what_may_be_meant() {
    let served = Served::start();
    for (from, parts) in [
        (
            "'s3://bucket/{fruit,nuts}.csv'",
            &["no object at s3://bucket/{fruit,nuts}.csv", "Braces stand for"][..],
        ),
        ("'s3://bucket/*.cvs'", &["nothing matches the pattern", "glob('s3://bucket/**')"]),
        (
            "read_csv('s3://bucket/no/*.csv')",
            &["nothing matches the pattern", "glob('s3://bucket/no/**')"],
        ),
        ("'*.nope'", &["there is no file at *.nope: nothing matches", "begins in the folder"]),
        ("'{a,b}.csv'", &["no file '{a,b}.csv'", "Braces stand for"]),
        ("read_csv('no-such.csv')", &["there is no file at no-such.csv", "begins in the folder"]),
    ] {
        let sql = format!("SELECT * FROM {from}");
        says(&mut served.command(&["sql", "-c", &sql]), 1, parts);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fruit.csv");
    std::fs::write(&path, "x\n1\n").unwrap();
    let path = path.to_str().unwrap();
    let without = path.trim_start_matches('/');
    for sql in [
        format!("SELECT * FROM '{without}'"),
        format!("SELECT * FROM read_csv('{without}')"),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{without}'"),
    ] {
        says(&mut sluice(&["sql", "-c", &sql]), 1, &[&format!("Did you mean '{path}'?")]);
    }
    let swapped = path.replace("fruit", "friut");
    says(
        &mut sluice(&["sql", "-c", &format!("FROM '{swapped}'")]),
        1,
        &[&format!("Did you mean '{path}'?")],
    );
    good(&mut served.command(&["sql", "-c", "SELECT url FROM glob('s3://bucket/**')"]));
}

/// COPY accepts options in the notation of other systems; invalid targets are refused.
#[test]
fn copy_takes_options_in_parentheses() {
    let served = Served::start();
    let copy = |rest: &str| {
        let sql = format!("COPY (SELECT 1 AS a, 'x' AS b) TO {rest}");
        served.command(&["sql", "-c", &sql])
    };
    for (place, options, read) in [
        ("a", "(FORMAT parquet)", "read_parquet('s3://bucket/out/a')"),
        ("b.parquet", "(COMPRESSION zstd)", "'s3://bucket/out/b.parquet'"),
        ("c", "(FORMAT csv, HEADER, DELIMITER ';')", "read_csv('s3://bucket/out/c', delim => ';')"),
        ("d.csv", "WITH (HEADER true, QUOTE '\"')", "'s3://bucket/out/d.csv'"),
        ("e/", "(FORMAT csv, PARTITION_BY (b))", "'s3://bucket/out/e/'"),
        ("f.json", "(FORMAT json)", "'s3://bucket/out/f.json'"),
    ] {
        good(&mut copy(&format!("'s3://bucket/out/{place}' {options}")));
        let sql = format!("SELECT a, b FROM {read}");
        let answer = good(&mut served.command(&["sql", "--format", "csv", "-c", &sql]));
        assert_eq!(answer, "a,b\n1,x\n", "{place} {options}");
    }
    let there = "'s3://bucket/out/d.csv'";
    let refused = copy(there).output().unwrap();
    assert!(text(&refused.stderr).contains("already; OPTIONS (overwrite true)"));
    good(&mut copy(&format!("{there} (OVERWRITE)")));
    says(
        &mut copy("'s3://bucket/o.csv' (COLOR red)"),
        1,
        &["no option `COLOR`", "format, partition_by, header"],
    );
    for device in ["/dev/stdout", "/dev/fd/1"] {
        says(&mut copy(&format!("'{device}' STORED AS CSV")), 1, &["is no file", "--format csv"]);
    }
}

/// Complete records are not reported as records on several lines.
#[test]
fn a_value_of_another_type_is_no_matter_of_lines() {
    let served = Served::start();
    let mut rows: String =
        (0..200_000).map(|n| format!("{{\"a\":{n},\"b\":\"{}\"}}\n", "x".repeat(60))).collect();
    rows.push_str("{\"a\":\"two\",\"b\":\"y\"}\n");
    std::fs::write(served.path().join("bucket/c.json"), rows).unwrap();
    let sql = ["sql", "--scan", "get", "-c", "SELECT max(a) FROM 's3://bucket/c.json'"];
    let said = text(&served.command(&sql).output().unwrap().stderr);
    assert!(said.contains("whilst decoding field 'a'") && said.contains("TRY_CAST"), "{said}");
    assert!(!said.contains("several lines"), "{said}");
}

/// A local folder needs no slash at its end, unless a table has its name.
#[test]
fn a_folder_of_this_machine_needs_no_slash() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("t")).unwrap();
    for (name, text) in [("t/a.csv", "x\n1\n"), ("t/b.csv", "x\n2\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for (sql, expected) in [
        ("SELECT sum(x) AS n FROM 't'", "n\n3\n"),
        ("CREATE VIEW t AS SELECT 7 AS x; SELECT sum(x) AS n FROM 't'", "n\n7\n"),
    ] {
        let mut here = sluice(&["sql", "--format", "csv", "-c", sql]);
        assert_eq!(good(here.current_dir(folder.path())), expected, "{sql}");
    }
}

/// A pattern of local files is a table, too.
#[test]
fn files_of_this_machine_are_read_by_a_pattern() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("a.csv", "x\n1\n"), ("b.csv", "x\n2\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let sql = "SELECT sum(x) AS n FROM '*.csv'";
    let mut here = sluice(&["sql", "--format", "csv", "-c", sql]);
    assert_eq!(good(here.current_dir(folder.path())), "n\n3\n");
    let sql = format!("SELECT sum(x) AS n FROM '{}/*.csv'", folder.path().display());
    assert_eq!(good(&mut sluice(&["sql", "--format", "csv", "-c", &sql])), "n\n3\n");
    let sql = "SELECT * FROM 'no/such/*.csv'";
    says(&mut sluice(&["sql", "-c", sql]), 1, &["no file 'no/such/*.csv'"]);
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
        // A name with format and compression is enough.
        let whole = format!("b.csv.{end}");
        let done = copy(&whole, "").output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let name = format!("a.{end}");
        let options = format!("OPTIONS ('format.compression' '{compression}')");
        says(&mut copy(&name, ""), 1, &[&format!("`.{end}`"), "STORED AS CSV", &options]);
        let done = copy(&name, &format!(" STORED AS CSV {options}")).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let read = format!("SELECT a + 41 AS sum FROM 's3://bucket/out/{whole}'");
        let read = served.command(&["sql", "-c", &read]).output().unwrap();
        assert!(text(&read.stdout).contains("42"), "{}", text(&read.stderr));
    }
}
