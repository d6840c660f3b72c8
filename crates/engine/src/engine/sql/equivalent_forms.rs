//! Rewrites forms of SQL that DataFusion does not plan as equivalent ones that it does.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, GroupByExpr, Ident, LimitClause, ObjectName, Query, Select, SelectItem, Set,
    SetExpr, Statement as Sql, Subscript, Value, ValueWithSpan, VisitorMut, WindowType,
};

use crate::engine::sql::{function_synonyms, like_lists, top};
use sluicegate_guards::normal;

/// Rewrites FETCH FIRST, TOP, GROUP BY (), LIKE … ESCAPE, LIKE ANY and ALL, `r'…'`, fields of values and SET TIME ZONE. `x REGEXP p` and `x RLIKE p` become `x ~ p`.
/// The element 0 of `array_agg(x)` becomes that of a list, which is NULL.
pub(crate) fn rewrite(statement: &mut Statement) {
    if let Statement::Statement(statement) = statement
        && let Sql::Set(set) = statement.as_mut()
    {
        time_zone(set);
    }
    let _ = sluicegate_guards::visit(statement, &mut FormRewriter);
}

struct FormRewriter;

impl VisitorMut for FormRewriter {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        top::limit(query);
        fetch(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        group_by(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        plain_text(&mut value.value);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(chain) = like_lists::chain(expr) {
            *expr = chain;
        }
        match expr {
            Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
                if let Some(other) = with_backslashes(pattern, escape_char.as_ref()) {
                    (**pattern, *escape_char) = (other, None);
                }
            }
            Expr::Function(call) => match function_synonyms::operator(call) {
                Some(other) => *expr = other,
                None => {
                    function_synonyms::rename(call);
                    any_order(call);
                }
            },
            Expr::RLike { negated, expr: text, pattern, .. } => {
                let op = match negated {
                    true => BinaryOperator::PGRegexNotMatch,
                    false => BinaryOperator::PGRegexMatch,
                };
                let (left, right) = (taken(text), taken(pattern));
                *expr = Expr::BinaryOp { left, op, right };
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                fields_by_name(root, access_chain);
                if let Some(element) = element_of_array_agg(root, access_chain.first()) {
                    **root = element;
                    access_chain.remove(0);
                    if access_chain.is_empty() {
                        *expr = *taken(root);
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Replaces `OVER (ORDER BY (SELECT NULL))`, which means any order, by an order by the constant. DataFusion cannot
/// sort by a subquery alone.
fn any_order(call: &mut Function) {
    let Some(WindowType::WindowSpec(window)) = &mut call.over else { return };
    for by in &mut window.order_by {
        let Expr::Subquery(query) = &by.expr else { continue };
        let SetExpr::Select(select) = query.body.as_ref() else { continue };
        if let ([SelectItem::UnnamedExpr(value @ Expr::Value(_))], true, None) =
            (select.projection.as_slice(), select.from.is_empty(), &select.selection)
        {
            by.expr = value.clone();
        }
    }
}

/// Replaces `FETCH FIRST n ROWS ONLY` by `LIMIT n`.
fn fetch(query: &mut Query) {
    let Some(fetch) = &query.fetch else { return };
    if fetch.with_ties || fetch.percent {
        return;
    }
    let one = || Expr::Value(Value::Number("1".to_owned(), false).into());
    let rows = fetch.quantity.clone().unwrap_or_else(one);
    match &mut query.limit_clause {
        None => {
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: Some(rows),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(rows),
        Some(_) => return,
    }
    query.fetch = None;
}

/// Replaces `GROUP BY ()`, the single group of all rows, by `GROUPING SETS (())`.
fn group_by(select: &mut Select) {
    if let GroupByExpr::Expressions(keys, _) = &mut select.group_by
        && let [key @ Expr::Tuple(_)] = keys.as_mut_slice()
        && matches!(key, Expr::Tuple(parts) if parts.is_empty())
    {
        *key = Expr::GroupingSets(vec![Vec::new()]);
    }
}

/// Returns the pattern of LIKE with backslashes in place of its escape character.
fn with_backslashes(pattern: &Expr, escape: Option<&ValueWithSpan>) -> Option<Expr> {
    let escape = escape?.value.clone().into_string()?;
    let mut characters = escape.chars();
    let escape = characters.next();
    let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(pattern), .. }) = pattern
    else {
        return None;
    };
    if characters.next().is_some() || escape == Some('\\') {
        return None;
    }
    let mut other = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let is_escaped = Some(character) == escape;
        // If nothing follows, the pattern is unchanged: DataFusion's own message is about the backslash.
        let character = if is_escaped { characters.next()? } else { character };
        if character == '\\' || (is_escaped && matches!(character, '%' | '_')) {
            other.push('\\');
        }
        other.push(character);
    }
    Some(Expr::Value(Value::SingleQuotedString(other).into()))
}

/// Replaces `r'a\b'` and `u&'a'`, which the parser has read already, by a text.
fn plain_text(value: &mut Value) {
    if let Value::SingleQuotedRawStringLiteral(text)
    | Value::DoubleQuotedRawStringLiteral(text)
    | Value::UnicodeStringLiteral(text) = value
    {
        *value = Value::SingleQuotedString(std::mem::take(text));
    }
}

/// Replaces `.name` after a subscript, a call or a literal by `['name']`. Names before belong to the column.
fn fields_by_name(root: &Expr, access: &mut [AccessExpr]) {
    // `user.name`: the parser takes `user` for a function without parentheses.
    let mut is_value = match root {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => false,
        Expr::Function(call) => call.args != FunctionArguments::None,
        _ => true,
    };
    for access in access {
        match access {
            AccessExpr::Dot(Expr::Identifier(field)) if is_value => {
                let index = Expr::value(Value::SingleQuotedString(normal(field)));
                *access = AccessExpr::Subscript(Subscript::Index { index });
            }
            AccessExpr::Dot(_) => {}
            AccessExpr::Subscript(_) => is_value = true,
        }
    }
}

/// Replaces `SET TIME ZONE 'Europe/Berlin'` by `SET TIME ZONE = 'Europe/Berlin'`.
fn time_zone(set: &mut Set) {
    if let Set::SetTimeZone { local: false, value } = set {
        *set = Set::SingleAssignment {
            scope: None,
            hivevar: false,
            variable: ObjectName::from(vec![Ident::new("timezone")]),
            values: vec![value.clone()],
        };
    }
}

/// Returns `array_element(array_agg(x), 0)` for `array_agg(x)[0]`, which DataFusion would convert to `nth_value(x,
/// 0)`.
fn element_of_array_agg(root: &Expr, access: Option<&AccessExpr>) -> Option<Expr> {
    let Some(AccessExpr::Subscript(Subscript::Index { index })) = access else { return None };
    let Expr::Value(value) = index else { return None };
    if !matches!(&value.value, Value::Number(digits, _) if digits == "0") {
        return None;
    }
    let Expr::Function(call) = root else { return None };
    let name = &call.name.0.last()?.as_ident()?.value;
    if !name.eq_ignore_ascii_case("array_agg") || call.over.is_some() {
        return None;
    }
    let argument = |expr: Expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let mut element = call.clone();
    element.name = ObjectName::from(vec![Ident::new("array_element")]);
    element.args = FunctionArguments::List(FunctionArgumentList {
        duplicate_treatment: None,
        args: vec![argument(root.clone()), argument(index.clone())],
        clauses: Vec::new(),
    });
    element.filter = None;
    element.null_treatment = None;
    element.within_group = Vec::new();
    Some(Expr::Function(element))
}

fn taken(expr: &mut Expr) -> Box<Expr> {
    Box::new(std::mem::replace(expr, Expr::Value(Value::Null.into())))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn other_forms_are_those_that_are_planned() {
        for (sql, expected) in [
            ("SELECT a REGEXP 'x' AND b NOT RLIKE c", "SELECT a ~ 'x' AND b !~ c"),
            ("SELECT array_agg(x)[0]", "SELECT array_element(array_agg(x), 0)"),
            ("SELECT array_agg(x)[1], a[0]", "SELECT array_agg(x)[1], a[0]"),
            ("SELECT Year(d), len(t)", "SELECT date_part('year', d), length(t)"),
            (
                "SELECT mean(x), mean(x) FILTER (WHERE x > 1)",
                "SELECT mean(x), avg(x) FILTER (WHERE x > 1)",
            ),
            ("SELECT year(a, b), \"day\"(c), day", "SELECT year(a, b), \"day\"(c), day"),
            ("SELECT a FROM t FETCH FIRST 2 ROWS ONLY", "SELECT a FROM t LIMIT 2"),
            ("SELECT a FROM t OFFSET 3 FETCH NEXT ROW ONLY", "SELECT a FROM t LIMIT 1 OFFSET 3"),
            (
                "SELECT (SELECT a FROM t FETCH FIRST 1 ROWS ONLY)",
                "SELECT (SELECT a FROM t LIMIT 1)",
            ),
            (
                "SELECT sum(a) FROM t GROUP BY ()",
                "SELECT sum(a) FROM t GROUP BY GROUPING SETS (())",
            ),
            ("SELECT a LIKE 'x!%!!!_\\' ESCAPE '!'", "SELECT a LIKE 'x\\%!\\_\\\\'"),
            ("SELECT a NOT ILIKE 'x\\%' ESCAPE '\\'", "SELECT a NOT ILIKE 'x\\%' ESCAPE '\\'"),
            ("SELECT a LIKE 'x!' ESCAPE '!'", "SELECT a LIKE 'x!' ESCAPE '!'"),
            ("SELECT a LIKE b ESCAPE '!'", "SELECT a LIKE b ESCAPE '!'"),
            (
                "SELECT rank() OVER (ORDER BY (SELECT NULL), (SELECT a FROM t))",
                "SELECT rank() OVER (ORDER BY NULL, (SELECT a FROM t))",
            ),
            ("SET TIME ZONE 'Europe/Berlin'", "SET timezone = 'Europe/Berlin'"),
        ] {
            let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
