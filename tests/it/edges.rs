//! Which of our crates may know which, as the architecture says.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The edges allowed: from, to.
const EDGES: &[(&str, &[&str])] = &[
    ("sluicegate", &["costmodel", "engine", "pruning", "s3select", "server", "workloads"]),
    ("sluicegate-engine", &["costmodel", "pruning", "s3select"]),
    ("sluicegate-server", &["s3select"]),
    ("sluicegate-s3select", &[]),
    ("sluicegate-pruning", &[]),
    ("sluicegate-costmodel", &[]),
    ("sluicegate-workloads", &[]),
];

/// Crates that a leaf must not have, however far down.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("sluicegate-pruning", &["tokio", "datafusion", "arrow", "object_store"]),
    ("sluicegate-costmodel", &["tokio", "datafusion", "arrow", "object_store"]),
    ("sluicegate-s3select", &["datafusion"]),
    ("sluicegate-server", &["datafusion"]),
];

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        // Without dependencies: nothing has to be fetched for platforms that are not built.
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--no-deps"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// For each package of the workspace, by name, the names of what it needs to build.
fn dependencies(metadata: &serde_json::Value) -> BTreeMap<String, BTreeSet<String>> {
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .filter(|package| package["source"].is_null())
        .map(|package| {
            let needed = package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
                .collect();
            (package["name"].as_str().unwrap().to_owned(), needed)
        })
        .collect()
}

#[test]
fn no_edge_but_those_allowed() {
    let found = dependencies(&metadata());
    let known: BTreeSet<&str> = EDGES.iter().map(|(from, _)| *from).collect();
    assert_eq!(found.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
    for (from, to) in EDGES {
        for needed in &found[*from] {
            let Some(ours) = needed.strip_prefix("sluicegate-") else { continue };
            assert!(to.contains(&ours), "{from} must not depend on {needed}");
        }
        for needed in &found[*from] {
            let forbidden = FORBIDDEN.iter().find(|(leaf, _)| leaf == from);
            let forbidden = forbidden.map_or(&[][..], |(_, names)| names);
            assert!(!forbidden.contains(&needed.as_str()), "{from} must not depend on {needed}");
        }
    }
}

#[test]
fn datafusions_crates_come_once() {
    let lock = include_str!("../../Cargo.lock");
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key| {
            let mut lines = package.lines();
            lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
        };
        let Some((name, version)) = value("name").zip(value("version")) else { continue };
        let name = name.trim_matches('"');
        if ["arrow", "parquet", "object_store", "sqlparser", "datafusion"].contains(&name) {
            versions.entry(name).or_default().insert(version);
        }
    }
    assert_eq!(versions.len(), 5);
    for (name, versions) in versions {
        assert_eq!(versions.len(), 1, "{name}: {versions:?}");
    }
}
