//! The discrete-event simulation: one seed, one run.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::backoff::Backoff;
use super::config::{Config, ConfigError, Link, Reboots, validate};
use super::master::{Arrival, Master};
use super::packet::{Entry, Packet};
use super::prune::{Pruner, SmallPruner};
use super::report::{Outcome, Report};
use super::switch::{Action, Switch};
use super::worker::Worker;
use crate::rng::Rng;

/// Runs `config` on random rows with one of the [`SmallPruner`]s. Equal seeds give equal reports.
///
/// # Errors
///
/// If the configuration contradicts itself.
///
/// # Example
///
/// ```
/// use sluicegate_pruning::protocol::{Config, Outcome, Query, Rules, simulate};
///
/// let repaired = Config::new(Query::GroupByMax, Rules::repaired());
/// assert_eq!(simulate(&repaired, 7)?.outcome, Outcome::Correct);
/// // As described in the paper, most such runs get stuck when the switch reboots.
/// let paper = Config::new(Query::GroupByMax, Rules::paper());
/// assert_eq!(simulate(&paper, 7)?.outcome, Outcome::Stuck);
/// # Ok::<(), sluicegate_pruning::protocol::ConfigError>(())
/// ```
pub fn simulate(config: &Config, seed: u64) -> Result<Report, ConfigError> {
    let rows = (config.rows as u64).saturating_mul(config.workers.into());
    validate(config, config.workers.into(), rows)?;
    let mut rng = Rng::new(seed);
    let rows = (0..config.workers).map(|_| config.query.rows(config.rows, &mut rng)).collect();
    simulate_with(config, rows, SmallPruner::new(config.query), rng.next_u64())
}

/// Runs `config` with the given `rows` of each worker, whose number replaces those of `config`, and any pruner of the
/// query.
///
/// # Errors
///
/// If the configuration contradicts itself.
pub fn simulate_with(
    config: &Config,
    rows: Vec<Vec<Entry>>,
    pruner: impl Pruner,
    seed: u64,
) -> Result<Report, ConfigError> {
    let all_rows = rows.iter().map(|rows| rows.len() as u64).sum();
    validate(config, rows.len(), all_rows)?;
    let all: Vec<Entry> = rows.iter().flatten().copied().collect();
    let mut run = Run::new(config, rows, pruner, seed);
    run.report.rows = all.len() as u64;
    run.until_done();
    if run.report.outcome != Outcome::Stuck && run.master.answer() != config.query.answer(&all) {
        run.report.outcome = Outcome::Wrong;
    }
    Ok(run.report)
}

/// Something that happens at a tick.
enum Event {
    AtSwitch(Packet),
    AtMaster(Packet),
    /// The master takes a packet from its queue.
    Taken(Packet),
    AtWorker(Packet),
    /// A worker may send its next entry.
    Send(u16),
    /// An entry of a worker's round may have to be sent again.
    Timeout {
        fid: u16,
        round: u32,
        id: u32,
    },
    /// A worker's FIN of a round may have to be sent again.
    FinTimeout {
        fid: u16,
        round: u32,
    },
    Reboot,
}

/// An event, ordered by tick, then by creation.
struct Scheduled {
    tick: u64,
    order: u64,
    event: Event,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.tick, self.order).cmp(&(other.tick, other.order))
    }
}

struct Run<'a, P> {
    config: &'a Config,
    rng: Rng,
    now: u64,
    events: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    workers: Vec<Worker>,
    /// The backoff of each worker, which times its retransmissions.
    backoffs: Vec<Backoff>,
    /// For each worker the round whose FIN has been sent.
    fin_sent: Vec<u32>,
    /// For each worker, true if an [`Event::Send`] is pending.
    sending: Vec<bool>,
    switch: Switch<P>,
    /// The tick until which the switch is down.
    down_until: u64,
    master: Master,
    replies: Vec<Packet>,
    /// The tick until which a burst of losses lasts.
    lossy_until: u64,
    /// The number of packets in the master's queue; `master_free` is the tick at which it has taken them all.
    waiting: usize,
    master_free: u64,
    last_progress: u64,
    report: Report,
}

impl<'a, P: Pruner> Run<'a, P> {
    fn new(config: &'a Config, rows: Vec<Vec<Entry>>, pruner: P, seed: u64) -> Self {
        let Config { query, rules, .. } = *config;
        let workers: Vec<Worker> = rows
            .into_iter()
            .zip(0u16..)
            .map(|(rows, fid)| Worker::new(fid, rules, query, config.first_id, Arc::from(rows)))
            .collect();
        let backoff = |fid| Backoff::new(config.timeout, seed, fid);
        let mut run = Self {
            config,
            rng: Rng::new(seed),
            now: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            fin_sent: vec![0; workers.len()],
            sending: vec![false; workers.len()],
            backoffs: (0u16..).map(backoff).take(workers.len()).collect(),
            switch: Switch::new(rules, query, config.first_id, pruner),
            down_until: 0,
            master: Master::new(rules, query, workers.len()),
            workers,
            replies: Vec::new(),
            last_progress: 0,
            lossy_until: 0,
            waiting: 0,
            master_free: 0,
            report: Report {
                outcome: Outcome::Correct,
                ticks: 0,
                rows: 0,
                sent: 0,
                retransmitted: 0,
                lost: 0,
                overflowed: 0,
                duplicated: 0,
                out_of_turn: 0,
                pruned: 0,
                unprocessed: 0,
                delivered: 0,
                repeated: 0,
                reboots: 0,
                restarts: 0,
            },
        };
        match &config.reboots {
            Reboots::At(ticks) => ticks.iter().for_each(|&tick| run.schedule(tick, Event::Reboot)),
            Reboots::Random { count, until } => {
                for _ in 0..*count {
                    let tick = run.rng.below(*until);
                    run.schedule(tick, Event::Reboot);
                }
            }
        }
        for fid in 0..run.workers.len() as u16 {
            run.wake(fid);
        }
        run
    }

    fn schedule(&mut self, delay: u64, event: Event) {
        self.schedule_at(self.now.saturating_add(delay), event);
    }

    fn schedule_at(&mut self, tick: u64, event: Event) {
        let order = self.scheduled;
        self.scheduled += 1;
        self.events.push(Reverse(Scheduled { tick, order, event }));
    }

    fn until_done(&mut self) {
        let patience = self.config.patience.saturating_mul(Backoff::longest(self.config.timeout));
        while let Some(Reverse(Scheduled { tick, event, .. })) = self.events.pop() {
            self.now = tick;
            self.handle(event);
            if self.master.is_done() {
                self.report.ticks = self.now;
                return;
            }
            if self.now > self.last_progress.saturating_add(patience) {
                break;
            }
        }
        self.report.ticks = self.now;
        self.report.outcome = Outcome::Stuck;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::AtSwitch(packet) => self.at_switch(packet),
            Event::AtMaster(packet) => match self.config.queue {
                None => self.at_master(&packet),
                Some(room) if self.waiting >= room => self.report.overflowed += 1,
                Some(_) => {
                    self.waiting += 1;
                    self.master_free = self.master_free.max(self.now) + 1;
                    self.schedule(self.master_free - self.now, Event::Taken(packet));
                }
            },
            Event::Taken(packet) => {
                self.waiting -= 1;
                self.at_master(&packet);
            }
            Event::AtWorker(packet) => {
                let fid = packet.fid();
                if self.workers[usize::from(fid)].on_packet(&packet) {
                    self.last_progress = self.now;
                    self.backoffs[usize::from(fid)].reset(self.now);
                    self.wake(fid);
                }
            }
            Event::Send(fid) => {
                self.sending[usize::from(fid)] = false;
                if let Some(packet) = self.workers[usize::from(fid)].next(self.config.window) {
                    self.last_progress = self.now;
                    self.send_entry(packet);
                    self.sending[usize::from(fid)] = true;
                    self.schedule(1, Event::Send(fid));
                }
            }
            Event::Timeout { fid, round, id } => {
                if let Some(packet) = self.workers[usize::from(fid)].again(round, id) {
                    self.report.retransmitted += 1;
                    self.send_entry(packet);
                }
            }
            Event::FinTimeout { fid, round } => {
                if self.workers[usize::from(fid)].round() == round {
                    self.send_fin(fid);
                }
            }
            Event::Reboot => {
                self.switch.reboot();
                self.down_until = self.now + self.config.downtime;
                self.report.reboots += 1;
                self.last_progress = self.down_until;
            }
        }
    }

    /// Lets a worker send all that it can now.
    fn wake(&mut self, fid: u16) {
        let index = usize::from(fid);
        let round = self.workers[index].round();
        if self.fin_sent[index] != round && self.workers[index].fin().is_some() {
            self.fin_sent[index] = round;
            self.send_fin(fid);
        } else if !self.sending[index] {
            self.sending[index] = true;
            self.schedule(0, Event::Send(fid));
        }
    }

    fn send_entry(&mut self, packet: Packet) {
        self.report.sent += 1;
        if let Packet::Entry { name, .. } = &packet {
            let (fid, id) = (name.fid, name.id);
            let round = self.workers[usize::from(fid)].round();
            let due = self.backoffs[usize::from(fid)].due(self.now);
            self.schedule_at(due, Event::Timeout { fid, round, id });
        }
        self.transmit(packet, Event::AtSwitch);
    }

    fn send_fin(&mut self, fid: u16) {
        let worker = &self.workers[usize::from(fid)];
        if let Some(packet) = worker.fin() {
            let round = worker.round();
            let due = self.backoffs[usize::from(fid)].due(self.now);
            self.schedule_at(due, Event::FinTimeout { fid, round });
            self.transmit(packet, Event::AtSwitch);
        }
    }

    /// Puts a packet on a link.
    fn transmit(&mut self, packet: Packet, arrive: impl Fn(Packet) -> Event) {
        let Link { loss, duplication, min_delay, max_delay, burst } = self.config.link;
        let in_burst = self.now < self.lossy_until;
        if in_burst || self.rng.chance(loss) {
            if !in_burst {
                self.lossy_until = self.now.saturating_add(burst);
            }
            self.report.lost += 1;
            return;
        }
        let spread = max_delay - min_delay;
        if self.rng.chance(duplication) {
            self.report.duplicated += 1;
            let delay = min_delay + self.rng.below(spread + 1);
            self.schedule(delay, arrive(packet.clone()));
        }
        let delay = min_delay + self.rng.below(spread + 1);
        self.schedule(delay, arrive(packet));
    }

    /// Handles a packet at the switch. All packets cross it, but it processes only those from workers.
    fn at_switch(&mut self, packet: Packet) {
        if self.now < self.down_until {
            self.report.lost += 1;
            return;
        }
        match packet {
            Packet::Entry { name, entry, .. } => {
                let boot = self.switch.boot();
                match self.switch.on_entry(&name, &entry) {
                    Action::Drop => self.report.out_of_turn += 1,
                    Action::Prune => {
                        self.report.pruned += 1;
                        self.transmit(Packet::Ack { name, stamp: boot }, Event::AtWorker);
                    }
                    Action::Confirm => {
                        self.transmit(Packet::Ack { name, stamp: boot }, Event::AtWorker);
                    }
                    Action::Read(entry) => {
                        self.transmit(Packet::Entry { name, entry, stamp: boot }, Event::AtMaster);
                    }
                    action => {
                        self.report.unprocessed += u64::from(action == Action::ForwardUnprocessed);
                        let packet = Packet::Entry { name, entry, stamp: boot };
                        self.transmit(packet, Event::AtMaster);
                    }
                }
            }
            Packet::Fin { .. } => self.transmit(packet, Event::AtMaster),
            Packet::Ack { .. } | Packet::Go { .. } | Packet::Restart { .. } => {
                self.transmit(packet, Event::AtWorker);
            }
        }
    }

    fn at_master(&mut self, packet: &Packet) {
        let mut replies = std::mem::take(&mut self.replies);
        match packet {
            Packet::Entry { name, entry, stamp } => {
                match self.master.on_entry(name, entry, *stamp, &mut replies) {
                    Arrival::Taken => self.report.delivered += 1,
                    Arrival::Repeated => self.report.repeated += 1,
                    Arrival::Restarted => self.report.restarts += 1,
                }
            }
            Packet::Fin { query, fid, pass, attempt } => {
                let is_new = self.master.on_fin((*query, *fid), *pass, *attempt, &mut replies);
                if is_new {
                    self.last_progress = self.now;
                }
            }
            _ => {}
        }
        for reply in replies.drain(..) {
            self.transmit(reply, Event::AtSwitch);
        }
        self.replies = replies;
    }
}

#[cfg(test)]
mod tests;
