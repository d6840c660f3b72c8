//! The store over the data sets, and the workers that read it.

use std::path::Path;
use std::thread;
use std::time::Duration;

use super::RunError;
use super::child::Surroundings;
use super::folder::Folder;
use super::server::Server;

/// A part of the error of a store whose folder another one serves.
const BUSY: &str = "another server already serves";
/// How often such a store is started again, and after which time.
const TRIES: usize = 60;
const PAUSE: Duration = Duration::from_millis(250);

/// A store, and the workers that have been started beside it.
pub(super) struct Store {
    pub(super) link: &'static str,
    server: Server,
    workers: Vec<Server>,
}

impl Store {
    pub(super) fn start(
        surroundings: &Surroundings,
        folder: &Folder,
        link: &'static str,
    ) -> Result<Self, RunError> {
        let busy = |error: &RunError| matches!(error, RunError::Command { words, .. } if words.contains(BUSY));
        let start = || serve(surroundings, folder, &folder.data(), link);
        let mut started = start();
        // The store of a runner that was killed finishes its requests first.
        for _ in 0..TRIES {
            match &started {
                Err(error) if busy(error) => {}
                _ => break,
            }
            thread::sleep(PAUSE);
            started = start();
        }
        Ok(Self { link, server: started?, workers: Vec::new() })
    }

    /// Starts or ends workers until there are so many, and returns their URLs.
    pub(super) fn workers(
        &mut self,
        surroundings: &Surroundings,
        folder: &Folder,
        count: usize,
    ) -> Result<Vec<String>, RunError> {
        self.workers.retain_mut(Server::is_running);
        self.workers.truncate(count);
        while self.workers.len() < count {
            let arguments = ["worker", "--listen", "127.0.0.1:0", "--stop-with-stdin"];
            let arguments = arguments.map(str::to_owned);
            let mut command = surroundings.command(&arguments);
            command.env("AWS_ENDPOINT_URL", self.endpoint());
            let out = folder.temporary(&format!("worker-{}.out", self.workers.len()));
            self.workers.push(Server::start(command, &arguments, out)?);
        }
        Ok(self.workers.iter().map(|it| it.endpoint.clone()).collect())
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.server.is_running()
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.server.endpoint
    }

    /// Returns the number of the store's process.
    pub(super) fn id(&self) -> u32 {
        self.server.id()
    }
}

fn serve(
    surroundings: &Surroundings,
    folder: &Folder,
    data: &Path,
    link: &str,
) -> Result<Server, RunError> {
    let data = data.display().to_string();
    let words = ["serve", "--dir", &data, "--listen", "127.0.0.1:0", "--link", link];
    let more = ["--no-fsync", "--stop-with-stdin"];
    let arguments: Vec<String> = words.into_iter().chain(more).map(str::to_owned).collect();
    let command = surroundings.command(&arguments);
    Server::start(command, &arguments, folder.temporary("store.out"))
}
