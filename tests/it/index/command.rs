//! `sluice index`.

use super::files;
use crate::cli::{Served, bad, good, text};

#[test]
fn the_command_line_creates_lists_verifies_and_drops() {
    let served = Served::start();
    let url = "s3://bucket/fruit.csv";
    let index = |args: &[&str]| served.command(&[&["index"], args].concat());
    // A name in another case refers to the only column that matches it.
    assert_eq!(good(&mut index(&["create", url, "ID"])), "");
    let listed = good(&mut index(&["list", url, "--format", "csv"]));
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines[0], "object,column,kind,state,bytes,index");
    assert!(lines[1].starts_with("s3://bucket/fruit.csv,id,index,fresh,"), "{listed}");
    assert!(lines[1].contains(",s3://bucket/.sluice-index/fruit.csv/_id."), "{listed}");
    let sql = format!("SELECT name FROM '{url}' WHERE id = 2");
    let found =
        good(&mut served.command(&["sql", "--scan", "index", "--format", "csv", "-c", &sql]));
    assert_eq!(found, "name\n\"pear, green\"\n");
    let explained = good(&mut served.command(&["explain", "--scan", "index", "-c", &sql]));
    assert!(explained.contains("* index"), "{explained}");
    let verified = good(&mut index(&["verify", url, "--format", "csv"]));
    assert!(verified.contains(",id,index,sound,"), "{verified}");
    let refused = index(&["create", url, "weight"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(
        said.contains("the objects have no column weight; they have id, name, price"),
        "{said}"
    );
    // Missing indexes cannot be verified or dropped; a damaged one is created again.
    for command in ["verify", "drop"] {
        let wrong = "there is no index of nope; there are those of id";
        bad(&mut index(&[command, url, "nope"]), wrong);
    }
    let path = files(&served.path().join("bucket/.sluice-index")).remove(0);
    std::fs::write(&path, "").unwrap();
    let listed = good(&mut index(&["list", url, "--format", "csv"]));
    assert!(listed.contains(",id,index,damaged,0,"), "{listed}");
    let verified = index(&["verify", url, "--format", "csv"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(1));
    assert!(text(&verified.stdout).contains("damaged: it is cut short"));
    assert!(text(&verified.stderr).contains("1 of 1 indexes cannot be used"));
    // The command in the hint works unchanged.
    let said = text(&verified.stderr);
    let way = format!("hint: `sluice index create {url} id --repair` makes new ones.\n");
    assert!(said.ends_with(&way), "{said}");
    good(&mut index(&["create", url, "id", "--repair"]));
    assert!(good(&mut index(&["verify", url, "--format", "csv"])).contains(",id,index,sound,"));
    // If an object is deleted, its index cannot be repaired, and the hint drops it.
    let gone = served.path().join("bucket/several");
    std::fs::create_dir(&gone).unwrap();
    for object in ["a.csv", "b.csv", "c.csv"] {
        std::fs::write(gone.join(object), "n\n1\n").unwrap();
    }
    let several = "s3://bucket/several/";
    good(&mut index(&["create", several, "n"]));
    std::fs::remove_file(gone.join("a.csv")).unwrap();
    let said = text(&index(&["verify", several]).output().unwrap().stderr);
    let way = format!(
        "hint: `sluice index drop {several} n` removes those of other formats and of objects"
    );
    assert!(said.contains(&way), "{said}");
    good(&mut index(&["drop", url, "id"]));
    bad(
        &mut index(&["drop", url, "id"]),
        "there is no index of id: s3://bucket/fruit.csv has none",
    );
    // A table that only a file defines, one without records, and a column whose name paths cannot hold.
    let unknown = index(&["create", "basket", "id"]).output().unwrap();
    assert!(text(&unknown.stderr).contains("-f tables.sql"), "{}", text(&unknown.stderr));
    std::fs::create_dir(served.path().join("bucket/none")).unwrap();
    std::fs::write(served.path().join("bucket/none/a.csv"), "").unwrap();
    std::fs::create_dir(served.path().join("bucket/odd")).unwrap();
    std::fs::write(served.path().join("bucket/odd/a.csv"), "été/1\n7\n").unwrap();
    let tables = served.path().join("tables.sql");
    std::fs::write(
        &tables,
        "CREATE EXTERNAL TABLE none (id BIGINT) STORED AS CSV LOCATION 's3://bucket/none/'; \
         CREATE EXTERNAL TABLE odd (\"été/1\" BIGINT) STORED AS CSV LOCATION 's3://bucket/odd/'",
    )
    .unwrap();
    let tables = ["-f", tables.to_str().unwrap()];
    assert_eq!(good(index(&["create", "none", "id"]).args(tables)), "");
    assert_eq!(good(index(&["list", "none", "--format", "csv"]).args(tables)).lines().count(), 1);
    good(index(&["create", "odd", "été/1"]).args(tables));
    let listed = good(index(&["list", "odd", "--format", "csv"]).args(tables));
    assert!(listed.contains("s3://bucket/odd/a.csv,été/1,index,fresh,"), "{listed}");
    assert_eq!(good(&mut index(&["list", url, "--format", "csv"])).lines().count(), 1);
}
