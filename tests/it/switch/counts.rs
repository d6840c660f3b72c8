//! The counts of a switch in EXPLAIN ANALYZE.

use sluicegate_engine::Engine;

use super::{counted, counting, switch_lines};
use crate::harness::rows;

/// A switch with arrays of at most 64 keys of 64 bits, so that caches overflow.
const SMALL: &str = "name = 'small'\nsram_block_bits = 4096\nregister_blocks = 1";

#[tokio::test(flavor = "multi_thread")]
async fn analyze_counts_packets() {
    let engine = counting("tofino1", 1000).await;
    let text = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT k FROM x").await.join("\n");
    for expected in ["packets_in=1.00 K", "packets_out=10,", "wire_bytes_in=64.00 K", "pruned=99%"]
    {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    // Each execution starts with an empty switch, so the counts repeat.
    let again = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT k FROM x").await.join("\n");
    assert!(again.contains("packets_out=10"), "{again}");
    assert!(!again.contains("late"), "a packet holds the whole row: {again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn analyze_counts_what_is_fetched_for_the_rows_that_passed() {
    let engine = counting("tofino1", 1000).await;
    // Fingerprints of ten texts of seven bytes cross the switch, and the texts do not.
    let text = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT s FROM x").await.join("\n");
    for expected in ["packets_out=10,", "late=[s]", "late_bytes=70"] {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    let lines = switch_lines(&engine, "SELECT * FROM x ORDER BY k LIMIT 3").await;
    assert!(lines[0].ends_with("late=[id, s, i, n, u, d, t, ts, b, f, g]"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_prunes_nothing_is_asked_no_more() {
    // 1000 rows in batches of 7, in three partitions: each worker sends 334 rows, in at most 48 batches.
    let engine = counting("tofino1", 1000).await;
    rows(&engine, "SET sluice.switch_patience = 70").await;
    let analyze =
        async |sql: &str| rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    // Ten batches are pruned, then one in 64: the other 37 or 38 batches of each worker pass, 777 to 790 rows.
    let past = |text: &str| -> usize {
        let (_, number) = text.rsplit_once("packets_past=").unwrap_or_else(|| panic!("{text}"));
        number.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    };
    for sql in [
        "SELECT DISTINCT n FROM x",
        "SELECT n, max(i) FROM x GROUP BY n",
        "SELECT n FROM x GROUP BY n HAVING count(*) > 0",
        "SELECT a.id FROM x a JOIN x b ON a.n = b.n",
    ] {
        let text = analyze(sql).await;
        assert!((700..800).contains(&past(&text)), "{sql}: {text}");
        assert!(text.contains("packets_out=1.00 K"), "all rows pass: {sql}: {text}");
    }
    for sql in [
        "SELECT DISTINCT k FROM x",
        "SELECT b.id FROM (SELECT * FROM x WHERE n = 3) a JOIN x b ON a.n = b.n",
    ] {
        let text = analyze(sql).await;
        assert_eq!(past(&text), 0, "{sql}: {text}");
    }
    // When the switch is compared with the optimum, all batches cross it.
    rows(&engine, "SET sluice.switch_opt = true").await;
    let text = analyze("SELECT DISTINCT n FROM x").await;
    assert_eq!(past(&text), 0, "{text}");
}

/// Rows without a code bypass the program and do not count in its share of pruned rows. Every packet is acknowledged,
/// by the switch or by the master.
#[tokio::test(flavor = "multi_thread")]
async fn what_bypassed_the_program_is_counted_apart() {
    let engine = counting("tofino1", 1000).await;
    let sql = "EXPLAIN ANALYZE SELECT DISTINCT CASE WHEN n < 250 THEN NULL ELSE n % 10 END FROM x";
    let text = rows(&engine, sql).await.join("\n");
    let [into, out, past] =
        ["packets_in", "packets_out", "packets_past"].map(|name| counted(&text, name));
    assert_eq!((into, past), (1000, 250), "{text}");
    assert_eq!(out, 250 + 10, "{text}");
    // 740 of the 750 rows that the program received.
    assert!(text.contains("pruned=98.67% (740/750)"), "{text}");
    let [of_switch, of_master] =
        ["acks_of_switch", "acks_of_master"].map(|name| counted(&text, name));
    assert_eq!((of_switch, of_master), (740, 260), "{text}");
    assert!(text.contains("ack_bytes=64.00 K"), "{text}");
}

/// Three workers with ten groups each ship thirty rows without a switch. The count shows if more cross one, despite
/// "99 % pruned".
#[tokio::test(flavor = "multi_thread")]
async fn what_workers_ship_without_a_switch_stands_beside() {
    let engine = counting("tofino1", 900).await;
    rows(&engine, "SET sluice.switch_opt = true").await;
    for (sql, alone) in [
        ("SELECT DISTINCT k FROM x", 30),
        ("SELECT k, max(i) FROM x GROUP BY k", 30),
        ("SELECT k, sum(i) FROM x GROUP BY k", 30),
        ("SELECT DISTINCT n FROM x", 900),
        ("SELECT i FROM x ORDER BY i DESC LIMIT 5", 15),
        ("SELECT k FROM x GROUP BY k HAVING count(*) > 89", 30),
        ("SELECT b.id FROM (SELECT * FROM x WHERE n < 9) a JOIN x b ON a.n = b.n", 909),
    ] {
        let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
        assert_eq!(counted(&text, "rows_without_switch"), alone, "{sql}: {text}");
    }
}

/// The first pass sends 1000 rows, of which the second sends those of the groups that may qualify.
#[tokio::test(flavor = "multi_thread")]
async fn the_second_pass_of_having_crosses_the_switch() {
    let engine = counting("tofino1", 1000).await;
    let sql = "EXPLAIN ANALYZE SELECT k FROM x GROUP BY k HAVING sum(n) > 50300";
    let text = rows(&engine, sql).await.join("\n").replace("\\n", "\n");
    let line = |what: &str| {
        let found = text.lines().find(|line| line.contains(what));
        found.unwrap_or_else(|| panic!("no {what} in {text}")).to_owned()
    };
    let first = line("SwitchPruneExec: having_sum");
    assert_eq!(counted(&first, "packets_in"), 1000, "{first}");
    let second = line("SwitchPruneExec: second pass of having_sum");
    // sum(n) of key k is 49500 + 100 k: 9 qualifies, and a Count-Min sketch only overestimates.
    let sent = counted(&second, "packets_in");
    assert!((100..=300).contains(&sent) && sent.is_multiple_of(100), "{second}");
    assert_eq!(counted(&second, "packets_out"), sent);
    assert_eq!(counted(&second, "packets_past"), sent, "no program sees them: {second}");
}

/// The packets of one worker have a fixed order, so a seed repeats the numbers.
#[tokio::test(flavor = "multi_thread")]
async fn a_seed_repeats_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small.toml");
    std::fs::write(&small, SMALL).unwrap();
    let run = async |seed: u64| {
        let engine = counting(small.to_str().unwrap(), 3000).await;
        rows(&engine, "SET datafusion.execution.target_partitions = 1").await;
        rows(&engine, "CREATE TABLE y AS SELECT n % 300 AS key FROM x ORDER BY n").await;
        rows(&engine, &format!("SET sluice.switch_seed = {seed}")).await;
        let text = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT key FROM y").await.join("\n");
        counted(&text, "packets_out")
    };
    let mut all = Vec::new();
    for seed in 0..5 {
        let out = run(seed).await;
        assert_eq!(out, run(seed).await, "seed {seed}");
        all.push(out);
    }
    all.dedup();
    assert!(all.len() > 1, "the seed changes nothing: {all:?}");
}

/// Returns the number of rows, and the packets that leave the switch in excess of one without limits.
async fn packets_out(engine: &Engine, sql: &str) -> (usize, usize) {
    let text = rows(engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    let number = |name: &str| -> usize {
        let found = text.rsplit_once(name).unwrap_or_else(|| panic!("no {name} in {text}")).1;
        let digits: String = found.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    (number("packets_out="), number("packets_out_opt="))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_switch_forwards_less_than_opt() {
    let engine = counting("tofino1", 900).await;
    rows(&engine, "SET sluice.switch_opt = true").await;
    for (sql, least) in [
        ("SELECT DISTINCT s FROM x", 10),
        ("SELECT k, max(i) FROM x GROUP BY k", 10),
        ("SELECT i FROM x ORDER BY i DESC LIMIT 5", 5),
        ("SELECT s FROM x GROUP BY s HAVING count(*) > 89", 10),
        ("SELECT k, count(*) FROM x GROUP BY k HAVING min(i) < 50", 1),
        ("SELECT b.id FROM (SELECT * FROM x WHERE n < 9) a JOIN x b ON a.n = b.n", 9),
        ("SELECT id FROM x QUALIFY skyline(i, -n) OVER ()", 1),
    ] {
        let (out, optimum) = packets_out(&engine, sql).await;
        assert!(least <= optimum && optimum <= out && out <= 900, "{sql}: {optimum} {out}");
    }
}

/// Programs of a query that are packed into one forward the same packets as each fast path. One worker, because the
/// packets of several arrive in any order.
#[tokio::test(flavor = "multi_thread")]
async fn packed_programs_count_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small.toml");
    std::fs::write(&small, SMALL).unwrap();
    for target in ["tofino1", small.to_str().unwrap()] {
        let engine = counting(target, 900).await;
        rows(&engine, "SET datafusion.execution.target_partitions = 1").await;
        rows(&engine, "CREATE TABLE y AS SELECT * FROM x ORDER BY id").await;
        for sql in [
            "SELECT DISTINCT n % 150 FROM y",
            "SELECT n FROM y ORDER BY i DESC LIMIT 3",
            "SELECT k, max(i), min(n) FROM y GROUP BY k",
            // Sums and counts with more groups than a small switch holds, next to a DISTINCT.
            "SELECT i % 150 AS z, sum(n), count(*) FROM y GROUP BY z UNION ALL \
             SELECT DISTINCT k, 1, 1 FROM y WHERE k > 2",
            "SELECT s FROM y GROUP BY s HAVING sum(n) > 40250",
            // Two joins, with keys of one word and of two, next to a DISTINCT.
            "SELECT DISTINCT b.k FROM (SELECT * FROM y WHERE k = 1) a JOIN y b ON a.i = b.i",
            "SELECT 1 FROM (SELECT * FROM y WHERE k = 1) a JOIN y b ON a.i = b.i UNION ALL \
             SELECT 1 FROM (SELECT * FROM y WHERE k = 2) a JOIN y b ON a.n = b.n UNION ALL \
             SELECT DISTINCT k FROM y WHERE k > 2",
        ] {
            let mut numbers = Vec::new();
            for packed in [false, true] {
                rows(&engine, &format!("SET sluice.switch_packed = {packed}")).await;
                let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
                assert_eq!(text.contains("programs packed into one"), packed, "{text}");
                let names = [
                    "packets_in",
                    "packets_out",
                    "packets_past",
                    "packets_early",
                    "groups_drained",
                ];
                numbers.push(names.map(|name| counted(&text, name)));
            }
            assert_eq!(numbers[0], numbers[1], "{sql} on {target}");
            assert!(numbers[0][1] < numbers[0][0], "nothing is pruned: {sql} on {target}");
        }
    }
}
