//! Compares rows column by column: `(a, b) = (c, d)`, `(a, b) IN (SELECT …)`, `a < ANY (SELECT …)`.

use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, Result, plan_datafusion_err};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, Select, SelectItem, SetExpr, TableAlias, TableAliasColumnDef,
    TableFactor, UnaryOperator, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::{Case, CaseOutcome, Guard, visit};

pub(super) const GUARD: Guard = Guard {
    title: "Comparisons of rows with NULL, and rows beside subqueries",
    upstream: &[],
    ours: "`(a, b) = (c, d)` is `a = c AND b = d`, so NULL makes it UNKNOWN unless another pair decides; `<` and its \
           like compare from the left; IN, `= ANY` and `= (SELECT …)` compare with each row of a subquery. DuckDB, \
           too, takes rows outside of subqueries for structs, where NULL is a value. Texts may be compared with ANY and \
           ALL of numbers.",
    cases: &[
        Case {
            setup: &[T, U],
            sql: "SELECT a, b FROM row_t WHERE (a, b) IN (SELECT x, y FROM row_u)",
            right: CaseOutcome::Rows(&["1, 1"]),
            theirs: CaseOutcome::Error("Too many columns"),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a, b FROM row_t WHERE (a, b) NOT IN (SELECT x, y FROM row_u)",
            right: CaseOutcome::Rows(&["2, 2"]),
            theirs: CaseOutcome::Error("Too many columns"),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a, b, (a, b) IN (SELECT x, y FROM row_u) FROM row_t",
            right: CaseOutcome::Rows(&[
                "1, 1, true",
                "1, NULL, NULL",
                "2, 2, false",
                "NULL, 3, NULL",
            ]),
            theirs: CaseOutcome::Error("Too many columns"),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a, b FROM row_t WHERE (a, b) = (SELECT x, y FROM row_u WHERE y = 1)",
            right: CaseOutcome::Rows(&["1, 1"]),
            theirs: CaseOutcome::Error("Too many columns"),
        },
        Case {
            setup: &[T],
            sql: "SELECT (a, b) = (1, 1), (a, b) < (2, 2), (a, b) NOT IN ((1, 1), (2, 3)) FROM row_t ORDER BY a, b",
            right: CaseOutcome::Rows(&[
                "true, true, false",
                "NULL, true, NULL",
                "false, false, true",
                "false, NULL, NULL",
            ]),
            theirs: CaseOutcome::Rows(&[
                "true, true, false",
                "false, true, true",
                "false, false, true",
                "false, true, true",
            ]),
        },
        Case {
            setup: &[U],
            sql: "SELECT '2' < ANY (SELECT y FROM row_u), '2' >= ALL (SELECT y FROM row_u)",
            right: CaseOutcome::Rows(&["true, false"]),
            theirs: CaseOutcome::Error("SetComparison"),
        },
    ],
};

const T: &str =
    "CREATE TABLE row_t AS SELECT * FROM (VALUES (1, 1), (2, 2), (NULL, 3), (1, NULL)) v(a, b)";
const U: &str = "CREATE TABLE row_u AS SELECT * FROM (VALUES (1, 1), (2, 3)) v(x, y)";

/// Replaces comparisons of rows by comparisons of columns.
///
/// # Errors
///
/// If two compared rows differ in their number of columns.
pub(super) fn rewrite(statement: &mut Statement) -> Result<()> {
    match visit(statement, &mut Rows::default()) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

#[derive(Default)]
struct Rows {
    /// Number of subqueries that were given names.
    subqueries: usize,
}

impl VisitorMut for Rows {
    type Break = DataFusionError;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        match self.compared(expr) {
            Ok(Some(compared)) => {
                *expr = Expr::Nested(Box::new(compared));
                ControlFlow::Continue(())
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Rows {
    /// Returns the replacement of a comparison of rows, or `None` if it is none.
    fn compared(&mut self, expr: &Expr) -> Result<Option<Expr>> {
        match expr {
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                match (left.as_ref(), right.as_ref()) {
                    (Expr::Tuple(left), Expr::Tuple(right)) => {
                        comparison(left, op, right).map(Some)
                    }
                    (Expr::Tuple(row), Expr::Subquery(query)) => {
                        let compared = self.with_each(row, op, query)?;
                        Ok(Some(Expr::Subquery(Box::new(compared))))
                    }
                    (Expr::Subquery(query), Expr::Tuple(row)) => {
                        let compared = self.with_each(row, &turned(op), query)?;
                        Ok(Some(Expr::Subquery(Box::new(compared))))
                    }
                    _ => Ok(None),
                }
            }
            Expr::InList { expr, list, negated } => {
                let Expr::Tuple(row) = expr.as_ref() else { return Ok(None) };
                let rows = list.iter().map(|other| match other {
                    Expr::Tuple(other) => Some(other),
                    _ => None,
                });
                let Some(rows) = rows.collect::<Option<Vec<_>>>() else { return Ok(None) };
                let equal =
                    rows.into_iter().map(|other| comparison(row, &BinaryOperator::Eq, other));
                let equal = equal.collect::<Result<Vec<_>>>()?;
                Ok(Some(unless(*negated, any(equal))))
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let Expr::Tuple(row) = expr.as_ref() else { return Ok(None) };
                let equal = self.with_each(row, &BinaryOperator::Eq, subquery)?;
                Ok(Some(is_in(Value::Boolean(true), equal, *negated)))
            }
            Expr::AnyOp { left, compare_op, right, .. } if is_comparison(compare_op) => {
                self.with_some(left, compare_op, right, false)
            }
            Expr::AllOp { left, compare_op, right } if is_comparison(compare_op) => {
                self.with_some(left, compare_op, right, true)
            }
            _ => Ok(None),
        }
    }

    /// Rewrites ANY and ALL of a subquery. `= ANY` is IN, and `<> ALL` is NOT IN.
    fn with_some(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        all: bool,
    ) -> Result<Option<Expr>> {
        let Expr::Subquery(query) = right else { return Ok(None) };
        let row = match left {
            Expr::Tuple(row) => row.as_slice(),
            other => {
                let plain = match all {
                    false => *op == BinaryOperator::Eq,
                    true => *op == BinaryOperator::NotEq,
                };
                if plain {
                    let (expr, subquery) = (Box::new(other.clone()), query.clone());
                    return Ok(Some(Expr::InSubquery { expr, subquery, negated: all }));
                }
                std::slice::from_ref(other)
            }
        };
        let compared = self.with_each(row, op, query)?;
        Ok(Some(is_in(Value::Boolean(!all), compared, all)))
    }

    /// Returns `SELECT (row op (c1, c2)) FROM (query) AS r(c1, c2)`.
    fn with_each(&mut self, row: &[Expr], op: &BinaryOperator, query: &Query) -> Result<Query> {
        self.subqueries += 1;
        let name = format!("__rows_{}", self.subqueries);
        let columns: Vec<String> = (1..=row.len()).map(|at| format!("__column_{at}")).collect();
        let other: Vec<Expr> = columns
            .iter()
            .map(|column| Expr::CompoundIdentifier(vec![Ident::new(&name), Ident::new(column)]))
            .collect();
        let compared = comparison(row, op, &other)?;
        let mut template = Parser::new(&GenericDialect {})
            .try_with_sql("SELECT 1 FROM (SELECT 1)")
            .and_then(|mut parser| parser.parse_query())
            .map_err(|error| plan_datafusion_err!("{error}"))?;
        if let SetExpr::Select(select) = template.body.as_mut() {
            fill(select, compared, query, name, columns);
        }
        Ok(*template)
    }
}

fn fill(select: &mut Select, item: Expr, query: &Query, name: String, columns: Vec<String>) {
    select.projection = vec![SelectItem::UnnamedExpr(item)];
    let relation = select.from.first_mut().map(|table| &mut table.relation);
    if let Some(TableFactor::Derived { subquery, alias, .. }) = relation {
        **subquery = query.clone();
        let columns = columns.into_iter().map(TableAliasColumnDef::from_name).collect();
        *alias = Some(TableAlias { explicit: true, name: Ident::new(name), columns, at: None });
    }
}

/// Compares two rows column by column.
fn comparison(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Result<Expr> {
    if left.len() != right.len() {
        return Err(plan_datafusion_err!(
            "a row of {} values is compared with one of {}",
            left.len(),
            right.len()
        ));
    }
    let pairs = || left.iter().zip(right);
    let each = |op: &BinaryOperator| pairs().map(|(l, r)| pair(l, op, r)).collect::<Vec<_>>();
    Ok(match op {
        BinaryOperator::Eq => all(each(op)),
        BinaryOperator::NotEq => any(each(op)),
        _ => {
            let strict = match op {
                BinaryOperator::LtEq => BinaryOperator::Lt,
                BinaryOperator::GtEq => BinaryOperator::Gt,
                other => other.clone(),
            };
            let mut pairs = pairs().rev();
            let last = pairs.next().map(|(l, r)| pair(l, op, r));
            pairs.fold(last.unwrap_or_else(|| truth(true)), |rest, (l, r)| {
                let equal = all(vec![pair(l, &BinaryOperator::Eq, r), rest]);
                any(vec![pair(l, &strict, r), equal])
            })
        }
    })
}

fn pair(left: &Expr, op: &BinaryOperator, right: &Expr) -> Expr {
    let nested = |expr: &Expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Nested(_) => {
            Box::new(expr.clone())
        }
        expr => Box::new(Expr::Nested(Box::new(expr.clone()))),
    };
    Expr::BinaryOp { left: nested(left), op: op.clone(), right: nested(right) }
}

fn all(exprs: Vec<Expr>) -> Expr {
    joined(exprs, &BinaryOperator::And).unwrap_or_else(|| truth(true))
}

fn any(exprs: Vec<Expr>) -> Expr {
    joined(exprs, &BinaryOperator::Or).unwrap_or_else(|| truth(false))
}

/// Joins any number of expressions to a balanced tree.
fn joined(mut exprs: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    let later = exprs.split_off(exprs.len().div_ceil(2));
    if later.is_empty() {
        return exprs.pop();
    }
    let (left, right) = (joined(exprs, op)?, joined(later, op)?);
    let both = Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) };
    Some(Expr::Nested(Box::new(both)))
}

fn unless(negated: bool, expr: Expr) -> Expr {
    match negated {
        true => {
            Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(expr))) }
        }
        false => expr,
    }
}

fn is_in(value: Value, query: Query, negated: bool) -> Expr {
    let expr = Box::new(Expr::Value(value.into()));
    Expr::InSubquery { expr, subquery: Box::new(query), negated }
}

fn truth(value: bool) -> Expr {
    Expr::Value(Value::Boolean(value).into())
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// Returns the operator with its sides swapped.
fn turned(op: &BinaryOperator) -> BinaryOperator {
    match op {
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        other => other.clone(),
    }
}
