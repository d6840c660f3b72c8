//! Normalizes the text of an expression, so that the planner's names can be compared.

use std::ops::ControlFlow;

use crate::walk::WalkMut;
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Ident, ObjectNamePart, Select, SelectItem, Value,
    VisitorMut,
};

/// Returns the text without parentheses, in lower case, and with one name per type.
pub(crate) fn exact(expr: &Expr) -> String {
    text(expr, Normal { casts: true, tables: true })
}

/// Returns the text without the tables of columns. Expressions with the same text may be the same.
pub(super) fn loose(expr: &Expr) -> String {
    text(expr, Normal { casts: true, tables: false })
}

/// Returns the text without tables and casts. DataFusion may give expressions with this text the same name.
pub(super) fn peeled(expr: &Expr) -> String {
    text(expr, Normal { casts: false, tables: false })
}

/// Returns the text without casts, from which DataFusion derives names.
pub(super) fn named(expr: &Expr) -> String {
    text(expr, Normal { casts: false, tables: true })
}

/// Resolves an expression of GROUP BY, ORDER BY or DISTINCT ON, whose number or name may refer to a column of SELECT.
pub(crate) fn resolved<'a>(select: &'a Select, expr: &'a Expr) -> &'a Expr {
    let item = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => {
                let at = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                at.and_then(|at| select.projection.get(at))
            }
            _ => None,
        },
        Expr::Identifier(name) => select.projection.iter().find(|item| {
            matches!(item, SelectItem::ExprWithAlias { alias, .. } if normal(alias) == normal(name))
        }),
        _ => None,
    };
    match item {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => expr,
        _ => expr,
    }
}

/// Returns a name as the planner compares it.
pub fn normal(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

fn text(expr: &Expr, mut normal: Normal) -> String {
    let mut expr = expr.clone();
    let _ = expr.walk_mut(&mut normal);
    expr.to_string()
}

/// The parts that a text keeps.
struct Normal {
    casts: bool,
    tables: bool,
}

impl VisitorMut for Normal {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(name) = super::named::name(expr) {
            *expr = Expr::Identifier(Ident::with_quote('"', name));
            return ControlFlow::Continue(());
        }
        let quoted = |name: &Ident| Ident::with_quote('"', normal(name));
        match expr {
            Expr::Identifier(name) => *name = quoted(name),
            Expr::CompoundIdentifier(parts) if self.tables => {
                parts.iter_mut().for_each(|part| *part = quoted(part));
            }
            Expr::CompoundIdentifier(parts) => {
                if let Some(name) = parts.last() {
                    *expr = Expr::Identifier(quoted(name));
                }
            }
            Expr::Nested(inner) => *expr = (**inner).clone(),
            // DataFusion's names omit the text of a subquery.
            Expr::Exists { negated, .. } if !self.casts => {
                let name = if *negated { "NOT EXISTS" } else { "EXISTS" };
                *expr = Expr::Identifier(Ident::with_quote('"', name));
            }
            Expr::InSubquery { expr: of, negated, .. } if !self.casts => {
                let is_in = if *negated { "NOT IN" } else { "IN" };
                let name = format!("{of} {is_in} (<subquery>)");
                *expr = Expr::Identifier(Ident::with_quote('"', name));
            }
            Expr::Subquery(_) if !self.casts => {
                *expr = Expr::Identifier(Ident::with_quote('"', "(<subquery>)"));
            }
            Expr::Cast { expr: inner, .. } if !self.casts => *expr = (**inner).clone(),
            Expr::TypedString(typed) if !self.casts => *expr = Expr::Value(typed.value.clone()),
            Expr::Cast { data_type, kind, .. } => {
                *data_type = common(data_type);
                if *kind == CastKind::DoubleColon {
                    *kind = CastKind::Cast;
                }
            }
            Expr::Function(function) => {
                for name in &mut function.name.0 {
                    if let ObjectNamePart::Identifier(name) = name {
                        *name = Ident::new(normal(name));
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Returns one name for each type.
fn common(data_type: &DataType) -> DataType {
    use DataType as T;
    match data_type {
        T::Int(None) | T::Int4(None) => T::Integer(None),
        T::Int8(None) => T::BigInt(None),
        T::Int2(None) => T::SmallInt(None),
        T::DoublePrecision | T::Float8 => T::Double(ExactNumberInfo::None),
        T::Float4 => T::Real,
        T::Text | T::String(None) => T::Varchar(None),
        T::Bool => T::Boolean,
        T::Numeric(info) | T::Dec(info) => T::Decimal(*info),
        other => other.clone(),
    }
}
