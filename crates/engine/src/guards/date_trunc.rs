//! `date_trunc` of a constant.

use super::{Answer, Case, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "date_trunc of a constant before 1970 rounds milliseconds up",
    upstream: &["datafusion#25425"],
    ours: "A constant is truncated as a column is.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT date_trunc('millisecond', TIMESTAMP '1969-12-31 23:59:59.999001')",
        right: Answer::Rows(&["1969-12-31T23:59:59.999"]),
        theirs: Answer::Rows(&["1970-01-01T00:00:00"]),
    }],
};
