//! Messages about commands, options and their values.

use super::says;
use crate::cli::{Served, sluice, text};

#[test]
fn statements_that_a_shell_has_cut_and_commands_of_others_are_known() {
    for (args, parts) in [
        (
            &["sql", "select", "1"][..],
            &["into 2 words", "Quote the whole statement", "\"SELECT …\""][..],
        ),
        (
            &["sql", "SELECT", "Cargo.toml", "FROM", "t"],
            &["into 4 words", "Quote the whole statement"],
        ),
        (&["sql", "-c", "from", "t"], &["into 2 words", "Quote the whole statement"]),
        (&["explain", "select", "1"], &["Quote the whole statement"]),
        (&["select 1"], &["unrecognized subcommand", "sluice sql \"SELECT …\""]),
        (&["ls"], &["unrecognized subcommand 'ls'", "\\ls s3://bucket/"]),
        (&["query"], &["`sluice sql` opens a prompt"]),
        (&["s3://bucket/a.csv"], &["FROM 's3://bucket/a.csv'"]),
        (&["connect", "rm", "x"], &["unrecognized subcommand 'rm'", "sluice/config.toml"]),
    ] {
        says(&mut sluice(args), 2, parts);
    }
}

/// A wrong value of an option, a setting or a target of COPY is refused with the possible values.
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
        &format!("{create} ('format.hedaer' 'true')"),
        &["CSV has no option `hedaer`", "Did you mean header?"],
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
        (&["sql", "--max-rows", "abc", "SELECT 1"], "`abc` is not a number of rows, 0 or more"),
        (&["sql", "--endpoint", "127.0.0.1:9", "SELECT 1"], "http://host:port"),
        (&["sql", "--region", "", "SELECT 1"], "is no name of a region"),
        (&["sql", "--workers", "foo", "SELECT 1"], "Write http://host:port"),
        (&["sql", "--profile", "prod", "SELECT 1"], "--aws-profile prod"),
        (&["sql", "-o", ".", "SELECT 1"], "`.` is a folder"),
        (&["explain", "-c", "/* nothing */"], "nothing to explain"),
        (&["connect", "add", "x", "--threads", "2"], "a connection does not keep --threads"),
        (
            &["connect", "add", "../x", "--endpoint", "http://127.0.0.1:9"],
            "no name of a connection",
        ),
        (&["connect", "add", "x", "--endpoint", "nonsense"], "http://host:port"),
        (&["connect", "add", "x", "--region", "not a region"], "is no name of a region"),
    ] {
        says(&mut sluice(args), 2, &[part]);
    }
}

/// A statement needs no option. With --verbose, an error also has the message of the library that failed.
#[test]
fn a_statement_without_an_option_runs() {
    let output = sluice(&["sql", "SELECT 41 + 1 AS n", "--format", "csv"]).output().unwrap();
    assert_eq!(text(&output.stdout), "n\n42\n");
    let wrong = ["sql", "SELECT sum('a')"];
    says(&mut sluice(&wrong), 1, &["there is no sum(VARCHAR)"]);
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
