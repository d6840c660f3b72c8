//! Turns off a check of DataFusion that rejects valid plans.

use datafusion::common::config::ConfigOptions;

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Some aggregates of CASE fail with an internal error",
    upstream: &[],
    ours: "DataFusion does not compare what it knows about NULL before and after it simplifies arguments of aggregates \
           (`datafusion.execution.skip_physical_aggregate_schema_check`).",
    cases: &[Case {
        setup: &["CREATE TABLE flags AS SELECT * FROM (VALUES (true), (false), (NULL)) t(b)"],
        sql: "SELECT count(CASE WHEN b IS FALSE THEN b END) FROM flags",
        right: CaseOutcome::Rows(&["1"]),
        theirs: CaseOutcome::Error("nternal"),
    }],
};

/// Turns the check off. A simplified argument may lose its nullability, which is no error.
pub(super) fn set(options: &mut ConfigOptions) {
    options.execution.skip_physical_aggregate_schema_check = true;
}
