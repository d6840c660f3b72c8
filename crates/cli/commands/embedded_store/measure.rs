//! Runs one query against the embedded store and counts its work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::physical_plan::collect;
use sluicegate_costmodel::{Bytes, Dollars};
use sluicegate_engine::Engine;
use sluicegate_engine::choice::Decision;
use sluicegate_engine::internals::keys::key_texts;
use sluicegate_server::Server;

use crate::failure::Result;

/// A row as text; `None` is NULL.
pub(in crate::commands) type Row = Vec<Option<String>>;

/// The result and the counts of one run of a query.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::commands) struct Run {
    /// The rows of the answer, sorted.
    pub(in crate::commands) answer: Vec<Row>,
    /// Number of requests that were sent.
    pub(in crate::commands) requests: u64,
    /// Number of S3 Select statements among them.
    pub(in crate::commands) statements: u64,
    /// Bytes over the link in both directions, counted at the store's sockets.
    pub(in crate::commands) link: Bytes,
    /// Measured wall-clock time.
    pub(in crate::commands) time: Duration,
    /// Dollars for the counted work and the measured time, at the session's prices.
    pub(in crate::commands) cost: Dollars,
    /// Descriptions of the join keys that were sent to the store. The query decides on them when the keys arrive.
    pub(in crate::commands) keys: Vec<String>,
}

/// The two strategies of a join that differ only by whether keys are sent.
const BLOOM: &str = "bloom";
const FILTERED: &str = "filtered";

/// Returns the strategy by which an operator ran. The planned strategy is predicted; a join decides again when its
/// keys arrive, and `asked` is true if it sent them.
pub(in crate::commands) fn followed(decision: &Decision, asked: bool) -> Option<&str> {
    let may_be_bloom = || decision.verdict(BLOOM).is_some_and(|way| way.outcome.is_ok());
    Some(match decision.strategy()? {
        BLOOM if !asked => FILTERED,
        FILTERED if asked && may_be_bloom() => BLOOM,
        planned => planned,
    })
}

/// Runs a query with the session's settings.
pub(in crate::commands) async fn measure(
    server: &Server,
    engine: &Engine,
    sql: &str,
) -> Result<Run> {
    let (counted, link) = (engine.counted(), server.counters().snapshot());
    let started = Instant::now();
    let query = Box::pin(engine.query(sql)).await?;
    let task = Arc::new(query.task_ctx());
    let plan = Box::pin(query.create_physical_plan()).await?;
    let batches = Box::pin(collect(Arc::clone(&plan), task)).await?;
    let time = started.elapsed();
    let link = server.counters().snapshot().since(&link);
    let counted = engine.counted().since(&counted);
    Ok(Run {
        answer: sorted_rows(&batches)?,
        requests: counted.requests(),
        statements: counted.select,
        link: Bytes(link.bytes_in + link.bytes_out),
        time,
        cost: engine.endpoint().prices.cost(&counted.work(time)).total(),
        keys: key_texts(&plan),
    })
}

/// Returns all rows of an answer, sorted so that their order does not depend on the run.
pub(in crate::commands) fn sorted_rows(batches: &[RecordBatch]) -> Result<Vec<Row>> {
    let options = FormatOptions::default();
    let mut rows = Vec::new();
    for batch in batches {
        let mut columns = Vec::new();
        for array in batch.columns() {
            columns.push((array, ArrayFormatter::try_new(array.as_ref(), &options)?));
        }
        for row in 0..batch.num_rows() {
            let cells = columns
                .iter()
                .map(|(array, text)| array.is_valid(row).then(|| text.value(row).to_string()));
            rows.push(cells.collect());
        }
    }
    rows.sort();
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, StringArray};

    use super::*;

    #[test]
    fn answers_are_compared_as_multisets() {
        let batch = |texts: &[Option<&str>]| {
            let array: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
            RecordBatch::try_from_iter([("t", array)]).unwrap()
        };
        let rows = |batches: &[RecordBatch]| sorted_rows(batches).unwrap();
        let one = rows(&[batch(&[Some("b"), None]), batch(&[Some("a"), Some("a")])]);
        assert_eq!(one, rows(&[batch(&[Some("a"), Some("b"), Some("a"), None])]));
        assert_ne!(one, rows(&[batch(&[Some("a"), Some("b"), None])]));
        assert_ne!(rows(&[batch(&[None])]), rows(&[batch(&[Some("")])]));
    }
}
