//! The programs of a query as one, run packet by packet as on the switch itself.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::deployment::Flow;
use sluicegate_pruning::deployment::pack::{Query, pack};
use sluicegate_pruning::switch::{Interpreter, WrongValues};
use sluicegate_pruning::{Entries, Pruner, Selection, Verdict};

/// One switch with all programs of a query.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    switch: Arc<Mutex<Interpreter>>,
}

impl Packed {
    /// A switch for these algorithms, each with the flows that it serves.
    pub(crate) fn new(queries: &[(Configured, Vec<Flow>)]) -> Result<Self> {
        let programs: Vec<_> = queries.iter().map(|(algorithm, _)| algorithm.program()).collect();
        let queries: Vec<Query<'_>> = programs
            .iter()
            .zip(queries)
            .map(|(program, (_, flows))| Query { program, flows })
            .collect();
        let bug = |error: &dyn std::fmt::Display| -> DataFusionError {
            internal_datafusion_err!("the query's switch programs cannot be packed: {error}")
        };
        let packed = pack("query", &queries).map_err(|e| bug(&e))?;
        let switch = Interpreter::new(packed).map_err(|e| bug(&e))?;
        Ok(Self { switch: Arc::new(Mutex::new(switch)) })
    }

    /// Asks the switch about packets of so many values.
    pub(crate) fn pruner(&self, values: usize) -> Box<dyn Pruner> {
        Box::new(Asked { switch: Arc::clone(&self.switch), values })
    }
}

#[derive(Debug)]
struct Asked {
    switch: Arc<Mutex<Interpreter>>,
    values: usize,
}

impl Pruner for Asked {
    fn values(&self) -> usize {
        self.values
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), WrongValues> {
        let columns = entries.columns();
        if columns.len() != self.values {
            return Err(WrongValues { expected: self.values, actual: columns.len() });
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

    /// Those of all programs.
    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner).registers().to_vec()
    }

    /// Reboots the switch, all programs.
    fn reset(&mut self) {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner).reset();
    }
}
