//! The allowed dependencies between our crates, as in the architecture.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::Command;

/// The allowed edges: from, to.
const EDGES: &[(&str, &[&str])] = &[
    (
        "sluicegate",
        &[
            "client",
            "conformance",
            "costmodel",
            "distributed",
            "engine",
            "evaluator",
            "experiments",
            "postgres",
            "pruning",
            "s3select",
            "server",
            "traces",
            "workloads",
        ],
    ),
    ("sluicegate-python", &["engine", "sluicegate"]),
    ("sluicegate-distributed", &["engine"]),
    (
        "sluicegate-engine",
        &["client", "costmodel", "delta", "guards", "index", "pruning", "s3select"],
    ),
    ("sluicegate-experiments", &["costmodel", "pruning", "workloads"]),
    ("sluicegate-delta", &[]),
    ("sluicegate-guards", &[]),
    ("sluicegate-client", &["conformance", "s3select"]),
    ("sluicegate-conformance", &["s3select"]),
    ("sluicegate-server", &["evaluator", "index", "s3select"]),
    ("sluicegate-evaluator", &["s3select"]),
    ("sluicegate-s3select", &[]),
    ("sluicegate-index", &["s3select"]),
    ("sluicegate-postgres", &[]),
    ("sluicegate-pruning", &[]),
    ("sluicegate-costmodel", &[]),
    ("sluicegate-traces", &["costmodel"]),
    ("sluicegate-workloads", &[]),
];

/// Crates on which one of ours must not depend, directly or indirectly.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("sluicegate-engine", &["sluicegate-evaluator", "sluicegate-server", "s3s"]),
    ("sluicegate-client", &["datafusion", "sluicegate-evaluator"]),
    ("sluicegate-conformance", &["aws-sdk-s3", "datafusion"]),
    ("sluicegate-delta", &["datafusion"]),
    ("sluicegate-server", &["aws-sdk-s3", "datafusion"]),
    ("sluicegate-evaluator", &["aws-sdk-s3", "datafusion"]),
    ("sluicegate-s3select", &["arrow", "aws-sdk-s3", "datafusion", "object_store", "tokio"]),
    ("sluicegate-index", &["arrow", "datafusion", "object_store", "tokio"]),
    ("sluicegate-postgres", &["arrow", "aws-sdk-s3", "datafusion", "object_store"]),
    ("sluicegate-pruning", &["arrow", "datafusion", "object_store", "tokio"]),
    ("sluicegate-costmodel", &["arrow", "datafusion", "object_store", "tokio"]),
    ("sluicegate-traces", &["arrow", "datafusion", "object_store", "tokio"]),
    ("sluicegate-workloads", &["aws-sdk-s3", "datafusion"]),
];

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        // Without dependencies, no crates of other platforms are downloaded.
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--no-deps"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Returns the build dependencies of each package of the workspace, by name.
fn ours(metadata: &serde_json::Value) -> Graph {
    let packages = metadata["packages"].as_array().unwrap();
    let needed = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        dependencies
            .filter(|dependency| dependency["kind"] != "dev")
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect()
    };
    packages.iter().map(|p| (p["name"].as_str().unwrap().to_owned(), needed(p))).collect()
}

/// A package of the lock file.
struct Locked {
    name: &'static str,
    version: &'static str,
    needs: Vec<&'static str>,
}

/// Parses the packages of the lock file.
fn locked() -> Vec<Locked> {
    let mut packages = Vec::new();
    for package in include_str!("../../Cargo.lock").split("[[package]]").skip(1) {
        let value = |key| {
            let mut lines = package.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            value.unwrap().trim_matches('"')
        };
        // A dependency is ` "name",` or, if there are several versions, ` "name version",`.
        let needs = package.lines().filter_map(|line| line.strip_prefix(" \""));
        let needs = needs.filter_map(|line| line.split([' ', '"']).next()).collect();
        packages.push(Locked { name: value("name"), version: value("version"), needs });
    }
    packages
}

/// Returns the dependencies of all versions of each package of the lock file, by name. The lock file covers the
/// features of the whole workspace, so no dependency is missing.
fn needed() -> Graph {
    let mut graph = Graph::new();
    for Locked { name, needs, .. } in locked() {
        let needs = needs.into_iter().map(str::to_owned);
        graph.entry(name.to_owned()).or_default().extend(needs);
    }
    graph
}

/// Returns the packages on a path from `from` to `to`, if there is one.
fn path(graph: &Graph, from: &str, to: &str) -> Option<Vec<String>> {
    let mut seen = BTreeSet::from([from.to_owned()]);
    let mut paths = VecDeque::from([vec![from.to_owned()]]);
    while let Some(path) = paths.pop_front() {
        let last = path.last()?;
        if last == to {
            return Some(path);
        }
        for next in graph.get(last).into_iter().flatten() {
            if seen.insert(next.clone()) {
                paths.push_back(path.iter().chain([next]).cloned().collect());
            }
        }
    }
    None
}

#[test]
fn no_edge_but_those_allowed() {
    let found = ours(&metadata());
    let known: BTreeSet<&str> = EDGES.iter().map(|(from, _)| *from).collect();
    assert_eq!(found.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
    for (from, to) in EDGES {
        for needed in &found[*from] {
            let Some(ours) = needed.strip_prefix("sluicegate") else { continue };
            let ours = ours.strip_prefix('-').unwrap_or(needed);
            assert!(to.contains(&ours), "{from} must not depend on {needed}");
        }
    }
}

#[test]
fn nothing_forbidden_is_built_for_a_crate() {
    let mut graph = needed();
    // The lock file does not mark dev-dependencies; our own manifests do.
    graph.extend(ours(&metadata()));
    for (from, forbidden) in FORBIDDEN {
        for to in *forbidden {
            assert!(graph.contains_key(*to), "{to} is no package of the lock file");
            let path = path(&graph, from, to);
            assert_eq!(path, None, "{from} must not depend on {to}");
        }
    }
    // The search follows more than one edge.
    assert!(path(&graph, "sluicegate-server", "arrow-buffer").is_some_and(|path| path.len() > 2));
}

#[test]
fn datafusions_crates_come_once() {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Locked { name, version, .. } in locked() {
        if ["arrow", "parquet", "object_store", "sqlparser", "datafusion"].contains(&name) {
            versions.entry(name).or_default().insert(version);
        }
    }
    assert_eq!(versions.len(), 5);
    for (name, versions) in versions {
        assert_eq!(versions.len(), 1, "{name}: {versions:?}");
    }
}
