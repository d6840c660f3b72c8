//! Writes answers as tables, CSV, JSON or Parquet.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::csv;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::json;
use clap::ValueEnum;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::TryStreamExt;
use parquet::arrow::ArrowWriter;

use crate::failure::{Failure, Result};
use crate::output::expanded::expanded;
use crate::output::file::PartialFile;
use crate::output::fit::{framed, with_short_titles};
use crate::output::nested::as_json;
use crate::output::tree::{is_plan, trees};
use crate::output::unprintable;
use crate::runtime::terminal;

/// The formats of answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns in a frame, for reading
    #[default]
    Table,
    /// Comma-separated with a header line; streams
    Csv,
    /// CSV with tabs between the fields; streams
    Tsv,
    /// One array of objects; streams
    Json,
    /// One object per line; streams
    #[value(alias = "jsonl")]
    Ndjson,
    /// A Parquet file; needs --output
    Parquet,
}

impl Format {
    /// Returns the format that a file's extension stands for.
    fn from_extension(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "txt" => Some(Self::Table),
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// The destination and the format of answers.
#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
    /// The maximum number of rows that a table shows.
    max_rows: usize,
    file: Option<PathBuf>,
    /// True if the file holds an answer already.
    written: bool,
    /// True if a table has a line for each column of a row.
    pub(crate) expanded: bool,
    /// True if the answer was limited to [`Output::looks_at`] rows, so that there may be more.
    limited: bool,
    /// True at the prompt, where hints name commands instead of options.
    pub(crate) at_prompt: bool,
}

impl Output {
    /// Creates an output. Without a format, the file's extension selects it.
    pub(crate) fn new(
        format: Option<Format>,
        file: Option<PathBuf>,
        max_rows: usize,
    ) -> Result<Self> {
        // By convention, `-` is stdout.
        let file = file.filter(|file| file != Path::new("-"));
        if let Some(url) = file.as_deref().and_then(Path::to_str)
            && url.starts_with("s3://")
        {
            return Err(Failure::Usage(format!(
                "--output writes a file of this machine; COPY writes an object: sluice sql \"COPY (SELECT …) TO '{url}'\""
            )));
        }
        let format = match (format, &file) {
            (Some(Format::Parquet), None) => {
                return Err(Failure::Usage("--format parquet needs --output FILE".to_owned()));
            }
            (_, Some(file)) if file.is_dir() => {
                let file = file.display();
                return Err(Failure::Usage(format!("`{file}` is a folder; name a file in it")));
            }
            (Some(format), _) => format,
            (None, Some(file)) => Format::from_extension(file).ok_or_else(|| {
                let name = file.display();
                let is_compressed = ["gz", "zst", "bz2", "xz"]
                    .iter()
                    .any(|end| file.extension().is_some_and(|it| it.eq_ignore_ascii_case(end)));
                Failure::Usage(match is_compressed {
                    true => format!(
                        "--output does not compress; COPY does: sluice sql \"COPY (SELECT …) TO '{name}'\""
                    ),
                    false => format!("the format of `{name}` is not known; name it with --format"),
                })
            })?,
            (None, None) => Format::default(),
        };
        let mut output = Self {
            format,
            max_rows: 0,
            file,
            written: false,
            expanded: false,
            limited: false,
            at_prompt: false,
        };
        output.set_max_rows(max_rows);
        Ok(output)
    }

    /// Sets the maximum number of rows that tables show; 0 shows all.
    pub(crate) fn set_max_rows(&mut self, max_rows: usize) {
        self.max_rows = if max_rows == 0 { usize::MAX } else { max_rows };
    }

    /// Returns the maximum number of rows that tables show; `None` if they show all.
    pub(crate) fn max_rows(&self) -> Option<usize> {
        Some(self.max_rows).filter(|most| *most < usize::MAX)
    }

    /// Returns the format of answers.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Sets the format of answers.
    pub(crate) fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// Returns true if rows are written to the terminal as they arrive.
    pub(crate) fn streams_to_terminal(&self) -> bool {
        self.file.is_none() && self.format != Format::Table && io::stdout().is_terminal()
    }

    /// Returns true if answers are for readers, not for programs.
    pub(crate) fn is_for_reading(&self) -> bool {
        self.file.is_none() && self.format == Format::Table
    }

    /// Returns the number of rows that suffices for a table: one more than it shows, to detect that there are more.
    /// `None` if all rows are needed.
    pub(crate) fn looks_at(&self) -> Option<usize> {
        let most = self.max_rows.checked_add(1);
        most.filter(|_| self.is_for_reading())
    }

    /// Sets whether the next answers were limited to [`Output::looks_at`] rows.
    pub(crate) fn limit(&mut self, limited: bool) {
        self.limited = limited;
    }

    /// Writes a table of the program itself to stdout.
    pub(crate) fn show(&self, batches: &[RecordBatch]) -> Result<()> {
        let Some(first) = batches.first() else { return Ok(()) };
        let mut encoder = self.encoder(first.schema());
        let mut bytes = Vec::new();
        for batch in batches {
            encoder.batch(batch, &mut bytes)?;
        }
        encoder.finish(&mut bytes)?;
        Ok(io::stdout().write_all(&bytes)?)
    }

    /// Writes the answer of a query and returns the number of its rows. A statement without an answer, such as
    /// CREATE, runs and writes nothing. `begins` is called before anything is written to the terminal.
    pub(crate) async fn answer(
        &mut self,
        stream: SendableRecordBatchStream,
        begins: impl Fn(),
    ) -> Result<u64> {
        let schema = stream.schema();
        check_names(&schema, self.format)?;
        let stream = if schema.fields().is_empty() {
            let batches: Vec<_> = stream.try_collect().await?;
            let rows = count(&batches);
            // Statements without an answer have no rows, either. Queries without columns can have rows.
            if rows == 0 || !matches!(self.format, Format::Json | Format::Ndjson) {
                return Ok(rows);
            }
            let batches = futures::stream::iter(batches.into_iter().map(Ok));
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), batches)) as _
        } else {
            stream
        };
        let Some(path) = self.file.clone() else {
            return write_text(stream, self.encoder(schema), &mut io::stdout(), begins).await;
        };
        if self.written {
            return Err(Failure::new(format!("`{}` holds an answer already", path.display()))
                .with_hint("With --output, let one statement have an answer."));
        }
        let mut file = PartialFile::begin(&path)?;
        let rows = self.write(stream, schema, file.file()).await?;
        file.finish()?;
        self.written = true;
        Ok(rows)
    }

    async fn write(
        &self,
        stream: SendableRecordBatchStream,
        schema: SchemaRef,
        file: &mut File,
    ) -> Result<u64> {
        match self.format {
            Format::Parquet => write_parquet(stream, schema, file).await,
            _ => write_text(stream, self.encoder(schema), file, || ()).await,
        }
    }

    fn encoder(&self, schema: SchemaRef) -> Encoder {
        let fits = self.file.is_none() && !self.expanded;
        Encoder {
            format: self.format,
            max_rows: self.max_rows,
            expanded: self.expanded,
            limited: self.limited,
            all: if self.at_prompt { "\\rows 0" } else { "--max-rows 0" },
            format_all: if self.at_prompt { "\\format csv" } else { "--format csv" },
            width: if fits { terminal::width() } else { None },
            schema,
            rows: 0,
            kept: Vec::new(),
        }
    }
}

/// Checks that column names are unique, because programs would find only one of two columns.
///
/// # Errors
///
/// If two columns have the same name.
fn check_names(schema: &SchemaRef, format: Format) -> Result<()> {
    let lost = match format {
        Format::Json | Format::Ndjson => "an object has one value of a name",
        Format::Parquet => "a Parquet file could not be read back",
        Format::Table | Format::Csv | Format::Tsv => return Ok(()),
    };
    let mut names = HashSet::new();
    let Some(twice) = schema.fields().iter().find(|field| !names.insert(field.name())) else {
        return Ok(());
    };
    let name = twice.name();
    Err(Failure::new(format!("two columns are called `{name}`, and {lost}")).with_hint(format!(
        "Give one of them another name: SELECT a.{name}, b.{name} AS {name}_2 …"
    )))
}

async fn write_text(
    mut stream: SendableRecordBatchStream,
    mut encoder: Encoder,
    out: &mut impl Write,
    begins: impl Fn(),
) -> Result<u64> {
    // Encoded in memory first: Arrow's writers would turn the error of a closed pipe into text.
    let mut bytes = Vec::new();
    while let Some(batch) = stream.try_next().await? {
        encoder.batch(&batch, &mut bytes)?;
        if !bytes.is_empty() {
            begins();
        }
        out.write_all(&bytes)?;
        bytes.clear();
    }
    encoder.finish(&mut bytes)?;
    begins();
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(encoder.answered())
}

async fn write_parquet(
    mut stream: SendableRecordBatchStream,
    schema: SchemaRef,
    file: &mut File,
) -> Result<u64> {
    let mut rows = 0;
    let first = stream.try_next().await?;
    let schema = first.as_ref().map_or(Arc::clone(&schema), |batch| with_types(&schema, batch));
    let mut writer = ArrowWriter::try_new(file, schema, None)?;
    let mut next = first;
    while let Some(batch) = next {
        rows += batch.num_rows() as u64;
        writer.write(&batch)?;
        next = stream.try_next().await?;
    }
    writer.close()?;
    Ok(rows)
}

/// Returns the schema with the types of a batch: DataFusion may compute a decimal with more digits than it declared.
fn with_types(schema: &Schema, batch: &RecordBatch) -> SchemaRef {
    let fields = schema.fields().iter().zip(batch.columns());
    let fields = fields
        .map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

fn count(batches: &[RecordBatch]) -> u64 {
    batches.iter().map(|batch| batch.num_rows() as u64).sum()
}

/// Encodes batches as text, piece by piece.
struct Encoder {
    format: Format,
    max_rows: usize,
    expanded: bool,
    /// True if no more than one row beyond those shown was fetched.
    limited: bool,
    /// The commands that show all rows: in a table, and in another format.
    all: &'static str,
    format_all: &'static str,
    /// Width of the terminal that tables must fit; `None` for no limit.
    width: Option<usize>,
    schema: SchemaRef,
    rows: u64,
    /// The rows of a table, which is written last because its columns are as wide as their widest cells.
    kept: Vec<RecordBatch>,
}

impl Encoder {
    /// Returns the number of the answer's rows. For a limited answer, only the rows shown count.
    fn answered(&self) -> u64 {
        if self.limited { self.rows.min(self.max_rows as u64) } else { self.rows }
    }

    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        unprintable::check(batch)?;
        let first = self.rows == 0;
        match self.format {
            Format::Table | Format::Parquet => {
                let room =
                    u64::try_from(self.max_rows).unwrap_or(u64::MAX).saturating_sub(self.rows);
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                if room > 0 {
                    self.kept.push(batch.slice(0, batch.num_rows().min(room)));
                }
            }
            Format::Csv | Format::Tsv => {
                let mut writer = self.csv().with_header(first).build(out);
                writer.write(&as_json(batch)?).map_err(|error| {
                    Failure::from(error).with_hint("JSON holds any type: --format json or ndjson.")
                })?;
            }
            Format::Ndjson => write_lines(batch, out)?,
            Format::Json => {
                let mut lines = Vec::new();
                write_lines(batch, &mut lines)?;
                // A line break inside a JSON value is written as \n, so each line is an object.
                for (index, line) in lines.split(|byte| *byte == b'\n').enumerate() {
                    if !line.is_empty() {
                        out.extend_from_slice(if first && index == 0 { b"[\n" } else { b",\n" });
                        out.extend_from_slice(line);
                    }
                }
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self.format {
            Format::Table | Format::Parquet => {
                let text = self.table()?;
                out.write_all(text.as_bytes())?;
                let more = self.rows.saturating_sub(count(&self.kept));
                let (all, format) = (self.all, self.format_all);
                if more > 0 && self.limited {
                    let shown = count(&self.kept);
                    writeln!(
                        out,
                        "… the first {shown} rows; no more were fetched ({all} or {format} fetches all)"
                    )?;
                } else if more > 0 {
                    let rows = if more == 1 { "row" } else { "rows" };
                    writeln!(out, "… and {more} more {rows} ({all} or {format} shows all)")?;
                }
            }
            Format::Csv | Format::Tsv if self.rows == 0 => {
                let none = as_json(&RecordBatch::new_empty(Arc::clone(&self.schema)))?;
                self.csv().with_header(true).build(out).write(&none)?;
            }
            Format::Json if self.rows == 0 => out.extend_from_slice(b"[]\n"),
            Format::Json => out.extend_from_slice(b"\n]\n"),
            Format::Csv | Format::Tsv | Format::Ndjson => {}
        }
        Ok(())
    }

    /// Returns a CSV writer with the delimiter of the format.
    fn csv(&self) -> csv::WriterBuilder {
        let delimiter = if self.format == Format::Tsv { b'\t' } else { b',' };
        csv::WriterBuilder::new().with_delimiter(delimiter)
    }

    fn table(&mut self) -> Result<String> {
        let names: Vec<&str> =
            self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        // The table has a header even if there is no batch.
        let header = RecordBatch::new_empty(Arc::new(with_short_titles(&self.schema)));
        if is_plan(&names) {
            return trees(&self.kept, self.width);
        }
        self.kept.insert(0, header);
        if self.expanded { expanded(&self.kept) } else { framed(&self.kept, self.width) }
    }
}

pub(super) fn write_lines(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let writer = json::WriterBuilder::new().with_explicit_nulls(true);
    let mut writer = writer.build::<_, json::writer::LineDelimited>(out);
    writer.write(batch)?;
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Decimal128Array, Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field};

    use super::*;

    fn batch(numbers: &[i64], texts: &[Option<&str>]) -> RecordBatch {
        let columns: [(&str, ArrayRef); 2] = [
            ("n", Arc::new(Int64Array::from(numbers.to_vec()))),
            ("t", Arc::new(StringArray::from(texts.to_vec()))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
            .unwrap()
    }

    #[track_caller]
    fn check(format: Format, max_rows: usize, batches: &[RecordBatch], expected: &str) {
        let output = Output { format, ..Output::new(None, None, max_rows).unwrap() };
        let mut encoder = output.encoder(batch(&[], &[]).schema());
        let mut out = Vec::new();
        for batch in batches {
            encoder.batch(batch, &mut out).unwrap();
        }
        encoder.finish(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    fn two() -> [RecordBatch; 3] {
        [batch(&[], &[]), batch(&[1, 2], &[Some("a,\"b\""), None]), batch(&[3], &[Some("c\nd")])]
    }

    #[test]
    fn csv_has_one_header() {
        check(Format::Csv, 9, &two(), "n,t\n1,\"a,\"\"b\"\"\"\n2,\n3,\"c\nd\"\n");
        check(Format::Csv, 9, &[], "n,t\n");
    }

    #[test]
    fn json_is_one_array() {
        let expected = "[\n{\"n\":1,\"t\":\"a,\\\"b\\\"\"},\n{\"n\":2,\"t\":null},\n{\"n\":3,\"t\":\"c\\nd\"}\n]\n";
        check(Format::Json, 9, &two(), expected);
        check(Format::Json, 9, &[], "[]\n");
    }

    #[test]
    fn ndjson_is_one_object_per_line() {
        let expected =
            "{\"n\":1,\"t\":\"a,\\\"b\\\"\"}\n{\"n\":2,\"t\":null}\n{\"n\":3,\"t\":\"c\\nd\"}\n";
        check(Format::Ndjson, 9, &two(), expected);
        check(Format::Ndjson, 9, &[], "");
    }

    #[test]
    fn a_table_says_what_it_leaves_out() {
        let expected = "\
+---+-------+
| n | t     |
+---+-------+
| 1 | a,\"b\" |
+---+-------+
… and 2 more rows (--max-rows 0 or --format csv shows all)
";
        check(Format::Table, 1, &two(), expected);
        check(Format::Table, 9, &[], "+---+---+\n| n | t |\n+---+---+\n+---+---+\n");
    }

    #[test]
    fn a_parquet_file_has_the_titles_of_the_answer_and_the_types_of_its_values() {
        let wide = Decimal128Array::from(vec![1]).with_precision_and_scale(32, 2).unwrap();
        let wide: ArrayRef = Arc::new(wide);
        let computed = RecordBatch::try_from_iter([("sum(x)[0]", wide)]).unwrap();
        let declared = Schema::new(vec![Field::new("total", DataType::Decimal128(25, 2), true)]);
        let written = with_types(&declared, &computed);
        let expected = Field::new("total", DataType::Decimal128(32, 2), true);
        assert_eq!(written.fields().iter().map(|it| it.as_ref()).collect::<Vec<_>>(), [&expected]);
    }

    #[test]
    fn the_extension_says_the_format() {
        let format = |file: &str| Output::new(None, Some(file.into()), 0).map(|o| o.format).ok();
        assert_eq!(format("a.csv"), Some(Format::Csv));
        assert_eq!(format("b/a.PARQUET"), Some(Format::Parquet));
        assert_eq!(format("a.jsonl"), Some(Format::Ndjson));
        assert_eq!(format("a"), None);
        assert!(matches!(Output::new(Some(Format::Parquet), None, 0), Err(Failure::Usage(_))));
    }
}
