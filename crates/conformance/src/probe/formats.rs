//! Questions about the formats of objects.

use super::question::{Question, Right, Shape, Topic};
use super::samples::Sample;
use sluicegate_s3select::capabilities::DataFormat;

const T: Topic = Topic::Formats;
const PLAIN: Shape = Shape::PLAIN;
const COUNT: &str = "SELECT COUNT(*) FROM S3Object s";

pub(super) const TABLE: &[Question] = &[
    Question::statement(
        T,
        "CSV",
        Sample::Table,
        "SELECT s._1, s._2, s._4 FROM S3Object s",
        "1,abc,5 / 2,aXaYb,9007199254740993 / 3,éaXXX,-7",
        |l, way| l.format(DataFormat::Csv, way),
    ),
    Question::statement(
        T,
        "CSV fields come back as they are",
        Sample::Table,
        "SELECT s._3, s._5, s._6 FROM S3Object s",
        "\"\",\"1.5\",\"2020-01-31\" / \"it's\",\"2.5\",\"2020-02-29\" / \"so, \"\"&\"\" so\",\"0.25\",\"1999-12-31\"",
        |l, way| l.project.also(way.is_some()),
    )
    .shaped(Shape { quote_all: true, ..PLAIN }),
    Question::statement(
        T,
        "CSV with named columns",
        Sample::Named,
        "SELECT s.\"size\" FROM S3Object s WHERE s.\"name\" = 'def'",
        "2",
        |l, way| l.profile.syntax.quoted_identifiers = way.is_some(),
    )
    .shaped(Shape { named: true, ..PLAIN }),
    Question::statement(
        T,
        "CSV rows that begin with #",
        Sample::Hash,
        "SELECT s._2 FROM S3Object s",
        "a / b",
        |l, way| l.project.also(way.is_some()),
    ),
    Question::statement(
        T,
        "CSV with line breaks in quotes",
        Sample::Breaks,
        COUNT,
        "6000",
        |l, way| l.profile.quoted_record_delimiters = way.is_some(),
    )
    .shaped(Shape { quoted_breaks: true, ..PLAIN }),
    Question::statement(
        T,
        "CSV rows with too few fields",
        Sample::Ragged,
        "SELECT s._1 FROM S3Object s WHERE s._3 IS NULL",
        "2",
        |_, _| {},
    ),
    Question::statement(T, "CSV, gzip", Sample::Gzip, COUNT, "3", |l, way| {
        l.profile.gzip = way.is_some();
    }),
    Question::statement(
        T,
        "half a gzip object is an error",
        Sample::HalfGzip,
        COUNT,
        "",
        |l, way| l.profile.gzip &= way.is_some(),
    )
    .right(Right::Error),
    Question::statement(T, "CSV, bzip2", Sample::Bzip2, COUNT, "3", |l, way| {
        l.profile.bzip2 = way.is_some();
    }),
    Question::statement(
        T,
        "JSON lines",
        Sample::Lines,
        "SELECT s.k, s.t FROM S3Object s WHERE s.k = 1",
        "{\"k\":1,\"t\":\"abc\"}",
        |l, way| l.format(DataFormat::JsonLines, way),
    )
    .shaped(Shape { json: true, ..PLAIN }),
    Question::statement(
        T,
        "JSON lines: whole numbers beyond 2^53",
        Sample::Lines,
        "SELECT s.big FROM S3Object s WHERE s.k = 1",
        "{\"big\":9007199254740993}",
        |l, way| l.json_ints.also(way.is_some()),
    )
    .shaped(Shape { json: true, ..PLAIN }),
    Question::statement(
        T,
        "JSON lines: a value that is absent is NULL",
        Sample::Lines,
        "SELECT s.k FROM S3Object s WHERE s.n IS NULL",
        "{\"k\":1} / {\"k\":2}",
        |l, way| l.json_nulls.also(way.is_some()),
    )
    .shaped(Shape { json: true, ..PLAIN }),
    Question::statement(
        T,
        "JSON paths into values",
        Sample::Lines,
        "SELECT s.o.a[0] AS v FROM S3Object s",
        "{\"v\":10} / {\"v\":30}",
        |l, way| l.profile.syntax.json_paths = way.is_some(),
    )
    .shaped(Shape { json: true, ..PLAIN }),
    Question::statement(
        T,
        "JSON document, with a path in FROM",
        Sample::Document,
        "SELECT s.k FROM S3Object[*].items[*] s",
        "{\"k\":1} / {\"k\":2}",
        |l, way| l.format(DataFormat::JsonDocument, way),
    )
    .shaped(Shape { json: true, ..PLAIN }),
    Question::statement(
        T,
        "Parquet",
        Sample::Parquet,
        "SELECT s.\"k\", s.\"t\" FROM S3Object s WHERE s.\"k\" < 3",
        "1,abc / 2,\"d,é\"",
        |l, way| l.format(DataFormat::Parquet, way),
    ),
    Question::statement(
        T,
        "Parquet: text and its NULLs",
        Sample::Parquet,
        "SELECT s.\"k\", s.\"t\" FROM S3Object s",
        "{\"k\":1,\"t\":\"abc\"} / {\"k\":2,\"t\":\"d,é\"} / {\"k\":3,\"t\":null}",
        |l, way| l.parquet_text.also(way.is_some()),
    )
    .shaped(Shape { json: true, ..PLAIN }),
    Question::statement(
        T,
        "Parquet: whole numbers beyond 2^53",
        Sample::Parquet,
        "SELECT s.\"big\" FROM S3Object s WHERE s.\"k\" = 1",
        "9007199254740993",
        |l, way| l.parquet_ints.also(way.is_some()),
    ),
    Question::statement(
        T,
        "Parquet: decimals",
        Sample::Parquet,
        "SELECT s.\"d\" FROM S3Object s",
        "1.50 / -2.25 / 0.07",
        |l, way| l.beyond.also(way.is_some()),
    ),
    Question::statement(
        T,
        "Parquet: days",
        Sample::Parquet,
        "SELECT s.\"k\" FROM S3Object s WHERE s.\"day\" < CAST('2020-01-02' AS TIMESTAMP)",
        "1 / 3",
        |l, way| l.beyond.also(way.is_some()),
    ),
    Question::statement(
        T,
        "Parquet: a BOOL column is a condition",
        Sample::Parquet,
        "SELECT s.\"k\" FROM S3Object s WHERE s.\"b\"",
        "1",
        |l, way| l.profile.syntax.bare_bool = way.is_some(),
    ),
];
