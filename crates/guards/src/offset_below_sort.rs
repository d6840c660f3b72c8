//! Keeps sorts above LIMIT … OFFSET.

use crate::rewrite::Rewrite;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, OrderingRequirements, Partitioning,
};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::execution_plan::{Boundedness, replace_children_if_necessary};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties, StatisticsArgs,
};

use super::{Case, CaseOutcome, Guard, PhysicalRule, insert_around};
use crate::{one_child, without_expressions};

pub(super) const GUARD: Guard = Guard {
    title: "LIMIT … OFFSET below ORDER BY or a window loses rows",
    upstream: &["datafusion#24958", "datafusion#25378"],
    ours: "No sort is moved below an OFFSET.",
    cases: &[
        Case {
            setup: &[NUMBERS],
            sql: "SELECT * FROM (SELECT a FROM offset_n LIMIT 4 OFFSET 3) ORDER BY a",
            right: CaseOutcome::Rows(&["4", "5", "6", "7"]),
            theirs: CaseOutcome::Rows(&["4"]),
        },
        Case {
            setup: &[NUMBERS],
            sql: "SELECT row_number() OVER (ORDER BY a) AS rn, a FROM (SELECT a FROM offset_n LIMIT 5 OFFSET 5)",
            right: CaseOutcome::Rows(&["1, 6", "2, 7", "3, 8", "4, 9", "5, 10"]),
            theirs: CaseOutcome::Rows(&[]),
        },
    ],
};

const NUMBERS: &str = "CREATE TABLE offset_n AS SELECT * FROM \
     (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) v(a)";

/// Keeps sorts above OFFSET while DataFusion adds and moves them.
pub(super) fn install(rules: &mut Vec<PhysicalRule>) -> Result<()> {
    insert_around(
        rules,
        "EnsureRequirements",
        Arc::new(SortFencePhase::Add),
        Arc::new(SortFencePhase::Remove),
    )
}

/// The two rules, before and after sorts are moved.
#[derive(Debug, Clone, Copy)]
enum SortFencePhase {
    Add,
    Remove,
}

impl PhysicalOptimizerRule for SortFencePhase {
    fn optimize(&self, plan: Plan, _options: &ConfigOptions) -> Result<Plan> {
        match self {
            Self::Add if plan.exists(|node| Ok(skipping(node).is_some()))? => {
                fenced(plan, PushdownScope::default())
            }
            Self::Add => Ok(plan),
            Self::Remove => plan
                .rewrite_up(&mut |node| {
                    Ok(match node.downcast_ref::<OffsetExec>() {
                        Some(offset) => Transformed::yes(offset.limit()),
                        None => Transformed::no(node),
                    })
                })
                .data(),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Add => "offset_below_sort",
            Self::Remove => "offset_below_sort(remove)",
        }
    }

    fn schema_check(&self) -> bool {
        true
    }
}

type Plan = Arc<dyn ExecutionPlan>;

/// Returns the limit of a node that skips rows.
fn skipping(node: &Plan) -> Option<&GlobalLimitExec> {
    node.downcast_ref::<GlobalLimitExec>().filter(|limit| limit.skip() > 0)
}

/// Operations that the nodes above may move down to a node.
#[derive(Debug, Clone, Copy, Default)]
struct PushdownScope {
    /// A sort can be moved down.
    sort: bool,
    /// A row limit can be moved down.
    fetch: bool,
}

/// Replaces each limit that skips rows by a fence, if a sort or a node that requires one is above it.
fn fenced(plan: Plan, above: PushdownScope) -> Result<Plan> {
    let requirements = plan.required_input_ordering();
    let sorts = plan.is::<SortExec>();
    let output = plan.is::<OutputRequirementExec>();
    let children = plan.children().into_iter().zip(requirements);
    let children = children.map(|(child, required)| {
        let sort = above.sort || sorts || (required.is_some() && !output);
        let fetch = above.fetch || plan.fetch().is_some();
        fenced(Arc::clone(child), PushdownScope { sort, fetch })
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    let plan = replace_children_if_necessary(plan, children)?;
    Ok(match skipping(&plan) {
        Some(limit) if above.sort => Arc::new(OffsetExec::new(limit, above.fetch)),
        _ => plan,
    })
}

/// A limit that skips rows, below which nothing is moved. It is in a plan only while sorts are placed.
#[derive(Debug, Clone)]
struct OffsetExec {
    limit: GlobalLimitExec,
    /// True if the node hides its order, because a row limit from above would be moved below together with it.
    unordered: bool,
    properties: Arc<PlanProperties>,
}

impl OffsetExec {
    fn new(limit: &GlobalLimitExec, unordered: bool) -> Self {
        let input = limit.input();
        let equivalence = match unordered {
            true => EquivalenceProperties::new(input.schema()),
            false => input.equivalence_properties().clone(),
        };
        let properties = PlanProperties::new(
            equivalence,
            Partitioning::UnknownPartitioning(1),
            input.properties().emission_type,
            Boundedness::Bounded,
        );
        Self { limit: limit.clone(), unordered, properties: Arc::new(properties) }
    }

    fn limit(&self) -> Plan {
        Arc::new(self.limit.clone())
    }
}

impl DisplayAs for OffsetExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("OffsetExec")
    }
}

impl ExecutionPlan for OffsetExec {
    one_child!("OffsetExec", |node| node.limit.input(), |node, input| {
        let mut limit = GlobalLimitExec::new(input, node.limit.skip(), node.limit.fetch());
        limit.set_required_ordering(node.limit.required_ordering().clone());
        Arc::new(Self::new(&limit, node.unordered))
    });

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    /// Requires the input order, in which rows are skipped.
    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.limit.input().output_ordering().cloned().map(OrderingRequirements::from)]
    }

    /// Returns false, so that no sort above is moved below.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    without_expressions!();

    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        internal_err!("OffsetExec does not run")
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.limit.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        input_stats: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.limit.statistics_from_inputs(input_stats, args)
    }
}
