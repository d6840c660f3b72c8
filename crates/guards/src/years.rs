//! Corrects conditions on the year of a timestamp.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ScalarUDF};

use super::wrapped_functions::{Change, changed, is_changed};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "The year of a timestamp is less than 9999 for no row",
    upstream: &["datafusion#25135"],
    ours: "A condition on a year becomes one on the timestamp only if the year begins and ends within the range of the \
           type.",
    cases: &[Case {
        setup: &["CREATE TABLE years AS SELECT TIMESTAMP '1995-05-05 00:00:00' AS ts"],
        sql: "SELECT count(*) FROM years WHERE extract(year FROM ts) < 9999",
        right: CaseOutcome::Rows(&["1"]),
        theirs: CaseOutcome::Rows(&["0"]),
    }],
};

/// Replaces a call of DataFusion's function by one of ours.
pub(super) fn replace(expr: &Expr) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    if call.func.name() != "date_part" || is_changed::<Years>(&call.func) {
        return None;
    }
    let function = guarded(&call.func);
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, call.args.clone())))
}

/// Returns the guarded function.
pub(super) fn guarded(function: &Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    changed(function, Years)
}

/// The change of `date_part`, whose conditions DataFusion turns into ranges of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Years;

impl Change for Years {
    fn preimage(
        self,
        inner: &ScalarUDF,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        Ok(match inner.inner().preimage(args, literal, info)? {
            PreimageResult::Range { interval, .. }
                if interval.lower().is_null() || interval.upper().is_null() =>
            {
                PreimageResult::None
            }
            found => found,
        })
    }
}
