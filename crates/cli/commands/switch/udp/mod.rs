//! `sluice switch udp`: runs a query through processes that talk UDP on this machine.

mod children;
pub(super) mod node;

use std::time::{Duration, Instant};

use sluicegate_pruning::algorithm::catalog::{Algorithm, Configured, PacketContents};
use sluicegate_pruning::algorithm::join::BUILD_A;
use sluicegate_pruning::experiment::trial::Run;
use sluicegate_pruning::protocol::{
    Answer, Entry, Faults, MasterCounts, SharedConfig, SwitchCounts, SwitchNode, WorkerCounts,
};
use sluicegate_pruning::switch::Relation;

use self::children::Children;
use self::node::{NodeCommand, NodeReply, Task};
use super::run::{LoadedStream, load};
use crate::args::switch::Variant;
use crate::args::udp::UdpArgs;
use crate::failure::{Failure, Result};
use crate::output::listing::Listing;

const HEADER: [&str; 16] = [
    "algorithm",
    "workers",
    "entries",
    "sent",
    "retransmitted",
    "pruned",
    "discarded",
    "forwarded",
    "delivered",
    "repeated",
    "lost",
    "doubled",
    "reboots",
    "restarts",
    "rows",
    "answer",
];
const NOTES: &str = "\
sent, retransmitted: entries of all workers; pruned: acknowledged by the switch; discarded: by a switch that
holds sums, of entries whose predecessors were lost; forwarded: by the switch to the master; delivered:
those that went into the query; repeated: those that the master has had
before, and drops; lost, doubled: packets at the switch; rows: of the answer,
against that over all entries. Counted.
";

/// The maximum number of entries: each is kept by its worker and by this process.
const MOST_ENTRIES: usize = 2_000_000;

pub(super) fn run(args: &UdpArgs) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(args.patience);
    for (probability, name) in [(args.loss, "--loss"), (args.duplication, "--duplication")] {
        if !(0.0..=0.9).contains(&probability) {
            return Err(Failure::Usage(format!("{name} {probability} is not between 0 and 0.9")));
        }
    }
    let mut given = args.parameters.parameters();
    if args.algorithm == Algorithm::Filter {
        given.relation = given.relation.or(Some(Relation::Ge));
    }
    let LoadedStream { stream: entries, given, .. } =
        load(args.algorithm, &given, Variant::Paper, &args.input)?;
    let configured = args.algorithm.configure(&given)?;
    let Some(query) = configured.question().in_protocol() else {
        return Err(Failure::new(format!("there is no such query of {} in the protocol", args.algorithm))
            .with_hint("It has MAX, not MIN; filters `--relation ge`; HAVING SUM or MAX `--relation gt`; points of two coordinates."));
    };
    let rows = shared(&entries, args.algorithm.entry().carries, args.workers);
    let all: Vec<Entry> = rows.iter().flatten().copied().collect();
    if all.len() > MOST_ENTRIES {
        return Err(Failure::new(format!("{} entries are more than {MOST_ENTRIES}", all.len()))
            .with_hint("Take fewer: generated:SHAPE:entries=N."));
    }
    let program = configured.program();
    let agreed = SharedConfig {
        query,
        values: program.values,
        workers: args.workers,
        window: args.window.into(),
        timeout: 1000 * args.timeout,
    };
    let passed = all.len() as u64 + 1;
    let reboots = (1..=u64::from(args.reboots)).map(|n| n * passed / (u64::from(args.reboots) + 1));
    let faults = Faults {
        loss: args.loss,
        duplication: args.duplication,
        reboots: reboots.collect(),
        seed: args.seed,
    };
    // Check the parameters before starting any process.
    SwitchNode::new(agreed, &program, faults.clone())?;
    let ended = through(agreed, configured, faults, rows, until)?;
    let RunResults { workers, switch, master, answer } = &ended;
    let expected = query.answer(&all);
    let is_right = *answer == expected;
    let said = if is_right { "unchanged".to_owned() } else { "WRONG".to_owned() };
    let mut listing = Listing::new(&HEADER);
    listing.push(vec![
        args.algorithm.name().into(),
        args.workers.into(),
        all.len().into(),
        workers.iter().map(|it| it.sent).sum::<u64>().into(),
        workers.iter().map(|it| it.retransmitted).sum::<u64>().into(),
        switch.pruned.into(),
        switch.discarded.into(),
        switch.forwarded.into(),
        master.delivered.into(),
        master.repeated.into(),
        switch.lost.into(),
        switch.duplicated.into(),
        switch.reboots.into(),
        master.restarts.into(),
        answer.len().into(),
        said.into(),
    ]);
    listing.print(args.format, NOTES)?;
    if is_right {
        return Ok(());
    }
    Err(Failure::new("the answer is not that over all entries").with_hint(
        "Only top-n-randomized may lose a row, with its probability δ; otherwise this is a bug: please report \
         it with the command.",
    ))
}

/// Divides the rows of every table evenly among the workers.
fn shared(stream: &[Run], carries: PacketContents, workers: u16) -> Vec<Vec<Entry>> {
    let mut rows = vec![Vec::new(); workers.into()];
    for run in stream {
        let table = u8::from(carries == PacketContents::KeyOfEither && run.flow != BUILD_A);
        let all = Entry::rows(carries, table, &run.columns);
        let share = all.len().div_ceil(workers.into()).max(1);
        rows.iter_mut().zip(all.chunks(share)).for_each(|(rows, part)| rows.extend(part));
    }
    rows
}

/// The final reports of all processes.
struct RunResults {
    workers: Vec<WorkerCounts>,
    switch: SwitchCounts,
    master: MasterCounts,
    answer: Answer,
}

/// Starts the processes, waits until the workers are done, and collects the counts.
fn through(
    agreed: SharedConfig,
    configured: Configured,
    faults: Faults,
    rows: Vec<Vec<Entry>>,
    until: Instant,
) -> Result<RunResults> {
    let mut all = Children::new(until);
    let switch = all.start(&Task::Switch { agreed, configured, faults })?;
    let master = all.start(&Task::Master { agreed })?;
    let mut workers = Vec::new();
    for (number, rows) in (0..).zip(rows) {
        workers.push(all.start(&Task::Worker { agreed, number, rows })?);
    }
    let port = |said: NodeReply| match said {
        NodeReply::Port(port) => Ok(port),
        other => Err(odd(&other)),
    };
    let switch_port = port(all.receive(switch)?)?;
    let master_port = port(all.receive(master)?)?;
    let worker_ports =
        workers.iter().map(|&worker| port(all.receive(worker)?)).collect::<Result<Vec<_>>>()?;
    all.send(switch, &NodeCommand::Switched { master: master_port, workers: worker_ports })?;
    all.send(master, &NodeCommand::Switch(switch_port))?;
    for &worker in &workers {
        all.send(worker, &NodeCommand::Switch(switch_port))?;
    }
    let mut ended = Vec::new();
    for &worker in &workers {
        match all.receive(worker)? {
            NodeReply::Worker(counts) => ended.push(counts),
            other => return Err(odd(&other)),
        }
    }
    all.send(master, &NodeCommand::Report)?;
    let NodeReply::Master { counts, answer } = all.receive(master)? else {
        return Err(Failure::new("the master said something else than its answer"));
    };
    all.send(switch, &NodeCommand::Report)?;
    let NodeReply::Switch(switch) = all.receive(switch)? else {
        return Err(Failure::new("the switch said something else than its counts"));
    };
    Ok(RunResults { workers: ended, switch, master: counts, answer })
}

fn odd(said: &NodeReply) -> Failure {
    Failure::new(format!("a process said {said:?} where it should not"))
}
