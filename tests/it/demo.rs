//! `sluice demo`: its output, and that it leaves no files, however it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::cli::{good, sluice};

#[test]
fn the_demo_shows_equal_answers_and_leaves_nothing() {
    for format in ["csv", "json", "parquet"] {
        let folder = tempfile::tempdir().unwrap();
        let mut demo = sluice(&["demo", "--scale", "0.001", "--format", format]);
        let shown = good(demo.env("TMPDIR", folder.path()));
        assert_eq!(shown.matches(" equal\n").count(), 10, "{shown}");
        assert!(shown.contains("\nGroup-by ") && shown.contains("FROM S3Object"), "{shown}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// A running demo. A shell runs `first` and then starts it, with a folder for its temporary files.
#[cfg(unix)]
struct Demo {
    folder: TempDir,
    child: Child,
}

#[cfg(unix)]
impl Demo {
    fn begun(first: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let binary = env!("CARGO_BIN_EXE_sluice");
        let mut child = Command::new("sh")
            .args(["-c", &format!("{first}exec {binary} demo --scale 1")])
            .env("TMPDIR", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        said.read_line(&mut String::new()).unwrap();
        Self { folder, child }
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    #[track_caller]
    fn ends_and_leaves_nothing(mut self, code: i32) {
        assert_eq!(self.child.wait().unwrap().code(), Some(code));
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 0);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_demo_leaves_nothing() {
    let demo = Demo::begun("");
    demo.signal("-INT");
    demo.ends_and_leaves_nothing(130);
}

/// A demo whose terminal closes cleans up; one started by nohup continues.
#[cfg(target_os = "linux")]
#[test]
fn a_hung_up_demo_leaves_nothing() {
    // Under nohup, the tests inherit that SIGHUP is ignored.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    if u64::from_str_radix(ignored, 16).unwrap() & 1 == 0 {
        let demo = Demo::begun("");
        demo.signal("-HUP");
        demo.ends_and_leaves_nothing(129);
    }
    let demo = Demo::begun("trap '' HUP; ");
    demo.signal("-HUP");
    std::thread::sleep(std::time::Duration::from_millis(300));
    demo.signal("-INT");
    demo.ends_and_leaves_nothing(130);
}

#[test]
fn the_demo_keeps_what_it_is_told_to_keep() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = sluice(&["demo", "--scale", "0.001", "--link", "unlimited", "--keep"]);
    let shown = good(demo.env("TMPDIR", folder.path()));
    let kept: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(kept.len(), 1);
    let kept = kept[0].as_ref().unwrap().path();
    assert!(shown.contains(&format!("sluice serve --dir {}", kept.display())), "{shown}");
    assert!(kept.join("tpch/sf0.001/csv/lineitem").is_dir());
}
