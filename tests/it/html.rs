//! HTML pages with pictures of queries.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::{Served, bad, good, text};

/// Returns the path of a page in a temporary folder.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    (folder, path)
}

/// Reads a page, and checks that it loads and runs nothing.
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
    // The page has the printed numbers, and explaining again gives the same page.
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

/// The page has the earlier statement, the error, and all that the user typed.
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
    // No store is there, which would be the next error.
    let mut command = crate::cli::sluice(&["explain", "-c", "SELECT 1", "--endpoint"]);
    command.args(["http://127.0.0.1:1", "--html", nowhere.to_str().unwrap()]);
    bad(&mut command, "there is no folder");
}

/// Returns the number in a tile.
#[track_caller]
fn tile<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<dt>{name}<dd>")).unwrap_or_else(|| panic!("{page}"));
    rest.split('<').next().unwrap()
}

#[test]
fn a_profile_draws_what_was_counted() {
    let served = Served::start();
    let (_folder, path) = place();
    let table = "CREATE EXTERNAL TABLE fruit (id INT, name VARCHAR, price DOUBLE) STORED AS CSV \
                 LOCATION 's3://bucket/fruit.csv' OPTIONS ('format.has_header' 'true')";
    let sql = "SET sluice.scan = 'select'; SELECT name FROM fruit WHERE price > 1";
    for scan in ["select", "get"] {
        let sql = sql.replace("select", scan);
        let args =
            ["sql", "--stats", "--profile-html", path.to_str().unwrap(), "-c", table, "-c", &sql];
        let output = served.command(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("apple"));
        let page = read(&path);
        // The page has the numbers that --stats prints for the last statement.
        let stats = text(&output.stderr);
        let counted: Vec<_> =
            stats.lines().filter_map(|it| it.strip_prefix("counted:  ")).collect();
        let [.., requests, bytes] = counted.as_slice() else { panic!("{stats}") };
        assert!(requests.starts_with(&format!("{} request", tile(&page, "Requests"))), "{stats}");
        let link = tile(&page, "Over the link");
        assert!(bytes.ends_with(&format!("; {link} over the link")), "{link}: {stats}");
        assert!(
            page.contains(&format!("total<td>{}", requests.split(" (").next().unwrap())),
            "{page}"
        );
        assert!(page.contains("times are measured") && page.contains("Requests in time"), "{page}");
        assert!(page.contains("<b>Answer</b> 1 row"), "{page}");
        assert!(page.contains(&format!("{scan} <span class=\"mark\">taken")), "{page}");
        // One file is scanned, so its arrow has all bytes over the link.
        let arrow = page.split("<span class=\"bytes\">").nth(1).unwrap();
        let crossed = arrow.split('<').next().unwrap();
        assert!(crossed.ends_with(" B") && crossed != "0 B", "{crossed}");
        assert!(page.contains(&format!("scanned, {crossed} over the link.</p>")), "{page}");
    }
}

/// The page has the statements up to the failure, and the command fails.
#[test]
fn a_profile_of_a_failure_is_written() {
    let served = Served::start();
    let (_folder, path) = place();
    let sql = "SELECT count(*) FROM 's3://bucket/fruit.csv'; SELECT 1 / (id - id) FROM \
               's3://bucket/fruit.csv'; SELECT 'never'";
    let args = ["sql", "-c", sql, "--profile-html", path.to_str().unwrap()];
    let output = served.command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let page = read(&path);
    assert!(page.contains("It failed:") && page.contains("<h2>Statement 2 of 2</h2>"), "{page}");
    assert!(!page.contains("never"), "{page}");
}

#[test]
fn writes_and_definitions_are_drawn() {
    let served = Served::start();
    let (_folder, path) = place();
    let sql = "CREATE TABLE here AS SELECT * FROM 's3://bucket/fruit.csv'; \
               COPY here TO 's3://bucket/copy.csv'; SELECT count(*) FROM here";
    good(&mut served.command(&["sql", "-c", sql, "--profile-html", path.to_str().unwrap()]));
    let page = read(&path);
    assert!(page.contains("<b>Write</b>") && page.contains("PUT<td>"), "{page}");
    assert_eq!(page.matches("<h2>Statement").count(), 3, "{page}");
}

#[test]
fn a_profile_needs_statements_and_a_place() {
    let (folder, path) = place();
    let nowhere = folder.path().join("no/such/page.html");
    let mut command = crate::cli::sluice(&["sql", "-c", "SELECT 1", "--endpoint"]);
    command.args(["http://127.0.0.1:1", "--profile-html", nowhere.to_str().unwrap()]);
    bad(&mut command, "there is no folder");
    assert!(!path.exists() && fs::read_dir(folder.path()).unwrap().next().is_none());
}
