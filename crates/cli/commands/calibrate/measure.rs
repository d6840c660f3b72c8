//! Runs the trials of a calibration and measures their times.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::MemTable;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::prelude::{
    CsvReadOptions, JsonReadOptions, ParquetReadOptions, SessionConfig, SessionContext,
};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt};
use sluicegate_client::{SelectMetrics, decoded_rows};
use sluicegate_conformance::NoAnswer;
use sluicegate_costmodel::calibration::{Experiment, MeasuredOperation};
use sluicegate_costmodel::{Bytes, Format, Phase, Requests, Rows, ScanWork, Terms, answered};
use sluicegate_engine::{Engine, Error};
use sluicegate_s3select::capabilities::Extension;
use sluicegate_s3select::request::{
    ArrowOutput, ArrowType, Compression, CsvInput, CsvOutput, InputFormat, InputSerialization,
    JsonType, OutputSerialization, SelectRequest,
};

use super::cores;
use super::data::{ANSWERED, COLUMNS, Data, Object};
use super::plan::{ROWS, Statement, Trial};
use crate::commands::generate::bucket_store;
use crate::failure::{Failure, Result};
use crate::output::progress::Steps;
use crate::runtime::cpu::process_time;

/// The URL of the store for objects in memory.
const MEMORY: &str = "memory://samples";
/// The number of times that an answer in Arrow is decoded, so that it takes long enough to measure.
const DECODED: u32 = 8;
/// Approximate bytes of a CSV row with the columns that queries read.
const ANSWERED_ROW: f64 = 30.0;

/// Runs every trial once to open connections and fill caches, and then in `rounds` measured rounds. Trials that the
/// store refuses are left out.
pub(super) async fn measure(
    engine: Engine,
    (bucket, prefix): (String, String),
    data: Arc<Data>,
    trials: Vec<Trial>,
    rounds: u32,
) -> Result<Vec<Experiment>> {
    let bench = Bench::new(engine, &bucket, prefix, data).await?;
    let steps = Steps::new(trials.len() * (rounds as usize + 1), "measuring");
    let mut found: Vec<Vec<Experiment>> = trials.iter().map(|_| Vec::new()).collect();
    let mut refused = BTreeSet::new();
    let mut no_select = false;
    for round in 0..=rounds as usize {
        for (number, trial) in trials.iter().enumerate() {
            steps.at(round * trials.len() + number + 1);
            if refused.contains(&number) || (trial.is_statement() && no_select) {
                continue;
            }
            match Box::pin(bench.run(trial)).await? {
                Outcome::Timed(_) if round == 0 => {}
                Outcome::Timed(times) => {
                    for (place, (asked, time)) in times.into_iter().enumerate() {
                        if found[number].len() == place {
                            found[number].push(Experiment { asked, seconds: Vec::new() });
                        }
                        found[number][place].seconds.push(time.as_secs_f64());
                    }
                }
                Outcome::Refused { every_statement } => {
                    refused.insert(number);
                    no_select |= every_statement;
                }
                Outcome::Failed => {}
            }
        }
    }
    steps.done();
    for (trial, experiments) in trials.iter().zip(&found) {
        for Experiment { asked, seconds } in experiments {
            tracing::debug!(?trial, ?asked, ?seconds, "measured");
        }
    }
    Ok(found.into_iter().flatten().collect())
}

impl Trial {
    fn is_statement(&self) -> bool {
        matches!(
            self,
            Self::Select(_)
                | Self::Selects { .. }
                | Self::Decode(_)
                | Self::Query { scan: "select", .. }
        )
    }
}

enum Outcome {
    /// The measured times. A trial always returns the same number of them, in the same order.
    Timed(Vec<(MeasuredOperation, Duration)>),
    /// The store does not support the trial, or no statement at all.
    Refused { every_statement: bool },
    /// The trial failed in this round, and is repeated in the next.
    Failed,
}

struct Bench {
    engine: Engine,
    store: Arc<dyn ObjectStore>,
    bucket: String,
    prefix: String,
    data: Arc<Data>,
    /// The samples in memory. Its queries run on one core each.
    memory: SessionContext,
    /// Rows of the table whose rows are parsed already.
    rows: Rows,
}

const REFUSED: Outcome = Outcome::Refused { every_statement: false };

impl Bench {
    async fn new(engine: Engine, bucket: &str, prefix: String, data: Arc<Data>) -> Result<Self> {
        let store = bucket_store(&engine, bucket)?;
        let tables = [("csv", "csv/"), ("part", "csv/0.csv"), ("one", "one/"), ("small", "small/")];
        let columns = COLUMNS.map(|(name, of)| format!("{name} {of}")).join(", ");
        for (table, place) in tables {
            let sql = format!(
                "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV \
                 LOCATION 's3://{bucket}/{prefix}{place}' OPTIONS ('format.has_header' 'false')"
            );
            Box::pin(engine.collect(&sql)).await?;
        }
        let memory = Box::pin(in_memory(&data)).await?;
        let rows = Box::pin(parsed(&memory, &data.parts[0])).await?;
        let bucket = bucket.to_owned();
        Ok(Self { engine, store, bucket, prefix, data, memory, rows })
    }

    async fn run(&self, trial: &Trial) -> Result<Outcome> {
        match trial {
            Trial::Get { name, bytes } => {
                let path = self.path(name);
                let (cpu, started) = (process_time(), Instant::now());
                let got = self.get(&path, 0..*bytes).await?;
                let time = started.elapsed();
                Ok(received(cpu, Requests(1), got, (MeasuredOperation::Get(got), time)))
            }
            Trial::Gets { requests, lanes, each } => {
                let part = |number: u64| {
                    let parts = &self.data.parts;
                    let object = &parts[number as usize % parts.len()];
                    let span = object.size().0.saturating_sub(*each).max(1);
                    let start = number.wrapping_mul(0x9e37_79b9) % span;
                    (self.path(&object.name), start..start + each)
                };
                let (cpu, started) = (process_time(), Instant::now());
                let all = stream::iter((0..*requests).map(part))
                    .map(|(path, range)| async move { self.get(&path, range).await });
                let all = all.buffer_unordered(*lanes as usize);
                let bytes =
                    all.try_fold(Bytes::ZERO, |sum, got| async move { Ok(sum + got) }).await?;
                let time = started.elapsed();
                let (requests, lanes) = (Requests(*requests), *lanes);
                Ok(received(
                    cpu,
                    requests,
                    bytes,
                    (MeasuredOperation::Gets { requests, lanes, bytes }, time),
                ))
            }
            Trial::Select(statement) => self.statement(statement, 1).await,
            Trial::Selects { lanes, statement } => self.statement(statement, *lanes).await,
            Trial::Parse { name, bytes, values, sql } => {
                let mut objects = self.data.objects().chain([&self.data.answer]);
                let Some(object) = objects.find(|it| it.name == *name) else { return Ok(REFUSED) };
                let (format, bytes, values) = (object.format, *bytes, *values);
                let asked = MeasuredOperation::Parse { format, bytes, values };
                Ok(timed(asked, self.on_each_core(sql).await?))
            }
            Trial::Decode(statement) => self.decode(statement).await,
            Trial::Aggregate { sql, here } => {
                let here = here.times(self.rows.as_f64());
                Ok(timed(MeasuredOperation::Aggregate { here }, self.on_each_core(sql).await?))
            }
            Trial::Small { objects, sql } => {
                self.set_scan("get").await?;
                let started = Instant::now();
                Box::pin(Box::pin(self.engine.plan(sql)).await?.collect()).await?;
                Ok(timed(MeasuredOperation::Small { objects: *objects }, started.elapsed()))
            }
            Trial::Query { scan, sql } => self.query(scan, sql).await,
        }
    }

    /// Reads bytes of an object and drops each piece when it arrives: queries keep none either, and allocating room
    /// for all of them would cost more time than a fast link.
    async fn get(&self, path: &Path, range: Range<u64>) -> Result<Bytes> {
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let got = self.store.get_opts(path, options).await.map_err(store_error)?;
        let pieces = got.into_stream().map_err(store_error);
        let bytes =
            pieces.try_fold(0, |sum, piece| async move { Ok(sum + piece.len() as u64) }).await?;
        Ok(Bytes(bytes))
    }

    /// Returns the time of a query in memory that runs on all cores at once.
    async fn on_each_core(&self, sql: &str) -> Result<Duration> {
        let mut frames = Vec::new();
        for _ in 0..cores().get() {
            frames.push(Box::pin(self.memory.sql(sql)).await?);
        }
        let started = Instant::now();
        let answers = frames.into_iter().map(|it| SpawnedTask::spawn(it.collect()));
        for answer in futures::future::join_all(answers.map(SpawnedTask::join)).await {
            answer.map_err(|stopped| Failure::new(stopped.to_string()))??;
        }
        Ok(started.elapsed())
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}{name}", self.prefix))
    }

    /// Runs a statement `lanes` times at once.
    async fn statement(&self, statement: &Statement, lanes: u32) -> Result<Outcome> {
        let Some(object) = self.data.object(&statement.name) else { return Ok(REFUSED) };
        let format = object.format;
        let stored = object.size();
        // Concurrent statements read different objects, like those of a query.
        let key = |object: &Object| format!("{}{}", self.prefix, object.name);
        let is_part = |object: &Object| self.data.parts.iter().any(|it| it.name == object.name);
        let keys: Vec<_> = match lanes {
            2.. if is_part(object) => self.data.parts.iter().map(key).collect(),
            _ => vec![key(object)],
        };
        let request = self.request(format, statement);
        let profile = self.engine.endpoint().profile();
        if statement.extras.groups && !profile.syntax.group_by
            || statement.arrow.is_some() && !profile.relies_on.contains(&Extension::Arrow)
        {
            return Ok(REFUSED);
        }
        let metrics = Arc::<SelectMetrics>::default();
        let client = &self.engine.endpoint().client;
        let started = Instant::now();
        let keys = keys.iter().cycle().take(lanes as usize);
        let answers = keys.map(|key| client.send(&self.bucket, key, &request, &metrics));
        let answered = futures::future::try_join_all(answers).await;
        let time = started.elapsed();
        let counters = &self.engine.endpoint().counters;
        counters.select(&metrics.counts());
        if let Err(error) = answered {
            return match NoAnswer::try_from(error).map_err(Error::from)? {
                NoAnswer::Refused { code, every_statement, .. } => {
                    tracing::debug!(code, statement.sql, "not measured");
                    Ok(Outcome::Refused { every_statement })
                }
                NoAnswer::Failed { code, message } => {
                    tracing::debug!(code, message, statement.sql, "failed");
                    Ok(Outcome::Failed)
                }
            };
        }
        let scanned = metrics.counts().bytes_scanned.known();
        let bytes = scanned.map_or(stored, |bytes| Bytes(bytes / u64::from(lanes)));
        let returned = metrics.counts().bytes_returned.known().unwrap_or_default();
        let returned = Bytes(returned / u64::from(lanes));
        let each = ScanWork { bytes, returned, ..statement.scanned };
        counters.store_time(self.engine.endpoint().hardware.store_time(&each) * lanes);
        let asked = match lanes {
            1 => MeasuredOperation::Select(each),
            lanes => MeasuredOperation::Selects { lanes, each },
        };
        Ok(timed(asked, time))
    }

    /// Returns the time of decoding the answer to a statement in Arrow on each core at once.
    async fn decode(&self, statement: &Statement) -> Result<Outcome> {
        let (Some(object), Some(output)) = (self.data.object(&statement.name), &statement.arrow)
        else {
            return Ok(REFUSED);
        };
        let metrics = Arc::<SelectMetrics>::default();
        let endpoint = self.engine.endpoint();
        if !endpoint.profile().relies_on.contains(&Extension::Arrow) {
            return Ok(REFUSED);
        }
        let (key, request) =
            (format!("{}{}", self.prefix, object.name), self.request(object.format, statement));
        let answer = endpoint.client.send(&self.bucket, &key, &request, &metrics).await;
        endpoint.counters.select(&metrics.counts());
        let Ok(answer) = answer else { return Ok(Outcome::Failed) };
        let payload = bytes::Bytes::from(answer.records);
        let schema = answered_schema(output);
        let started = Instant::now();
        let decoded = (0..cores().get()).map(|_| {
            let (output, schema, payload) = (output.clone(), Arc::clone(&schema), payload.clone());
            let all = move || {
                (0..DECODED).try_for_each(|_| {
                    decoded_rows(&output, Arc::clone(&schema), payload.clone()).map(|_| ())
                })
            };
            SpawnedTask::spawn_blocking(all)
        });
        for done in futures::future::join_all(decoded.map(SpawnedTask::join)).await {
            done.map_err(|stopped| Failure::new(stopped.to_string()))??;
        }
        let time = started.elapsed();
        let times = f64::from(DECODED);
        let asked = MeasuredOperation::Decode {
            is_compressed: output.compression.is_some(),
            bytes: Bytes(payload.len() as u64) * times,
            values: statement.scanned.answered * times,
        };
        Ok(timed(asked, time))
    }

    /// Builds the request that a scan would send.
    fn request(&self, format: Format, statement: &Statement) -> SelectRequest {
        let profile = self.engine.endpoint().profile();
        let (format, output) = match format {
            Format::Csv => (
                InputFormat::Csv(CsvInput {
                    comments: None,
                    allow_quoted_record_delimiter: profile.quoted_record_delimiters,
                    strict_lines: profile.relies_on.contains(&Extension::StrictLines),
                    strict_fields: None,
                    ..CsvInput::default()
                }),
                OutputSerialization::Csv(CsvOutput::default()),
            ),
            Format::Json => {
                let json = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
                (InputFormat::Json(JsonType::Lines), json)
            }
            Format::Parquet => {
                (InputFormat::Parquet, OutputSerialization::Csv(CsvOutput::default()))
            }
        };
        let output = statement.arrow.clone().map_or(output, OutputSerialization::Arrow);
        SelectRequest {
            expression: statement.sql.clone(),
            input: InputSerialization { format, compression: Compression::None },
            output,
            scan_range: None,
            progress: false,
            extras: statement.extras,
        }
    }

    /// Runs a query and returns its time with the counted requests and bytes, from which the model predicts it.
    async fn query(&self, scan: &str, sql: &str) -> Result<Outcome> {
        self.set_scan(scan).await?;
        let started = Instant::now();
        let query = Box::pin(self.engine.plan(sql)).await?;
        Box::pin(query.collect()).await?;
        let time = started.elapsed();
        let counted = query.counted();
        if (scan == "select") != (counted.select > 0) || counted.fallbacks > 0 {
            return Ok(REFUSED);
        }
        let part = &self.data.parts[0];
        let rows_of = |bytes: u64| part.rows.as_f64() / part.size().as_f64() * bytes as f64;
        let (rows, columns) = (counted.returned_bytes as f64 / ANSWERED_ROW, ANSWERED.len() as f64);
        let phase = Phase {
            gets: Requests(counted.get),
            got: Bytes(counted.got_bytes),
            selects: Requests(counted.select),
            selects_at_once: Some(Requests(counted.select)),
            scanned: Bytes(counted.scanned_bytes),
            scanned_rows: Rows::from_f64(rows_of(counted.scanned_bytes)),
            terms: match sql.contains("WHERE") {
                true => Terms { long_casts: 1.0, ..1.into() },
                false => Terms::NONE,
            },
            answered: answered(rows, columns),
            returned: Bytes(counted.returned_bytes),
            values: (rows_of(counted.got_bytes) + rows) * columns,
            ..Phase::default()
        };
        Ok(timed(MeasuredOperation::Query(Box::new(phase)), time))
    }

    /// Sets how queries read tables. Aggregates are computed locally, so that the store returns rows.
    async fn set_scan(&self, scan: &str) -> Result<()> {
        for set in [format!("SET sluice.scan = '{scan}'"), "SET sluice.aggregate = 'here'".into()] {
            Box::pin(self.engine.collect(&set)).await?;
        }
        Ok(())
    }
}

fn timed(asked: MeasuredOperation, time: Duration) -> Outcome {
    Outcome::Timed(vec![(asked, time)])
}

/// Returns the time of GETs, and the CPU time that this process used since `before`, if the system reports it.
fn received(
    before: Option<Duration>,
    requests: Requests,
    bytes: Bytes,
    by_the_clock: (MeasuredOperation, Duration),
) -> Outcome {
    let used = before.and_then(|before| process_time()?.checked_sub(before));
    let receive = used.map(|used| (MeasuredOperation::Receive { requests, bytes }, used));
    Outcome::Timed([Some(by_the_clock), receive].into_iter().flatten().collect())
}

/// Returns the columns of an answer in Arrow as a scan declares them.
fn answered_schema(output: &ArrowOutput) -> SchemaRef {
    let field = |(at, of): (usize, &ArrowType)| {
        let data_type = match of {
            ArrowType::Float64 => DataType::Float64,
            ArrowType::Date32 => DataType::Date32,
            ArrowType::Dictionary => DataType::Utf8View,
            _ => DataType::Int64,
        };
        Field::new(format!("c{at}"), data_type, true)
    };
    Arc::new(Schema::new(output.columns.iter().enumerate().map(field).collect::<Vec<_>>()))
}

/// Loads the samples of every format into memory, each as a table of its name.
async fn in_memory(data: &Data) -> Result<SessionContext> {
    let config = SessionConfig::new().with_target_partitions(1).with_collect_statistics(false);
    let context = SessionContext::new_with_config(config);
    let store = Arc::new(InMemory::new());
    let url = ObjectStoreUrl::parse(MEMORY)?;
    context.register_object_store(url.as_ref(), Arc::clone(&store) as _);
    let field = |(name, of)| {
        let of = match of {
            "BIGINT" => DataType::Int64,
            "DECIMAL(15, 2)" => DataType::Decimal128(15, 2),
            "DATE" => DataType::Date32,
            _ => DataType::Utf8View,
        };
        Field::new(name, of, true)
    };
    let all = Schema::new(COLUMNS.map(field).to_vec());
    let answered = COLUMNS.into_iter().filter(|(name, _)| ANSWERED.contains(name));
    let answered = Schema::new(answered.map(field).collect::<Vec<_>>());
    let objects = data.parts.iter().take(1).chain(&data.scanned).map(|it| (it, &all));
    for (object, schema) in objects.chain([(&data.answer, &answered)]) {
        let path = Path::from(object.name.as_str());
        store.put(&path, object.contents.clone().into()).await.map_err(store_error)?;
        let (table, url) =
            (TableReference::bare(object.name.as_str()), format!("{MEMORY}/{}", object.name));
        match object.format {
            Format::Csv => {
                let options = CsvReadOptions::new().has_header(false).schema(schema);
                context.register_csv(table, &url, options).await?;
            }
            Format::Json => {
                let options = JsonReadOptions::default().schema(schema);
                context.register_json(table, &url, options).await?;
            }
            Format::Parquet => {
                context.register_parquet(table, &url, ParquetReadOptions::default()).await?;
            }
        }
    }
    Ok(context)
}

/// Creates the table of an object's parsed rows, repeated so that a query over them takes long enough to measure.
/// Returns the number of rows.
async fn parsed(memory: &SessionContext, object: &Object) -> Result<Rows> {
    const TIMES: usize = 8;
    let frame = memory
        .sql(&format!("SELECT k, x, g, substr(t7, 1, 1) AS h FROM \"{}\"", object.name))
        .await?;
    let schema = Arc::clone(frame.schema().inner());
    let batches = frame.collect().await?;
    let batches = vec![batches; TIMES].concat();
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    memory.register_table(ROWS, Arc::new(MemTable::try_new(schema, vec![batches])?))?;
    Ok(Rows(rows))
}

fn store_error(error: object_store::Error) -> datafusion::common::DataFusionError {
    datafusion::common::DataFusionError::ObjectStore(Box::new(error))
}
