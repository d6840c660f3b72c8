//! A question to a store, with its request and its right answer.

use super::report::{Outcome, Verdict};
use super::samples::Sample;
use super::verdicts::Lessons;
use super::{aggregates, formats, limits, meaning, syntax};
use crate::answer::{NoAnswer, RawAnswer};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, InputSerialization, JsonType,
    OutputSerialization, QuoteFields, ScanRange, SelectRequest,
};

/// The subject of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The formats of objects.
    Formats,
    /// Statements that a store parses, and the values it computes.
    Syntax,
    /// Statements that stores interpret differently.
    Meaning,
    /// Aggregate functions over many rows.
    Aggregates,
    /// The request and the answer around the statement, and their maximum lengths.
    Protocol,
}

impl Topic {
    /// Returns the topic's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Formats => "formats",
            Self::Syntax => "syntax",
            Self::Meaning => "meaning",
            Self::Aggregates => "aggregates",
            Self::Protocol => "protocol",
        }
    }
}

/// One question to a store.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// The subject of the question.
    pub topic: Topic,
    /// The name of the tested feature.
    pub feature: &'static str,
    /// The sample object of the question.
    pub sample: Sample,
    /// The statement, or the condition in it.
    pub ask: Request,
    /// The options of the request.
    pub shape: Shape,
    /// The answer or answers that count as right.
    pub right: Right,
    /// Applies the answer to the profile. The argument is the index of the way in `right` that the store follows;
    /// `None` if it refuses or answers wrongly.
    pub(super) teaches: fn(&mut Lessons, Option<usize>),
}

/// The statement of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A condition. The statement returns the first column of the rows that meet it.
    Keys(&'static str),
    /// A whole SELECT statement.
    Statement(&'static str),
    /// A statement of this many bytes that returns row 2.
    Long(usize),
}

/// The answers that count as right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// These rows. Line breaks are written as ` / `.
    Rows(&'static str),
    /// Rows in one of several ways that S3 Select leaves open, each with its meaning.
    Ways(&'static [(&'static str, &'static str)]),
    /// An error of any kind.
    Error,
}

/// The options of a request. All others are the service's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// True if the first line of a CSV object names its columns.
    pub named: bool,
    /// True if quoted fields may hold line breaks.
    pub quoted_breaks: bool,
    /// True if the answer is JSON.
    pub json: bool,
    /// True if every field of a CSV answer is quoted.
    pub quote_all: bool,
    /// The first and the last byte of a ScanRange.
    pub range: Option<(u64, u64)>,
    /// True if Progress events are requested.
    pub progress: bool,
    /// The extensions to the language that the statement may use.
    pub extras: Extras,
}

impl Shape {
    /// The defaults of all options.
    pub const PLAIN: Self = Self {
        named: false,
        quoted_breaks: false,
        json: false,
        quote_all: false,
        range: None,
        progress: false,
        extras: Extras::NONE,
    };
}

/// A comment character that begins no line of a sample.
const NO_COMMENTS: char = '\u{7f}';

impl Question {
    /// Returns all questions in order. The order matters, because later answers may revoke what earlier ones
    /// established.
    pub fn all() -> impl Iterator<Item = Self> {
        let tables =
            [formats::TABLE, syntax::TABLE, meaning::TABLE, aggregates::TABLE, limits::TABLE];
        tables.into_iter().flatten().copied()
    }

    /// Creates a question for the keys of rows of [`Sample::Table`].
    pub(super) const fn keys(
        topic: Topic,
        feature: &'static str,
        condition: &'static str,
        right: &'static str,
        teaches: fn(&mut Lessons, Option<usize>),
    ) -> Self {
        Self {
            topic,
            feature,
            sample: Sample::Table,
            ask: Request::Keys(condition),
            shape: Shape::PLAIN,
            right: Right::Rows(right),
            teaches,
        }
    }

    /// Creates a question with a whole statement.
    pub(super) const fn statement(
        topic: Topic,
        feature: &'static str,
        sample: Sample,
        statement: &'static str,
        right: &'static str,
        teaches: fn(&mut Lessons, Option<usize>),
    ) -> Self {
        Self {
            topic,
            feature,
            sample,
            ask: Request::Statement(statement),
            shape: Shape::PLAIN,
            right: Right::Rows(right),
            teaches,
        }
    }

    /// Returns the question with other options.
    pub(super) const fn shaped(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Returns the question with another right answer.
    pub(super) const fn right(mut self, right: Right) -> Self {
        self.right = right;
        self
    }

    /// Returns the text of the statement.
    pub fn sql(&self) -> String {
        match self.ask {
            Request::Keys(condition) => format!("SELECT s._1 FROM S3Object s WHERE {condition}"),
            Request::Statement(statement) => statement.to_owned(),
            Request::Long(bytes) => {
                let around = "SELECT s._1 FROM S3Object s WHERE s._2 = '' OR s._1 = '2'".len();
                let text = "x".repeat(bytes.saturating_sub(around));
                format!("SELECT s._1 FROM S3Object s WHERE s._2 = '{text}' OR s._1 = '2'")
            }
        }
    }

    /// Returns the request about the question's own sample.
    pub fn request(&self) -> SelectRequest {
        let shape = self.shape;
        let csv = CsvInput {
            header: if shape.named { FileHeaderInfo::Use } else { FileHeaderInfo::None },
            comments: Some(NO_COMMENTS),
            allow_quoted_record_delimiter: shape.quoted_breaks,
            ..CsvInput::default()
        };
        let (format, compression) = match self.sample {
            Sample::Gzip | Sample::HalfGzip => (InputFormat::Csv(csv), Compression::Gzip),
            Sample::Bzip2 => (InputFormat::Csv(csv), Compression::Bzip2),
            Sample::Lines => (InputFormat::Json(JsonType::Lines), Compression::None),
            Sample::Document => (InputFormat::Json(JsonType::Document), Compression::None),
            Sample::Parquet => (InputFormat::Parquet, Compression::None),
            _ => (InputFormat::Csv(csv), Compression::None),
        };
        SelectRequest {
            expression: self.sql(),
            input: InputSerialization { format, compression },
            output: if shape.json {
                OutputSerialization::Json { record_delimiter: "\n".to_owned() }
            } else {
                let quote_fields =
                    if shape.quote_all { QuoteFields::Always } else { QuoteFields::AsNeeded };
                OutputSerialization::Csv(CsvOutput { quote_fields, ..CsvOutput::default() })
            },
            scan_range: shape.range.map(|(start, last)| ScanRange::Bounded { start, last }),
            progress: shape.progress,
            extras: shape.extras,
        }
    }

    /// Returns the request for an object of unknown content. `None` if the condition has columns, or the right answer
    /// is neither all rows nor none. The answer is whether one row is returned. With `scan_range`, the statement
    /// reads only the first bytes of the object.
    pub fn request_about(
        &self,
        input: &InputSerialization,
        scan_range: Option<ScanRange>,
    ) -> Option<SelectRequest> {
        let Request::Keys(condition) = self.ask else { return None };
        let all_or_none = matches!(self.right, Right::Rows("" | ALL_KEYS) | Right::Error);
        if condition.contains("s.") || self.shape != Shape::PLAIN || !all_or_none {
            return None;
        }
        let column = if matches!(input.format, InputFormat::Csv(_)) { "s._1" } else { "*" };
        Some(SelectRequest {
            expression: format!("SELECT {column} FROM S3Object s WHERE {condition} LIMIT 1"),
            input: input.clone(),
            output: OutputSerialization::Csv(CsvOutput {
                quote_fields: QuoteFields::Always,
                ..CsvOutput::default()
            }),
            scan_range,
            progress: false,
            extras: Extras::NONE,
        })
    }

    /// Judges an answer about the question's own sample.
    pub fn judge(&self, answer: Result<&RawAnswer, &NoAnswer>) -> Outcome {
        self.judge_text(answer, |answer| {
            let text = String::from_utf8_lossy(&answer.records);
            let lines = text.strip_suffix('\n').unwrap_or(&text);
            let separator = if matches!(self.ask, Request::Keys(_)) { " " } else { " / " };
            lines.replace('\n', separator)
        })
    }

    /// Judges an answer to [`Question::request_about`].
    pub fn judge_about(&self, answer: Result<&RawAnswer, &NoAnswer>) -> Outcome {
        self.judge_text(answer, |answer| {
            if answer.records.is_empty() { "".to_owned() } else { ALL_KEYS.to_owned() }
        })
    }

    fn judge_text(
        &self,
        answer: Result<&RawAnswer, &NoAnswer>,
        text: impl Fn(&RawAnswer) -> String,
    ) -> Outcome {
        let answer = match (answer, self.right) {
            (Err(NoAnswer::Refused { code, message, every_statement }), right) => {
                let evidence = format!("{code}: {message}");
                // An error counts as right only if the store runs other statements.
                return if right == Right::Error && !every_statement {
                    Outcome { verdict: Verdict::Works, way: Some(0), evidence }
                } else {
                    Outcome { verdict: Verdict::Refused, way: None, evidence }
                };
            }
            (Err(NoAnswer::Failed { code, message }), _) => {
                let evidence = format!("{code}: {message}");
                return Outcome { verdict: Verdict::NotKnown, way: None, evidence };
            }
            (Ok(answer), _) => text(answer),
        };
        let wrong = |expected: &str| Outcome {
            verdict: Verdict::Wrong,
            way: None,
            evidence: format!("answers {}, not {expected}", shown(&answer)),
        };
        match self.right {
            Right::Error => wrong("an error"),
            Right::Rows(rows) if rows == answer => {
                Outcome { verdict: Verdict::Works, way: Some(0), evidence: String::new() }
            }
            Right::Rows(rows) => wrong(&shown(rows)),
            Right::Ways(ways) => match ways.iter().position(|(rows, _)| *rows == answer) {
                Some(way) => Outcome {
                    verdict: Verdict::Works,
                    way: Some(way),
                    evidence: ways[way].1.to_owned(),
                },
                None => wrong(&shown(ways.first().map_or("", |(rows, _)| rows))),
            },
        }
    }
}

/// All keys of [`Sample::Table`].
pub(super) const ALL_KEYS: &str = "1 2 3";

fn shown(rows: &str) -> String {
    const LONGEST: usize = 60;
    match rows.char_indices().nth(LONGEST) {
        None if rows.is_empty() => "no rows".to_owned(),
        None => format!("`{rows}`"),
        Some((end, _)) => format!("`{}…`", &rows[..end]),
    }
}
