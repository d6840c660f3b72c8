//! The operators of a plan, counted in the output of EXPLAIN.

use super::paper::COUNTED;
use crate::{Results, ResultsError};

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
    /// Counts the operators of the plan of a query.
    pub(super) fn of(results: &Results, number: usize) -> Result<Self, ResultsError> {
        Ok(Self::count(&results.record(&format!("plan of Q{number}"))?.answers))
    }

    fn count(plan: &str) -> Self {
        let mut counts = Self::default();
        for line in plan.lines() {
            let line = line.trim_start().trim_start_matches("physical_plan,\"");
            let name: String = line.chars().take_while(char::is_ascii_alphanumeric).collect();
            let counter = match name.as_str() {
                "DataSourceExec" if reads_facts(line) => &mut counts.fact_scans,
                "DataSourceExec" => &mut counts.dimension_scans,
                "FilterExec" => &mut counts.filters,
                "ProjectionExec" => &mut counts.projects,
                "AggregateExec" => &mut counts.aggregates,
                "SortExec" => &mut counts.sorts,
                name if name.ends_with("JoinExec") => &mut counts.joins,
                name if name.ends_with("WindowAggExec") => &mut counts.windows,
                _ => continue,
            };
            *counter += 1;
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

/// Returns true if a scan reads one of the paper's six fact tables: sales and returns.
fn reads_facts(scan: &str) -> bool {
    let path = scan.split_once("/parquet/").map_or("", |(_, path)| path);
    let table = path.split('/').next().unwrap_or_default();
    table.ends_with("_sales") || table.ends_with("_returns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_counted_by_their_names() {
        let plan = "plan_type,plan\n\
            physical_plan,\"SortExec: TopK(fetch=100)\n\
            \x20 HashJoinExec: mode=CollectLeft\n\
            \x20   DataSourceExec: file_groups={1 group: [[sf1/parquet/item/item.00.parquet]]}\n\
            \x20   AggregateExec: mode=Final, gby=[], aggr=[avg(FilterExec)]\n\
            \x20     AggregateExec: mode=Partial\n\
            \x20       FilterExec: a@1 = 2\n\
            \x20         DataSourceExec: file_groups={1 group: [[sf1/parquet/store_sales/s.parquet]]}\n\
            \n\"\n";
        let counts = Operators::count(plan);
        assert_eq!(counts.counted(), [1, 1, 1, 0, 2, 1, 1]);
        assert_eq!(counts.windows, 0);
    }
}
