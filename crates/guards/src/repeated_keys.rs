//! Removes repeated sort keys of aggregate functions.

use crate::rewrite::Rewrite;
use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::{Case, CaseOutcome, Guard, LogicalRule};

pub(super) const GUARD: Guard = Guard {
    title: "An aggregate with ORDER BY a key that it names twice panics or fails, and so does DISTINCT ON",
    upstream: &[],
    ours: "The key counts once.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT ON (a) a, b AS x, b AS y FROM repeated_keys ORDER BY a, x, y",
            right: CaseOutcome::Rows(&["1, 1, 1", "2, 3, 3"]),
            theirs: CaseOutcome::Panic,
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT ON (a) a, b FROM repeated_keys ORDER BY a, b DESC, b * 1",
            right: CaseOutcome::Rows(&["1, 2", "2, 3"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT a, first_value(b ORDER BY b DESC, b) FROM repeated_keys GROUP BY a",
            right: CaseOutcome::Rows(&["1, 2", "2, 3"]),
            theirs: CaseOutcome::Panic,
        },
        Case {
            setup: &[T],
            sql: "SELECT a, string_agg(CAST(b AS VARCHAR), ',' ORDER BY b DESC, b) FROM repeated_keys GROUP BY a",
            right: CaseOutcome::Rows(&["1, 2,1", "2, 3"]),
            theirs: CaseOutcome::Error("column types must match schema types"),
        },
    ],
};

const T: &str =
    "CREATE TABLE repeated_keys AS SELECT * FROM (VALUES (1, 2), (1, 1), (2, 3)) v(a, b)";

/// Adds the rule at the end, because simplification may make keys equal, and DISTINCT ON becomes an aggregate.
pub(super) fn install(rules: &mut Vec<LogicalRule>) {
    rules.push(Arc::new(DedupSortKeys));
}

#[derive(Debug)]
struct DedupSortKeys;

impl OptimizerRule for DedupSortKeys {
    fn name(&self) -> &str {
        "repeated_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !matches!(&plan, LogicalPlan::Aggregate(it) if it.aggr_expr.iter().any(has_repeated)) {
            return Ok(Transformed::no(plan));
        }
        let names = NamePreserver::new(&plan);
        let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(Transformed::no(plan)) };
        let exprs = aggregate.aggr_expr.into_iter().map(|expr| {
            let name = names.save(&expr);
            Ok(name.restore(expr.rewrite_up(&mut |expr| Ok(once(expr))).data()?))
        });
        let exprs = exprs.collect::<Result<Vec<Expr>>>()?;
        let aggregate = Aggregate::try_new_with_schema(
            aggregate.input,
            aggregate.group_expr,
            exprs,
            aggregate.schema,
        )?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
    }
}

fn has_repeated(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => has_repeated(&alias.expr),
        Expr::AggregateFunction(call) => {
            let mut seen = HashSet::new();
            call.params.order_by.iter().any(|by| !seen.insert(unnamed(&by.expr)))
        }
        _ => false,
    }
}

fn once(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::AggregateFunction(mut call) => {
            let mut seen = HashSet::new();
            call.params.order_by.retain(|by| seen.insert(unnamed(&by.expr).clone()));
            Transformed::yes(Expr::AggregateFunction(call))
        }
        expr => Transformed::no(expr),
    }
}

/// Returns a key without the alias that keeps its name after simplification.
fn unnamed(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unnamed(&alias.expr),
        expr => expr,
    }
}
