//! Corrects `date_trunc` of a constant before 1970.

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "date_trunc of a constant before 1970 rounds milliseconds up",
    upstream: &["datafusion#25425"],
    ours: "A constant is truncated as a column is.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT date_trunc('millisecond', TIMESTAMP '1969-12-31 23:59:59.999001')",
        right: CaseOutcome::Rows(&["1969-12-31T23:59:59.999"]),
        theirs: CaseOutcome::Rows(&["1970-01-01T00:00:00"]),
    }],
};

/// Evaluates a constant like a column.
pub(super) fn invoke(inner: &ScalarUDF, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
    if !args.args.iter().all(|it| matches!(it, ColumnarValue::Scalar(_))) {
        return inner.invoke_with_args(args);
    }
    if let Some(last) = args.args.last_mut() {
        *last = ColumnarValue::Array(last.to_array(1)?);
    }
    args.number_rows = 1;
    let value = inner.invoke_with_args(args)?.into_array(1)?;
    Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?))
}
