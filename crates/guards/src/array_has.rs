//! Corrects `array_has` on a list that contains NULL.

use std::sync::Arc;

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{Expr, ScalarUDF};

use super::wrapped_functions::{Change, changed};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "array_has of a list that is written out is NULL where NULL is in the list",
    upstream: &["datafusion#24246"],
    ours: "It is true or false, as for a column. It becomes IN only where no item may be NULL. `x = ANY (list)` is NULL, \
           as IN is.",
    cases: &[Case {
        setup: &["CREATE TABLE items AS SELECT * FROM (VALUES (1), (2), (NULL)) v(i)"],
        sql: "SELECT i, array_has([i, 1], 2), array_has([1, NULL], i) FROM items",
        right: CaseOutcome::Rows(&["1, false, true", "2, true, false", "NULL, false, NULL"]),
        theirs: CaseOutcome::Rows(&["1, false, true", "2, true, NULL", "NULL, NULL, NULL"]),
    }],
};

/// Returns the guarded function.
pub(super) fn guarded(functions: &[Arc<ScalarUDF>]) -> Option<Arc<ScalarUDF>> {
    let function = functions.iter().find(|it| it.name() == "array_has")?;
    Some(changed(function, WithoutNull))
}

/// Turns `array_has` into IN only if no item of the list may be NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct WithoutNull;

impl Change for WithoutNull {
    fn simplify(
        self,
        inner: &ScalarUDF,
        args: Vec<Expr>,
        info: &SimplifyContext,
    ) -> Result<ExprSimplifyResult> {
        if simplifies(&args, info)? {
            inner.simplify(args, info)
        } else {
            Ok(ExprSimplifyResult::Original(args))
        }
    }
}

/// Returns true if a call may become IN, because no item of the list is NULL.
fn simplifies(args: &[Expr], info: &SimplifyContext) -> Result<bool> {
    match args.first() {
        Some(Expr::Literal(list @ (ScalarValue::List(_) | ScalarValue::LargeList(_)), _)) => {
            let lists = ScalarValue::convert_array_to_scalar_vec(list.to_array()?.as_ref())?;
            Ok(!lists.into_iter().flatten().flatten().any(|item| item.is_null()))
        }
        Some(Expr::ScalarFunction(call)) => {
            for item in &call.args {
                if info.nullable(item)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(true),
    }
}
