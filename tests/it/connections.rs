//! Named connections, and the source of their credentials.

use std::fs;
use std::process::Command;

use crate::cli::{Served, UNREACHABLE, bad, good, sluice, text};

const QUERY: [&str; 4] =
    ["--format", "csv", "-c", "SELECT count(*) AS n FROM 's3://bucket/fruit.csv'"];

/// Returns a command with configuration folders of its own.
fn at_home(folder: &std::path::Path, args: &[&str]) -> Command {
    let mut command = sluice(args);
    command.env("XDG_CONFIG_HOME", folder).env("HOME", folder);
    command
}

#[test]
fn a_connection_is_used_by_its_name() {
    let served = Served::start();
    let home = tempfile::tempdir().unwrap();
    let path = home.path();
    let keys = |command: &mut Command| -> String {
        good(command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "my secret"))
    };
    let add = ["connect", "add", "lab", "--endpoint", &served.endpoint, "--store", "get-only"];
    let added = good(&mut at_home(path, &add));
    assert!(added.contains("config.toml") && added.contains("-C lab"), "{added}");
    bad(&mut at_home(path, &add), "there is a connection `lab`");
    good(&mut at_home(path, &["connect", "add", "gone", "--endpoint", UNREACHABLE]));
    let file = fs::read_to_string(path.join("sluice/config.toml")).unwrap();
    assert!(file.contains("[connections.\"lab\"]") && !file.contains("secret"), "{file}");
    for secret in ["x@", "?X-Amz-Signature=x", "#x", "user%3Apw%40h", ";secret=x", "\u{ff20}x"] {
        let url = format!("http://127.0.0.1:9{secret}");
        bad(
            &mut at_home(path, &["connect", "add", "leaky", "--endpoint", &url]),
            "more in it than",
        );
    }
    assert_eq!(fs::read_to_string(path.join("sluice/config.toml")).unwrap(), file);
    let listed = good(&mut at_home(path, &["connect", "list", "--format", "csv"]));
    let line = format!("lab,{},,environment,get-only,,", served.endpoint);
    assert!(listed.lines().any(|listed| listed == line), "{listed}");

    let tested = keys(&mut at_home(path, &["connect", "test", "lab"]));
    assert!(tested.ends_with("answers: store get-only, 1 bucket\n"), "{tested}");
    bad(&mut at_home(path, &["connect", "test", "lab"]), "credentials");
    let mut wrong = at_home(path, &["connect", "test", "lab"]);
    let wrong = wrong.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "x");
    bad(wrong, "does not accept the signature of the secret key");
    let mut gone = at_home(path, &["connect", "test", "gone"]);
    let gone = gone.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "x");
    bad(gone, "cannot be reached");

    let sql = [&["sql", "-C", "lab"][..], &QUERY].concat();
    assert_eq!(keys(&mut at_home(path, &sql)), "n\n3\n");
    let named = [&["sql"][..], &QUERY].concat();
    assert_eq!(keys(at_home(path, &named).env("SLUICE_CONNECTION", "lab")), "n\n3\n");
    // Arguments override the connection.
    let beaten = [&["sql", "-C", "gone", "--endpoint", &served.endpoint][..], &QUERY].concat();
    assert_eq!(keys(&mut at_home(path, &beaten)), "n\n3\n");
    bad(&mut at_home(path, &["sql", "-C", "nowhere", "-c", "SELECT 1"]), "no connection `nowhere`");
    fs::write(path.join("sluice/config.toml"), "[connections.x]\nsecret_access_key = 'y'\n")
        .unwrap();
    bad(&mut at_home(path, &["sql", "-C", "x", "-c", "SELECT 1"]), "secret_access_key");
}

#[test]
fn a_named_aws_profile_beats_the_keys_of_the_environment() {
    let served = Served::start();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("credentials");
    fs::write(
        &file,
        "[right]\naws_access_key_id = me\naws_secret_access_key = my secret\n\
         [wrong]\naws_access_key_id = me\naws_secret_access_key = x\n",
    )
    .unwrap();
    let ask = |key: &str, more: &[&str]| {
        let args = [&["sql", "--endpoint", &served.endpoint][..], more, &QUERY].concat();
        let mut command = sluice(&args);
        command
            .env("AWS_SHARED_CREDENTIALS_FILE", &file)
            .env("AWS_ACCESS_KEY_ID", "me")
            .env("AWS_SECRET_ACCESS_KEY", key);
        command
    };
    assert_eq!(good(&mut ask("x", &["--aws-profile", "right"])), "n\n3\n");
    bad(&mut ask("my secret", &["--aws-profile", "wrong"]), "does not accept the signature");
    // Keys in the environment override the profile in the environment.
    assert_eq!(good(ask("my secret", &[]).env("AWS_PROFILE", "wrong")), "n\n3\n");
    bad(
        &mut ask("my secret", &["--aws-profile", "nobody"]),
        "no AWS profile `nobody`: there is right, wrong in ",
    );
    // The message names the environment's own keys, too, and half a pair is an error.
    let mut alone = ask("my secret", &[]);
    alone.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    bad(alone.env("AWS_PROFILE", "nobody"), "no AWS profile `nobody`: there is right, wrong in ");
    let mut half = ask("my secret", &[]);
    bad(half.env_remove("AWS_SECRET_ACCESS_KEY"), "AWS_SECRET_ACCESS_KEY is not");
    let mut half = ask("my secret", &[]);
    bad(
        half.env_remove("AWS_ACCESS_KEY_ID"),
        "AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID",
    );
}

#[test]
fn the_old_name_of_the_kind_of_store_works_and_says_so() {
    let served = Served::start();
    let args = [&["sql", "--profile", "get-only"][..], &QUERY].concat();
    let output = served.command(&args).output().unwrap();
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("n\n3\n", Some(0)));
    assert!(text(&output.stderr).contains("--profile is now called --store"));
}

#[test]
fn serve_makes_its_folder_and_logs_requests() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("access.log");
    let served = Served::start_with(&["--create", "--access-log", log.to_str().unwrap()]);
    let query = [&["sql"][..], &QUERY].concat();
    good(&mut served.command(&query));
    let lines = fs::read_to_string(&log).unwrap();
    assert!(lines.contains("/bucket/fruit.csv") && lines.contains("\" 200 "), "{lines}");
}
