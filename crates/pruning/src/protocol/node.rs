//! Worker, switch and master as separate machines over datagrams. Their callers provide the sockets and the clock.
//!
//! The worker and the master are the machines that [`explore()`](super::explore()) checks. The switch is the program
//! itself: [`reliable`] with its registers, run by the interpreter. The datagrams begin with the bytes of Figure 4
//! that the printed P4 parses; the switch ignores the rest.
//!
//! Times are microseconds of any clock that does not go backwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::backoff::Backoff;
use super::master::{Arrival, Master};
use super::packet::{Entry, Packet};
use super::program::{BOOT_REGISTER, Copies, reliable};
use super::query::{Answer, Query};
use super::rules::Rules;
use super::wire::{Datagram, Wire, payload, worker as worker_of};
use super::worker::Worker;
use crate::ConfigError;
use crate::algorithm::config::in_range;
use crate::deployment::Flow;
use crate::rng::Rng;
use crate::switch::{self, Interpreter, Program};

/// The greatest number of workers of a query; a worker of a join has four flows.
pub const MOST_WORKERS: u16 = 4096;

/// The greatest number of datagrams that a worker sends before it processes received ones.
const BURST: usize = 32;

/// The settings that all machines of a query share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SharedConfig {
    /// The query that is run.
    pub query: Query,
    /// The number of values that the algorithm's program parses.
    pub values: u8,
    /// The number of workers, 1 to [`MOST_WORKERS`].
    pub workers: u16,
    /// The number of entries that a worker may have in flight, at least 1.
    pub window: usize,
    /// The number of microseconds after which a datagram without an answer is sent again, at least 1. A worker that
    /// receives nothing new doubles its wait, up to eight times the timeout, and adds up to half of it at random.
    pub timeout: u64,
}

impl SharedConfig {
    /// Checks that a run with these settings is possible.
    ///
    /// # Errors
    ///
    /// If there is no worker or more than [`MOST_WORKERS`], or a window or a timeout of 0.
    pub fn check(&self) -> Result<(), ConfigError> {
        in_range("workers", self.workers.into(), 1, MOST_WORKERS.into())?;
        if self.window == 0 || self.timeout == 0 {
            return Err(ConfigError::Conflict("window and timeout are at least 1"));
        }
        Ok(())
    }

    const fn wire(&self) -> Wire {
        Wire::new(self.query, self.values as usize)
    }
}

/// A worker with its rows and timers.
#[derive(Debug)]
pub struct WorkerNode {
    agreed: SharedConfig,
    worker: Worker,
    /// Time, round and identifier of each entry that may have to be sent again.
    timers: BTreeSet<(u64, u32, u32)>,
    backoff: Backoff,
    /// True if something new was received since the last sending.
    news: bool,
    /// The round whose FIN was sent, and the time at which to send it again.
    fin: Option<(u32, u64)>,
    parts: Option<PartialGo>,
    counts: WorkerCounts,
}

/// A GO that arrives in parts.
#[derive(Debug)]
struct PartialGo {
    /// Pass, attempt, and the number of parts.
    of: (u8, u32, u32),
    /// The keys of the parts that have arrived.
    here: BTreeMap<u32, Vec<u64>>,
}

/// The packets that a worker sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerCounts {
    /// The number of entries sent, retransmissions included.
    pub sent: u64,
    /// The number of retransmissions among them.
    pub retransmitted: u64,
}

impl WorkerNode {
    /// Creates worker `number`, counted from 0.
    #[must_use]
    pub fn new(agreed: SharedConfig, number: u16, rows: &[Entry]) -> Self {
        let worker = Worker::new(number, Rules::repaired(), agreed.query, 0, Arc::from(rows));
        Self {
            agreed,
            worker,
            timers: BTreeSet::new(),
            // The number of the worker seeds its backoff.
            backoff: Backoff::new(agreed.timeout, 0, number),
            news: false,
            fin: None,
            parts: None,
            counts: WorkerCounts::default(),
        }
    }

    /// Returns true if the master has confirmed the end of the query.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.worker.is_done()
    }

    /// Returns the packets sent so far.
    #[must_use]
    pub const fn counts(&self) -> WorkerCounts {
        self.counts
    }

    /// Adds the datagrams to send now to `out`. Returns the time of the next call, unless something is received
    /// before.
    pub fn send(&mut self, now: u64, out: &mut Vec<Vec<u8>>) -> u64 {
        let wire = self.agreed.wire();
        if std::mem::take(&mut self.news) {
            self.backoff.reset(now);
        }
        let most = out.len() + BURST;
        while let Some(&(due, round, id)) = self.timers.first()
            && due <= now
            && out.len() < most
        {
            self.timers.pop_first();
            if let Some(packet) = self.worker.again(round, id) {
                self.counts.sent += 1;
                self.counts.retransmitted += 1;
                self.timers.insert((self.backoff.due(now), round, id));
                wire.write(&packet, out);
            }
        }
        while out.len() < most
            && let Some(packet) = self.worker.next(self.agreed.window)
        {
            if let Packet::Entry { name, .. } = &packet {
                self.timers.insert((self.backoff.due(now), self.worker.round(), name.id));
            }
            self.counts.sent += 1;
            wire.write(&packet, out);
        }
        if let Some(fin) = self.worker.fin() {
            let round = self.worker.round();
            if self.fin.is_none_or(|(sent, due)| sent != round || due <= now) {
                self.fin = Some((round, self.backoff.due(now)));
                wire.write(&fin, out);
            }
        }
        if out.len() >= most {
            return now;
        }
        let fin = self.fin.filter(|(round, _)| *round == self.worker.round());
        let due = [self.timers.first().map(|timer| timer.0), fin.map(|(_, due)| due)];
        let again = || now.saturating_add(self.agreed.timeout);
        due.into_iter().flatten().min().unwrap_or_else(again)
    }

    /// Takes a datagram; datagrams that do not belong to the query are ignored.
    pub fn receive(&mut self, bytes: &[u8]) {
        match self.agreed.wire().to_worker(bytes) {
            Some(Datagram::Whole(packet)) => self.news |= self.worker.on_packet(&packet),
            Some(Datagram::Part { query, worker, pass, attempt, part, parts, keys }) => {
                let of = (pass, attempt, parts);
                if self.parts.as_ref().is_some_and(|begun| begun.of != of) {
                    self.parts = None;
                }
                let begun =
                    self.parts.get_or_insert_with(|| PartialGo { of, here: BTreeMap::new() });
                self.news |= begun.here.insert(part, keys).is_none();
                if begun.here.len() == parts as usize {
                    let keys = std::mem::take(&mut begun.here).into_values().flatten().collect();
                    self.parts = None;
                    let keys = Some(Arc::new(keys));
                    let go = Packet::Go { query, fid: worker, pass, attempt, keys };
                    self.news |= self.worker.on_packet(&go);
                }
            }
            None => {}
        }
    }
}

/// A master that answers over datagrams.
#[derive(Debug)]
pub struct MasterNode {
    agreed: SharedConfig,
    master: Master,
    counts: MasterCounts,
}

/// The entries that a master received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MasterCounts {
    /// The number of entries that were taken into the query.
    pub delivered: u64,
    /// The number of entries that had arrived before, or were of an earlier pass or attempt.
    pub repeated: u64,
    /// The number of times that the query began again.
    pub restarts: u64,
}

impl MasterNode {
    /// Creates a master that waits for the workers of the query.
    #[must_use]
    pub fn new(agreed: SharedConfig) -> Self {
        let master = Master::new(Rules::repaired(), agreed.query, agreed.workers.into());
        Self { agreed, master, counts: MasterCounts::default() }
    }

    /// Returns true if all workers have finished the last pass.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.master.is_done()
    }

    /// Returns the answer over the entries that have arrived.
    #[must_use]
    pub fn answer(&self) -> Answer {
        self.master.answer()
    }

    /// Returns the entries received so far.
    #[must_use]
    pub const fn counts(&self) -> MasterCounts {
        self.counts
    }

    /// Takes a datagram and adds the replies to `out`; each contains the number of its worker.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        let wire = self.agreed.wire();
        let Some(Datagram::Whole(packet)) = wire.read(bytes) else { return };
        if packet.fid() >= self.agreed.workers {
            return;
        }
        let mut replies = Vec::new();
        match packet {
            Packet::Entry { name, entry, stamp } => {
                match self.master.on_entry(&name, &entry, stamp, &mut replies) {
                    Arrival::Taken => self.counts.delivered += 1,
                    Arrival::Repeated => self.counts.repeated += 1,
                    Arrival::Restarted => self.counts.restarts += 1,
                }
            }
            Packet::Fin { query, fid, pass, attempt } => {
                self.master.on_fin((query, fid), pass, attempt, &mut replies);
            }
            _ => {}
        }
        replies.iter().for_each(|reply| wire.write(reply, out));
    }
}

/// The faults at the switch, of datagrams and of the switch itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Faults {
    /// The probability that a link loses a datagram, below 1. A datagram crosses two links, in either direction.
    pub loss: f64,
    /// The probability that the switch sends a datagram twice, below 1.
    pub duplication: f64,
    /// Numbers of received datagrams after which the switch reboots, counted from its start; ascending.
    pub reboots: Vec<u64>,
    /// The seed of the random choices.
    pub seed: u64,
}

/// The machine at the other end of a link of the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Peer {
    /// A worker, by its number.
    Worker(u16),
    /// The one master.
    Master,
}

/// A switch: the program with the protocol in front, and its faults.
#[derive(Debug)]
pub struct SwitchNode {
    interpreter: Interpreter,
    /// The number of registers of the protocol; those of the algorithm follow.
    own: usize,
    agreed: SharedConfig,
    faults: Faults,
    rng: Rng,
    boot: u32,
    counts: SwitchCounts,
}

/// The datagrams and entries that a switch handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchCounts {
    /// The number of datagrams that reached the switch.
    pub received: u64,
    /// The number of datagrams lost on the links to it and from it.
    pub lost: u64,
    /// The number of datagrams that it sent twice.
    pub duplicated: u64,
    /// The number of entries that it forwarded to the master.
    pub forwarded: u64,
    /// The number of entries that it dropped and acknowledged.
    pub pruned: u64,
    /// The number of entries that it dropped because they came before their predecessors.
    pub discarded: u64,
    /// The number of reboots.
    pub reboots: u64,
}

impl SwitchNode {
    /// Creates the switch with the algorithm's `program`, which must be one for the query.
    ///
    /// # Errors
    ///
    /// If the program cannot have the protocol in front (see [`reliable`]) or parses another number of values than
    /// `agreed`, or if a probability is not at least 0 and below 1.
    pub fn new(
        agreed: SharedConfig,
        program: &Program,
        faults: Faults,
    ) -> Result<Self, ConfigError> {
        agreed.check()?;
        for probability in [faults.loss, faults.duplication] {
            if !(0.0..1.0).contains(&probability) {
                return Err(ConfigError::Conflict(
                    "losses and duplications are at least 0, below 1",
                ));
            }
        }
        if program.values != agreed.values {
            return Err(ConfigError::Conflict(
                "the program parses other values than the query has",
            ));
        }
        let flows = Flow::of_workers(agreed.wire().packet_contents(), agreed.workers);
        let whole = reliable(program, &flows, Copies::for_query(agreed.query, 0))?;
        let own = whole.registers.len() - program.registers.len();
        let interpreter = Interpreter::new(whole)
            .map_err(|_| ConfigError::Conflict("the program breaks a rule of the switch"))?;
        let rng = Rng::new(faults.seed);
        let counts = SwitchCounts::default();
        Ok(Self { interpreter, own, agreed, faults, rng, boot: 0, counts })
    }

    /// Returns the datagrams and entries handled so far.
    #[must_use]
    pub const fn counts(&self) -> SwitchCounts {
        self.counts
    }

    /// Takes a datagram from `from` and adds the datagrams that leave, with their receivers, to `out`.
    pub fn receive(&mut self, from: Peer, bytes: &[u8], out: &mut Vec<(Peer, Vec<u8>)>) {
        if self.loses() {
            return;
        }
        self.counts.received += 1;
        if self.faults.reboots.first().is_some_and(|after| self.counts.received > *after) {
            self.faults.reboots.remove(0);
            self.reboot();
        }
        let leaves = match from {
            Peer::Master => match worker_of(bytes) {
                Some(worker) if worker < self.agreed.workers => {
                    Some((Peer::Worker(worker), bytes.to_vec()))
                }
                _ => return,
            },
            Peer::Worker(worker) => self.pass_on(worker, bytes),
        };
        let Some((to, bytes)) = leaves else { return };
        if self.loses() {
            return;
        }
        if self.rng.chance(self.faults.duplication) {
            self.counts.duplicated += 1;
            out.push((to, bytes.clone()));
        }
        out.push((to, bytes));
    }

    /// Runs the program on a worker's datagram; a datagram that the program does not parse passes to the master.
    fn pass_on(&mut self, worker: u16, bytes: &[u8]) -> Option<(Peer, Vec<u8>)> {
        if let Some(answered) = self.read(worker, bytes) {
            return Some(answered);
        }
        let parsed = switch::Packet::parse(bytes).ok();
        let outcome = parsed.and_then(|packet| self.interpreter.outcome(&packet).ok());
        let whole = |packet: &switch::Packet| {
            let mut whole = packet.encode().unwrap_or_default();
            whole.extend(payload(bytes));
            whole
        };
        Some(match outcome {
            None => (Peer::Master, bytes.to_vec()),
            Some(switch::Outcome::Acknowledge(packet)) => {
                self.counts.pruned += 1;
                (Peer::Worker(worker), whole(&packet))
            }
            Some(switch::Outcome::Forward(packet)) => {
                self.counts.forwarded += 1;
                (Peer::Master, whole(&packet))
            }
            Some(switch::Outcome::Drop) => {
                self.counts.discarded += 1;
                return None;
            }
        })
    }

    /// Answers a request to read a held sum, if the request carries the current boot, like the control plane. The sum
    /// goes to the master; if there are no more, the request returns to the worker.
    fn read(&mut self, worker: u16, bytes: &[u8]) -> Option<(Peer, Vec<u8>)> {
        let wire = self.agreed.wire();
        let Some(Datagram::Whole(Packet::Entry { name, entry, stamp })) = wire.read(bytes) else {
            return None;
        };
        if !self.agreed.query.holds() || name.pass == 0 || stamp != self.boot {
            return None;
        }
        let registers = self.interpreter.registers().get(self.own..)?;
        match self.agreed.query.group_sums_in(registers, entry.key) {
            Some((key, value)) => {
                self.counts.forwarded += 1;
                let entry = Entry { key, value, ..entry };
                let mut out = Vec::new();
                wire.write(&Packet::Entry { name, entry, stamp }, &mut out);
                Some((Peer::Master, out.pop()?))
            }
            None => Some((Peer::Worker(worker), bytes.to_vec())),
        }
    }

    /// Loses all registers; the control plane then writes the number of the boot.
    fn reboot(&mut self) {
        self.boot += 1;
        self.counts.reboots += 1;
        self.interpreter.reset();
        self.interpreter.write(BOOT_REGISTER, 0, [self.boot, 0]);
    }

    fn loses(&mut self) -> bool {
        let lost = self.rng.chance(self.faults.loss);
        self.counts.lost += u64::from(lost);
        lost
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::protocol::explore_programs;

    /// All machines in one process, over a network whose only faults are the switch's.
    struct Network {
        now: u64,
        workers: Vec<WorkerNode>,
        switch: SwitchNode,
        master: MasterNode,
        /// The number of datagrams that the master takes in a round; it loses the others. `None`: it takes all.
        room: Option<usize>,
    }

    impl Network {
        fn new(
            agreed: SharedConfig,
            program: &Program,
            faults: Faults,
            rows: &[Vec<Entry>],
        ) -> Self {
            let workers = (0..).zip(rows).map(|(n, rows)| WorkerNode::new(agreed, n, rows));
            Self {
                now: 0,
                workers: workers.collect(),
                switch: SwitchNode::new(agreed, program, faults).unwrap(),
                master: MasterNode::new(agreed),
                room: None,
            }
        }

        /// Runs up to `rounds` rounds; returns true if all machines finished.
        fn run(&mut self, rounds: usize) -> bool {
            for _ in 0..rounds {
                let mut sent = VecDeque::new();
                for (number, worker) in (0u16..).zip(&mut self.workers) {
                    let mut out = Vec::new();
                    worker.send(self.now, &mut out);
                    sent.extend(out.into_iter().map(|bytes| (Peer::Worker(number), bytes)));
                }
                let mut room = self.room.unwrap_or(usize::MAX);
                while let Some((from, bytes)) = sent.pop_front() {
                    let mut out = Vec::new();
                    self.switch.receive(from, &bytes, &mut out);
                    for (to, bytes) in out {
                        match to {
                            Peer::Worker(worker) => {
                                self.workers[usize::from(worker)].receive(&bytes);
                            }
                            Peer::Master if room == 0 => {}
                            Peer::Master => {
                                room -= 1;
                                let mut replies = Vec::new();
                                self.master.receive(&bytes, &mut replies);
                                let replies = replies.into_iter();
                                sent.extend(replies.map(|bytes| (Peer::Master, bytes)));
                            }
                        }
                    }
                }
                self.now += 1;
                if self.workers.iter().all(WorkerNode::is_done) {
                    return self.master.is_done();
                }
            }
            false
        }
    }

    fn agreed(query: Query, program: &Program) -> SharedConfig {
        SharedConfig { query, values: program.values, workers: 3, window: 8, timeout: 3 }
    }

    /// Every algorithm, over datagrams: the answer is that over all rows, despite losses, duplicates and reboots.
    #[test]
    fn every_algorithm_answers_through_datagrams() {
        for (name, query, program) in explore_programs() {
            let (mut counts, mut discarded) = ([0; 4], 0);
            for seed in 0..12 {
                let mut rng = Rng::new(seed);
                let mut rows: Vec<_> = (0..3).map(|_| query.rows(60, &mut rng)).collect();
                // The entry's packet cannot carry this key, but the entry counts.
                rows[1][30].key |= 1 << 40;
                let spoilt = seed > 0;
                let chance = |chance| if spoilt { chance } else { 0.0 };
                let faults = Faults {
                    loss: chance(0.1),
                    duplication: chance(0.1),
                    reboots: (0..seed % 3).map(|n| 100 + 150 * n).collect(),
                    seed,
                };
                let agreed = agreed(query, &program);
                let mut network = Network::new(agreed, &program, faults, &rows);
                assert!(network.run(5000), "{name}, seed {seed}: no end");
                let expected = query.answer(&rows.concat());
                assert_eq!(network.master.answer(), expected, "{name}, seed {seed}");
                let switch = network.switch.counts();
                if !spoilt {
                    let worker = network.workers[0].counts();
                    assert_eq!((switch.lost, worker.retransmitted), (0, 0), "{name}");
                    assert_eq!(network.master.counts().repeated, 0, "{name}");
                }
                assert!(switch.discarded == 0 || spoilt && query.holds(), "{name}: {switch:?}");
                discarded += switch.discarded;
                let seen = [switch.pruned, switch.lost, switch.duplicated, switch.reboots];
                counts.iter_mut().zip(seen).for_each(|(sum, count)| *sum += count);
            }
            let [pruned, faults @ ..] = counts;
            assert!(pruned > 0 && faults.iter().all(|&count| count > 7), "{name}: {counts:?}");
            assert_eq!(discarded > 0, query.holds(), "{name}");
        }
    }

    /// A GO has more keys than a datagram, and some of its parts are lost.
    #[test]
    fn many_keys_are_asked_for_in_parts() {
        let having = explore_programs().into_iter().find(|(name, ..)| *name == "having").unwrap();
        let (_, query, program) = having;
        let row = |key| Entry { pass: 0, table: 0, key, value: 9 };
        let rows: Vec<Vec<Entry>> =
            (0..3).map(|worker| (0..900).map(|n| row(3 * n + worker)).collect()).collect();
        let faults = Faults { loss: 0.05, duplication: 0.0, reboots: vec![], seed: 1 };
        let mut network = Network::new(agreed(query, &program), &program, faults, &rows);
        assert!(network.run(20_000));
        assert_eq!(network.master.answer().len(), 2700);
    }

    /// With a constant timeout the FIN of the first worker would take the only place every time.
    #[test]
    fn workers_do_not_retransmit_in_step_for_ever() {
        for (name, query, program) in explore_programs() {
            for length in [0, 1, 5] {
                let faults = Faults { loss: 0.0, duplication: 0.0, reboots: vec![], seed: 0 };
                let rows = vec![query.rows(length, &mut Rng::new(3)); 3];
                let mut network = Network::new(agreed(query, &program), &program, faults, &rows);
                network.room = Some(1);
                assert!(network.run(5000), "{name}, {length} rows: no end");
                assert_eq!(network.master.answer(), query.answer(&rows.concat()), "{name}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let (_, query, program) = explore_programs().swap_remove(1);
        let good = Faults { loss: 0.0, duplication: 0.0, reboots: vec![], seed: 0 };
        let agreed = agreed(query, &program);
        assert!(SwitchNode::new(agreed, &program, good.clone()).is_ok());
        let lossy = Faults { loss: 1.0, ..good.clone() };
        assert!(SwitchNode::new(agreed, &program, lossy).is_err());
        for odd in [
            SharedConfig { workers: 0, ..agreed },
            SharedConfig { window: 0, ..agreed },
            SharedConfig { timeout: 0, ..agreed },
            SharedConfig { values: 2, ..agreed },
        ] {
            assert!(SwitchNode::new(odd, &program, good.clone()).is_err(), "{odd:?}");
        }
    }

    /// Datagrams that do not belong to the protocol have no effect.
    #[test]
    fn foreign_datagrams_are_ignored() {
        let (_, query, program) = explore_programs().swap_remove(1);
        let agreed = agreed(query, &program);
        let faults = Faults { loss: 0.0, duplication: 0.0, reboots: vec![], seed: 0 };
        let rows = vec![query.rows(5, &mut Rng::new(1)); 3];
        let mut network = Network::new(agreed, &program, faults, &rows);
        let mut rng = Rng::new(9);
        for length in 0..200 {
            let bytes: Vec<u8> = (0..length % 60).map(|_| rng.next_u64() as u8).collect();
            let mut out = Vec::new();
            network.master.receive(&bytes, &mut out);
            assert!(out.is_empty());
            network.workers[0].receive(&bytes);
        }
        assert!(network.run(1000));
        assert_eq!(network.master.answer(), query.answer(&rows.concat()));
    }
}
