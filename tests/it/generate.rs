//! `sluice generate`: tables in a bucket or a folder.

use std::fs;
use std::path::Path;

use crate::cli::{Served, bad, good, sluice};

#[test]
fn tables_are_generated_into_a_new_bucket_and_queried() {
    let served = Served::start();
    let ddl = served.path().join("tables.sql");
    let args = ["generate", "tpch", "--scale", "0.001", "--objects", "2", "--to", "s3://new/t"];
    let ddl = ddl.to_str().unwrap();
    good(served.command(&args).args(["--tables", "orders,region", "--ddl", ddl]));
    let query = "SELECT count(*) AS n FROM orders; SELECT count(*) AS n FROM region";
    let counts = good(&mut served.command(&["sql", "--format", "csv", "-f", ddl, "-c", query]));
    assert_eq!(counts, "n\n1500\nn\n5\n");
}

#[test]
fn tables_are_generated_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("data");
    let args =
        ["generate", "tpch", "--scale", "0.001", "--format", "parquet", "--tables", "nation"];
    let ddl = good(sluice(&args).arg("--to").arg(&to));
    assert!(ddl.starts_with("CREATE EXTERNAL TABLE nation STORED AS PARQUET"), "{ddl}");
    let count = "SELECT count(*) AS n FROM nation";
    let ask = ["sql", "--anonymous", "--format", "csv", "-c", &ddl, "-c", count];
    assert_eq!(good(&mut sluice(&ask)), "n\n25\n");
}

/// A file that cannot be written is reported before any work.
#[cfg(target_os = "linux")]
#[test]
fn statements_that_cannot_be_written_stop_generate_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("data");
    let generate = |to: &Path, ddl: &str| {
        let to = to.to_str().unwrap();
        sluice(&["generate", "tpch", "--scale", "0.001", "--to", to, "--ddl", ddl])
    };
    bad(&mut generate(&to, "/dev/full"), "/dev/full");
    bad(&mut generate(&to, "/nowhere/tables.sql"), "/nowhere");
    assert!(!to.join("sf0.001").exists());
    bad(&mut generate(&folder.path().join("\u{1b}[31m"), "/dev/null"), "has a control character");
    let tables = folder.path().join("tables.sql");
    good(&mut generate(&to, tables.to_str().unwrap()));
    assert!(fs::read_to_string(&tables).unwrap().contains("CREATE EXTERNAL TABLE lineitem"));
}
