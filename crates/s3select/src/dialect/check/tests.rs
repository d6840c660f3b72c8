use super::*;
use crate::dialect::{Extras, parse_with};
use crate::request::{Compression, CsvInput, FileHeaderInfo, InputFormat, JsonType};

fn csv(header: FileHeaderInfo) -> InputFormat {
    InputFormat::Csv(CsvInput { header, ..CsvInput::default() })
}

#[track_caller]
fn verdict(text: &str, format: InputFormat) -> String {
    let query = parse_with(text, Extras::ALL).unwrap_or_else(|error| panic!("{text}: {error}"));
    let input = InputSerialization { format, compression: Compression::None };
    check(&query, &input).map_or_else(|error| error.code.to_string(), |()| "ok".to_owned())
}

/// Checks a statement over a CSV object without a header, over JSON and over Parquet.
#[track_caller]
fn check_all(text: &str, expected: [&str; 3]) {
    let formats =
        [csv(FileHeaderInfo::None), InputFormat::Json(JsonType::Lines), InputFormat::Parquet];
    let verdicts = formats.map(|format| verdict(text, format));
    assert_eq!(verdicts, expected, "{text}");
}

#[test]
fn aggregates() {
    const OPERATION: &str = "UnsupportedSqlOperation";
    const STRUCTURE: &str = "UnsupportedSqlStructure";
    check_all("SELECT COUNT(*), MAX(_1) FROM S3Object", ["ok"; 3]);
    check_all("SELECT COUNT(*) + 1, 5 FROM S3Object", ["ok"; 3]);
    check_all("SELECT COUNT(*), _1 FROM S3Object", [STRUCTURE; 3]);
    check_all("SELECT MAX(_1) = _2 FROM S3Object", [STRUCTURE; 3]);
    check_all("SELECT MAX(COUNT(*)) FROM S3Object", [OPERATION; 3]);
    check_all("SELECT _1 FROM S3Object WHERE COUNT(*) > 1", [OPERATION; 3]);
}

#[test]
fn bloom_filters() {
    const ARGUMENTS: &str = "EvaluatorInvalidArguments";
    const ILLEGAL: &str = "IllegalSqlFunctionArgument";
    let check = |args: &str, expected| {
        let call = format!("BLOOM_CONTAINS({args})");
        check_all(&format!("SELECT {call} FROM S3Object s WHERE {call}"), [expected; 3]);
    };
    check("'AA==', 7, 1, s._1", "ok");
    check("'AA==', 7, -1, CAST(s._1 AS INT)", "ok");
    check("'AA==', 7, 1, NULL", "ok");
    check("'AA=', 7, 1, s._1", ILLEGAL);
    check("'', 7, 1, s._1", ILLEGAL);
    check("'AA==', 0, 1, s._1", ILLEGAL);
    check("'AA==', 33, 1, s._1", ILLEGAL);
    check("NULL, 7, 1, s._1", ARGUMENTS);
    check("UPPER('AA=='), 7, 1, s._1", ARGUMENTS);
    check("'AA==', 3 + 4, 1, s._1", ARGUMENTS);
    check("'AA==', 7, 1.5, s._1", ARGUMENTS);
    check("7, 7, 1, s._1", "IncorrectSqlFunctionArgumentType");
    check_all("SELECT BLOOM_CONTAINS('AA==', 7, 1, _1) + 1 FROM S3Object", ["InvalidDataType"; 3]);
}

#[test]
fn groups() {
    const OPERATION: &str = "UnsupportedSqlOperation";
    const STRUCTURE: &str = "UnsupportedSqlStructure";
    let check = |items: &str, rest: &str, expected| {
        check_all(&format!("SELECT {items} FROM S3Object s GROUP BY {rest}"), expected);
    };
    check("s._1, COUNT(*), MIN(s._2)", "s._1", ["ok"; 3]);
    check("CAST(UPPER(s._1) AS STRING), 1, SUM(CAST(s._2 AS INT)) + 1", "UPPER(s._1)", ["ok"; 3]);
    check("COUNT(*)", "s._1, s._2", ["ok"; 3]);
    check("s._1", "s._1, s._2", ["ok"; 3]);
    check("s._2, COUNT(*)", "s._1", [STRUCTURE; 3]);
    check("s._1", "UPPER(s._1)", [STRUCTURE; 3]);
    check("_1", "s._1", [STRUCTURE; 3]);
    check("*", "s._1", [STRUCTURE; 3]);
    check("s._1", "s._1 LIMIT 1", [STRUCTURE; 3]);
    check("AVG(CAST(s._2 AS INT))", "s._1", [OPERATION; 3]);
    check("MAX(COUNT(*))", "s._1", [OPERATION; 3]);
    check("COUNT(*)", "COUNT(*)", [OPERATION; 3]);
    check("COUNT(*)", "s._0", ["InvalidColumnIndex", "ok", "InvalidColumnIndex"]);
    check("COUNT(*)", "-s._1", ["InvalidDataType", "ok", "ok"]);
}

#[test]
fn columns() {
    check_all("SELECT S3Object._1 FROM S3Object", ["ok"; 3]);
    check_all("SELECT s._1, S._1, _1 FROM S3Object s", ["ok"; 3]);
    check_all("SELECT t._1 FROM S3Object s", ["InvalidTableAlias", "ok", "ok"]);
    check_all("SELECT _0 FROM S3Object s", ["InvalidColumnIndex", "ok", "InvalidColumnIndex"]);
    check_all("SELECT s._0 FROM S3Object s", ["InvalidColumnIndex", "ok", "InvalidColumnIndex"]);
    check_all("SELECT name FROM S3Object s", ["InvalidColumnIndex", "ok", "ok"]);
    check_all("SELECT \"true\" FROM S3Object s", ["InvalidColumnIndex", "ok", "ok"]);
    check_all("SELECT s._1.a FROM S3Object s", ["InvalidKeyPath", "ok", "ok"]);
    check_all("SELECT s[0] FROM S3Object s", ["InvalidKeyPath", "ok", "ok"]);
    check_all("SELECT a FROM S3Object[*].b", ["InvalidKeyPath", "ok", "InvalidKeyPath"]);
    check_all("SELECT _1 FROM S3Object[*] s", ["ok"; 3]);
    assert_eq!(verdict("SELECT name FROM S3Object", csv(FileHeaderInfo::Use)), "ok");
    let ignored = csv(FileHeaderInfo::Ignore);
    assert_eq!(verdict("SELECT name FROM S3Object", ignored), "InvalidColumnIndex");
}

#[test]
fn types() {
    const DATA: &str = "InvalidDataType";
    const ARGUMENT: &str = "IncorrectSqlFunctionArgumentType";
    let cases = [
        ("_1 + 1", [DATA, "ok", "ok"]),
        ("-_1", [DATA, "ok", "ok"]),
        ("CAST(_1 AS INT) + 1", ["ok"; 3]),
        ("'a' + 1", [DATA; 3]),
        ("NOT 'a'", [DATA; 3]),
        ("_1 AND TRUE", [DATA, "ok", "ok"]),
        ("TRUE AND 1", [DATA; 3]),
        ("NULL AND MISSING", ["ok"; 3]),
        ("NULL + 1", ["ok"; 3]),
        ("_1 > 5", ["ok"; 3]),
        ("CASE WHEN 1 THEN 2 END", [DATA; 3]),
        ("CASE 1 WHEN 1 THEN 2 END + 1", ["ok"; 3]),
        ("CASE WHEN TRUE THEN 2 ELSE 'a' END + 1", ["ok"; 3]),
        ("CASE WHEN TRUE THEN 'b' ELSE NULL END + 1", [DATA; 3]),
        ("COALESCE(NULL, _1) + 1", [DATA, "ok", "ok"]),
        ("NULLIF(_1, '') + 1", [DATA, "ok", "ok"]),
        ("SUM(_1)", [ARGUMENT, "ok", "ok"]),
        ("AVG('a')", [ARGUMENT; 3]),
        ("MIN(_1)", ["ok"; 3]),
        ("UPPER(5)", [ARGUMENT; 3]),
        ("SUBSTRING(_1, '1')", [ARGUMENT; 3]),
        ("EXTRACT(YEAR FROM _1)", [ARGUMENT, "ok", "ok"]),
        ("EXTRACT(YEAR FROM `2010T`)", ["ok"; 3]),
        ("DATE_ADD(DAY, 1, TO_TIMESTAMP(_1))", ["ok"; 3]),
        ("DATE_DIFF(DAY, UTCNOW(), 1)", [ARGUMENT; 3]),
        ("SUBSTRING(_1, 1, -1)", ["IllegalSqlFunctionArgument"; 3]),
        ("5 LIKE 'a'", ["LikeInvalidInputs"; 3]),
        ("_1 LIKE 5", ["LikeInvalidInputs"; 3]),
        ("_1 LIKE 'a!' ESCAPE '!'", ["EvaluatorLikePatternInvalidEscapeSequence"; 3]),
        ("_1 LIKE 'a!' ESCAPE _2", ["ok"; 3]),
        ("CAST(UTCNOW() AS INT)", ["InvalidCast"; 3]),
        ("CAST(5 AS TIMESTAMP)", ["InvalidCast"; 3]),
        ("CAST(CAST(_1 AS INT) AS STRING)", ["ok"; 3]),
        ("TO_STRING(UTCNOW(), 'q')", ["EvaluatorInvalidTimestampFormatPatternSymbol"; 3]),
        ("TO_STRING(UTCNOW(), _1)", ["ok"; 3]),
        ("_1 IN (1 + 'a')", [DATA; 3]),
        ("_1 BETWEEN 1 AND -'a'", [DATA; 3]),
    ];
    for (expr, expected) in cases {
        check_all(&format!("SELECT {expr} FROM S3Object"), expected);
    }
    check_all("SELECT * FROM S3Object WHERE 1", [DATA; 3]);
    check_all("SELECT * FROM S3Object WHERE _1", [DATA, "ok", "ok"]);
}
