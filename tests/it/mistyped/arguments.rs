//! Arguments, files and commands in the style of other programs.

use super::Folder;
use crate::cli::{Served, good, text};

#[test]
fn answers_are_written_as_asked() {
    let folder = Folder::new();
    let sql = "select id, [id] as l from 't.csv' where id < 3";
    assert_eq!(good(&mut folder.command(&["sql", "--format", "CSV", sql])), "id,l\n1,[1]\n2,[2]\n");
    assert_eq!(
        good(&mut folder.command(&["sql", "--format", "tsv", sql])),
        "id\tl\n1\t[1]\n2\t[2]\n"
    );
    let lines = "{\"id\":1,\"l\":[1]}\n{\"id\":2,\"l\":[2]}\n";
    assert_eq!(good(&mut folder.command(&["sql", "--format", "jsonl", sql])), lines);
    assert!(good(&mut folder.command(&["sql", "-o", "-", "select 1 as n"])).contains("| n |"));
    assert!(!folder.0.path().join("-").exists());
    good(&mut folder.command(&["sql", "-o", "x.tsv", sql]));
    let written = std::fs::read_to_string(folder.0.path().join("x.tsv")).unwrap();
    assert_eq!(written, "id\tl\n1\t[1]\n2\t[2]\n");
}

#[test]
fn a_comment_may_come_first() {
    let folder = Folder::new();
    for args in [&["sql", "-- c\nselect 1 as n"][..], &["sql", "-c", "-- c\nselect 1 as n"]] {
        assert!(good(&mut folder.command(args)).contains("| n |"), "{args:?}");
    }
}

#[test]
fn options_of_other_programs_are_known() {
    let folder = Folder::new();
    for (option, part) in [
        ("--csv", "--format csv"),
        ("-q", "-c"),
        ("-e", "-c"),
        ("--query", "-c"),
        ("-d", "--endpoint"),
        ("--no-header", "HEADER false"),
        ("--no-sign-request", "--anonymous"),
    ] {
        let output = folder.command(&["sql", option, "select 1"]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("\nhint: ") && said.contains(part), "{option}: {said}");
        assert!(!said.contains("tip:"), "{option}: {said}");
    }
    for (given, part) in [("t.csv", "FROM 't.csv'"), ("s3://b/t.csv", "FROM 's3://b/t.csv'")] {
        let output = folder.command(&["sql", given]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{given}: {said}");
    }
}

#[test]
fn folders_and_buckets_are_listed() {
    let served = Served::start();
    let folder = Folder::new();
    let path = folder.0.path().display().to_string();
    let command = |asked: &str| {
        let mut command = served.command(&["sql", asked]);
        command.current_dir(folder.0.path());
        command
    };
    for asked in ["\\ls .", "\\ls ./", "\\ls t.csv", "\\ls ./*.csv", &format!("\\ls {path}")] {
        let listed = good(&mut command(asked));
        assert!(listed.contains("t.csv"), "{asked}: {listed}");
    }
    for asked in ["\\ls bucket", "\\ls s3://bucket/*.csv", "\\ls s3://bucket/"] {
        let listed = good(&mut command(asked));
        assert!(listed.contains("s3://bucket/fruit.csv"), "{asked}: {listed}");
    }
    let output = command("\\ls nosuch").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

#[test]
fn an_empty_region_is_none() {
    let folder = Folder::new();
    let mut command = folder.command(&["sql", "select count(*) as n from 't.csv'"]);
    command.env("AWS_REGION", "").env("AWS_DEFAULT_REGION", "");
    assert!(good(&mut command).contains("| 3 |"));
}

/// A location with a password is refused by every command, and no message repeats it.
#[test]
fn passwords_in_locations_are_refused_and_not_repeated() {
    let folder = Folder::new();
    let at = |rest: &str| format!("s3://user:secret@bucket/{rest}");
    let url = at("t.csv");
    for sql in [
        format!("FROM '{url}'"),
        format!("FROM '{}'", at("*.csv")),
        format!("FROM glob('{}')", at("**")),
        format!("FROM read_csv('{url}')"),
        format!("COPY (SELECT 1 AS a) TO '{url}'"),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{url}'"),
        format!("SET sluice.index_location = '{}'", at("i/")),
        format!("ANALYZE TABLE '{url}'"),
        format!("SUMMARIZE '{url}'"),
        format!("DESCRIBE '{url}'"),
        format!("\\ls {}", at("")),
    ] {
        let output = folder.command(&["sql", "--anonymous", "-c", &sql]).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success() && !said.contains("secret"), "{sql}: {said}");
        assert!(said.contains("no user name, no password and no port"), "{sql}: {said}");
    }
    let bucket = "user:secret@bucket";
    for args in [
        &["index", "create", &url, "a"][..],
        &["index", "list", &url],
        &["statistics", "show", &url],
        &["statistics", "drop", &url],
        &["generate", "tpch", "--to", &url],
        &["endpoint", "probe", "--bucket", bucket],
        &["endpoint", "probe", "--object", &url],
        &["calibrate", "--bucket", bucket],
    ] {
        let output = folder.command(args).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(!said.contains("secret") && said.contains("no password"), "{args:?}: {said}");
    }
}

#[test]
fn arguments_are_refused_with_what_is_meant() {
    let folder = Folder::new();
    for (args, part) in [
        (&["sql", "--threads", "-1", "select 1"][..], "`-1` is not a number of threads, 1 or more"),
        (&["sql", "--max-rows", "-1", "select 1"], "`-1` is not a number of rows, 0 or more"),
        (&["explain", "--stats", "select 1"], "`sluice sql --stats`"),
        (&["sql", "-o", "s3://shop/o.csv", "select 1"], "COPY (SELECT …) TO 's3://shop/o.csv'"),
        (&["sql", "nope.sql"], "there is no file `nope.sql`"),
        (&["-c", "select 1"], "sluice sql -c"),
        (&["-f", "x.sql"], "sluice sql -f"),
        (&["select 1"], "sluice sql \"SELECT …\""),
    ] {
        let output = folder.command(args).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(part) && !said.contains("tip:"), "{args:?}: {said}");
    }
}

#[test]
fn a_missing_bucket_is_told_before_a_calibration() {
    let served = Served::start();
    for (bucket, is_missing) in [("nope", true), ("bucket", false)] {
        let args = ["calibrate", "--bucket", bucket, "--dry-run", "--size", "64KiB"];
        let output = served.command(&args).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(said.contains("there is no bucket `nope`"), is_missing, "{said}");
    }
}
