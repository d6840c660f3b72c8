//! Events put together to queries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sluicegate_costmodel::storage::{Stage, StageGraph};

use super::events::{Event, StageInfo, TaskEnd};
use super::plan::{Fragment, PlanInfo, Timer, fragments};
use crate::{Error, Query};

/// The most stages and queries of a log.
const MOST: usize = 100_000;
/// The major versions whose logs are read.
const VERSIONS: [&str; 2] = ["3", "4"];

/// What a log has said so far.
#[derive(Debug, Default)]
pub(super) struct Log {
    version: Option<String>,
    cores: u32,
    executions: BTreeMap<u64, Execution>,
    stages: BTreeMap<u64, Ran>,
}

#[derive(Debug, Default)]
struct Execution {
    description: String,
    plan: PlanInfo,
    /// Of its jobs, skipped ones included.
    stages: BTreeSet<u64>,
    ended: bool,
    error: Option<String>,
}

/// A stage, as far as it has run.
#[derive(Debug, Default)]
struct Ran {
    parents: Vec<u64>,
    computes: Option<u64>,
    /// In milliseconds since 1970.
    launched: Option<u64>,
    completed: Option<u64>,
    run: u64,
    read: u64,
    shuffled: u64,
    result: u64,
    updates: BTreeMap<u64, f64>,
}

impl Log {
    /// Adds an event.
    ///
    /// # Errors
    ///
    /// If the log is of an unknown version, does not say its version first, or has too many stages.
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
            Event::ExecutorAdded(it) => self.cores = self.cores.saturating_add(it.info.cores),
            Event::JobStart(job) => {
                let execution = job.execution();
                for stage in &job.stages {
                    self.about(stage);
                    if let Some(execution) = execution {
                        self.executions.entry(execution).or_default().stages.insert(stage.id);
                    }
                }
            }
            Event::StageCompleted(it) => {
                self.about(&it.info);
                self.stages.entry(it.info.id).or_default().completed = it.info.completed;
            }
            Event::TaskEnd(task) => self.task(&task),
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
        if self.stages.len() > MOST || self.executions.len() > MOST {
            return Err(format!("is beyond the {MOST} stages or queries that are read of a log"));
        }
        Ok(())
    }

    fn about(&mut self, info: &StageInfo) {
        let stage = self.stages.entry(info.id).or_default();
        stage.parents.clone_from(&info.parents);
        stage.computes = info.computes();
    }

    fn task(&mut self, task: &TaskEnd) {
        let stage = self.stages.entry(task.stage).or_default();
        let launched = task.info.launched;
        stage.launched = Some(stage.launched.map_or(launched, |it| it.min(launched)));
        // Of a stage whose completion is not in the log.
        stage.completed = stage.completed.max(Some(task.info.finished));
        if let Some(metrics) = &task.metrics {
            stage.run = stage.run.saturating_add(metrics.run);
            stage.read = stage.read.saturating_add(metrics.read());
            stage.shuffled = stage.shuffled.saturating_add(metrics.shuffled());
            stage.result = stage.result.saturating_add(metrics.result);
        }
        for (metric, amount) in task.info.sql_updates() {
            *stage.updates.entry(metric).or_default() += amount;
        }
    }

    /// The queries that ran to their end and had stages.
    ///
    /// # Errors
    ///
    /// If the numbers of one cannot be.
    pub(super) fn queries(
        &self,
        path: &Path,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Query>, Error> {
        let mut queries = Vec::new();
        for (id, execution) in &self.executions {
            let name = format!("{id}: {}", execution.description);
            let stages = self.stages_of(execution);
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
            let cores = (self.cores > 0).then(|| f64::from(self.cores));
            queries.push(Query { name, cores, graph });
        }
        Ok(queries)
    }

    /// The stages of a query that have run.
    fn stages_of(&self, execution: &Execution) -> Vec<Stage> {
        let ran: BTreeMap<u64, &Ran> = execution
            .stages
            .iter()
            .filter_map(|id| Some((*id, self.stages.get(id)?)))
            .filter(|(_, stage)| stage.launched.is_some())
            .collect();
        let fragments = fragments(&execution.plan);
        let of_fragment = |fragment: &Fragment| -> BTreeSet<u64> {
            let touches =
                |stage: &Ran| stage.updates.keys().any(|it| fragment.metrics.contains(it));
            ran.iter().filter(|(_, stage)| touches(stage)).map(|(id, _)| *id).collect()
        };
        let places: Vec<BTreeSet<u64>> = fragments.iter().map(of_fragment).collect();
        let mut after: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (id, stage) in &ran {
            let mut found = BTreeSet::new();
            self.parents(&ran, stage, &mut BTreeSet::new(), &mut found);
            after.insert(*id, found);
        }
        for (place, stages) in places.iter().enumerate() {
            let mut needed = BTreeSet::new();
            needs(&fragments, &places, place, &mut needed);
            for id in stages {
                after.entry(*id).or_default().extend(&needed);
            }
        }
        // What a stage waits for began before it: whatever the log says, there is no circle.
        let began = |id: u64| (ran.get(&id).and_then(|it| it.launched), id);
        ran.iter()
            .map(|(id, stage)| {
                let before = after.get(id).into_iter().flatten().copied();
                let before = before.filter(|other| began(*other) < began(*id)).collect();
                measured(*id, stage, before, &fragments, &places)
            })
            .collect()
    }

    /// The stages that ran for the parents of one: themselves, or those that computed the same before.
    fn parents(
        &self,
        ran: &BTreeMap<u64, &Ran>,
        stage: &Ran,
        seen: &mut BTreeSet<u64>,
        found: &mut BTreeSet<u64>,
    ) {
        for parent in &stage.parents {
            if !seen.insert(*parent) {
                continue;
            }
            if ran.contains_key(parent) {
                found.insert(*parent);
                continue;
            }
            let Some(skipped) = self.stages.get(parent) else { continue };
            let same = ran
                .iter()
                .filter(|(_, it)| it.computes.is_some() && it.computes == skipped.computes);
            let same: Vec<_> = same.map(|(id, _)| *id).collect();
            if same.is_empty() {
                self.parents(ran, skipped, seen, found);
            }
            found.extend(same);
        }
    }
}

/// The stages of the fragments that one needs; of one that no stage ran for, those that it needs.
fn needs(
    fragments: &[Fragment],
    places: &[BTreeSet<u64>],
    place: usize,
    needed: &mut BTreeSet<u64>,
) {
    for input in &fragments[place].needs {
        if places[*input].is_empty() {
            needs(fragments, places, *input, needed);
        }
        needed.extend(&places[*input]);
    }
}

fn measured(
    id: u64,
    stage: &Ran,
    after: Vec<u64>,
    fragments: &[Fragment],
    places: &[BTreeSet<u64>],
) -> Stage {
    let seconds = |timer: &Timer| {
        let added = stage.updates.get(&timer.metric).copied().unwrap_or_default();
        (added * timer.unit).max(0.0)
    };
    let thread_seconds = stage.run as f64 / 1e3;
    let mut scan_seconds = 0.0;
    let mut filter_seconds = 0.0;
    for (fragment, _) in fragments.iter().zip(places).filter(|(_, stages)| stages.contains(&id)) {
        scan_seconds += fragment.scans.iter().map(seconds).sum::<f64>();
        for (code, scans) in &fragment.filters {
            let scanning: f64 = scans.iter().map(seconds).sum();
            filter_seconds += (seconds(code) - scanning).max(0.0);
        }
    }
    // Metrics are rounded to milliseconds, and some begin before the task runs.
    let scan_seconds = scan_seconds.min(thread_seconds);
    let wall = stage.completed.unwrap_or(0).saturating_sub(stage.launched.unwrap_or(0));
    let result = if stage.shuffled > 0 { stage.shuffled } else { stage.result };
    Stage {
        id,
        name: if stage.read > 0 { "reads tables".to_owned() } else { String::new() },
        wall_seconds: wall as f64 / 1e3,
        thread_seconds,
        scan_seconds,
        filter_project_seconds: filter_seconds.min(thread_seconds - scan_seconds),
        wait_seconds: 0.0,
        read_bytes: stage.read as f64,
        result_bytes: result as f64,
        after,
    }
}
