//! Runs a query in every way.

use std::time::Duration;

use datafusion::physical_plan::displayable;
use sluicegate_costmodel::validation::Measurement;
use sluicegate_costmodel::{Bytes, BytesPerSecond, Resource};
use sluicegate_engine::Engine;
use sluicegate_engine::choice::Decision;
use sluicegate_server::Server;

use super::queries::{AUTO, Query};
use crate::commands::embedded_store::measure::{followed, measure};
use crate::commands::embedded_store::set;
use crate::failure::{Failure, Result};

/// A way that takes longer than this runs once.
const LONG: Duration = Duration::from_secs(3);

/// A link with its latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) link: BytesPerSecond,
    pub(super) latency: Duration,
}

/// A query in a cell, with the ways that the cost model could choose.
pub(super) struct Choice {
    pub(super) cell: Cell,
    pub(super) query: &'static str,
    /// The share of the rows that pass, 0 to 1.
    pub(super) share: f64,
    pub(super) ways: Vec<Trial>,
}

/// Largest relative difference of the bytes of two runs that sent the same requests.
const SAME_BYTES: f64 = 0.05;

/// A way to run a query, with its prediction and its measurements.
pub(super) struct Trial {
    pub(super) way: &'static str,
    /// The planned decision for each of its operators.
    planned: Vec<Decision>,
    /// The physical plan as text.
    plan: String,
    /// Descriptions of the join keys that were sent to the store. The query decides on them when the keys arrive.
    keys: Vec<String>,
    pub(super) predicted: Duration,
    pub(super) predicted_link: Bytes,
    pub(super) bound_by: Option<Resource>,
    /// Bytes in both directions, counted at the store's sockets.
    pub(super) link: Bytes,
    pub(super) requests: u64,
    /// The time of each run, sorted.
    times: Vec<Duration>,
}

impl Choice {
    /// Returns the trials in the form of [`sluicegate_costmodel::validation`].
    pub(super) fn observed(&self) -> Vec<Measurement<'_>> {
        let same = |trial: &Trial| self.ways.iter().find(|it| it.is_same(trial));
        let observed = |trial: &Trial| trial.observed(same(trial).map_or(trial.way, |it| it.way));
        self.ways.iter().map(observed).collect()
    }
}

impl Trial {
    /// Returns the median time of the runs.
    pub(super) fn measured(&self) -> Duration {
        let middle = self.times.len() / 2;
        match (self.times.get(middle.saturating_sub(1)), self.times.get(middle)) {
            (Some(low), Some(high)) if self.times.len().is_multiple_of(2) => (*low + *high) / 2,
            (_, high) => high.copied().unwrap_or_default(),
        }
    }

    /// Returns the seconds of each run, the fastest first, separated by spaces.
    pub(super) fn runs(&self) -> String {
        let seconds = self.times.iter().map(|time| format!("{:.6}", time.as_secs_f64()));
        seconds.collect::<Vec<_>>().join(" ")
    }

    /// Returns the strategies by which the operators ran.
    pub(super) fn chosen(&self) -> String {
        let asked = !self.keys.is_empty();
        let followed = self.planned.iter().filter_map(|decision| followed(decision, asked));
        let mut chosen: Vec<_> = followed.collect();
        chosen.dedup();
        chosen.join("+")
    }

    /// Returns true if both ran in the same way: by the same plan, with the same keys sent, and with about the same
    /// bytes over the link, which reveal decisions at run time.
    fn is_same(&self, other: &Self) -> bool {
        let (a, b) = (self.link.as_f64(), other.link.as_f64());
        let same_bytes = (a - b).abs() <= SAME_BYTES * a.max(b);
        self.plan == other.plan && self.keys == other.keys && same_bytes
    }

    fn observed<'a>(&self, strategy: &'a str) -> Measurement<'a> {
        Measurement {
            strategy,
            predicted: self.predicted.as_secs_f64(),
            measured: self.measured().as_secs_f64(),
            bound_by: self.bound_by,
            taken: self.way == AUTO,
        }
    }
}

/// Runs a query in every possible way, one after the other in each round.
pub(super) async fn run_all(
    engine: &Engine,
    server: &Server,
    query: Query,
    sql: &str,
    rounds: u32,
) -> Result<Vec<Trial>> {
    let at = |failure: Failure| failure.at(query.name);
    let mut trials = Vec::new();
    for way in query.strategies() {
        set(engine, query.option, way).await.map_err(at)?;
        trials.extend(predict(engine, way, sql).await.map_err(at)?);
    }
    let mut answer = None;
    for round in 0..rounds {
        for trial in &mut trials {
            if round > 0 && trial.measured() > LONG {
                continue;
            }
            set(engine, query.option, trial.way).await.map_err(at)?;
            let run = measure(server, engine, sql).await.map_err(at)?;
            let place = trial.times.partition_point(|time| *time < run.time);
            trial.times.insert(place, run.time);
            (trial.link, trial.requests, trial.keys) = (run.link, run.requests, run.keys);
            if *answer.get_or_insert_with(|| run.answer.clone()) != run.answer {
                let message = format!("{}: the answer of `{}` differs", query.name, trial.way);
                return Err(Failure::new(message)
                    .with_hint(format!("This is a bug: please report it with the query: {sql}")));
            }
        }
    }
    set(engine, query.option, AUTO).await.map_err(at)?;
    Ok(trials)
}

/// Predicts a way; `None` if it is not possible. Planning also loads statistics of the tables, so that no run
/// includes that time.
async fn predict(engine: &Engine, way: &'static str, sql: &str) -> Result<Option<Trial>> {
    let explanation = Box::pin(engine.explain(sql)).await?;
    if explanation.decisions.iter().any(|decision| decision.unmet.is_some()) {
        return Ok(None);
    }
    let estimate = explanation.estimate();
    let predictions = || explanation.decisions.iter().filter_map(Decision::prediction);
    let predicted_link = predictions().map(|it| it.steps.over_sockets()).sum();
    let longest = predictions().max_by_key(|it| it.time.total());
    let bound_by = longest.and_then(|it| it.time.bound_by());
    Ok(Some(Trial {
        way,
        plan: displayable(explanation.plan.as_ref()).indent(false).to_string(),
        planned: explanation.decisions,
        keys: Vec::new(),
        predicted: estimate.time,
        predicted_link,
        bound_by,
        link: Bytes::ZERO,
        requests: 0,
        times: Vec::new(),
    }))
}
