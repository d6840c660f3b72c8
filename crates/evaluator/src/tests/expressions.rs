//! Tests expressions, aggregates and their errors, over CSV.

use super::{check, check_error, request, request_with_header};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::request::OutputSerialization;

const PEOPLE: &str = "\
name,age,score,born
ann,31,1.50,1990-01-01
bob,,2.25,1985-12-31
cy,45,,2001-02-03
";

#[track_caller]
fn people(expression: &str, expected: &str) {
    check(&request_with_header(expression), PEOPLE, expected);
}

/// Evaluates one expression on the row `7,x,,-3`.
#[track_caller]
fn scalar(expression: &str, expected: &str) {
    let statement = format!("SELECT {expression} FROM S3Object s");
    check(&request(&statement), "7,x,,-3\n", &format!("{expected}\n"));
}

#[test]
fn projections() {
    people(
        "SELECT * FROM S3Object",
        "ann,31,1.50,1990-01-01\nbob,,2.25,1985-12-31\ncy,45,,2001-02-03\n",
    );
    people("SELECT s.NAME, s.\"age\", s._3 FROM S3Object s LIMIT 1", "ann,31,1.50\n");
    people("SELECT CAST(age AS INT) + 1 FROM S3Object WHERE age != ''", "32\n46\n");
    people("SELECT name FROM S3Object LIMIT 0", "");
    people("SELECT name, CAST(NULLIF(age, '') AS INT) FROM S3Object", "ann,31\nbob,\ncy,45\n");
}

#[test]
fn filters() {
    people("SELECT name FROM S3Object WHERE CAST(NULLIF(age, '') AS INT) > 40", "cy\n");
    people("SELECT name FROM S3Object WHERE age != '' AND CAST(age AS INT) < 40", "ann\n");
    people("SELECT name FROM S3Object WHERE age = '' OR CAST(age AS INT) = 45", "bob\ncy\n");
    people(
        "SELECT name FROM S3Object WHERE CAST(born AS TIMESTAMP) < CAST('1990-01-01' AS TIMESTAMP)",
        "bob\n",
    );
    people("SELECT name FROM S3Object WHERE name LIKE '%n%'", "ann\n");
    people("SELECT name FROM S3Object WHERE name NOT IN ('ann', 'cy')", "bob\n");
    people("SELECT name FROM S3Object WHERE name BETWEEN 'b' AND 'c'", "bob\n");
    people("SELECT name FROM S3Object WHERE NOT (name = 'ann')", "bob\ncy\n");
    people("SELECT name FROM S3Object WHERE TRUE", "ann\nbob\ncy\n");
    people("SELECT name FROM S3Object WHERE NULL", "");
}

#[test]
fn aggregates() {
    people("SELECT COUNT(*) FROM S3Object", "3\n");
    people("SELECT COUNT(NULLIF(age, '')), COUNT(age) FROM S3Object", "2,3\n");
    people("SELECT SUM(CAST(NULLIF(age, '') AS INT)) FROM S3Object", "76\n");
    people("SELECT AVG(CAST(NULLIF(age, '') AS INT)) FROM S3Object", "38\n");
    people("SELECT SUM(CAST(NULLIF(score, '') AS DECIMAL(10, 2))) FROM S3Object", "3.75\n");
    people("SELECT MIN(name), MAX(born) FROM S3Object", "ann,2001-02-03\n");
    people("SELECT SUM(CAST(age AS INT)) FROM S3Object WHERE FALSE", "\"\"\n");
    people("SELECT COUNT(*), 1 + COUNT(*) * 2 FROM S3Object WHERE name > 'ann'", "2,5\n");
    people("SELECT COALESCE(SUM(CAST(age AS INT)), 0) FROM S3Object WHERE FALSE", "0\n");
    people(
        "SELECT SUM(CASE WHEN name = 'ann' THEN 1 ELSE 0 END), \
         SUM(CASE WHEN name = 'bob' THEN 5 END) FROM S3Object",
        "1,5\n",
    );
    check(&request("SELECT COUNT(*), SUM(CAST(_1 AS INT)) FROM S3Object"), "", "0,\n");
}

#[test]
fn families_of_groups() {
    let object = "a,x,1\nb,x,2\na,y,3\nc,x,bad\n,y,4\na,x,\nb\n";
    let statement = "SELECT SUM(CASE WHEN _1 = 'a' THEN CAST(NULLIF(_3, '') AS INT) END), \
         SUM(CASE WHEN _1 = 'b' THEN CAST(NULLIF(_3, '') AS INT) ELSE 0 END), \
         SUM(CASE WHEN _1 = 'z' THEN 1 ELSE 0 END), SUM(CASE WHEN _1 = 'z' THEN 1 END), \
         COUNT(CASE WHEN _1 = 'a' THEN 1 END), MAX(CASE WHEN 'a' = _1 THEN _2 END), \
         COUNT(CASE WHEN _1 = 'a' AND _2 = 'x' THEN 1 END), \
         COUNT(CASE WHEN _1 = 'b' AND _2 = 'x' THEN _3 END), COUNT(*) FROM S3Object";
    check(&request(statement), object, "4,2,0,,3,y,2,1,7\n");
    let same_without_ascii = "a,x,1\nb,x,2\na,y,3\nc,x,bad\n,y,4\na,x,\nb\nä\n";
    check(&request(statement), same_without_ascii, "4,2,0,,3,y,2,1,8\n");
    let bad = "SELECT SUM(CASE WHEN _1 = 'a' THEN 1 END), \
         SUM(CASE WHEN _1 = 'c' THEN CAST(_3 AS INT) END) FROM S3Object";
    check_error(&request(bad), object, Code::CastFailed, "record 4");
}

#[test]
fn scalars() {
    scalar("CAST(_1 AS INT) * 2 - 1", "13");
    scalar("CAST(_1 AS INT) / 2, CAST(_4 AS INT) % 2", "3,-1");
    scalar("-CAST(_4 AS INT), +CAST(_4 AS INT)", "3,-3");
    scalar("CAST(_1 AS FLOAT) / 2", "3.5");
    scalar("CAST(_1 AS DECIMAL(5, 2)) * 1.5", "10.500");
    scalar("CAST('2020-01-01' AS TIMESTAMP)", "2020-01-01");
    scalar("_9, _9 IS MISSING, _3 IS NULL, _9 IS NULL", ",true,false,true");
    scalar("COALESCE(NULLIF(_3, ''), 'none')", "none");
    scalar("COALESCE(MISSING, 1), NULLIF(1, NULL)", "1,1");
    scalar("CASE _1 WHEN '7' THEN 'seven' ELSE 'other' END", "seven");
    scalar("CASE WHEN _1 = '8' THEN 1 WHEN _2 = 'x' THEN 2 END", "2");
    scalar("CASE WHEN _1 = '8' THEN 1 END", "\"\"");
    scalar("CASE WHEN _1 = '7' THEN 1 ELSE 2.5 END", "1");
    scalar("UPPER(_2), LOWER('ÄB'), CHAR_LENGTH('äb')", "X,äb,2");
    scalar("SUBSTRING('123456789', 0, 3), SUBSTRING('hello' FROM 2)", "12,ello");
    scalar("SUBSTRING('0110', CAST(_1 AS INT) - 4, 1) = '1'", "true");
    scalar("TRIM('  a '), TRIM(LEADING '0' FROM '007')", "a,7");
    scalar("TRIM(BOTH '7' FROM _1), TRIM(TRAILING _2 FROM 'ax'), TRIM(_2 FROM _2)", ",a,");
    scalar("TRIM(NULL FROM _1), TRIM(_2 FROM MISSING), TRIM(_9 FROM NULL)", ",,");
    scalar("EXTRACT(YEAR FROM CAST('2021-03-04' AS TIMESTAMP))", "2021");
    scalar("TO_STRING(UTCNOW(), 'yyyy-MM-dd')", "2024-02-29");
    scalar("DATE_ADD(day, 1, CAST('2024-02-29' AS TIMESTAMP))", "2024-03-01");
    scalar("_1 = 7, _1 > 10, 8 > _1", "true,true,true");
    scalar("_2 IN ('y', NULL), _2 NOT IN ('y')", ",true");
    scalar("1 IN (2, CAST(_1 AS INT), 1)", "true");
    scalar("NULL AND FALSE, NULL OR TRUE, NULL AND TRUE", "false,true,");
    scalar("_2 LIKE '_', _2 LIKE '!_' ESCAPE '!', _2 NOT LIKE _2", "true,false,false");
    scalar("CAST(_1 AS INT) BETWEEN 7 AND 8, CAST(_1 AS STRING)", "true,7");
    scalar(
        "CAST(_1 AS INT) < 7.5, CAST(_1 AS FLOAT) = 7, CAST(_1 AS DECIMAL) = 7",
        "true,true,true",
    );
}

#[test]
fn each_row_may_have_characters_of_its_own_to_trim() {
    let object = "xay,xy\nxay,y\nxay,\nxay\nxay,ax\n";
    let sql = "SELECT TRIM(BOTH _2 FROM _1), TRIM(BOTH _2 FROM 'xéx') FROM S3Object";
    check(&request(sql), object, "a,é\nxa,xéx\nxay,xéx\n,\ny,é\n");
    let code = Code::IncorrectSqlFunctionArgumentType;
    check_error(
        &request("SELECT TRIM(BOTH CAST(_1 AS INT) FROM _1) FROM S3Object"),
        "1\n",
        code,
        "",
    );
}

#[test]
fn guards_protect_casts() {
    let object = "1\nx\n3\n";
    check(
        &request("SELECT _1 FROM S3Object WHERE _1 != 'x' AND CAST(_1 AS INT) > 1"),
        object,
        "3\n",
    );
    check(
        &request("SELECT CASE WHEN _1 = 'x' THEN 0 ELSE CAST(_1 AS INT) END FROM S3Object"),
        object,
        "1\n0\n3\n",
    );
    check(&request("SELECT COALESCE(_1, CAST(_1 AS INT)) FROM S3Object LIMIT 2"), object, "1\nx\n");
}

#[test]
fn errors_name_the_record_the_column_and_the_value() {
    let cast = request("SELECT CAST(_2 AS INT) FROM S3Object");
    check_error(&cast, "a,1\nb,two\n", Code::CastFailed, "two");
    check_error(&cast, "a,1\nb,two\n", Code::CastFailed, "_2");
    check_error(&cast, "a,1\nb,two\n", Code::CastFailed, "record 2, byte 4");
    let sum = request("SELECT SUM(CAST(_1 AS INT)) FROM S3Object");
    check_error(&sum, "9223372036854775807\n1\n", Code::IntegerOverflow, "");
    let add = request("SELECT CAST(_1 AS INT) + 1 FROM S3Object");
    check_error(&add, "9223372036854775807\n", Code::IntegerOverflow, "record 1");
    check_error(&request("SELECT nope FROM S3Object"), "a\n", Code::InvalidColumnIndex, "nope");
    check_error(&request("SELECT _1 FROM S3Object WHERE _1"), "a\n", Code::InvalidDataType, "");
    check_error(&request("SELECT _1 FROM S3Object"), b"\xFF\n", Code::InvalidTextEncoding, "_1");
    check_error(&request("SELECT * FROM S3Object"), b"\xFF\n", Code::InvalidTextEncoding, "");
    check(&request("SELECT _2 FROM S3Object"), "ä,ö\n", "ö\n");
}

#[test]
fn a_limit_stops_before_a_later_error() {
    let object = "1\n2\nx\n4\n";
    check(&request("SELECT CAST(_1 AS INT) FROM S3Object LIMIT 2"), object, "1\n2\n");
    check_error(
        &request("SELECT CAST(_1 AS INT) FROM S3Object LIMIT 3"),
        object,
        Code::CastFailed,
        "record 3",
    );
}

#[test]
fn json_output_names_its_fields() {
    let mut json =
        request_with_header("SELECT name AS n, age, CAST(_3 AS FLOAT), 1 FROM S3Object LIMIT 1");
    json.output = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
    check(&json, PEOPLE, "{\"n\":\"ann\",\"age\":\"31\",\"_3\":1.5,\"_4\":1}\n");
    json.expression = "SELECT * FROM S3Object LIMIT 1".to_owned();
    check(
        &json,
        PEOPLE,
        "{\"name\":\"ann\",\"age\":\"31\",\"score\":\"1.50\",\"born\":\"1990-01-01\"}\n",
    );
    check(&json, "a\n1,2\n", "{\"a\":\"1\",\"_2\":\"2\"}\n");
    json.expression = "SELECT _9, _1 FROM S3Object".to_owned();
    check(&json, "a\n1,2\n", "{\"_1\":\"1\"}\n");
}
