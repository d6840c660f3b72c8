//! Names items of SELECT that are subqueries.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, Visit, Visitor, VisitorMut,
};

/// Names items with subqueries if there are several, because DataFusion names all of them `EXISTS (<subquery>)`.
pub(in super::super) fn rewrite(statement: &mut Statement) {
    let _ = super::super::visit(statement, &mut Name);
}

struct Name;

impl VisitorMut for Name {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let unnamed = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) => has_query(expr),
            _ => false,
        };
        if select.projection.iter().filter(|item| unnamed(item)).count() < 2 {
            return ControlFlow::Continue(());
        }
        let mut taken = Vec::new();
        for item in &mut select.projection {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            if !has_query(expr) {
                continue;
            }
            let text = expr.to_string();
            let same = taken.iter().filter(|it| **it == text).count();
            let name = if same == 0 { text.clone() } else { format!("{text}:{same}") };
            taken.push(text);
            let alias = Ident::with_quote('"', name);
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
        ControlFlow::Continue(())
    }
}

fn has_query(expr: &Expr) -> bool {
    struct Find;
    impl Visitor for Find {
        type Break = ();

        fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.visit(&mut Find).is_break()
}
