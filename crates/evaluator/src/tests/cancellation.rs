//! Tests that evaluations stop when they are cancelled.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::{Answer, Evaluation, request};
use crate::program::{Compiler, Machine};
use crate::statement::AggregateRows;
use crate::{Cancellation, MAX_RECORDS_BYTES, Sink, Stats};
use sluicegate_s3select::dialect::{Extras, ast::Projection, parse};
use sluicegate_s3select::error::{SelectError, SelectErrorCode as Code};
use sluicegate_s3select::request::SelectRequest;
use sluicegate_s3select::value::Timestamp;

fn prepare(request: &SelectRequest, object: &str, cancellation: &Cancellation) -> Evaluation {
    let object = Arc::new(object.as_bytes().to_vec());
    Evaluation::prepare(request, object).unwrap().with_cancellation(cancellation)
}

#[test]
fn a_statement_is_stopped_before_it_begins_with_the_reason() {
    let object = "1,some text\n".repeat(1 << 20);
    let cancelled = Cancellation::new();
    cancelled.clone().cancel();
    let late = Cancellation::at(Instant::now());
    for (cancellation, code) in
        [(cancelled, Code::InternalError), (late, Code::MaxOperatorsExceeded)]
    {
        for (expression, threads) in [
            ("SELECT * FROM S3Object", 1),
            ("SELECT * FROM S3Object", 2),
            ("SELECT COUNT(*) FROM S3Object WHERE CAST(_1 AS INT) = 1", 2),
            ("SELECT _1, COUNT(*) FROM S3Object GROUP BY _1", 1),
        ] {
            let request = SelectRequest { extras: Extras::ALL, ..request(expression) };
            let evaluation = prepare(&request, &object, &cancellation);
            let mut answer = Answer::default();
            let error = evaluation.run_on(threads, &mut answer).unwrap_err();
            assert_eq!((error.code, answer.bytes.len()), (code, 0), "{expression}");
            assert!(!error.message.contains("record"), "{error}");
        }
    }
}

/// A sink that cancels the evaluation at the first rows.
struct Cancelling {
    cancellation: Cancellation,
    bytes: Vec<u8>,
}

impl Sink for Cancelling {
    fn records(&mut self, bytes: bytes::Bytes) -> ControlFlow<()> {
        self.cancellation.cancel();
        self.bytes.extend_from_slice(&bytes);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn a_statement_that_runs_is_stopped_at_the_next_batch_or_message() {
    let object = "1,some text\n".repeat(1 << 20);
    let literal = "x".repeat(10_000);
    let long = format!("SELECT '{literal}' FROM S3Object");
    for expression in ["SELECT * FROM S3Object", &long] {
        let cancellation = Cancellation::new();
        let evaluation = prepare(&request(expression), &object, &cancellation);
        let mut sink = Cancelling { cancellation, bytes: Vec::new() };
        assert_eq!(evaluation.run(&mut sink).unwrap_err().code, Code::InternalError);
        // The rows of a batch that were in the buffer are still sent.
        assert!(sink.bytes.len() <= 2 * MAX_RECORDS_BYTES, "{}", sink.bytes.len());
    }
}

#[test]
fn an_operator_is_not_begun_when_it_is_time_to_stop() {
    let query = parse("SELECT 1 / 0 FROM S3Object").unwrap();
    let Projection::Items(items) = &query.projection else { unreachable!() };
    let mut schema = crate::json::JsonReader::open(
        &(Arc::new(Vec::new()) as _),
        sluicegate_s3select::request::JsonType::Lines,
        sluicegate_s3select::request::Compression::None,
        crate::scan_range::ByteRange::ALL,
        &query.from,
    )
    .1;
    let mut compiler = Compiler::new(&mut schema, &query.from, Timestamp::EPOCH);
    let node = compiler.compile(&items[0].expr).unwrap();
    let program = compiler.finish();
    let rows = AggregateRows { columns: Vec::new(), rows: 1 };
    let cancellation = Cancellation::new();
    let mut machine = Machine::default();
    machine.stop_with(cancellation.clone());
    let mut eval = || -> Result<(), SelectError> {
        let all = machine.start(1);
        machine.eval(&program, node, &all, &rows).map(drop)
    };
    assert_eq!(eval().unwrap_err().code, Code::ExternalEvalException);
    cancellation.cancel();
    assert_eq!(eval().unwrap_err().code, Code::InternalError);
}

/// Evaluates with a predicate that returns true from its `n`-th call on. Returns the result and the number of calls.
fn stopped_when_asked(threads: usize, n: usize) -> (Result<Stats, SelectError>, usize) {
    // Build different conditions over a single batch of rows.
    let terms: Vec<_> = (0..100).map(|n| format!("CAST(_1 AS INT) + {n} = -1")).collect();
    let sql = format!("SELECT COUNT(*) FROM S3Object WHERE {}", terms.join(" OR "));
    let asked = Arc::new(AtomicUsize::new(0));
    let asked_by = Arc::clone(&asked);
    let cancellation =
        Cancellation::when(move || asked_by.fetch_add(1, Ordering::Relaxed) + 1 >= n);
    let evaluation = prepare(&request(&sql), &"1\n".repeat(1000), &cancellation);
    let result = evaluation.with_part_bytes(500).run_on(threads, &mut Answer::default());
    (result, asked.load(Ordering::Relaxed))
}

#[test]
fn a_predicate_stops_an_evaluation_amid_a_batch() {
    let (done, asked) = stopped_when_asked(1, usize::MAX);
    assert!(done.is_ok());
    // The predicate is called for every operator of the batch.
    assert!(asked >= 300, "{asked}");
    for n in [1, 2, 50, 299] {
        let (stopped, asked) = stopped_when_asked(1, n);
        assert_eq!(stopped.unwrap_err().code, Code::InternalError);
        // After it returned true, the predicate is not called again.
        assert_eq!(asked, n);
    }
}

/// The pattern and the text are so long that one search takes a second.
#[test]
fn a_predicate_stops_an_evaluation_amid_a_search() {
    // Only the end of the text matches.
    let pattern = format!("%{}%", "a_a".repeat(9_000) + "b_b");
    let object = format!("{}bab,{pattern}\n", "a".repeat(900_000));
    for pattern in [&format!("'{pattern}'"), "_2"] {
        let asked = Arc::new(AtomicUsize::new(0));
        let asked_by = Arc::clone(&asked);
        let cancellation =
            Cancellation::when(move || asked_by.fetch_add(1, Ordering::Relaxed) + 1 >= 20);
        let sql = format!("SELECT COUNT(*) FROM S3Object WHERE _1 LIKE {pattern}");
        let evaluation = prepare(&request(&sql), &object, &cancellation);
        let stopped = evaluation.run(&mut Answer::default());
        assert_eq!(stopped.unwrap_err().code, Code::InternalError);
        assert_eq!(asked.load(Ordering::Relaxed), 20);
    }
}

#[test]
fn a_predicate_stops_all_threads_of_an_evaluation() {
    let threads = 3;
    assert!(stopped_when_asked(threads, usize::MAX).0.is_ok());
    for n in [1, 50, 299] {
        let (stopped, asked) = stopped_when_asked(threads, n);
        assert_eq!(stopped.unwrap_err().code, Code::InternalError);
        assert!(asked < n + threads, "{asked} after {n}");
    }
}
