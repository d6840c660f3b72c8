//! Keeps the negative of a number apart from the complement of its bits. The functions of [`super::overflow`]
//! stand for negatives, so that DataFusion's simplifier finds none.

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "The negative of a bitwise expression is computed as the complement of its bits",
    upstream: &[],
    ours: "`-(a & b)` is the negative of `a & b`, and `a & -a` is the lowest bit of `a`.",
    cases: &[
        Case {
            setup: &["CREATE TABLE low_bits AS SELECT * FROM (VALUES (8), (6), (NULL)) t(a)"],
            sql: "SELECT -(a & 2), -(a | 1), -(a & 2) + 1 FROM low_bits",
            right: CaseOutcome::Rows(&["0, -9, 1", "-2, -7, -1", "NULL, NULL, NULL"]),
            theirs: CaseOutcome::Rows(&["-2, -8, -1", "-2, -6, -1", "NULL, NULL, NULL"]),
        },
        Case {
            setup: &["CREATE TABLE set_bits (a INT NOT NULL) AS VALUES (8), (6)"],
            sql: "SELECT a & -a, -a | a, a ^ -a FROM set_bits WHERE -(a & 2) <= 0",
            right: CaseOutcome::Rows(&["8, -8, -16", "2, -2, -4"]),
            theirs: CaseOutcome::Rows(&["0, -1, -1", "0, -1, -1"]),
        },
    ],
};
