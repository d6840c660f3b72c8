//! Several switches (paper §9): a tree that prunes twice, and a graph of workers with a program for each edge.
//!
//! A tree is sound because pruning twice is: `Q(A₂(A₁(D))) = Q(D)`. Each leaf processes only its workers' entries,
//! and the root only the entries that the leaves forward. JOIN and HAVING must process every entry in one place: they
//! belong in the root, with nothing below.

use thiserror::Error;

use crate::deployment::Flow;
use crate::deployment::pack::{PackError, Query, pack};
use crate::switch::{Program, RejectedPacket};
use crate::{Entries, Pruner, Selection};

/// Leaf switches, each before a partition of the workers, and one switch before the master.
#[derive(Debug)]
pub struct Tree {
    leaves: Vec<Box<dyn Pruner>>,
    root: Box<dyn Pruner>,
    next_id: u32,
    columns: Vec<Vec<u32>>,
    survivors: Vec<usize>,
    at_root: Selection,
}

/// The reason why a batch cannot go through a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A pruner for JOIN or HAVING with a sum, which must process every entry.
    #[error(
        "a pruner that must see every entry stands in no tree: give it the one switch that all entries cross"
    )]
    NeedsEveryEntry,
    /// There is no such leaf.
    #[error("the tree has {leaves} leaves, not number {leaf}")]
    Leaf {
        /// The leaf that was given.
        leaf: usize,
        /// The number of leaves in the tree.
        leaves: usize,
    },
    /// A batch has another number of values.
    #[error(transparent)]
    Values(#[from] RejectedPacket),
}

impl Tree {
    /// Creates a tree of these switches.
    ///
    /// # Errors
    ///
    /// If one of them must process every entry: a leaf gets only its own workers' entries, the root only forwarded
    /// ones.
    pub fn new(leaves: Vec<Box<dyn Pruner>>, root: Box<dyn Pruner>) -> Result<Self, TreeError> {
        if leaves.iter().chain([&root]).any(|pruner| pruner.needs_every_entry()) {
            return Err(TreeError::NeedsEveryEntry);
        }
        Ok(Self {
            leaves,
            root,
            next_id: 0,
            columns: Vec::new(),
            survivors: Vec::new(),
            at_root: Selection::new(),
        })
    }

    /// Sends a batch from a worker below leaf `leaf` to the master. The root numbers its entries itself, in order of
    /// arrival.
    ///
    /// # Errors
    ///
    /// If there is no such leaf, or the batch has another number of values.
    pub fn prune(
        &mut self,
        leaf: usize,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), TreeError> {
        let leaves = self.leaves.len();
        self.leaves
            .get_mut(leaf)
            .ok_or(TreeError::Leaf { leaf, leaves })?
            .prune(entries, selection)?;
        self.survivors.clear();
        self.survivors.extend(selection.iter());
        self.columns.resize(entries.columns().len(), Vec::new());
        for (kept, column) in self.columns.iter_mut().zip(entries.columns()) {
            kept.clear();
            kept.extend(self.survivors.iter().map(|&at| column[at]));
        }
        let columns: Vec<&[u32]> = self.columns.iter().map(Vec::as_slice).collect();
        // Columns cut by one selection have the same length.
        let Ok(left) = Entries::new(entries.flow(), self.next_id, &columns) else { return Ok(()) };
        self.root.prune(&left, &mut self.at_root)?;
        self.next_id = self.next_id.wrapping_add(left.len() as u32);
        let mut kept = self.at_root.iter().map(|at| self.survivors[at]).peekable();
        selection.fill(entries.len(), |at| kept.next_if_eq(&at).is_some());
        Ok(())
    }

    /// Reboots all switches of the tree.
    pub fn reset(&mut self) {
        self.leaves.iter_mut().for_each(|leaf| leaf.reset());
        self.root.reset();
        self.next_id = 0;
    }
}

/// A graph of workers: each edge between two of them has a port, which is its flow identifier, and a
/// program of its own on the switch between them.
#[derive(Debug, Clone, Default)]
pub struct Dag {
    edges: Vec<Edge>,
}

#[derive(Debug, Clone)]
struct Edge {
    from: u32,
    to: u32,
    port: u16,
    program: Program,
}

/// The reason why an edge or a graph is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DagError {
    /// Another edge has the same port.
    #[error("port {0} is taken")]
    Port(u16),
    /// The edge would close a cycle.
    #[error("the edge from worker {from} to worker {to} closes a cycle")]
    Circle {
        /// The worker at its start.
        from: u32,
        /// The worker at its end.
        to: u32,
    },
    /// The edges' programs cannot be packed.
    #[error(transparent)]
    Pack(#[from] PackError),
}

impl Dag {
    /// Creates a graph without edges.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an edge from worker `from` to worker `to`.
    ///
    /// # Errors
    ///
    /// If the port is taken or the edge closes a cycle; the graph is then unchanged.
    pub fn edge(
        &mut self,
        from: u32,
        to: u32,
        port: u16,
        program: Program,
    ) -> Result<(), DagError> {
        if self.edges.iter().any(|edge| edge.port == port) {
            return Err(DagError::Port(port));
        }
        if self.reaches(to, from) {
            return Err(DagError::Circle { from, to });
        }
        self.edges.push(Edge { from, to, port, program });
        Ok(())
    }

    fn reaches(&self, from: u32, to: u32) -> bool {
        let mut open = vec![from];
        let mut seen = Vec::new();
        while let Some(worker) = open.pop() {
            if worker == to {
                return true;
            }
            if !seen.contains(&worker) {
                seen.push(worker);
                open.extend(
                    self.edges.iter().filter(|edge| edge.from == worker).map(|edge| edge.to),
                );
            }
        }
        false
    }

    /// Returns one program for a switch that all edges cross, to be fitted to a target.
    ///
    /// # Errors
    ///
    /// If the programs cannot be packed.
    pub fn program(&self, name: &str) -> Result<Program, DagError> {
        let ports: Vec<[Flow; 1]> = self.edges.iter().map(|edge| [edge.port.into()]).collect();
        let queries: Vec<Query<'_>> = self
            .edges
            .iter()
            .zip(&ports)
            .map(|(edge, flows)| Query { program: &edge.program, flows })
            .collect();
        Ok(pack(name, &queries)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Verdict;
    use crate::algorithm::distinct::{self, Policy, Width};
    use crate::algorithm::filter::{self, Formula};
    use crate::experiment::conformance::column;
    use crate::switch::{Interpreter, Relation};

    fn distinct() -> distinct::Config {
        distinct::Config::new(8, 2, Width::Bits32, Policy::Lru).unwrap()
    }

    #[test]
    fn the_root_prunes_across_leaves() {
        let mut tree = Tree::new(
            vec![Box::new(distinct().pruner()), Box::new(distinct().pruner())],
            Box::new(distinct().pruner()),
        )
        .unwrap();
        let mut selection = Selection::new();
        let mut send = |leaf, keys: &[u32]| {
            tree.prune(leaf, &Entries::new(0, 0, &[keys]).unwrap(), &mut selection).unwrap();
            selection.iter().collect::<Vec<_>>()
        };
        assert_eq!(send(0, &[5, 6, 5]), [0, 1]);
        assert_eq!(send(1, &[9, 5, 6, 9]), [0], "5 and 6 came through the other leaf");
        let error = tree.prune(2, &Entries::new(0, 0, &[&[1]]).unwrap(), &mut Selection::new());
        assert_eq!(error, Err(TreeError::Leaf { leaf: 2, leaves: 2 }));
    }

    /// Each leaf gets a part of a group's sum, and none crosses the threshold.
    #[test]
    fn what_must_see_every_entry_is_refused() {
        use crate::algorithm::catalog::{Algorithm, Parameters};
        for (algorithm, taken) in [
            (Algorithm::Having, false),
            (Algorithm::JoinBloom, false),
            (Algorithm::JoinRegisterBloom, false),
            (Algorithm::HavingExtreme, true),
            (Algorithm::GroupBy, true),
        ] {
            let pruner = || algorithm.configure(&Parameters::default()).unwrap().pruner();
            let leaf = Tree::new(vec![pruner()], Box::new(distinct().pruner()));
            let root = Tree::new(vec![Box::new(distinct().pruner())], pruner());
            assert_eq!((leaf.is_ok(), root.is_ok()), (taken, taken), "{algorithm}");
        }
    }

    #[test]
    fn every_edge_has_its_program() {
        let small =
            filter::Config::new(&Formula::compare(0, Relation::Lt, 5), 1, None).unwrap().program();
        let mut dag = Dag::new();
        dag.edge(1, 2, 10, small.clone()).unwrap();
        dag.edge(2, 3, 11, distinct().program()).unwrap();
        assert_eq!(dag.edge(3, 1, 12, small.clone()), Err(DagError::Circle { from: 3, to: 1 }));
        assert_eq!(dag.edge(1, 3, 10, small), Err(DagError::Port(10)));
        let mut run = Interpreter::new(dag.program("edges").unwrap()).unwrap();
        let verdicts = [(10, 9), (11, 9), (11, 9), (10, 3), (10, 3)]
            .map(|(port, v)| run.process(port, 0, &[v]).unwrap());
        use Verdict::{Forward, Prune};
        assert_eq!(verdicts, [Prune, Forward, Prune, Forward, Forward]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_tree_keeps_every_key(a in column(150), b in column(150), batch in 1..80_usize) {
            let mut tree = Tree::new(
                vec![Box::new(distinct().pruner()), Box::new(distinct().pruner())],
                Box::new(distinct().pruner()),
            )
            .unwrap();
            let (mut selection, mut left) = (Selection::new(), BTreeSet::new());
            for (a, b) in a.chunks(batch).zip(b.chunks(batch)) {
                for (leaf, keys) in [a, b].into_iter().enumerate() {
                    tree.prune(leaf, &Entries::new(0, 0, &[keys]).unwrap(), &mut selection).unwrap();
                    left.extend(selection.iter().map(|at| keys[at]));
                }
            }
            prop_assert_eq!(left, a.into_iter().chain(b).collect::<BTreeSet<_>>());
        }
    }
}
