//! The packed program of a query: all its programs as one, run packet by packet as on the switch itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::group_sum::GroupSums;
use sluicegate_pruning::deployment::Flow;
use sluicegate_pruning::deployment::pack::{Query, pack};
use sluicegate_pruning::switch::{Interpreter, RejectedPacket};
use sluicegate_pruning::{Entries, Pruner, Selection, Verdict};

/// One switch with all programs of a query.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    switch: Arc<Mutex<Interpreter>>,
    /// The algorithm and the index of its first register array, by program number.
    parts: BTreeMap<usize, (Configured, usize)>,
}

impl Packed {
    /// Creates a switch for these algorithms, by program number, each with the flows that it serves.
    pub(crate) fn new(queries: BTreeMap<usize, (Configured, Vec<Flow>)>) -> Result<Self> {
        let programs: Vec<_> = queries.values().map(|(algorithm, _)| algorithm.program()).collect();
        let packing: Vec<Query<'_>> = programs
            .iter()
            .zip(queries.values())
            .map(|(program, (_, flows))| Query { program, flows })
            .collect();
        let bug = |error: &dyn std::fmt::Display| -> DataFusionError {
            internal_datafusion_err!("the query's switch programs cannot be packed: {error}")
        };
        let packed = pack("query", &packing).map_err(|e| bug(&e))?;
        let switch = Interpreter::new(packed).map_err(|e| bug(&e))?;
        let mut first = 0;
        let parts =
            queries.into_iter().zip(&programs).map(|((number, (algorithm, _)), program)| {
                let from = first;
                first += program.registers.len();
                (number, (algorithm, from))
            });
        let parts = parts.collect();
        Ok(Self { switch: Arc::new(Mutex::new(switch)), parts })
    }

    /// Returns a pruner for packets of `values` words that belong to the program with this number.
    pub(crate) fn pruner(&self, number: usize, values: usize) -> Box<dyn Pruner> {
        let part = self.parts.get(&number).cloned();
        Box::new(PackedPruner { switch: Arc::clone(&self.switch), values, part })
    }
}

#[derive(Debug)]
struct PackedPruner {
    switch: Arc<Mutex<Interpreter>>,
    values: usize,
    part: Option<(Configured, usize)>,
}

impl Pruner for PackedPruner {
    fn values(&self) -> usize {
        self.values
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let columns = entries.columns();
        if columns.len() != self.values {
            return Err(RejectedPacket { expected: self.values, actual: columns.len() });
        }
        let mut switch = self.switch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut packet = vec![0; self.values];
        let mut wrong = Ok(());
        selection.fill(entries.len(), |at| {
            packet.iter_mut().zip(columns).for_each(|(to, column)| *to = column[at]);
            let id = entries.first_id().wrapping_add(at as u32);
            match switch.process(entries.flow(), id, &packet) {
                Ok(verdict) => verdict == Verdict::Forward,
                Err(error) => {
                    wrong = Err(error);
                    true
                }
            }
        });
        wrong
    }

    fn group_sums(&self) -> Vec<GroupSums> {
        let Some((algorithm, first)) = &self.part else { return Vec::new() };
        let switch = self.switch.lock().unwrap_or_else(PoisonError::into_inner);
        // `group_sums_in` ignores the registers of later programs.
        switch.registers().get(*first..).map_or_else(Vec::new, |own| algorithm.group_sums_in(own))
    }

    /// Returns the registers of all programs.
    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner).registers().to_vec()
    }

    /// Reboots the switch, which resets all programs.
    fn reset(&mut self) {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner).reset();
    }
}
