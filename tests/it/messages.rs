//! What the program says about what people mistype: one sentence and the way out, exit code 1 for what failed
//! and 2 for usage.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;

use crate::cli::{Served, good, sluice, text};

/// Words that are for programmers, and for another project's.
const FOREIGN: [&str; 8] = [
    "Internal error",
    "bug in DataFusion",
    "datafusion",
    "Ident {",
    "Span(",
    "<Error>",
    "<Code>",
    "(DataType",
];

/// Fails with this code, and says all of these on stderr and nothing on stdout.
#[track_caller]
fn says(command: &mut Command, code: i32, parts: &[&str]) {
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "no {part:?} in {said:?}");
    }
    for part in FOREIGN {
        assert!(!said.contains(part), "{part:?} in {said:?}");
    }
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    if code == 1 {
        let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
        let hints = said.lines().filter(|line| line.starts_with("hint: ")).count();
        assert_eq!((errors, hints), (1, 1), "{said}");
    }
}

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
        ("SELECT sum(name) FROM", &["there is no sum(Utf8)", "CAST("]),
        ("SELECT nam FROM", &["No field named nam"]),
    ] {
        let sql = format!("{of} {fruit} AS fruit");
        says(&mut served.command(&["sql", "-c", &sql]), 1, parts);
    }
    // A bucket without a slash is all of it.
    let all = served.command(&["sql", "SELECT count(*) FROM 's3://bucket'"]).output().unwrap();
    assert!(text(&all.stdout).contains('3'), "{}", text(&all.stderr));
}

/// What other systems have, and what was mistyped amid a statement.
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
        ("SELECT * FROM f ORDER BY ALL", &["ORDER BY ALL is not supported", "ORDER BY 1"]),
        ("SELECT * FROM f TABLESAMPLE (10 PERCENT)", &["TABLESAMPLE is not supported", "random()"]),
        ("SELECT * FROM f PREWHERE id < 5", &["PREWHERE is not supported", "WHERE"]),
        ("SELECT name COLLATE x FROM f", &["COLLATE is not supported"]),
        ("SELECT cast(id AS integr) FROM f", &["type integr", "BIGINT"]),
        ("SELECT TOP 5 * FROM f", &["TOP is not supported", "LIMIT"]),
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
        ("SELECT if(id = 1, 2, 3) FROM f", &["no function `if`", "CASE WHEN"]),
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
        ("SELECT name - 1.5 FROM f", &["there is no Utf8 - ", "CAST("]),
        ("SELECT id FROM f a, f b", &["Ambiguous", "a.id"]),
        ("SELECT * FROM f JOIN f ON true", &["duplicate", "FROM t AS a"]),
        ("SELECT * FROM f WHERE name = \"apple\"", &["No field named apple", "single quotes"]),
    ] {
        let view = "CREATE VIEW f AS SELECT * FROM 's3://bucket/fruit.csv'";
        says(&mut served.command(&["sql", "-c", view, "-c", sql]), 1, parts);
    }
    // What the hints say works.
    for sql in [
        "SELECT name FROM f SEMI JOIN f g USING (id)",
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

/// Of a credential fault, every way to begin says which it is: a HEAD, which has no body, leads to a GET.
#[test]
fn faults_of_credentials_are_told_apart() {
    const STATEMENTS: [&str; 2] =
        ["SELECT * FROM 's3://bucket/a.csv'", "SELECT * FROM 's3://bucket/*.csv'"];
    for (status, code, parts) in [
        (
            "403 Forbidden",
            "InvalidAccessKeyId",
            ["does not know the access key", "AWS_ACCESS_KEY_ID"],
        ),
        (
            "403 Forbidden",
            "SignatureDoesNotMatch",
            ["does not accept the signature", "AWS_SECRET_ACCESS_KEY"],
        ),
        ("403 Forbidden", "RequestTimeTooSkewed", ["another time than this machine", "clock"]),
        ("400 Bad Request", "ExpiredToken", ["they have expired", "AWS_SESSION_TOKEN"]),
        ("400 Bad Request", "InvalidToken", ["the session token", "AWS_SESSION_TOKEN"]),
        ("403 Forbidden", "AccessDenied", ["refuses access", "may read and list"]),
    ] {
        let endpoint = refusing(status, code);
        for sql in STATEMENTS {
            let mut command = sluice(&["sql", "--endpoint", &endpoint, "-c", sql]);
            command.envs([("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "my secret")]);
            says(&mut command, 1, &parts);
        }
    }
    let endpoint = refusing("403 Forbidden", "AccessDenied");
    for sql in STATEMENTS {
        let mut command = sluice(&["sql", "--endpoint", &endpoint, "-c", sql]);
        says(&mut command, 1, &["no credentials were found", "AWS_ACCESS_KEY_ID"]);
    }
}

/// A store that refuses all with this code; as any store does, it says nothing to a HEAD but the status.
fn refusing(status: &'static str, code: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let is_head = lines.next().is_some_and(|line| line.unwrap().starts_with("HEAD"));
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let body = format!("<Error><Code>{code}</Code><Message>no</Message></Error>");
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let body = if is_head { "" } else { &body };
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    format!("http://{address}")
}

#[test]
fn statements_that_a_shell_has_cut_and_commands_of_others_are_known() {
    for (args, parts) in [
        (
            &["sql", "select", "1"][..],
            &["into 2 words", "Quote the whole statement", "\"SELECT …\""][..],
        ),
        (
            &["sql", "SELECT", "Cargo.toml", "FROM", "t"],
            &["into 4 words", "Quote the whole statement"],
        ),
        (&["sql", "-c", "from", "t"], &["into 2 words", "Quote the whole statement"]),
        (&["explain", "select", "1"], &["Quote the whole statement"]),
        (&["select 1"], &["unrecognized subcommand", "sluice sql \"SELECT …\""]),
        (&["ls"], &["unrecognized subcommand 'ls'", "\\ls s3://bucket/"]),
        (&["query"], &["`sluice sql` opens a prompt"]),
        (&["s3://bucket/a.csv"], &["FROM 's3://bucket/a.csv'"]),
        (&["connect", "rm", "x"], &["unrecognized subcommand 'rm'", "sluice/config.toml"]),
    ] {
        says(&mut sluice(args), 2, parts);
    }
}

#[test]
fn an_endpoint_that_is_none_is_named() {
    let sql = ["sql", "-c", "SELECT * FROM 's3://bucket/a.csv'"];
    for variable in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"] {
        let mut without = sluice(&sql);
        without.env(variable, "localhost:9000");
        says(
            &mut without,
            1,
            &["`localhost:9000` has no http://", "http://host:port", "AWS_ENDPOINT_URL"],
        );
        // One that is empty is as good as none.
        good(sluice(&["sql", "SELECT 1"]).env(variable, ""));
    }
    let typed = ["sql", "--endpoint", "localhost:9000", "SELECT 1"];
    says(&mut sluice(&typed), 2, &["`localhost:9000` has no http://", "http://host:port"]);
}

#[test]
fn what_is_not_there_is_said_with_what_may_be_meant() {
    let served = Served::start();
    for (from, parts) in [
        (
            "'s3://bucket/{fruit,nuts}.csv'",
            &["no object at s3://bucket/{fruit,nuts}.csv", "Braces stand for"][..],
        ),
        ("'s3://bucket/*.cvs'", &["nothing matches the pattern", "glob('s3://bucket/**')"]),
        (
            "read_csv('s3://bucket/no/*.csv')",
            &["nothing matches the pattern", "glob('s3://bucket/no/**')"],
        ),
        ("'*.nope'", &["there is no file at *.nope: nothing matches", "begins in the folder"]),
        ("'{a,b}.csv'", &["no file '{a,b}.csv'", "Braces stand for"]),
        ("read_csv('no-such.csv')", &["there is no file at no-such.csv", "begins in the folder"]),
    ] {
        let sql = format!("SELECT * FROM {from}");
        says(&mut served.command(&["sql", "-c", &sql]), 1, parts);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fruit.csv");
    std::fs::write(&path, "x\n1\n").unwrap();
    let path = path.to_str().unwrap();
    let without = path.trim_start_matches('/');
    for sql in [
        format!("SELECT * FROM '{without}'"),
        format!("SELECT * FROM read_csv('{without}')"),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{without}'"),
    ] {
        says(&mut sluice(&["sql", "-c", &sql]), 1, &[&format!("Did you mean '{path}'?")]);
    }
    let swapped = path.replace("fruit", "friut");
    says(
        &mut sluice(&["sql", "-c", &format!("FROM '{swapped}'")]),
        1,
        &[&format!("Did you mean '{path}'?")],
    );
    good(&mut served.command(&["sql", "-c", "SELECT url FROM glob('s3://bucket/**')"]));
}

/// Options of COPY as other systems have them, and targets that are none.
#[test]
fn copy_takes_options_in_parentheses() {
    let served = Served::start();
    let copy = |rest: &str| {
        let sql = format!("COPY (SELECT 1 AS a, 'x' AS b) TO {rest}");
        served.command(&["sql", "-c", &sql])
    };
    for (place, options, read) in [
        ("a", "(FORMAT parquet)", "read_parquet('s3://bucket/out/a')"),
        ("b.parquet", "(COMPRESSION zstd)", "'s3://bucket/out/b.parquet'"),
        ("c", "(FORMAT csv, HEADER, DELIMITER ';')", "read_csv('s3://bucket/out/c', delim => ';')"),
        ("d.csv", "WITH (HEADER true, QUOTE '\"')", "'s3://bucket/out/d.csv'"),
        ("e/", "(FORMAT csv, PARTITION_BY (b))", "'s3://bucket/out/e/'"),
        ("f.json", "(FORMAT json)", "'s3://bucket/out/f.json'"),
    ] {
        good(&mut copy(&format!("'s3://bucket/out/{place}' {options}")));
        let sql = format!("SELECT a, b FROM {read}");
        let answer = good(&mut served.command(&["sql", "--format", "csv", "-c", &sql]));
        assert_eq!(answer, "a,b\n1,x\n", "{place} {options}");
    }
    let there = "'s3://bucket/out/d.csv'";
    let refused = copy(there).output().unwrap();
    assert!(text(&refused.stderr).contains("already; OPTIONS (overwrite true)"));
    good(&mut copy(&format!("{there} (OVERWRITE)")));
    says(
        &mut copy("'s3://bucket/o.csv' (COLOR red)"),
        1,
        &["no option `COLOR`", "format, partition_by, header"],
    );
    for device in ["/dev/stdout", "/dev/fd/1"] {
        says(&mut copy(&format!("'{device}' STORED AS CSV")), 1, &["is no file", "--format csv"]);
    }
}

/// Seconds may be left out wherever a text becomes a time stamp.
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
    // Text stays text.
    assert_eq!(csv("SELECT '2026-01-01 10:05' AS t"), "t\n2026-01-01 10:05\n");
}

/// Records that are whole are not said to be on several lines.
#[test]
fn a_value_of_another_type_is_no_matter_of_lines() {
    let served = Served::start();
    let mut rows: String =
        (0..200_000).map(|n| format!("{{\"a\":{n},\"b\":\"{}\"}}\n", "x".repeat(60))).collect();
    rows.push_str("{\"a\":\"two\",\"b\":\"y\"}\n");
    std::fs::write(served.path().join("bucket/c.json"), rows).unwrap();
    let sql = ["sql", "--scan", "get", "-c", "SELECT max(a) FROM 's3://bucket/c.json'"];
    let said = text(&served.command(&sql).output().unwrap().stderr);
    assert!(said.contains("whilst decoding field 'a'") && said.contains("TRY_CAST"), "{said}");
    assert!(!said.contains("several lines"), "{said}");
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

/// A pattern of files on this machine is a table, too.
#[test]
fn files_of_this_machine_are_read_by_a_pattern() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("a.csv", "x\n1\n"), ("b.csv", "x\n2\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let sql = "SELECT sum(x) AS n FROM '*.csv'";
    let mut here = sluice(&["sql", "--format", "csv", "-c", sql]);
    assert_eq!(good(here.current_dir(folder.path())), "n\n3\n");
    let sql = format!("SELECT sum(x) AS n FROM '{}/*.csv'", folder.path().display());
    assert_eq!(good(&mut sluice(&["sql", "--format", "csv", "-c", &sql])), "n\n3\n");
    let sql = "SELECT * FROM 'no/such/*.csv'";
    says(&mut sluice(&["sql", "-c", sql]), 1, &["no file 'no/such/*.csv'"]);
}

/// What an option, a setting and a target of COPY may be.
#[test]
fn values_that_are_not_taken_are_named_with_what_may_be() {
    let served = Served::start();
    let says = |sql: &str, parts: &[&str]| {
        let output = served.command(&["sql", "-c", sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in parts {
            assert!(said.contains(part), "no {part:?} in {said:?}");
        }
        for part in ["Error parsing", "External error", "caused by", "Config value", "CsvOptions"] {
            assert!(!said.contains(part), "{part:?} in {said:?}");
        }
    };
    let fruit = "'s3://bucket/fruit.csv'";
    let create = format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION {fruit} OPTIONS");
    let copy = "COPY (SELECT 1 AS a) TO 's3://bucket/o.csv' OPTIONS";
    let character = "but must be one ASCII character";
    let number = "but must be a whole number";
    for (option, value, words) in [
        ("has_header", "maybe", "but must be true or false"),
        ("quote", "", character),
        ("delimiter", ";;", character),
        ("schema_infer_max_rec", "x", number),
        ("compression", "lzma", "but must be gzip, bzip2, xz, zstd or uncompressed"),
    ] {
        let said = format!("option `{option}` is '{value}', {words}");
        for statement in [&create, copy] {
            says(&format!("{statement} ('format.{option}' '{value}')"), &[&said]);
        }
        let typed = option.replace("schema_infer_max_rec", "sample_size");
        let said = format!("option `{typed}` is '{value}', {words}");
        says(&format!("SELECT * FROM read_csv({fruit}, {typed} => '{value}')"), &[&said]);
    }
    says(
        &format!("{create} ('format.header' 'true')"),
        &["CSV has no option `header`", "format.has_header"],
    );
    let level =
        "COPY (SELECT 1 AS a) TO 's3://bucket/o.parquet' OPTIONS ('format.compression' 'zstd(99)')";
    says(level, &["the level of the compression is not in 1 to 22", "zstd(3)"]);
    for (setting, value, words) in [
        ("datafusion.execution.batch_size", "x", number),
        ("datafusion.execution.batch_size", "0", "but must be greater than 0"),
        ("datafusion.execution.parquet.pruning", "maybe", "but must be true or false"),
        ("sluice.scan", "x", "but must be 'auto'"),
    ] {
        let said = format!("{setting} is '{value}', {words}");
        says(&format!("SET {setting} = '{value}'"), &[&said]);
    }
    for setting in ["timezone", "datafusion.execution.time_zone"] {
        let said = "datafusion.execution.time_zone is 'Mars', which is no time zone";
        says(&format!("SET {setting} = 'Mars'"), &[said, "'Europe/Berlin'"]);
    }
    for setting in ["nosuch", "datafusion.nosuch", "no.such"] {
        let said = format!("there is no setting `{setting}`");
        says(&format!("SET {setting} = 1"), &[&said, "SHOW ALL"]);
    }
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
        &["value 'apple' as type 'Int32' for column `name` at line 2", "fruit.csv"],
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

/// The hint is a statement that works.
#[test]
fn copy_to_names_without_a_format_says_how() {
    let served = Served::start();
    let copy = |name: &str, more: &str| {
        let sql = format!("COPY (SELECT 1 AS a) TO 's3://bucket/out/{name}'{more}");
        served.command(&["sql", "-c", &sql])
    };
    says(&mut copy("plain", ""), 1, &["a name without an extension", "STORED AS CSV", ".csv"]);
    for (end, compression) in [("gz", "gzip"), ("bz2", "bzip2"), ("xz", "xz"), ("zst", "zstd")] {
        // A name that says both is enough.
        let whole = format!("b.csv.{end}");
        let done = copy(&whole, "").output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let name = format!("a.{end}");
        let options = format!("OPTIONS ('format.compression' '{compression}')");
        says(&mut copy(&name, ""), 1, &[&format!("`.{end}`"), "STORED AS CSV", &options]);
        let done = copy(&name, &format!(" STORED AS CSV {options}")).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let read = format!("SELECT a + 41 AS sum FROM 's3://bucket/out/{whole}'");
        let read = served.command(&["sql", "-c", &read]).output().unwrap();
        assert!(text(&read.stdout).contains("42"), "{}", text(&read.stderr));
    }
}

#[test]
fn mistakes_in_addresses_and_keys_are_named_with_the_way_out() {
    let served = Served::start();
    let sql = ["sql", "-c", "SELECT * FROM 's3://bucket/*.csv'"];
    let at = |endpoint: &str| {
        let mut command = sluice(&sql);
        let key = [("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "my secret")];
        command.args(["--endpoint", endpoint]).envs(key);
        command
    };
    let mut wrong = served.command(&sql);
    wrong.env("AWS_SECRET_ACCESS_KEY", "wrong");
    says(&mut wrong, 1, &["does not accept the signature", "AWS_SECRET_ACCESS_KEY"]);
    let with_path = format!("{}/path", served.endpoint);
    says(&mut at(&with_path), 1, &["has a path", &format!("without it: {}", served.endpoint)]);
    let tls = served.endpoint.replace("http://", "https://");
    says(&mut at(&tls), 1, &["does not speak TLS", "Try http://"]);
    says(&mut at("http://nohost.invalid:9"), 1, &["no host `nohost.invalid`"]);
}

/// A web server that answers everything with a page, with this status.
fn web_server(status: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let is_head = lines.next().is_some_and(|line| line.unwrap().starts_with("HEAD"));
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let page = "<html><body>Welcome to nginx!</body></html>";
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                page.len()
            );
            let body = if is_head { "" } else { page };
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    format!("http://{address}")
}

/// Whatever asks first says what is wrong with the address.
#[test]
fn what_is_no_store_is_said_by_every_command() {
    let served = Served::start();
    let (missing, page) = (web_server("404 Not Found"), web_server("200 OK"));
    let tls = served.endpoint.replace("http://", "https://");
    let with_path = format!("{}/path", served.endpoint);
    let commands = [
        &["connect", "test"][..],
        &["sql", "-c", "\\ls"],
        &["sql", "-c", "\\ls s3://bucket/"],
        &["sql", "-c", "SELECT * FROM 's3://bucket/*.csv'"],
        &["endpoint", "probe", "--bucket", "bucket"],
    ];
    for (endpoint, part) in [
        (missing.as_str(), "is no S3 store"),
        (&tls, "does not speak TLS"),
        ("http://nohost.invalid:9", "there is no host `nohost.invalid`"),
        ("http://127.0.0.1:1", "the store at http://127.0.0.1:1 cannot be reached"),
    ] {
        for command in commands {
            let mut command = sluice(command);
            command.args(["--endpoint", endpoint]);
            command.envs([("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "my secret")]);
            says(&mut command, 1, &[part]);
        }
    }
    for command in &commands[..2] {
        for (endpoint, parts) in [(&with_path, &["has a path"][..]), (&page, &[])] {
            let mut command = sluice(command);
            command.args(["--endpoint", endpoint]);
            command.envs([("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "my secret")]);
            says(&mut command, 1, &[parts, &["is no S3 store"]].concat());
        }
    }
    let mut command = sluice(&["sql", "-c", "SELECT count(*) FROM 's3://bucket/a.csv'"]);
    command.args(["--endpoint", &page]);
    command.envs([("AWS_ACCESS_KEY_ID", "me"), ("AWS_SECRET_ACCESS_KEY", "my secret")]);
    says(&mut command, 1, &["is no S3 store", "a web page"]);
    for command in commands {
        let mut with_id = served.command(command);
        with_id.env("AWS_ACCESS_KEY_ID", "me\nx");
        says(&mut with_id, 1, &["the access key ID has a line end"]);
        let mut with_secret = served.command(command);
        with_secret.env("AWS_SECRET_ACCESS_KEY", "x\n");
        says(&mut with_secret, 1, &["the secret access key has a line end"]);
    }
    for command in &commands[..4] {
        for (variable, words) in [
            ("AWS_SECRET_ACCESS_KEY", "does not accept the signature"),
            ("AWS_ACCESS_KEY_ID", "does not know the access key"),
        ] {
            let mut command = served.command(command);
            says(command.env(variable, "wrong"), 1, &[words, variable]);
        }
    }
}

#[test]
fn mistakes_in_options_are_usage() {
    for (args, part) in [
        (&["sql", "--threads", "0"][..], "`0` is not a number of threads"),
        (&["demo", "--scale", "abc"], "`abc` is not a scale factor such as 0.1"),
        (&["validate", "--scale", "inf"], "`inf` is not a scale factor"),
        (&["sql", "--max-cost", "-1"], "`-1` is not a sum of dollars such as 0.05"),
        (
            &["generate", "tpch", "--to", "data", "--endpoint", "http://127.0.0.1:1"],
            "--endpoint is for a store, and `data` is a folder",
        ),
        (&["sql", "Cargo.toml"], "run it with -f Cargo.toml"),
        (&["sql", "--max-rows", "abc", "SELECT 1"], "it is no whole number"),
        (&["sql", "--endpoint", "127.0.0.1:9", "SELECT 1"], "http://host:port"),
        (&["sql", "--region", "", "SELECT 1"], "is no name of a region"),
        (&["sql", "--workers", "foo", "SELECT 1"], "Write http://host:port"),
        (&["sql", "--profile", "prod", "SELECT 1"], "--aws-profile prod"),
        (&["sql", "-o", ".", "SELECT 1"], "`.` is a folder"),
        (&["explain", "-c", "/* nothing */"], "nothing to explain"),
        (&["connect", "add", "x", "--threads", "2"], "a connection does not keep --threads"),
        (
            &["connect", "add", "../x", "--endpoint", "http://127.0.0.1:9"],
            "no name of a connection",
        ),
        (&["connect", "add", "x", "--endpoint", "nonsense"], "http://host:port"),
        (&["connect", "add", "x", "--region", "not a region"], "is no name of a region"),
    ] {
        says(&mut sluice(args), 2, &[part]);
    }
}

/// A statement needs no option; with --verbose an error also has the words of the libraries below.
#[test]
fn a_statement_without_an_option_runs() {
    let output = sluice(&["sql", "SELECT 41 + 1 AS n", "--format", "csv"]).output().unwrap();
    assert_eq!(text(&output.stdout), "n\n42\n");
    let wrong = ["sql", "SELECT sum('a')"];
    says(&mut sluice(&wrong), 1, &["there is no sum(Utf8)"]);
    let verbose = sluice(&wrong).arg("--verbose").output().unwrap();
    let said = text(&verbose.stderr);
    assert!(said.contains("\norigin: ") && said.contains("Candidate functions"), "{said}");
}

#[test]
fn a_disk_without_room_is_said_before_work_starts() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let parts = ["takes about", "are free in", "Choose a smaller scale"];
    says(&mut sluice(&["validate", "--scale", "100000"]), 1, &parts);
    says(&mut sluice(&["demo", "--scale", "100000"]), 1, &parts);
    says(&mut sluice(&["generate", "tpch", "--scale", "100000", "--to", to]), 1, &parts);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
