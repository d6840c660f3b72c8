//! `sluice switch` with packets of several entries, several switches, and graphs of workers.

use serde_json::Value;

use super::cli::{ALGORITHMS, refused};
use crate::cli::{good, sluice};

fn json(args: &[&str]) -> Vec<Value> {
    let said = good(sluice(args).args(["--format", "json"]));
    serde_json::from_str::<Value>(&said).unwrap().as_array().unwrap().clone()
}

const KEYS: &str = "generated:zipf:entries=40000:keys=6000";

fn number(row: &Value, column: &str) -> u64 {
    row[column].as_u64().unwrap_or_else(|| panic!("{column} of {row}"))
}

/// Four entries in a packet: fewer packets reach the master, more entries, and the answer is the same.
#[test]
fn packets_carry_several_entries() {
    for algorithm in ALGORITHMS {
        let base = ["switch", "run", "--algorithm", algorithm, "--input", KEYS, "--check", "4000"];
        let several = [&base[..], &["--per-packet", "4"]].concat();
        if ["group-sum", "having", "join-bloom", "join-register-bloom"].contains(&algorithm) {
            let mut several = sluice(&several);
            if algorithm.starts_with("join") {
                several.args(["--probe", KEYS, "-d", "4096"]);
            }
            refused(&mut several, "must process every entry in one place");
            continue;
        }
        let one = json(&base).remove(0);
        for lanes in ["position", "hash"] {
            let row = json(&[&several[..], &["--lanes", lanes]].concat()).remove(0);
            assert_eq!((&row["answer"], &row["checked"]), (&"unchanged".into(), &4000.into()));
            assert_eq!(number(&row, "packets"), 10_000, "{row}");
            let packets = number(&row, "forwarded_packets");
            assert!(packets <= number(&row, "forwarded") && packets <= 10_000, "{row}");
            if ["distinct", "distinct-fifo", "group-by"].contains(&algorithm) {
                // A key passes in each part of the matrix.
                assert!(number(&row, "forwarded") > number(&one, "forwarded"), "{row}");
            }
        }
    }
}

#[test]
fn several_entries_are_swept_and_placed() {
    let args =
        ["switch", "sweep", "--algorithm", "distinct", "--over", "d=256..1024", "--input", KEYS];
    let seeds = [&args[..], &["--seeds", "2"]].concat();
    let one = json(&seeds);
    let four = json(&[&seeds[..], &["--per-packet", "4"]].concat());
    for (one, four) in one.iter().zip(&four) {
        assert!(one["forwarded_share"].as_f64() < four["forwarded_share"].as_f64(), "{four}");
        assert_eq!(four["wrong"], 0);
    }
    // Each part of the matrix has a quarter of the rows and an ALU of its own.
    let fit = ["switch", "fit", "--algorithm", "distinct", "--key-bits", "32"];
    let alus = |more: &[&str]| -> u64 {
        let stages = json(&[&fit[..], more].concat());
        stages.iter().map(|stage| number(stage, "stateful ALUs")).sum()
    };
    assert_eq!((alus(&[]), alus(&["--per-packet", "4"])), (2, 8));
    let said = good(sluice(&fit).args(["--per-packet", "4"]));
    assert!(said.contains("64 KiB") || said.contains("32 KiB of registers"), "{said}");
    let p4 = ["switch", "p4", "--algorithm", "distinct", "--key-bits", "32", "--per-packet", "2"];
    assert!(good(&mut sluice(&p4)).contains("hdr.entry1.setInvalid();"));
    let mut odd = sluice(&["switch", "fit", "--per-packet", "4"]);
    refused(&mut odd, "name it with --algorithm");
}

/// A tree prunes more than a switch of the same size, and its answers are the same.
#[test]
fn a_tree_of_switches_prunes_twice() {
    for algorithm in ALGORITHMS {
        let base = ["switch", "topology", "--algorithm", algorithm, "--input", KEYS];
        let mut args = [&base[..], &["--leaves", "0,2,5"]].concat();
        if algorithm.starts_with("join") {
            args.extend(["--probe", KEYS, "-d", "4096"]);
        }
        if ["group-sum", "having", "join-bloom", "join-register-bloom"].contains(&algorithm) {
            refused(&mut sluice(&args), "it the one switch that all entries cross");
            continue;
        }
        let rows = json(&args);
        for row in &rows {
            assert_eq!(row["answer"], "unchanged", "{row}");
            assert_eq!(number(row, "switches"), number(row, "leaves") + 1);
        }
        assert!(rows[0]["past_leaves"].is_null(), "{rows:?}");
        for row in &rows[1..] {
            assert!(number(row, "forwarded") <= number(row, "past_leaves"), "{row}");
        }
    }
    let small = ["switch", "topology", "--algorithm", "distinct", "-d", "256", "--input", KEYS];
    let rows = json(&small);
    let forwarded: Vec<u64> = rows.iter().map(|row| number(row, "forwarded")).collect();
    assert!(forwarded.len() == 4 && forwarded[3] < forwarded[0], "{forwarded:?}");
}

/// Along an axis, a tree forwards less than one switch of the same size.
#[test]
fn trees_are_swept() {
    let args =
        ["switch", "sweep", "--algorithm", "distinct", "--over", "d=64..256", "--seeds", "2"];
    let sweep = |more: &[&str]| json(&[&args[..], &["--input", KEYS], more].concat());
    let (one, tree) = (sweep(&[]), sweep(&["--leaves", "4"]));
    assert_eq!((one.len(), tree.len()), (3, 3));
    for (one, tree) in one.iter().zip(&tree) {
        assert!(tree["forwarded_share"].as_f64() < one["forwarded_share"].as_f64(), "{tree}");
        assert_eq!((&tree["wrong"], &tree["runs"]), (&0.into(), &2.into()));
    }
    let mut both = sluice(&args);
    refused(
        both.args(["--input", KEYS, "--leaves", "4", "--per-packet", "2"]),
        "cannot be used with",
    );
    let having = ["switch", "sweep", "--algorithm", "having", "--over", "w=64..128"];
    let mut having = sluice(&having);
    refused(having.args(["--input", KEYS, "--leaves", "2"]), "a pruner that must see every entry");
    let mut many = sluice(&args);
    refused(many.args(["--input", KEYS, "--leaves", "1025"]), "1025 is not in 0..=1024");
}

#[test]
fn edges_of_a_graph_are_placed_together() {
    let edges = ["1-3=filter,threshold=5", "2-3=filter", "3-4=group-by,w=4,d=1024"];
    let rows = json(&[&["switch", "dag"][..], &edges].concat());
    let ports: Vec<_> = rows.iter().map(|row| row["port"].as_u64()).collect();
    assert_eq!(ports, [Some(1), Some(2), Some(3), None]);
    let alus: Vec<_> = rows.iter().map(|row| number(row, "stateful ALUs")).collect();
    assert_eq!(alus, [1, 1, 4, 6], "{rows:?}");
    let stages: Vec<_> = rows.iter().map(|row| number(row, "stages")).collect();
    assert!(stages[3] < stages[..3].iter().sum::<u64>(), "{rows:?}");
    assert!(rows.iter().all(|row| row["fits"] == "yes"), "{rows:?}");
    let many = ["1-2=group-by", "2-3=group-by", "3-4=skyline-sum,w=9", "4-5=top-n-randomized,w=9"];
    let rows = json(&[&["switch", "dag"][..], &many].concat());
    assert!(rows[4]["fits"].as_str().unwrap().starts_with("no: "), "{rows:?}");
    refused(&mut sluice(&["switch", "dag", "1-2=filter", "2-1=filter"]), "closes a cycle");
    refused(&mut sluice(&["switch", "dag", "1-2=filtre"]), "is not an algorithm");
    refused(&mut sluice(&["switch", "dag", "1:2"]), "is not an edge");
}

/// Cheetah §6: ALUs that several queries use.
#[test]
fn queries_that_share_alus_fit_where_they_do_not_apart() {
    let fit = ["switch", "fit", "--together"];
    let group_bys = ["group-by"; 5];
    let rows = json(&[&fit[..], &group_bys].concat());
    let all: Vec<&Value> = rows.iter().filter(|row| row["query"] == "all").collect();
    let sharing: Vec<_> = all.iter().map(|row| row["sharing"].as_str().unwrap()).collect();
    assert_eq!((rows.len(), sharing), (8, vec!["none", "divided", "alternatives"]));
    let [none, divided, alternatives] = all[..] else { panic!("{rows:?}") };
    assert!(none["fits"].as_str().unwrap().starts_with("no: needs "), "{none}");
    for row in [divided, alternatives] {
        assert_eq!((&row["fits"], number(row, "stateful ALUs")), (&"yes".into(), 8), "{row}");
        assert_eq!(number(row, "shared ALUs"), 8, "{row}");
    }
    // Alternatives have the memory of one query.
    assert_eq!(number(divided, "register KiB"), 5 * number(&rows[0], "register KiB"));
    assert_eq!(number(alternatives, "register KiB"), number(&rows[0], "register KiB"));
    let arrays = divided["shared arrays"].as_str().unwrap();
    assert!(arrays.starts_with("shared0: q0_groups0 in 0 to 4095, q1_groups0 in 4096 to 8191"));
    // Joins have flows of their own, beside other queries.
    let said = good(sluice(&fit).args(["join-bloom,d=1024", "join-bloom,d=1024", "filter"]));
    assert!(said.contains("Shared arrays, divided:") && !said.contains("shared arrays"), "{said}");
    let many = [&fit[..], &["filter"; 33]].concat();
    refused(&mut sluice(&many), "the limits are 32 and 65535");
    let odd = [&fit[..], &["filtre"]].concat();
    refused(&mut sluice(&odd), "is not an algorithm");
    let huge = [&fit[..], &["distinct,w=4294967295"]].concat();
    refused(&mut sluice(&huge), "must be 1 to");
    let mut both = sluice(&[&fit[..], &["filter", "-w", "2"]].concat());
    refused(&mut both, "name it with --algorithm");
}
