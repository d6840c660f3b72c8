//! One file, or a part of it, through S3 Select; and through GET where Select fails.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Int64Type, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileGroup, FileOpenFuture, FileOpener, FileScanConfig, FileScanConfigBuilder,
};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::{conjunction_opt, reassign_expr_columns};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::ObjectStore;
use sluicegate_client::{Error, SelectCall, SelectStream};
use sluicegate_s3select::profile::Exactness;

use super::format::TableFormat;
use super::get::{GetScan, PinnedStore};
use super::s3_select::S3SelectSource;
use super::statement::Statement;
use crate::endpoint::Endpoint;
use crate::endpoints::bucket_of;
use crate::metrics::{NodeMetrics, Tally};

/// A way to send one statement to any file of a table.
#[derive(Debug, Clone)]
pub struct FileSelect {
    /// The store.
    pub endpoint: Arc<Endpoint>,
    /// The bucket.
    pub bucket: String,
    /// What the files look like.
    pub format: TableFormat,
    /// What is asked.
    pub statement: Statement,
    /// The most rows in a batch.
    pub batch_size: usize,
}

impl FileSelect {
    /// The bucket of a scan.
    ///
    /// # Errors
    ///
    /// If the scan's store is not a bucket.
    pub fn bucket(config: &FileScanConfig) -> Result<String> {
        let url = &config.object_store_url;
        let bucket = bucket_of(url).map(ToOwned::to_owned);
        bucket.ok_or_else(|| exec_datafusion_err!("{} is not an S3 bucket", url.as_str()))
    }

    /// Sends the statement about one file or the range of it.
    ///
    /// # Errors
    ///
    /// The store's answer, if it is not one of rows.
    pub async fn send(&self, file: &PartitionedFile, tally: &Tally) -> Result<SelectStream, Error> {
        let range = file.range.as_ref().map(|_| file.range());
        let call = SelectCall {
            e_tag: file.object_meta.e_tag.clone(),
            batch_size: self.batch_size,
            metrics: Arc::clone(&tally.call),
            ..SelectCall::new(
                self.bucket.clone(),
                file.object_meta.location.to_string(),
                self.endpoint.request(&self.statement, &self.format, range),
                Arc::clone(&self.statement.answer),
            )
        };
        self.endpoint.client.select(call).await
    }
}

/// Whether reading the object here may succeed, or fail with a better message.
#[must_use]
pub fn may_fall_back(error: &Error) -> bool {
    matches!(error, Error::Refused { .. } | Error::BadAnswer { .. })
}

/// Wraps an error of the store for DataFusion.
#[must_use]
pub fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Runs a plan about one file of a scan against a version of it that cannot change.
#[derive(Debug, Clone)]
pub struct FileGet {
    /// How the replaced scan reads.
    pub scan: GetScan,
    /// The scan that the file belongs to.
    pub config: Arc<FileScanConfig>,
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// The most rows in a batch.
    pub batch_size: usize,
}

impl FileGet {
    /// The rows of one file that pass the filters, projected; both over the table's columns.
    ///
    /// # Errors
    ///
    /// If an expression does not fit the scan.
    pub fn plan(
        &self,
        file: PartitionedFile,
        filters: &[Arc<dyn PhysicalExpr>],
        projection: &ProjectionExprs,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let config = FileScanConfigBuilder::from(FileScanConfig::clone(&self.config))
            .with_file_groups(vec![FileGroup::new(vec![file])])
            .with_limit(None)
            .build();
        self.scan.plan(&config, filters, projection, &ConfigOptions::default())
    }

    /// Runs the only partition of a plan about `file`.
    ///
    /// # Errors
    ///
    /// If the plan cannot start.
    pub fn run(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        file: &PartitionedFile,
        metrics: &NodeMetrics,
    ) -> Result<SendableRecordBatchStream> {
        let store =
            PinnedStore::new(Arc::clone(&self.store), &file.object_meta, metrics.got().clone());
        let runtime = Arc::new(RuntimeEnv::default());
        runtime.register_object_store(self.config.object_store_url.as_ref(), Arc::new(store));
        let session = SessionConfig::new().with_batch_size(self.batch_size);
        let context = TaskContext::default().with_session_config(session).with_runtime(runtime);
        plan.execute(0, Arc::new(context))
    }
}

/// Opens files for [`S3SelectSource`].
#[derive(Debug)]
pub struct S3SelectOpener {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    select: FileSelect,
    get: FileGet,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The filters of which the store sends too many rows, over the answer's columns.
    recheck: Option<Arc<dyn PhysicalExpr>>,
    columns: ProjectionExprs,
    schema: SchemaRef,
    limit: Option<usize>,
    metrics: NodeMetrics,
}

impl S3SelectOpener {
    /// For one partition of a scan.
    ///
    /// # Errors
    ///
    /// If the scan's store is not a bucket, or a column cannot be sent.
    pub fn new(
        source: &S3SelectSource,
        endpoint: &Arc<Endpoint>,
        store: Arc<dyn ObjectStore>,
        config: &Arc<FileScanConfig>,
        partition: usize,
    ) -> Result<Self> {
        let statement = source
            .statement(config.limit)
            .ok_or_else(|| internal_datafusion_err!("a Select scan without a statement"))?;
        let (batch_size, limit) = (source.batch_size(), config.limit);
        let schema = Arc::new(source.file_schema().project(source.columns())?);
        let columns = ProjectionExprs::from_indices(source.columns(), source.file_schema());
        let select = FileSelect {
            endpoint: Arc::clone(endpoint),
            bucket: FileSelect::bucket(config)?,
            format: source.format().clone(),
            statement,
            batch_size,
        };
        let config = Arc::clone(config);
        let get = FileGet { scan: source.get().clone(), config, store, batch_size };
        let metrics = NodeMetrics::new(endpoint, source.metrics_set(), partition);
        let shared = Shared {
            select,
            get,
            filters: source.filters().iter().map(|filter| Arc::clone(&filter.here)).collect(),
            recheck: recheck(source, &schema)?,
            columns,
            schema,
            limit,
            metrics,
        };
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl FileOpener for S3SelectOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let shared = Arc::clone(&self.shared);
        Ok(Box::pin(async move {
            // An empty object has no rows, and some stores no answer.
            if file.object_meta.size == 0 {
                return Ok(futures::stream::empty().boxed());
            }
            let tally = shared.metrics.tally();
            match shared.select.send(&file, &tally).await {
                Ok(stream) if shared.select.statement.counts_rows => {
                    shared.counted(stream, file, tally).await
                }
                Ok(stream) => Ok(shared.rows(stream, file, tally)),
                Err(error) if may_fall_back(&error) => shared.fall_back(file, 0, &error),
                Err(error) => Err(external(error)),
            }
        }))
    }
}

type Rows = BoxStream<'static, Result<RecordBatch>>;

impl Shared {
    /// The answer's rows; if it breaks off for good, the rest from the object itself.
    fn rows(self: Arc<Self>, stream: SelectStream, file: PartitionedFile, tally: Tally) -> Rows {
        enum State {
            Select(Box<SelectStream>, Tally),
            Get(Rows),
            Done,
        }
        let start = (State::Select(Box::new(stream), tally), 0_usize);
        futures::stream::unfold(start, move |(state, handed_on)| {
            let (shared, file) = (Arc::clone(&self), file.clone());
            async move {
                let mut rest = match state {
                    State::Select(mut stream, tally) => match stream.next().await {
                        None => return None,
                        Some(Ok(batch)) => {
                            let state = State::Select(stream, tally);
                            return Some(match shared.passing(&batch) {
                                Ok(passing) => (Ok(batch), (state, handed_on + passing)),
                                Err(error) => (Err(error), (State::Done, 0)),
                            });
                        }
                        Some(Err(error)) if may_fall_back(&error) => {
                            match shared.fall_back(file, handed_on, &error) {
                                Ok(rest) => rest,
                                Err(error) => return Some((Err(error), (State::Done, 0))),
                            }
                        }
                        Some(Err(error)) => return Some((Err(external(error)), (State::Done, 0))),
                    },
                    State::Get(rest) => rest,
                    State::Done => return None,
                };
                let next = rest.next().await?;
                Some((next, (State::Get(rest), 0)))
            }
        })
        .boxed()
    }

    /// How many rows of an answer pass every filter.
    fn passing(&self, batch: &RecordBatch) -> Result<usize> {
        let Some(recheck) = &self.recheck else { return Ok(batch.num_rows()) };
        let verdicts = recheck.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(verdicts.as_boolean().true_count())
    }

    /// Rows without columns, as many as the answer says.
    async fn counted(
        self: Arc<Self>,
        stream: SelectStream,
        file: PartitionedFile,
        tally: Tally,
    ) -> Result<Rows> {
        let batches: Vec<RecordBatch> = match stream.try_collect().await {
            Ok(batches) => batches,
            Err(error) if may_fall_back(&error) => return self.fall_back(file, 0, &error),
            Err(error) => return Err(external(error)),
        };
        drop(tally);
        let mut rows = 0_usize;
        for batch in &batches {
            for count in batch.column(0).as_primitive::<Int64Type>().values() {
                rows = rows.saturating_add(usize::try_from(*count).unwrap_or(0));
            }
        }
        let mut left = self.limit.map_or(rows, |limit| rows.min(limit));
        let (schema, most) = (Arc::clone(&self.schema), self.select.batch_size.max(1));
        let batches = std::iter::from_fn(move || {
            let rows = left.min(most);
            left -= rows;
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            (rows > 0).then(|| {
                RecordBatch::try_new_with_options(Arc::clone(&schema), vec![], &options)
                    .map_err(Into::into)
            })
        });
        Ok(futures::stream::iter(batches).boxed())
    }

    /// The file's rows from GET that pass every filter, without the first `skip`: the store finds
    /// rows in the order of the file, and so do we.
    fn fall_back(&self, file: PartitionedFile, skip: usize, why: &Error) -> Result<Rows> {
        tracing::info!(object = %file.object_meta.location, %why, "reading the object with GET instead");
        self.metrics.fallback();
        let plan = self.get.plan(file.clone(), &self.filters, &self.columns)?;
        let rows = self.get.run(&plan, &file, &self.metrics)?;
        let mut skip = skip;
        let rest = rows.try_filter_map(move |batch| {
            let passed = skip.min(batch.num_rows());
            skip -= passed;
            let rest = batch.slice(passed, batch.num_rows() - passed);
            futures::future::ready(Ok((rest.num_rows() > 0).then_some(rest)))
        });
        Ok(rest.boxed())
    }
}

fn recheck(source: &S3SelectSource, schema: &SchemaRef) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let inexact = source
        .filters()
        .iter()
        .filter(|filter| filter.there.exactness != Exactness::Exact)
        .map(|filter| reassign_expr_columns(Arc::clone(&filter.here), schema))
        .collect::<Result<Vec<_>>>()?;
    Ok(conjunction_opt(inexact))
}
