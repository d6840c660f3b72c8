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
    forwarded: u64,
    delivered: u64,
    repeated: u64,
    lost: u64,
    reboots: u64,
    rows: u64,
    answer: String,
}

impl Counts {
    /// The packets of entries over all links: from workers to the switch, on to the master, and acknowledgements back
    /// from the master to the switch and from the switch to workers. A link may lose each of them.
    const fn over_links(&self) -> u64 {
        let acknowledged = self.delivered + self.repeated;
        self.sent + self.pruned + self.forwarded + 2 * acknowledged
    }
}

const LOSSES: &str = "Each link loses 1 % of its packets in each direction, acknowledgements included. An entry that is \
    pruned crosses two links, from its worker to the switch and back. An entry that is forwarded crosses four: to the \
    switch, on to the master, and back. The column packets over links counts all of these, with retransmissions.";

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
            let lost = 100.0 * it.lost as f64 / it.over_links() as f64;
            let counts = [
                it.workers,
                it.entries,
                it.sent,
                it.retransmitted,
                it.pruned,
                it.forwarded,
                it.over_links(),
                it.lost,
            ];
            let mut row = vec![it.algorithm];
            row.extend(counts.map(|count| count.to_string()));
            row.push(format!("{lost:.2}"));
            row.extend([it.reboots, it.rows].map(|count| count.to_string()));
            row.push(it.answer);
            rows.push(row);
        }
    }
    let table = Table {
        title: "Packets of three workers".to_owned(),
        columns: vec![
            "algorithm",
            "workers",
            "entries",
            "sent",
            "retransmitted",
            "pruned",
            "forwarded",
            "packets over links",
            "lost",
            "lost, %",
            "reboots",
            "rows",
            "answer",
        ],
        rows,
        provenance: Provenance::Counted,
    };
    Ok(Outcome { tables: vec![table], remarks: vec![LOSSES.to_owned()], ..Outcome::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    /// 100 entries, half of which are pruned: 100 to the switch, 50 back, and 50 to the master and back to the worker.
    #[test]
    fn losses_are_shares_of_the_packets_over_all_links() {
        let line = json!({"algorithm": "distinct", "workers": 3, "entries": 100, "sent": 100, "retransmitted": 0,
            "pruned": 50, "forwarded": 50, "delivered": 50, "repeated": 0, "lost": 3, "reboots": 0, "rows": 9,
            "answer": "unchanged"});
        let mut results = Results::default();
        for (algorithm, _) in QUERIES {
            results.insert(algorithm, Record { output: json!([line]), ..Record::default() });
        }
        let outcome = evaluate(&Setting::QUICK, &results).unwrap();
        assert_eq!(outcome.tables[0].rows[0][7..10], ["300", "3", "1.00"]);
    }
}
