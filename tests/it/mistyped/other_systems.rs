//! Forms of other systems: those that are obeyed, and messages about the others.

use super::Folder;
use crate::cli::{sluice, text};

#[test]
fn forms_with_one_meaning_are_obeyed() {
    let folder = Folder::new();
    for (sql, rows) in [
        (r"select r'a\b', R'c', u&'d'", &[r"a\b,c,d"][..]),
        ("select top 2 id from 't.csv' order by id desc", &["3", "2"]),
        ("select distinct top (1) id from 't.csv' order by id", &["1"]),
        ("select count(*) from (select top 2 * from 't.csv')", &["2"]),
        ("select id from 't.csv' where name like any ('a%', 'b') order by id", &["1", "2"]),
        ("select id from 't.csv' where name ilike any (array['A', 'C']) order by id", &["1", "3"]),
        ("select id from 't.csv' where name like all ('a%', '%')", &["1"]),
        ("select id from 't.csv' where name not like all ('a%', 'b%')", &["3"]),
        ("select id from 't.csv' where not name like any ('a%', 'b%') and id < 9", &["3"]),
        ("select id from 't.csv' where name like any ('x')", &[]),
        ("select id from 't.csv' where name like any ('a!%' , '!_') escape '!'", &[]),
        ("select {'a': 1}.a, ({'B': 2}).\"B\", named_struct('c', {'d': 3}).c.d", &["1,2,3"]),
        (
            "select l[1].a, t.s.l[2].a from (select [{'a': 1}] as l, {'l': [{'a': 2}, {'a': 3}]} as s) t",
            &["1,3"],
        ),
        ("create external table x location 't.csv'; select count(*) from x", &["3"]),
        (
            "create external table x stored as csv location 't.csv' options (header false); select count(*) from x",
            &["4"],
        ),
        (
            "create external table x stored as csv location 't.csv' options (sep ';'); describe x",
            &["\"id,name,amount,day,Region\",VARCHAR,YES"],
        ),
        (
            "copy (select 1 as a, null as b) to 'o.csv' options (header false, null 'x', sep '|'); \
             select * from read_csv('o.csv', header => false, delim => '|')",
            &["1", "column_1,column_2", "1,x"],
        ),
    ] {
        assert_eq!(folder.rows(sql), rows, "{sql}");
    }
    let many = (0..5000).map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
    let sql = format!("select count(*) from 't.csv' where name like any ({many}, 'b')");
    assert_eq!(folder.rows(&sql), ["1"]);
}

#[test]
fn the_others_are_named_with_the_way_out() {
    let folder = Folder::new();
    let table = "create table x as select 1 as a; ";
    for (sql, parts) in [
        ("select b'ab'".to_owned(), ["B before a text", "X'6162'"]),
        (format!("{table} insert overwrite x values (1)"), ["INSERT OVERWRITE", "TRUNCATE"]),
        (format!("{table} replace into x values (1)"), ["REPLACE INTO", "DELETE FROM t"]),
        (format!("{table} insert or replace into x values (1)"), ["REPLACE INTO", "DELETE FROM t"]),
        (
            format!("{table} insert into x values (1) on conflict do nothing"),
            ["ON CONFLICT", "No key"],
        ),
        (format!("{table} insert into x values (1) returning a"), ["RETURNING", "SELECT * FROM t"]),
        (
            "select row_number(1) over () from 't.csv'".to_owned(),
            ["no row_number(BIGINT)", "no argument"],
        ),
        ("select upper()".to_owned(), ["there is no upper()", "upper takes one argument"]),
        ("select round()".to_owned(), ["there is no round()", "round takes 1 or 2 arguments"]),
        ("select sqrt(-1)".to_owned(), ["no square root", "CASE WHEN x >= 0"]),
        ("select power(0, -1)".to_owned(), ["no negative power", "NULLIF"]),
        ("select factorial(50)".to_owned(), ["the factorial is beyond", "factorial(20)"]),
        ("select chr(-1)".to_owned(), ["no character -1", "chr(65)"]),
        (
            "select cast(day as timestamp) at time zone 'nope' from 't.csv'".to_owned(),
            ["'nope' is no time zone", "'Europe/Berlin'"],
        ),
        (
            "select * from 't.csv' where name not like any ('a')".to_owned(),
            ["NOT LIKE ANY", "NOT LIKE ALL"],
        ),
        ("select count(distinct id, name) from 't.csv'".to_owned(), ["takes one value", "(a, b)"]),
        (
            "select * from 't.csv' where id = any(1)".to_owned(),
            ["ANY and array_has", "id IN (1, 2)"],
        ),
        (
            "select * from 't.csv' where id > all(1)".to_owned(),
            ["ALL and cardinality", "ALL([1, 2])"],
        ),
        (
            "create external table x stored as csv location 't.csv' options (hedaer true)"
                .to_owned(),
            ["no option `hedaer`", "Did you mean header?"],
        ),
        (
            "copy (select 1 as a) to 'o.csv' (hedaer true)".to_owned(),
            ["`hedaer`", "Did you mean header?"],
        ),
        ("from read_csv('t.csv', hedaer => true)".to_owned(), ["`hedaer`", "Did you mean header?"]),
        ("from 't.cvs'".to_owned(), ["no file 't.cvs'", "Did you mean 't.csv'?"]),
        (
            "create external table x stored as csv location t.csv".to_owned(),
            ["`t.csv` may not stand here", "LOCATION 't.csv'"],
        ),
        ("copy (select 1) to o.csv".to_owned(), ["`o.csv` may not stand here", "TO 'o.csv'"]),
        (
            "create external table x location 't.txt'".to_owned(),
            ["lacks its format", "STORED AS CSV"],
        ),
        (
            "create external table x stored as csv with header row location 't.csv'".to_owned(),
            ["WITH HEADER ROW is not supported", "OPTIONS (format.has_header true)"],
        ),
        ("show index".to_owned(), ["SHOW INDEX is not supported", "sluice index list"]),
        ("show keys from t".to_owned(), ["SHOW KEYS is not supported", "sluice index list"]),
        (
            "select * from 't.csv' where name like 3".to_owned(),
            ["LIKE compares texts", "LIKE '3%'"],
        ),
        (
            "select * from 't.csv' where id ilike '3'".to_owned(),
            ["BIGINT is none", "AS VARCHAR) ILIKE"],
        ),
        ("select * from 't.csv' where name ~ 3".to_owned(), ["~ compares texts", "~ '^3'"]),
        ("select cast('NaN' as int)".to_owned(), ["'NaN' is no INT", "Only DOUBLE and REAL"]),
        ("select cast('maybe' as boolean)".to_owned(), ["'maybe' is no BOOLEAN", "TRUE or FALSE"]),
        ("select top 10 percent id from 't.csv'".to_owned(), ["TOP … PERCENT", "percent_rank"]),
        ("select top 1 id from 't.csv' limit 2".to_owned(), ["TOP beside LIMIT", "LIMIT 5"]),
        ("select * from 't.csv' limit 1.5".to_owned(), ["a whole number", "LIMIT 10"]),
        (
            "explain create table x as select 1 as a".to_owned(),
            ["EXPLAIN of a statement", "EXPLAIN SELECT 1 AS a."],
        ),
        ("explain create schema x".to_owned(), ["EXPLAIN of a statement", "EXPLAIN SELECT"]),
        ("drop schema if exists x".to_owned(), ["DROP SCHEMA is not supported", "its session"]),
        ("drop database x".to_owned(), ["DROP DATABASE is not supported", "its session"]),
        ("drop index i".to_owned(), ["DROP INDEX is not supported", "sluice index drop"]),
        ("drop table a, b".to_owned(), ["DROP TABLE of several", "DROP TABLE a; DROP TABLE b"]),
        ("select \"NAME\" from 't.csv'".to_owned(), ["Valid fields are id, name", "Write name:"]),
        (
            "select \"region\" from 't.csv'".to_owned(),
            ["No field named region", "Write \"Region\":"],
        ),
    ] {
        folder.fails(&sql, &parts);
    }
    let output = folder.command(&["sql", "select \"NAME\" from 't.csv'"]).output().unwrap();
    assert!(!text(&output.stderr).contains("enable_ident"), "{}", text(&output.stderr));
}

#[test]
fn commands_are_found_in_any_letter_case() {
    for (typed, meant) in [
        ("slq", "sql"),
        ("SQL", "sql"),
        ("explian", "explain"),
        ("serv", "serve"),
        ("Demo", "demo"),
    ] {
        let output = sluice(&[typed, "select 1"]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("hint: Did you mean `sluice {meant}`?")), "{said}");
        assert!(!said.contains("tip:"), "{said}");
    }
}

/// `sluice explain` runs no CREATE TABLE … AS, which would read its rows.
#[test]
fn a_table_that_is_only_explained_is_named() {
    let folder = Folder::new();
    let script = "create table x as select 1 as a; select * from x";
    let output = folder.command(&["explain", script]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("table 'x' not found") && said.contains("CREATE VIEW … AS"), "{said}");
    let script = "create view x as select 1 as a; select * from x";
    let output = folder.command(&["explain", script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
