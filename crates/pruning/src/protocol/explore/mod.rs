//! The model checker: every order of events of a small case, with a budget of faults.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use super::master::{Arrival, Master};
use super::packet::{Entry, Name, Packet};
use super::prune::Pruner;
use super::query::{Answer, Query};
use super::rules::Rules;
use super::switch::{Action, Switch};
use super::worker::Worker;

/// How many faults of each kind a run may contain, and how far to look. Packets are reordered and
/// delayed without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Packets lost.
    pub losses: u8,
    /// Packets doubled by a link, or sent again while a copy or its acknowledgement is in flight.
    pub duplicates: u8,
    /// Reboots of the switch.
    pub reboots: u8,
    /// Crashes of workers, which keep their rows and begin again.
    pub worker_crashes: u8,
    /// Crashes of the master, which issues the query again: packets of the earlier one are still
    /// under way.
    pub master_crashes: u8,
    /// The identifier before each flow's first: near the greatest, identifiers wrap.
    pub first_id: u32,
    /// States after which the exploration gives up.
    pub states: usize,
}

impl Budget {
    /// No fault, and so many states.
    #[must_use]
    pub const fn faultless(states: usize) -> Self {
        Self {
            losses: 0,
            duplicates: 0,
            reboots: 0,
            worker_crashes: 0,
            master_crashes: 0,
            first_id: 0,
            states,
        }
    }
}

/// What an exploration found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exploration {
    /// Different states reached.
    pub states: usize,
    /// Of these, ends with the right answer.
    pub correct: usize,
    /// Ends with a wrong answer.
    pub wrong: usize,
    /// States from which no end can be reached, whatever happens.
    pub stuck: usize,
    /// States in which the protocol breaks a promise on the way: an entry is processed twice in an
    /// epoch, or acknowledged though it was neither delivered nor pruned *in its attempt*. A master
    /// that begins again gives up what was delivered in the attempt before, whose acknowledgements may
    /// still be under way. They do no harm: the worker's FIN names its attempt, and is answered by the
    /// restart that makes it send all its entries again. One for an entry that never arrived breaks
    /// the promise in whichever attempt.
    pub broken: usize,
    /// Whether all states were visited; `stuck` is 0 if not.
    pub complete: bool,
    /// A shortest run to a wrong answer, one event per line.
    pub wrong_run: Option<Vec<String>>,
    /// A shortest run to a broken promise, which the last line names.
    pub broken_run: Option<Vec<String>>,
    /// A shortest run to a state from which no end can be reached.
    pub stuck_run: Option<Vec<String>>,
}

impl Exploration {
    /// Whether every run ends, with the right answer, and all were seen.
    #[must_use]
    pub const fn is_safe(&self) -> bool {
        self.complete && self.wrong == 0 && self.broken == 0 && self.stuck == 0 && self.correct > 0
    }
}

/// Explores all runs of `query` on the given `rows` of each worker, breadth first. A burst, a queue that
/// overflows at the master and a link that reorders are runs among them: any packet may be late or,
/// within the budget, lost.
///
/// # Example
///
/// One row, one reboot, no other fault: the paper's protocol works only if the row is
/// acknowledged after it; with two rows it can get stuck.
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
pub fn explore<P: Pruner + Clone + Eq + Hash>(
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
        copies: Arc::new(copies),
        once: !rules.replay,
        asks_again: budget.worker_crashes > 0,
    };
    let mut graph = Graph::new(start);
    let complete = graph.expand(budget.states);
    graph.judge(&query.answer(&all), complete)
}

/// Where a packet is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    Switch,
    Master,
    Worker,
}

/// An event; numbers are places on the wire.
#[derive(Debug, Clone, Copy)]
enum Step {
    Deliver(usize),
    Lose(usize),
    Double(usize),
    Send(usize),
    Again(usize, u32),
    Fin(usize),
    Reboot,
    CrashWorker(usize),
    CrashMaster,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State<P> {
    workers: Vec<Worker>,
    switch: Switch<P>,
    master: Master,
    /// Packets in flight, sorted.
    wire: Vec<(Place, Packet)>,
    left: Budget,
    /// Names of entries that the switch processed in this boot, and of those that it pruned in any.
    processed: BTreeSet<Name>,
    pruned: BTreeSet<Name>,
    /// Names of entries that had been delivered when the master began again.
    given_up: BTreeSet<Name>,
    /// The promise that was broken.
    broken: Option<&'static str>,
    /// How often each row occurs.
    copies: Arc<BTreeMap<(u8, u64, u64), usize>>,
    /// Whether no entry may be processed twice.
    once: bool,
    /// Whether a worker that crashes may ask again what was acknowledged.
    asks_again: bool,
}

impl<P: Pruner + Clone> State<P> {
    /// What can happen next.
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for index in 0..self.wire.len() {
            // Equal packets are interchangeable.
            if index > 0 && self.wire[index] == self.wire[index - 1] {
                continue;
            }
            steps.push(Step::Deliver(index));
            if self.left.losses > 0 {
                steps.push(Step::Lose(index));
            }
            if self.left.duplicates > 0 {
                steps.push(Step::Double(index));
            }
        }
        for (index, worker) in self.workers.iter().enumerate() {
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
            // A second FIN or answer to it changes nothing.
            let answered = |packet: &Packet| {
                matches!(packet, Packet::Fin { .. } | Packet::Go { .. } | Packet::Restart { .. })
                    && usize::from(packet.fid()) == index
            };
            if worker.fin().is_some() && !self.wire.iter().any(|(_, packet)| answered(packet)) {
                steps.push(Step::Fin(index));
            }
        }
        if self.left.reboots > 0 {
            steps.push(Step::Reboot);
        }
        if self.left.worker_crashes > 0 {
            steps.extend((0..self.workers.len()).map(Step::CrashWorker));
        }
        if self.left.master_crashes > 0 {
            steps.push(Step::CrashMaster);
        }
        steps
    }

    fn after(&self, step: Step) -> Self {
        let mut next = self.clone();
        match step {
            Step::Deliver(index) => {
                let (place, packet) = next.wire.remove(index);
                next.deliver(place, packet);
            }
            Step::Lose(index) => {
                next.wire.remove(index);
                next.left.losses -= 1;
            }
            Step::Double(index) => {
                let copy = next.wire[index].clone();
                next.put(copy.0, copy.1);
                next.left.duplicates -= 1;
            }
            Step::Send(index) => {
                if let Some(packet) = next.workers[index].next(usize::MAX) {
                    next.put(Place::Switch, packet);
                }
            }
            Step::Again(index, id) => {
                let worker = &next.workers[index];
                if let Some(packet) = worker.again(worker.round(), id) {
                    let under_way = next.wire.iter().any(|(_, other)| concerns(other, &packet));
                    next.left.duplicates -= u8::from(under_way);
                    next.put(Place::Switch, packet);
                }
            }
            Step::Fin(index) => {
                if let Some(packet) = next.workers[index].fin() {
                    next.put(Place::Switch, packet);
                }
            }
            Step::Reboot => {
                next.switch.reboot();
                next.processed.clear();
                next.left.reboots -= 1;
            }
            Step::CrashWorker(index) => {
                if let Some(worker) = next.workers.get_mut(index) {
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

    /// Whether entries of the pass may be processed once only.
    fn once_only(&self, pass: u8) -> bool {
        self.once || !self.switch.query().replayable(pass)
    }

    fn put(&mut self, place: Place, packet: Packet) {
        let item = (place, packet);
        let index = self.wire.partition_point(|other| *other <= item);
        self.wire.insert(index, item);
    }

    fn deliver(&mut self, place: Place, packet: Packet) {
        match (place, packet) {
            (Place::Switch, Packet::Entry { name, entry, .. }) => {
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
                        self.put(Place::Worker, Packet::Ack { name, stamp });
                    }
                    Action::Confirm => {
                        // Nothing to read.
                        if name.pass > 0 {
                            self.pruned.insert(name);
                        }
                        self.put(Place::Worker, Packet::Ack { name, stamp });
                    }
                    Action::Read(entry) => {
                        self.put(Place::Master, Packet::Entry { name, entry, stamp });
                    }
                    Action::Forward | Action::ForwardUnprocessed => {
                        self.put(Place::Master, Packet::Entry { name, entry, stamp });
                    }
                }
            }
            (Place::Switch, packet) => self.put(Place::Master, packet),
            (Place::Master, packet) => {
                let mut replies = Vec::new();
                match packet {
                    Packet::Entry { name, entry, stamp } => {
                        let had = self.master.delivered();
                        let arrival = self.master.on_entry(&name, &entry, stamp, &mut replies);
                        if arrival == Arrival::Restarted {
                            self.given_up.extend(had);
                        }
                        // One more copy than there are makes an answer wrong; yet more do not make it
                        // any more so.
                        let copies = &self.copies;
                        self.master.forget_copies(|e| {
                            // What is no row was read, and once.
                            1 + copies.get(&(e.table, e.key, e.value)).copied().unwrap_or(1)
                        });
                    }
                    Packet::Fin { query, fid, pass, attempt } => {
                        self.master.on_fin((query, fid), pass, attempt, &mut replies);
                    }
                    _ => {}
                }
                replies.into_iter().for_each(|reply| self.put(Place::Worker, reply));
            }
            (Place::Worker, packet) => {
                if let Some(worker) = self.workers.get_mut(usize::from(packet.fid()))
                    && worker.on_packet(&packet)
                    && let Packet::Ack { name, .. } = &packet
                {
                    let delivered = self.master.has(name) || self.given_up.contains(name);
                    if !self.pruned.contains(name) && !delivered {
                        self.broken =
                            Some("an entry is acknowledged that was neither delivered nor pruned");
                    }
                    // What is acknowledged is not asked about again.
                    if !self.asks_again {
                        self.pruned.remove(name);
                        self.given_up.remove(name);
                    }
                }
            }
        }
    }

    fn describe(&self, step: Step) -> impl fmt::Display {
        let on_wire = |index: usize| self.wire.get(index).map(|(place, packet)| (*place, packet));
        match step {
            Step::Deliver(index) => on_wire(index).map_or_else(String::new, |(place, packet)| {
                let verdict = match packet {
                    Packet::Entry { name, entry, .. } if place == Place::Switch => {
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
            Step::Reboot => "the switch reboots".to_owned(),
            Step::CrashWorker(worker) => format!("worker {worker} crashes and begins again"),
            Step::CrashMaster => "the master crashes and issues the query again".to_owned(),
        }
    }
}

impl Place {
    const fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Master => "master",
            Self::Worker => "worker",
        }
    }
}

/// Whether `packet` is a copy of the entry `sent`, or an answer to it.
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

struct Graph<P> {
    numbers: HashMap<Arc<State<P>>, usize>,
    states: Vec<Arc<State<P>>>,
    /// How each state was first reached.
    from: Vec<Option<(usize, Step)>>,
    /// From which states each is reached.
    before: Vec<Vec<usize>>,
}

impl<P: Pruner + Clone + Eq + Hash> Graph<P> {
    fn new(start: State<P>) -> Self {
        let start = Arc::new(start);
        Self {
            numbers: HashMap::from([(Arc::clone(&start), 0)]),
            states: vec![start],
            from: vec![None],
            before: vec![Vec::new()],
        }
    }

    /// Visits states breadth first; false if there are more than `most`.
    fn expand(&mut self, most: usize) -> bool {
        let mut number = 0;
        while number < self.states.len() {
            if self.states.len() > most {
                return false;
            }
            let state = Arc::clone(&self.states[number]);
            // Once the master has answered, nothing changes the answer.
            if !state.master.is_done() && state.broken.is_none() {
                for step in state.steps() {
                    self.add(Arc::new(state.after(step)), number, step);
                }
            }
            number += 1;
        }
        true
    }

    fn add(&mut self, state: Arc<State<P>>, from: usize, step: Step) {
        let fresh = self.states.len();
        match self.numbers.entry(state) {
            Slot::Occupied(known) => self.before[*known.get()].push(from),
            Slot::Vacant(slot) => {
                self.states.push(Arc::clone(slot.key()));
                slot.insert(fresh);
                self.from.push(Some((from, step)));
                self.before.push(vec![from]);
            }
        }
    }

    fn judge(&self, expected: &Answer, complete: bool) -> Exploration {
        let is_broken = |number: &usize| self.states[*number].broken.is_some();
        let ends = |number: &usize| self.states[*number].master.is_done() && !is_broken(number);
        let all = 0..self.states.len();
        let (correct, wrong): (Vec<usize>, Vec<usize>) = all
            .clone()
            .filter(ends)
            .partition(|&number| self.states[number].master.answer() == *expected);
        let mut can_end = vec![false; self.states.len()];
        let broken: Vec<usize> = all.clone().filter(is_broken).collect();
        let mut open: Vec<usize> = correct.iter().chain(&wrong).chain(&broken).copied().collect();
        while let Some(number) = open.pop() {
            if !std::mem::replace(&mut can_end[number], true) {
                open.extend(&self.before[number]);
            }
        }
        let stuck: Vec<usize> = all.filter(|&number| complete && !can_end[number]).collect();
        Exploration {
            states: self.states.len(),
            correct: correct.len(),
            wrong: wrong.len(),
            stuck: stuck.len(),
            broken: broken.len(),
            complete,
            broken_run: broken.first().map(|&number| {
                let mut run = self.run_to(number);
                run.extend(self.states[number].broken.map(str::to_owned));
                run
            }),
            wrong_run: wrong.first().map(|&number| self.run_to(number)),
            stuck_run: stuck.first().map(|&number| self.run_to(number)),
        }
    }

    fn run_to(&self, mut number: usize) -> Vec<String> {
        let mut run = Vec::new();
        while let Some((from, step)) = self.from[number] {
            run.push(self.states[from].describe(step).to_string());
            number = from;
        }
        run.reverse();
        run
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::programs;
