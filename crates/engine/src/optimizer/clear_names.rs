//! Keeps DataFusion from pushing a filter down to another column of the same name.
//!
//! `FilterPushdown` finds a filter's columns by name. If a node has two columns of one name, as above a join, the
//! filter may move to the wrong one. [`ClearNames::Add`], before that rule, puts a node above each such node that
//! only lets filters on other columns pass. [`ClearNames::Remove`], after the rule, removes these nodes.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, FilterDescription, FilterPushdownPhase,
};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, StatisticsArgs,
};
use sluicegate_guards::{one_child, without_expressions};

use super::choose::Plan;

/// Returns the indexes of the columns whose names are unique.
pub(super) fn clear_columns(schema: &Schema) -> HashSet<usize> {
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut clear: HashSet<usize> = (0..schema.fields().len()).collect();
    for (index, field) in schema.fields().iter().enumerate() {
        if let Some(namesake) = last.insert(field.name(), index) {
            clear.remove(&namesake);
            clear.remove(&index);
        }
    }
    clear
}

/// The rule in its two forms.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ClearNames {
    /// Runs before filters are pushed down.
    Add,
    /// Runs after filters are pushed down.
    Remove,
}

impl PhysicalOptimizerRule for ClearNames {
    fn optimize(&self, plan: Plan, _options: &ConfigOptions) -> Result<Plan> {
        plan.transform_up(|node| {
            let schema = node.schema();
            Ok(match self {
                Self::Add if clear_columns(&schema).len() < schema.fields().len() => {
                    Transformed::yes(Arc::new(ClearNamesExec { input: node }) as Plan)
                }
                Self::Add => Transformed::no(node),
                Self::Remove => match node.downcast_ref::<ClearNamesExec>() {
                    Some(clear) => Transformed::yes(Arc::clone(&clear.input)),
                    None => Transformed::no(node),
                },
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        match self {
            Self::Add => "clear_names",
            Self::Remove => "clear_names(remove)",
        }
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Lets filters on uniquely named columns pass. It is only in a plan while filters are pushed down.
#[derive(Debug, Clone)]
struct ClearNamesExec {
    input: Plan,
}

impl DisplayAs for ClearNamesExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("ClearNamesExec")
    }
}

impl ExecutionPlan for ClearNamesExec {
    one_child!("ClearNamesExec", |node, input| Arc::new(Self { input }));

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    without_expressions!();

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let child = ChildFilterDescription::from_child_with_allowed_indices(
            &parent_filters,
            clear_columns(&self.schema()),
            &self.input,
        )?;
        Ok(FilterDescription::new().with_child(child))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&input[0]))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
