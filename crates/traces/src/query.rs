//! Queries that have run.

use sluicegate_costmodel::storage::{Estimate, StageGraph};

/// A busy fraction beyond this is not explained by inaccurate clocks.
const MOST_BUSY: f64 = 1.05;

/// The seconds of a run below which clocks do not tell how busy the cores were: threads start and end within it.
const SHORTEST: f64 = 0.01;

/// The longest name taken from a comment, in characters.
const MOST_NAME: usize = 40;

/// A query that has run.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The name of the query.
    pub name: String,
    /// The number of cores that it could use; `None` if unknown.
    pub cores: Option<f64>,
    /// The stages of the query.
    pub graph: StageGraph,
}

impl Query {
    /// Returns the fraction of the cores' time, 0 to 1, in which threads worked. It exceeds 1 if the log has less
    /// wall time than threads worked. Returns `None` if the cores are unknown, or if the query took too little time
    /// to measure: none, or less than 10 ms in which threads worked longer than the cores allow.
    #[must_use]
    pub fn busy(&self, estimate: &Estimate) -> Option<f64> {
        let seconds = estimate.before.makespan;
        let cores = self.cores.filter(|_| seconds > 0.0)?;
        let busy = self.graph.thread_seconds() / (cores * seconds);
        let is_measured = seconds >= SHORTEST || busy <= MOST_BUSY;
        (busy.is_finite() && is_measured).then_some(busy)
    }

    /// Describes an error in the measurements: threads worked longer than the cores allow. Returns `None` if they did
    /// not.
    #[must_use]
    pub fn warning(&self, estimate: &Estimate) -> Option<String> {
        let busy = self.busy(estimate).filter(|busy| *busy > MOST_BUSY)?;
        let cores = self.cores?;
        let noun = if cores == 1.0 { "core" } else { "cores" };
        let busy = if busy < 1e9 { format!("{busy:.1}") } else { format!("{busy:.1e}") };
        Some(format!(
            "threads worked {busy} times as long as {cores} {noun} can in that time: the number of cores or the \
             thread time is wrong"
        ))
    }
}

/// Returns the name in a comment in the first line of a statement: `-- Q9`.
#[must_use]
pub fn name_of(sql: &str) -> Option<String> {
    let comment = sql.lines().next()?.trim().strip_prefix("--")?;
    let name: String = comment.trim().chars().take(MOST_NAME).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use sluicegate_costmodel::storage::{Device, Formula, Setup, Slots, Stage, estimate};

    use super::*;

    #[test]
    fn threads_that_work_longer_than_the_cores_are_doubted() {
        let of = |thread_seconds, cores| {
            let stage = Stage { wall_seconds: 1.0, thread_seconds, ..Stage::default() };
            let graph = StageGraph::new(vec![stage]).unwrap();
            let ideal = Device::by_name("ideal").unwrap();
            let estimate =
                estimate(&graph, ideal, Setup::Always, Formula::Intended, Slots::Unlimited);
            Query { name: String::new(), cores, graph }.warning(&estimate)
        };
        let said = of(100.0, Some(1.0)).unwrap();
        assert!(said.starts_with("threads worked 100.0 times as long as 1 core can"), "{said}");
        assert!(of(1e18, Some(1e-9)).unwrap().starts_with("threads worked 1.0e27 times"));
        assert!(of(9.0, Some(2.0)).unwrap().contains("2 cores"));
        assert_eq!((of(2.05, Some(2.0)), of(100.0, None)), (None, None));
    }

    #[test]
    fn no_time_keeps_no_cores_busy() {
        let device = &Device::all()[0];
        let busy = |wall_seconds: f64| {
            let stage = Stage { wall_seconds, thread_seconds: 8.0, ..Stage::default() };
            let graph = StageGraph::new(vec![stage]).unwrap();
            let estimate =
                estimate(&graph, device, Setup::Always, Formula::Intended, Slots::Unlimited);
            Query { name: String::new(), cores: Some(16.0), graph }.busy(&estimate)
        };
        assert_eq!([1.0, 0.0, 1e-310].map(busy), [Some(0.5), None, None]);
        // 1.3 times as long as two cores can, in .65 ms and in 65 ms.
        let query = |wall_seconds: f64| {
            let thread_seconds = 2.6 * wall_seconds;
            let stage = Stage { wall_seconds, thread_seconds, ..Stage::default() };
            let graph = StageGraph::new(vec![stage]).unwrap();
            let estimate =
                estimate(&graph, device, Setup::Always, Formula::Intended, Slots::Unlimited);
            let query = Query { name: String::new(), cores: Some(2.0), graph };
            (query.busy(&estimate).is_some(), query.warning(&estimate).is_some())
        };
        assert_eq!([0.000_65, 0.065].map(query), [(false, false), (true, true)]);
    }

    #[test]
    fn a_comment_names_a_query() {
        assert_eq!(name_of("-- Q9, derived\nSELECT 1").as_deref(), Some("Q9, derived"));
        assert_eq!(name_of("SELECT 1 -- one"), None);
        assert_eq!(name_of("--\nSELECT 1"), None);
    }
}
