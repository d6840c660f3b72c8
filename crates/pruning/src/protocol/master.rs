//! The master's part: acknowledge, de-duplicate, wait for all workers, answer the query.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::packet::{Entry, Name, Packet};
use super::query::{Answer, Query};
use super::rules::{OnReboot, Rules};

/// The state machine of the master.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Master {
    rules: Rules,
    query: Query,
    /// The number of the query.
    number: u16,
    pass: u8,
    /// The boot in which the query (re)started.
    attempt: u32,
    /// The entries of this pass that have arrived, by flow and identifier.
    seen: BTreeSet<(u16, u32)>,
    /// The entries over which the query is answered, with the number of times that each occurs.
    received: BTreeMap<Entry, usize>,
    /// A flag for each worker, true if it has finished this pass.
    finished: Vec<bool>,
    /// The keys to request in this pass, or none for all.
    keys: Option<Arc<BTreeSet<u64>>>,
}

/// The effect of an arriving entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It was taken into the query.
    Taken,
    /// It had arrived before, or belongs to an earlier pass or attempt.
    Repeated,
    /// It showed that the switch had lost state, and the query begins again.
    Restarted,
}

impl Master {
    pub(super) fn new(rules: Rules, query: Query, workers: usize) -> Self {
        Self {
            rules,
            query,
            number: 0,
            pass: 0,
            attempt: 0,
            seen: BTreeSet::new(),
            received: BTreeMap::new(),
            finished: vec![false; workers],
            keys: None,
        }
    }

    /// Loses everything, and issues the query again under the next number, which is returned.
    pub(super) fn crash(&mut self) -> u16 {
        let number = self.number + 1;
        *self = Self { number, ..Self::new(self.rules, self.query, self.finished.len()) };
        number
    }

    /// Returns true if the entry with this name has arrived, in this pass or a finished one.
    pub(super) fn has(&self, name: &Name) -> bool {
        name.pass < self.pass || self.seen.contains(&(name.fid, name.id))
    }

    /// Returns the entries of this pass that have arrived in this attempt.
    pub(super) fn delivered(&self) -> Vec<Name> {
        let Self { number: query, pass, attempt: epoch, .. } = *self;
        self.seen.iter().map(|&(fid, id)| Name { query, fid, pass, id, epoch }).collect()
    }

    /// Returns true if all workers have finished the last pass.
    pub(super) fn is_done(&self) -> bool {
        self.pass == self.query.passes()
    }

    /// Returns the answer over the entries that have arrived.
    pub(super) fn answer(&self) -> Answer {
        let copies = |(entry, times): (&Entry, &usize)| std::iter::repeat_n(*entry, *times);
        self.query.answer(&self.received.iter().flat_map(copies).collect::<Vec<_>>())
    }

    /// Takes an entry and pushes the reply.
    pub(super) fn on_entry(
        &mut self,
        name: &Name,
        entry: &Entry,
        stamp: u32,
        replies: &mut Vec<Packet>,
    ) -> Arrival {
        if self.rules.query_numbers && name.query != self.number {
            return Arrival::Repeated;
        }
        let rule = self.rules.on_reboot.unwrap_or(self.query.on_reboot(self.pass));
        let restarts = rule == OnReboot::Restart && !self.is_done();
        if restarts && stamp > self.attempt && name.pass == self.pass {
            self.attempt = stamp;
            self.begin(0, None);
            replies.push(self.restart(name.fid));
            return Arrival::Restarted;
        }
        if name.epoch < self.attempt {
            replies.push(self.restart(name.fid));
            return Arrival::Repeated;
        }
        replies.push(Packet::Ack { name: *name, stamp });
        // Copies of an earlier pass must not count as seen in this one.
        if name.pass != self.pass {
            return Arrival::Repeated;
        }
        let new = self.seen.insert((name.fid, name.id));
        if self.rules.deduplicate && !new {
            return Arrival::Repeated;
        }
        *self.received.entry(*entry).or_default() += 1;
        Arrival::Taken
    }

    /// Takes a FIN. Pushes GO to all workers if it was the last one, and to its sender if that repeats an earlier
    /// FIN. Returns true if the FIN was new.
    pub(super) fn on_fin(
        &mut self,
        (query, fid): (u16, u16),
        pass: u8,
        attempt: u32,
        replies: &mut Vec<Packet>,
    ) -> bool {
        if self.rules.query_numbers && query != self.number {
            return false;
        }
        let mut new = false;
        if attempt < self.attempt {
            replies.push(self.restart(fid));
        } else if pass < self.pass {
            replies.push(self.go(fid));
        } else if pass == self.pass && !self.is_done() {
            if let Some(finished) = self.finished.get_mut(usize::from(fid)) {
                new = !std::mem::replace(finished, true);
            }
            if self.finished.iter().all(|&finished| finished) {
                self.advance();
                replies.extend((0..self.finished.len() as u16).map(|fid| self.go(fid)));
            }
        }
        new
    }

    fn go(&self, fid: u16) -> Packet {
        let Self { number, pass, attempt, ref keys, .. } = *self;
        Packet::Go { query: number, fid, pass, attempt, keys: keys.clone() }
    }

    const fn restart(&self, fid: u16) -> Packet {
        Packet::Restart { query: self.number, fid, attempt: self.attempt }
    }

    fn advance(&mut self) {
        if self.pass + 1 == self.query.passes() {
            self.pass += 1;
            return;
        }
        let keys = self.query.requests_keys();
        let keys = keys.then(|| Arc::new(self.received.keys().map(|entry| entry.key).collect()));
        self.begin(self.pass + 1, keys);
    }

    fn begin(&mut self, pass: u8, keys: Option<Arc<BTreeSet<u64>>>) {
        self.pass = pass;
        self.keys = keys;
        self.seen.clear();
        // Sums that the switch holds are added to the entries of the first pass.
        if !(self.query.holds() && pass > 0) {
            self.received.clear();
        }
        self.finished.fill(false);
    }

    /// Drops all but `most` copies of equal entries, because the explorer needs finitely many states.
    pub(super) fn forget_copies(&mut self, most: impl Fn(&Entry) -> usize) {
        self.received.iter_mut().for_each(|(entry, times)| *times = most(entry).min(*times));
    }
}
