//! Keys are transferred beyond the table that they are joined with, to tables that are joined to it by the same key,
//! each key by itself.

use super::answers::Format;
use super::compared::compare;

/// A build side below each type of join, with and without equality of NULLs, keys that go to different tables, casts,
/// and operators between joins.
const STATEMENTS: &[&str] = &[
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.k = b.k",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.k = a.k WHERE c.v < 25",
    "SELECT a.v, b.v, c.v FROM a LEFT JOIN b ON a.k = b.k JOIN c ON c.k = b.k",
    "SELECT a.v, b.v, c.v FROM a RIGHT JOIN b ON a.k = b.k JOIN c ON c.k = b.k",
    "SELECT a.v, b.v, c.v FROM a FULL JOIN b ON a.k = b.k JOIN c ON c.k = b.k",
    "SELECT x.v, c.v FROM (SELECT b.k, b.v FROM a RIGHT JOIN b ON a.k = b.k WHERE a.v IS NULL) x \
     JOIN c ON c.k = x.k",
    "SELECT b.v, c.v FROM b JOIN c ON c.k = b.k WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.k = b.k)",
    "SELECT b.v, c.v FROM b JOIN c ON c.k = b.k WHERE EXISTS (SELECT 1 FROM a WHERE a.k = b.k)",
    "SELECT b.v, c.v FROM b JOIN c ON c.k = b.k WHERE b.k NOT IN (SELECT k FROM a)",
    "SELECT b.v, c.v FROM b JOIN c ON c.k = b.k WHERE b.k IN (SELECT k FROM a WHERE v > 9)",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k IS NOT DISTINCT FROM b.k \
     JOIN c ON c.k IS NOT DISTINCT FROM b.k",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k = b.k AND a.i = b.i JOIN c ON c.k = b.k AND c.i = a.i",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.k = b.k AND c.s = a.s",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.i = b.k JOIN c ON c.k = b.k",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.s = b.s JOIN c ON c.s = b.s",
    "SELECT x.n, c.v FROM (SELECT b.k, count(a.v) AS n FROM a JOIN b ON a.k = b.k GROUP BY b.k) x \
     JOIN c ON c.k = x.k",
    "SELECT x.v, c.v FROM (SELECT b.k, a.v FROM a JOIN b ON a.k = b.k ORDER BY b.k, a.v LIMIT 3) x \
     JOIN c ON c.k = x.k",
    "SELECT a.v, b.v, c.v, d.v FROM a JOIN b ON a.k = b.k JOIN d ON d.i = b.i \
     JOIN c ON c.k = b.k AND c.i = d.i",
];

fn check(format: Format) {
    let before = ["SET sluice.join = 'bloom'"];
    let ways = ["SET sluice.transfer = false", "SET sluice.transfer = true"];
    compare(format, STATEMENTS, &before, ways);
}

#[test]
fn transfers_over_csv_agree_with_datafusion() {
    check(Format::Csv);
}

#[test]
fn transfers_over_json_agree_with_datafusion() {
    check(Format::Json);
}
