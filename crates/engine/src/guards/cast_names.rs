//! A column and a cast of it, side by side.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Ident, Select, SelectItem, VisitorMut};

use super::{Answer, Case, Guard, visit};

pub(super) const GUARD: Guard = Guard {
    title: "A column beside a cast of it is refused as two columns of one name",
    upstream: &[],
    ours: "A cast that would have the name of another column of the same SELECT is named by its text, such as \
           `CAST(d AS INT)`.",
    cases: &[Case {
        setup: &["CREATE TABLE cast_names AS SELECT 1.5 AS d"],
        sql: "SELECT d, CAST(d AS INT), d::BIGINT FROM cast_names",
        right: Answer::Rows(&["1.5, 1, 1"]),
        theirs: Answer::Error("unique expression names"),
    }],
};

/// Names casts whose names would be those of other columns.
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut Name);
}

struct Name;

impl VisitorMut for Name {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let wildcard = select.projection.iter().any(|item| {
            matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
        });
        let names: Vec<Option<String>> = select.projection.iter().map(name).collect();
        for (at, item) in select.projection.iter_mut().enumerate() {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let (inner, cast) = peeled(expr);
            let Some(name) = names[at].as_ref().filter(|_| cast) else { continue };
            let column = matches!(inner, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
            let taken = names
                .iter()
                .enumerate()
                .any(|(other, it)| other != at && it.as_ref() == Some(name));
            if taken || (wildcard && column) {
                let alias = Ident::with_quote('"', expr.to_string());
                let expr = expr.clone();
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        ControlFlow::Continue(())
    }
}

/// What names an item: its expression without casts, or of a column the last part of its name.
fn name(item: &SelectItem) -> Option<String> {
    let SelectItem::UnnamedExpr(expr) = item else { return None };
    Some(match peeled(expr).0 {
        Expr::Identifier(name) => name.value.to_lowercase(),
        Expr::CompoundIdentifier(parts) => parts.last()?.value.to_lowercase(),
        other => other.to_string(),
    })
}

/// An expression without the casts around it, and whether there are any.
fn peeled(mut expr: &Expr) -> (&Expr, bool) {
    let mut cast = false;
    loop {
        expr = match expr {
            Expr::Cast { expr, .. } => {
                cast = true;
                expr
            }
            Expr::Nested(inner) => inner,
            other => return (other, cast),
        };
    }
}
