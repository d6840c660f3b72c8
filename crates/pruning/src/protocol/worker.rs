//! The worker's part: a window of entries in flight, retransmission, FIN, passes, restarts.

use std::sync::Arc;

use super::packet::{Entry, Name, Packet};
use super::query::Query;
use super::rules::{OnReboot, Rules};

/// The epoch of entries whose first epoch was lost; no boot has this number.
const UNKNOWN_EPOCH: u32 = u32::MAX;

/// The state machine of a worker, with its rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Worker {
    fid: u16,
    query: Query,
    rules: Rules,
    /// The number of the query.
    number: u16,
    /// The identifier before its first entry's.
    first: u32,
    /// True if it began again without its record of sent entries.
    crashed: bool,
    rows: Arc<[Entry]>,
    /// The entries of this pass.
    entries: Arc<[Entry]>,
    pass: u8,
    /// The boot in which the query (re)started.
    attempt: u32,
    /// The newest boot that it has received.
    newest: u32,
    /// For each entry sent so far, its epoch, and true if it is acknowledged.
    sent: Vec<(u32, bool)>,
    /// The number of leading entries that are all acknowledged.
    acknowledged: usize,
    /// The number of passes and restarts, by which a timer detects that it is obsolete.
    round: u32,
    /// True if the master has confirmed the end of the query.
    done: bool,
}

impl Worker {
    pub(super) fn new(
        fid: u16,
        rules: Rules,
        query: Query,
        first: u32,
        rows: Arc<[Entry]>,
    ) -> Self {
        let mut worker = Self {
            fid,
            query,
            rules,
            number: 0,
            first,
            crashed: false,
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

    /// Loses everything but its rows, and begins the query again.
    pub(super) fn crash(&mut self) {
        let rows = Arc::clone(&self.rows);
        *self = Self {
            number: self.number,
            round: self.round,
            crashed: true,
            ..Self::new(self.fid, self.rules, self.query, self.first, rows)
        };
        self.begin(0, None);
    }

    /// Takes part in the next query, over the same rows.
    pub(super) fn issue(&mut self, number: u16) {
        let rows = Arc::clone(&self.rows);
        *self = Self {
            number,
            round: self.round,
            ..Self::new(self.fid, self.rules, self.query, self.first, rows)
        };
        self.begin(0, None);
    }

    pub(super) const fn round(&self) -> u32 {
        self.round
    }

    /// Returns true if the master has confirmed the end of the query.
    pub(super) const fn is_done(&self) -> bool {
        self.done
    }

    fn begin(&mut self, pass: u8, wanted: Option<&dyn Fn(&Entry) -> bool>) {
        let rows = self.rows.iter().filter(|row| wanted.is_none_or(|wanted| wanted(row)));
        self.entries = match self.query.reads(pass) {
            Some(reads) => reads.filter(|_| self.fid == 0).collect(),
            None => rows.map(|row| Entry { pass, ..*row }).collect(),
        };
        self.pass = pass;
        self.sent.clear();
        self.acknowledged = 0;
        self.round += 1;
    }

    /// Returns the next entry that was never sent, if fewer than `window` are in flight.
    pub(super) fn next(&mut self, window: usize) -> Option<Packet> {
        let index = self.sent.len();
        if self.done
            || index >= self.entries.len()
            || index >= self.acknowledged.saturating_add(window)
        {
            return None;
        }
        let rule = self.rules.on_reboot.unwrap_or(self.query.on_reboot(self.pass));
        let epoch = match rule {
            OnReboot::Continue if self.crashed && self.rules.forget_after_crash => UNKNOWN_EPOCH,
            OnReboot::Continue => self.newest,
            OnReboot::Forward | OnReboot::Restart => self.attempt,
        };
        self.sent.push((epoch, false));
        Some(self.packet(index, epoch))
    }

    /// Returns entry `id` of this round once more, unless it is acknowledged.
    pub(super) fn again(&self, round: u32, id: u32) -> Option<Packet> {
        let index = self.index(id);
        let (epoch, acknowledged) = *self.sent.get(index)?;
        (round == self.round && !acknowledged && !self.done).then(|| self.packet(index, epoch))
    }

    /// Iterates over the identifiers of entries that are in flight.
    pub(super) fn unacknowledged(&self) -> impl Iterator<Item = u32> + '_ {
        let sent = self.sent.iter().zip(1u32..);
        let open = sent.filter(|((_, acknowledged), _)| !acknowledged);
        let first = self.first;
        open.map(move |(_, id)| first.wrapping_add(id))
    }

    /// Returns the position of the entry with this identifier.
    const fn index(&self, id: u32) -> usize {
        id.wrapping_sub(self.first).wrapping_sub(1) as usize
    }

    /// Returns FIN once all entries of the pass are acknowledged, until the master answers.
    pub(super) fn fin(&self) -> Option<Packet> {
        let finished = self.acknowledged == self.entries.len() && !self.done;
        finished.then_some(Packet::Fin {
            query: self.number,
            fid: self.fid,
            pass: self.pass,
            attempt: self.attempt,
        })
    }

    fn packet(&self, index: usize, epoch: u32) -> Packet {
        let id = self.first.wrapping_add(index as u32).wrapping_add(1);
        let name = Name { query: self.number, fid: self.fid, pass: self.pass, id, epoch };
        Packet::Entry { name, entry: self.entries[index], stamp: 0 }
    }

    /// Takes a packet of the switch or the master. Returns true if it contained news.
    pub(super) fn on_packet(&mut self, packet: &Packet) -> bool {
        if self.rules.query_numbers && packet.query() != self.number {
            return false;
        }
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
        // An acknowledgement of an earlier pass or attempt has no effect on this one.
        if name.pass != self.pass || self.done {
            return false;
        }
        let index = self.index(name.id);
        match self.sent.get_mut(index) {
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
