//! `sluice switch` on the command line.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::cli::{bad, good, sluice, text};

/// Returns the rows that a command prints as JSON.
#[track_caller]
fn json(args: &[&str]) -> Vec<Value> {
    let said = good(sluice(args).args(["--format", "json"]));
    serde_json::from_str::<Value>(&said).unwrap().as_array().unwrap().clone()
}

/// Checks that a command fails with an error that contains `words`, and prints nothing else.
#[track_caller]
pub(super) fn refused(command: &mut Command, words: &str) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = text(&stderr);
    assert!(matches!(status.code(), Some(1 | 2)) && said.contains(words), "{words}: {said}");
    assert!(stdout.is_empty(), "{}", text(&stdout));
}

pub(super) const ALGORITHMS: [&str; 15] = [
    "filter",
    "distinct",
    "distinct-fifo",
    "skyline-sum",
    "skyline-aph",
    "skyline-baseline",
    "top-n-deterministic",
    "top-n-randomized",
    "group-by",
    "group-sum",
    "join-bloom",
    "join-register-bloom",
    "having",
    "having-below",
    "having-extreme",
];

#[test]
fn help_teaches() {
    for command in [
        "run", "examples", "fit", "p4", "plan", "trace", "theory", "protocol", "sweep", "topology",
        "dag", "time", "udp",
    ] {
        let help = good(&mut sluice(&["switch", command, "--help"]));
        assert!(help.contains("Examples:"), "{command}");
    }
    assert!(good(&mut sluice(&["switch", "--help"])).contains("Examples:"));
}

#[test]
fn a_file_is_run_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("visits.csv");
    let rows: String =
        (0..900).map(|row| format!("agent {},{}\n", row % 7, row * 37 % 101)).collect();
    fs::write(&file, format!("agent,revenue\n{rows},5\n")).unwrap();
    let file = file.to_str().unwrap();
    let run = |more: &[&str]| {
        let mut args = vec!["switch", "run", "--input", file, "--check", "1000"];
        args.extend(more);
        json(&args).remove(0)
    };
    let distinct = run(&["--algorithm", "distinct", "--column", "AGENT"]);
    let expected = [("entries", 900), ("forwarded", 7), ("optimum", 7), ("checked", 900)];
    for (name, number) in expected {
        assert_eq!(distinct[name], number, "{distinct}");
    }
    assert_eq!(distinct["answer"], "unchanged");
    let groups = run(&["--algorithm", "group-by", "--column", "agent,revenue", "-w", "3"]);
    // An equal maximum is forwarded again.
    let (least, sent) =
        (groups["optimum"].as_u64().unwrap(), groups["forwarded"].as_u64().unwrap());
    assert!((least..least + 10).contains(&sent) && groups["answer"] == "unchanged", "{groups}");
    let top = run(&["--algorithm", "top-n-deterministic", "--column", "revenue", "-n", "5"]);
    assert_eq!(top["answer"], "unchanged", "{top}");
}

/// Every algorithm over a generated stream: the answer stays the same, and fast path and program agree.
#[test]
fn generated_streams_run_through_every_algorithm() {
    for algorithm in ALGORITHMS {
        let source = "generated:zipf:entries=20000:keys=3000";
        let mut args =
            vec!["switch", "run", "--algorithm", algorithm, "--input", source, "--check", "2000"];
        if algorithm.starts_with("join") {
            args.extend(["--probe", "generated:uniform:entries=20000:keys=9000", "-d", "65536"]);
        }
        if algorithm.starts_with("having") {
            args.extend(["--threshold", "2000"]);
        }
        let rows = json(&args);
        assert_eq!(rows[0]["answer"], "unchanged", "{algorithm}: {rows:?}");
        assert_eq!(rows[0]["checked"], 2000, "{algorithm}");
        let number = |name: &str| rows[0][name].as_u64().unwrap();
        assert!(number("optimum") <= number("forwarded"), "{algorithm}: {rows:?}");
        assert!(number("forwarded") <= number("entries"), "{algorithm}: {rows:?}");
    }
}

/// The sizes of the paper's examples: matrices of 1000, 600 and 481 rows, and filters of 4 MB, of which a Bloom
/// filter has three arrays of 1 MiB.
#[test]
fn the_papers_sizes_run_and_fit() {
    let join = ["--probe", "generated:uniform:entries=20000:keys=9000"];
    for (algorithm, size, more) in [
        ("distinct", &["-w", "24", "-d", "1000"][..], &["--check", "2000"][..]),
        ("top-n-randomized", &["-n", "1000", "-w", "16", "-d", "600"], &["--check", "2000"]),
        ("top-n-randomized", &["-n", "1000", "-w", "19", "-d", "481"], &["--check", "2000"]),
        ("join-register-bloom", &["--hashes", "3", "-d", "524288"], &join),
        ("join-bloom", &["--hashes", "3", "-d", "8388608"], &join),
    ] {
        let source = "generated:zipf:entries=20000:keys=3000";
        let args = ["switch", "run", "--algorithm", algorithm, "--input", source];
        let rows = json(&[&args, size, more].concat());
        assert_eq!(rows[0]["answer"], "unchanged", "{algorithm}: {rows:?}");
        if algorithm != "join-register-bloom" {
            let args = ["switch", "fit", "--algorithm", algorithm, "--target", "paper"];
            assert!(!json(&[&args, size].concat()).is_empty(), "{algorithm}");
        }
    }
}

#[test]
fn what_the_released_programs_lose_is_said() {
    let run = |algorithm: &str, source: &str| {
        let args =
            ["switch", "run", "--variant", "released", "--algorithm", algorithm, "--input", source];
        json(&args)[0]["answer"].as_str().unwrap().to_owned()
    };
    let lost = run("top-n-deterministic", "generated:uniform:entries=5000");
    assert!(lost.starts_with("WRONG: "), "{lost}");
    assert_eq!(run("group-by", "generated:zipf:entries=5000"), "unchanged");
}

#[test]
fn the_papers_queries_keep_their_answers() {
    let rows =
        json(&["switch", "run", "--workload", "bigdata", "--scale", "0.0005", "--check", "500"]);
    let mut queries: HashMap<String, usize> = HashMap::new();
    for row in &rows {
        assert_eq!(row["answer"], "unchanged", "{row}");
        assert!(row["optimum"].as_u64() <= row["forwarded"].as_u64(), "{row}");
        *queries.entry(row["query"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let more = ["7 HAVING <", "A filter", "B GROUP BY SUM", "B, packed alone", "A+B, packed"];
    assert_eq!(queries.len(), 7 + more.len(), "{queries:?}");
    let of = |query: &str, column: &str| {
        rows.iter().find(|row| row["query"] == query).unwrap()[column].as_u64().unwrap()
    };
    for column in ["entries", "forwarded", "optimum"] {
        let sum = of("A filter", column) + of("B GROUP BY SUM", column);
        assert_eq!(of("A+B, packed", column), sum, "{column}");
    }
    assert_eq!(of("A+B, packed", "checked"), 500);
    // Section 6: the filter takes one ALU more, and no stage.
    let packed = |column| of("A+B, packed", column) - of("B, packed alone", column);
    assert_eq!((packed("stages"), packed("stateful ALUs")), (0, 1));
    let top = rows.iter().find(|row| row["query"] == "4 TOP 250").unwrap();
    let says = top["the paper says"].as_str().unwrap();
    assert!(says.contains("theorem 2") && says.contains("99.56 % at scale 1"), "{says}");
}

/// The joins of TPC-H's query 3 at a small scale: filters let one in five customers through, and of all rows of orders
/// and lineitem few pass the second join.
#[test]
fn the_joins_of_query_3_keep_their_answers() {
    let args = ["switch", "run", "--workload", "tpch-q3", "--scale", "0.005", "--check", "500"];
    let rows = json(&args);
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert_eq!(row["answer"], "unchanged", "{row}");
        assert!(row["optimum"].as_u64() <= row["forwarded"].as_u64(), "{row}");
    }
    let number = |row: usize, column: &str| rows[row][column].as_u64().unwrap();
    // 150 000, 1.5 and 6 million rows at scale 1: a fifth of the customers, and about half of the orders and lines.
    let entries = [number(0, "entries"), number(1, "entries"), number(2, "entries")];
    let expected = [150 + 3_646, 700 + 16_200, 7_500 + 29_929];
    for (entries, expected) in entries.into_iter().zip(expected) {
        assert!(entries.abs_diff(expected) * 10 < expected, "{entries}, about {expected} expected");
    }
    assert_eq!(number(1, "forwarded"), number(2, "forwarded"));
    assert!(rows[2]["forwarded_share"].as_f64() < Some(0.1), "{rows:?}");
    let mut large = sluice(&["switch", "run", "--workload", "tpch-q3", "--scale", "9"]);
    refused(&mut large, "is not between 0.001 and 2");
}

/// The six examples of section 4, over the paper's table 1.
#[test]
fn the_papers_examples_have_their_answers() {
    let rows = json(&["switch", "examples"]);
    let same: Vec<_> = rows.iter().map(|row| row["same"].as_str().unwrap()).collect();
    assert_eq!(same, ["yes"; 6], "{rows:?}");
    let pruned: Vec<_> = rows.iter().map(|row| row["pruned"].as_str().unwrap()).collect();
    assert_eq!((pruned[0], pruned[1], pruned[3]), ("Fries", "Fries", "Cheetos"), "{rows:?}");
    assert!(good(&mut sluice(&["switch", "examples"])).contains("published: "));
}

/// Appendix A.1: which algorithms are certain.
#[test]
fn guarantees_are_those_of_the_appendix() {
    let rows = json(&["switch", "fit"]);
    let likely: Vec<_> = rows
        .iter()
        .filter(|row| row["guarantee"] != "deterministic")
        .map(|row| (row["algorithm"].as_str().unwrap(), row["guarantee"].as_str().unwrap()))
        .collect();
    let fingerprints = "probabilistic for fingerprints";
    let expected = [
        ("distinct", fingerprints),
        ("distinct-fifo", fingerprints),
        ("top-n-randomized", "probabilistic"),
    ];
    assert_eq!(likely, expected);
    let distinct = rows.iter().find(|row| row["algorithm"] == "distinct").unwrap();
    assert_eq!(distinct["parameters"], "w: keys in a row; d: rows of the matrix");
    assert!(distinct["rules"].is_u64() && distinct["metadata bits"].as_u64() < Some(256));
}

#[test]
fn table_2_is_listed_with_the_reasons() {
    let said = good(&mut sluice(&["switch", "fit"]));
    for words in [
        "released GROUP BY, 5 rows: measured 12, ours 12",
        "GROUP BY, register pairs, 5 rows: measured 6, ours 6",
        "released SKYLINE: measured 3, ours 4; see below",
        "10 are left",
        "Together on one tofino1",
        "needs 16 stages, the target has 12",
    ] {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    let rows = json(&["switch", "fit", "--target", "paper"]);
    assert_eq!(rows.len(), ALGORITHMS.len());
    let row = rows.iter().find(|row| row["algorithm"] == "group-by").unwrap();
    assert_eq!((&row["paper: stages"], &row["ours: stages"]), (&8.into(), &10.into()));
    let stages = json(&["switch", "fit", "--algorithm", "group-by", "-w", "5"]);
    assert_eq!(stages.len(), 7);
    bad(&mut sluice(&["switch", "fit", "--algorithm", "group-by", "-w", "12"]), "needs 14 stages");
    bad(&mut sluice(&["switch", "fit", "--target", "no-such-switch"]), "no-such-switch");
}

#[test]
fn a_target_may_be_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("half.toml");
    fs::write(&file, "base = 'tofino1'\nname = 'half'\nstages = 6\n").unwrap();
    let target = file.to_str().unwrap();
    let fit = |columns: &str| {
        let mut command = sluice(&["switch", "fit", "--algorithm", "group-by", "--target", target]);
        command.args(["-w", columns]);
        command
    };
    good(&mut fit("4"));
    bad(&mut fit("5"), "does not fit half: needs 7 stages");
    fs::write(&file, "stagez = 6\n").unwrap();
    bad(&mut fit("5"), "stagez");
}

#[test]
fn every_algorithm_is_printed_for_every_architecture() {
    for algorithm in ALGORITHMS {
        for (arch, main) in
            [("v1model", "V1Switch("), ("tna", "Switch(pipe) main;"), ("t2na", "<t2na.p4>")]
        {
            let args = ["switch", "p4", "--algorithm", algorithm, "--arch", arch];
            let program = good(&mut sluice(&args));
            assert!(program.contains(main), "{algorithm} {arch}");
            assert!(program.contains("The control plane"), "{algorithm} {arch}");
            let open = program.matches('{').count();
            assert_eq!(open, program.matches('}').count(), "{algorithm} {arch}");
        }
    }
    // With the protocol in front, a pruned entry is acknowledged.
    let args = ["switch", "p4", "--algorithm", "distinct", "--workers", "3", "--arch", "t2na"];
    let acknowledges = "ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port;";
    assert!(good(&mut sluice(&args)).contains(acknowledges));
}

#[test]
fn entries_go_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("entries.txt");
    let args = ["switch", "p4", "--algorithm", "filter", "--entries", file.to_str().unwrap()];
    let program = good(&mut sluice(&args));
    assert!(!program.contains("control plane installs"));
    assert!(fs::read_to_string(file).unwrap().contains("table_add SwitchIngress.truth_table"));
}

#[test]
fn a_trace_shows_registers() {
    let args =
        ["switch", "trace", "--algorithm", "group-by", "-w", "1", "--packets", "1:50,1:40,1:60"];
    let rows = json(&args);
    let verdicts: Vec<&str> = rows.iter().filter_map(|row| row["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["forward", "prune", "forward"]);
    let accesses: Vec<_> = rows.iter().filter(|row| row["register"].is_string()).collect();
    assert_eq!(accesses[0]["after"], "1:50");
    assert_eq!(accesses[2]["before"], "1:50");
    bad(&mut sluice(&["switch", "trace", "--algorithm", "group-by", "--packets", "1"]), "parses 2");
}

#[test]
fn plans_fit_and_say_why_not() {
    let plan = json(&["switch", "plan", "--query", "top-n", "-n", "1000"]).remove(0);
    assert!(plan["stages"].as_u64().unwrap() <= 12 && plan["wrong"].as_f64().unwrap() <= 1e-4);
    for query in ["filter", "distinct", "group-by", "join", "having", "skyline"] {
        assert_eq!(json(&["switch", "plan", "--query", query]).len(), 1, "{query}");
    }
    let wide = ["switch", "plan", "--query", "group-by", "--key-bits", "96"];
    bad(&mut sluice(&wide), "there is no plan: ");
}

#[test]
fn theorems_have_their_numbers() {
    let rows = json(&["switch", "theory", "top-n-width"]);
    assert_eq!((&rows[0]["value"], &rows[0]["exact"]), (&"16".into(), &"12".into()));
    assert!(json(&["switch", "theory"]).len() > 20);
    bad(&mut sluice(&["switch", "theory", "fermat"]), "no theorem `fermat`");
}

/// The same hash seed gives the same run, and another seed a different one; a linear hash takes one stage less.
#[test]
fn hashes_have_a_seed_and_a_stage() {
    let run = |seed: &str| {
        let input = "generated:uniform:entries=60000";
        let args = ["switch", "run", "--algorithm", "top-n-randomized"];
        let more = ["--input", input, "--hash-seed", seed, "--check", "2000"];
        json(&[&args[..], &more].concat()).remove(0)
    };
    let (first, other) = (run("5"), run("12345678901234567890"));
    assert_eq!(first, run("5"));
    assert_ne!(first["forwarded"], other["forwarded"]);
    assert_eq!((&first["answer"], &other["checked"]), (&"unchanged".into(), &2000.into()));
    let base = ["switch", "fit", "--algorithm", "distinct"];
    let stages = |more: &[&str]| json(&[&base[..], more].concat()).len();
    assert_eq!(stages(&[]), stages(&["--linear-hash"]) + 1);
    let mut both = sluice(&["switch", "fit", "--algorithm", "distinct", "--linear-hash"]);
    bad(both.args(["--hash-seed", "1"]), "a linear hash has no seed");
}

#[test]
fn the_protocol_stands_in_front_of_programs() {
    let mut stages = BTreeSet::new();
    for algorithm in ALGORITHMS.into_iter().filter(|name| *name != "join-bloom") {
        let fit = |more: &[&str]| {
            let base = ["switch", "fit", "--target", "paper", "--algorithm", algorithm];
            let size: &[&str] = if algorithm.starts_with("join") { &["-d", "4096"] } else { &[] };
            json(&[&base[..], size, more].concat())
        };
        let (alone, with) = (fit(&[]), fit(&["--workers", "4"]));
        // Stages that only compute, such as the hashes of keys, run next to the protocol's first two; the last one
        // returns packets.
        let more = with.len() - alone.len();
        assert!(more <= 3, "{algorithm}: {more}");
        stages.insert(more);
        assert!(with[0]["tables"].as_str().unwrap().contains("boot_number"), "{with:?}");
    }
    assert_eq!(stages, BTreeSet::from([1, 2, 3]));
    // A switch that holds values must not take them twice: copies are looked up, and early packets are dropped.
    let text = good(&mut sluice(&["switch", "p4", "--algorithm", "group-sum", "--workers", "2"]));
    assert!(text.contains("if (meta.early == 1) { mark_to_drop(standard_metadata); } else if"));
    let text = good(&mut sluice(&["switch", "p4", "--algorithm", "distinct", "--workers", "2"]));
    assert!(text.contains("egress_spec = standard_metadata.ingress_port"));
}

/// The examples of the help run on the tables that `sluice generate bigdata` writes.
#[test]
fn examples_of_the_help_run_on_generated_data() {
    let folder = tempfile::tempdir().unwrap();
    let here = |args: &[&str]| {
        let mut command = sluice(args);
        command.current_dir(&folder);
        command
    };
    for format in ["csv", "parquet"] {
        let to = ["generate", "bigdata", "--scale", "0.0005", "--to", ".", "--format", format];
        good(&mut here(&to));
        for (table, name) in [("rankings", "pages"), ("uservisits", "visits")] {
            let file = format!("sf0.0005/{format}/{table}/{table}.00.{format}");
            fs::rename(folder.path().join(file), folder.path().join(format!("{name}.{format}")))
                .unwrap();
        }
    }
    let mut run = 0;
    for command in [&["switch", "--help"][..], &["switch", "run", "--help"]] {
        let help = good(&mut sluice(command));
        let (_, examples) = help.split_once("Examples:").unwrap();
        for line in examples.replace("\\\n", "").lines() {
            let Some(args) = line.trim().strip_prefix("sluice switch run ") else { continue };
            // The paper's queries have a test of their own.
            if args.contains("--input") {
                let args: Vec<&str> = args.split_whitespace().collect();
                good(here(&["switch", "run"]).args(args));
                run += 1;
            }
        }
    }
    assert_eq!(run, 7);
}

/// Every column of a table is explained below it, and none is empty.
#[test]
fn columns_are_filled_and_explained() {
    let run = ["switch", "run", "--algorithm", "distinct", "--input", "generated:zipf:entries=900"];
    let paper = ["switch", "run", "--workload", "bigdata", "--scale", "0.0005"];
    let check: &[&str] = &["--check", "500"];
    for (args, more, checked) in [
        (&run[..], &[][..], false),
        (&run, check, true),
        (&paper, &[], false),
        (&paper, check, true),
    ] {
        let args = [args, more].concat();
        let table = good(&mut sluice(&args));
        let placed = if args.contains(&"--workload") { "stages, " } else { "forwarded: " };
        for column in [placed, "forwarded: ", "optimum: ", "share: ", "answer: "] {
            assert!(table.contains(column), "no {column:?} in {table}");
        }
        assert_eq!(table.contains("checked: "), checked, "{table}");
        for row in json(&args) {
            let row = row.as_object().unwrap();
            assert_eq!(row.contains_key("checked"), checked, "{row:?}");
            // A filter of 1 MiB in an array fits no stage, so its program has no placement.
            let placed = ["stages", "stateful ALUs", "register KiB", "register bits", "rules"];
            let empty = |(name, value): (&String, &Value)| {
                value.is_null() && !placed.contains(&name.as_str())
            };
            assert!(!row.iter().any(empty), "{row:?}");
        }
    }
    let table = good(&mut sluice(&["switch", "protocol", "--query", "distinct"]));
    for column in ["correct, wrong, stuck: ", "repeated: ", "pruned: ", "sends per row: "] {
        assert!(table.contains(column), "no {column:?} in {table}");
    }
}

/// The repaired protocol is right, and the paper's deadlocks; the same seed gives the same counts.
#[test]
fn the_protocol_is_simulated() {
    let protocol = |more: &[&str]| {
        let mut args = vec!["switch", "protocol", "--loss", "0.1", "--seed", "7"];
        args.extend(more);
        json(&args)
    };
    let repaired = protocol(&["--runs", "20"]);
    assert_eq!(repaired.len(), 9);
    assert!(repaired.iter().all(|row| row["correct"] == 20), "{repaired:?}");
    assert_eq!(repaired, protocol(&["--runs", "20"]));
    let paper = protocol(&["--runs", "20", "--paper", "--query", "distinct"]);
    assert!(paper[0]["stuck"].as_u64().unwrap() > 10, "{paper:?}");
    let Output { status, stderr, .. } =
        sluice(&["switch", "protocol", "--loss", "1"]).output().unwrap();
    assert_eq!(status.code(), Some(2), "{}", text(&stderr));
    let large = ["switch", "protocol", "--rows", "1000000000"];
    let Output { status, stderr, .. } = sluice(&large).output().unwrap();
    let said = text(&stderr);
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("are more than the 4194304 that a run holds"), "{said}");
}

#[test]
fn mistakes_are_named() {
    let run = |more: &[&str]| {
        let mut command = sluice(&["switch", "run"]);
        command.args(more);
        command
    };
    bad(&mut run(&["--algorithm", "distinct", "--input", "none.csv"]), "none.csv");
    bad(&mut run(&["--algorithm", "distinct", "--input", "x.json"]), "neither .csv nor .parquet");
    let odd = ["--algorithm", "distinct", "--input", "generated:zipf", "--hashes", "3"];
    bad(&mut run(&odd), "distinct has no parameter hashes");
    let odd = ["--algorithm", "group-by", "--input", "generated:zipf", "-d", "1000"];
    bad(&mut run(&odd), "power of two");
    for usage in [
        &["--algorithm", "distinkt", "--input", "generated:zipf"][..],
        &["--algorithm", "distinct", "--input", "generated:flat"],
        &["--algorithm", "distinct"],
        &["--algorithm", "join-bloom", "--input", "generated:zipf"],
        &[],
    ] {
        let Output { status, stderr, .. } = run(usage).output().unwrap();
        assert_eq!(status.code(), Some(2), "{usage:?}: {}", text(&stderr));
    }
}
