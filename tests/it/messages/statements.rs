//! Messages about mistakes in statements.

use super::says;
use crate::cli::{Served, good, sluice, text};

#[test]
fn mistakes_in_statements_are_named_with_the_way_out() {
    let served = Served::start();
    let fruit = "'s3://bucket/fruit.csv'";
    for (sql, parts) in [
        ("COPY (SELECT 1) TO 's3://nobucket/x.csv'", &["no bucket `nobucket`"][..]),
        ("SELECT * FROM 'https://example.com/a.csv'", &["https://example.com", "--endpoint"]),
        ("SELECT * FROM 'gs://b/a.csv'", &["gs://b/a.csv", "storage.googleapis.com"]),
        ("SELECT * FROM 's3a://bucket/fruit.csv'", &["Write s3:// instead"]),
        ("SELECT * FROM 's3://'", &["s3://bucket/key"]),
        ("SELECT * FROM 's3://b/t.csv'", &["`b` cannot be the name", "3 to 63"]),
        ("selct 1", &["line 1, column 1", "`selct`", "Did you mean SELECT?"]),
        ("SELECT cast('abc' AS INT)", &["'abc'", "TRY_CAST"]),
        ("SELECT CAST(DATE '9999-12-31' AS TIMESTAMP)", &["9999-12-31", "2262", "TIMESTAMP(6)"]),
        ("CREATE EXTERNAL TABLE o STORED AS ORC LOCATION 's3://bucket/'", &["ORC", "PARQUET"]),
        ("COPY (SELECT 1 AS a) TO 's3://bucket/o.csv' STORED AS ORC", &["ORC", "PARQUET"]),
        ("COPY (SELECT 1 AS a) TO 's3://bucket/../o.csv'", &["`..`"]),
        ("SELECT * FROM 's3://bucket/a\nb.csv'", &["`s3://bucket/a\\nb.csv`", "control character"]),
        (
            "COPY (SELECT 1 AS a) TO 'https://u:pw@h/o.csv'",
            &["no password", "https://h/", "hint: Write it without"],
        ),
    ] {
        says(&mut served.command(&["sql", "-c", sql]), 1, parts);
    }
    for (of, parts) in [
        ("SELECT user.name FROM", &["`.name`", "no fields", "\"user\".name"][..]),
        ("SELECT fruit.name.x FROM", &["no fields"]),
        ("SELECT sum(name) FROM", &["there is no sum(VARCHAR)", "CAST("]),
        ("SELECT nam FROM", &["No field named nam"]),
    ] {
        let sql = format!("{of} {fruit} AS fruit");
        says(&mut served.command(&["sql", "-c", &sql]), 1, parts);
    }
    // A bucket without a slash stands for all of its objects.
    let all = served.command(&["sql", "SELECT count(*) FROM 's3://bucket'"]).output().unwrap();
    assert!(text(&all.stdout).contains('3'), "{}", text(&all.stderr));
}

/// Constructs of other systems, and typing mistakes inside a statement.
#[test]
fn what_sql_there_is_not_is_said_with_what_there_is() {
    let served = Served::start();
    for (sql, parts) in [
        ("SELECT @x", &["no variable `@x`"][..]),
        ("SELECT $1", &["parameter $1 has no value", "EXECUTE"]),
        ("INSERT INTO f VALUES (4, 'kiwi', 1.0)", &["no rows can be inserted", "LOCATION", "COPY"]),
        (
            "INSERT INTO 's3://bucket/fruit.csv' VALUES (4, 'kiwi', 1.0)",
            &[
                "adds no rows to a file 's3://bucket/fruit.csv'",
                "COPY (SELECT …) TO 's3://bucket/fruit.csv'",
            ],
        ),
        (
            "INSERT INTO 'new.csv' VALUES (4)",
            &["adds no rows to a file 'new.csv'", "overwrite true"],
        ),
        ("EXPLAIN INSERT INTO 'a/b' VALUES (4)", &["adds no rows to a file 'a/b'"]),
        ("DELETE FROM f", &["DELETE is not supported", "COPY"]),
        ("UPDATE f SET id = 1", &["UPDATE is not supported", "COPY"]),
        ("CREATE SECRET (TYPE s3)", &["CREATE SECRET is not supported", "AWS_ACCESS_KEY_ID"]),
        ("SELECT * FROM f PIVOT (sum(price) FOR name IN ('apple'))", &["PIVOT", "FILTER"]),
        ("PIVOT f ON name USING sum(price)", &["found `PIVOT`", "FILTER"]),
        ("SELECT * FROM f TABLESAMPLE (10 PERCENT)", &["TABLESAMPLE is not supported", "random()"]),
        ("SELECT * FROM f PREWHERE id < 5", &["PREWHERE is not supported", "WHERE"]),
        ("SELECT name COLLATE x FROM f", &["COLLATE is not supported"]),
        ("SELECT cast(id AS integr) FROM f", &["type integr", "BIGINT"]),
        ("SELECT TOP 5 PERCENT * FROM f", &["TOP … PERCENT is not supported", "percent_rank"]),
        ("SELECT * FROM f CROSS APPLY f g", &["CROSS APPLY is not supported", "LATERAL"]),
        ("SELECT name ->> 'a' FROM f", &["operator ->> is not supported", "data['name']"]),
        ("SELECT name -> 'a' FROM f", &["operator -> is not supported", "read_json"]),
        ("SELECT * FROM f WHERE name @> 'a'", &["operator @> is not supported", "array_has"]),
        ("SELECT * FROM f WHERE name ^@ 'a'", &["operator ^@ is not supported", "starts_with"]),
        ("SELECT sum(price) OVER (from f", &["OVER (…) takes PARTITION BY", "close it"]),
        ("SELECT sum(price) OVER (PARTITION BY name from f", &["syntax error", "`)`"]),
        (
            "SELECT date_diff('day', a, b) FROM f",
            &["no function `date_diff`", "a - b of two dates"],
        ),
        ("SELECT dayofyear(name) FROM f", &["no function `dayofyear`", "date_part('doy'"]),
        ("USE mydb", &["USE is not supported", "--endpoint"]),
        ("VACUUM", &["VACUUM is not supported", "--help"]),
        ("SELECT * FORM f", &["Did you mean FROM?"]),
        ("SELECT * FROM f WHER id = 1", &["Did you mean WHERE?"]),
        ("SELECT name FROM f GRUOP BY name", &["Did you mean GROUP BY?"]),
        ("SELECT 'abc", &["line 1, column 8", "no second '", "it''s"]),
        ("SELECT name, sum(price) FROM f", &["f.name is neither in GROUP BY", "GROUP BY ALL"]),
        ("SELECT * FROM 'nofile.csv'", &["no file 'nofile.csv'", "s3://bucket/key"]),
        ("SELECT * FROM nofile.csv", &["FROM 'nofile.csv'"]),
        ("SELECT * FROM s3://bucket/fruit.csv", &["in quotes: FROM 's3://bucket/file.csv'"]),
        ("SELECT strlen(name) FROM f", &["no function `strlen`", "length"]),
        ("SELECT foo(name) FROM f", &["no function `foo`", "SHOW FUNCTIONS"]),
        ("SELECT name - 1.5 FROM f", &["there is no VARCHAR - ", "CAST("]),
        ("SELECT id FROM f a, f b", &["Ambiguous", "a.id"]),
        ("SELECT * FROM f JOIN f ON true", &["duplicate", "FROM t AS a"]),
        ("SELECT * FROM f WHERE name = \"apple\"", &["No field named apple", "single quotes"]),
    ] {
        let view = "CREATE VIEW f AS SELECT * FROM 's3://bucket/fruit.csv'";
        says(&mut served.command(&["sql", "-c", view, "-c", sql]), 1, parts);
    }
    // The statements in the hints work.
    for sql in [
        "SELECT name FROM f SEMI JOIN f g USING (id)",
        "SELECT if(id = 1, 2, 3), mod(id, 2) FROM f",
        "SELECT count(*) FROM f ANTI JOIN f g USING (id)",
        "SELECT DATE '2026-01-05' - DATE '2026-01-01'",
        "SELECT (SELECT count(*) FROM f) > 0",
        "SELECT EXISTS (SELECT 1 FROM f)",
        "SELECT (SELECT count(*) FROM f g WHERE g.price < f.price) FROM f",
        "SELECT name, sum(price) FROM f GROUP BY ALL",
        "SHOW FUNCTIONS",
        "PREPARE q AS SELECT $1 + 1; EXECUTE q(1)",
        "SELECT sum(price) FILTER (WHERE name = 'apple') AS apple FROM f",
        "SELECT a.id FROM f AS a JOIN f AS b ON a.id = b.id",
    ] {
        let view = "CREATE VIEW f AS SELECT * FROM 's3://bucket/fruit.csv'";
        good(&mut served.command(&["sql", "-c", view, "-c", sql]));
    }
}

/// Text converts to a timestamp without seconds everywhere.
#[test]
fn time_stamps_need_no_seconds() {
    let csv = |sql: &str| good(&mut sluice(&["sql", "--format", "csv", "-c", sql]));
    for (text, expected) in [
        ("2026-01-01 10:05", "2026-01-01T10:05:00"),
        ("2026-01-01T10:05", "2026-01-01T10:05:00"),
        ("2026-01-01 10:05:30", "2026-01-01T10:05:30"),
        ("2026-01-01", "2026-01-01T00:00:00"),
    ] {
        for sql in [
            format!("SELECT TIMESTAMP '{text}' AS t"),
            format!("SELECT CAST('{text}' AS TIMESTAMP) AS t"),
            format!("SELECT TRY_CAST('{text}' AS TIMESTAMP) AS t"),
            format!("SELECT to_timestamp('{text}') AS t"),
            format!(
                "WITH d AS (SELECT TIMESTAMP '{expected}' AS t) SELECT t FROM d WHERE t = '{text}' AND t BETWEEN \
                 '{text}' AND '2027-01-01 00:00' AND t IN ('{text}')"
            ),
        ] {
            assert_eq!(csv(&sql), format!("t\n{expected}\n"), "{sql}");
        }
    }
    // Text without a conversion stays text.
    assert_eq!(csv("SELECT '2026-01-01 10:05' AS t"), "t\n2026-01-01 10:05\n");
}

#[test]
fn tables_of_the_system_are_shown_if_they_are_asked_for() {
    let shown = |sql: &str| {
        good(&mut sluice(&[
            "sql",
            "--format",
            "csv",
            "-c",
            "CREATE VIEW mine AS SELECT 1 AS a",
            "-c",
            sql,
        ]))
    };
    let mine = shown("SHOW TABLES");
    assert!(mine.contains("mine") && !mine.contains("information_schema"), "{mine}");
    assert!(shown("SHOW TABLES FROM information_schema").contains("df_settings"));
    assert!(!shown("SHOW TABLES LIKE 'other%'").contains("mine"));
}

#[test]
fn mistakes_in_calls_of_table_functions_are_named() {
    let served = Served::start();
    for (from, parts) in [
        ("glob(5)", &["glob needs a URL, as text"][..]),
        ("read_csv(5)", &["read_csv needs a URL, as text"]),
        ("nosuch(1)", &["no table function `nosuch`", "read_csv"]),
    ] {
        let sql = format!("SELECT * FROM {from}");
        let output = served.command(&["sql", "-c", &sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in parts {
            assert!(said.contains(part), "no {part:?} in {said:?}");
        }
    }
    let declared = "CREATE EXTERNAL TABLE t (id INT, name INT, price DOUBLE) STORED AS CSV LOCATION \
                    's3://bucket/fruit.csv' OPTIONS ('format.has_header' 'true')";
    says(
        &mut served.command(&["sql", "-c", declared, "-c", "SELECT max(name) FROM t"]),
        1,
        &["value 'apple' as type 'INT' for column `name` at line 2", "fruit.csv"],
    );
    for (sql, parts) in [
        (
            "SELECT * FROM 's3://bucket//fruit.csv'",
            ["`s3://bucket//fruit.csv` has nothing between two `/`", "Leave one"],
        ),
        (
            "COPY (SELECT 1 AS a) TO 's3://bucket/a//b.csv'",
            ["nothing between two `/`", "Leave one"],
        ),
    ] {
        says(&mut served.command(&["sql", "-c", sql]), 1, &parts);
    }
}
