//! Runs a statement over one object.
//!
//! [`Evaluation::prepare`] does everything that can fail before the first byte of an answer:
//! it parses and checks the statement, resolves its columns against the object and reads the
//! first block. [`Evaluation::run`] then streams the answer into a [`Sink`], in bounded memory.
//!
//! A format is a `batch::Schema`, which says what the statement's names mean, and a
//! `batch::BatchReader`, which yields batches of rows and reads the columns that are asked for. The
//! `statement` is compiled once into a `program` over such batches, which `execute` drives.

mod aggregate;
mod ahead;
mod answers;
mod batch;
mod block;
mod cancellation;
mod csv;
mod execute;
mod group_by;
mod grouping;
mod held;
mod input;
mod json;
mod members;
mod output;
mod parallel;
mod parquet;
mod program;
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

/// A statement that was found to be answerable.
pub struct Evaluation {
    execution: Execution,
    /// How to evaluate it in parts, if that is possible.
    divisible: Option<Divisible>,
    /// Whether a thread for decompressing pays.
    is_compressed: bool,
}

impl std::fmt::Debug for Evaluation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluation").finish_non_exhaustive()
    }
}

impl Evaluation {
    /// Parses and checks the request and reads as much of the object as that takes. `UTCNOW()` is
    /// the time of this call.
    ///
    /// # Errors
    /// Everything that a server can answer with an HTTP status: syntax, unknown columns, bad
    /// options, an object that is not what the request says.
    pub fn prepare(
        request: &SelectRequest,
        source: Arc<dyn ObjectSource>,
    ) -> Result<Self, SelectError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp::from_nanos(now.as_nanos() as i128, 9).unwrap_or(Timestamp::EPOCH);
        Self::prepare_at(request, source, now)
    }

    /// [`Evaluation::prepare`] with a given `UTCNOW()`.
    ///
    /// # Errors
    /// The same.
    pub fn prepare_at(
        request: &SelectRequest,
        source: Arc<dyn ObjectSource>,
        now: Timestamp,
    ) -> Result<Self, SelectError> {
        let max_rows = max_batch_rows(&request.expression);
        Self::prepare_batches(request, source, now, max_rows)
    }

    /// The same with batches of so many rows at most.
    fn prepare_batches(
        request: &SelectRequest,
        source: Arc<dyn ObjectSource>,
        now: Timestamp,
        max_rows: usize,
    ) -> Result<Self, SelectError> {
        let query = dialect::parse_with(&request.expression, request.extras)?;
        dialect::check(&query, &request.input)?;
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
                let memory = held::Reader::new();
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
        let is_compressed = compression != Compression::None && object_bytes >= MIN_AHEAD_BYTES;
        Ok(Self { execution, divisible, is_compressed })
    }

    /// Runs the statement on this thread; blocking. Ends early, with success, when the sink says
    /// so.
    ///
    /// # Errors
    /// What the object's rows bring up, and what reading the object fails with.
    pub fn run(self, sink: &mut dyn Sink) -> Result<Stats, SelectError> {
        self.execution.run(sink)
    }

    /// Keeps at most so many groups of GROUP BY, at least 1. When there are more, the groups so far
    /// are answered and forgotten, so that a group may come in several rows. Unless told it is
    /// 65 536, or fewer if there are many aggregates.
    #[must_use]
    pub fn with_max_groups(mut self, groups: usize) -> Self {
        self.execution.limit_groups(groups);
        if let Some(divisible) = &mut self.divisible {
            divisible.max_groups = Some(groups);
        }
        self
    }

    /// Stops with an error as soon as the cancellation says so: at its deadline with
    /// `MaxOperatorsExceeded`, and with `InternalError` if it was cancelled. Rows that were sent
    /// before are part of the right answer.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: &Cancellation) -> Self {
        self.execution.stop_with(cancellation.clone());
        if let Some(divisible) = &mut self.divisible {
            divisible.cancellation = cancellation.clone();
        }
        self
    }

    /// Whether [`Evaluation::run_on`] can use several threads: the object is large, uncompressed,
    /// and CSV without quoted record delimiters or JSON lines, or is Parquet of several row groups;
    /// and the statement has no LIMIT and no aggregate that depends on the order of rows.
    #[must_use]
    pub fn is_divisible(&self) -> bool {
        self.divisible.as_ref().is_some_and(Divisible::is_divided)
    }

    /// How many threads [`Evaluation::run_on`] can use: as many as there are if it
    /// [is divisible](Evaluation::is_divisible), two if the object is compressed and has 1 MiB at
    /// least, which one of them decompresses, else one.
    #[must_use]
    pub fn max_threads(&self) -> usize {
        match self.is_divisible() {
            true => usize::MAX,
            false => 1 + usize::from(self.is_compressed),
        }
    }

    /// With parts of so many bytes for [`Evaluation::run_on`], at least 1; unless told 2 MiB
    /// if the statement answers rows, else 8 MiB.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: u64) -> Self {
        if let Some(divisible) = &mut self.divisible {
            divisible.part_bytes = bytes.max(1);
        }
        self
    }

    /// With another budget than that of the process for rows that wait for their turn.
    #[cfg(test)]
    fn with_budget(mut self, budget: &Arc<parallel::Budget>) -> Self {
        if let Some(divisible) = &mut self.divisible {
            divisible.budget = Arc::clone(budget);
        }
        self
    }

    /// [`Evaluation::run`] on so many threads. Where it is divisible they are besides this one,
    /// which hands the answer on. The answer, and an error, are the same; where a compressed
    /// stream is damaged, some of the last rows before that may be missing from either. Of Parquet,
    /// the bytes that are read may differ.
    ///
    /// Rows that a thread has ready before those of the others were handed on take memory: up to 8 MiB
    /// for a thread, and 256 MiB for all evaluations of the process, beside a message for each
    /// thread. Where they are used up, threads wait for their turn.
    ///
    /// # Errors
    /// The same.
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

/// Shorter compressed objects are not worth a thread of their own.
const MIN_AHEAD_BYTES: u64 = 1 << 20;

/// The most rows of a batch. Every operator of a statement keeps its values for a batch, so the
/// longer the statement, the fewer rows: together they stay within some 100 MB.
fn max_batch_rows(expression: &str) -> usize {
    const MAX_ROWS: usize = 8192;
    const ROWS_BY_BYTES: usize = 64 << 20;
    (ROWS_BY_BYTES / expression.len().max(1)).clamp(64, MAX_ROWS)
}

/// Refuses a range of an object whose records cannot be told apart from the middle.
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
