//! The binary on the command line.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use sluicegate_costmodel::HardwareProfile;
use tempfile::TempDir;

const CSV: &str = "id,name,price\n1,apple,1.50\n2,\"pear, green\",\n3,plum,0.25\n";

/// Returns a command of the binary without the credentials and settings of the tests' user.
pub(crate) fn sluice(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
        if name.starts_with("AWS_") || name.starts_with("SLUICE_") || name == "RUST_LOG" || is_proxy
        {
            command.env_remove(name);
        }
    }
    command
        // A cache folder that cannot be created.
        .env("XDG_CACHE_HOME", "/dev/null/cache")
        .env("AWS_CONFIG_FILE", "no-such-file")
        .env("AWS_SHARED_CREDENTIALS_FILE", "no-such-file")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .stdin(Stdio::null())
        .args(args);
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs a command that must succeed; returns its stdout.
#[track_caller]
pub(crate) fn good(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert_eq!(status.code(), Some(0), "{}", text(&stderr));
    text(&stdout)
}

/// Checks that a command fails with one sentence that contains `words`, and a hint.
#[track_caller]
pub(crate) fn bad(command: &mut Command, words: &str) {
    ends(command, 1, words);
}

/// Checks that a command fails with a usage error that contains `words`.
#[track_caller]
fn misused(command: &mut Command, words: &str) {
    ends(command, 2, words);
}

#[track_caller]
pub(crate) fn ends(command: &mut Command, code: i32, words: &str) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = text(&stderr);
    assert_eq!(status.code(), Some(code), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(words), "{said}");
    assert!(lines[1].starts_with("hint: "), "{said}");
    assert!(stdout.is_empty(), "{}", text(&stdout));
}

/// No name or value can send control sequences to the terminal.
#[test]
fn control_characters_are_shown_and_not_obeyed() {
    let served = Served::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let profile =
        HardwareProfile { name: "a\u{1b}[31mb".to_owned(), ..HardwareProfile::paper().clone() };
    fs::write(&file, profile.to_string()).unwrap();
    let hardware = ["--hardware", file.to_str().unwrap()];
    let sql = "SELECT name || chr(27) || '[2J' AS n FROM 's3://bucket/fruit.csv' WHERE id = 1";
    let refused = served.command(&["explain", "-c", sql]).args(hardware).output().unwrap();
    let refused = text(&refused.stderr);
    assert!(refused.contains("`name`: has the control character \\u{1b}"), "{refused}");
    let explained = good(&mut served.command(&["explain", "-c", sql]));
    let table = good(&mut served.command(&["sql", "-c", sql]));
    assert!(table.contains("apple\\u{1b}[2J"), "{table}");
    let wrong = "SELECT \"\u{1b}[2J\" FROM 's3://bucket/fruit.csv'";
    let said = text(&served.command(&["sql", "-c", wrong]).output().unwrap().stderr);
    assert!(said.contains("\\u{1b}[2J"), "{said}");
    for shown in [refused, explained, table, said] {
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
    // Formats for programs keep the characters.
    let csv = good(&mut served.command(&["sql", "--format", "csv", "-c", sql]));
    assert_eq!(csv, "n\napple\u{1b}[2J\n");
}

/// A URL that nothing serves: no server of another test gets this port.
pub(crate) const UNREACHABLE: &str = "http://127.0.0.1:1";

/// `sluice serve` over a folder with a bucket and a CSV file, on a free port.
pub(crate) struct Served {
    child: Child,
    pub(crate) endpoint: String,
    folder: TempDir,
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts the server with more arguments.
    pub(crate) fn start_with(more: &[&str]) -> Self {
        Self::start_logging(more, Stdio::inherit())
    }

    /// Starts the server with more arguments and a destination for its stderr.
    pub(crate) fn start_logging(more: &[&str], log: Stdio) -> Self {
        Self::start_as(more, log, |command| command)
    }

    /// Starts the server by another command, which is derived from the server's own.
    pub(crate) fn start_as(
        more: &[&str],
        log: Stdio,
        other: impl FnOnce(Command) -> Command,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bucket")).unwrap();
        fs::write(folder.path().join("bucket").join("fruit.csv"), CSV).unwrap();
        let dir = folder.path().to_str().unwrap();
        let mut command = sluice(&["serve", "--dir", dir, "--listen", "127.0.0.1:0"]);
        command.args(more).env("SLUICE_ACCESS_KEY", "me").env("SLUICE_SECRET_KEY", "my secret");
        let mut child = other(command).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, endpoint) = line.trim().split_once(" at ").unwrap_or_else(|| panic!("{line}"));
        Self { endpoint: endpoint.to_owned(), child, folder }
    }

    /// Returns a command with this server's URL and credentials.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = sluice(args);
        command
            .args(["--endpoint", &self.endpoint])
            .env("AWS_ACCESS_KEY_ID", "me")
            .env("AWS_SECRET_ACCESS_KEY", "my secret");
        command
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Sends a signal to the server, such as `-HUP`.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Takes the pipe to the server's stdin, if it has one.
    pub(crate) fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits until the server exits; returns its exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Kills the server; the folder stays.
    fn end(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}

#[test]
fn a_scrub_lists_what_is_damaged() {
    let mut served = Served::start_with(&["--no-fsync", "--upload-expiry", "never"]);
    for name in ["one", "two"] {
        let copy = format!("COPY (SELECT '{name}' AS a) TO 's3://bucket/{name}.csv'");
        good(&mut served.command(&["sql", "-c", &copy]));
    }
    let dir = served.path().to_str().unwrap().to_owned();
    let scrub = || sluice(&["serve", "--dir", &dir, "--scrub"]);
    bad(&mut scrub(), "another server already serves the folder");
    served.end();
    let said = good(&mut scrub());
    assert!(
        said.contains(
            "objects: 2 intact, 0 damaged, 0 changed outside the store, 1 without a checksum\n"
        ),
        "{said}"
    );
    // The modification time is restored, as after damage by a failing disk.
    let file = fs::File::options().write(true).open(served.path().join("bucket/two.csv")).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    (&file).write_all(b"?").unwrap();
    file.set_modified(modified).unwrap();
    let Output { status, stdout, stderr } = scrub().output().unwrap();
    let (said, why) = (text(&stdout), text(&stderr));
    assert_eq!(status.code(), Some(1), "{why}");
    assert!(said.starts_with("s3://bucket/two.csv: its bytes are not those"), "{said}");
    assert!(
        said.contains(
            "objects: 1 intact, 1 damaged, 0 changed outside the store, 1 without a checksum\n"
        ),
        "{said}"
    );
    assert!(why.contains("error: some objects are damaged\nhint: "), "{why}");
}

#[test]
fn help_teaches() {
    for command in [
        &["--help"][..],
        &["demo", "--help"],
        &["sql", "--help"],
        &["explain", "--help"],
        &["calibrate", "--help"],
        &["endpoint", "--help"],
        &["endpoint", "conformance", "--help"],
        &["generate", "--help"],
    ] {
        assert!(good(&mut sluice(command)).contains("Examples:"), "{command:?}");
    }
    assert!(good(&mut sluice(&["serve", "--help"])).contains("Examples:"));
    let help = good(&mut sluice(&["sql", "--help"]));
    let said = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in ["s3-express-us-east-1, ", "home-100mbit, "] {
        assert!(said.contains(name), "no `{name}` in {help}");
    }
    for command in ["create", "list", "verify", "drop"] {
        let help = good(&mut sluice(&["index", command, "--help"]));
        assert!(help.contains("Examples:"), "{command}");
    }
    for data_set in ["tpch", "tpcds", "bigdata", "pushdowndb"] {
        let help = good(&mut sluice(&["generate", data_set, "--help"]));
        assert!(help.contains("Examples:"), "{data_set}");
    }
    assert!(good(&mut sluice(&["completions", "bash"])).contains("_sluice"));
}

#[test]
fn usage_errors_exit_with_2() {
    for args in [
        &["--nonsense"][..],
        &["sql", "--nonsense"],
        &["sql", "-c", "SELECT 1", "--format", "parquet"],
        &["sql", "-c", "SELECT 1", "--output", "answer"],
        &["generate", "tpch"],
        &["generate", "bigdata"],
        &["demo", "--link", "fast"],
        &["sql", "-c", "SELECT 1", "--threads", "0"],
    ] {
        let Output { status, stderr, .. } = sluice(args).output().unwrap();
        assert_eq!(status.code(), Some(2), "{args:?}: {}", text(&stderr));
    }
}

#[test]
fn answers_come_in_every_format() {
    let served = Served::start();
    let ask = |more: &[&str]| {
        let query = "SELECT id, name, price FROM 's3://bucket/fruit.csv' ORDER BY id";
        good(served.command(&["sql", "-c", query]).args(more))
    };
    let table = ask(&[]);
    assert!(table.contains("| 2  | pear, green | NULL  |"), "{table}");
    assert_eq!(
        ask(&["--format", "csv"]),
        "id,name,price\n1,apple,1.5\n2,\"pear, green\",\n3,plum,0.25\n"
    );
    let ndjson = "{\"id\":1,\"name\":\"apple\",\"price\":1.5}\n\
                  {\"id\":2,\"name\":\"pear, green\",\"price\":null}\n\
                  {\"id\":3,\"name\":\"plum\",\"price\":0.25}\n";
    assert_eq!(ask(&["--format", "ndjson"]), ndjson);
    let json: serde_json::Value = serde_json::from_str(&ask(&["--format", "json"])).unwrap();
    assert_eq!(json[1]["name"], "pear, green");

    let file = served.path().join("bucket").join("fruit.parquet");
    assert_eq!(ask(&["--output", file.to_str().unwrap()]), "");
    let query = "SELECT sum(id) AS s FROM 's3://bucket/fruit.parquet'";
    let sum = good(&mut served.command(&["sql", "--format", "csv", "-c", query]));
    assert_eq!(sum, "s\n6\n");
    let left: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().collect();
    assert!(
        left.iter().all(|e| !e
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".sluice-"))
    );
}

#[test]
fn every_way_to_scan_gives_the_same_answer() {
    let served = Served::start();
    for scan in ["auto", "get", "select"] {
        for profile in ["sluice", "get-only"] {
            let query =
                "SELECT count(*) AS n, min(name) AS m FROM 's3://bucket/fruit.csv' WHERE id > 1";
            let args = ["sql", "--format", "csv", "--scan", scan, "--store", profile, "-c", query];
            assert_eq!(
                good(&mut served.command(&args)),
                "n,m\n2,\"pear, green\"\n",
                "{scan} {profile}"
            );
        }
    }
}

#[test]
fn statements_come_from_stdin_and_the_first_error_names_its_own() {
    let served = Served::start();
    let mut child = served
        .command(&["sql", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let script = "SELECT ';' AS a; -- one; more\nSELECT nothing; SELECT 2 AS b";
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(1));
    assert_eq!(text(&stdout), "a\n;\n");
    let said = text(&stderr);
    assert!(said.starts_with("error: stdin:2: No field named nothing."), "{said}");
}

/// The answer is the same; stderr names the setting that is not followed, and the reason.
#[test]
fn a_setting_that_is_not_followed_is_a_warning() {
    let served = Served::start();
    let ask = |profile: &str, statements: &[&str]| {
        let mut command = served.command(&["sql", "--format", "csv", "--store", profile]);
        for statement in statements {
            command.args(["-c", statement]);
        }
        let Output { status, stdout, stderr } = command.output().unwrap();
        assert_eq!(status.code(), Some(0), "{}", text(&stderr));
        (text(&stdout), text(&stderr))
    };
    let sum = "SELECT sum(id) AS s FROM 's3://bucket/fruit.csv'";
    let force = "SET sluice.scan = 'select'";
    let expected = "warning: aggregate of sum(id) over s3://bucket/fruit.csv: \
                    sluice.scan = 'select' is not followed: the store has no S3 Select (profile \
                    `get-only`)\n";
    assert_eq!(ask("get-only", &[force, sum]), ("s\n6\n".to_owned(), expected.to_owned()));
    // Settings also apply to a query inside another statement.
    let (_, said) = ask("get-only", &[force, &format!("CREATE TABLE t AS {sum}")]);
    assert_eq!(said, expected);
    // The answer of EXPLAIN contains the warning.
    let (plan, said) = ask("get-only", &[force, &format!("EXPLAIN {sum}")]);
    assert!(plan.contains("is not followed") && said.is_empty(), "{plan}{said}");
    assert_eq!(ask("sluice", &[force, sum]).1, "");
    assert_eq!(ask("get-only", &[sum]).1, "");
}

#[test]
fn explain_shows_the_statement_and_runs_nothing() {
    let served = Served::start();
    let query = "SELECT name FROM 's3://bucket/fruit.csv' WHERE id = 2";
    let shown = good(&mut served.command(&["explain", "--store", "sluice", "-c", query]));
    assert!(shown.contains("FROM S3Object") && shown.contains("estimate: "), "{shown}");
    assert!(!shown.contains("pear"), "{shown}");
}

#[test]
fn a_query_that_costs_too_much_does_not_run() {
    let served = Served::start();
    let query = "SELECT count(*) FROM 's3://bucket/fruit.csv'";
    let ask = |limit: &str| {
        served.command(&["sql", "--store", "sluice", "--max-cost", limit, "-c", query])
    };
    bad(&mut ask("0"), "predicted to cost");
    assert!(good(&mut ask("1")).contains("| 3 "));
    // Queries on a store without Select have a price, too.
    let get = |limit| ["sql", "--store", "get-only", "--max-cost", limit, "-c", query];
    bad(&mut served.command(&get("0")), "predicted to cost");
    assert!(good(&mut served.command(&get("1"))).contains("| 3 "));
    // A query inside another statement is refused, too, and nothing is written.
    let copy = format!("COPY ({query}) TO 's3://bucket/out.csv'");
    for statement in [format!("CREATE TABLE t AS {query}"), copy] {
        let args = ["sql", "--store", "get-only", "--max-cost", "0", "-c", &statement];
        bad(&mut served.command(&args), "predicted to cost");
    }
    let args = ["sql", "--store", "get-only", "--max-cost", "0"];
    let prepare = format!("PREPARE p AS {query}");
    bad(served.command(&args).args(["-c", &prepare, "-c", "EXECUTE p"]), "predicted to cost");
    assert!(!served.path().join("bucket/out.csv").exists());
    // Statements that take effect when they are planned are free.
    good(&mut served.command(&["sql", "--max-cost", "0", "-c", "SET sluice.scan = 'get'"]));
}

#[test]
fn what_goes_wrong_is_said_in_a_sentence_with_a_hint() {
    let served = Served::start();
    let from = |place: &str| format!("SELECT * FROM '{place}'");
    let fruit = from("s3://bucket/fruit.csv");
    bad(&mut served.command(&["sql", "-c", &from("s3://nowhere/x.csv")]), "bucket");
    bad(&mut served.command(&["sql", "-c", "SELECT * FROM nothing"]), "nothing");
    // First no credentials, then wrong ones.
    bad(&mut sluice(&["sql", "-c", &fruit, "--endpoint", &served.endpoint]), "credentials");
    bad(
        served.command(&["sql", "-c", &fruit]).env("AWS_SECRET_ACCESS_KEY", "x"),
        "does not accept the signature",
    );
    let mut unreachable = sluice(&["sql", "-c", &fruit, "--endpoint", UNREACHABLE]);
    unreachable.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "x");
    bad(&mut unreachable, "cannot be reached");
    misused(&mut sluice(&["sql", "-c", "SELECT 1", "--endpoint", "nonsense"]), "has no http://");
    bad(&mut sluice(&["sql", "-c", "SELECT 1", "--prices", "nonsense"]), "price book");
    let local = |more: &[&str]| {
        let mut command = sluice(&["sql", "--anonymous"]);
        command.args(more);
        command
    };
    bad(&mut local(&["-f", "no/such.sql"]), "no/such.sql");
    bad(&mut local(&["-c", "SELECT 1", "--output", "no/such/folder.csv"]), "no folder");
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    bad(&mut sluice(&["serve", "--dir", dir, "--listen", &address]), "in use");
    bad(&mut sluice(&["serve", "--dir", "no/such/folder"]), "does not exist");
    bad(sluice(&["serve", "--dir", dir]).env("SLUICE_ACCESS_KEY", "me"), "SLUICE_SECRET_KEY");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let query = "SELECT * FROM generate_series(1, 1000000)";
    let mut child = sluice(&["sql", "--anonymous", "--format", "csv", "-c", query])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

/// Reading a pipe without a writer, or a device, would never end.
#[cfg(unix)]
#[test]
fn pipes_and_devices_are_no_files_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.to_str().unwrap(), "/dev/zero"] {
        for args in [
            &["sql", "-f", path][..],
            &["sql", "--hardware", path, "-c", "SELECT 1"],
            &["sql", "--prices", path, "-c", "SELECT 1"],
            &["validate", "--hardware", path],
        ] {
            bad(&mut sluice(args), "is a pipe, a socket or a device");
        }
        for sql in [
            format!("SELECT * FROM read_csv('{path}')"),
            format!("SELECT * FROM '{path}'"),
            format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{path}'"),
            format!("CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION 'file://{path}'"),
        ] {
            bad(&mut sluice(&["sql", "-c", &sql]), "is a pipe, a socket or a device");
        }
    }
    let large = folder.path().join("large.sql");
    fs::File::create(&large).unwrap().set_len((64 << 20) + 1).unwrap();
    bad(&mut sluice(&["sql", "-f", large.to_str().unwrap()]), "is larger than 64 MiB");
    bad(&mut sluice(&["sql", "-f", folder.path().to_str().unwrap()]), "is a folder");
    // A pipe of the shell has a writer.
    let binary = env!("CARGO_BIN_EXE_sluice");
    let piped = format!("echo 'SELECT 5 AS n' | {binary} sql --format csv -f /dev/fd/0");
    let output = Command::new("sh").args(["-c", &piped]).output().unwrap();
    assert_eq!(text(&output.stdout), "n\n5\n", "{}", text(&output.stderr));
}

#[test]
fn arguments_that_cannot_be_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    for (args, words) in [
        (
            &["generate", "tpch", "--scale", "1e-9", "--to", to][..],
            "scale factor 0.000000001 is not",
        ),
        (&["model", "-c", "SELECT 1", "-o", "x.pdf"], "`.pdf` is no format"),
    ] {
        let output = sluice(args).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

/// An output file once replaced pipes and links, including `/dev/stdout`.
#[cfg(unix)]
#[test]
fn a_pipe_is_written_to_and_a_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, link, file) =
        (folder.path().join("pipe"), folder.path().join("link"), folder.path().join("file"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let write = |to: &Path| {
        let to = to.to_str().unwrap();
        good(&mut sluice(&["sql", "-c", "SELECT 1 AS a", "--format", "csv", "-o", to]))
    };
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    write(&pipe);
    // If the pipe had been replaced, its reader would wait forever.
    assert!(!pipe.is_file());
    assert_eq!(reader.join().unwrap(), "a\n1\n");
    write(&link);
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), "a\n1\n");
    assert_eq!(write("/dev/stdout".as_ref()), "a\n1\n");
}

/// Lost output is an error; a reader that closes early is none.
#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_an_error() {
    let binary = env!("CARGO_BIN_EXE_sluice");
    let shell = |line: &str| {
        let output = Command::new("bash").args(["-c", line]).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let query = format!("{binary} sql -c 'SELECT 1'");
    for command in [
        &format!("{binary} --help"),
        &format!("{binary} help sql"),
        &format!("{binary} -V"),
        &query,
    ] {
        let (code, said) = shell(&format!("{command} > /dev/full"));
        assert_eq!(code, Some(1), "{command}: {said}");
        assert!(said.contains("is full"), "{command}: {said}");
        let (code, said) = shell(&format!("set -o pipefail; {command} | true"));
        assert_eq!((code, said.as_str()), (Some(0), ""), "{command}");
    }
    let (code, said) = shell(&format!("{binary} sql --nosuch 2> /dev/full"));
    assert_eq!((code, said.as_str()), (Some(2), ""));
}

#[test]
fn json_of_rows_without_columns_is_json() {
    let rows = |format: &str, sql: &str| good(&mut sluice(&["sql", "--format", format, "-c", sql]));
    let two = "SELECT FROM (VALUES (1), (2)) AS t";
    assert_eq!(rows("json", two), "[\n{},\n{}\n]\n");
    assert_eq!(rows("ndjson", two), "{}\n{}\n");
    assert_eq!(rows("json", "SET sluice.scan = 'get'"), "");
}

#[test]
fn workers_that_cannot_be_are_told() {
    let with = |urls: &str| sluice(&["sql", "--workers", urls, "-c", "SELECT 1"]);
    for none in ["", " , "] {
        let output = with(none).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--workers has no URL; write http://host:port"), "{said}");
    }
    good(sluice(&["sql", "-c", "SELECT 1"]).env("SLUICE_WORKERS", ""));
    misused(&mut with("http://h:1/path"), "`http://h:1/path` is not the URL of a worker");
    misused(&mut with("http://user:secret@h:1/path"), "`http://h:1…` is not the URL of a worker");
    let mut long = with("http://127.0.0.1:1");
    bad(long.env("SLUICE_TOKEN", "x".repeat(5000)), "SLUICE_TOKEN is longer than 4096 characters");
}

/// Messages of commands in a script do not appear in answers.
#[test]
fn commands_of_a_script_do_not_write_into_answers() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("f.sql");
    fs::write(&script, "\\timing off\n\\x off\nSELECT 1 AS a;\n").unwrap();
    let output = sluice(&["sql", "--format", "csv", "-f"]).arg(&script).output().unwrap();
    assert_eq!(text(&output.stdout), "a\n1\n");
    assert!(text(&output.stderr).contains("timing is off"));
}
