//! Questions about the request and the answer around the statement, and about their maximum lengths.

use super::question::{Question, Request, Right, Shape, Topic};
use super::samples::Sample;

const T: Topic = Topic::Protocol;
const PLAIN: Shape = Shape::PLAIN;
const PAIR: &str = "SELECT s._1, s._2 FROM S3Object s";
/// The request limit for a statement of maximum length in which every character is escaped.
const REQUEST_BYTES: usize = 2 << 20;

pub(super) const TABLE: &[Question] = &[
    long("a statement of 2 000 bytes", 2_000, |l, way| {
        l.profile.max_expression_bytes = if way.is_some() { 2_000 } else { 0 };
    }),
    long("a statement of 64 KiB", 64 << 10, |l, way| {
        if way.is_some() {
            l.profile.max_expression_bytes = 64 << 10;
            l.profile.max_request_bytes = REQUEST_BYTES;
        }
    }),
    long("a statement of 256 KiB", 256 << 10, |l, way| {
        if way.is_some() {
            l.profile.max_expression_bytes = 256 << 10;
        }
    }),
    Question::keys(T, "& and \" in a statement", "s._3 = 'so, \"&\" so'", "3", |l, way| {
        l.profile.all_xml_entities = way.is_some();
    }),
    Question::statement(
        T,
        "a ScanRange takes the records that begin in it",
        Sample::Ranges,
        PAIR,
        "C,D",
        |l, way| {
            l.profile.scan_ranges = way.is_some();
        },
    )
    .shaped(Shape { range: Some((1, 4)), ..PLAIN }),
    Question::statement(
        T,
        "a ScanRange from the first byte",
        Sample::Ranges,
        PAIR,
        "A,B",
        |l, way| {
            l.profile.scan_ranges &= way.is_some();
        },
    )
    .shaped(Shape { range: Some((0, 0)), ..PLAIN }),
    Question::statement(
        T,
        "a ScanRange without the begin of a record",
        Sample::Ranges,
        PAIR,
        "",
        |l, way| {
            l.profile.scan_ranges &= way.is_some();
        },
    )
    .shaped(Shape { range: Some((5, 7)), ..PLAIN }),
    Question::statement(
        T,
        "JSON answers",
        Sample::Table,
        "SELECT s._1 AS k, s._3 AS t FROM S3Object s WHERE s._1 != '3'",
        "{\"k\":\"1\",\"t\":\"\"} / {\"k\":\"2\",\"t\":\"it's\"}",
        |l, way| {
            l.profile.json_output = way.is_some();
        },
    )
    .shaped(Shape { json: true, ..PLAIN }),
    Question::statement(
        T,
        "a row of one empty field",
        Sample::Table,
        "SELECT s._3 FROM S3Object s WHERE s._1 != '3'",
        "",
        |l, way| {
            l.profile.quotes_lone_empty_field = way == Some(0);
        },
    )
    .right(Right::Ways(&[
        ("\"\" / it's", "is sent in quotes"),
        (" / it's", "is sent as a blank line"),
    ])),
    Question::statement(
        T,
        "Progress events",
        Sample::Table,
        "SELECT COUNT(*) FROM S3Object s",
        "3",
        |l, way| {
            l.profile.progress = way.is_some();
        },
    )
    .shaped(Shape { progress: true, ..PLAIN }),
];

const fn long(
    feature: &'static str,
    bytes: usize,
    teaches: fn(&mut super::verdicts::Lessons, Option<usize>),
) -> Question {
    let question = Question::keys(T, feature, "", "2", teaches);
    Question { ask: Request::Long(bytes), ..question }
}
