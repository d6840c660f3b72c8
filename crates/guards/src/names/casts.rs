//! Gives casts names of their own.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, OrderBy, Query, Select, SelectItem, UnaryOperator, Value, Visitor, VisitorMut,
};

use super::named;
use super::text::{exact, loose, normal, peeled};
use crate::walk::{Walk, WalkMut};
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "A cast has the name of what is cast, and is refused beside it or taken for it",
    upstream: &[],
    ours: "Where another column, group, aggregate or alias of the same SELECT would have the name of a cast, the cast \
           is named by its text, such as `CAST(d AS INT)`.",
    cases: &[
        Case {
            setup: &["CREATE TABLE cast_names AS SELECT 1.5 AS d"],
            sql: "SELECT d, CAST(d AS INT), d::BIGINT FROM cast_names",
            right: CaseOutcome::Rows(&["1.5, 1, 1"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT d, count(*) FROM cast_groups GROUP BY d, CAST(d AS INT)",
            right: CaseOutcome::Rows(&["1.5, 1", "2.5, 1", "2.7, 1"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT CAST(d AS INT) AS a, TRY_CAST(d AS VARCHAR) AS b, count(*) FROM cast_groups GROUP BY a, b",
            right: CaseOutcome::Rows(&["1, 1.5, 1", "2, 2.5, 1", "2, 2.7, 1"]),
            theirs: CaseOutcome::Error("duplicate unqualified field name"),
        },
        Case {
            setup: &[T],
            sql: "SELECT CAST(d AS INT) AS i, d IS NULL AS n, count(*) FROM cast_groups \
                  GROUP BY ROLLUP (CAST(d AS INT), d IS NULL)",
            right: CaseOutcome::Rows(&[
                "1, NULL, 1",
                "1, false, 1",
                "2, NULL, 2",
                "2, false, 2",
                "NULL, NULL, 3",
            ]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT d, grouping(CAST(d AS INT)) FROM cast_groups WHERE d < 2 \
                  GROUP BY GROUPING SETS ((d, CAST(d AS INT)), (d))",
            right: CaseOutcome::Rows(&["1.5, 0", "1.5, 1"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT sum(d) AS a, sum(CAST(d AS INT)) AS b FROM cast_groups",
            right: CaseOutcome::Rows(&["6.7, 5"]),
            theirs: CaseOutcome::Error("duplicate unqualified field name"),
        },
        Case {
            setup: &[T],
            sql: "SELECT max(s) AS a FROM cast_groups HAVING max(CAST(s AS INT)) > 9 ORDER BY min(CAST(s AS INT))",
            right: CaseOutcome::Rows(&["9"]),
            theirs: CaseOutcome::Error("duplicate unqualified field name"),
        },
        Case {
            setup: &[T],
            sql: "SELECT sum(CAST(s AS INT)) OVER (ORDER BY d) AS a, sum(CAST(s AS DOUBLE)) OVER (ORDER BY d) AS b \
                  FROM cast_groups ORDER BY a",
            right: CaseOutcome::Rows(&["9, 9.0", "19, 19.0", "26, 26.0"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT CAST(s AS INT) FROM cast_groups ORDER BY s",
            right: CaseOutcome::Rows(&["10", "7", "9"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[],
            sql: "SELECT avg(1), avg(CAST(1 AS DECIMAL(5, 2))), max(1::INT)",
            right: CaseOutcome::Rows(&["1.0, 1.000000, 1"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &["CREATE TABLE cast_order AS SELECT * FROM (VALUES (2, 1), (1, 2)) v(p, q)"],
            sql: "SELECT p AS q, CAST(q AS DOUBLE) AS p FROM cast_order GROUP BY p, CAST(q AS DOUBLE) ORDER BY q, p",
            right: CaseOutcome::Rows(&["1, 2.0", "2, 1.0"]),
            theirs: CaseOutcome::Rows(&["2, 1.0", "1, 2.0"]),
        },
    ],
};

const T: &str = "CREATE TABLE cast_groups AS SELECT * FROM (VALUES (1.5, '9'), (2.5, '10'), (2.7, '7')) v(d, s)";

/// Names casts by their text if their names would be those of other expressions.
pub(super) fn name(select: &mut Select, order: Option<&mut OrderBy>) {
    // These parts have no effect on names.
    let from = std::mem::take(&mut select.from);
    let selection = select.selection.take();
    let mut all = Casts::default();
    let _ = select.walk(&mut all);
    if let Some(order) = order.as_deref() {
        let _ = order.walk(&mut all);
    }
    if !all.found.is_empty() {
        let casts = ambiguous(select, order.as_deref());
        if !casts.is_empty() {
            let mut name = Name { casts, inside: 0 };
            let _ = select.walk_mut(&mut name);
            if let Some(order) = order {
                let _ = order.walk_mut(&mut name);
            }
        }
    }
    select.from = from;
    select.selection = selection;
}

/// Returns the casts whose name is also that of another expression, with new names for them.
fn ambiguous(select: &Select, order: Option<&OrderBy>) -> HashMap<String, String> {
    let mut found = CastNames::default();
    let _ = select.walk(&mut found);
    if let Some(order) = order {
        let _ = order.walk(&mut found);
    }
    for item in &select.projection {
        if let SelectItem::ExprWithAlias { expr, alias } = item {
            found.add(format!("\"{}\"", normal(alias)), loose(expr), Texts::new());
        }
    }
    found.ambiguous()
}

/// Returns true for literals and casts of them. Nothing depends on their names, and the planner may need their
/// values.
pub(super) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_) => true,
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_literal(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_literal(expr),
        _ => false,
    }
}

/// Returns true if this is an aggregate whose arguments are ordinary values.
fn is_plain_aggregate(expr: &Expr) -> bool {
    const PLAIN: [&str; 5] = ["avg", "count", "max", "min", "sum"];
    matches!(expr, Expr::Function(function)
        if PLAIN.contains(&function.name.to_string().to_lowercase().as_str()))
}

/// Texts of casts: exact, loose and as written.
type Texts = HashMap<String, (String, String)>;

/// The expressions that may get a name.
#[derive(Debug, Default)]
struct CastNames {
    /// Expressions with their casts, by the names that DataFusion may give them.
    names: HashMap<String, HashMap<String, Texts>>,
    /// For each enclosing expression, true if it is a cast.
    around: Vec<bool>,
    /// Depth inside of nested queries and named expressions.
    inside: usize,
}

impl CastNames {
    fn add(&mut self, name: String, expr: String, casts: Texts) {
        self.names.entry(name).or_default().entry(expr).or_default().extend(casts);
    }

    fn ambiguous(self) -> HashMap<String, String> {
        let several = self.names.into_values().filter(|exprs| exprs.len() > 1);
        let mut same: HashMap<String, BTreeMap<String, String>> = HashMap::new();
        for (text, (loose, shown)) in several.flat_map(HashMap::into_values).flatten() {
            same.entry(loose).or_default().insert(text, shown);
        }
        let mut names = HashMap::new();
        for (loose, texts) in same {
            // `CAST(a AS INT)` and `CAST(t.a AS INT)` are the same, unless there is `CAST(u.a AS INT)`.
            let is_one = texts.keys().filter(|text| **text != loose).count() <= 1;
            let shared = texts.values().min_by_key(|shown| shown.len()).cloned();
            for (text, shown) in texts {
                let name = shared.clone().filter(|_| is_one).unwrap_or(shown);
                names.insert(text, name);
            }
        }
        names
    }
}

impl Visitor for CastNames {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside += usize::from(named::name(expr).is_some());
        let in_cast = self.around.last() == Some(&true);
        let is_cast = matches!(expr, Expr::Cast { .. });
        self.around.push(is_cast || in_cast && matches!(expr, Expr::Nested(_)));
        if self.inside > 0 || in_cast || is_literal(expr) || matches!(expr, Expr::Nested(_)) {
            return ControlFlow::Continue(());
        }
        let mut casts = Casts::default();
        let _ = expr.walk(&mut casts);
        self.add(peeled(expr), loose(expr), casts.found);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.around.pop();
        self.inside -= usize::from(named::name(expr).is_some());
        ControlFlow::Continue(())
    }
}

/// The outermost casts of an expression, with their texts.
#[derive(Debug, Default)]
struct Casts {
    found: Texts,
    inside: usize,
    /// Depth inside of aggregates.
    aggregates: usize,
}

impl Visitor for Casts {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.aggregates += usize::from(is_plain_aggregate(expr));
        if matches!(expr, Expr::Cast { .. }) {
            if self.inside == 0 && (self.aggregates > 0 || !is_literal(expr)) {
                self.found.insert(exact(expr), (loose(expr), expr.to_string()));
            }
            self.inside += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.aggregates -= usize::from(is_plain_aggregate(expr));
        self.inside -= usize::from(matches!(expr, Expr::Cast { .. }));
        ControlFlow::Continue(())
    }
}

/// Wraps casts in calls that give them names.
struct Name {
    casts: HashMap<String, String>,
    inside: usize,
}

impl VisitorMut for Name {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.inside += usize::from(matches!(expr, Expr::Cast { .. }));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if !matches!(expr, Expr::Cast { .. }) {
            return ControlFlow::Continue(());
        }
        self.inside -= 1;
        if self.inside == 0
            && let Some(name) = self.casts.get(&exact(expr))
        {
            let cast = std::mem::replace(expr, Expr::value(Value::Null));
            *expr = named::call(cast, name.clone());
        }
        ControlFlow::Continue(())
    }
}
