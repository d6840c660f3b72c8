//! Pages with pictures of queries.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::{Served, bad, good, text};

/// A place for a page.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    (folder, path)
}

/// A page that asks for nothing and runs nothing.
#[track_caller]
fn read(path: &Path) -> String {
    let page = fs::read_to_string(path).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for forbidden in ["<script", "http://", "https://", "<link", "<img", "url("] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    page
}

const GROUPS: &str =
    "SELECT name, count(*) FROM 's3://bucket/fruit.csv' WHERE price > 0 GROUP BY name";

#[test]
fn explain_draws_what_it_would_print() {
    let served = Served::start();
    let (_folder, path) = place();
    let explain = |more: &[&str]| {
        let mut args = vec!["explain", "-c", "SET sluice.scan = 'select'", "-c", GROUPS];
        args.extend(more);
        good(&mut served.command(&args))
    };
    let said = explain(&[]);
    assert_eq!(explain(&["--html", path.to_str().unwrap()]), "");
    let page = read(&path);
    assert!(page.contains("all numbers are modelled"), "{page}");
    assert!(page.contains("fruit.csv</b>") && page.contains("class=\"box answer\""), "{page}");
    assert!(page.contains("Statement 1 of 2 defines a name or sets an option"), "{page}");
    // What is printed is on the page, and explaining again gives the same page.
    let estimate = said.lines().find_map(|line| line.strip_prefix("estimate: ")).unwrap();
    let bytes = estimate.split(", ").nth(2).unwrap().strip_suffix(" over the link").unwrap();
    assert!(page.contains(&format!("<dt>Over the link<dd>{bytes}<")), "{bytes}: {page}");
    assert!(page.contains(&format!("<span class=\"bytes\">{bytes}</span>")), "{bytes}: {page}");
    explain(&["--html", path.to_str().unwrap()]);
    assert_eq!(read(&path), page);
}

#[test]
fn a_switch_stands_between_store_and_client() {
    let served = Served::start();
    let (_folder, path) = place();
    let sql = "SET sluice.switch = 'tofino1'; SET sluice.group_by = 'server'; \
               SELECT DISTINCT name FROM 's3://bucket/fruit.csv'";
    good(&mut served.command(&["explain", "-c", sql, "--html", path.to_str().unwrap()]));
    let page = read(&path);
    assert!(page.contains("class=\"box switch\"><b>Prune: distinct"), "{page}");
}

/// The statement before is on the page, and so are the error and whatever the user typed.
#[test]
fn a_failure_is_drawn_and_told() {
    let served = Served::start();
    let (_folder, path) = place();
    let hostile = "SELECT '<script>alert(1)</script>' FROM \"<b>no table</b>\"";
    let sql = format!("SELECT count(*) FROM 's3://bucket/fruit.csv'; {hostile}; SELECT 7 AS never");
    let mut command = served.command(&["explain", "-c", &sql, "--html", path.to_str().unwrap()]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("statement 2"), "{}", text(&output.stderr));
    let page = read(&path);
    assert!(page.contains("It failed:") && page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<b>no table") && !page.contains("never"), "{page}");
}

#[test]
fn a_page_that_cannot_be_written_is_said_before_anything_runs() {
    let (folder, _) = place();
    let nowhere = folder.path().join("no/such/page.html");
    // No store is there; that would be the next error.
    let mut command = crate::cli::sluice(&["explain", "-c", "SELECT 1", "--endpoint"]);
    command.args(["http://127.0.0.1:1", "--html", nowhere.to_str().unwrap()]);
    bad(&mut command, "there is no folder");
}
