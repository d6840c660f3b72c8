//! MIN and MAX of columns skip rows that other aggregates beside them need.

use datafusion::common::config::ConfigOptions;

use super::Guard;

pub(super) const GUARD: Guard = Guard {
    title: "MIN and MAX skip rows that other aggregates need",
    upstream: &[],
    ours: "Aggregates without GROUP BY do not filter their scans at run time \
           (`datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown` is off).",
    cases: &[],
};

/// DataFusion skips rows by the bounds of those MINs and MAXes that are of plain columns, even if others beside
/// them, of expressions or with a FILTER, need these rows.
pub(super) fn set(options: &mut ConfigOptions) {
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
}
