//! §3: the workload and the clusters.

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::tpcds::{self, Table as Source};

use crate::experiment::Method;
use crate::{Experiment, Outcome, Setting, Table};

/// The tables and queries of TPC-DS, and the paper's clusters.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/setup",
    title: "Tables and queries of TPC-DS, and the clusters",
    place: "ICPE §3, Table 1",
    method: Method::Computed(compute),
};

/// The paper's scale factor, 10 TB.
const SCALE: f64 = 10_000.0;
/// Table 1.
const CLUSTERS: [[&str; 3]; 7] = [
    ["data nodes", "8", "8"],
    ["CPU", "Xeon Gold 6152, 2.1 GHz", "Xeon E5-2699 v4, 2.2 GHz"],
    ["memory of a node", "256 GB", "256 to 1024 GB"],
    ["drives of a node", "2 NVMe, 3.2 TB", "3 NVMe, 1.6 TB"],
    ["engine", "Spark 2.3.0", "Presto 0.205"],
    ["scale factor", "10000", "10000"],
    ["format", "Parquet", "Parquet"],
];

/// Returns true if a table has ten times the rows at ten times the scale.
fn grows(table: Source) -> bool {
    table.rows(SCALE) == 10 * table.rows(SCALE / 10.0)
}

fn compute() -> Outcome {
    let mut outcome = Outcome::default();
    let all = Source::ALL;
    let facts = all.into_iter().filter(|it| grows(*it)).count();
    let counts = (all.len(), facts, tpcds::QUERIES.len());
    outcome.decide(
        "I24",
        format!("{} tables, {} facts, {} queries", counts.0, counts.1, counts.2),
        counts == (24, 6, 99),
    );
    outcome.note("the specification has a seventh fact table, inventory, which grows more slowly");
    let row = |table: Source| {
        let rows = |scale: f64| table.rows(scale).to_string();
        let kind = if grows(table) { "fact" } else { "" };
        vec![table.name().to_owned(), rows(1.0), rows(SCALE), kind.to_owned()]
    };
    outcome.tables.push(Table {
        title: "Tables of TPC-DS; a very large fact table has ten times the rows at ten times the scale"
            .to_owned(),
        columns: vec!["table", "rows at 1", "rows at 10000", "kind"],
        rows: all.into_iter().map(row).collect(),
        provenance: Provenance::Counted,
    });
    outcome.tables.push(Table {
        title: "Table 1".to_owned(),
        columns: vec!["", "Spark cluster", "Presto cluster"],
        rows: CLUSTERS.iter().map(|row| row.map(str::to_owned).to_vec()).collect(),
        provenance: Provenance::Published("ICPE 2020, Table 1".into()),
    });
    let scale = |setting: Setting| setting.scale.to_string();
    let here = |name: &str, quick: String, full: String| vec![name.to_owned(), quick, full];
    let same = |name: &str, value: &str| here(name, value.to_owned(), value.to_owned());
    outcome.tables.push(Table {
        title: "This evaluation".to_owned(),
        columns: vec!["", "quick", "full"],
        rows: vec![
            same("engine", "DataFusion, 1 process"),
            same("drives", "a local sluice serve"),
            here("scale factor", scale(Setting::QUICK), scale(Setting::FULL)),
            same("format", "Parquet"),
        ],
        provenance: Provenance::Counted,
    });
    outcome
}
