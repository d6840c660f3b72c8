//! The graph of explored states: for each state a fingerprint, a way to reach it, and the numbers of the next ones.
//! The states themselves are kept only until they are left, so that more of them fit in memory.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::{Exploration, State, Step};
use crate::protocol::prune::Pruner;
use crate::protocol::query::Answer;
use crate::rng::mix64;

/// The explored part of the graph of states, numbered in the order in which they were reached.
pub(super) struct Graph<P> {
    start: State<P>,
    expected: Answer,
    numbers: HashMap<[u64; 2], u32, BuildHasherDefault<FirstWord>>,
    nodes: Vec<Node>,
    /// States that were reached and not yet left, with their numbers.
    open: VecDeque<(u32, State<P>)>,
    /// The next states of all states, one after the other; `ends` has the end of each state's part.
    targets: Vec<u32>,
    ends: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Node {
    kind: Kind,
    /// The event by which it was first reached; the first state points to itself.
    step: Step,
    from: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Open,
    Correct,
    Wrong,
    Broken,
}

impl<P: Pruner + Clone + Hash> Graph<P> {
    pub(super) fn new(start: State<P>, expected: Answer) -> Self {
        let mut graph = Self {
            start: start.clone(),
            expected,
            numbers: HashMap::default(),
            nodes: Vec::new(),
            open: VecDeque::new(),
            targets: Vec::new(),
            ends: Vec::new(),
        };
        graph.add(start, 0, Step::Reboot);
        graph
    }

    /// Visits states breadth first; returns false if there are more than `most`.
    pub(super) fn expand(&mut self, most: usize) -> bool {
        let most = most.min(u32::MAX as usize - 1);
        while let Some((number, state)) = self.open.pop_front() {
            if self.nodes.len() > most {
                return false;
            }
            // End states have no next states.
            self.ends.resize(number as usize, self.targets.len());
            for step in state.steps() {
                let target = self.add(state.after(step), number, step);
                self.targets.push(target);
            }
            self.ends.push(self.targets.len());
        }
        self.ends.resize(self.nodes.len(), self.targets.len());
        true
    }

    /// Returns the number of a state, which is added if it is new.
    fn add(&mut self, state: State<P>, from: u32, step: Step) -> u32 {
        let fresh = self.nodes.len() as u32;
        match self.numbers.entry(fingerprint(&state)) {
            Slot::Occupied(known) => *known.get(),
            Slot::Vacant(slot) => {
                slot.insert(fresh);
                // Once the master has answered, nothing changes the answer.
                let kind = match (state.broken, state.master.is_done()) {
                    (Some(_), _) => Kind::Broken,
                    (None, false) => Kind::Open,
                    (None, true) if state.master.answer() == self.expected => Kind::Correct,
                    (None, true) => Kind::Wrong,
                };
                self.nodes.push(Node { kind, step, from });
                if kind == Kind::Open {
                    self.open.push_back((fresh, state));
                }
                fresh
            }
        }
    }

    pub(super) fn judge(&self, complete: bool) -> Exploration {
        let of = |kind| self.nodes.iter().filter(move |node| node.kind == kind).count();
        let first = |kind| self.nodes.iter().position(|node| node.kind == kind);
        let stuck = if complete { self.stuck() } else { Vec::new() };
        Exploration {
            states: self.nodes.len(),
            correct: of(Kind::Correct),
            wrong: of(Kind::Wrong),
            stuck: stuck.len(),
            broken: of(Kind::Broken),
            complete,
            broken_run: first(Kind::Broken).map(|number| self.run_to(number)),
            wrong_run: first(Kind::Wrong).map(|number| self.run_to(number)),
            stuck_run: stuck.first().map(|&number| self.run_to(number)),
        }
    }

    /// Returns the states from which no end can be reached. Most events lead to greater numbers, so that a few passes
    /// from the last to the first find all others.
    fn stuck(&self) -> Vec<usize> {
        let mut can_end: Vec<bool> = self.nodes.iter().map(|n| n.kind != Kind::Open).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for number in (0..self.nodes.len()).rev() {
                if can_end[number] {
                    continue;
                }
                let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
                let mut next = self.targets[begin..self.ends[number]].iter();
                can_end[number] = next.any(|&target| can_end[target as usize]);
                changed |= can_end[number];
            }
        }
        (0..self.nodes.len()).filter(|&number| !can_end[number]).collect()
    }

    /// Returns the events on a shortest way to a state, and the promise that is broken there.
    fn run_to(&self, mut number: usize) -> Vec<String> {
        let mut steps = Vec::new();
        while number != 0 {
            let Node { step, from, .. } = self.nodes[number];
            steps.push(step);
            number = from as usize;
        }
        let mut state = self.start.clone();
        let mut run = Vec::new();
        for step in steps.into_iter().rev() {
            run.push(state.describe(step).to_string());
            state = state.after(step);
        }
        run.extend(state.broken.map(str::to_owned));
        run
    }
}

/// Returns a fingerprint of a state in 128 bits.
fn fingerprint<P: Hash>(state: &State<P>) -> [u64; 2] {
    let mut lanes = Lanes([0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344]);
    state.hash(&mut lanes);
    lanes.0
}

/// Two independent chains of [`mix64`].
struct Lanes([u64; 2]);

impl Hasher for Lanes {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word) ^ (chunk.len() as u64) << 59);
        }
    }

    fn write_u64(&mut self, word: u64) {
        let [a, b] = self.0;
        self.0 =
            [mix64(a ^ word), mix64(b.rotate_left(23).wrapping_add(word) ^ 0xA409_3822_299F_31D0)];
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0[0]
    }
}

/// A hasher for fingerprints, which need no further hashing.
#[derive(Default)]
struct FirstWord(u64);

impl Hasher for FirstWord {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(word) = bytes.first_chunk::<8>() {
            self.0 = u64::from_ne_bytes(*word);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    // The length of the array is ignored.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
