//! Passwords, addresses and TLS.

use super::client::{Client, SqlServer, error, field, kinds};
use crate::cli::{bad, sluice};

#[test]
fn other_machines_need_a_password_and_tls() {
    bad(&mut sluice(&["serve-sql", "--listen", "0.0.0.0:0"]), "a password and TLS");
    let mut command = sluice(&["serve-sql", "--listen", "0.0.0.0:0"]);
    bad(command.env("SLUICE_SQL_PASSWORD", "secret"), "needs TLS");
    bad(&mut sluice(&["serve-sql", "--tls-cert", "no.pem", "--tls-key", "no.pem"]), "no.pem");
    let mut command = sluice(&["serve-sql", "--listen", "127.0.0.1:0"]);
    bad(command.env("SLUICE_SQL_PASSWORD", "pässwort"), "SLUICE_SQL_PASSWORD");
}

#[test]
fn a_wrong_password_is_refused() {
    let server = SqlServer::start_over(None, &[], &[("SLUICE_SQL_PASSWORD", "secret")]);
    assert!(server.greeting.contains("need the password"), "{}", server.greeting);
    let mut client = Client::new(&server.address);
    client.first_packet(&[("user", "me")]);
    let reply = client.read().unwrap();
    assert_eq!(reply.body, b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let first = b"n,,n=,r=abc";
    let mut body = b"SCRAM-SHA-256\0".to_vec();
    body.extend(u32::try_from(first.len()).unwrap().to_be_bytes());
    body.extend(first);
    client.send('p', &body);
    let reply = client.read().unwrap();
    let nonce = String::from_utf8(reply.body[4..].to_vec()).unwrap();
    let nonce = nonce[2..].split(',').next().unwrap();
    let proof = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    client.send('p', format!("c=biws,r={nonce},p={proof}").as_bytes());
    let replies = client.until_ready();
    assert_eq!(kinds(&replies), "E");
    assert_eq!(field(&error(&replies).unwrap(), 'C'), "28P01");
    // A statement without a password is refused, too.
    let mut client = Client::new(&server.address);
    client.first_packet(&[("user", "me")]);
    client.read().unwrap();
    client.send('Q', b"SELECT 1\0");
    assert_eq!(field(&error(&client.until_ready()).unwrap(), 'C'), "08P01");
}

#[test]
fn encryption_that_is_not_there_is_declined() {
    let server = SqlServer::start(&[]);
    let mut client = Client::new(&server.address);
    for code in [80_877_104_i32, 80_877_103] {
        client.packet(&code.to_be_bytes());
        let mut answer = [0];
        std::io::Read::read_exact(&mut client.stream, &mut answer).unwrap();
        assert_eq!(answer, *b"N");
    }
    client.start(&[("user", "me")]);
    assert_eq!(client.rows("SELECT 1"), [["1"]]);
    let mut client = Client::new(&server.address);
    let replies = client.start(&[("database", "shop")]);
    assert_eq!(field(&error(&replies).unwrap(), 'C'), "28000");
}
