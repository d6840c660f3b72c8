//! A command of `sluice` as a process.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::usage::Sampler;
use super::{RunError, folder, last_words};
use crate::UsageSample;
use crate::run::shell;

/// Interval at which a process is checked.
const GLANCE: Duration = Duration::from_millis(10);

/// The program, and the surroundings in which it runs.
pub(super) struct Surroundings {
    program: PathBuf,
    folder: PathBuf,
    secret: String,
}

/// The output of a command that succeeded.
pub(super) struct Finished {
    pub(super) stdout: String,
    pub(super) usage: Vec<UsageSample>,
}

impl Surroundings {
    pub(super) fn new(program: &Path, folder: &Path) -> Result<Self, RunError> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)
            .map_err(|error| folder::at(folder, io::Error::other(error.to_string())))?;
        let secret = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { program: program.to_owned(), folder: folder.to_owned(), secret })
    }

    /// Returns a command with an environment that has nothing of the user's stores, settings and measurements.
    pub(super) fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        let is_foreign = |name: &str| {
            let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
            is_proxy || name.starts_with("AWS_") || name.starts_with("SLUICE_")
        };
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_foreign) {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("AWS_ACCESS_KEY_ID", "sluice")
            .env("AWS_SECRET_ACCESS_KEY", &self.secret);
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"]
        {
            command.env(name, self.folder.join("home"));
        }
        command
    }

    /// Runs a command. `input` is the file of its stdin, and `outputs` those of its stdout and stderr. `sampled` has
    /// the store's process if the command is sampled.
    pub(super) fn execute(
        &self,
        arguments: &[String],
        endpoint: Option<&str>,
        input: Option<&Path>,
        outputs: &[PathBuf; 2],
        sampled: Option<Option<u32>>,
        mut is_stopped: impl FnMut() -> bool,
    ) -> Result<Finished, RunError> {
        let mut command = self.command(arguments);
        if let Some(endpoint) = endpoint {
            command.env("AWS_ENDPOINT_URL", endpoint);
        }
        let [stdout, stderr] = outputs;
        let file = |path: &Path| File::create(path).map_err(|error| folder::at(path, error));
        let stdin = match input {
            Some(path) => File::open(path).map_err(|error| folder::at(path, error))?.into(),
            None => Stdio::null(),
        };
        command.stdin(stdin).stdout(file(stdout)?).stderr(file(stderr)?);
        let broken = |error| folder::at(&self.program, error);
        let mut child = KilledOnDrop(command.spawn().map_err(broken)?);
        let mut sampler = sampled.map(|store| Sampler::new(child.0.id(), store));
        let status = loop {
            if let Some(status) = child.0.try_wait().map_err(broken)? {
                break status;
            }
            if is_stopped() {
                return Err(RunError::Stopped);
            }
            if let Some(sampler) = &mut sampler {
                sampler.sample();
            }
            thread::sleep(GLANCE);
        };
        // Ctrl-C also reaches the command, which then ends first.
        if is_stopped() {
            return Err(RunError::Stopped);
        }
        if !status.success() {
            return Err(failed(arguments, status, &fs::read_to_string(stderr).unwrap_or_default()));
        }
        let usage = sampler.map(Sampler::finish).unwrap_or_default();
        let stdout = fs::read(stdout).map_err(|error| folder::at(stdout, error))?;
        Ok(Finished { stdout: String::from_utf8_lossy(&stdout).into_owned(), usage })
    }
}

fn failed(arguments: &[String], status: ExitStatus, stderr: &str) -> RunError {
    let words = match last_words(stderr) {
        words if words.is_empty() => status.to_string(),
        words => words,
    };
    RunError::Command { command: shell(arguments), words }
}

/// A process that does not outlive this value.
pub(super) struct KilledOnDrop(pub(super) Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `ready` returns a value, for at most this time.
pub(super) fn wait_for<T>(most: Duration, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + most;
    loop {
        if let Some(value) = ready() {
            return Some(value);
        }
        if Instant::now() > until {
            return None;
        }
        thread::sleep(GLANCE);
    }
}
