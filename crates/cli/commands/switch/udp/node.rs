//! `sluice switch udp-node`: a worker, the switch or the master, as a process.
//!
//! It reads its task from standard input, prints the port on which it listens, reads the ports of the others, and
//! ends when its part is done or its input ends.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::process;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::protocol::{
    Answer, Entry, Faults, MasterCounts, MasterNode, Peer, SharedConfig, SwitchCounts, SwitchNode,
    WorkerCounts, WorkerNode,
};

use crate::failure::{Failure, Result};

/// The arguments that start this program as such a process.
pub(super) const COMMAND: [&str; 2] = ["switch", "udp-node"];

/// Longest datagram in bytes; ours are shorter.
const LONGEST: usize = 2048;

/// The longest wait for a datagram before timers and messages are checked.
const WAIT: Duration = Duration::from_millis(20);

/// The most datagrams that are received before anything is sent.
const TAKEN: usize = 256;

/// The role of a process, its first message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Task {
    Worker { agreed: SharedConfig, number: u16, rows: Vec<Entry> },
    Switch { agreed: SharedConfig, configured: Configured, faults: Faults },
    Master { agreed: SharedConfig },
}

impl Task {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Worker { .. } => "worker",
            Self::Switch { .. } => "switch",
            Self::Master { .. } => "master",
        }
    }
}

/// A message to a process after its task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum NodeCommand {
    /// The port of the switch.
    Switch(u16),
    /// The ports at the switch's links.
    Switched { master: u16, workers: Vec<u16> },
    /// Requests the counts, after which the process ends.
    Report,
}

/// A message from a process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum NodeReply {
    Port(u16),
    Worker(WorkerCounts),
    Switch(SwitchCounts),
    Master { counts: MasterCounts, answer: Answer },
}

pub(in crate::commands::switch) fn run() -> Result<()> {
    let task: Task = read_line(&mut io::stdin().lock())?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    reply(&NodeReply::Port(socket.local_addr()?.port()))?;
    let told = listen();
    match task {
        Task::Worker { agreed, number, rows } => {
            connect(&socket, &told)?;
            worker(&socket, WorkerNode::new(agreed, number, &rows))
        }
        Task::Master { agreed } => {
            connect(&socket, &told)?;
            master(&socket, MasterNode::new(agreed), &told)
        }
        Task::Switch { agreed, configured, faults } => {
            let node = SwitchNode::new(agreed, &configured.program(), faults)?;
            switch(&socket, node, &told)
        }
    }
}

/// Receives messages from standard input in a thread. When the input ends, the process exits.
fn listen() -> Receiver<NodeCommand> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(message) = read_line(&mut input) {
            if tell.send(message).is_err() {
                break;
            }
        }
        process::exit(0);
    });
    told
}

fn read_line<T: for<'a> Deserialize<'a>>(input: &mut impl BufRead) -> Result<T> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|_| {
        Failure::new("there is no task on the input")
            .with_hint("This command is started by `sluice switch udp`.")
    })
}

fn reply(said: &NodeReply) -> Result<()> {
    let text = serde_json::to_string(said)
        .map_err(|error| Failure::new(format!("it has no text: {error}")))?;
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

fn connect(socket: &UdpSocket, told: &Receiver<NodeCommand>) -> Result<()> {
    match told.recv() {
        Ok(NodeCommand::Switch(port)) => Ok(socket.connect((Ipv4Addr::LOCALHOST, port))?),
        _ => Err(Failure::new("nobody said where the switch is")),
    }
}

fn worker(socket: &UdpSocket, mut node: WorkerNode) -> Result<()> {
    let started = Instant::now();
    let mut out = Vec::new();
    while !node.is_done() {
        let now = started.elapsed().as_micros() as u64;
        let next = node.send(now, &mut out);
        for bytes in out.drain(..) {
            sent(socket.send(&bytes))?;
        }
        let wait = Duration::from_micros(next.saturating_sub(now)).min(WAIT);
        each(socket, wait, |bytes, _| {
            node.receive(bytes);
            Ok(())
        })?;
    }
    reply(&NodeReply::Worker(node.counts()))
}

fn master(socket: &UdpSocket, mut node: MasterNode, told: &Receiver<NodeCommand>) -> Result<()> {
    let mut out = Vec::new();
    while !matches!(told.try_recv(), Ok(NodeCommand::Report)) {
        each(socket, WAIT, |bytes, _| {
            node.receive(bytes, &mut out);
            out.drain(..).try_for_each(|bytes| sent(socket.send(&bytes)))
        })?;
    }
    reply(&NodeReply::Master { counts: node.counts(), answer: node.answer() })
}

fn switch(socket: &UdpSocket, mut node: SwitchNode, told: &Receiver<NodeCommand>) -> Result<()> {
    let Ok(NodeCommand::Switched { master, workers }) = told.recv() else {
        return Err(Failure::new("nobody said who is at the switch"));
    };
    let at = (0..).map(Peer::Worker).zip(&workers).map(|(peer, port)| (*port, peer));
    let peers: HashMap<u16, Peer> = at.chain([(master, Peer::Master)]).collect();
    let mut out = Vec::new();
    while !matches!(told.try_recv(), Ok(NodeCommand::Report)) {
        each(socket, WAIT, |bytes, port| {
            let Some(&from) = peers.get(&port) else { return Ok(()) };
            node.receive(from, bytes, &mut out);
            out.drain(..).try_for_each(|(to, bytes)| {
                let port = match to {
                    Peer::Master => Some(&master),
                    Peer::Worker(worker) => workers.get(usize::from(worker)),
                };
                let Some(&port) = port else { return Ok(()) };
                sent(socket.send_to(&bytes, (Ipv4Addr::LOCALHOST, port)))
            })
        })?;
    }
    reply(&NodeReply::Switch(node.counts()))
}

/// Passes received datagrams to `take`, with the port of their sender. Waits up to `wait` for the first one.
fn each(
    socket: &UdpSocket,
    wait: Duration,
    mut take: impl FnMut(&[u8], u16) -> Result<()>,
) -> Result<()> {
    let mut buffer = [0; LONGEST];
    if wait.is_zero() {
        socket.set_nonblocking(true)?;
    } else {
        // A timeout of zero would be an error.
        socket.set_read_timeout(Some(wait.max(Duration::from_micros(100))))?;
    }
    for _ in 0..TAKEN {
        match socket.recv_from(&mut buffer) {
            Ok((length, from)) => take(&buffer[..length], from.port())?,
            Err(error) if is_nothing(&error) => break,
            Err(error) => return Err(error.into()),
        }
        socket.set_nonblocking(true)?;
    }
    Ok(socket.set_nonblocking(false)?)
}

/// Treats a datagram that could not be sent as lost.
fn sent(result: io::Result<usize>) -> Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) if is_nothing(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if the error only means that no datagram has arrived, that there is no room, or that nobody listens
/// at the other end.
fn is_nothing(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::WouldBlock
            | Kind::TimedOut
            | Kind::Interrupted
            | Kind::ConnectionRefused
            | Kind::ConnectionReset
            | Kind::OutOfMemory
    )
}
