//! The reliability protocol between workers, switch and master, simulated and model-checked.
//!
//! # As the paper describes it (section 7.2)
//!
//! A worker numbers its entries and sends each until it is acknowledged. The switch keeps, for each flow, the number
//! X of the last packet that it processed. Packet Y is processed if Y = X + 1 (and, if pruned, acknowledged by the
//! switch), forwarded unprocessed if Y ≤ X (a retransmission), and dropped if Y > X + 1. The master acknowledges
//! everything it receives. A failed switch "can simply be rebooted with empty state". This is [`Rules::paper`].
//!
//! # What breaks
//!
//! * An acknowledgement of the master is lost: the entry comes again, and COUNT, SUM, TOP N and the
//!   multiplicities of a join are wrong.
//! * The switch reboots: X = 0, so it waits for packet 1, which was acknowledged long ago, and
//!   nothing makes progress.
//! * It reboots between the passes of a join: the empty filter prunes every match. In HAVING, sums
//!   from before the reboot are lost, and a group may never cross the threshold.
//! * Loss is expensive: the switch drops every packet behind a lost one, and all of them have to be sent again.
//!
//! # The repair ([`Rules::repaired`])
//!
//! 1. The master takes each (flow, pass, number) once.
//! 2. Every boot of the switch has a number, its *epoch*. An entry always carries the epoch for
//!    which it was first sent. Only entries of the current epoch are processed; others are forwarded
//!    unprocessed. The switch stamps its epoch on the packets that it forwards and acknowledges, and the workers
//!    learn it from there.
//! 3. After a reboot the switch takes the first packet of a flow as the next in turn.
//!    A packet that comes early is processed, and its predecessor is forwarded unprocessed when it
//!    comes ([`Gap::Skip`]). Each packet is thus processed at most once, and none waits.
//! 4. The effect of a reboot depends on the algorithm ([`Query::on_reboot`]). Filtering, DISTINCT,
//!    TOP N, GROUP BY and SKYLINE go on with empty state. The first pass of JOIN and of HAVING is
//!    repeated. The second pass of JOIN goes on unpruned. JOIN's insertions and lookups are
//!    replayed for every copy ([`Query::replayable`]), because an entry that was skipped must not
//!    be missing from the filter.
//! 5. If the switch *holds* dropped entries as sums, as in GROUP BY SUM ([`Query::holds`]), a reboot loses
//!    them, and in either pass it repeats the query. Entries are processed in their order ([`Gap::Wait`]
//!    whatever the rules are), so a copy with an earlier number is of a processed entry. It is
//!    looked up, not added, and acknowledged if its group is held. In the last pass the switch is read, cell
//!    by cell; the sum replaces the values of the packet that requests it. In the program
//!    ([`Copies::LookedUp`]) the control plane reads the cells, if the request carries its current boot.
//! 6. A worker that receives nothing new doubles its timeout up to a limit and adds a random part. With a
//!    constant timeout all workers retransmit in step, and if they overflow the master's queue once, they
//!    overflow it for ever (`backoff.rs`).
//!
//! # Why it is right
//!
//! Let D(k) be the entries processed in epoch k and F(k) those that the worker gave up because the switch pruned them
//! in epoch k; the master ends with D minus all F(k). By rule 2 an entry is processed in one epoch only, so F(j) and
//! D(k) are disjoint for j ≠ k. F(k) is part of what one run of the pruner on D(k), starting with empty state,
//! pruned. Its answer does not change when F(k) is taken away, nor when other entries are added on both sides,
//! because the queries that go on are decomposable: Q(A ∪ B) depends on A only through Q(A). Taking F(1), F(2), …
//! away one by one therefore leaves the answer unchanged. Without rule 2 this fails: an entry t forwarded and lost in
//! epoch 1 serves to prune u; a late copy of u, forwarded and lost in epoch 2, serves to prune t. [`explore()`] finds
//! that run.
//!
//! A pass that does not go on is pinned to the epoch in which its attempt began. In HAVING, if all entries of a group
//! were processed in that epoch, they were counted in full and one crossed the threshold and was forwarded; if not,
//! one was forwarded unprocessed. Either way the master has the key and requests the group. In JOIN, if an entry of
//! the first pass was not inserted, it came to the switch in a later epoch; so did all entries of the second pass,
//! and none is looked up. [`OnReboot::Forward`] is therefore sound for both; [`OnReboot::Restart`] exists to prune
//! again.
//!
//! In GROUP BY SUM a group that has a cell keeps it until the reboot. Of all copies of an entry one is processed, and
//! every later one finds the group held if and only if the processed one did. The worker stops sending either because
//! the value is in the sum, or because the master has the entry. Sums are read when all workers have finished, so
//! that none grows any more, by packets of the attempt's epoch. A reading in a later boot arrives unprocessed, and
//! its stamp makes the master repeat the query.
//!
//! # Model
//!
//! [`simulate()`] runs the state machines of all three on links that lose, duplicate, delay and thus reorder packets,
//! with a small pruner of each kind, or with any algorithm of this crate ([`FastPath`]). [`explore()`] runs the same
//! machines through *every* order of events of a small case. [`WorkerNode`], [`SwitchNode`] and [`MasterNode`] are
//! the same machines over datagrams, for processes with sockets; there the switch is the program itself. The model
//! assumes that reboots are finitely many, that packets are not altered, and that the control plane counts boots.

mod backoff;
mod config;
mod explore;
mod fast_path;
mod master;
mod node;
mod packet;
mod program;
mod prune;
mod query;
mod report;
mod rules;
mod simulate;
mod switch;
mod tally;
mod wire;
mod worker;

pub use crate::deployment::Flow;
pub use config::{Config, ConfigError, Link, Reboots};
pub use explore::{Budget, Exploration, explore};
pub use fast_path::{FastPath, Programmed};
pub use node::{
    Faults, MOST_WORKERS, MasterCounts, MasterNode, Peer, SharedConfig, SwitchCounts, SwitchNode,
    WorkerCounts, WorkerNode,
};
pub use packet::{Entry, Name, Packet};
pub use program::{BOOT_REGISTER, Copies, SEQUENCE_REGISTER, reliable, reliable_by};
pub use prune::{Pruner, SmallPruner};
pub use query::{Answer, Query};
pub use report::{Outcome, Report};
pub use rules::{Gap, OnReboot, Recovery, Rules};
pub use simulate::{simulate, simulate_with};
pub use tally::Tally;

#[cfg(test)]
pub(crate) use explore::programs as explore_programs;
