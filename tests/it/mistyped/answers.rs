//! Mistyped statements that once returned a useless answer instead of an error.

use super::Folder;
use crate::cli::text;

#[test]
fn intervals_have_units_that_there_are() {
    let folder = Folder::new();
    for (sql, parts) in [
        ("select timestamp '2024-01-01' + interval 1 hous", ["`hous`", "Did you mean HOUR?"]),
        ("select interval 1 fortnight", ["`fortnight`", "units are YEAR"]),
        ("select interval '1' parsec", ["`parsec`", "units are YEAR"]),
        ("select interval 1", ["INTERVAL 1 has no unit", "INTERVAL '1' DAY"]),
    ] {
        folder.fails(sql, &parts);
    }
    assert_eq!(
        folder.rows("select timestamp '2024-01-01' + interval 2 hours"),
        ["2024-01-01T02:00:00"]
    );
}

#[test]
fn numbers_may_have_groups_of_digits() {
    let folder = Folder::new();
    assert_eq!(folder.rows("select 1_000 + 1, 1_0"), ["1001,10"]);
    assert_eq!(folder.rows("select count(*) from 't.csv' where id < 1_00"), ["3"]);
    assert_eq!(
        folder.rows("from 't.csv' where id = 0_3 and amount notnull"),
        ["3,c,2.5,2024-01-03,N"]
    );
}

#[test]
fn numbers_may_be_of_other_bases() {
    let folder = Folder::new();
    assert_eq!(folder.rows("select 0b11, 0o17, 0x1F + 1"), ["3,15,32"]);
    assert_eq!(folder.rows("select id from 't.csv' where id = 0x02"), ["2"]);
    folder.fails("select 123abc", &["column 8", "`123abc` is no number"]);
    folder.fails("select 1e from 't.csv'", &["`1e` is no number", "space"]);
}

/// Tables and files have the columns that an answer would show.
#[test]
fn stored_columns_are_named_as_typed() {
    let folder = Folder::new();
    folder.rows("copy (select upper(name), id + 1, 'x' from 't.csv' union all select 'a', 2, 'b') to 'named.csv'");
    let header = std::fs::read_to_string(folder.0.path().join("named.csv")).unwrap();
    assert_eq!(header.lines().next(), Some("upper(name),id + 1,'x'"));
    assert_eq!(
        folder.rows("create table n as select max(id), 1 + 1 from 't.csv'; select \"max(id)\", \"1 + 1\" from n"),
        ["3,2"]
    );
}

/// Clauses and operators that would be ignored silently are refused.
#[test]
fn what_would_be_ignored_is_refused() {
    let folder = Folder::new();
    for (sql, parts) in [
        (
            "select upper(name) filter (where id > 1) from 't.csv'",
            ["FILTER", "upper is of one row"],
        ),
        ("select upper(distinct name) from 't.csv'", ["DISTINCT", "upper is of one row"]),
        ("select upper(name) over () from 't.csv'", ["OVER", "upper is of one row"]),
        ("select count(*) from 't.csv' group by name with rollup", ["WITH", "ROLLUP (a, b)"]),
        ("from 't.csv' format JSON", ["FORMAT", "--format"]),
        ("from generate_series(1, 2) with ordinality", ["WITH ORDINALITY", "row_number()"]),
        ("create table n(a int generated always as identity)", ["numbers rows", "row_number()"]),
        ("select amount ^ 2 from 't.csv'", ["amount has a fraction", "power(amount, 2)"]),
        ("select 5.5 & 3", ["5.5 has a fraction", "CAST(5.5 AS BIGINT)"]),
        ("select first_value() over () from 't.csv'", ["lacks the value", "first_value(x)"]),
        ("drop table 't.csv'", ["'t.csv' is a file", "nothing here deletes files"]),
        ("copy (select 9 a) to '*.csv' (overwrite true)", ["*.csv` is a pattern", "without *"]),
        ("copy (select 9 a) to 'sub/[1].csv'", ["[1].csv` is a pattern", "without *"]),
    ] {
        folder.fails(sql, &parts);
    }
    assert_eq!(folder.rows("select count(*) from 't.csv'"), ["3"]);
    let parquet = ["sql", "-o", "twice.parquet", "select a.id, b.id from 't.csv' a, 't.csv' b"];
    let output = folder.command(&parquet).output().unwrap();
    assert!(text(&output.stderr).contains("two columns are called"), "{}", text(&output.stderr));
}

#[test]
fn columns_are_shown_as_described() {
    let folder = Folder::new();
    let described = folder.rows("describe 't.csv'");
    assert_eq!(described.len(), 5);
    assert_eq!(folder.rows("show columns from 't.csv'"), described);
    assert_eq!(folder.rows("show fields in 't.csv'"), described);
    let types = ["id,BIGINT,YES", "name,VARCHAR,YES", "amount,DOUBLE,YES", "day,DATE,YES"];
    assert_eq!(described[..4], types);
    assert_eq!(folder.rows("describe read_csv('t.csv')"), described);
    let summary = folder.rows("summarize 't.csv'");
    assert!(summary[0].starts_with("id,BIGINT,1,3,"), "{summary:?}");
}

/// Titles and errors contain no type names of DataFusion.
#[test]
fn what_is_shown_is_as_it_was_typed() {
    let folder = Folder::new();
    let shown = |format: &str, sql: &str| {
        let output = folder.command(&["sql", "--format", format, "-c", sql]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{sql}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    for (sql, expected) in [
        ("select 1_000", "1000\n1000\n"),
        ("select 1_000.5", "1000.5\n1000.5\n"),
        ("prepare p as select $1 + 1; execute p(2)", "$1 + 1\n3\n"),
        (
            "select * from (select date '2024-01-01' + interval '1 month')",
            "'2024-01-01' + INTERVAL '1 month'\n2024-02-01\n",
        ),
        ("select * from (select x'00ff')", "X'00ff'\n00ff\n"),
        (
            "select case when 1 = 1 then 'a rather long text' else 'another text that is long, too' end",
            "\"CASE WHEN 1 = 1 THEN 'a rather long text' ELSE 'another text that is long, too' END\"\na rather long \
             text\n",
        ),
    ] {
        assert_eq!(shown("csv", sql), expected, "{sql}");
    }
    folder.fails("select sum(name) from 't.csv'", &["there is no sum(VARCHAR)"]);
    folder.fails("select id from 't.csv' where id", &["a value of the type BIGINT"]);
    let table = shown("table", "select concat('a', chr(9), 'b') as t, 1 as n");
    assert!(table.contains("| a\\tb | 1 |"), "{table}");
}

#[test]
fn constants_and_columns_are_named_without_the_file() {
    let folder = Folder::new();
    for (sql, parts) in [
        (
            "select id from 't.csv' where day = '01.05.2020'",
            ["'01.05.2020' is no DATE", "to_date("],
        ),
        (
            "select id from 't.csv' where day > '2020-13-45'",
            ["'2020-13-45' is no DATE", "TRY_CAST"],
        ),
        ("select id from 't.csv' where id = 'abc'", ["'abc' is no BIGINT", "AS VARCHAR"]),
        ("select id from 't.csv' where id = '1,5'", ["'1,5' is no BIGINT", "decimal_separator"]),
        ("select paid from 't.csv'", ["No field named paid", "Valid fields are id, name,"]),
    ] {
        folder.fails(sql, &parts);
    }
    let late = format!("a\n{}1.5\n", "1\n".repeat(2000));
    std::fs::write(folder.0.path().join("late.csv"), late).unwrap();
    folder.fails("select sum(a) from 'late.csv'", &["'1.5'", "sample_size => ", "types => {"]);
}

#[test]
fn a_column_that_is_not_null_is_named() {
    let folder = Folder::new();
    let create = "create table n (a int not null, b int)";
    for insert in ["insert into n values (1, 2), (null, 1)", "insert into n (b) values (1)"] {
        folder.fails(&format!("{create}; {insert}"), &["the column `a` of n is NOT NULL"]);
    }
    let rows = folder.rows(&format!("{create}; insert into n values (1, null); from n"));
    assert_eq!(rows.last().map(String::as_str), Some("1,"));
}

#[test]
fn an_object_has_one_value_of_a_name() {
    let folder = Folder::new();
    let sql = "select a.id, b.id from 't.csv' a join 't.csv' b on a.id = b.id";
    for format in ["json", "ndjson"] {
        let output = folder.command(&["sql", "--format", format, sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("two columns are called `id`") && said.contains("AS id_2"), "{said}");
        assert_eq!(text(&output.stdout), "");
    }
    let output = folder.command(&["sql", "--format", "csv", sql]).output().unwrap();
    assert!(text(&output.stdout).starts_with("id,id\n"), "{}", text(&output.stdout));
}

/// Local files need neither a valid endpoint nor a complete key pair.
#[test]
fn files_are_read_whatever_is_wrong_with_the_store() {
    let folder = Folder::new();
    for (name, value) in [
        ("AWS_ENDPOINT_URL", "localhost:9000"),
        ("AWS_ENDPOINT_URL_S3", "htp://x"),
        ("AWS_PROFILE", "nope"),
        ("AWS_ACCESS_KEY_ID", "half"),
    ] {
        let mut here = folder.command(&["sql", "--format", "csv", "select max(id) from 't.csv'"]);
        let output = here.env(name, value).output().unwrap();
        assert_eq!(text(&output.stdout), "max(id)\n3\n", "{name}: {}", text(&output.stderr));
    }
    let output = folder.command(&["statistics", "show", "t.csv"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("objects in a store") && said.contains("SUMMARIZE 't.csv'"), "{said}");
}

#[test]
fn types_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    for (sql, parts) in [
        (
            "select sum(id) over (order by name range between 1 preceding and current row) from 't.csv'",
            ["RANGE with a distance", "ROWS BETWEEN"],
        ),
        ("select * from 't.csv' where day > 5", ["a date, day,", "DATE '2024-01-31'"]),
        ("select * from 't.csv' where 5 between day and day", ["a date, day,", "date_part"]),
        ("select * from 't.csv' where day in (1, 2)", ["a date, day,", "a number, 1"]),
        ("select * from 't.csv' join 't.csv' b", ["JOIN without ON or USING", "CROSS JOIN"]),
        ("select * from 't.csv' positional join 't.csv' b", ["POSITIONAL JOIN", "row_number()"]),
        ("select to_char(day, 'YYYY-MM-DD') from 't.csv'", ["has no %", "'%Y-%m-%d'"]),
        ("select * from 't.csv' order by -1", ["ORDER BY -1 orders nothing", "ORDER BY 1 DESC"]),
        ("select * from 't.csv' order by 'id'", ["ORDER BY 'id' orders nothing", "ORDER BY id"]),
        ("select now() like '2024%'", ["LIKE compares texts", "LIKE '2024-01-31T10%'"]),
        ("select length([1, 2])", ["is a list", "array_length"]),
        ("set datafusion.format.null = 'NIL'", ["changes nothing here", "--format"]),
        (
            "create table n (x int, y int generated always as (x * 2) stored)",
            ["computed from others", "CREATE VIEW"],
        ),
        ("create table n (x varchar collate nocase)", ["COLLATE", "lower(a)"]),
        (
            "create external table n stored as csv location 't.csv' with order (id desc)",
            ["WITH ORDER", "Leave it out"],
        ),
        ("create table n (x int auto_increment, y int)", ["numbers rows", "row_number()"]),
    ] {
        folder.fails(sql, &parts);
    }
    let sums = "select sum(id) over (order by name range between unbounded preceding and current row) from 't.csv'";
    assert_eq!(folder.rows(sums), ["1", "3", "6"]);
    assert_eq!(folder.rows("select count(*) from 't.csv' where day > '2024-01-01'"), ["2"]);
    assert_eq!(
        folder.rows("select array_agg(id)[0] is null, array_agg(id order by id)[1] from 't.csv'"),
        ["true,1"]
    );
}

#[test]
fn forms_of_other_systems_are_understood() {
    let folder = Folder::new();
    assert_eq!(folder.rows("select id from 't.csv' where amount isnull"), ["2"]);
    assert_eq!(folder.rows("select id from 't.csv' where amount notnull order by id"), ["1", "3"]);
    assert_eq!(
        folder.rows("select id from 't.csv' where name regexp '^[ab]' order by id"),
        ["1", "2"]
    );
    assert_eq!(folder.rows("select id from 't.csv' where name not rlike '^[ab]'"), ["3"]);
    assert_eq!(folder.rows("select count(*) from read_csv_auto('t.csv')"), ["3"]);
    let parts = "select year(day), month(day), len(name), mid('abc', 2, 1), sign(-2.0) from 't.csv' where id = 2";
    assert_eq!(folder.rows(parts), ["2024,1,1,b,-1.0"]);
    let any_order = "select row_number() over (order by (select null)) from 't.csv'";
    assert_eq!(folder.rows(any_order), ["1", "2", "3"]);
    folder.rows("copy (select id from 't.csv') to '~/home.csv'");
    assert!(folder.0.path().join("home.csv").is_file());
    assert_eq!(folder.rows("select count(*) from '~/home.csv'"), ["3"]);
    assert_eq!(folder.rows("select count(*) from read_csv('~/home.csv')"), ["3"]);
}

#[test]
fn what_glob_prints_can_be_read() {
    let folder = Folder::new();
    std::fs::copy(folder.0.path().join("t.csv"), folder.0.path().join("a b%41.csv")).unwrap();
    let urls = folder.rows("select url from glob('./a*.csv')");
    assert_eq!(folder.rows(&format!("select count(*) from '{}'", urls[0])), ["3"]);
}

/// A key that is not enforced does not merge rows.
#[test]
fn rows_of_one_key_are_all_there() {
    let folder = Folder::new();
    for key in ["x int primary key, y int", "x int unique, y int", "x int, y int, primary key (x)"]
    {
        let table = format!("create table t ({key}); insert into t values (1, 2), (1, 1); select ");
        assert_eq!(folder.rows(&format!("{table} distinct x from t")).last().unwrap(), "1");
        let both = folder.rows(&format!("{table} x, y from t order by x, y"));
        assert_eq!(both[both.len() - 2..], ["1,1", "1,2"], "{key}");
        let files = format!(
            "create external table f (id int primary key, v varchar) stored as csv location 't.csv'; {table}"
        );
        let counted =
            folder.rows(&format!("{files} count(*) from (select x, y from t group by x, y)"));
        assert_eq!(counted.last().unwrap(), "2");
    }
    let output =
        folder.command(&["sql", "create table t (x int primary key); from t"]).output().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("PRIMARY KEY and UNIQUE are not enforced")
    );
}

#[test]
fn what_postgres_and_duckdb_accept_is_answered() {
    let folder = Folder::new();
    for (sql, expected) in [
        (
            "select ifnull(x, 0), nvl(x, 0) from (values (cast('12345678901234567.89' as decimal(20,2)))) t(x)",
            "12345678901234567.89,12345678901234567.89",
        ),
        ("select ceiling(1.2), every(id > 0), sgn(-2) from 't.csv'", "2.0,true,-1.0"),
        ("select (id > 1) = 'true', 'f' <> (id > 1) from 't.csv' where id = 1", "false,false"),
        (
            "create table v as select 1 as id, 'a' as n; insert into v values (2, null); update v set id = null; \
             select count(*), count(id), count(n) from v",
            "2,0,1",
        ),
        (
            "create table w as select * from (values (1, 'a')) t(id, n); insert into w(id) values (2); \
             select max(id), count(n) from w",
            "2,1",
        ),
        (
            "create table v as select 1 as id; delete from v as e where e.id = 1; select count(*) from v",
            "0",
        ),
        (
            "copy (select id, name, amount from 't.csv') to 'c.arrow'; select sum(id), max(name) from 'c.arrow'",
            "6,c",
        ),
    ] {
        let rows = folder.rows(sql);
        assert_eq!(rows.last().map(String::as_str), Some(expected), "{sql}: {rows:?}");
    }
}

#[test]
fn nothing_is_silently_replaced() {
    let folder = Folder::new();
    for (sql, parts) in [
        (
            "create table e as select 1 as id; create or replace view e as select 2 as x",
            ["`e` is a table, which CREATE OR REPLACE VIEW does not replace", "DROP TABLE e"],
        ),
        (
            "create view e as select 1 as id; create or replace table e as select 2 as x",
            ["`e` is a view, which CREATE OR REPLACE TABLE does not replace", "DROP VIEW e"],
        ),
        (
            "copy (select 1 as a) to 's3//shop/x.csv'",
            ["`s3//shop/x.csv` is a local path", "s3://shop/x.csv"],
        ),
        (
            "copy (select 1 as a) to 'o/' (format csv, overwrite_or_ignore true)",
            ["overwrite_or_ignore", "overwrite"],
        ),
        ("create table e ()", ["a table without columns is not supported", "CREATE TABLE t AS"]),
        (
            "select avg(x) from (values (cast('9999999999999999999999999999.9' as decimal(38, 10)))) t(x)",
            ["the mean of a DECIMAL", "CAST to DOUBLE"],
        ),
        ("select 'a' 'b'", ["the text 'b' follows the text 'a'", "'a' || 'b'"]),
        ("select id from 't.csv' where id = 1 || id = 2", ["|| joins texts", "Write OR"]),
        ("select 1 in [1, 2]", ["IN", "1 IN (1, 2)"]),
    ] {
        folder.fails(sql, &parts);
    }
    assert!(!folder.0.path().join("s3").exists());
}

#[test]
fn dates_beyond_the_calendar_are_an_error_in_every_format() {
    let folder = Folder::new();
    for format in ["table", "csv", "json", "ndjson"] {
        let sql = "select to_timestamp_seconds(99999999999999) as t";
        let output = folder.command(&["sql", "--format", format, "-c", sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{format}: {said}");
        assert!(
            said.contains("`t` has a value beyond the calendar: 99999999999999 seconds"),
            "{said}"
        );
        assert!(!text(&output.stdout).contains("ERROR"), "{format}");
    }
}
