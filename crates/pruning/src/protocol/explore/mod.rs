//! The model checker: every order of events of a small case, with a budget of faults.
//!
//! [`explore()`] is the entry point; `graph.rs` stores the states that were reached.

mod graph;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use self::graph::Graph;
use super::master::{Arrival, Master};
use super::packet::{Entry, Name, Packet};
use super::prune::Pruner;
use super::query::Query;
use super::rules::Rules;
use super::switch::{Action, Switch};
use super::worker::Worker;

/// The greatest number of faults of each kind in a run, and of states to explore. Packets are reordered and delayed
/// without limit, and any timeout may end at any time, unless all end [in step](Self::in_step).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    /// The number of packets that may be lost.
    pub losses: u8,
    /// The number of packets doubled by a link, or sent again while a copy or its acknowledgement is in flight.
    pub duplicates: u8,
    /// The number of reboots of the switch.
    pub reboots: u8,
    /// The number of crashes of workers, which keep their rows and begin again.
    pub worker_crashes: u8,
    /// The number of crashes of the master, which issues the query again while packets of the earlier one are still
    /// in flight.
    pub master_crashes: u8,
    /// The greatest number of packets waiting at the master; further ones are lost, regardless of the budget. `None`:
    /// the master takes packets as they come.
    pub queue: Option<u8>,
    /// True for workers with a constant timeout over links without delay: all timeouts end together, once nothing is
    /// in flight any more, and no packet overtakes another. Backed-off timeouts (`backoff.rs`) end in any order
    /// sooner or later.
    pub in_step: bool,
    /// The identifier before each flow's first; near the greatest, identifiers wrap.
    pub first_id: u32,
    /// The number of states after which the exploration gives up.
    pub states: usize,
}

impl Budget {
    /// Returns a budget without faults, for `states` states.
    #[must_use]
    pub const fn faultless(states: usize) -> Self {
        Self {
            losses: 0,
            duplicates: 0,
            reboots: 0,
            worker_crashes: 0,
            master_crashes: 0,
            queue: None,
            in_step: false,
            first_id: 0,
            states,
        }
    }
}

/// The result of an exploration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exploration {
    /// The number of different states that were reached.
    pub states: usize,
    /// The number of ends with the right answer.
    pub correct: usize,
    /// The number of ends with a wrong answer.
    pub wrong: usize,
    /// The number of states from which no end can be reached.
    pub stuck: usize,
    /// The number of states in which the protocol breaks a promise on the way: an entry is processed twice in an
    /// epoch, or acknowledged though it was neither delivered nor pruned *in its attempt*.
    ///
    /// A master that begins again gives up the entries delivered in the attempt before, whose acknowledgements may
    /// still be in flight. They do no harm: the worker's FIN carries its attempt, and the reply is the restart that
    /// makes it send all its entries again. An acknowledgement of an entry that never arrived breaks the promise in
    /// any attempt.
    pub broken: usize,
    /// True if all states were visited; otherwise `stuck` is 0.
    pub complete: bool,
    /// A shortest run to a wrong answer, one event per line.
    pub wrong_run: Option<Vec<String>>,
    /// A shortest run to a broken promise, which the last line names.
    pub broken_run: Option<Vec<String>>,
    /// A shortest run to a state from which no end can be reached.
    pub stuck_run: Option<Vec<String>>,
}

impl Exploration {
    /// Returns true if all states were visited and every run ends with the right answer.
    #[must_use]
    pub const fn is_safe(&self) -> bool {
        self.complete && self.wrong == 0 && self.broken == 0 && self.stuck == 0 && self.correct > 0
    }
}

/// Explores all runs of `query` on the given `rows` of each worker, breadth first. They include bursts, overflows of
/// the master's queue, and links that reorder, because any packet may be late or, within the budget, lost.
///
/// States are distinguished by fingerprints of 128 bits. Of n states, two look the same with a probability below
/// n²/2¹²⁹, which is 10⁻²⁴ for ten million.
///
/// # Example
///
/// One row, one reboot, no other fault: the paper's protocol works only if the row is acknowledged after it; with two
/// rows it can get stuck.
/// ```
/// use sluicegate_pruning::protocol::{Budget, Entry, Query, Rules, SmallPruner, explore};
///
/// let row = |key| Entry { pass: 0, table: 0, key, value: 0 };
/// let budget = Budget { reboots: 1, ..Budget::faultless(10_000) };
/// let check = |rules| {
///     let pruner = SmallPruner::new(Query::Distinct);
///     explore(Query::Distinct, rules, &[vec![row(1), row(2)]], &pruner, budget)
/// };
/// assert!(check(Rules::paper()).stuck > 0);
/// assert!(check(Rules::repaired()).is_safe());
/// ```
pub fn explore<P: Pruner + Clone + Hash>(
    query: Query,
    rules: Rules,
    rows: &[Vec<Entry>],
    pruner: &P,
    budget: Budget,
) -> Exploration {
    let all: Vec<Entry> = rows.iter().flatten().copied().collect();
    let mut copies = BTreeMap::new();
    all.iter().for_each(|row| *copies.entry((row.table, row.key, row.value)).or_insert(0) += 1);
    let workers = rows.iter().zip(0u16..);
    let start = State {
        workers: workers
            .map(|(rows, fid)| {
                Worker::new(fid, rules, query, budget.first_id, rows.as_slice().into())
            })
            .collect(),
        switch: Switch::new(rules, query, budget.first_id, pruner.clone()),
        master: Master::new(rules, query, rows.len()),
        wire: Vec::new(),
        left: budget,
        processed: BTreeSet::new(),
        pruned: BTreeSet::new(),
        given_up: BTreeSet::new(),
        broken: None,
        case: Arc::new(Case { copies, once: !rules.replay, asks_again: budget.worker_crashes > 0 }),
    };
    let mut graph = Graph::new(start, query.answer(&all));
    let complete = graph.expand(budget.states);
    graph.judge(complete)
}

/// The next stop of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Destination {
    Switch,
    Master,
    /// The queue in which it waits until the master takes it.
    Queue,
    Worker,
}

/// An event; numbers are positions on the wire, or of workers.
#[derive(Debug, Clone, Copy)]
enum Step {
    Deliver(u16),
    Lose(u16),
    Double(u16),
    Send(u16),
    Again(u16, u32),
    Fin(u16),
    /// All timeouts end at once.
    Timeouts,
    Reboot,
    CrashWorker(u16),
    CrashMaster,
}

#[derive(Clone, Hash)]
struct State<P> {
    workers: Vec<Worker>,
    switch: Switch<P>,
    master: Master,
    /// Packets in flight: sorted or, if no packet overtakes another, in their order.
    wire: Vec<(Destination, Packet)>,
    left: Budget,
    /// Names of entries that the switch processed in this boot; `pruned` are those that it pruned in any boot.
    processed: BTreeSet<Name>,
    pruned: BTreeSet<Name>,
    /// Names of entries that were delivered before the master began again.
    given_up: BTreeSet<Name>,
    /// The promise that was broken, if any.
    broken: Option<&'static str>,
    case: Arc<Case>,
}

/// The constants of an exploration.
struct Case {
    /// The number of times that each row occurs.
    copies: BTreeMap<(u8, u64, u64), usize>,
    /// True if no entry may be processed twice.
    once: bool,
    /// True if a crashed worker may send entries again that were acknowledged.
    asks_again: bool,
}

/// The hash is empty, because the case is the same in all states.
impl Hash for Case {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<P: Pruner + Clone> State<P> {
    /// Returns the events that can happen next.
    fn steps(&self) -> Vec<Step> {
        if self.left.in_step {
            return self.steps_in_step();
        }
        let mut steps = Vec::new();
        for (index, packet) in self.wire.iter().enumerate() {
            // Equal packets are interchangeable.
            if index > 0 && *packet == self.wire[index - 1] {
                continue;
            }
            let index = index as u16;
            steps.push(Step::Deliver(index));
            if self.left.losses > 0 {
                steps.push(Step::Lose(index));
            }
            if self.left.duplicates > 0 {
                steps.push(Step::Double(index));
            }
        }
        for (index, worker) in (0u16..).zip(&self.workers) {
            if worker.clone().next(usize::MAX).is_some() {
                steps.push(Step::Send(index));
            }
            for id in worker.unacknowledged() {
                if let Some(packet) = worker.again(worker.round(), id) {
                    let under_way = self.wire.iter().any(|(_, other)| concerns(other, &packet));
                    if !under_way || self.left.duplicates > 0 {
                        steps.push(Step::Again(index, id));
                    }
                }
            }
            // A second FIN, or a second answer to it, changes nothing.
            let answered = |packet: &Packet| {
                matches!(packet, Packet::Fin { .. } | Packet::Go { .. } | Packet::Restart { .. })
                    && packet.fid() == index
            };
            if worker.fin().is_some() && !self.wire.iter().any(|(_, packet)| answered(packet)) {
                steps.push(Step::Fin(index));
            }
        }
        if self.left.reboots > 0 {
            steps.push(Step::Reboot);
        }
        if self.left.worker_crashes > 0 {
            steps.extend((0..self.workers.len() as u16).map(Step::CrashWorker));
        }
        if self.left.master_crashes > 0 {
            steps.push(Step::CrashMaster);
        }
        steps
    }

    /// Returns the events that can happen next if no packet overtakes another. Packets cross the links before the
    /// master takes the next one.
    fn steps_in_step(&self) -> Vec<Step> {
        let crossing = self.wire.iter().position(|(place, _)| *place != Destination::Queue);
        let Some(next) = crossing.or((!self.wire.is_empty()).then_some(0)) else {
            return vec![Step::Timeouts];
        };
        let next = next as u16;
        let loses = crossing.is_some() && self.left.losses > 0;
        [Step::Deliver(next)].into_iter().chain(loses.then_some(Step::Lose(next))).collect()
    }

    /// Ends all timeouts: every worker sends again all unacknowledged entries, and then all that it can.
    fn end_timeouts(&mut self) {
        let mut sent = Vec::new();
        for worker in &mut self.workers {
            let again = |id| worker.again(worker.round(), id);
            sent.extend(worker.unacknowledged().filter_map(again));
            sent.extend(std::iter::from_fn(|| worker.next(usize::MAX)));
            sent.extend(worker.fin());
        }
        sent.into_iter().for_each(|packet| self.put(Destination::Switch, packet));
    }

    fn after(&self, step: Step) -> Self {
        let mut next = self.clone();
        match step {
            Step::Deliver(index) => {
                let (place, packet) = next.wire.remove(usize::from(index));
                next.deliver(place, packet);
            }
            Step::Lose(index) => {
                next.wire.remove(usize::from(index));
                next.left.losses -= 1;
            }
            Step::Double(index) => {
                let copy = next.wire[usize::from(index)].clone();
                next.put(copy.0, copy.1);
                next.left.duplicates -= 1;
            }
            Step::Send(index) => {
                if let Some(packet) = next.workers[usize::from(index)].next(usize::MAX) {
                    next.put(Destination::Switch, packet);
                }
            }
            Step::Again(index, id) => {
                let worker = &next.workers[usize::from(index)];
                if let Some(packet) = worker.again(worker.round(), id) {
                    let under_way = next.wire.iter().any(|(_, other)| concerns(other, &packet));
                    next.left.duplicates -= u8::from(under_way);
                    next.put(Destination::Switch, packet);
                }
            }
            Step::Fin(index) => {
                if let Some(packet) = next.workers[usize::from(index)].fin() {
                    next.put(Destination::Switch, packet);
                }
            }
            Step::Timeouts => next.end_timeouts(),
            Step::Reboot => {
                next.switch.reboot();
                next.processed.clear();
                next.left.reboots -= 1;
            }
            Step::CrashWorker(index) => {
                if let Some(worker) = next.workers.get_mut(usize::from(index)) {
                    worker.crash();
                }
                next.left.worker_crashes -= 1;
            }
            Step::CrashMaster => {
                let number = next.master.crash();
                next.switch.install(number);
                next.workers.iter_mut().for_each(|worker| worker.issue(number));
                next.processed.clear();
                next.left.master_crashes -= 1;
            }
        }
        next
    }

    /// Returns true if entries of the pass may be processed only once.
    fn once_only(&self, pass: u8) -> bool {
        self.case.once || !self.switch.query().replayable(pass)
    }

    fn put(&mut self, place: Destination, packet: Packet) {
        let item = (place, packet);
        let index = if self.left.in_step {
            self.wire.len()
        } else {
            self.wire.partition_point(|other| *other <= item)
        };
        self.wire.insert(index, item);
    }

    fn deliver(&mut self, place: Destination, packet: Packet) {
        match (place, packet) {
            (Destination::Switch, Packet::Entry { name, entry, .. }) => {
                let stamp = self.switch.boot();
                let action = self.switch.on_entry(&name, &entry);
                if matches!(action, Action::Prune | Action::Forward)
                    && self.once_only(name.pass)
                    && !self.processed.insert(name)
                {
                    self.broken = Some("an entry is processed twice in an epoch");
                }
                match action {
                    Action::Drop => {}
                    Action::Prune => {
                        self.pruned.insert(name);
                        self.put(Destination::Worker, Packet::Ack { name, stamp });
                    }
                    Action::Confirm => {
                        // There is nothing to read.
                        if name.pass > 0 {
                            self.pruned.insert(name);
                        }
                        self.put(Destination::Worker, Packet::Ack { name, stamp });
                    }
                    Action::Read(entry) => {
                        self.put(Destination::Master, Packet::Entry { name, entry, stamp });
                    }
                    Action::Forward | Action::ForwardUnprocessed => {
                        self.put(Destination::Master, Packet::Entry { name, entry, stamp });
                    }
                }
            }
            (Destination::Switch, packet) => self.put(Destination::Master, packet),
            (Destination::Master, packet) if self.left.queue.is_some() => {
                let room = self.left.queue.map_or(0, usize::from);
                let waiting = self.wire.iter().filter(|(place, _)| *place == Destination::Queue);
                if waiting.count() < room {
                    self.put(Destination::Queue, packet);
                }
            }
            (Destination::Master | Destination::Queue, packet) => {
                let mut replies = Vec::new();
                match packet {
                    Packet::Entry { name, entry, stamp } => {
                        let had = self.master.delivered();
                        let arrival = self.master.on_entry(&name, &entry, stamp, &mut replies);
                        if arrival == Arrival::Restarted {
                            self.given_up.extend(had);
                        }
                        // One copy more than there are makes an answer wrong; further copies make no difference.
                        let copies = &self.case.copies;
                        self.master.forget_copies(|e| {
                            // An entry that is not a row was read from the switch, once.
                            1 + copies.get(&(e.table, e.key, e.value)).copied().unwrap_or(1)
                        });
                    }
                    Packet::Fin { query, fid, pass, attempt } => {
                        self.master.on_fin((query, fid), pass, attempt, &mut replies);
                    }
                    _ => {}
                }
                replies.into_iter().for_each(|reply| self.put(Destination::Worker, reply));
            }
            (Destination::Worker, packet) => {
                if let Some(worker) = self.workers.get_mut(usize::from(packet.fid()))
                    && worker.on_packet(&packet)
                    && let Packet::Ack { name, .. } = &packet
                {
                    let delivered = self.master.has(name) || self.given_up.contains(name);
                    if !self.pruned.contains(name) && !delivered {
                        self.broken =
                            Some("an entry is acknowledged that was neither delivered nor pruned");
                    }
                    // An acknowledged entry is not sent again, so its name is no longer needed.
                    if !self.case.asks_again {
                        self.pruned.remove(name);
                        self.given_up.remove(name);
                    }
                }
            }
        }
    }

    fn describe(&self, step: Step) -> impl fmt::Display {
        let on_wire =
            |index: u16| self.wire.get(usize::from(index)).map(|(place, packet)| (*place, packet));
        match step {
            Step::Deliver(index) => on_wire(index).map_or_else(String::new, |(place, packet)| {
                let verdict = match packet {
                    Packet::Entry { name, entry, .. } if place == Destination::Switch => {
                        format!(": {:?}", self.switch.clone().on_entry(name, entry))
                    }
                    _ => String::new(),
                };
                format!("{packet} arrives at the {}{verdict}", place.name())
            }),
            Step::Lose(index) => on_wire(index).map_or_else(String::new, |(place, packet)| {
                format!("{packet} is lost on its way to the {}", place.name())
            }),
            Step::Double(index) => on_wire(index).map_or_else(String::new, |(place, packet)| {
                format!("{packet} is doubled on its way to the {}", place.name())
            }),
            Step::Send(worker) => format!("worker {worker} sends its next entry"),
            Step::Again(worker, id) => format!("worker {worker} sends entry {id} again"),
            Step::Fin(worker) => format!("worker {worker} sends FIN"),
            Step::Timeouts => "all timeouts end".to_owned(),
            Step::Reboot => "the switch reboots".to_owned(),
            Step::CrashWorker(worker) => format!("worker {worker} crashes and begins again"),
            Step::CrashMaster => "the master crashes and issues the query again".to_owned(),
        }
    }
}

impl Destination {
    const fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Master => "master",
            Self::Queue => "head of the master's queue",
            Self::Worker => "worker",
        }
    }
}

/// Returns true if `packet` is a copy of the entry `sent`, or an answer to it.
fn concerns(packet: &Packet, sent: &Packet) -> bool {
    if matches!(packet, Packet::Restart { fid, .. } if *fid == sent.fid()) {
        return true;
    }
    let name = |packet: &Packet| match packet {
        Packet::Entry { name, .. } | Packet::Ack { name, .. } => Some(*name),
        _ => None,
    };
    name(packet) == name(sent)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::programs;
