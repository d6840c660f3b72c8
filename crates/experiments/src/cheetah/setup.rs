//! Section 8.1: the tables and the machines.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::Testbed;
use sluicegate_workloads::DataTable;
use sluicegate_workloads::bigdata::Table as Source;

use super::completion::provenance;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Table};

/// The rows that the generator makes, and the constants of the model.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/setup",
    title: "The tables of the Big Data benchmark and the testbed",
    place: "Cheetah §8.1, §8.2, appendix B",
    method: Method::Computed(compute),
};

/// The published rows of each table: of the sample of §8.2, and of appendix B.
const PUBLISHED: [(Source, u64, u64); 2] =
    [(Source::Uservisits, 31_700_000, 775_000_000), (Source::Rankings, 18_000_000, 90_000_000)];

fn compute() -> Outcome {
    let mut outcome = Outcome::default();
    let rows = |table: Source| table.rows(1.0);
    let millions = |table: Source| (rows(table) as f64 / 1e6).to_string();
    let found = format!("{} million rows", PUBLISHED.map(|it| millions(it.0)).join(" and "));
    outcome.decide(
        "C18",
        found,
        PUBLISHED.iter().all(|(table, sample, _)| rows(*table) == *sample),
    );
    outcome.note("the generator takes these numbers as its scale 1, so they agree by construction");
    let row = |&(table, sample, whole): &(Source, u64, u64)| {
        vec![
            table.to_string(),
            table.schema().fields().len().to_string(),
            rows(table).to_string(),
            sample.to_string(),
            whole.to_string(),
            format!("{:.1}", whole as f64 / sample as f64),
        ]
    };
    outcome.tables.push(Table {
        title: "Rows of the Big Data benchmark at scale 1".to_owned(),
        columns: vec![
            "table",
            "columns",
            "rows",
            "published, §8.2",
            "published, appendix B",
            "scale of appendix B",
        ],
        rows: PUBLISHED.iter().map(row).collect(),
        provenance: Provenance::Counted,
    });
    let constant = |(name, number): (String, &sluicegate_costmodel::completion::Number)| {
        vec![name, number.value.to_string(), number.source.clone()]
    };
    outcome.tables.push(Table {
        title: "Constants of the completion times".to_owned(),
        columns: vec!["constant", "value", "source"],
        rows: Testbed::cheetah().numbers().into_iter().map(constant).collect(),
        provenance: provenance(),
    });
    outcome
}
