//! Many sessions, limits, cancellation and clients that leave.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::client::{Client, SqlServer, error, field, kinds, tags};
use crate::harness::runner;

/// A statement that runs for minutes, unless it is stopped.
pub(super) const LONG: &str = "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 1000) b WHERE a.value % 7 = b.value % 11";

#[test]
fn another_connection_stops_a_statement() {
    let server = SqlServer::start(&[]);
    let mut client = server.connect();
    let key = client.key.unwrap();
    client.send('Q', format!("{LONG}\0").as_bytes());
    std::thread::sleep(Duration::from_millis(300));
    let stop = |key: &[u8; 8]| {
        let mut other = Client::new(&server.address);
        other.packet(&[&80_877_102_i32.to_be_bytes()[..], key].concat());
        assert!(other.read().is_none());
    };
    let mut wrong = key;
    wrong[7] ^= 1;
    stop(&wrong);
    let before = Instant::now();
    stop(&key);
    let replies = client.until_ready();
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    assert!(kinds(&replies).ends_with("EZ"), "{}", kinds(&replies));
    assert_eq!(field(&error(&replies).unwrap(), 'C'), "57014");
    // A request that comes too late does not stop the next statement.
    stop(&key);
    assert_eq!(client.rows("SELECT 1"), [["1"]]);
}

#[test]
fn statements_end_with_their_time() {
    let server = SqlServer::start(&["--statement-timeout", "300ms"]);
    let mut client = server.connect();
    let (code, message) = client.fails(LONG);
    assert_eq!(code, "57014", "{message}");
    client.rows("SET statement_timeout = '100ms'");
    assert_eq!(client.fails(LONG).0, "57014");
    assert_eq!(client.rows("SELECT 1"), [["1"]]);
}

/// A session that reaches its limit of memory gets an error, and the others go on.
#[test]
fn a_session_has_its_own_limit_of_memory() {
    let server = SqlServer::start(&["--session-memory", "64KiB"]);
    let (mut greedy, mut modest) = (server.connect(), server.connect());
    let many = "SELECT count(*) FROM (SELECT DISTINCT value FROM generate_series(1, 300000))";
    let (code, message) = greedy.fails(many);
    assert_eq!(code, "53000", "{message}");
    assert!(message.contains("than its session's limit of 64.0 KB leaves"), "{message}");
    for client in [&mut modest, &mut greedy] {
        assert_eq!(client.rows("SELECT count(*) FROM generate_series(1, 300000)"), [["300000"]]);
    }
}

/// The processor time of a process in ticks, from Linux's `/proc`.
#[cfg(target_os = "linux")]
pub(super) fn ticks(server: &SqlServer) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.process())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Hash joins, and cross joins whose rows have no columns, come to an end, too.
#[test]
#[cfg(target_os = "linux")]
fn the_statement_of_a_client_that_left_stops() {
    let server = SqlServer::start(&[]);
    let numbers = "SELECT value % 10 AS a FROM generate_series(1, 60000)";
    let crossed = format!("SELECT count(*) FROM ({numbers}) x, ({numbers}) y, ({numbers}) z");
    let skewed = format!("SELECT max(x.a + y.a) FROM ({numbers}) x JOIN ({numbers}) y USING (a)");
    for statement in [LONG, &crossed, &format!("{skewed} JOIN ({numbers}) z USING (a)")] {
        let mut client = server.connect();
        client.send('Q', format!("{statement}\0").as_bytes());
        std::thread::sleep(Duration::from_millis(500));
        let running = ticks(&server);
        drop(client);
        std::thread::sleep(Duration::from_secs(2));
        let stopped = ticks(&server);
        std::thread::sleep(Duration::from_secs(1));
        let later = ticks(&server);
        assert!(stopped > running, "{statement}");
        let rate = later - stopped;
        assert!(rate < 20, "it still runs: {rate} ticks a second: {statement}");
    }
}

#[test]
fn sessions_are_limited_and_end() {
    let mut server = SqlServer::start(&["--max-sessions", "64", "--session-timeout", "3s"]);
    let mut clients: Vec<Client> = (0..64).map(|_| server.connect()).collect();
    let mut refused = Client::new(&server.address);
    let replies = refused.start(&[("user", "me")]);
    assert_eq!(field(&error(&replies).unwrap(), 'C'), "53300");
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(
            'Q',
            format!("SELECT {number}, count(*) FROM generate_series(1, 1000)\0").as_bytes(),
        );
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let replies = client.until_ready();
        assert_eq!(super::rows(&replies), [[number.to_string(), "1000".to_owned()]]);
    }
    drop(clients.pop());
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(server.connect().rows("SELECT 1"), [["1"]]);
    // A silent session is told, and ends.
    let last = clients.last_mut().unwrap().read().unwrap();
    assert_eq!((last.kind, field(&error(&[last]).unwrap(), 'C')), ('E', "57P05".to_owned()));
    let mut told = server.connect();
    let before = Instant::now();
    assert_eq!(server.interrupt(), Some(0));
    assert!(before.elapsed() < Duration::from_secs(5));
    let replies = told.until_ready();
    assert_eq!(field(&error(&replies).unwrap(), 'C'), "57P01");
}

#[test]
fn a_thousand_idle_connections_are_borne() {
    let server = SqlServer::start(&["--max-sessions", "1100"]);
    let clients: Vec<Client> = (0..1000).map(|_| server.connect()).collect();
    assert!(clients.iter().all(|client| client.key.is_some()));
    assert_eq!(server.connect().rows("SELECT 1"), [["1"]]);
}

#[test]
fn a_silent_connection_ends_after_the_startup_time() {
    let server = SqlServer::start(&["--startup-timeout", "500ms"]);
    let mut silent = TcpStream::connect(&server.address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(silent.read(&mut [0; 8]).unwrap_or(0), 0);
}

#[test]
fn any_first_bytes_are_borne() {
    let server = SqlServer::start(&[]);
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        // The right length and version, and anything after them.
        proptest::collection::vec(any::<u8>(), 0..60).prop_map(|rest| {
            let length = u32::try_from(rest.len() + 8).unwrap().to_be_bytes();
            [&length[..], &[0, 3, 0, 0], &rest].concat()
        }),
        // A length that nobody may have.
        any::<u32>().prop_map(|length| length.to_be_bytes().to_vec()),
    ];
    let ran = runner(100).run(&bytes, |bytes| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        // The server may have closed the connection already.
        let _ = stream.write_all(&bytes);
        let mut answer = Vec::new();
        let _ = stream.take(100_000).read_to_end(&mut answer);
        match answer.len() < 10_000 {
            true => Ok(()),
            false => Err(TestCaseError::fail("a long answer to a stranger")),
        }
    });
    ran.unwrap();
    assert_eq!(server.connect().rows("SELECT 1"), [["1"]]);
}

#[test]
fn broken_messages_end_their_session_only() {
    let server = SqlServer::start(&[]);
    for (kind, body) in [('Q', &b"no end"[..]), ('!', b""), ('B', b"\0\0\xff\xff"), ('p', b"x")] {
        let mut client = server.connect();
        client.send(kind, body);
        let replies = client.until_ready();
        let fields = error(&replies).unwrap();
        assert_eq!(
            (field(&fields, 'S'), field(&fields, 'C')),
            ("FATAL".to_owned(), "08P01".to_owned())
        );
    }
    let mut client = server.connect();
    // A length of two gigabytes.
    client.stream.write_all(b"Q\x7f\xff\xff\xff").unwrap();
    assert_eq!(field(&error(&client.until_ready()).unwrap(), 'C'), "08P01");
    let mut client = server.connect();
    client.send('X', b"");
    assert!(client.read().is_none());
    let mut client = server.connect();
    assert_eq!(tags(&client.simple("SELECT 1")), ["SELECT 1"]);
}
