//! Keeps MIN and MAX from skipping rows that other aggregates need.

use datafusion::common::config::ConfigOptions;

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "MIN and MAX skip rows that other aggregates need",
    upstream: &["datafusion#24816"],
    ours: "Aggregates without GROUP BY do not filter their scans at run time \
           (`datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown` is off).",
    cases: &[Case {
        setup: &[
            "COPY (VALUES (1, 110), (8, 90)) TO '{folder}/t/a.parquet' STORED AS PARQUET",
            "COPY (VALUES (2, 100), (7, 70)) TO '{folder}/t/b.parquet' STORED AS PARQUET",
            "COPY (VALUES (1, 110), (8, 90)) TO '{folder}/t/c.parquet' STORED AS PARQUET",
            "COPY (VALUES (2, 100), (7, 70)) TO '{folder}/t/d.parquet' STORED AS PARQUET",
            "CREATE EXTERNAL TABLE bounds STORED AS PARQUET LOCATION '{folder}/t/'",
        ],
        sql: "SELECT min(column1), max(column1), min(column2 + 1) FROM bounds",
        right: CaseOutcome::Rows(&["1, 8, 71"]),
        theirs: CaseOutcome::Varies,
    }],
};

/// Turns off run-time filters of aggregates. DataFusion skips rows by the bounds of MIN and MAX of plain columns,
/// even if other MIN and MAX, of expressions or with FILTER, need these rows.
pub(super) fn set(options: &mut ConfigOptions) {
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
}
