//! The worker's part: a window of entries in flight, retransmission, FIN, passes, restarts.

use std::sync::Arc;

use super::packet::{Entry, Name, Packet};
use super::query::Query;
use super::rules::{OnReboot, Rules};

/// A worker with its rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Worker {
    fid: u16,
    query: Query,
    on_reboot: Option<OnReboot>,
    rows: Arc<[Entry]>,
    /// The entries of this pass.
    entries: Arc<[Entry]>,
    pass: u8,
    /// The boot in which the query (re)started.
    attempt: u32,
    /// The newest boot it knows of.
    newest: u32,
    /// For each entry sent so far, its epoch and whether it is acknowledged.
    sent: Vec<(u32, bool)>,
    /// Entries up to here are all acknowledged.
    acknowledged: usize,
    /// Counts passes and restarts, so that a timer knows whether it still means anything.
    round: u32,
    /// Whether the master has confirmed the end of the query.
    done: bool,
}

impl Worker {
    pub(super) fn new(fid: u16, rules: Rules, query: Query, rows: Arc<[Entry]>) -> Self {
        let mut worker = Self {
            fid,
            query,
            on_reboot: rules.on_reboot,
            entries: Arc::clone(&rows),
            rows,
            pass: 0,
            attempt: 0,
            newest: 0,
            sent: Vec::new(),
            acknowledged: 0,
            round: 0,
            done: false,
        };
        worker.begin(0, None);
        worker
    }

    pub(super) const fn round(&self) -> u32 {
        self.round
    }

    fn begin(&mut self, pass: u8, wanted: Option<&dyn Fn(&Entry) -> bool>) {
        let rows = self.rows.iter().filter(|row| wanted.is_none_or(|wanted| wanted(row)));
        self.entries = rows.map(|row| Entry { pass, ..*row }).collect();
        self.pass = pass;
        self.sent.clear();
        self.acknowledged = 0;
        self.round += 1;
    }

    /// The next entry that was never sent, if fewer than `window` are in flight.
    pub(super) fn next(&mut self, window: usize) -> Option<Packet> {
        let index = self.sent.len();
        if self.done
            || index >= self.entries.len()
            || index >= self.acknowledged.saturating_add(window)
        {
            return None;
        }
        let rule = self.on_reboot.unwrap_or(self.query.on_reboot(self.pass));
        let epoch = if rule == OnReboot::Continue { self.newest } else { self.attempt };
        self.sent.push((epoch, false));
        Some(self.packet(index, epoch))
    }

    /// Entry `id` of this round once more, unless it is acknowledged.
    pub(super) fn again(&self, round: u32, id: u32) -> Option<Packet> {
        let index = (id as usize).checked_sub(1)?;
        let (epoch, acknowledged) = *self.sent.get(index)?;
        (round == self.round && !acknowledged && !self.done).then(|| self.packet(index, epoch))
    }

    /// Identifiers of entries that are in flight.
    pub(super) fn unacknowledged(&self) -> impl Iterator<Item = u32> + '_ {
        let sent = self.sent.iter().zip(1u32..);
        sent.filter(|((_, acknowledged), _)| !acknowledged).map(|(_, id)| id)
    }

    /// FIN, once all entries of the pass are acknowledged and until the master answers.
    pub(super) fn fin(&self) -> Option<Packet> {
        let finished = self.acknowledged == self.entries.len() && !self.done;
        finished.then_some(Packet::Fin { fid: self.fid, pass: self.pass, attempt: self.attempt })
    }

    fn packet(&self, index: usize, epoch: u32) -> Packet {
        let name = Name { fid: self.fid, pass: self.pass, id: index as u32 + 1, epoch };
        Packet::Entry { name, entry: self.entries[index], stamp: 0 }
    }

    /// Takes what the switch or the master says. Returns whether that was news.
    pub(super) fn on_packet(&mut self, packet: &Packet) -> bool {
        match packet {
            Packet::Ack { name, stamp } => {
                self.newest = self.newest.max(*stamp);
                self.on_ack(name)
            }
            Packet::Go { pass, attempt, keys, .. } => {
                let expected = self.fin().is_some() && *pass == self.pass + 1;
                if !expected || *attempt != self.attempt {
                    return false;
                }
                if *pass == self.query.passes() {
                    self.done = true;
                    self.round += 1;
                } else {
                    match keys {
                        Some(keys) => self.begin(*pass, Some(&|row| keys.contains(&row.key))),
                        None => self.begin(*pass, None),
                    }
                }
                true
            }
            Packet::Restart { attempt, .. } if *attempt > self.attempt && !self.done => {
                self.attempt = *attempt;
                self.newest = self.newest.max(*attempt);
                self.begin(0, None);
                true
            }
            _ => false,
        }
    }

    fn on_ack(&mut self, name: &Name) -> bool {
        // An acknowledgement of an earlier pass or attempt says nothing about this one.
        if name.pass != self.pass || self.done {
            return false;
        }
        match self.sent.get_mut((name.id as usize).wrapping_sub(1)) {
            Some((epoch, acknowledged)) if *epoch == name.epoch && !*acknowledged => {
                *acknowledged = true;
            }
            _ => return false,
        }
        while self.sent.get(self.acknowledged).is_some_and(|&(_, acknowledged)| acknowledged) {
            self.acknowledged += 1;
        }
        true
    }
}
