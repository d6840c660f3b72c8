//! Tests scan ranges: every record belongs to the range that its first byte is in.

use std::sync::Arc;

use proptest::prelude::*;

use super::generator::{Generator, Kind, object};
use super::{Answer, Evaluation, check, check_error, request, request_with_header, run, with_csv};
use sluicegate_s3select::dialect;
use sluicegate_s3select::dialect::ast::Aggregate::{Count, Max, Min, Sum};
use sluicegate_s3select::dialect::ast::{Expr, Projection, ProjectionItem, Query};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{
    Compression, FileHeaderInfo, InputFormat, JsonType, ScanRange, SelectRequest,
};
use sluicegate_s3select::value::Timestamp;

fn ranged(mut request: SelectRequest, range: ScanRange) -> SelectRequest {
    request.scan_range = Some(range);
    request
}

#[test]
fn the_documented_example() {
    let object = "A,B\nC,D\nD,E\nE,F\nG,H\nI,J\n";
    let all = || request("SELECT * FROM S3Object");
    let bounded = |start, last| ScanRange::Bounded { start, last };
    check(&ranged(all(), bounded(1, 4)), object, "C,D\n");
    check(&ranged(all(), bounded(0, 0)), object, "A,B\n");
    check(&ranged(all(), bounded(4, 4)), object, "C,D\n");
    check(&ranged(all(), bounded(5, 7)), object, "");
    check(&ranged(all(), ScanRange::From { start: 17 }), object, "I,J\n");
    check(&ranged(all(), ScanRange::Suffix { length: 4 }), object, "I,J\n");
    check(&ranged(all(), ScanRange::Suffix { length: 5 }), object, "I,J\n");
    check(&ranged(all(), ScanRange::From { start: 1000 }), object, "");
}

#[test]
fn a_header_belongs_to_no_range() {
    let object = "# about\nname,n\nann,1\nbob,2\n";
    for (start, expected) in
        [(0, "ann\nbob\n"), (1, "ann\nbob\n"), (8, "ann\nbob\n"), (16, "bob\n")]
    {
        let request = request_with_header("SELECT name FROM S3Object");
        check(&ranged(request, ScanRange::From { start }), object, expected);
    }
    let request = request_with_header("SELECT name FROM S3Object");
    check(&ranged(request, ScanRange::Bounded { start: 0, last: 9 }), object, "");
}

#[test]
fn a_byte_order_mark_belongs_to_the_first_record() {
    let (request, object) = (request("SELECT _1 FROM S3Object"), "\u{feff}1\n2\n");
    for cut in 1..4 {
        let head = ScanRange::Bounded { start: 0, last: cut - 1 };
        check(&ranged(request.clone(), head), object, "1\n");
        check(&ranged(request.clone(), ScanRange::From { start: cut }), object, "2\n");
    }
}

#[test]
fn unsplittable_objects_have_no_ranges() {
    let range = ScanRange::From { start: 1 };
    let quoted = with_csv("SELECT * FROM S3Object", |csv| csv.allow_quoted_record_delimiter = true);
    check_error(&ranged(quoted, range), "a\n", Code::UnsupportedScanRangeInput, "");
    let mut zipped = request("SELECT * FROM S3Object");
    zipped.input.compression = Compression::Gzip;
    check_error(&ranged(zipped, range), "a\n", Code::UnsupportedScanRangeInput, "");
    let backwards = ScanRange::Bounded { start: 3, last: 2 };
    let all = request("SELECT * FROM S3Object");
    check_error(&ranged(all, backwards), "a\n", Code::InvalidScanRange, "");
}

#[test]
fn only_the_range_is_counted() {
    let object = "0123456789\n".repeat(100_000);
    let all = request("SELECT COUNT(*) FROM S3Object");
    let (answer, stats) =
        run(&ranged(all, ScanRange::Bounded { start: 0, last: 109 }), object).unwrap();
    assert_eq!(answer, b"10\n");
    assert_eq!((stats.bytes_scanned, stats.bytes_processed), (110, 110));
}

/// Returns the answer of a statement, and its error if it fails.
fn outcome(request: &SelectRequest, object: &str) -> (String, Result<(), Code>) {
    let (source, now) = (Arc::new(object.as_bytes().to_vec()), Timestamp::EPOCH);
    let mut answer = Answer::default();
    let evaluated = Evaluation::prepare_at(request, source, now);
    let result = evaluated.and_then(|evaluation| evaluation.run(&mut answer));
    (String::from_utf8(answer.bytes).unwrap(), result.map(drop).map_err(|error| error.code))
}

/// Returns the ranges between cuts, which cover the whole object.
fn between(mut cuts: Vec<u64>, object: &str) -> Vec<ScanRange> {
    cuts.extend([0, (object.len() as u64).max(1)]);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|cut| ScanRange::Bounded { start: cut[0], last: cut[1] - 1 }).collect()
}

fn lines_or_csv(query: &Query, json: bool) -> SelectRequest {
    let mut request = request(&query.to_string());
    if json {
        request.input.format = InputFormat::Json(JsonType::Lines);
    }
    request
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_split_gives_every_record_once(
        records in prop::collection::vec("[ab,#]{0,12}", 0..40),
        delimiter in prop_oneof![Just("\n"), Just("\r\n"), Just("|\n"), Just(";")],
        terminated: bool,
        header: bool,
        mut cuts in prop::collection::vec(0usize..600, 0..8),
    ) {
        let mut object = records.join(delimiter);
        if terminated {
            object.push_str(delimiter);
        }
        let request = || with_csv("SELECT * FROM S3Object", |csv| {
            csv.record_delimiter = delimiter.to_owned();
            csv.header = if header { FileHeaderInfo::Ignore } else { FileHeaderInfo::None };
        });
        let (whole, _) = run(&request(), object.clone()).unwrap();
        cuts.extend([0, object.len().max(600)]);
        cuts.sort_unstable();
        cuts.dedup();
        let mut parts = Vec::new();
        for cut in cuts.windows(2) {
            let range = ScanRange::Bounded { start: cut[0] as u64, last: cut[1] as u64 - 1 };
            parts.extend(run(&ranged(request(), range), object.clone()).unwrap().0);
        }
        prop_assert_eq!(String::from_utf8(parts), String::from_utf8(whole));
    }

    #[test]
    fn parts_together_answer_as_the_whole(
        seed: u64, json: bool, cuts in prop::collection::vec(0_u64..500, 0..6),
    ) {
        let mut generator = Generator::new(seed);
        let (mut query, rows) = (generator.query(), generator.rows());
        query.group_by.clear();
        let request = lines_or_csv(&query, json);
        let Projection::Items(items) = &query.projection else { unreachable!() };
        let is_aggregate = items.iter().any(|it| matches!(it.expr, Expr::Aggregate { .. }));
        if is_aggregate || dialect::check(&query, &request.input).is_err() {
            return Ok(());
        }
        let object = object(&rows, json);
        let whole = outcome(&request, &object);
        let mut parts = (String::new(), Ok(()));
        for range in between(cuts, &object) {
            let (answer, result) = outcome(&ranged(lines_or_csv(&query, json), range), &object);
            let answered = answer.lines().count() as u64;
            query.limit = query.limit.map(|limit| limit - answered);
            parts.0 += &answer;
            parts.1 = result;
            if result.is_err() {
                break;
            }
        }
        prop_assert_eq!(parts, whole, "{} over\n{}", request.expression, object);
    }

    #[test]
    fn aggregates_of_parts_add_up_to_those_of_the_whole(
        seed: u64, json: bool, cuts in prop::collection::vec(0_u64..500, 0..6),
    ) {
        let mut generator = Generator::new(seed);
        let (mut query, rows) = (generator.query(), generator.rows());
        query.group_by.clear();
        let functions: Vec<_> =
            (0..3).map(|_| generator.pick(&[Count, Sum, Min, Max])).collect();
        let items = functions.iter().map(|function| {
            let arg = Some(Box::new(generator.expr(Kind::Int, 2)));
            let expr = Expr::Aggregate { function: *function, arg };
            ProjectionItem { expr, alias: None }
        });
        query.projection = Projection::Items(items.collect());
        query.limit = None;
        let request = lines_or_csv(&query, json);
        if dialect::check(&query, &request.input).is_err() {
            return Ok(());
        }
        let object = object(&rows, json);
        let numbers = |answer: &str| -> Vec<Option<i128>> {
            answer.trim_end_matches('\n').split(',').map(|field| field.parse().ok()).collect()
        };
        let mut together: Vec<Option<i128>> = vec![None; functions.len()];
        let mut failed = Ok(());
        for range in between(cuts, &object) {
            let (answer, result) = outcome(&ranged(request.clone(), range), &object);
            failed = result;
            if failed.is_err() {
                break;
            }
            for ((function, sum), part) in functions.iter().zip(&mut together).zip(numbers(&answer)) {
                *sum = match (*sum, part) {
                    (None, one) | (one, None) => one,
                    (Some(a), Some(b)) => Some(match function {
                        Min => a.min(b),
                        Max => a.max(b),
                        _ => a + b,
                    }),
                };
            }
        }
        let fits = together.iter().flatten().all(|sum| i64::try_from(*sum).is_ok());
        match outcome(&request, &object) {
            (answer, Ok(())) if failed.is_ok() => {
                prop_assert!(fits);
                prop_assert_eq!(numbers(&answer), together, "{} over\n{}", request.expression, object);
            }
            // A sum may overflow in a part and not in the whole, or the other way round.
            (_, whole) => {
                let sums = [failed, whole].contains(&Err(Code::IntegerOverflow));
                prop_assert!(sums || whole == failed, "{:?}, {:?}: {}", whole, failed, object);
            }
        }
    }
}
