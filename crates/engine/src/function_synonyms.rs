//! Functions of other systems that are one of DataFusion's by another name, or with another argument.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Value,
};

/// Parts of a date or a time stamp, which `date_part` takes by name.
const PARTS: [&str; 8] = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"];

/// Names, and what the same function is called here.
const NAMES: [(&str, &str); 4] =
    [("len", "length"), ("mid", "substr"), ("sign", "signum"), ("list_value", "make_array")];

/// Makes a call one of a function that there is: `year(d)` is `date_part('year', d)`.
pub(crate) fn rename(call: &mut Function) {
    let [name] = call.name.0.as_slice() else { return };
    let Some(typed) = name.as_ident().filter(|name| name.quote_style.is_none()) else { return };
    let typed = typed.value.to_ascii_lowercase();
    let FunctionArguments::List(list) = &mut call.args else { return };
    if let Some((_, ours)) = NAMES.iter().find(|(theirs, _)| *theirs == typed) {
        call.name = ObjectName::from(vec![Ident::new(*ours)]);
    } else if PARTS.contains(&typed.as_str()) && list.args.len() == 1 {
        let part = Expr::Value(Value::SingleQuotedString(typed).into());
        list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(part)));
        call.name = ObjectName::from(vec![Ident::new("date_part")]);
    }
}
