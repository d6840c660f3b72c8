//! Cases for compressed objects, and for parts of objects.

use super::Expected::{Error, Rows};
use super::Input::{Csv, CsvUse, Document, Lines};
use super::{Case, Expected, Input, Storage, csv_case};
use sluicegate_s3select::error::SelectErrorCode::{
    InvalidCompressionFormat, InvalidScanRange, TruncatedInput, UnsupportedScanRangeInput,
};
use sluicegate_s3select::request::ScanRange;

const ALL: &str = "SELECT * FROM S3Object";
const COUNT: &str = "SELECT COUNT(*) FROM S3Object";
const COMPRESSED: &str = "a compressed object has the rows of what it holds";
const PADDED: &str = "zeros may follow what is compressed, ours";
const TRUNCATED: &str =
    "an object that ends within its compression is an error, not an answer, ours";
const RANGES: &str = "a record belongs to the scan range that its first byte is in";

/// The object of the service's own example.
const LETTERS: &str = "A,B\nC,D\nD,E\nE,F\nG,H\nI,J\n";
const LINES: &str = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n";

pub(super) const CASES: &[Case] = &[
    stored(Storage::Gzip, COMPRESSED, ALL, Csv, Rows(LETTERS)),
    stored(Storage::Gzip, COMPRESSED, "SELECT A FROM S3Object LIMIT 1", CsvUse, Rows("C\n")),
    stored(Storage::Gzip, COMPRESSED, COUNT, Csv, Rows("6\n")),
    stored(Storage::GzipMembers, COMPRESSED, COUNT, Csv, Rows("12\n")),
    stored(Storage::GzipPadded, PADDED, COUNT, Csv, Rows("12\n")),
    stored(Storage::GzipPadded, PADDED, "SELECT _2 FROM S3Object LIMIT 1", Csv, Rows("B\n")),
    stored(Storage::GzipTruncated, TRUNCATED, ALL, Csv, Error(TruncatedInput)),
    stored(Storage::GzipTruncated, TRUNCATED, COUNT, Csv, Error(TruncatedInput)),
    stored(Storage::GzipWithoutTrailer, TRUNCATED, COUNT, Csv, Error(TruncatedInput)),
    stored(Storage::NotGzip, COMPRESSED, COUNT, Csv, Error(InvalidCompressionFormat)),
    ranged(0, 0, Csv, LETTERS, Rows("A,B\n")),
    ranged(1, 4, Csv, LETTERS, Rows("C,D\n")),
    ranged(4, 4, Csv, LETTERS, Rows("C,D\n")),
    ranged(5, 7, Csv, LETTERS, Rows("")),
    ranged(0, 100, Csv, LETTERS, Rows(LETTERS)),
    ranged(1000, 2000, Csv, LETTERS, Rows("")),
    ranged(1, 8, Lines, LINES, Rows("2\n")),
    ranged(5, 4, Csv, LETTERS, Error(InvalidScanRange)),
    ranged(0, 4, Document, LINES, Error(UnsupportedScanRangeInput)),
    in_range(ScanRange::From { start: 17 }, Csv, LETTERS, Rows("I,J\n")),
    in_range(ScanRange::Suffix { length: 5 }, Csv, LETTERS, Rows("I,J\n")),
];

/// Creates a case about the letters.
const fn stored(
    storage: Storage,
    rule: &'static str,
    statement: &'static str,
    input: Input,
    expected: Expected,
) -> Case {
    Case { storage, ..csv_case(rule, statement, input, LETTERS, expected) }
}

const fn ranged(
    start: u64,
    last: u64,
    input: Input,
    object: &'static str,
    expected: Expected,
) -> Case {
    in_range(ScanRange::Bounded { start, last }, input, object, expected)
}

const fn in_range(
    range: ScanRange,
    input: Input,
    object: &'static str,
    expected: Expected,
) -> Case {
    let statement = match input {
        Lines | Document => "SELECT s.a FROM S3Object s",
        _ => ALL,
    };
    Case { scan_range: Some(range), ..csv_case(RANGES, statement, input, object, expected) }
}
