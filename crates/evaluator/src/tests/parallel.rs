//! Tests that several threads give the same answer as one.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use proptest::prelude::*;

use super::{Answer, Evaluation, request, with_csv};
use crate::parallel::Budget;
use crate::{MAX_RECORDS_BYTES, Sink, Stats};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::error::SelectErrorCode;
use sluicegate_s3select::request::{
    FileHeaderInfo, InputFormat, JsonType, OutputSerialization, ScanRange, SelectRequest,
};
use sluicegate_s3select::value::Timestamp;

type Outcome = (String, Result<Stats, (SelectErrorCode, String)>);

/// Returns the answer of one thread, and that of `threads` threads over parts of `part_bytes` bytes, with a budget
/// for rows that wait for their turn.
fn answers(
    request: &SelectRequest,
    object: &str,
    threads: usize,
    part_bytes: u64,
    budget: usize,
) -> [Outcome; 2] {
    let budget = Arc::new(Budget::new(budget));
    let outcomes = [1, threads].map(|threads| {
        let mut answer = Answer::default();
        let object = Arc::new(object.as_bytes().to_vec());
        let evaluated = Evaluation::prepare_at(request, object, Timestamp::EPOCH);
        let stats = evaluated.and_then(|evaluation| {
            let evaluation = evaluation.with_part_bytes(part_bytes).with_max_groups(7);
            evaluation.with_budget(&budget).run_on(threads, &mut answer)
        });
        let stats = stats.map_err(|error| (error.code, error.message.into_owned()));
        (String::from_utf8(answer.bytes).unwrap(), stats)
    });
    assert_eq!(budget.taken(), 0);
    outcomes
}

const STATEMENTS: [&str; 10] = [
    "SELECT * FROM S3Object s",
    "SELECT s._2, UPPER(s._1) FROM S3Object s WHERE s._2 > 'a'",
    "SELECT CAST(s._1 AS INT) FROM S3Object s",
    "SELECT COUNT(*), COUNT(s._2), MIN(s._2), MAX(s._1) FROM S3Object s",
    "SELECT SUM(CAST(s._1 AS INT)), AVG(CAST(s._1 AS DECIMAL)) FROM S3Object s WHERE s._1 <> 'x'",
    "SELECT SUM(CASE WHEN s._2 = 'a' THEN 1 END), SUM(CASE WHEN s._2 = 'b' THEN 1 END) FROM S3Object s",
    "SELECT SUM(CAST(s._1 AS FLOAT)) FROM S3Object s",
    "SELECT s._1 FROM S3Object s LIMIT 3",
    "SELECT s._2, COUNT(*), SUM(CAST(s._1 AS INT)) FROM S3Object s GROUP BY s._2",
    "SELECT s._1, MIN(CAST(s._1 AS INT)), COUNT(s._2) FROM S3Object s GROUP BY s._1",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn csv(
        records in prop::collection::vec(
            prop_oneof![
                60 => "[0-9]{1,3},[abc]{0,2}", 4 => Just("\"7\",\"b\"".to_owned()),
                2 => Just("8,\"a\"\"b\"".to_owned()), 2 => Just("#,no".to_owned()),
                1 => Just("x,y".to_owned()), 1 => Just("\"open".to_owned()), 1 => Just(String::new()),
            ],
            0..60,
        ),
        delimiter in prop_oneof![Just("\n"), Just("\r\n")],
        terminated: bool,
        header in prop_oneof![
            Just(FileHeaderInfo::None), Just(FileHeaderInfo::Ignore), Just(FileHeaderInfo::Use)
        ],
        statement in prop::sample::select(STATEMENTS.to_vec()),
        json_output: bool,
        start in prop_oneof![2 => Just(None), 1 => (0_u64..100).prop_map(Some)],
        threads in 2_usize..4,
        part_bytes in 1_u64..80,
        budget in prop_oneof![Just(0), 1_usize..100, Just(1 << 20)],
    ) {
        let mut object = records.join(delimiter);
        if terminated {
            object.push_str(delimiter);
        }
        let mut request = with_csv(statement, |csv| {
            csv.record_delimiter = delimiter.to_owned();
            csv.header = header;
        });
        request.extras = Extras::ALL;
        request.scan_range = start.map(|start| ScanRange::From { start });
        if json_output {
            request.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
        }
        let [one, several] = answers(&request, &object, threads, part_bytes, budget);
        prop_assert_eq!(one, several);
    }

    #[test]
    fn json_lines(
        lines in prop::collection::vec(
            prop_oneof![
                20 => "\\{\"_1\":\"[0-9]\",\"_2\":\"[abc]\"\\}", 1 => Just("{\"_1\":".to_owned()),
                2 => Just(String::new()), 1 => Just("{\"_1\":\"x\"}".to_owned()),
            ],
            0..40,
        ),
        statement in prop::sample::select(STATEMENTS.to_vec()),
        start in prop_oneof![2 => Just(None), 1 => (0_u64..100).prop_map(Some)],
        threads in 2_usize..4,
        part_bytes in 1_u64..80,
        budget in prop_oneof![Just(0), 1_usize..100, Just(1 << 20)],
    ) {
        let mut request = request(statement);
        request.input.format = InputFormat::Json(JsonType::Lines);
        request.extras = Extras::ALL;
        request.scan_range = start.map(|start| ScanRange::From { start });
        let [one, several] = answers(&request, &lines.join("\n"), threads, part_bytes, budget);
        prop_assert_eq!(one, several);
    }
}

#[test]
fn only_what_can_be_cut_is() {
    let object = "1,2\n".repeat(6 << 20);
    let divisible = |request: &SelectRequest| {
        let source = Arc::new(object.clone().into_bytes());
        Evaluation::prepare(request, source).unwrap().is_divisible()
    };
    assert!(divisible(&request("SELECT MAX(_1) FROM S3Object")));
    assert!(!divisible(&request("SELECT _1 FROM S3Object LIMIT 1")));
    assert!(!divisible(&request("SELECT SUM(CAST(_1 AS FLOAT)) FROM S3Object")));
    let grouped = |item: &str| SelectRequest {
        extras: Extras::ALL,
        ..request(&format!("SELECT _1, {item} FROM S3Object GROUP BY _1"))
    };
    assert!(divisible(&grouped("SUM(CAST(_2 AS INT))")));
    assert!(!divisible(&grouped("SUM(CAST(_2 AS FLOAT))")) && !divisible(&grouped("MIN(_2)")));
    let quoted =
        |csv: &mut sluicegate_s3select::request::CsvInput| csv.allow_quoted_record_delimiter = true;
    assert!(!divisible(&with_csv("SELECT _1 FROM S3Object", quoted)));
}

#[test]
fn a_gone_client_stops_all_threads() {
    let object = "some text that is returned,1\n".repeat(1_000_000);
    let source = Arc::new(object.into_bytes());
    let evaluation = Evaluation::prepare(&request("SELECT * FROM S3Object"), source).unwrap();
    assert!(evaluation.is_divisible());
    let mut answer = Answer { patience: Some(2), ..Answer::default() };
    let budget = Arc::new(Budget::new(8 << 20));
    evaluation.with_budget(&budget).run_on(2, &mut answer).unwrap();
    assert_eq!((answer.messages, budget.taken()), (2, 0));
}

/// A client that reads nothing until the gate opens, and then disconnects.
struct Stalled<'a> {
    gate: &'a RwLock<()>,
}

impl Sink for Stalled<'_> {
    fn records(&mut self, _: bytes::Bytes) -> ControlFlow<()> {
        drop(self.gate.read());
        ControlFlow::Break(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn answers_that_nobody_reads_share_a_budget_and_hold_up_no_other() {
    const STALLED: usize = 12;
    const THREADS: usize = 3;
    let object = Arc::new("some text that is returned,1\n".repeat(300_000).into_bytes());
    let prepare = || {
        let source = Arc::clone(&object);
        Evaluation::prepare(&request("SELECT * FROM S3Object"), source).unwrap()
    };
    // The budget is less than a message for each queue, or more.
    for bytes in [0, 1 << 20, 16 << 20] {
        let budget = Arc::new(Budget::new(bytes));
        let gate = RwLock::new(());
        let finished = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let closed = gate.write();
            for _ in 0..STALLED {
                scope.spawn(|| {
                    let sink = &mut Stalled { gate: &gate };
                    prepare().with_budget(&budget).run_on(THREADS, sink).unwrap();
                    assert!(finished.load(Ordering::Relaxed));
                });
            }
            // Each queue takes its share up to less than a message.
            let shares = STALLED * THREADS;
            let share = bytes / (shares + 1);
            let least = (shares * share.saturating_sub(MAX_RECORDS_BYTES)).max(bytes.min(1));
            for _ in 0..60_000 {
                if budget.taken() >= least {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(budget.taken() >= least, "{} of {least}", budget.taken());
            let mut answer = Answer::default();
            prepare().with_budget(&budget).run_on(THREADS, &mut answer).unwrap();
            assert!(answer.bytes == *object);
            finished.store(true, Ordering::Relaxed);
            drop(closed);
        });
        assert!(budget.peak() <= bytes, "{}", budget.peak());
        assert_eq!(budget.taken(), 0);
    }
}
