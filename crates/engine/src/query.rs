//! One query, and what it asks of the stores.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use datafusion::dataframe::DataFrame;
use datafusion::execution::TaskContext;

use crate::Result;
use crate::choice::Journal;
use crate::counters::{Counted, Counters};
use crate::endpoint::Endpoint;

/// A planned query with counters of its own.
pub struct Query {
    frame: DataFrame,
    counters: Arc<QueryCounters>,
    journal: Journal,
}

impl Query {
    pub(crate) fn new(frame: DataFrame, counters: Arc<QueryCounters>, journal: Journal) -> Self {
        Self { frame, counters, journal }
    }

    /// Runs the query and keeps its answer in memory.
    ///
    /// # Errors
    ///
    /// If the query fails.
    pub async fn collect(&self) -> Result<Vec<RecordBatch>> {
        Ok(self.frame.clone().collect().await?)
    }

    /// The query as a DataFrame. Whatever runs it counts here.
    #[must_use]
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// The counters of the query, which go on counting whatever runs it.
    #[must_use]
    pub fn counters(&self) -> &Arc<QueryCounters> {
        &self.counters
    }

    /// The query as a DataFrame, without its counters.
    #[must_use]
    pub fn into_frame(self) -> DataFrame {
        self.frame
    }

    /// What the query asked of the stores so far: listings and samples while it was planned,
    /// everything that its nodes sent, and what was read here because a store could not answer.
    #[must_use]
    pub fn counted(&self) -> Counted {
        self.counters.read()
    }

    /// The same for each endpoint that was asked, by its name.
    #[must_use]
    pub fn counted_by_endpoint(&self) -> BTreeMap<String, Counted> {
        self.counters.by_endpoint()
    }

    /// The settings that the query does not follow, each with the operator and the reason: `scan of
    /// s3://bucket/t.csv: sluice.scan = 'select' is not followed: the store has no S3 Select`.
    ///
    /// Operators are chosen when the query starts to run; before that there are no warnings. What
    /// EXPLAIN shows is not repeated here.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.journal.warnings()
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query").field("counters", &self.counters).finish_non_exhaustive()
    }
}

/// Counters of one query, one set for each endpoint that it asks; what they count is part of the
/// endpoints' totals. An extension of the query's session configuration, and so of its tasks.
#[derive(Debug, Default)]
pub struct QueryCounters {
    endpoints: Mutex<BTreeMap<String, Arc<Counters>>>,
}

impl QueryCounters {
    /// Where a task counts what it asks of an endpoint: in its query, if it belongs to one, and in
    /// the endpoint's total.
    #[must_use]
    pub fn of_task(context: &TaskContext, endpoint: &Endpoint) -> Arc<Counters> {
        match context.session_config().get_extension::<Self>() {
            Some(query) => query.at(endpoint),
            None => Arc::clone(&endpoint.counters),
        }
    }

    /// The counters of an endpoint.
    #[must_use]
    pub fn at(&self, endpoint: &Endpoint) -> Arc<Counters> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Counters::part_of(Arc::clone(&endpoint.counters)));
        Arc::clone(endpoints.entry(endpoint.name.clone()).or_insert_with(new))
    }

    /// What was asked of all endpoints.
    #[must_use]
    pub fn read(&self) -> Counted {
        self.by_endpoint().into_values().sum()
    }

    /// What was asked of each endpoint, by its name.
    #[must_use]
    pub fn by_endpoint(&self) -> BTreeMap<String, Counted> {
        let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        endpoints.iter().map(|(name, counters)| (name.clone(), counters.read())).collect()
    }
}
