//! `sluice switch udp` runs workers, switch and master as processes.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::{good, sluice};
use crate::switch::cli::refused;

/// Runs the command and returns its counts.
#[track_caller]
fn run(args: &[&str]) -> Value {
    let mut command = sluice(&["switch", "udp", "--format", "json"]);
    let said = good(command.args(args));
    serde_json::from_str::<Value>(&said).unwrap()[0].clone()
}

const KEYS: &str = "generated:zipf:entries=3000:keys=300";

/// Each query with lossy links and a switch that reboots returns the answer over all rows.
#[test]
fn every_query_is_answered_through_udp() {
    let join = ["--probe", "generated:uniform:entries=3000:keys=900", "-d", "65536"];
    let cases: [(&str, &[&str]); 9] = [
        ("filter", &["--threshold", "50"]),
        ("distinct", &[]),
        ("top-n-deterministic", &["-n", "20"]),
        ("group-by", &["-d", "256"]),
        ("group-sum", &["-d", "64"]),
        ("skyline-sum", &[]),
        ("join-bloom", &join),
        ("having", &["--threshold", "5000"]),
        ("having-extreme", &["--threshold", "290", "--relation", "gt"]),
    ];
    for (algorithm, more) in cases {
        let mut args = vec!["--algorithm", algorithm, "--input", KEYS];
        args.extend(["--loss", "0.02", "--duplication", "0.02", "--reboots", "1"]);
        args.extend(more);
        let row = run(&args);
        assert_eq!(row["answer"], "unchanged", "{row}");
        for count in ["pruned", "forwarded", "delivered", "lost", "doubled", "retransmitted"] {
            assert!(row[count].as_u64().unwrap() > 0, "{count}: {row}");
        }
        assert_eq!(row["reboots"], 1, "{row}");
    }
}

/// Lost packets are sent again, and pruned ones never reach the master.
#[test]
fn a_switch_without_faults_prunes_what_its_program_does() {
    let row = run(&["--algorithm", "distinct", "--input", KEYS, "--loss", "0", "--workers", "1"]);
    let number = |name: &str| row[name].as_u64().unwrap();
    assert_eq!((row["answer"].as_str(), number("entries")), (Some("unchanged"), 3000));
    // Sockets may lose packets, which are sent again and forwarded without processing.
    assert!(number("pruned") > 2400 && number("sent") == 3000 + number("retransmitted"), "{row}");
    assert!(number("delivered") >= number("rows") && number("lost") == 0, "{row}");
}

/// With long timeouts, workers end long before the last one.
#[test]
fn workers_may_end_one_after_the_other() {
    let keys = "generated:zipf:entries=60:keys=30";
    let row =
        run(&["--algorithm", "distinct", "--input", keys, "--loss", "0.3", "--timeout", "40"]);
    assert_eq!((row["answer"].as_str(), row["entries"].as_u64()), (Some("unchanged"), Some(60)));
}

#[test]
fn what_cannot_run_is_refused() {
    let fails = |args: &[&str], says: &str| {
        refused(sluice(&["switch", "udp", "--input", KEYS]).args(args), says);
    };
    fails(&["--algorithm", "distinct", "--loss", "1"], "--loss");
    fails(&["--algorithm", "group-by", "--extreme", "min"], "MAX");
    fails(&["--algorithm", "filter", "--relation", "lt"], "--relation ge");
    fails(&["--algorithm", "join-bloom"], "--probe");
    fails(&["--algorithm", "distinct", "--workers", "0"], "--workers");
    // With these losses, almost nothing arrives.
    fails(
        &["--algorithm", "distinct", "--loss", "0.9", "--patience", "1", "--timeout", "2000"],
        "--patience",
    );
    refused(sluice(&["switch", "udp-node"]).stdin(Stdio::null()), "sluice switch udp");
}

/// If the command is killed, its processes end, too.
#[cfg(unix)]
#[test]
fn no_process_outlives_the_command() {
    use std::thread;
    use std::time::{Duration, Instant};

    let mut child = sluice(&["switch", "udp", "--input", KEYS, "--algorithm", "distinct"])
        // These settings would take forever.
        .args(["--loss", "0.9", "--timeout", "10000", "--patience", "3600", "--workers", "3"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let children = |parent: u32| -> Vec<u32> {
        let said = Command::new("ps").args(["-o", "pid=,ppid=", "-A"]).output().unwrap();
        let text = String::from_utf8(said.stdout).unwrap();
        let pairs = text.lines().filter_map(|line| {
            let mut numbers = line.split_whitespace().filter_map(|it| it.parse::<u32>().ok());
            Some((numbers.next()?, numbers.next()?))
        });
        pairs.filter(|(_, of)| *of == parent).map(|(pid, _)| pid).collect()
    };
    // Waits until all processes exist, then until all are gone; not a measurement.
    let until = |is: &dyn Fn() -> bool| {
        let started = Instant::now();
        while !is() && started.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(20));
        }
        is()
    };
    let parent = child.id();
    assert!(until(&|| children(parent).len() == 5), "three workers, a switch and a master");
    let started = children(parent);
    // SIGKILL leaves no chance to clean up.
    child.kill().unwrap();
    child.wait().unwrap();
    let alive = |pid: &u32| {
        let found =
            Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
        let state = String::from_utf8(found.stdout).unwrap();
        !state.trim().is_empty() && !state.trim().starts_with('Z')
    };
    assert!(until(&|| !started.iter().any(alive)), "a process is left");
}

/// Otherwise the other processes would wait until their timeout.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_killed_ends_the_run() {
    let mut command = sluice(&["switch", "udp", "--algorithm", "distinct", "--patience", "600"]);
    command.args(["--input", KEYS, "--loss", "0.9", "--timeout", "10000", "--workers", "3"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = command.spawn().unwrap();
    let parent = run.id();
    // Each thread has child processes of its own.
    let children = || {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
        let paths = tasks.flatten().map(|task| task.path().join("children"));
        let texts: Vec<_> = paths.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        texts.join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    while children().len() < 5 && run.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let first = children().remove(0);
    let killed = Command::new("kill").args(["-9", &first]).status().unwrap();
    assert!(killed.success());
    let status = run.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut run.stderr.take().unwrap(), &mut said).unwrap();
    assert!(status.code() == Some(1) && said.contains("ended early"), "{said}");
}
