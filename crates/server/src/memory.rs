//! Memory that is not used any more goes back to the system.
//!
//! Rows are made by many threads and freed by others. What these free glibc keeps as long as anything that was
//! allocated later in the same arena is in use: after 100 statements whose readers had stopped 500 MiB stayed, of which
//! 40 were used. Only `malloc_trim` gives such holes back. It takes some milliseconds for each 100 MiB, so it is
//! called now and then, and only if something was done. What is free at the end of an arena it leaves there: that
//! goes back when something beside it is freed, if it is more than a threshold, which glibc raises to 64 MiB when it has
//! seen large records; here it is fixed.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "calls `malloc_trim` and `mallopt`, which have no safe wrappers")
)]

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::counters::Counters;

/// How often memory is given back while there is anything to do.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// Gives back memory after every interval in which there was anything to do, and after the one behind it, until
/// the server stops.
pub(crate) async fn give_back(
    counters: Arc<Counters>,
    interval: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    fix_thresholds();
    let (mut done, mut again) = (activity(&counters), false);
    loop {
        tokio::select! {
            () = sleep(interval) => {}
            _ = stopped.changed() => return,
        }
        let now = activity(&counters);
        let was_active = now != done;
        if (was_active || again)
            && let Err(e) = spawn_blocking(trim).await
        {
            tracing::warn!("cannot give back memory: {e}");
        }
        (done, again) = (now, was_active);
    }
}

/// What changes with everything that a client does, its leaving included.
fn activity(counters: &Counters) -> [u64; 4] {
    [counters.bytes_in(), counters.bytes_out(), counters.connections(), counters.open_connections()]
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    // SAFETY: it takes no pointers, and locks what it looks at; that it found nothing is no error.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Larger allocations than this are mapped, and more free memory than this at the end of an arena goes back:
/// above the chunks that bodies are read in, which are allocated all the time.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const THRESHOLD: libc::c_int = 1 << 20;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn fix_thresholds() {
    for parameter in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: it takes no pointers; where it does not know a parameter, all stays as it was.
        let _ = unsafe { libc::mallopt(parameter, THRESHOLD) };
    }
}

/// Other allocators give it back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn fix_thresholds() {}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    use std::env;
    use std::process::Command;
    use std::time::Instant;

    const ALONE: &str = "SLUICEGATE_TEST_ALONE";
    const MIB: usize = 1 << 20;

    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
    }

    /// Whether this process runs a test alone, since what other tests allocate would count. If not, another one has
    /// run it.
    fn is_alone(test: &str) -> bool {
        let is_alone = env::var_os(ALONE).is_some();
        if !is_alone {
            let test = format!("memory::tests::{test}");
            let mut alone = Command::new(env::current_exe().unwrap());
            let ran = alone.args(["--exact", &test, "--nocapture"]).env(ALONE, "1").output();
            let ran = ran.unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        }
        is_alone
    }

    #[test]
    fn the_end_of_an_arena_is_given_back_after_something_large() {
        if !is_alone("the_end_of_an_arena_is_given_back_after_something_large") {
            return;
        }
        fix_thresholds();
        drop(vec![1_u8; 30 * MIB]);
        let before = resident();
        // An arena of its own.
        let worker = std::thread::spawn(move || {
            let rows: Vec<_> = (0..640).map(|_| vec![1_u8; 64 << 10]).collect();
            assert!(resident() > before + 30 * MIB);
            drop(rows);
            trim();
            resident()
        });
        let after = worker.join().unwrap();
        assert!(after < before + 10 * MIB, "{before} and {after} are resident");
    }

    #[test]
    fn holes_are_given_back() {
        if !is_alone("holes_are_given_back") {
            return;
        }
        let mut rows: Vec<_> = (0..4096).map(|_| vec![1_u8; 64 << 10]).collect();
        let mut kept = 0;
        rows.retain(|_| {
            kept += 1;
            kept % 512 == 0
        });
        assert!(resident() > 200 * MIB, "{} are resident", resident());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let (counters, (stop, stopped)) = (Arc::default(), watch::channel(false));
            let interval = Duration::from_millis(1);
            let giving = give_back(Arc::clone(&counters), interval, stopped);
            tokio::join!(giving, async {
                // Nothing was done yet.
                sleep(50 * interval).await;
                assert!(resident() > 200 * MIB);
                let end = Instant::now() + Duration::from_secs(60);
                let _open = counters.count_connection();
                while resident() > 100 * MIB && Instant::now() < end {
                    sleep(interval).await;
                }
                stop.send(true).unwrap();
            });
        });
        assert!(resident() < 100 * MIB, "{} are resident", resident());
        assert_eq!(rows.len(), 8);
    }
}
