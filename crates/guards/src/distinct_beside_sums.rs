//! Keeps the types of sums beside a DISTINCT aggregate.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::{Case, CaseOutcome, Guard, LogicalRule, rule};

pub(super) const GUARD: Guard = Guard {
    title: "A condition on the sum of a DECIMAL beside `count(DISTINCT x)` fails: `Invalid comparison operation`",
    upstream: &[],
    ours: "DataFusion makes such a sum one of sums, whose type has more digits. It is cast back to the type of the sum.",
    cases: &[Case {
        setup: &["CREATE TABLE distinct_sums AS SELECT 1 AS a, CAST('3.0' AS DECIMAL(4, 1)) AS d"],
        sql: "SELECT count(DISTINCT a) FROM distinct_sums HAVING sum(d) = 3",
        right: CaseOutcome::Rows(&["1"]),
        theirs: CaseOutcome::Error("Invalid comparison operation"),
    }],
};

/// Replaces the rule that splits an aggregate in two.
pub(super) fn install(rules: &mut [LogicalRule]) -> Result<()> {
    let single = rule(rules, "single_distinct_aggregation_to_group_by")?;
    *single = Arc::new(TypesKept { theirs: Arc::clone(single) });
    Ok(())
}

#[derive(Debug)]
struct TypesKept {
    theirs: LogicalRule,
}

impl OptimizerRule for TypesKept {
    fn name(&self) -> &str {
        self.theirs.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.theirs.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let before = Arc::clone(plan.schema());
        let rewritten = self.theirs.rewrite(plan, config)?;
        match rewritten.transformed {
            true => rewritten.map_data(|plan| with_types(plan, &before)),
            false => Ok(rewritten),
        }
    }
}

/// Casts the columns of a plan to the types of another schema.
fn with_types(plan: LogicalPlan, before: &DFSchema) -> Result<LogicalPlan> {
    let types = before.fields().iter().zip(plan.schema().fields());
    if types.into_iter().all(|(before, now)| before.data_type() == now.data_type()) {
        return Ok(plan);
    }
    let columns = plan.schema().columns().into_iter().zip(before.iter());
    let items = columns.map(|(column, (relation, field))| {
        let cast = Expr::Column(column).cast_to(field.data_type(), plan.schema())?;
        Ok(cast.alias_qualified(relation.cloned(), field.name()))
    });
    let items = items.collect::<Result<Vec<_>>>()?;
    LogicalPlanBuilder::from(plan).project(items)?.build()
}
