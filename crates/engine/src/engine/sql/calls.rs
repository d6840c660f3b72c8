//! Refuses calls that DataFusion plans incorrectly. It ignores the clauses of aggregates in scalar functions:
//! `upper(a) FILTER (WHERE b)` would be `upper(a)` of all rows. It also panics on `first_value()` without an
//! argument, and answers NULL for `nth_value(x, 0)`.

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Value, Visitor,
};

use crate::context::error::{ErrorKind, UserError};
use sluicegate_guards::walk::Walk;

/// Checks the calls of a statement.
///
/// # Errors
///
/// If there is such a call; the message contains its name.
pub(crate) fn check(state: &SessionState, statement: &Statement) -> Result<()> {
    let mut calls = Calls { state };
    let found = match statement {
        Statement::Statement(statement) => statement.walk(&mut calls),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.walk(&mut calls),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return check(state, &explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(told) => Err(told.into()),
    }
}

struct Calls<'a> {
    state: &'a SessionState,
}

impl Visitor for Calls<'_> {
    type Break = UserError;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<UserError> {
        let Expr::Function(call) = expr else { return ControlFlow::Continue(()) };
        if let Some(told) = without_value(call).or_else(|| without_row(call)) {
            return ControlFlow::Break(told);
        }
        let Some(clause) = clause(call) else { return ControlFlow::Continue(()) };
        let name = call.name.to_string().to_lowercase();
        let is_scalar = self.state.udf(&name).is_ok()
            && self.state.udaf(&name).is_err()
            && self.state.udwf(&name).is_err();
        if !is_scalar {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(UserError {
            kind: ErrorKind::Plan,
            message: format!("{clause} belongs to aggregates, and {name} is of one row"),
            hint: Some(format!("Leave {clause} out, or put {name} into an aggregate.")),
        })
    }
}

/// Returns the error for a call that lacks its argument.
fn without_value(call: &Function) -> Option<UserError> {
    let name = call.name.to_string().to_lowercase();
    let FunctionArguments::List(list) = &call.args else { return None };
    let is_of_values = ["first_value", "last_value", "nth_value", "lag", "lead"];
    (is_of_values.contains(&name.as_str()) && list.args.is_empty()).then(|| UserError {
        kind: ErrorKind::Plan,
        message: format!("{name}() lacks the value that it is of"),
        hint: Some(format!("Name a column: {name}(x) OVER (ORDER BY y).")),
    })
}

/// Returns the error for `nth_value(x, 0)`, which would be NULL. Negative numbers count from the last row.
fn without_row(call: &Function) -> Option<UserError> {
    let name = call.name.to_string().to_lowercase();
    let FunctionArguments::List(list) = &call.args else { return None };
    let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(number)))] =
        list.args.as_slice()
    else {
        return None;
    };
    let is_zero = matches!(&number.value, Value::Number(digits, _)
        if digits.bytes().all(|digit| digit == b'0'));
    (name == "nth_value" && is_zero).then(|| UserError {
        kind: ErrorKind::Plan,
        message: "nth_value counts rows from 1, and there is no row 0".to_owned(),
        hint: Some("nth_value(x, 1) is of the first row, nth_value(x, -1) of the last.".to_owned()),
    })
}

/// Returns the clause of aggregates that a call has, if any.
fn clause(call: &Function) -> Option<&'static str> {
    let list = match &call.args {
        FunctionArguments::List(list) => Some(list),
        _ => None,
    };
    let is_ordered = list.is_some_and(|list| {
        list.clauses.iter().any(|it| matches!(it, FunctionArgumentClause::OrderBy(_)))
    });
    let is_distinct =
        list.is_some_and(|list| list.duplicate_treatment == Some(DuplicateTreatment::Distinct));
    [
        (call.over.is_some(), "OVER"),
        (call.filter.is_some(), "FILTER"),
        (!call.within_group.is_empty(), "WITHIN GROUP"),
        (call.null_treatment.is_some(), "IGNORE NULLS"),
        (is_distinct, "DISTINCT"),
        (is_ordered, "ORDER BY"),
    ]
    .into_iter()
    .find_map(|(is_there, clause)| is_there.then_some(clause))
}
