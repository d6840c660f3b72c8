//! Turns off the operator that keeps only the best groups by MIN and MAX.

use datafusion::common::config::ConfigOptions;

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "MIN or MAX of groups by a float, with ORDER BY … LIMIT, panics on NaN",
    upstream: &[],
    ours: "The operator that keeps only the best groups is off (`datafusion.optimizer.enable_topk_aggregation`).",
    cases: &[Case {
        setup: &[
            "CREATE TABLE nan_groups AS SELECT * FROM (VALUES ('NaN'::DOUBLE, 1), ('NaN'::DOUBLE, 2), (1.0, 3)) t(g, v)",
        ],
        sql: "SELECT g, max(v) AS m FROM nan_groups GROUP BY g ORDER BY m DESC LIMIT 2",
        right: CaseOutcome::Rows(&["1.0, 3", "NaN, 2"]),
        theirs: CaseOutcome::Varies,
    }],
};

/// Turns the operator off, because NaN is not equal to itself in it.
pub(super) fn set(options: &mut ConfigOptions) {
    options.optimizer.enable_topk_aggregation = false;
}
