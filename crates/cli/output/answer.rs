//! Answers as tables, CSV, JSON or Parquet.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::csv;
use arrow::datatypes::SchemaRef;
use arrow::json;
use arrow::util::display::FormatOptions;
use arrow::util::pretty::pretty_format_batches_with_options;
use clap::ValueEnum;
use datafusion::execution::SendableRecordBatchStream;
use futures::TryStreamExt;
use parquet::arrow::ArrowWriter;

use crate::failure::{Failure, Result};
use crate::output::file::Unfinished;
use crate::output::visible::visible;

/// How an answer is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns in a frame, for reading
    #[default]
    Table,
    /// Comma-separated with a header line; streams
    Csv,
    /// One array of objects; streams
    Json,
    /// One object per line; streams
    Ndjson,
    /// A Parquet file; needs --output
    Parquet,
}

impl Format {
    /// The format that an extension stands for.
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "txt" => Some(Self::Table),
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Where answers go, and how they are written.
#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
    /// Rows that a table shows at most.
    max_rows: usize,
    file: Option<PathBuf>,
    /// Whether the file holds an answer.
    written: bool,
}

impl Output {
    /// A format not given is that of the file's extension.
    pub(crate) fn new(
        format: Option<Format>,
        file: Option<PathBuf>,
        max_rows: usize,
    ) -> Result<Self> {
        let format = match (format, &file) {
            (Some(Format::Parquet), None) => {
                return Err(Failure::Usage("--format parquet needs --output FILE".to_owned()));
            }
            (Some(format), _) => format,
            (None, Some(file)) => Format::of(file).ok_or_else(|| {
                Failure::Usage(format!(
                    "the format of `{}` is not known; name it with --format",
                    file.display()
                ))
            })?,
            (None, None) => Format::default(),
        };
        let max_rows = if max_rows == 0 { usize::MAX } else { max_rows };
        Ok(Self { format, max_rows, file, written: false })
    }

    /// Writes the answer of a query; returns the number of its rows. A statement that has
    /// no answer, such as CREATE, runs and nothing is written.
    pub(crate) async fn answer(&mut self, stream: SendableRecordBatchStream) -> Result<u64> {
        let schema = stream.schema();
        if schema.fields().is_empty() {
            let batches: Vec<_> = stream.try_collect().await?;
            return Ok(count(&batches));
        }
        let Some(path) = self.file.clone() else {
            return write_text(stream, self.encoder(schema), &mut io::stdout()).await;
        };
        if self.written {
            return Err(Failure::new(format!("`{}` holds an answer already", path.display()))
                .with_hint("With --output, let one statement have an answer."));
        }
        let mut file = Unfinished::begin(&path)?;
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
            _ => write_text(stream, self.encoder(schema), file).await,
        }
    }

    fn encoder(&self, schema: SchemaRef) -> Encoder {
        Encoder { format: self.format, max_rows: self.max_rows, schema, rows: 0, kept: Vec::new() }
    }
}

async fn write_text(
    mut stream: SendableRecordBatchStream,
    mut encoder: Encoder,
    out: &mut impl Write,
) -> Result<u64> {
    // Encoded in memory: Arrow's writers would turn the error of a closed pipe into text.
    let mut bytes = Vec::new();
    while let Some(batch) = stream.try_next().await? {
        encoder.batch(&batch, &mut bytes)?;
        out.write_all(&bytes)?;
        bytes.clear();
    }
    encoder.finish(&mut bytes)?;
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(encoder.rows)
}

async fn write_parquet(
    mut stream: SendableRecordBatchStream,
    schema: SchemaRef,
    file: &mut File,
) -> Result<u64> {
    let mut rows = 0;
    let mut writer = ArrowWriter::try_new(file, schema, None)?;
    while let Some(batch) = stream.try_next().await? {
        rows += batch.num_rows() as u64;
        writer.write(&batch)?;
    }
    writer.close()?;
    Ok(rows)
}

fn count(batches: &[RecordBatch]) -> u64 {
    batches.iter().map(|batch| batch.num_rows() as u64).sum()
}

/// Turns batches to text, in pieces.
struct Encoder {
    format: Format,
    max_rows: usize,
    schema: SchemaRef,
    rows: u64,
    /// The rows of a table: its columns are as wide as their widest cells, so it is written last.
    kept: Vec<RecordBatch>,
}

impl Encoder {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
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
            Format::Csv => {
                let mut writer = csv::WriterBuilder::new().with_header(first).build(out);
                writer.write(batch).map_err(|error| {
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
                let options = FormatOptions::default().with_null("NULL");
                // The header is that of the first batch, and there may be none.
                self.kept.insert(0, RecordBatch::new_empty(Arc::clone(&self.schema)));
                let table = pretty_format_batches_with_options(&self.kept, &options)?;
                writeln!(out, "{}", visible(&table.to_string()))?;
                let more = self.rows.saturating_sub(count(&self.kept));
                if more > 0 {
                    writeln!(
                        out,
                        "… and {more} more rows (--max-rows 0 or --format csv shows all)"
                    )?;
                }
            }
            Format::Csv if self.rows == 0 => {
                let none = RecordBatch::new_empty(Arc::clone(&self.schema));
                csv::WriterBuilder::new().with_header(true).build(out).write(&none)?;
            }
            Format::Json if self.rows == 0 => out.extend_from_slice(b"[]\n"),
            Format::Json => out.extend_from_slice(b"\n]\n"),
            Format::Csv | Format::Ndjson => {}
        }
        Ok(())
    }
}

fn write_lines(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
    let writer = json::WriterBuilder::new().with_explicit_nulls(true);
    let mut writer = writer.build::<_, json::writer::LineDelimited>(out);
    writer.write(batch)?;
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, StringArray};

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
        let output = Output { format, max_rows, file: None, written: false };
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
    fn the_extension_says_the_format() {
        let format = |file: &str| Output::new(None, Some(file.into()), 0).map(|o| o.format).ok();
        assert_eq!(format("a.csv"), Some(Format::Csv));
        assert_eq!(format("b/a.PARQUET"), Some(Format::Parquet));
        assert_eq!(format("a.jsonl"), Some(Format::Ndjson));
        assert_eq!(format("a"), None);
        assert!(matches!(Output::new(Some(Format::Parquet), None, 0), Err(Failure::Usage(_))));
    }
}
