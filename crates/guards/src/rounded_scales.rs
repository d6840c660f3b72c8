//! Fixes the number of decimal places of a rounded decimal.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, lit};

use super::lossy_casts::cast_function;
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "ROUND of a decimal is planned with other places than it has",
    upstream: &[],
    ours: "`round(d, 1)` is a decimal with one place wherever it stands: in CASE, in a comparison, in IN, as a key. With \
           places that are no constant, its type is that of d with one digit more.",
    cases: &[Case {
        setup: &["CREATE TABLE to_round AS SELECT 1 AS id, CAST('1.25' AS DECIMAL(9,2)) AS d"],
        sql: "SELECT CASE WHEN id > 1 THEN round(d, 1) ELSE d END FROM to_round",
        right: CaseOutcome::Rows(&["1.25"]),
        theirs: CaseOutcome::Error("column types must match"),
    }],
};

/// Returns `round(d, n)` with its type fixed at this point. DataFusion reads the places from a constant, which a cast
/// hides until the statement is simplified.
pub(super) fn fixed(expr: &Expr, call: &ScalarFunction, schema: &DFSchema) -> Option<Expr> {
    let [value, places] = call.args.as_slice() else { return None };
    if call.func.name() != "round" || !value.get_type(schema).ok()?.is_decimal() {
        return None;
    }
    if let Expr::Literal(places, _) = places {
        if places.is_null() || places.data_type() == DataType::Int32 {
            return None;
        }
        let ScalarValue::Int32(Some(places)) = places.cast_to(&DataType::Int32).ok()? else {
            return None;
        };
        let args = vec![value.clone(), lit(places)];
        return Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&call.func), args)));
    }
    let data_type = lit(expr.get_type(schema).ok()?.to_string());
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(
        cast_function(),
        vec![expr.clone(), data_type],
    )))
}
