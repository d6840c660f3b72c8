//! Names of items of SELECT and of aggregates with subqueries.

use std::ops::ControlFlow;

use crate::walk::Walk;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, Select, SelectItem, Value, Visitor, VisitorMut,
};

/// Names items with subqueries if there are several, because DataFusion names all of them `EXISTS (<subquery>)`.
pub(in super::super) fn rewrite(statement: &mut Statement) {
    let _ = super::super::visit(statement, &mut Name { filters: Vec::new() });
}

struct Name {
    /// The texts of conditions with subqueries in FILTER (WHERE …).
    filters: Vec<String>,
}

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

    /// Adds `AND TRUE` to a condition in FILTER until its name is one of its own: DataFusion writes `<subquery>` for
    /// each subquery in it, and refuses two aggregates of one name.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let Some(filter) = function.filter.take_if(|filter| has_query(filter)) else {
            return ControlFlow::Continue(());
        };
        let text = filter.to_string();
        let known = self.filters.iter().position(|it| *it == text);
        let number = known.unwrap_or_else(|| {
            self.filters.push(text);
            self.filters.len() - 1
        });
        let distinct = (0..number).fold(*filter, |condition, _| Expr::BinaryOp {
            left: Box::new(Expr::Nested(Box::new(condition))),
            op: BinaryOperator::And,
            right: Box::new(Expr::Value(Value::Boolean(true).into())),
        });
        function.filter = Some(Box::new(distinct));
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
    expr.walk(&mut Find).is_break()
}
