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
use crate::run::{shell, typed_by};

/// The id of the stores' key pair, whose secret is random.
const USER: &str = "sluice";

/// Interval at which a process is checked.
const GLANCE: Duration = Duration::from_millis(10);

/// The program, and the surroundings in which it runs.
pub(super) struct Surroundings {
    program: PathBuf,
    folder: PathBuf,
    secret: String,
    /// The longest time that a command may take.
    pub(super) limit: Duration,
}

/// A command that runs to its end.
#[derive(Default)]
pub(super) struct Execution<'a> {
    /// Another program than `sluice`.
    pub(super) program: Option<&'a Path>,
    pub(super) arguments: &'a [String],
    /// The store.
    pub(super) endpoint: Option<&'a str>,
    /// The file of its stdin.
    pub(super) input: Option<&'a Path>,
    /// The store's process, if the command is sampled.
    pub(super) sampled: Option<Option<u32>>,
}

/// The output of a command that succeeded.
pub(super) struct Finished {
    pub(super) stdout: String,
    pub(super) usage: Vec<UsageSample>,
}

impl Surroundings {
    pub(super) fn new(program: &Path, folder: &Path, limit: Duration) -> Result<Self, RunError> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)
            .map_err(|error| folder::at(folder, io::Error::other(error.to_string())))?;
        let secret = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { program: program.to_owned(), folder: folder.to_owned(), secret, limit })
    }

    /// Returns a command of `sluice`.
    pub(super) fn command(&self, arguments: &[String]) -> Command {
        let mut command = self.command_of(&self.program);
        command.args(arguments);
        command
    }

    /// Returns a command with an environment that has nothing of the user's stores, settings and measurements.
    pub(super) fn command_of(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let is_foreign = |name: &str| {
            let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
            is_proxy || name.starts_with("AWS_") || name.starts_with("SLUICE_")
        };
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_foreign) {
                command.env_remove(name);
            }
        }
        command.current_dir(&self.folder);
        for (name, value) in [
            ("AWS_ACCESS_KEY_ID", USER),
            ("AWS_SECRET_ACCESS_KEY", &self.secret),
            ("MINIO_ROOT_USER", USER),
            ("MINIO_ROOT_PASSWORD", &self.secret),
            ("MINIO_BROWSER", "off"),
            ("MINIO_UPDATE", "off"),
        ] {
            command.env(name, value);
        }
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"]
        {
            command.env(name, self.folder.join("home"));
        }
        command
    }

    /// Runs a command. `outputs` are the files of its stdout and stderr.
    pub(super) fn execute(
        &self,
        execution: &Execution<'_>,
        outputs: &[PathBuf; 2],
        mut is_stopped: impl FnMut() -> bool,
    ) -> Result<Finished, RunError> {
        let Execution { program, arguments, endpoint, input, sampled } = *execution;
        let program = program.unwrap_or(&self.program);
        let mut command = self.command_of(program);
        command.args(arguments);
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
        let broken = |error| folder::at(program, error);
        let name = || typed(execution.program, arguments);
        let mut child = KilledOnDrop(command.spawn().map_err(broken)?);
        let started = Instant::now();
        let mut sampler = sampled.map(|store| Sampler::new(child.0.id(), store));
        let status = loop {
            if let Some(status) = child.0.try_wait().map_err(broken)? {
                break status;
            }
            if is_stopped() {
                return Err(RunError::Stopped);
            }
            if started.elapsed() > self.limit {
                return Err(RunError::TooLong { command: name(), limit: self.limit });
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
            let said = fs::read_to_string(stderr).unwrap_or_default();
            return Err(failed(name(), status, &said));
        }
        let usage = sampler.map(Sampler::finish).unwrap_or_default();
        let stdout = fs::read(stdout).map_err(|error| folder::at(stdout, error))?;
        Ok(Finished { stdout: String::from_utf8_lossy(&stdout).into_owned(), usage })
    }
}

fn failed(command: String, status: ExitStatus, stderr: &str) -> RunError {
    let words = match last_words(stderr) {
        words if words.is_empty() => status.to_string(),
        words => words,
    };
    RunError::Command { command, words }
}

/// Returns a command as it would be typed into a shell.
fn typed(program: Option<&Path>, arguments: &[String]) -> String {
    match program.and_then(Path::file_name) {
        Some(name) => typed_by(&name.to_string_lossy(), arguments),
        None => shell(arguments),
    }
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
