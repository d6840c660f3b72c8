//! `sluice serve-sql`: PostgreSQL's protocol, message by message, and Flight SQL. `tests/serve_sql/run` drives it with
//! real clients.

mod client;
mod flight;
mod security;
mod sessions;

use self::client::{SqlServer, error, field, kinds, rows, tags};
use crate::cli::{bad, sluice};

#[test]
fn simple_queries_return_rows_and_tags() {
    let server = SqlServer::with_store(&[]);
    let mut client = server.connect();
    let replies = client
        .simple("SELECT id, price FROM 's3://bucket/fruit.csv' ORDER BY id; SELECT 'é', NULL");
    assert_eq!(kinds(&replies), "TDDDCTDCZ");
    let expected = [["1", "1.5"], ["2", "NULL"], ["3", "0.25"], ["é", "NULL"]];
    assert_eq!(rows(&replies), expected);
    assert_eq!(tags(&replies), ["SELECT 3", "SELECT 1"]);
    assert_eq!(kinds(&client.simple(" -- nothing")), "IZ");
    // The first error ends the text.
    let replies = client.simple("SELECT 1; SELEKT; SELECT 2");
    assert_eq!(kinds(&replies), "TDCEZ");
    let fields = error(&replies).unwrap();
    assert_eq!(
        (field(&fields, 'S'), field(&fields, 'C')),
        ("ERROR".to_owned(), "42601".to_owned())
    );
    assert_eq!(field(&fields, 'P'), "11");
    assert_eq!(client.rows("SELECT 3"), [["3"]]);
}

#[test]
fn types_are_sent_as_text_and_in_binary_form() {
    let server = SqlServer::start(&[]);
    let mut client = server.connect();
    let cases = [
        ("1 = 1", 16, "t", "01"),
        ("CAST(-2 AS SMALLINT)", 21, "-2", "fffe"),
        ("CAST(7 AS INT)", 23, "7", "00000007"),
        ("7", 20, "7", "0000000000000007"),
        ("CAST(1.5 AS REAL)", 700, "1.5", "3fc00000"),
        ("CAST(1.5 AS DOUBLE)", 701, "1.5", "3ff8000000000000"),
        ("CAST('-12.50' AS DECIMAL(9, 2))", 1700, "-12.50", "00020000400000020 00c1388"),
        ("'a b'", 25, "a b", "612062"),
        ("X'00ff'", 17, "\\x00ff", "00ff"),
        ("DATE '2000-01-02'", 1082, "2000-01-02", "00000001"),
        ("TIME '00:00:01'", 1083, "00:00:01", "00000000000f4240"),
        ("TIMESTAMP '2000-01-01 00:00:01'", 1114, "2000-01-01 00:00:01", "00000000000f4240"),
        (
            "arrow_cast('2000-01-01 01:00:01+01', 'Timestamp(Microsecond, Some(\"UTC\"))')",
            1184,
            "2000-01-01 00:00:01+00",
            "00000000000f4240",
        ),
        (
            "INTERVAL '1 month 2 days 1 second'",
            1186,
            "1 mon 2 days 00:00:01",
            "00000000000f42400000000200000001",
        ),
        (
            "make_array(1, NULL)",
            1016,
            "{1,NULL}",
            "0000000100000001000000140000000200000001000000080000000000000001ffffffff",
        ),
        (
            "named_struct('a', 1, 'b', make_array('x'))",
            114,
            "{\"a\":1,\"b\":[\"x\"]}",
            "7b2261223a312c2262223a5b2278225d7d",
        ),
        ("arrow_cast(7, 'UInt64')", 1700, "7", "00010000000000000007"),
        ("NULL", 25, "NULL", "-"),
    ];
    for (expression, oid, as_text, binary) in cases {
        let sql = format!("SELECT {expression}");
        for format in [0, 1] {
            client.prepare("", &sql, &[]);
            client.bind("", "", &[], format);
            client.describe('P', "");
            client.execute("", 0);
            let replies = client.sync();
            assert_eq!(kinds(&replies), "12TDCZ", "{sql}: {:?}", error(&replies));
            let described = &replies[2].body;
            let kind = &described[described.len() - 12..described.len() - 8];
            assert_eq!(u32::from_be_bytes(kind.try_into().unwrap()), oid, "{sql}");
            if format == 0 {
                assert_eq!(rows(&replies), [[as_text]], "{sql}");
            } else {
                let value: String =
                    replies[3].body[6..].iter().map(|byte| format!("{byte:02x}")).collect();
                let expected = binary.replace([' ', '-'], "");
                assert_eq!(value, expected, "{sql}");
            }
        }
    }
}

#[test]
fn prepared_statements_have_typed_parameters() {
    let server = SqlServer::with_store(&[]);
    let mut client = server.connect();
    client.prepare(
        "s",
        "SELECT name FROM 's3://bucket/fruit.csv' WHERE id = $1 OR name = $2",
        &[0, 25],
    );
    client.describe('S', "s");
    let replies = client.sync();
    assert_eq!(kinds(&replies), "1tTZ", "{:?}", error(&replies));
    // bigint, inferred, and text, as told.
    assert_eq!(replies[1].body, [0, 2, 0, 0, 0, 20, 0, 0, 0, 25]);
    for (values, expected) in [
        ([Some("1"), None], vec![["apple"]]),
        ([Some("3"), Some("pear, green")], vec![["pear, green"], ["plum"]]),
        ([Some("9"), Some("it's")], vec![]),
    ] {
        client.bind("", "s", &values, 0);
        client.execute("", 0);
        let mut found = rows(&client.sync());
        found.sort();
        assert_eq!(found, expected);
    }
    // A value that is none of its type is an error of this statement only.
    client.bind("", "s", &[Some("x"), None], 0);
    client.execute("", 0);
    let replies = client.sync();
    assert_eq!(kinds(&replies), "EZ");
    assert_eq!(field(&error(&replies).unwrap(), 'C'), "22P02");
    client.send('C', b"Ss\0");
    client.bind("", "s", &[None, None], 0);
    let replies = client.sync();
    assert_eq!(
        (kinds(&replies), field(&error(&replies).unwrap(), 'C')),
        ("3EZ".to_owned(), "26000".to_owned())
    );
}

#[test]
fn portals_return_rows_in_parts() {
    let server = SqlServer::start(&[]);
    let mut client = server.connect();
    client.rows("BEGIN");
    client.prepare("", "SELECT * FROM generate_series(1, $1)", &[20]);
    client.bind("p", "", &[Some("5")], 0);
    client.execute("p", 2);
    let replies = client.sync();
    assert_eq!(kinds(&replies), "12DDsZ", "{:?}", error(&replies));
    client.execute("p", 2);
    client.execute("p", 0);
    let replies = client.sync();
    assert_eq!(kinds(&replies), "DDsDCZ");
    assert_eq!(tags(&replies), ["SELECT 1"]);
    // Outside of a transaction, portals end with Sync.
    client.rows("COMMIT");
    client.execute("p", 0);
    assert_eq!(field(&error(&client.sync()).unwrap(), 'C'), "34000");
    client.rows("BEGIN; DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 5)");
    assert_eq!(client.rows("FETCH 2 FROM c"), [["1"], ["2"]]);
    let replies = client.simple("MOVE 1 IN c; FETCH ALL FROM c; FETCH c");
    assert_eq!(rows(&replies), [["4"], ["5"]]);
    assert_eq!(tags(&replies), ["MOVE 1", "FETCH 2", "FETCH 0"]);
    client.rows("CLOSE c; COMMIT");
    assert_eq!(client.fails("FETCH 1 FROM c").0, "34000");
    assert_eq!(client.fails("DECLARE c CURSOR FOR SELECT 1").0, "25P01");
}

#[test]
fn errors_skip_to_the_next_sync_and_fail_transactions() {
    let server = SqlServer::start(&[]);
    let mut client = server.connect();
    client.prepare("", "SELECT nonsense FROM nowhere", &[]);
    client.bind("", "", &[], 0);
    client.execute("", 0);
    client.prepare("never", "SELECT 1", &[]);
    let replies = client.sync();
    assert_eq!(kinds(&replies), "12EZ");
    assert_eq!(field(&error(&replies).unwrap(), 'C'), "42P01");
    let replies = client.simple("BEGIN; SELECT 1/0");
    assert_eq!(replies.last().unwrap().body, b"E");
    assert_eq!(client.fails("SELECT 1").0, "25P02");
    let replies = client.simple("COMMIT");
    assert_eq!(
        (tags(&replies), replies.last().unwrap().body.as_slice()),
        (vec!["ROLLBACK".to_owned()], &b"I"[..])
    );
    client.rows("BEGIN; SAVEPOINT a");
    client.fails("SELECT nonsense");
    assert_eq!(client.rows("ROLLBACK TO a; SELECT 1"), [["1"]]);
    assert_eq!(tags(&client.simple("RELEASE a; END")), ["RELEASE", "COMMIT"]);
}

#[test]
fn settings_of_clients_and_of_the_engine_are_kept() {
    let server = SqlServer::start(&[]);
    let mut client = server.connect();
    let replies = client.simple("SET application_name = 'tests'");
    assert_eq!(kinds(&replies), "SCZ");
    assert_eq!(client.rows("SHOW application_name; SHOW server_version"), [["tests"], ["15.0"]]);
    assert_eq!(client.fails("SET client_encoding = 'LATIN1'").0, "22023");
    assert_eq!(client.fails("SET nonsense = 1").0, "42704");
    client.rows("SET sluice.scan = 'get'");
    assert_eq!(client.rows("SHOW sluice.scan")[0][1], "get");
    // Another session has its own.
    assert_eq!(server.connect().rows("SHOW sluice.scan")[0][1], "auto");
    client.rows("BEGIN; SET LOCAL application_name = 'inner'; COMMIT");
    assert_eq!(client.rows("SHOW application_name"), [["tests"]]);
    client.rows("DISCARD ALL");
    assert_eq!(client.rows("SHOW sluice.scan")[0][1], "auto");
    assert_eq!(client.fails("SET datafusion.runtime.memory_limit = '1G'").0, "42501");
    assert_eq!(client.fails("SET datafusion.execution.batch_size = 1000000000000").0, "42501");
    for into in [
        "SELECT 7 AS a INTO t2",
        "(SELECT 7 AS a INTO t2)",
        "WITH w AS (SELECT 7 AS a) SELECT * INTO t2 FROM w",
    ] {
        assert_eq!(client.fails(into).0, "25006", "{into}");
    }
    assert_eq!(client.rows("SELECT 1 AS a UNION ALL SELECT 2.5 ORDER BY 1"), [["1"], ["2.5"]]);
}

#[test]
fn copy_sends_text_csv_and_binary() {
    let server = SqlServer::with_store(&[]);
    let mut client = server.connect();
    let mut copied = |sql: &str| {
        let replies = client.simple(sql);
        assert!(error(&replies).is_none(), "{sql}: {:?}", error(&replies));
        assert_eq!(kinds(&replies).replace('d', ""), "HcCZ");
        assert_eq!(tags(&replies), ["COPY 3"]);
        let data = replies.iter().filter(|reply| reply.kind == 'd');
        data.flat_map(|reply| reply.body.clone()).collect::<Vec<u8>>()
    };
    let query = "(SELECT * FROM 's3://bucket/fruit.csv' ORDER BY id)";
    assert_eq!(
        copied(&format!("COPY {query} TO STDOUT")),
        b"1\tapple\t1.5\n2\tpear, green\t\\N\n3\tplum\t0.25\n"
    );
    let csv = copied(&format!("COPY {query} TO STDOUT (FORMAT csv, HEADER)"));
    assert_eq!(csv, b"id,name,price\n1,apple,1.5\n2,\"pear, green\",\n3,plum,0.25\n");
    let binary = copied(&format!("COPY {query} TO STDOUT WITH BINARY"));
    assert!(binary.starts_with(b"PGCOPY\n\xff\r\n\0") && binary.ends_with(&[255, 255]));
    assert_eq!(client.fails("COPY t FROM STDIN").0, "0A000");
}

#[test]
fn what_clients_may_do_is_limited() {
    let server = SqlServer::with_store(&["--max-cost", "0"]);
    assert!(server.greeting.contains("only read"), "{}", server.greeting);
    let mut client = server.connect();
    let (code, message) = client.fails("SELECT count(*) FROM 's3://bucket/fruit.csv'");
    assert_eq!(code, "53400", "{message}");
    assert!(message.contains("cost"), "{message}");
    client.rows("EXPLAIN SELECT count(*) FROM 's3://bucket/fruit.csv'");
    let runs = "EXPLAIN (VERBOSE false, VERBOSE false, VERBOSE false, ANALYZE) SELECT * FROM 's3://bucket/fruit.csv'";
    assert_eq!(client.fails(runs).0, "53400");
    for statement in [
        "COPY (SELECT 1) TO 's3://bucket/new.csv'",
        "CREATE TABLE t AS SELECT 1",
        "EXPLAIN ANALYZE INSERT INTO t SELECT 1",
    ] {
        let code = client.fails(statement).0;
        assert!(["25006", "42P01", "42000"].contains(&code.as_str()), "{statement}: {code}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret.csv"), "a\n1\n").unwrap();
    let path = folder.path().join("secret.csv");
    let path = path.to_str().unwrap();
    assert_eq!(client.fails(&format!("SELECT * FROM '{path}'")).0, "42501");
    let server = SqlServer::start(&["--allow-local-files", "--allow-writes"]);
    let mut client = server.connect();
    assert_eq!(client.rows(&format!("SELECT * FROM '{path}'")), [["1"]]);
    let statement = format!("COPY (SELECT 1 AS a) TO '{path}.out.csv'");
    assert_eq!(client.fails(&format!("BEGIN; {statement}")).0, "25001");
    assert_eq!(tags(&client.simple(&format!("ROLLBACK; {statement}"))), ["ROLLBACK", "COPY 1"]);
}

#[test]
fn tables_of_the_server_are_seen_by_all_and_others_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.sql");
    std::fs::write(&file, "CREATE VIEW fruit AS SELECT * FROM 's3://bucket/fruit.csv'").unwrap();
    let server = SqlServer::with_store(&["-f", file.to_str().unwrap()]);
    let (mut one, mut other) = (server.connect(), server.connect());
    assert_eq!(one.rows("SELECT count(*) FROM fruit"), [["3"]]);
    assert_eq!(tags(&one.simple("CREATE VIEW mine AS SELECT 1 AS a")), ["CREATE VIEW"]);
    assert_eq!(
        one.rows("SELECT relname, relkind FROM pg_class ORDER BY 1"),
        [["fruit", "v"], ["mine", "v"]]
    );
    assert_eq!(other.rows("SELECT table_name FROM information_schema.tables"), [["fruit"]]);
    assert_eq!(other.fails("SELECT * FROM mine").0, "42P01");
    let columns = one.rows(
        "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a \
         WHERE a.attrelid = 'fruit'::regclass AND a.attnum > 0 ORDER BY a.attnum",
    );
    assert_eq!(columns, [["id", "bigint"], ["name", "text"], ["price", "double precision"]]);
    assert_eq!(
        one.rows("SELECT current_database(), current_user, current_schema()"),
        [["shop", "me", "public"]]
    );
    let version = one.rows("SELECT version()");
    assert!(version[0][0].starts_with("PostgreSQL 15.0 (Sluicegate "), "{version:?}");
    bad(&mut sluice(&["serve-sql", "-f", "no/such.sql"]), "no/such.sql");
}
