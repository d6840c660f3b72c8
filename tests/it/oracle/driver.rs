//! A process that reads statements from stdin and writes answers to stdout, for `tests/oracle/run`.
//!
//! A line is a request and gets one line: `{"open": NAME, "statements": [SQL, …]}`, `{"close": NAME}`, `{"run": SQL,
//! "in": [NAME, …]}`. The first line names the folder of the bucket.

use std::io::{self, Write as _};

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::sessions::Sessions;
use crate::harness::BUCKET;

#[test]
fn statements_on_stdin_are_answered() {
    if std::env::var_os("SLUICE_TEST_ORACLE_DRIVER").is_none() {
        eprintln!("skipped: tests/oracle/run sends statements here");
        return;
    }
    let runtime = Runtime::new().unwrap();
    let mut sessions = runtime.block_on(Sessions::start());
    let folder = sessions.store.folder.path().join(BUCKET);
    say(&json!({"folder": folder, "bucket": BUCKET}));
    for line in io::stdin().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        say(&runtime.block_on(answered(&mut sessions, &request)));
    }
}

async fn answered(sessions: &mut Sessions, request: &Value) -> Value {
    let words = |value: &Value| -> Vec<String> {
        let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    };
    if let Some(name) = request["open"].as_str() {
        return match sessions.open(name, &words(&request["statements"])).await {
            Ok(()) => json!({}),
            Err(error) => json!({"error": error}),
        };
    }
    if let Some(name) = request["close"].as_str() {
        sessions.close(name);
        return json!({});
    }
    let Some(sql) = request["run"].as_str() else { return json!({"error": "no such request"}) };
    let mut answers = Vec::new();
    for name in words(&request["in"]) {
        answers.push(match sessions.run(&name, sql).await {
            Ok(answer) => json!({"types": answer.types, "rows": answer.rows}),
            Err(error) => json!({"error": error}),
        });
    }
    json!({"answers": answers})
}

fn say(line: &Value) {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").unwrap();
    stdout.flush().unwrap();
}
