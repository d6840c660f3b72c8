//! One question to a store, and its right answer.

use super::lessons::Lessons;
use super::report::{Outcome, Verdict};
use super::samples::Sample;
use super::{aggregates, formats, limits, meaning, syntax};
use crate::answer::{NoAnswer, RawAnswer};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, FileHeaderInfo, InputFormat, InputSerialization, JsonType,
    OutputSerialization, QuoteFields, ScanRange, SelectRequest,
};

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// What objects may look like.
    Formats,
    /// What parses and computes.
    Syntax,
    /// What the same statement means.
    Meaning,
    /// Functions of many rows.
    Aggregates,
    /// The request and the answer around the statement, and how long they may be.
    Protocol,
}

impl Topic {
    /// The word for it.
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
    /// What it is about.
    pub topic: Topic,
    /// What it asks for, in words.
    pub feature: &'static str,
    /// The object that it is put to.
    pub sample: Sample,
    /// What is asked.
    pub ask: Ask,
    /// The request around the statement.
    pub shape: Shape,
    /// The right answer.
    pub right: Right,
    /// What the answer teaches: the way that the store has, of those that `right` lists; none if
    /// it refuses or answers wrongly.
    pub(super) teaches: fn(&mut Lessons, Option<usize>),
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Which rows, by their first column, meet a condition.
    Keys(&'static str),
    /// A whole statement.
    Statement(&'static str),
    /// Which row is number 2, in a statement of so many bytes.
    Long(usize),
}

/// The right answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// These rows; line breaks are written as ` / `.
    Rows(&'static str),
    /// Rows in one of several ways that S3 Select leaves open, and what each means.
    Ways(&'static [(&'static str, &'static str)]),
    /// An error.
    Error,
}

/// The request around a statement; everything else is the service's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Whether the first line of a CSV object names its columns.
    pub named: bool,
    /// Whether quoted fields may hold line breaks.
    pub quoted_breaks: bool,
    /// Whether the answer is JSON.
    pub json: bool,
    /// Whether every field of a CSV answer is quoted.
    pub quote_all: bool,
    /// The first and the last byte of a ScanRange.
    pub range: Option<(u64, u64)>,
    /// Whether Progress events are wished for.
    pub progress: bool,
    /// What the statement may use of our extensions.
    pub extras: Extras,
}

impl Shape {
    /// All defaults.
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

/// A comment character with which no line of a sample begins.
const NO_COMMENTS: char = '\u{7f}';

impl Question {
    /// All questions, in the order in which they are put: later ones may take back what earlier
    /// ones taught.
    pub fn all() -> impl Iterator<Item = Self> {
        let tables =
            [formats::TABLE, syntax::TABLE, meaning::TABLE, aggregates::TABLE, limits::TABLE];
        tables.into_iter().flatten().copied()
    }

    /// A question for the keys of rows of [`Sample::Table`].
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
            ask: Ask::Keys(condition),
            shape: Shape::PLAIN,
            right: Right::Rows(right),
            teaches,
        }
    }

    /// A question with a statement of its own.
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
            ask: Ask::Statement(statement),
            shape: Shape::PLAIN,
            right: Right::Rows(right),
            teaches,
        }
    }

    /// The same in another shape.
    pub(super) const fn shaped(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// The same with another right answer.
    pub(super) const fn right(mut self, right: Right) -> Self {
        self.right = right;
        self
    }

    /// The statement.
    pub fn sql(&self) -> String {
        match self.ask {
            Ask::Keys(condition) => format!("SELECT s._1 FROM S3Object s WHERE {condition}"),
            Ask::Statement(statement) => statement.to_owned(),
            Ask::Long(bytes) => {
                let around = "SELECT s._1 FROM S3Object s WHERE s._2 = '' OR s._1 = '2'".len();
                let text = "x".repeat(bytes.saturating_sub(around));
                format!("SELECT s._1 FROM S3Object s WHERE s._2 = '{text}' OR s._1 = '2'")
            }
        }
    }

    /// The request to the question's own sample.
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

    /// The same question to an object whose contents are not known: only conditions without
    /// columns can be put to it, and the answer is whether one row comes. The statement looks at
    /// no more than the first bytes where the store lets it.
    pub fn request_about(
        &self,
        input: &InputSerialization,
        scan_range: Option<ScanRange>,
    ) -> Option<SelectRequest> {
        let Ask::Keys(condition) = self.ask else { return None };
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

    /// What an answer from the question's own sample says.
    pub fn judge(&self, answer: Result<&RawAnswer, &NoAnswer>) -> Outcome {
        self.judge_text(answer, |answer| {
            let text = String::from_utf8_lossy(&answer.records);
            let lines = text.strip_suffix('\n').unwrap_or(&text);
            let separator = if matches!(self.ask, Ask::Keys(_)) { " " } else { " / " };
            lines.replace('\n', separator)
        })
    }

    /// What an answer to [`Question::request_about`] says.
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
                // An error is no right answer of a store that answers nothing.
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
