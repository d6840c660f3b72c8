//! Arrow Flight SQL.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{
    ArrayRef, AsArray, Date32Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Int32Type, Int64Type, Schema};
use arrow::util::pretty::pretty_format_batches;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{
    CommandGetDbSchemas, CommandGetTables, CommandGetXdbcTypeInfo, CommandStatementQuery,
    ProstMessageExt, SqlInfo,
};
use arrow_flight::{Action, CancelFlightInfoRequest, FlightDescriptor, FlightInfo};
use futures::{StreamExt, TryStreamExt};
use prost::Message;
use tonic::transport::{Channel, Endpoint};

use super::client::SqlServer;
use super::sessions::LONG;
use crate::cli::{Served, bad, sluice};

type Client = FlightSqlServiceClient<Channel>;

fn start(options: &[&str]) -> SqlServer {
    SqlServer::start(&[&["--flight-listen", "127.0.0.1:0"], options].concat())
}

fn with_store(options: &[&str]) -> SqlServer {
    SqlServer::with_store(&[&["--flight-listen", "127.0.0.1:0"], options].concat())
}

async fn connect(server: &SqlServer) -> Client {
    let url = server.flight().replace("grpc://", "http://");
    Client::new(Endpoint::from_shared(url).unwrap().connect().await.unwrap())
}

/// Fetches an answer.
async fn fetch(client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>, String> {
    let schema = info.clone().try_decode_schema().unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let rows = client.do_get(ticket).await.map_err(|error| error.to_string())?;
    let batches: Vec<RecordBatch> = rows.try_collect().await.map_err(|error| error.to_string())?;
    // The rows have the columns that were announced.
    assert!(batches.iter().all(|it| it.schema().fields() == schema.fields()), "{schema:?}");
    Ok(batches)
}

async fn query(client: &mut Client, sql: &str) -> Result<Vec<RecordBatch>, String> {
    let info = client.execute(sql.to_owned(), None).await.map_err(|error| error.to_string())?;
    fetch(client, info).await
}

/// Runs a query with one number as its answer.
async fn number(client: &mut Client, sql: &str) -> i64 {
    let batches = query(client, sql).await.unwrap();
    batches
        .iter()
        .find(|it| it.num_rows() > 0)
        .unwrap()
        .column(0)
        .as_primitive::<Int64Type>()
        .value(0)
}

fn failure<T: std::fmt::Debug>(result: Result<T, FlightError>) -> String {
    result.unwrap_err().to_string()
}

fn row<const N: usize>(values: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter(values).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_the_engine() {
    let server = with_store(&[]);
    let mut client = connect(&server).await;
    let sql = "SELECT name, sum(price) FROM 's3://bucket/fruit.csv' GROUP BY name ORDER BY name";
    let batches = query(&mut client, sql).await.unwrap();
    let table = pretty_format_batches(&batches).unwrap().to_string();
    assert!(table.contains("| apple       | 1.5        |"), "{table}");
    assert!(table.contains("| pear, green |            |"), "{table}");
    let types = "SELECT CAST(7 AS INT) AS i, make_array('a', NULL) AS l, DATE '2000-01-02' AS d, \
                 arrow_cast('x', 'Dictionary(Int8, Utf8)') AS e, named_struct('a', 1) AS s, NULL AS n";
    let batches = query(&mut client, types).await.unwrap();
    let schema = batches[0].schema();
    assert_eq!(schema.field(0).data_type(), &DataType::Int32);
    assert_eq!(schema.field(1).data_type(), &DataType::new_list(DataType::Utf8, true));
    assert_eq!(schema.field(3).data_type(), &DataType::Utf8);
    // A large answer arrives in many parts, and an empty one has its columns.
    let large = query(&mut client, "SELECT * FROM generate_series(1, 1000000)").await.unwrap();
    assert!(large.len() > 1);
    assert_eq!(large.iter().map(RecordBatch::num_rows).sum::<usize>(), 1_000_000);
    assert_eq!(query(&mut client, "SELECT 1 WHERE false").await.unwrap().len(), 0);
    let error =
        query(&mut client, "SELECT nonsense FROM 's3://bucket/fruit.csv'").await.unwrap_err();
    assert!(error.contains("nonsense") && error.contains("Hint: "), "{error}");
    for wrong in ["SELEKT", "SELECT 1; SELECT 2", "", "SELECT * FROM nowhere"] {
        query(&mut client, wrong).await.unwrap_err();
    }
    // An answer is fetched once.
    let info = client.execute("SELECT 1".to_owned(), None).await.unwrap();
    fetch(&mut client, info.clone()).await.unwrap();
    let error = fetch(&mut client, info).await.unwrap_err();
    assert!(error.contains("fetched once"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn prepared_statements_have_typed_parameters() {
    let server = with_store(&[]);
    let mut client = connect(&server).await;
    let sql = "SELECT name FROM 's3://bucket/fruit.csv' WHERE id = ? OR name = ? ORDER BY id";
    let mut statement = client.prepare(sql.to_owned(), None).await.unwrap();
    let parameters = statement.parameter_schema().unwrap();
    assert_eq!(parameters.field(0).data_type(), &DataType::Int64);
    assert_eq!(parameters.field(1).data_type(), &DataType::Utf8);
    assert_eq!(statement.dataset_schema().unwrap().field(0).name(), "name");
    assert!(failure(statement.execute().await).contains("Bind values"));
    for (id, name, expected) in
        [(1, None, vec!["apple"]), (3, Some("pear, green"), vec!["pear, green", "plum"])]
    {
        let id: ArrayRef = Arc::new(Int32Array::from(vec![id]));
        let name: ArrayRef = Arc::new(StringArray::from(vec![name]));
        statement.set_parameters(row([("1", id), ("2", name)])).unwrap();
        let info = statement.execute().await.unwrap();
        let batches = fetch(&mut client, info).await.unwrap();
        let names = batches.iter().flat_map(|it| it.column(0).as_string::<i32>().iter().flatten());
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }
    // Several rows of parameters are several answers, one after another.
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![3, 1]));
    let names: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>, None]));
    statement.set_parameters(row([("1", ids), ("2", names)])).unwrap();
    let info = statement.execute().await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 2);
    // Another number of values is an error.
    let one: ArrayRef = Arc::new(Date32Array::from(vec![1]));
    statement.set_parameters(row([("1", one)])).unwrap();
    assert!(failure(statement.execute().await).contains("2 parameters"));
    statement.close().await.unwrap();
    assert!(client.prepare("SELECT nonsense".to_owned(), None).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_return_their_number_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.csv");
    let copy = format!("COPY (VALUES (1), (2)) TO '{}'", path.display());
    let server = start(&["--allow-writes", "--allow-local-files"]);
    let mut client = connect(&server).await;
    assert_eq!(client.execute_update(copy, None).await.unwrap(), 2);
    assert!(path.exists());
    assert_eq!(client.execute_update("SET sluice.scan = 'get'".to_owned(), None).await.unwrap(), 0);
    let table = "CREATE TABLE t AS SELECT CAST(1 AS BIGINT) AS a, 'x' AS b";
    assert_eq!(client.execute_update(table.to_owned(), None).await.unwrap(), 0);
    let mut insert = client.prepare("INSERT INTO t VALUES (?, ?)".to_owned(), None).await.unwrap();
    assert_eq!(insert.dataset_schema().unwrap(), &Schema::empty());
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![2, 3, 4]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("it's"), None, Some("$1")]));
    insert.set_parameters(row([("1", numbers), ("2", texts)])).unwrap();
    assert_eq!(insert.execute_update().await.unwrap(), 3);
    assert_eq!(number(&mut client, "SELECT sum(a) FROM t").await, 10);
    // A definition may also be run as a query.
    query(&mut client, "CREATE VIEW v AS SELECT 7 AS a").await.unwrap();
    assert_eq!(number(&mut client, "SELECT a FROM v").await, 7);
    // It has run before its answer is fetched, but not if only its columns are asked for.
    let replaced = "CREATE OR REPLACE VIEW v AS SELECT 8 AS a";
    let command = CommandStatementQuery { query: replaced.to_owned(), transaction_id: None };
    let command = FlightDescriptor::new_cmd(command.as_any().encode_to_vec());
    client.inner_mut().get_schema(command).await.unwrap();
    assert_eq!(number(&mut client, "SELECT a FROM v").await, 7);
    let info = client.execute(replaced.to_owned(), None).await.unwrap();
    assert_eq!(number(&mut client, "SELECT a FROM v").await, 8);
    assert_eq!(
        fetch(&mut client, info).await.unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(),
        0
    );
}

/// Types that are coerced are announced as those of the rows, and no value is changed.
#[tokio::test(flavor = "multi_thread")]
async fn coerced_values_arrive_unchanged() {
    let server = start(&[]);
    let mut client = connect(&server).await;
    for (sql, expected) in [
        ("SELECT 1 AS a UNION ALL SELECT 2.5 ORDER BY 1", "1.0 2.5"),
        ("SELECT sum(a) FROM (SELECT 1 AS a UNION ALL SELECT 2.5)", "3.5"),
        ("SELECT CASE WHEN a > 1 THEN 1 ELSE 2.5 END FROM (VALUES (1)) AS v(a)", "2.5"),
        (
            "SELECT DATE '2000-01-01' AS a UNION ALL SELECT TIMESTAMP '2000-01-01 01:02:03' ORDER BY 1",
            "2000-01-01T00:00:00 2000-01-01T01:02:03",
        ),
        ("SELECT make_array(1.5) AS a UNION ALL SELECT make_array(1) ORDER BY 1", "[1.0] [1.5]"),
        (
            "SELECT CAST(1 AS INT) AS a UNION ALL SELECT CAST(3000000000 AS BIGINT) ORDER BY 1",
            "1 3000000000",
        ),
        ("SELECT NULL AS a UNION ALL SELECT 5 ORDER BY 1", "5 "),
    ] {
        let batches = query(&mut client, sql).await.unwrap();
        let column = |batch: &RecordBatch| {
            let column = Arc::clone(batch.column(0));
            let shown = (0..column.len())
                .map(move |row| arrow::util::display::array_value_to_string(&column, row).unwrap());
            shown.collect::<Vec<_>>()
        };
        assert_eq!(
            batches.iter().flat_map(column).collect::<Vec<_>>().join(" "),
            expected,
            "{sql}"
        );
    }
    // The types of parameters are those of their columns.
    let mut prepared = client.prepare("SELECT ? AS a".to_owned(), None).await.unwrap();
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    prepared.set_parameters(row([("1", Arc::clone(&numbers))])).unwrap();
    let info = prepared.execute().await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    let found = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
    assert_eq!(found.column(0), &numbers);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_may_do_is_limited() {
    let server = with_store(&["--max-cost", "0"]);
    let mut client = connect(&server).await;
    let sql = "SELECT count(*) FROM 's3://bucket/fruit.csv'".to_owned();
    let error = failure(client.execute(sql.clone(), None).await);
    assert!(error.contains("predicted to cost"), "{error}");
    let mut prepared = client.prepare(sql, None).await.unwrap();
    assert!(failure(prepared.execute().await).contains("predicted to cost"));
    let copy = "COPY (SELECT 1) TO 's3://bucket/new.csv'".to_owned();
    for error in [
        failure(client.execute(copy.clone(), None).await),
        failure(client.execute_update(copy, None).await),
    ] {
        assert!(error.contains("allows only statements that read"), "{error}");
    }
    let setting = "SET datafusion.runtime.memory_limit = '1G'".to_owned();
    assert!(failure(client.execute_update(setting, None).await).contains("whole server"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.csv");
    std::fs::write(&path, "a\n1\n").unwrap();
    let error = query(&mut client, &format!("SELECT * FROM '{}'", path.display())).await;
    let error = error.unwrap_err();
    assert!(error.contains("does not have permission"), "{error}");
    assert!(failure(client.begin_transaction().await).contains("not supported"));
    bad(&mut sluice(&["serve-sql", "--flight-listen", "0.0.0.0:0"]), "a password and TLS");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_separate_and_limited() {
    let server = start(&["--max-sessions", "2"]);
    let (mut one, mut other) = (connect(&server).await, connect(&server).await);
    one.execute_update("CREATE VIEW mine AS SELECT 1 AS a".to_owned(), None).await.unwrap();
    assert_eq!(number(&mut one, "SELECT a FROM mine").await, 1);
    assert!(query(&mut other, "SELECT a FROM mine").await.is_err());
    // Another client cannot fetch an answer.
    let info = one.execute("SELECT 1".to_owned(), None).await.unwrap();
    assert!(fetch(&mut other, info).await.unwrap_err().contains("no such query"));
    let mut refused = connect(&server).await;
    let error = query(&mut refused, "SELECT 1").await.unwrap_err();
    assert!(error.contains("2 sessions already"), "{error}");
    // The places are shared with PostgreSQL's clients.
    let mut third = super::client::Client::new(&server.address);
    let replies = third.start(&[("user", "me")]);
    let fields = super::error(&replies).unwrap();
    assert_eq!(super::field(&fields, 'C'), "53300");
    drop(other);
    tokio::time::sleep(Duration::from_millis(500)).await;
    query(&mut refused, "SELECT 1").await.unwrap();
    // A client can begin anew.
    let action = Action::new("CloseSession", Vec::new());
    one.do_action(action).await.unwrap().try_collect::<Vec<_>>().await.unwrap();
    assert!(query(&mut one, "SELECT a FROM mine").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_needed() {
    let server = SqlServer::start_over(
        None,
        &["--flight-listen", "127.0.0.1:0", "--startup-timeout", "4s"],
        &[("SLUICE_SQL_PASSWORD", "open sesame")],
    );
    let mut client = connect(&server).await;
    let error = query(&mut client, "SELECT 1").await.unwrap_err();
    assert!(error.contains("needs a password"), "{error}");
    assert!(failure(client.handshake("me", "wrong").await).contains("is wrong"));
    client.handshake("me", "open sesame").await.unwrap();
    query(&mut client, "SELECT 1").await.unwrap();
    let mut other = connect(&server).await;
    other.set_token("open sesame".to_owned());
    query(&mut other, "SELECT 1").await.unwrap();
    // Clients without the password do not keep their connection.
    let address = server.flight().trim_start_matches("grpc://").to_owned();
    let mut silent = TcpStream::connect(address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    silent.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    assert!(silent.read_to_end(&mut Vec::new()).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_lists_tables_types_and_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.sql");
    std::fs::write(
        &file,
        "CREATE EXTERNAL TABLE fruit STORED AS CSV LOCATION 's3://bucket/fruit.csv'; \
         CREATE VIEW cheap AS SELECT name FROM fruit",
    )
    .unwrap();
    let server = with_store(&["-f", file.to_str().unwrap()]);
    let mut client = connect(&server).await;
    let command = CommandGetTables { include_schema: true, ..CommandGetTables::default() };
    let info = client.get_tables(command).await.unwrap();
    let tables = fetch(&mut client, info).await.unwrap();
    let column = |index: usize| tables[0].column(index).as_string::<i32>().iter().flatten();
    assert_eq!(column(2).collect::<Vec<_>>(), ["cheap", "fruit"]);
    assert_eq!(column(3).collect::<Vec<_>>(), ["VIEW", "TABLE"]);
    let command = CommandGetTables {
        table_name_filter_pattern: Some("fr%".to_owned()),
        table_types: vec!["TABLE".to_owned()],
        ..CommandGetTables::default()
    };
    let info = client.get_tables(command).await.unwrap();
    assert_eq!(fetch(&mut client, info).await.unwrap()[0].num_rows(), 1);
    for info in [
        client.get_catalogs().await,
        client.get_db_schemas(CommandGetDbSchemas::default()).await,
        client.get_table_types().await,
        client.get_sql_info(vec![SqlInfo::FlightSqlServerName]).await,
        client.get_xdbc_type_info(CommandGetXdbcTypeInfo::default()).await,
    ] {
        let batches = fetch(&mut client, info.unwrap()).await.unwrap();
        assert!(batches[0].num_rows() > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_end_with_their_time_and_idle_connections_end() {
    let server = start(&["--statement-timeout", "300ms", "--session-timeout", "2s"]);
    let mut client = connect(&server).await;
    let error = query(&mut client, LONG).await.unwrap_err();
    assert!(error.contains("time limit"), "{error}");
    assert!(failure(client.execute_update(LONG.to_owned(), None).await).contains("time limit"));
    client.execute_update("SET sluice.scan = 'get'".to_owned(), None).await.unwrap();
    tokio::time::sleep(Duration::from_millis(3500)).await;
    // The client connects again, and has a new session.
    let batches = match query(&mut client, "SHOW sluice.scan").await {
        Ok(batches) => batches,
        Err(_) => query(&mut client, "SHOW sluice.scan").await.unwrap(),
    };
    assert!(pretty_format_batches(&batches).unwrap().to_string().contains("auto"));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn the_query_of_a_client_that_left_stops() {
    use super::sessions::ticks;
    let server = start(&[]);
    for by in ["dropping the answer", "closing the connection", "CancelFlightInfo"] {
        let mut client = connect(&server).await;
        let info = client.execute(LONG.to_owned(), None).await.unwrap();
        let ticket = info.endpoint[0].ticket.clone().unwrap();
        let mut answer = Box::pin(client.do_get(ticket).await.unwrap());
        let waited = tokio::time::timeout(Duration::from_millis(500), answer.next()).await;
        assert!(waited.is_err(), "{by}: the query does not run");
        let running = ticks(&server);
        match by {
            "dropping the answer" => drop(answer),
            "closing the connection" => {
                drop(answer);
                drop(client);
            }
            _ => {
                let request = CancelFlightInfoRequest::new(info).encode_to_vec();
                let action = Action::new("CancelFlightInfo", request);
                let results = client.do_action(action).await.unwrap();
                assert_eq!(results.try_collect::<Vec<_>>().await.unwrap()[0].body[..], [8, 1]);
                let error = answer.next().await.unwrap().unwrap_err().to_string();
                assert!(error.contains("stopped"), "{error}");
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let stopped = ticks(&server);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let later = ticks(&server);
        assert!(stopped > running);
        assert!(later - stopped < 20, "{by}: {} ticks a second", later - stopped);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_first_bytes_are_borne() {
    let server = start(&["--startup-timeout", "1s"]);
    let address = server.flight().trim_start_matches("grpc://").to_owned();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let frames: [&[u8]; 6] = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        // A frame of 16 MiB, a frame of an unknown kind, and a header that is none.
        b"\xff\xff\xff\0\0\0\0\0\x01",
        b"\0\0\x04\xee\0\0\0\0\0abcd",
        b"\0\0\x03\x01\x04\0\0\0\x01\xff\xff\xff",
    ];
    for (index, bytes) in frames.iter().enumerate() {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        if index > 2 {
            stream.write_all(preface).unwrap();
        }
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.take(100_000).read_to_end(&mut answer);
        assert!(answer.len() < 10_000);
    }
    let mut client = connect(&server).await;
    query(&mut client, "SELECT 1").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_of_the_server_is_queried_by_many_at_once() {
    let server = SqlServer::start_over(
        Some(Served::start()),
        &["--flight-listen", "127.0.0.1:0", "--max-sessions", "32"],
        &[],
    );
    let queries = (0..32).map(async |_| {
        let mut client = connect(&server).await;
        let sql = "SELECT CAST(count(*) AS INT) FROM 's3://bucket/fruit.csv'";
        let batches = query(&mut client, sql).await.unwrap();
        batches[0].column(0).as_primitive::<Int32Type>().value(0)
    });
    let counts = futures::future::join_all(queries).await;
    assert_eq!(counts, [3; 32]);
}
