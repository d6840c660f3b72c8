//! Refuses piecewise merge joins.

use super::{Case, CaseOutcome, Guard};

/// The guard of a setting that `SET` refuses, see `catalog/option_values.rs` of the engine.
pub(super) const GUARD: Guard = Guard {
    title: "`enable_piecewise_merge_join` loses rows with NULL",
    upstream: &[],
    ours: "The setting is refused.",
    cases: &[Case {
        setup: &[
            "CREATE TABLE pwmj_l AS SELECT * FROM (VALUES (1), (NULL)) v(a)",
            "CREATE TABLE pwmj_r AS SELECT * FROM (VALUES (2), (3)) v(b)",
            "SET datafusion.optimizer.enable_piecewise_merge_join = true",
        ],
        sql: "SELECT * FROM pwmj_l LEFT JOIN pwmj_r ON a < b",
        right: CaseOutcome::Error("cannot be true"),
        theirs: CaseOutcome::Rows(&["1, 2", "1, 3"]),
    }],
};
