//! Return of unused memory to the system.
//!
//! Rows are allocated by many threads and freed by others. glibc keeps such freed memory as long as anything that was
//! allocated later in the same arena is in use: after 100 statements whose readers had stopped, 500 MiB stayed, of
//! which 40 MiB were used. Only `malloc_trim` returns such holes. It takes some milliseconds for each 100 MiB, so it
//! is called every few seconds, and only after activity.
//!
//! `malloc_trim` does not return free memory at the end of an arena. That memory is returned when something beside it
//! is freed, if it exceeds a threshold. glibc raises the threshold to 64 MiB when it has seen large records, so this
//! module sets a fixed one.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "calls `malloc_trim` and `mallopt`, which have no safe wrappers")
)]

use std::sync::Arc;
use std::time::Duration;

use sluicegate_evaluator::set_give_back;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::counters::Counters;

/// The interval between two returns of memory while there is activity.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// Returns memory to the system after every interval with activity, and after the following one, until the server
/// stops.
pub(crate) async fn give_back(
    counters: Arc<Counters>,
    interval: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    fix_thresholds();
    // The memory of a statement over thousands of columns is returned before the next one gets as much.
    set_give_back(trim);
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

/// Returns the counts that change with every action of a client, including its leaving.
fn activity(counters: &Counters) -> [u64; 4] {
    [counters.bytes_in(), counters.bytes_out(), counters.connections(), counters.open_connections()]
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn trim() {
    // SAFETY: `malloc_trim` takes no pointers, and locks the arenas that it visits. Its result may be ignored.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// The size in bytes from which allocations are mapped, and from which free memory at the end of an arena is
/// returned. It is larger than the column chunks of most Parquet objects, which are allocated all the time: with 1 MiB,
/// a statement over chunks of 8 MiB spent 44 % of its time on new pages.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const THRESHOLD: libc::c_int = 12 << 20;

/// The arenas for each core, of which each may keep [`THRESHOLD`] bytes. glibc makes up to eight.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS: usize = 2;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn fix_thresholds() {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let arenas = libc::c_int::try_from(ARENAS * cores).unwrap_or(libc::c_int::MAX);
    for (parameter, value) in [
        (libc::M_MMAP_THRESHOLD, THRESHOLD),
        (libc::M_TRIM_THRESHOLD, THRESHOLD),
        (libc::M_ARENA_MAX, arenas),
    ] {
        // SAFETY: `mallopt` takes no pointers. It ignores unknown parameters.
        let _ = unsafe { libc::mallopt(parameter, value) };
    }
}

/// Other allocators return memory by themselves.
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

    /// Returns true if this process runs only this test, because the allocations of other tests would count.
    /// Otherwise runs the test in a new process.
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
        // The thread has an arena of its own.
        let worker = std::thread::spawn(move || {
            let rows: Vec<_> = (0..640).map(|_| vec![1_u8; 64 << 10]).collect();
            assert!(resident() > before + 30 * MIB);
            drop(rows);
            trim();
            resident()
        });
        let after = worker.join().unwrap();
        assert!(after < before + 20 * MIB, "{before} and {after} are resident");
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
                // There has been no activity yet.
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
