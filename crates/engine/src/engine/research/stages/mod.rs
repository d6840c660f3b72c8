//! Measures a query in stages, the input of the model of computational storage ([`sluicegate_costmodel::storage`];
//! ICPE 2020, §5.2).
//!
//! DataFusion runs a plan as pipelines. A stage ends where an operator consumes all of its input before its first
//! output row (sorts, aggregates over unordered input, windows without a frame), and at the build side of a join. The
//! rest of a plan streams; an operator belongs to the stage of the operator that polls it.
//!
//! Times come from our own clocks, one per operator, because DataFusion's metrics have different meanings in
//! different operators. The time of a stage begins when the last stage that it waits for ends. It ends with the
//! stage's first row, if its top operator consumes all input first, or else with its last row.
//!
//! `cut` finds the stages, `clock` measures them, and `offload` finds work beyond scan, filter and project that a
//! device could take.

mod clock;
mod cut;
mod offload;

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::common::{DataFusionError, Result as PlanResult};
use datafusion::physical_plan::execute_stream;
use futures::TryStreamExt;
use sluicegate_costmodel::Bytes;
use sluicegate_costmodel::storage::{Stage, StageGraph};

use self::cut::{Node, OperatorKind, aside, clocked};
use crate::context::error::Result;
use crate::context::timeline::RequestLog;
use crate::engine::plan_graph::scan::Objects;
use crate::engine::plan_graph::title;
use crate::engine::query::Query;

/// The measurements of a query that has run, in stages.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredStages {
    /// The stages, numbered from the bottom of the plan to its top.
    pub graph: StageGraph,
    /// The measured time from the start of the plan to its last row.
    pub took: Duration,
    /// The number of rows of the answer.
    pub rows: u64,
    /// The number of bytes that stores sent during the run.
    pub read: Bytes,
}

impl Query {
    /// Runs the query, discards its rows, and returns the measurements of its stages. If the query was planned by
    /// [`Engine::query_recorded`](crate::Engine::query_recorded), they include the bytes that each stage read.
    ///
    /// # Errors
    ///
    /// If the query fails.
    pub async fn measure_stages(&self) -> Result<MeasuredStages> {
        Ok(self.stages().await?)
    }

    async fn stages(&self) -> PlanResult<MeasuredStages> {
        let context = Arc::new(self.frame().task_ctx());
        let plan = self.frame().clone().create_physical_plan().await?;
        let before = self.counted();
        let timeline = self.counters().timeline();
        if let Some(timeline) = timeline {
            timeline.planned();
        }
        let began = Instant::now();
        let (plan, root) = clocked(&plan, began)?;
        let mut rows = 0;
        let mut answer = execute_stream(Arc::clone(&plan), context)?;
        while let Some(batch) = answer.try_next().await? {
            rows += batch.num_rows() as u64;
        }
        let took = began.elapsed();
        drop(answer);
        let counted = self.counted().since(&before);
        let read = Bytes(counted.got_bytes + counted.received_bytes);
        let mut stages = Stages::default();
        stages.add(&root, true);
        if let Some(timeline) = timeline {
            stages.share(&timeline.read(), read);
        }
        let graph = StageGraph::new(stages.stages)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(MeasuredStages { graph, took, rows, read })
    }
}

/// The stages found so far, each after those that it waits for.
#[derive(Default)]
struct Stages {
    stages: Vec<Stage>,
    /// For each stage, the times of its first poll and of its end.
    spans: Vec<(f64, f64)>,
    /// For each scan, the index of its stage.
    scans: Vec<usize>,
    objects: Objects,
}

/// A stage in progress.
struct Open<'a> {
    stage: Stage,
    started: f64,
    /// The titles of its operators, the last operator first.
    titles: Vec<&'a str>,
    /// Descriptions of the tables that it reads.
    subjects: Vec<&'a str>,
    objects: Vec<&'a [String]>,
}

impl Stages {
    /// Adds the stage that ends with an operator, and all stages that it waits for. Returns their indexes, its own
    /// last.
    fn add(&mut self, top: &Node, is_root: bool) -> Vec<usize> {
        let mut open = Open {
            stage: Stage::default(),
            started: f64::INFINITY,
            titles: Vec::new(),
            subjects: Vec::new(),
            objects: Vec::new(),
        };
        let mut places = Vec::new();
        self.walk(top, true, &mut open, &mut places);
        let Open { mut stage, started, titles, subjects, objects } = open;
        let before = stage.after.iter().filter_map(|id| self.spans.get(usize::try_from(*id).ok()?));
        let start = before.map(|(_, end)| *end).reduce(f64::max).unwrap_or(started);
        let gathers = top.gathers && !is_root;
        let end = if gathers { top.clock.first() } else { top.clock.ended() };
        // The rows of a stage may never have been polled.
        let end = if started.is_finite() { end.max(start) } else { start };
        if start.is_finite() {
            stage.wall_seconds = end - start;
        }
        let place = self.stages.len();
        stage.id = place as u64;
        stage.name = match name(titles, &subjects) {
            name if name.is_empty() => top.title.clone(),
            name => name,
        };
        for objects in objects {
            self.objects.add(self.scans.len(), objects.to_vec());
            self.scans.push(place);
        }
        self.stages.push(stage);
        self.spans.push((started, if end.is_finite() { end } else { 0.0 }));
        places.push(place);
        places
    }

    /// Adds an operator to its stage. Its inputs are added to the same stage or to others, whose indexes are appended
    /// to `places`. `hands_out` is true if its rows go to something other than a filter or projection.
    fn walk<'a>(
        &mut self,
        node: &'a Node,
        hands_out: bool,
        open: &mut Open<'a>,
        places: &mut Vec<usize>,
    ) {
        let (clock, plan) = (&node.clock, node.plan.as_ref());
        let own = clock.own() + aside(plan);
        let stage = &mut open.stage;
        stage.thread_seconds += own;
        match node.part {
            OperatorKind::Scan => {
                stage.scanned_bytes += clock.bytes();
                stage.scan_seconds += own;
                stage.wait_seconds += clock.waited();
            }
            OperatorKind::FilterProject => stage.filter_project_seconds += own,
            OperatorKind::HandsOn | OperatorKind::Other => {}
        }
        let is_of_a_scan = node.part != OperatorKind::Other;
        if is_of_a_scan && hands_out {
            stage.result_bytes += clock.bytes();
            stage.tables.extend(offload::table(node));
        }
        if let Some(kind) = node.counted {
            stage.operators.add(kind);
        }
        offload::add(node, stage);
        if let Some(started) = clock.started() {
            open.started = open.started.min(started);
        }
        if let Some((subject, objects)) = &node.reads {
            open.subjects.push(subject);
            open.objects.push(objects);
        } else if !title::hands_on(plan) {
            open.titles.push(&node.title);
        }
        let mut waited_for = Vec::new();
        for input in &node.inputs {
            let mut under = Vec::new();
            if input.ends {
                under = self.add(&input.node, false);
                open.stage.after.extend(under.last().map(|place| *place as u64));
            } else {
                self.walk(&input.node, !is_of_a_scan, open, &mut under);
            }
            if input.first {
                waited_for.extend(under.last().copied());
            } else {
                self.put_after(&under, &waited_for);
            }
            places.extend(under);
        }
    }

    /// Makes stages wait for others that ended before they began, because the plan runs these first.
    fn put_after(&mut self, stages: &[usize], others: &[usize]) {
        for place in stages {
            for other in others {
                let over = self.spans.get(*other).map(|(_, end)| *end);
                let started = self.spans.get(*place).map(|(started, _)| *started);
                if started >= over
                    && let Some(stage) = self.stages.get_mut(*place)
                {
                    stage.after.push(*other as u64);
                }
            }
        }
    }

    /// Distributes the counted bytes over the stages, by the objects of the recorded requests. If not all requests
    /// were recorded one by one, the bytes are scaled up.
    fn share(&mut self, recorded: &RequestLog, read: Bytes) {
        let asked = self.objects.request_stats(recorded);
        let known: u64 = asked.values().map(|it| it.link).sum();
        let scale = (read.as_f64() / known.max(1) as f64).max(1.0);
        for (scan, asked) in asked {
            let stage = self.scans.get(scan).and_then(|place| self.stages.get_mut(*place));
            if let Some(stage) = stage {
                stage.read_bytes += asked.link as f64 * scale;
            }
        }
    }
}

/// Returns the name of a stage: `Group, in parts ← Filter ← s3://bucket/t/`.
fn name(titles: Vec<&str>, subjects: &[&str]) -> String {
    let subjects = subjects.join(" and ");
    let mut titles = titles;
    titles.dedup();
    titles.push(&subjects);
    titles.retain(|it| !it.is_empty());
    titles.join(" ← ")
}
