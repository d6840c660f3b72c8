//! Errors that name the real cause, in terms of SQL.

use std::io::Write;
use std::process::Stdio;

use super::Folder;
use crate::cli::{good, text};

#[test]
fn texts_that_are_no_values_are_not_said_to_be_compared() {
    let folder = Folder::new();
    for (sql, parts) in [
        ("select cast('1.7' as int)", ["'1.7' is no INT", "CAST(CAST(x AS DOUBLE)"]),
        ("select cast('' as int)", ["'' is no INT", "nullif(x, '')"]),
        (
            "create table t3 (a int, b int); insert into t3 values ('x', 1)",
            ["'x' is no INT", "TRY_CAST"],
        ),
        ("prepare p as select $1 + 1; execute p('x')", ["'x' is no BIGINT", "TRY_CAST"]),
        (
            "select coalesce(amount, 'n/a') from 't.csv'",
            ["'n/a' is no DOUBLE", "CAST(x AS VARCHAR)"],
        ),
        ("select time '25:00'", ["'25:00' is no TIME", "'23:59:59'"]),
        (
            "select cast(1234.567 as decimal(5, 2))",
            ["more digits than DECIMAL(5,2)", "DECIMAL(10,2)"],
        ),
        (
            "select cast(amount * 1000 as decimal(3, 0)) from 't.csv'",
            ["more digits than DECIMAL(3,0)", "DECIMAL(8,0)"],
        ),
        ("select interval '1 dya'", ["'1 dya' is no INTERVAL", "'1 day'"]),
        ("select timestamp '31/01/2024'", ["'31/01/2024' is no TIMESTAMP", "%d.%m.%Y"]),
        ("select to_date('2024-02-30')", ["is no DATE", "day of the calendar"]),
        ("select to_char(day, '%Q') from 't.csv'", ["to_char cannot write", "strftime"]),
        ("select to_char(day, '%Z') from 't.csv'", ["to_char cannot write", "%Z"]),
        (
            "select to_date('31.01.2024', 'DD.MM.YYYY')",
            ["'DD.MM.YYYY' of to_date has no %", "'%d.%m.%Y'"],
        ),
        (
            "select to_timestamp('31.01.2024', 'DD.MM.YYYY')",
            ["of to_timestamp has no %", "'%d.%m.%Y'"],
        ),
        (
            "select timestamp '2024-01-01' + 1",
            ["there is no TIMESTAMP(9) + BIGINT", "INTERVAL '1 day'"],
        ),
        ("select date '2024-01-01' + 1.5", ["there is no DATE + ", "INTERVAL '1 day'"]),
        ("select now() - 1", ["- BIGINT", "INTERVAL '1 day'"]),
    ] {
        folder.fails(sql, &parts);
        let output = folder.command(&["sql", "-c", sql]).output().unwrap();
        let said = text(&output.stderr);
        for foreign in ["To compare", "Decimal128", "Time64", "Parser error", "argument error"] {
            assert!(!said.contains(foreign), "{sql}: {said}");
        }
    }
}

#[test]
fn columns_with_one_name_are_named_as_they_are_typed() {
    let folder = Folder::new();
    for (sql, parts) in [
        (
            "select day + interval '1 day', day + interval 1 day from 't.csv'",
            ["two columns have the same name: ", "INTERVAL '1 day'"],
        ),
        ("select *, * from 't.csv'", ["two columns have the same name: ", "another name"]),
        (
            "select substring(name, 1, 2), mid(name, 1, 2) from 't.csv'",
            ["two columns have the same name: substr(", ", 1, 2)"],
        ),
        ("create table e (a int, A text)", ["column a is declared twice", "another name"]),
        (
            "create external table e (a int, a text) stored as csv location 't.csv'",
            ["column a is declared twice", "another name"],
        ),
        (
            "create table e (a int); update e set a = 1, A = 2",
            ["column a is set twice", "SET a = 1, b = 2"],
        ),
        (
            "select * exclude (id) replace (id + 1 as id) from 't.csv'",
            ["EXCLUDE and REPLACE both name the column id", "The columns are"],
        ),
        (
            "select sum(id) over (order by day range between 5 preceding and current row) from 't.csv'",
            ["RANGE 5 has no unit, and day is a date", "INTERVAL '5' DAY"],
        ),
        (
            "select count(*) from 't.csv' group by 1",
            ["an aggregate cannot stand in GROUP BY, and 1 is count(*)", "HAVING"],
        ),
        ("select id from 't.csv' group by count(*)", ["an aggregate cannot stand", "HAVING"]),
        (
            "select sum(amount) as s, name from 't.csv' group by s",
            ["cannot stand in GROUP BY, and s is sum(amount)", "HAVING"],
        ),
    ] {
        folder.fails(sql, &parts);
    }
    assert_eq!(folder.rows("select name, count(*) from 't.csv' group by 1 order by 1").len(), 3);
}

#[test]
fn clauses_of_other_systems_are_named() {
    let folder = Folder::new();
    for (sql, parts) in [
        ("select * from 't.csv' sort by id", ["SORT BY is not supported", "ORDER BY"]),
        ("select * from 't.csv' cluster by id", ["CLUSTER BY is not supported", "ORDER BY"]),
        ("select * from 't.csv' distribute by id", ["DISTRIBUTE BY is not supported", "ORDER BY"]),
        ("select interval '1-2' year to month", ["YEAR TO MONTH", "'1 year 2 months'"]),
        ("select N'x'", ["N before a text", "'x'"]),
        ("set names 'utf8'", ["SET NAMES", "UTF-8"]),
        ("set sluice.scan = null", ["SET … = NULL", "RESET sluice.scan"]),
        ("create table e (a int) partitioned by (a)", ["PARTITIONED BY", "EXTERNAL"]),
        ("create table e (a int) with (format = 'csv')", ["WITH (…) of CREATE TABLE", "EXTERNAL"]),
        ("create table e (a int) engine = InnoDB", ["ENGINE of CREATE TABLE", "Leave it out"]),
        ("create table e (a int) comment 'x'", ["COMMENT of CREATE TABLE", "Leave it out"]),
        ("show databases", ["SHOW DATABASES is not supported", "SHOW TABLES"]),
        ("show schemas", ["SHOW SCHEMAS is not supported", "SHOW TABLES"]),
        (
            "select id from 't.csv' order by id fetch first 2 rows with ties",
            ["WITH TIES", "rank()"],
        ),
        ("unload ('select 1') to 's3://b/k'", ["UNLOAD is not supported", "COPY (SELECT …) TO"]),
        ("explain set sluice.scan = 'get'", ["EXPLAIN of a statement", "EXPLAIN SELECT"]),
        (
            "explain create external table x stored as csv location 't.csv'",
            ["EXPLAIN of a statement", "EXPLAIN SELECT"],
        ),
        ("explain reset sluice.scan", ["EXPLAIN of a statement", "EXPLAIN SELECT"]),
        ("explain explain select 1", ["EXPLAIN of EXPLAIN", "once"]),
        ("select regexp_like('a', 'a', 'q')", ["'q' has a flag", "Flags are i"]),
        ("select 'a' ~ '('", ["'(' does not compile: unclosed group", "'\\('"]),
        (
            "with r as (select 1 as n union all select n + 1 from r where n < 3) select * from r",
            ["the query r of WITH reads r itself", "WITH RECURSIVE r"],
        ),
        (
            "create external table x stored as csv partitioned by (nope) location 't.csv'",
            ["is partitioned by nope", "t.csv/nope=…/"],
        ),
        ("select id from 't.csv' minus select 1", ["MINUS is not supported", "EXCEPT"]),
        ("select 1 from dual", ["'dual' not found", "SELECT 1"]),
    ] {
        folder.fails(sql, &parts);
    }
}

#[test]
fn conditions_are_written_out() {
    let folder = Folder::new();
    for (sql, parts) in [
        (
            "select * from 't.csv' where name like 'a%' or 'b%'",
            ["'b%' is none", "OR name LIKE 'b%'"],
        ),
        ("select * from 't.csv' where id = 1 or 2", ["and 2 is none", "OR id = 2"]),
        (
            "select * from 't.csv' where 1 < id < 3",
            ["1 < id is true or false", "1 < id AND id < 3"],
        ),
        (
            "select * from (select true as flag) where flag = 1",
            ["there is no BOOLEAN = BIGINT", "NOT flag"],
        ),
        ("select * from 't.csv' limit 1 where id = 1", ["WHERE comes before LIMIT", "GROUP BY"]),
        (
            "select * from 't.csv' order by id where id = 1",
            ["WHERE comes before ORDER BY", "The order"],
        ),
        ("select * where id = 1 from 't.csv'", ["FROM comes before WHERE", "The order"]),
        ("select * from 't.csv' where id =< 2", ["`=<` may not stand here", "<="]),
        ("select * from 't.csv' where id => 2", ["`=>` may not stand here", ">="]),
        ("select * from 't.csv' where name in 'a'", ["expected (", "name IN ('a')"]),
        ("select * from 't.csv' where name is 'a'", ["after IS", "Write ="]),
        ("select [t].[name] from 't.csv' t", ["found `[`", "\"name\""]),
        ("summarise 't.csv'", ["`summarise`", "SUMMARIZE"]),
    ] {
        folder.fails(sql, &parts);
    }
}

#[test]
fn settings_and_options_are_named_that_are_meant() {
    let folder = Folder::new();
    for (sql, parts) in [
        ("set threads = 4", ["no setting `threads`", "datafusion.execution.target_partitions"]),
        (
            "set memory_limit = '1GB'",
            ["no setting `memory_limit`", "datafusion.runtime.memory_limit"],
        ),
        ("set scan = 'get'", ["no setting `scan`", "Did you mean sluice.scan?"]),
        ("set sluice.sacn = 'get'", ["no setting `sluice.sacn`", "Did you mean sluice.scan?"]),
        ("show sluice.sacn", ["no setting `sluice.sacn`", "Did you mean sluice.scan?"]),
        (
            "copy (select 1 as a) to 'o.csv' options (heder false)",
            ["no option `heder`", "Did you mean header?"],
        ),
        (
            "create external table x stored as csv location 't.csv' options (delimitter ';')",
            ["no option `delimitter`", "Did you mean format.delimiter?"],
        ),
    ] {
        folder.fails(sql, &parts);
    }
}

/// A file of which every line is skipped gets the same note as an empty file.
#[test]
fn a_file_whose_lines_are_all_skipped_is_noted() {
    let folder = Folder::new();
    let output = folder.command(&["sql", "from read_csv('t.csv', skip => 100)"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("the 100 lines that skip passes by"), "{said}");
}

#[test]
fn a_statement_that_explains_is_explained() {
    let folder = Folder::new();
    let shown = good(&mut folder.command(&["explain", "explain select count(*) from 't.csv'"]));
    assert!(shown.contains("AggregateExec") && !shown.contains("EmptyExec"), "{shown}");
}

#[test]
fn words_of_the_prompt_act_in_a_pipe() {
    let folder = Folder::new();
    for (script, part) in
        [("select 1 as n;\nexit\n", "| n |"), ("quit", ""), ("help", "EXPLAIN ANALYZE")]
    {
        let mut child = folder
            .command(&["sql"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{script}: {said}");
        assert!(said.contains(part), "{script}: {said}");
    }
}
