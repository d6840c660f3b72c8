//! Keeps DataFusion from moving a filter to a column of the same name.
//!
//! On its way down, a filter's columns are found again by their names. Where two columns of a node have
//! one name, as they may above a join, the filter ends up with the first of them, or with the last:
//! another filter. A [`ClearNames::Add`] before DataFusion's rule puts a node above each such one,
//! that only lets filters on other columns pass, and [`ClearNames::Remove`] after it takes them away.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, FilterDescription, FilterPushdownPhase,
};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, StatisticsArgs,
};

use super::choose::Plan;
use crate::physical_plan::without_expressions;

/// The columns that are the only ones of their names.
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

/// The two rules.
#[derive(Debug, Clone, Copy)]
pub enum ClearNames {
    /// Before filters are moved.
    Add,
    /// After it.
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

/// Lets filters pass whose columns have no namesakes. Only in a plan while filters are moved.
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
    fn name(&self) -> &str {
        "ClearNamesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    without_expressions!();

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Plan>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Plan> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self { input })),
            _ => internal_err!("ClearNamesExec has one child"),
        }
    }

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
