//! Files, links, endpoints and proxies that do not exist.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use super::Folder;
use crate::cli::{Served, good, sluice, text};

#[test]
fn a_name_that_does_not_say_its_format_is_told_how_to() {
    let folder = Folder::new();
    for name in ["noext", "g.cvs", "book.xlsx", "d.orc"] {
        fs::copy(folder.0.path().join("t.csv"), folder.0.path().join(name)).unwrap();
    }
    for (name, parts) in [
        ("noext", &["the name of 'noext' does not say", ".parquet", "read_csv('noext')"][..]),
        ("./noext", &["the name of './noext' does not say", "read_csv('./noext')"]),
        ("g.cvs", &["the name of 'g.cvs' does not say", "Did you mean .csv?", "read_csv('g.cvs')"]),
        ("book.xlsx", &["'book.xlsx' is a workbook", "as CSV"]),
        ("d.orc", &["'d.orc' is of the format orc", "Parquet"]),
    ] {
        folder.fails(&format!("from '{name}'"), parts);
    }
    assert_eq!(folder.rows("select count(*) from read_csv('noext')"), ["3"]);
    assert_eq!(folder.rows("select count(*) from read_csv('g.cvs')"), ["3"]);
}

#[test]
#[cfg(unix)]
fn links_that_lead_nowhere_are_named() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    let at = |name: &str| folder.0.path().join(name);
    fs::create_dir(at("in")).unwrap();
    fs::copy(at("t.csv"), at("in/a.csv")).unwrap();
    for (to, link) in
        [("nowhere.csv", "d.csv"), ("nowhere", "f"), ("loop.csv", "loop.csv"), (".", "in/self")]
    {
        symlink(to, at(link)).unwrap();
    }
    for (name, parts) in [
        ("d.csv", ["`d.csv` is a symbolic link to `nowhere.csv`", "which is not there"]),
        ("f/x.csv", ["`f` is a symbolic link to `nowhere`", "which is not there"]),
        ("loop.csv", ["`loop.csv` is a symbolic link to `loop.csv`", "in a circle"]),
    ] {
        folder.fails(&format!("from '{name}'"), &parts);
        folder.fails(&format!("select * from read_csv('{name}')"), &parts);
    }
    for from in ["'in/*.csv'", "'in/'", "'in/**/*.csv'", "read_csv('in/')"] {
        let sql = format!("select count(*) as n from {from}");
        let output = folder.command(&["sql", "--format", "csv", &sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(text(&output.stdout), "n\n3\n", "{from}: {said}");
        assert_eq!(
            said.matches("links that lead in a circle are left out: `").count(),
            1,
            "{said}"
        );
    }
}

#[test]
fn copy_to_a_name_of_another_format_is_noted() {
    let folder = Folder::new();
    for (sql, noted) in [
        ("copy (select 1 as a) to 'x.csv' stored as parquet", true),
        ("copy (select 1 as a) to 'y.csv' (format parquet)", true),
        ("copy (select 1 as a) to 'z.csv' stored as csv", false),
    ] {
        let output = folder.command(&["sql", sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let notes = said.matches(" is written as PARQUET, and FROM ").count();
        assert_eq!(notes, usize::from(noted), "{sql}: {said}");
    }
    assert_eq!(folder.rows("select a from read_parquet('x.csv')"), ["1"]);
}

/// The error names the proxy, not the store.
#[test]
fn a_proxy_that_is_not_there_is_named() {
    for (variable, endpoint, scan) in [
        ("http_proxy", "http://store.invalid:9000", "get"),
        ("http_proxy", "http://store.invalid:9000", "select"),
        ("HTTPS_PROXY", "https://store.invalid", "get"),
        ("ALL_PROXY", "https://store.invalid", "select"),
    ] {
        let sql = "select count(*) from 's3://bucket/t.csv' where a > 1";
        let mut command =
            sluice(&["sql", "--endpoint", endpoint, "--store", "sluice", "--scan", scan, sql]);
        command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "my secret");
        command.env(variable, "http://me:hidden@127.0.0.1:9/");
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let expected = format!("the proxy http://127.0.0.1:9 of {variable} cannot be reached: ");
        assert!(said.contains(&expected) && said.contains("NO_PROXY"), "{said}");
        assert!(!said.contains("hidden"), "{said}");
    }
}

/// Requests of the SDK use the proxy, too, although the SDK's own connections do not support proxies.
#[test]
fn a_proxy_has_each_request() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut connection, _) = proxy.accept().unwrap();
        let mut line = String::new();
        BufReader::new(connection.try_clone().unwrap()).read_line(&mut line).unwrap();
        let refused = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        connection.write_all(refused.as_bytes()).unwrap();
        line
    });
    let store = ["--endpoint", "http://store.invalid:9000", "--object", "s3://bucket/k.csv"];
    let mut command = sluice(&["endpoint", "probe"]);
    command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "my secret");
    let output = command.args(store).env("http_proxy", address).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("refuses access to `k.csv`"), "{said}");
    let asked = answering.join().unwrap();
    assert!(asked.starts_with("HEAD http://store.invalid:9000/bucket/k.csv "), "{asked}");
}

#[test]
fn an_endpoint_that_names_the_bucket_has_a_hint() {
    let served = Served::start();
    let sql = "select count(*) as n from 's3://bucket/fruit.csv'";
    assert!(good(&mut served.command(&["sql", sql])).contains("| n |"));
    let endpoint = format!("{}/bucket", served.endpoint);
    let mut command = sluice(&["sql", "--endpoint", &endpoint, sql]);
    command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "my secret");
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("hint: The endpoint names the bucket, too"), "{said}");
}
