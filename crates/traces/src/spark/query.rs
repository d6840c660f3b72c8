//! Assembles events to queries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sluicegate_costmodel::storage::StageGraph;

use super::events::Event;
use super::plan::PlanInfo;
use super::stage_runs::{StageRun, Stages, stages};
use crate::{Error, Query, name_of};

/// The most stages, queries and executors of a log.
const MOST: usize = 100_000;
/// The longest name of a query, in characters.
const MOST_NAME: usize = 80;
/// The major versions whose logs are read.
const VERSIONS: [&str; 2] = ["3", "4"];

/// The content of a log so far.
#[derive(Debug, Default)]
pub(super) struct Log {
    version: Option<String>,
    /// True if an application has started.
    has_begun: bool,
    executors: Executors,
    executions: BTreeMap<u64, Execution>,
    stages: BTreeMap<u64, StageRun>,
}

#[derive(Debug, Default)]
struct Execution {
    description: String,
    plan: PlanInfo,
    /// The stages of its jobs, including skipped ones.
    stages: BTreeSet<u64>,
    ended: bool,
    error: Option<String>,
}

impl Log {
    /// Adds an event.
    ///
    /// # Errors
    ///
    /// If the log is of an unknown version, does not start with its version, has several applications, or has too
    /// many stages.
    pub(super) fn add(&mut self, event: Event) -> Result<(), String> {
        if let Event::LogStart(start) = event {
            let major = start.version.split('.').next().unwrap_or_default();
            if !VERSIONS.contains(&major) {
                let known = VERSIONS.join(" and ");
                return Err(format!("is of Spark {}, but logs of {known} are read", start.version));
            }
            self.version = Some(start.version);
            return Ok(());
        }
        if self.version.is_none() {
            return Err("does not begin an event log: the version of Spark comes first".to_owned());
        }
        match event {
            Event::LogStart(_) | Event::Other => {}
            Event::ApplicationStart if self.has_begun => {
                // Stages of different applications have the same numbers.
                return Err("begins another application: give each log for itself".to_owned());
            }
            Event::ApplicationStart => self.has_begun = true,
            Event::ExecutorAdded(it) => self.executors.add(it.id, it.info.cores),
            Event::ExecutorRemoved(it) => self.executors.remove(&it.id),
            Event::JobStart(job) => {
                let execution = job.execution();
                for stage in &job.stages {
                    self.stages.entry(stage.id).or_default().about(stage);
                    if let Some(execution) = execution {
                        self.executions.entry(execution).or_default().stages.insert(stage.id);
                    }
                }
            }
            Event::StageCompleted(it) => {
                self.stages.entry(it.info.id).or_default().complete(&it.info);
            }
            Event::TaskEnd(task) => self.stages.entry(task.stage).or_default().add(&task),
            Event::ExecutionStart(it) => {
                let execution = self.executions.entry(it.execution_id).or_default();
                (execution.description, execution.plan) = (it.description, it.spark_plan_info);
            }
            Event::PlanUpdate(it) => {
                self.executions.entry(it.execution_id).or_default().plan = it.spark_plan_info;
            }
            Event::ExecutionEnd(it) => {
                let execution = self.executions.entry(it.execution_id).or_default();
                execution.ended = true;
                execution.error = it.error_message.filter(|message| !message.is_empty());
            }
        }
        if [self.stages.len(), self.executions.len(), self.executors.cores.len()]
            .into_iter()
            .any(|number| number > MOST)
        {
            return Err(format!(
                "is beyond the {MOST} stages, queries or executors that are read of a log"
            ));
        }
        Ok(())
    }

    /// Returns the queries that ran to their end and had stages.
    ///
    /// # Errors
    ///
    /// If the numbers of a query are invalid.
    pub(super) fn queries(
        &self,
        path: &Path,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Query>, Error> {
        let mut queries = Vec::new();
        let mut untimed = 0;
        for (id, execution) in &self.executions {
            let name = name(*id, &execution.description);
            let Stages { stages, has_untimed_scans } =
                stages(&execution.stages, &self.stages, &execution.plan);
            if stages.is_empty() {
                continue;
            }
            if let Some(error) = &execution.error {
                let error = error.lines().next().unwrap_or_default();
                notes.push(format!("query {name} failed and is left out: {error}"));
                continue;
            }
            if !execution.ended {
                notes.push(format!("query {name} has no end in the log and is left out"));
                continue;
            }
            let graph = StageGraph::new(stages)
                .map_err(|error| Error::file(path, format!("query {name}: {error}")))?;
            untimed += usize::from(has_untimed_scans);
            let cores = Some(self.executors.most as f64).filter(|cores| *cores > 0.0);
            queries.push(Query { name, cores, graph });
        }
        if untimed > 0 {
            notes.push(format!(
                "scans of {untimed} queries have no time of their own, which Spark measures only where it \
                 reads columns (Parquet, ORC): their Scan Ratio is too low, unless nothing but filters and \
                 projections is in the same code"
            ));
        }
        Ok(queries)
    }
}

/// The cores of executors, which may be added and removed.
#[derive(Debug, Default)]
struct Executors {
    cores: BTreeMap<String, u32>,
    now: u64,
    /// The most cores at any time.
    most: u64,
}

impl Executors {
    fn add(&mut self, id: String, cores: u32) {
        self.remove(&id);
        self.now += u64::from(cores);
        self.most = self.most.max(self.now);
        self.cores.insert(id, cores);
    }

    fn remove(&mut self, id: &str) {
        self.now -= self.cores.remove(id).map_or(0, u64::from);
    }
}

/// Returns the name of a query: its number, and the start of its description, which may be a whole statement.
fn name(id: u64, description: &str) -> String {
    let words: Vec<_> = description.split_whitespace().collect();
    let words = name_of(description).unwrap_or_else(|| words.join(" "));
    let mut name: String = format!("{id}: {words}");
    if let Some((end, _)) = name.char_indices().nth(MOST_NAME) {
        name.truncate(end);
        name.push('…');
    }
    name
}
