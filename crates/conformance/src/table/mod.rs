//! The documented behaviour of S3 Select as a table: a statement, an object and options give rows or an error.
//!
//! Every case names the rule it checks. The table is plain data, so it can be used with any store. [`Run`] sends each
//! [`Case::request`] for an object of [`Case::bytes`] and compares the answer with [`Case::expected`].
//!
//! The mark in a rule states its source:
//!
//! - A rule that begins with *documented* is an example of the service's SQL reference, with the documented answer.
//! - A rule that ends in *ours* is one that the reference leaves open, or on which it contradicts itself.
//! - A rule that ends in *extension* is a guarantee of our evaluator beyond the service.
//! - A rule that ends in *deviation* is one on which our evaluator deliberately differs from the reference.

mod aggregates;
mod casts;
mod csv;
mod documented;
mod errors;
mod expressions;
mod functions;
mod json;
mod objects;
mod parquet;
mod run;
mod times;

pub use run::{Answer, Outcome, Run, Verdict};

use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, InputSerialization, JsonType,
    OutputSerialization, ScanRange, SelectRequest,
};

/// A statement about an object, with the expected answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The rule that the case checks.
    pub rule: &'static str,
    /// The statement or the expression in it.
    question: Question,
    /// The content of the object.
    pub object: &'static str,
    /// The encoding in which the content is stored.
    pub storage: Storage,
    /// The format with which the object is read.
    pub input: Input,
    /// True if the answer is JSON; otherwise it is CSV. Both use the service's defaults.
    pub json_answer: bool,
    /// The part of the object to scan.
    pub scan_range: Option<ScanRange>,
    /// The expected answer.
    pub expected: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Statement(&'static str),
    /// The value of an expression over [`ROW`].
    Expression(&'static str),
}

/// A CSV object of one row with five fields. The sixth, `_6`, is missing.
const ROW: &str = "5,abc,,-1.50,1995-06-17\n";

/// The input format of a request. All other options are the service's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// CSV without a header.
    Csv,
    /// CSV with a header to skip.
    CsvIgnore,
    /// CSV with a header to use.
    CsvUse,
    /// A JSON value on each line.
    Lines,
    /// JSON values that may span lines.
    Document,
    /// A Parquet object.
    Parquet,
}

/// The encoding of a stored object. Requests for the variants with gzip in their name specify GZIP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// The content without encoding.
    Plain,
    /// The content in one gzip member.
    Gzip,
    /// Two gzip members, each with all of the content.
    GzipMembers,
    /// Two gzip members, each with all of the content and followed by zeros.
    GzipPadded,
    /// One gzip member without its second half.
    GzipTruncated,
    /// One gzip member without its last four bytes, which hold its length.
    GzipWithoutTrailer,
    /// The content without encoding, although the request specifies GZIP.
    NotGzip,
    /// The table's Parquet object instead of the content.
    Parquet,
    /// The table's Parquet object without its second half.
    ParquetTruncated,
}

/// The expected answer to a [`Case`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The bytes of all rows.
    Rows(&'static str),
    /// An error, either before the answer or within it.
    Error(SelectErrorCode),
}

impl Case {
    /// Returns all cases of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        let values = documented::VALUES
            .iter()
            .chain(expressions::CASES)
            .chain(functions::CASES)
            .chain(casts::CASES)
            .chain(times::CASES)
            .map(|(rule, expression, answer)| expect(rule, expression, Expected::Rows(answer)));
        let failures = errors::VALUES
            .iter()
            .map(|(rule, expression, code)| expect(rule, expression, Expected::Error(*code)));
        let statements = errors::STATEMENTS.iter().map(|(text, code)| {
            let rule = "a statement that is wrong is refused with the code of what is wrong";
            csv_case(rule, text, Input::Csv, ROW, Expected::Error(*code))
        });
        let whole =
            documented::CASES.iter().chain(csv::CASES).chain(aggregates::CASES).chain(json::CASES);
        let whole = whole.chain(objects::CASES).chain(parquet::CASES).copied();
        values.chain(failures).chain(statements).chain(whole)
    }

    /// Returns the text of the statement.
    #[must_use]
    pub fn statement(&self) -> String {
        match self.question {
            Question::Statement(statement) => statement.to_owned(),
            Question::Expression(expression) => format!("SELECT {expression} AS v FROM S3Object s"),
        }
    }

    /// Returns the bytes of the stored object.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let plain = self.object.as_bytes();
        // Writing to memory does not fail.
        let parquet = || parquet::object().unwrap_or_default();
        let mut packed = gzip(plain);
        match self.storage {
            Storage::Plain | Storage::NotGzip => return plain.to_vec(),
            Storage::Parquet => return parquet(),
            Storage::ParquetTruncated => {
                let whole = parquet();
                return whole[..whole.len() / 2].to_vec();
            }
            Storage::Gzip => {}
            Storage::GzipMembers => packed = packed.repeat(2),
            Storage::GzipPadded => {
                packed.resize(packed.len().next_multiple_of(512), 0);
                packed = packed.repeat(2);
            }
            Storage::GzipTruncated => packed.truncate(packed.len() / 2),
            Storage::GzipWithoutTrailer => packed.truncate(packed.len() - 4),
        }
        packed
    }

    /// Returns the request of the case.
    #[must_use]
    pub fn request(&self) -> SelectRequest {
        let csv = |header| InputFormat::Csv(CsvInput { header, ..CsvInput::default() });
        let format = match self.input {
            Input::Csv => csv(FileHeaderInfo::None),
            Input::CsvIgnore => csv(FileHeaderInfo::Ignore),
            Input::CsvUse => csv(FileHeaderInfo::Use),
            Input::Lines => InputFormat::Json(JsonType::Lines),
            Input::Document => InputFormat::Json(JsonType::Document),
            Input::Parquet => InputFormat::Parquet,
        };
        let output = if self.json_answer {
            OutputSerialization::Json { record_delimiter: "\n".to_owned() }
        } else {
            OutputSerialization::Csv(CsvOutput::default())
        };
        let compression = match self.storage {
            Storage::Plain | Storage::Parquet | Storage::ParquetTruncated => Compression::None,
            _ => Compression::Gzip,
        };
        SelectRequest {
            expression: self.statement(),
            input: InputSerialization { format, compression },
            output,
            scan_range: self.scan_range,
            progress: false,
            extras: Extras::NONE,
        }
    }
}

/// Returns a gzip member that stores at most 64 KiB uncompressed (RFC 1952, and RFC 1951, 3.2.4).
fn gzip(plain: &[u8]) -> Vec<u8> {
    let length = plain.len() as u16;
    let mut packed = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01".to_vec();
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend(plain);
    packed.extend(crc32fast::hash(plain).to_le_bytes());
    packed.extend(u32::from(length).to_le_bytes());
    packed
}

/// Creates a case with a CSV answer.
const fn csv_case(
    rule: &'static str,
    statement: &'static str,
    input: Input,
    object: &'static str,
    expected: Expected,
) -> Case {
    let question = Question::Statement(statement);
    let storage = Storage::Plain;
    Case { rule, question, object, storage, input, json_answer: false, scan_range: None, expected }
}

/// Creates a case with a JSON answer.
const fn json_case(
    rule: &'static str,
    statement: &'static str,
    input: Input,
    object: &'static str,
    expected: Expected,
) -> Case {
    Case { json_answer: true, ..csv_case(rule, statement, input, object, expected) }
}

/// Creates a case for the value of an expression. The answer is the JSON field `v`, so that NULL, MISSING and the
/// empty text differ.
const fn expect(rule: &'static str, expression: &'static str, expected: Expected) -> Case {
    let question = Question::Expression(expression);
    Case { question, json_answer: true, ..csv_case(rule, "", Input::Csv, ROW, expected) }
}

#[cfg(test)]
mod tests;
