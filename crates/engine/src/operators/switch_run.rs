//! The switch while a query runs: its state, shared by the partitions of one execution.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_err, internal_datafusion_err, plan_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::group_sum::GroupSums;
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::deployment::Flow;
use sluicegate_pruning::{Entries, Pruner, Selection};

use super::switch_drain::SwitchDrainExec;
use super::switch_exec::SwitchExec;
use super::switch_prune::{Side, SwitchPruneExec};
use super::switch_snapshot::one_version as snapshot;
use crate::operators::switch::{Packed, Recording, SwitchPlan, Words};

/// The state of the switch during one execution of a plan. The task context passes it to all nodes, because nothing
/// else in DataFusion distinguishes the executions of one plan.
#[derive(Debug, Default)]
pub(super) struct Execution {
    /// Running programs, by program number.
    runs: Mutex<HashMap<usize, Run>>,
    /// Finished partitions above the switch, for each program that holds groups.
    drained: Mutex<HashMap<usize, HashSet<usize>>>,
    /// First flow number of each program's side. Its partitions have consecutive flow numbers.
    flows: HashMap<(usize, Side), u16>,
    packed: Option<Packed>,
}

/// The groups that a program holds at the end.
#[derive(Debug)]
pub(super) struct DrainedState {
    /// The groups with their sums.
    pub(super) groups: Vec<GroupSums>,
    /// Number of cells that were read to find the groups.
    pub(super) cells: usize,
}

#[derive(Debug)]
struct Run {
    partitions: HashSet<(Side, usize)>,
    state: Arc<SwitchState>,
}

impl Execution {
    /// Creates an empty switch for all rows that cross it in `plan`; with `packed`, its programs run as one.
    pub(super) fn new(plan: &Arc<dyn ExecutionPlan>, packed: bool) -> Result<Self> {
        let (mut flows, mut next) = (HashMap::new(), 0_usize);
        let (mut holding, mut drained) = (HashSet::new(), HashSet::new());
        let mut queries: BTreeMap<usize, (Configured, Vec<Flow>)> = BTreeMap::new();
        plan.apply(|node| {
            if node.is::<SwitchExec>() {
                // A nested `SwitchExec` has a switch of its own.
                return Ok(TreeNodeRecursion::Jump);
            }
            if let Some(drain) = node.downcast_ref::<SwitchDrainExec>() {
                drained.insert(drain.plan().program);
            }
            let Some(prune) = node.downcast_ref::<SwitchPruneExec>() else {
                return Ok(TreeNodeRecursion::Continue);
            };
            let (side, program) = (prune.side(), prune.plan().program);
            if prune.plan().algorithm.holds() {
                holding.insert(program);
            }
            let partitions = node.output_partitioning().partition_count();
            if side == Side::Again || next + partitions > 1 << 16 {
                // Rows are not pruned if the flow numbers do not suffice for their partitions.
                return Ok(TreeNodeRecursion::Continue);
            }
            flows.insert((program, side), next as u16);
            let all = (next..next + partitions).map(|fid| {
                let fid = fid as u16;
                side.role().map_or(Flow::from(fid), |role| Flow { fid, role })
            });
            let query = || (prune.plan().algorithm.clone(), Vec::new());
            queries.entry(program).or_insert_with(query).1.extend(all);
            next += partitions;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !holding.is_subset(&drained) {
            return plan_err!("nobody reads what the switch of the plan holds");
        }
        let packed = if packed { Some(Packed::new(queries)?) } else { None };
        Ok(Self { flows, packed, ..Self::default() })
    }

    /// Returns the context of an execution that starts now, within `context`. With `one_version`, it reads each
    /// object in one version or fails.
    pub(super) fn start(self, context: &TaskContext, one_version: bool) -> TaskContext {
        let runtime = context.runtime_env();
        let runtime = if one_version { Arc::new(snapshot(&runtime)) } else { runtime };
        let config = context.session_config().clone().with_extension(Arc::new(self));
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

    /// Returns the state for a partition, shared with the other partitions of the execution. Returns `None` if the
    /// partition cannot be pruned, because its execution is unknown.
    ///
    /// # Errors
    ///
    /// If the partition runs a second time while the switch holds rows dropped in the first run, because it is
    /// unknown which run should get them.
    pub(super) fn state(
        context: &TaskContext,
        partition: (Side, usize),
        partitions: usize,
        plan: &SwitchPlan,
    ) -> Result<Option<Arc<SwitchState>>> {
        let holds = plan.algorithm.holds();
        let Some(execution) = context.session_config().get_extension::<Self>() else {
            // Several partitions must share a switch: HAVING adds over all of them, a join's filter holds all keys,
            // and the probability of a wrong answer applies to one switch.
            let alone = partition.0 == Side::Only && partitions == 1 && !holds;
            let flows = HashMap::from([(Side::Only, 0)]);
            return Ok(alone.then(|| Arc::new(SwitchState::new(plan, flows, None))));
        };
        let flow = |side| Some((side, *execution.flows.get(&(plan.program, side))?));
        let flows: HashMap<Side, u16> =
            [Side::Only, Side::Build, Side::Probe].into_iter().filter_map(flow).collect();
        if !flows.contains_key(&partition.0) {
            return Ok(None);
        }
        let mut runs = execution.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let run = runs.entry(plan.program).or_insert_with(|| Run {
            partitions: HashSet::new(),
            state: Arc::new(SwitchState::new(plan, flows, execution.packed.as_ref())),
        });
        if run.partitions.insert(partition) {
            return Ok(Some(Arc::clone(&run.state)));
        }
        if holds {
            return exec_err!(
                "the switch holds sums of rows that the plan reads a second time; SET sluice.switch = 'off' for this query"
            );
        }
        // An operator above runs its input twice, and it is unknown which partitions share a run.
        run.state.open();
        Ok(None)
    }

    /// Records that a partition above a program is finished, out of `partitions`. For the last one, returns the
    /// groups that the program holds, because no row crosses it any more.
    pub(super) fn drained(
        context: &TaskContext,
        (partition, partitions): (usize, usize),
        program: usize,
    ) -> Option<DrainedState> {
        let execution = context.session_config().get_extension::<Self>()?;
        let mut drained = execution.drained.lock().unwrap_or_else(PoisonError::into_inner);
        let finished = drained.entry(program).or_default();
        let is_last = finished.insert(partition) && finished.len() == partitions;
        drop(drained);
        let runs = execution.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.get(&program).filter(|_| is_last).map(|run| run.state.drain())
    }
}

impl Side {
    /// Returns the flow number by which a join's program identifies this side.
    fn role(self) -> Option<u16> {
        match self {
            Self::Only | Self::Again => None,
            Self::Build => Some(BUILD_A),
            Self::Probe => Some(PROBE_B),
        }
    }
}

/// The fate of a batch at the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchOutcome {
    /// The program saw it.
    Seen,
    /// It passed because not all keys of the build side are in the filter yet.
    Early,
    /// It passed because pruning has stopped.
    Open,
}

/// The state of one program. Packets of all partitions take turns, as on a real switch.
#[derive(Debug)]
pub(super) struct SwitchState {
    inner: Mutex<SwitchRunState>,
    flows: HashMap<Side, u16>,
    /// True if the program identifies the sides of a join by its own flow numbers.
    by_role: bool,
    /// Number of cells that are read at the end.
    cells: usize,
}

#[derive(Debug)]
struct SwitchRunState {
    pruner: Box<dyn Pruner>,
    forwarded: u64,
    trusted: u64,
    /// Number of further entries that fit the held sums without overflow.
    room: u64,
    /// Number of partitions whose keys are not all in the filter yet; `None` before the first one starts.
    building: Option<usize>,
    recording: Option<Recording>,
    /// Number of finished partitions, without those of the build side.
    ended: usize,
    /// True if all further rows pass.
    open: bool,
}

impl SwitchState {
    fn new(plan: &SwitchPlan, flows: HashMap<Side, u16>, packed: Option<&Packed>) -> Self {
        let inner = SwitchRunState {
            pruner: match packed {
                Some(packed) => packed.pruner(plan.program, plan.words()),
                None => plan.algorithm.pruner(),
            },
            forwarded: 0,
            trusted: plan.trusted_rows.unwrap_or(u64::MAX),
            // Sums of 64 bits cannot overflow with this many words.
            room: if plan.algorithm.holds() { u32::MAX.into() } else { u64::MAX },
            building: None,
            recording: plan.count_optimum.then(Recording::new),
            ended: 0,
            open: false,
        };
        let (by_role, cells) = (packed.is_none(), plan.algorithm.cells_held());
        Self { inner: Mutex::new(inner), flows, by_role, cells }
    }

    /// Returns the flow number of a partition's packets that the pruner expects.
    fn flow(&self, side: Side, partition: usize) -> u16 {
        let fid = self.flows.get(&side).map_or(0, |first| first.wrapping_add(partition as u16));
        side.role().filter(|_| self.by_role).unwrap_or(fid)
    }

    /// Lets all further rows pass. Rows dropped so far stay dropped rightly, because they were dropped for rows that
    /// this state forwarded or counted, as the switch would have done alone.
    fn open(&self) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).open = true;
    }

    /// Returns the groups that the program holds, once no row crosses it any more.
    fn drain(&self) -> DrainedState {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.open = true;
        DrainedState { groups: inner.pruner.group_sums(), cells: self.cells }
    }

    /// Announces the number of partitions that will enter their keys.
    pub(super) fn build(&self, partitions: usize) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.building.get_or_insert(partitions);
    }

    /// Records that all keys of one partition are in the filter.
    pub(super) fn built(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.building = inner.building.map(|left| left.saturating_sub(1));
    }

    /// Records that a partition is finished. For the last one, returns the number of packets that a switch without
    /// limits would have forwarded.
    pub(super) fn end(&self, partitions: usize, plan: &SwitchPlan) -> Option<usize> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.ended += 1;
        let recording = (inner.ended == partitions).then(|| inner.recording.take()).flatten()?;
        drop(inner);
        Some(recording.forwarded(&plan.algorithm, plan.key_words()))
    }

    /// Sends entries of a partition through the switch. The partition has sent `first_id` entries before.
    pub(super) fn cross(
        &self,
        (side, partition): (Side, usize),
        first_id: u32,
        words: &Words,
        selection: &mut Selection,
    ) -> Result<BatchOutcome> {
        let columns: Vec<&[u32]> = words.columns.iter().map(Vec::as_slice).collect();
        let bug = |error: &dyn std::fmt::Display| internal_datafusion_err!("switch: {error}");
        let flow = self.flow(side, partition);
        let first_id = sluicegate_pruning::first_id(flow).wrapping_add(first_id);
        let entries = Entries::new(flow, first_id, &columns).map_err(|e| bug(&e))?;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recording) = &mut inner.recording {
            match side {
                Side::Build => recording.build(&words.columns),
                Side::Only | Side::Probe | Side::Again => {
                    recording.add(&words.columns, words.unseen())
                }
            }
        }
        inner.open |= words.is_stop();
        let early = side == Side::Probe && inner.building != Some(0);
        // All rows of the batch may be forwarded.
        let most = inner.forwarded.saturating_add(entries.len() as u64);
        let room = inner.room.checked_sub(entries.len() as u64);
        inner.open |= room.is_none();
        inner.room = room.unwrap_or(0);
        if early || inner.open || most > inner.trusted {
            selection.fill(entries.len(), |_| true);
            return Ok(if early { BatchOutcome::Early } else { BatchOutcome::Open });
        }
        inner.pruner.prune(&entries, selection).map_err(|e| bug(&e))?;
        inner.forwarded += selection.forwarded() as u64;
        Ok(BatchOutcome::Seen)
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field as ArrowField, Schema};
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::union::UnionExec;
    use sluicegate_pruning::algorithm::catalog::Configured;
    use sluicegate_pruning::algorithm::distinct::{Config, Policy, Width};
    use sluicegate_pruning::algorithm::group_sum;

    use super::*;
    use crate::operators::switch::{Field, Key, Resources};

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

    /// Returns a plan that counts the rows of each key in the switch.
    fn counting() -> SwitchPlan {
        let config = group_sum::Config::new(16, 2).unwrap();
        SwitchPlan { algorithm: Configured::GroupSum(config), ..plan() }
    }

    /// Returns the positions of the `keys` that a partition forwards.
    fn crossing(state: &SwitchState, partition: usize, keys: &[u32]) -> Vec<usize> {
        sending(state, partition, &[keys])
    }

    /// Returns the positions of the `keys`, each with 1 to add, that a partition forwards.
    fn adding(state: &SwitchState, partition: usize, keys: &[u32]) -> Vec<usize> {
        sending(state, partition, &[keys, &vec![1; keys.len()]])
    }

    fn sending(state: &SwitchState, partition: usize, columns: &[&[u32]]) -> Vec<usize> {
        let mut words = Words::default();
        words.start(columns[0].len(), columns.len());
        words.columns.iter_mut().zip(columns).for_each(|(to, column)| to.extend(*column));
        let mut selection = Selection::new();
        state.cross((Side::Only, partition), 0, &words, &mut selection).unwrap();
        selection.iter().collect()
    }

    #[test]
    fn partitions_of_an_execution_share() {
        let (plan, outside) = (plan(), TaskContext::default());
        let state = |context: &TaskContext, side, partition| {
            Execution::state(context, (side, partition), 2, &plan).unwrap()
        };
        assert!(state(&outside, Side::Only, 0).is_none(), "whose partition is it?");
        let start = |context: &TaskContext, one_version| {
            let flows = HashMap::from([((0, Side::Only), 0)]);
            Execution { flows, ..Execution::default() }.start(context, one_version)
        };
        let (a, b) = (start(&outside, false), start(&outside, true));
        let (a0, b0) = (state(&a, Side::Only, 0).unwrap(), state(&b, Side::Only, 0).unwrap());
        let (b1, a1) = (state(&b, Side::Only, 1).unwrap(), state(&a, Side::Only, 1).unwrap());
        assert_eq!(crossing(&b1, 1, &[7, 8]), [0, 1]);
        assert_eq!(crossing(&a0, 0, &[7, 9]), [0, 1]);
        assert_eq!(crossing(&a1, 1, &[7, 8]), [1]);
        assert_eq!(crossing(&b0, 0, &[7, 9]), [1]);
        // An execution nested in an execution has a state of its own.
        let nested = state(&start(&a, false), Side::Only, 0).unwrap();
        assert_eq!(crossing(&nested, 0, &[7, 8]), [0, 1]);
    }

    #[test]
    fn a_partition_that_comes_twice_ends_the_pruning() {
        let flows = HashMap::from([((0, Side::Only), 0)]);
        let execution = Execution { flows, ..Execution::default() };
        let (plan, context) = (plan(), execution.start(&TaskContext::default(), false));
        let state =
            |partition| Execution::state(&context, (Side::Only, partition), 3, &plan).unwrap();
        let (first, second) = (state(0).unwrap(), state(1).unwrap());
        assert_eq!(crossing(&first, 0, &[7]), [0]);
        assert!(crossing(&second, 1, &[7]).is_empty());
        assert!(state(0).is_none());
        assert_eq!(crossing(&second, 1, &[7]), [0]);
        assert_eq!(crossing(&state(2).unwrap(), 2, &[7]), [0]);
    }

    /// Returns the keys and the first sums that are handed over.
    fn handed(drained: &DrainedState) -> Vec<(u64, u64)> {
        let mut sums: Vec<_> = drained.groups.iter().map(|held| (held.key, held.sums[0])).collect();
        sums.sort_unstable();
        sums
    }

    /// A partition with rows in the sums must not run again beside them. The query ends with an error, and the
    /// handed-over sums of the other partitions count each row once.
    #[test]
    fn rows_of_a_partition_that_comes_twice_are_not_added_twice() {
        let flows = HashMap::from([((0, Side::Only), 0)]);
        let execution = Execution { flows, ..Execution::default() };
        let (plan, context) = (counting(), execution.start(&TaskContext::default(), false));
        let state = |partition| Execution::state(&context, (Side::Only, partition), 2, &plan);
        let (first, second) = (state(0).unwrap().unwrap(), state(1).unwrap().unwrap());
        assert!(adding(&first, 0, &[7, 8]).is_empty(), "the switch holds them");
        let refused = state(0).unwrap_err().to_string();
        assert!(refused.contains("a second time"), "{refused}");
        assert!(adding(&second, 1, &[7]).is_empty());
        let drained = |partition| Execution::drained(&context, (partition, 2), 0);
        assert!(drained(0).is_none());
        assert!(drained(0).is_none(), "it ends once");
        assert_eq!(handed(&drained(1).unwrap()), [(7, 2), (8, 1)]);
        assert!(drained(1).is_none(), "sums are handed over once");
    }

    /// A sum of 64 bits is exact for 2³² − 1 words of 32 bits. Further packets pass.
    #[test]
    fn sums_take_no_more_packets_than_they_have_room_for() {
        let state = SwitchState::new(&counting(), HashMap::from([(Side::Only, 0)]), None);
        assert_eq!(state.inner.lock().unwrap().room, (1 << 32) - 1);
        state.inner.lock().unwrap().room = 3;
        assert!(adding(&state, 0, &[7, 8]).is_empty());
        assert_eq!(adding(&state, 0, &[7, 8]), [0, 1], "there is room for one");
        assert_eq!(adding(&state, 0, &[7]), [0], "what follows passes, too");
        assert_eq!(handed(&state.drain()), [(7, 1), (8, 1)]);
    }

    /// Flow and identifier name a row: no two partitions of a plan share a flow, whichever program and side they
    /// belong to.
    #[test]
    fn flows_are_unique() {
        let schema = Arc::new(Schema::new(vec![ArrowField::new("k", DataType::Int32, false)]));
        let source = |partitions| {
            let empty = EmptyExec::new(Arc::clone(&schema)).with_partitions(partitions);
            Arc::new(empty) as Arc<dyn ExecutionPlan>
        };
        let of = |program| SwitchPlan { program, ..plan() };
        let sides = SwitchPruneExec::join([source(3), source(2)], [of(1), of(1)]);
        let [build, probe] = sides.map(|side| Arc::new(side) as Arc<dyn ExecutionPlan>);
        let only: Arc<dyn ExecutionPlan> = Arc::new(SwitchPruneExec::new(source(4), of(0)));
        let union = UnionExec::try_new(vec![only, build, probe]).unwrap();
        let execution = Execution::new(&union, false).unwrap();
        let mut all = Vec::new();
        for (program, side, partitions) in
            [(0, Side::Only, 4), (1, Side::Build, 3), (1, Side::Probe, 2)]
        {
            let first = execution.flows[&(program, side)];
            all.extend((0..partitions).map(|partition| first + partition));
        }
        all.sort_unstable();
        assert_eq!(all, (0..9).collect::<Vec<u16>>());
    }
}
