//! SIGHUP to a server, which continues and reopens its access log, as log rotation requires.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::runtime::SpawnedTask;

/// Counts SIGHUPs until it is dropped. Meanwhile they do not end the process.
#[derive(Debug)]
pub(crate) struct Hangups {
    count: Arc<AtomicUsize>,
    _listening: SpawnedTask<()>,
}

impl Hangups {
    /// Starts to listen.
    pub(crate) fn listen() -> Self {
        let count = Arc::new(AtomicUsize::new(0));
        let listening = SpawnedTask::spawn(listen(Arc::clone(&count)));
        Self { count, _listening: listening }
    }

    /// Returns the counter of SIGHUPs.
    pub(crate) fn count(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.count)
    }
}

#[cfg(unix)]
fn listen(count: Arc<AtomicUsize>) -> impl Future<Output = ()> {
    let signals = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup());
    async move {
        match signals {
            Ok(mut signals) => {
                while signals.recv().await.is_some() {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(error) => tracing::warn!("cannot listen for SIGHUP: {error}"),
        }
    }
}

/// Does nothing on systems without this signal.
#[cfg(not(unix))]
async fn listen(_count: Arc<AtomicUsize>) {}

/// A file to append to. It is reopened by its name before the first write after a SIGHUP.
#[derive(Debug)]
pub(crate) struct ReopenedFile {
    path: PathBuf,
    file: File,
    hangups: Arc<AtomicUsize>,
    /// Value of the counter when the file was opened.
    seen: usize,
}

impl ReopenedFile {
    pub(crate) fn open(path: PathBuf, hangups: Arc<AtomicUsize>) -> io::Result<Self> {
        let seen = hangups.load(Ordering::Relaxed);
        let file = File::options().create(true).append(true).open(&path)?;
        Ok(Self { path, file, hangups, seen })
    }
}

impl Write for ReopenedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let hangups = self.hangups.load(Ordering::Relaxed);
        if hangups != self.seen {
            self.seen = hangups;
            // If the file cannot be reopened, the old one is used further.
            match File::options().create(true).append(true).open(&self.path) {
                Ok(file) => self.file = file,
                Err(error) => tracing::error!("cannot open {}: {error}", self.path.display()),
            }
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;

    #[test]
    fn a_rotated_log_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, rotated) = (folder.path().join("log"), folder.path().join("log.1"));
        let hangups = Arc::default();
        let mut log = ReopenedFile::open(path.clone(), Arc::clone(&hangups)).unwrap();
        log.write_all(b"1\n").unwrap();
        fs::rename(&path, &rotated).unwrap();
        log.write_all(b"2\n").unwrap();
        hangups.fetch_add(1, Ordering::Relaxed);
        log.write_all(b"3\n").unwrap();
        assert_eq!(fs::read_to_string(&rotated).unwrap(), "1\n2\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "3\n");
        // If the path can no longer be opened, no line is lost.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        hangups.fetch_add(1, Ordering::Relaxed);
        log.write_all(b"4\n").unwrap();
    }
}
