//! Turns the work of tasks into the stages of a query.

use std::collections::{BTreeMap, BTreeSet};

use sluicegate_costmodel::storage::Stage;

use super::events::{StageInfo, TaskEnd};
use super::plan::{Fragment, PlanInfo, Timer, fragments};

/// The work of a stage so far, over all its attempts.
#[derive(Debug, Default)]
pub(super) struct StageRun {
    parents: Vec<u64>,
    computes: Option<u64>,
    attempts: BTreeMap<u64, Attempt>,
    run: u64,
    read: u64,
    shuffled: u64,
    result: u64,
    updates: BTreeMap<u64, f64>,
}

/// The times of an attempt of a stage, in milliseconds since 1970. A stage runs again if its output was lost.
#[derive(Debug, Default)]
struct Attempt {
    launched: Option<u64>,
    /// The time at which its last task ended.
    finished: Option<u64>,
    /// The time at which the attempt itself completed. Speculative tasks may still run afterwards.
    completed: Option<u64>,
}

impl StageRun {
    pub(super) fn about(&mut self, info: &StageInfo) {
        self.parents.clone_from(&info.parents);
        self.computes = info.computes();
    }

    pub(super) fn complete(&mut self, info: &StageInfo) {
        self.about(info);
        let attempt = self.attempts.entry(info.attempt).or_default();
        attempt.completed = attempt.completed.max(info.completed);
    }

    pub(super) fn add(&mut self, task: &TaskEnd) {
        let attempt = self.attempts.entry(task.attempt).or_default();
        let launched = task.info.launched;
        attempt.launched = Some(attempt.launched.map_or(launched, |it| it.min(launched)));
        attempt.finished = attempt.finished.max(Some(task.info.finished));
        if let Some(metrics) = &task.metrics {
            self.run = self.run.saturating_add(metrics.run);
            self.read = self.read.saturating_add(metrics.read());
            self.shuffled = self.shuffled.saturating_add(metrics.shuffled());
            self.result = self.result.saturating_add(metrics.result);
        }
        for (metric, amount) in task.info.sql_updates() {
            *self.updates.entry(metric).or_default() += amount;
        }
    }

    /// Returns the time at which the last attempt began, after the last attempts of the stages it waits for.
    fn launched(&self) -> Option<u64> {
        self.attempts.values().filter_map(|it| it.launched).max()
    }

    /// Returns the milliseconds in which an attempt was running. The time between two attempts belongs to other
    /// stages.
    fn wall(&self) -> u64 {
        let span = |it: &Attempt| Some((it.launched?, it.completed.or(it.finished)?));
        let mut spans: Vec<_> = self.attempts.values().filter_map(span).collect();
        spans.sort_unstable();
        let (mut wall, mut until) = (0_u64, 0);
        for (start, end) in spans {
            wall = wall.saturating_add(end.saturating_sub(start.max(until)));
            until = until.max(end);
        }
        wall
    }

    fn touches(&self, metrics: &BTreeSet<u64>) -> bool {
        metrics.iter().any(|it| self.updates.contains_key(it))
    }

    fn seconds(&self, timer: &Timer) -> f64 {
        let added = self.updates.get(&timer.metric).copied().unwrap_or_default();
        (added * timer.unit).max(0.0)
    }
}

/// The stages of a query that have run.
#[derive(Debug)]
pub(super) struct Stages {
    pub(super) stages: Vec<Stage>,
    /// True if a stage read a table in a scan without a time of its own.
    pub(super) has_untimed_scans: bool,
}

/// Assembles the stages of a query: those of `ids` that have run, with the help of its plan.
pub(super) fn stages(
    ids: &BTreeSet<u64>,
    all: &BTreeMap<u64, StageRun>,
    plan: &PlanInfo,
) -> Stages {
    let ran: BTreeMap<u64, &StageRun> = ids
        .iter()
        .filter_map(|id| Some((*id, all.get(id)?)))
        .filter(|(_, stage)| stage.launched().is_some())
        .collect();
    let fragments = fragments(plan);
    let places = StageFragments::from_fragments(&fragments, &ran);
    let mut after = parents(&ran, all);
    for (place, stages) in places.stages.iter().enumerate() {
        let needed = places.needed(&fragments, place);
        for id in stages {
            after.entry(*id).or_default().extend(&needed);
        }
    }
    // Wait only for stages that began before, so that no log can produce a cycle.
    let began = |id: u64| (ran.get(&id).and_then(|it| it.launched()), id);
    let mut has_untimed_scans = false;
    let stage = |(id, stage): (&u64, &&StageRun)| {
        let before = after.get(id).into_iter().flatten().copied();
        let before = before.filter(|other| began(*other) < began(*id)).collect();
        let places = places.fragments.get(id).into_iter().flatten();
        let fragments: Vec<_> = places.filter_map(|place| fragments.get(*place)).collect();
        has_untimed_scans |= stage.read > 0
            && fragments
                .iter()
                .flat_map(|it| &it.scans)
                .any(|scan| scan.time.is_none() && stage.touches(&scan.metrics));
        measured(*id, stage, before, &fragments)
    };
    Stages { stages: ran.iter().map(stage).collect(), has_untimed_scans }
}

/// Records which stages ran which fragments.
struct StageFragments {
    /// For each fragment, its stages.
    stages: Vec<BTreeSet<u64>>,
    /// For each stage, its fragments.
    fragments: BTreeMap<u64, BTreeSet<usize>>,
}

impl StageFragments {
    fn from_fragments(fragments: &[Fragment], ran: &BTreeMap<u64, &StageRun>) -> Self {
        let mut of_metric: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (place, fragment) in fragments.iter().enumerate() {
            for metric in &fragment.metrics {
                of_metric.entry(*metric).or_default().push(place);
            }
        }
        let mut places =
            Self { stages: vec![BTreeSet::new(); fragments.len()], fragments: BTreeMap::new() };
        for (id, stage) in ran {
            for place in stage.updates.keys().filter_map(|it| of_metric.get(it)).flatten() {
                places.stages[*place].insert(*id);
                places.fragments.entry(*id).or_default().insert(*place);
            }
        }
        places
    }

    /// Returns the stages of the fragments that one needs. A fragment without a stage is replaced by those that it
    /// needs.
    fn needed(&self, fragments: &[Fragment], place: usize) -> BTreeSet<u64> {
        let mut needed = BTreeSet::new();
        let mut open = fragments[place].needs.clone();
        while let Some(input) = open.pop() {
            if self.stages[input].is_empty() {
                open.extend(&fragments[input].needs);
            }
            needed.extend(&self.stages[input]);
        }
        needed
    }
}

/// Returns for each stage the stages that ran for its parents: the parents themselves, or earlier stages with the
/// same result.
fn parents(
    ran: &BTreeMap<u64, &StageRun>,
    all: &BTreeMap<u64, StageRun>,
) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut computed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (id, stage) in ran {
        if let Some(what) = stage.computes {
            computed.entry(what).or_default().push(*id);
        }
    }
    let of_one = |stage: &StageRun| {
        let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
        let mut open = stage.parents.clone();
        while let Some(parent) = open.pop() {
            if !seen.insert(parent) {
                continue;
            }
            if ran.contains_key(&parent) {
                found.insert(parent);
                continue;
            }
            let Some(skipped) = all.get(&parent) else { continue };
            match skipped.computes.and_then(|what| computed.get(&what)) {
                Some(same) => found.extend(same),
                None => open.extend(&skipped.parents),
            }
        }
        found
    };
    ran.iter().map(|(id, stage)| (*id, of_one(stage))).collect()
}

/// Returns a stage with the measurements of its tasks, by the fragments that it ran.
fn measured(id: u64, stage: &StageRun, after: Vec<u64>, fragments: &[&Fragment]) -> Stage {
    let thread_seconds = stage.run as f64 / 1e3;
    let (mut scan_seconds, mut filter_seconds) = (0.0, 0.0);
    // A reused operator occurs in a plan more than once.
    let mut counted = BTreeSet::new();
    let scans = fragments.iter().flat_map(|it| &it.scans);
    for timer in scans.filter_map(|it| it.time.as_ref()) {
        if counted.insert(timer.metric) {
            scan_seconds += stage.seconds(timer);
        }
    }
    for code in fragments.iter().flat_map(|it| &it.codes) {
        if counted.insert(code.time.metric) {
            let scanning: f64 = code.scans.iter().map(|it| stage.seconds(it)).sum();
            let rest = (stage.seconds(&code.time) - scanning).max(0.0);
            *if code.knows_scans { &mut filter_seconds } else { &mut scan_seconds } += rest;
        }
    }
    // Metrics are rounded to milliseconds, and some begin before the task runs.
    let scan_seconds = scan_seconds.min(thread_seconds);
    let result = if stage.shuffled > 0 { stage.shuffled } else { stage.result };
    // Spark also counts bytes from its cache as read.
    let scans = fragments.iter().flat_map(|it| &it.scans).any(|it| stage.touches(&it.metrics));
    let is_cached = !scans && fragments.iter().any(|it| stage.touches(&it.cached));
    let read = if is_cached { 0 } else { stage.read };
    Stage {
        id,
        name: if read > 0 { "reads tables".to_owned() } else { String::new() },
        wall_seconds: stage.wall() as f64 / 1e3,
        thread_seconds,
        scan_seconds,
        filter_project_seconds: filter_seconds.min(thread_seconds - scan_seconds),
        read_bytes: read as f64,
        result_bytes: result as f64,
        operators: fragments.iter().map(|it| &it.operators).sum(),
        after,
        ..Stage::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, metrics: &[(&str, u64)], children: &[Value]) -> Value {
        let metrics: Vec<_> = metrics
            .iter()
            .map(|(name, id)| json!({"name": name, "accumulatorId": id, "metricType": "timing"}))
            .collect();
        json!({"nodeName": name, "metrics": metrics, "children": children})
    }

    /// Returns the plan of code that scans and filters.
    fn code(scan: &[(&str, u64)]) -> Value {
        let filter = node("Filter", &[], &[node("Scan", scan, &[])]);
        node("WholeStageCodegen (1)", &[("duration", 11)], &[filter])
    }

    const TIMED: [(&str, u64); 2] = [("scan time", 10), ("number of output rows", 12)];

    /// Returns the stages of a plan. Each stage ran one task of 100 ms that read 500 bytes and added to metrics.
    fn ran(plan: Value, updates: &[&[(u64, u64)]]) -> Stages {
        let mut all: BTreeMap<u64, StageRun> = BTreeMap::new();
        for (id, updates) in (0..).zip(updates) {
            let updates: Vec<_> = updates
                .iter()
                .map(|(id, update)| json!({"ID": id, "Update": update, "Metadata": "sql"}))
                .collect();
            let task = json!({
                "Stage ID": id,
                "Task Info": {"Launch Time": 1, "Finish Time": 9, "Accumulables": updates},
                "Task Metrics": {"Executor Run Time": 100, "Input Metrics": {"Bytes Read": 500}},
            });
            all.entry(id).or_default().add(&serde_json::from_value(task).unwrap());
        }
        stages(&all.keys().copied().collect(), &all, &serde_json::from_value(plan).unwrap())
    }

    #[track_caller]
    fn check(stage: &Stage, scan: f64, filter: f64, read: f64) {
        let close = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(
            close(stage.scan_seconds, scan)
                && close(stage.filter_project_seconds, filter)
                && close(stage.read_bytes, read),
            "{stage:?}"
        );
    }

    #[test]
    fn what_is_reused_counts_once() {
        let exchange = node("BroadcastExchange", &[("data size", 1)], &[code(&TIMED)]);
        let reused = node("ReusedExchange", &[], std::slice::from_ref(&exchange));
        let join = node("BroadcastHashJoin", &[("number of output rows", 90)], &[exchange, reused]);
        let found = ran(join, &[&[(10, 22), (11, 30), (12, 5)], &[(90, 1)]]);
        check(&found.stages[0], 0.022, 0.008, 500.0);
        assert!(!found.has_untimed_scans);
    }

    #[test]
    fn what_takes_rows_from_a_filter_is_no_filter() {
        for (above, filter) in [
            ("AdaptiveSparkPlan", 0.008),
            ("BroadcastExchange", 0.008),
            ("Subquery", 0.008),
            ("Exchange", 0.0),
            ("WriteFiles", 0.0),
            ("InputAdapter", 0.0),
        ] {
            let plan = node("Project", &[], &[node(above, &[], &[code(&TIMED)])]);
            let found = ran(plan, &[&[(10, 22), (11, 30), (12, 5)]]);
            check(&found.stages[0], 0.022, filter, 500.0);
        }
    }

    #[test]
    fn scans_without_a_time_are_known_by_their_code() {
        for (above, scan) in [("AdaptiveSparkPlan", 0.03), ("Exchange", 0.0)] {
            let plan = node(above, &[], &[code(&TIMED[1..])]);
            let found = ran(plan, &[&[(11, 30), (12, 5)]]);
            check(&found.stages[0], scan, 0.0, 500.0);
            assert!(found.has_untimed_scans);
        }
    }

    #[test]
    fn what_comes_out_of_a_cache_is_not_read() {
        let cached = node("InMemoryTableScan", &[("number of output rows", 13)], &[code(&TIMED)]);
        let found = ran(cached, &[&[(10, 22), (12, 5), (13, 5)], &[(13, 5)]]);
        check(&found.stages[0], 0.022, 0.0, 500.0);
        check(&found.stages[1], 0.0, 0.0, 0.0);
    }

    /// An executor was lost with the output of a stage, which ran again, partly at the same time as its stragglers.
    #[test]
    fn what_runs_between_attempts_is_not_in_their_time() {
        let mut stage = StageRun::default();
        for (attempt, launched, finished) in
            [(0, 100, 200), (0, 120, 290), (1, 500, 600), (2, 550, 700)]
        {
            let task = json!({
                "Stage ID": 3, "Stage Attempt ID": attempt,
                "Task Info": {"Launch Time": launched, "Finish Time": finished},
            });
            stage.add(&serde_json::from_value(task).unwrap());
        }
        let wall = |stage: &StageRun| measured(3, stage, Vec::new(), &[]).wall_seconds;
        assert_eq!((wall(&stage), stage.launched()), (0.39, Some(550)));
        let info = json!({"Stage ID": 3, "Stage Attempt ID": 0, "Completion Time": 210});
        stage.complete(&serde_json::from_value(info).unwrap());
        assert_eq!(wall(&stage), 0.31);
    }

    /// The lost output is written by a stage with another number, after the first attempt of the stage that reads it.
    #[test]
    fn the_last_attempt_waits_for_what_is_written_again() {
        let mut all: BTreeMap<u64, StageRun> = BTreeMap::new();
        for (id, attempt, launched, parents) in
            [(9, 0, 100, &[][..]), (10, 1, 500, &[]), (11, 0, 300, &[10]), (11, 1, 600, &[10])]
        {
            let task = json!({
                "Stage ID": id, "Stage Attempt ID": attempt,
                "Task Info": {"Launch Time": launched, "Finish Time": launched + 50},
            });
            let info = json!({"Stage ID": id, "Stage Attempt ID": attempt, "Parent IDs": parents});
            let stage = all.entry(id).or_default();
            stage.add(&serde_json::from_value(task).unwrap());
            stage.complete(&serde_json::from_value(info).unwrap());
        }
        let found = stages(&all.keys().copied().collect(), &all, &PlanInfo::default());
        let after: Vec<_> = found.stages.iter().map(|it| it.after.as_slice()).collect();
        assert_eq!(after, [&[][..], &[], &[10]]);
    }
}
