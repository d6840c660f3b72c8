//! The generated pages of the site, and the picture of the demo.

use std::fs;
use std::path::Path;

use crate::cli::{bad, good, sluice};

/// The committed pages equal the program's output; `SLUICE_UPDATE_SITE=1` writes them.
#[test]
fn the_reference_is_that_of_the_program() {
    for page in ["settings", "commands", "differences"] {
        let printed = good(&mut sluice(&["reference", page]));
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("site/src/reference/{page}.md"));
        if std::env::var_os("SLUICE_UPDATE_SITE").is_some() {
            fs::write(&path, &printed).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap();
        assert!(
            committed == printed,
            "{} differs from `sluice reference {page}`; SLUICE_UPDATE_SITE=1 cargo test --test it site",
            path.display()
        );
    }
}

#[test]
fn the_reference_has_every_setting_and_command() {
    let settings = good(&mut sluice(&["reference", "settings"]));
    let all = good(&mut sluice(&["sql", "SHOW ALL", "--format", "csv", "--max-rows", "0"]));
    let names: Vec<&str> = all
        .lines()
        .filter_map(|line| line.split(',').next())
        .filter(|name| name.starts_with("sluice."))
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(settings.contains(&format!("\n## `{name}`\n")), "{name}");
    }
    assert!(settings.contains(
        "Values: `'auto'`, `'get'`, `'select'`, `'index'`, `'index_table'`.  \nDefault: `auto`."
    ));
    let commands = good(&mut sluice(&["reference", "commands"]));
    for name in ["sluice", "sluice sql", "sluice switch run", "sluice connect add"] {
        assert!(commands.contains(&format!("\n## `{name}`\n")), "{name}");
    }
    assert!(commands.contains("Usage: sluice switch run [OPTIONS]"), "{commands}");
    assert!(!commands.contains("udp-node"));
}

#[test]
fn the_demo_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.svg");
    let file = path.to_str().unwrap();
    let shown = good(&mut sluice(&["demo", "--scale", "0.002", "--svg", file]));
    let svg = fs::read_to_string(&path).unwrap();
    assert!(svg.contains(">$ sluice demo --scale 0.002<"), "{svg}");
    let last = shown.lines().find(|line| line.starts_with("Q19 ")).unwrap();
    for cell in last.split("  ").map(str::trim).filter(|cell| !cell.is_empty()) {
        assert!(svg.contains(&format!(">{cell}</text>")), "{cell:?} is not in {svg}");
    }
    assert!(!svg.contains("EXPLAIN"));
    let none = folder.path().join("none").join("demo.svg");
    bad(&mut sluice(&["demo", "--svg", none.to_str().unwrap()]), "there is no folder");
}
