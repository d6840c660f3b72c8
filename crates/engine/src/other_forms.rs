//! Expressions that mean the same as others, and that DataFusion does not plan as they are.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, Subscript, Value, VisitorMut,
};

use crate::function_synonyms;
use crate::guards;

/// Writes them as DataFusion plans them: `x REGEXP p` and `x RLIKE p` are `x ~ p`, and an element of
/// `array_agg(x)`, which has none at 0, is one of any list.
pub(crate) fn rewrite(statement: &mut Statement) {
    let _ = guards::visit(statement, &mut Forms);
}

struct Forms;

impl VisitorMut for Forms {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call) => function_synonyms::rename(call),
            Expr::RLike { negated, expr: text, pattern, .. } => {
                let op = match negated {
                    true => BinaryOperator::PGRegexNotMatch,
                    false => BinaryOperator::PGRegexMatch,
                };
                let (left, right) = (taken(text), taken(pattern));
                *expr = Expr::BinaryOp { left, op, right };
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
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

/// `array_element(array_agg(x), 0)` for `array_agg(x)[0]`, which DataFusion makes `nth_value(x, 0)`.
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
            ("SELECT year(a, b), \"day\"(c), day", "SELECT year(a, b), \"day\"(c), day"),
        ] {
            let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            rewrite(&mut statement);
            assert_eq!(statement.to_string(), expected);
        }
    }
}
