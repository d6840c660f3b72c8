//! Scan ranges: every record belongs to the range that its first byte is in.

use proptest::prelude::*;

use super::{check, check_error, request, request_with_header, run, with_csv};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::{
    Compression, FileHeaderInfo, InputFormat, JsonType, ScanRange, SelectRequest,
};

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
    let mut lines = request("SELECT s.a FROM S3Object s");
    lines.input.format = InputFormat::Json(JsonType::Lines);
    let csv = request("SELECT _1 FROM S3Object");
    for (request, object) in [(csv, "\u{feff}1\n2\n"), (lines, "\u{feff}{\"a\":1}\n{\"a\":2}\n")] {
        for cut in 1..4 {
            let head = ScanRange::Bounded { start: 0, last: cut - 1 };
            check(&ranged(request.clone(), head), object, "1\n");
            check(&ranged(request.clone(), ScanRange::From { start: cut }), object, "2\n");
        }
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
}
