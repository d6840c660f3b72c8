//! Accepts keys of DISTINCT ON that are repeated or in another order than those of ORDER BY.

use crate::rewrite::RewritePlan;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::logical_expr::{Distinct, DistinctOn, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Distinct as Written, Expr, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, Select,
    SetExpr, VisitorMut,
};

use super::names::{exact, resolved};
use super::{AnalysisRule, Case, CaseOutcome, Guard, visit};

pub(super) const GUARD: Guard = Guard {
    title: "DISTINCT ON wants its keys once, and in the order of ORDER BY",
    upstream: &[],
    ours: "A repeated key counts once, a number stands for a column of SELECT, and ORDER BY may begin with the keys in \
           any order. Keys that ORDER BY lacks come at its end.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT ON (a, a) a, b FROM distinct_on ORDER BY a, b",
            right: CaseOutcome::Rows(&["1, 1", "2, 1"]),
            theirs: CaseOutcome::Error("must match initial ORDER BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT ON (a, a) a, a + 1 AS b FROM distinct_on",
            right: CaseOutcome::Rows(&["1, 2", "2, 3"]),
            theirs: CaseOutcome::Error("difference in schemas"),
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT ON (a, b) a, b, c FROM distinct_on ORDER BY b, a, c DESC",
            right: CaseOutcome::Rows(&["1, 1, 9", "2, 1, 8", "1, 2, 7"]),
            theirs: CaseOutcome::Error("must match initial ORDER BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT ON (a, b) a, b FROM distinct_on ORDER BY b DESC",
            right: CaseOutcome::Rows(&["1, 2", "1, 1", "2, 1"]),
            theirs: CaseOutcome::Error("must match initial ORDER BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT ON (1) a, b FROM distinct_on ORDER BY 1, 2 DESC",
            right: CaseOutcome::Rows(&["1, 2", "2, 1"]),
            theirs: CaseOutcome::Error("must match initial ORDER BY"),
        },
    ],
};

const T: &str = "CREATE TABLE distinct_on AS SELECT * FROM (VALUES (1, 1, 3), (1, 1, 9), (1, 2, 7), (2, 1, 8)) v(a, b, c)";

/// Puts the keys into the order of ORDER BY.
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut Keys);
}

struct Keys;

impl VisitorMut for Keys {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            reorder(select, query.order_by.as_mut());
        }
        ControlFlow::Continue(())
    }
}

fn reorder(select: &mut Select, order: Option<&mut OrderBy>) {
    let Some(Written::On(keys)) = &select.distinct else { return };
    let text = |expr: &Expr| exact(resolved(select, expr));
    let mut seen = HashSet::new();
    let mut rest: Vec<Expr> = keys.iter().filter(|key| seen.insert(text(key))).cloned().collect();
    let mut sorted = Vec::new();
    if let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = order {
        for by in order.iter() {
            let by = text(&by.expr);
            match rest.iter().position(|key| text(key) == by) {
                Some(at) => sorted.push(rest.remove(at)),
                // A repeated key is dropped.
                None if sorted.iter().any(|key| text(key) == by) => {}
                None => break,
            }
        }
        if order.len() == count_of_keys(order, &sorted, text) {
            let missing = rest.iter().map(|key| OrderByExpr {
                expr: key.clone(),
                options: OrderByOptions { asc: None, nulls_first: None },
                with_fill: None,
            });
            order.extend(missing);
        }
    }
    sorted.append(&mut rest);
    let by_number = |key: Expr| match key {
        Expr::Value(_) => resolved(select, &key).clone(),
        key => key,
    };
    let keys = sorted.into_iter().map(by_number).collect();
    select.distinct = Some(Written::On(keys));
}

/// Returns the number of ORDER BY expressions that are keys.
fn count_of_keys(order: &[OrderByExpr], keys: &[Expr], text: impl Fn(&Expr) -> String) -> usize {
    let keys: HashSet<String> = keys.iter().map(&text).collect();
    order.iter().filter(|by| keys.contains(&text(&by.expr))).count()
}

/// Adds a rule that removes equal keys, whatever their text.
pub(super) fn install(rules: &mut Vec<AnalysisRule>) {
    rules.insert(0, Arc::new(DistinctOnKeys));
}

#[derive(Debug)]
struct DistinctOnKeys;

impl AnalyzerRule for DistinctOnKeys {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.rewrite_all_up(&mut |node| match node {
            LogicalPlan::Distinct(Distinct::On(on)) => once(on),
            node => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "distinct_on"
    }
}

fn once(on: DistinctOn) -> Result<Transformed<LogicalPlan>> {
    let mut seen = HashSet::new();
    let keys: Vec<_> = on.on_expr.iter().filter(|key| seen.insert(*key)).cloned().collect();
    let mut seen = HashSet::new();
    let order: Option<Vec<_>> = on
        .sort_expr
        .as_ref()
        .map(|order| order.iter().filter(|by| seen.insert(&by.expr)).cloned().collect());
    let is_same = keys.len() == on.on_expr.len()
        && order.as_ref().map(Vec::len) == on.sort_expr.as_ref().map(Vec::len);
    if is_same {
        return Ok(Transformed::no(LogicalPlan::Distinct(Distinct::On(on))));
    }
    let on = DistinctOn::try_new(keys, on.select_expr, order, on.input)?;
    Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(on))))
}
