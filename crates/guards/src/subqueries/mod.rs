//! Plans subqueries in expressions.
//!
//! DataFusion turns IN, EXISTS and correlated scalar subqueries into joins. It moves conditions that reference
//! columns of the outer query above everything else in the subquery. [`shape`] decides where that is exact; the plan
//! stays as DataFusion makes it there. Elsewhere, [`rewrite`] turns IN and EXISTS, which may be UNKNOWN, into counts,
//! and [`unnest`] computes a subquery once for each distinct value of the outer columns, whatever the subquery
//! contains.

mod domain;
mod join_conditions;
mod lifted;
mod names;
mod one_row;
mod outer;
mod rewrite;
mod shape;
mod unnest;

use crate::rewrite::RewritePlan;
use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{Result, Spans};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, Filter, Join, JoinType, LogicalPlan, Projection};
use datafusion::optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion::optimizer::{Analyzer, AnalyzerRule, OptimizerContext, OptimizerRule};

pub(super) use self::names::rewrite as name_items;
use self::rewrite::{ExprContext, Rewriter};
use super::{Case, CaseOutcome, Guard};

pub(super) const IN: Guard = Guard {
    title: "IN and NOT IN over a subquery with NULL",
    upstream: &["datafusion#25336", "datafusion#25340", "datafusion#25347", "datafusion#25473"],
    ours: "Where the answer may be UNKNOWN, rows that are equal and rows that are NULL are counted. Also, IN and \
           EXISTS may stand in SELECT.",
    cases: &[
        Case {
            setup: &[T, U],
            sql: "SELECT a FROM sub_t WHERE a NOT IN (SELECT b FROM sub_u) OR a = 1",
            right: CaseOutcome::Rows(&["1", "1"]),
            theirs: CaseOutcome::Rows(&["1", "1", "2", "NULL"]),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a FROM sub_t WHERE 5 NOT IN (SELECT b FROM sub_u)",
            right: CaseOutcome::Rows(&[]),
            theirs: CaseOutcome::Rows(&["1", "1", "2", "NULL"]),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a FROM sub_t WHERE (a IN (SELECT b FROM sub_u)) IS NULL",
            right: CaseOutcome::Rows(&["2", "NULL"]),
            theirs: CaseOutcome::Rows(&[]),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a FROM sub_t WHERE b NOT IN (SELECT b FROM sub_u WHERE sub_u.c < sub_t.b)",
            right: CaseOutcome::Rows(&["1", "1", "2"]),
            theirs: CaseOutcome::Rows(&[]),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a, a IN (SELECT b FROM sub_u), CASE WHEN a NOT IN (SELECT b FROM sub_u) THEN 1 ELSE 2 END \
                  FROM sub_t",
            right: CaseOutcome::Rows(&["1, true, 2", "1, true, 2", "2, NULL, 2", "NULL, NULL, 2"]),
            theirs: CaseOutcome::Error("does not support logical expression InSubquery"),
        },
        Case {
            setup: &[T],
            sql: "SELECT a, a NOT IN (SELECT a FROM sub_t WHERE b = 1 OR b = 3) FROM sub_t",
            right: CaseOutcome::Rows(&["1, false", "1, false", "2, NULL", "NULL, NULL"]),
            theirs: CaseOutcome::Error("does not support logical expression InSubquery"),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a NOT IN (SELECT b FROM sub_u WHERE c < sub_t.b), \
                  a - 1 NOT IN (SELECT b FROM sub_u WHERE c < sub_t.b), \
                  a + 1 NOT IN (SELECT b FROM sub_u WHERE c < sub_t.b), \
                  a + 2 NOT IN (SELECT b FROM sub_u WHERE c < sub_t.b), \
                  a + 3 NOT IN (SELECT b FROM sub_u WHERE c < sub_t.b) FROM sub_t WHERE a = b",
            right: CaseOutcome::Rows(&[
                "true, true, true, true, true",
                "true, false, true, true, true",
            ]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a, b FROM sub_t WHERE a IN (SELECT max(c) - 1 FROM sub_u UNION ALL SELECT 7) OR b IN (SELECT max(c) FROM sub_u) \
                  OR b IN (VALUES (5), (6))",
            right: CaseOutcome::Rows(&["2, 2", "NULL, 3"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT sum(b) FILTER (WHERE a IN (SELECT b FROM sub_u)) AS x, sum(b) FILTER (WHERE a IN (SELECT c FROM sub_u)) AS y \
                  FROM sub_t",
            right: CaseOutcome::Rows(&["1, 3"]),
            theirs: CaseOutcome::Error("duplicate"),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT EXISTS (SELECT 1 FROM sub_u WHERE b = a), EXISTS (SELECT 1 FROM sub_u WHERE c = a) \
                  FROM sub_t WHERE b IS NOT NULL",
            right: CaseOutcome::Rows(&["true, true", "false, true", "false, false"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
    ],
};

pub(super) const EXISTS: Guard = Guard {
    title: "EXISTS over an aggregate, OFFSET, or a LIMIT beside the correlated part",
    upstream: &["datafusion#24960", "datafusion#25283", "datafusion#25519"],
    ours: "An aggregate without GROUP BY has one row, even of no rows. Subqueries with OFFSET, LIMIT or ROLLUP are \
           computed for each outer value.",
    cases: &[
        Case {
            setup: &[O, U],
            sql: "SELECT k FROM sub_o WHERE EXISTS (SELECT count(*) FROM sub_u WHERE b = k)",
            right: CaseOutcome::Rows(&["1", "2", "3"]),
            theirs: CaseOutcome::Rows(&["1", "3"]),
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k FROM sub_o WHERE 0 IN (SELECT count(*) FROM sub_u WHERE b = k)",
            right: CaseOutcome::Rows(&["2"]),
            theirs: CaseOutcome::Rows(&[]),
        },
        Case {
            setup: &[O, T],
            sql: "SELECT k FROM sub_o WHERE EXISTS (SELECT * FROM sub_t WHERE a = k OFFSET 1)",
            right: CaseOutcome::Rows(&["1"]),
            theirs: CaseOutcome::Rows(&["1", "2"]),
        },
        Case {
            setup: &[O, T, U],
            sql: "SELECT k FROM sub_o WHERE EXISTS (SELECT 1 FROM (SELECT * FROM sub_t WHERE sub_t.b = k) x \
                  JOIN (SELECT * FROM sub_u ORDER BY c DESC LIMIT 1) y ON x.a = y.b)",
            right: CaseOutcome::Rows(&[]),
            theirs: CaseOutcome::Rows(&["1"]),
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k FROM sub_o WHERE EXISTS (SELECT 1 FROM sub_u WHERE b = k GROUP BY ROLLUP (b))",
            right: CaseOutcome::Rows(&["1", "2", "3"]),
            theirs: CaseOutcome::Rows(&["1", "3"]),
        },
    ],
};

pub(super) const CORRELATED: Guard = Guard {
    title: "A correlated condition below a window or an outer join",
    upstream: &[],
    ours: "Such a subquery, and one that DataFusion cannot plan, is computed for each distinct value of the outer \
           columns, which may be those of any query around it. It may also stand in ORDER BY, GROUP BY, aggregates, \
           windows and the condition of an outer join. It is an error if a subquery that stands for a value has more \
           than one row.",
    cases: &[
        Case {
            setup: &[O, U],
            sql: "SELECT k, x.one, rank() OVER (ORDER BY k DESC) FROM sub_o \
                  LEFT JOIN LATERAL (SELECT 1 AS one FROM sub_u WHERE b = k) x ON TRUE WHERE 1 <= (SELECT 1) ORDER BY k",
            right: CaseOutcome::Rows(&["1, 1, 3", "2, NULL, 2", "3, 1, 1"]),
            theirs: CaseOutcome::Error("wrong number of fields"),
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k, (SELECT max(rn) FROM \
                  (SELECT b, row_number() OVER (ORDER BY c) AS rn FROM sub_u WHERE b = k) x) FROM sub_o",
            right: CaseOutcome::Rows(&["1, 1", "2, NULL", "3, 1"]),
            theirs: CaseOutcome::Rows(&["1, 1", "2, NULL", "3, 3"]),
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k, rn FROM sub_o CROSS JOIN LATERAL \
                  (SELECT b, row_number() OVER (ORDER BY c) AS rn FROM sub_u WHERE b = k) x",
            right: CaseOutcome::Rows(&["1, 1", "3, 1"]),
            theirs: CaseOutcome::Rows(&["1, 1", "3, 3"]),
        },
        Case {
            setup: &[O, T, U],
            sql: "SELECT k, (SELECT count(*) FROM sub_u LEFT JOIN (SELECT * FROM sub_t WHERE sub_t.b = k) y \
                  ON sub_u.b = y.a) FROM sub_o",
            right: CaseOutcome::Rows(&["1, 3", "2, 3", "3, 3"]),
            theirs: CaseOutcome::Rows(&["1, 1", "2, 0", "3, 0"]),
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k, (SELECT count(*) FROM sub_u WHERE b < k) FROM sub_o",
            right: CaseOutcome::Rows(&["1, 0", "2, 1", "3, 1"]),
            theirs: CaseOutcome::Error("does not support logical expression ScalarSubquery"),
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k, (SELECT count(*) IS NULL FROM sub_u WHERE b = k) FROM sub_o",
            right: CaseOutcome::Rows(&["1, false", "2, false", "3, false"]),
            theirs: CaseOutcome::Rows(&["1, false", "2, NULL", "3, false"]),
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k, (SELECT c FROM sub_u WHERE b = k) FROM sub_o",
            right: CaseOutcome::Rows(&["1, 1", "2, NULL", "3, 3"]),
            theirs: CaseOutcome::Error("must be aggregated"),
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k, (SELECT c FROM sub_u WHERE c > k) FROM sub_o",
            right: CaseOutcome::Error("more than one row"),
            theirs: CaseOutcome::Error("must be aggregated"),
        },
        Case {
            setup: &[O, T, U],
            sql: "SELECT k FROM sub_o WHERE EXISTS (SELECT 1 FROM sub_u WHERE b = k AND EXISTS \
                  (SELECT 1 FROM sub_t WHERE sub_t.b = k))",
            right: CaseOutcome::Rows(&["1", "3"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[LISTS],
            sql: "SELECT k, x FROM sub_lists l CROSS JOIN UNNEST(l.tags) AS u(x)",
            right: CaseOutcome::Rows(&["1, 1", "1, 2", "2, 3"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[LISTS],
            sql: "SELECT k, x FROM sub_lists l LEFT JOIN LATERAL (SELECT unnest(l.tags) AS x) u ON TRUE",
            right: CaseOutcome::Rows(&["1, 1", "1, 2", "2, 3", "3, NULL"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[O, T, U],
            sql: "SELECT k FROM sub_o WHERE EXISTS (SELECT a FROM sub_t WHERE a <= k EXCEPT SELECT b FROM sub_u)",
            right: CaseOutcome::Rows(&["2", "3"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k, (SELECT count(*) FROM (SELECT c FROM sub_u WHERE b = k GROUP BY ROLLUP (c)) d) FROM sub_o",
            right: CaseOutcome::Rows(&["1, 2", "2, 1", "3, 2"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[O, T, U],
            sql: "SELECT k, a FROM sub_o FULL JOIN sub_t ON k = a AND EXISTS \
                  (SELECT 1 FROM sub_u WHERE sub_u.c > sub_o.k AND sub_u.c > sub_t.b)",
            right: CaseOutcome::Rows(&["1, 1", "2, 2", "3, NULL", "NULL, 1", "NULL, NULL"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k, count(*) FROM sub_o GROUP BY k ORDER BY (SELECT count(*) FROM sub_u WHERE b = k), k",
            right: CaseOutcome::Rows(&["2, 1", "1, 1", "3, 1"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[O, U],
            sql: "SELECT k FROM sub_o ORDER BY (SELECT max(c) FROM sub_u WHERE b < k) DESC NULLS LAST, k",
            right: CaseOutcome::Rows(&["2", "3", "1"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

pub(super) const VALUE: Guard = Guard {
    title: "A subquery without rows is not NULL if its column may not be",
    upstream: &[],
    ours: "A subquery that stands for a value is NULL if it has no row.",
    cases: &[Case {
        setup: &[N],
        sql: "SELECT a FROM sub_n WHERE (SELECT a FROM sub_n WHERE a > 5) IS NULL",
        right: CaseOutcome::Rows(&["1", "2"]),
        theirs: CaseOutcome::Rows(&[]),
    }],
};

const LISTS: &str =
    "CREATE TABLE sub_lists AS SELECT * FROM (VALUES (1, [1, 2]), (2, [3]), (3, NULL)) v(k, tags)";
const N: &str = "CREATE TABLE sub_n AS SELECT * FROM (VALUES (1), (2)) v(a)";
const T: &str =
    "CREATE TABLE sub_t AS SELECT * FROM (VALUES (1, 1), (2, 2), (NULL, 3), (1, NULL)) v(a, b)";
const U: &str = "CREATE TABLE sub_u AS SELECT * FROM (VALUES (1, 1), (NULL, 2), (3, 3)) v(b, c)";
const O: &str = "CREATE TABLE sub_o AS SELECT * FROM (VALUES (1), (2), (3)) v(k)";

/// Adds the rule after types are coerced, and before DataFusion creates joins.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    let rules = &mut builder.analyzer().get_or_insert_with(Analyzer::new).rules;
    rules.push(Arc::new(Subqueries));
    builder.scalar_functions().get_or_insert_default().push(one_row::function());
}

#[derive(Debug)]
struct Subqueries;

impl AnalyzerRule for Subqueries {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let found = SubqueryKinds::in_plan(&plan)?;
        if !found.any {
            return Ok(plan);
        }
        let plan = match found.comparison {
            true => RewriteSetComparison::new().rewrite(plan, &OptimizerContext::new())?.data,
            false => plan,
        };
        let names = Names::default();
        plan.rewrite_all_up(&mut |node| rewritten(node, &names)).data()
    }

    fn name(&self) -> &str {
        "subqueries"
    }
}

/// The kinds of subqueries in a plan.
#[derive(Debug, Default)]
struct SubqueryKinds {
    any: bool,
    /// True for `= ANY (…)`, `< ALL (…)` and similar comparisons.
    comparison: bool,
}

impl SubqueryKinds {
    fn in_plan(plan: &LogicalPlan) -> Result<Self> {
        let mut found = Self::default();
        plan.apply_with_subqueries(|node| {
            found.any |= matches!(node, LogicalPlan::Subquery(_));
            node.apply_expressions(|expr| {
                use datafusion::common::tree_node::TreeNode;
                expr.apply(|expr| {
                    found.comparison |= matches!(expr, Expr::SetComparison(_));
                    found.any |= is_subquery(expr);
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(found)
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
    )
}

fn has_subquery(expr: &Expr) -> bool {
    use datafusion::common::tree_node::TreeNode;
    expr.exists(|expr| Ok(is_subquery(expr))).unwrap_or(true)
}

/// Generates unique column names.
#[derive(Debug, Default)]
struct Names(Cell<usize>);

impl Names {
    fn next(&self, kind: &str) -> String {
        self.0.set(self.0.get() + 1);
        format!("__{kind}_{}", self.0.get())
    }
}

/// Rewrites the subqueries of a node to ones that DataFusion joins correctly. Nested subqueries are already
/// rewritten.
fn rewritten(node: LogicalPlan, names: &Names) -> Result<Transformed<LogicalPlan>> {
    // The enclosing query must be joined with this one first.
    if outer::has_foreign_subquery(&node) {
        return Ok(Transformed::no(node));
    }
    match node {
        LogicalPlan::Filter(filter) if has_subquery(&filter.predicate) => {
            let Filter { predicate, input, .. } = filter;
            let columns = input.schema().columns();
            let mut rewriter = Rewriter::new(Arc::unwrap_or_clone(input), true, names);
            let predicate = rewriter.rewritten(predicate, ExprContext::Conjunct)?;
            let (input, added) = rewriter.into_input();
            let filter = LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?);
            Ok(Transformed::yes(match added {
                true => {
                    let columns = columns.into_iter().map(Expr::Column).collect();
                    LogicalPlan::Projection(Projection::try_new(columns, Arc::new(filter))?)
                }
                false => filter,
            }))
        }
        LogicalPlan::Projection(projection) if projection.expr.iter().any(has_subquery) => {
            let schema = Arc::clone(&projection.schema);
            let input = Arc::unwrap_or_clone(projection.input);
            let mut rewriter = Rewriter::new(input, false, names);
            let exprs = projection.expr.into_iter().zip(schema.iter());
            let exprs = exprs.map(|(expr, (qualifier, field))| {
                let before = expr.schema_name().to_string();
                let expr = rewriter.rewritten(expr, ExprContext::Value)?;
                let same = expr.schema_name().to_string() == before;
                Ok(match same {
                    true => expr,
                    false => expr.alias_qualified(qualifier.cloned(), field.name()),
                })
            });
            let exprs = exprs.collect::<Result<Vec<_>>>()?;
            let (input, _) = rewriter.into_input();
            Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(
                exprs,
                Arc::new(input),
            )?)))
        }
        // A condition of an inner join can be moved to WHERE.
        LogicalPlan::Join(join)
            if join.join_type == JoinType::Inner
                && join.filter.as_ref().is_some_and(has_subquery) =>
        {
            let mut join = join;
            let Some(predicate) = join.filter.take() else {
                return Ok(Transformed::no(LogicalPlan::Join(join)));
            };
            let filter = Filter::try_new(predicate, Arc::new(LogicalPlan::Join(join)))?;
            Ok(Transformed::yes(rewritten(LogicalPlan::Filter(filter), names)?.data))
        }
        LogicalPlan::Join(join) if lifted::is_outer_join_with_subqueries(&join) => {
            Ok(Transformed::yes(lifted::join(join, names)?))
        }
        LogicalPlan::Aggregate(aggregate)
            if aggregate
                .group_expr
                .iter()
                .chain(&aggregate.aggr_expr)
                .any(lifted::to_be_lifted) =>
        {
            Ok(Transformed::yes(lifted::aggregate(aggregate, names)?))
        }
        LogicalPlan::Window(window) if window.window_expr.iter().any(lifted::to_be_lifted) => {
            Ok(Transformed::yes(lifted::window(window, names)?))
        }
        LogicalPlan::Sort(sort) if sort.expr.iter().any(|by| lifted::to_be_lifted(&by.expr)) => {
            Ok(Transformed::yes(lifted::sort(sort, names)?))
        }
        LogicalPlan::Join(join) => match lateral(&join)? {
            Some(subquery) => Ok(Transformed::yes(unnest::lateral(join, &subquery, names)?)),
            // DataFusion's join also returns the columns of its conditions, which a window above does not expect.
            None if outer::lateral(&join).is_some() => {
                let columns = join.schema.columns().into_iter().map(Expr::Column).collect();
                Ok(Transformed::yes(unnest::project(columns, LogicalPlan::Join(join))?))
            }
            None => Ok(Transformed::no(LogicalPlan::Join(join))),
        },
        node => Ok(Transformed::no(node)),
    }
}

/// Returns the lateral subquery of a join if DataFusion would move its conditions wrongly.
fn lateral(join: &Join) -> Result<Option<Subquery>> {
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return Ok(None);
    }
    let Some(subquery) = outer::lateral(join) else { return Ok(None) };
    let plan = &subquery.subquery;
    let exact = outer::references(plan)?.is_empty()
        || shape::can_be_lateral(plan)
        || shape::is_scalar_to_join(plan);
    Ok((!exact).then(|| subquery.clone()))
}

/// Wraps a plan as a subquery of an expression.
fn subquery(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }
}
