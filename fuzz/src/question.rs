//! A statement over an object, and what must hold of the answers.

use std::ops::ControlFlow;
use std::sync::Arc;

use sluicegate_evaluator::{Evaluation, MAX_RECORDS_BYTES, Sink, Stats};
use sluicegate_s3select::SelectError;
use sluicegate_s3select::dialect::ast::{
    Aggregate, Expr, IsTest, Projection, ProjectionItem, Query, UnaryOp,
};
use sluicegate_s3select::dialect::parse;
use sluicegate_s3select::request::{
    Compression, CsvOutput, InputFormat, InputSerialization, OutputSerialization, ScanRange,
    SelectRequest,
};
use sluicegate_s3select::value::Timestamp;

use crate::options::{OPTIONS, Options};

/// An input of a fuzz target: options, statement, object.
pub fn seed(options: [u8; OPTIONS], statement: &str, object: &[u8]) -> Vec<u8> {
    [&options[..], statement.as_bytes(), b"\0", object].concat()
}

/// A statement over an object.
#[derive(Debug)]
pub struct Question {
    pub options: Options,
    statement: String,
    object: Arc<Vec<u8>>,
}

/// The longest answer looked at, in bytes; a sink that has more is told to stop.
const MAX_ANSWER_BYTES: usize = 4 << 20;

struct Answer {
    bytes: Vec<u8>,
    whole: bool,
}

impl Sink for Answer {
    fn records(&mut self, bytes: bytes::Bytes) -> ControlFlow<()> {
        assert!(!bytes.is_empty() && bytes.len() <= MAX_RECORDS_BYTES);
        self.bytes.extend_from_slice(&bytes);
        if self.bytes.len() > MAX_ANSWER_BYTES {
            self.whole = false;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn progress(&mut self, stats: &Stats) -> ControlFlow<()> {
        assert_eq!(stats.bytes_returned, self.bytes.len() as u64);
        ControlFlow::Continue(())
    }
}

impl Question {
    /// Takes an input apart; `None` if it is too short to hold options.
    pub fn read(input: &[u8]) -> Option<Self> {
        let (options, rest) = input.split_first_chunk::<OPTIONS>()?;
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let object = rest.get(end + 1..).unwrap_or_default().to_vec();
        Some(Self {
            options: Options(*options),
            statement: String::from_utf8_lossy(&rest[..end]).into_owned(),
            object: Arc::new(object),
        })
    }

    /// The request for an object of this format.
    pub fn request(&self, format: InputFormat) -> SelectRequest {
        let compression = match format {
            InputFormat::Parquet => Compression::None,
            _ => self.options.compression(),
        };
        SelectRequest {
            expression: self.statement.clone(),
            input: InputSerialization { format, compression },
            output: self.options.output(),
            scan_range: None,
            progress: false,
        }
    }

    /// The answer to a request for the object; `Ok(None)` if it is very long.
    pub fn ask(&self, request: &SelectRequest) -> Result<Option<Vec<u8>>, SelectError> {
        let now = Timestamp::EPOCH;
        let object = Arc::clone(&self.object);
        let mut answer = Answer { bytes: Vec::new(), whole: true };
        let stats = Evaluation::prepare_at(request, object, now)?.run(&mut answer)?;
        assert_eq!(stats.bytes_returned, answer.bytes.len() as u64);
        assert!(stats.bytes_scanned <= 2 * self.object.len() as u64 + 8);
        Ok(answer.whole.then_some(answer.bytes))
    }

    /// Asks, and checks what holds for every statement: of the rows of the object, the condition
    /// is true, false or unknown for each, and for one of the three only.
    pub fn check(&self, request: &SelectRequest) {
        let _ = self.ask(request);
        let Ok(query) = parse(&self.statement) else { return };
        let Some(filter) = query.filter.clone() else { return };
        let not = Expr::Unary { op: UnaryOp::Not, expr: Box::new(filter.clone()) };
        let unknown =
            Expr::Is { expr: Box::new(filter.clone()), test: IsTest::Null, negated: false };
        let conditions = [None, Some(filter), Some(not), Some(unknown)];
        let mut counts = [0_u64; 4];
        for (condition, count) in conditions.into_iter().zip(&mut counts) {
            match self.count(request, &query, condition) {
                Some(rows) => *count = rows,
                None => return,
            }
        }
        assert_eq!(counts[0], counts[1] + counts[2] + counts[3], "{counts:?} of {self:?}");
    }

    fn count(
        &self,
        request: &SelectRequest,
        query: &Query,
        condition: Option<Expr>,
    ) -> Option<u64> {
        let count = Expr::Aggregate { function: Aggregate::Count, arg: None };
        let query = Query {
            projection: Projection::Items(vec![ProjectionItem { expr: count, alias: None }]),
            from: query.from.clone(),
            filter: condition,
            limit: None,
        };
        let request = SelectRequest {
            expression: query.to_string(),
            output: OutputSerialization::Csv(CsvOutput::default()),
            ..request.clone()
        };
        let answer = self.ask(&request).ok()??;
        String::from_utf8(answer).ok()?.trim().parse().ok()
    }

    /// Checks that the parts of an object have its records, each once and in order.
    pub fn check_parts(&self, request: &SelectRequest) {
        let whole = SelectRequest {
            expression: "SELECT * FROM S3Object".to_owned(),
            scan_range: None,
            ..request.clone()
        };
        let Ok(Some(expected)) = self.ask(&whole) else { return };
        let [first, second] = self.options.cuts();
        let cuts = [0, first, second, u64::MAX];
        let mut parts = Vec::new();
        for cut in cuts.windows(2).filter(|cut| cut[0] < cut[1]) {
            let range = ScanRange::Bounded { start: cut[0], last: cut[1] - 1 };
            let request = SelectRequest { scan_range: Some(range), ..whole.clone() };
            match self.ask(&request) {
                Ok(Some(part)) => parts.extend(part),
                // Not splittable, and refused for all parts alike.
                Err(error) if parts.is_empty() && cut[0] == 0 => {
                    let code = error.code.to_string();
                    assert_eq!(code, "UnsupportedScanRangeInput", "{self:?}");
                    return;
                }
                other => panic!("{other:?} for bytes {cut:?} of {self:?}"),
            }
        }
        assert!(parts == expected, "{parts:?} is not {expected:?}, {cuts:?} of {self:?}");
    }
}
