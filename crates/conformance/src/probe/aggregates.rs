//! Questions about aggregate functions.

use super::question::{Question, Right, Shape, Topic};
use super::samples::Sample;
use sluicegate_s3select::dialect::Extras;

const T: Topic = Topic::Aggregates;

pub(super) const TABLE: &[Question] = &[
    Question::statement(
        T,
        "COUNT(*)",
        Sample::Table,
        "SELECT COUNT(*) FROM S3Object s WHERE s._1 != '2'",
        "2",
        |l, way| {
            l.count.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "COUNT(*) of no rows",
        Sample::Table,
        "SELECT COUNT(*) FROM S3Object s WHERE s._1 = 'none'",
        "0",
        |l, way| {
            l.count.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "COUNT(x) passes over absent values",
        Sample::Ragged,
        "SELECT COUNT(s._3) FROM S3Object s",
        "2",
        |l, way| {
            l.aggregates.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "SUM, MIN, MAX of whole numbers",
        Sample::Table,
        "SELECT SUM(CAST(s._1 AS INT)), MIN(CAST(s._4 AS INT)), MAX(CAST(s._1 AS INT)) FROM S3Object s",
        "6,-7,3",
        |l, way| {
            l.aggregates.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "MAX beyond 2^53",
        Sample::Table,
        "SELECT MAX(CAST(s._4 AS INT)) FROM S3Object s",
        "9007199254740993",
        |l, way| {
            l.aggregates.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "SUM beyond 2^53",
        Sample::Sums,
        "SELECT SUM(CAST(s._1 AS INT)) FROM S3Object s",
        "18014398509481987",
        |l, way| {
            l.aggregates.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "SUM beyond 64 bits is an error",
        Sample::Overflow,
        "SELECT SUM(CAST(s._1 AS INT)) FROM S3Object s",
        "",
        |l, way| {
            l.aggregates.also(way.is_some());
        },
    )
    .right(Right::Error),
    Question::statement(
        T,
        "SUM of no rows is NULL",
        Sample::Table,
        "SELECT SUM(CAST(s._4 AS INT)), COUNT(*) FROM S3Object s WHERE s._1 = 'none'",
        ",0",
        |l, way| {
            l.aggregates.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "SUM of decimals",
        Sample::Table,
        "SELECT SUM(CAST(s._5 AS DECIMAL)) FROM S3Object s",
        "4.25",
        |l, way| {
            l.beyond.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "AVG",
        Sample::Table,
        "SELECT AVG(CAST(s._1 AS INT)) FROM S3Object s WHERE s._1 != '3'",
        "1.5",
        |l, way| {
            l.beyond.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "MIN, MAX of text",
        Sample::Table,
        "SELECT MIN(s._2), MAX(s._2) FROM S3Object s",
        "aXaYb,éaXXX",
        |l, way| {
            l.beyond.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "an aggregate of CASE",
        Sample::Table,
        "SELECT SUM(CASE WHEN s._1 = '2' THEN 10 ELSE 1 END) FROM S3Object s",
        "12",
        |l, way| {
            l.beyond.also(way.is_some());
        },
    ),
    Question::statement(
        T,
        "GROUP BY",
        Sample::Table,
        "SELECT s._1 = '2', COUNT(*), SUM(CAST(s._1 AS INT)), MIN(s._2) FROM S3Object s GROUP BY s._1 = '2'",
        "false,2,4,abc / true,1,2,aXaYb",
        |l, way| {
            l.profile.syntax.group_by = way.is_some();
        },
    )
    .shaped(Shape { extras: Extras { groups: true, bloom: false }, ..Shape::PLAIN }),
    Question::statement(
        T,
        "a function of an aggregate",
        Sample::Table,
        "SELECT CAST(SUM(CAST(s._1 AS INT)) AS STRING) FROM S3Object s",
        "6",
        |l, way| {
            l.profile.syntax.nested_aggregates = way.is_some();
        },
    ),
];
