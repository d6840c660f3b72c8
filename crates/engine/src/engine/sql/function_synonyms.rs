//! Functions of other systems that DataFusion has under another name, with other arguments, or as an operator.

use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, Value,
};

/// Parts of a date or a time stamp that `date_part` accepts by name.
const PARTS: [&str; 8] = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"];

/// Names in other systems, and DataFusion's names.
const NAMES: [(&str, &str); 10] = [
    ("ceiling", "ceil"),
    ("every", "bool_and"),
    // DataFusion's gives a DOUBLE for a decimal.
    ("ifnull", "coalesce"),
    ("nvl", "coalesce"),
    ("sgn", "signum"),
    ("len", "length"),
    ("mid", "substr"),
    ("sign", "signum"),
    ("list_value", "make_array"),
    ("variance", "var"),
];

/// Second names of aggregates. DataFusion leaves FILTER out of the column name of such a call, so that it equals that
/// of a call without FILTER.
const AGGREGATES: [(&str, &str); 7] = [
    ("covar", "covar_samp"),
    ("mean", "avg"),
    ("quantile_cont", "percentile_cont"),
    ("stddev_samp", "stddev"),
    ("var_population", "var_pop"),
    ("var_samp", "var"),
    ("var_sample", "var"),
];

/// Returns the name of a function in lower case, unless it is in quotes.
fn typed(call: &Function) -> Option<String> {
    let [name] = call.name.0.as_slice() else { return None };
    let name = name.as_ident().filter(|name| name.quote_style.is_none())?;
    Some(name.value.to_ascii_lowercase())
}

/// Renames a call to an existing function: `year(d)` becomes `date_part('year', d)`.
pub(crate) fn rename(call: &mut Function) {
    let Some(typed) = typed(call) else { return };
    let FunctionArguments::List(list) = &mut call.args else { return };
    let aggregates = if call.filter.is_some() { AGGREGATES.as_slice() } else { &[] };
    if let Some((_, ours)) = NAMES.iter().chain(aggregates).find(|(theirs, _)| *theirs == typed) {
        call.name = ObjectName::from(vec![Ident::new(*ours)]);
    } else if PARTS.contains(&typed.as_str()) && list.args.len() == 1 {
        let part = Expr::Value(Value::SingleQuotedString(typed).into());
        list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(part)));
        call.name = ObjectName::from(vec![Ident::new("date_part")]);
    }
}

/// Returns the expression for a call that has no equivalent function: `if(c, a, b)` becomes CASE, `mod(a, b)` becomes
/// `a % b`.
pub(crate) fn operator(call: &Function) -> Option<Expr> {
    let typed = typed(call)?;
    let FunctionArguments::List(list) = &call.args else { return None };
    let args = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let args = args.collect::<Option<Vec<_>>>()?;
    match (typed.as_str(), args.as_slice()) {
        ("if" | "iif", [condition, then, otherwise]) => Some(Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen { condition: condition.clone(), result: then.clone() }],
            else_result: Some(Box::new(otherwise.clone())),
        }),
        ("mod", [left, right]) => {
            let nested = |side: &Expr| Box::new(Expr::Nested(Box::new(side.clone())));
            let (left, right) = (nested(left), nested(right));
            let remainder = Expr::BinaryOp { left, op: BinaryOperator::Modulo, right };
            Some(Expr::Nested(Box::new(remainder)))
        }
        _ => None,
    }
}
