//! The prompt on a pseudo-terminal: input and output.

#![cfg(unix)]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use tempfile::TempDir;

use crate::cli::{Served, UNREACHABLE, good, sluice};

/// A timeout, longer than any statement here.
const PATIENCE: Duration = Duration::from_secs(120);

/// A prompt with its screen.
struct Prompt {
    child: Child,
    keys: File,
    shown: Arc<Mutex<Vec<u8>>>,
    /// Length of the output that earlier calls have returned.
    seen: usize,
    home: TempDir,
}

impl Prompt {
    /// Starts a prompt on a terminal with so many columns, and a home folder whose `init.sql` has this text.
    fn start(command: Command, columns: u16, init: Option<&str>) -> Self {
        let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let (theirs, ours) = (pty.slave, File::from(pty.master));
        let home = tempfile::tempdir().unwrap();
        if let Some(init) = init {
            std::fs::create_dir(home.path().join("sluice")).unwrap();
            std::fs::write(home.path().join("sluice/init.sql"), init).unwrap();
        }
        let mut command = command;
        let child = command
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env("XDG_DATA_HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path())
            .current_dir(home.path())
            .stdin(theirs.try_clone().unwrap())
            .stdout(theirs.try_clone().unwrap())
            .stderr(theirs)
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let mut screen = ours.try_clone().unwrap();
        let keep = Arc::clone(&shown);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // Reading fails when the other side is closed.
            while let Ok(read) = screen.read(&mut piece) {
                if read == 0 {
                    break;
                }
                keep.lock().unwrap().extend_from_slice(&piece[..read]);
            }
        });
        Self { child, keys: ours, shown, seen: 0, home }
    }

    fn over(served: &Served, columns: u16, args: &[&str]) -> Self {
        let mut all = vec!["sql"];
        all.extend(args);
        let mut prompt = Self::start(served.command(&all), columns, None);
        prompt.wait("sluice> ");
        prompt
    }

    fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for a text; returns the output since the last call up to it.
    #[track_caller]
    fn wait(&mut self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let screen = plain(&self.shown.lock().unwrap());
            let new = screen.get(self.seen..).unwrap_or_default();
            if let Some(at) = new.find(text) {
                let upto = new[..at + text.len()].to_owned();
                self.seen += at + text.len();
                return upto;
            }
            assert!(started.elapsed() < PATIENCE, "no {text:?} in {new:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Types a line, and waits for the answer and the next prompt. Returns the output.
    #[track_caller]
    fn line(&mut self, line: &str, answer: &str) -> String {
        self.keys(&format!("{line}\r"));
        let mut all = self.wait(answer);
        all += &self.wait("sluice> ");
        all
    }

    #[track_caller]
    fn quit(mut self) {
        self.keys("\\q\r");
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < PATIENCE, "it does not quit");
            thread::sleep(Duration::from_millis(20));
        }
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Removes control sequences from the output.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
            '\r' | '\u{7}' => {}
            c => plain.push(c),
        }
    }
    plain
}

#[test]
fn statements_span_lines_and_commands_may_stand_amid_them() {
    let served = Served::start();
    let mut prompt = Prompt::start(served.command(&["sql"]), 100, None);
    let greeting = prompt.wait("sluice> ");
    assert!(greeting.contains("Connected to http://127.0.0.1:"), "{greeting}");
    assert!(greeting.contains("store sluice, 1 bucket."), "{greeting}");
    prompt.keys("select 40 +\r");
    prompt.keys("\\d\r");
    prompt.wait("There are none yet");
    // The statement continues.
    prompt.wait("    ...> ");
    let answer = prompt.line("2 as answer;", "| 42 ");
    assert!(answer.contains("| answer |"), "{answer}");
    assert!(answer.contains("1 row, "), "{answer}");
    prompt.keys("select 'a\r");
    // The prompt shows the open quote.
    prompt.wait("   '...> ");
    prompt.line("b' as q;", "| q ");
    prompt.keys("select /* a\r");
    prompt.wait("  /*...> ");
    // Ctrl-C discards all lines.
    prompt.keys("\u{3}");
    prompt.wait("sluice> ");
    // The history has a statement of several lines as one entry.
    prompt.keys("select 1 +\r");
    prompt.wait("    ...> ");
    prompt.line("1 as two;", "| 2 ");
    prompt.keys("\u{1b}[A");
    prompt.wait("select 1 +\n1 as two;");
    prompt.keys("\u{3}");
    prompt.wait("sluice> ");
    // Names from earlier lines are completed.
    prompt.keys("select * from (select 1 as appricot) as fruits\r");
    prompt.wait("    ...> ");
    prompt.line("where appricot = 1;", "| appricot |");
    let unknown = prompt.line(".foo bar", "there is no command `.foo`");
    assert!(unknown.contains("\\ls") && unknown.contains(".help"), "{unknown}");
    let error = prompt.line("select nonsense;", "error: ");
    assert!(error.contains("nonsense"), "{error}");
    prompt.quit();
}

/// A store that starts later is detected then.
#[test]
fn a_store_that_did_not_answer_is_asked_again() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (endpoint, folder) = (format!("http://{free}"), tempfile::tempdir().unwrap());
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    std::fs::write(folder.path().join("bucket/t.csv"), "a,b\n1,x\n2,y\n").unwrap();
    let mut command =
        sluice(&["sql", "--format", "csv", "--endpoint", &endpoint, "--scan", "select"]);
    command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "my secret");
    let mut prompt = Prompt::start(command, 200, None);
    prompt.wait("sluice> ");
    prompt.line("select 1 as one;", "one");
    let dir = folder.path().to_str().unwrap();
    let mut server = sluice(&["serve", "--dir", dir, "--listen", &free.to_string()])
        .env("SLUICE_ACCESS_KEY", "me")
        .env("SLUICE_SECRET_KEY", "my secret")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = std::io::BufReader::new(server.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    prompt.line("explain select b from 's3://bucket/t.csv' where a = 2;", "endpoint=sluice");
    prompt.line("select b from 's3://bucket/t.csv' where a = 2;", "y");
    prompt.quit();
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Input that arrives with the previous line, or while that runs, is run afterwards.
#[test]
fn what_is_typed_ahead_runs_in_its_turn() {
    let served = Served::start();
    let mut prompt = Prompt::over(&served, 100, &["--no-progress"]);
    let slow = "select sum(a.value * b.value) as slow from generate_series(1, 9000) a, generate_series(1, 9000) b;";
    for pause in [Duration::ZERO, Duration::from_millis(100)] {
        prompt.keys(&format!("{slow}\r"));
        thread::sleep(pause);
        prompt.keys("select 40 + 2 as answer;\r");
        prompt.keys("select 'sec' || 'ond' as other;\r");
        for answer in ["| slow ", "| 42 ", "| second |"] {
            prompt.wait(answer);
        }
        prompt.wait("sluice> ");
    }
    prompt.quit();
}

#[test]
fn what_is_not_utf_8_is_left_out() {
    let served = Served::start();
    let mut prompt = Prompt::over(&served, 100, &["--no-progress"]);
    prompt.keys.write_all(b"\xe9(").unwrap();
    prompt.wait("what was typed is not UTF-8");
    prompt.wait("sluice> ");
    // The rest of the invalid line is still there.
    prompt.keys("\u{15}\r");
    prompt.line("select 40 + 2 as answer;", "| 42 ");
    prompt.quit();
}

#[test]
fn help_and_the_end_may_stand_amid_a_statement() {
    let served = Served::start();
    let mut prompt = Prompt::over(&served, 100, &[]);
    prompt.keys("select 40 +\r");
    prompt.keys("\\?\r");
    prompt.wait("\\timing");
    prompt.wait("    ...> ");
    prompt.line("2 as answer;", "| 42 ");
    prompt.line("from 's3://bucket/fruit.csv' where id = 1;", "apple");
    prompt.keys("select 40 +\r");
    prompt.wait("    ...> ");
    prompt.quit();
}

#[test]
fn plans_are_trees_that_fit_without_a_frame() {
    let served = Served::start();
    // Without progress, which would be drawn over the same line repeatedly.
    let mut prompt = Prompt::over(&served, 200, &["--no-progress"]);
    let names: Vec<String> = (0..40).map(|n| format!("name || '{n}' as a{n}")).collect();
    prompt.keys(&format!(
        "explain select {} from 's3://bucket/fruit.csv' where price > 1;\r",
        names.join(", ")
    ));
    // Wait for the last key of the statement, which is drawn before the answer.
    prompt.wait("price > 1;\n");
    let plan = prompt.wait("sluice> ");
    assert!(plan.contains("modelled for "), "{plan}");
    for line in plan.lines() {
        assert!(line.chars().count() <= 120 && !line.starts_with('|'), "{line}");
    }
    prompt.quit();
}

#[test]
fn explain_draws_a_tree_on_a_terminal_and_writes_lines_into_a_pipe() {
    let served = Served::start();
    let all: Vec<String> = (0..20).map(|n| format!("max(price + {n})")).collect();
    let sql = format!("select name, {} from 's3://bucket/fruit.csv' group by name", all.join(", "));
    let mut shown = Prompt::start(served.command(&["explain", "-c", &sql]), 70, None);
    let plan = shown.wait("\nestimate: ");
    let branches = plan.lines().filter(|line| line.contains("└ ")).count();
    assert!(branches > 0 && plan.contains("\n  * "), "{plan}");
    assert!(plan.lines().all(|line| line.chars().count() <= 70), "{plan}");
    let piped = good(&mut served.command(&["explain", "-c", &sql]));
    assert!(!piped.contains('└') && piped.contains("max(price + 19.0)"), "{piped}");
    assert!(piped.lines().any(|line| line.chars().count() > 300), "{piped}");
}

#[test]
fn summaries_can_be_read_on_80_columns() {
    let served = Served::start();
    let mut prompt = Prompt::over(&served, 80, &["--no-progress"]);
    let summary =
        prompt.line("summarize 's3://bucket/fruit.csv';", "columns are not shown (\\x or");
    let table: Vec<&str> = summary.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 4, "{summary}");
    assert!(table.iter().all(|line| line.chars().count() <= 80), "{summary}");
    // Columns are cut to ten characters before columns in the middle are left out.
    for whole in ["column_name", "min", "max", "…", "DOUBLE", "apple"] {
        assert!(table.iter().any(|line| line.contains(&format!("| {whole} "))), "{summary}");
    }
    prompt.quit();
}

#[test]
fn tab_completes_words_tables_options_buckets_and_keys() {
    let served = Served::start();
    std::fs::create_dir(served.path().join("bucket/folder")).unwrap();
    std::fs::write(served.path().join("bucket/folder/a.csv"), "n\n1\n").unwrap();
    let mut prompt = Prompt::over(&served, 120, &[]);
    std::fs::write(prompt.home.path().join("here.csv"), "year,n\n1999,1\n").unwrap();
    for (typed, completed) in [
        ("sel\t", "select"),
        ("select * from 's3://bu\t", "'s3://bucket/"),
        ("select * from 's3://bucket/fr\t", "'s3://bucket/fruit.csv'"),
        ("select * from 's3://bucket/fo\t", "'s3://bucket/folder/"),
        ("set sluice.sc\t", "sluice.scan"),
        ("set sluice.scan = 'sel\t", "= 'select"),
        ("\\for\t", "\\format"),
        ("select * from read_csv('s3://bucket/fr\t", "('s3://bucket/fruit.csv'"),
        ("select * from read_csv('s3://bucket/fruit.csv', del\t", "delim => "),
        ("select * from read_csv('s3://bucket/fruit.csv', header => t\t", "=> true"),
        ("select * from './here\t", "'./here.csv'"),
        ("select yea from './here.csv'\u{1}\u{1b}f\u{1b}f\t", "select year"),
        ("select pri from 's3://bucket/fruit.csv'\u{1}\u{1b}f\u{1b}f\t", "price"),
    ] {
        prompt.keys(typed);
        prompt.wait(completed);
        // Ctrl-C discards the line.
        prompt.keys("\u{3}");
        prompt.wait("sluice> ");
    }
    prompt.line("create view fruits as select 1 as apple;", "0 rows");
    prompt.keys("select * from fr\t");
    prompt.wait("from fruits");
    prompt.keys("\u{3}");
    prompt.wait("sluice> ");
    prompt.keys("select appl from fruits\u{1}\u{1b}f\u{1b}f\t");
    prompt.wait("select apple");
    prompt.keys("\u{3}");
    prompt.wait("sluice> ");
    prompt.keys("select * from fruits where fruits.\t");
    prompt.wait("where fruits.apple");
    prompt.keys("\u{3}");
    prompt.wait("sluice> ");
    prompt.quit();
}

#[test]
fn commands_change_how_answers_are_shown() {
    let served = Served::start();
    let mut prompt = Prompt::over(&served, 100, &[]);
    prompt.line("\\x", "expanded display is on");
    prompt.line("select 1 as a, 'x' as bc;", "a   1\nbc  x\n");
    prompt.line("\\x off", "expanded display is off");
    prompt.line("\\format ndjson", "format is ndjson");
    prompt.line("select 1 as a;", "{\"a\":1}");
    prompt.line("\\format table", "format is table");
    prompt.line("\\timing", "timing is off");
    prompt.line("\\stats", "stats is on");
    let counted = prompt.line("select 1 as b;", "counted:  0 requests");
    assert!(!counted.contains("1 row, "), "{counted}");
    prompt.line("\\stats off", "stats is off");
    prompt.line("\\ls", "s3://bucket/");
    prompt.line("\\ls s3://bucket/", "s3://bucket/fruit.csv  ");
    prompt.line("\\ls s3://bucket/none", "there is nothing at s3://bucket/none");
    let columns = prompt.line("\\d s3://bucket/fruit.csv", "price");
    assert!(columns.contains("DOUBLE"), "{columns}");
    prompt.line("\\nonsense", "there is no command `\\nonsense`");
    prompt.line("\\?", "\\timing");
    prompt.quit();
}

#[test]
fn answers_fit_the_terminal_and_no_more_is_fetched_than_shown() {
    let served = Served::start();
    let rows: String = (0..5000).map(|n| format!("{n},{}\n", "word ".repeat(40))).collect();
    std::fs::write(served.path().join("bucket/long.csv"), format!("id,text\n{rows}")).unwrap();
    let mut prompt = Prompt::over(&served, 60, &["--max-rows", "2", "--store", "get-only"]);
    let answer = prompt.line("from 's3://bucket/long.csv';", "2 rows, ");
    assert!(answer.contains("… the first 2 rows"), "{answer}");
    assert!(answer.contains("no more were fetched"), "{answer}");
    assert!(
        answer.lines().filter(|line| line.starts_with('|')).all(|line| line.chars().count() <= 60)
    );
    assert!(answer.contains("word…") || answer.contains("word …"), "{answer}");
    // Groups are computed and counted.
    let sql = "select id % 7 as k, count(*) from 's3://bucket/long.csv' group by 1;";
    prompt.line(sql, "and 5 more rows (\\rows 0 or \\format csv shows all)");
    prompt.line("\\rows 3", "3 rows are shown at most");
    prompt.line(sql, "and 4 more rows");
    prompt.line(".maxrows 0", "all rows are shown");
    prompt.line(sql, "7 rows, ");
    prompt.quit();
    // A terminal shows 40 rows, a file or a pipe more.
    let sql = "select value, count(*) from generate_series(1, 1500) group by value";
    let mut prompt = Prompt::over(&served, 60, &["--no-progress"]);
    prompt.line(&format!("{sql};"), "… and 1460 more rows");
    prompt.quit();
    let piped = good(&mut served.command(&["sql", "-c", sql]));
    assert!(piped.contains("… and 500 more rows (--max-rows 0"), "{}", piped.len());
}

/// On a narrow terminal, examples can still be copied as one line.
#[test]
fn examples_of_the_help_are_whole_lines() {
    for command in [&["connect", "--help"][..], &["sql", "--help"], &["help", "explain"]] {
        let piped = good(&mut sluice(command));
        let mut narrow = Prompt::start(sluice(command), 60, None);
        narrow.wait("Examples:");
        let started = Instant::now();
        while narrow.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(50));
        let shown = plain(&narrow.shown.lock().unwrap());
        let examples: Vec<&str> =
            piped.lines().filter(|line| line.starts_with("  sluice ")).collect();
        assert!(examples.iter().any(|line| line.len() > 60), "{piped}");
        for example in examples {
            assert!(shown.lines().any(|line| line == example), "no {example:?} in {shown}");
        }
        assert!(!shown.contains('\u{a0}') && !piped.contains('\u{a0}'));
    }
    let first = good(&mut sluice(&["--help"]));
    assert!(first.contains("FROM 'data/*.csv'"), "{first}");
}

#[test]
fn files_are_included_and_run_first() {
    let served = Served::start();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.sql"), "select 'from a' as x;\n\\i ").unwrap();
    std::fs::write(
        path("b.sql"),
        format!("create view b as select 7 as seven;\n\\i {}", path("c.sql")),
    )
    .unwrap();
    std::fs::write(path("c.sql"), "select 'from c' as x").unwrap();
    std::fs::write(path("itself.sql"), format!("\\i {}", path("itself.sql"))).unwrap();
    let (file, init) = (path("b.sql"), "create view mine as select 'at home' as place;\n");
    let command = served.command(&["sql", "-f", &file, "--interactive"]);
    let mut prompt = Prompt::start(command, 100, Some(init));
    let before = prompt.wait("sluice> ");
    assert!(before.contains("from c"), "{before}");
    prompt.line("from b, mine;", "at home");
    let error = prompt.line(&format!("\\i {}", path("a.sql")), "needs a file");
    assert!(error.contains("from a"), "{error}");
    prompt.line(&format!(".read {}", path("c.sql")), "from c");
    prompt.line(&format!("\\i {}", path("itself.sql")), "files deep");
    prompt.line("\\i nothing.sql", "`nothing.sql`");
    prompt.quit();
}

#[test]
fn a_query_that_lasts_shows_that_and_stops() {
    let mut prompt =
        Prompt::start(sluice(&["sql", "--anonymous", "--endpoint", UNREACHABLE]), 100, None);
    let greeting = prompt.wait("sluice> ");
    assert!(greeting.contains("warning: ") && greeting.contains("Not connected."), "{greeting}");
    assert!(!greeting.contains("Connected to"), "{greeting}");
    prompt.keys("select count(*) from generate_series(1, 100000000000);\r");
    prompt.wait("running for ");
    let stopped = Command::new("kill").args(["-INT", &prompt.child.id().to_string()]).status();
    assert!(stopped.unwrap().success());
    prompt.wait("stopped");
    prompt.line("select 1 as still_here;", "| still_here |");
    prompt.quit();
}

/// Progress appears for a long query, and does not with --no-progress.
#[test]
fn how_far_a_query_is_is_not_shown_if_that_is_not_wanted() {
    let start = |more: &[&str]| {
        let args = [&["sql", "--anonymous", "--endpoint", UNREACHABLE], more].concat();
        let mut prompt = Prompt::start(sluice(&args), 100, None);
        prompt.wait("sluice> ");
        prompt.keys("select count(*) from generate_series(1, 100000000000);\r");
        prompt.wait("100000000000);\n");
        prompt
    };
    let without = start(&["--no-progress"]);
    start(&[]).wait("running for ");
    assert!(!plain(&without.shown.lock().unwrap()).contains("running for"));
}
