//! The switch of a query, above all operators that cross it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::Distribution;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements,
    PlanProperties, StatisticsArgs,
};
use sluicegate_guards::{one_child, without_expressions};

use super::switch_prune::SwitchPruneExec;
use super::switch_run::Execution;

/// Starts the switch: each execution of this node gives the
/// [`SwitchPruneExec`]s below an empty switch, which they share.
///
/// The node requires a single partition, so that one execution of the plan is one call of `execute`.
#[derive(Debug, Clone)]
pub struct SwitchExec {
    input: Arc<dyn ExecutionPlan>,
    one_version: bool,
    packed: bool,
}

impl SwitchExec {
    /// Creates a switch for all rows that cross it in `input`. With `one_version`, an execution fails if an object
    /// changes between two reads.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>, one_version: bool) -> Self {
        Self { input, one_version, packed: false }
    }

    /// Sets whether the programs run packed into one.
    #[must_use]
    pub fn packed(self, packed: bool) -> Self {
        Self { packed, ..self }
    }

    /// Returns true if the programs run packed into one.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// Returns an upper bound of the probability of a wrong answer: the sum over the operators below, with the two
    /// sides of a join counted once.
    #[must_use]
    pub fn failure(&self) -> f64 {
        let mut failures = BTreeMap::new();
        // The visitor never fails.
        let _ = self.input.apply(|node| {
            if let Some(prune) = node.downcast_ref::<SwitchPruneExec>() {
                failures.insert(prune.plan().program, prune.plan().failure);
            }
            Ok(TreeNodeRecursion::Continue)
        });
        failures.into_values().sum::<f64>().min(1.0)
    }

    /// Returns true if an execution fails when an object changes between two reads.
    #[must_use]
    pub fn one_version(&self) -> bool {
        self.one_version
    }
}

impl DisplayAs for SwitchExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                f.write_str("SwitchExec")?;
                let notes = [
                    self.one_version.then_some("one version of each object"),
                    self.packed.then_some("programs packed into one"),
                ];
                let notes: Vec<&str> = notes.into_iter().flatten().collect();
                if !notes.is_empty() {
                    write!(f, ": {}", notes.join(", "))?;
                }
                let failure = self.failure();
                if failure > 0.0 { write!(f, " (failure<={failure:.1e})") } else { Ok(()) }
            }
            DisplayFormatType::TreeRender => Ok(()),
        }
    }
}

impl ExecutionPlan for SwitchExec {
    one_child!("SwitchExec", |node, input| Arc::new(Self { input, ..*node }));

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    without_expressions!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let switch = Execution::new(&self.input, self.packed)?;
        self.input.execute(partition, Arc::new(switch.start(&context, self.one_version)))
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
