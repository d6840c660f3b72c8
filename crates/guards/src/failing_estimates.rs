//! Protects filters whose selectivity estimate fails.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, ExprSchemable, Filter, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::{Case, CaseOutcome, Guard, LogicalRule};

pub(super) const GUARD: Guard = Guard {
    title: "A filter by a timestamp and its date fails: `Selectivity is out of limit`",
    upstream: &[],
    ours: "DataFusion does not estimate such a filter: the condition on the date is tested by IS TRUE.",
    cases: &[Case {
        setup: &[
            "COPY (VALUES (1, TIMESTAMP '2024-12-01 12:34:56'), (2, TIMESTAMP '2024-03-14 23:59:59')) \
             TO '{folder}/i/a.parquet' STORED AS PARQUET",
            "CREATE EXTERNAL TABLE instants STORED AS PARQUET LOCATION '{folder}/i/'",
        ],
        sql: "SELECT column1 FROM instants WHERE column2 >= TIMESTAMP '2024-06-28 23:59:59' \
              AND CAST(column2 AS DATE) > DATE '2021-01-28'",
        right: CaseOutcome::Rows(&["1"]),
        theirs: CaseOutcome::Error("Selectivity is out of limit"),
    }],
};

/// Adds the rule at the end, because the simplifier may remove IS TRUE.
pub(super) fn install(rules: &mut Vec<LogicalRule>) {
    rules.push(Arc::new(NotEstimated));
}

#[derive(Debug)]
struct NotEstimated;

impl OptimizerRule for NotEstimated {
    fn name(&self) -> &str {
        "failing_estimates"
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
        let LogicalPlan::Filter(filter) = plan else { return Ok(Transformed::no(plan)) };
        let schema = filter.input.schema();
        let mut conditions = split_conjunction_owned(filter.predicate.clone());
        let cast: Vec<HashSet<Column>> = conditions.iter().map(|it| coarser(it, schema)).collect();
        let mut any = false;
        for (at, columns) in cast.iter().enumerate().filter(|(_, columns)| !columns.is_empty()) {
            let others = conditions.iter().enumerate().filter(|(other, _)| *other != at);
            let mut named = others.flat_map(|(_, condition)| condition.column_refs());
            if named.any(|column| columns.contains(column)) {
                drop(named);
                let condition = std::mem::take(&mut conditions[at]);
                conditions[at] = Expr::IsTrue(Box::new(condition));
                any = true;
            }
        }
        match conjunction(conditions) {
            Some(predicate) if any => {
                let filter = Filter::try_new(predicate, filter.input)?;
                Ok(Transformed::yes(LogicalPlan::Filter(filter)))
            }
            _ => Ok(Transformed::no(LogicalPlan::Filter(filter))),
        }
    }
}

/// Returns the columns that a comparison casts from timestamps to a coarser type.
fn coarser(condition: &Expr, schema: &DFSchema) -> HashSet<Column> {
    let mut columns = HashSet::new();
    if !matches!(condition, Expr::BinaryExpr(_)) {
        return columns;
    }
    let _ = condition.exists(|expr| {
        if let Expr::Cast(Cast { expr, field }) = expr
            && let Expr::Column(column) = expr.as_ref()
            && matches!(field.data_type(), DataType::Date32 | DataType::Timestamp(..))
            && matches!(expr.get_type(schema), Ok(DataType::Timestamp(..)))
        {
            columns.insert(column.clone());
        }
        Ok(false)
    });
    columns
}
