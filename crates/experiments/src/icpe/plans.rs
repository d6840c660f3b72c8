//! The operators of a plan, as `sluice storage` counts them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::paper::COUNTED;

/// The operators of a query or a stage by kind, and the tables of its scans.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Plan {
    operators: BTreeMap<String, u32>,
    tables: Vec<Scanned>,
}

/// A scan: the table, the rows of the table, and those that the scan gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Scanned {
    table: String,
    rows: Option<u64>,
    kept: u64,
}

/// The numbers of operators of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Operators {
    pub(super) fact_scans: u32,
    pub(super) dimension_scans: u32,
    pub(super) filters: u32,
    pub(super) projects: u32,
    /// A partial and a final aggregate count as two, as in Spark.
    pub(super) aggregates: u32,
    pub(super) sorts: u32,
    pub(super) joins: u32,
    pub(super) windows: u32,
}

impl Operators {
    /// Adds up the operators of a plan, or of the stages of one.
    pub(super) fn of<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Self {
        let mut counts = Self::default();
        for plan in plans {
            let of = |kind: &str| plan.operators.get(kind).copied().unwrap_or_default();
            let facts = plan.tables.iter().filter(|it| it.is_of_facts()).map(|_| 1).sum();
            counts.fact_scans += facts;
            counts.dimension_scans += of("scan").saturating_sub(facts);
            counts.filters += of("filter");
            counts.projects += of("project");
            counts.aggregates += of("aggregate");
            counts.sorts += of("sort");
            counts.joins += of("join");
            counts.windows += of("window");
        }
        counts
    }

    /// Returns the numbers in the order of [`COUNTED`].
    pub(super) const fn counted(&self) -> [u32; COUNTED.len()] {
        [
            self.fact_scans,
            self.dimension_scans,
            self.filters,
            self.projects,
            self.aggregates,
            self.sorts,
            self.joins,
        ]
    }
}

impl Scanned {
    /// Returns true if it reads one of the paper's six fact tables: sales and returns. The table is a name, or the URL
    /// of a file in a folder of that name.
    fn is_of_facts(&self) -> bool {
        let path = self.table.split_once("/parquet/").map_or(self.table.as_str(), |(_, it)| it);
        let table = path.split('/').next().unwrap_or_default();
        table.ends_with("_sales") || table.ends_with("_returns")
    }
}

/// Returns the part of the rows of fact tables that scans leave out, 0 to 1; `None` without such scans.
pub(super) fn left_out(scans: &[Scanned]) -> Option<f64> {
    let (mut rows, mut kept) = (0, 0);
    for scan in scans.iter().filter(|it| it.is_of_facts()) {
        rows += scan.rows?;
        kept += scan.kept;
    }
    (rows > 0).then(|| 1.0 - kept as f64 / rows as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(table: &str, rows: u64, kept: u64) -> Scanned {
        Scanned { table: table.to_owned(), rows: Some(rows), kept }
    }

    #[test]
    fn operators_of_stages_add_up() {
        let plan = |operators: &[(&str, u32)], tables: &[&str]| Plan {
            operators: operators.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
            tables: tables.iter().map(|table| scan(table, 1, 1)).collect(),
        };
        let facts = "s3://tpcds/sf1/parquet/store_sales/store_sales.00.parquet";
        let dimension = "s3://tpcds/sf1/parquet/item/item.00.parquet";
        let stages = [
            plan(&[("scan", 2), ("filter", 1), ("aggregate", 2)], &[dimension, facts]),
            plan(&[("join", 1), ("sort", 1), ("exchange", 3)], &[]),
        ];
        let counts = Operators::of(&stages);
        assert_eq!(counts.counted(), [1, 1, 1, 0, 2, 1, 1]);
        assert_eq!(counts.windows, 0);
    }

    #[test]
    fn rows_that_are_left_out_are_those_of_facts() {
        let scans = [scan("store_sales", 100, 5), scan("item", 50, 50), scan("web_sales", 100, 95)];
        assert_eq!(left_out(&scans), Some(0.5));
        assert_eq!(left_out(&scans[1..2]), None);
    }
}
