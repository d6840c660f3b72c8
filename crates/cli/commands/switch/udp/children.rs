//! The processes of a run, which start and end together.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::node::{COMMAND, NodeCommand, NodeReply, Task};
use crate::failure::{Failure, Result};
use crate::runtime::program;

/// Interval at which the processes are checked.
const GLANCE: Duration = Duration::from_millis(200);

/// Processes, each with a pipe to it and one from it. Dropping this value kills them. They also end if this process
/// ends in any other way, because each ends when its input does.
pub(super) struct Children {
    until: Instant,
    all: Vec<ChildProcess>,
}

struct ChildProcess {
    what: &'static str,
    child: Child,
    to: ChildStdin,
    from: Receiver<Option<NodeReply>>,
}

impl Children {
    /// Creates the list without processes. Waiting for a message ends at `until`.
    pub(super) const fn new(until: Instant) -> Self {
        Self { until, all: Vec::new() }
    }

    /// Starts a process for the task and returns its index.
    pub(super) fn start(&mut self, task: &Task) -> Result<usize> {
        let mut child = Command::new(program::path()?)
            .args(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let (Some(to), Some(out)) = (to, from) else {
            child.kill()?;
            return Err(Failure::new("a process has no pipes"));
        };
        let (say, from) = channel();
        // The thread ends with the process.
        thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                let said = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                let is_over = said.is_none();
                if say.send(said).is_err() || is_over {
                    break;
                }
            }
        });
        self.all.push(ChildProcess { what: task.name(), child, to, from });
        let number = self.all.len() - 1;
        self.write(number, task)?;
        Ok(number)
    }

    /// Sends a message to a process.
    pub(super) fn send(&mut self, number: usize, told: &NodeCommand) -> Result<()> {
        self.write(number, told)
    }

    fn write(&mut self, number: usize, message: &impl Serialize) -> Result<()> {
        let running = &mut self.all[number];
        let text = serde_json::to_string(message)
            .map_err(|error| Failure::new(format!("a message has no text: {error}")))?;
        let written = writeln!(running.to, "{text}").and_then(|()| running.to.flush());
        written.map_err(|_| ended(running.what))
    }

    /// Waits for the next message of a process.
    ///
    /// # Errors
    ///
    /// If any process fails first, or the time is over.
    pub(super) fn receive(&mut self, number: usize) -> Result<NodeReply> {
        loop {
            let running = &self.all[number];
            let left = self.until.saturating_duration_since(Instant::now());
            match running.from.recv_timeout(left.min(GLANCE)) {
                Ok(Some(said)) => return Ok(said),
                Ok(None) | Err(RecvTimeoutError::Disconnected) => return Err(ended(running.what)),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(Failure::new("the run takes longer than --patience")
                        .with_hint("Take fewer entries, fewer losses, or more --patience."));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            // If another process failed, this one may wait for it forever. A process that succeeded has sent all its
            // messages.
            for running in &mut self.all {
                if running.child.try_wait()?.is_some_and(|status| !status.success()) {
                    return Err(ended(running.what));
                }
            }
        }
    }
}

fn ended(what: &str) -> Failure {
    Failure::new(format!("the process of the {what} ended early"))
}

impl Drop for Children {
    fn drop(&mut self) {
        for running in &mut self.all {
            // Killing a process that has ended fails, which does not matter.
            drop(running.child.kill());
            drop(running.child.wait());
        }
    }
}
