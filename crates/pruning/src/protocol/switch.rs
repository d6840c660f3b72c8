//! The switch's part: the turn of a packet, the pruner's verdict, and acknowledgements.

use std::collections::BTreeMap;

use super::packet::{Entry, Name};
use super::prune::Pruner;
use super::query::Query;
use super::rules::{Gap, Recovery, Rules};

/// The switch's action on an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The entry is processed and sent on to the master.
    Forward,
    /// The entry is sent on to the master unprocessed.
    ForwardUnprocessed,
    /// The entry is processed, dropped and acknowledged to the worker.
    Prune,
    /// The entry is acknowledged to the worker unprocessed: the switch holds it already, or there is nothing to read.
    Confirm,
    /// The entry is sent on to the master with the sum that was read in place of its values.
    Read(Entry),
    /// The entry is dropped silently, because it is not its turn.
    Drop,
}

/// The state machine of the switch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Switch<P> {
    rules: Rules,
    query: Query,
    /// The number of the query that its program serves.
    number: u16,
    pruner: P,
    /// The number of boots, not counting the first.
    boot: u32,
    /// The last sequence number processed, by flow and pass.
    last: BTreeMap<(u16, u8), u32>,
    /// The number before the first sequence number.
    first: u32,
}

/// Returns true if a sequence number comes after another, as in RFC 1982: numbers wrap, and those of a flow are less
/// than half of the range apart.
const fn is_after(id: u32, other: u32) -> bool {
    id.wrapping_sub(other).wrapping_sub(1) < 1 << 31
}

impl<P: Pruner> Switch<P> {
    pub(super) const fn new(rules: Rules, query: Query, first: u32, pruner: P) -> Self {
        Self { rules, query, number: 0, pruner, boot: 0, last: BTreeMap::new(), first }
    }

    pub(super) const fn query(&self) -> Query {
        self.query
    }

    pub(super) const fn boot(&self) -> u32 {
        self.boot
    }

    /// Loses all registers. The control plane gives every boot a new number.
    pub(super) fn reboot(&mut self) {
        self.boot += 1;
        self.last.clear();
        self.pruner.reset();
    }

    /// Installs the program anew, like the control plane, for the query with this number.
    pub(super) fn install(&mut self, number: u16) {
        self.number = number;
        self.last.clear();
        self.pruner.reset();
    }

    pub(super) fn on_entry(&mut self, name: &Name, entry: &Entry) -> Action {
        if self.rules.query_numbers && name.query != self.number {
            return Action::ForwardUnprocessed;
        }
        if self.rules.recovery == Recovery::Epoch && name.epoch != self.boot {
            return Action::ForwardUnprocessed;
        }
        if self.query.holds() && (self.rules.replay || name.pass > 0) {
            return self.hold(name, entry);
        }
        if !(self.rules.replay && self.query.replayable(name.pass)) {
            let last = self.last.get(&(name.fid, name.pass)).copied();
            let zero = self.rules.recovery == Recovery::Zero;
            let last = last.or(zero.then_some(self.first));
            match last {
                Some(last) if !is_after(name.id, last) => return Action::ForwardUnprocessed,
                Some(last) if name.id != last.wrapping_add(1) && self.rules.gap == Gap::Wait => {
                    return Action::Drop;
                }
                _ => {}
            }
            self.last.insert((name.fid, name.pass), name.id);
        }
        if self.pruner.prune(name, entry) { Action::Prune } else { Action::Forward }
    }

    /// Handles an entry of a query that holds sums ([`Query::holds`]). Entries are processed one after the other, so
    /// a copy with an earlier number is of a processed entry. A group keeps its cell, so the original was added if
    /// and only if its group is held now.
    fn hold(&mut self, name: &Name, entry: &Entry) -> Action {
        if name.pass > 0 {
            return match self.pruner.read(entry.key) {
                Some((key, value)) => Action::Read(Entry { key, value, ..*entry }),
                None => Action::Confirm,
            };
        }
        let last = self.last.entry((name.fid, name.pass)).or_insert(self.first);
        if name.id == last.wrapping_add(1) {
            *last = name.id;
            return if self.pruner.prune(name, entry) { Action::Prune } else { Action::Forward };
        }
        match (is_after(name.id, *last), self.pruner.holds(entry)) {
            (true, _) => Action::Drop,
            (false, true) => Action::Confirm,
            (false, false) => Action::ForwardUnprocessed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::prune::SmallPruner;

    fn check(rules: Rules, query: Query, packets: &[(u32, u32, u64)], expected: &[Action]) {
        let mut switch = Switch::new(rules, query, 0, SmallPruner::new(query));
        let actions: Vec<Action> = packets
            .iter()
            .map(|&(id, epoch, key)| {
                let name = Name { query: 0, fid: 0, pass: 0, id, epoch };
                switch.on_entry(&name, &Entry { pass: 0, table: 0, key, value: 0 })
            })
            .collect();
        assert_eq!(actions, expected);
    }

    #[test]
    fn sequence_numbers_decide() {
        use Action::{Drop, Forward, ForwardUnprocessed, Prune};
        let packets = [(1, 0, 7), (3, 0, 7), (2, 0, 7), (2, 0, 7), (3, 0, 8), (1, 0, 7)];
        let wait = [Forward, Drop, Prune, ForwardUnprocessed, Forward, ForwardUnprocessed];
        check(Rules::paper(), Query::Distinct, &packets, &wait);
        let late = ForwardUnprocessed;
        let skip = [Forward, Prune, late, late, late, late];
        check(Rules::repaired(), Query::Distinct, &packets, &skip);
        check(Rules::repaired(), Query::Join, &packets, &[Prune; 6]);
    }

    #[test]
    fn sequence_numbers_wrap() {
        for (id, other, after) in [
            (1, 0, true),
            (0, u32::MAX, true),
            (5, u32::MAX - 5, true),
            (u32::MAX, 0, false),
            (7, 7, false),
            (7, 8, false),
        ] {
            assert_eq!(is_after(id, other), after, "{id} {other}");
        }
        let mut switch = Switch::new(
            Rules::paper(),
            Query::Distinct,
            u32::MAX - 1,
            SmallPruner::new(Query::Distinct),
        );
        let actions = [u32::MAX, 0, 1, u32::MAX].map(|id| {
            let name = Name { query: 0, fid: 0, pass: 0, id, epoch: 0 };
            switch.on_entry(&name, &Entry { pass: 0, table: 0, key: 7, value: 0 })
        });
        use Action::{Forward, ForwardUnprocessed, Prune};
        assert_eq!(actions, [Forward, Prune, Prune, ForwardUnprocessed]);
    }

    #[test]
    fn packets_of_another_query_are_not_looked_at() {
        let mut switch =
            Switch::new(Rules::repaired(), Query::Distinct, 0, SmallPruner::new(Query::Distinct));
        let mut send = |query| {
            let name = Name { query, fid: 0, pass: 0, id: 1, epoch: 0 };
            switch.on_entry(&name, &Entry { pass: 0, table: 0, key: 7, value: 0 })
        };
        assert_eq!([send(3), send(0)], [Action::ForwardUnprocessed, Action::Forward]);
        switch.install(3);
        let name = Name { query: 3, fid: 0, pass: 0, id: 1, epoch: 0 };
        let entry = Entry { pass: 0, table: 0, key: 7, value: 0 };
        assert_eq!(switch.on_entry(&name, &entry), Action::Forward, "the state is new, too");
    }

    #[test]
    fn packets_of_another_boot_are_not_looked_at() {
        let packets = [(1, 1, 7), (1, 0, 7)];
        let actions = [Action::ForwardUnprocessed, Action::Forward];
        check(Rules::repaired(), Query::Distinct, &packets, &actions);
    }
}
