//! Statements that were answered, with something that nobody means.

use super::Folder;

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
fn columns_are_shown_as_described() {
    let folder = Folder::new();
    let described = folder.rows("describe 't.csv'");
    assert_eq!(described.len(), 5);
    assert_eq!(folder.rows("show columns from 't.csv'"), described);
    assert_eq!(folder.rows("show fields in 't.csv'"), described);
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
        ("select * from 't.csv' positional join 't.csv' b", ["POSITIONAL JOIN", "row_number()"]),
        ("select to_char(day, 'YYYY-MM-DD') from 't.csv'", ["has no %", "'%Y-%m-%d'"]),
        ("select * from 't.csv' order by 'id'", ["ORDER BY 'id' orders nothing", "ORDER BY id"]),
        ("create table n (x int auto_increment, y int)", ["numbers rows", "row_number()"]),
        ("from read_csv('t.csv', dateformat => 'DD.MM.YYYY')", ["DD.MM.YYYY", "a format of dates"]),
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

/// A key that nothing enforces makes no two rows one.
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
