//! Reads a file, or a range of it, through S3 Select, and with GET if Select fails.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Int64Type, SchemaRef};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener, FileScanConfig};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::projection::ProjectionExprs;
use futures::future::join;
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::ObjectStore;
use sluicegate_client::{Error, SelectCall, SelectStream};

use super::get::FileGet;
use super::keys::{KeysAtOpen, Opening};
use super::s3_select::{Filter, S3SelectSource};
use super::snapshot::ScanSnapshot;
use super::stored_types;
use crate::context::config::SluiceOptions;
use crate::pushdown::format::TableFormat;
use crate::pushdown::statement::Statement;
use crate::store::endpoint::Endpoint;
use crate::store::endpoints::bucket_of;
use crate::store::metrics::{NodeMetrics, Tally};
use crate::text::csv::dialect::expected_header::ExpectedHeader;
use crate::text::csv::values::SampledTypes;

/// Sends statements to the files of a table.
#[derive(Debug, Clone)]
pub struct FileSelect {
    /// The endpoint that runs statements.
    pub endpoint: Arc<Endpoint>,
    /// The object store of the endpoint, for GETs beside statements.
    pub store: Arc<dyn ObjectStore>,
    /// The bucket of the table.
    pub bucket: String,
    /// The format of the files.
    pub format: TableFormat,
    /// The maximum number of rows in a batch.
    pub batch_size: usize,
    /// The idle timeout of a statement; none to use the endpoint's.
    pub idle_timeout: Option<Duration>,
}

impl FileSelect {
    /// Returns the bucket of a scan.
    ///
    /// # Errors
    ///
    /// If the scan's store is not a bucket.
    pub fn bucket(config: &FileScanConfig) -> Result<String> {
        let url = &config.object_store_url;
        let bucket = bucket_of(url).map(ToOwned::to_owned);
        bucket.ok_or_else(|| exec_datafusion_err!("{} is not an S3 bucket", url.as_str()))
    }

    /// Returns the object store of a scan.
    ///
    /// # Errors
    ///
    /// If the task has none for the scan's bucket.
    pub fn store(config: &FileScanConfig, context: &TaskContext) -> Result<Arc<dyn ObjectStore>> {
        context.runtime_env().object_store(&config.object_store_url)
    }

    /// Sends a statement for one file or its range. If the header of a CSV file is still to be checked, it is fetched
    /// at the same time.
    ///
    /// # Errors
    ///
    /// The store's error. If the store stopped an earlier statement of the same node for taking too long, this fails
    /// without a request.
    pub async fn send(
        &self,
        statement: &Statement,
        file: &PartitionedFile,
        tally: &Tally,
    ) -> Result<SelectStream, Error> {
        if tally.is_overdue() {
            return Err(Error::overdue("it stopped an earlier statement of this scan"));
        }
        tally.sends(statement, &self.format, file);
        let range = file.range.as_ref().map(|_| file.range());
        let call = SelectCall {
            e_tag: file.object_meta.e_tag.clone(),
            batch_size: self.batch_size,
            sampled_types: SampledTypes::are_of(file),
            idle_timeout: self.idle_timeout,
            metrics: Arc::clone(&tally.call),
            ..SelectCall::new(
                self.bucket.clone(),
                file.object_meta.location.to_string(),
                self.endpoint.request(statement, &self.format, range),
                Arc::clone(&statement.answer),
            )
        };
        let answer = self.endpoint.client.select(call);
        let Some(expected) = file.extension::<ExpectedHeader>() else { return answer.await };
        let object = &file.object_meta;
        let (answer, header) = join(answer, expected.check(&self.store, object)).await;
        // A GET of the object would report the same error.
        let wrong = |error: DataFusionError| Error::BadAnswer {
            bucket: self.bucket.clone(),
            key: object.location.to_string(),
            message: error.to_string(),
        };
        header.map_err(wrong).and(answer)
    }
}

/// Returns true if reading the object locally may succeed, or fail with a better message. It is false if the store
/// found damage, because a local read might succeed with wrong data.
#[must_use]
pub(crate) fn may_fall_back(error: &Error) -> bool {
    matches!(error, Error::Refused { .. } | Error::BadAnswer { .. })
}

/// Returns true if a store that refused a statement may accept a simpler one, such as a shorter one.
#[must_use]
pub(crate) fn may_take_less(error: &Error) -> bool {
    matches!(error, Error::Refused { .. }) && !error.is_final_refusal()
}

/// Wraps an error of the store for DataFusion.
#[must_use]
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Opens files for [`S3SelectSource`].
#[derive(Debug)]
pub(crate) struct S3SelectOpener {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    source: S3SelectSource,
    select: FileSelect,
    get: FileGet,
    columns: ProjectionExprs,
    /// The schema of the answer.
    schema: SchemaRef,
    limit: Option<usize>,
    metrics: NodeMetrics,
    /// Facts about the keys of joins above, or `None` if no keys will arrive.
    keys: Option<Arc<KeysAtOpen>>,
}

/// The number of parts of a file that are requested ahead of the one that is read.
pub(crate) const PREFETCH: usize = 1;

impl Shared {
    /// Returns the parts of a file with the key filters of each; nothing if no row can match a key. `None` if the file
    /// is to be fetched.
    async fn keys(
        &self,
        file: PartitionedFile,
    ) -> Result<Option<Vec<(PartitionedFile, Vec<Filter>)>>> {
        let Some(keys) = &self.keys else { return Ok(Some(vec![(file, Vec::new())])) };
        let opening = Opening {
            source: &self.source,
            select: &self.select,
            config: &self.get.config,
            metrics: &self.metrics,
            options: self.get.context.session_config().options(),
        };
        keys.parts(opening, &file).await
    }

    /// Returns the statement and filters for now, including `keys`.
    fn snapshot(&self, keys: &[Filter]) -> Result<ScanSnapshot> {
        self.source.snapshot(&self.select.endpoint, self.limit, keys)
    }
}

impl S3SelectOpener {
    /// Creates the opener of one partition of a scan, within the task of `context`. `keys` are the keys of joins
    /// above, if any will arrive.
    ///
    /// # Errors
    ///
    /// If the scan's store is not a bucket.
    pub(crate) fn new(
        source: &S3SelectSource,
        endpoint: &Arc<Endpoint>,
        metrics: NodeMetrics,
        config: &Arc<FileScanConfig>,
        context: Arc<TaskContext>,
        keys: Option<Arc<KeysAtOpen>>,
    ) -> Result<Self> {
        let schema = Arc::new(source.file_schema().project(source.columns())?);
        let columns = ProjectionExprs::from_indices(source.columns(), source.file_schema());
        let select = FileSelect {
            endpoint: Arc::clone(endpoint),
            store: FileSelect::store(config, &context)?,
            bucket: FileSelect::bucket(config)?,
            format: source.format().clone(),
            batch_size: source.batch_size(),
            idle_timeout: SluiceOptions::from_options(context.session_config().options())
                .idle_timeout
                .get(),
        };
        let get = FileGet { scan: source.get().clone(), config: Arc::clone(config), context };
        let shared = Shared {
            source: source.clone(),
            keys,
            select,
            get,
            columns,
            schema,
            limit: config.limit,
            metrics,
        };
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl FileOpener for S3SelectOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let shared = Arc::clone(&self.shared);
        Ok(Box::pin(async move {
            // An empty object has no rows, and some stores do not answer statements about it.
            if file.object_meta.size == 0 {
                return Ok(futures::stream::empty().boxed());
            }
            let mut parts = Vec::new();
            let Some(asked) = shared.keys(file.clone()).await? else {
                let (snapshot, has_keys) = (shared.snapshot(&[])?, false);
                return Open { shared, snapshot, has_keys, file }.fetch(0);
            };
            for (file, keys) in asked {
                let (snapshot, has_keys) = (shared.snapshot(&keys)?, !keys.is_empty());
                parts.push(Open { shared: Arc::clone(&shared), snapshot, has_keys, file });
            }
            if parts.len() > 1 {
                let parts = futures::stream::iter(parts).map(Open::rows).buffered(1 + PREFETCH);
                return Ok(parts.try_flatten().boxed());
            }
            match parts.pop() {
                Some(part) => part.rows().await,
                None => Ok(futures::stream::empty().boxed()),
            }
        }))
    }
}

type Rows = BoxStream<'static, Result<RecordBatch>>;

/// A file that is being read.
struct Open {
    shared: Arc<Shared>,
    snapshot: ScanSnapshot,
    /// True if the statement filters by keys of joins, so that it can be sent without them if the store refuses it.
    has_keys: bool,
    file: PartitionedFile,
}

impl Open {
    async fn rows(mut self) -> Result<Rows> {
        loop {
            let Self { shared, snapshot, file, .. } = &self;
            let columns = shared.source.columns_of(&snapshot.filters);
            let declared = shared.source.file_schema();
            if let Err(why) = stored_types::check(&shared.get.scan, file, declared, &columns).await
            {
                return self.fall_back(0, &why);
            }
            let tally = shared.metrics.tally(&shared.select.bucket, file);
            let refusal = match shared.select.send(&snapshot.statement, file, &tally).await {
                Ok(stream) if snapshot.statement.counts_rows => return self.counted(stream).await,
                Ok(stream) => return Ok(self.selected(stream, tally)),
                Err(error) if may_fall_back(&error) => error,
                Err(error) => return Err(external(error)),
            };
            if !(self.has_keys && may_take_less(&refusal)) {
                return self.fall_back(0, &refusal);
            }
            let object = &self.file.object_meta.location;
            tracing::info!(%object, why = %refusal, "asking without the keys of joins");
            self.snapshot = self.shared.snapshot(&[])?;
            self.has_keys = false;
        }
    }

    /// Returns the rows of the answer. If the answer breaks off for good, the remaining rows are read from the
    /// object.
    fn selected(self, stream: SelectStream, tally: Tally) -> Rows {
        enum State {
            Select(Box<SelectStream>, Box<Tally>),
            Get(Rows),
            Done,
        }
        let start = (State::Select(Box::new(stream), Box::new(tally)), 0_usize);
        let open = Arc::new(self);
        futures::stream::unfold(start, move |(state, handed_on)| {
            let open = Arc::clone(&open);
            async move {
                let mut rest = match state {
                    State::Select(mut stream, tally) => match stream.next().await {
                        None => return None,
                        Some(Ok(batch)) => {
                            let state = State::Select(stream, tally);
                            return Some(match open.snapshot.passing(&batch) {
                                Ok(passing) => (Ok(batch), (state, handed_on + passing)),
                                Err(error) => (Err(error), (State::Done, 0)),
                            });
                        }
                        Some(Err(error)) if may_fall_back(&error) => {
                            match open.fall_back(handed_on, &error) {
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

    /// Batches without columns, with the row count of the answer.
    async fn counted(&self, stream: SelectStream) -> Result<Rows> {
        let rows = match stream.try_collect::<Vec<_>>().await {
            Ok(batches) => one_count(&batches),
            Err(error) if may_fall_back(&error) => return self.fall_back(0, &error),
            Err(error) => return Err(external(error)),
        };
        let rows = match rows {
            Ok(rows) => rows,
            Err(why) => return self.fall_back(0, &why),
        };
        let mut left = self.shared.limit.map_or(rows, |limit| rows.min(limit));
        let schema = Arc::clone(&self.shared.schema);
        let most = self.shared.select.batch_size.max(1);
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

    /// Reads the file's rows with GET, those that pass every filter, without the first `skip`. The store and
    /// DataFusion return rows in the order of the file.
    fn fall_back(&self, skip: usize, why: &dyn Display) -> Result<Rows> {
        let object = &self.file.object_meta.location;
        tracing::info!(%object, %why, "reading the object with GET instead");
        self.shared.metrics.fallback();
        self.fetch(skip)
    }

    /// Reads the file's rows with GET, those that pass every filter, without the first `skip`.
    fn fetch(&self, skip: usize) -> Result<Rows> {
        let Self { shared, snapshot, file, .. } = self;
        let open = shared.get.open(file.clone(), shared.metrics.got().clone())?;
        let rows = open.run(&open.plan(&snapshot.filters, &shared.columns)?)?;
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

/// Returns the number in an answer that is a single count.
fn one_count(batches: &[RecordBatch]) -> Result<usize, String> {
    let counts = batches.iter().flat_map(|it| it.column(0).as_primitive::<Int64Type>().iter());
    match counts.collect::<Vec<_>>().as_slice() {
        [Some(count)] => usize::try_from(*count).map_err(|_| format!("a count of {count} rows")),
        counts => Err(format!("{} rows in an answer of one count", counts.len())),
    }
}
