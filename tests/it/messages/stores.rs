//! Messages about addresses, credentials and servers that are no store.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use super::says;
use crate::cli::{Served, good, sluice};

/// A fault of credentials is named whatever request comes first: after a HEAD, whose answer has no body, a GET is
/// sent.
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

/// Starts a store that refuses every request with this code; the answer to a HEAD has only the status.
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
        // An empty variable counts as unset.
        good(sluice(&["sql", "SELECT 1"]).env(variable, ""));
    }
    let typed = ["sql", "--endpoint", "localhost:9000", "SELECT 1"];
    says(&mut sluice(&typed), 2, &["`localhost:9000` has no http://", "http://host:port"]);
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

/// Starts a web server that answers every request with a page and this status.
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

/// The first request reports the problem with the address, in every command.
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
