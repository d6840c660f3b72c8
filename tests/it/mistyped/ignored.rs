//! Parts of statements that once had no effect: they are obeyed now, refused or noted.

use super::Folder;
use crate::cli::text;

#[test]
fn a_star_is_restricted_by_its_columns() {
    let folder = Folder::new();
    for (sql, rows) in [
        ("select * ilike 'N%' from 't.csv' where id = 1", "a"),
        ("select t.* ilike 'i_' replace (id + 1 as ID) from 't.csv' t where id = 1", "2"),
        ("select * replace ('X' as region) from 't.csv' where id = 1", "1,a,1.5,2024-01-01,X"),
        ("select * exclude (ID, region) from 't.csv' where id = 1", "a,1.5,2024-01-01"),
        ("select * except (DAY) from 't.csv' where id = 1", "1,a,1.5,N"),
        (
            "with c as (select * replace (upper(name) as name) from 't.csv') select * ilike 'name' from c where id = 1",
            "A",
        ),
        (
            "select n.* from (select * ilike 'n%' from 't.csv') n join (select * ilike 'id' from 't.csv') i on i.id = 1 \
             where n.name = 'c'",
            "c",
        ),
        (
            "select a.* ilike 'n%', b.* ilike 'i%' from 't.csv' a join 't.csv' b using (id) where a.id = 1",
            "a,1",
        ),
    ] {
        assert_eq!(folder.rows(sql), [rows], "{sql}");
    }
    for (sql, parts) in [
        ("select * ilike 'z%' from 't.csv'", ["no column matches * ILIKE 'z%'", "id, name"]),
        ("select * replace (1 as nam) from 't.csv'", ["`nam`", "Did you mean name?"]),
        ("select * replace (1 as x) from 't.csv'", ["no such column", "SELECT *, 1 AS x"]),
        ("select * replace (1 as id, 2 as ID) from 't.csv'", ["the column id twice", "id, name"]),
        ("select * rename (id as x) from 't.csv'", ["* RENAME is not supported", "* EXCLUDE (id)"]),
        (
            "select * exclude (name) from 't.csv' a join 't.csv' b on a.id = b.id",
            ["several tables have the column name", "b.* EXCLUDE (name)"],
        ),
    ] {
        folder.fails(sql, &parts);
    }
}

#[test]
fn conditions_are_true_or_false() {
    let folder = Folder::new();
    for of in [
        "case when {} then 1 else 2 end",
        "if({}, 1, 2)",
        "count(*) filter (where {})",
        "count(*) filter (where {}) over ()",
        "not {}",
        "{} is true",
        "{} is not false",
        "{} is unknown",
    ] {
        for (value, kind) in
            [("0", "BIGINT"), ("id", "BIGINT"), ("name", "VARCHAR"), ("1.5", "DOUBLE")]
        {
            let sql = format!("select {} from 't.csv'", of.replace("{}", value));
            folder.fails(&sql, &[&format!("the type {kind}"), "neither true nor false", "x <> "]);
        }
    }
    for sql in [
        "select * from 't.csv' where 1",
        "select * from 't.csv' where (select max(case when id then 1 end) from 't.csv') = 1",
        "select count(*) from 't.csv' having 1",
        "select * from 't.csv' a join 't.csv' b on 1",
        "select * from 't.csv' a left join 't.csv' b on a.id",
        "select * from 't.csv' qualify row_number() over ()",
    ] {
        folder.fails(sql, &["BIGINT, which is neither true nor false", "x <> 0"]);
    }
    folder.fails("select id and true from 't.csv'", &["AND stands between conditions", "BIGINT"]);
    let sql = "select case when null then 1 when id = 2 then 2 else 3 end, case id when 1 then 'x' end from 't.csv'";
    assert_eq!(folder.rows(sql), ["3,x", "2,", "3,"]);
}

#[test]
fn an_option_is_given_once() {
    let folder = Folder::new();
    let copy = "copy (select 1 as a) to 'o.csv'";
    for (sql, parts) in [
        (format!("{copy} (format csv, format json)"), ["`format` is given twice", "Leave one"]),
        (format!("{copy} (delimiter ';', sep '|')"), ["`delimiter` and `sep`", "Leave one"]),
        (format!("{copy} options (overwrite true, overwrite false)"), ["`overwrite`", "Leave one"]),
        (
            "copy (select 1 as a, 2 as b) to 'o/' stored as csv partitioned by (a, a)".to_owned(),
            ["the column `a` is given twice", "Leave one"],
        ),
        (
            "create external table x stored as csv location 't.csv' options (header true, has_header false)".to_owned(),
            ["`header` and `has_header`", "Leave one"],
        ),
        (
            "select * from read_csv('t.csv', types => {'id': 'INT', 'id': 'VARCHAR'})".to_owned(),
            ["the column `id` is given twice", "Leave one"],
        ),
        ("set sluice.scan = 'get', sluice.scan = 'get'".to_owned(), ["SET of several", "SET a = 1;"]),
    ] {
        folder.fails(&sql, &parts);
    }
}

#[test]
fn what_has_no_effect_is_refused() {
    let folder = Folder::new();
    for (sql, parts) in [
        (
            "create unbounded external table x stored as csv location 't.csv'",
            ["UNBOUNDED is not supported", "Leave it out"],
        ),
        ("select nth_value(id, 0) over () from 't.csv'", ["no row 0", "nth_value(x, 1)"]),
        ("select nth_value(id, 00) from 't.csv'", ["no row 0", "nth_value(x, -1)"]),
        ("select * from 't.csv' limit 1 by name", ["LIMIT … BY", "PARTITION BY name"]),
        ("select * from 't.csv' limit 1 fetch first 2 rows only", ["beside FETCH", "Leave one"]),
        ("select sum(id) filter id from 't.csv'", ["FILTER is followed by (WHERE …)", "column 16"]),
        ("select count(*) filter (id > 1) from 't.csv'", ["column 17", "FILTER (WHERE id > 1)"]),
    ] {
        folder.fails(sql, &parts);
    }
    let second = "select nth_value(id, 2) over (order by id) from 't.csv' order by id";
    assert_eq!(folder.rows(second), ["\"\"", "2", "2"]);
}

#[test]
fn what_has_less_effect_than_elsewhere_is_noted() {
    let folder = Folder::new();
    for (sql, note) in [
        ("select cast('abcdef' as varchar(3))", "the length of VARCHAR(3) has no effect"),
        ("create table x (a char(2))", "the length of CHAR(2) has no effect"),
        (
            "create external table x (id int, name varchar(9), amount double, day date, region text) stored as csv \
             location 't.csv' options (header true)",
            "the length of VARCHAR(9) has no effect",
        ),
        ("create database x", "CREATE SCHEMA x.main, and name tables x.main.t"),
        ("create database if not exists datafusion", ""),
        ("select cast(1 as varchar), 'x'::text", ""),
    ] {
        let output = folder.command(&["sql", sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{sql}: {said}");
        match note {
            "" => assert_eq!(said, "", "{sql}"),
            note => assert!(said.starts_with("note: ") && said.contains(note), "{sql}: {said}"),
        }
    }
    let made = "create database x; create schema x.main; create table x.main.t as select 7 as a; select a from x.main.t";
    assert_eq!(folder.rows(made), ["7"]);
}
