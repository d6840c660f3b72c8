//! Keeps running MIN, MAX and SUM from counting as sorted.
//!
//! DataFusion treats the results of such an aggregate as sorted, because more rows never make a maximum smaller. But
//! the result of a frame without values is NULL, which comes first there, wherever ORDER BY puts NULL. The functions
//! of [`wrapped`](super::wrapped_functions) are not declared monotonic. COUNT, which is never NULL, is not among them.

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "ORDER BY a running MIN or MAX leaves NULL where the window had it",
    upstream: &[],
    ours: "A running MIN, MAX or SUM does not count as sorted: ORDER BY sorts it.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT max(x) OVER (ORDER BY i) AS o FROM (VALUES (1, NULL), (2, 7), (3, 3)) v(i, x) ORDER BY o",
            right: CaseOutcome::Rows(&["7", "7", "NULL"]),
            theirs: CaseOutcome::Rows(&["NULL", "7", "7"]),
        },
        Case {
            setup: &[],
            sql: "SELECT min(x) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS o \
                  FROM (VALUES (1, 5), (2, 7), (3, 3)) v(i, x) ORDER BY o DESC NULLS LAST",
            right: CaseOutcome::Rows(&["5", "5", "NULL"]),
            theirs: CaseOutcome::Rows(&["NULL", "5", "5"]),
        },
    ],
};
