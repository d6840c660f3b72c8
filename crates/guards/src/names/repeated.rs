//! Numbers columns of one name in a SELECT.

use std::collections::{HashMap, HashSet};

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Subscript, TableFactor, Value, ValueWithSpan,
    WildcardAdditionalOptions,
};

use super::named;
use super::text::{exact, loose, named as name_of, normal, peeled};
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "Two columns of one name in a SELECT are refused",
    upstream: &[],
    ours: "The second column `a` is named `a:1`, the third `a:2`.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT a, a, count(*), count(*) FROM repeated_names GROUP BY a",
            right: CaseOutcome::Rows(&["1, 1, 2, 2", "2, 2, 1, 1"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT a, b AS a FROM repeated_names ORDER BY a, 2",
            right: CaseOutcome::Rows(&["1, 1", "1, 2", "2, 3"]),
            theirs: CaseOutcome::Error("ambiguous"),
        },
        Case {
            setup: &[T],
            sql: "SELECT *, a FROM repeated_names WHERE b > 1",
            right: CaseOutcome::Rows(&["1, 2, 1", "2, 3, 2"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT * EXCLUDE (a), b::VARCHAR FROM repeated_names ORDER BY b::VARCHAR DESC",
            right: CaseOutcome::Rows(&["3, 3", "2, 2", "1, 1"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT 1, 1 UNION ALL SELECT a, a FROM repeated_names WHERE b > 2 ORDER BY 1",
            right: CaseOutcome::Rows(&["1, 1", "2, 2"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT EXISTS (SELECT 1), EXISTS (SELECT a FROM repeated_names WHERE a > 9)",
            right: CaseOutcome::Rows(&["true, false"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT a IN (SELECT b FROM repeated_names), a IN (SELECT b - 1 FROM repeated_names) \
                  FROM repeated_names WHERE b = 3",
            right: CaseOutcome::Rows(&["true, true"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[],
            sql: "WITH RECURSIVE f(n, a, b) AS (SELECT 1, 1, 1 UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 6) \
                  SELECT a FROM f ORDER BY n",
            right: CaseOutcome::Rows(&["1", "1", "2", "3", "5", "8"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T, "INSERT INTO repeated_names SELECT 7, 7"],
            sql: "SELECT a, b FROM repeated_names WHERE a > 2",
            right: CaseOutcome::Rows(&["7, 7"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT a, count(*), (SELECT count(*) FROM repeated_names) FROM repeated_names GROUP BY a",
            right: CaseOutcome::Rows(&["1, 2, 3", "2, 1, 3"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT (SELECT a FROM repeated_names r WHERE r.b = t.b), a FROM repeated_names t ORDER BY t.b",
            right: CaseOutcome::Rows(&["1, 1", "1, 1", "2, 2"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &["CREATE TABLE repeated_fields AS SELECT named_struct('e', 5) AS d"],
            sql: "SELECT d.e, d['e'] FROM repeated_fields",
            right: CaseOutcome::Rows(&["5, 5"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT max(b), max(r.b), r.a + 1, a + 1 FROM repeated_names r GROUP BY a ORDER BY 2",
            right: CaseOutcome::Rows(&["2, 2, 2, 2", "3, 3, 3, 3"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[],
            sql: "SELECT DATE '2024-01-05', '2024-01-05'::DATE, TIMESTAMP '2024-01-05'",
            right: CaseOutcome::Rows(&["2024-01-05, 2024-01-05, 2024-01-05T00:00:00"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT x.\"a:1\" FROM (SELECT a, a FROM repeated_names WHERE b > 2) x",
            right: CaseOutcome::Rows(&["2"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
    ],
};

const T: &str =
    "CREATE TABLE repeated_names AS SELECT * FROM (VALUES (1, 1), (1, 2), (2, 3)) v(a, b)";

/// Numbers columns that have the name of an earlier column.
pub(super) fn number(select: &mut Select) {
    let wildcards = Wildcards::from_select(select);
    name_subqueries(select, &wildcards);
    let (mut columns, mut names) = (HashSet::new(), HashSet::new());
    let mut taken: HashMap<String, usize> = HashMap::new();
    for name in select.projection.iter().filter_map(shown) {
        *taken.entry(name).or_default() += 1;
    }
    for item in &mut select.projection {
        let Some((column, shown)) = column(item, wildcards.one) else { continue };
        let is_same = match &column.table {
            // Two tables may have columns of one name.
            Some(_) => {
                columns.contains(&column)
                    || columns.contains(&Column { table: None, name: column.name.clone() })
            }
            None => names.contains(&column.name),
        };
        let is_repeated = is_same || wildcards.have(item);
        names.insert(column.name.clone());
        columns.insert(column);
        if !is_repeated {
            continue;
        }
        let has_text = matches!(item, SelectItem::UnnamedExpr(expr) if !is_column(expr));
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            continue;
        };
        // DataFusion gives both texts the same name.
        let has_no_table = is_column(bare(expr)) || exact(expr) == loose(expr);
        let is_only = has_text && has_no_table && taken.get(&shown) == Some(&1);
        let name = match is_only {
            true => shown,
            false => {
                let mut numbered = (1..).map(|number| format!("{shown}:{number}"));
                numbered.find(|name| !taken.contains_key(name)).unwrap_or_default()
            }
        };
        taken.insert(name.clone(), 1);
        let expr = expr.clone();
        *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
    }
}

/// Names scalar subqueries by their text if another column has the name of their own column, which DataFusion gives
/// them.
fn name_subqueries(select: &mut Select, wildcards: &Wildcards) {
    let names: Vec<Option<String>> = select
        .projection
        .iter()
        .map(|item| match query_of(item) {
            Some(query) => first_name(&query.body),
            None => column(item, wildcards.one).map(|(column, _)| column.name),
        })
        .collect();
    for (at, item) in select.projection.iter_mut().enumerate() {
        if query_of(item).is_none() {
            continue;
        }
        let is_same = |(other, name): (usize, &Option<String>)| other != at && *name == names[at];
        if wildcards.any() || names.iter().enumerate().any(is_same) {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let (expr, alias) = (expr.clone(), Ident::with_quote('"', expr.to_string()));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
}

fn query_of(item: &SelectItem) -> Option<&Query> {
    match item {
        SelectItem::UnnamedExpr(Expr::Subquery(query)) => Some(query),
        _ => None,
    }
}

/// Returns the name of the first column of a query.
fn first_name(body: &SetExpr) -> Option<String> {
    match body {
        SetExpr::Select(select) => column(select.projection.first()?, false).map(|(it, _)| it.name),
        SetExpr::Query(query) => first_name(&query.body),
        SetExpr::SetOperation { left, .. } => first_name(left),
        _ => None,
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// A column of an answer, with the properties by which DataFusion distinguishes columns.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Column {
    table: Option<String>,
    name: String,
}

/// Returns a column of an answer, and the name that is displayed. If there is only one table, columns with and
/// without its name are the same.
fn column(item: &SelectItem, one: bool) -> Option<(Column, String)> {
    let shown = shown(item)?;
    Some(match item {
        SelectItem::ExprWithAlias { alias, .. } => {
            (Column { table: None, name: format!("\"{}\"", normal(alias)) }, shown)
        }
        SelectItem::UnnamedExpr(expr) => {
            if let Some(column) = field(expr) {
                return Some((column, shown));
            }
            let table = match expr {
                Expr::CompoundIdentifier(parts) => parts.iter().rev().nth(1).map(normal),
                _ => None,
            };
            let name = match (&table, expr) {
                (Some(_), Expr::CompoundIdentifier(parts)) => {
                    format!("\"{}\"", normal(parts.last()?))
                }
                (None, expr) if one && !is_column(bare(expr)) => peeled(expr),
                _ => name_of(expr),
            };
            (Column { table, name }, shown)
        }
        _ => return None,
    })
}

/// Returns the field `d['e']`, which DataFusion names like `d.e`.
fn field(expr: &Expr) -> Option<Column> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let (Expr::Identifier(of), [AccessExpr::Subscript(Subscript::Index { index })]) =
        (root.as_ref(), access_chain.as_slice())
    else {
        return None;
    };
    match index {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(name), .. }) => {
            Some(Column { table: Some(normal(of)), name: format!("\"{name}\"") })
        }
        _ => None,
    }
}

/// Returns the name that is displayed.
pub(super) fn shown(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        SelectItem::UnnamedExpr(expr) => Some(match expr {
            Expr::Identifier(name) => normal(name),
            Expr::CompoundIdentifier(parts) => normal(parts.last()?),
            expr => named::name(expr).map_or_else(|| expr.to_string(), str::to_owned),
        }),
        _ => None,
    }
}

/// The columns that a SELECT has by `*` and `t.*`.
struct Wildcards {
    all: bool,
    tables: Vec<String>,
    /// True if some wildcard is restricted, for example by EXCLUDE.
    some: bool,
    /// True if there is only one table.
    one: bool,
}

impl Wildcards {
    fn from_select(select: &Select) -> Self {
        let is_whole = |options: &WildcardAdditionalOptions| {
            options.opt_exclude.is_none()
                && options.opt_except.is_none()
                && options.opt_rename.is_none()
                && options.opt_ilike.is_none()
        };
        let (mut all, mut tables, mut some) = (false, Vec::new(), false);
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(options) if is_whole(options) => all = true,
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if is_whole(options) => tables.extend(last(name)),
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => some = true,
                _ => {}
            }
        }
        let one = match select.from.as_slice() {
            [from] => {
                from.joins.is_empty() && !matches!(from.relation, TableFactor::NestedJoin { .. })
            }
            _ => false,
        };
        Self { all, tables, some, one }
    }

    fn any(&self) -> bool {
        self.all || self.some || !self.tables.is_empty()
    }

    fn have(&self, item: &SelectItem) -> bool {
        let SelectItem::UnnamedExpr(expr) = item else { return false };
        if self.some && !is_column(expr) && is_column(bare(expr)) {
            return true;
        }
        match bare(expr) {
            Expr::Identifier(_) => self.all || self.one && !self.tables.is_empty(),
            Expr::CompoundIdentifier(parts) => {
                let table = parts.iter().rev().nth(1).map(normal);
                self.all || table.is_some_and(|table| self.tables.contains(&table))
            }
            _ => false,
        }
    }
}

/// Returns an expression without its outer casts.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => bare(inner),
        expr => expr,
    }
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(normal)
}
