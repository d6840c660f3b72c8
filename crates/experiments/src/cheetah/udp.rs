//! Section 7: workers, a switch and a master that are processes and talk UDP.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// One run of each kind of query. A wrong answer ends the command with an error.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/udp",
    title: "Queries through processes that talk UDP",
    place: "Cheetah §7",
    method: Method::Live { runs, evaluate },
};

/// The counts of a run.
#[derive(Debug, Deserialize)]
struct Counts {
    algorithm: String,
    workers: u64,
    entries: u64,
    sent: u64,
    retransmitted: u64,
    pruned: u64,
    delivered: u64,
    lost: u64,
    reboots: u64,
    rows: u64,
    answer: String,
}

/// The algorithms, with arguments of their own.
const QUERIES: [(&str, &[&str]); 4] = [
    ("distinct", &[]),
    ("group-by", &[]),
    ("top-n-deterministic", &[]),
    ("having", &["--threshold", "5000", "--reboots", "1"]),
];

fn runs(setting: &Setting) -> Vec<Run> {
    let input = setting
        .either("generated:zipf:entries=5000:keys=500", "generated:zipf:entries=20000:keys=2000");
    let run = |(algorithm, more): (&str, &[&str])| {
        let mut arguments = vec!["switch", "udp", "--algorithm", algorithm, "--input", input];
        arguments.extend(more);
        arguments.extend(["--format", "json"]);
        Run::command(algorithm, &arguments)
    };
    QUERIES.map(run).to_vec()
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut rows = Vec::new();
    for (algorithm, _) in QUERIES {
        for it in results.output::<Vec<Counts>>(algorithm)? {
            let counts = [
                it.workers,
                it.entries,
                it.sent,
                it.retransmitted,
                it.pruned,
                it.delivered,
                it.lost,
                it.reboots,
                it.rows,
            ];
            let mut row = vec![it.algorithm];
            row.extend(counts.map(|count| count.to_string()));
            row.push(it.answer);
            rows.push(row);
        }
    }
    let table = Table {
        title: "Packets of three workers, 1 % of which is lost".to_owned(),
        columns: vec![
            "algorithm",
            "workers",
            "entries",
            "sent",
            "retransmitted",
            "pruned",
            "delivered",
            "lost",
            "reboots",
            "rows",
            "answer",
        ],
        rows,
        provenance: Provenance::Counted,
    };
    Ok(Outcome { tables: vec![table], ..Outcome::default() })
}
