//! The demo's table and the next steps for the user.

use std::path::Path;

use sluicegate_costmodel::PriceBook;

use super::comparison::Comparison;
use crate::output::grid::align;
use crate::output::stats::{book, seconds};

const HEADER: [&str; 9] = [
    "item",
    "strategy",
    "requests",
    "statements",
    "bytes over the link",
    "time",
    "ratio",
    "dollars",
    "rows",
];

/// The columns of the two tables that replace the table on a narrow terminal.
const NARROW: [&[usize]; 2] = [&[0, 1, 2, 3, 8], &[0, 4, 5, 6, 7]];

/// Formats some columns of the rows, aligned.
fn aligned(rows: &[Vec<String>], columns: &[usize]) -> String {
    let header: Vec<&str> = columns.iter().map(|column| HEADER[*column]).collect();
    let is_right = |column: usize| (2..8).contains(&column);
    let right: Vec<usize> = (0..columns.len()).filter(|place| is_right(columns[*place])).collect();
    let cells = |row: &Vec<String>| columns.iter().map(|column| row[*column].clone()).collect();
    align(&header, &right, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// Formats the items with pushdown off and on, and notes on the numbers. If a line is wider than `width`, the table
/// is split into two.
pub(super) fn table(compared: &[Comparison], prices: &PriceBook, width: Option<usize>) -> String {
    let rows: Vec<_> = compared.iter().map(row).collect();
    let all: Vec<usize> = (0..HEADER.len()).collect();
    let mut aligned_rows = aligned(&rows, &all);
    let is_too_wide = |line: &str| width.is_some_and(|width| line.chars().count() > width);
    if aligned_rows.lines().any(is_too_wide) {
        aligned_rows = NARROW.map(|columns| aligned(&rows, columns)).join("\n");
    }
    format!(
        "{}\n\
         Geometric mean of the ratios: {:.1}.\n\
         Pushdown off → on: off fetches the objects and does all the work here\n\
         (sluice.scan = 'get'); on does what the cost model predicts to be fastest,\n\
         operator by operator ('auto'): see the strategies, of which get, baseline and\n\
         server fetch. `sluice sql --help` says how to force one.\n\
         Requests, statements and bytes are counted, the bytes at the store's sockets,\n\
         both directions. Times are measured, one run each; their ratio is off : on.\n\
         Dollars are counted requests and bytes and measured seconds at the prices\n\
         {}.\n",
        aligned_rows,
        mean(compared),
        book(prices),
    )
}

/// Returns the time with pushdown off divided by the time with pushdown on.
fn ratio(compared: &Comparison) -> f64 {
    compared.off.time.as_secs_f64() / compared.on.time.as_secs_f64().max(1e-9)
}

fn mean(compared: &[Comparison]) -> f64 {
    let logarithms: f64 = compared.iter().map(|it| ratio(it).ln()).sum();
    (logarithms / compared.len().max(1) as f64).exp()
}

fn row(compared: &Comparison) -> Vec<String> {
    let (off, on) = (&compared.off, &compared.on);
    vec![
        compared.name.to_owned(),
        compared.strategy.clone(),
        format!("{} → {}", off.requests, on.requests),
        format!("{} → {}", off.statements, on.statements),
        format!("{} → {}", off.link, on.link),
        format!("{} → {}", seconds(off.time), seconds(on.time)),
        format!("{:.1}", ratio(compared)),
        format!("{} → {}", off.cost, on.cost),
        if compared.equal { "equal" } else { "DIFFERENT" }.to_owned(),
    ]
}

/// Suggests next commands. If the data was kept, they serve it and define its tables.
pub(super) fn next_steps(kept: Option<&Path>, tables: &str) -> String {
    let Some(folder) = kept else {
        return "Next:\n  \
            sluice demo --keep       the same, and the data stays for queries of your own\n  \
            sluice serve --dir DIR   a folder of yours as an S3 store with Select\n  \
            sluice sql --help        your own store: AWS, MinIO, Ceph or the one above\n"
            .to_owned();
    };
    let folder = folder.display();
    format!(
        "The data stays in {folder}. Serve it:\n  \
           sluice serve --dir {folder} --anonymous\n\
         and, at another prompt, query it:\n  \
           sluice sql --endpoint http://127.0.0.1:9000 --anonymous --store sluice\n\n{tables}\
           SELECT count(*) FROM lineitem;\n"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluicegate_costmodel::{Bytes, Dollars};

    use super::*;
    use crate::commands::embedded_store::measure::Run;

    #[test]
    fn each_row_shows_off_and_on() {
        let off = Run {
            answer: Vec::new(),
            requests: 8,
            statements: 0,
            link: Bytes(1 << 20),
            time: Duration::from_millis(640),
            cost: Dollars(0.0132),
            keys: Vec::new(),
        };
        let on = Run {
            requests: 5,
            statements: 4,
            link: Bytes(2048),
            time: Duration::from_millis(40),
            ..off.clone()
        };
        let fast = Comparison { name: "Q6", strategy: "store".to_owned(), equal: true, off, on };
        let same = Comparison { name: "Q1", on: fast.off.clone(), ..fast.clone() };
        let narrow = table(&[fast.clone(), same.clone()], PriceBook::paper(), Some(80));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        for row in [
            "Q6    store        8 → 5       0 → 4  equal",
            "Q6    1.00 MiB → 2.00 KiB  0.640 s → 0.040 s   16.0  $0.0132 → $0.0132",
        ] {
            assert!(narrow.lines().any(|line| line == row), "{narrow}");
        }
        let text = table(&[fast, same], PriceBook::paper(), None);
        let row = "Q6    store        8 → 5       0 → 4  1.00 MiB → 2.00 KiB  0.640 s → 0.040 s   16.0  \
                   $0.0132 → $0.0132  equal";
        assert!(text.lines().any(|line| line == row), "{text}");
        assert!(text.contains("Geometric mean of the ratios: 4.0.\n"), "{text}");
        assert!(text.contains("paper-2020-us-east-1 (us-east-1, 2020-01)"));
    }
}
