//! Refuses statements that the grammar allows but that cannot be evaluated.
//!
//! Types are checked as far as the statement determines them: literals, casts and most functions have a type, and
//! every column of a CSV object is text. Types that depend on the data are left to the evaluation.

mod aggregates;
mod columns;
mod types;

use super::ast::{Expr, Projection, Query};
use crate::error::{Result, SelectError, SelectErrorCode as Code};
use crate::request::InputSerialization;

/// Refuses a statement that no object of the given format could answer.
///
/// # Errors
///
/// | code | for |
/// |---|---|
/// | `UnsupportedSqlOperation` | an aggregate in WHERE, in GROUP BY or inside another; AVG of a group |
/// | `UnsupportedSqlStructure` | an aggregate beside a column that is in none; a column that is neither in GROUP BY nor in an aggregate; `*` or LIMIT with GROUP BY |
/// | `InvalidTableAlias` | a CSV column qualified with a name that is not the row's |
/// | `InvalidColumnIndex` | `_0`; a name, where a CSV object has no header to use |
/// | `InvalidKeyPath` | a path into something that has no nesting |
/// | `InvalidDataType` | an operand whose type its operator does not take; a WHERE that is not `bool` |
/// | `IncorrectSqlFunctionArgumentType` | likewise an argument of a function |
/// | `LikeInvalidInputs` | likewise an operand of LIKE |
/// | `InvalidCast` | a CAST between types that never convert |
/// | `EvaluatorInvalidArguments` | a wrong number of arguments |
/// | `IllegalSqlFunctionArgument` | a constant argument outside the function's domain |
/// | `Evaluator…` of patterns | a constant pattern of LIKE or TO_STRING that is malformed |
pub fn check(query: &Query, input: &InputSerialization) -> Result<()> {
    columns::check_source(&query.from, &input.format)?;
    aggregates::check(query)?;
    let scope = columns::Scope { from: &query.from, format: &input.format };
    if let Projection::Items(items) = &query.projection {
        for item in items {
            visit(&item.expr, &mut |expr| columns::check(expr, scope))?;
            types::type_of(&item.expr, scope)?;
        }
    }
    for group in &query.group_by {
        visit(group, &mut |expr| columns::check(expr, scope))?;
        types::type_of(group, scope)?;
    }
    if let Some(filter) = &query.filter {
        visit(filter, &mut |expr| columns::check(expr, scope))?;
        types::check_condition(filter, scope)?;
    }
    Ok(())
}

fn error(code: Code, message: impl Into<std::borrow::Cow<'static, str>>) -> SelectError {
    SelectError::new(code, message)
}

/// Calls `f` for the expression and all its operands, from the outside in and from left to right.
fn visit(expr: &Expr, f: &mut impl FnMut(&Expr) -> Result<()>) -> Result<()> {
    f(expr)?;
    expr.children().into_iter().try_for_each(|child| visit(child, f))
}

#[cfg(test)]
mod tests;
