//! Error messages in terms of the typed statement.

use super::Folder;

#[test]
fn no_names_of_the_parser_are_shown() {
    let folder = Folder::new();
    for (sql, parts) in [
        ("select 5 div 2", ["`div` may not stand here", "a / b"]),
        ("select 5 mod 2", ["`mod` may not stand here", "a % b"]),
        ("select 1 # c", ["`#` may not stand here", "-- begins a comment"]),
        ("select 5!", ["`!` may not stand here", "factorial"]),
        ("select @ -4", ["`@` may not stand here", "abs(x)"]),
        ("select ‘a’", ["`‘` may not stand here", "two ' of the keyboard"]),
        ("select id from 't.csv' where id ≠ 1", ["`≠` may not stand here", "<>"]),
        (
            "create table x (a int) stored as parquet location 'x/'",
            ["no STORED AS", "CREATE EXTERNAL TABLE"],
        ),
        ("select 1 limit (select 1)", ["LIMIT takes a number", "row_number()"]),
        ("commit", ["COMMIT is not supported", "stands for itself"]),
        ("rollback", ["ROLLBACK is not supported", "stands for itself"]),
        ("start transaction", ["START TRANSACTION is not supported", "stands for itself"]),
        ("reset all", ["one setting", "RESET sluice.scan"]),
        (
            "select date '2024-01-01' + interval '1000000 years'",
            ["beyond the years", "smaller INTERVAL"],
        ),
        ("select abs(-9223372036854775808)", ["abs(-9223372036854775808) is beyond", "wider type"]),
        ("select a.b.c.d.e", ["a.b.c.d.e has too many parts", "column['field']"]),
        ("select * from 't.csv' where 1", ["neither true nor false", "x <> 0"]),
        ("select sum(count(*)) from 't.csv'", ["may not stand in another", "sub-query"]),
        ("select * from 't.csv' where row_number() over (order by id) = 1", ["OVER", "QUALIFY"]),
        ("select n:k from (select 1 as n)", ["the operator : is not supported", "data['name']"]),
        ("select max(id, 2, 3) from 't.csv'", ["there is no max", "greatest"]),
        ("explain create table x as select 1", ["EXPLAIN of a statement", "EXPLAIN SELECT"]),
        ("create function f(a int) returns int return a", ["CREATE FUNCTION", "CREATE VIEW"]),
        ("copy (select [1, 2] as l) to 'l.csv'", ["CSV has no place", "Parquet"]),
    ] {
        folder.fails(sql, &parts);
    }
}

#[test]
fn hints_lead_to_what_is_meant() {
    let folder = Folder::new();
    std::fs::create_dir(folder.0.path().join("o8")).unwrap();
    for (sql, parts) in [
        ("select ~1", ["operator ~", "-x - 1"]),
        ("table t", ["`table`", "SELECT * FROM t"]),
        ("select true && false", ["operator &&", "Write AND"]),
        ("select convert(id, int) from 't.csv'", ["CONVERT", "CAST(x AS INT)"]),
        ("select cast(id) from 't.csv'", ["`cast`", "CAST(x AS INT)"]),
        ("select isnull(amount, 0) from 't.csv'", ["`isnull`", "coalesce"]),
        ("unpivot t on a", ["`unpivot`", "UNION ALL"]),
        ("select * from o8", ["'o8'", "FROM 'o8/'"]),
        ("select * from 's3://*/t.csv'", ["in place of a bucket", "Name the bucket"]),
        ("select amount as x from 't.csv' where x > 1", ["named x", "alias `x`"]),
        ("copy t to stdout", ["`stdout`", "--format csv"]),
        ("select now", ["named now", "now(), with parentheses"]),
        ("select row_number from 't.csv'", ["named row_number", "OVER (ORDER BY"]),
        ("select 2 ** 3", ["`**` may not stand here", "power(a, b)"]),
        ("select id from 't.csv' where id ** 2 > 3", ["column 33: `**`", "power(a, b)"]),
        (
            "select string_agg(name) from 't.csv'",
            ["no string_agg(VARCHAR)", "string_agg(name, ', ')"],
        ),
        ("select date_trunc(day, 'month') from 't.csv'", ["date_trunc(DATE, ", "('month', d)"]),
        ("select date_trunc(month, day) from 't.csv'", ["named month", "date_trunc('month', d)"]),
        ("select md5(name) from 't.csv'", ["no function `md5`", "hashes"]),
        ("select std(amount) from 't.csv'", ["no function `std`", "stddev"]),
        ("select mode(amount) from 't.csv'", ["no function `mode`", "ORDER BY count(*)"]),
        ("select first(name) from 't.csv'", ["no function `first`", "first_value(x ORDER BY y)"]),
        ("select last(name) from 't.csv'", ["no function `last`", "last_value(x ORDER BY y)"]),
        ("select safe_divide(1, 2)", ["no function `safe_divide`", "nullif(b, 0)"]),
        (
            "create view v as select 1 as a; drop table v",
            ["`v` is a view, not a table", "DROP VIEW v;"],
        ),
        (
            "create view v as select 1 as a; drop table if exists v",
            ["`v` is a view, not a table", "DROP VIEW v;"],
        ),
        ("create table n (a int); drop view n", ["`n` is a table, not a view", "DROP TABLE n;"]),
        ("drop table nosuch", ["no table `nosuch`", "IF EXISTS"]),
        (
            "select d.f from (select named_struct('a', 1, 'b', 'x') as d)",
            ["no field `f` in d", "Its fields are a, b."],
        ),
        (
            "select t.d.f from (select named_struct('a', 1, 'b', 'x') as d) t where t.d.f > 1",
            ["no field `f` in d", "Its fields are a, b."],
        ),
        (
            "select d['bb'] from (select named_struct('a', 1, 'b', 'x') as d)",
            ["no field `bb` in d", "Its fields are a, b."],
        ),
        (
            "select d.e.f from (select named_struct('e', named_struct('g', 1)) as d)",
            ["no field `f` in d.e", "Its fields are g."],
        ),
        ("copy (select 1 as a) to 'x.csv' with csv header", ["`csv`", "in parentheses"]),
    ] {
        folder.fails(sql, &parts);
    }
}

#[test]
fn what_is_not_closed_is_named_where_it_begins() {
    let folder = Folder::new();
    for (sql, parts) in [
        ("select case when 1 = 1 then 2", ["line 1, column 8", "no END"]),
        ("select\n (1 + 2", ["line 2, column 2", "not closed"]),
        ("select 1\n /* c", ["line 2, column 2", "does not end"]),
        ("/* c", ["line 1, column 1", "does not end"]),
    ] {
        folder.fails(sql, &parts);
    }
}

/// Existing tables and views are dropped as before.
#[test]
fn tables_and_views_are_dropped() {
    let folder = Folder::new();
    folder.rows("create view v as select 1 as a; drop view v; drop view if exists v");
    folder.rows("create table n (a int); drop table n; drop table if exists n");
    folder.rows("create external table e stored as csv location 't.csv'; drop table e");
    folder.fails("create view v as select 1 as a; drop view v; from v", &["'v' not found"]);
    assert_eq!(
        folder.rows(
            "select d.e.g as a, d['e']['g'] as b from (select named_struct('e', named_struct('g', 1)) as d)"
        ),
        ["1,1"]
    );
}

#[test]
fn columns_are_listed_once() {
    let folder = Folder::new();
    let output = folder.command(&["sql", "select id from 't.csv' order by nope"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("id, name, amount").count(), 1, "{said}");
}
