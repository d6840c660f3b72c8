//! Computes keys of ORDER BY before their rows are sorted.

use crate::rewrite::Rewrite;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::{Sort as SortKey, WindowFunction};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Sort, Window};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::{Case, CaseOutcome, Guard, LogicalRule};

pub(super) const GUARD: Guard = Guard {
    title: "ORDER BY a comparison with a function or CASE fails: `does not satisfy order requirements`",
    upstream: &[],
    ours: "DataFusion finds no bounds of such a key, and then not the order that it has made. The key is computed as a \
           column before the rows are sorted.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT x FROM (SELECT * FROM keys UNION ALL SELECT * FROM keys) t ORDER BY abs(x) <= 3, x LIMIT 3",
            right: CaseOutcome::Rows(&["4", "4", "1"]),
            theirs: CaseOutcome::Error("does not satisfy order requirements"),
        },
        Case {
            setup: &[T],
            sql: "SELECT x FROM (SELECT * FROM keys UNION ALL SELECT * FROM keys) t \
                  ORDER BY CASE WHEN x <> 4 THEN x END <= 2 NULLS FIRST, x",
            right: CaseOutcome::Rows(&["4", "4", "3", "3", "1", "1"]),
            theirs: CaseOutcome::Error("does not satisfy order requirements"),
        },
        Case {
            setup: &[T],
            sql: "SELECT x, rank() OVER (ORDER BY abs(x) > 1) FROM \
                  (SELECT * FROM keys UNION ALL SELECT * FROM keys) t ORDER BY x LIMIT 3",
            right: CaseOutcome::Rows(&["1, 1", "1, 1", "3, 3"]),
            theirs: CaseOutcome::Error("does not satisfy order requirements"),
        },
    ],
};

const T: &str = "CREATE TABLE keys AS SELECT * FROM (VALUES (1), (3), (4)) t(x)";

/// Adds the rule behind all others.
pub(super) fn install(rules: &mut Vec<LogicalRule>) {
    rules.push(Arc::new(ComputedKeys));
}

#[derive(Debug)]
struct ComputedKeys;

impl OptimizerRule for ComputedKeys {
    fn name(&self) -> &str {
        "computed_keys"
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
        match plan {
            LogicalPlan::Sort(sort) if sort.expr.iter().any(|key| concerns(&key.expr)) => {
                of_sort(sort).map(Transformed::yes)
            }
            LogicalPlan::Window(window) if window.window_expr.iter().any(has_keys) => {
                of_window(&window).map(Transformed::yes)
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

/// Returns true if a key has an operator and something that DataFusion knows no bounds of.
fn concerns(key: &Expr) -> bool {
    let has = |wanted: fn(&Expr) -> bool| key.exists(|part| Ok(wanted(part))).unwrap_or(false);
    has(|part| matches!(part, Expr::BinaryExpr(_)))
        && has(|part| !matches!(part, Expr::BinaryExpr(_) | Expr::Column(_) | Expr::Literal(..)))
        && !key.is_volatile()
}

fn has_keys(expr: &Expr) -> bool {
    expr.exists(|part| {
        Ok(match part {
            Expr::WindowFunction(function) => {
                let params = &function.params;
                params.order_by.iter().any(|key| concerns(&key.expr))
                    || params.partition_by.iter().any(concerns)
            }
            _ => false,
        })
    })
    .unwrap_or(false)
}

/// The keys that become columns, by their expressions.
#[derive(Default)]
struct KeyColumns(HashMap<Expr, Column>);

impl KeyColumns {
    /// Returns the column for a key that needs one, and other keys unchanged.
    fn replaced(&mut self, key: Expr) -> Expr {
        if !concerns(&key) {
            return key;
        }
        let number = self.0.len();
        let column =
            self.0.entry(key).or_insert_with(|| Column::new_unqualified(format!("__key_{number}")));
        Expr::Column(column.clone())
    }

    /// Returns the input with these columns.
    fn computed(self, input: &LogicalPlan) -> Result<LogicalPlanBuilder> {
        let mut keys: Vec<(Expr, Column)> = self.0.into_iter().collect();
        keys.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
        let keys = keys.into_iter().map(|(expr, column)| expr.alias(column.name));
        let items = columns(input).chain(keys).collect::<Vec<_>>();
        LogicalPlanBuilder::from(input.clone()).project(items)
    }
}

fn columns(plan: &LogicalPlan) -> impl Iterator<Item = Expr> {
    plan.schema().columns().into_iter().map(Expr::Column)
}

fn of_sort(sort: Sort) -> Result<LogicalPlan> {
    let Sort { expr, input, fetch } = sort;
    let mut keys = KeyColumns::default();
    let replaced = |key: SortKey| SortKey { expr: keys.replaced(key.expr), ..key };
    let expr = expr.into_iter().map(replaced).collect();
    let below = Arc::new(keys.computed(&input)?.build()?);
    let sorted = LogicalPlan::Sort(Sort { expr, input: below, fetch });
    LogicalPlanBuilder::from(sorted).project(columns(&input))?.build()
}

fn of_window(window: &Window) -> Result<LogicalPlan> {
    let mut keys = KeyColumns::default();
    let mut functions = Vec::with_capacity(window.window_expr.len());
    for expr in &window.window_expr {
        let replaced = expr.clone().rewrite_up(&mut |part| {
            let Expr::WindowFunction(mut function) = part else { return Ok(Transformed::no(part)) };
            let WindowFunction { params, .. } = function.as_mut();
            for key in &mut params.order_by {
                key.expr = keys.replaced(std::mem::take(&mut key.expr));
            }
            for key in &mut params.partition_by {
                *key = keys.replaced(std::mem::take(key));
            }
            Ok(Transformed::yes(Expr::WindowFunction(function)))
        })?;
        functions.push(replaced.data);
    }
    let named: Vec<(String, String)> = functions
        .iter()
        .zip(&window.window_expr)
        .map(|(now, before)| (now.schema_name().to_string(), before.schema_name().to_string()))
        .collect();
    let results = named.into_iter().map(|(now, before)| {
        let column = Expr::Column(Column::new_unqualified(&now));
        if now == before { column } else { column.alias(before) }
    });
    let items: Vec<Expr> = columns(&window.input).chain(results).collect();
    keys.computed(&window.input)?.window(functions)?.project(items)?.build()
}
