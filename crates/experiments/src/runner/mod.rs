//! Runs experiments with the command `sluice`, and keeps the output of each run.
//!
//! `folder` names the files of an evaluation and replaces them in one step. `child` runs a command, `server` is a process
//! that serves, `store` the store with its workers, `minio` the process of MinIO, and `usage` samples them.

mod child;
mod folder;
mod minio;
mod server;
mod store;
mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use thiserror::Error;

use self::child::{Execution, Finished, Surroundings};
use self::folder::Folder;
pub use self::folder::recorded;
use self::minio::MinioProcess;
use self::store::Store;
use crate::run::{Data, Run, RunOutput, shell};
use crate::{Experiment, Peer, Record, Results, ResultsError, Setting, UNLIMITED};

/// The longest time that a command may take up to scale factor 1. The slowest runs queries of TPC-DS, for about a quarter of
/// an hour on two cores.
const LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// The reason why an experiment has no outcome.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// A command failed. Its last words follow it.
    #[error("`{command}` failed: {words}")]
    Command {
        /// The command, as it would be typed into a shell.
        command: String,
        /// The end of what it wrote to stderr.
        words: String,
    },
    /// A command did not end in time, and was stopped.
    #[error(
        "`{command}` was stopped after {} s, the limit for a command; run it by hand to see what it waits for, or choose a \
         smaller --scale",
        limit.as_secs_f64()
    )]
    TooLong {
        /// The command, as it would be typed into a shell.
        command: String,
        /// The longest time.
        limit: Duration,
    },
    /// The user stopped the evaluation.
    #[error("stopped")]
    Stopped,
    /// Another process uses the folder.
    #[error("another process evaluates in {0}")]
    Busy(PathBuf),
    /// The folder has files that are of no evaluation.
    #[error("{0} has other files, some of which an evaluation would replace")]
    Foreign(PathBuf),
    /// A file or a process could not be used.
    #[error("{place}: {error}")]
    Io {
        /// The file or the command.
        place: String,
        /// The reason.
        error: io::Error,
    },
    /// The output of a run is not as expected.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// What a runner is about to do, or has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEvent<'a> {
    /// A data set is made.
    Generates(&'a str),
    /// A run begins.
    Begins {
        /// The experiment's id.
        experiment: &'a str,
        /// The run's name.
        run: &'a str,
    },
    /// A run has ended, or its output was there already.
    Ended {
        /// True if the output was there already.
        is_reused: bool,
    },
}

/// An observer of a runner, which may also stop it.
pub trait Observer {
    /// Called before and after each step.
    fn event(&mut self, event: RunEvent<'_>);
    /// Returns true if the runner should stop. It asks about a hundred times a second.
    fn is_stopped(&mut self) -> bool;
}

/// Runs experiments in a folder.
///
/// The folder has the data sets, the output of each run and a file that only one runner locks. The output of a run is
/// valid for the program, the command, the data and the link that it came from. Files are replaced in one step, so a
/// runner that is killed loses no more than its current run.
pub struct Runner<O> {
    folder: Folder,
    surroundings: Surroundings,
    setting: Setting,
    store: Option<Store>,
    observer: O,
}

impl<O> fmt::Debug for Runner<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Runner");
        shown.field("folder", &self.folder).field("setting", &self.setting).finish_non_exhaustive()
    }
}

impl<O: Observer> Runner<O> {
    /// Prepares to run in a folder with this program, which is `sluice`. The folder is made if it is missing.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used, or another runner uses it.
    pub fn new(
        program: &Path,
        folder: &Path,
        setting: Setting,
        observer: O,
    ) -> Result<Self, RunError> {
        let folder = Folder::open(folder, program)?;
        let limit = LIMIT.mul_f64(setting.scale.max(1.0));
        let surroundings = Surroundings::new(program, folder.path(), limit)?;
        Ok(Self { folder, surroundings, setting, store: None, observer })
    }

    /// Stops each command that takes longer than this. The default is two hours, and more above scale factor 1.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.surroundings.limit = limit;
        self
    }

    /// Returns the observer.
    pub const fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Runs an experiment's commands, except those whose output is there.
    ///
    /// # Errors
    ///
    /// If a command fails or the observer stops it.
    pub fn run(&mut self, experiment: &Experiment) -> Result<Results, RunError> {
        let mut results = Results::default();
        for run in experiment.runs(&self.setting) {
            let record = match self.folder.record(experiment.id, &run)? {
                Some(record) => {
                    self.observer.event(RunEvent::Ended { is_reused: true });
                    record
                }
                None => {
                    let record = match self.run_now(experiment, &run) {
                        Err(error @ RunError::Command { .. }) => {
                            // The reason may be that its data are damaged.
                            run.data.iter().try_for_each(|data| self.folder.distrust(data))?;
                            return Err(error);
                        }
                        ended => ended?,
                    };
                    self.folder.keep(experiment.id, &run, &record)?;
                    self.observer.event(RunEvent::Ended { is_reused: false });
                    record
                }
            };
            results.insert(run.name, record);
        }
        Ok(results)
    }

    /// Removes the recorded outputs of an experiment's runs, so that they run again.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn forget(&self, experiment: &Experiment) -> Result<(), RunError> {
        let runs = experiment.runs(&self.setting);
        runs.iter().try_for_each(|run| self.folder.forget_record(experiment.id, run))
    }

    /// Returns the number of runs of some experiments whose output is not there. A run that they share counts once.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn missing(&self, experiments: &[&Experiment]) -> Result<usize, RunError> {
        let mut missing = BTreeSet::new();
        for experiment in experiments {
            for run in experiment.runs(&self.setting) {
                if self.folder.record(experiment.id, &run)?.is_none() {
                    missing.insert((run.shared.unwrap_or(experiment.id), run.name));
                }
            }
        }
        Ok(missing.len())
    }

    fn run_now(&mut self, experiment: &Experiment, run: &Run) -> Result<Record, RunError> {
        let peer = run.peer.map(|it| (it, self.folder.peer(it)));
        if let Some((peer, None)) = &peer {
            let missing = Some(peer.program().to_owned());
            return Ok(Record { command: run.shell(), missing, ..Record::default() });
        }
        for data in &run.data {
            self.make(data)?;
        }
        self.observer.event(RunEvent::Begins { experiment: experiment.id, run: &run.name });
        if let Some(link) = run.link {
            self.serve(link)?;
        }
        let minio = match &peer {
            Some((Peer::Minio, Some(program))) => Some(self.minio(program, &run.data)?),
            _ => None,
        };
        let statistics = self.folder.temporary("statistics.json");
        let mut arguments = run.arguments_with(&self.workers(run.workers)?);
        if run.output == RunOutput::Statements {
            arguments.push("--stats-json".to_owned());
            arguments.push(statistics.display().to_string());
        }
        let input = match &run.input {
            Some(input) => Some(self.input(input)?),
            None => None,
        };
        let sampled = run.is_sampled.then(|| self.store.as_ref().map(Store::id));
        let program = match &peer {
            Some((Peer::DuckDb, program)) => program.as_deref(),
            _ => None,
        };
        let started = Instant::now();
        let Finished { stdout, usage } = self.execute(&Execution {
            program,
            arguments: &arguments,
            endpoint: minio.as_ref().map(|it| it.endpoint.as_str()),
            input: input.as_deref(),
            sampled,
        })?;
        let seconds = started.elapsed().as_secs_f64();
        let parse = |text: &str| -> Result<Value, RunError> {
            serde_json::from_str(text).map_err(|error| RunError::Command {
                command: run.shell(),
                words: format!("its output is no JSON: {error}"),
            })
        };
        let answers = || first_bytes(&stdout, MOST_ANSWERS).to_owned();
        let (output, answers) = match run.output {
            RunOutput::Json => (parse(&stdout)?, String::new()),
            RunOutput::Statements => {
                let text = folder::read(&statistics)?;
                let lines: Result<Vec<Value>, _> = text.lines().map(parse).collect();
                (Value::Array(lines?), answers())
            }
            RunOutput::Timer => (timed(&stdout), answers()),
        };
        Ok(Record { command: run.shell(), seconds, output, answers, usage, missing: None })
    }

    /// Starts MinIO with these data sets.
    fn minio(&mut self, program: &Path, data: &[Data]) -> Result<MinioProcess, RunError> {
        let folder = self.folder.temporary("minio");
        let command = self.surroundings.command_of(Path::new("sh"));
        let minio = MinioProcess::start(command, program, &folder)?;
        for data in data {
            let endpoint = Some(minio.endpoint.as_str());
            let definitions = self.folder.temporary("minio.sql").display().to_string();
            let arguments = data.generate(&definitions);
            self.execute(&Execution { arguments: &arguments, endpoint, ..Execution::default() })?;
        }
        Ok(minio)
    }

    /// Returns the URLs of so many workers of the store.
    fn workers(&mut self, count: usize) -> Result<Vec<String>, RunError> {
        match &mut self.store {
            Some(store) => store.workers(&self.surroundings, &self.folder, count),
            None => Ok(Vec::new()),
        }
    }

    /// Writes the output of a command to a file, the input of another.
    fn input(&mut self, arguments: &[String]) -> Result<PathBuf, RunError> {
        let Finished { stdout, .. } =
            self.execute(&Execution { arguments, ..Execution::default() })?;
        let path = self.folder.temporary("stdin");
        std::fs::write(&path, stdout).map_err(|error| folder::at(&path, error))?;
        Ok(path)
    }

    /// Makes a data set, unless it is there.
    fn make(&mut self, data: &Data) -> Result<(), RunError> {
        if self.folder.has(data)? {
            return Ok(());
        }
        self.observer.event(RunEvent::Generates(&data.name));
        self.folder.forget(data)?;
        self.serve(UNLIMITED)?;
        let generate = data.generate(&data.definitions());
        for arguments in std::iter::once(&generate).chain(&data.then) {
            self.execute(&Execution { arguments, ..Execution::default() })?;
        }
        self.folder.has_made(data)
    }

    /// Serves the data behind a link, by another process than before if the link is another one.
    fn serve(&mut self, link: &'static str) -> Result<(), RunError> {
        if !self.store.as_mut().is_some_and(|store| store.link == link && store.is_running()) {
            self.store = None;
            self.store = Some(Store::start(&self.surroundings, &self.folder, link)?);
        }
        Ok(())
    }

    /// Runs a command, beside the store of the data sets unless it names another one.
    fn execute(&mut self, execution: &Execution<'_>) -> Result<Finished, RunError> {
        let own = self.store.as_ref().map(Store::endpoint);
        let execution = Execution { endpoint: execution.endpoint.or(own), ..*execution };
        let outputs = [self.folder.temporary("stdout"), self.folder.temporary("stderr")];
        let observer = &mut self.observer;
        self.surroundings.execute(&execution, &outputs, || observer.is_stopped())
    }
}

/// The greatest number of bytes of answers that are kept.
const MOST_ANSWERS: usize = 1 << 16;

/// Returns the first bytes of a text, to the end of a character.
fn first_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

/// Returns the seconds that DuckDB prints after each statement: `Run Time (s): real 0.202 user 1.884 sys 0.114`.
fn timed(text: &str) -> Value {
    let seconds = |line: &str| {
        let (_, rest) = line.split_once("Run Time (s): real ")?;
        rest.split_ascii_whitespace().next()?.parse::<f64>().ok()
    };
    text.lines().filter_map(seconds).collect()
}

/// Returns the end of what a command wrote to stderr.
fn last_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join("; ")
}

/// Returns the commands that make the data sets and the outputs of an experiment, in order.
#[must_use]
pub fn commands(experiment: &Experiment, setting: &Setting) -> Vec<String> {
    let mut seen: BTreeMap<String, ()> = BTreeMap::new();
    let mut commands = Vec::new();
    let mut add = |command: String| {
        if seen.insert(command.clone(), ()).is_none() {
            commands.push(command);
        }
    };
    for run in experiment.runs(setting) {
        for data in &run.data {
            add(shell(&data.generate(&data.definitions())));
            data.then.iter().for_each(|command| add(shell(command)));
        }
        run.servers().into_iter().for_each(&mut add);
        add(run.shell());
    }
    commands
}

#[cfg(test)]
mod tests;
