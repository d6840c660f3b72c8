//! Corrects the functional dependencies that DataFusion relies on.
//!
//! Four rules of DataFusion drop operations that a key makes superfluous: DISTINCT, columns of GROUP BY and ORDER BY,
//! and the unused side of a LEFT JOIN. [`SoundDependencies`] passes them only dependencies that hold.

use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{
    DFSchema, DFSchemaRef, Dependency, FunctionalDependence, FunctionalDependencies, JoinType,
    Result,
};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::sql::sqlparser::ast::TableFactor;

use super::{Case, CaseOutcome, Guard, LogicalRule, rule};
use crate::rewrite::RewritePlan;

pub(super) const GUARD: Guard = Guard {
    title: "DISTINCT, ORDER BY, GROUP BY and LEFT JOIN take for keys what are none",
    upstream: &["datafusion#23634", "datafusion#23818", "datafusion#23819"],
    ours: "A key is what GROUP BY makes one. A key is none any more after unnest, and on the side \
           of an outer join that may be NULL. Neither is a column that is only UNIQUE, for NULL may be there twice.",
    cases: &[
        Case {
            setup: &[T, U],
            sql: "SELECT DISTINCT a FROM (SELECT d.a, u.x, max(u.y) AS m FROM \
                  (SELECT a FROM keys_t GROUP BY a) d JOIN keys_u u ON u.x >= d.a GROUP BY d.a, u.x) q",
            right: CaseOutcome::Rows(&["1", "2"]),
            theirs: CaseOutcome::Rows(&["1", "1", "2"]),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT t.a FROM keys_t t LEFT JOIN (SELECT d.a, u.x FROM (SELECT DISTINCT a FROM keys_t) d \
                  CROSS JOIN keys_u u GROUP BY d.a, u.x) r ON t.a = r.a WHERE t.b = 2",
            right: CaseOutcome::Rows(&["2", "2", "2"]),
            theirs: CaseOutcome::Rows(&["2"]),
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a, x FROM (SELECT d.a, u.x, sum(u.y) AS s FROM (SELECT DISTINCT a FROM keys_t) d \
                  CROSS JOIN keys_u u GROUP BY d.a, u.x) q ORDER BY a, x DESC LIMIT 3",
            right: CaseOutcome::Rows(&["1, NULL", "1, 3", "1, 1"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T, U],
            sql: "SELECT a, x, count(*) FROM (SELECT d.a, u.x, u.y FROM (SELECT a FROM keys_t GROUP BY a) d \
                  CROSS JOIN keys_u u GROUP BY d.a, u.x, u.y) q WHERE a = 1 GROUP BY a, x ORDER BY x",
            right: CaseOutcome::Rows(&["1, 1, 1", "1, 3, 1", "1, NULL, 1"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT a FROM (SELECT a, unnest([1, 2]) AS k FROM keys_t GROUP BY a) q",
            right: CaseOutcome::Rows(&["1", "2", "NULL"]),
            theirs: CaseOutcome::Rows(&["1", "1", "2", "2", "NULL", "NULL"]),
        },
        Case {
            setup: &[
                "CREATE TABLE keys_n(x INT UNIQUE, y INT) AS VALUES (NULL, 2), (NULL, 1), (1, 3)",
            ],
            sql: "SELECT DISTINCT x FROM keys_n",
            right: CaseOutcome::Rows(&["1", "NULL"]),
            theirs: CaseOutcome::Rows(&["1", "NULL", "NULL"]),
        },
    ],
};

const T: &str =
    "CREATE TABLE keys_t AS SELECT * FROM (VALUES (1, 1), (2, 2), (NULL, 3), (1, 4)) v(a, b)";
const U: &str = "CREATE TABLE keys_u AS SELECT * FROM (VALUES (1, 1), (3, 3), (NULL, 2)) v(x, y)";

/// Rules that rely on dependencies.
const TRUSTING: [&str; 4] = [
    "eliminate_duplicated_expr",
    "eliminate_join",
    "optimize_projections",
    "replace_distinct_aggregate",
];

/// Wraps each rule that relies on dependencies.
pub(super) fn install(rules: &mut [LogicalRule]) -> Result<()> {
    for name in TRUSTING {
        let rule = rule(rules, name)?;
        *rule = Arc::new(SoundDependencies { inner: Arc::clone(rule) });
    }
    Ok(())
}

/// Adds the planner of tables.
pub(super) fn install_planner(planners: &mut Vec<Arc<dyn RelationPlanner>>) {
    planners.insert(0, Arc::new(Tables));
}

/// Plans tables and subqueries in FROM with the dependencies that hold. The SQL planner adds dependent columns to
/// those of GROUP BY.
#[derive(Debug)]
struct Tables;

thread_local! {
    /// True if the next table is passed on by this planner itself.
    static HANDED_ON: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for Tables {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let concerned = matches!(
            relation,
            TableFactor::Derived { lateral: false, .. } | TableFactor::Table { args: None, .. }
        );
        if HANDED_ON.take() || !concerned {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        HANDED_ON.set(true);
        let plan = with_true_dependencies(context.plan(relation)?)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}

/// A rule that only gets dependencies that hold.
#[derive(Debug)]
struct SoundDependencies {
    inner: LogicalRule,
}

impl OptimizerRule for SoundDependencies {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.inner.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let trusting = match &plan {
            LogicalPlan::Join(join) => join.join_type != JoinType::Inner,
            LogicalPlan::Distinct(_) | LogicalPlan::Sort(_) => true,
            _ => self.inner.apply_order().is_none(),
        };
        let plan = if trusting { with_true_dependencies(plan)? } else { plan };
        self.inner.rewrite(plan, config)
    }
}

fn with_true_dependencies(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut wrong = false;
    plan.apply_with_subqueries(|node| {
        wrong |= mended(node)?.is_some();
        Ok(if wrong { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !wrong {
        return Ok(plan);
    }
    // Nodes above a changed node inherit its dependencies.
    let changed = Cell::new(false);
    plan.rewrite_all_up(&mut |node| {
        let node = if changed.get() { node.recompute_schema()? } else { node };
        let Some(schema) = mended(&node)? else {
            return Ok(Transformed::new(node, changed.get(), TreeNodeRecursion::Continue));
        };
        changed.set(true);
        Ok(Transformed::yes(with_schema(node, schema)))
    })
    .data()
}

fn with_schema(node: LogicalPlan, schema: DFSchemaRef) -> LogicalPlan {
    match node {
        LogicalPlan::Aggregate(mut aggregate) => {
            aggregate.schema = schema;
            LogicalPlan::Aggregate(aggregate)
        }
        LogicalPlan::Join(mut join) => {
            join.schema = schema;
            LogicalPlan::Join(join)
        }
        LogicalPlan::Unnest(mut unnest) => {
            unnest.schema = schema;
            LogicalPlan::Unnest(unnest)
        }
        LogicalPlan::TableScan(mut scan) => {
            scan.projected_schema = schema;
            LogicalPlan::TableScan(scan)
        }
        node => node,
    }
}

/// Returns the schema of a node with the dependencies that hold, if it has others.
fn mended(node: &LogicalPlan) -> Result<Option<DFSchemaRef>> {
    let schema = node.schema();
    let known = schema.functional_dependencies();
    let right = match node {
        LogicalPlan::Aggregate(aggregate) => of_groups(aggregate)?,
        LogicalPlan::Join(join)
            if matches!(join.join_type, JoinType::Left | JoinType::Right | JoinType::Full) =>
        {
            FunctionalDependencies::empty()
        }
        LogicalPlan::Unnest(_) => FunctionalDependencies::empty(),
        LogicalPlan::TableScan(_) => {
            let sure = known.iter().filter(|dependence| !dependence.nullable).cloned();
            FunctionalDependencies::new(sure.collect())
        }
        _ => return Ok(None),
    };
    if right == *known {
        return Ok(None);
    }
    let schema = DFSchema::clone(schema).with_functional_dependencies(right)?;
    Ok(Some(Arc::new(schema)))
}

/// Returns the dependencies of an aggregate, whose groups are its key.
fn of_groups(aggregate: &Aggregate) -> Result<FunctionalDependencies> {
    let groups = match aggregate.group_expr.as_slice() {
        [] | [Expr::GroupingSet(_)] => return Ok(FunctionalDependencies::empty()),
        exprs => grouping_set_to_exprlist(exprs)?.len(),
    };
    let fields = aggregate.schema.fields();
    let nullable = fields.iter().take(groups).any(|field| field.is_nullable());
    let all = (0..fields.len()).collect();
    let key = FunctionalDependence::new((0..groups).collect(), all, nullable);
    Ok(FunctionalDependencies::new(vec![key.with_mode(Dependency::Single)]))
}
