//! Processes that serve: the store of a folder, and workers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::time::Duration;

use super::child::{KilledOnDrop, wait_for};
use super::{RunError, folder, last_words};
use crate::run::shell;

/// The longest time until a server is ready.
pub(super) const READY: Duration = Duration::from_secs(30);

/// A command of `sluice` that serves. It ends when this value is dropped, and also if this process ends in any other
/// way, because its input ends then.
pub(super) struct Server {
    pub(super) endpoint: String,
    child: KilledOnDrop,
    _input: Option<ChildStdin>,
}

impl Server {
    /// Starts a command with these arguments, and waits until it greets. `out` is the file of its stdout.
    pub(super) fn start(
        mut command: Command,
        arguments: &[String],
        out: PathBuf,
    ) -> Result<Self, RunError> {
        let error = out.with_extension("error");
        let file = |path: &Path| File::create(path).map_err(|error| folder::at(path, error));
        command.stdin(Stdio::piped()).stdout(file(&out)?).stderr(file(&error)?);
        let mut child = command.spawn().map_err(|error| folder::at(&out, error))?;
        let input = child.stdin.take();
        let mut child = KilledOnDrop(child);
        let endpoint = wait_for(READY, || {
            let text = fs::read_to_string(&out).unwrap_or_default();
            match endpoint_of(&text) {
                Some(endpoint) => Some(Some(endpoint)),
                // It ended.
                None => (!matches!(child.0.try_wait(), Ok(None))).then_some(None),
            }
        });
        match endpoint.flatten() {
            Some(endpoint) => Ok(Self { endpoint, child, _input: input }),
            None => Err(RunError::Command {
                command: shell(arguments),
                words: last_words(&fs::read_to_string(&error).unwrap_or_default()),
            }),
        }
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.0.try_wait(), Ok(None))
    }

    /// Returns the process's number.
    pub(super) fn id(&self) -> u32 {
        self.child.0.id()
    }
}

/// Returns the URL in a greeting, whose line is complete.
fn endpoint_of(greeting: &str) -> Option<String> {
    let (line, _) = greeting.split_once('\n')?;
    let (_, url) = line.rsplit_once(' ')?;
    url.starts_with("http://").then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_in_the_first_line() {
        let greeting = "serving a b at http://127.0.0.1:4242\nbehind";
        assert_eq!(endpoint_of(greeting).as_deref(), Some("http://127.0.0.1:4242"));
        assert_eq!(endpoint_of("serving a b at http://127.0"), None);
    }
}
