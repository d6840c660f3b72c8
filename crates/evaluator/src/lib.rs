//! Evaluates an S3 Select statement over one object.
//!
//! [`Evaluation::prepare`] does everything that can fail before the first byte of an answer: it parses and checks the
//! statement, resolves its columns against the object and reads the first block. [`Evaluation::run`] then streams the
//! answer into a [`Sink`], in bounded memory.
//!
//! A format implements `batch::Schema`, which resolves the names in a statement, and `batch::BatchReader`, which
//! yields batches of rows and reads the requested columns. `statement` holds the statement compiled into a `program`;
//! `execute` runs that program over the batches.

mod aggregate;
mod batch;
mod block;
mod cancellation;
mod csv;
mod execute;
mod group_by;
mod grouping;
mod input;
mod json;
mod members;
mod memory_budget;
mod output;
mod parallel;
mod parquet;
mod program;
mod readahead;
mod result_rows;
mod scan_range;
mod selection;
mod sink;
mod source;
mod statement;
mod states;
#[cfg(test)]
mod tests;
mod vector;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub use cancellation::Cancellation;
pub use csv::CsvColumns;
pub use memory_budget::set_give_back;
pub use sink::{MAX_RECORDS_BYTES, Sink, Stats};
pub use source::ObjectSource;

use self::batch::BatchReader;
use self::csv::CsvReader;
use self::execute::Execution;
use self::json::JsonReader;
use self::output::RowWriter;
use self::parallel::{Divisible, OpenPart};
use self::parquet::{ParquetFile, ParquetReader};
use self::scan_range::ByteRange;
use self::statement::{Answer, Statement};
use sluicegate_s3select::dialect;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{Compression, InputFormat, JsonType, SelectRequest};
use sluicegate_s3select::value::Timestamp;

/// A checked statement over an open object, ready to run.
pub struct Evaluation {
    execution: Execution,
    /// Evaluates the object in parts; `None` if that is impossible.
    divisible: Option<Divisible>,
    /// True if the object is compressed and large enough for a separate decompression thread.
    is_compressed: bool,
}

impl std::fmt::Debug for Evaluation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluation").finish_non_exhaustive()
    }
}

impl Evaluation {
    /// Parses and checks the request and reads the first block of the object. `UTCNOW()` is the time of this call.
    ///
    /// # Errors
    /// Everything that a server can answer with an HTTP status: bad syntax, unknown columns, invalid options, or an
    /// object that does not match the request.
    pub fn prepare(
        request: &SelectRequest,
        source: Arc<dyn ObjectSource>,
    ) -> Result<Self, SelectError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp::from_nanos(now.as_nanos() as i128, 9).unwrap_or(Timestamp::EPOCH);
        Self::prepare_at(request, source, now)
    }

    /// Like [`Evaluation::prepare`], but with a given `UTCNOW()`.
    ///
    /// # Errors
    /// Those of [`Evaluation::prepare`].
    pub fn prepare_at(
        request: &SelectRequest,
        source: Arc<dyn ObjectSource>,
        now: Timestamp,
    ) -> Result<Self, SelectError> {
        let max_rows = max_batch_rows(&request.expression);
        Self::prepare_batches(request, source, now, max_rows)
    }

    /// Prepares the statement with batches of at most `max_rows` rows.
    fn prepare_batches(
        request: &SelectRequest,
        source: Arc<dyn ObjectSource>,
        now: Timestamp,
        max_rows: usize,
    ) -> Result<Self, SelectError> {
        let query = dialect::parse_with(&request.expression, request.extras)?;
        dialect::check(&query, &request.input)?;
        output::check_columns(&query, &request.output)?;
        let writer = RowWriter::new(&request.output)?;
        check_scan_range(request)?;
        let range = ByteRange::resolve(request.scan_range, source.len())?;
        let compression = request.input.compression;
        let object_bytes = source.len();
        let divide = |statement: &Statement, open: OpenPart| {
            let output = request.output.clone();
            let divisible = Divisible::new(range, object_bytes, output, statement, open);
            let whole = compression == Compression::None && statement.is_divisible();
            Some(divisible).filter(|_| whole)
        };
        let mut divisible = None;
        let execution = match &request.input.format {
            InputFormat::Csv(options) => {
                let (reader, mut schema) = CsvReader::open(&source, options, compression, range)?;
                let statement = Arc::new(Statement::compile(&query, &mut schema, now)?);
                if !options.allow_quoted_record_delimiter {
                    let (options, numbered) = (options.clone(), reader.is_numbered());
                    let open = move |part, before| {
                        let (reader, _) = CsvReader::open(&source, &options, compression, part)?;
                        let reader = reader.with_max_rows(max_rows);
                        Ok(Box::new(reader.counting_from(before, numbered)) as Box<dyn BatchReader>)
                    };
                    divisible = divide(&statement, Box::new(open));
                }
                let reader = Box::new(reader.with_max_rows(max_rows));
                Execution::new(statement, reader, writer)?
            }
            InputFormat::Parquet => {
                let mut file = ParquetFile::open(&source)?;
                let statement = Arc::new(Statement::compile(&query, &mut file, now)?);
                let starts: Vec<_> =
                    file.groups_in(range).iter().map(|(_, start)| *start).collect();
                if starts.is_sorted_by(|a, b| a < b) {
                    let (file, reads) = (file.clone(), Arc::clone(&statement));
                    let open = move |part, _| {
                        let reader = ParquetReader::new(file.clone(), part, &reads, max_rows)?;
                        Ok(Box::new(reader) as Box<dyn BatchReader>)
                    };
                    divisible = divide(&statement, Box::new(open)).map(|it| it.cut_at(starts));
                }
                let reader = ParquetReader::new(file, range, &statement, max_rows)?;
                Execution::new(statement, Box::new(reader), writer)?
            }
            InputFormat::Json(layout) => {
                let (reader, mut schema) =
                    JsonReader::open(&source, *layout, compression, range, &query.from);
                let statement = Arc::new(Statement::compile(&query, &mut schema, now)?);
                let whole_rows = matches!(statement.answer, Answer::Star);
                let memory = memory_budget::MemoryConsumer::new();
                let tell = move |reader: JsonReader, schema| {
                    let reader = reader.with_max_rows(max_rows).sharing(memory.clone());
                    reader.read_only(schema, whole_rows)
                };
                if *layout == JsonType::Lines {
                    let (schema, from, layout) = (schema.clone(), query.from.clone(), *layout);
                    let numbered = range.start == 0;
                    let tell = tell.clone();
                    let open = move |part, before| {
                        let (reader, _) =
                            JsonReader::open(&source, layout, compression, part, &from);
                        let reader = tell(reader, schema.clone()).counting_from(before, numbered);
                        Ok(Box::new(reader) as Box<dyn BatchReader>)
                    };
                    divisible = divide(&statement, Box::new(open));
                }
                Execution::new(statement, Box::new(tell(reader, schema)), writer)?
            }
        };
        let is_compressed = compression != Compression::None && object_bytes >= MIN_READAHEAD_BYTES;
        Ok(Self { execution, divisible, is_compressed })
    }

    /// Runs the statement on this thread and blocks until it ends. Returns early, with success, when the sink breaks.
    ///
    /// # Errors
    /// Errors in the object's rows, and failures to read the object.
    pub fn run(self, sink: &mut dyn Sink) -> Result<Stats, SelectError> {
        self.execution.run(sink)
    }

    /// Keeps at most `groups` groups of GROUP BY, and at least 1.
    ///
    /// When there are more, the groups so far are sent and dropped, so a group may appear in several rows of the
    /// answer. The default is 65,536, or fewer if there are many aggregates.
    #[must_use]
    pub fn with_max_groups(mut self, groups: usize) -> Self {
        self.execution.limit_groups(groups);
        if let Some(divisible) = &mut self.divisible {
            divisible.max_groups = Some(groups);
        }
        self
    }

    /// Stops with an error when the cancellation takes effect: with `MaxOperatorsExceeded` at its deadline, and with
    /// `InternalError` if it was cancelled. Rows that were already sent are part of the correct answer.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: &Cancellation) -> Self {
        self.execution.stop_with(cancellation.clone());
        if let Some(divisible) = &mut self.divisible {
            divisible.cancellation = cancellation.clone();
        }
        self
    }

    /// Returns whether [`Evaluation::run_on`] can use several threads.
    ///
    /// The object must be large and uncompressed: CSV without quoted record delimiters, JSON lines, or Parquet with
    /// several row groups. The statement must have no LIMIT and no aggregate that depends on the order of rows.
    #[must_use]
    pub fn is_divisible(&self) -> bool {
        self.divisible.as_ref().is_some_and(Divisible::is_divided)
    }

    /// Returns the most threads that [`Evaluation::run_on`] can use.
    ///
    /// There is no bound if the evaluation [is divisible](Evaluation::is_divisible). It is two if the object is
    /// compressed and at least 1 MiB, with one thread decompressing, and one otherwise.
    #[must_use]
    pub fn max_threads(&self) -> usize {
        match self.is_divisible() {
            true => usize::MAX,
            false => 1 + usize::from(self.is_compressed),
        }
    }

    /// Sets the size of the parts for [`Evaluation::run_on`] in bytes, at least 1. The default is 2 MiB if the
    /// statement returns rows, and 8 MiB otherwise.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: u64) -> Self {
        if let Some(divisible) = &mut self.divisible {
            divisible.part_bytes = bytes.max(1);
        }
        self
    }

    /// Replaces the process-wide budget for rows that wait for their turn.
    #[cfg(test)]
    fn with_budget(mut self, budget: &Arc<parallel::Budget>) -> Self {
        if let Some(divisible) = &mut self.divisible {
            divisible.budget = Arc::clone(budget);
        }
        self
    }

    /// Runs the statement like [`Evaluation::run`], but on several threads.
    ///
    /// A divisible evaluation uses them in addition to the calling thread, which passes the answer on. Answer and
    /// errors are the same as with one thread, with two exceptions. If a compressed stream is damaged, either way may
    /// miss some of the last rows before the damage. For Parquet, the number of bytes read may differ.
    ///
    /// Finished rows wait in memory until those of earlier parts are sent. They take up to 8 MiB for each thread and
    /// 256 MiB for all evaluations of the process, beside one message for each thread. A thread that exceeds this
    /// waits for its turn.
    ///
    /// # Errors
    /// Those of [`Evaluation::run`].
    pub fn run_on(mut self, threads: usize, sink: &mut dyn Sink) -> Result<Stats, SelectError> {
        match self.divisible {
            Some(divisible) if threads > 1 && divisible.is_divided() => {
                divisible.run(self.execution, threads, sink)
            }
            _ => {
                if threads > 1 && self.is_compressed {
                    self.execution.read_ahead();
                }
                self.execution.run(sink)
            }
        }
    }
}

/// The least size in bytes at which a compressed object gets its own decompression thread.
const MIN_READAHEAD_BYTES: u64 = 1 << 20;

/// Returns the most rows of a batch. Every operator keeps its values for a whole batch, so longer statements get
/// fewer rows. All values together stay within some 100 MB.
fn max_batch_rows(expression: &str) -> usize {
    const MAX_ROWS: usize = 8192;
    const ROWS_BY_BYTES: usize = 64 << 20;
    (ROWS_BY_BYTES / expression.len().max(1)).clamp(64, MAX_ROWS)
}

/// Rejects a scan range of an object whose record boundaries cannot be found from the middle.
fn check_scan_range(request: &SelectRequest) -> Result<(), SelectError> {
    let input = &request.input;
    let is_parquet = input.format == InputFormat::Parquet;
    if is_parquet && input.compression != Compression::None {
        return Err(SelectError::new(
            SelectErrorCode::InvalidRequestParameter,
            "CompressionType must be NONE for Parquet, which compresses its columns.",
        ));
    }
    if request.scan_range.is_none() {
        return Ok(());
    }
    let why = match &input.format {
        _ if input.compression != Compression::None => "of a compressed object",
        InputFormat::Csv(options) if options.allow_quoted_record_delimiter => {
            "with AllowQuotedRecordDelimiter"
        }
        InputFormat::Json(JsonType::Document) => "of a JSON document",
        _ => return Ok(()),
    };
    Err(SelectError::new(
        SelectErrorCode::UnsupportedScanRangeInput,
        format!("A scan range {why} cannot be read."),
    ))
}
