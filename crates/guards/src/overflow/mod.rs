//! Makes results of whole numbers and decimals that do not fit their type an error.
//!
//! `arithmetic` replaces operators by functions that check, and `sums` replaces SUM. `decimals` finds the operators of
//! decimals that need a check, and `decimal_sums` has the sums of decimals.

use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;

use super::{Case, CaseOutcome, Guard};

pub mod arithmetic;
mod decimal_sums;
mod decimals;
mod sums;

pub(super) const GUARD: Guard = Guard {
    title: "Whole numbers wrap around where they exceed their type, and decimals lose digits",
    upstream: &[],
    ours: "`9223372036854775807 + 1`, a SUM of BIGINT beyond 64 bits, and results and sums of DECIMAL beyond 38 digits are \
           errors. `CAST(x AS DECIMAL(38, 0))` computes whole numbers with more digits.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT 9223372036854775807 + 1",
            right: CaseOutcome::Error("9223372036854775807 + 1"),
            theirs: CaseOutcome::Rows(&["-9223372036854775808"]),
        },
        Case {
            setup: &[
                "CREATE TABLE large AS SELECT * FROM (VALUES (9223372036854775807), (2)) t(x)",
            ],
            sql: "SELECT x * 10 FROM large",
            right: CaseOutcome::Error("9223372036854775807 * 10"),
            theirs: CaseOutcome::Rows(&["-10", "20"]),
        },
        Case {
            setup: &[
                "CREATE TABLE large AS SELECT * FROM (VALUES (9223372036854775807), (2)) t(x)",
            ],
            sql: "SELECT -1 - x - x FROM large",
            right: CaseOutcome::Error("-9223372036854775808 - 9223372036854775807"),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[
                "CREATE TABLE large AS SELECT * FROM (VALUES (9223372036854775807), (2)) t(x)",
            ],
            sql: "SELECT -(-x - 1) FROM large",
            right: CaseOutcome::Error("-9223372036854775808"),
            theirs: CaseOutcome::Rows(&["-9223372036854775808", "3"]),
        },
        Case {
            setup: &[],
            sql: "SELECT CAST(1 AS BIGINT UNSIGNED) - CAST(2 AS BIGINT UNSIGNED)",
            right: CaseOutcome::Error("1 - 2"),
            theirs: CaseOutcome::Rows(&["18446744073709551615"]),
        },
        Case {
            setup: &[
                "CREATE TABLE large AS SELECT * FROM (VALUES (9223372036854775807), (2)) t(x)",
            ],
            sql: "SELECT sum(x) FROM large",
            right: CaseOutcome::Error("sum"),
            theirs: CaseOutcome::Rows(&["-9223372036854775807"]),
        },
        Case {
            setup: &[
                "CREATE TABLE large AS SELECT * FROM (VALUES (9223372036854775807), (2)) t(x)",
            ],
            sql: "SELECT x % 5, sum(x) FROM (SELECT * FROM large UNION ALL SELECT * FROM large) t GROUP BY x % 5",
            right: CaseOutcome::Error("sum"),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[
                "CREATE TABLE large AS SELECT * FROM (VALUES (9223372036854775807), (2)) t(x)",
            ],
            sql: "SELECT sum(x) OVER () FROM large",
            right: CaseOutcome::Error("sum"),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &["CREATE TABLE digits AS SELECT CAST(x AS DECIMAL(38,0)) AS x FROM \
                 (VALUES ('99999999999999999999999999999999999999'), ('99999999999999999999999999999999999999')) t(x)"],
            sql: "SELECT sum(x) FROM digits",
            right: CaseOutcome::Error("a sum in DECIMAL(38, 0)"),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &["CREATE TABLE digits AS SELECT CAST(x AS DECIMAL(38,0)) AS x FROM \
                 (VALUES ('99999999999999999999999999999999999999'), ('1'), (NULL)) t(x)"],
            sql: "SELECT x + 1 FROM digits",
            right: CaseOutcome::Error("99999999999999999999999999999999999999 + 1"),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &["CREATE TABLE digits AS SELECT CAST(x AS DECIMAL(38,0)) AS x FROM \
                 (VALUES ('99999999999999999999999999999999999999'), ('1'), (NULL)) t(x)"],
            sql: "SELECT x * x FROM digits",
            right: CaseOutcome::Error("a result of * has more than 38 digits"),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &["CREATE TABLE digits AS SELECT CAST(x AS DECIMAL(38,0)) AS x FROM \
                 (VALUES ('12345678901234567890123456789012345'), ('1'), (NULL)) t(x)"],
            sql: "SELECT x / CAST(1 AS DECIMAL(1,0)) FROM digits",
            right: CaseOutcome::Error("12345678901234567890123456789012345 / 1"),
            theirs: CaseOutcome::Varies,
        },
    ],
};

/// Adds the functions and the rule that uses them to a session that is being built. The rule must run after types
/// are coerced.
pub(super) fn install(builder: &mut SessionStateBuilder) -> Result<()> {
    arithmetic::install(builder)?;
    sums::install(builder);
    Ok(())
}
