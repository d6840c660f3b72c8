//! Supports aggregates with different orders in one SELECT.

use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::AggregateUDF;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;

use super::wrapped_functions::{AggregateChange, changed_aggregate};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Two STRING_AGG with different orders cannot be in one SELECT",
    upstream: &[],
    ours: "STRING_AGG sorts by itself, as ARRAY_AGG does, where the rows come in another order.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT string_agg(s, '|' ORDER BY i), string_agg(s, '|' ORDER BY i DESC), \
              string_agg(DISTINCT s, ',' ORDER BY s) FROM (VALUES (2, 'a'), (1, 'b'), (3, 'a')) t(i, s)",
        right: CaseOutcome::Rows(&["b|a|a, a|a|b, a,b"]),
        theirs: CaseOutcome::Error("Conflicting ordering requirements"),
    }],
};

/// Replaces the function in a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let functions = builder.aggregate_functions().get_or_insert_default();
    for function in functions.iter_mut().filter(|it| it.name() == "string_agg") {
        *function = changed_aggregate(function, Sorting);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Sorting;

impl AggregateChange for Sorting {
    fn order_sensitivity(self, _inner: &AggregateUDF) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::SoftRequirement
    }
}
