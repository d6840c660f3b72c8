//! Keeps expressions that may fail above the filters whose rows they are computed for.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use super::guarded_conditions::may_fail;
use super::{Case, CaseOutcome, Guard, PhysicalRule};
use crate::rewrite::Rewrite;
use crate::{one_child, without_expressions};

pub(super) const GUARD: Guard = Guard {
    title: "WHERE does not keep an expression of SELECT from failing",
    upstream: &[],
    ours: "`SELECT y, (a + b) / y FROM t WHERE y <> 0` divides by no zero. DataFusion computes an expression below the \
           filter if the result has fewer columns than the table.",
    cases: &[
        Case {
            setup: &[
                ONE,
                "CREATE TABLE guarded_rows AS SELECT * FROM (VALUES (1, 2, 0), (4, 2, 3)) v(a, b, y)",
            ],
            sql: "SELECT y, (a + b) / y FROM guarded_rows WHERE y <> 0",
            right: CaseOutcome::Rows(&["3, 2"]),
            theirs: CaseOutcome::Error("Divide by zero"),
        },
        Case {
            setup: &[
                ONE,
                "CREATE TABLE guarded_texts AS SELECT * FROM (VALUES ('bad', 'x', '1'), ('ok', '12', '3')) v(s, p, n)",
            ],
            sql: "SELECT s, CAST(p AS INT) * CAST(n AS INT) FROM guarded_texts WHERE s = 'ok'",
            right: CaseOutcome::Rows(&["ok, 36"]),
            theirs: CaseOutcome::Error("Cannot cast"),
        },
    ],
};

/// With several partitions, another operator is in between.
const ONE: &str = "SET datafusion.execution.target_partitions = 1";

/// Returns DataFusion's rule that pushes projections down, with this guard.
#[must_use]
pub fn projection_pushdown() -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    Arc::new(FiltersFirst { theirs: Arc::new(ProjectionPushdown::new()) })
}

/// Replaces the rules that push projections down.
pub(super) fn install(rules: &mut [PhysicalRule]) {
    for rule in rules.iter_mut().filter(|rule| rule.name() == "ProjectionPushdown") {
        *rule = Arc::new(FiltersFirst { theirs: Arc::clone(rule) });
    }
}

#[derive(Debug)]
struct FiltersFirst {
    theirs: PhysicalRule,
}

impl PhysicalOptimizerRule for FiltersFirst {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let barred = plan.transform_up(barred).data()?;
        let pushed = self.theirs.optimize(barred, config)?;
        let free = |node: Arc<dyn ExecutionPlan>| {
            Ok(match node.downcast_ref::<BarrierExec>() {
                Some(barrier) => Transformed::yes(Arc::clone(&barrier.input)),
                None => Transformed::no(node),
            })
        };
        pushed.transform_up(free).data()
    }

    fn name(&self) -> &str {
        self.theirs.name()
    }

    fn schema_check(&self) -> bool {
        self.theirs.schema_check()
    }
}

/// Inserts a barrier below a projection that may fail and is above a filter. The columns that it reads are projected
/// below the barrier, so that the filter need not copy the others.
fn barred(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(projection) = node.downcast_ref::<ProjectionExec>() else {
        return Ok(Transformed::no(node));
    };
    let input = projection.input();
    let schema = input.schema();
    let mut fails = false;
    for item in projection.expr() {
        fails = fails || may_fail(&item.expr, &schema)?;
    }
    if !fails || !is_above_filter(input) {
        return Ok(Transformed::no(node));
    }
    let mut read: Vec<usize> = projection
        .expr()
        .iter()
        .flat_map(|item| collect_columns(&item.expr))
        .map(|column| column.index())
        .collect();
    read.sort_unstable();
    read.dedup();
    if read.len() == schema.fields().len() {
        let items = projection.expr().to_vec();
        let barrier = Arc::new(BarrierExec::new(Arc::clone(input)));
        return Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(items, barrier)?)));
    }
    let column = |index: usize, at: usize| -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new(schema.field(index).name(), at))
    };
    let kept = read
        .iter()
        .map(|index| ProjectionExpr::new(column(*index, *index), schema.field(*index).name()));
    let narrow = ProjectionExec::try_new(kept.collect::<Vec<_>>(), Arc::clone(input))?;
    let items = projection.expr().iter().map(|item| {
        let moved = Arc::clone(&item.expr).rewrite_up(&mut |part| {
            let index = part.downcast_ref::<Column>().map(Column::index);
            Ok(match index.and_then(|index| Some((index, read.binary_search(&index).ok()?))) {
                Some((index, at)) => Transformed::yes(column(index, at)),
                None => Transformed::no(part),
            })
        });
        Ok(ProjectionExpr::new(moved.data()?, item.alias.clone()))
    });
    let items = items.collect::<Result<Vec<_>>>()?;
    let barrier = Arc::new(BarrierExec::new(Arc::new(narrow)));
    Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(items, barrier)?)))
}

/// Returns true if a filter is below operators with one input each.
fn is_above_filter(node: &Arc<dyn ExecutionPlan>) -> bool {
    let mut node = node;
    loop {
        if node.is::<FilterExec>() {
            return true;
        }
        match node.children().as_slice() {
            [input] => node = input,
            _ => return false,
        }
    }
}

/// Stands between a projection and its input while projections are pushed down.
#[derive(Debug)]
struct BarrierExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl BarrierExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = Arc::clone(input.properties());
        Self { input, properties }
    }
}

impl DisplayAs for BarrierExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("BarrierExec")
    }
}

impl ExecutionPlan for BarrierExec {
    one_child!("BarrierExec", |_node, input| Arc::new(Self::new(input)));

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    without_expressions!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
