//! What EXPLAIN ANALYZE counts of a switch.

use sluicegate_engine::Engine;

use super::{counting, switch_lines};
use crate::harness::rows;

#[tokio::test(flavor = "multi_thread")]
async fn analyze_counts_packets() {
    let engine = counting("tofino1", 1000).await;
    let text = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT k FROM x").await.join("\n");
    for expected in ["packets_in=1.00 K", "packets_out=10,", "wire_bytes_in=64.00 K", "pruned=99%"]
    {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    // Once more: each execution starts with an empty switch.
    let again = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT k FROM x").await.join("\n");
    assert!(again.contains("packets_out=10"), "{again}");
    assert!(!again.contains("late"), "a packet holds the whole row: {again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn analyze_counts_what_is_fetched_for_the_rows_that_passed() {
    let engine = counting("tofino1", 1000).await;
    // A fingerprint of ten texts of seven bytes crosses the switch; the texts do not.
    let text = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT s FROM x").await.join("\n");
    for expected in ["packets_out=10,", "late=[s]", "late_bytes=70"] {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    let lines = switch_lines(&engine, "SELECT * FROM x ORDER BY k LIMIT 3").await;
    assert!(lines[0].ends_with("late=[id, s, i, n, u, d, t, ts, b, f, g]"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_prunes_nothing_is_asked_no_more() {
    // 1000 rows in batches of 7, in three partitions: each worker sends 334, 48 batches at most.
    let engine = counting("tofino1", 1000).await;
    rows(&engine, "SET sluice.switch_patience = 70").await;
    let analyze =
        async |sql: &str| rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    // Ten batches, then one in 64: the other 37 or 38 of each worker pass, 777 to 790 rows.
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
    // Whoever compares the switch with the optimum wants all of the switch.
    rows(&engine, "SET sluice.switch_opt = true").await;
    let text = analyze("SELECT DISTINCT n FROM x").await;
    assert!(!text.contains("packets_past"), "{text}");
}

/// The rows, and the packets that go out beside those of a switch without limits.
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
