//! The demo's table, and where to go from it.

use std::path::Path;

use sluicegate_costmodel::PriceBook;
use sluicegate_workloads::tpch::Generate;

use super::measure::Comparison;
use crate::commands::generate::ddl;
use crate::output::grid::align;
use crate::output::stats::{book, seconds};

const HEADER: [&str; 7] =
    ["query", "strategy (auto)", "requests", "bytes over the link", "time", "dollars", "answers"];

/// Every query with pushdown off and on, and what the numbers rest on.
pub(super) fn table(compared: &[Comparison], prices: &PriceBook) -> String {
    let rows: Vec<_> = compared.iter().map(row).collect();
    format!(
        "{}\n\
         Pushdown off → on: off (get) fetches the objects and does all the work here; on (select)\n\
         sends filters, columns and aggregates to the store. In brackets: what sluice.scan = 'auto'\n\
         picks, for speed, from the cost model's prediction.\n\
         Requests and bytes are counted, the bytes at the store's sockets, both directions. Times\n\
         are measured, one run each. Dollars are counted requests and bytes and measured seconds at\n\
         the prices {}.\n",
        align(&HEADER, &[2, 3, 4, 5], &rows),
        book(prices),
    )
}

fn row(compared: &Comparison) -> Vec<String> {
    let (off, on) = (&compared.off, &compared.on);
    vec![
        compared.name.to_owned(),
        format!("get → select ({})", compared.auto),
        format!("{} → {}", off.requests, on.requests),
        format!("{} → {}", off.link, on.link),
        format!("{} → {}", seconds(off.time), seconds(on.time)),
        format!("{} → {}", off.cost, on.cost),
        if compared.equal { "equal" } else { "DIFFERENT" }.to_owned(),
    ]
}

/// What to try next; with the data, if it was kept.
pub(super) fn next_steps(kept: Option<&Path>, generated: &Generate) -> String {
    let Some(folder) = kept else {
        return "Next:\n  \
            sluice demo --keep       the same, and the data stays for queries of your own\n  \
            sluice serve --dir DIR   a folder of yours as an S3 store with Select\n  \
            sluice sql --help        your own store: AWS, MinIO, Ceph or the one above\n"
            .to_owned();
    };
    let folder = folder.display();
    let lineitem = ddl(generated, "s3://tpch");
    let lineitem = lineitem.lines().find(|line| line.contains(" lineitem ")).unwrap_or_default();
    format!(
        "The data stays in {folder}. Serve it:\n  \
           sluice serve --dir {folder} --anonymous\n\
         and, at another prompt, query it:\n  \
           sluice sql --endpoint http://127.0.0.1:9000 --anonymous --profile sluice\n\n{lineitem}\n\
           SELECT count(*) FROM lineitem;\n"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluicegate_costmodel::{Bytes, Dollars};

    use super::super::measure::Run;
    use super::*;

    #[test]
    fn each_row_shows_off_and_on() {
        let off = Run {
            answer: Vec::new(),
            requests: 8,
            link: Bytes(1 << 20),
            time: Duration::from_millis(620),
            cost: Dollars(0.0132),
        };
        let on =
            Run { requests: 4, link: Bytes(2048), time: Duration::from_millis(80), ..off.clone() };
        let compared = Comparison { name: "Q6", auto: "select".to_owned(), equal: true, off, on };
        let text = table(&[compared], PriceBook::paper());
        let row = "Q6     get → select (select)     8 → 4  1.00 MiB → 2.00 KiB  0.620 s → 0.080 s  \
                   $0.0132 → $0.0132  equal";
        assert!(text.lines().any(|line| line == row), "{text}");
        assert!(text.contains("paper-2020-us-east-1 (us-east-1, 2020-01)"));
    }
}
