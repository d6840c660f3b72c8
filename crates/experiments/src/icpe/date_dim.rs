//! §8: the queries of TPC-DS that read `date_dim`, whose join a device could do.

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::tpcds;

use crate::experiment::Method;
use crate::{Experiment, Outcome, Table};

/// The count.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/date-dim",
    title: "Queries of TPC-DS that read date_dim",
    place: "ICPE §8",
    method: Method::Computed(compute),
};

fn compute() -> Outcome {
    let reads = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "date_dim")
    };
    let reading = tpcds::QUERIES.iter().filter(|text| reads(text)).count();
    let mut outcome = Outcome::default();
    outcome.decide("I23", format!("{reading} queries"), reading == 89);
    outcome.tables.push(Table {
        title: "Queries".to_owned(),
        columns: vec!["table", "queries", "of"],
        rows: vec![vec![
            "date_dim".to_owned(),
            reading.to_string(),
            tpcds::QUERIES.len().to_string(),
        ]],
        provenance: Provenance::Counted,
    });
    outcome
}
