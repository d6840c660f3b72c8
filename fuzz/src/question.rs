//! Statements over an object, and properties of their answers.

use std::ops::ControlFlow;
use std::sync::Arc;

use sluicegate_evaluator::{Evaluation, MAX_RECORDS_BYTES, Sink, Stats};
use sluicegate_s3select::dialect::ast::{
    Aggregate, Expr, From, IsTest, Projection, ProjectionItem, Query, UnaryOp,
};
use sluicegate_s3select::dialect::{Extras, parse_with};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{
    Compression, CsvOutput, InputFormat, InputSerialization, OutputSerialization, ScanRange,
    SelectRequest,
};
use sluicegate_s3select::value::Timestamp;

use crate::options::{OPTIONS, Options};

/// Builds an input of a fuzz target: options, statement, object.
pub fn seed(options: [u8; OPTIONS], statement: &str, object: &[u8]) -> Vec<u8> {
    [&options[..], statement.as_bytes(), b"\0", object].concat()
}

/// A statement over an object, with options.
#[derive(Debug)]
pub struct Question {
    pub options: Options,
    statement: String,
    object: Arc<Vec<u8>>,
}

/// The longest answer that is checked, in bytes; a longer one is stopped.
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
    /// Parses an input; `None` if it is too short to hold options.
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

    /// Builds the request for an object of this format.
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
            extras: Extras::ALL,
        }
    }

    /// Returns the answer to a request by so many threads, and its result; `None` if the answer is too long.
    fn outcome(
        &self,
        request: &SelectRequest,
        threads: usize,
    ) -> Option<(Vec<u8>, Result<Stats, SelectError>)> {
        let object = Arc::clone(&self.object);
        let mut answer = Answer { bytes: Vec::new(), whole: true };
        let evaluation = Evaluation::prepare_at(request, object, Timestamp::EPOCH);
        let stats = evaluation.and_then(|evaluation| {
            evaluation.with_part_bytes(self.options.part_bytes()).run_on(threads, &mut answer)
        });
        if let Ok(stats) = &stats {
            assert_eq!(stats.bytes_returned, answer.bytes.len() as u64);
            assert!(stats.bytes_scanned <= 2 * self.object.len() as u64 + 8);
        }
        answer.whole.then_some((answer.bytes, stats))
    }

    /// Returns the answer to a request; `Ok(None)` if it is too long.
    pub fn ask(&self, request: &SelectRequest) -> Result<Option<Vec<u8>>, SelectError> {
        let Some((answer, stats)) = self.outcome(request, 1) else { return Ok(None) };
        stats.map(|_| Some(answer))
    }

    /// Checks that several threads return the same answer or error as one.
    pub fn check_threads(&self, request: &SelectRequest) {
        let [Some(one), Some(several)] = [1, 2].map(|threads| self.outcome(request, threads))
        else {
            return;
        };
        assert!(one == several, "{one:?} but {several:?} for {self:?}");
    }

    /// Runs the statement, and checks a property of all conditions: for each row of the object, the condition is
    /// either true, false or unknown.
    pub fn check(&self, request: &SelectRequest) {
        let _ = self.ask(request);
        let Ok(query) = parse_with(&self.statement, Extras::ALL) else { return };
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
            group_by: Vec::new(),
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

    /// Checks that the parts of an object together give the answer of the whole: its records, each once and in order;
    /// those that the statement selects, up to the first that fails; and their number.
    pub fn check_parts(&self, request: &SelectRequest) {
        let star = Query {
            projection: Projection::Star,
            from: From::default(),
            filter: None,
            group_by: Vec::new(),
            limit: None,
        };
        self.check_rows_of_parts(request, &star);
        let Ok(query) = parse_with(&self.statement, Extras::ALL) else { return };
        let query = Query { limit: None, ..query };
        match self.count(request, &query, query.filter.clone()) {
            // Rows can be compared. Aggregates cannot, because each part has other rows.
            Some(rows) if !is_aggregate(&query) => {
                self.check_rows_of_parts(request, &query);
                self.check_counts_of_parts(request, &query, rows);
            }
            Some(rows) => self.check_counts_of_parts(request, &query, rows),
            None if !is_aggregate(&query) => self.check_rows_of_parts(request, &query),
            None => {}
        }
    }

    fn parts(&self) -> impl Iterator<Item = ScanRange> {
        let [first, second] = self.options.cuts();
        let cuts = [(0, first), (first, second), (second, u64::MAX)];
        cuts.into_iter()
            .filter(|(start, end)| start < end)
            .map(|(start, end)| ScanRange::Bounded { start, last: end - 1 })
    }

    fn check_rows_of_parts(&self, request: &SelectRequest, query: &Query) {
        let whole = SelectRequest { expression: query.to_string(), ..request.clone() };
        let Some((expected, end)) = self.outcome(&whole, 1) else { return };
        let mut rows = Vec::new();
        let mut error = None;
        for range in self.parts() {
            let request = SelectRequest { scan_range: Some(range), ..whole.clone() };
            let Some((part, end)) = self.outcome(&request, 1) else { return };
            rows.extend(part);
            error = end.err().map(|error| error.code);
            if error == Some(SelectErrorCode::UnsupportedScanRangeInput) {
                return;
            }
            if error.is_some() {
                break;
            }
        }
        let end = end.err().map(|error| error.code);
        let [first, second] = self.options.cuts();
        assert!(
            rows == expected && error == end,
            "{query}: {rows:?}, {error:?} is not {expected:?}, {end:?}, {first}, {second} of {self:?}"
        );
    }

    fn check_counts_of_parts(&self, request: &SelectRequest, query: &Query, expected: u64) {
        let mut rows = 0;
        for range in self.parts() {
            let request = SelectRequest { scan_range: Some(range), ..request.clone() };
            match self.count(&request, query, query.filter.clone()) {
                Some(count) => rows += count,
                None => return,
            }
        }
        assert_eq!(rows, expected, "rows of {self:?}");
    }
}

fn is_aggregate(query: &Query) -> bool {
    fn within(expr: &Expr) -> bool {
        matches!(expr, Expr::Aggregate { .. }) || expr.children().into_iter().any(within)
    }
    match &query.projection {
        _ if !query.group_by.is_empty() => true,
        Projection::Star => false,
        Projection::Items(items) => items.iter().any(|item| within(&item.expr)),
    }
}
