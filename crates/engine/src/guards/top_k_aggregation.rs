//! MIN and MAX by a float group, ordered and limited.

use datafusion::common::config::ConfigOptions;

use super::{Answer, Case, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "MIN or MAX of groups by a float, with ORDER BY … LIMIT, panics on NaN",
    upstream: &[],
    ours: "The operator that keeps only the best groups is off (`datafusion.optimizer.enable_topk_aggregation`).",
    cases: &[Case {
        setup: &[
            "CREATE TABLE nan_groups AS SELECT * FROM (VALUES ('NaN'::DOUBLE, 1), ('NaN'::DOUBLE, 2), (1.0, 3)) t(g, v)",
        ],
        sql: "SELECT g, max(v) AS m FROM nan_groups GROUP BY g ORDER BY m DESC LIMIT 2",
        right: Answer::Rows(&["1.0, 3", "NaN, 2"]),
        theirs: Answer::Varies,
    }],
};

/// NaN is not equal to itself in that operator.
pub(super) fn set(options: &mut ConfigOptions) {
    options.optimizer.enable_topk_aggregation = false;
}
