//! Extracts the parts of a difference of timestamps.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable};

use super::{Convert, call};
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "The hour, minute and second of a difference of timestamps are totals",
    upstream: &[],
    ours: "EXTRACT reads the difference as days and a time: of 2 days 02:30:00, the hour is 2 and the minute 30. EPOCH \
           remains the total in seconds.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT extract(day FROM b - a), extract(hour FROM b - a), extract(minute FROM b - a), \
              extract(second FROM a - b), extract(epoch FROM b - a) \
              FROM (VALUES (TIMESTAMP '2020-01-01 10:00:00', TIMESTAMP '2020-01-03 12:30:05')) t(a, b)",
        right: CaseOutcome::Rows(&["2, 2, 30, -5, 181805.0"]),
        theirs: CaseOutcome::Rows(&["2, 50, 3030, -181805, 181805.0"]),
    }],
};

/// Returns a call of `date_part` over a difference of timestamps as one over an interval.
pub(crate) fn of_duration(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::ScalarFunction(function) = expr else { return None };
    let [part, value] = function.args.as_slice() else { return None };
    let Expr::Literal(name, _) = part else { return None };
    if function.func.name() != "date_part"
        || !matches!(value.get_type(schema).ok()?, DataType::Duration(_))
        || name.try_as_str().flatten()?.trim().eq_ignore_ascii_case("epoch")
    {
        return None;
    }
    let args = vec![part.clone(), call(Convert::Interval, value.clone())];
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&function.func), args)))
}
