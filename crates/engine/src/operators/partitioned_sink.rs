//! A sink that writes rows into folders by the values of columns.
//!
//! DataFusion writes a NULL into the folder of another value, and does not escape separators in the names of folders.
//! This sink names folders like Hive and Spark ([`value`](crate::context::partition_value)).

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{cast, take_record_batch};
use arrow::datatypes::{DataType, SchemaRef};
use async_trait::async_trait;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::datasource::file_format::csv::CsvSink;
use datafusion::datasource::file_format::parquet::ParquetSink;
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::TryStreamExt;
use object_store::path::Path;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedSender, channel, unbounded_channel};

use super::arrow_sink::ArrowSink;
use super::explicit_nulls::ExplicitNulls;
use crate::context::partition_value::{NULL, encoded};

/// Returns the plan with a sink that names its folders this way. Other plans stay as they are.
pub(super) fn with_folders(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let Some(writes) = plan.downcast_ref::<DataSinkExec>() else { return plan };
    if files(writes.sink()).is_none_or(|it| it.config().table_partition_cols.is_empty()) {
        return plan;
    }
    let (input, order) = (Arc::clone(writes.input()), writes.sort_order().clone());
    Arc::new(DataSinkExec::new(input, Arc::new(PartitionedSink(writes.clone())), order))
}

/// Returns the sink as a file sink, or `None` for other sinks.
fn files(sink: &dyn DataSink) -> Option<&dyn FileSink> {
    if let Some(csv) = sink.downcast_ref::<CsvSink>() {
        return Some(csv);
    }
    if let Some(json) = sink.downcast_ref::<ExplicitNulls>() {
        return Some(json);
    }
    if let Some(arrow) = sink.downcast_ref::<ArrowSink>() {
        return Some(arrow);
    }
    sink.downcast_ref::<ParquetSink>().map(|parquet| parquet as &dyn FileSink)
}

/// Writes the files of a plan's sink into folders with escaped names.
#[derive(Debug)]
struct PartitionedSink(DataSinkExec);

impl DisplayAs for PartitionedSink {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.sink().fmt_as(t, f)
    }
}

#[async_trait]
impl DataSink for PartitionedSink {
    fn metrics(&self) -> Option<MetricsSet> {
        self.0.sink().metrics()
    }

    fn schema(&self) -> &SchemaRef {
        self.0.sink().schema()
    }

    async fn write_all(
        &self,
        rows: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let Some(files) = files(self.0.sink()) else {
            return self.0.sink().write_all(rows, context).await;
        };
        let config = files.config();
        let store = context.runtime_env().object_store(&config.object_store_url)?;
        let options = context.session_config().options();
        let buffered = options.execution.max_buffered_batches_per_output_file.get();
        // The number of folders is unlimited, and each has a writer of its own.
        let (opened, written) = unbounded_channel();
        let folders = Folders::new(config, buffered, opened);
        let demux = SpawnedTask::spawn(folders.fill(rows));
        files.spawn_writer_tasks_and_join(context, demux, written, store).await
    }
}

/// The folders of a statement, with the writer of each.
struct Folders {
    columns: Vec<String>,
    keeps_columns: bool,
    place: Path,
    /// Name of the file in each folder.
    file: String,
    buffered: usize,
    files: UnboundedSender<(Path, Receiver<RecordBatch>)>,
    writers: HashMap<String, Sender<RecordBatch>>,
}

impl Folders {
    fn new(
        config: &FileSinkConfig,
        buffered: usize,
        files: UnboundedSender<(Path, Receiver<RecordBatch>)>,
    ) -> Self {
        let names = config.table_partition_cols.iter().map(|(name, _)| name.clone());
        // Each hasher has random keys of its own.
        let unique = || RandomState::new().build_hasher().finish();
        Self {
            columns: names.collect(),
            keeps_columns: config.keep_partition_by_columns,
            place: config.table_paths.first().map(|it| it.prefix().clone()).unwrap_or_default(),
            file: format!("{:016x}{:016x}.{}", unique(), unique(), config.file_extension),
            buffered: buffered.max(1),
            files,
            writers: HashMap::new(),
        }
    }

    /// Sends each row to the writer of its folder.
    async fn fill(mut self, mut rows: SendableRecordBatchStream) -> Result<()> {
        while let Some(batch) = rows.try_next().await? {
            for (folder, rows) in self.rows_by_folder(&batch)? {
                let part = take_record_batch(&batch, &UInt32Array::from(rows))?;
                let part = if self.keeps_columns { part } else { self.without_columns(&part)? };
                let writer = self.writer(folder)?;
                if writer.send(part).await.is_err() {
                    return Err(exec_datafusion_err!(
                        "a writer stopped before all rows were written"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Groups the row numbers of a batch by folder.
    fn rows_by_folder(&self, batch: &RecordBatch) -> Result<HashMap<String, Vec<u32>>> {
        let mut values = Vec::with_capacity(self.columns.len());
        for name in &self.columns {
            let column = batch.column_by_name(name);
            let column = column.ok_or_else(|| {
                exec_datafusion_err!("there is no column {name} to name folders by")
            })?;
            values.push((encoded(name), text_of(column)?));
        }
        let values: Vec<(&String, &StringArray)> =
            values.iter().map(|(name, values)| (name, values.as_string::<i32>())).collect();
        let mut folders: HashMap<String, Vec<u32>> = HashMap::new();
        for row in 0..batch.num_rows() {
            let mut folder = String::new();
            for (name, values) in &values {
                folder.push('/');
                folder.push_str(name);
                folder.push('=');
                match values.is_null(row) {
                    true => folder.push_str(NULL),
                    false => folder.push_str(&encoded(values.value(row))),
                }
            }
            let number = u32::try_from(row).map_err(|error| exec_datafusion_err!("{error}"))?;
            folders.entry(folder).or_default().push(number);
        }
        Ok(folders)
    }

    fn without_columns(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema = batch.schema();
        let names = schema.fields().iter().map(|field| field.name());
        let others = names.enumerate().filter(|(_, name)| !self.columns.contains(name));
        let others: Vec<usize> = others.map(|(place, _)| place).collect();
        Ok(batch.project(&others)?)
    }

    fn writer(&mut self, folder: String) -> Result<&mut Sender<RecordBatch>> {
        match self.writers.entry(folder) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let path = Path::parse(format!("{}{}/{}", self.place, new.key(), self.file))?;
                let (writer, rows) = channel(self.buffered);
                if self.files.send((path, rows)).is_err() {
                    return Err(exec_datafusion_err!(
                        "the writers stopped before all rows were written"
                    ));
                }
                Ok(new.insert(writer))
            }
        }
    }
}

/// Returns the values as text for names of folders. Binary values are hexadecimal, as in CSV.
fn text_of(column: &ArrayRef) -> Result<ArrayRef> {
    let column = match column.data_type() {
        DataType::Dictionary(_, values) => &cast(column, values)?,
        _ => column,
    };
    let binary = match column.data_type() {
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => cast(column, &DataType::LargeBinary)?,
        _ => return Ok(cast(column, &DataType::Utf8)?),
    };
    let values = binary.as_binary::<i64>().iter().map(|value| {
        value.map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    });
    Ok(Arc::new(values.collect::<StringArray>()))
}
