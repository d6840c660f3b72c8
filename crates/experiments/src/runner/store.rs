//! The process of a store.

use std::fs::{self, File};
use std::path::Path;
use std::process::{self, ChildStdin, Stdio};
use std::thread;
use std::time::Duration;

use super::child::{KilledOnDrop, Surroundings, wait_for};
use super::{RunError, folder, last_words};
use crate::run::shell;

/// The longest time until a store is ready.
const READY: Duration = Duration::from_secs(30);
/// A part of the error of a store whose folder another one serves.
const BUSY: &str = "another server already serves";
/// How often such a store is started again, and after which time.
const TRIES: usize = 60;
const PAUSE: Duration = Duration::from_millis(250);

/// A store over the data sets. It ends when this value is dropped, and also if this process ends in any other way,
/// because its input ends then.
pub(super) struct StoreProcess {
    pub(super) link: &'static str,
    pub(super) endpoint: String,
    child: KilledOnDrop,
    _input: Option<ChildStdin>,
}

impl StoreProcess {
    pub(super) fn start(
        surroundings: &Surroundings,
        data: &Path,
        link: &'static str,
    ) -> Result<Self, RunError> {
        let busy = |error: &RunError| matches!(error, RunError::Command { words, .. } if words.contains(BUSY));
        let mut started = Self::start_once(surroundings, data, link);
        // The store of a runner that was killed finishes its requests first.
        for _ in 0..TRIES {
            match &started {
                Err(error) if busy(error) => {}
                _ => break,
            }
            thread::sleep(PAUSE);
            started = Self::start_once(surroundings, data, link);
        }
        started
    }

    fn start_once(
        surroundings: &Surroundings,
        data: &Path,
        link: &'static str,
    ) -> Result<Self, RunError> {
        let folder = data.display().to_string();
        let words = ["serve", "--dir", &folder, "--listen", "127.0.0.1:0", "--link", link];
        let more = ["--no-fsync", "--stop-with-stdin"];
        let arguments: Vec<String> = words.into_iter().chain(more).map(str::to_owned).collect();
        let out = data.with_file_name("temporary").join(format!("{}-store.out", process::id()));
        let error = out.with_extension("error");
        let file = |path: &Path| File::create(path).map_err(|error| folder::at(path, error));
        let mut command = surroundings.command(&arguments);
        command.stdin(Stdio::piped()).stdout(file(&out)?).stderr(file(&error)?);
        let mut child = command.spawn().map_err(|error| folder::at(data, error))?;
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
            Some(endpoint) => Ok(Self { link, endpoint, child, _input: input }),
            None => Err(RunError::Command {
                command: shell(&arguments),
                words: last_words(&fs::read_to_string(&error).unwrap_or_default()),
            }),
        }
    }

    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.0.try_wait(), Ok(None))
    }

    /// Returns the process's number.
    #[expect(clippy::unnecessary_wraps, reason = "used as a function of an option")]
    pub(super) fn id(&self) -> Option<u32> {
        Some(self.child.0.id())
    }
}

/// Returns the URL in the store's greeting, whose line is complete.
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
