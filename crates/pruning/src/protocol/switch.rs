//! The switch's part: is it this packet's turn, what does the pruner say, who acknowledges.

use std::collections::BTreeMap;

use super::packet::{Entry, Name};
use super::prune::Pruner;
use super::query::Query;
use super::rules::{Gap, Recovery, Rules};

/// What the switch does with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Processed and sent on to the master.
    Forward,
    /// Sent on to the master unprocessed.
    ForwardUnprocessed,
    /// Processed, dropped and acknowledged to the worker.
    Prune,
    /// Dropped silently: it is not this packet's turn.
    Drop,
}

/// The switch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Switch<P> {
    rules: Rules,
    query: Query,
    pruner: P,
    /// How often it has booted, not counting the first time.
    boot: u32,
    /// The last sequence number processed, by flow and pass.
    last: BTreeMap<(u16, u8), u32>,
}

impl<P: Pruner> Switch<P> {
    pub(super) const fn new(rules: Rules, query: Query, pruner: P) -> Self {
        Self { rules, query, pruner, boot: 0, last: BTreeMap::new() }
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

    pub(super) fn on_entry(&mut self, name: &Name, entry: &Entry) -> Action {
        if self.rules.recovery == Recovery::Epoch && name.epoch != self.boot {
            return Action::ForwardUnprocessed;
        }
        if !(self.rules.replay && self.query.replayable(name.pass)) {
            let last = self.last.get(&(name.fid, name.pass)).copied();
            let last = last.or((self.rules.recovery == Recovery::Zero).then_some(0));
            match last {
                Some(last) if name.id <= last => return Action::ForwardUnprocessed,
                Some(last) if name.id > last + 1 && self.rules.gap == Gap::Wait => {
                    return Action::Drop;
                }
                _ => {}
            }
            self.last.insert((name.fid, name.pass), name.id);
        }
        if self.pruner.prune(entry) { Action::Prune } else { Action::Forward }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::prune::SmallPruner;

    fn check(rules: Rules, query: Query, packets: &[(u32, u32, u64)], expected: &[Action]) {
        let mut switch = Switch::new(rules, query, SmallPruner::new(query));
        let actions: Vec<Action> = packets
            .iter()
            .map(|&(id, epoch, key)| {
                let name = Name { fid: 0, pass: 0, id, epoch };
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
    fn packets_of_another_boot_are_not_looked_at() {
        let packets = [(1, 1, 7), (1, 0, 7)];
        let actions = [Action::ForwardUnprocessed, Action::Forward];
        check(Rules::repaired(), Query::Distinct, &packets, &actions);
    }
}
