//! The switch while queries run: its state, shared by the partitions of one execution.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::TaskContext;
use sluicegate_pruning::algorithm::join::{BUILD_A, PROBE_B};
use sluicegate_pruning::{Entries, Pruner, Selection};

use crate::switch::{Optimum, Recording, SwitchPlan, Words};

/// Which rows of a query a node sends through the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// There is one side only.
    Only,
    /// The side whose keys enter the filter; its rows go on as they are.
    Build,
    /// The side that is pruned once all of the other side's keys are in the filter. Until then its
    /// rows pass: nobody waits, so nobody can wait for ever.
    Probe,
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

/// The state of one execution. Packets of all partitions take their turns, as on a real switch.
#[derive(Debug)]
pub(crate) struct SwitchState {
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
    /// Partitions that came to their end, of those that are not the build side's.
    ended: usize,
}

impl SwitchState {
    fn new(plan: &SwitchPlan) -> Self {
        let inner = Inner {
            pruner: plan.algorithm.pruner(),
            forwarded: 0,
            trusted: plan.trusted_rows.unwrap_or(u64::MAX),
            building: None,
            recording: plan.optimum.map(|_| Recording::default()),
            ended: 0,
        };
        Self { inner: Mutex::new(inner) }
    }

    /// Announces that so many partitions will enter their keys.
    pub(crate) fn build(&self, partitions: usize) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.building.get_or_insert(partitions);
    }

    /// All keys of one partition are in the filter.
    pub(crate) fn built(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.building = inner.building.map(|left| left.saturating_sub(1));
    }

    /// A partition came to its end. After the last one, how many packets a switch without limits
    /// would have forwarded.
    pub(crate) fn end(&self, partitions: usize, optimum: Optimum) -> Option<usize> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.ended += 1;
        let recording = (inner.ended == partitions).then(|| inner.recording.take()).flatten()?;
        drop(inner);
        recording.forwarded(optimum)
    }

    /// Sends entries of a partition through the switch. Says whether it was ready to prune: before
    /// the build side's keys are in the filter, the probing side passes.
    pub(crate) fn cross(
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
        let early = side == Side::Probe && inner.building != Some(0);
        if early || inner.forwarded > inner.trusted {
            selection.fill(entries.len(), |_| true);
            return Ok(!early);
        }
        inner.pruner.prune(&entries, selection).map_err(|e| bug(&e))?;
        inner.forwarded += selection.forwarded() as u64;
        Ok(true)
    }
}

/// The executions of a plan node, or of the two sides of a join. A node holds no state of its own: it
/// may run several times, also at once.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    runs: Mutex<Vec<Run>>,
}

#[derive(Debug)]
struct Run {
    context: Weak<TaskContext>,
    partitions: HashSet<(Side, usize)>,
    state: Arc<SwitchState>,
}

impl Runs {
    /// The state for a partition of the execution in `context`: that of the other partitions, or a
    /// new one if the partition was executed there before.
    pub(crate) fn join(
        &self,
        context: &Arc<TaskContext>,
        partition: (Side, usize),
        plan: &SwitchPlan,
    ) -> Arc<SwitchState> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|run| run.context.strong_count() > 0);
        let same = |run: &&mut Run| {
            std::ptr::eq(run.context.as_ptr(), Arc::as_ptr(context))
                && !run.partitions.contains(&partition)
        };
        if let Some(run) = runs.iter_mut().find(same) {
            run.partitions.insert(partition);
            return Arc::clone(&run.state);
        }
        let state = Arc::new(SwitchState::new(plan));
        runs.push(Run {
            context: Arc::downgrade(context),
            partitions: HashSet::from([partition]),
            state: Arc::clone(&state),
        });
        state
    }
}
