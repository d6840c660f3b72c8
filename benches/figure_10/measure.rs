//! Measures one item, run one way, several times.

use std::time::Instant;

use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use sluicegate_engine::choice::Decision;
use sluicegate_engine::explain::Estimate;
use sluicegate_engine::{CounterSnapshot, Engine};
use sluicegate_server::Server;

use crate::strategies::{Strategy, statements};

/// A row as text; `None` is NULL.
type Row = Vec<Option<String>>;

/// The prediction, results and counts of an item's runs.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) way: Strategy,
    /// The strategies chosen for its operators.
    pub(crate) chosen: Vec<&'static str>,
    /// Settings that were not followed, with the reason.
    pub(crate) unmet: Vec<String>,
    /// The cost model's prediction before the runs.
    pub(crate) predicted: Estimate,
    /// The rows of the first run's answer, sorted.
    pub(crate) rows: Vec<Row>,
    /// True if all runs returned these rows.
    pub(crate) steady: bool,
    /// Requests and bytes of the last run, including planning.
    pub(crate) counted: CounterSnapshot,
    /// Bytes over the link in both directions, of the last run.
    pub(crate) link: u64,
    /// Seconds of each run, including planning.
    pub(crate) seconds: Vec<f64>,
    /// CPU seconds of each run, store and client together; empty where the system does not report them.
    pub(crate) cpu: Vec<f64>,
}

/// Makes a session follow a way, and explains the statement. Planning also loads statistics of the tables, so that no
/// run includes that time.
pub(crate) async fn prepare(engine: &Engine, way: Strategy, sql: &str) -> Measured {
    follow(engine, way).await;
    let explanation = Box::pin(engine.explain(sql)).await.unwrap();
    let mut chosen = Vec::new();
    for strategy in explanation.decisions.iter().filter_map(Decision::strategy) {
        if !chosen.contains(&strategy) {
            chosen.push(strategy);
        }
    }
    let unmet = explanation.decisions.iter().filter_map(|it| it.unmet.clone()).collect();
    Measured {
        predicted: explanation.estimate(),
        way,
        chosen,
        unmet,
        rows: Vec::new(),
        steady: true,
        counted: CounterSnapshot::default(),
        link: 0,
        seconds: Vec::new(),
        cpu: Vec::new(),
    }
}

/// Runs a statement once and adds the measurement.
pub(crate) async fn run(server: &Server, engine: &Engine, sql: &str, measured: &mut Measured) {
    follow(engine, measured.way).await;
    let before = server.counters().snapshot();
    let worked = cpu_seconds();
    let started = Instant::now();
    let query = Box::pin(engine.plan(sql)).await.unwrap();
    let batches = Box::pin(query.collect()).await.unwrap();
    measured.seconds.push(started.elapsed().as_secs_f64());
    measured.cpu.extend(cpu_seconds().zip(worked).map(|(now, then)| now - then));
    let link = server.counters().snapshot().since(&before);
    measured.link = link.bytes_in + link.bytes_out;
    measured.counted = query.counted();
    let rows = sorted_rows(&batches);
    if measured.seconds.len() == 1 {
        measured.rows = rows;
    } else {
        measured.steady &= rows == measured.rows;
    }
}

/// Returns the CPU seconds of all threads of this process so far, in steps of a hundredth of a second.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The process name before the last bracket may contain spaces. It is followed by the state and 10 other fields.
    let fields = text.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
    let ticks = fields.map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
    Some(ticks.iter().sum::<u64>() as f64 / 100.0)
}

async fn follow(engine: &Engine, way: Strategy) {
    for set in statements(way) {
        Box::pin(engine.collect(&set)).await.unwrap();
    }
}

fn sorted_rows(batches: &[RecordBatch]) -> Vec<Row> {
    let options = FormatOptions::default();
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|array| (array, ArrayFormatter::try_new(array.as_ref(), &options).unwrap()))
            .collect();
        rows.extend((0..batch.num_rows()).map(|row| {
            let cells = columns
                .iter()
                .map(|(array, text)| array.is_valid(row).then(|| text.value(row).to_string()));
            cells.collect::<Row>()
        }));
    }
    rows.sort();
    rows
}

impl Measured {
    /// Returns the median of the seconds.
    pub(crate) fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// Returns the median of the CPU seconds.
    pub(crate) fn median_cpu(&self) -> f64 {
        median(&self.cpu)
    }

    /// Returns the time of this way divided by that of another: the median over the rounds, in each of which they ran
    /// one after the other, so that slow phases of the machine matter little.
    pub(crate) fn times_of(&self, other: &Self) -> f64 {
        if self.seconds.len() != other.seconds.len() {
            return self.median() / other.median();
        }
        let ratios = self.seconds.iter().zip(&other.seconds).map(|(this, other)| this / other);
        median(&ratios.collect::<Vec<_>>())
    }

    /// Returns the relative distance of each run from the median.
    pub(crate) fn scatter(&self) -> impl Iterator<Item = f64> {
        let middle = self.median();
        let runs = if self.seconds.len() > 1 { self.seconds.as_slice() } else { &[] };
        runs.iter().map(move |seconds| (seconds / middle - 1.0).abs())
    }

    /// Returns true if the session followed all settings of the way.
    pub(crate) fn followed(&self) -> bool {
        self.unmet.is_empty()
    }
}

pub(crate) fn median(seconds: &[f64]) -> f64 {
    let mut seconds = seconds.to_vec();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}
