//! The generated pages of the site, and the picture of the demo.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sluicegate_experiments::{ClaimSource, Paper, claims};

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
    good(&mut sluice(&["demo", "--scale", "0.002", "--svg", file]));
    let svg = fs::read_to_string(&path).unwrap();
    assert!(svg.contains("Seconds of ten queries at scale 0.002 as CSV, behind 1 Gbit/s"), "{svg}");
    for (text, count) in
        [("Q19", 2), ("pushdown off", 2), ("pushdown on", 2), ("seconds", 1), ("MB", 1)]
    {
        assert_eq!(svg.matches(&format!(">{text}</text>")).count(), count, "{text} in {svg}");
    }
    assert!(svg.contains("prefers-color-scheme:dark"));
    let none = folder.path().join("none").join("demo.svg");
    bad(&mut sluice(&["demo", "--svg", none.to_str().unwrap()]), "there is no folder");
}

/// The folder of the pages that `cargo run -p sluicegate-experiments --example pages` writes.
fn evidence() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("site/src/evidence")
}

/// Numbers of the pages are those of an evaluation, which takes hours; the claims must be those of today.
#[test]
fn the_evidence_has_the_claims_with_their_published_numbers() {
    let papers =
        [(Paper::PushdownDb, "pushdowndb"), (Paper::Cheetah, "cheetah"), (Paper::Icpe, "icpe")];
    for (paper, name) in papers {
        let page = fs::read_to_string(evidence().join(format!("{name}.md"))).unwrap();
        let plain = page.replace('\\', "");
        let rows: Vec<Vec<&str>> = plain
            .lines()
            .filter(|line| line.starts_with("| <a id="))
            .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
            .collect();
        let of_paper = || claims().iter().filter(|claim| claim.paper() == paper);
        assert_eq!(rows.len(), of_paper().count(), "{name}: {STALE}");
        for (row, claim) in rows.iter().zip(of_paper()) {
            let restored = if claim.source == ClaimSource::Restored { " (restored)" } else { "" };
            let plain = |text: &str| text.replace('\\', "");
            assert!(row[0].ends_with(&format!(">{}", claim.id)), "{row:?}: {STALE}");
            assert_eq!(row[2], plain(&claim.text), "{}: {STALE}", claim.id);
            assert_eq!(row[3], plain(&claim.published) + restored, "{}: {STALE}", claim.id);
            assert_eq!(row[5], claim.class.name(), "{}: {STALE}", claim.id);
        }
    }
}

const STALE: &str = "write the pages of site/src/evidence again, as howto/reproduce.md shows";

#[test]
fn the_evidence_shows_each_of_its_pictures() {
    let (mut shown, mut there) = (BTreeSet::new(), BTreeSet::new());
    for entry in fs::read_dir(evidence()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".md") {
            let page = fs::read_to_string(&path).unwrap();
            let links = page.split("](").skip(1).filter_map(|it| it.split(')').next());
            shown.extend(links.filter(|it| it.ends_with(".svg")).map(str::to_owned));
        } else {
            let svg = fs::read_to_string(&path).unwrap();
            assert!(svg.starts_with("<svg") && svg.contains("prefers-color-scheme:dark"), "{name}");
            there.insert(name);
        }
    }
    assert_eq!(shown, there);
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let picture = "(site/src/evidence/figure-10.svg)";
    assert!(fs::read_to_string(readme).unwrap().contains(picture));
    assert!(there.contains("figure-10.svg"));
}
