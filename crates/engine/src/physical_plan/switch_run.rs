//! The switch while a query runs: its state, shared by the partitions of one execution.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::TaskContext;
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::{Entries, Pruner, Selection};

use super::switch_prune::Side;
use super::switch_snapshot::one_version as snapshot;
use crate::switch::{Recording, SwitchPlan, Words};

/// What the switch remembers during one execution of a plan. The task context carries it to all
/// nodes: nothing else in DataFusion tells the executions of one plan apart.
#[derive(Debug, Default)]
pub(super) struct Execution {
    /// By the number of the program.
    runs: Mutex<HashMap<usize, Run>>,
}

#[derive(Debug)]
struct Run {
    partitions: HashSet<(Side, usize)>,
    state: Arc<SwitchState>,
}

impl Execution {
    /// The context of an execution that starts now, within `context`. With `one_version`, it reads
    /// all objects in one version or fails.
    pub(super) fn start(context: &TaskContext, one_version: bool) -> TaskContext {
        let runtime = context.runtime_env();
        let runtime = if one_version { Arc::new(snapshot(&runtime)) } else { runtime };
        let config = context.session_config().clone().with_extension(Arc::<Self>::default());
        TaskContext::new(
            context.task_id(),
            context.session_id(),
            config,
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            runtime,
        )
    }

    /// The state for a partition, shared with the others of the same execution; `None` if the
    /// partition cannot be pruned, because it is unknown which execution it belongs to.
    pub(super) fn state(
        context: &TaskContext,
        partition: (Side, usize),
        partitions: usize,
        plan: &SwitchPlan,
    ) -> Option<Arc<SwitchState>> {
        let Some(execution) = context.session_config().get_extension::<Self>() else {
            // Several partitions must share: HAVING adds over all of them, a join's filter holds all
            // keys, and the probability of a wrong answer is that of one switch.
            let alone = partition.0 == Side::Only && partitions == 1;
            return alone.then(|| Arc::new(SwitchState::new(plan)));
        };
        let mut runs = execution.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let run = runs.entry(plan.program).or_insert_with(|| Run {
            partitions: HashSet::new(),
            state: Arc::new(SwitchState::new(plan)),
        });
        if run.partitions.insert(partition) {
            return Some(Arc::clone(&run.state));
        }
        // Some operator between runs its input twice, and who shares with whom is unknown.
        run.state.open();
        None
    }
}

impl Side {
    /// The identifier of a partition's packets.
    fn flow(self, partition: usize) -> u16 {
        match self {
            Self::Only => partition as u16,
            Self::Build => BUILD_A,
            Self::Probe => PROBE_B,
        }
    }
}

/// The state of one program. Packets of all partitions take their turns, as on a real switch.
#[derive(Debug)]
pub(super) struct SwitchState {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    pruner: Box<dyn Pruner>,
    forwarded: u64,
    trusted: u64,
    /// Partitions whose keys are not all in the filter yet; `None` before any was executed.
    building: Option<usize>,
    recording: Option<Recording>,
    /// Finished partitions, without those of the build side.
    ended: usize,
    /// Whether everything passes from now on.
    open: bool,
}

impl SwitchState {
    fn new(plan: &SwitchPlan) -> Self {
        let inner = Inner {
            pruner: plan.algorithm.pruner(),
            forwarded: 0,
            trusted: plan.trusted_rows.unwrap_or(u64::MAX),
            building: None,
            recording: plan.count_optimum.then(Recording::new),
            ended: 0,
            open: false,
        };
        Self { inner: Mutex::new(inner) }
    }

    /// Lets everything pass from now on. What was dropped so far was dropped rightly: for what this
    /// very state forwarded or counted, which the switch would also have done alone.
    fn open(&self) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).open = true;
    }

    /// Announces that so many partitions will enter their keys.
    pub(super) fn build(&self, partitions: usize) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.building.get_or_insert(partitions);
    }

    /// All keys of one partition are in the filter.
    pub(super) fn built(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.building = inner.building.map(|left| left.saturating_sub(1));
    }

    /// A partition is finished. After the last one, how many packets a switch without limits
    /// would have forwarded.
    pub(super) fn end(&self, partitions: usize, plan: &SwitchPlan) -> Option<usize> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.ended += 1;
        let recording = (inner.ended == partitions).then(|| inner.recording.take()).flatten()?;
        drop(inner);
        Some(recording.forwarded(&plan.algorithm, plan.key_words()))
    }

    /// Sends entries of a partition through the switch. Says whether it was ready to prune: before
    /// the build side's keys are in the filter, the probing side passes.
    pub(super) fn cross(
        &self,
        (side, partition): (Side, usize),
        first_id: u32,
        words: &Words,
        selection: &mut Selection,
    ) -> Result<bool> {
        let columns: Vec<&[u32]> = words.columns.iter().map(Vec::as_slice).collect();
        let bug = |error: &dyn std::fmt::Display| internal_datafusion_err!("switch: {error}");
        let entries =
            Entries::new(side.flow(partition), first_id, &columns).map_err(|e| bug(&e))?;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recording) = &mut inner.recording {
            match side {
                Side::Build => recording.build(&words.columns),
                Side::Only | Side::Probe => recording.add(&words.columns, words.unseen()),
            }
        }
        inner.open |= words.is_stop();
        let early = side == Side::Probe && inner.building != Some(0);
        // All of the batch may be forwarded.
        let most = inner.forwarded.saturating_add(entries.len() as u64);
        if early || inner.open || most > inner.trusted {
            selection.fill(entries.len(), |_| true);
            return Ok(!early);
        }
        inner.pruner.prune(&entries, selection).map_err(|e| bug(&e))?;
        inner.forwarded += selection.forwarded() as u64;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::Column;
    use sluicegate_pruning::algorithm::catalog::Configured;
    use sluicegate_pruning::algorithm::distinct::{Config, Policy, Width};

    use super::*;
    use crate::switch::{Field, Key, Resources};

    fn plan() -> SwitchPlan {
        let config = Config::new(16, 2, Width::Bits32, Policy::Lru).unwrap();
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("k", 0));
        SwitchPlan {
            program: 0,
            algorithm: Configured::Distinct(config),
            fields: vec![Field::Key(Key::fingerprint(&[column], 1, false))],
            resources: Resources {
                target: "none".to_owned(),
                stages: [0; 2],
                stateful_alus: 0,
                register_bits: 0,
                sram_blocks: 0,
                tcam_blocks: 0,
            },
            failure: 0.0,
            trusted_rows: None,
            patience: 0,
            count_optimum: false,
        }
    }

    /// Which of `keys` a partition forwards.
    fn crossing(state: &SwitchState, partition: usize, keys: &[u32]) -> Vec<usize> {
        let mut words = Words::default();
        words.start(keys.len(), 1);
        words.columns[0].extend(keys);
        let mut selection = Selection::new();
        state.cross((Side::Only, partition), 0, &words, &mut selection).unwrap();
        selection.iter().collect()
    }

    #[test]
    fn partitions_of_an_execution_share() {
        let (plan, outside) = (plan(), TaskContext::default());
        let state = |context: &TaskContext, side, partition| {
            Execution::state(context, (side, partition), 2, &plan)
        };
        assert!(state(&outside, Side::Only, 0).is_none(), "whose partition is it?");
        let (a, b) = (Execution::start(&outside, false), Execution::start(&outside, true));
        let (a0, b0) = (state(&a, Side::Only, 0).unwrap(), state(&b, Side::Only, 0).unwrap());
        let (b1, a1) = (state(&b, Side::Only, 1).unwrap(), state(&a, Side::Only, 1).unwrap());
        assert_eq!(crossing(&b1, 1, &[7, 8]), [0, 1]);
        assert_eq!(crossing(&a0, 0, &[7, 9]), [0, 1]);
        assert_eq!(crossing(&a1, 1, &[7, 8]), [1]);
        assert_eq!(crossing(&b0, 0, &[7, 9]), [1]);
        // An execution within an execution.
        let nested = state(&Execution::start(&a, false), Side::Only, 0).unwrap();
        assert_eq!(crossing(&nested, 0, &[7, 8]), [0, 1]);
    }

    #[test]
    fn a_partition_that_comes_twice_ends_the_pruning() {
        let (plan, context) = (plan(), Execution::start(&TaskContext::default(), false));
        let state = |partition| Execution::state(&context, (Side::Only, partition), 3, &plan);
        let (first, second) = (state(0).unwrap(), state(1).unwrap());
        assert_eq!(crossing(&first, 0, &[7]), [0]);
        assert!(crossing(&second, 1, &[7]).is_empty());
        assert!(state(0).is_none());
        assert_eq!(crossing(&second, 1, &[7]), [0]);
        assert_eq!(crossing(&state(2).unwrap(), 2, &[7]), [0]);
    }
}
