//! The year of a timestamp.

use datafusion::logical_expr::preimage::PreimageResult;

use super::{Answer, Case, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "The year of a timestamp is less than 9999 for no row",
    upstream: &["datafusion#25135"],
    ours: "A condition on a year becomes one on the timestamp only if the year begins and ends within the range of the \
           type.",
    cases: &[Case {
        setup: &["CREATE TABLE years AS SELECT TIMESTAMP '1995-05-05 00:00:00' AS ts"],
        sql: "SELECT count(*) FROM years WHERE extract(year FROM ts) < 9999",
        right: Answer::Rows(&["1"]),
        theirs: Answer::Rows(&["0"]),
    }],
};

/// What a condition on a year becomes, unless that is beyond the range of the timestamp's type.
pub(super) fn preimage(found: PreimageResult) -> PreimageResult {
    match found {
        PreimageResult::Range { interval, .. }
            if interval.lower().is_null() || interval.upper().is_null() =>
        {
            PreimageResult::None
        }
        found => found,
    }
}
