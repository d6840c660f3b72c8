//! Writes that become visible only if all of them succeed.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err, internal_err};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::TryStreamExt;
use object_store::path::Path;
use sluicegate_guards::{one_child, without_expressions};

use super::explicit_nulls::with_nulls;
use super::one_batch::with_a_batch;
use super::partitioned_sink::with_folders;
use crate::context::notes::some_of;
use crate::store::query_counters::QueryCounters;
use crate::store::staging::outcome;
use crate::store::staging::{CommitError, OverwrittenObject, StagingStores, Uploads};

/// Runs a plan that writes files, such as that of COPY or INSERT, and stages its writes: see
/// [`staging`](crate::store::staging). It returns the rows of its input after the commit. `bytes_written` counts the bytes
/// of the objects.
#[derive(Debug, Clone)]
pub struct StagedWriteExec {
    input: Arc<dyn ExecutionPlan>,
    /// URLs of objects that are removed after the commit, with unencoded paths.
    replaced: Vec<String>,
    leaves_columns: bool,
    may_replace: bool,
    metrics: ExecutionPlanMetricsSet,
}

/// Name of the metric for the bytes written.
const BYTES_WRITTEN: &str = "bytes_written";

impl StagedWriteExec {
    /// Stages the writes of `input`.
    #[must_use]
    pub fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let (replaced, metrics) = (Vec::new(), ExecutionPlanMetricsSet::new());
        Self { input, replaced, leaves_columns: false, may_replace: false, metrics }
    }

    /// Sets the objects that are removed after the commit, as URLs with unencoded paths.
    #[must_use]
    pub fn replacing(self, replaced: Vec<String>) -> Self {
        Self { replaced, ..self }
    }

    /// Sets whether a query without rows still writes a file that has the columns.
    #[must_use]
    pub fn leaving_columns(self, leaves_columns: bool) -> Self {
        Self { leaves_columns, ..self }
    }

    /// Sets whether new objects may overwrite objects of the same name.
    #[must_use]
    pub fn which_may_replace(self, may_replace: bool) -> Self {
        Self { may_replace, ..self }
    }

    /// Returns true if new objects may overwrite objects of the same name.
    #[must_use]
    pub fn may_replace(&self) -> bool {
        self.may_replace
    }

    /// Returns true if a query without rows still writes a file that has the columns.
    #[must_use]
    pub fn leaves_columns(&self) -> bool {
        self.leaves_columns
    }

    /// Returns the URLs of the objects that are removed after the commit.
    #[must_use]
    pub fn replaced(&self) -> &[String] {
        &self.replaced
    }
}

/// Resolves URLs to objects in the stores of a task.
fn objects(urls: &[String], context: &TaskContext) -> Result<Vec<OverwrittenObject>> {
    let object = |url: &String| {
        let Some((root, path)) = split(url) else { return internal_err!("{url} is no URL") };
        let store = context.runtime_env().object_store(ObjectStoreUrl::parse(root)?)?;
        Ok(OverwrittenObject { store, location: Path::parse(path)? })
    };
    urls.iter().map(object).collect()
}

fn described(error: CommitError, replaced: &[String]) -> DataFusionError {
    match error {
        // Only partitioned writes produce no object without rows.
        CommitError::NothingLeft => exec_datafusion_err!(
            "the query has no rows, so PARTITIONED BY makes no object that could replace {}: nothing is removed; \
             without PARTITIONED BY, one with the columns would replace them",
            some_of(replaced)
        ),
        CommitError::NotVisible(error) => DataFusionError::ObjectStore(Box::new(error)),
        CommitError::Unknown { location, error } => outcome::unknown(&location, error).into(),
        CommitError::NotRemoved { left, location, error } => {
            let left = match left {
                1 => format!("`{location}`"),
                left => format!("{left} objects that they replace, such as `{location}`,"),
            };
            DataFusionError::ObjectStore(Box::new(error))
                .context(format!("the new objects are there, but {left} could not be removed"))
        }
    }
}

/// Splits a URL into its root, such as `s3://bucket/`, and the path.
fn split(url: &str) -> Option<(&str, &str)> {
    let host = url.find("://")? + 3;
    let slash = host + url[host..].find('/')?;
    Some((&url[..=slash], &url[slash + 1..]))
}

impl DisplayAs for StagedWriteExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                f.write_str("StagedWriteExec")?;
                match self.replaced.len() {
                    0 => Ok(()),
                    objects => write!(f, ": replaces {objects} objects"),
                }
            }
            DisplayFormatType::TreeRender => Ok(()),
        }
    }
}

impl ExecutionPlan for StagedWriteExec {
    one_child!("StagedWriteExec", |node, input| {
        let staged = Self::new(input).replacing(node.replaced.clone());
        let staged = staged.leaving_columns(node.leaves_columns);
        Arc::new(staged.which_may_replace(node.may_replace))
    });

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    without_expressions!();

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (input, replaced) = (Arc::clone(&self.input), self.replaced.clone());
        let (leaves_columns, may_replace) = (self.leaves_columns, self.may_replace);
        let written = MetricBuilder::new(&self.metrics).counter(BYTES_WRITTEN, partition);
        let rows = async move {
            let uploads = context.session_config().get_extension::<Uploads>().unwrap_or_default();
            let open = uploads.open();
            let outcome = async {
                let mut stores = StagingStores::new(
                    Arc::clone(&context.runtime_env().object_store_registry),
                    Arc::clone(open.staging()),
                );
                if !may_replace {
                    stores = stores.only_new();
                }
                let mut writes = with_folders(with_nulls(input));
                if leaves_columns {
                    writes = with_a_batch(writes);
                }
                let rows = writes.execute(partition, with_stores(&context, stores))?;
                rows.try_collect::<Vec<_>>().await
            };
            match outcome.await {
                Ok(rows) => {
                    let staging = Arc::clone(open.staging());
                    let committed = open.commit_replacing(objects(&replaced, &context)?).await;
                    committed.map_err(|error| described(error, &replaced))?;
                    let bytes = staging.bytes();
                    written.add(usize::try_from(bytes).unwrap_or(usize::MAX));
                    QueryCounters::wrote(&context, bytes);
                    Ok(futures::stream::iter(rows.into_iter().map(Ok)))
                }
                Err(error) => {
                    let failed = open.staging().failure();
                    open.abort().await;
                    Err(failed
                        .map_or(error, |failed| DataFusionError::ObjectStore(Box::new(failed))))
                }
            }
        };
        let rows = futures::stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// Returns the task with other stores.
fn with_stores(context: &TaskContext, stores: StagingStores) -> Arc<TaskContext> {
    let runtime = context.runtime_env();
    let runtime =
        RuntimeEnv { object_store_registry: Arc::new(stores), ..runtime.as_ref().clone() };
    Arc::new(TaskContext::new(
        context.task_id(),
        context.session_id(),
        context.session_config().clone(),
        context.scalar_functions().clone(),
        context.higher_order_functions().clone(),
        context.aggregate_functions().clone(),
        context.window_functions().clone(),
        Arc::new(runtime),
    ))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_url_is_a_store_and_a_path() {
        assert_eq!(split("s3://b/x/a%20b.csv"), Some(("s3://b/", "x/a%20b.csv")));
        assert_eq!(split("file:///tmp/a"), Some(("file:///", "tmp/a")));
        assert_eq!(split("s3://b"), None);
    }
}
