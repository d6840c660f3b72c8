//! Section 6: queries that use the same ALUs, and the same memory of a stage.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use super::placed::{Placed, text};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The examples of the paper, and queries that fit a switch only if they share ALUs.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/reuse",
    title: "Queries that share stateful ALUs and the memory of a stage",
    place: "Cheetah §6",
    method: Method::Live { runs, evaluate },
};

/// The sets of queries, by the names of their runs.
const SETS: [(&str, &[&str]); 3] = [
    ("comparator of a filter, TOP N and HAVING", &["filter", "top-n-deterministic,w=1", "having"]),
    ("fingerprints of DISTINCT, points of SKYLINE", &["distinct,key_bits=32", "skyline-sum,w=4"]),
    ("five GROUP BYs", &["group-by"; 5]),
];

fn runs(_: &Setting) -> Vec<Run> {
    let run = |(name, queries): (&str, &[&str])| {
        let arguments = [&["switch", "fit", "--together"], queries, &["--format", "json"]].concat();
        Run::command(name, &arguments)
    };
    SETS.map(run).to_vec()
}

/// A query alone, or all with one kind of sharing.
#[derive(Debug, Deserialize)]
struct Packing {
    /// `none`, `divided` or `alternatives` if all queries are placed.
    sharing: Option<String>,
    #[serde(rename = "shared ALUs")]
    shared: u64,
    #[serde(rename = "SRAM blocks")]
    sram: Option<u64>,
    #[serde(flatten)]
    placed: Placed,
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for (name, _) in SETS {
        for packing in results.output::<Vec<Packing>>(name)? {
            let Some(sharing) = &packing.sharing else { continue };
            let mut row = vec![name.to_owned(), sharing.clone(), packing.placed.fits.clone()];
            row.extend(packing.placed.cells());
            row.extend([text(packing.sram), packing.shared.to_string()]);
            rows.push(row);
            if let Some(alus) = packing.placed.alus {
                bars.push(Bar { name: format!("{name}: {sharing}"), lengths: vec![alus as f64] });
            }
        }
    }
    Ok(Outcome {
        tables: vec![Table {
            title: "Resources of all queries on a Tofino 1, by what they share".to_owned(),
            columns: vec![
                "queries",
                "sharing",
                "fits",
                "stages",
                "stateful ALUs",
                "KiB of registers",
                "rules",
                "SRAM blocks",
                "shared ALUs",
            ],
            rows,
            provenance: Provenance::Counted,
        }],
        charts: vec![Chart {
            title: "Stateful ALUs of queries that fit, by what they share".to_owned(),
            x: Axis::linear("stateful ALUs"),
            y: Axis::default(),
            marks: Marks::Bars { parts: vec!["stateful ALUs".to_owned()], bars, is_stacked: true },
            provenance: Provenance::Counted,
        }],
        ..Outcome::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    #[test]
    fn rows_of_single_queries_are_left_out() {
        let row = |sharing: Option<&str>, stages: Option<u64>| {
            json!({"query": "all", "sharing": sharing, "fits": "yes", "stages": stages, "stateful ALUs": stages,
                "shared ALUs": 0, "register KiB": stages, "SRAM blocks": stages, "rules": stages})
        };
        let output =
            json!([row(None, Some(2)), row(Some("none"), None), row(Some("divided"), Some(11))]);
        let mut results = Results::default();
        for (name, _) in SETS {
            results.insert(name, Record { output: output.clone(), ..Record::default() });
        }
        let outcome = evaluate(&Setting::QUICK, &results).unwrap();
        assert_eq!(outcome.tables[0].rows.len(), 2 * SETS.len());
        assert_eq!(outcome.tables[0].rows[1][1..5], ["divided", "yes", "11", "11"]);
        let Marks::Bars { bars, .. } = &outcome.charts[0].marks else { panic!("no bars") };
        assert_eq!(bars.len(), SETS.len());
    }
}
